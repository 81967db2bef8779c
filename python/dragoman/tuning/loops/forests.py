"""Batch tuning on lattices, in rounds: decode into lattices, add them to the pool, several passes of MIRA, and again.

The lattices of a sentence from different rounds stay apart: hope and fear are the best paths of any of them, as if
they were joined at their ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman._core import LatticePool
from dragoman.engine import Engine
from dragoman.metrics.capability import require
from dragoman.tuning.loops.pool import STILL, unit
from dragoman.tuning.problem import Outcome, Problem
from dragoman.tuning.state import State, padded
from dragoman.types import F64, Hypotheses, Lattices, Metric, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.forest_mira import LatticeMira

__all__ = ["LatticeRounds", "add", "lattice_pool"]

_CHUNK = 100
"""Sentences that are decoded before their lattices go to the pool."""


def lattice_pool(metric: Metric, references: Sequence[Sequence[str]]) -> LatticePool:
    """An empty pool, if the metric falls apart into n-grams of a path."""
    native = require(metric, "linear", "the search for hope and fear in lattices")
    return LatticePool(native, [list(lines) for lines in references])


def add(pool: LatticePool, number: int, sentences: Sequence[int], found: Lattices) -> None:
    """Adds lattices of a round to a pool."""
    rows = found.features
    pool.add(
        number, np.asarray(sentences, dtype=np.int64), found.nodes, found.starts, found.tails, found.heads,
        found.texts, rows.starts, rows.columns, rows.values,
    )  # fmt: skip


class LatticeRounds:
    """The rounds of lattice MIRA. Lattices are kept in the run's folder, so that a resumed run has the same pool.

    As in rounds on lists, a round ends with the lattices under its new weights, which the next one learns from.
    """

    def __init__(self, problem: Problem, tuner: LatticeMira, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.seed = problem, tuner, seed
        self.passes = problem.passes(engine)
        folder = problem.workspace.folder
        self.folder = None if folder is None else folder / "lattices"
        self.pool = lattice_pool(problem.metric, problem.prepared.texts)
        self.seen: Outcome | None = None
        """How the weights of the last state do."""

    def begin(self, start: F64) -> State:
        """Decodes under the start weights."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
        empty, decoding = self._decode(start, 0, 0)
        weights = padded(start, len(self.problem.names))
        return State(
            weights, numbers={"first": 0, "empty": empty}, files=self._files(0, 0), record={"decoding": decoding}
        )

    def resume(self, state: State) -> None:
        """Reads the lattices of earlier rounds."""
        if self.folder is not None:
            for number in range(int(state.number("first")), state.step + 1):
                self.pool.load(str(self._file(number)), number, self.problem.names)

    def outcome(self, state: State) -> Outcome | None:  # noqa: ARG002
        """How the weights of the last state do, by the best paths of its lattices."""
        return self.seen

    def _file(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:03}.zst"

    def _files(self, first: int, last: int) -> tuple[str, ...]:
        """The files that a run needs to go on."""
        return () if self.folder is None else tuple(f"lattices/{at:03}.zst" for at in range(first, last + 1))

    def step(self, state: State) -> State:
        """One round."""
        began = time.monotonic()
        first, dropped = self._bound(state)
        arcs, steps = self.pool.size
        size = self.pool.bytes
        found, told = self._learn(state)
        moved = float(np.abs(unit(found) - unit(padded(state.weights, len(found)))).max())
        updating = time.monotonic() - began
        empty, decoding = self._decode(found, state.step + 1, int(state.number("first")))
        record = {
            "arcs": arcs, "steps": steps, "lattices_mb": round(size / 1e6, 1), "empty": state.number("empty"),
            "dropped": dropped, "moved": moved, **told, "decoding": decoding, "updating": round(updating, 3),
        }  # fmt: skip
        return State(
            padded(found, len(self.problem.names)), state.step + 1, moved < STILL,
            numbers={"first": first, "empty": empty}, files=self._files(first, state.step + 1), record=record,
        )  # fmt: skip

    def _decode(self, weights: F64, number: int, wanted: int) -> tuple[int, float]:
        """Decodes all sentences into lattices; how many have none, and the seconds that it took.

        Files before round `wanted` go: a run that is killed now starts from the last state, which needs the others.
        """
        began, count, names = time.monotonic(), len(self.problem.source), self.problem.names
        named, empty = Weights(names, weights), 0
        fresh = lattice_pool(self.problem.metric, self.problem.prepared.texts)
        for start in range(0, count, _CHUNK):
            sentences = range(start, min(start + _CHUNK, count))
            for part, found in self.passes.lattices(sentences, named, self.tuner.density):
                empty += int((found.nodes == 0).sum())
                add(self.pool, number, part, found)
                add(fresh, number, part, found)
        self.seen = Outcome(self._first(fresh, padded(weights, len(names))))
        if self.folder is not None:
            self.pool.save(str(self._file(number)), number, names)
            for old in range(wanted):
                self._file(old).unlink(missing_ok=True)
        return empty, round(time.monotonic() - began, 3)

    def _first(self, pool: LatticePool, weights: F64) -> F64:
        """The statistics of each sentence's best path; where there is none, of an empty translation."""
        flat = np.zeros(pool.order + 1)
        found = [pool.paths(sentence, weights, [(1.0, 0.0)], flat)[0] for sentence in range(len(pool))]
        texts = [paths[0] if len(paths) else "" for paths in found]
        return self.problem.prepared.statistics(Hypotheses.one_each(texts))

    def _bound(self, state: State) -> tuple[int, int]:
        """Forgets rounds that are too old, or too much for the memory: the first one left, how many were too much."""
        first, dropped = int(state.number("first")), 0
        if self.tuner.keep:
            first = max(first, state.step - self.tuner.keep + 1)
            self.pool.forget(first)
        while self.pool.bytes > self.tuner.memory * 1e9 and first < state.step:
            first += 1
            dropped += 1
            self.pool.forget(first)
        return first, dropped

    def _gain(self, weights: F64) -> float:
        return float(self.problem.metric.score(self.pool.total(weights)))

    def _learn(self, state: State) -> tuple[F64, dict[str, float]]:
        """Passes of MIRA over the pool: the answer, and what happened."""
        tuner, names, count = self.tuner, self.problem.names, len(self.problem.source)
        width, score = len(names), self.problem.metric.score
        limits = self.problem.limits.arrays(names)
        start = weights = padded(state.weights, width)
        drift, updates = np.zeros(width), 0
        # The background starts with the 1-best translations, so that first-order gains mean something at once, and
        # with 1 everywhere, as Moses' does, so that no count is zero.
        background, sentences = self.pool.total(start) + 1.0, float(count)
        answer, best, chosen, differing = start, self._gain(start), 0, 0
        record: dict[str, float] = {}
        for number in range(tuner.epochs):
            order = np.arange(count, dtype=np.int64)
            if tuner.shuffle:
                order = np.random.default_rng([self.seed, state.step, number]).permutation(order)
            weights, drift, updates, background, sentences, hopes, fears, told = self.pool.visit(
                order, weights, drift, updates, limits.lower, limits.upper, background, sentences,
                oracle=tuner.oracle, prediction=tuner.prediction, c=tuner.c, decay=tuner.decay, feed=tuner.feed,
                unit=tuner.unit,
            )  # fmt: skip
            differing = max(differing, told)
            mean = weights - drift / (updates + 1) if tuner.average else weights
            gain = self._gain(mean)
            record = {"oracle": float(score(hopes)), "prediction": float(score(fears))}
            if tuner.select == "last" or gain > best:
                answer, best, chosen = mean, gain, number + 1
        record |= {"pool_score": best, "pass": chosen, "updates": updates, "margins": differing}
        # Later on, no hope may be better than its fear because all margins are met: no reason to complain.
        return answer, {"differing": differing, **record} if state.step == 0 else record
