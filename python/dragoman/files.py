"""Text files in parallel: read with errors that name the place, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType

from dragoman._core import LineWriter, Texts, read_lines, write_lines
from dragoman.errors import InputError

__all__ = [
    "Lines",
    "cache_folder",
    "check_writable",
    "count_lines",
    "decoded",
    "file_hash",
    "is_plain",
    "read_numbers",
    "read_parallel",
    "read_text",
    "stream_text",
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


def stream_text(path: Path) -> Iterator[str]:
    """The same lines one by one, with few of them in memory; what is compressed is read whole."""
    name = os.fspath(path)
    if not is_plain(path):
        yield from read_text(path)
        return
    number = 0
    with pathlib.Path(path).open("rb") as file:
        for number, line in enumerate(decoded(file, name), start=1):  # noqa: B007  how many there were
            yield line
    if not number:
        raise InputError(f"{name}:1: expected at least one line, found an empty file", name, 1)


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of bytes as text; what is not UTF-8 is an error with its file and line."""
    for number, raw in enumerate(lines, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}:{number}: expected UTF-8 text, found {error.reason}", name, number) from None
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield line.removesuffix("\n").removesuffix("\r")


def is_plain(path: Path) -> bool:
    """Whether a file is one that can be read in parts: no pipe, and not compressed by its name."""
    return pathlib.Path(path).suffix not in {".gz", ".zst", ".xz"} and pathlib.Path(path).is_file()


def count_lines(path: Path) -> int:
    """How many lines a file has, with none of them in memory; 0 where that cannot be told in advance."""
    if not is_plain(path):
        return 0
    count, last = 0, b"\n"
    with pathlib.Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


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


def check_writable(path: Path) -> None:
    """Says now, not after the work, that a result could not be written."""
    folder = pathlib.Path(path).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: cannot be written: {folder} is missing or read-only", str(path))


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
