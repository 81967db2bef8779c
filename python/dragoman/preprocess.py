"""Text on its way to a model and back: tokenised and cased as the model's training text was."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from dragoman._core import follow_spans, language_code, normalise_spans, words
from dragoman.corpus import Truecaser, normalise, recase
from dragoman.errors import OptionError
from dragoman.options import closest
from dragoman.parts import MARK, Compounds, Subwords, join_pieces
from dragoman.prepared import LEARNT
from dragoman.tokenizers import BAR, Spanning, Spans, make
from dragoman.types import Texts

__all__ = ["Cut", "Preparation", "bare_words", "word_spans"]

_KNOWN = {"languages", "tokenizers", "normalise", "case", "bars", "factored", *LEARNT.values()}
_MARKS = "\uffed\uffee"
"""What the tokeniser `unicode` writes at the sides of words."""


class Cut(NamedTuple):
    """A line, and where each of its words is in another form of it, in characters."""

    text: str
    spans: list[tuple[int, int]]


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
        self._idle = names[0] == "none" and self._case == "keep" and not any(side[0] for side in files.values())

    @property
    def idle(self) -> bool:
        """Whether source lines stay as they are: neither tokenised nor cased."""
        return self._idle

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

    def target(self, lines: Sequence[str]) -> list[str]:
        """Target text that somebody demands, in words; its case stays as it is, unless the model has small letters."""
        return self._cut(self._written(self._target.tokenize(self._normal(lines))), 1)

    def cut(self, line: str) -> Cut:
        """A source line as the model knows it, and where its words are in the line.

        >>> Preparation({"tokenizers": ["unicode", "unicode"], "normalise": "nfc"}).cut("  It's  here.")
        Cut(text="It 's here .", spans=[(2, 4), (4, 6), (8, 12), (12, 13)])
        """
        text, places = (line, None) if self._form == "none" else normalise_spans(line, self._form)
        if isinstance(self._source, Spanning):
            found = self._source.spans([text])
        else:
            found = _followed(text, self._source.tokenize([text])[0])
        spans = found.of(0)
        if places is not None:
            spans = [_traced(span, places) for span in spans]
        ready = self._cased([found.texts[0]], 0)
        for layer in self._layers(0):  # a part of a word is where the word is
            owned = layer.apply(ready)
            ready, spans = owned.texts.to_list(), [spans[word] for word in owned.of(0)]
        return Cut(ready[0], spans)

    def _prepared(self, lines: Sequence[str], side: int) -> list[str]:
        """Lines with all that changes words one by one."""
        tokenizer = (self._source, self._target)[side]
        return self._cased(tokenizer.tokenize(self._normal(lines)), side)

    def _normal(self, lines: Sequence[str]) -> list[str]:
        return normalise(lines, self._form).to_list() if self._form != "none" else list(lines)

    def _written(self, texts: list[str]) -> list[str]:
        if self._case == "lower":
            texts = [" ".join(map(self._lower, words(line))) for line in texts]
        return [line.replace("|", BAR) for line in texts] if self._escape else texts

    def _cased(self, texts: list[str], side: int) -> list[str]:
        texts, truecaser = self._written(texts), self._truecasers[side]
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
        texts = self._target.detokenize(self._recased(self._whole(lines)))
        return [line.replace(BAR, "|") for line in texts] if self._escape else texts

    def joined(self, line: str) -> Cut:
        """A target line as people write it, and where the model's words are in that.

        >>> Preparation({"tokenizers": ["unicode", "unicode"], "case": "truecase"}).joined("das ist ￭'s .")
        Cut(text="Das ist's.", spans=[(0, 3), (4, 7), (7, 9), (9, 10)])
        """
        recased = self._recased(self._whole([line]))
        if isinstance(self._target, Spanning):
            found = self._target.joined_spans(recased)
        else:
            found = _followed(self._target.detokenize(recased)[0], recased[0], keep_plain=True)
        text, spans = found.texts[0], found.of(0)
        if self._in_pieces:
            spans = _of_pieces(words(line), spans)
        if not self._escape or BAR not in text:
            return Cut(text, spans)
        return Cut(text.replace(BAR, "|"), [(_unescaped(text, start), _unescaped(text, end)) for start, end in spans])

    def _whole(self, lines: Sequence[str]) -> list[str]:
        # Pieces of the source side that no rule knows are copied: they are joined, too.
        return join_pieces(lines).to_list() if self._in_pieces else list(lines)

    def _recased(self, lines: Sequence[str]) -> list[str]:
        return recase(lines, factored=self._factored).to_list() if self._case == "truecase" else list(lines)

    def term(self, text: str) -> tuple[str, ...]:
        """The words of a term, as they are looked for in a sentence; none if there are none.

        Case does not matter where the model's text is truecased, but for words in capitals: `US` is not `us`.
        """
        written = self._written(self._source.tokenize(self._normal([text])))[0]
        keys = []
        for word in filter(None, map(_bare, words(written))):
            capitals = len(word) > 1 and word.isupper() and self._case == "truecase"
            keys.append(word if capitals or self._case == "keep" else word.lower())
        return tuple(keys)

    def uncut(self, ready: str, line: str | None) -> tuple[list[str], list[int]]:
        """The words of a source line before they are cut into parts; where the parts of each begin, and where all end.

        `ready` is the line as the model knows it, `line` as it was written, None if it came as it is.
        """
        parts = words(ready)
        if line is None:
            owners = _owners(parts) if self._in_pieces else list(range(len(parts)))
            whole = words(join_pieces([ready])[0]) if self._in_pieces else parts
        else:
            texts = self._prepared([line], 0)
            whole, owners = words(texts[0]), list(range(len(words(texts[0]))))
            for layer in self._layers(0):
                owned = layer.apply(texts)
                texts, owners = owned.texts.to_list(), [owners[word] for word in owned.of(0)]
        return whole, [bisect_left(owners, word) for word in range(len(whole))] + [len(parts)]

    def forms(self, uncut: Sequence[str]) -> list[tuple[str, ...]]:
        """What each word of `uncut` may be called in `term`, its own form first; empty for marks alone."""
        bare = map(_bare, uncut)
        return [(word,) if self._case == "keep" else (word, word.lower()) for word in bare]

    def _lower(self, word: str) -> str:
        if not self._factored:
            return word.lower()
        surface, bar, factors = word.partition("|")
        return surface.lower() + bar + factors


def bare_words(line: str) -> str:
    """A line tokenised by Unicode classes, without the marks that would bring its spaces back.

    >>> bare_words("Zwei Hunde, im Schnee.")
    'Zwei Hunde , im Schnee .'
    """
    return " ".join(filter(None, map(_bare, words(make("unicode", "en").tokenize([line])[0]))))


def word_spans(line: str) -> list[tuple[int, int]]:
    """Where the words of a tokenised line are in it.

    >>> word_spans("a  bc")
    [(0, 1), (3, 5)]
    """
    return _followed(line, line).of(0)


def _followed(plain: str, tokenized: str, *, keep_plain: bool = False) -> Spans:
    """Where words are, for tokenisers that do not say."""
    texts, *places = follow_spans(Texts([plain]), Texts([tokenized]))
    return Spans(Texts([plain]) if keep_plain else texts, *places)


def _traced(span: tuple[int, int], places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """A span of a normalised line in the line as it was."""
    start, end = span
    if start < end:
        return places[start][0], places[end - 1][1]
    at = places[start - 1][1] if start else 0
    return at, at


def _of_pieces(pieces: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each piece the span of its word, given those of the whole words."""
    return [spans[min(owner, len(spans) - 1)] for owner in _owners(pieces)] if spans else []


def _owners(pieces: Sequence[str]) -> list[int]:
    """For each piece the number of its word."""
    owners, word = [], 0
    for piece in pieces:
        owners.append(word)
        word += not piece.endswith(MARK)
    return owners


def _unescaped(text: str, at: int) -> int:
    """A place of a text with escaped bars in the text with bars."""
    return at - (len(BAR) - 1) * text.count(BAR, 0, at)


def _bare(word: str) -> str:
    """A word without the tokeniser's marks."""
    return word.strip(_MARKS)
