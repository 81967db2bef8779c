"""Epochs of SampleRank: chains learn apart, each on its own part of the text, and are mixed after every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dragoman._core import names_extend, names_take
from dragoman.engine import Engine, Shared
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.metrics.capability import require
from dragoman.tuning.problem import Problem
from dragoman.tuning.state import State, padded, placed
from dragoman.types import F64, I64, Chains, Metric, Names, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.samplerank import SampleRank

__all__ = ["ChainEpochs", "Pace", "Ranked", "Ranker", "batches", "documents_of", "metric_of"]

RIDGE = 0.03
"""Share of a feature's own information that is added to it: what features do not tell apart does not blow up."""
FADE = 0.5
"""Weight of the information of earlier epochs, whose weights were others."""


@dataclass(frozen=True)
class Pace:
    """What the sizes of steps depend on, from epoch to epoch."""

    squares: F64
    """Sums of squared slopes, by feature."""
    metric: F64
    """Inverse Fisher information of the dense features; without rows until it is known."""
    energy: float
    """Sum of the squared lengths of dense slopes in that metric, for each dimension."""


class Ranked(NamedTuple):
    """What an epoch gives."""

    mixed: F64
    """The mean of the chains' last weights."""
    collected: F64
    """The sum of their weights after every sample."""
    squares: F64
    """The mean of their sums of squared slopes."""
    information: F64
    """Fisher information of the dense features, summed over neighbourhoods, row by row."""
    figures: Mapping[str, float]


class Ranker(Protocol):
    """A text and its references, ready to be sampled."""

    def epoch(
        self,
        weights: Weights,
        start: F64,
        pace: Pace,
        fixed: Sequence[int],
        shards: Sequence[Sequence[Sequence[int]]],
        tuner: SampleRank,
        seed: int,
        first: int,
        threads: int | None = None,
    ) -> Ranked:
        """One epoch of all chains, of which the first has the number `first`."""
        ...


def batches(documents: Sequence[I64], order: I64, chains: int, size: int) -> list[list[list[int]]]:
    """Deals documents in an order to chains; each chain's are cut into batches of at least `size` lines (0: one batch).

    >>> batches([np.array([0, 1]), np.array([2]), np.array([3])], np.array([2, 0, 1]), 2, 1)
    [[[3], [2]], [[0, 1]]]
    """
    dealt: list[list[list[int]]] = []
    for chain in range(chains):
        own: list[list[int]] = [[]]
        for number in order[chain::chains]:
            if size and len(own[-1]) >= size:
                own.append([])
            own[-1].extend(int(line) for line in documents[int(number)])
        dealt.append([batch for batch in own if batch])
    return dealt


class _Begun(NamedTuple):
    """What all chains of an epoch need."""

    weights: Weights
    start: Weights
    squares: Weights
    metric: F64
    energy: float
    fixed: tuple[str, ...]


@dataclass(frozen=True)
class _Text:
    """What workers must know of a run."""

    source: Chains
    references: Sequence[Sequence[str]]
    metric: Metric
    tuner: SampleRank
    seed: int


@dataclass(frozen=True)
class _Chain:
    """One chain in another process: the same call with one shard; features go and come by name."""

    text: Shared[_Text]
    begun: _Begun

    def __call__(self, task: tuple[list[list[int]], int]) -> tuple[Names, Ranked]:
        (shard, number), begun, text = task, self.begun, self.text.value
        names = text.source.names
        for given in (begun.weights, begun.start):
            names_extend(names, given.names)
        pace = Pace(begun.squares.align(names), begun.metric, begun.energy)
        places = [place for name in begun.fixed if (place := names.get(name)) is not None]
        done = text.source.ranker(text.references, text.metric).epoch(
            begun.weights, begun.start.align(names), pace, places, [shard], text.tuner, text.seed, number, 1
        )
        return _used(names, done)


def _used(names: Names, done: Ranked) -> tuple[Names, Ranked]:
    """What a chain gives for those features only that weigh anything."""
    arrays = [padded(values, len(names)) for values in done[:3]]
    used = np.flatnonzero(np.any([values != 0 for values in arrays], axis=0))
    mixture, collected, squares = (values[used] for values in arrays)
    return names_take(names, used), done._replace(mixed=mixture, collected=collected, squares=squares)


class ChainEpochs:
    """Epochs of SampleRank."""

    def __init__(self, problem: Problem, tuner: SampleRank, engine: Engine, seed: int) -> None:
        metric = problem.metric
        require(metric, "incremental", "SampleRank")
        assert isinstance(problem.source, Chains)
        self.problem, self.tuner, self.engine, self.seed = problem, tuner, engine, seed
        self.documents = documents_of(tuner.documents, len(problem.source))
        self.chains = min(tuner.chains, len(self.documents))
        if engine.local:
            self.ranker: Ranker = problem.source.ranker(problem.prepared.texts, metric)
        else:
            text = _Text(problem.source, problem.prepared.texts, metric, tuner, seed)
            self.text = engine.share(text)

    def begin(self, start: F64) -> State:
        """The state before the first epoch. Features of whole texts start at the weights that were given."""
        if not self.tuner.text_features:
            return State(start)
        names = self._text_names()
        places = names_extend(self.problem.names, Names(list(names))).astype(np.int64)
        begun = np.array(padded(start, len(self.problem.names)))
        begun[places] = np.where(begun[places] == 0.0, list(names.values()), begun[places])
        return State(begun)

    def _text_names(self) -> dict[str, float]:
        """The weights of features of whole texts and where they start; a source that cannot ask them is refused."""
        asked: Callable[[Sequence[str]], dict[str, float]] | None = getattr(self.problem.source, "text_names", None)
        if asked is None:
            raise OptionError("samplerank: this source has no features of whole texts: leave text_features out")
        return asked(self.tuner.text_features)

    def step(self, state: State) -> State:
        """One pass over all sentences by all chains."""
        began, names, tuner = time.monotonic(), self.problem.names, self.tuner
        order = np.random.default_rng([self.seed, state.step]).permutation(len(self.documents))
        shards = batches(self.documents, order, self.chains, tuner.batch)
        start = padded(state.features.get("plain", state.weights), len(names))
        fixed, bounded = self.problem.limits.places(names, len(names))
        information, seen = _information(state)
        pace = Pace(
            state.feature("squares", len(names)), metric_of(information, seen, [*fixed]), state.number("energy")
        )
        first = state.step * self.chains
        weights = Weights(names, state.weights)
        if self.engine.local:
            done = self.ranker.epoch(weights, start, pace, fixed, shards, tuner, self.seed, first, self.engine.workers)
        else:
            done = self._apart(weights, start, pace, shards, first)
        return self._next(state, done, fixed, bounded, time.monotonic() - began)

    def _apart(self, weights: Weights, start: F64, pace: Pace, shards: Sequence[list[list[int]]], first: int) -> Ranked:
        """Each chain as a task of its own, mixed here as the core mixes those of one call."""
        names = self.problem.names
        fixed = tuple(name for name, (low, high) in self.problem.limits.bounds.items() if low == high)
        begun = _Begun(weights, Weights(names, start), Weights(names, pace.squares), pace.metric, pace.energy, fixed)
        tasks = [(shard, first + number) for number, shard in enumerate(shards)]
        found = self.engine.map(_Chain(self.text, begun), tasks)
        done = [_numbered(names_of, ranked, names) for names_of, ranked in found]
        return mixed(done, len(names))

    def _next(self, state: State, done: Ranked, fixed: Sequence[int], bounded: Sequence[int], seconds: float) -> State:
        """The state after an epoch."""
        width, tuner, limits = len(self.problem.names), self.tuner, self.problem.limits
        mixture, mean = padded(done.mixed, width), padded(done.collected, width) / done.figures["collected"]
        length = state.number("length", -1.0)
        if tuner.oracle == "mean":
            length = length if length >= 0 else _length(state.weights, fixed)
            mixture, mean = _of_length(mixture, length, fixed), _of_length(mean, length, fixed)
        if bounded:
            mixture, mean = (limits.clip(values, self.problem.names) for values in (mixture, mean))
        weight = {"late": (state.step + 1.0) ** 2, "all": 1.0}.get(tuner.average, 1.0)
        total, count = weight * mean, weight
        if tuner.average in {"late", "all"}:
            total = total + state.feature("sum", width)
            count += state.number("count")
        information, seen = _information(state)
        if len(information):
            done = done._replace(information=done.information + FADE * information)
        numbers = {"count": count, "energy": done.figures["energy"], "seen": FADE * seen + done.figures["updates"]}
        if length >= 0:
            numbers["length"] = length
        return replace(
            state, weights=mixture if tuner.average == "none" else total / count, step=state.step + 1,
            features={"plain": mixture, "sum": total, "squares": padded(done.squares, width)},
            rows={"information": done.information}, numbers=numbers,
            record={**_record(done.figures, self.documents), "updating": round(seconds, 3)},
        )  # fmt: skip


def _numbered(found: Names, done: Ranked, names: Names) -> Ranked:
    """What a chain gives, with features as another table of names, which gets those it lacks, numbers them."""
    places = names_extend(names, found).astype(np.int64)
    mixture, collected, squares = (placed(values, places, len(names)) for values in done[:3])
    return done._replace(mixed=mixture, collected=collected, squares=squares)


def mixed(done: Sequence[Ranked], width: int) -> Ranked:
    """What chains give together: means of weights and squares, sums of all else."""
    share = 1.0 / len(done)
    mixture, collected, squares = np.zeros(width), np.zeros(width), np.zeros(width)
    information = np.zeros(len(done[0].information))
    figures: dict[str, float] = {}
    for chain in done:
        mixture += share * padded(chain.mixed, width)
        collected += padded(chain.collected, width)
        squares += share * padded(chain.squares, width)
        information += chain.information
        for name, value in chain.figures.items():
            figures[name] = figures.get(name, 0.0) + value
    figures["energy"] /= len(done)
    return Ranked(mixture, collected, squares, information, figures)


def _length(weights: F64, fixed: Sequence[int]) -> float:
    """The length of the weights that may move."""
    return float(np.linalg.norm(np.delete(weights, fixed)))


def _of_length(weights: F64, length: float, fixed: Sequence[int]) -> F64:
    """Weights that are as long as they were at the start.

    For the search only their direction matters, and longer ones, which every expected gain asks for, are but a lower
    temperature: the chains would freeze before they have learned.

    >>> _of_length(np.array([3.0, 1.0, 4.0]), 1.0, [1]).round(6).tolist()
    [0.6, 1.0, 0.8]
    """
    now = _length(weights, fixed)
    if not now or not length:
        return weights
    scaled = weights * (length / now)
    scaled[list(fixed)] = weights[list(fixed)]
    return scaled


def _information(state: State) -> tuple[F64, float]:
    """What is known of the dense features' information: its sum and the number of neighbourhoods."""
    information = state.row("information")
    return np.zeros(0) if information is None else information, state.number("seen")


def metric_of(information: F64, seen: float, fixed: Sequence[int]) -> F64:
    """The inverse of the mean information of features that may move and that differ anywhere; 0 for all others.

    >>> metric_of(np.array([8.0, 0.0, 0.0, 2.0]), 2.0, [1]).round(2).tolist()
    [[0.24, 0.0], [0.0, 0.0]]
    """
    dense = math.isqrt(len(information))
    whole = information.reshape(dense, dense) / max(seen, 1.0)
    own = np.diag(whole)
    free = np.flatnonzero((own > 0) & ~np.isin(np.arange(dense), list(fixed)))
    if not len(free):
        return np.zeros((0, 0))
    metric = np.zeros((dense, dense))
    metric[np.ix_(free, free)] = np.linalg.inv(whole[np.ix_(free, free)] + RIDGE * np.diag(own[free]))
    return metric


def _record(figures: Mapping[str, float], documents: Sequence[I64]) -> dict[str, float]:
    """What a trace tells: means where sums mean nothing."""
    lines, learned = sum(map(len, documents)), max(figures["learned_from"], 1.0)
    told: dict[str, Any] = {name: figures[name] for name in ("samples", "moves", "updates", "capped")}
    told |= {"gain": figures["gain"] / lines, "oracle_gain": figures["oracle"] / learned}
    told |= {"probed": figures["probed"] / max(figures["members"], 1.0)}
    told |= {"sampling": round(figures["time"], 3), "gain_time": round(figures["gain_time"], 3)}
    return told


def documents_of(path: str, lines: int) -> list[I64]:
    """The lines of each document: neighbours with the same name; without a file every line is one."""
    if not path:
        return [np.array([line], dtype=np.int64) for line in range(lines)]
    names = read_text(Path(path))
    if len(names) != lines:
        raise InputError(f"{path}: expected {lines} lines, one for each sentence, found {len(names)}", path)
    cuts = [line for line in range(1, lines) if names[line] != names[line - 1]]
    return [np.asarray(part, dtype=np.int64) for part in np.split(np.arange(lines), cuts)]
