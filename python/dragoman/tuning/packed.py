"""What the learning tuners share: lists in the form that kernels read, and how a step begins and ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dragoman._core import CandidateLists, NativeMetric
from dragoman.errors import OptionError
from dragoman.options import option, presets_of
from dragoman.tuning.limits import Limits
from dragoman.tuning.pool import Pool
from dragoman.tuning.state import Number, State
from dragoman.types import F64, I64, Metric

__all__ = ["PackedPool", "Select", "first_share", "list_size", "native_of", "refuse"]

Select = Literal["last", "best"]


def refuse(tuner: Any, others: Sequence[Any], why: str, *options: str) -> None:
    """Raises an error that names the first option that was set, though it would do nothing.

    What the tuner's presets and some `others` have was not set by the user.
    """
    settings = [type(tuner)(), *presets_of(type(tuner)()).values(), *others]
    for name in options:
        if getattr(tuner, name) not in {getattr(setting, name) for setting in settings}:
            raise OptionError(f"{tuner.name}: {name} {why}")


def list_size() -> Any:
    """Declares how long the lists are that a tuner asks a decoder for."""
    return option(
        0, help="With a decoder: candidates of each sentence, where --nbest-size does not say; 0: 100.", min=0
    )


def first_share() -> Any:
    """Declares how far the first round with a decoder goes."""
    return option(
        0.5,
        help="With a decoder: how far the first round goes from the start towards what it found, whose lists know "
        "little of weights far away; 1: all the way.",
        above=0,
        max=1,
    )


def native_of(metric: Metric) -> NativeMetric | None:
    """The metric's handle in the core, if it is one of the core's."""
    handle = getattr(metric, "_native", None)
    return handle if isinstance(handle, NativeMetric) else None


class PackedPool:
    """A pool in the form that kernels read, made once for a session; and the start and end of its steps."""

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
        """The fraction of sentences whose candidates differ in gain: there is nothing to learn from others."""
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

    def begin(
        self,
        start: F64,
        gains: F64,
        numbers: Mapping[str, Number] | None = None,
        rows: Mapping[str, F64 | I64] | None = None,
    ) -> State:
        """The first state; it is the last as well if no sentence's candidates differ in gain."""
        weights = self.limits.clip(np.ascontiguousarray(start, dtype=np.float64))
        if not np.isfinite(weights).all():
            raise OptionError("the start weights must be finite numbers")
        gain, informative = self.corpus_gain(weights), self.informative(gains)
        return State(
            weights, 0, informative == 0.0, rows=rows or {}, numbers={**(numbers or {}), "best": gain},
            record={"gain": gain, "informative": informative},
        )  # fmt: skip

    def end(self, state: State, answer: F64, last: bool, record: dict[str, float], **slots: Any) -> State:
        """The state after a step that found `answer`; with select="best" it must beat those before.

        `slots` are what else the next step wants to know. A step that ends in numbers that are not finite is undone,
        and is the last: `diverged` says so.
        """
        answer = self.limits.clip(answer)
        if not np.isfinite(answer).all():
            return replace(state, step=state.step + 1, done=True, record={**state.record, "diverged": 1.0})
        gain, best = self.corpus_gain(answer), state.number("best")
        record = {"gain": gain, "informative": state.record.get("informative", 1.0), **record}
        if self.select == "best" and gain <= best:
            answer = state.weights
            record |= {"gain": best, "step_gain": gain}
        slots["numbers"] = {**slots.get("numbers", {}), "best": max(gain, best)}
        return State(answer, state.step + 1, last, record=record, **slots)
