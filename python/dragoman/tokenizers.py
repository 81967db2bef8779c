"""Tokenisers: from plain text to words apart by blanks, and back.

A tokeniser is made for a language by a factory that stands in `TOKENIZERS` under its name; packages can bring their own
by an entry point in the group `dragoman.tokenizers`. What needs a library imports it on use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from dragoman.errors import OptionError

__all__ = ["TOKENIZERS", "Tokenizer", "detokenize", "make", "register", "tokenize"]

BAR = "&#124;"
"""What `clean` writes for `|`, which phrase tables reserve; `detokenize` turns it back."""


class Tokenizer(Protocol):
    """Lines to tokenised lines and back; as many come out as go in."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Words apart by single blanks."""
        ...

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Plain text."""
        ...


class Blank:
    """Text that has been tokenised already."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """The lines as they are."""
        return list(lines)

    detokenize = tokenize


class Characters:
    """Every character is a word; blanks become `▁`, so that they can be restored."""

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Characters apart by blanks."""
        return [" ".join("▁".join(line.split())) for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Words as they were."""
        return ["".join(line.split()).replace("▁", " ") for line in lines]


class Moses:
    """Moses' rules, by sacremoses; nothing is escaped."""

    def __init__(self, language: str) -> None:
        module = _import("sacremoses", "moses")
        self._split = module.MosesTokenizer(lang=language)
        self._join = module.MosesDetokenizer(lang=language)

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Words and punctuation apart."""
        split = self._split.tokenize
        return [split(line, return_str=True, escape=False) if line else "" for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Punctuation back at its words."""
        join = self._join.detokenize
        return [join(line.split(), unescape=False) if line else "" for line in lines]


class Segments:
    """Languages that write no blanks: a library cuts words, and joining removes the blanks again."""

    def __init__(self, cut: Callable[[str], Sequence[str]]) -> None:
        self._cut = cut

    def tokenize(self, lines: Sequence[str]) -> list[str]:
        """Words apart by blanks."""
        return [" ".join(" ".join(self._cut(line)).split()) for line in lines]

    def detokenize(self, lines: Sequence[str]) -> list[str]:
        """Blanks stay only between two words of ASCII letters and digits."""
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
