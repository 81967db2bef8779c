"""The expected gain: a smooth stand-in for the corpus gain, and its gradient (Galley et al. 2013, 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.tune.surface import Surface
from dragoman.types import F64

__all__ = ["ExpectedGain"]

_STEP = 1e-5
"""Relative step of the central differences: their error is of the order of its square."""


@dataclass(frozen=True, eq=False)
class ExpectedGain:
    """The gain of the expected statistics when candidates are drawn with P ~ exp(mu w.h).

    This is the paper's first-order Taylor form, for every metric: the derivative of the gain by the (few)
    statistics is taken by central differences, the rest by the chain rule. For BLEU the direction is the
    paper's: the derivative of log BLEU is that of BLEU over BLEU, the same factor for every weight. As mu
    grows, the expected gain becomes the corpus gain.
    """

    surface: Surface

    def value(self, weights: F64, mu: float) -> float:
        """The expected gain."""
        _, expected = self.surface.lines.expect(self.surface.product(weights), mu)
        return float(self.surface.gains(expected))

    def gradient(self, scores: F64, mu: float) -> F64:
        """Its gradient by the weights, at the point with these scores `w.h`.

        dP/dw_i = mu P (h_i - E[h_i]), so the gradient is mu sum P (q - E[q]) h with q = statistics . slope.
        """
        chances, expected = self.surface.lines.expect(scores, mu)
        return mu * self.surface.lines.gradient(chances, self._slope(expected))

    def _slope(self, expected: F64) -> F64:
        """The derivative of the gain by each expected statistic."""
        step = _STEP * np.maximum(1.0, np.abs(expected))
        ends = expected + np.diag(step), expected - np.diag(step)
        up, down = (self.surface.gains(rows) for rows in ends)
        slope = (up - down) / (2 * step)
        return np.where(np.isfinite(slope), slope, 0.0)
