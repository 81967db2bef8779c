"""A line on its way to the search: its words, what is asked of its translation, and the terms of a glossary in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dragoman._core import read_markup
from dragoman.decoder.constraints import Constraints
from dragoman.errors import OptionError
from dragoman.glossary import FEATURE, Glossary, Match, Matcher, TermUse
from dragoman.preprocess import Cut, Preparation, word_spans
from dragoman.types import Weights

__all__ = ["Asker", "Request", "asker"]


class Request(NamedTuple):
    """A line under way."""

    text: str
    """As it came, without markup."""
    ready: str
    """As the model has it."""
    constraints: Constraints | None
    """In words."""
    matches: Sequence[Match] = ()
    """Where terms of the glossary are."""

    @property
    def item(self) -> str | tuple[str, Constraints]:
        """As `Decoder.stream` takes it."""
        return self.ready if self.constraints is None else (self.ready, self.constraints)


@dataclass(frozen=True)
class Asker:
    """Makes requests of lines, for a model and a glossary."""

    text: Preparation
    matcher: Matcher | None = None
    markup: bool = False
    tokenized: bool = False
    log: float = 0.0
    """What a term adds to the score besides what the feature of the model adds."""
    force: bool = True
    """Whether terms rule out other translations."""

    def ask(self, line: str, constraints: Constraints | None = None) -> Request:
        """The request of a line."""
        text, wanted = line, constraints
        if self.markup:
            if constraints is not None:
                raise OptionError("constraints stand in the markup of a line, or beside a line without markup")
            text, given, walls, zones = read_markup(line, not self.tokenized)
            wanted = Constraints(given, True, walls, zones) if given or walls or zones else None
        if wanted is None or (self.tokenized and not self.markup):
            ready = text if self.tokenized else self.text.before([text])[0]
        else:
            cut = Cut(text, word_spans(text)) if self.tokenized else self.text.cut(text)
            ready, wanted = cut.text, self._in_words(wanted, text, cut)
        if self.matcher is None:
            return Request(text, ready, wanted)
        return self._with_terms(text, ready, wanted, self.matcher)

    def _in_words(self, wanted: Constraints, text: str, cut: Cut) -> Constraints:
        """Constraints on characters as constraints on words."""
        targets = [target for _, _, target, _ in wanted.given]
        if not self.tokenized:
            targets = self.text.target(targets)
        places = _Places(text, cut.spans)
        given = [
            (*places.span(start, end), target, log)
            for (start, end, _, log), target in zip(wanted.given, targets, strict=True)
        ]
        walls, zones = [places.wall(at) for at in wanted.walls], [places.span(*zone) for zone in wanted.zones]
        return Constraints(given, wanted.exclusive, walls, zones)

    def _with_terms(self, text: str, ready: str, wanted: Constraints | None, matcher: Matcher) -> Request:
        asked = wanted or Constraints()
        closed = [(start, end) for start, end, _, _ in asked.given]
        uncut, firsts = self.text.uncut(ready, None if self.tokenized else text)
        found = matcher.find(uncut, firsts, closed, asked.walls, asked.zones)
        terms = [
            (match.start, match.end, target, self.log, self.force)
            for match in found
            if not match.why
            for target in matcher.targets[match.number]
        ]
        return Request(text, ready, replace(asked, terms=terms) if terms else wanted, found)

    def uses(self, request: Request, words: Sequence[str], phrases: str) -> list[TermUse]:
        """What became of the terms in a translation; `phrases` are its spans, `0-2:0-1 2-3:1-2`."""
        if self.matcher is None or not request.matches:
            return []
        became = dict(_phrase(span, words) for span in phrases.split())
        return [self._use(match, became, self.matcher) for match in request.matches]

    @staticmethod
    def _use(match: Match, became: dict[tuple[int, int], str], matcher: Matcher) -> TermUse:
        term, span = matcher.glossary.terms[match.number], (match.start, match.end)
        if match.why:
            return TermUse(term, span, None, match.why)
        found, targets = became.get(span), matcher.targets[match.number]
        if found in targets:
            return TermUse(term, span, term.targets[targets.index(found)])
        return TermUse(term, span, None, "score")


def _phrase(span: str, words: Sequence[str]) -> tuple[tuple[int, int], str]:
    """The source span and the target words of `0-2:0-1`."""
    left, _, right = span.rstrip("!").partition(":")
    (start, _, end), (first, _, last) = left.partition("-"), right.partition("-")
    return (int(start), int(end)), " ".join(words[int(first) : int(last)])


def asker(
    text: Preparation,
    glossary: Glossary | Matcher | None,
    weights: Weights,
    *,
    featured: bool,
    markup: bool = False,
    tokenized: bool = False,
) -> Asker:
    """An `Asker` with a glossary; `featured` says whether the model has a feature that counts terms."""
    if glossary is None:
        return Asker(text, None, markup, tokenized)
    matcher = glossary if isinstance(glossary, Matcher) else Matcher(glossary, text)
    weight = matcher.glossary.weight
    if weight is None:
        return Asker(text, matcher, markup, tokenized, 0.0, not featured)
    if math.isinf(weight):
        if weight < 0:
            raise OptionError("the weight of a glossary must be a number, or inf for terms that are forced")
        return Asker(text, matcher, markup, tokenized, 0.0, True)
    return Asker(text, matcher, markup, tokenized, weight - (weights[FEATURE] if featured else 0.0), False)


class _Places:
    """Characters of a line as words. What would cut a word is refused: more or less than was meant would change."""

    def __init__(self, text: str, spans: Sequence[tuple[int, int]]) -> None:
        self._text, self._spans = text, spans

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The words from a character up to another; spaces at the ends do not matter."""
        if not 0 <= start < end <= len(self._text):
            raise OptionError(f"span {start}-{end} does not lie in a text of {len(self._text)} characters")
        inside = [at for at, (first, last) in enumerate(self._spans) if first < last and first < end and start < last]
        if not inside:
            raise OptionError(f"span {start}-{end} has no words in it")
        for at in (inside[0], inside[-1]):
            first, last = self._spans[at]
            if first < start or last > end:
                raise OptionError(
                    f"span {start}-{end} cuts the word `{self._text[first:last]}`, {first}-{last}: "
                    f"{min(start, first)}-{max(end, last)} has all of it"
                )
        return inside[0], inside[-1] + 1

    def wall(self, at: int) -> int:
        """The word that a wall stands before."""
        if not 0 <= at <= len(self._text):
            raise OptionError(f"a wall at {at} stands outside a text of {len(self._text)} characters")
        cut = next(((first, last) for first, last in self._spans if first < at < last), None)
        if cut is not None:
            first, last = cut
            raise OptionError(f"a wall at {at} cuts the word `{self._text[first:last]}`, {first}-{last}")
        return sum(1 for first, last in self._spans if last <= at and first < at)
