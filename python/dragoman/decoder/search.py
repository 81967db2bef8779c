"""How widely to search, and among what."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.errors import OptionError

__all__ = ["Search", "Settings"]


@dataclass(frozen=True, slots=True)
class Search:
    """How widely to search, and among what."""

    stack_size: int = 400
    """Hypotheses that each stack keeps."""
    pop_limit: int = 600
    """Hypotheses that each stack takes from the cube, best first; 0 makes them all (stack search)."""
    threshold: float = float("inf")
    """Hypotheses worse than the stack's best by more than this are dropped."""
    distortion_limit: int = 6
    """Source words that a jump may skip: 0 is monotone, -1 is no limit."""
    table_limit: int = 20
    """Translations of a source phrase that are kept, from each table; 0 keeps all."""
    drop_unknown: bool = False
    """Leaves out words that no table knows; else they are copied."""
    deadline: float = 0.0
    """Seconds for a sentence, after which the search goes on greedily; 0 is no limit. Such results depend on the
    machine."""
    memory: int = 1 << 30
    """Bytes for a sentence, after which the search goes on greedily."""
    markup: bool = False
    """Reads `<n translation="...">`, `<wall/>` and `<zone>` in the input; else `<` is just text."""

    def __post_init__(self) -> None:
        for name, least in (
            ("stack_size", 1),
            ("pop_limit", 0),
            ("distortion_limit", -1),
            ("table_limit", 0),
            ("memory", 0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
                raise OptionError(f"{name} must be a whole number of at least {least}, found {value}")
        for name in ("threshold", "deadline"):
            if not getattr(self, name) >= 0:  # nor NaN
                raise OptionError(f"{name} must be a number of at least 0, found {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Settings(Search):
    """All that one call wants, as the native side reads it."""

    size: int = 1
    distinct: bool = True
    features: bool = False
    explain: bool = False
