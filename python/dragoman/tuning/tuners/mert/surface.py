"""A pool as a surface over the weights: gains at a point, and along a line all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dragoman._core import LinePool, noisy_copies
from dragoman.tuning.packed import native_of
from dragoman.tuning.pool import Pool
from dragoman.types import F64, I64, Metric

__all__ = ["Direction", "Gains", "Lines", "Surface"]

Direction = int | F64
"""Where a line goes: along one feature, or along a vector."""


class Lines(Protocol):
    """What scores are summed over: the candidates of a pool, or the edges of forests."""

    def total(self, scores: F64) -> F64:
        """The corpus statistics of the best under some scores."""
        ...

    def advance(self, feature: int, scores: F64, gamma: float) -> None:
        """Moves scores along a feature."""
        ...

    def spreads(self) -> F64:
        """How far apart the values of each feature are."""
        ...


class Gains(Protocol):
    """A corpus gain as a function of the weights, which a climb can search along lines: of lists, or of forests."""

    @property
    def lines(self) -> Lines:
        """What it is made of."""
        ...

    @property
    def quick(self) -> bool:
        """Whether `best` is at hand."""
        ...

    def product(self, vector: F64) -> F64:
        """`vector . h` of everything that has features."""
        ...

    def gains(self, totals: F64) -> F64:
        """Corpus gains of rows of statistics."""
        ...

    def gain(self, weights: F64) -> float:
        """The corpus gain at a point."""
        ...

    def search(self, scores: F64, total: F64, direction: Direction, slopes: F64 | None) -> tuple[F64, F64]:
        """The corners of a line and the statistics of its intervals."""
        ...

    def best(
        self, scores: F64, total: F64, features: Sequence[int], bounds: Sequence[tuple[float, float]], reach: float
    ) -> list[tuple[float, float, F64 | None] | None]:
        """The best point along each of some features."""
        ...


class Surface:
    """The corpus gain of a pool's 1-best candidates as a function of the weights.

    Scores `w.h` are handed in and out, one for each candidate, so that a search along a feature costs no
    product: they move on in time proportional to the feature's values (Galley et al. 2013, footnote 6).
    """

    def __init__(self, lines: LinePool, metric: Metric) -> None:
        self.lines = lines
        self.metric = metric
        self._unit = (1.0 if metric.higher_is_better else -1.0) / metric.scale
        self._native = native_of(metric)

    @classmethod
    def of(cls, pool: Pool) -> Surface:
        """The surface of a pool. Features that half of the candidates have are stored in full."""
        rows, statistics = pool.candidates.features, np.ascontiguousarray(pool.statistics)
        lines = LinePool.from_rows(
            pool.candidates.starts, rows.starts, rows.columns, rows.values, pool.width, statistics
        )
        return cls(lines, pool.metric)

    @classmethod
    def noisy(cls, pool: Pool, noise: float, copies: int, seed: int) -> Surface:
        """The surface of copies of a pool in which every list sees the weights through noise of its own.

        Each feature of a list counts a random factor between 1 - noise and 1 + noise times.
        """
        starts, rows = pool.candidates.starts, pool.candidates.features
        values = noisy_copies(starts, rows.starts, rows.columns, rows.values, noise, copies, seed)
        statistics, columns = np.tile(pool.statistics, (copies, 1)), np.tile(rows.columns, copies)
        lines = LinePool.from_rows(
            _repeated(starts, copies), _repeated(rows.starts, copies), columns, values, pool.width, statistics
        )
        return cls(lines, pool.metric)

    @classmethod
    def of_matrix(cls, starts: I64, matrix: npt.NDArray[np.float32] | F64, statistics: F64, metric: Metric) -> Surface:
        """The surface of a matrix (features, candidates), which is used where it lies."""
        return cls(LinePool.from_matrix(starts, matrix, statistics), metric)

    @property
    def width(self) -> int:
        """Number of weights."""
        return self.lines.width

    def product(self, vector: F64) -> F64:
        """`vector . h` of every candidate: scores of weights, or slopes of a direction."""
        return self.lines.combine(vector)

    def gains(self, totals: F64) -> F64:
        """Corpus gains (higher is better, 0..1) of rows of statistics; what has no score is worth nothing."""
        gains = self._unit * np.asarray(self.metric.score(totals), dtype=np.float64)
        return np.where(np.isnan(gains), -np.inf, gains)

    def gain(self, weights: F64) -> float:
        """The corpus gain at a point."""
        return float(self.gains(self.lines.total(self.product(weights))))

    def search(self, scores: F64, total: F64, direction: Direction, slopes: F64 | None) -> tuple[F64, F64]:
        """The corners of a line and the statistics of its intervals, of which there is one more."""
        if slopes is None:
            assert isinstance(direction, int)
            return self.lines.search_feature(scores, direction, total)
        return self.lines.search(scores, slopes)

    @property
    def quick(self) -> bool:
        """Whether `best` is at hand: the metric is one of the core's."""
        return self._native is not None

    def best(
        self, scores: F64, total: F64, features: Sequence[int], bounds: Sequence[tuple[float, float]], reach: float
    ) -> list[tuple[float, float, F64 | None] | None]:
        """The best point along each of some features: gamma, gain, and statistics (None at a corner).

        All in one call, on all cores: what `search`, `gains` and a line without a penalty give one by one.
        """
        assert self._native is not None
        low, high = [bound[0] for bound in bounds], [bound[1] for bound in bounds]
        return self.lines.search_best(scores, total, features, low, high, reach, self._native, self._unit)


def _repeated(starts: I64, copies: int) -> I64:
    """The spans of copies that lie one after the other."""
    ends = np.arange(copies)[:, None] * starts[-1] + starts[1:]
    return np.concatenate([starts[:1], ends.ravel()])
