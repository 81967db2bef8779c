"""Where to search next: direction sets, Powell's method, and the gradient of the expected gain.

To add a strategy: a class with a `round`, and a line in `strategies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from dragoman.errors import OptionError
from dragoman.options import closest
from dragoman.tuning.tuners.mert.climb import Climb, Step
from dragoman.tuning.tuners.mert.expected import ExpectedGain
from dragoman.tuning.tuners.mert.surface import Direction, Surface
from dragoman.types import F64

__all__ = [
    "Gradient",
    "Order",
    "Powell",
    "Strategy",
    "Sweep",
    "ascend",
    "coordinates",
    "random_set",
    "strategies",
]

Order = Literal["greedy", "cyclic", "steepest"]
_NATURAL_STEPS = 5
"""Enough for two digits where lists are long against the number of features."""


class Strategy(Protocol):
    """A way to choose lines."""

    def round(self, climb: Climb) -> None:
        """One round of line searches."""
        ...


def coordinates(climb: Climb) -> Iterator[Direction]:
    """Every weight that may move, in turn."""
    yield from map(int, np.flatnonzero(climb.free))


def random_set(climb: Climb, count: int) -> Iterator[Direction]:
    """Random vectors (Cer et al. 2008), in which each feature has about the same say."""
    scale = np.divide(1.0, climb.spreads, out=np.zeros_like(climb.spreads), where=climb.spreads > 0.0)
    for _ in range(count):
        yield climb.rng.standard_normal(len(scale)) * scale


@dataclass
class Sweep:
    """Line searches along sets of directions, one after the other."""

    coordinate: bool = True
    random: int = 0
    """Random directions in each round."""
    order: Order = "greedy"
    """`cyclic`: move at once along each line that helps. `steepest` (Koehn, Moses): search all lines from the same
    point, and move along the best one only. `greedy`: so too, then search the better half of the other lines that
    helped again, best first, and move along those that still do: as good, with half the searches."""
    impatient: bool = False
    """End the round with the first move: better finders are waiting."""

    def _directions(self, climb: Climb) -> Iterable[Direction]:
        if self.coordinate:
            yield from coordinates(climb)
        yield from random_set(climb, self.random)

    def round(self, climb: Climb) -> None:
        """One line search in every direction."""
        if self.order != "cyclic":
            self._ranked(climb)
            return
        for direction in self._directions(climb):
            if climb.improve(direction) > 0.0 and self.impatient:
                return

    def _ranked(self, climb: Climb) -> None:
        helpful: list[Step] = []
        for step in climb.lines(self._directions(climb)):
            if step is not None and step.value > climb.value + climb.tolerance:
                helpful.append(step)
            climb.history.append(climb.value)
        helpful.sort(key=lambda step: -step.value)
        for step in helpful[:1]:
            climb.take(step)
            climb.history[-1] = climb.value
        if self.order == "greedy" and not self.impatient:
            for step in helpful[1 : len(helpful) // 2]:
                climb.improve(step.direction)


@dataclass
class Powell:
    """Powell's method: the way made in a round takes the place of the direction that helped most.

    Directions are coordinates at first, so that most lines stay cheap. Whether to replace is decided by a line
    search along the way, which is global here: the usual test is made for parabolas, and looks at one point of
    a staircase.
    """

    set: list[Direction] = field(default_factory=list)

    def round(self, climb: Climb) -> None:
        """One line search in every direction of the set, and one along their sum."""
        if not self.set:
            self.set = list(coordinates(climb))
        start = climb.weights
        gains = [climb.improve(direction) for direction in self.set]
        way = climb.weights - start
        if way.any() and climb.improve(way) > 0.0:
            self.set[gains.index(max(gains))] = self.set[-1]
            self.set[-1] = way


@dataclass
class Gradient:
    """Lines along the gradient of the expected gain, ever sharper (Galley et al. 2013, section 4.2).

    mu multiplies the scores of w/|w|_1, so that the schedule means the same whatever the scale of the weights.
    """

    mu_first: float = 0.01
    mu_last: float = 1000.0
    factor: float = 2.0
    natural: int = 0
    """Steps towards the natural gradient, which corrects for the scale and the chance correlations of features;
    0 for the plain one of the paper."""
    most: int = 10_000
    """Line searches in one round at most."""
    log: bool = False
    """Climb the logarithm of the expected gain, as the paper does."""
    raw: bool = False
    """mu multiplies w.h as it is, and the gradient is without the factor mu: both as printed in the paper."""

    def round(self, climb: Climb) -> None:
        """Whole passes over mu until one brings nothing."""
        end = climb.searches + self.most
        while self._pass(climb, end) and climb.searches < end:
            climb.refresh()

    def _pass(self, climb: Climb, end: int) -> bool:
        assert isinstance(climb.surface, Surface)  # forests have no expected gain
        expected = ExpectedGain(climb.surface, self.log)
        mu, moved = self.mu_first, False
        while mu <= self.mu_last and climb.searches < end:
            norm = 1.0 if self.raw else float(np.abs(climb.weights).sum()) or 1.0
            less = climb.penalty.gradient(climb.weights)
            if self.natural:
                gradient = expected.natural(climb.scores, mu / norm, self.natural, less)
            else:
                gradient = expected.gradient(climb.scores, mu / norm) / (mu if self.raw else 1.0) - less
            if climb.improve(_scaled(gradient, climb.weights)) > 0.0:
                moved = True
            else:
                mu *= self.factor
        return moved


def _scaled(direction: F64, weights: F64) -> F64:
    """The direction at the length of the weights: the line is the same, and gamma keeps to sensible numbers."""
    length = float(np.linalg.norm(direction))
    if not np.isfinite(length) or length == 0.0:
        return np.zeros_like(direction)
    return direction * ((float(np.linalg.norm(weights)) or 1.0) / length)


def strategies(names: str, order: Order, random: int, *, log: bool = False, raw: bool = False) -> list[Strategy]:
    """The strategies of a text form such as `gradient+coordinate`, in that order, with fresh memories.

    `coordinate` and `random` together are one set. Beside a gradient, a sweep ends with its first move (the paper's
    footnote 8).
    """
    wanted = names.split("+")
    known = {"coordinate", "random", "powell", "gradient", "natural"}
    for name in wanted:
        if name not in known or wanted.count(name) > 1:
            raise OptionError(f"mert: directions `{names}`: unknown or twice: `{name}`; {closest(name, known)}")
    made: list[Strategy] = []
    for name in wanted:
        if name == "powell":
            made.append(Powell())
        elif name in {"gradient", "natural"}:
            made.append(Gradient(natural=_NATURAL_STEPS if name == "natural" else 0, log=log, raw=raw))
        elif not any(isinstance(strategy, Sweep) for strategy in made):
            impatient = not {"gradient", "natural"}.isdisjoint(wanted)
            made.append(Sweep("coordinate" in wanted, random if "random" in wanted else 0, order, impatient))
    return made


def ascend(climb: Climb, parts: Sequence[Strategy], rounds: int) -> None:
    """Rounds of all strategies until a round gains no more than the tolerance."""
    for _ in range(rounds):
        before = climb.value
        for part in parts:
            part.round(climb)
        climb.refresh()
        if climb.value <= before + climb.tolerance:
            return
