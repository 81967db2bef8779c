"""Forests of a real model: captions of multi30k."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.decoder import Decoder, DecoderSource, Search
from dragoman.files import read_text, write_text
from dragoman.metrics import Bleu
from dragoman.training import train
from dragoman.tuning import Mira
from dragoman.tuning.loops.paths import Paths
from dragoman.types import F64, Hypotheses

METRIC = Bleu(tokenize="none")
PAIRS, LINES, LIST = 2000, 30, 10_000


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captions")
    for part, name, count in (("train", "train", PAIRS), ("val", "dev", LINES)):
        for side in ("de", "en"):
            lines = read_text(data / "multi30k" / "tok" / f"{part}.{side}.gz").to_list()[:count]
            write_text(made / f"{name}.{side}", lines)
    train(made / "train.de", made / "train.en", made / "model", tokenized=True)
    return made


def score(texts: list[str], reference: str) -> F64:
    rows = METRIC.prepare([[reference]] * len(texts)).statistics(Hypotheses.one_each(texts))
    return np.asarray(METRIC.sentence_level().score(rows))


def test_oracles_of_forests_are_at_least_those_of_the_largest_lists(folder: Path) -> None:
    lines, references = (read_text(folder / f"dev.{side}").to_list() for side in ("de", "en"))
    decoder = Decoder(folder / "model", search=Search(pop_limit=200, stack_size=100))
    source = DecoderSource(decoder, lines)
    forests = Paths(source, [[line] for line in references], METRIC, Mira(space="lattice", oracle="mb", density=0.0))
    better, sums = 0, np.zeros(2)
    for number, line in enumerate(lines):
        listed = decoder.nbest([line], LIST).texts.to_list()
        found = forests.candidates(number, decoder.weights, None, lambda row: float(row[1]), None).texts.to_list()
        ours, theirs = score(found, references[number]).max(), score(listed, references[number]).max()
        assert ours >= theirs - 1e-9, line
        better += ours > theirs + 1e-9
        sums += ours, theirs
    print(sums / len(lines), better)
    assert better >= 3, "some sentences have better ones than the list can hold"


def test_lists_are_those_of_the_decoder(folder: Path) -> None:
    lines = read_text(folder / "dev.de").to_list()[:10]
    decoder = Decoder(folder / "model", search=Search(pop_limit=200, stack_size=100))
    for line in lines:
        forest, listed = decoder.forest(line, features=True), decoder.nbest([line], 100, features=True)
        assert listed.totals is not None
        best = forest.k_best(100)
        assert [d.score for d in best] == pytest.approx(listed.totals.tolist(), abs=1e-3)
        assert len({d.text for d in best} & set(listed.texts.to_list())) >= 97, "but for ties"
        again = forest.rescored(decoder.weights).k_best(100)
        assert [d.score for d in again] == pytest.approx([d.score for d in best], abs=1e-3)
        for derived in best[::20]:
            reached = forest.reach(derived.text)
            assert reached is not None and reached.score == pytest.approx(derived.score)
