"""N-best dialects: those of the core by name, and one of your own as a class that parses and formats lines.

    class Tabs:
        def parse(self, line): ...     # a record: {"id": 0, "text": "a house", "features": {"LM": -1.5}}
        def format(self, record): ...  # the line of a record; only needed for writing

Records have the keys of JSON lines (`dragoman.nbest`). `docs/own-dialect.md` has a complete file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from dragoman import registry
from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.files import read_text
from dragoman.types import Candidates, Names

__all__ = ["CORE", "Dialect", "dialect_of", "formatted", "parsed"]

CORE = ("moses", "cdec", "travatar", "jsonl")
"""The dialects of the core: they are read and written in a stream."""


class Dialect(Protocol):
    """How the lines of a list are read; with a method `format(record)` they can be written, too."""

    def parse(self, line: str) -> Mapping[str, Any] | None:
        """The record of a line; None for a line without a candidate. Any exception is an error of that line."""
        ...


@dataclass(frozen=True, slots=True)
class CoreDialect:
    """A dialect of the core."""

    name: str

    def parse(self, line: str) -> None:
        """Lines are parsed in the core."""
        raise OptionError(f"the dialect {self.name} is read by the core: found a single line, `{line}`")


moses, cdec, travatar, jsonl = (CoreDialect(name) for name in CORE)


def dialect_of(format: str) -> Dialect | None:
    """The dialect of users that a name means; None for one of the core and for `auto`."""
    if format == "auto" or format in CORE:
        return None
    found: Dialect = registry.make("dialect", format)
    return None if isinstance(found, CoreDialect) else found


def parsed(path: str | PathLike[str], dialect: Dialect, names: Names, batch: int) -> Iterator[Candidates]:
    """Candidates of a file in batches of whole sentences."""
    name = os.fspath(path)
    waiting: list[Mapping[str, Any]] = []
    any_read = False
    for number, line in zip(count(1), read_text(Path(name)), strict=False):
        try:
            record = dialect.parse(line)
        except DragomanError as error:
            raise InputError(f"{name}:{number}: {error}", name, number) from error
        except Exception as error:
            raise InputError(f"{name}:{number}: {type(error).__name__}: {error}", name, number) from error
        if record is None:
            continue
        if len(waiting) >= batch and record.get("id") != waiting[-1].get("id"):
            yield Candidates.from_records(waiting, names)
            any_read, waiting = True, []
        waiting.append(record)
    if waiting or not any_read:
        yield Candidates.from_records(waiting, names)


def formatted(candidates: Candidates, dialect: Dialect) -> list[str]:
    """The lines of candidates."""
    form = getattr(dialect, "format", None)
    if form is None:
        raise OptionError(f"the dialect {type(dialect).__name__} can be read only: it has no method `format`")
    lines = []
    for record in candidates.to_records():
        line = form(record)
        if not isinstance(line, str) or "\n" in line:
            raise OptionError(f"the dialect {type(dialect).__name__} must format a record as one line, found {line!r}")
        lines.append(line)
    return lines
