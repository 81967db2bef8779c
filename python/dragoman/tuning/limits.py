"""Bounds of weights: by name, as users give them, and as arrays, as kernels want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dragoman.errors import OptionError
from dragoman.types import F64, Names, Weights

__all__ = ["Bounds", "Limits", "NamedLimits"]

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds on each weight; equal bounds fix it. Every tuner keeps its weights inside them."""

    lower: F64
    upper: F64

    @classmethod
    def none(cls, width: int) -> Limits:
        """No bounds."""
        return cls(np.full(width, -np.inf), np.full(width, np.inf))

    @property
    def bounded(self) -> bool:
        """Whether any weight is bounded at all."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @property
    def free(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which weights may move."""
        return self.lower < self.upper

    def clip(self, weights: F64) -> F64:
        """The nearest weights inside the bounds."""
        return np.clip(weights, self.lower, self.upper)


@dataclass(frozen=True)
class NamedLimits:
    """What users say of weights, by name: so it holds for features that are met later, too.

    >>> NamedLimits(fixed=("LM",)).at(Weights.of({"LM": 0.5})).bounds
    {'LM': (0.5, 0.5)}
    """

    fixed: Sequence[str] = ()
    """Features whose weights stay as they start."""
    bounds: Bounds = field(default_factory=dict)
    """Lowest and highest weight of features."""

    def __post_init__(self) -> None:
        for name, (low, high) in self.bounds.items():
            if not low <= high:
                raise OptionError(f"the bounds of {name} are empty: {low} to {high}")

    @property
    def names(self) -> list[str]:
        """All names that anything is said of."""
        return list(dict.fromkeys([*self.fixed, *self.bounds]))

    def at(self, start: Weights) -> NamedLimits:
        """The limits of a run with these start weights: fixed weights become bounds."""
        fixed = {name: (start[name], start[name]) for name in self.fixed}
        return replace(self, bounds={**fixed, **self.bounds})

    def arrays(self, names: Names, width: int | None = None) -> Limits:
        """Bounds of the features known by now, in the order of their names."""
        limits = Limits.none(len(names) if width is None else width)
        for name, (low, high) in self.bounds.items():
            place = names.get(name)
            if place is not None and place < len(limits.lower):
                limits.lower[place], limits.upper[place] = low, high
        return limits

    def places(self, names: Names, width: int) -> tuple[list[int], list[int]]:
        """The numbers of features that are fixed, and of those that are bounded otherwise."""
        known = {name: names.get(name) for name in self.bounds}
        fixed: list[int] = []
        free: list[int] = []
        for name, (low, high) in self.bounds.items():
            place = known[name]
            if place is not None and place < width:
                (fixed if low == high else free).append(place)
        return fixed, free

    def clip(self, weights: F64, names: Names) -> F64:
        """The nearest weights inside the bounds. Costs as much as there are bounds."""
        if not self.bounds:
            return weights
        clipped: F64 = weights.copy()
        for name, (low, high) in self.bounds.items():
            place = names.get(name)
            if place is not None and place < len(clipped):
                clipped[place] = min(max(clipped[place], low), high)
        return clipped
