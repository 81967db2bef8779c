"""Online MIRA (Eidelman 2012): sentence after sentence is decoded and its oracle and prediction are told apart.

Gains are those of the sentence alone in the first epoch; from then on those of the corpus of the latest 1-best
translations with this sentence's replaced (see `contexts`). Several shards learn side by side and are averaged after
each epoch. Oracle and prediction come from an n-best list or, by dynamic programming, from the whole lattice.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman._core import names_extend
from dragoman.engine import Engine, Shared
from dragoman.tuning.loops.contexts import Context, after, before
from dragoman.tuning.loops.paths import Paths
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import PreparedReferences, Problem
from dragoman.tuning.state import State, padded, placed
from dragoman.types import F64, I64, Candidates, Lists, Metric, Names, Source, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.mira import Mira

__all__ = ["OnlineMira"]


@dataclass(slots=True, eq=False)
class _Walk:
    """What a shard has gone through in an epoch."""

    names: Names
    """The table that numbers the features of its arrays."""
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
    differing: int = 0

    def numbered(self, names: Names) -> _Walk:
        """The same with features as another table of names, which gets those it lacks, numbers them."""
        if self.names is names:
            return self
        places = names_extend(names, self.names).astype(np.int64)
        weights, total = (placed(values, places, len(names)) for values in (self.weights, self.sum))
        return replace(self, names=names, weights=weights, sum=total)


@dataclass(frozen=True)
class _Text:
    """What workers must know of a run."""

    source: Source
    references: PreparedReferences
    metric: Metric
    tuner: Mira
    fixed: tuple[str, ...]
    bounds: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class _Shard:
    """The sentences of a shard, and where it starts from."""

    sentences: I64
    start: Weights
    context: Context


class _Walker:
    """Goes through the sentences of a shard, one after the other."""

    def __init__(self, text: Shared[_Text], threads: int) -> None:
        self.text, self.threads = text, threads

    def __call__(self, shard: _Shard) -> _Walk:
        return _Going(self.text.value, self.threads).walk(shard)


class _Going:
    """The same with what is derived from the text at hand."""

    def __init__(self, text: _Text, threads: int) -> None:
        self.text, self.tuner, self.threads = text, text.tuner, threads
        self.level = text.metric.sentence_level()
        self.sign = 1.0 if text.metric.higher_is_better else -1.0
        lattices = text.tuner.space == "lattice"
        self.paths = Paths(text.source, text.references.texts, text.metric, text.tuner) if lattices else None

    def walk(self, shard: _Shard) -> _Walk:
        """All sentences of a shard."""
        names, start = self.text.source.names, shard.start
        values = start.values if start.names is names else start.align(names)
        walk = _Walk(names, values, values.copy(), replace(shard.context, seen={}))
        for sentence in shard.sentences.tolist():
            began = time.monotonic()
            found = self._found(sentence, Weights(names, walk.weights), walk.context)
            decoded = time.monotonic()
            walk.decoding += decoded - began
            pool = self.text.references.judge(found)
            width = len(names)
            walk.weights, walk.sum = padded(walk.weights, width), padded(walk.sum, width)
            if not found.size:
                walk.empty += 1
                walk.context.saw(sentence, np.zeros(self.text.metric.width), None)
                continue
            gains = self._gains(pool, walk.context, sentence)
            walk.differing += bool(np.ptp(gains))
            oracle = self._update(walk, pool, gains)
            walk.context.saw(sentence, pool.statistics[0], None if oracle is None else pool.statistics[oracle])
            walk.updating += time.monotonic() - decoded
        return walk

    def _found(self, sentence: int, weights: Weights, context: Context) -> Candidates:
        """Candidates of a sentence: its list, or the paths of its lattice that matter."""
        if self.paths is None:
            assert isinstance(self.text.source, Lists)
            return self.text.source.candidates([sentence], weights, self.threads)
        return self.paths.candidates(sentence, weights, context.others(sentence), context.unit, self.threads)

    def _gains(self, pool: Pool, context: Context, sentence: int) -> F64:
        """What each candidate is worth, on the 0..1 scale times the unit."""
        others = context.others(sentence)
        metric = self.level if others is None else self.text.metric
        sums = pool.statistics if others is None else others + pool.statistics
        return self.sign * metric.score(sums) / metric.scale * context.unit(sums[0])

    def _update(self, walk: _Walk, pool: Pool, gains: F64) -> int | None:
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
        for name in self.text.fixed:
            place = walk.names.get(name)
            if place is not None and place < len(difference):
                difference[place] = 0.0
        norm = math.fsum(difference[difference != 0] ** 2)  # the same bits in whatever order names were met
        if norm > 0:
            walk.weights = self._inside(walk.weights + min(tuner.c, float(loss) / norm) * difference, walk.names)
            walk.sum += walk.weights
            walk.updates += 1
            walk.loss += float(loss)
        return good

    def _inside(self, weights: F64, names: Names) -> F64:
        """The weights inside their bounds."""
        for name, low, high in self.text.bounds:
            place = names.get(name)
            if place is not None and place < len(weights):
                weights[place] = min(max(weights[place], low), high)
        return weights


class OnlineMira:
    """Epochs of online MIRA."""

    def __init__(self, problem: Problem, tuner: Mira, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        self.shards = min(tuner.shards, len(problem.source))
        bounds = problem.limits.bounds
        text = _Text(
            problem.source, problem.prepared, problem.metric, tuner,
            tuple(name for name, (low, high) in bounds.items() if low == high),
            tuple((name, low, high) for name, (low, high) in bounds.items() if low < high),
        )  # fmt: skip
        threads = max(engine.workers // self.shards, 1) if engine.local else 1
        if tuner.space == "lattice":
            _Going(text, threads)  # tells a metric that cannot be searched for, now and not in the first epoch
        self.walker = _Walker(engine.share(text), threads)

    def begin(self, start: F64) -> State:
        """The state before the first epoch."""
        return State(start)

    def step(self, state: State) -> State:
        """One pass over all sentences, in a new order, by all shards."""
        problem, names = self.problem, self.problem.names
        order = np.arange(len(problem.source))
        if self.tuner.shuffle:
            order = np.random.default_rng([self.seed, state.step]).permutation(len(problem.source))
        shards = [order[i :: self.shards] for i in range(self.shards)]
        context = before(self.tuner, state, len(problem.source), problem.metric.width)
        start = Weights(names, state.features.get("plain", state.weights))
        problem.passes(self.engine).count += 1
        tasks = [_Shard(shard, start, context) for shard in shards]
        walks = [walk.numbered(names) for walk in self.engine.map(self.walker, tasks)]
        width = len(names)
        sizes = np.array([len(shard) for shard in shards], dtype=np.float64) / len(order)
        plain = np.asarray(sum(s * padded(w.weights, width) for s, w in zip(sizes, walks, strict=True)))
        mean = [padded(w.sum, width) / (w.updates + 1) for w in walks]
        averaged = np.asarray(sum(s * m for s, m in zip(sizes, mean, strict=True)))
        rows, count = after([walk.context for walk in walks], sizes)
        return State(
            averaged if self.tuner.average else plain, state.step + 1, False, {"plain": plain}, rows, {"count": count},
            record=self._record(walks, rows["mixed"]),
        )  # fmt: skip

    def _record(self, walks: list[_Walk], rows: Any) -> dict[str, float]:
        count = float(len(self.problem.source))
        return {
            "loss": sum(w.loss for w in walks), "updates": sum(w.updates for w in walks),
            "mixed": self.problem.score(rows),
            "empty": sum(w.empty for w in walks), "differing": sum(w.differing for w in walks),
            "oracle": sum(w.oracle for w in walks) / count, "prediction": sum(w.prediction for w in walks) / count,
            "decoding": round(sum(w.decoding for w in walks), 3), "updating": round(sum(w.updating for w in walks), 3),
        }  # fmt: skip


def _first_best(values: F64, scores: F64, local: int) -> int:
    """The first of the largest values, among the `local` candidates with the best scores (0: among all)."""
    if not local:
        return int(np.argmax(values))
    near = np.argsort(-scores, kind="stable")[:local]
    return int(near[np.argmax(values[near])])
