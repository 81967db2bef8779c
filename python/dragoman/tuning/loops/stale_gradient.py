"""Adaptive online tuning (Green et al. 2013): fresh lists for a few sentences, a gradient, an update, and on.

Decoding is what costs, so several batches are decoded at once. Batch t sees the weights without the last `stale`
batches: which ones these are depends on the order of batches alone, so that a run is the same on any number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dragoman._core import CandidateLists, names_extend, names_take
from dragoman.engine import Engine, Shared
from dragoman.tuning.loops.updaters import updater_of
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
    weights: Weights
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class BatchGradient:
    """What a batch says about the features that its candidates have."""

    names: Names
    """The table that numbers them."""
    features: I64
    """Which these are."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Features travel by name, and only those of the batch."""
        fields = [getattr(self, name) for name in BatchGradient.__slots__]
        fields[0], fields[1] = names_take(self.names, self.features), np.arange(len(self.features))
        return BatchGradient, tuple(fields)

    def places(self, names: Names) -> I64:
        """The numbers of its features in another table of names, which gets those it lacks."""
        if self.names is names:
            return self.features
        return names_extend(names, self.names).astype(np.int64)[self.features]


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
        (sentences, weights, step), began, text = batch, time.monotonic(), self.text.value
        found = text.source.candidates(sentences.tolist(), weights, self.threads)
        decoding = time.monotonic() - began
        pool, names = text.references.judge(found), found.features.names
        gains = pool.sentence_gains(text.form)
        if text.tuner.times_length:
            gains = gains * pool.statistics[:, text.tuner.length_column]
        met, columns = _renumbered(found.features.columns)
        lists = CandidateLists(found.starts, found.features.starts, columns, found.features.values, len(met))
        known = padded(weights.values, len(names)) if weights.names is names else weights.align(names)
        gradient, loss = _gradient(text, lists, gains, known[met], step)
        filled = np.flatnonzero(np.diff(found.starts) > 0)
        best = [int(found.starts[s] + np.argmax(gains[found.starts[s] : found.starts[s + 1]])) for s in filled]
        return BatchGradient(
            names, met, gradient, loss, text.references.first(pool), pool.statistics[best].sum(axis=0),
            lists.sentence_counts(), decoding, time.monotonic() - began - decoding, **pool.counts(gains),
        )  # fmt: skip


def _gradient(text: _Text, lists: CandidateLists, gains: F64, weights: F64, step: int) -> tuple[F64, float]:
    """The gradient of the batch's loss: what a plain step of size 1 subtracts."""
    tuner, count = text.tuner, len(lists)
    if tuner.on_pairs:
        pairs = lists.sample_pairs(
            gains, draws=tuner.draws, keep=tuner.pairs, threshold=tuner.threshold, seed=text.seed, step=step
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


class StaleGradient:
    """Epochs of online learning on fresh lists."""

    def __init__(self, problem: Problem, tuner: Online, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        assert isinstance(problem.source, Lists)
        text = _Text(problem.source, problem.prepared, tuner.sentence_form(problem.metric), tuner, seed)
        threads = max(engine.workers // (tuner.stale + 1), 1) if engine.local else 1
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
        sums: dict[str, Any] = {"loss": 0.0, "decoding": 0.0, "updating": 0.0}
        rows = np.zeros((count, self.problem.metric.width))
        weights = state.features.get("plain", state.weights)
        average, seen = np.zeros(0), state.feature("seen")
        updater = updater_of(tuner)
        updater.squares = state.feature("squares")

        def tasks() -> Iterator[_Batch]:
            for step, batch in enumerate(batches, state.step * len(batches)):
                yield _Batch(batch, Weights(names, weights), step)

        self.problem.passes(self.engine).count += 1
        for number, lesson in enumerate(self.engine.stream(self.learn, tasks(), tuner.stale)):
            began = time.monotonic()
            places = lesson.places(names)
            width = max(len(weights), len(seen), len(names))
            weights, gradient, seen = padded(weights, width), np.zeros(width), padded(seen, width).copy()
            gradient[places] = lesson.gradient
            seen[places] += lesson.seen
            if tuner.min_count > 1:
                gradient = np.where(seen >= tuner.min_count, gradient, 0.0)
            gradient[self.problem.limits.places(names, width)[0]] = 0.0
            weights = self.problem.limits.clip(updater.apply(weights, gradient, lesson.loss), names)
            average = padded(average, len(weights)) + weights
            rows[batches[number]] = lesson.first
            for key in ("loss", "oracle", "decoding", "updating", "empty", "differing"):
                value = getattr(lesson, key)
                sums[key] = sums[key] + value if key in sums else value
            sums["updating"] += time.monotonic() - began
        width = len(weights)
        features = {"squares": padded(updater.squares, width), "seen": padded(seen, width)}
        if tuner.average:
            features["plain"] = weights
        answer = average / len(batches) if tuner.average else weights
        record = self._record(sums, rows)
        mixed = {"mixed": rows}
        return replace(state, weights=answer, step=state.step + 1, features=features, rows=mixed, record=record)

    def _record(self, sums: dict[str, Any], rows: F64) -> dict[str, float]:
        score = self.problem.metric.score
        return {
            "loss": float(sums["loss"]), "mixed": self.problem.score(rows), "oracle": float(score(sums["oracle"])),
            "empty": float(sums["empty"]), "differing": float(sums["differing"]),
            "decoding": round(float(sums["decoding"]), 3), "updating": round(float(sums["updating"]), 3),
        }  # fmt: skip


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
