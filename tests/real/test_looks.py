"""What real text looks like: no false alarm on any corpus, and none missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import corpus
from dragoman.files import read_text
from dragoman.looks import look

FILES = {
    "multi30k/raw/train": ("de", "en", "fr"),
    "multi30k/raw/val": ("de", "en", "fr"),
    "multi30k/tok/train": ("de", "en", "fr"),
    "multi30k/tok/val": ("de", "en", "fr"),
    "europarl/de-en/train": ("de", "en"),
    "europarl/fr-en/train": ("fr", "en"),
    "newstest/de-en/newstest2009": ("de", "en"),
    "newstest/fr-en/newstest2010": ("fr", "en"),
    "ebible/train": ("hau", "swh", "en.0", "en.1", "en.2", "en.3", "en.4"),
    "gold-alignments/fr-en/bitext": ("fr", "en"),
}


def test_what_corpora_look_like(data: Path) -> None:
    """`tok` and the gold alignments are tokenised and lower-cased, all else is plain text."""
    table = []
    for name, sides in FILES.items():
        for side in sides:
            found = look(read_text(data / f"{name}.{side}.gz").to_list()[:10_000:5])
            made = "tok" in name or "gold" in name
            table.append((f"{name}.{side}", found.tokenised, found.case, made, found))
    print("".join(f"{name:<32} {'tokenised' if words else 'plain':<10} {case}\n" for name, words, case, *_ in table))
    for name, tokenised, case, made, found in table:
        assert (tokenised, case) == (made, "lower" if made else "plain"), (name, found)


@pytest.mark.parametrize("tokenizer", ["unicode", "moses"])
@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("europarl/de-en/train.de", "de"),
        ("europarl/de-en/train.en", "en"),
        ("europarl/fr-en/train.fr", "fr"),
        ("newstest/de-en/newstest2009.de", "de"),
        ("ebible/train.en.0", "en"),
        ("ebible/train.swh", "sw"),
    ],
)
def test_what_our_own_tools_make_is_recognised(data: Path, name: str, language: str, tokenizer: str) -> None:
    if tokenizer == "moses":
        pytest.importorskip("sacremoses")
    lines = read_text(data / f"{name}.gz").to_list()[:3000]
    words = corpus.tokenize(lines, language, tokenizer)
    assert look(words).tokenised is True and look(words).case == "plain"
    cased = corpus.Truecaser.learn(words).apply(words).to_list()
    found = look(cased)
    assert (found.tokenised, found.case) == (True, "truecase"), found
    assert look([line.lower() for line in words]).case == "lower"
