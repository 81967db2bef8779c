"""Choosing from n-best lists: the best under given weights, or the least expected loss."""

from __future__ import annotations

import numpy as np

from dragoman.errors import OptionError
from dragoman.types import F64, I64, Candidates, Hypotheses, Metric, Texts

__all__ = ["mbr"]


def mbr(candidates: Candidates, metric: Metric, scale: float = 1.0) -> I64:
    """For each sentence the candidate with the least expected loss (the row; -1 where there is none).

    Candidates are believed with probability proportional to exp(scale x model score); the loss is the metric's, for a
    candidate against each other one as the reference.
    """
    if candidates.totals is None:
        raise OptionError("minimum Bayes risk needs the model scores of the candidates")
    chosen = np.full(len(candidates), -1, dtype=np.int64)
    level = metric.sentence_level()
    sign = 1.0 if metric.higher_is_better else -1.0
    for sentence, (first, last) in enumerate(zip(candidates.starts[:-1], candidates.starts[1:], strict=True)):
        if last > first:
            rows = np.arange(first, last, dtype=np.int64)
            gains = sign * _pairwise(candidates.texts.take(rows), level)
            logits = scale * candidates.totals[rows]
            belief = np.exp(logits - logits.max())
            chosen[sentence] = first + int(np.argmax(gains @ (belief / belief.sum())))
    return chosen


def _pairwise(texts: Texts, metric: Metric) -> F64:
    """The score of each text (row) against each (column) as its reference."""
    count = len(texts)
    references = metric.prepare([[text] for text in texts.to_list()])
    every = np.arange(count, dtype=np.int64)
    pairs = Hypotheses(texts.take(np.tile(every, count)), np.repeat(every, count))
    scores: F64 = metric.score(references.statistics(pairs)).reshape(count, count).T
    return scores
