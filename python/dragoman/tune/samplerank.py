"""SampleRank (Haddow, Arun and Koehn 2011): weights are learned while derivations are sampled; nothing is decoded.

A chain holds one derivation for each sentence of a batch. A sample changes one of them a little; whenever the batch's
BLEU and the model rank the sampled derivation and the best one nearby differently, the weights move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dragoman._core import NativeMetric
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.metrics.capability import require
from dragoman.tune._learning import check, floats, padded
from dragoman.tune.base import Limits, Memory, Pool, Session
from dragoman.tune.folder import Epochs
from dragoman.types import F64, I64, Metric, Source, Weights

__all__ = ["Chains", "Pace", "Rankable", "Ranked", "SampleRank", "batches", "metric_of"]

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
    ) -> Ranked:
        """One epoch of all chains."""
        ...


@runtime_checkable
class Rankable(Protocol):
    """A source whose derivations can be sampled, such as our decoder over a text."""

    def ranker(self, references: Sequence[Sequence[str]], metric: NativeMetric) -> Ranker:
        """Gets ready for SampleRank."""
        ...


@dataclass(frozen=True)
class SampleRank:
    """SampleRank and its options.

    The paper's rule (oracle=hope, rate=0): for a sampled derivation y' and the oracle y+ of its neighbourhood, if gain
    and model rank them differently, w += min(b / |a|^2, c) a, a = h(y+) - h(y'),
    b = m (gain(y+) - gain(y')) - (score(y+) - score(y')), m = gain(y+). (The paper prints gain(y') as the last term of
    b, where its equation 6 has score(y').)

    The default climbs the expected gain of each neighbourhood instead: a = sum p (gain - mean gain) h over its members,
    in natural steps for the dense features and with AdaGrad for the sparse ones; the weights keep their length.

    >>> SampleRank().chains
    8
    """

    chains: int = 8
    """Chains that learn apart, each on its own part of the text; their weights are averaged after every epoch."""
    samples: int = 200
    """Samples for each sentence that are learned from."""
    burn_in: int = 100
    """Samples for each sentence before that."""
    batch: int = 0
    """Sentences whose common BLEU is the gain; 0 is all of a chain's, as in the paper."""
    oracle: Literal["mean", "hope", "gain"] = "mean"
    """What a sample is held against: all of its neighbourhood; or y+, the largest gain + score, or the largest gain."""
    rate: float = 0.1
    """How far steps go at first; they get shorter with the root of what was seen. 0: the paper's steps, up to c."""
    c: float = 0.01
    """Largest step of the paper's."""
    scale: float = 100.0
    """What a perfect gain is: 100 as the authors ran it, or 1. Steps and margins depend on it."""
    smooth: float = 0.01
    """Added to all counts of BLEU, unless the metric itself adds to counts (smooth=add-k or add-all)."""
    margin: bool = True
    """Whether m is the oracle's gain; else it is 1."""
    always: bool = False
    """Whether a right ranking by less than the margin b moves the weights, too; else only a wrong one does."""
    temperature: float = 0.2
    """Derivations are drawn by exp(score / temperature)."""
    hot: float = 0.0
    """Temperature at the start of the burn-in, from which it falls to `temperature`; 0: it is constant."""
    start: Literal["gloss", "best"] = "best"
    """Derivations start with the best translation of each word (the paper), or with the phrases that look best."""
    merge: float = 0.4
    """Share of the operator MERGE-SPLIT."""
    reorder: float = 0.4
    """Share of the operator REORDER."""
    retranslate: float = 0.2
    """Share of the operator RETRANSLATE."""
    width: int = 3
    """Translations of a phrase that every neighbourhood has; of the others, number i (best first) is in it with the
    chance width / (i + 1) and weighs as much more, so that the distribution stays the same. 0: all are in it."""
    visit: int = 8
    """Samples in a row that one sentence gives before another one is drawn; more of them are a little faster."""
    average: Literal["late", "all", "epoch", "none"] = "late"
    """The answer: mean of the weights after every sample, where epoch e counts e^2 times; of all epochs alike; of the
    last epoch; or the mixed weights."""
    documents: str = ""
    """A file with the name of each line's document: batches then have whole documents."""
    clock: bool = False
    """Measures the time that gains take (`gain_time` in the trace)."""

    def __post_init__(self) -> None:
        shares = (self.merge, self.reorder, self.retranslate)
        check(
            "SampleRank",
            chains=self.chains > 0,
            samples=self.samples > 0,
            burn_in=self.burn_in >= 0,
            batch=self.batch >= 0,
            rate=self.rate >= 0,
            c=self.c > 0,
            scale=self.scale > 0,
            smooth=self.smooth > 0,
            oracle=self.oracle in {"mean", "hope", "gain"},
            temperature=self.temperature > 0,
            start=self.start in {"gloss", "best"},
            merge=min(shares) >= 0 and sum(shares) > 0,
            width=self.width >= 0,
            visit=self.visit > 0,
            average=self.average in {"late", "all", "epoch", "none"},
        )

    @property
    def name(self) -> str:
        """SampleRank."""
        return "samplerank"

    @property
    def never_worse(self) -> bool:
        """No promise."""
        return False

    def session(self, pool: Pool, limits: Limits, seed: int) -> Session:  # noqa: ARG002 - the protocol's
        """There is none over fixed lists."""
        raise OptionError("SampleRank samples derivations of a model: use --model instead of --nbest")


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


class Chains:
    """Epochs of SampleRank."""

    def __init__(
        self,
        source: Source,
        references: Sequence[Sequence[str]],
        metric: Metric,
        tuner: SampleRank,
        fixed: Sequence[str],
        seed: int,
    ) -> None:
        if not isinstance(source, Rankable):
            raise OptionError("SampleRank needs a source whose derivations can be sampled, such as a model's decoder")
        self.tuner, self.fixed, self.seed = tuner, fixed, seed
        self.documents = _documents(tuner.documents, len(source))
        self.chains = min(tuner.chains, len(self.documents))
        self.ranker = source.ranker(references, require(metric, "incremental", "SampleRank"))

    def begin(self, now: Epochs) -> None:
        """Nothing to take up: the memory has it all."""

    def end(self) -> None:
        """Nothing to tidy up."""

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One pass over all sentences by all chains."""
        began = time.monotonic()
        order = np.random.default_rng([self.seed, now.epoch]).permutation(len(self.documents))
        shards = batches(self.documents, order, self.chains, self.tuner.batch)
        start = padded(np.asarray(now.memory.get("plain", now.weights), dtype=np.float64), len(now.names))
        fixed = [place for name in self.fixed if (place := now.names.get(name)) is not None]
        pace = _pace(now, fixed)
        done = self.ranker.epoch(now.named, start, pace, fixed, shards, self.tuner, self.seed, now.epoch * self.chains)
        self._remember(now, done, fixed)
        return {**_record(done.figures, self.documents), "updating": round(time.monotonic() - began, 3)}

    def _remember(self, now: Epochs, done: Ranked, fixed: Sequence[int]) -> None:
        width, old = len(now.names), now.memory
        mixed, mean = padded(done.mixed, width), padded(done.collected, width) / done.figures["collected"]
        if self.tuner.oracle == "mean":
            length = float(old.setdefault("length", _length(now.weights, fixed)))
            mixed, mean = _of_length(mixed, length, fixed), _of_length(mean, length, fixed)
        weight = {"late": (now.epoch + 1.0) ** 2, "all": 1.0}.get(self.tuner.average, 1.0)
        total, count = weight * mean, weight
        if self.tuner.average in {"late", "all"}:
            total = total + padded(floats(old, "sum", np.zeros(0)), width)
            count += float(old.get("count", 0.0))
        information, seen = _information(old)
        if len(information):
            done = done._replace(information=done.information + FADE * information)
        now.memory |= {"plain": mixed, "sum": total, "count": count, "squares": padded(done.squares, width)}
        now.memory |= {"information": done.information[None], "energy": done.figures["energy"]}
        now.memory |= {"seen": FADE * seen + done.figures["updates"]}
        now.weights = mixed if self.tuner.average == "none" else total / count


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


def _information(memory: Memory) -> tuple[F64, float]:
    """What is known of the dense features' information: its sum and the number of neighbourhoods."""
    return floats(memory, "information", np.zeros((1, 0)))[0], float(memory.get("seen", 0.0))


def _pace(now: Epochs, fixed: Sequence[int]) -> Pace:
    squares = padded(floats(now.memory, "squares", np.zeros(0)), len(now.names))
    information, seen = _information(now.memory)
    return Pace(squares, metric_of(information, seen, fixed), float(now.memory.get("energy", 0.0)))


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


def _documents(path: str, lines: int) -> list[I64]:
    """The lines of each document: neighbours with the same name; without a file every line is one."""
    if not path:
        return [np.array([line], dtype=np.int64) for line in range(lines)]
    names = read_text(Path(path))
    if len(names) != lines:
        raise InputError(f"{path}: expected {lines} lines, one for each sentence, found {len(names)}", path)
    cuts = [line for line in range(1, lines) if names[line] != names[line - 1]]
    return [np.asarray(part, dtype=np.int64) for part in np.split(np.arange(lines), cuts)]
