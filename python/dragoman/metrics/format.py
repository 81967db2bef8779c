"""Scores as text, with the digits that their scale deserves."""

from __future__ import annotations

import math

from dragoman.types import Metric

__all__ = ["digits", "format_score"]


def digits(metric: Metric) -> int:
    """Digits after the point: a ten-thousandth of the metric's scale, and never fewer than two.

    >>> from dragoman.metrics import Bleu, External
    >>> digits(Bleu()), digits(External("comet"))
    (2, 4)
    """
    return max(2, 4 - math.floor(math.log10(metric.scale)))


def format_score(score: float, metric: Metric, *, sign: bool = False) -> str:
    """A score, or with `sign` a difference of scores, as text.

    >>> from dragoman.metrics import Bleu, External
    >>> format_score(31.7349, Bleu()), format_score(0.61342, External("comet"))
    ('31.73', '0.6134')
    >>> format_score(0.0071, External("comet"), sign=True)
    '+0.0071'
    """
    return format(score, f"{'+' if sign else ''}.{digits(metric)}f")
