"""Batch tuning in rounds: decode, add to the pool, tune on the pool, until nothing new comes.

A round ends with the lists under its new weights. Their first candidates tell how the weights do, and they are what the
next round adds to the pool: so the text is decoded once for each weight vector.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman import nbest
from dragoman.engine import Engine
from dragoman.errors import TuningError
from dragoman.tuning.limits import Limits
from dragoman.tuning.loops.growing import GrowingPool
from dragoman.tuning.packed import refuse
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner, Outcome, Problem, Session
from dragoman.tuning.state import State, padded
from dragoman.types import F64, Weights

__all__ = ["FIRST", "STILL", "Rounds", "part_way", "pool_session", "unit"]

STILL = 1e-5
"""Weights that move less than this, relative to the largest, stand still."""
FIRST = 0.5
"""How far the first round goes, from the start towards what the tuner found. Its lists know little of weights far away:
all the way often threw the decoder off for several rounds, and half of it does not (docs/results.md)."""


def pool_session(tuner: BatchTuner, problem: Problem, engine: Engine, seed: int) -> Session:
    """A batch tuner's run: over the lists, if they never change; else in rounds."""
    if problem.fixed:
        of_rounds = [name for name in ("first", "round_steps", "lists") if hasattr(tuner, name)]
        refuse(tuner, (), "is for rounds with a decoder, not for lists that never change", *of_rounds)
        return tuner.over(problem.pool, problem.limits.arrays(problem.names), seed, engine)
    return Rounds(problem, tuner, engine, seed)


def unit(weights: F64) -> F64:
    """The weights, divided by the largest: their direction."""
    top = np.abs(weights).max()
    return weights / top if top > 0 else weights


def part_way(before: F64, found: F64, share: float, limits: Limits) -> F64:
    """Weights that went a share of the way to what was found. Their scale means nothing, so two directions are mixed.

    >>> part_way(np.array([1.0, 0.0]), np.array([0.0, 4.0]), 0.5, Limits.none(2)).tolist()
    [2.0, 2.0]
    """
    free = limits.free
    old, new = (np.abs(weights[free]).max(initial=0.0) for weights in (before, found))
    if not old or not new:
        return found
    return limits.clip(np.where(free, (1 - share) * before * (new / old) + share * found, found))


class Rounds:
    """The rounds of a batch tuner. Lists are kept in the run's folder, so that a resumed run has the same pool."""

    def __init__(self, problem: Problem, tuner: BatchTuner, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        self.passes = problem.passes(engine)
        space = problem.workspace
        self.folder = None if space.folder is None else space.folder / "lists"
        self.pool = GrowingPool(problem.names, problem.prepared, space.memory, space.folder)
        self.waiting: Pool | None = None
        """The lists under the weights of the last state, judged: the next round adds them."""
        self.seen: Outcome | None = None
        """How these weights do."""

    def begin(self, start: F64) -> State:
        """Decodes under the start weights."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
        empty, decoding = self._decode(start, 0)
        return State(
            padded(start, len(self.problem.names)), features={"start": start}, numbers={"empty": empty},
            files=self._files(0), record={"decoding": decoding},
        )  # fmt: skip

    def resume(self, state: State) -> None:
        """Reads the lists of earlier rounds."""
        if self.folder is None:
            return
        last = len(state.files) - 1
        for step in range(last + 1):
            pool = self.problem.prepared.judge(nbest.read(self._file(step), names=self.problem.names))
            if step < last or state.done:
                self.pool.add(pool)
            else:
                self.waiting = pool

    def outcome(self, state: State) -> Outcome | None:  # noqa: ARG002
        """How the weights of the last state do, by the first candidates of its lists."""
        return self.seen

    def end(self) -> None:
        """Removes what the pool has on disk, lists aside."""
        self.pool.close()

    def step(self, state: State) -> State:
        """One round: adds the lists, tunes, decodes."""
        assert self.waiting is not None
        empty = state.number("empty")
        fresh = self.pool.add(self.waiting)
        if fresh == 0 and state.step != 1:  # the first round stopped half-way, so that the second has work to do anyhow
            record = {"pool": self.pool.size, "new": 0, "empty": empty, "decoding": 0.0}
            return replace(state, step=state.step + 1, done=True, record=record)
        began, width = time.monotonic(), len(self.problem.names)
        before = padded(state.weights, width)
        found, told = self._tune(before, state)
        if state.step == 0:
            share = getattr(self.tuner, "first", FIRST)
            found = part_way(before, found, share, self.problem.limits.arrays(self.problem.names))
        # Scores do not change with the scale of the weights, so that two directions are compared.
        moved = float(np.abs(unit(found) - unit(before)).max())
        updating = time.monotonic() - began
        record = {"pool": self.pool.size, "new": fresh, **told, "empty": empty, "moved": moved}
        if np.array_equal(found, before):  # their lists are here already
            record |= {"decoding": 0.0, "updating": round(updating, 3)}
            return replace(state, step=state.step + 1, done=True, record=record)
        next_empty, decoding = self._decode(found, state.step + 1)
        record |= {"decoding": decoding, "updating": round(updating, 3)}
        return State(
            padded(found, len(self.problem.names)), state.step + 1, moved < STILL, state.features,
            numbers={"empty": next_empty}, files=self._files(state.step + 1), record=record,
        )  # fmt: skip

    def _tune(self, before: F64, state: State) -> tuple[F64, dict[str, float]]:
        """The weights that the tuner finds on the pool, and what a record tells of it."""
        pool, names = self.pool.pool(), self.problem.names
        if not (pool.spread(pool.sentence_gains()) > 0).any():
            raise TuningError(f"nothing to learn: no two candidates of any sentence differ in {pool.metric.name}")
        limits = self.problem.limits.arrays(names)
        tuner = self.tuner.anchored(Weights(names, padded(state.features["start"], len(names))))
        session = tuner.over(pool, limits, self.seed + state.step, self.engine)
        now = session.begin(limits.clip(before))
        while not now.done:
            now = session.step(now)
        if not np.isfinite(now.weights).all() or not now.weights.any():
            raise TuningError("the weights have collapsed: all are zero or not finite; try a weaker regulariser")
        total = pool.statistics[pool.choice(now.weights)].sum(axis=0)
        score = float(pool.metric.score(total))
        if pool.metric.higher_is_better and score == 0:
            raise TuningError(f"the result has a {pool.metric.name} of {score:g}: no success")
        climbed = now.record.get("objective", now.record["gain"])  # what the tuner itself climbs or descends
        return now.weights, {"pool_score": score, "oracle": pool.oracle, "objective": climbed}

    def _decode(self, weights: F64, step: int) -> tuple[int, float]:
        """Makes the lists of the next round; how many sentences have none, and the seconds that it took."""
        began = time.monotonic()
        lists = self.passes.lists(Weights(self.problem.names, weights))
        filled = np.flatnonzero(np.diff(lists.starts))
        pool = self.problem.prepared.judge(lists)
        self.seen = Outcome(self.problem.prepared.first(pool))
        kept = replace(lists.take(filled), totals=None, alignments=None, extra=None)
        if self.folder is not None:
            nbest.write(self._file(step), kept)
        self.waiting = Pool(kept, pool.metric, pool.statistics)
        return len(lists) - len(filled), round(time.monotonic() - began, 3)

    def _file(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{step:03}.jsonl.zst"

    def _files(self, step: int) -> tuple[str, ...]:
        """The files that a run needs to go on after a step."""
        return () if self.folder is None else tuple(f"lists/{at:03}.jsonl.zst" for at in range(step + 1))
