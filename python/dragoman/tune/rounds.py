"""Batch tuning in rounds: decode, add to the pool, tune on the pool, until nothing new comes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman import nbest
from dragoman.tune.base import Pool, Tuner
from dragoman.tune.folder import Epochs
from dragoman.tune.run import tune_pool
from dragoman.types import F64, Candidates, Metric, Source

__all__ = ["Rounds"]

_STILL = 1e-5
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
    ) -> None:
        self.source, self.references, self.metric, self.tuner = source, references, metric, tuner
        self.fixed, self.seed = fixed, seed
        self.folder = None if folder is None else folder / "lists"
        self.pool: Candidates | None = None

    def begin(self, now: Epochs) -> None:
        """Reads the lists of earlier rounds."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
            lists = [nbest.read(self._file(epoch), names=now.names) for epoch in range(now.epoch)]
            self.pool = nbest.join(lists) if lists else None

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
        before = 0 if self.pool is None else self.pool.size
        self.pool = lists if self.pool is None else nbest.join([self.pool, lists])
        fresh = self.pool.size - before
        if fresh == 0:
            now.done = True
            return {"pool": self.pool.size, "new": 0, "empty": empty, "decoding": decoded - began}
        references = [self.references[int(i)] for i in self.pool.ids]
        pool = Pool.judge(self.pool, references, self.metric)
        tuned = tune_pool(pool, self.tuner, start=now.named, fixed=self.fixed, seed=self.seed + now.epoch)
        found = tuned.weights.align(now.names)
        # Scores do not change with the scale of the weights, so that two directions are compared.
        moved = np.abs(_unit(found) - _unit(now.weights)).max()
        now.weights = found
        now.done = bool(moved < _STILL)
        return {
            "pool": self.pool.size, "new": fresh, "pool_score": tuned.end.score, "oracle": tuned.oracle,
            "empty": empty, "moved": float(moved), "decoding": round(decoded - began, 3),
            "updating": round(time.monotonic() - decoded, 3),
        }  # fmt: skip


def _unit(weights: F64) -> F64:
    top = np.abs(weights).max()
    return weights / top if top > 0 else weights
