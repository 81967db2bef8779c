"""Cleaning real text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import corpus
from dragoman.files import read_text


def test_test_sets_are_removed(data: Path, tmp_path: Path) -> None:
    """The raw test set is found in tokenised text that contains it."""
    folder = data / "multi30k"
    for side in ("de", "en"):
        lines = read_text(folder / "tok" / f"train.{side}.gz").to_list()[:3000]
        lines += read_text(folder / "tok" / f"test_2016_flickr.{side}.gz").to_list()
        (tmp_path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = corpus.clean(
        [corpus.Files(tmp_path / "de", tmp_path / "en")],
        (tmp_path / "o.de", tmp_path / "o.en"),
        corpus.Options(case="lower"),
        exclude=[folder / "raw" / f"test_2016_flickr.{side}.gz" for side in ("de", "en")],
    )
    assert report.read == 4000 and 900 <= report.dropped["overlap"] <= 1010
    assert report.kept + sum(report.dropped.values()) == 4000


@pytest.mark.parametrize(("language", "share"), [("de", 0.98), ("en", 0.98), ("fr", 0.9)])
def test_detokenised_text_is_mostly_what_it_was(data: Path, language: str, share: float) -> None:
    pytest.importorskip("sacremoses")
    lines = corpus.normalise(read_text(data / "multi30k" / "raw" / f"train.{language}.gz")).to_list()[:1000]
    back = corpus.detokenize(corpus.tokenize(lines, language), language)
    same = sum(a == b for a, b in zip(lines, back, strict=True))
    assert same >= share * len(lines), [(a, b) for a, b in zip(lines, back, strict=True) if a != b][:5]
