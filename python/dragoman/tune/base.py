"""What tuners are given and what they give back: a pool of judged candidates in, one resumable step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from dragoman._core import best_per_group, dot_rows
from dragoman.errors import InputError
from dragoman.types import F64, I64, Candidates, Metric

__all__ = ["Limits", "Memory", "Pool", "Session", "State", "Tuner", "set_apart"]

Memory = dict[str, F64 | I64 | int | float | str]


def set_apart(sentences: int, share: float, seed: int) -> tuple[I64, I64]:
    """Numbers of sentences in two parts, both in order: a random `share` of them is the second, the rest the first."""
    count = round(share * sentences)
    if not 0 < count < sentences:
        raise InputError(f"{sentences} sentences are too few to set a share of {share} apart")
    mixed = np.random.default_rng([seed, sentences]).permutation(sentences)
    return np.sort(mixed[count:]), np.sort(mixed[:count])


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates with their metric statistics: all that a tuner over fixed lists needs to know.

    Weights are plain arrays here, one float64 for each name of `candidates.features.names`.
    """

    candidates: Candidates
    metric: Metric
    statistics: F64

    @classmethod
    def judge(cls, candidates: Candidates, references: Sequence[Sequence[str]], metric: Metric) -> Pool:
        """Scores every candidate; `references[s]` belongs to the s-th sentence of the candidates."""
        statistics = metric.prepare(references).statistics(candidates.hypotheses)
        return cls(candidates, metric, statistics)

    def take(self, sentences: I64) -> Pool:
        """The pool of some of the sentences."""
        candidates = self.candidates.take(sentences)
        spans = [np.arange(self.candidates.starts[s], self.candidates.starts[s + 1]) for s in sentences]
        return Pool(candidates, self.metric, self.statistics[np.concatenate(spans)])

    def split(self, share: float, seed: int) -> tuple[Pool, Pool]:
        """Two pools: the second has a random `share` of the sentences, the first the others, both in order."""
        rest, apart = set_apart(len(self.candidates), share, seed)
        return self.take(rest), self.take(apart)

    @property
    def width(self) -> int:
        """Number of features, that is of weights."""
        return len(self.candidates.features.names)

    @cached_property
    def dense(self) -> F64:
        """All feature vectors as one matrix (candidates, features). Only for few features."""
        return self.candidates.features.dense()

    @property
    def gain_sign(self) -> float:
        """+1 if the metric is better when higher, else -1: times a score over `scale` it is a gain."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def model_scores(self, weights: F64) -> F64:
        """w.h of every candidate."""
        features = self.candidates.features
        return dot_rows(features.starts, features.columns, features.values, weights)

    def choice(self, weights: F64) -> I64:
        """The 1-best candidate of each sentence that has any."""
        best = best_per_group(self.model_scores(weights), self.candidates.starts)
        return best[best >= 0]

    def corpus_gain(self, weights: F64) -> float:
        """Corpus metric of the 1-best candidates, on the 0..1 scale and so that higher is better."""
        total = self.statistics[self.choice(weights)].sum(axis=0)
        return self.gain_sign * float(self.metric.score(total)) / self.metric.scale

    def spread(self, values: F64) -> F64:
        """Largest less smallest value among the candidates of each sentence that has any."""
        starts = self.candidates.starts
        filled = starts[:-1][np.diff(starts) > 0]
        return np.maximum.reduceat(values, filled) - np.minimum.reduceat(values, filled)

    def taught(self, gains: F64) -> dict[str, float]:
        """How many sentences have no candidate at all, and how many have candidates that differ in gain."""
        sizes = np.diff(self.candidates.starts)
        telling = int((self.spread(gains) > 0).sum()) if sizes.any() else 0
        return {"empty": int((sizes == 0).sum()), "telling": telling}

    def sentence_gains(self, metric: Metric | None = None) -> F64:
        """The gain of each candidate alone (higher is better, 0..1), by the metric's sentence-level form."""
        form = metric or self.metric.sentence_level()
        return self.gain_sign * form.score(self.statistics) / form.scale


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds on each weight; equal bounds fix it. Every tuner keeps its weights inside them."""

    lower: F64
    upper: F64

    @classmethod
    def none(cls, width: int) -> Limits:
        """No bounds."""
        return cls(np.full(width, -np.inf), np.full(width, np.inf))

    @property
    def bounded(self) -> bool:
        """Whether any weight is bounded at all."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @property
    def free(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which weights may move."""
        return self.lower < self.upper

    def clip(self, weights: F64) -> F64:
        """The nearest weights inside the bounds."""
        return np.clip(weights, self.lower, self.upper)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a run stands. It holds all that the next step depends on, so a saved state resumes bit for bit.

    Randomness is no state: step t draws from `np.random.default_rng([seed, t])` or the native stream (seed, t).
    """

    weights: F64
    """The answer if the run ended now."""
    step: int = 0
    done: bool = False
    memory: Memory = field(default_factory=dict)
    """Whatever else the tuner needs to go on: arrays and plain values."""
    record: dict[str, float] = field(default_factory=dict)
    """What the last step did, for the trace: `gain` (corpus gain of `weights` on the pool), `objective`, ..."""


@runtime_checkable
class Session(Protocol):
    """One run over one pool; may cache what it derives from the pool, never anything that a step changes."""

    def begin(self, start: F64) -> State:
        """The state before the first step."""
        ...

    def step(self, state: State) -> State:
        """The next state. Depends on the session's inputs and on `state` only."""
        ...


@runtime_checkable
class Tuner(Protocol):
    """A way to find weights. A frozen dataclass of options; the work is done in a session."""

    @property
    def name(self) -> str:
        """What tables and the command line call it."""
        ...

    @property
    def never_worse(self) -> bool:
        """Whether it promises that the pool's corpus gain never ends below the start's."""
        ...

    def session(self, pool: Pool, limits: Limits, seed: int) -> Session:
        """A run over `pool`."""
        ...
