"""Moses' rules in Rust against sacremoses, whose lists they use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.files import read_text
from dragoman.tokenizers import Moses

sacremoses = pytest.importorskip("sacremoses")

LANGUAGES = ("de", "en", "fr", "swh", "hau")
"""Those of the corpora; sacremoses has no rules for the last two and takes its lists for English."""


class Oracle:
    """What the native class replaced: one line after the other in Python."""

    def __init__(self, language: str) -> None:
        self._split = sacremoses.MosesTokenizer(lang=language)
        self._join = sacremoses.MosesDetokenizer(lang=language)

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        split = self._split.tokenize
        return [split(line, return_str=True, escape=False) if line else "" for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        join = self._join.detokenize
        return [join(line.split(), unescape=False) if line else "" for line in lines]


def single_spaced(lines: Sequence[str]) -> list[str]:
    """sacremoses leaves a space behind `'` at the end of some lines, and two before it."""
    return [" ".join(line.split()) for line in lines]


def corpora(data: Path) -> list[tuple[str, Path]]:
    """All raw files with their languages."""
    folders = ("multi30k/raw", "europarl", "newstest", "ebible", "wmt22-systems")
    files = [path for folder in folders for path in sorted((data / folder).rglob("*.gz"))]
    return [(next(part for part in reversed(path.name.split(".")) if part in LANGUAGES), path) for path in files]


def compare(data: Path, every: int) -> int:
    """Compare every so many lines of all corpora; gives the number of lines."""
    made = {language: (Oracle(language), Moses(language)) for language in LANGUAGES}
    count = 0
    for language, path in corpora(data):
        oracle, ours = made[language]
        lines = read_text(path).to_list()[::every]
        words = oracle.tokenize(lines)
        assert ours.tokenize(lines) == single_spaced(words), path
        assert ours.detokenize(words) == oracle.detokenize(words), path
        count += len(lines)
    return count


def test_real_text(data: Path) -> None:
    assert compare(data, 40) > 20_000


def test_it_is_many_times_faster(data: Path) -> None:
    """CPU time, the better of two runs each; benchmarks/tokenization.py has figures."""
    lines = read_text(data / "multi30k" / "raw" / "test_2016_flickr.en.gz").to_list()

    def seconds(tokenize: Callable[[list[str]], object]) -> float:
        times = []
        for _ in range(2):
            begin = time.process_time()
            tokenize(lines)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(Oracle("en").tokenize) > 10 * seconds(Moses("en").tokenize)


@pytest.mark.long
def test_all_real_text(data: Path) -> None:
    count = compare(data, 1)
    print(f"equal to sacremoses: {count} of {count} lines, both ways")
    assert count > 800_000


SPACES = [" ", " ", "  ", "\t", "\u00a0", "\x01", "\x1f"]
LETTERS = "a s It Mr No etc U.S DOT MULTI 4 23 ½ 語 カ 한 é ß ् ١"
SIGNS = """' ' '' " ` `` „ “ ” ’ « . . .. ... , , ,, ; : ! ? ( ) [ ] { ¿ $ € % \\ - – @-@ @ & |"""
PIECES = [*SPACES, *LETTERS.split(), *SIGNS.split()]
LINES = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(codec="utf-8")), max_size=24).map("".join)


@pytest.mark.parametrize("language", ["en", "fr", "it", "de", "ga", "fi", "zh", "ja", "ko", "ta", "xx"])
def test_odd_text(language: str) -> None:
    oracle, ours = Oracle(language), Moses(language)

    @settings(max_examples=150)
    @given(st.lists(LINES, max_size=4))
    def check(lines: list[str]) -> None:
        assert ours.tokenize(lines) == single_spaced(oracle.tokenize(lines))
        assert ours.detokenize(lines) == oracle.detokenize(lines)

    check()


def test_czech() -> None:
    """Decimals as sacremoses has them; before dashes, where it fails, ours does what it means."""
    oracle, ours = Oracle("cs"), Moses("cs")
    lines = ["Je to „ tak “ , ne ?", "3 , 5 a 7 .", "a 3 4 .", "2 , 4 5 ,"]
    assert ours.detokenize(lines) == oracle.detokenize(lines)
    assert ours.tokenize(["Např. 3,5 atd. „tak“."]) == oracle.tokenize(["Např. 3,5 atd. „tak“."])
    with pytest.raises(TypeError):
        oracle.detokenize(["e' - mail je"])
    assert ours.detokenize(["e' - mail je"]) == ["e'-mail je"]
