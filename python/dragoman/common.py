"""Options that several parts have: seed, threads, memory. A dataclass of options inherits from these."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.errors import OptionError
from dragoman.options import check, option

__all__ = ["Engined", "Seeded", "Sorting", "Threaded"]

# Without slots, so that a dataclass can inherit from several of them.


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """What is random is drawn from a seed."""

    seed: int = option(0, help="Seed of everything random.", min=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Threaded:
    """Work on several cores; the result does not depend on their number."""

    threads: int | None = option(None, help="Threads to use. The result is the same with any number.", min=1,
                                 usual="all cores")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Engined(Threaded):
    """Work that an engine does: on this machine, or on many."""

    engine: str = option(
        "threads",
        help="Who does the work: threads, processes, ray (a cluster of this machine), ray://HOST:PORT (one that is "
        "there; see docs/cluster.md), or one of yours, FILE.py:NAME.",
    )


_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([KMGT]?)B?", re.IGNORECASE)


def _check_size(text: str) -> None:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise OptionError(f"memory must be an amount such as 512M or 1G, found `{text}`")
    if float(found[1]) * 2.0 ** _UNITS[found[2].upper()] < 1 << 20:
        raise OptionError(f"memory must be at least 1M, found `{text}`")


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """Work that sorts more than may fit into memory; the result does not depend on the memory."""

    memory: str = option(
        "2G",
        help="Memory for sorting, 512M or 4G; what does not fit goes to temporary files. The result is the same.",
        metavar="SIZE",
        valid=_check_size,
    )

    def __post_init__(self) -> None:
        check(self)
