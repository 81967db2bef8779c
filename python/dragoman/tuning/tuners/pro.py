"""PRO: rank pairs of candidates as the metric does (Hopkins & May 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dragoman.engine import Engine
from dragoman.errors import OptionError
from dragoman.metrics.capability import AdjustableLevel
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.limits import Limits
from dragoman.tuning.packed import PackedPool, Select, first_share, list_size
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner, Session
from dragoman.tuning.state import State
from dragoman.tuning.units import Units, in_units
from dragoman.types import F64, Metric, Weights

__all__ = ["Pro"]


@dataclass(frozen=True)
class Pro(BatchTuner):
    """Pairwise ranking optimisation over a pool.

    A step draws pairs from every sentence, fits a logistic classifier without bias to their feature
    differences (both signs) and moves the weights part of the way: w = (1 - psi) w + psi w_fitted, as
    Hopkins & May do.

    >>> Pro.moses().psi, Pro.cdec().pull
    (1.0, 10000.0)
    """

    pairs: int = option(5000, help="Draws from each sentence's list, with replacement (Gamma).", min=1)
    keep: int = option(50, help="Of the accepted pairs, the largest differences that are kept (Xi).", min=1)
    threshold: float = option(0.05, help="Smallest difference in gain (0..1) of an accepted pair.", min=0)
    sigma: float = option(
        0.1,
        help="Width of the Gaussian prior around 0: |w|^2 / (2 sigma^2) is added to the summed loss. `inf`: none.",
        above=0,
    )
    pull: float = option(
        0.0, help="Strength of a prior around the weights before the step: pull/2 |w - w_before|^2.", min=0
    )
    psi: float = option(
        0.1,
        help="Share of the newly fitted weights in the interpolation with those before; 1 takes the fit as it is.",
        above=0,
        max=1,
    )
    iterations: int = option(
        30, help="Steps: each draws new pairs. With psi = 0.1, 30 of them leave 4 % of the start.", min=1
    )
    alpha: float | None = option(
        None,
        help="Add-alpha of the sentence-level BLEU in place of its own smoothing (R13 tunes it); BLEU pools only.",
        min=0,
    )
    smooth_unigrams: bool = option(False, help="Whether alpha is added to unigrams too.")
    smooth_brevity: bool | None = option(
        None,
        help="Whether the reference length of the sentence-level BLEU grows by 1. BLEU+1 adds to matches but "
        "not to lengths, and so favours short output (Nakov et al. 2012). By default it grows, wherever "
        "the pool's metric is BLEU.",
    )
    length_scale: float | None = option(
        None, help="Reference lengths are multiplied by this in the sentence-level BLEU (Galley et al. 2013).", above=0
    )
    gain: Metric | None = None
    """The sentence-level metric to rank by; default: the pool metric's own sentence-level form."""
    fit_iterations: int = option(100, help="Iterations of the fit, at most.", min=1)
    tolerance: float = option(
        1e-8, help="The fit ends when a step lowers its objective by less than this fraction.", min=0
    )
    memory: int = option(
        10,
        help="Steps that L-BFGS remembers. Up to 64 features are fitted by Newton's steps where it takes long.",
        min=1,
    )
    units: Units = option(
        "auto",
        help="What weights are multiplied with: features as they are (`raw`) or divided by their spread (`spread`), so "
        "that all weights can move alike. `auto` divides where the spreads of dense features differ by a factor above "
        "100.",
    )
    select: Select = option(
        "last", help="`best` keeps the weights with the best corpus gain on the pool, the start among them."
    )

    round_steps: int = option(
        0,
        help="With a decoder: steps in each round. 0: `iterations`, so that the weights go all the way to the fit in "
        "every round. 1: as Hopkins & May, who interpolate between rounds only.",
        min=0,
    )
    first: float = first_share()
    lists: int = list_size()

    presets: ClassVar[tuple[str, ...]] = ("hopkins-may",)

    def __post_init__(self) -> None:
        check_options(self, "pro")

    @classmethod
    def hopkins_may(cls) -> Pro:
        """As in the paper: a classifier once in each round, and a tenth of the way to it (section 3.3 and 4).

        BLEU+1 as it is, 1500-best lists, MegaM's default prior (precision 1). On fixed lists, which never change, a
        step is a round.
        """
        return cls(sigma=1.0, smooth_brevity=False, units="raw", round_steps=1, first=1.0, lists=1500)

    @classmethod
    def moses(cls) -> Pro:
        """As Moses' `pro` with MegaM: add-1 on all orders, prior of width 1, no interpolation."""
        return cls(
            sigma=1.0, psi=1.0, iterations=1, alpha=1.0, smooth_unigrams=True, smooth_brevity=False, fit_iterations=30
        )

    @classmethod
    def cdec(cls) -> Pro:
        """As cdec's `pro`: 500 |w|^2 and 5000 |w - w_before|^2 on the summed loss, no interpolation."""
        return cls(sigma=math.sqrt(1 / 1000), pull=10000.0, psi=1.0, iterations=1, smooth_brevity=False)

    @property
    def name(self) -> str:
        """PRO."""
        return "pro"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    def sentence_form(self, metric: Metric) -> Metric:
        """What pairs are ranked by."""
        if self.gain is not None:
            return self.gain
        asked = self.alpha is not None or self.length_scale is not None or bool(self.smooth_brevity)
        if not isinstance(metric, AdjustableLevel):
            if not asked:
                return metric.sentence_level()
            raise OptionError("PRO: alpha, smooth_brevity and length_scale are options of BLEU")
        return metric.adjusted_level(
            alpha=self.alpha, unigrams=self.smooth_unigrams, length_scale=self.length_scale,
            length_offset=None if self.smooth_brevity is False else 1.0,
        )  # fmt: skip

    def anchored(self, start: Weights) -> Pro:  # noqa: ARG002
        """In a round it takes `round_steps` steps."""
        return replace(self, iterations=self.round_steps) if self.round_steps else self

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> Session:  # noqa: ARG002
        """A run over `pool`."""
        return in_units(
            self.units, pool, limits, lambda of, within: ProSession(self, PackedPool(of, within, seed, self.select))
        )


class ProSession:
    """A run of PRO; the gains of all candidates are computed once."""

    def __init__(self, options: Pro, packed: PackedPool) -> None:
        self.options = options
        self.packed = packed
        self.gains = packed.pool.sentence_gains(options.sentence_form(packed.pool.metric))

    def begin(self, start: F64) -> State:
        """The state before the first step."""
        return self.packed.begin(start, self.gains)

    def step(self, state: State) -> State:
        """Draws pairs, fits, interpolates."""
        if state.done:
            return state
        options, packed = self.options, self.packed
        pairs = packed.lists.sample_pairs(
            self.gains,
            draws=options.pairs,
            keep=options.keep,
            threshold=options.threshold,
            seed=packed.seed,
            step=state.step,
        )
        informative = float(np.count_nonzero(np.diff(pairs[0]))) / len(packed.pool.candidates)
        if informative == 0.0:
            return packed.end(state, state.weights, True, {"informative": 0.0, "pairs": 0.0}, features=state.features)
        current = state.features.get("current", state.weights)
        fitted, report = packed.lists.fit_pairs(
            *pairs,
            current,
            packed.limits.lower,
            packed.limits.upper,
            l2=1 / options.sigma**2,
            pull=options.pull,
            iterations=options.fit_iterations,
            memory=options.memory,
            tolerance=options.tolerance,
        )
        moved = packed.limits.clip((1 - options.psi) * current + options.psi * fitted)
        record = {**report, "informative": informative, "pairs": float(len(pairs[1]))}
        return packed.end(state, moved, state.step + 1 >= options.iterations, record, features={"current": moved})
