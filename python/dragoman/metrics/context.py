"""Scores of a sentence inside a larger text: background and corpus-context forms of any metric.

Statistics are additive, so the score of a sentence in its context is the score of a sum. Both forms answer "what
does the corpus score become with this hypothesis in it", which is smoother than scoring the sentence alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.errors import OptionError
from dragoman.types import F64, Metric

__all__ = ["Background", "corpus_context"]


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """A decaying sum of earlier choices, and scores on top of it (Watanabe 2007, Chiang 2008, Cherry & Foster 2012).

    >>> from dragoman.metrics import Bleu
    >>> background = Background.start(Bleu())
    >>> background = background.add(np.array([5.0, 5, 4, 3, 2, 1, 5, 4, 3, 2]))
    """

    metric: Metric
    total: F64
    decay: float = 0.999
    """What is left of the sum when the next choice is added: 0.999 in k-best MIRA, 0.9 in Chiang's."""

    @classmethod
    def start(cls, metric: Metric, decay: float = 0.999, count: float = 1.0) -> Background:
        """Before the first choice: every statistic at `count` (1 in Cherry & Foster's program)."""
        if not 0 < decay <= 1:
            raise OptionError(f"background: decay must be above 0 and at most 1, found {decay}")
        return cls(metric, np.full(metric.width, count), decay)

    def score(self, statistics: F64) -> F64:
        """The score of background plus hypothesis, for each row."""
        return self.metric.score(self.total + statistics)

    def add(self, statistics: F64) -> Background:
        """The background after choosing a hypothesis."""
        return Background(self.metric, self.decay * self.total + statistics, self.decay)


def corpus_context(metric: Metric, corpus: F64, current: F64, statistics: F64) -> F64:
    """The corpus score if a sentence's `current` row were replaced by each row of `statistics` (Eidelman 2012).

    `corpus` is the sum over the previous pass's 1-best outputs, `current` among them.
    """
    return metric.score(corpus - current + statistics)
