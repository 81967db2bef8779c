"""Translations on their way to a file: kept line by line beside it, so that an interrupted command can go on.

The hidden file `.NAME.unfinished` has a first line with what the translations depend on, then a JSON line for each.
Another command, text, model or weights begin anew. The output appears under its name when it is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import msgspec

from dragoman._core import VERSION
from dragoman.errors import DragomanError, EngineError, InputError
from dragoman.files import Lines

__all__ = ["Kept", "Unfinished"]


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """What is kept of a sentence."""

    text: str
    links: str
    unknown: list[str]
    terms: list[tuple[int, str]]
    """Terms of a glossary by number, and why each was not used, if it was not."""


class Unfinished:
    """The hidden file. One command at a time writes it."""

    def __init__(self, output: Path, system: Sequence[str], options: Sequence[Any]) -> None:
        self.path = output.with_name(f".{output.name}.unfinished")
        described = msgspec.json.encode([VERSION, system, options])
        key = hashlib.blake2b(described, digest_size=16).hexdigest()
        self._head = f'{{"dragoman translate": "{key}"}}\n'.encode()
        self._file: IO[bytes] | None = None

    def begin(self) -> int:
        """Opens the file; how many sentences the same command has done."""
        try:
            self._file = self.path.open("a+b")
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror}", str(self.path)) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError(f"{self.path}: another command is at work on this output", str(self.path)) from None
        self._file.seek(0)
        if self._file.readline() != self._head:
            self._file.truncate(0)
            self._file.write(self._head)
            self._file.flush()
            return 0
        whole, count = self._file.tell(), 0
        for line in self._file:
            if not _is_whole(line):
                break
            whole, count = whole + len(line), count + 1
        self._file.truncate(whole)  # a line that a kill cut
        self._file.seek(whole)
        return count

    def add(self, kept: Kept) -> None:
        """Writes a sentence; it is there even if the next one is never reached."""
        assert self._file is not None
        self._file.write(msgspec.json.encode(kept) + b"\n")
        self._file.flush()

    def __iter__(self) -> Iterator[Kept]:
        assert self._file is not None
        self._file.seek(len(self._head))
        for line in self._file:
            yield msgspec.json.decode(line, type=Kept)

    def finish(self, output: str, align_out: str | None) -> tuple[list[str], list[tuple[int, str]]]:
        """Writes what was kept under its own names; the unknown words of all sentences, and their terms."""
        unknown: list[str] = []
        terms: list[tuple[int, str]] = []
        with ExitStack() as stack:
            texts = stack.enter_context(Lines(output))
            links = stack.enter_context(Lines(align_out)) if align_out else None
            for kept in self:
                texts.write(kept.text)
                unknown += kept.unknown
                terms += kept.terms
                if links is not None:
                    links.write(kept.links)
        return unknown, terms

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Done, or wrong input, which the same command could not go on from: the file goes. Interrupted: it stays."""
        if kind is None or (issubclass(kind, DragomanError) and not issubclass(kind, EngineError)):
            self.path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Kept)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return line.endswith(b"\n")
