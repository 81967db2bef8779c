"""Features in units of their own spread: for tuners whose steps or priors are the same for all weights.

A quality score differs by 0.02 between candidates where a log-probability differs by 20. AdaGrad moves both weights by
the same few tenths, and a Gaussian prior pulls at both alike: so the score would never be heard. With w = (k/s) v,
where s is a feature's spread and k makes the largest v of the start 1, the tuner works on v with the features h/s, and
what it finds is w again. Choices from lists do not depend on k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from dragoman._core import names_dense
from dragoman.tuning.limits import Limits
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import Session
from dragoman.tuning.state import State
from dragoman.types import F64

__all__ = ["APART", "Units", "in_units", "spreads"]

Units = Literal["auto", "raw", "spread"]
APART = 100.0
"""Where the spreads of dense features differ by more than this factor, `auto` measures features by them."""
_FEW = 2000
"""Up to so many features, their spreads are looked at."""
_FACTOR = "factor"
"""Where a state keeps k."""


def spreads(pool: Pool) -> F64:
    """For each feature its mean distance from the sentence's mean, over candidates of sentences in which it differs.

    So a feature that rarely differs is not taken for one in small units. It is 1 for sparse features, which are counts,
    and for those that never differ.
    """
    names, candidates = pool.candidates.features.names, pool.candidates
    sentence, sizes = candidates.sentence, np.maximum(np.diff(candidates.starts), 1)
    units = np.ones(pool.width)
    for column in np.flatnonzero(names_dense(names)):
        values = pool.dense[:, column]
        means = np.bincount(sentence, values, minlength=len(candidates)) / sizes
        # What rounding of the mean leaves is no difference.
        apart = np.abs(values - means[sentence])
        apart[apart <= 1e-9 * np.abs(values).max(initial=0.0)] = 0.0
        differs = np.bincount(sentence, apart, minlength=len(candidates)) > 0
        if differs.any():
            units[column] = apart[differs[sentence]].mean()
    return units


def in_units(units: Units, pool: Pool, limits: Limits, opened: Callable[[Pool, Limits], Session]) -> Session:
    """The session that `opened` gives over a pool, with features in these units."""
    if units == "raw" or pool.width > _FEW:
        return opened(pool, limits)
    scale = spreads(pool)
    dense = scale[np.flatnonzero(names_dense(pool.candidates.features.names))]
    if units == "auto" and not dense.max(initial=0.0) > APART * dense.min(initial=np.inf):
        return opened(pool, limits)
    return _InUnits(pool, limits, scale, opened)


class _InUnits:
    """A session on v where w = (k/s) v. Its states have the weights w; the slots are those of the session on v."""

    def __init__(self, pool: Pool, limits: Limits, scale: F64, opened: Callable[[Pool, Limits], Session]) -> None:
        rows = pool.candidates.features
        features = replace(rows, values=rows.values / scale[rows.columns])
        self._pool = Pool(replace(pool.candidates, features=features), pool.metric, pool.statistics)
        self._limits, self._scale, self._opened = limits, scale, opened
        self._session: tuple[float, Session] | None = None

    def _over(self, factor: float) -> Session:
        """The session on v for a factor k; it is made once, since k is that of the start."""
        if self._session is None or self._session[0] != factor:
            unit = self._scale / factor
            self._session = (
                factor,
                self._opened(self._pool, Limits(self._limits.lower * unit, self._limits.upper * unit)),
            )
        return self._session[1]

    def begin(self, start: F64) -> State:
        """The state before the first step."""
        begun = self._limits.clip(np.asarray(start, dtype=np.float64))
        factor = float(np.abs(begun * self._scale).max(initial=0.0)) or 1.0
        return self._named(self._over(factor).begin(begun * self._scale / factor), factor)

    def step(self, state: State) -> State:
        """The next state."""
        factor = state.number(_FACTOR, 1.0)
        inner = replace(state, weights=state.weights * (self._scale / factor))
        return self._named(self._over(factor).step(inner), factor)

    def _named(self, state: State, factor: float) -> State:
        """A state of the session on v, with the weights w."""
        # Dividing by what was multiplied with may miss a limit by a bit.
        weights = self._limits.clip(state.weights * (factor / self._scale))
        return replace(state, weights=weights, numbers={**state.numbers, _FACTOR: factor})
