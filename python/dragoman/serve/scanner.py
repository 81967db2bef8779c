"""HTML as tags and text, in one pass: however strange a page is, each character is looked at a few times at most.

The library's parser begins again after each tag that never ends, so that a small page can keep it busy for hours.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

__all__ = ["Kind", "Token", "plain", "scan"]


class Kind(Enum):
    """What a part of a page is."""

    TEXT = "text"
    OPENING = "opening"
    CLOSING = "closing"
    OTHER = "other"
    """What nobody reads: comments, declarations, scripts, and what is damaged."""


class Token(NamedTuple):
    """A part of a page, from a place up to another."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    """Of a tag, in small letters."""
    alone: bool = False
    """Whether a tag says that it is its own end."""


_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
_STOP = re.compile(r"[>=]")
_BLANK = re.compile(r"\s*")
_BARE = re.compile(r"[^\s>]*")
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "xmp", "iframe", "noembed", "noframes")
}
"""Inside these there are no tags, and what ends them."""
_CHARACTER = re.compile(r"&#?\w{1,32};?")


def plain(text: str) -> str:
    """Text with characters in place of their names and numbers, but for numbers of more than 32 digits."""
    return _CHARACTER.sub(lambda match: html.unescape(match[0]), text)


def scan(page: str) -> Iterator[Token]:
    """All parts of a page, in order; together they are the page. A tag that never ends is kept with all after it."""
    done = look = 0
    while (start := page.find("<", look)) >= 0:
        found = _markup(page, start)
        if found is None:  # a mere sign
            look = start + 1
            continue
        if done < start:
            yield Token(Kind.TEXT, done, start)
        yield found
        done = look = found.end
        if found.kind is Kind.OPENING and not found.alone and found.name in _RAW:
            match = _RAW[found.name].search(page, done)
            look = match.start() if match else len(page)
            if done < look:
                yield Token(Kind.OTHER, done, look)
            done = look
    if done < len(page):
        yield Token(Kind.TEXT, done, len(page))


def _markup(page: str, start: int) -> Token | None:
    """What begins with the sign `<` at a place; none if that is text."""
    following = page[start + 1 : start + 2]
    closes = following == "/"
    name = _NAME.match(page, start + 1 + closes)
    if name is not None:
        end = _tag_end(page, name.end())
        if end < 0:
            return Token(Kind.OTHER, start, len(page))
        kind = Kind.CLOSING if closes else Kind.OPENING
        return Token(kind, start, end, name[0].lower(), page[end - 2] == "/")
    if following and following in "!?/":
        comment = page.startswith("<!--", start)
        end = page.find("-->", start + 2) + 3 if comment else page.find(">", start + 2) + 1
        return Token(Kind.OTHER, start, end if end > start else len(page))
    return None


def _tag_end(page: str, at: int) -> int:
    """The place after a tag; -1 if it never ends. In quotes a `>` ends nothing."""
    while (stop := _STOP.search(page, at)) is not None:
        if stop[0] == ">":
            return stop.end()
        value = _end(_BLANK, page, stop.end())
        quote = page[value : value + 1]
        if quote and quote in "\"'":
            at = page.find(quote, value + 1) + 1
            if not at:
                return -1
        else:
            at = _end(_BARE, page, value)
    return -1


def _end(pattern: re.Pattern[str], page: str, at: int) -> int:
    match = pattern.match(page, at)
    return match.end() if match else at
