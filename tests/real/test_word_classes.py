"""Against mkcls on multi30k."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman import word_classes
from dragoman.files import read_text

MKCLS = {("en", 20): -4.27911, ("en", 50): -4.04309, ("de", 20): -4.45015, ("de", 50): -4.14445}
"""Log-likelihood per token of mkcls's classes (`-n2 opt`), from the README of the data."""


def likelihood(lines: Sequence[str], classes: dict[str, int]) -> float:
    """Log p(c | c') + log p(w | c), summed over words and ends, straight from the definition."""
    pairs, left, total, words = Counter[tuple[int, int]](), Counter[int](), Counter[int](), Counter[str]()
    for line in lines:
        last = 0
        for word in line.split():
            words[word] += 1
            total[classes[word]] += 1
            pairs[last, classes[word]] += 1
            last = classes[word]
        pairs[last, 0] += 1
    for (a, _), count in pairs.items():
        left[a] += count
    value = sum(count * math.log(count / left[a]) for (a, _), count in pairs.items())
    return value + sum(count * math.log(count / total[classes[word]]) for word, count in words.items())


@pytest.mark.parametrize(
    ("language", "k"),
    [("en", 20), ("de", 50), *(pytest.param(*case, marks=pytest.mark.long) for case in [("en", 50), ("de", 20)])],
)
def test_at_least_as_good_as_mkcls(data: Path, language: str, k: int) -> None:
    path = data / "multi30k" / "tok" / f"train.{language}.gz"
    lines = read_text(path).to_list()
    golden = word_classes.Classes.load(data / "golden-classes" / f"multi30k.{language}.{k}.classes.gz")
    counts = word_classes.Counts(path)
    tokens = counts.tokens + counts.sentences
    table = dict(zip(golden.words, golden.numbers.tolist(), strict=True))
    assert likelihood(lines, table) / tokens == pytest.approx(MKCLS[language, k], abs=1e-5)
    found = counts.train(k)
    assert sorted(found.words) == sorted(golden.words)
    table = dict(zip(found.words, found.numbers.tolist(), strict=True))
    assert likelihood(lines, table) / tokens == pytest.approx(found.mean, abs=1e-9)
    assert found.mean >= MKCLS[language, k]
