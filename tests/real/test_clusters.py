"""Against mkcls on multi30k."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import clusters
from dragoman.files import read_text
from tests.unit.test_clusters import likelihood

MKCLS = {("en", 20): -4.27911, ("en", 50): -4.04309, ("de", 20): -4.45015, ("de", 50): -4.14445}
"""Log-likelihood per token of mkcls's classes (`-n2 opt`), from the README of the data."""


@pytest.mark.parametrize(("language", "k"), list(MKCLS))
def test_at_least_as_good_as_mkcls(data: Path, language: str, k: int) -> None:
    path = data / "multi30k" / "tok" / f"train.{language}.gz"
    lines = read_text(path).to_list()
    golden = clusters.Classes.load(data / "golden-classes" / f"multi30k.{language}.{k}.classes.gz")
    counts = clusters.Counts(path)
    tokens = counts.tokens + counts.sentences
    table = dict(zip(golden.words, golden.numbers.tolist(), strict=True))
    assert likelihood(lines, table) / tokens == pytest.approx(MKCLS[language, k], abs=1e-5)
    found = counts.train(k)
    assert found.words == golden.words
    table = dict(zip(found.words, found.numbers.tolist(), strict=True))
    assert likelihood(lines, table) / tokens == pytest.approx(found.mean, abs=1e-9)
    assert found.mean >= MKCLS[language, k]
