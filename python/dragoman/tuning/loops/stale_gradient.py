"""Adaptive online tuning (Green et al. 2013): fresh lists for a few sentences, a gradient, an update, and on.

Decoding is what costs, so several batches are decoded at once. Batch t sees the weights without the last `stale`
batches: which ones these are depends on the order of batches alone, so that a run is the same on any number of threads.
With `arrival`, updates are made in the order in which gradients come (algorithm 2): nobody waits for a slow batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dragoman._core import names_extend, names_find, names_take
from dragoman.engine import Engine, Shared
from dragoman.tuning.learning import AnyLearner, batch_gradient, learner_of
from dragoman.tuning.limits import NamedLimits
from dragoman.tuning.loops.feed import Feed, Version
from dragoman.tuning.problem import Problem
from dragoman.tuning.state import State, padded
from dragoman.types import F64, I64, U32, Lists, Metric, Names, Weights

if TYPE_CHECKING:
    from dragoman.tuning.problem import PreparedReferences
    from dragoman.tuning.tuners.online import Online

__all__ = ["BatchGradient", "StaleGradient"]


class _Batch(NamedTuple):
    """Sentences to learn from, with the weights that are known when they are taken."""

    sentences: I64
    weights: Weights | Version
    step: int
    made: int
    """Updates that these weights have seen, in this epoch."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchGradient:
    """What a batch says about the features that its candidates have."""

    names: Names
    """The table that numbers them."""
    features: U32
    """Which these are; `gradient` and `seen` begin with those of `agreed`."""
    gradient: F64
    loss: float
    first: F64
    """Statistics of the first candidate of each sentence."""
    oracle: F64
    """Sum of those of the candidates with the best gain."""
    seen: I64
    """In how many of its sentences' lists each feature is."""
    decoding: float
    """Seconds, of the thread that did it."""
    updating: float
    """The same for judging and the gradient."""
    empty: float
    """Sentences without any candidate."""
    differing: float
    """Sentences whose candidates differ in gain."""
    made: int
    """Updates that the weights had seen."""
    agreed: U32
    """Further features, by their numbers in the table of the process that asked."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Features travel by name, and only those of the batch."""
        fields = [getattr(self, name) for name in BatchGradient.__slots__]
        fields[0] = names_take(self.names, self.features.astype(np.int64))
        fields[1] = np.arange(len(self.features), dtype=np.uint32)
        return BatchGradient, tuple(fields)

    def places(self, names: Names) -> U32:
        """The numbers of its features in another table of names, which gets those it lacks."""
        own = self.features if self.names is names else names_extend(names, self.names)[self.features].astype(np.uint32)
        return np.concatenate([self.agreed, own]) if len(self.agreed) else own


@dataclass(frozen=True)
class _Text:
    """What workers must know of a run."""

    source: Lists
    references: PreparedReferences
    form: Metric
    tuner: Online
    seed: int


@dataclass(frozen=True)
class _Learn:
    """Decodes a batch and computes the gradient of its loss."""

    text: Shared[_Text]
    threads: int

    def __call__(self, batch: _Batch) -> BatchGradient:
        (sentences, given, step, made), began, text = batch, time.monotonic(), self.text.value
        weights = given if isinstance(given, Weights) else given.weights()
        found = text.source.candidates(sentences.tolist(), weights, self.threads)
        decoding = time.monotonic() - began
        pool, names = text.references.judge(found), found.features.names
        gains = pool.sentence_gains(text.form)
        if text.tuner.times_length:
            gains = gains * pool.statistics[:, text.tuner.length_column]
        values = weights.take if weights.names is names else lambda met: weights.align(names)[met]
        met, gradient, loss, seen = batch_gradient(found, gains, text.tuner, values, text.seed, step)
        agreed = np.zeros(0, dtype=np.uint32)
        if isinstance(given, Version):
            agreed, met, order = _agreed(weights.names, names, met)
            gradient, seen = gradient[order], seen[order]
        filled = np.flatnonzero(np.diff(found.starts) > 0)
        best = [int(found.starts[s] + np.argmax(gains[found.starts[s] : found.starts[s + 1]])) for s in filled]
        return BatchGradient(
            names, met, gradient, loss, text.references.first(pool), pool.statistics[best].sum(axis=0),
            seen, decoding, time.monotonic() - began - decoding, **pool.counts(gains), made=made, agreed=agreed,
        )  # fmt: skip


def _agreed(table: Names, names: Names, features: U32) -> tuple[U32, U32, I64]:
    """Features that a table has, by its numbers; the others, by their own; and the order of both together."""
    known = names_find(table, names_take(names, features.astype(np.int64)))
    there = known >= 0
    order = np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)])
    return known[there].astype(np.uint32), features[~there], order


class StaleGradient:
    """Epochs of online learning on fresh lists."""

    def __init__(self, problem: Problem, tuner: Online, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        assert isinstance(problem.source, Lists)
        text = _Text(problem.source, problem.prepared, tuner.sentence_form(problem.metric), tuner, seed)
        under_way = engine.workers if tuner.arrival else tuner.stale + 1
        threads = max(engine.workers // under_way, 1) if engine.local else 1
        self.learn = _Learn(engine.share(text), threads)

    def begin(self, start: F64) -> State:
        """The state before the first epoch."""
        return State(start)

    def step(self, state: State) -> State:
        """One pass over all sentences, in a new order."""
        tuner, names, count = self.tuner, self.problem.names, len(self.problem.source)
        order = np.arange(count)
        if tuner.shuffle:
            order = np.random.default_rng([self.seed, state.step]).permutation(count)
        batches = [order[i : i + tuner.batch] for i in range(0, len(order), tuner.batch)]
        sums: dict[str, Any] = {"loss": 0.0, "decoding": 0.0, "updating": 0.0, "staleness": 0.0}
        rows = np.zeros((count, self.problem.metric.width))
        learner = learner_of(
            tuner, state.features.get("plain", state.weights), squares=state.feature("squares"),
            counts=state.feature("seen").astype(np.int64),
        )  # fmt: skip
        bounds = _Bounds(self.problem.limits, learner)
        bounds.set(names)
        feed = Feed(self.engine, Weights(names, learner.weights()))

        def tasks() -> Iterator[_Batch]:
            for step, batch in enumerate(batches, state.step * len(batches)):
                yield _Batch(batch, feed.now, step, feed.updates)

        self.problem.passes(self.engine).count += 1
        for number, lesson in self._lessons(tasks()):
            began = time.monotonic()
            places = lesson.places(names)
            bounds.set(names)
            learner.step(places, lesson.gradient, lesson.loss, lesson.seen)
            sums["staleness"] += (feed.updates - lesson.made) / len(batches)
            feed.change(*learner.changes())
            rows[batches[number]] = lesson.first
            for key in ("loss", "oracle", "decoding", "updating", "empty", "differing"):
                value = getattr(lesson, key)
                sums[key] = sums[key] + value if key in sums else value
            sums["updating"] += time.monotonic() - began
        features = {"squares": learner.squares(), "seen": learner.counts().astype(np.float64)}
        if tuner.average:
            features["plain"] = learner.weights()
        return replace(
            state, weights=padded(learner.mean(), len(names)), step=state.step + 1, features=features,
            rows={"mixed": rows}, record=self._record(sums, rows),
        )  # fmt: skip

    def _lessons(self, tasks: Iterator[_Batch]) -> Iterator[tuple[int, BatchGradient]]:
        """The gradients of all batches, in their order, or as they come."""
        if self.tuner.arrival:
            return self.engine.arriving(self.learn, tasks, self.engine.workers - 1)
        return enumerate(self.engine.stream(self.learn, tasks, self.tuner.stale))

    def _record(self, sums: dict[str, Any], rows: F64) -> dict[str, float]:
        score = self.problem.metric.score
        return {
            "loss": float(sums["loss"]), "mixed": self.problem.score(rows), "oracle": float(score(sums["oracle"])),
            "empty": float(sums["empty"]), "differing": float(sums["differing"]),
            "decoding": round(float(sums["decoding"]), 3), "updating": round(float(sums["updating"]), 3),
            "staleness": round(float(sums["staleness"]), 3),
        }  # fmt: skip


class _Bounds:
    """Tells the learner of the bounds of features, as soon as their names are known."""

    def __init__(self, limits: NamedLimits, learner: AnyLearner) -> None:
        self.learner = learner
        self.waiting = dict(limits.bounds)

    def set(self, names: Names) -> None:
        """Sets the bounds of those that have come."""
        found = {name: place for name in self.waiting if (place := names.get(name)) is not None}
        if found:
            ends = np.array([self.waiting.pop(name) for name in found])
            self.learner.bound(np.array(list(found.values()), dtype=np.uint32), ends[:, 0].copy(), ends[:, 1].copy())
