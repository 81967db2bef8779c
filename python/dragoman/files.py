"""Text files in parallel: read with errors that name the place, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Sequence
from types import TracebackType

from dragoman._core import LineWriter, Texts, read_lines, write_lines
from dragoman.errors import InputError

__all__ = [
    "Lines",
    "cache_folder",
    "file_hash",
    "read_numbers",
    "read_parallel",
    "read_text",
    "write_bytes",
    "write_text",
]

Path = str | os.PathLike[str]


def read_text(path: Path) -> Texts:
    """All lines of a file (gz, zst, xz by its name; `-` for standard input). An empty file is an error."""
    lines = read_lines(os.fspath(path))
    if len(lines) == 0:
        raise InputError(f"{os.fspath(path)}:1: expected at least one line, found an empty file", os.fspath(path), 1)
    return lines


def read_parallel(paths: Sequence[Path]) -> list[Texts]:
    """Files whose lines belong together, so that all must have as many."""
    columns = [read_text(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            name, line = os.fspath(path), min(len(column), len(columns[0])) + 1
            raise InputError(
                f"{name}:{line}: expected {len(columns[0])} lines as in {os.fspath(paths[0])}, found {len(column)}",
                name,
                line,
            )
    return columns


def read_numbers(path: Path) -> list[float]:
    """A file with one finite number a line."""
    numbers = []
    for number, line in enumerate(read_text(path), start=1):
        try:
            value = float(line)
        except ValueError:
            value = float("nan")
        if value - value != 0:  # neither NaN nor infinite
            name = os.fspath(path)
            raise InputError(f"{name}:{number}: expected a finite number, found `{line[:60]}`", name, number)
        numbers.append(value)
    return numbers


def file_hash(path: Path) -> str:
    """The hash of a file's content."""
    whole = hashlib.blake2b(digest_size=16)
    with pathlib.Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def cache_folder(kind: str = "") -> pathlib.Path:
    """Where this user's things are kept that can be made again."""
    root = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(root) / "dragoman" / kind


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file that appears only when it is whole, and is on the disk when this returns."""
    target = pathlib.Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{target}: {error.strerror}", str(target)) from None


def write_text(path: Path, lines: Sequence[str] | Texts) -> None:
    """Writes lines to a file that appears only when it is whole (packed by its name; `-` for standard output)."""
    write_lines(os.fspath(path), lines if isinstance(lines, Texts) else Texts(lines))


class Lines:
    """Writes lines one by one to a file that appears when the `with` block ends without an error.

    Names ending in .gz, .zst or .xz are packed; pipes and devices are written directly.
    """

    def __init__(self, path: Path) -> None:
        self._native = LineWriter(os.fspath(path))

    def write(self, line: str) -> None:
        """Write a line."""
        self._native.write(line)

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._native.finish()
        else:
            self._native.discard()
