"""Online MIRA (Eidelman 2012): sentence after sentence is decoded and its oracle and prediction are told apart.

Gains are those of the sentence alone in the first epoch; from then on those of the corpus of the latest 1-best
translations with this sentence's replaced (see `dragoman.tune.contexts`). Several shards learn side by side and are
averaged after each epoch. Oracle and prediction come from an n-best list or, by dynamic programming, from the whole
lattice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.engine import Engine
from dragoman.tune._learning import padded
from dragoman.tune.base import Pool
from dragoman.tune.contexts import Context, after, before
from dragoman.tune.folder import Epochs
from dragoman.tune.mira import Mira
from dragoman.tune.paths import Paths
from dragoman.types import F64, I64, Candidates, Metric, Source, Weights

__all__ = ["Parade"]


@dataclass(slots=True, eq=False)
class _Walk:
    """What a shard has gone through in an epoch."""

    weights: F64
    sum: F64
    context: Context
    updates: int = 0
    loss: float = 0.0
    oracle: float = 0.0
    prediction: float = 0.0
    decoding: float = 0.0
    updating: float = 0.0
    empty: int = 0
    telling: int = 0


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
        context = before(self.tuner, now.memory, len(self.source), self.metric.width)
        start = np.asarray(now.memory.get("plain", now.weights), dtype=np.float64)
        walks = self.engine.map(lambda shard: self._walk(shard, start, context, now), shards)
        width = len(now.names)
        sizes = np.array([len(shard) for shard in shards], dtype=np.float64) / len(order)
        now.memory["plain"] = sum(s * padded(w.weights, width) for s, w in zip(sizes, walks, strict=True))
        mean = [padded(w.sum, width) / (w.updates + 1) for w in walks]
        averaged = sum(s * m for s, m in zip(sizes, mean, strict=True))
        now.weights = np.asarray(averaged if self.tuner.average else now.memory["plain"])
        total = after([walk.context for walk in walks], sizes, now.memory)
        count = float(len(order))
        return {
            "loss": sum(w.loss for w in walks), "updates": sum(w.updates for w in walks),
            "mixed": float(self.metric.score(total)),
            "empty": sum(w.empty for w in walks), "telling": sum(w.telling for w in walks),
            "oracle": sum(w.oracle for w in walks) / count, "prediction": sum(w.prediction for w in walks) / count,
            "decoding": round(sum(w.decoding for w in walks), 3), "updating": round(sum(w.updating for w in walks), 3),
        }  # fmt: skip

    def _walk(self, shard: I64, start: F64, context: Context, now: Epochs) -> _Walk:
        walk = _Walk(start, start.copy(), replace(context, seen={}))
        for sentence in shard.tolist():
            began = time.monotonic()
            found = self._found(sentence, Weights(now.names, walk.weights), walk.context)
            decoded = time.monotonic()
            walk.decoding += decoded - began
            pool = Pool.judge(found, [self.references[sentence]], self.metric)
            width = len(now.names)
            walk.weights, walk.sum = padded(walk.weights, width), padded(walk.sum, width)
            if not found.size:
                walk.empty += 1
                walk.context.saw(sentence, np.zeros(self.metric.width), None)
                continue
            gains = self._gains(pool, walk.context, sentence)
            walk.telling += bool(np.ptp(gains))
            oracle = self._update(walk, pool, gains, now)
            walk.context.saw(sentence, pool.statistics[0], None if oracle is None else pool.statistics[oracle])
            walk.updating += time.monotonic() - decoded
        return walk

    def _found(self, sentence: int, weights: Weights, context: Context) -> Candidates:
        """Candidates of a sentence: its list, or the paths of its lattice that matter."""
        threads = max(self.engine.workers // self.shards, 1)
        if self.paths is None:
            return self.source.candidates([sentence], weights, threads)
        return self.paths.candidates(sentence, weights, context.others(sentence), context.unit, threads)

    def _gains(self, pool: Pool, context: Context, sentence: int) -> F64:
        """What each candidate is worth, on the 0..1 scale times the unit."""
        others = context.others(sentence)
        metric = self.level if others is None else self.metric
        sums = pool.statistics if others is None else others + pool.statistics
        return self.sign * metric.score(sums) / metric.scale * context.unit(sums[0])

    def _update(self, walk: _Walk, pool: Pool, gains: F64, now: Epochs) -> int | None:
        """Learns from a list; gives the oracle's place if it is worth more than the prediction."""
        tuner = self.tuner
        scores = pool.model_scores(walk.weights)
        oracles = {"lu": gains, "mb": gains, "hope": scores + gains}
        predictions = {"pb": scores, "mc": -gains, "fear": scores - gains}
        local = {"lu": tuner.local, "mb": 0, "hope": tuner.near}[tuner.oracle]
        good = _first_best(oracles[tuner.oracle], scores, local)
        bad = _first_best(predictions[tuner.prediction], scores, tuner.near)
        level = self.level.score(pool.statistics[[good, bad]])
        walk.oracle += float(level[0])
        walk.prediction += float(level[1])
        loss = scores[bad] - scores[good] + gains[good] - gains[bad]
        if gains[good] <= gains[bad]:
            return None
        if loss <= 0:
            return good
        rows = pool.candidates.features.take(np.array([good, bad]))
        difference = np.zeros(len(walk.weights))  # other shards may have met more names since
        np.add.at(difference, rows.columns[: rows.starts[1]], rows.values[: rows.starts[1]])
        np.subtract.at(difference, rows.columns[rows.starts[1] :], rows.values[rows.starts[1] :])
        for name in self.fixed:
            difference[now.names.get(name)] = 0.0
        norm = math.fsum(difference[difference != 0] ** 2)  # the same bits in whatever order names were met
        if norm > 0:
            walk.weights = walk.weights + min(tuner.c, float(loss) / norm) * difference
            walk.sum += walk.weights
            walk.updates += 1
            walk.loss += float(loss)
        return good


def _first_best(values: F64, scores: F64, local: int) -> int:
    """The first of the largest values, among the `local` candidates with the best scores (0: among all)."""
    if not local:
        return int(np.argmax(values))
    near = np.argsort(-scores, kind="stable")[:local]
    return int(near[np.argmax(values[near])])
