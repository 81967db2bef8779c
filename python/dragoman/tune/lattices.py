"""Batch tuning on lattices, in rounds: decode into lattices, add them to the pool, several passes of MIRA, and again.

The lattices of a sentence from different rounds stay apart: hope and fear are the best paths of any of them, as if
they were joined at their ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman._core import LatticePool
from dragoman.tune._learning import padded
from dragoman.tune.base import Limits
from dragoman.tune.folder import Epochs
from dragoman.tune.lattice_mira import LatticeMira, lattice_pool, lattice_source
from dragoman.tune.rounds import STILL, unit
from dragoman.types import F64, Lattices, Metric, Source

__all__ = ["LatticeRounds", "add"]

_CHUNK = 100
"""Sentences that are decoded before their lattices are packed."""


def add(pool: LatticePool, number: int, sentences: Sequence[int], found: Lattices) -> None:
    """Adds lattices of a round to a pool."""
    rows = found.features
    pool.add(
        number, np.asarray(sentences, dtype=np.int64), found.nodes, found.starts, found.tails, found.heads,
        found.texts, rows.starts, rows.columns, rows.values,
    )  # fmt: skip


class LatticeRounds:
    """The rounds of lattice MIRA. Lattices are kept in the run's folder, so that a resumed run has the same pool."""

    def __init__(
        self,
        source: Source,
        references: Sequence[Sequence[str]],
        metric: Metric,
        tuner: LatticeMira,
        fixed: Sequence[str],
        seed: int,
        folder: Path | None,
    ) -> None:
        self.source, self.metric, self.tuner = lattice_source(source), metric, tuner
        self.fixed, self.seed = fixed, seed
        self.folder = None if folder is None else folder / "lattices"
        self.pool = lattice_pool(metric, [list(lines) for lines in references])
        self.first = 0
        """The oldest round that takes part."""

    def begin(self, now: Epochs) -> None:
        """Reads the lattices of earlier rounds."""
        self.first = int(now.memory.get("first", 0))
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
            for number in range(self.first, now.epoch):
                self.pool.load(str(self._file(number)), number, now.names)

    def _file(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:03}.zst"

    def end(self) -> None:
        """Nothing to tidy up."""

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One round."""
        began = time.monotonic()
        empty = self._decode(now)
        now.widen()
        dropped = self._bound(now)
        decoded = time.monotonic()
        arcs, steps = self.pool.size
        found, record = self._learn(now)
        moved = np.abs(unit(found) - unit(now.weights)).max()
        now.weights = found
        now.done = bool(moved < STILL)
        return {
            "arcs": arcs, "steps": steps, "lattices_mb": round(self.pool.bytes / 1e6, 1), "empty": empty,
            "dropped": dropped, "moved": float(moved), **record, "decoding": round(decoded - began, 3),
            "updating": round(time.monotonic() - decoded, 3),
        }  # fmt: skip

    def _decode(self, now: Epochs) -> int:
        """Decodes all sentences into lattices; gives the number of sentences that have none."""
        if self.folder is not None:
            # Only now: until the last round was saved, a resumed run may have wanted them.
            for number in range(self.first):
                self._file(number).unlink(missing_ok=True)
        empty = 0
        for start in range(0, len(self.source), _CHUNK):
            sentences = range(start, min(start + _CHUNK, len(self.source)))
            found = self.source.lattices(sentences, now.named, self.tuner.density)
            empty += int((found.nodes == 0).sum())
            add(self.pool, now.epoch, sentences, found)
        if self.folder is not None:
            self.pool.save(str(self._file(now.epoch)), now.epoch, now.names)
        return empty

    def _bound(self, now: Epochs) -> int:
        """Forgets rounds that are too old, or too much for the memory; gives the number of the latter."""
        if self.tuner.keep:
            self.first = max(self.first, now.epoch - self.tuner.keep + 1)
            self.pool.forget(self.first)
        dropped = 0
        while self.pool.bytes > self.tuner.memory * 1e9 and self.first < now.epoch:
            self.first += 1
            dropped += 1
            self.pool.forget(self.first)
        now.memory["first"] = self.first
        return dropped

    def _gain(self, weights: F64) -> float:
        return float(self.metric.score(self.pool.total(weights)))

    def _learn(self, now: Epochs) -> tuple[F64, dict[str, float]]:
        """Passes of MIRA over the pool: the answer, and what happened."""
        tuner, width = self.tuner, len(now.names)
        limits = Limits.none(width)
        start = weights = padded(now.weights, width)
        for name in self.fixed:
            place = now.names.get(name)
            limits.lower[place] = limits.upper[place] = start[place]
        drift, updates = np.zeros(width), 0
        # The background starts with the 1-best translations, so that first-order gains mean something at once, and
        # with 1 everywhere, as Moses' does, so that no count is zero.
        background, count = self.pool.total(start) + 1.0, float(len(self.source))
        answer, best, chosen, telling = start, self._gain(start), 0, 0
        record: dict[str, float] = {}
        for number in range(tuner.epochs):
            order = np.arange(len(self.source), dtype=np.int64)
            if tuner.shuffle:
                order = np.random.default_rng([self.seed, now.epoch, number]).permutation(order)
            weights, drift, updates, background, count, hopes, fears, told = self.pool.visit(
                order, weights, drift, updates, limits.lower, limits.upper, background, count,
                oracle=tuner.oracle, prediction=tuner.prediction, c=tuner.c, decay=tuner.decay, feed=tuner.feed,
                unit=tuner.unit,
            )  # fmt: skip
            telling = max(telling, told)
            mean = weights - drift / (updates + 1) if tuner.average else weights
            gain = self._gain(mean)
            record = {"oracle": float(self.metric.score(hopes)), "prediction": float(self.metric.score(fears))}
            if tuner.select == "last" or gain > best:
                answer, best, chosen = mean, gain, number + 1
        record |= {"pool_score": best, "pass": chosen, "updates": updates, "taught": telling}
        # Later on, no hope may be better than its fear because all margins are met: no reason to complain.
        return answer, {"telling": telling, **record} if now.epoch == 0 else record
