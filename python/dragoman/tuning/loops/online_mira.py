"""Online MIRA (Eidelman 2012): sentence after sentence is decoded and its oracle and prediction are compared.

Gains are those of the sentence alone in the first epoch; from then on those of the corpus of the latest 1-best
translations with this sentence's replaced (see `contexts`). Several shards learn side by side and are averaged after
each epoch. Oracle and prediction come from an n-best list or, by dynamic programming, from the whole lattice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman._core import MiraWalk, names_extend, names_take
from dragoman.engine import Engine, Shared
from dragoman.tuning.limits import NamedLimits
from dragoman.tuning.loops.contexts import before
from dragoman.tuning.loops.paths import Paths
from dragoman.tuning.packed import native_of
from dragoman.tuning.problem import PreparedReferences, Problem
from dragoman.tuning.state import Number, State, padded, placed
from dragoman.types import F64, I64, Candidates, Lists, Metric, Names, Source, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.mira import Mira

__all__ = ["OnlineMira"]


@dataclass(frozen=True, slots=True, eq=False)
class _Walked:
    """What a shard has gone through in an epoch."""

    names: Names
    """The table that numbers the features of its arrays."""
    weights: F64
    """The last ones."""
    mean: F64
    """The mean of the start and the weights after each update."""
    sentences: I64
    rows: F64
    """Statistics of the 1-best translations of these sentences."""
    context: tuple[F64, float]
    """The sum that gains are on top of, and the number of sentences in it."""
    oracle: F64
    """Sums of the statistics of oracles and predictions."""
    prediction: F64
    updates: int
    loss: float
    empty: int
    differing: int
    decoding: float
    updating: float

    def __reduce__(self) -> tuple[Any, ...]:
        """Features travel by name, and only those that weigh anything."""
        used = np.flatnonzero((self.weights != 0) | (self.mean != 0))
        fields = [getattr(self, name) for name in _Walked.__slots__]
        fields[:3] = names_take(self.names, used), self.weights[used], self.mean[used]
        return _Walked, tuple(fields)

    def numbered(self, names: Names) -> _Walked:
        """The same with features as another table of names, which gets those it lacks, numbers them."""
        if self.names is names:
            return self
        places = names_extend(names, self.names).astype(np.int64)
        weights, mean = (placed(values, places, len(names)) for values in (self.weights, self.mean))
        return replace(self, names=names, weights=weights, mean=mean)


@dataclass(frozen=True)
class _Text:
    """What workers must know of a run."""

    source: Source
    references: PreparedReferences
    metric: Metric
    tuner: Mira
    limits: NamedLimits


@dataclass(frozen=True)
class _Walker:
    """Goes through the sentences of a shard, one after the other. What all shards start from is in here, once."""

    text: Shared[_Text]
    threads: int
    start: Weights
    around: State
    """What contexts are made of."""

    def __call__(self, sentences: I64) -> _Walked:
        return _Walk(self, sentences).go()


class _Walk:
    """A shard on its way through an epoch."""

    def __init__(self, walker: _Walker, sentences: I64) -> None:
        text, start = walker.text.value, walker.start
        self.text, self.threads, self.sentences = text, walker.threads, sentences
        metric = text.metric
        self.names, self.level = text.source.names, metric.sentence_level()
        level, whole = native_of(self.level), native_of(metric)
        self.native = None if level is None or whole is None else (level, whole)
        self.sign = 1.0 if metric.higher_is_better else -1.0
        values = start.values if start.names is self.names else start.align(self.names)
        context = before(text.tuner, walker.around, metric.width)
        self.mira = MiraWalk(context, values, [], self.native, sign=self.sign, scale=metric.scale)
        self.weights = Weights(self.names, values)
        self.waiting = dict(text.limits.bounds)
        self.paths = _paths(text)

    def go(self) -> _Walked:
        """All sentences."""
        mira, decoding, updating = self.mira, 0.0, 0.0
        for sentence in self.sentences.tolist():
            began = time.monotonic()
            found = self._found(sentence)
            decoded = time.monotonic()
            self._learn(sentence, found)
            decoding += decoded - began
            updating += time.monotonic() - decoded
        sentences, rows = mira.seen()
        oracle, prediction = mira.met()
        width = len(self.names)
        return _Walked(
            self.names, mira.weights(width), mira.mean(width), sentences, rows, mira.context(), oracle, prediction,
            mira.updates, mira.loss, mira.empty, mira.differing, decoding, updating,
        )  # fmt: skip

    def _found(self, sentence: int) -> Candidates:
        """Candidates of a sentence: its list, or the paths of its lattice that matter."""
        if self.paths is None:
            assert isinstance(self.text.source, Lists)
            return self.text.source.candidates([sentence], self.weights, self.threads)
        mira = self.mira
        others, threads = mira.others(sentence), self.threads
        return self.paths.candidates(sentence, self.weights, others, lambda best: mira.unit(sentence, best), threads)

    def _learn(self, sentence: int, found: Candidates) -> None:
        """One visit; a metric in plain Python scores the candidates itself."""
        self._bound()
        rows = self.text.references.judge(found).statistics
        features, updates = found.features, self.mira.updates
        scores = None if self.native is not None else self._scores(rows, self.mira.others(sentence))
        self.mira.visit(sentence, features.starts, features.columns, features.values, rows, scores)
        if self.mira.updates > updates:
            self.weights = self.weights.changed(*self.mira.changes())

    def _scores(self, rows: F64, others: F64 | None) -> F64:
        metric = self.level if others is None else self.text.metric
        sums = rows if others is None else others + rows
        return np.asarray(self.sign * metric.score(sums) / metric.scale)

    def _bound(self) -> None:
        """Tells the learner of the bounds of features, as soon as their names are known."""
        found = {name: place for name in self.waiting if (place := self.names.get(name)) is not None}
        for name, place in found.items():
            self.mira.bound(place, *self.waiting.pop(name))


def _paths(text: _Text) -> Paths | None:
    if text.tuner.space != "lattice":
        return None
    return Paths(text.source, text.references.texts, text.metric, text.tuner)


class OnlineMira:
    """Epochs of online MIRA."""

    def __init__(self, problem: Problem, tuner: Mira, engine: Engine, seed: int) -> None:
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        self.shards = min(tuner.shards, len(problem.source))
        text = _Text(problem.source, problem.prepared, problem.metric, tuner, problem.limits)
        _paths(text)  # refuses a metric that cannot be searched for, now and not in the first epoch
        self.text = engine.share(text)
        self.threads = max(engine.workers // self.shards, 1) if engine.local else 1

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
        start = Weights(names, state.features.get("plain", state.weights))
        around = State(np.zeros(0), rows=state.rows, numbers=state.numbers)
        problem.passes(self.engine).count += 1
        walker = _Walker(self.text, self.threads, start, around)
        walks = [walk.numbered(names) for walk in self.engine.map(walker, shards)]
        width = len(names)
        sizes = [len(shard) / len(order) for shard in shards]
        plain = np.asarray(sum(s * padded(w.weights, width) for s, w in zip(sizes, walks, strict=True)))
        mean = np.asarray(sum(s * padded(w.mean, width) for s, w in zip(sizes, walks, strict=True)))
        rows, numbers = _remembered(self.tuner, walks, sizes)
        return State(
            mean if self.tuner.average else plain, state.step + 1, False, {"plain": plain}, rows, numbers,
            record=self._record(walks, rows["mixed"]),
        )  # fmt: skip

    def _record(self, walks: Sequence[_Walked], rows: F64 | I64) -> dict[str, float]:
        score = self.problem.metric.score
        return {
            "loss": sum(w.loss for w in walks), "updates": sum(w.updates for w in walks),
            "mixed": self.problem.score(np.asarray(rows, dtype=np.float64)),
            "empty": sum(w.empty for w in walks), "differing": sum(w.differing for w in walks),
            "oracle": float(score(np.sum([w.oracle for w in walks], axis=0))),
            "prediction": float(score(np.sum([w.prediction for w in walks], axis=0))),
            "decoding": round(sum(w.decoding for w in walks), 3), "updating": round(sum(w.updating for w in walks), 3),
        }  # fmt: skip


def _remembered(
    tuner: Mira, walks: Sequence[_Walked], shares: Sequence[float]
) -> tuple[dict[str, F64 | I64], dict[str, Number]]:
    """What contexts of the next epoch are made of; each shard had such a share of the sentences."""
    order = np.argsort(np.concatenate([walk.sentences for walk in walks]))
    rows = np.concatenate([walk.rows for walk in walks])[order]
    if tuner.gain != "background":
        return {"mixed": rows, "corpus": rows}, {}
    background = np.asarray(sum(s * w.context[0] for s, w in zip(shares, walks, strict=True)))
    count = float(sum(s * w.context[1] for s, w in zip(shares, walks, strict=True)))
    return {"mixed": rows, "background": background}, {"count": count}
