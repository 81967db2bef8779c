"""HTML in, HTML out: text is translated, tags stay with the words that they stood at, by the alignment.

Pages come from anybody. The time for one is in proportion to its length, times how deep its tags are at most.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.errors import OptionError
from dragoman.serve.scanner import Kind, Token, plain, scan

__all__ = ["Aligned", "Page", "Segment", "read_pages"]

_MOST_TAGS = 100_000
"""Tags of all pages of a request: each is an object, a hundred times larger than its text."""
_MOST_DEPTH = 100
"""Tags inside each other in a sentence: pages of people have ten."""

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img input ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)
"""Tags inside a sentence; all others end it."""
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_KEPT = frozenset("script style code pre textarea svg math noscript template kbd samp var tt".split())
"""What is inside these is not translated."""
_INK = re.compile(r"\S")
_UNTRANSLATED = re.compile(r"""[\s"'/]translate\s*=\s*["']?no(?=["'\s/>])""", re.IGNORECASE)


class Aligned(NamedTuple):
    """The translation of a segment: its text, and pairs of spans of the source and of the text that belong together."""

    text: str
    links: Sequence[tuple[int, int, int, int]]
    words: Sequence[tuple[int, int]]
    """Where words are in the text."""


@dataclass(eq=False)
class _Element:
    """A tag pair, or a tag alone, from a place of the source text up to another."""

    opening: str
    closing: str
    start: int
    end: int = -1
    name: str = ""
    children: list[_Element] = field(default_factory=list)


class Segment:
    """Text between two block tags, with the tags inside it; `start` is its place in the page."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.text = ""
        """Without tags, when it is finished."""
        self._parts: list[str] = []
        self._length = 0
        self._wraps = 0
        self.root = _Element("", "", 0)
        self._open = [self.root]

    def data(self, text: str) -> None:
        """More text."""
        self._parts.append(text)
        self._length += len(text)

    def open(self, name: str, raw: str) -> None:
        """A tag begins."""
        element = _Element(raw, "", self._length, name=name)
        self._open[-1].children.append(element)
        self._open.append(element)
        _check_depth(len(self._open))

    def close(self, name: str, raw: str) -> None:
        """A tag ends: the innermost of its name, or one that began before this segment."""
        at = next((i for i in range(len(self._open) - 1, 0, -1) if self._open[i].name == name), 0)
        if not at:
            # It began before this segment: all so far is inside it.
            self.root.children = [_Element("", raw, 0, self._length, children=self.root.children)]
            for element in self._open[1:]:
                element.end = self._length
            del self._open[1:]
            self._wraps += 1
            _check_depth(self._wraps)
            return
        for element in self._open[at:]:
            element.end = self._length
        self._open[at].closing = raw
        del self._open[at:]

    def alone(self, raw: str) -> None:
        """A tag without an end, a comment, what is not translated."""
        self._open[-1].children.append(_Element(raw, "", self._length, self._length))

    def finish(self) -> Segment:
        """No more comes: what is open stays open."""
        for element in self._open:
            element.end = self._length
        self.text = "".join(self._parts)
        return self

    def filled(self, made: Aligned) -> str:
        """The translation with the tags."""
        return _Placed(made, self.text).html(self.root)


def _check_depth(depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise OptionError(f"the page has tags inside each other more than {_MOST_DEPTH} deep in a sentence")


class _Placed:
    """Elements of the source at their places in the translation."""

    def __init__(self, made: Aligned, source: str) -> None:
        self._text, self._source = made.text, source
        self._words = sorted({(s, e) for s, e in made.words if s < e})
        self._sources: list[list[tuple[int, int]]] = [[] for _ in self._words]
        """Of each word of the translation, spans of the source."""
        numbers = {word: number for number, word in enumerate(self._words)}
        for s0, s1, t0, t1 in made.links:
            number = numbers.get((t0, t1))
            if number is not None:
                self._sources[number].append((s0, s1))
        self._out: list[str] = []

    def html(self, root: _Element) -> str:
        self._inside(root, 0, len(self._text), 0, len(self._words))
        return "".join(self._out)

    def _write(self, start: int, end: int) -> None:
        if start < end:
            self._out.append(html.escape(self._text[start:end], quote=False))

    def _inside(self, element: _Element, start: int, end: int, first: int, last: int) -> None:
        """Writes what is inside an element whose words in the translation are these."""
        at = start
        for child, low, high in self._places(element, first, last) if element.children else ():
            left = max(at, self._words[low][0] if low < last else self._words[last - 1][1] if first < last else end)
            right = max(left, self._words[high - 1][1] if low < high else left)
            self._write(at, left)
            self._out.append(child.opening)
            self._inside(child, left, right, low, high)
            self._out.append(child.closing)
            at = right
        self._write(at, end)

    def _places(self, element: _Element, first: int, last: int) -> list[tuple[_Element, int, int]]:
        """The children of an element in the order of the translation, each with its words there."""
        children = element.children
        solid = [number for number, child in enumerate(children) if child.start < child.end]
        begin, stop = self._ink(element) if solid else (0, 0)
        whole = {number for number in solid if children[number].start <= begin and stop <= children[number].end}
        runs = self._runs(children, solid, first, last) if len(whole) < len(solid) else {}
        points: list[tuple[int, int]] | None = None
        placed = []
        for number, child in enumerate(children):
            if number in whole:
                low, high = first, last
            elif number in runs:
                low, high = runs[number]
            else:
                if points is None:
                    points = sorted((s, word) for word in range(first, last) for s, _ in self._sources[word])
                # Without words: before what followed it, or after what came before.
                at = bisect_left(points, (child.end, -1))
                low = high = points[at][1] if at < len(points) else last
            placed.append((low, low < high, number, high))
        placed.sort()
        return [(children[number], low, high) for low, _, number, high in placed]

    def _ink(self, element: _Element) -> tuple[int, int]:
        """The first and last characters of an element that are not white space; what has none is inside of all."""
        first = _INK.search(self._source, element.start, element.end)
        if first is None:
            return element.end, element.start
        return first.start(), element.start + len(self._source[element.start : element.end].rstrip())

    def _runs(
        self, children: Sequence[_Element], solid: Sequence[int], first: int, last: int
    ) -> dict[int, tuple[int, int]]:
        """The longest run of words of each child that has one; words that nobody knows about do not end it.

        `solid` are the numbers of children that have text.
        """
        starts = [children[number].start for number in solid]
        best: dict[int, tuple[int, int, int]] = {}
        owner, start, count = -1, 0, 0
        for word in range(first, last):
            if not self._sources[word]:
                continue
            now = -1
            for s, e in self._sources[word]:
                at = bisect_right(starts, s) - 1
                if at >= 0 and e <= children[solid[at]].end and (now < 0 or solid[at] < now):
                    now = solid[at]
            start, count = (start, count + 1) if now == owner else (word, 1)
            owner = now
            if owner >= 0 and count > best.get(owner, (0, 0, 0))[0]:
                best[owner] = (count, start, word + 1)
        return {number: (start, end) for number, (_, start, end) in best.items()}


def read_pages(texts: Iterable[str]) -> list[Page]:
    """The pages of a request, which together may have so many tags."""
    left, read = _MOST_TAGS, []
    for text in texts:
        read.append(Page(text, left))
        left -= read[-1].tags
    return read


class Page:
    """A page cut into segments; `filled` puts translations in.

    >>> page = Page("<p>Das <b>ist</b> gut</p>")
    >>> [segment.text for segment in page.segments]
    ['Das ist gut']
    >>> page.filled([Aligned("That is good", [(0, 3, 0, 4), (4, 7, 5, 7)], [(0, 4), (5, 7), (8, 12)])])
    '<p>That <b>is</b> good</p>'
    """

    def __init__(self, text: str, most: int = _MOST_TAGS) -> None:
        self._text = text
        self._parts: list[str | Segment] = []
        self._segment = Segment(0)
        self._kept = ""
        """The tag whose inside is not translated, while there is one."""
        self._kept_from = self._kept_depth = 0
        self.tags = 0
        for token in scan(text):
            if token.kind is not Kind.TEXT:
                self.tags += 1
                if self.tags > most:
                    raise OptionError(f"a request may have {_MOST_TAGS:,} tags at most: send less at once")
            self._take(token)
        if self._kept:
            self._segment.alone(text[self._kept_from :])
        self._flush(len(text), len(text))

    @property
    def segments(self) -> list[Segment]:
        """Those with text."""
        return [part for part in self._parts if isinstance(part, Segment)]

    def filled(self, translations: Sequence[Aligned]) -> str:
        """The page with translations."""
        made = iter(translations)
        return "".join(part if isinstance(part, str) else part.filled(next(made)) for part in self._parts)

    def _flush(self, end: int, after: int) -> None:
        """A segment ends; the next begins after a tag."""
        segment, self._segment = self._segment.finish(), Segment(after)
        if _INK.search(segment.text):
            self._parts.append(segment)
            if end < after:
                self._parts.append(self._text[end:after])
        elif segment.start < after:
            self._parts.append(self._text[segment.start : after])

    def _take(self, token: Token) -> None:
        if self._kept:
            self._keep(token)
        elif token.kind is Kind.TEXT:
            self._segment.data(plain(self._text[token.start : token.end]))
        elif token.kind is Kind.OTHER:
            self._segment.alone(self._text[token.start : token.end])
        elif token.kind is Kind.OPENING:
            self._opening(token)
        elif token.name in _INLINE:
            self._segment.close(token.name, self._text[token.start : token.end])
        else:
            self._flush(token.start, token.end)

    def _opening(self, token: Token) -> None:
        raw = self._text[token.start : token.end]
        inline, alone = token.name in _INLINE, token.alone or token.name in _VOID
        if not alone and (token.name in _KEPT or _UNTRANSLATED.search(raw)):
            if not inline:
                self._flush(token.start, token.start)
            self._kept, self._kept_from, self._kept_depth = token.name, token.start, 1
        elif not inline:
            self._flush(token.start, token.end)
        elif alone:
            self._segment.alone(raw)
        else:
            self._segment.open(token.name, raw)

    def _keep(self, token: Token) -> None:
        """Inside a tag that is not translated: until it ends."""
        if token.name != self._kept or token.alone:
            return
        self._kept_depth += 1 if token.kind is Kind.OPENING else -1
        if not self._kept_depth:
            self._segment.alone(self._text[self._kept_from : token.end])
            self._kept = ""
            if token.name not in _INLINE:
                self._flush(token.end, token.end)
