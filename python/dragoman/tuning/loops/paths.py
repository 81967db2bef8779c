"""Oracle and prediction of one sentence from its forest: a list of the few paths that online MIRA may want."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.tuning.loops.forests import forest_pool
from dragoman.tuning.state import padded
from dragoman.types import F64, Candidates, Features, Forests, Hypotheses, Metric, Source, Texts, Weights

if TYPE_CHECKING:
    from dragoman.tuning.tuners.mira import Mira

__all__ = ["Paths"]

_WISHES = {
    "mb": (0.0, 1.0), "hope": (1.0, 1.0),
    "pb": (1.0, 0.0), "mc": (0.0, -1.0), "fear": (1.0, -1.0),
}  # fmt: skip
"""What each strategy is a maximum of: factors of the model score and of the gain."""


class Paths:
    """Lists of up to three paths: the 1-best, the oracle and the prediction."""

    def __init__(self, source: Source, references: Sequence[Sequence[str]], metric: Metric, tuner: Mira) -> None:
        assert isinstance(source, Forests)
        self.source, self.references, self.metric, self.tuner = source, references, metric, tuner
        self.level = metric.sentence_level()
        forest_pool(metric, [])  # tells a metric that cannot be searched for

    def candidates(
        self, sentence: int, weights: Weights, others: F64 | None, unit: Callable[[F64], float], threads: int | None
    ) -> Candidates:
        """The list of a sentence, 1-best first. Gains are those on top of `others`, or of the sentence alone.

        They are multiplied by `unit`, which is given the statistics of the 1-best translation.
        """
        found = self.source.forests([sentence], weights, self.tuner.density, threads)
        names, references = found.names, [list(self.references[sentence])]
        metric = self.level if others is None else self.metric
        pool = forest_pool(metric, references)
        pool.add(0, np.zeros(1, dtype=np.int64), found.native)
        values = padded(np.asarray(weights.values), len(names))
        base = np.zeros(metric.width) if others is None else others
        texts, starts, columns, rows = pool.seek(0, values, [], base, 0.0)
        if len(texts):
            best = metric.prepare(references).statistics(Hypotheses.one_each(texts))[0]
            wishes = [_WISHES[self.tuner.oracle], _WISHES[self.tuner.prediction]]
            texts, starts, columns, rows = pool.seek(0, values, wishes, base, unit(best))
        ends = np.array([0, len(texts)], dtype=np.int64)
        return Candidates(Texts([str(sentence)]), ends, texts, Features(names, starts, columns, rows))
