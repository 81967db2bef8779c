"""Tokenisers: from plain text to words apart by spaces, and back.

A tokeniser is made for a language by a factory that is in `TOKENIZERS` under its name; packages can bring their own
by an entry point in the group `dragoman.tokenizers`. What needs a library imports it on use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dragoman import _core
from dragoman.errors import OptionError
from dragoman.types import Texts

__all__ = ["TOKENIZERS", "Spanning", "Spans", "Tokenizer", "detokenize", "make", "register", "tokenize"]

BAR = "&#124;"
"""What `clean` writes for `|`, which phrase tables reserve; `detokenize` turns it back."""


class Tokenizer(Protocol):
    """Lines to tokenised lines and back; as many come out as go in."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Words apart by single spaces."""
        ...

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Plain text."""
        ...


@dataclass(frozen=True)
class Spans:
    """Lines, and where words are: word k of line i is number `lines[i] + k` of `starts` and `ends`, in characters."""

    texts: Texts
    """What came out: tokenised lines, or plain ones."""
    lines: npt.NDArray[np.int64]
    """The first word of each line, and the number of all words."""
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def of(self, line: int) -> list[tuple[int, int]]:
        """The start and the end of each word of a line."""
        words = slice(self.lines[line], self.lines[line + 1])
        return list(zip(self.starts[words].tolist(), self.ends[words].tolist(), strict=True))


@runtime_checkable
class Spanning(Protocol):
    """What a tokeniser can do besides: say where words are in plain text."""

    def spans(self, lines: Sequence[str]) -> Spans:
        """Tokenised lines, and where their words are in `lines`."""
        ...

    def joined_spans(self, lines: Sequence[str]) -> Spans:
        """Plain text of tokenised lines, and where their words are in that."""
        ...


class Blank:
    """Text that has been tokenised already."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """The lines as they are."""
        return list(lines)

    detokenize = tokenize


class Characters:
    """Every character is a word; spaces become `▁`, so that they can be restored."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Characters apart by spaces."""
        return [" ".join("▁".join(line.split())) for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Words as they were."""
        return ["".join(line.split()).replace("▁", " ") for line in lines]


class Native:
    """A tokeniser of the Rust core, on all cores; columns of texts are taken as they are."""

    _native: _core.UnicodeTokenizer | _core.MosesTokenizer

    def __init__(self, language: str) -> None:
        self.language = language

    def __reduce__(self) -> tuple[type[Native], tuple[str]]:
        return type(self), (self.language,)

    def tokenize(self, lines: Sequence[str] | Texts) -> list[str]:
        """Words and punctuation apart."""
        return self.tokenize_texts(_column(lines)).to_list()

    def detokenize(self, lines: Sequence[str] | Texts) -> list[str]:
        """Punctuation back at its words."""
        return self.detokenize_texts(_column(lines)).to_list()

    def tokenize_texts(self, texts: Texts) -> Texts:
        """`tokenize` for a column."""
        return self._native.tokenize(texts)

    def detokenize_texts(self, texts: Texts) -> Texts:
        """`detokenize` for a column."""
        return self._native.detokenize(texts)


def _column(lines: Sequence[str] | Texts) -> Texts:
    return lines if isinstance(lines, Texts) else Texts(list(lines))


class Unicode(Native):
    """Rules by classes of characters, with what depends on the language; unknown languages get the rest of the rules.

    What joining by rule would space otherwise is marked, so that every line comes back as it was, but for white space,
    of which each run becomes one space and none stays at the ends: `￭` at the side of a word that is joined, `￮` at the
    side where a space is, and `￮` alone for a space between two words.

    >>> unicode = Unicode("en")
    >>> unicode.tokenize(["“Don't go,” he said.", "either / or"])
    ["“ Don 't go , ” he said .", 'either ￮/￮ or']
    >>> unicode.detokenize(["“ Don 't go , ” he said .", "either ￮/￮ or"])
    ["“Don't go,” he said.", 'either / or']
    >>> unicode.spans(["It's."]).of(0)
    [(0, 2), (2, 4), (4, 5)]
    """

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._spanning = self._native = _core.UnicodeTokenizer(language)

    def spans(self, lines: Sequence[str] | Texts) -> Spans:
        """Tokenised lines, and where their words are in `lines`; a mark alone has an empty span."""
        return Spans(*self._spanning.tokenize_spans(_column(lines)))

    def joined_spans(self, lines: Sequence[str] | Texts) -> Spans:
        """Plain text of tokenised lines, and where their words are in that; a mark alone has an empty span."""
        return Spans(*self._spanning.detokenize_spans(_column(lines)))


class Moses(Native):
    """Moses' rules as sacremoses has them, with its lists; nothing is escaped."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        module = _import("sacremoses", "moses")
        split = module.MosesTokenizer(lang=language)
        join = module.MosesDetokenizer(lang=language)
        self._native = _core.MosesTokenizer(
            language,
            (split.IsAlnum, split.IsAlpha, split.IsN, split.IsLower),
            (split.NONBREAKING_PREFIXES, split.NUMERIC_ONLY_PREFIXES),
            (join.IsAlpha, join.IsSc, importlib.import_module("sacremoses.util").CJKChars.ranges),
        )


class Segments:
    """Languages that write no spaces: a library cuts words, and joining removes the spaces again."""

    def __init__(self, cut: Callable[[str], Sequence[str]]) -> None:
        self._cut = cut

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Words apart by spaces."""
        return [" ".join(" ".join(self._cut(line)).split()) for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Spaces stay only between two words of ASCII letters and digits."""
        return [_join(line.split()) for line in lines]


def _join(words: list[str]) -> str:
    text = ""
    for word in words:
        apart = text and text[-1].isascii() and text[-1].isalnum() and word[0].isascii() and word[0].isalnum()
        text += f" {word}" if apart else word
    return text


def _import(module: str, tokenizer: str, package: str | None = None) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise OptionError(f"the tokeniser {tokenizer} needs a package: pip install {package or module}") from None


def _jieba(_language: str) -> Tokenizer:
    return Segments(_import("rjieba", "jieba").cut)


def _fugashi(_language: str) -> Tokenizer:
    tagger = _import("fugashi", "fugashi", "'fugashi[unidic-lite]'").Tagger("-Owakati")
    return Segments(lambda line: tagger.parse(line).split())


TOKENIZERS: dict[str, Callable[[str], Tokenizer]] = {
    "none": lambda _language: Blank(),
    "char": lambda _language: Characters(),
    "unicode": Unicode,
    "moses": Moses,
    "jieba": _jieba,
    "fugashi": _fugashi,
}
"""Factories by name; each is called with a language such as `de`."""


def register(name: str, factory: Callable[[str], Tokenizer]) -> None:
    """Add a tokeniser, or replace one."""
    TOKENIZERS[name] = factory


def make(name: str, language: str) -> Tokenizer:
    """The tokeniser called `name` for a language."""
    if name in TOKENIZERS:
        return TOKENIZERS[name](language)
    found = {entry.name: entry for entry in entry_points(group="dragoman.tokenizers")}
    if name in found:
        tokenizer: Tokenizer = found[name].load()(language)
        return tokenizer
    raise OptionError(f"expected a tokeniser among {', '.join(sorted({*TOKENIZERS, *found}))}, found {name}")


def tokenize(lines: Sequence[str], language: str = "en", tokenizer: str = "moses") -> list[str]:
    """Tokenised lines.

    >>> tokenize(["a b"], tokenizer="char")
    ['a ▁ b']
    """
    return make(tokenizer, language).tokenize(lines)


def detokenize(lines: Sequence[str], language: str = "en", tokenizer: str = "moses") -> list[str]:
    """Plain text of tokenised lines; escaped bars become bars.

    >>> detokenize(["a ▁ b &#124;"], tokenizer="char")
    ['a b|']
    """
    return [line.replace(BAR, "|") for line in make(tokenizer, language).detokenize(lines)]
