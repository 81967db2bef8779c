"""One search from one point: a position on the surface, moved by exact line searches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dragoman.tuning.limits import Limits
from dragoman.tuning.tuners.mert.regularise import Line, Plain, Regulariser
from dragoman.tuning.tuners.mert.surface import Direction, Gains
from dragoman.types import F64

__all__ = ["Climb", "Step"]


@dataclass(frozen=True, eq=False)
class Step:
    """The best point of a line."""

    direction: Direction
    slopes: F64 | None
    """d.h of every candidate; None along a feature, whose values are at hand."""
    gamma: float
    value: float
    total: F64 | None
    """Corpus statistics there; None where the point is a corner."""


class Climb:
    """Where a search stands, with all that a line search needs: weights, their scores, and the objective."""

    def __init__(
        self,
        surface: Gains,
        penalty: Regulariser,
        limits: Limits,
        start: F64,
        *,
        tolerance: float,
        rng: np.random.Generator,
        spreads: F64,
    ) -> None:
        self.surface, self.penalty, self.limits = surface, penalty, limits
        self.tolerance, self.rng, self.spreads = tolerance, rng, spreads
        self.free = limits.free
        self.quick = surface.quick and isinstance(penalty, Plain)
        """Whether the core finds the best point along a feature by itself."""
        self.weights = limits.clip(start)
        self.searches = 0
        self.history: list[float] = []
        """The objective after each line search."""
        self.refresh()

    def refresh(self) -> None:
        """Computes scores and objective from the weights, which sweeps away what rounding has piled up."""
        self.scores = self.surface.product(self.weights)
        self.total = self.surface.lines.total(self.scores)
        self.value = self._value(self.total)

    def _value(self, total: F64) -> float:
        return float(self.surface.gains(total)) - self.penalty.value(self.weights)

    def lines(self, directions: Iterable[Direction]) -> list[Step | None]:
        """The best point along each of some directions, from where the search stands now."""
        wanted = list(directions)
        if not self.quick:
            return [self.line(direction) for direction in wanted]
        together = [direction for direction in wanted if isinstance(direction, int)]
        found = iter(self._features(together))
        return [next(found) if isinstance(direction, int) else self.line(direction) for direction in wanted]

    def _features(self, features: list[int]) -> list[Step | None]:
        """The same along features, in one call."""
        self.searches += len(features)
        reach = float(np.linalg.norm(self.weights)) or 1.0
        bounds = {at: self._bounds(at) for at in features}
        free = [at for at in features if bounds[at][0] < bounds[at][1]]
        points = self.surface.best(self.scores, self.total, free, [bounds[at] for at in free], reach)
        found = {at: Step(at, None, *point) for at, point in zip(free, points, strict=True) if point is not None}
        return [found.get(at) for at in features]

    def line(self, direction: Direction) -> Step | None:
        """The best point along a direction, or None if the limits leave nowhere to go."""
        if self.quick and isinstance(direction, int):
            return self._features([direction])[0]
        self.searches += 1
        if not isinstance(direction, int):
            direction = self._admissible(direction)
        low, high = self._bounds(direction)
        if not low < high:
            return None
        slopes = None if isinstance(direction, int) else self.surface.product(direction)
        corners, totals = self.surface.search(self.scores, self.total, direction, slopes)
        first, last = np.searchsorted(corners, [low, high], side="right")
        last = max(first, last - (last > 0 and corners[last - 1] == high))
        edges = np.concatenate([[low], corners[first:last], [high]])
        gains = self.surface.gains(totals[first : last + 1])
        line = Line(self.weights, direction, edges, gains, lambda gamma: self._probe(direction, slopes, gamma))
        gamma, value = self.penalty.best(line)
        if not (np.isfinite(gamma) and np.isfinite(value)):
            return None
        at = int(np.searchsorted(corners, gamma))
        corner = at < len(corners) and corners[at] == gamma
        return Step(direction, slopes, gamma, value, None if corner else totals[at])

    def improve(self, direction: Direction) -> float:
        """Searches a line and moves if that helps by more than the tolerance; the gain in the objective."""
        before = self.value
        step = self.line(direction)
        if step is not None and step.value > self.value + self.tolerance:
            self.take(step)
        self.history.append(self.value)
        return self.value - before

    def take(self, step: Step) -> None:
        """Moves to the best point of a line; weights that vanish there become zero exactly."""
        if isinstance(step.direction, int):
            at = step.direction
            moved = self.weights.copy()
            moved[at] = 0.0 if -moved[at] == step.gamma else moved[at] + step.gamma
            self.surface.lines.advance(at, self.scores, step.gamma)
        else:
            moved = self.weights + step.gamma * step.direction
            with np.errstate(divide="ignore", invalid="ignore"):
                moved[-self.weights / step.direction == step.gamma] = 0.0
            assert step.slopes is not None
            self.scores += step.gamma * step.slopes
        self.weights = self.limits.clip(moved)
        self.total = self.surface.lines.total(self.scores) if step.total is None else step.total
        self.value = step.value

    def _probe(self, direction: Direction, slopes: F64 | None, gamma: float) -> float:
        scores = self.scores.copy()
        if isinstance(direction, int):
            self.surface.lines.advance(direction, scores, gamma)
        elif slopes is not None:
            scores += gamma * slopes
        return float(self.surface.gains(self.surface.lines.total(scores)))

    def _admissible(self, direction: F64) -> F64:
        """The direction without components that are fixed, or that would leave the limits at once."""
        out = (direction > 0) & (self.weights >= self.limits.upper)
        out |= (direction < 0) & (self.weights <= self.limits.lower)
        return np.where(self.free & ~out, direction, 0.0)

    def _bounds(self, direction: Direction) -> tuple[float, float]:
        """How far gamma may go each way with every weight inside its limits."""
        if isinstance(direction, int):
            at = direction
            low, high = self.limits.lower[at] - self.weights[at], self.limits.upper[at] - self.weights[at]
            return float(low), float(high)
        moving = np.flatnonzero(direction)
        if not len(moving):
            return 0.0, 0.0
        d, w = direction[moving], self.weights[moving]
        ends = (self.limits.lower[moving] - w) / d, (self.limits.upper[moving] - w) / d
        return float(np.minimum(*ends).max()), float(np.maximum(*ends).min())
