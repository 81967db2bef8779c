"""How widely to search, and among what."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.options import check, option

__all__ = ["Search", "Settings"]


@dataclass(frozen=True, slots=True)
class Search:
    """How widely to search, and among what."""

    stack_size: int = option(400, help="Hypotheses that each stack keeps.", min=1, was=["stack"])
    pop_limit: int = option(
        600,
        help="Hypotheses that each stack takes from the cube, best first; 0 makes them all (stack search).",
        min=0,
        was=["pops"],
    )
    threshold: float = option(
        float("inf"), help="Hypotheses worse than the stack's best by more than this are dropped.", min=0
    )
    distortion_limit: int = option(
        6, help="Source words that a jump may skip; 0 is monotone, -1 no limit.", min=-1, was=["distortion"]
    )
    table_limit: int = option(
        20,
        help="Translations of a source phrase that are kept, from each table; 0 keeps all.",
        min=0,
        was=["options"],
    )
    drop_unknown: bool = option(False, help="Leave out words that no table knows, instead of copying them.")
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
class Settings(Search):
    """All that one call wants, as the native side reads it."""

    size: int = 1
    distinct: bool = True
    features: bool = False
    explain: bool = False
