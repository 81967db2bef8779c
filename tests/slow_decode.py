"""A decoder that tries everything: all derivations of a sentence, each scored from scratch. For tests only.

Written from the definitions (METHODS 3.1 and 3.3; Galley & Manning 2008; Moore & Quirk 2007), with plain lists and
recursion. It shares no code with the native search; only the language model's sentence scores come from the package,
which are checked elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Scores = Mapping[str, float]
Words = tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A line of a phrase table: target, logs of its scores, logs of its six orientations."""

    target: Words
    scores: tuple[float, ...]
    orientation: tuple[float, ...] = (0.0,) * 6


@dataclass(frozen=True)
class Option:
    """A translation of a span."""

    start: int
    end: int
    target: Words
    features: Scores
    orientation: tuple[float, ...]
    extra: float = 0.0
    """Part of the score that no feature has: the log probability of a given translation."""
    kind: str = "rule"


@dataclass
class System:
    """Everything a derivation is scored with."""

    tables: list[dict[Words, list[Entry]]]
    models: dict[str, Callable[[str], float]]
    """Log probability of a whole sentence, by feature."""
    weights: dict[str, float]
    reordering: str = ""
    """phrase, stack or nothing."""
    completion: bool = False
    penalty: float = -100.0
    drop_unknown: bool = False


@dataclass
class Wishes:
    """What the writer demands."""

    given: Sequence[tuple[int, int, str, float]] = ()
    exclusive: bool = True
    walls: Sequence[int] = ()
    zones: Sequence[tuple[int, int]] = ()


@dataclass
class Derivation:
    """Phrases in order of the target, with features and score."""

    options: list[Option]
    features: dict[str, float] = field(default_factory=dict)
    score: float = 0.0

    @property
    def text(self) -> str:
        return " ".join(word for option in self.options for word in option.target)


def decode(system: System, words: Sequence[str], distortion: int, wishes: Wishes | None = None) -> list[Derivation]:
    """All derivations within the distortion limit (-1 for none), in no particular order."""
    wishes = wishes or Wishes()
    options = list(_options(system, words, wishes))
    found = [Derivation(list(way)) for way in _ways(options, len(words), distortion, wishes)]
    for derivation in found:
        _score(system, derivation, len(words))
    return found


def _options(system: System, words: Sequence[str], wishes: Wishes) -> Iterator[Option]:
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            closed = wishes.exclusive and any(a < end and start < b for a, b, _, _ in wishes.given)
            found = []
            if not closed and _whole(start, end, wishes):
                for number, table in enumerate(system.tables):
                    for entry in table.get(tuple(words[start:end]), []):
                        named = {f"TM{number}[{i}]": score for i, score in enumerate(entry.scores)}
                        # Only the first table's rules have orientation scores.
                        orientation = entry.orientation if number == 0 else (0.0,) * 6
                        found.append(Option(start, end, entry.target, named, orientation))
            for a, b, text, log in wishes.given:
                if (a, b) == (start, end):
                    found.append(Option(start, end, tuple(text.split()), {}, (0.0,) * 6, log, "given"))
            if not found and end == start + 1 and not closed:
                target = () if system.drop_unknown else (words[start],)
                found.append(Option(start, end, target, {"Unknown": system.penalty}, (0.0,) * 6, 0.0, "unknown"))
            yield from found


def _whole(start: int, end: int, wishes: Wishes) -> bool:
    """Whether a table's phrase has no wall inside and no border of a zone that it only half covers."""
    inside = set(range(start, end))
    if any(start < wall < end for wall in wishes.walls):
        return False
    for a, b in wishes.zones:
        zone = set(range(a, b))
        if inside & zone and not inside <= zone and not zone <= inside:
            return False
    return True


def _ways(options: Sequence[Option], length: int, limit: int, wishes: Wishes) -> Iterator[tuple[Option, ...]]:
    """Every order of options that covers each word once and obeys limit, walls and zones."""

    def extend(way: tuple[Option, ...], covered: frozenset[int]) -> Iterator[tuple[Option, ...]]:
        if len(covered) == length:
            yield way
            return
        gap = min(set(range(length)) - covered)
        last = way[-1].end if way else 0
        for option in options:
            span = frozenset(range(option.start, option.end))
            if span & covered or not _allowed(option, covered, wishes):
                continue
            if limit >= 0 and abs(option.start - last) > limit:
                continue
            # The way back to the first gap must not be longer than the limit either.
            if limit >= 0 and option.start != gap and option.end - gap > limit:
                continue
            yield from extend((*way, option), covered | span)

    yield from extend((), frozenset())


def _allowed(option: Option, covered: frozenset[int], wishes: Wishes) -> bool:
    for wall in wishes.walls:
        if option.start >= wall and not set(range(wall)) <= covered:
            return False
    for a, b in wishes.zones:
        zone = set(range(a, b))
        begun = covered & zone
        if begun and begun != zone and not (a <= option.start and option.end <= b):
            return False
    return True


def _score(system: System, derivation: Derivation, length: int) -> None:
    features: dict[str, float] = dict.fromkeys(system.weights, 0.0)

    def add(name: str, value: float) -> None:
        features[name] = features.get(name, 0.0) + value

    for option in derivation.options:
        for name, value in option.features.items():
            add(name, value)
        add("Words", -float(len(option.target)))
        add("Phrases", 1.0)
    for name, model in system.models.items():
        add(name, model(derivation.text))
    for option, cost in zip(derivation.options, _jumps(derivation.options, system.completion), strict=True):
        add("Distortion", -float(cost))
        assert option.end <= length
    if system.reordering:
        sides = _backward(derivation.options, system.reordering), _forward(derivation.options, system.reordering)
        for offset, orientations in zip((0, 3), sides, strict=True):
            for option, orientation in zip(derivation.options, orientations, strict=False):
                place = offset + "MSD".index(orientation)
                add(f"RM[{place}]", option.orientation[place])
    derivation.features = features
    weighted = sum(system.weights.get(name, 0.0) * value for name, value in features.items())
    derivation.score = weighted + sum(option.extra for option in derivation.options)


def _jumps(options: Sequence[Option], completion: bool) -> Iterator[int]:
    covered: set[int] = set()
    previous = (0, 0)
    for option in options:
        size = option.end - option.start
        prefix = 0
        while prefix in covered:
            prefix += 1
        if not completion:
            yield abs(option.start - previous[1])
        elif option.start == prefix:
            yield 0
        elif option.end < previous[1]:
            yield 2 * size
        elif previous[1] <= prefix:  # the previous phrase lies in the covered prefix
            yield 2 * (option.start - prefix + size)
        else:
            yield 2 * (len(range(previous[1], option.start)) + size)
        covered |= set(range(option.start, option.end))
        previous = (option.start, option.end)


def _backward(options: Sequence[Option], top: str) -> Iterator[str]:
    """The orientation of each phrase towards the one before, or towards the block on top of the stack."""
    stack: list[tuple[int, int]] = []
    for option in options:
        span = (option.start, option.end)
        block = stack[-1] if stack else (-1, 0)
        if block[1] == span[0]:
            yield "M"
        elif block[0] == span[1]:
            yield "S"
        else:
            yield "D"
        if top == "phrase":
            stack = [span]
            continue
        stack.append(span)
        while len(stack) > 1 and (stack[-2][1] == stack[-1][0] or stack[-1][1] == stack[-2][0]):
            (a, b), (c, d) = stack.pop(), stack.pop()
            stack.append((min(a, c), max(b, d)))


def _forward(options: Sequence[Option], top: str) -> Iterator[str]:
    """The orientation of each phrase towards the next; the last has none.

    With the stack, the block that comes is not known yet: a phrase to the right is monotone if it is adjacent or
    the word right after this one is still open, so that a block may fill in between; on the left likewise.
    """
    covered: set[int] = set()
    for option, following in itertools.pairwise(options):
        covered |= set(range(option.start, option.end))
        right, left = following.start >= option.end, following.end <= option.start
        loose = top == "stack"
        if right and (following.start == option.end or (loose and option.end not in covered)):
            yield "M"
        elif left and (following.end == option.start or (loose and option.start - 1 not in covered)):
            yield "S"
        else:
            yield "D"


def count(system: System, words: Sequence[str], distortion: int, wishes: Wishes | None, most: int) -> int:
    """Number of derivations, or `most` if there are as many or more."""
    wishes = wishes or Wishes()
    ways = _ways(list(_options(system, words, wishes)), len(words), distortion, wishes)
    return sum(1 for _ in itertools.islice(ways, most))
