"""What the writer of a sentence asks of its translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Constraints"]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the writer of a sentence asks of its translation. Spans are (first word, word after the last)."""

    given: Sequence[tuple[int, int, str, float]] = ()
    """Translations of spans with their log probabilities."""
    exclusive: bool = True
    """Whether given translations rule out others for their words."""
    walls: Sequence[int] = ()
    """All before such a position is translated before anything after it."""
    zones: Sequence[tuple[int, int]] = ()
    """Spans that are translated in one go."""

    def native(self) -> tuple[list[tuple[int, int, str, float]], bool, list[int], list[tuple[int, int]]]:
        """As the native side reads it."""
        return list(self.given), self.exclusive, list(self.walls), list(self.zones)
