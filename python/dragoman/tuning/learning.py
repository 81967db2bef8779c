"""Online learning in parts that can be added to: losses of a list, and rules that turn gradients into steps.

The core has the losses and rules of the papers. One of your own is a function in Python and a line in `LOSSES` or
`RULES`; `Online(objective="mine")` then works over lists, in rounds and with a decoder, only slower than the core's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dragoman._core import CandidateLists, Learner
from dragoman.tuning.state import padded
from dragoman.types import F64, I64, U32, Candidates

if TYPE_CHECKING:
    from dragoman.tuning.tuners.online import Online

__all__ = [
    "LOSSES",
    "NATIVE_LOSSES",
    "NATIVE_RULES",
    "RULES",
    "AnyLearner",
    "Loss",
    "Rule",
    "batch_gradient",
    "learner_of",
]

NATIVE_LOSSES = ("logistic", "hinge", "hope-fear", "expected", "softmax")
NATIVE_RULES = ("adagrad", "sgd", "arow", "passive-aggressive")

Loss = Callable[[F64, F64, "Online"], tuple[float, F64]]
"""(model scores M of a list, gains G, options) -> the loss, and its derivative by each model score."""
Rule = Callable[[F64, F64, F64, float, "Online"], F64]
"""(weights, gradient, sums of squared gradients, loss, options) -> new weights. All arrays are those of the features
that the gradient touches; the sums count this gradient already."""

LOSSES: dict[str, Loss] = {}
"""Losses in Python, by the name that `objective` gives.                                       <- add a loss here"""
RULES: dict[str, Rule] = {}
"""Update rules in Python, by the name that `updater` gives.                                    <- add a rule here"""


class AnyLearner(Protocol):
    """What loops need of a learner: that of the core, or one with a rule in Python."""

    def bound(self, columns: U32, lower: F64, upper: F64) -> None:
        """Bounds some weights from now on; equal bounds fix them."""
        ...

    def step(self, columns: U32, gradient: F64, loss: float, seen: I64 | None = None) -> None:
        """One mini-batch."""
        ...

    def values(self, columns: U32) -> F64:
        """The weights of some features."""
        ...

    def changes(self) -> tuple[U32, F64]:
        """The features whose weights have changed since the last call, and their weights."""
        ...

    def weights(self) -> F64:
        """All weights."""
        ...

    def squares(self) -> F64:
        """Sums of squared gradients."""
        ...

    def sums(self) -> F64:
        """Sums of the weights after each batch."""
        ...

    def counts(self) -> I64:
        """In how many sentences' lists each feature was."""
        ...

    def mean(self) -> F64:
        """The mean of the weights after each batch, if that is wanted; else the weights."""
        ...

    @property
    def time(self) -> int:
        """Number of batches."""
        ...


def learner_of(
    tuner: Online,
    weights: F64,
    *,
    squares: F64,
    sums: F64 | None = None,
    counts: I64 | None = None,
    time: int = 0,
    watch: bool = True,
) -> AnyLearner:
    """A learner with the tuner's rule, which goes on from these arrays."""
    if tuner.updater in RULES:
        return _PythonLearner(tuner, weights, squares, sums, counts, time)
    return Learner(tuner, weights, squares=squares, sums=sums, counts=counts, time=time, watch=watch)


class _PythonLearner:
    """The learner of the core with a rule in Python, and without its economy: averages cost as much as all names."""

    def __init__(
        self, tuner: Online, weights: F64, squares: F64, sums: F64 | None, counts: I64 | None, time: int
    ) -> None:
        self._tuner, self._rule = tuner, RULES[tuner.updater]
        self._weights: F64 = weights.copy()
        self._squares: F64 = squares.copy()
        self._sums: F64 = np.zeros(0) if sums is None else sums.copy()
        self._counts: F64 = np.zeros(0) if counts is None else counts.astype(np.float64)
        self._bounds: dict[int, tuple[float, float]] = {}
        self._changed: set[int] = set()
        self.time = time

    def _widen(self, width: int) -> None:
        for name in ("_weights", "_squares", "_sums", "_counts"):
            setattr(self, name, padded(getattr(self, name), width))

    def bound(self, columns: U32, lower: F64, upper: F64) -> None:
        """Bounds some weights from now on; equal bounds fix them."""
        self._widen(_end(columns))
        for column, low, high in zip(columns.tolist(), lower.tolist(), upper.tolist(), strict=True):
            self._bounds[column] = (low, high)
            self._put(np.array([column]), np.array([min(max(self._weights[column], low), high)]))

    def _put(self, columns: I64, values: F64) -> None:
        self._weights[columns] = values
        self._changed.update(columns.tolist())

    def step(self, columns: U32, gradient: F64, loss: float, seen: I64 | None = None) -> None:
        """One mini-batch."""
        self.time += 1
        places = columns.astype(np.int64)
        self._widen(max(len(self._weights), _end(columns)))
        if seen is not None:
            self._counts[places] += seen
        free = np.array([self._free(column) for column in places.tolist()], dtype=bool)
        moving = places[free & (gradient != 0) & (self._counts[places] >= self._tuner.min_count)]
        slopes = gradient[np.isin(places, moving)]
        self._squares[moving] += slopes**2
        moved = self._rule(self._weights[moving], slopes, self._squares[moving], loss, self._tuner)
        for at, column in enumerate(moving.tolist()):
            low, high = self._bounds.get(column, (-np.inf, np.inf))
            moved[at] = min(max(moved[at], low), high)
        self._put(moving, moved)
        if self._tuner.average:
            self._sums += self._weights

    def _free(self, column: int) -> bool:
        low, high = self._bounds.get(column, (-1.0, 1.0))
        return low < high

    def values(self, columns: U32) -> F64:
        """The weights of some features."""
        found: F64 = padded(self._weights, _end(columns))[columns]
        return found

    def changes(self) -> tuple[U32, F64]:
        """The features whose weights have changed since the last call, and their weights."""
        columns = np.array(sorted(self._changed), dtype=np.uint32)
        self._changed.clear()
        return columns, self._weights[columns]

    def weights(self) -> F64:
        """All weights."""
        return np.array(self._weights)

    def squares(self) -> F64:
        """Sums of squared gradients."""
        return np.array(self._squares)

    def sums(self) -> F64:
        """Sums of the weights after each batch."""
        return np.array(self._sums)

    def counts(self) -> I64:
        """In how many sentences' lists each feature was."""
        return self._counts.astype(np.int64)

    def mean(self) -> F64:
        """The mean of the weights after each batch, if that is wanted; else the weights."""
        return self._sums / self.time if self._tuner.average and self.time else self.weights()


def _end(columns: U32) -> int:
    """One more than the largest number."""
    return int(columns.max()) + 1 if len(columns) else 0


def batch_gradient(
    found: Candidates, gains: F64, tuner: Online, values: Callable[[U32], F64], seed: int, step: int
) -> tuple[U32, F64, float, I64]:
    """The features of some lists, the gradient of the lists' loss, the loss, and in how many lists each feature is.

    Features come in the order in which the lists have them: their numbers depend on which were met first.
    """
    rows = found.features
    lists, met = CandidateLists.renumbered(found.starts, rows.starts, rows.columns, rows.values)
    if tuner.objective in LOSSES:
        gradient, loss = _slow_gradient(found, gains, tuner, values(met), met)
    else:
        gradient, loss = lists.gradient(gains, _pairs(lists, gains, tuner, seed, step), values(met), tuner)
    return met, gradient, loss, lists.sentence_counts()


def _pairs(lists: CandidateLists, gains: F64, tuner: Online, seed: int, step: int) -> tuple[I64, I64, I64]:
    """Pairs of a batch's candidates; none, for losses on lists."""
    if not tuner.on_pairs:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros(len(lists) + 1, dtype=np.int64), none, none
    return lists.sample_pairs(
        gains, draws=tuner.draws, keep=tuner.pairs, threshold=tuner.threshold, seed=seed, step=step
    )


def _slow_gradient(found: Candidates, gains: F64, tuner: Online, weights: F64, met: U32) -> tuple[F64, float]:
    """The same for a loss in Python: slopes by model scores, times features."""
    rows, asked = found.features, LOSSES[tuner.objective]
    order = np.argsort(met)
    local = order[np.searchsorted(met[order], rows.columns)]
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    model: F64 = np.bincount(owner, rows.values * weights[local], minlength=len(rows)).astype(np.float64)
    slopes, total = np.zeros(len(rows)), 0.0
    filled = np.flatnonzero(np.diff(found.starts))
    share = tuner.factor / (max(len(found), 1) if tuner.reduce == "mean" else 1)
    for sentence in filled.tolist():
        span = slice(int(found.starts[sentence]), int(found.starts[sentence + 1]))
        loss, slope = asked(model[span], gains[span], tuner)
        total += share * loss
        slopes[span] = share * slope
    return np.bincount(local, slopes[owner] * rows.values, minlength=len(met)).astype(np.float64), total
