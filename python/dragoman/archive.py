"""One file that travels: a zip with a list of its files first, by size and hash; equal files give equal bytes.

What comes out of an archive is not trusted: nothing is written outside of its folder, nothing that is not on the list,
never more than the list says; and the folder appears when every hash is right, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from dragoman.errors import DragomanError, InputError
from dragoman.files import cache_folder, file_hash

__all__ = ["LIST", "at_hand", "is_archive", "pack", "unpack"]

LIST = "manifest.json"
"""The first entry: what else there is."""
_FORMAT = 1
_MAGIC = b"PK\x03\x04"
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of all entries, so that an archive depends on its files alone; the first that zip knows."""
_LEVEL = 1
"""Of deflate. On a model of 49.2 MB: level 1 leaves 16.6 MB and takes 0.6 s, level 6 15.2 MB and 2.4 s, none 0.2 s."""
_MOST_LIST = 1 << 24
"""Bytes of a list, at most: more is no list of a model's files."""
_MOST_KEPT = 8
"""Archives that are kept unpacked; the one that was not used for longest goes first."""


class _File(NamedTuple):
    path: str
    bytes: int
    hash: str


def is_archive(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file that begins as a zip does."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def pack(files: Mapping[str, Path | bytes], out: Path) -> None:
    """Writes files, by their names, into an archive, which appears when it is whole."""
    listed = []
    for name in sorted(files):
        content = files[name]
        if isinstance(content, bytes):
            listed.append(_File(name, len(content), hashlib.blake2b(content, digest_size=16).hexdigest()))
        else:
            listed.append(_File(name, content.stat().st_size, file_hash(content)))
    head = json.dumps({"dragoman": _FORMAT, "files": [file._asdict() for file in listed]}, indent=1).encode()
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            archive.writestr(_entry(LIST, len(head)), head)
            for file in listed:
                content = files[file.path]
                with archive.open(_entry(file.path, file.bytes), "w") as to:
                    if isinstance(content, bytes):
                        to.write(content)
                    else:
                        with content.open("rb") as source:
                            shutil.copyfileobj(source, to, 1 << 20)
        with partial.open("rb") as whole:
            os.fsync(whole.fileno())
        partial.replace(out)
    except OSError as error:
        raise InputError(f"{error.filename or out}: {error.strerror}", str(out)) from None
    finally:
        partial.unlink(missing_ok=True)


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type, entry._compresslevel = zipfile.ZIP_DEFLATED, _LEVEL  # type: ignore[attr-defined]
    entry.create_system, entry.external_attr, entry.file_size = 3, 0o644 << 16, size
    return entry


def unpack(path: Path, folder: Path, check: Callable[[Path], object] = lambda _folder: None) -> None:
    """Unpacks into a folder that is not there yet, or empty; `check` may refuse what was unpacked.

    Everything is written to a hidden folder beside it, which takes its name when all hashes are right.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: there is something already; unpack into a folder of its own", str(folder))
    work = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(work, ignore_errors=True)
    try:
        with _opened(path) as archive:
            files = _listed(path, archive)
            entries = _checked(path, archive, files)
            work.mkdir(parents=True)
            _check_space(path, work, files)
            for file in files:
                _write(path, archive, entries[file.path], file, work)
        _accepted(path, work, check)
        work.rename(folder)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}", str(folder)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _accepted(path: Path, work: Path, check: Callable[[Path], object]) -> None:
    """What is wrong with the files is said of the archive, not of the hidden folder that goes again."""
    try:
        check(work)
    except DragomanError as error:
        raise InputError(str(error).replace(str(work), str(path)), str(path)) from None


def at_hand(path: Path, check: Callable[[Path], object], note: Callable[[str], None] | None = None) -> Path:
    """The folder with an archive's files: unpacked once, then kept in the user's cache by the hash of its list."""
    with _opened(path) as archive:
        key = hashlib.blake2b(_head(path, archive), digest_size=16).hexdigest()
    root = cache_folder("models")
    folder = root / key
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        try:
            unpack(path, folder, check)
        except InputError:
            if not folder.is_dir():  # else another process was faster
                raise
        if note is not None:
            note(f"{path}: unpacked to {folder}, where it is kept for the next time")
    os.utime(folder)
    kept = sorted((f for f in root.iterdir() if f.is_dir() and f.name[0] != "."), key=lambda f: f.stat().st_mtime_ns)
    for old in kept[:-_MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; all that zip and deflate may find wrong with it is one sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except DragomanError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, RuntimeError) as error:
        raise _refused(path, f"damaged, or no archive of a model ({error})") from None
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        raise _refused(path, f"damaged: {error}") from None


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}", str(path))


def _head(path: Path, archive: zipfile.ZipFile) -> bytes:
    entries = archive.infolist()
    if not entries or entries[0].orig_filename != LIST:
        raise _refused(path, f"expected an archive of `dragoman model pack`, which begins with {LIST}")
    with archive.open(entries[0]) as file:
        head = file.read(_MOST_LIST + 1)
    if len(head) > _MOST_LIST:
        raise _refused(path, f"its {LIST} has more than {_MOST_LIST:,} bytes")
    return head


def _listed(path: Path, archive: zipfile.ZipFile) -> list[_File]:
    """What the archive says that it holds."""
    head = _head(path, archive)
    try:
        content: Any = json.loads(head)
        files = [_File(**entry) for entry in content["files"]]
        form = content["dragoman"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _refused(path, f"its {LIST} is not one of this program") from None
    if form != _FORMAT:
        raise _refused(path, f"expected an archive of form {_FORMAT}, found {form!r}")
    for file in files:
        right = isinstance(file.path, str) and isinstance(file.bytes, int) and isinstance(file.hash, str)
        if not right or file.bytes < 0:
            raise _refused(path, f"every file in its {LIST} needs a path, its bytes and a hash")
        _check_name(path, file.path)
    if len({file.path for file in files}) < len(files):
        raise _refused(path, f"its {LIST} names a file twice")
    return files


def _check_name(path: Path, name: str) -> None:
    """A name that leads out of the folder is refused, as the systems of all users read it."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or ":" in name or "\0" in name:
        raise _refused(path, f"`{name}` is no path inside of a folder")
    if ".." in parts or "." in name.split("/") or "" in name.split("/"):
        raise _refused(path, f"`{name}` leads out of its folder, or may")


def _checked(path: Path, archive: zipfile.ZipFile, files: list[_File]) -> dict[str, zipfile.ZipInfo]:
    """The entry of each file on the list, before anything is written."""
    want = {file.path: file.bytes for file in files}
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist()[1:]:
        name = entry.orig_filename
        _check_name(path, name)
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(path, f"`{name}` is a link, and a model has none")
        if name not in want:
            raise _refused(path, f"`{name}` is not in its {LIST}")
        if name in found:
            raise _refused(path, f"`{name}` is in it twice")
        if entry.file_size > want[name]:
            raise _more(path, name, want[name])
        found[name] = entry
    missing = next((name for name in want if name not in found), None)
    if missing is not None:
        raise _refused(path, f"`{missing}` is in its {LIST}, but not in it")
    return found


def _more(path: Path, name: str, declared: int) -> InputError:
    return _refused(path, f"`{name}` unpacks to more than the {declared:,} bytes that its {LIST} declares")


def _check_space(path: Path, work: Path, files: list[_File]) -> None:
    need, free = sum(file.bytes for file in files), shutil.disk_usage(work).free
    if need > free:
        raise _refused(path, f"unpacks to {need:,} bytes, and {work.parent} has {free:,} left")


def _write(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: _File, work: Path) -> None:
    """Writes one file, and counts and hashes as it goes."""
    target = work / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    whole, count = hashlib.blake2b(digest_size=16), 0
    with archive.open(entry) as source, target.open("xb") as out:
        while block := source.read(1 << 20):
            count += len(block)
            if count > file.bytes:
                raise _more(path, file.path, file.bytes)
            whole.update(block)
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    if (count, whole.hexdigest()) != (file.bytes, file.hash):
        raise _refused(path, f"`{file.path}` is not the file that was put in: get the archive again")
