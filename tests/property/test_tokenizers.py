"""The tokeniser by Unicode's classes, as Python sees it: the way back is exact, spans count code points."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import _core
from dragoman.tokenizers import Unicode, make

SPACES = [" ", " ", " ", "\u00a0", "\u3000", "\x1c", "\t"]
LETTERS = "a s I The Mr qu l po 1 23 語 カ ー ก ้ क् 한 \u0301 \u200d \ufe0f 👩 🏽 🇩 🇪 ʼ ا ؟ ״ ￭ ￮ ￬"
SIGNS = """' ’ " “ ” „ ‚ ‘ « » ` `` '' . ... … , : ! ? ( ) <b> </b> <a > - -- – — / & &amp; | # @ $ % °C * +"""
PIECES = [*SPACES, *LETTERS.split(), *SIGNS.split(), "<a href=x", "www.", "http://", "x.org"]
LINES = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(codec="utf-8")), max_size=30).map("".join)
LANGUAGES = st.sampled_from(["", "en", "de", "fr", "it", "ca", "nl", "ha", "sv", "ko", "zh", "th"])


def bare(word: str) -> str:
    """A word without its marks."""
    word = word[1:] if word[:1] in ("￭", "￮") else word
    word = word[:-1] if word[-1:] in ("￭", "￮") else word
    plain = ""
    characters = iter(word)
    for c in characters:
        plain += {"j": "￭", "s": "￮", "e": "￬"}[next(characters)] if c == "￬" else c
    return plain


@settings(max_examples=600)
@given(st.lists(LINES, max_size=4), LANGUAGES)
def test_the_way_back_is_exact(lines: list[str], language: str) -> None:
    unicode = Unicode(language)
    spans = unicode.spans(lines)
    joined = unicode.joined_spans(spans.texts)
    assert unicode.tokenize(lines) == spans.texts.to_list()
    assert unicode.detokenize(spans.texts) == joined.texts.to_list() == [" ".join(line.split()) for line in lines]
    for index, line in enumerate(lines):
        words = spans.texts[index].split(" ") if spans.texts[index] else []
        assert words == spans.texts[index].split(), "no word is empty or has white space"
        texts = [bare(word) for word in words]
        assert [line[start:end] for start, end in spans.of(index)] == texts
        assert [joined.texts[index][start:end] for start, end in joined.of(index)] == texts
        touching = [start for (_, before), (start, end) in pairwise(spans.of(index)) if start == before < end]
        assert not any(unicodedata.combining(line[start]) for start in touching), "marks stay with their letters"


@settings(max_examples=400)
@given(LINES, LANGUAGES)
def test_anything_can_be_joined(line: str, language: str) -> None:
    spans = Unicode(language).joined_spans([line])
    assert len(spans.of(0)) == len(line.split())
    assert spans.texts[0] == " ".join(spans.texts[0].split())


@pytest.mark.parametrize("name", ["unicode", "moses"])
def test_threads_change_nothing(name: str) -> None:
    if name == "moses":
        pytest.importorskip("sacremoses")
    texts = [f"Line {k}, it’s “{k}”... ({k % 7})" for k in range(5000)]
    tokenizer = make(name, "en")
    before = _core.get_threads()
    found = []
    try:
        for count in (1, 3):
            _core.set_threads(count)
            found.append((tokenizer.tokenize(texts), tokenizer.detokenize(tokenizer.tokenize(texts))))
    finally:
        _core.set_threads(before)
    assert found[0] == found[1]
