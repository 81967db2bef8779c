"""Hierarchical models in all that takes a model: translations, lists, trees, forests, tuning, and what is refused."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman import rules
from dragoman.decoder import Constraints, Decoder, DecoderSource, Search
from dragoman.decoder.sampling import Sampling, sampled
from dragoman.errors import OptionError
from dragoman.model import Model, Part, seal
from dragoman.training import train
from dragoman.translator import Translator, load
from dragoman.types import Texts, Weights
from dragoman.user_features import Options, Sparse

Cli = Callable[..., tuple[int, str, str]]
THINGS = {"hund": "dog", "mann": "man", "vogel": "bird", "wagen": "car"}
VERBS = {"sieht": "sees", "kennt": "knows", "sucht": "seeks"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """German verbs at the end of a clause, and their links."""
    folder = tmp_path_factory.mktemp("hiero")
    lines = [
        (f"weil der {a} den {x} {v} .", f"because the {b} {w} the {y} .")
        for (a, b), (v, w), (x, y) in itertools.product(THINGS.items(), VERBS.items(), THINGS.items())
    ]
    for name, side in zip(("t.de", "t.en"), zip(*lines, strict=True), strict=True):
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    (folder / "links").write_text("0-0 1-1 2-2 3-4 4-5 5-3 6-6\n" * len(lines))
    options: dict[str, Any] = {"alignments": folder / "links", "classes": (4,), "order": 3, "tokenized": True}
    return train(folder / "t.de", folder / "t.en", folder / "m", system="hiero", **options).model


@pytest.fixture
def decoder(trained: Model) -> Decoder:
    return Decoder(trained)


LINE, BEST = "weil der hund den vogel sucht .", "because the dog seeks the bird ."
NEW = "weil der mann den hund den vogel sucht ."


def test_translations_lists_and_streams(decoder: Decoder) -> None:
    assert decoder.translate([LINE, "", "xyzzy"]) == [BEST, "", "xyzzy"]
    found = decoder.nbest([LINE, ""], 20, phrases=True)
    first = found.take(np.array([0]))
    assert first.texts[0] == BEST
    assert first.alignments is not None
    assert first.alignments[0] == "0-0 1-1 2-2 3-4 4-5 5-3 6-6"
    assert found.extra is not None
    assert all(span.endswith("7") or "-" in span for span in found.extra[0].split())
    assert len({found.texts[i] for i in range(int(found.starts[1]))}) == int(found.starts[1]) > 5
    assert found.totals is not None
    scores = found.totals[: int(found.starts[1])].tolist()
    assert scores == sorted(scores, reverse=True)
    streamed = list(decoder.stream([LINE, "", NEW], 3))
    assert [item.texts[0] for item in streamed] == decoder.translate([LINE, "", NEW])


def test_threads_do_not_show(trained: Model) -> None:
    lines = [LINE, NEW, "der hund", ""] * 5
    one, two = (Decoder(trained, threads=n).nbest(lines, 5) for n in (1, 2))
    assert one.texts.to_list() == two.texts.to_list()
    assert one.totals is not None
    assert two.totals is not None
    assert one.totals.tolist() == two.totals.tolist()


def test_an_explanation_is_a_tree(decoder: Decoder) -> None:
    found = decoder.explain(LINE)
    assert found.text == BEST
    assert found.phrases[0].origin == "glue"
    assert found.phrases[-1].origin == "glue"
    assert any("[X,1]" in phrase.source and phrase.depth > 0 for phrase in found.phrases) or len(found.phrases) == 3
    total = sum(found.weights[n] * v for phrase in found.phrases for n, v in phrase.features.items())
    assert total == pytest.approx(found.score, abs=1e-3)
    shown = str(Translator(decoder).explain(LINE, tokenized=True))
    assert "glue" in shown
    assert BEST in shown


def test_forests_have_the_lists(decoder: Decoder) -> None:
    forest = decoder.forest(LINE, features=True)
    listed = decoder.nbest([LINE], 10)
    assert [derived.text for derived in forest.k_best(10)] == listed.texts.to_list()
    assert len(decoder.forest(LINE, density=2.0).edges) < len(forest.edges)


def test_targets_that_are_demanded(decoder: Decoder) -> None:
    found = decoder.force([LINE, LINE], [BEST, "a dog ."])
    assert list(found.starts) == [0, 1, 1]
    assert found.texts[0] == BEST
    best = decoder.nbest([LINE], 1).totals
    assert found.totals is not None
    assert best is not None
    assert found.totals[0] == pytest.approx(best[0], abs=1e-3)


def test_constraints(decoder: Decoder) -> None:
    given = Constraints([(4, 5, "the eagle", 0.0)])
    assert "the eagle" in decoder.translate([LINE], constraints=[given])[0]
    crossed = Constraints([(3, 5, "x", 0.0), (4, 6, "y", 0.0)])
    with pytest.raises(OptionError, match="no translation meets the constraints"):
        decoder.translate([LINE], constraints=[crossed])
    walls = decoder.nbest([LINE], 50, phrases=True, constraints=[Constraints(walls=[3])])
    assert walls.extra is not None
    spans = [span.partition(":")[0].split("-") for row in range(walls.size) for span in walls.extra[row].split()]
    assert not any(int(a) < 3 < int(b) for a, b in spans)


def test_long_sentences_and_short_deadlines(decoder: Decoder) -> None:
    long = " ".join([LINE] * 72)
    assert len(long.split()) == 504
    whole = decoder.translate([long])[0]
    assert whole == " ".join([BEST] * 72)
    hasty = Decoder(decoder.model, search=replace(decoder.search, deadline=1e-6))
    found = hasty._found(Texts([LINE, long]), None, hasty._settings(), None)
    assert found.narrow == [True, True]
    assert len(found.texts[1].split()) > 300
    small = Decoder(decoder.model, search=replace(decoder.search, memory=1000))
    assert len(small.translate([long])[0].split()) > 300


def test_options_of_the_other_system_are_refused(trained: Model, tmp_path: Path) -> None:
    for wrong in (Search(distortion_limit=3), Search(stack_size=7)):
        with pytest.raises(OptionError, match="has no effect in a hierarchical system"):
            Decoder(trained, search=wrong)
    with pytest.raises(OptionError, match="order in which phrases are translated"):
        Decoder(trained, features="lo")


def test_a_table_of_the_other_system_is_refused(trained: Model, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "table").write_text("der hund ||| the dog ||| 0.5 ||| 0-0 1-1 ||| 1 1 1\n", encoding="utf-8")
    rules.import_moses(tmp_path / "table", tmp_path / "rules", columns=["p"])
    parts = [Part("scores", "TM", {"table": 0, "columns": ["p"], "group": "TM"})]
    wrong = seal(tmp_path, tables=["rules"], parts=parts, initial={"TM": 1.0}, system="hiero")
    with pytest.raises(OptionError, match="its rules have no gaps, so it belongs to a phrase-based system"):
        Decoder(wrong)
    (tmp_path / "in").write_text(LINE + "\n", encoding="utf-8")
    common = ["translate", "--model", str(tmp_path), "--input", str(tmp_path / "in"), "--tokenized"]
    code, out, err = cli(*common)
    assert (code, out) == (1, "")
    assert "its rules have no gaps, so it belongs to a phrase-based system" in err
    shutil.copyfile(trained.file("rules"), tmp_path / "rules")
    columns = [Part("scores", "TM", {"table": 0, "columns": ["p(e|f)"], "group": "TM"})]
    other = seal(tmp_path, tables=["rules"], parts=columns, initial={"TM": 1.0})
    with pytest.raises(OptionError, match="its rules have gaps, so it belongs to a hierarchical system"):
        Decoder(other)
    code, out, err = cli(*common)
    assert (code, out) == (1, "")
    assert "its rules have gaps, so it belongs to a hierarchical system" in err


def test_sampling_stays_phrase_based(decoder: Decoder) -> None:
    with pytest.raises(OptionError, match="sampling needs a phrase-based system"):
        sampled(decoder, [LINE], Sampling(samples=1, burn_in=1))


def test_sparse_sets_of_both_systems(trained: Model) -> None:
    decoder = Decoder(trained, features="pt,al,wp,ins,tb,bin")
    found = decoder.nbest([NEW], 5)
    names = set(found.features.row(0))
    assert any(name.startswith("tb:") for name in names)
    assert any(name.startswith("wp:hund>dog") for name in names)
    named = [name for row in range(found.size) for name in found.features.row(row) if name.startswith("pt:")]
    assert any("^1" in name for name in named), named


class Gaps:
    """Gaps of a rule, and words of its target side; sparse: its source side."""

    name, names = "Mine", ("Mine.gaps", "Mine.words")

    def score(self, options: Options) -> Any:
        gaps = np.diff(options.gap_starts)
        rows = np.arange(len(options))
        sparse = Sparse(rows, [f"Mine:{gap}" for gap in gaps], np.ones(len(options)))
        return np.stack([gaps, options.lengths], axis=1), sparse


def test_rule_features_in_python(trained: Model) -> None:
    decoder = Decoder(trained, extra=[Gaps()])
    found = decoder.nbest([NEW, "der xyzzy"], 5)
    for row in range(found.size):
        features = found.features.row(row)
        assert features["Mine.words"] == -features["WordPenalty"]
    assert any("Mine:1" in found.features.row(row) for row in range(found.size))
    heavy = Weights.of({**trained.weights.to_dict(), "Mine.gaps": -100.0})
    assert decoder.nbest([LINE], 1, weights=heavy).features.row(0)["Mine.gaps"] == 0


def test_lists_for_tuners(decoder: Decoder) -> None:
    source = DecoderSource(decoder, [LINE, NEW], 20)
    found = source.candidates([1, 0], decoder.weights)
    assert found.ids.to_list() == ["1", "0"]
    assert source.best(decoder.weights).texts.to_list()[0] == BEST


@pytest.mark.parametrize("tuner", ["kbmira", "pro", "mert", "forest-mert", "lattice-mira", "adagrad"])
def test_tuning(trained: Model, tmp_path: Path, tuner: str) -> None:
    tuned = dragoman.tune(
        load(trained.folder), [BEST, "because the man sees the car ."],
        source=[LINE, "weil der mann den wagen sieht ."], tuner=tuner, tokenized=True, out=tmp_path / "run", epochs=2,
    )  # fmt: skip
    assert tuned


def test_the_command_line(trained: Model, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "in").write_text(LINE + "\n\n" + NEW + "\n", encoding="utf-8")
    common = ["translate", "--model", str(trained.folder), "--input", str(tmp_path / "in"), "--tokenized"]
    code, out, err = cli(*common)
    assert (code, out.splitlines()[:2]) == (0, [BEST, ""]), err
    code, out, err = cli(*common, "--explain")
    assert code == 0, err
    assert "glue" in out
    code, _, err = cli(*common, "--search", "mcmc")
    assert code != 0
    assert "phrase-based" in err
    code, _, err = cli(*common, "--distortion-limit", "3")
    assert code != 0
    assert "has no effect in a hierarchical system" in err
