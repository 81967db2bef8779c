"""Lists of nine systems' outputs: a log-probability that differs by tens, quality scores that differ by hundredths."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.files import read_parallel
from dragoman.metrics import Bleu, Chrf, statistics
from dragoman.tuning import Mira, Online, Pro, Problem, Tuner, judge, tune
from dragoman.types import Candidates, Features, Names, Texts

SENTENCES = 400


@pytest.fixture(scope="module")
def problem(data: Path) -> Problem:
    folder = data / "wmt22-systems" / "de-en"
    columns = read_parallel([*sorted(folder.glob("hyp.*")), folder / "ref.A.en.gz", folder / "ref.B.en.gz"])
    *outputs, reference, other = ([line for line, _ in zip(c, range(SENTENCES), strict=False)] for c in columns)
    counts = Counter(word for output in outputs for line in output for word in line.split())
    total, noise = sum(counts.values()), np.random.default_rng(1)
    chrf = Chrf()

    def quality(line: list[str], against: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        scores = chrf.score(statistics(chrf, line, [[text] for text in against])) / 200
        return scores + noise.normal(0, 0.03, SENTENCES)

    log = np.array([[sum(math.log(counts[w] / total) for w in line.split()) for line in o] for o in outputs])
    length = np.array([[len(line.split()) for line in o] for o in outputs])
    scores = [[quality(o, against) for o in outputs] for against in (outputs[0], other)]
    matrix = np.stack([log, *map(np.array, scores), length], axis=2).transpose(1, 0, 2).reshape(-1, 4)
    names = Names(["log-probability", "consensus", "quality", "length"], dense=True)
    columns_of = np.tile(np.arange(4, dtype=np.uint32), len(matrix))
    rows = Features(names, np.arange(0, matrix.size + 1, 4), columns_of, matrix.ravel())
    texts = Texts([output[s] for s in range(SENTENCES) for output in outputs])
    starts = np.arange(0, len(matrix) + 1, len(outputs))
    candidates = Candidates(Texts([str(s) for s in range(SENTENCES)]), starts, texts, rows)
    return Problem.of_pool(judge(candidates, [[line] for line in reference], Bleu()))


@pytest.mark.parametrize("tuner", [Pro(), Online.phrasal(), Online()], ids=["pro", "phrasal", "adagrad"])
def test_tuners_on_pairs_come_near_kbmira(problem: Problem, tuner: Pro | Online) -> None:
    """In the features' own units AdaGrad could not move the weights of the scores far enough to matter."""

    def end(tuner: Tuner) -> float:
        found = tune(problem, tuner, seed=1)
        print(found.tuner, round(found.start.score, 2), round(found.end.score, 2), found.warnings)
        assert not found.warnings
        return found.end.score

    mended, raw, kbmira = end(tuner), end(replace(tuner, units="raw")), end(Mira.kbmira())
    assert mended > kbmira - 1
    assert mended > raw + (0 if tuner.name == "pro" else 1)
