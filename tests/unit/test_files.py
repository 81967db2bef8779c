"""Parallel text files: what is read, what is refused, what is left behind."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.files import read_numbers, read_parallel, read_text, write_text


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".xz"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    lines = ["ein Haus", "", "Ünïcödé 漢字"] * 500
    write_text(path, lines)
    assert read_text(path).to_list() == lines
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_gz_is_real_gz(tmp_path: Path) -> None:
    write_text(tmp_path / "a.gz", ["x", "y"])
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x\ny\n"
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert read_text(tmp_path / "b.gz").to_list() == ["one", "two"], "concatenated parts, as gzip allows"


def test_unequal_lengths_name_both_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"b:3: expected 3 lines as in .*a, found 2") as error:
        read_parallel([tmp_path / "a", tmp_path / "b"])
    assert (error.value.path, error.value.line) == (str(tmp_path / "b"), 3)


@pytest.mark.parametrize(
    ("name", "content", "message", "line"),
    [
        ("empty", b"", "empty:1: expected at least one line, found an empty file", 1),
        ("bad", b"ok\n\xc3(\n", "bad:2: expected UTF-8 text, found an invalid byte 0xc3 at column 1", 2),
        ("cut.gz", gzip.compress(b"line\n" * 99999)[:-30], "truncated", None),
        ("not.gz", b"plain text", "cut|corrupt", 1),
        ("not.xz", b"plain text", "corrupt", 1),
        ("not.zst", b"plain text", "corrupt", 1),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: bytes, message: str, line: int | None) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_text(tmp_path / name)
    assert error.value.path == str(tmp_path / name)
    assert error.value.line == line or (line is None and error.value.line)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old\n")
    path.chmod(0o644)
    with pytest.raises(InputError, match="No such file"):
        write_text(tmp_path / "no" / "out", ["new"])
    assert path.read_text() == "old\n"


@pytest.mark.parametrize("bad", ["x", "nan", "inf", "", "1 2"])
def test_numbers_are_finite(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "scores"
    path.write_text(f"1.5\n{bad}\n")
    with pytest.raises(InputError, match=":2: expected a finite number"):
        read_numbers(path)
    path.write_text("1.5\n-2e3\n")
    assert read_numbers(path) == [1.5, -2000.0]
