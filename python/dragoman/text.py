"""Text on its way to a model and back: tokenised and cased as the model's training text was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.corpus import Truecaser, normalise, recase
from dragoman.tokenizers import make

__all__ = ["Preparation"]


class Preparation:
    """What is done to a source line before, and to a target line after it is translated.

    `about` is the section `text` of a model: `languages`, `tokenizers`, `normalise`, `case` and `truecaser`, the file
    of the source side's cases in the model's folder.
    """

    def __init__(self, about: Mapping[str, Any], folder: str | PathLike[str] = ".") -> None:
        languages = about.get("languages") or ["", ""]
        tokenizers = about.get("tokenizers") or ["none", "none"]
        self._source = None if tokenizers[0] == "none" else make(tokenizers[0], languages[0] or "en")
        self._target = None if tokenizers[1] == "none" else make(tokenizers[1], languages[1] or "en")
        self._form = str(about.get("normalise", "none"))
        self._case = str(about.get("case", "keep"))
        truecaser = about.get("truecaser")
        self._truecaser = Truecaser.load(Path(folder) / truecaser) if truecaser else None

    @property
    def plain(self) -> bool:
        """Whether lines stay as they are."""
        return self._source is None and self._target is None and self._case == "keep" and self._form == "none"

    def before(self, lines: Sequence[str]) -> list[str]:
        """Source lines as the model knows them."""
        texts = list(normalise(lines, self._form)) if self._form != "none" else list(lines)
        if self._source is not None:
            texts = self._source.tokenize(texts)
        if self._case == "lower":
            return [line.lower() for line in texts]
        return list(self._truecaser.apply(texts)) if self._truecaser is not None else texts

    def after(self, lines: Sequence[str]) -> list[str]:
        """Target lines as people write them."""
        texts = list(recase(lines)) if self._case == "truecase" else list(lines)
        return texts if self._target is None else self._target.detokenize(texts)
