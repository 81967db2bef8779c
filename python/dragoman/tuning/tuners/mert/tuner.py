"""MERT as a tuner: many starting points, a search from each, the best of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from dragoman.engine import Engine, Serial, Shared
from dragoman.errors import OptionError
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.limits import Limits
from dragoman.tuning.packed import first_share
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner
from dragoman.tuning.state import State
from dragoman.tuning.tuners.mert.climb import Climb
from dragoman.tuning.tuners.mert.directions import Gradient, Order, ascend, strategies
from dragoman.tuning.tuners.mert.regularise import REGULARISERS, Regulariser
from dragoman.tuning.tuners.mert.surface import Gains, Surface
from dragoman.types import F64, Names, Weights

__all__ = ["Mert", "MertSession"]

_L2_FORMS = {"origin": "l2", "fixed": "l2-fixed", "normalised": "l2-normalised"}


@dataclass(frozen=True)
class Mert(BatchTuner):
    """Minimum error rate training (Och 2003), with regularisers and gradient directions (Galley et al. 2013).

    Scaling all weights changes no 1-best, so the result is scaled to |w|_1 = 1, unless a weight is fixed or
    bounded, or the regulariser minds the scale.
    """

    directions: str = option(
        "coordinate",
        help="`coordinate`, `random`, `powell`, `gradient`, `natural`, or several joined: `gradient+coordinate`.",
    )
    order: Order = option(
        "greedy",
        help="Move along every line that helps (`cyclic`), only along the best of a round (`steepest`, as "
        "Moses does), or along the better half (`greedy`).",
    )
    random_directions: int = option(10, help="Random directions in a round, where `directions` has `random`.", min=1)
    starts: int = option(20, help="Starting points: the given one, and random ones.", min=1)
    restart: Literal["uniform", "walk"] = option(
        "uniform",
        help="Random starting points: anywhere in each feature's range, or a step away from the best point so "
        "far (random walks, after Moore & Quirk 2008).",
    )
    l2: float = option(
        0.0, help="Strength of an L2 penalty on the weights, 1/(2 sigma^2). Gains are on the 0..1 scale.", min=0
    )
    l2_form: Literal["origin", "fixed", "normalised"] = option(
        "origin",
        help="What L2 measures: the distance from `origin` (v1), the weights with one `fixed` (v2), or w/|w|_1 (v3).",
    )
    origin: Weights | None = None
    """w0, where the penalty is zero; the starting point if not given."""
    fixed: str | None = option(None, help="The feature that the form `fixed` keeps at its starting value.")
    l0: float = option(0.0, help="The price of each weight that is not zero; instead of L2.", min=0)
    noise: float = option(
        0.0,
        help="Smooths the surface: every list sees each weight through a random factor between 1 - noise and 1 "
        "+ noise, so that weights are only good if those around them are. See `smooth`.",
        min=0,
        max=1,
    )
    copies: int = option(
        4,
        help="How many times each list counts with noise, each time with other factors: time and memory grow with it.",
        min=1,
    )
    tolerance: float = option(1e-5, help="What a move must add to the objective: 0.001 BLEU points.", min=0)
    rounds: int = option(100, help="Rounds from each starting point, at most.", min=1)
    together: int = option(
        4,
        help="Starting points in one step, searched side by side. Any number gives the same weights with `uniform`.",
        min=1,
    )

    expected: Literal["gain", "log"] = option(
        "gain",
        help="What `gradient` climbs: the metric of the expected statistics, or its logarithm, as the paper has it. "
        "Without a penalty the direction is the same; beside L2 the balance is not.",
    )
    mu: Literal["normalised", "raw"] = option(
        "normalised",
        help="What mu of `gradient` multiplies: the scores of w/|w|_1, so that the scale of the weights does not "
        "matter, or those of w as they are, as the paper has it.",
    )
    first: float = first_share()

    presets: ClassVar[tuple[str, ...]] = ("galley",)

    def __post_init__(self) -> None:
        check_options(self, "mert")
        made = strategies(self.directions, self.order, self.random_directions)
        if (self.expected, self.mu) != ("gain", "normalised") and not any(isinstance(s, Gradient) for s in made):
            raise OptionError("mert: `expected` and `mu` are of the directions `gradient`: name it")
        if self.l2 > 0.0 and self.l0 > 0.0:
            raise OptionError("mert: choose one of l2 and l0")
        if (self.l2_form == "fixed") != (self.fixed is not None):
            raise OptionError("mert: `fixed` names the feature that the l2_form `fixed` keeps, and goes with it")

    @classmethod
    def smooth(cls) -> Mert:
        """For rounds with a decoder: noise takes the place of random starting points.

        The best of many climbs can fit the lists too well. One over a smooth surface, from the weights of the round
        before, did better on other text in most of our trials (docs/results.md).
        """
        return cls(starts=1, noise=0.1)

    @classmethod
    def galley(cls) -> Mert:
        """The setting of Galley et al. (2013): one start, then random walks from the best point so far.

        Lines are gradients and, where these bring nothing, coordinates, until one of them helps (footnote 8).
        The penalty is up to you: `l2` with `l2_form`, or `l0`. How many walks the authors made is not said: 20 points.
        """
        return cls(
            directions="gradient+coordinate", order="cyclic", restart="walk", expected="log", mu="raw", together=1,
            first=1.0,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """What tables and the command line call it."""
        return "mert"

    @property
    def never_worse(self) -> bool:
        """True without a regulariser and noise: with them, it is their objective that never falls."""
        return self.l2 == 0.0 and self.l0 == 0.0 and self.noise == 0.0

    @property
    def regulariser(self) -> str:
        """Which of the regularisers is in force."""
        if self.l0 > 0.0:
            return "l0"
        return _L2_FORMS[self.l2_form] if self.l2 > 0.0 else "none"

    def anchored(self, start: Weights) -> Mert:
        """In rounds L2 pulls to where the run started, not to where its last round ended (w0 of Galley et al. 2013)."""
        return self if self.origin is not None else replace(self, origin=start)

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> MertSession:
        """A run over `pool`."""
        if self.expected == "log" and not pool.metric.higher_is_better:
            raise OptionError(
                f"mert: expected=log needs a metric that is better when higher, which {pool.metric.name} is not"
            )
        noisy = self.noise > 0.0
        surface = Surface.noisy(pool, self.noise, self.copies, seed) if noisy else Surface.of(pool)
        return MertSession(
            self, surface, limits, seed, names=pool.candidates.features.names, judge=pool.corpus_gain,
            objective=surface.gain if noisy else None, engine=engine, pool=pool,
        )  # fmt: skip


Job = tuple[int, F64, F64]
"""The number of a starting point, the given one, and the best point so far."""


class Found(NamedTuple):
    """Where a search ended."""

    weights: F64
    searches: int


@dataclass(frozen=True)
class _Search:
    """A search from one starting point, for a worker."""

    session: Shared[MertSession]

    def __call__(self, job: Job) -> Found:
        climb = self.session.value.climb(*job)
        return Found(climb.weights, climb.searches)


class MertSession:
    """A run of MERT. A step searches from the next few starting points; the best point so far is the answer."""

    def __init__(
        self,
        options: Mert,
        surface: Gains,
        limits: Limits,
        seed: int,
        *,
        names: Names | None = None,
        judge: Callable[[F64], float] | None = None,
        objective: Callable[[F64], float] | None = None,
        engine: Engine | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.options, self.surface, self.seed = options, surface, seed
        self._engine, self._pool = engine or Serial(), pool
        self._names = names
        self._judge = judge or surface.gain
        self._worth = objective or self._judge
        """What is climbed, the penalty aside; with noise it is not the gain of the pool itself."""
        self._limits = limits
        self._fixed = self._fixed_feature()

    @cached_property
    def _spreads(self) -> F64:
        return self.surface.lines.spreads()

    def _fixed_feature(self) -> int | None:
        if self.options.fixed is None:
            return None
        found = self._names.get(self.options.fixed) if self._names is not None else None
        if found is None:
            raise OptionError(f"mert: there is no feature `{self.options.fixed}` to fix")
        return found

    def begin(self, start: F64) -> State:
        """The given starting point itself, unsearched."""
        weights = self._limits.clip(np.asarray(start, dtype=np.float64))
        if self._fixed is not None and weights[self._fixed] == 0.0:
            raise OptionError(f"mert: the fixed feature `{self.options.fixed}` must not start at 0")
        gain = self._judge(weights)
        objective = self._worth(weights) - self._penalty(weights).value(weights)
        return State(
            weights, features={"start": weights.copy()}, numbers={"objective": objective, "starts": 0, "searches": 0},
            record={"gain": gain, "objective": objective},
        )  # fmt: skip

    def step(self, state: State) -> State:
        """Searches from the next starting points."""
        done, start = int(state.number("starts")), state.features["start"]
        turn = range(done, min(done + self.options.together, self.options.starts))
        climbs = self._side_by_side([(index, start, state.weights) for index in turn])
        penalty = self._penalty(start)
        best, objective = state.weights, state.number("objective")
        for climb in climbs:
            weights = self._normalised(climb.weights, penalty)
            value = self._worth(weights) - penalty.value(weights)
            if value > objective:
                best, objective = weights, value
        searches = int(state.number("searches")) + sum(climb.searches for climb in climbs)
        reached = turn.stop
        record = {
            "gain": self._judge(best),
            "objective": objective,
            "starts": float(reached),
            "searches": float(searches),
            "nonzero": float(np.count_nonzero(best)),
        }
        numbers = {"objective": objective, "starts": reached, "searches": searches}
        done_now = reached >= self.options.starts
        return State(best, state.step + 1, done_now, state.features, numbers=numbers, record=record)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the pool and makes the rest of it."""
        if self._pool is None:
            raise TypeError("a session that was made of a surface alone cannot be sent to another process")
        return self.options.over, (self._pool, self._limits, self.seed)

    @cached_property
    def _shared(self) -> Shared[MertSession]:
        return self._engine.share(self)

    def _side_by_side(self, jobs: list[Job]) -> list[Found]:
        """Searches independent of each other. The kernels run without the interpreter, so threads do overlap."""
        _ = self._spreads  # computed once, before they part
        return self._engine.map(_Search(self._shared), jobs)

    def climb(self, index: int, start: F64, best: F64) -> Climb:
        """The search from the starting point with this number; number 0 is `start` itself."""
        options = self.options
        rng = np.random.default_rng([self.seed, index])
        climb = Climb(
            self.surface,
            self._penalty(start),
            self._frozen(start),
            start if index == 0 else self._restart(rng, start, best),
            tolerance=options.tolerance,
            rng=rng,
            spreads=self._spreads,
        )
        ways = strategies(
            options.directions, options.order, options.random_directions, log=options.expected == "log",
            raw=options.mu == "raw",
        )  # fmt: skip
        ascend(climb, ways, options.rounds)
        return climb

    def _restart(self, rng: np.random.Generator, start: F64, best: F64) -> F64:
        """A random point, or one near the best so far.

        Ranges are the limits where these are finite. Elsewhere they are such that every feature may move scores
        by as much as the features of the given start do on average: what a feature's values differ by within a
        list tells how large its weight must be for that.
        """
        spreads = self._spreads
        says = np.abs(start) * spreads
        say = says[says > 0.0].mean() if (says > 0.0).any() else 1.0
        size = np.divide(say, spreads, out=np.zeros_like(spreads), where=spreads > 0.0)
        bounds = self._frozen(start)
        if self.options.restart == "walk":
            return bounds.clip(best + size * rng.uniform(-1.0, 1.0, len(size)))
        low = np.where(np.isfinite(bounds.lower), bounds.lower, np.minimum(-size, bounds.upper - 2.0 * size))
        high = np.where(np.isfinite(bounds.upper), bounds.upper, np.maximum(size, bounds.lower + 2.0 * size))
        low, high = (np.where(np.isfinite(end), end, 0.0) for end in (low, high))
        return bounds.clip(rng.uniform(low, np.maximum(low, high)))

    def _frozen(self, start: F64) -> Limits:
        """The limits, with the regulariser's fixed feature fixed."""
        if self._fixed is None:
            return self._limits
        at = np.arange(len(start)) == self._fixed
        return Limits(np.where(at, start, self._limits.lower), np.where(at, start, self._limits.upper))

    def _penalty(self, start: F64) -> Regulariser:
        origin = start
        if self.options.origin is not None:
            origin = self.options.origin.align(self._names) if self._names else self.options.origin.values
        return REGULARISERS[self.options.regulariser](self.options.l2 or self.options.l0, origin, self._fixed)

    def _normalised(self, weights: F64, penalty: Regulariser) -> F64:
        size = float(np.abs(weights).sum())
        if self._limits.bounded or self._fixed is not None or not penalty.scale_free or size == 0.0:
            return weights
        return weights / size
