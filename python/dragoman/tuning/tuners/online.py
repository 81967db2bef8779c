"""Online learning over a pool: adaptive steps, sparse features, L1 (Green et al. 2013) and relatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dragoman._core import Learner
from dragoman.engine import Engine
from dragoman.errors import OptionError
from dragoman.metrics.capability import AdjustableLevel
from dragoman.options import check as check_options
from dragoman.options import closest, option
from dragoman.tuning.learning import (
    LOSSES,
    NATIVE_LOSSES,
    NATIVE_RULES,
    RULES,
    AnyLearner,
    batch_gradient,
    learner_of,
)
from dragoman.tuning.limits import Limits
from dragoman.tuning.loops.stale_gradient import StaleGradient
from dragoman.tuning.packed import PackedPool, Select, list_size, refuse
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner, Problem, Session
from dragoman.tuning.state import State
from dragoman.tuning.units import Units, in_units
from dragoman.types import F64, I64, Metric

__all__ = ["Online"]


@dataclass(frozen=True)
class Online(BatchTuner):
    """Stochastic gradient steps on mini-batches of sentences; one step of a session is one epoch.

    The defaults are Green et al.'s: logistic loss on 15 pairs a sentence, batches of 20, AdaGrad with rate
    0.02, L1 by FOBOS with strength 0.1, a batch's losses added up.

    >>> Online.phrasal().factor
    2.0
    """

    objective: str = option(
        "logistic",
        help="Loss of a sentence, M its model scores and G its gains. `logistic`, `hinge`: on pairs, of w.x. "
        "`hope-fear`: max(M + G) - max(M - G) as a margin. `expected`: the best gain less the one "
        "expected under softmax(gamma M). `softmax`: divergence of softmax(gamma M) from "
        "softmax(sharpness G).",
    )
    updater: str = option(
        "adagrad",
        help="`adagrad`: rate g / (sqrt(sum g^2) + epsilon), with L1. `sgd`: rate g. `arow`: rate g / (prior + "
        "sum g^2), linearised (equation 11). `passive-aggressive`: min(c, loss / |g|^2) g.",
    )
    rate: float = option(0.02, help="Step size.", above=0)
    l1: float = option(
        0.1,
        help="AdaGrad only: after each batch a weight that was ever updated shrinks by l1 times its own rate.",
        min=0,
    )
    lazy: bool = option(
        True, help="Shrink idle weights when they are next needed: the same weights in a fraction of the time."
    )
    epsilon: float = option(0.0, help="Added to the root of the squared gradients.", min=0)
    prior: float = option(1.0, help="AROW: the prior precision.", min=0)
    c: float = option(0.01, help="Passive-aggressive: the largest step.", above=0)
    batch: int = option(20, help="Sentences in a mini-batch.", min=1)
    reduce: Literal["sum", "mean"] = option(
        "sum", help="Whether a batch's losses are added up or averaged over its sentences: l1 has to match."
    )
    factor: float = option(
        1.0, help="Every loss is multiplied by this: 2 counts each pair twice, as Phrasal does.", above=0
    )
    draws: int = option(500, help="Draws of pairs from each list in each epoch (Gamma).", min=1)
    pairs: int = option(15, help="Of the accepted pairs, the largest differences that are kept (Xi).", min=1)
    threshold: float = option(0.05, help="Smallest difference in gain of an accepted pair.", min=0)
    gamma: float = option(1.0, help="Inverse temperature of the softmax.", above=0)
    sharpness: float = option(100.0, help="Inverse temperature of the target distribution.", above=0)
    times_length: bool = option(
        False, help="Multiply gains by the reference length in words; thresholds and margins are then in words."
    )
    length_column: int = option(1, help="Which statistic that length is: 1 in BLEU, TER and WER.", min=0)
    smooth_brevity: bool = option(
        False,
        help="Whether the reference length of the sentence-level BLEU grows by 1. BLEU+1 adds to matches but "
        "not to lengths, and so favours short output (Nakov et al. 2012). Held-out captions came out 1 % "
        "too short without and 1 % too long with it (docs/results.md): try it where your output is too "
        "short.",
    )
    gain: Metric | None = None
    """The sentence-level metric; default: the pool metric's own sentence-level form."""
    min_count: int = option(0, help="Features that occur in the lists of fewer sentences keep their weights.", min=0)
    epochs: int = option(10, help="Passes over the sentences.", min=1)
    average: bool = option(
        False, help="The answer is the mean of the weights after each batch. Learning goes on from the plain weights."
    )
    shuffle: bool = option(True, help="A new order of sentences for every epoch, from the seed.")
    units: Units = option(
        "auto",
        help="What weights are multiplied with: features as they are (`raw`) or divided by their spread (`spread`), so "
        "that all weights can move alike. `auto` divides where the spreads of dense features differ by a factor above "
        "100.",
    )
    select: Select = option(
        "last", help="`best` keeps the weights with the best corpus gain on the pool, the start among them."
    )
    mode: Literal["auto", "batch", "online"] = option(
        "auto", help="With a decoder: rounds on a pool (`batch`), or an update after every few sentences."
    )
    stale: int = option(
        3,
        help="Online: a batch is decoded with weights that lack the last so many batches, so that as many more "
        "can be decoded at once. The result does not depend on the number of threads. 0: none is missed.",
        min=0,
    )
    arrival: bool = option(
        False,
        help="Online: each worker has a batch, and updates are made as gradients arrive (algorithm 2), so that none "
        "waits for a slow one; `stale` does nothing then, and two runs differ a little.",
    )

    lists: int = list_size()

    presets: ClassVar[tuple[str, ...]] = ("green", "phrasal")

    def __post_init__(self) -> None:
        check_options(self, "adagrad")
        for field, own, core in (("objective", LOSSES, NATIVE_LOSSES), ("updater", RULES, NATIVE_RULES)):
            name = getattr(self, field)
            if name not in own and name not in core:
                raise OptionError(f"adagrad: {field} is unknown: `{name}`; {closest(name, [*core, *own])}")

    @classmethod
    def green(cls) -> Online:
        """The paper's own setting (section 4.2): features as they are, 200-best lists, gradients of 16 threads.

        Its constants are our defaults: rate 0.02, L1 0.1, batches of 20, 15 pairs. How many pairs are drawn before
        the best 15 are taken is not said there; 500 is the default of the authors' program.
        """
        return cls(units="raw", stale=15, lists=200)

    @classmethod
    def phrasal(cls) -> Online:
        """As the program behind the paper: each pair twice, epsilon 1e-3, BLEU+1 times reference length.

        8 epochs, 5000 draws, 50 pairs and threshold 0.5 (in words) are those of its shipped recipe.
        """
        return cls(factor=2.0, epsilon=1e-3, draws=5000, pairs=50, threshold=0.5, times_length=True, epochs=8)

    @property
    def name(self) -> str:
        """Online."""
        return "adagrad"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    @property
    def on_pairs(self) -> bool:
        """Whether the loss is one of pairs of candidates, not of whole lists."""
        return self.objective in {"logistic", "hinge"}

    def sentence_form(self, metric: Metric) -> Metric:
        """What candidates are judged by."""
        if self.gain is not None:
            return self.gain
        if not self.smooth_brevity:
            return metric.sentence_level()
        if not isinstance(metric, AdjustableLevel):
            raise OptionError("online: smooth_brevity is an option of BLEU")
        return metric.adjusted_level(length_offset=1.0)

    def session(self, problem: Problem, engine: Engine, seed: int) -> Session:
        """Epochs over fixed lists; with a decoder, on fresh lists or in rounds."""
        if self.mode != "batch" and not problem.fixed:
            why = "does nothing online, where the run itself has epochs (--epochs) and chooses one (--select)"
            refuse(self, (), why, "epochs", "select", "lazy")
            if self.arrival:
                refuse(self, (), "does nothing with arrival, where each worker has one batch", "stale")
            return StaleGradient(problem, self, engine, seed)
        refuse(self, (), "is for online tuning with the decoder in the loop, not for lists", "stale", "arrival")
        return super().session(problem, engine, seed)

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> Session:  # noqa: ARG002
        """A run over `pool`."""
        if self.times_length and self.length_column >= pool.metric.width:
            raise OptionError(f"adagrad: length_column must be below {pool.metric.width}, found {self.length_column}")
        return in_units(
            self.units, pool, limits, lambda of, within: OnlineSession(self, PackedPool(of, within, seed, self.select))
        )


class OnlineSession:
    """A run of online learning."""

    def __init__(self, options: Online, packed: PackedPool) -> None:
        self.options = options
        self.packed = packed
        self.gains = packed.pool.sentence_gains(options.sentence_form(packed.pool.metric))
        if options.times_length:
            self.gains = self.gains * packed.pool.statistics[:, options.length_column]
        self.counts = packed.lists.sentence_counts() if options.min_count > 1 else None
        lower, upper = packed.limits.lower, packed.limits.upper
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self.bounds = limited.astype(np.uint32), lower[limited], upper[limited]

    def begin(self, start: F64) -> State:
        """The state before the first epoch."""
        return self.packed.begin(start, self.gains, {"time": 0})

    def step(self, state: State) -> State:
        """One epoch. All weights are up to date after it, so nothing but sums and squares needs saving."""
        if state.done:
            return state
        options, packed = self.options, self.packed
        pairs, informative = self._pairs(state)
        if informative == 0.0:
            slots = {"features": state.features, "numbers": state.numbers}
            return packed.end(state, state.weights, True, {"informative": 0.0}, **slots)
        learner = learner_of(
            options, state.features.get("weights", state.weights), squares=state.feature("squares"),
            sums=state.feature("sums"), counts=self.counts, time=int(state.number("time")), watch=False,
        )  # fmt: skip
        learner.bound(*self.bounds)
        order = packed.order(state.step, options.shuffle)
        if isinstance(learner, Learner) and options.objective not in LOSSES:
            loss = packed.lists.online_epoch(learner, self.gains, pairs, order, options)
        else:
            loss = self._in_python(learner, order, state.step)
        weights = learner.weights()
        answer = learner.mean() if options.average else weights
        features = {"weights": weights, "squares": learner.squares()}
        if options.average:
            features["sums"] = learner.sums()
        last = state.step + 1 >= options.epochs
        record = {"loss": loss, "informative": informative, "nonzero": float(np.count_nonzero(answer))}
        return packed.end(state, answer, last, record, features=features, numbers={"time": learner.time})

    def _in_python(self, learner: AnyLearner, order: I64, step: int) -> float:
        """The epoch with a loss or a rule in Python."""
        pool, total = self.packed.pool, 0.0
        starts, size = pool.candidates.starts, self.options.batch
        for number, at in enumerate(range(0, len(order), size), step * -(-len(order) // size)):
            batch = order[at : at + size]
            rows = np.concatenate([np.arange(starts[s], starts[s + 1]) for s in batch])
            met, gradient, loss, seen = batch_gradient(
                pool.candidates.take(batch), self.gains[rows], self.options, learner.values, self.packed.seed, number
            )
            learner.step(met, gradient, loss, None if self.counts is not None else seen)
            total += loss
        return total

    def _pairs(self, state: State) -> tuple[tuple[I64, I64, I64], float]:
        """Pairs for this epoch (none, for losses on lists), and the fraction of sentences that can teach."""
        options, packed = self.options, self.packed
        if not options.on_pairs:
            none = np.zeros(0, dtype=np.int64)
            starts = np.zeros(len(packed.pool.candidates) + 1, dtype=np.int64)
            return (starts, none, none), state.record.get("informative", 1.0)
        pairs = packed.lists.sample_pairs(
            self.gains,
            draws=options.draws,
            keep=options.pairs,
            threshold=options.threshold,
            seed=packed.seed,
            step=state.step,
        )
        return pairs, float(np.count_nonzero(np.diff(pairs[0]))) / len(packed.pool.candidates)
