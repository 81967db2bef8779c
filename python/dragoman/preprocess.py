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
from dragoman.parts import Compounds, Subwords, join_pieces
from dragoman.prepared import LEARNT
from dragoman.tokenizers import BAR, Spanning, make

__all__ = ["Preparation"]

_KNOWN = {"languages", "tokenizers", "normalise", "case", "bars", "factored", *LEARNT.values()}


class Preparation:
    """What is done to a source line before, and to a target line after it is translated.

    `about` is the section `text` of a model, with what `dragoman.corpus.Options` call `languages`, `normalise`, `case`,
    `bars` and `factored`, the `tokenizers` of both sides, and lists of both sides' files in the model's folder:
    `truecasers`, `compounds` and `subwords`. What is not named is not done.

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
        files = {name: about.get(name, ["", ""]) for name in LEARNT.values()}
        self._truecasers = [Truecaser.load(Path(folder) / file) if file else None for file in files["truecasers"]]
        self._compounds = [Compounds.load(Path(folder) / file) if file else None for file in files["compounds"]]
        self._subwords = [Subwords.load(Path(folder) / file) if file else None for file in files["subwords"]]
        self._in_pieces = any(files["subwords"])

    def before(self, lines: Sequence[str]) -> list[str]:
        """Source lines as the model knows them."""
        return self._cut(self._prepared(lines, 0), 0)

    def reference(self, lines: Sequence[str]) -> list[str]:
        """Target lines as the model would write them, to compare its words with."""
        return self._cut(self._prepared(lines, 1), 1)

    def origins(self, line: str) -> tuple[list[str], list[int]]:
        """The words of a source line as they are written, and for each word of `before([line])[0]` whose it is."""
        text = normalise([line], self._form)[0] if self._form != "none" else line
        if isinstance(self._source, Spanning):
            found = [text[start:end] for start, end in self._source.spans([text]).of(0)]
        else:
            found = words(self._source.tokenize([text])[0])
        ready, owners = self._prepared([line], 0), list(range(len(found)))
        for layer in self._layers(0):
            owned = layer.apply(ready)
            ready, owners = owned.texts.to_list(), [owners[word] for word in owned.of(0)]
        return found, owners

    def _prepared(self, lines: Sequence[str], side: int) -> list[str]:
        """Lines with all that changes words one by one."""
        tokenizer, truecaser = (self._source, self._target)[side], self._truecasers[side]
        texts = tokenizer.tokenize(normalise(lines, self._form).to_list() if self._form != "none" else list(lines))
        if self._case == "lower":
            texts = [" ".join(map(self._lower, words(line))) for line in texts]
        if self._escape:
            texts = [line.replace("|", BAR) for line in texts]
        return truecaser.apply(texts, factored=self._factored).to_list() if truecaser is not None else texts

    def _layers(self, side: int) -> list[Compounds | Subwords]:
        """What makes several words of one, in order."""
        return [layer for layer in (self._compounds[side], self._subwords[side]) if layer is not None]

    def _cut(self, lines: list[str], side: int) -> list[str]:
        for layer in self._layers(side):
            lines = layer.apply(lines).texts.to_list()
        return lines

    def after(self, lines: Sequence[str]) -> list[str]:
        """Target lines as people write them."""
        # Pieces of the source side that no rule knows are copied: they are joined, too.
        texts = join_pieces(lines).to_list() if self._in_pieces else list(lines)
        texts = recase(texts, factored=self._factored).to_list() if self._case == "truecase" else texts
        texts = self._target.detokenize(texts)
        return [line.replace(BAR, "|") for line in texts] if self._escape else texts

    def _lower(self, word: str) -> str:
        if not self._factored:
            return word.lower()
        surface, bar, factors = word.partition("|")
        return surface.lower() + bar + factors
