"""A text as sentences, and back: line breaks, blank lines and white space stay where they were."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman._core import language_code
from dragoman.errors import OptionError
from dragoman.splitting import Span, Splitter

__all__ = ["Document", "spaced"]

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_CLAUSE = re.compile("[,;:،、\uff0c\uff1b\uff1a]\\s*|\\s+")
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})


def spaced(language: str) -> bool:
    """Whether there is a space between sentences of a language."""
    return (language_code(language) or language) not in _UNSPACED


@dataclass(frozen=True, slots=True)
class Document:
    r"""A text and where its sentences are.

    >>> from dragoman.splitting import Rules
    >>> document = Document.of("One. Two.\n\n  Three.", Rules("en"))
    >>> document.sentences
    ['One.', 'Two.', 'Three.']
    >>> document.joined(["Eins.", "Zwei.", "Drei."])[0]
    'Eins. Zwei.\n\n  Drei.'
    """

    text: str
    spans: Sequence[Span]

    @classmethod
    def of(cls, text: str, splitter: Splitter | None, longest: int = 0) -> Document:
        """Splits a text; without a splitter a line is a sentence. What is longer than `longest` is cut at a clause."""
        spans: list[Span] = []
        for line in _LINE.finditer(text):
            for start, end in splitter.spans(line.group()) if splitter else _whole(line.group()):
                spans += _cut(text, line.start() + start, line.start() + end, longest, splitter is not None)
        return cls(text, spans)

    @property
    def sentences(self) -> list[str]:
        """The text of each."""
        return [self.text[start:end] for start, end in self.spans]

    def joined(self, translations: Sequence[str], *, apart: bool = True) -> tuple[str, list[Span]]:
        """The text with translations in place of the sentences, and where these are in it.

        `apart` says whether there is a space between sentences of the target language.
        """
        parts: list[str] = []
        spans: list[Span] = []
        at = done = 0
        for number, ((_, end), translation) in enumerate(zip(self.spans, translations, strict=True)):
            gap = self.before(number, apart=apart)
            parts += [gap, translation]
            spans.append((done + len(gap), done + len(gap) + len(translation)))
            done, at = spans[-1][1], end
        return "".join([*parts, self.text[at:]]), spans

    def before(self, number: int, *, apart: bool = True) -> str:
        """What stands before the translation of a sentence, and after that of the one before."""
        gap = self.text[self.spans[number - 1][1] if number else 0 : self.spans[number][0]]
        if number and not gap.strip(" "):
            return (gap or " ") if apart else ""
        return gap

    def place(self, start: int, end: int) -> tuple[int, int, int]:
        """The sentence that has a span of the text, and the span in it."""
        number = bisect_right(self.spans, start, key=lambda span: span[0]) - 1
        if number >= 0 and end <= self.spans[number][1]:
            return number, start - self.spans[number][0], end - self.spans[number][0]
        raise OptionError(f"the span {start}-{end} does not lie in one sentence of the text")


def _whole(line: str) -> Sequence[Span]:
    stripped = line.strip()
    first = len(line) - len(line.lstrip())
    return [(first, first + len(stripped))] if stripped else []


def _cut(text: str, start: int, end: int, longest: int, may: bool) -> list[Span]:
    """A sentence, or parts of it that are short enough."""
    if not longest or end - start <= longest:
        return [(start, end)]
    if not may:
        raise OptionError(f"a line has {end - start:,} characters, and {longest:,} are the most: let it be split")
    found = []
    while end - start > longest:
        # Cut at the last clause, or at the last space, of the second half; else anywhere.
        half = start + longest // 2
        marks = list(_CLAUSE.finditer(text, half, start + longest))
        clauses = [m for m in marks if not m.group().isspace()]
        best = clauses or marks
        stop = best[-1].end() if best else start + longest
        first = start + len(text[start:stop]) - len(text[start:stop].lstrip())
        last = first + len(text[first:stop].rstrip())
        if first < last:
            found.append((first, last))
        start = stop
    rest = text[start:end]
    first = start + len(rest) - len(rest.lstrip())
    return [*found, (first, end)] if first < end else found
