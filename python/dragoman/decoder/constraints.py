"""What the writer of a sentence asks of its translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Constraints", "Demands"]

Demands = tuple[list[tuple[int, int, str, float, bool, bool]], list[int], list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the writer of a sentence asks of its translation.

    Places refer to what is translated: for `Decoder`, and for `Translator` with `tokenized=True`, they count words; for
    plain text they count characters, and given translations are plain text, too. A span is its first place and the one
    after its last.
    """

    given: Sequence[tuple[int, int, str, float]] = ()
    """Translations of spans with their log probabilities."""
    exclusive: bool = True
    """Whether given translations rule out others for their words."""
    walls: Sequence[int] = ()
    """All before such a position is translated before anything after it."""
    zones: Sequence[tuple[int, int]] = ()
    """Spans that are translated in one go."""
    terms: Sequence[tuple[int, int, str, float, bool]] = ()
    """Terms of a glossary, always in words: span, translation, a log probability, whether it rules out others."""

    def native(self) -> Demands:
        """As the native side reads it."""
        given = [(start, end, text, log, self.exclusive, False) for start, end, text, log in self.given]
        terms = [(start, end, text, log, exclusive, True) for start, end, text, log, exclusive in self.terms]
        return given + terms, list(self.walls), list(self.zones)
