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

from dragoman._core import CandidateLists
from dragoman.engine import Engine
from dragoman.tune._learning import padded
from dragoman.tune.base import Pool
from dragoman.tune.folder import Epochs
from dragoman.tune.online import Online
from dragoman.tune.updaters import updater_of
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

    features: I64
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
        self.updater, self.form = updater_of(tuner), tuner.sentence_form(metric)

    def begin(self, now: Epochs) -> None:
        """Takes up what the updater knew."""
        self.updater.squares = np.asarray(now.memory.get("squares", np.zeros(0)), dtype=np.float64)

    def end(self) -> None:
        """Nothing to tidy up."""

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One pass over all sentences, in a new order."""
        order = np.random.default_rng([self.seed, now.epoch]).permutation(len(self.source))
        batches = [order[i : i + self.tuner.batch] for i in range(0, len(order), self.tuner.batch)]
        sums: dict[str, F64 | float] = {"loss": 0.0, "decoding": 0.0, "updating": 0.0}
        weights = np.asarray(now.memory.get("plain", now.weights), dtype=np.float64)
        average = np.zeros(0)
        seen = np.asarray(now.memory.get("seen", np.zeros(0)), dtype=np.float64)

        def tasks() -> Iterator[_Batch]:
            for step, batch in enumerate(batches, now.epoch * len(batches)):
                yield _Batch(batch, Weights(now.names, weights), step)

        for lesson in self.engine.stream(self._learn, tasks(), self.stale):
            began = time.monotonic()
            weights, seen = self._apply(weights, lesson, seen, now)
            average = padded(average, len(weights)) + weights
            _add(sums, lesson)
            sums["updating"] += time.monotonic() - began
        now.weights = weights
        now.memory |= {"squares": padded(self.updater.squares, len(weights)), "seen": padded(seen, len(weights))}
        if self.tuner.average:
            now.memory["plain"] = weights
            now.weights = average / len(batches)
        score = self.metric.score
        return {
            "loss": float(sums["loss"]), "mixed": float(score(np.asarray(sums["statistics"]))),
            "oracle": float(score(np.asarray(sums["oracle"]))),
            "empty": float(sums["empty"]), "telling": float(sums["telling"]),
            "decoding": round(float(sums["decoding"]), 3), "updating": round(float(sums["updating"]), 3),
        }  # fmt: skip

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
        met, columns = _renumbered(found.features.columns)
        lists = CandidateLists(found.starts, found.features.starts, columns, found.features.values, len(met))
        values = padded(np.asarray(weights.values), len(weights.names))[met]
        gradient, loss = self._gradient(lists, gains, values, step)
        filled = np.flatnonzero(np.diff(found.starts) > 0)
        best = [int(found.starts[s] + np.argmax(gains[found.starts[s] : found.starts[s + 1]])) for s in filled]
        first = found.starts[:-1][filled]
        rows = pool.statistics
        seen = lists.sentence_counts()
        return _Lesson(
            met, gradient, loss, rows[first].sum(axis=0), rows[best].sum(axis=0), seen, decoding,
            time.monotonic() - began - decoding, **pool.taught(gains),
        )  # fmt: skip

    def _gradient(self, lists: CandidateLists, gains: F64, weights: F64, step: int) -> tuple[F64, float]:
        """The gradient of the batch's loss: what a plain step of size 1 subtracts."""
        tuner, count = self.tuner, len(lists)
        if tuner.on_pairs:
            pairs = lists.sample_pairs(
                gains, draws=tuner.draws, keep=tuner.pairs, threshold=tuner.threshold, seed=self.seed, step=step
            )
        else:
            none = np.zeros(0, dtype=np.int64)
            pairs = (np.zeros(count + 1, dtype=np.int64), none, none)
        width = len(weights)
        moved, _, _, _, loss = lists.online_epoch(
            gains,
            *pairs,
            np.arange(count, dtype=np.int64),
            weights,
            np.zeros(width),
            np.zeros(0),
            0,
            np.full(width, -np.inf),
            np.full(width, np.inf),
            np.ones(width, dtype=bool),
            objective=tuner._loss,
            updater=("sgd", [1.0]),
            batch=max(count, 1),
            factor=tuner.factor,
            mean=tuner.reduce == "mean",
        )
        return weights - moved, loss

    def _apply(self, weights: F64, lesson: _Lesson, seen: F64, now: Epochs) -> tuple[F64, F64]:
        width = max(len(weights), len(seen), len(now.names))
        weights, gradient, seen = padded(weights, width), np.zeros(width), padded(seen, width).copy()
        gradient[lesson.features] = lesson.gradient
        seen[lesson.features] += lesson.seen
        if self.tuner.min_count > 1:
            gradient = np.where(seen >= self.tuner.min_count, gradient, 0.0)
        for name in self.fixed:
            place = now.names.get(name)
            if place is not None and place < width:
                gradient[place] = 0.0
        return self.updater.apply(weights, gradient, lesson.loss), seen


def _renumbered(columns: U32) -> tuple[I64, U32]:
    """The features of some rows in the order in which they first come, and the rows with these numbers.

    The numbers of a system depend on which batch met a name first, that is on chance, and so would the order of sums.
    """
    place = np.full(int(columns.max(initial=0)) + 1, -1, dtype=np.int64)
    # Backwards: of several places of a feature the first one is written last and stays.
    place[columns[::-1]] = np.arange(len(columns) - 1, -1, -1)
    met = np.flatnonzero(place >= 0)
    met = met[np.argsort(place[met])]
    place[met] = np.arange(len(met))
    return met, place[columns].astype(np.uint32)


def _add(sums: dict[str, F64 | float], lesson: _Lesson) -> None:
    for key in ("loss", "statistics", "oracle", "decoding", "updating", "empty", "telling"):
        value = getattr(lesson, key)
        sums[key] = sums[key] + value if key in sums else value
