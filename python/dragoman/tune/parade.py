"""Online MIRA (Eidelman 2012): sentence after sentence is decoded and its oracle and prediction are told apart.

Gains are those of the sentence alone in the first epoch; from then on those of the corpus of the latest 1-best
translations with this sentence's replaced (see `dragoman.tune.contexts`). Several shards learn side by side and are
averaged after each epoch. Oracle and prediction come from an n-best list or, by dynamic programming, from the whole
lattice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman._core import MiraContext, MiraWalk
from dragoman.engine import Engine
from dragoman.tune._learning import native_of
from dragoman.tune.base import Pool
from dragoman.tune.contexts import after, before
from dragoman.tune.folder import Epochs
from dragoman.tune.mira import Mira
from dragoman.tune.paths import Paths
from dragoman.types import F64, I64, Candidates, Metric, Source, Weights

__all__ = ["Parade"]


@dataclass(slots=True, eq=False)
class _Walk:
    """A shard on its way through an epoch."""

    native: MiraWalk
    weights: Weights
    decoding: float = 0.0
    updating: float = 0.0


class Parade:
    """Epochs of online MIRA."""

    def __init__(
        self,
        source: Source,
        references: Sequence[Sequence[str]],
        metric: Metric,
        tuner: Mira,
        fixed: Sequence[str],
        seed: int,
        shards: int,
        engine: Engine,
    ) -> None:
        self.source, self.references, self.metric, self.tuner = source, references, metric, tuner
        self.fixed, self.seed, self.shards = fixed, seed, min(shards, len(source))
        self.engine = engine
        self.level = metric.sentence_level()
        level, whole = native_of(self.level), native_of(metric)
        self.native = None if level is None or whole is None else (level, whole)
        self.sign = 1.0 if metric.higher_is_better else -1.0
        self.paths = Paths(source, references, metric, tuner) if tuner.space == "lattice" else None

    def begin(self, now: Epochs) -> None:
        """Nothing to take up: the memory has it all."""

    def end(self) -> None:
        """Nothing to tidy up."""

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One pass over all sentences, in a new order, by all shards."""
        order = np.random.default_rng([self.seed, now.epoch]).permutation(len(self.source))
        shards = [order[i :: self.shards] for i in range(self.shards)]
        context = before(self.tuner, now.memory, self.metric.width)
        start = np.asarray(now.memory.get("plain", now.weights), dtype=np.float64)
        done = self.engine.map(lambda shard: self._walk(shard, start, context, now), shards)
        walks, width = [walk.native for walk in done], len(now.names)
        sizes = np.array([len(shard) for shard in shards], dtype=np.float64) / len(order)
        now.memory["plain"] = sum(s * w.weights(width) for s, w in zip(sizes, walks, strict=True))
        averaged = sum(s * w.mean(width) for s, w in zip(sizes, walks, strict=True))
        now.weights = np.asarray(averaged if self.tuner.average else now.memory["plain"])
        total = after(self.tuner, walks, sizes, now.memory)
        met = [walk.met() for walk in walks]
        oracle, prediction = (float(self.metric.score(np.sum(rows, axis=0))) for rows in zip(*met, strict=True))
        return {
            "loss": sum(w.loss for w in walks), "updates": sum(w.updates for w in walks),
            "mixed": float(self.metric.score(total)),
            "empty": sum(w.empty for w in walks), "telling": sum(w.telling for w in walks),
            "oracle": oracle, "prediction": prediction,
            "decoding": round(sum(w.decoding for w in done), 3), "updating": round(sum(w.updating for w in done), 3),
        }  # fmt: skip

    def _walk(self, shard: I64, start: F64, context: MiraContext, now: Epochs) -> _Walk:
        fixed = [place for name in self.fixed if (place := now.names.get(name)) is not None]
        native = MiraWalk(context, start, fixed, self.native, sign=self.sign, scale=self.metric.scale)
        walk = _Walk(native, Weights(now.names, start))
        for sentence in shard.tolist():
            began = time.monotonic()
            found = self._found(sentence, walk)
            decoded = time.monotonic()
            self._learn(sentence, found, walk)
            walk.decoding += decoded - began
            walk.updating += time.monotonic() - decoded
        return walk

    def _found(self, sentence: int, walk: _Walk) -> Candidates:
        """Candidates of a sentence: its list, or the paths of its lattice that matter."""
        threads = max(self.engine.workers // self.shards, 1)
        if self.paths is None:
            return self.source.candidates([sentence], walk.weights, threads)
        return self.paths.candidates(
            sentence, walk.weights, walk.native.others(sentence), lambda best: walk.native.unit(sentence, best), threads
        )

    def _learn(self, sentence: int, found: Candidates, walk: _Walk) -> None:
        """One visit; a metric in plain Python scores the candidates itself."""
        rows = Pool.judge(found, [self.references[sentence]], self.metric).statistics
        features, updates = found.features, walk.native.updates
        scores = None if self.native is not None else self._scores(rows, walk.native.others(sentence))
        walk.native.visit(sentence, features.starts, features.columns, features.values, rows, scores)
        if walk.native.updates > updates:
            names = walk.weights.names
            walk.weights = Weights(names, walk.native.weights(len(names)))

    def _scores(self, rows: F64, others: F64 | None) -> F64:
        metric = self.level if others is None else self.metric
        sums = rows if others is None else others + rows
        return np.asarray(self.sign * metric.score(sums) / metric.scale)
