"""HTML in, HTML out: text is translated, tags stay with the words that they stood at, by the alignment."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple

__all__ = ["Aligned", "Page", "Segment"]

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img input ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)
"""Tags inside a sentence; all others end it."""
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_KEPT = frozenset("script style code pre textarea svg math noscript template kbd samp var tt".split())
"""What is inside these is not translated."""


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
    """Text between two block tags, with the tags inside it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.root = _Element("", "", 0)
        self._open = [self.root]

    @property
    def text(self) -> str:
        """Without tags."""
        return "".join(self._parts)

    def data(self, text: str) -> None:
        """More text."""
        self._parts.append(text)
        self._length += len(text)

    def open(self, name: str, raw: str) -> None:
        """A tag begins."""
        element = _Element(raw, "", self._length, name=name)
        self._open[-1].children.append(element)
        self._open.append(element)

    def close(self, name: str, raw: str) -> None:
        """A tag ends: the innermost of its name, or one that began before this segment."""
        at = next((i for i in range(len(self._open) - 1, 0, -1) if self._open[i].name == name), 0)
        if not at:
            # It began before this segment: all so far is inside it.
            self.root.children = [_Element("", raw, 0, self._length, children=self.root.children)]
            for element in self._open[1:]:
                element.end = self._length
            del self._open[1:]
            return
        for element in self._open[at:]:
            element.end = self._length
        self._open[at].closing = raw
        del self._open[at:]

    def alone(self, raw: str) -> None:
        """A tag without an end, a comment."""
        self._open[-1].children.append(_Element(raw, "", self._length, self._length))

    def finish(self) -> Segment:
        """No more comes: what is open stays open."""
        for element in self._open:
            element.end = self._length
        return self

    @property
    def bare(self) -> bool:
        """Whether there is nothing to translate."""
        return not self.text.strip()

    def filled(self, made: Aligned) -> str:
        """The translation with the tags."""
        return _Placed(made, self.text).html(self.root)

    def original(self) -> str:
        """As it was."""
        text = self.text
        spans = [(i, i + 1) for i in range(len(text))]
        return self.filled(Aligned(text, [(s, e, s, e) for s, e in spans], spans))


class _Placed:
    """Elements of the source at their places in the translation."""

    def __init__(self, made: Aligned, source: str) -> None:
        self._text, self._source = made.text, source
        self._words = sorted({(s, e) for s, e in made.words if s < e})
        self._sources: dict[tuple[int, int], list[tuple[int, int]]] = {word: [] for word in self._words}
        for s0, s1, t0, t1 in made.links:
            if (t0, t1) in self._sources:
                self._sources[t0, t1].append((s0, s1))

    def html(self, root: _Element) -> str:
        return self._inside(root, 0, len(self._text), 0, len(self._words))

    def _inside(self, element: _Element, start: int, end: int, first: int, last: int) -> str:
        """What is inside an element whose words in the translation are these."""
        at, parts = start, []
        for child, (low, high) in self._places(element, first, last, start, end):
            left = self._words[low][0] if low < high else self._before(low, first, last, start, end)
            right = self._words[high - 1][1] if low < high else left
            left, right = max(at, left), max(at, right)
            parts += [
                html.escape(self._text[at:left], quote=False), child.opening,
                self._inside(child, left, right, low, high), child.closing,
            ]  # fmt: skip
            at = right
        return "".join([*parts, html.escape(self._text[at:end], quote=False)])

    def _before(self, word: int, first: int, last: int, start: int, end: int) -> int:
        """The place of an element without words, which stands before a word."""
        if word < last:
            return self._words[word][0]
        return self._words[last - 1][1] if first < last else end if word >= last else start

    def _places(
        self, element: _Element, first: int, last: int, start: int, end: int
    ) -> list[tuple[_Element, tuple[int, int]]]:
        del start, end
        children = element.children
        owners = [self._owner(children, word) for word in range(first, last)]
        placed = []
        for number, child in enumerate(children):
            if self._all_of(child, element):
                run = (first, last)
            else:
                run = _run(owners, number, first) or self._point(child, first, last)
            placed.append((number, child, run))
        placed.sort(key=lambda item: (item[2][0], item[2][1] > item[2][0], item[0]))
        return [(child, run) for _, child, run in placed]

    def _all_of(self, child: _Element, element: _Element) -> bool:
        """Whether all text of an element is inside a child."""
        outside = self._source[element.start : child.start] + self._source[child.end : element.end]
        return child.end > child.start and not outside.strip()

    def _owner(self, children: Sequence[_Element], word: int) -> int | None:
        """Which child a word belongs to: -1 is none of them, None that nobody knows."""
        sources = self._sources[self._words[word]]
        if not sources:
            return None
        for number, child in enumerate(children):
            if any(child.start <= s and e <= child.end for s, e in sources):
                return number
        return -1

    def _point(self, child: _Element, first: int, last: int) -> tuple[int, int]:
        """The place of an element without words: before what followed it, or after what came before."""
        for word in range(first, last):
            if any(s >= child.end for s, _ in self._sources[self._words[word]]):
                following = [
                    (min((s for s, _ in self._sources[self._words[w]] if s >= child.end), default=1 << 60), w)
                    for w in range(first, last)
                ]
                at = min(following)[1]
                return at, at
        return last, last


def _run(owners: Sequence[int | None], number: int, first: int) -> tuple[int, int] | None:
    """The longest run of words of a child; words that nobody knows about do not end it."""
    best: tuple[int, int, int] | None = None
    start, count, end = -1, 0, -1
    for at, owner in enumerate([*owners, -1]):
        if owner == number:
            start, count, end = (at if start < 0 else start), count + 1, at + 1
        elif owner is not None and start >= 0:
            if best is None or count > best[0]:
                best = (count, start, end)
            start, count = -1, 0
    return None if best is None else (first + best[1], first + best[2])


class Page(HTMLParser):
    """A page cut into segments; `filled` puts translations in.

    >>> page = Page("<p>Das <b>ist</b> gut</p>")
    >>> [segment.text for segment in page.segments]
    ['Das ist gut']
    >>> page.filled([Aligned("That is good", [(0, 3, 0, 4), (4, 7, 5, 7)], [(0, 4), (5, 7), (8, 12)])])
    '<p>That <b>is</b> good</p>'
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str | Segment] = []
        self._segment = Segment()
        self._kept: list[str] = []
        self.feed(text)
        self.close()
        self._flush()

    @property
    def segments(self) -> list[Segment]:
        """Those with text."""
        return [part for part in self._parts if isinstance(part, Segment)]

    def filled(self, translations: Sequence[Aligned]) -> str:
        """The page with translations."""
        made = iter(translations)
        return "".join(part if isinstance(part, str) else part.filled(next(made)) for part in self._parts)

    def _flush(self) -> None:
        segment, self._segment = self._segment.finish(), Segment()
        self._parts.append(segment.original() if segment.bare else segment)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag begins."""
        raw = self.get_starttag_text() or ""
        if self._kept:
            if tag == self._kept[-1]:
                self._kept.append(tag)
            self._segment.alone(raw)
        elif tag in _KEPT or dict(attrs).get("translate") == "no":
            if tag not in _INLINE:
                self._flush()
            self._segment.alone(raw)
            if tag not in _VOID:
                self._kept.append(tag)
        elif tag not in _INLINE:
            self._flush()
            self._parts.append(raw)
        elif tag in _VOID:
            self._segment.alone(raw)
        else:
            self._segment.open(tag, raw)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """A tag that is its own end."""
        raw = self.get_starttag_text() or ""
        if self._kept or tag in _INLINE:
            self._segment.alone(raw)
        else:
            self._flush()
            self._parts.append(raw)

    def handle_endtag(self, tag: str) -> None:
        """A tag ends."""
        raw = f"</{tag}>"
        if self._kept:
            self._segment.alone(raw)
            if tag == self._kept[-1]:
                self._kept.pop()
                if not self._kept and tag not in _INLINE:
                    self._flush()
        elif tag in _INLINE:
            self._segment.close(tag, raw)
        else:
            self._flush()
            self._parts.append(raw)

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._kept:
            inside = data if self._kept[-1] in {"script", "style"} else html.escape(data, quote=False)
            self._segment.alone(inside)
        else:
            self._segment.data(data)

    def handle_comment(self, data: str) -> None:
        """A remark."""
        self._segment.alone(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        """A declaration."""
        self._segment.alone(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        """Another declaration."""
        self._segment.alone(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        """An instruction."""
        self._segment.alone(f"<?{data}>")
