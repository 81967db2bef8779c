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
    """`rule`, `unknown` or `given`."""
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Derivation:
    """The best derivation of a sentence, explained."""

    score: float
    """Weights times features, and the log probabilities of given translations, which no feature has."""
    phrases: Sequence[Phrase]
    weights: Mapping[str, float] = field(repr=False)
    """Of the features that fire in it."""

    @property
    def text(self) -> str:
        """The translation."""
        return " ".join(phrase.target for phrase in self.phrases if phrase.target)
