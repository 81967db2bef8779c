"""Minimum risk: the metric that is expected of a candidate drawn from the model (Smith & Eisner 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman.engine import Engine
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.limits import Limits
from dragoman.tuning.packed import PackedPool, Select
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner
from dragoman.tuning.state import State
from dragoman.types import F64, Metric

__all__ = ["Risk"]


@dataclass(frozen=True)
class Risk(BatchTuner):
    """Maximises an expectation under softmax(gamma w.h) by L-BFGS, with gamma rising from step to step.

    A small gamma makes the objective smooth; a large one makes it the metric of the 1-best output.

    >>> Risk().gammas[:3]
    (0.1, 0.2, 0.4)
    """

    objective: Literal["sentence", "corpus"] = option(
        "sentence",
        help="`sentence`: the mean expected sentence-level gain. `corpus`: the gain of the expected statistics.",
    )
    gamma: float = option(0.1, help="Inverse temperature of the first step.", above=0)
    factor: float = option(2.0, help="What it is multiplied by after each step.", min=1)
    iterations: int = option(8, help="Steps, that is values of gamma.", min=1)
    sigma: float = option(
        10.0, help="Width of the penalty |w - w_start|^2 / (2 sigma^2) on the gain (0..1). `inf`: none.", above=0
    )
    gain: Metric | None = None
    """The sentence-level metric; default: the pool metric's own sentence-level form."""
    fit_iterations: int = option(50, help="Iterations of the fit, at most.", min=1)
    tolerance: float = option(
        1e-7, help="The fit ends when a step lowers its objective by less than this fraction.", min=0
    )
    memory: int = option(10, help="Steps that L-BFGS remembers.", min=1)
    select: Select = option(
        "best", help="`best` keeps the weights with the best corpus gain on the pool, the start among them."
    )

    def __post_init__(self) -> None:
        check_options(self, "risk")

    @property
    def name(self) -> str:
        """Risk."""
        return "risk"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    @property
    def gammas(self) -> tuple[float, ...]:
        """The schedule."""
        return tuple(self.gamma * self.factor**i for i in range(self.iterations))

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> RiskSession:  # noqa: ARG002
        """A run over `pool`; nothing in it is random."""
        return RiskSession(self, PackedPool(pool, limits, seed, self.select))


class RiskSession:
    """A run: each step optimises at one gamma, from the weights of the step before."""

    def __init__(self, options: Risk, packed: PackedPool) -> None:
        self.options = options
        self.packed = packed
        self.gains = packed.pool.sentence_gains(options.gain)

    def begin(self, start: F64) -> State:
        """The state before the first step; it remembers the start, to which the penalty pulls."""
        state = self.packed.begin(start, self.gains)
        return replace(state, features={"start": state.weights, "current": state.weights})

    def step(self, state: State) -> State:
        """One fit."""
        if state.done:
            return state
        options, packed = self.options, self.packed
        gamma = options.gammas[state.step]
        l2 = 0.0 if math.isinf(options.sigma) else 1 / options.sigma**2
        found, report = packed.lists.fit_risk(
            state.features["current"],
            state.features["start"],
            packed.limits.lower,
            packed.limits.upper,
            gains=self.gains if options.objective == "sentence" else None,
            statistics=np.ascontiguousarray(packed.pool.statistics) if options.objective == "corpus" else None,
            score=self._corpus_gain,
            gamma=gamma,
            l2=l2,
            iterations=options.fit_iterations,
            memory=options.memory,
            tolerance=options.tolerance,
        )
        last = state.step + 1 >= options.iterations
        features = {**state.features, "current": found}
        return packed.end(state, found, last, {**report, "gamma": gamma}, features=features)

    def _corpus_gain(self, total: F64) -> tuple[float, list[float]]:
        """The gain of a sum of statistics and its derivatives, by central differences in one call."""
        pool = self.packed.pool
        steps = 1e-6 * np.maximum(1.0, np.abs(total))
        rows = total + np.vstack([np.zeros_like(total), np.diag(steps), -np.diag(steps)])
        gains = pool.gain_sign * np.asarray(pool.metric.score(rows)) / pool.metric.scale
        width = len(total)
        slopes = (gains[1 : width + 1] - gains[width + 1 :]) / (2 * steps)
        return float(gains[0]), slopes.tolist()
