"""What crosses to another process: by content and by name, never by the ids of a process."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import tiny

from dragoman._core import texts_unpack
from dragoman.decoder import Decoder, DecoderSource, Search, opened
from dragoman.errors import InputError, OptionError
from dragoman.metrics import Bleu, Chrf, External, Ter, Wer
from dragoman.types import Candidates, Features, ForestColumns, Hypotheses, Metric, Names, Texts, Weights
from dragoman.user_features import Options

T = TypeVar("T")
LINES = tiny.lines(12)
NBEST = 15


def again(what: T) -> T:
    back: T = pickle.loads(pickle.dumps(what))
    return back


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def no_model_is_open() -> Iterator[None]:
    opened._OPENED.clear()
    yield
    opened._OPENED.clear()


@given(st.lists(st.text()))
def test_texts(strings: list[str]) -> None:
    assert again(Texts(strings)).to_list() == strings


def test_texts_that_are_none() -> None:
    with pytest.raises(OptionError, match="no packed texts"):
        texts_unpack(b"abc", np.array([0, 5], dtype=np.int64))
    with pytest.raises(OptionError, match="no packed texts"):
        texts_unpack(b"\xff", np.array([0, 1], dtype=np.int64))


@given(st.lists(st.text(), unique=True), st.booleans())
def test_names_come_back_as_a_table_of_their_own(strings: list[str], dense: bool) -> None:
    names = Names(strings, dense)
    back = again(names)
    assert back.to_list() == strings
    assert all(back.is_dense(name) == dense for name in strings)
    names.intern("one more than there were")
    assert len(back) == len(strings)


METRICS: list[Metric] = [
    Bleu(),
    Bleu(
        order=3, tokenize="none", lowercase=True, smooth="add-k", smooth_value=0.5, effective_order=True,
        ref_length="average", length_scale=1.1, length_offset=1.0,
    ),
    Chrf(), Chrf(word_order=2, beta=3, lowercase=True, whitespace=True, eps_smoothing=True),
    Ter(), Ter(normalized=True, no_punct=True, asian_support=True, case_sensitive=True),
    Wer(), Wer(tokenize="13a", lowercase=True),
    External("comet", higher_is_better=False, scale=2.0),
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_metrics(metric: Metric) -> None:
    back = again(metric)
    assert back == metric and back.signature() == metric.signature()
    texts = ["The cat, sat on a mat.", "a B c d", "x"]
    hypotheses = Hypotheses.one_each(texts, {"comet": np.array([0.5, 0.25, 1.0])})
    references = [["the cat sat on the mat .", "a cat"], ["a b c d e"], ["y"]]
    rows = [m.prepare(references).statistics(again(hypotheses)) for m in (metric, back)]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(metric.score(rows[0]), back.score(rows[0]))


def test_weights_travel_with_their_names_and_no_others() -> None:
    names = Names(["b", "a", "later"])
    weights = Weights(names, np.array([0.1, -2.0]))
    back = again(weights)
    assert back.to_dict() == {"b": 0.1, "a": -2.0}
    assert back.names.to_list() == ["b", "a"]


def listed(candidates: Candidates) -> list[Any]:
    """All that candidates say, with features by name."""
    rows = [candidates.features.row(i) for i in range(candidates.size)]
    alignments = None if candidates.alignments is None else candidates.alignments.to_list()
    columns = [candidates.ids.to_list(), candidates.texts.to_list(), candidates.starts.tolist(), alignments]
    totals = None if candidates.totals is None else candidates.totals.tolist()
    return [*columns, totals, rows, {name: column.tolist() for name, column in candidates.scores.items()}]


def grown(forests: ForestColumns) -> list[Any]:
    rows = [forests.features.row(i) for i in range(len(forests.features))]
    numbers = {name: list(column) for name, column in forests.columns().items() if name != "columns"}
    return [forests.ids.to_list(), numbers, rows]


def test_features_take_only_the_names_that_occur() -> None:
    names = Names([f"n{i}" for i in range(100)])
    columns = np.array([70, 3, 3, 99], dtype=np.uint32)
    features = Features(names, np.array([0, 2, 2, 4]), columns, np.array([1.0, 2.0, 3.0, 4.0]))
    back = again(features)
    assert back.names.to_list() == ["n3", "n70", "n99"]
    assert [back.row(i) for i in range(3)] == [features.row(i) for i in range(3)]
    assert np.array_equal(back.dot(Weights(names, np.arange(100.0))), features.dot(Weights(names, np.arange(100.0))))


def test_candidates_and_forests(folder: Path) -> None:
    decoder = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH)
    found = decoder.nbest(LINES, NBEST, phrases=True)
    back = again(found)
    assert listed(back) == listed(found)
    assert back.extra is not None and back.extra == found.extra
    forests = DecoderSource(decoder, LINES).forests(range(4), decoder.weights)
    assert grown(again(forests)) == grown(forests)
    assert len(again(forests).names) < len(forests.names) or not tiny.SETS


def changed(decoder: Decoder) -> Weights:
    """Weights with sparse features, some of which the decoder has met."""
    some = decoder.nbest(LINES[:3], 5).features.names.to_list()
    rng = np.random.default_rng(4)
    return Weights.of({name: float(rng.normal()) / 3 for name in (*some, "pt:not_met>yet", "tb:s_t")})


def test_a_decoder_by_path_options_and_weights(folder: Path) -> None:
    decoder = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH, threads=2)
    decoder.weights = changed(decoder)
    decoder.search = Search(stack_size=30, distortion_limit=2)
    back = again(decoder)
    assert back.search == decoder.search and back.threads == 2
    assert back.names is not decoder.names and back.model.signature == decoder.model.signature
    assert listed(back.nbest(LINES, NBEST)) == listed(decoder.nbest(LINES, NBEST))
    assert listed(again(back).nbest(LINES, NBEST)) == listed(decoder.nbest(LINES, NBEST))


def test_a_process_opens_a_model_once(folder: Path) -> None:
    decoder = Decoder(folder, features=tiny.SETS)
    back, more = again(decoder), again(Decoder(folder, features=tiny.SETS, search=tiny.SEARCH, threads=1))
    assert back._system is more._system is not decoder._system
    assert again(Decoder(folder))._system is not back._system
    for sets in ("pt", "tb", "wp", "ins", "al", "pt,tb"):
        again(Decoder(folder, features=sets))
        assert len(opened._OPENED) <= opened._MOST_OPENED
    assert again(decoder)._system is not back._system, "the one used least is closed"


def test_a_model_that_is_another_one_by_now(tmp_path: Path) -> None:
    sent = pickle.dumps(Decoder(tiny.model(tmp_path, 0)))
    tiny.model(tmp_path, 1)
    with pytest.raises(InputError, match="expected the model"):
        pickle.loads(sent)


def work(task: tuple[DecoderSource, Weights, list[int], Metric]) -> tuple[Candidates, Any]:
    """What a worker of an engine does: lists under some weights, judged."""
    source, weights, sentences, metric = task
    # Names that this process meets first: its ids are others.
    source.decoder.nbest(tiny.lines(5, 77), 5)
    found = source.candidates(sentences, weights)
    references = metric.prepare([[line.replace("a", "s")] for line in LINES])
    texts = Hypotheses(found.texts, np.asarray(sentences)[found.sentence])
    return found, references.statistics(texts)


def test_a_spawned_process_finds_the_same(folder: Path) -> None:
    source = DecoderSource(Decoder(folder, features=tiny.SETS, search=tiny.SEARCH), LINES, NBEST)
    weights = changed(source.decoder)
    tasks = [(source, w, s, Bleu(tokenize="none")) for w in (source.decoder.weights, weights) for s in ([0, 3], [7, 5])]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.map(work, tasks)
    for (found, rows), task in zip(there, tasks, strict=True):
        here, want = work(task)
        assert listed(found) == listed(here)
        assert np.array_equal(rows, want)


OWN = """
import numpy as np
from dragoman.user_features import Sparse, state_feature

class Lengths:
    name = "Lengths"
    names = ("Long",)

    def score(self, options):
        sparse = [f"Lengths:{options.target(i).split(' ')[0]}" for i in range(len(options))]
        return options.lengths, Sparse(np.arange(len(options)), sparse, np.ones(len(options)))

@state_feature(bytes=1, names=["Steps"])
def steps(previous, state, target, step, values):
    state[0] = previous[0] ^ 1
    values[0] = previous[0]
"""


def test_features_of_your_own_travel_by_their_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    weights = Weights.of({**Decoder(folder).weights.to_dict(), "Long": 0.3, "Steps": -0.2, "Lengths:s": 0.4})
    decoder = Decoder(folder, features=f"{file}:Lengths,steps", weights=weights, search=tiny.SEARCH)
    assert listed(again(decoder).nbest(LINES, 5)) == listed(decoder.nbest(LINES, 5))
    assert listed(again(again(decoder)).nbest(LINES, 5)) == listed(decoder.nbest(LINES, 5))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found, _ = pool.apply(work, ((DecoderSource(decoder, LINES, 5), weights, [1, 2], Bleu()),))
    assert listed(found) == listed(DecoderSource(decoder, LINES, 5).candidates([1, 2], weights))


def test_a_feature_made_in_memory_cannot_travel(folder: Path) -> None:
    class Here:
        name = "Here"
        names = ("Here",)

        def score(self, options: Options) -> Any:
            return options.lengths

    decoder = Decoder(folder, extra=[Here()], weights=Weights.of({"TM": 0.5, "Here": 0.1}))
    with pytest.raises(OptionError, match="`Here` was made in memory and cannot be sent to another process"):
        pickle.dumps(decoder)


def test_a_ranker_travels(folder: Path) -> None:
    source = DecoderSource(Decoder(folder, search=tiny.SEARCH), LINES)
    back = again(source.ranker([[line] for line in LINES], Bleu(tokenize="none")))
    assert back.decoder.weights.to_dict() == source.decoder.weights.to_dict()
