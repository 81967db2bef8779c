"""What pickled values need on the machine where they arrive: folders of files that are not in their pickled form.

A class whose objects travel as the path of a folder says so by `need` while it is pickled. An engine with other
machines learns of it by `noting`, and sees to it that each machine has the folder: where all mount the same storage it
is only checked, else it is sent as one file and `place` leads to where it was put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Folder", "moved", "need", "noting", "place"]

_noted: ContextVar[dict[str, Folder] | None] = ContextVar("noted", default=None)
_MOVED: dict[str, str] = {}
"""Where folders are that were sent to this machine, by their keys."""


@dataclass(frozen=True)
class Folder:
    """A folder that a value needs. What it names must be picklable: other machines call it."""

    key: str
    """Tells it from all others; of two with equal keys the content is equal."""
    path: str
    check: Callable[[str], Any]
    """Raises an error unless what is at a path is what is needed."""
    pack: Callable[[Path], None]
    """Writes one file with all of it."""
    unpack: Callable[[Path], Path]
    """Makes a folder of that file, verifies it, and says where it is."""


def need(key: str, make: Callable[[], Folder]) -> None:
    """Says that what is being pickled needs a folder."""
    noted = _noted.get()
    if noted is not None and key not in noted:
        noted[key] = make()


@contextmanager
def noting() -> Iterator[dict[str, Folder]]:
    """Collects, by their keys, the folders that values need which are pickled inside of the block."""
    noted: dict[str, Folder] = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def moved(key: str, path: Path) -> None:
    """Notes where a folder is on this machine."""
    _MOVED[key] = str(path)


def place(key: str) -> str | None:
    """Where a folder is that was sent to this machine; None for one that was not."""
    return _MOVED.get(key)
