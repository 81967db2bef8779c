"""Batch tuning on forests, in rounds: decode into forests, add them to the pool, learn from all of it, and again.

The forests of a sentence from different rounds stay apart: a search takes the best derivation of any of them, as if
they had one root.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dragoman._core import ForestLines, ForestPool, NativeForests
from dragoman.engine import Engine
from dragoman.errors import TuningError
from dragoman.metrics.capability import require
from dragoman.tuning.loops.pool import FIRST, STILL, part_way, unit
from dragoman.tuning.problem import Outcome, Problem
from dragoman.tuning.state import State, padded
from dragoman.types import F64, I64, Hypotheses, Metric, Names, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.forest_mert import ForestMert
    from dragoman.tuning.tuners.forest_mira import LatticeMira

__all__ = ["ForestRounds", "LatticeRounds", "MertRounds", "forest_pool"]

_CHUNK = 100
"""Sentences that are decoded before their forests go to the pool."""


def forest_pool(metric: Metric, references: Sequence[Sequence[str]]) -> ForestPool:
    """An empty pool, if the metric falls apart into n-grams of a derivation."""
    native = require(metric, "linear", "the search for hope and fear in forests")
    return ForestPool(native, [list(lines) for lines in references])


class _Pool(Protocol):
    """What rounds want of a pool of forests."""

    @property
    def bytes(self) -> int: ...
    def add(self, round: int, sentences: I64, forests: NativeForests) -> None: ...
    def forget(self, round: int) -> None: ...
    def save(self, path: str, round: int, names: Names) -> None: ...
    def load(self, path: str, round: int, names: Names) -> None: ...


class _Options(Protocol):
    """The options that rounds on forests have."""

    @property
    def density(self) -> float: ...
    @property
    def keep(self) -> int: ...
    @property
    def memory(self) -> float: ...


class ForestRounds(ABC):
    """Rounds on forests, which are kept in the run's folder, so that a resumed run has the same pool.

    As in rounds on lists, a round ends with the forests under its new weights, which the next one learns from.
    """

    pool: _Pool

    def __init__(self, problem: Problem, options: _Options, engine: Engine, seed: int) -> None:
        self.problem, self.options, self.seed = problem, options, seed
        self.passes = problem.passes(engine)
        folder = problem.workspace.folder
        self.folder = None if folder is None else folder / "forests"
        self.seen: Outcome | None = None
        """How the weights of the last state do."""

    @abstractmethod
    def learn(self, state: State) -> tuple[F64, dict[str, float]]:
        """New weights from the pool, and what a record tells of it."""

    @abstractmethod
    def sizes(self) -> dict[str, float]:
        """What a record tells of the pool."""

    def noted(self, start: F64) -> dict[str, F64]:  # noqa: ARG002
        """What a run remembers of its start, by feature."""
        return {}

    def begin(self, start: F64) -> State:
        """Decodes under the start weights."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
        empty, decoding = self._decode(start, 0, 0)
        weights = padded(start, len(self.problem.names))
        return State(
            weights, features=self.noted(weights), numbers={"first": 0, "empty": empty}, files=self._files(0, 0),
            record={"decoding": decoding},
        )  # fmt: skip

    def resume(self, state: State) -> None:
        """Reads the forests of earlier rounds."""
        if self.folder is not None:
            for number in range(int(state.number("first")), state.step + 1):
                self.pool.load(str(self._file(number)), number, self.problem.names)

    def outcome(self, state: State) -> Outcome | None:  # noqa: ARG002
        """How the weights of the last state do, by the best derivations of its forests."""
        return self.seen

    def _file(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:03}.zst"

    def _files(self, first: int, last: int) -> tuple[str, ...]:
        """The files that a run needs to go on."""
        return () if self.folder is None else tuple(f"forests/{at:03}.zst" for at in range(first, last + 1))

    def step(self, state: State) -> State:
        """One round."""
        began = time.monotonic()
        first, dropped = self._bound(state)
        sizes = {**self.sizes(), "lattices_mb": round(self.pool.bytes / 1e6, 1)}
        found, told = self.learn(state)
        moved = float(np.abs(unit(found) - unit(padded(state.weights, len(found)))).max())
        updating = time.monotonic() - began
        empty, decoding = self._decode(found, state.step + 1, int(state.number("first")))
        record = {
            **sizes, "empty": state.number("empty"),
            "dropped": dropped, "moved": moved, **told, "decoding": decoding, "updating": round(updating, 3),
        }  # fmt: skip
        return State(
            padded(found, len(self.problem.names)), state.step + 1, moved < STILL, state.features,
            numbers={"first": first, "empty": empty}, files=self._files(first, state.step + 1), record=record,
        )  # fmt: skip

    def _decode(self, weights: F64, number: int, wanted: int) -> tuple[int, float]:
        """Decodes all sentences into forests; how many have none, and the seconds that it took.

        Files before round `wanted` go: a run that is killed now starts from the last state, which needs the others.
        """
        began, count, names = time.monotonic(), len(self.problem.source), self.problem.names
        named, empty = Weights(names, weights), 0
        texts = [""] * count  # where there is no derivation, the translation is empty
        for start in range(0, count, _CHUNK):
            sentences = range(start, min(start + _CHUNK, count))
            for part, found in self.passes.forests(sentences, named, self.options.density):
                empty += int((found.nodes == 0).sum())
                self.pool.add(number, np.asarray(part, dtype=np.int64), found.native)
                best = found.native.best(padded(weights, len(names)))
                for sentence, text in zip(part, best, strict=True):
                    texts[sentence] = text or ""
        self.seen = Outcome(self.problem.prepared.statistics(Hypotheses.one_each(texts)))
        if self.folder is not None:
            self.pool.save(str(self._file(number)), number, names)
            for old in range(wanted):
                self._file(old).unlink(missing_ok=True)
        return empty, round(time.monotonic() - began, 3)

    def _bound(self, state: State) -> tuple[int, int]:
        """Forgets rounds that are too old, or too much for the memory: the first one left, how many were too much."""
        first, dropped = int(state.number("first")), 0
        if self.options.keep:
            first = max(first, state.step - self.options.keep + 1)
            self.pool.forget(first)
        while self.pool.bytes > self.options.memory * 1e9 and first < state.step:
            first += 1
            dropped += 1
            self.pool.forget(first)
        return first, dropped


class LatticeRounds(ForestRounds):
    """The rounds of MIRA over forests."""

    pool: ForestPool

    def __init__(self, problem: Problem, tuner: LatticeMira, engine: Engine, seed: int) -> None:
        super().__init__(problem, tuner, engine, seed)
        self.tuner, self.pool = tuner, forest_pool(problem.metric, problem.prepared.texts)

    def sizes(self) -> dict[str, float]:
        """Edges, and steps that a search looks at."""
        arcs, steps = self.pool.size
        return {"arcs": arcs, "steps": steps}

    def _gain(self, weights: F64) -> float:
        return float(self.problem.metric.score(self.pool.total(weights)))

    def learn(self, state: State) -> tuple[F64, dict[str, float]]:
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


class MertRounds(ForestRounds):
    """The rounds of MERT over forests."""

    pool: ForestLines

    def __init__(self, problem: Problem, tuner: ForestMert, engine: Engine, seed: int) -> None:
        super().__init__(problem, tuner, engine, seed)
        self.tuner, self.pool = tuner, ForestLines(len(problem.source), problem.metric.width)

    def noted(self, start: F64) -> dict[str, F64]:
        """The start itself, where L2 pulls to."""
        return {"start": start.copy()}

    def sizes(self) -> dict[str, float]:
        """Edges."""
        return {"arcs": self.pool.edges}

    def learn(self, state: State) -> tuple[F64, dict[str, float]]:
        """Line searches over the pool, from the weights of the round before."""
        problem, names = self.problem, self.problem.names
        width, limits = len(names), problem.limits.arrays(names)
        before = limits.clip(padded(state.weights, width))
        origin = Weights(names, padded(state.features["start"], width))
        session = self.tuner.over(self.pool, problem.prepared, limits, self.seed + state.step, names, origin, before)
        now = session.begin(before)
        while not now.done:
            now = session.step(now)
        found, metric = now.weights, problem.metric
        if not session.surface.corners:
            raise TuningError(f"nothing to learn: no two derivations of any sentence differ in {metric.name}")
        if not np.isfinite(found).all() or not found.any():
            raise TuningError("the weights have collapsed: all are zero or not finite; try a weaker regulariser")
        if state.step == 0:
            found = part_way(before, found, FIRST, limits)
        score = float(metric.score(session.surface.total(session.surface.product(now.weights))))
        if metric.higher_is_better and score == 0:
            raise TuningError(f"the result has a {metric.name} of {score:g}: no success")
        told = {"pool_score": score}
        told |= {"objective": now.record["objective"], "searches": now.record.get("searches", 0.0)}
        return found, told
