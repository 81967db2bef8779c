"""Text on its way to a model and back: tokenised and cased as the model's training text was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman._core import language_code, words
from dragoman.corpus import Truecaser, normalise, recase
from dragoman.errors import OptionError
from dragoman.options import closest
from dragoman.tokenizers import BAR, make

__all__ = ["Preparation"]

_KNOWN = {"languages", "tokenizers", "normalise", "case", "truecasers", "bars", "factored"}


class Preparation:
    """What is done to a source line before, and to a target line after it is translated.

    `about` is the section `text` of a model, with what `dragoman.corpus.Options` call `languages`, `normalise`, `case`,
    `bars` and `factored`, the `tokenizers` of both sides, and `truecasers`, the files of both sides' cases in the
    model's folder. What is not named is not done.

    >>> preparation = Preparation({"tokenizers": ["char", "char"], "case": "lower", "bars": "escape"})
    >>> preparation.before(["A |"])
    ['a ▁ &#124;']
    >>> preparation.after(["b ▁ &#124;"])
    ['b |']
    >>> preparation.reference(["B |"])
    ['b ▁ &#124;']
    >>> sides = Preparation({"tokenizers": ["none", "char"]})
    >>> sides.before(["ab"]), sides.reference(["ab"])
    (['ab'], ['a b'])
    """

    def __init__(self, about: Mapping[str, Any], folder: str | PathLike[str] = ".") -> None:
        for name in about:
            if name not in _KNOWN:
                raise OptionError(f"unknown setting `{name}` of a model's text; {closest(name, _KNOWN)}")
        languages = about.get("languages", ["", ""])
        names = about.get("tokenizers", ["none", "none"])
        self._source, self._target = (
            make(name, language_code(language) or "en") for name, language in zip(names, languages, strict=True)
        )
        self._form = str(about.get("normalise", "none"))
        self._case = str(about.get("case", "keep"))
        self._escape = about.get("bars") == "escape"
        self._factored = bool(about.get("factored"))
        self._truecasers = [Truecaser.load(Path(folder) / name) for name in about.get("truecasers", [])]

    def before(self, lines: Sequence[str]) -> list[str]:
        """Source lines as the model knows them."""
        return self._prepared(lines, 0)

    def reference(self, lines: Sequence[str]) -> list[str]:
        """Target lines as the model would write them, to compare its words with."""
        return self._prepared(lines, 1)

    def _prepared(self, lines: Sequence[str], side: int) -> list[str]:
        tokenizer = (self._source, self._target)[side]
        texts = tokenizer.tokenize(normalise(lines, self._form).to_list() if self._form != "none" else list(lines))
        if self._case == "lower":
            texts = [" ".join(map(self._lower, words(line))) for line in texts]
        if self._escape:
            texts = [line.replace("|", BAR) for line in texts]
        return self._truecasers[side].apply(texts, factored=self._factored).to_list() if self._truecasers else texts

    def after(self, lines: Sequence[str]) -> list[str]:
        """Target lines as people write them."""
        texts = recase(lines, factored=self._factored).to_list() if self._case == "truecase" else list(lines)
        texts = self._target.detokenize(texts)
        return [line.replace(BAR, "|") for line in texts] if self._escape else texts

    def _lower(self, word: str) -> str:
        if not self._factored:
            return word.lower()
        surface, bar, factors = word.partition("|")
        return surface.lower() + bar + factors
