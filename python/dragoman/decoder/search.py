"""How widely to search, and among what."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman._core import Stop
from dragoman.errors import OptionError
from dragoman.options import check, option

__all__ = ["Patience", "Search", "Settings", "check_system"]


@dataclass(frozen=True, slots=True)
class Search:
    """How widely to search, and among what."""

    stack_size: int = option(400, help="Hypotheses that each stack keeps; phrase-based.", min=1, was=["stack"])
    cell_limit: int = option(200, help="Hypotheses that each cell of a chart keeps; 0 keeps all; hierarchical.", min=0)
    pop_limit: int = option(
        600,
        help="Hypotheses that each stack or cell takes from the cube, best first; 0 makes them all.",
        min=0,
        was=["pops"],
    )
    threshold: float = option(
        float("inf"), help="Hypotheses worse than the best of their stack or cell by more than this are dropped.", min=0
    )
    distortion_limit: int = option(
        6,
        help="Source words that a jump may skip; 0 is monotone, -1 no limit; phrase-based.",
        min=-1,
        was=["distortion"],
    )
    span_limit: int = option(
        20, help="Source words that a rule may span, gaps included; hierarchical.", min=1, max=1000
    )
    table_limit: int = option(
        20,
        help="Translations of a source phrase that are kept, from each table; 0 keeps all.",
        min=0,
        was=["options"],
    )
    drop_unknown: bool = option(False, help="Leave out words that no table knows, instead of copying them.")
    pass_through: bool = option(
        False, help="Let every word be copied, besides its translations, not only unknown ones; hierarchical."
    )
    deadline: float = option(
        0.0,
        help="Seconds for a sentence, after which the search goes on greedily; 0 is no limit. Such results depend on "
        "the machine.",
        min=0,
    )
    memory: int = option(
        1 << 30, help="Bytes for a sentence, after which the search goes on greedily.", min=0, usual="1 GiB"
    )
    markup: bool = option(
        False, help='Read <n translation="...">, <wall/> and <zone> in the input; else `<` is just text.'
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a caller waits for an answer; a search that takes longer goes on greedily."""

    seconds: float = 0.0
    """For each sentence; 0 is no limit, other than that of `Search`."""
    stop: Stop | None = None
    """Who may say that the answer is not wanted any more."""


_OTHERS = {
    "phrase": ("cell_limit", "span_limit", "pass_through"),
    "hiero": ("stack_size", "distortion_limit"),
}
"""Options that do nothing in a system."""


def check_system(search: Search, system: str) -> None:
    """Refuses what would have no effect in such a system."""
    usual = Search()
    for name in _OTHERS[system]:
        if getattr(search, name) != getattr(usual, name):
            kind = "hierarchical" if system == "hiero" else "phrase-based"
            raise OptionError(f"{name} has no effect in a {kind} system, as this model is: leave it out")


@dataclass(frozen=True, slots=True)
class Settings(Search):
    """All that one call wants, as the native side reads it."""

    size: int = 1
    distinct: bool = True
    features: bool = False
    explain: bool = False
    stop: Stop | None = None
    """Who may say that the result is not wanted any more."""
