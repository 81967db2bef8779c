"""A model on disk: one folder with everything a decoder needs, and `model.toml`, which says what that is.

`model.toml` is written last, so that a folder without it is not a model yet. It lists every file with its size and
hash: opening checks the sizes, `verify` the hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman import toml, weights
from dragoman._core import VERSION
from dragoman.errors import InputError
from dragoman.files import write_bytes
from dragoman.types import Weights

__all__ = ["FORMAT", "MANIFEST", "WEIGHTS", "Model", "Part", "file_hash", "is_file", "seal"]

MANIFEST = "model.toml"
WEIGHTS = "weights.toml"
_FILES = frozenset({"path", "only", "tags", "classes", "source_words", "target_words"})
FORMAT = 1
"""Of `model.toml`; it changes when folders of before cannot be read any more."""
_SECTIONS = {"format", "version", "tables", "features", "search", "text", "made", "files"}

Option = str | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a model: a kind of feature, what it is called, and its options.

    Kinds are `scores` (columns of a rule table), `lm`, `distortion`, `reordering`, `word-penalty`, `phrase-penalty`
    and `unknown-penalty`, and the sparse sets of `dragoman.features`. A `path` is a file in the model's folder.
    """

    kind: str
    name: str
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder, opened: its parts and weights. The tables themselves are mapped by whoever uses them."""

    folder: Path
    tables: tuple[str, ...]
    """Rule tables, by the names of their files."""
    parts: tuple[Part, ...]
    weights: Weights
    search: Mapping[str, Any]
    """Fields of `Search` that this model wants."""
    text: Mapping[str, Any]
    """How text was prepared: languages, tokeniser, case."""
    made: Mapping[str, Any]
    """How it was made: options, inputs and their hashes."""
    files: Mapping[str, tuple[int, str]]
    """Size and hash of each file."""

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Model:
        """Opens a folder, in milliseconds; a missing or cut file is an error that names it."""
        path = Path(folder)
        manifest = path / MANIFEST
        if not manifest.is_file():
            what = "a folder without model.toml" if path.is_dir() else "no such folder"
            raise InputError(f"{path}: expected a model, found {what}", str(path))
        content = toml.load(manifest, "the description of a model")
        _check(manifest, content)
        files = {f["path"]: (f["bytes"], f["hash"]) for f in content.get("files", [])}
        for name, (size, _) in files.items():
            _check_size(path / name, size)
        return cls(
            path,
            tuple(content["tables"]),
            tuple(_part(manifest, entry) for entry in content["features"]),
            weights.load(path / WEIGHTS),
            content.get("search", {}),
            content.get("text", {}),
            content.get("made", {}),
            files,
        )

    def verify(self) -> None:
        """Reads every file and compares its hash; an error names the first that differs."""
        for name, (_, want) in self.files.items():
            if file_hash(self.folder / name) != want:
                path = str(self.folder / name)
                raise InputError(f"{path}: the file is not the one that this model was made with", path)

    @property
    def signature(self) -> str:
        """A short hash of all files: equal signatures mean equal models."""
        whole = hashlib.blake2b(digest_size=8)
        for name in sorted(self.files):
            whole.update(f"{name} {self.files[name][1]}\n".encode())
        return whole.hexdigest()


def _check(manifest: Path, content: Mapping[str, Any]) -> None:
    name = str(manifest)
    if content.get("format") != FORMAT:
        raise InputError(f"{name}: expected format {FORMAT}, found {content.get('format')}", name)
    for section in content:
        if section not in _SECTIONS:
            raise InputError(f"{name}: unknown section `{section}`", name)
    for section in ("tables", "features"):
        if not isinstance(content.get(section), list):
            raise InputError(f"{name}: expected a list `{section}`, found none", name)
    _check_entries(name, content)


def _check_entries(name: str, content: Mapping[str, Any]) -> None:
    for section in ("search", "text", "made"):
        if not isinstance(content.get(section, {}), dict):
            raise InputError(f"{name}: expected a section [{section}]", name)
    if not all(isinstance(table, str) for table in content["tables"]):
        raise InputError(f"{name}: expected names of files in `tables`", name)
    if not all(isinstance(entry, dict) for entry in content["features"]):
        raise InputError(f"{name}: expected tables [[features]]", name)
    kinds = {"path": str, "bytes": int, "hash": str}
    for entry in content.get("files", []):
        if not isinstance(entry, dict) or any(not isinstance(entry.get(k), t) for k, t in kinds.items()):
            raise InputError(f"{name}: every entry of `files` needs a path, its bytes and a hash", name)


def _check_size(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from None
    if found != size:
        raise InputError(f"{path}: expected {size:,} bytes, found {found:,}: not the file of this model", str(path))


def _part(manifest: Path, entry: Mapping[str, Any]) -> Part:
    options = {name: value for name, value in entry.items() if name not in {"kind", "name"}}
    if "kind" not in entry or "name" not in entry:
        raise InputError(f"{manifest}: every entry of `features` needs a kind and a name", str(manifest))
    return Part(str(entry["kind"]), str(entry["name"]), options)


def is_file(option: str) -> bool:
    """Whether an option of a part is a file, which stands in the model's folder unless its name is absolute."""
    return option in _FILES or option.startswith(("source.", "target."))


def file_hash(path: Path) -> str:
    """The hash of a file's content."""
    whole = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def seal(
    folder: str | PathLike[str],
    *,
    tables: Sequence[str],
    parts: Sequence[Part],
    initial: Mapping[str, float],
    search: Mapping[str, Any] | None = None,
    text: Mapping[str, Any] | None = None,
    made: Mapping[str, Any] | None = None,
    extra: Sequence[str] = (),
) -> Model:
    """Makes a model of a folder whose tables are in place: writes weights, hashes all files, then `model.toml`.

    `extra` names files that belong to the model though no part does, such as word classes.
    """
    path = Path(folder)
    weights.save(path / WEIGHTS, Weights.of(initial))
    given = [str(value) for part in parts for option, value in part.options.items() if is_file(option)]
    named = [name for name in given if not Path(name).is_absolute()]  # a file from elsewhere is not the model's
    names = list(dict.fromkeys([*tables, *named, *extra]))
    files = [{"path": name, "bytes": (path / name).stat().st_size, "hash": file_hash(path / name)} for name in names]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "tables": list(tables),
        "search": dict(search or {}),
        "text": dict(text or {}),
        "made": dict(made or {}),
        "features": [{"kind": part.kind, "name": part.name, **part.options} for part in parts],
        "files": files,
    }
    write_bytes(path / MANIFEST, toml.dumps(content).encode())
    return Model.open(path)
