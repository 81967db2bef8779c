"""The expected gain: a smooth stand-in for the corpus gain, and its gradient (Galley et al. 2013, 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.tuning.tuners.mert.surface import Surface
from dragoman.types import F64

__all__ = ["ExpectedGain"]

_STEP = 1e-5
"""Relative step of the central differences: their error is of the order of its square."""
_SOLVED = 1e-4
"""Conjugate gradients end when the residue is this small, squared and relative."""


@dataclass(frozen=True, eq=False)
class ExpectedGain:
    """The gain of the expected statistics when candidates are drawn with P ~ exp(mu w.h).

    This is the paper's first-order Taylor form, for every metric: the derivative of the gain by the (few)
    statistics is taken by central differences, the rest by the chain rule. For BLEU the direction is the
    paper's: the derivative of log BLEU is that of BLEU over BLEU, the same factor for every weight. As mu
    grows, the expected gain becomes the corpus gain.
    """

    surface: Surface
    log: bool = False
    """Its logarithm instead: for BLEU min(1 - R/E[C], 0) + 1/N sum_n (log E[m_n] - log E[c_n]), as printed."""

    def value(self, weights: F64, mu: float) -> float:
        """The expected gain."""
        _, expected = self.surface.lines.expect(self.surface.product(weights), mu)
        gain = float(self.surface.gains(expected))
        return float(np.log(gain)) if self.log else gain

    def gradient(self, scores: F64, mu: float) -> F64:
        """Its gradient by the weights, at the point with these scores `w.h`.

        dP/dw_i = mu P (h_i - E[h_i]), so the gradient is mu sum P (q - E[q]) h with q = statistics . slope.
        """
        chances, expected = self.surface.lines.expect(scores, mu)
        return mu * self.surface.lines.gradient(chances, self._slope(expected))

    def natural(self, scores: F64, mu: float, steps: int, less: F64) -> F64:
        """The natural gradient F^-1 (g - less), to a few digits: it does not depend on how features are scaled.

        F = mu^2 sum Cov(h) is the Fisher information of P. The system is solved by conjugate gradients with products
        only, so F is never stored. Where mu is small this is the least-squares fit of the gains by the features,
        while g itself is off by the chance correlations of the features: by sqrt(features / candidates).
        """
        chances, expected = self.surface.lines.expect(scores, mu)
        residue = mu * self.surface.lines.gradient(chances, self._slope(expected)) - less
        solution, towards = np.zeros_like(residue), residue.copy()
        size = first = float(residue @ residue)
        for _ in range(steps):
            if size <= _SOLVED * first:
                break
            image = self.surface.lines.covary(chances, self.surface.product(towards))
            bend = float(towards @ image)
            if not bend > 0.0:
                break
            solution += size / bend * towards
            residue -= size / bend * image
            size, last = float(residue @ residue), size
            towards = residue + size / last * towards
        return solution / mu**2

    def _slope(self, expected: F64) -> F64:
        """The derivative of the gain by each expected statistic."""
        step = _STEP * np.maximum(1.0, np.abs(expected))
        ends = expected + np.diag(step), expected - np.diag(step)
        up, down = (self.surface.gains(rows) for rows in ends)
        slope = (up - down) / (2 * step)
        if self.log:
            slope = slope / float(self.surface.gains(expected))
        return np.where(np.isfinite(slope), slope, 0.0)
