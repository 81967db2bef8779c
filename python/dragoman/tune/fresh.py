"""Adaptive online tuning (Green et al. 2013): fresh lists for a few sentences, a gradient, an update, and on.

Decoding is what costs, so several batches are decoded at once. Batch t sees the weights without the last `stale`
batches: which ones these are depends on the order of batches alone, so that a run is the same on any number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dragoman._core import CandidateLists, Learner
from dragoman.engine import Engine
from dragoman.tune._learning import floats, padded
from dragoman.tune.base import Pool
from dragoman.tune.folder import Epochs
from dragoman.tune.online import Online
from dragoman.types import F64, I64, U32, Metric, Source, Weights

__all__ = ["Fresh"]


class _Batch(NamedTuple):
    """Sentences to learn from, with the weights that are known when they are taken."""

    sentences: I64
    weights: Weights
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class _Lesson:
    """What a batch taught about the features that its candidates have."""

    features: U32
    """Which these are."""
    gradient: F64
    loss: float
    statistics: F64
    """Sum of the statistics of the 1-best candidates."""
    oracle: F64
    """Of the candidates with the best gain."""
    seen: I64
    """In how many of its sentences' lists each feature is."""
    decoding: float
    """Seconds, of the thread that did it."""
    updating: float
    """The same for judging and the gradient."""
    empty: float
    """Sentences without any candidate."""
    telling: float
    """Sentences whose candidates differ in gain."""


class Fresh:
    """Epochs of online learning on fresh lists."""

    def __init__(
        self,
        source: Source,
        references: Sequence[Sequence[str]],
        metric: Metric,
        tuner: Online,
        fixed: Sequence[str],
        seed: int,
        stale: int,
        engine: Engine,
    ) -> None:
        self.source, self.references, self.metric, self.tuner = source, references, metric, tuner
        self.fixed, self.seed, self.stale, self.engine = fixed, seed, stale, engine
        self.form = tuner.sentence_form(metric)

    def begin(self, now: Epochs) -> None:
        """Nothing to take up: the memory has it all."""

    def end(self) -> None:
        """Nothing to tidy up."""

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One pass over all sentences, in a new order."""
        order = np.random.default_rng([self.seed, now.epoch]).permutation(len(self.source))
        batches = [order[i : i + self.tuner.batch] for i in range(0, len(order), self.tuner.batch)]
        sums: dict[str, F64 | float] = {"loss": 0.0, "decoding": 0.0, "updating": 0.0}
        learner = self._learner(now)
        weights = Weights(now.names, learner.weights())

        def tasks() -> Iterator[_Batch]:
            for step, batch in enumerate(batches, now.epoch * len(batches)):
                yield _Batch(batch, weights, step)

        for lesson in self.engine.stream(self._learn, tasks(), self.stale):
            began = time.monotonic()
            learner.step(lesson.features, lesson.gradient, lesson.loss, lesson.seen)
            weights = _changed(weights, *learner.changes())
            _add(sums, lesson)
            sums["updating"] += time.monotonic() - began
        now.weights = learner.mean()
        now.memory |= {"squares": learner.squares(), "seen": learner.counts().astype(np.float64)}
        if self.tuner.average:
            now.memory["plain"] = learner.weights()
        score = self.metric.score
        return {
            "loss": float(sums["loss"]), "mixed": float(score(np.asarray(sums["statistics"]))),
            "oracle": float(score(np.asarray(sums["oracle"]))),
            "empty": float(sums["empty"]), "telling": float(sums["telling"]),
            "decoding": round(float(sums["decoding"]), 3), "updating": round(float(sums["updating"]), 3),
        }  # fmt: skip

    def _learner(self, now: Epochs) -> Learner:
        """Goes on with what is remembered. An average is that of one epoch."""
        learner = Learner(
            self.tuner, floats(now.memory, "plain", now.weights), squares=floats(now.memory, "squares", np.zeros(0)),
            counts=floats(now.memory, "seen", np.zeros(0)).astype(np.int64), watch=True,
        )  # fmt: skip
        fixed = np.array([now.names.get(name) for name in self.fixed], dtype=np.uint32)
        stay = learner.values(fixed)
        learner.bound(fixed, stay, stay)
        return learner

    def _learn(self, batch: _Batch) -> _Lesson:
        """Decodes a batch and computes the gradient of its loss."""
        (sentences, weights, step), began = batch, time.monotonic()
        threads = max(self.engine.workers // (self.stale + 1), 1)
        found = self.source.candidates(sentences.tolist(), weights, threads)
        decoding = time.monotonic() - began
        pool = Pool.judge(found, [self.references[int(i)] for i in found.ids], self.metric)
        gains = pool.sentence_gains(self.form)
        if self.tuner.times_length:
            gains = gains * pool.statistics[:, self.tuner.length_column]
        rows = found.features
        lists, met = CandidateLists.renumbered(found.starts, rows.starts, rows.columns, rows.values)
        gradient, loss = lists.gradient(gains, self._pairs(lists, gains, step), _taken(weights, met), self.tuner)
        filled = np.flatnonzero(np.diff(found.starts) > 0)
        best = [int(found.starts[s] + np.argmax(gains[found.starts[s] : found.starts[s + 1]])) for s in filled]
        first = found.starts[:-1][filled]
        statistics, seen = pool.statistics, lists.sentence_counts()
        return _Lesson(
            met, gradient, loss, statistics[first].sum(axis=0), statistics[best].sum(axis=0), seen, decoding,
            time.monotonic() - began - decoding, **pool.taught(gains),
        )  # fmt: skip

    def _pairs(self, lists: CandidateLists, gains: F64, step: int) -> tuple[I64, I64, I64]:
        """Pairs of a batch's candidates; none, for losses on lists."""
        tuner = self.tuner
        if not tuner.on_pairs:
            none = np.zeros(0, dtype=np.int64)
            return np.zeros(len(lists) + 1, dtype=np.int64), none, none
        return lists.sample_pairs(
            gains, draws=tuner.draws, keep=tuner.pairs, threshold=tuner.threshold, seed=self.seed, step=step
        )


def _changed(weights: Weights, columns: U32, values: F64) -> Weights:
    """New weights; the old ones stay, since batches that are on their way were given them."""
    wide = int(columns.max(initial=0)) + 1
    changed = np.array(padded(np.asarray(weights.values), wide))
    changed[columns] = values
    return Weights(weights.names, changed)


def _taken(weights: Weights, columns: U32) -> F64:
    """The weights of some features; those that were not known when the weights were made have none."""
    known = columns < len(weights.values)
    taken = np.zeros(len(columns))
    taken[known] = np.asarray(weights.values)[columns[known]]
    return taken


def _add(sums: dict[str, F64 | float], lesson: _Lesson) -> None:
    for key in ("loss", "statistics", "oracle", "decoding", "updating", "empty", "telling"):
        value = getattr(lesson, key)
        sums[key] = sums[key] + value if key in sums else value
