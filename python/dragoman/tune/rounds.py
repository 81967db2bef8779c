"""Batch tuning in rounds: decode, add to the pool, tune on the pool, until nothing new comes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman import nbest
from dragoman.tune.base import Tuner
from dragoman.tune.folder import Epochs
from dragoman.tune.growing import GrowingPool
from dragoman.tune.run import tune_pool
from dragoman.types import F64, Metric, Source

__all__ = ["STILL", "Rounds", "unit"]

STILL = 1e-5
"""Weights that move less than this, relative to the largest, stand still."""


class Rounds:
    """The rounds of a batch tuner. Lists are kept in the run's folder, so that a resumed run has the same pool."""

    def __init__(
        self,
        source: Source,
        references: Sequence[Sequence[str]],
        metric: Metric,
        tuner: Tuner,
        fixed: Sequence[str],
        seed: int,
        folder: Path | None,
        memory: int,
    ) -> None:
        self.source, self.tuner, self.fixed, self.seed = source, tuner, fixed, seed
        self.folder = None if folder is None else folder / "lists"
        self.pool = GrowingPool(source.names, references, metric, memory, folder)

    def begin(self, now: Epochs) -> None:
        """Reads the lists of earlier rounds."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
            for epoch in range(now.epoch):
                self.pool.add(nbest.read(self._file(epoch), names=now.names))

    def end(self) -> None:
        """Removes what the pool has on disk, lists aside."""
        self.pool.close()

    def _file(self, epoch: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{epoch:03}.jsonl.zst"

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One round."""
        began = time.monotonic()
        lists = self.source.candidates(range(len(self.source)), now.named)
        now.widen()
        empty = int((np.diff(lists.starts) == 0).sum())
        lists = replace(lists.take(np.flatnonzero(np.diff(lists.starts))), totals=None, alignments=None, extra=None)
        if self.folder is not None:
            nbest.write(self._file(now.epoch), lists)
        decoded = time.monotonic()
        fresh = self.pool.add(lists)
        if fresh == 0:
            now.done = True
            return {"pool": self.pool.size, "new": 0, "empty": empty, "decoding": decoded - began}
        pool = self.pool.pool()
        tuned = tune_pool(pool, self.tuner, start=now.named, fixed=self.fixed, seed=self.seed + now.epoch)
        found = tuned.weights.align(now.names)
        # Scores do not change with the scale of the weights, so that two directions are compared.
        moved = np.abs(unit(found) - unit(now.weights)).max()
        now.weights = found
        now.done = bool(moved < STILL)
        last = tuned.trace[-1]
        return {
            "pool": self.pool.size, "new": fresh, "pool_score": tuned.end.score, "oracle": tuned.oracle,
            "objective": last.get("objective", last["gain"]),  # what the tuner itself climbs or descends
            "empty": empty, "moved": float(moved), "decoding": round(decoded - began, 3),
            "updating": round(time.monotonic() - decoded, 3),
        }  # fmt: skip


def unit(weights: F64) -> F64:
    """The weights, divided by the largest: their direction."""
    top = np.abs(weights).max()
    return weights / top if top > 0 else weights
