"""Judged candidates in arrays: what batch tuners see of n-best lists, and never a decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dragoman._core import best_per_group, dot_rows, names_pack, names_unpack
from dragoman.errors import InputError
from dragoman.types import F64, I64, Candidates, Features, Metric

__all__ = ["Pool", "set_apart"]


def set_apart(sentences: int, share: float, seed: int) -> tuple[I64, I64]:
    """Numbers of sentences in two parts, both in order: a random `share` of them is the second, the rest the first."""
    count = round(share * sentences)
    if not 0 < count < sentences:
        raise InputError(f"{sentences} sentences are too few to set a share of {share} apart")
    mixed = np.random.default_rng([seed, sentences]).permutation(sentences)
    return np.sort(mixed[count:]), np.sort(mixed[:count])


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates with their metric statistics: all that a tuner over fixed lists needs to know.

    Weights are plain arrays here, one float64 for each name of `candidates.features.names`.
    """

    candidates: Candidates
    metric: Metric
    statistics: F64

    def __reduce__(self) -> tuple[Any, ...]:
        """With all its names, those that no candidate has among them: weights are as many as these."""
        old, rows = self.candidates, self.candidates.features
        columns = (old.ids, old.starts, old.texts, rows.starts, rows.columns, rows.values)
        return _pool, (names_pack(rows.names, len(rows.names)), columns, self.metric, self.statistics)

    @classmethod
    def judge(cls, candidates: Candidates, references: Sequence[Sequence[str]], metric: Metric) -> Pool:
        """Scores every candidate; `references[s]` belongs to the s-th sentence of the candidates."""
        statistics = metric.prepare(references).statistics(candidates.hypotheses)
        return cls(candidates, metric, statistics)

    def take(self, sentences: I64) -> Pool:
        """The pool of some of the sentences."""
        candidates = self.candidates.take(sentences)
        spans = [np.arange(self.candidates.starts[s], self.candidates.starts[s + 1]) for s in sentences]
        return Pool(candidates, self.metric, self.statistics[np.concatenate(spans)])

    def split(self, share: float, seed: int) -> tuple[Pool, Pool]:
        """Two pools: the second has a random `share` of the sentences, the first the others, both in order."""
        rest, apart = set_apart(len(self.candidates), share, seed)
        return self.take(rest), self.take(apart)

    @property
    def width(self) -> int:
        """Number of features, that is of weights."""
        return len(self.candidates.features.names)

    @cached_property
    def dense(self) -> F64:
        """All feature vectors as one matrix (candidates, features). Only for few features."""
        return self.candidates.features.dense()

    @property
    def gain_sign(self) -> float:
        """+1 if the metric is better when higher, else -1: times a score over `scale` it is a gain."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def model_scores(self, weights: F64) -> F64:
        """w.h of every candidate."""
        features = self.candidates.features
        return dot_rows(features.starts, features.columns, features.values, weights)

    def choice(self, weights: F64) -> I64:
        """The 1-best candidate of each sentence that has any."""
        best = best_per_group(self.model_scores(weights), self.candidates.starts)
        return best[best >= 0]

    def corpus_gain(self, weights: F64) -> float:
        """Corpus metric of the 1-best candidates, on the 0..1 scale and so that higher is better."""
        total = self.statistics[self.choice(weights)].sum(axis=0)
        return self.gain_sign * float(self.metric.score(total)) / self.metric.scale

    def spread(self, values: F64) -> F64:
        """Largest less smallest value among the candidates of each sentence that has any."""
        starts = self.candidates.starts
        filled = starts[:-1][np.diff(starts) > 0]
        return np.maximum.reduceat(values, filled) - np.minimum.reduceat(values, filled)

    def counts(self, gains: F64) -> dict[str, float]:
        """How many sentences have no candidate at all, and how many have candidates that differ in gain."""
        sizes = np.diff(self.candidates.starts)
        differing = int((self.spread(gains) > 0).sum()) if sizes.any() else 0
        return {"empty": int((sizes == 0).sum()), "differing": differing}

    @cached_property
    def oracle(self) -> float:
        """The score when each sentence gets the candidate with the best gain of its own."""
        best = best_per_group(self.sentence_gains(), self.candidates.starts)
        return float(self.metric.score(self.statistics[best[best >= 0]].sum(axis=0)))

    def sentence_gains(self, metric: Metric | None = None) -> F64:
        """The gain of each candidate alone (higher is better, 0..1), by the metric's sentence-level form."""
        form = metric or self.metric.sentence_level()
        return self.gain_sign * form.score(self.statistics) / form.scale


def _pool(names: bytes, columns: tuple[Any, ...], metric: Metric, statistics: F64) -> Pool:
    """A pool that another process sent."""
    ids, starts, texts, *rows = columns
    return Pool(Candidates(ids, starts, texts, Features(names_unpack(names), *rows)), metric, statistics)
