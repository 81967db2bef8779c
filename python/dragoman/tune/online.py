"""Online learning over a pool: adaptive steps, sparse features, L1 (Green et al. 2013) and relatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dragoman._core import Learner
from dragoman.errors import OptionError
from dragoman.metrics.bleu import Bleu
from dragoman.tune._learning import Select, Workbench, check, floats
from dragoman.tune.base import Limits, Memory, Pool, State
from dragoman.types import F64, I64, Metric

__all__ = ["Online"]


@dataclass(frozen=True)
class Online:
    """Stochastic gradient steps on mini-batches of sentences; one step of a session is one epoch.

    The defaults are Green et al.'s: logistic loss on 15 pairs a sentence, batches of 20, AdaGrad with rate
    0.02, L1 by FOBOS with strength 0.1, a batch's losses added up.

    >>> Online.phrasal().factor
    2.0
    """

    objective: Literal["logistic", "hinge", "hope-fear", "expected", "softmax"] = "logistic"
    """Loss of a sentence, M its model scores and G its gains. `logistic`, `hinge`: on pairs, of w.x.
    `hope-fear`: max(M + G) - max(M - G) as a margin. `expected`: the best gain less the one expected under
    softmax(gamma M). `softmax`: divergence of softmax(gamma M) from softmax(sharpness G)."""
    updater: Literal["adagrad", "sgd", "arow", "passive-aggressive"] = "adagrad"
    """`adagrad`: rate g / (sqrt(sum g^2) + epsilon), with L1. `sgd`: rate g. `arow`: rate g / (prior +
    sum g^2), linearised (equation 11). `passive-aggressive`: min(c, loss / |g|^2) g."""
    rate: float = 0.02
    l1: float = 0.1
    """AdaGrad only: after each batch a weight that was ever updated shrinks by l1 times its own rate."""
    lazy: bool = True
    """Shrink idle weights when they are next needed: the same weights in a fraction of the time."""
    epsilon: float = 0.0
    prior: float = 1.0
    c: float = 0.01
    batch: int = 20
    """Sentences in a mini-batch."""
    reduce: Literal["sum", "mean"] = "sum"
    """Whether a batch's losses are added up or averaged over its sentences: l1 has to match."""
    factor: float = 1.0
    """Every loss is multiplied by this: 2 counts each pair twice, as Phrasal does."""
    draws: int = 500
    """Draws of pairs from each list in each epoch (Gamma)."""
    pairs: int = 15
    """Of the accepted pairs, the largest differences that are kept (Xi)."""
    threshold: float = 0.05
    """Smallest difference in gain of an accepted pair."""
    gamma: float = 1.0
    sharpness: float = 100.0
    times_length: bool = False
    """Multiply gains by the reference length in words; thresholds and margins are then in words."""
    length_column: int = 1
    """Which statistic that length is: 1 in BLEU, TER and WER."""
    smooth_brevity: bool = False
    """Whether the reference length of the sentence-level BLEU grows by 1. BLEU+1 adds to matches but not to lengths,
    and so favours short output (Nakov et al. 2012). Held-out captions came out 1 % too short without and
    1 % too long with it (docs/results.md): try it where your output is too short."""
    gain: Metric | None = None
    """The sentence-level metric; default: the pool metric's own sentence-level form."""
    min_count: int = 0
    """Features that occur in the lists of fewer sentences keep their weights."""
    epochs: int = 10
    average: bool = False
    """The answer is the mean of the weights after each batch. Learning goes on from the plain weights."""
    shuffle: bool = True
    select: Select = "last"
    """`best` keeps the weights with the best corpus gain on the pool, the start among them."""

    def __post_init__(self) -> None:
        check(
            "online",
            objective=self.objective in {"logistic", "hinge", "hope-fear", "expected", "softmax"},
            updater=self.updater in {"adagrad", "sgd", "arow", "passive-aggressive"},
            rate=self.rate > 0,
            l1=self.l1 >= 0,
            epsilon=self.epsilon >= 0,
            prior=self.prior >= 0,
            c=self.c > 0,
            batch=self.batch > 0,
            reduce=self.reduce in {"sum", "mean"},
            factor=self.factor > 0,
            draws=self.draws > 0,
            pairs=self.pairs > 0,
            threshold=self.threshold >= 0,
            gamma=self.gamma > 0,
            sharpness=self.sharpness > 0,
            epochs=self.epochs > 0,
        )

    @classmethod
    def phrasal(cls) -> Online:
        """As the program behind the paper: each pair twice, epsilon 1e-3, BLEU+1 times reference length.

        8 epochs, 5000 draws, 50 pairs and threshold 0.5 (in words) are those of its shipped recipe.
        """
        return cls(factor=2.0, epsilon=1e-3, draws=5000, pairs=50, threshold=0.5, times_length=True, epochs=8)

    @property
    def name(self) -> str:
        """Online."""
        return "online"

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
        form = metric.sentence_level()
        if not isinstance(form, Bleu):
            if self.smooth_brevity:
                raise OptionError("online: smooth_brevity is an option of BLEU")
            return form
        return replace(form, length_offset=1.0) if self.smooth_brevity else form

    def session(self, pool: Pool, limits: Limits, seed: int) -> OnlineSession:
        """A run over `pool`."""
        check("online", length_column=not self.times_length or 0 <= self.length_column < pool.metric.width)
        return OnlineSession(self, Workbench(pool, limits, seed, self.select))


class OnlineSession:
    """A run of online learning."""

    def __init__(self, options: Online, bench: Workbench) -> None:
        self.options = options
        self.bench = bench
        self.gains = bench.pool.sentence_gains(options.sentence_form(bench.pool.metric))
        if options.times_length:
            self.gains = self.gains * bench.pool.statistics[:, options.length_column]
        self.counts = bench.lists.sentence_counts() if options.min_count > 1 else None
        lower, upper = bench.limits.lower, bench.limits.upper
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self.bounds = limited.astype(np.uint32), lower[limited], upper[limited]

    def begin(self, start: F64) -> State:
        """The state before the first epoch."""
        return self.bench.begin(start, self.gains, {"time": 0})

    def step(self, state: State) -> State:
        """One epoch. All weights are up to date after it, so nothing but sums and squares needs saving."""
        if state.done:
            return state
        options, bench, memory = self.options, self.bench, state.memory
        pairs, taught = self._pairs(state)
        if taught == 0.0:
            return bench.end(state, state.weights, True, memory, {"informative": 0.0})
        none = np.zeros(0)
        learner = Learner(
            options, floats(memory, "weights", state.weights), squares=floats(memory, "squares", none),
            sums=floats(memory, "sums", none), counts=self.counts, time=int(memory["time"]),
        )  # fmt: skip
        learner.bound(*self.bounds)
        order = bench.order(state.step, options.shuffle)
        loss = bench.lists.online_epoch(learner, self.gains, pairs, order, options)
        weights = learner.weights()
        answer = learner.mean() if options.average else weights
        now: Memory = {"weights": weights, "squares": learner.squares(), "time": learner.time}
        if options.average:
            now["sums"] = learner.sums()
        last = state.step + 1 >= options.epochs
        record = {"loss": loss, "informative": taught, "nonzero": float(np.count_nonzero(answer))}
        return bench.end(state, answer, last, now, record)

    def _pairs(self, state: State) -> tuple[tuple[I64, I64, I64], float]:
        """Pairs for this epoch (none, for losses on lists), and the fraction of sentences that can teach."""
        options, bench = self.options, self.bench
        if not options.on_pairs:
            none = np.zeros(0, dtype=np.int64)
            starts = np.zeros(len(bench.pool.candidates) + 1, dtype=np.int64)
            return (starts, none, none), state.record.get("informative", 1.0)
        pairs = bench.lists.sample_pairs(
            self.gains,
            draws=options.draws,
            keep=options.pairs,
            threshold=options.threshold,
            seed=bench.seed,
            step=state.step,
        )
        return pairs, float(np.count_nonzero(np.diff(pairs[0]))) / len(bench.pool.candidates)
