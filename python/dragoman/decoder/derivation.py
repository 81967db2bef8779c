"""How a translation came about: phrases, and what each feature says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Derivation", "Phrase"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A step of a derivation: a source span, what it became, and what each feature says about it."""

    start: int
    end: int
    source: str
    target: str
    origin: str
    """`rule`, `unknown`, `given`, or `glue`, which puts neighbouring spans together and ends the sentence."""
    features: Mapping[str, float]
    depth: int = 0
    """Rules around it, in a hierarchical system, where `[X,1]` and `[X,2]` are gaps: what fills them comes next."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The best derivation of a sentence, explained."""

    score: float
    """Weights times features, and the log probabilities of given translations, which no feature has."""
    phrases: Sequence[Phrase]
    weights: Mapping[str, float] = field(repr=False)
    """Of the features that fire in it."""
    text: str
    """The translation."""
