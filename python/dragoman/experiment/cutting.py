"""Parts of a data set (some lines, no duplicates, no sentences of other texts), and several data sets as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman.errors import InputError, OptionError
from dragoman.files import read_parallel, read_text, write_text

__all__ = ["Part", "cut", "join"]


@dataclass(frozen=True)
class Part:
    """Which lines of a text are taken; line numbers count from 1."""

    lines: str = ""
    """`1-8000`, or several: `1-100,201-300`; `5-` goes to the end."""
    every: str = ""
    """`0/5`: the lines whose number modulo 5 is 0: one fold of five."""
    leave: str = ""
    """The same, left out."""
    distinct: bool = False
    """Whether a pair that is there already is left out."""

    def __post_init__(self) -> None:
        _ranges(self.lines)
        for text in (self.every, self.leave):
            _fold(text)

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Part()

    def chosen(self, count: int) -> npt.NDArray[np.bool_]:
        """Which of `count` lines are taken, by their numbers alone."""
        numbers = np.arange(1, count + 1)
        taken = np.ones(count, dtype=bool)
        if self.lines:
            taken = np.zeros(count, dtype=bool)
            for first, last in _ranges(self.lines):
                taken |= (numbers >= first) & (numbers <= (last or count))
        for text, wanted in ((self.every, True), (self.leave, False)):
            fold = _fold(text)
            if fold:
                taken &= (numbers % fold[1] == fold[0]) == wanted
        return taken


def cut(texts: Sequence[str | Path], part: Part, out: Path, without: Sequence[str | Path] = ()) -> int:
    """Writes a part of texts that belong together to files of the same order, `out/0`, `out/1`, ...; how many lines.

    `without` are texts in the language of the first one, whose sentences are left out.
    """
    columns = read_parallel(texts)
    taken = part.chosen(len(columns[0]))
    others = {line for path in without for line in read_text(path)}
    seen: set[tuple[str, ...]] = set()
    rows = []
    for number in np.flatnonzero(taken).tolist():
        row = tuple(column[number] for column in columns)
        if row[0] in others or (part.distinct and row in seen):
            continue
        seen.add(row)
        rows.append(row)
    if not rows:
        raise InputError(f"{texts[0]}: no line is left by {part}", str(texts[0]))
    out.mkdir(parents=True, exist_ok=True)
    for place, column in enumerate(zip(*rows, strict=True)):
        write_text(out / str(place), list(column))
    return len(rows)


def join(sets: Sequence[Sequence[str | Path]], out: Path) -> int:
    """Writes data sets one after the other to `out/0`, `out/1`, ...; how many lines."""
    columns = [read_parallel(texts) for texts in sets]
    out.mkdir(parents=True, exist_ok=True)
    for place in range(len(columns[0])):
        write_text(out / str(place), [line for texts in columns for line in texts[place]])
    return sum(len(texts[0]) for texts in columns)


def _ranges(text: str) -> list[tuple[int, int | None]]:
    found = []
    for item in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*(\d+)\s*(-\s*(\d*))?\s*", item)
        if not match:
            raise OptionError(f"lines must be ranges such as 1-8000 or 1-100,201-300, found `{text}`")
        first = int(match[1])
        last = first if match[2] is None else int(match[3]) if match[3] else None
        if first < 1 or (last is not None and last < first):
            raise OptionError(f"lines must be ranges that count from 1 upwards, found `{text}`")
        found.append((first, last))
    return found


def _fold(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise OptionError(f"every must be FOLD/FOLDS such as 0/5, with a fold below their number, found `{text}`")
    return int(match[1]), int(match[2])
