"""Regularised objectives, each maximised exactly along a line (Galley et al. 2013, section 3).

The objective is gain - r(w). The corners of a line stay where they are; inside an interval the gain is constant
and only r decides. To add a regulariser: a class with the methods of `Regulariser`, and a line in `REGULARISERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dragoman.tuning.tuners.mert.surface import Direction
from dragoman.types import F64

__all__ = ["L0", "L2", "REGULARISERS", "L2Fixed", "L2Normalised", "Line", "Plain", "Regulariser"]

_INSIDE = 1e-3
"""An optimum on an edge is taken this part of the interval inside, away from ties (.999 and .001 in the paper)."""
_HAIR = 1e-10
"""Intervals narrower than this, relative to their place, cannot be hit by sums of floats: they are passed over."""
_FAR = 1e3
"""Where the penalty falls towards infinity, infinity is this many times the reach."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line w + gamma d, cut into intervals of constant gain."""

    weights: F64
    towards: Direction
    edges: F64
    """Ends of the intervals, rising: the bounds of gamma (or infinities) with the corners between them."""
    gains: F64
    """The gain of each interval: one fewer than edges."""
    probe: Callable[[float], float]
    """The gain exactly at a gamma: needed only where that is a corner."""

    @cached_property
    def direction(self) -> F64:
        """The direction as a vector."""
        if isinstance(self.towards, int):
            unit = np.zeros_like(self.weights)
            unit[self.towards] = 1.0
            return unit
        return self.towards

    @cached_property
    def reach(self) -> float:
        """How far one must go to change the weights by as much as their own size."""
        size = 1.0 if isinstance(self.towards, int) else float(np.linalg.norm(self.towards))
        return float(np.linalg.norm(self.weights)) / size or 1.0

    @cached_property
    def cut(self) -> tuple[F64, F64]:
        """Ends of the intervals, none farther from the interval's nearest point than is sensible.

        A step beyond the last corner, or into a very long interval, goes as far as the reach or as far as the
        interval is away, whichever is more.
        """
        low, high = self.edges[:-1], self.edges[1:]
        near = np.clip(0.0, low, high)
        room = 2.0 * np.maximum(self.reach, np.abs(near))
        return np.maximum(low, near - room), np.minimum(high, near + room)

    @cached_property
    def usable(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which intervals are wide enough to be hit."""
        low, high = self.cut
        return high - low > _HAIR * np.maximum(self.reach, np.abs(low))

    @cached_property
    def crossings(self) -> F64:
        """For each weight, the gamma at which it is zero; infinite if it never changes."""
        crossings = np.full_like(self.weights, np.inf)
        np.divide(-self.weights, self.direction, out=crossings, where=self.direction != 0.0)
        return crossings + 0.0

    def interval(self, gammas: F64) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], F64]:
        """The interval that holds each gamma, and its gain (-inf outside, and in unusable intervals)."""
        index = np.clip(np.searchsorted(self.edges, gammas) - 1, 0, len(self.gains) - 1)
        inside = (self.edges[index] <= gammas) & (gammas <= self.edges[index + 1]) & self.usable[index]
        return index, np.where(inside, self.gains[index], -np.inf)

    def gains_at(self, gammas: F64) -> F64:
        """The gain at each gamma. Where that is a corner, the gain is neither that of the left nor of the right."""
        _, gains = self.interval(gammas)
        nearest = self.edges[np.minimum(np.searchsorted(self.edges, gammas), len(self.edges) - 1)]
        for at in np.flatnonzero((nearest == gammas) & np.isfinite(gammas)):
            gains[at] = self.probe(float(gammas[at]))
        return gains

    def middle(self, index: int) -> float:
        """The middle of an interval."""
        low, high = self.cut
        return 0.5 * float(low[index] + high[index])


class Regulariser(Protocol):
    """A penalty on weights, and the best point of a line under it."""

    @property
    def scale_free(self) -> bool:
        """Whether weights may be rescaled without changing the penalty."""
        ...

    def best(self, line: Line) -> tuple[float, float]:
        """The best gamma of a line and the objective there."""
        ...

    def value(self, weights: F64) -> float:
        """The penalty."""
        ...

    def gradient(self, weights: F64) -> F64:
        """Its gradient; zero where there is none."""
        ...


def _first_best(gammas: F64, values: F64) -> tuple[float, float]:
    at = int(np.argmax(values))
    return float(gammas[at]), float(values[at])


@dataclass(frozen=True)
class Plain:
    """No penalty: the middle of the best interval; of equally good ones, of the widest."""

    @property
    def scale_free(self) -> bool:
        """True."""
        return True

    def best(self, line: Line) -> tuple[float, float]:
        """The middle of the best interval."""
        gains = np.where(line.usable, line.gains, -np.inf)
        top = np.flatnonzero(gains == gains.max())
        low, high = line.cut
        chosen = int(top[np.argmax(high[top] - low[top])])
        return line.middle(chosen), float(gains[chosen])

    def value(self, weights: F64) -> float:  # noqa: ARG002
        """0."""
        return 0.0

    def gradient(self, weights: F64) -> F64:
        """0."""
        return np.zeros_like(weights)


@dataclass(frozen=True, eq=False)
class L2:
    """strength |w - origin|^2, with strength = 1/(2 sigma^2): version 1 of the paper."""

    strength: float
    origin: F64
    """w0: weights of a small, well-tuned feature set."""

    @property
    def scale_free(self) -> bool:
        """False."""
        return False

    def best(self, line: Line) -> tuple[float, float]:
        """In each interval the parabola's vertex, or the nearer edge: -(w - w0).d / d.d (section 3.1)."""
        offset, direction = self._penalised(line.weights), self._along(line.direction)
        a, b, c = offset @ offset, offset @ direction, direction @ direction
        low, high = line.cut
        margin = _INSIDE * (high - low)
        gammas = 0.5 * (low + high)
        if c > 0.0:
            gammas = np.clip(-b / c, line.edges[:-1] + margin, line.edges[1:] - margin)
        values = line.gains - self.strength * (a + gammas * (2.0 * b + gammas * c))
        return _first_best(gammas, np.where(line.usable, values, -np.inf))

    def value(self, weights: F64) -> float:
        """The penalty."""
        offset = self._penalised(weights)
        return self.strength * float(offset @ offset)

    def gradient(self, weights: F64) -> F64:
        """(w - w0) / sigma^2."""
        return 2.0 * self.strength * self._penalised(weights)

    def _penalised(self, weights: F64) -> F64:
        return weights - self.origin

    def _along(self, direction: F64) -> F64:
        return direction


@dataclass(frozen=True, eq=False)
class L2Fixed(L2):
    """strength |w'|^2, where one component stays fixed and does not count: version 2, D-1 free weights.

    `origin` is zero except at the fixed component, where it has the component's value.
    """


@dataclass(frozen=True)
class L2Normalised:
    """strength |w / |w|_1|^2: version 3."""

    strength: float

    @property
    def scale_free(self) -> bool:
        """True: w / |w|_1 does not see the scale."""
        return True

    def best(self, line: Line) -> tuple[float, float]:
        """Edges, sign changes, and a stationary point between each two sign changes.

        There the penalty is (a + 2b gamma + c gamma^2) / (p + q gamma)^2 with the stationary point
        (qa - bp) / (cp - bq).
        """
        w, d = line.weights, line.direction
        a, b, c = w @ w, w @ d, d @ d
        moving = np.flatnonzero(d)
        moving = moving[np.argsort(line.crossings[moving], kind="stable")]
        signs = np.where(d != 0.0, -np.sign(d), np.sign(w))
        p = np.cumsum(np.concatenate([[signs @ w], 2.0 * np.sign(d[moving]) * w[moving]]))
        q = np.cumsum(np.concatenate([[signs @ d], 2.0 * np.abs(d[moving])]))
        crossings = line.crossings[moving]
        below = c * p - b * q
        stationary = np.divide(q * a - b * p, below, out=np.full_like(p, np.nan), where=below != 0.0)
        gammas = np.concatenate([*self._ends(line), crossings, stationary[np.isfinite(stationary)]])
        gains = line.gains_at(gammas)
        piece = np.searchsorted(crossings, gammas)
        length = p[piece] + q[piece] * gammas
        square = a + gammas * (2.0 * b + gammas * c)
        ratio = np.divide(square, length**2, out=np.full_like(length, np.inf), where=length > 0.0)
        return _first_best(gammas, gains - self.strength * ratio)

    def _ends(self, line: Line) -> tuple[F64, F64]:
        """Points just inside the ends of each interval that can be hit: those of others would be corners."""
        low, high = (ends[line.usable] for ends in line.cut)
        margin = _INSIDE * (high - low)
        far = _FAR * np.maximum(line.reach, np.maximum(np.abs(low), np.abs(high)))
        left, right = line.edges[:-1][line.usable], line.edges[1:][line.usable]
        return np.where(np.isinf(left), -far, left + margin), np.where(np.isinf(right), far, right - margin)

    def value(self, weights: F64) -> float:
        """The penalty."""
        length = float(np.abs(weights).sum())
        return self.strength * float(weights @ weights) / length**2 if length else np.inf

    def gradient(self, weights: F64) -> F64:
        """d/dw of w.w / |w|_1^2 = 2 w / |w|_1^2 - 2 w.w sign(w) / |w|_1^3."""
        length = float(np.abs(weights).sum())
        if not length:
            return np.zeros_like(weights)
        slope = weights - (weights @ weights) * np.sign(weights) / length
        return 2.0 * self.strength * slope / length**2


@dataclass(frozen=True)
class L0:
    """strength times the number of weights that are not zero."""

    strength: float

    @property
    def scale_free(self) -> bool:
        """True: counting does not see the scale."""
        return True

    def best(self, line: Line) -> tuple[float, float]:
        """The best of every point where a weight vanishes, and of the middles of the intervals."""
        count = int(np.count_nonzero((line.weights != 0.0) | (line.direction != 0.0)))
        gamma, gain = Plain().best(line)
        plain = gamma, gain - self.strength * count
        moving = line.crossings[line.direction != 0.0]
        points, times = np.unique(moving[np.isfinite(moving)], return_counts=True)
        inside = (points >= line.edges[0]) & (points <= line.edges[-1])
        points, times = points[inside], times[inside]
        if not len(points):
            return plain
        gains = line.gains_at(points)
        vanishing = _first_best(points, gains - self.strength * (count - times))
        return max(plain, vanishing, key=lambda found: found[1])

    def value(self, weights: F64) -> float:
        """The penalty."""
        return self.strength * int(np.count_nonzero(weights))

    def gradient(self, weights: F64) -> F64:
        """0: a count has no gradient, and the direction finder does without (section 4.1)."""
        return np.zeros_like(weights)


REGULARISERS: dict[str, Callable[[float, F64, int | None], Regulariser]] = {
    "none": lambda _strength, _origin, _fixed: Plain(),
    "l2": lambda strength, origin, _fixed: L2(strength, origin),
    "l2-fixed": lambda strength, origin, fixed: L2Fixed(
        strength, np.where(np.arange(len(origin)) == fixed, origin, 0.0)
    ),
    "l2-normalised": lambda strength, _origin, _fixed: L2Normalised(strength),
    "l0": lambda strength, _origin, _fixed: L0(strength),
}
"""Makes a regulariser from its strength, w0 and the fixed component."""
