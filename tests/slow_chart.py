"""A chart decoder that tries everything: all derivations of a sentence, each scored from scratch. For tests only.

Written from the definitions (Chiang 2007), with plain lists and recursion. It shares no code with the native search;
only the language model's sentence scores come from the package, which are checked elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Side = tuple[str | int, ...]
"""Words, and numbers of gaps: 0 and 1, in order of the source."""


@dataclass(frozen=True)
class Rule:
    """A rule: both sides, logs of its scores, links between places of words."""

    source: Side
    target: Side
    scores: tuple[float, ...]
    links: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Made:
    """A derivation of a span: its words, features, part of the score that no feature has, spans and links of words."""

    words: tuple[str, ...]
    features: Mapping[str, float]
    extra: float = 0.0
    spans: tuple[tuple[int, int, int, int, str], ...] = ()
    """Source and target span of every rule; `!` for what no table has. Targets count from the span's first word."""
    links: tuple[tuple[int, int], ...] = ()


@dataclass
class Wishes:
    """What the writer demands."""

    given: Sequence[tuple[int, int, str, float]] = ()
    exclusive: bool = True
    walls: Sequence[int] = ()
    zones: Sequence[tuple[int, int]] = ()


@dataclass
class System:
    """Everything a derivation is scored with."""

    rules: Sequence[Rule]
    model: Callable[[str], float]
    """Log probability of a whole sentence."""
    weights: Mapping[str, float]
    span: int
    pass_through: bool = False
    names: Sequence[str] = field(default_factory=lambda: ["TM[0]", "TM[1]"])


def decode(system: System, words: Sequence[str], wishes: Wishes | None = None) -> list[tuple[float, Made]]:
    """All derivations with their scores, the best first."""
    slow = _Slow(system, words, wishes or Wishes())
    found = []
    for made in slow.start(len(words)):
        features = dict(made.features)
        features["LM"] = system.model(" ".join(made.words))
        for pair in itertools.pairwise(["^", *made.words, "$"]):
            _add(features, f"tb:{pair[0]}>{pair[1]}", 1.0)
        score = sum(system.weights.get(name, 0.0) * value for name, value in features.items()) + made.extra
        whole = Made(made.words, features, made.extra, tuple(sorted(made.spans)), tuple(sorted(set(made.links))))
        found.append((score, whole))
    return sorted(found, key=lambda item: -item[0])


def _add(features: dict[str, float], name: str, value: float) -> None:
    features[name] = features.get(name, 0.0) + value


class _Slow:
    def __init__(self, system: System, words: Sequence[str], wishes: Wishes) -> None:
        self.system, self.words, self.wishes = system, words, wishes
        self.known: dict[tuple[int, int], list[Made]] = {}

    def start(self, end: int) -> list[Made]:
        """All derivations of the start symbol up to a word."""
        if end == 0:
            return [Made((), {})]
        found = []
        for middle in range(end):
            for before, span in itertools.product(self.start(middle), self.span(middle, end)):
                glue = Made(("", ""), {"Glue": 1.0} if middle else {})
                found.append(_joined((0, 1), [before, span], glue, None, ()))
        return found

    def span(self, start: int, end: int) -> list[Made]:
        """All derivations of a span."""
        if (start, end) not in self.known:
            self.known[start, end] = list(self._span(start, end))
        return self.known[start, end]

    def _span(self, start: int, end: int) -> Iterator[Made]:
        found: list[Made] = []
        if end - start <= self.system.span:
            for rule in self.system.rules:
                for gaps in self._fits(rule.source, start, end):
                    if self._allowed(start, end, gaps):
                        found += self._filled(rule, start, end, gaps)
        for a, b, text, log in self.wishes.given:
            if (a, b) == (start, end):
                target = tuple(text.split())
                links = tuple(itertools.product(range(a, b), range(len(target))))
                features = {"Words": -float(len(target)), "Rules": 1.0}
                found.append(Made(target, features, log, ((a, b, 0, len(target), "!"),), links))
        if end - start == 1 and (self.system.pass_through or not found) and self._open(start):
            features = {"Words": -1.0, "Rules": 1.0, "PassThrough": 1.0, **({} if found else {"Unknown": -100.0})}
            found.append(Made((self.words[start],), features, 0.0, ((start, end, 0, 1, "!"),), ((start, 0),)))
        yield from found

    def _open(self, at: int) -> bool:
        closed = self.wishes.exclusive and any(a <= at < b for a, b, _, _ in self.wishes.given)
        return not closed

    def _fits(self, source: Side, start: int, end: int) -> Iterator[tuple[tuple[int, int], ...]]:
        """All spans of gaps with which a source side covers a span."""
        if not source:
            if start == end:
                yield ()
        elif isinstance(source[0], int):
            for middle in range(start + 1, end + 1):
                for rest in self._fits(source[1:], middle, end):
                    yield ((start, middle), *rest)
        elif start < end and self.words[start] == source[0] and self._open(start):
            yield from self._fits(source[1:], start + 1, end)

    def _allowed(self, start: int, end: int, gaps: Sequence[tuple[int, int]]) -> bool:
        """No wall inside; given spans whole; zones whole, and inside a gap where there are gaps."""
        if any(start < wall < end for wall in self.wishes.walls):
            return False
        given = [(a, b) for a, b, _, _ in self.wishes.given] if self.wishes.exclusive else []
        for a, b in given:
            if not (end <= a or b <= start or (start <= a and b <= end)):
                return False
        for a, b in self.wishes.zones:
            apart, within, around = end <= a or b <= start, a <= start and end <= b, start <= a and b <= end
            if not (apart or within or around):
                return False
            if around and not within and gaps and not any(x <= a and b <= y for x, y in gaps):
                return False
        return True

    def _filled(self, rule: Rule, start: int, end: int, gaps: Sequence[tuple[int, int]]) -> Iterator[Made]:
        places, at, gap = [], start, 0
        for symbol in rule.source:
            places.append(at)
            at = gaps[gap][1] if isinstance(symbol, int) else at + 1
            gap += isinstance(symbol, int)
        own = sum(isinstance(symbol, str) for symbol in rule.target)
        features = dict(zip(self.system.names, rule.scores, strict=True)) | {"Words": -float(own), "Rules": 1.0}
        if gaps:
            features["Gaps"] = float(len(gaps))
        features[f"shape:{_shape(rule.source)}>{_shape(rule.target)}"] = 1.0
        for place, symbol in zip(places, rule.source, strict=True):
            if isinstance(symbol, str) and place > start:
                _add(features, f"path:{self.words[place - 1]}>{symbol}", 1.0)
        links = [(places[s], t) for s, t in rule.links]
        for below in itertools.product(*(self.span(a, b) for a, b in gaps)):
            made = Made(tuple(map(str, rule.target)), features)
            yield _joined(rule.target, below, made, (start, end), links)


def _shape(side: Side) -> str:
    kinds = ["w" if isinstance(symbol, str) else f"^{symbol + 1}" for symbol in side]
    return "_".join(kind for kind, _ in itertools.groupby(kinds))


def _joined(
    target: Side,
    below: Sequence[Made],
    own: Made,
    span: tuple[int, int] | None,
    links: Sequence[tuple[int, int]],
) -> Made:
    words: list[str] = []
    features, extra = dict(own.features), 0.0
    spans: list[tuple[int, int, int, int, str]] = []
    made: list[tuple[int, int]] = []
    for place, symbol in enumerate(target):
        at = len(words)
        if isinstance(symbol, str):
            words.append(symbol)
            made += [(s, at) for s, t in links if t == place]
            continue
        part = below[symbol]
        words += part.words
        for name, value in part.features.items():
            _add(features, name, value)
        extra += part.extra
        spans += [(a, b, c + at, d + at, mark) for a, b, c, d, mark in part.spans]
        made += [(s, t + at) for s, t in part.links]
    if span is not None:
        spans.append((*span, 0, len(words), ""))
    return Made(tuple(words), features, extra, tuple(spans), tuple(made))
