"""Tokenisers by name, the faults that people met, and what is offered besides."""

from __future__ import annotations

import pickle
import sys

import pytest

from dragoman import tokenizers
from dragoman.errors import OptionError
from dragoman.tokenizers import Spanning, Unicode, make
from dragoman.types import Texts


def test_closing_curly_quotes_and_apostrophes() -> None:
    unicode = make("unicode", "en")
    lines = ["“Go,” he said. “It’s late,” and ‘no’.", "Go,” he said."]
    words = ["“ Go , ” he said . “ It ’s late , ” and ‘ no ’ .", "Go , ” he said ."]
    assert unicode.tokenize(lines) == words
    assert unicode.detokenize(words) == lines


@pytest.mark.parametrize(
    ("language", "line", "words"),
    [
        ("en", "Don't say 'no', Mr. O'Neil!", "Don 't say ' no ' , Mr. O'Neil !"),
        ("de", "Am 3. Mai, d.h. „morgen“: 5,5 % – ja?", "Am 3. Mai , d.h. „ morgen “ : 5,5 % – ja ?"),
        ("fr", "L’eau : « aujourd’hui » !", "L’ eau : « aujourd’hui » !"),
        ("it", "Un po' d'acqua dell'isola", "Un po' d' acqua dell' isola"),
        ("sw", "Ng'ombe wangu, “ng’ambo”.", "Ng'ombe wangu , “ ng’ambo ” ."),
        ("ha", "‘’Yan Isra’ila,’", "‘ ’Yan Isra’ila , ’"),
        ("ru", "«Да», — сказал он в 2010 г. и ушёл.", "« Да » , — сказал он в 2010 г. и ушёл ."),
        ("zh", "我用Python 3。", "我 用 Python 3 。"),
        ("ja", "カタカナ、東京。", "カ タ カ ナ 、 東 京 。"),
        ("hi", "राम घर गया।", "राम घर गया ।"),
        ("ar", "مرحبا، كيف؟", "مرحبا ، كيف ؟"),
        ("en", "See https://a.b/c?d=1. Mail x@y.org #tag", "See https://a.b/c?d=1 . Mail x@y.org #tag"),
        ("en", '<p class="a b">Hi</p> &amp; 👩‍👩‍👧', '<p class="a b"> Hi </p> &amp; 👩‍👩‍👧'),
    ],
)
def test_kinds(language: str, line: str, words: str) -> None:
    assert make("unicode", language).tokenize([line]) == [words]
    assert make("unicode", language).detokenize([words]) == [line]


def test_other_spacing_is_marked() -> None:
    unicode = make("unicode", "en")
    lines = ["yes—no", "so , so", "我 用", "￭ ￮ ￬"]
    words = ["yes ￭—￭ no", "so ￮, so", "我 ￮ 用", "￬j ￮￬s ￬e"]
    assert unicode.tokenize(lines) == words
    assert unicode.detokenize(words) == lines


def test_spans_are_a_capability() -> None:
    assert isinstance(make("unicode", "en"), Spanning) and not isinstance(make("char", "en"), Spanning)
    spans = Unicode("en").spans(["  «É», it’s", ""])
    assert spans.texts.to_list() == ["« É » , it ’s", ""]
    assert spans.of(0) == [(2, 3), (3, 4), (4, 5), (5, 6), (7, 9), (9, 11)] and spans.of(1) == []
    assert Unicode("en").joined_spans(spans.texts).of(0) == [(0, 1), (1, 2), (2, 3), (3, 4), (5, 7), (7, 9)]


def test_columns_and_pickles() -> None:
    unicode = Unicode("fr")
    texts = Texts(["L'eau.", ""])
    assert unicode.tokenize_texts(texts) == Texts(["L' eau .", ""])
    again = pickle.loads(pickle.dumps(unicode))
    assert again.detokenize_texts(unicode.tokenize_texts(texts)) == texts


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(OptionError, match="pip install sacremoses"):
        make("moses", "en")


def test_bars_come_back() -> None:
    """What `clean` writes for `|` is joined as `|` is."""
    for line in ["a | b", "a|b", "a| b"]:
        words = make("unicode", "en").tokenize([line])[0].replace("|", tokenizers.BAR)
        assert tokenizers.detokenize([words], "en", "unicode") == [line]
