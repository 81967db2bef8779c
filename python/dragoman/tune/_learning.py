"""What the learning tuners share: packed lists, the corpus gain of weights, and how a step ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

import numpy as np

from dragoman._core import CandidateLists, NativeMetric
from dragoman.errors import OptionError
from dragoman.tune.base import Limits, Memory, Pool, State
from dragoman.types import F64, I64, Metric

__all__ = ["Select", "Workbench", "check", "floats", "native_of", "padded"]

Select = Literal["last", "best"]


def check(what: str, **laws: bool) -> None:
    """Raises an error that names the first option whose law does not hold."""
    for option, holds in laws.items():
        if not holds:
            raise OptionError(f"{what}: {option} is out of range")


def native_of(metric: Metric) -> NativeMetric | None:
    """The metric's handle in the core, if it is one of the core's."""
    handle = getattr(metric, "_native", None)
    return handle if isinstance(handle, NativeMetric) else None


def floats(memory: Memory, key: str, default: F64) -> F64:
    """An array of a state's memory."""
    return cast("F64", memory.get(key, default))


def padded(array: F64, width: int) -> F64:
    """The array, with zeros for features that were not known when it was made."""
    return array if len(array) >= width else np.concatenate([array, np.zeros(width - len(array))])


class Workbench:
    """A pool packed once for a session, and the start and end of its steps."""

    def __init__(self, pool: Pool, limits: Limits, seed: int, select: Select) -> None:
        features = pool.candidates.features
        self.pool = pool
        self.limits = limits
        self.seed = seed % 2**64
        self.select = select
        self.lists = CandidateLists(
            pool.candidates.starts, features.starts, features.columns, features.values, pool.width
        )

    def corpus_gain(self, weights: F64) -> float:
        """The pool's corpus gain under the weights, as `Pool.corpus_gain` has it, from the packed lists."""
        best = self.lists.best(weights)
        total = self.pool.statistics[best[best >= 0]].sum(axis=0)
        return self.pool.gain_sign * float(self.pool.metric.score(total)) / self.pool.metric.scale

    def informative(self, gains: F64) -> float:
        """The fraction of sentences whose candidates differ in gain; only these can teach anything."""
        starts = self.pool.candidates.starts
        filled = np.flatnonzero(starts[:-1] < starts[1:])
        if not len(filled):
            return 0.0
        most = np.maximum.reduceat(gains, starts[filled])
        least = np.minimum.reduceat(gains, starts[filled])
        return float((most > least).sum()) / len(self.pool.candidates)

    def order(self, step: int, shuffle: bool = True) -> I64:
        """The sentences in the order of this step's pass."""
        count = len(self.pool.candidates)
        if not shuffle:
            return np.arange(count, dtype=np.int64)
        return np.random.default_rng([self.seed, step]).permutation(count).astype(np.int64)

    def begin(self, start: F64, gains: F64, memory: Memory | None = None) -> State:
        """The first state; it is the last as well if no sentence can teach anything."""
        weights = self.limits.clip(np.ascontiguousarray(start, dtype=np.float64))
        if not np.isfinite(weights).all():
            raise OptionError("the start weights must be finite numbers")
        gain, informative = self.corpus_gain(weights), self.informative(gains)
        record = {"gain": gain, "informative": informative}
        return State(weights, 0, informative == 0.0, {**(memory or {}), "best": gain}, record)

    def end(self, state: State, answer: F64, last: bool, memory: Memory, record: dict[str, float]) -> State:
        """The state after a step that found `answer`; with select="best" it must beat those before.

        A step that ends in numbers that are not finite is undone, and is the last: `diverged` says so.
        """
        answer = self.limits.clip(answer)
        if not np.isfinite(answer).all():
            return replace(state, step=state.step + 1, done=True, record={**state.record, "diverged": 1.0})
        gain, best = self.corpus_gain(answer), float(state.memory["best"])
        record = {"gain": gain, "informative": state.record.get("informative", 1.0), **record}
        if self.select == "best" and gain <= best:
            answer = state.weights
            record |= {"gain": best, "step_gain": gain}
        return State(answer, state.step + 1, last, {**memory, "best": max(gain, best)}, record)
