"""A model on disk: one folder with everything a decoder needs, and `model.toml`, which says what that is.

`model.toml` is written last, so that a folder without it is not a model yet. It lists every file with its size and
hash: opening checks the sizes, `verify` the hashes. A tuned model has weights and small files of its own and shares the
tables of its base, the model that it was tuned from, by relative path and signature. `pack` makes one file of a model.

A model is data: what it brings along in Python runs only for those who say that they trust it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman import archive, toml, weights
from dragoman._core import VERSION
from dragoman.errors import InputError
from dragoman.files import cache_folder, file_hash, write_bytes
from dragoman.prepared import LEARNT
from dragoman.types import Weights

__all__ = [
    "FORMAT",
    "MANIFEST",
    "PHRASE",
    "REPORT",
    "SYSTEMS",
    "TOOK",
    "USER",
    "WEIGHTS",
    "Base",
    "Model",
    "Part",
    "derive",
    "file_hash",
    "has_file",
    "is_file",
    "is_model",
    "pack",
    "seal",
    "unpack",
    "weights_hash",
]

MANIFEST = "model.toml"
WEIGHTS = "weights.toml"
REPORT = "report.json"
"""Time and memory of each step of training, and what it saw; beside the model, not a part of it."""
TOOK = "took.json"
"""Time and memory of a tuning run, beside the model, too."""
USER = "user"
"""The kind of a part that is a feature of a user, in a file of Python."""
PHRASE = "phrase"
SYSTEMS = (PHRASE, "hiero")
"""What kinds of models there are: phrases that are put in order, and rules with gaps."""
_FILES = frozenset({"path", "only", "tags", "classes", "source_words", "target_words"})
FORMAT = 1
"""Of `model.toml`; it changes when folders of before cannot be read any more."""
_SECTIONS = {
    "format", "version", "system", "file_count", "tables", "features", "search", "text", "made", "tuned", "base",
    "files",
}  # fmt: skip
_TAKEN = "features"
"""The folder in a model for files that its features brought along."""

Option = str | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a model: a kind of feature, what it is called, and its options.

    Kinds are `scores` (columns of a rule table), `lm`, `distortion`, `reordering`, `word-penalty`,
    `phrase-penalty`, `source-word-penalty` and `unknown-penalty`, in hierarchical models `glue` and `pass-through`,
    the sparse sets of `dragoman.features`, and `user`: an `object` of a file of Python, `path`, with its `options`.
    A `path` is a file in the model's folder.
    """

    kind: str
    name: str
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Base:
    """The model that a tuned one shares tables with."""

    folder: Path
    signature: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder, opened: its parts and weights. The tables themselves are mapped by those who use them."""

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
    tuned: tuple[Mapping[str, Any], ...] = ()
    """How it was tuned, each time: tuner, metric, scores."""
    base: Base | None = None
    shared: frozenset[str] = frozenset()
    """The files that are in the base's folder."""
    system: str = PHRASE
    """Of which kind it is: `phrase`, or `hiero` for one whose rules have gaps."""

    @classmethod
    def open(cls, folder: str | PathLike[str], *, note: Callable[[str], None] | None = None) -> Model:
        """Opens a folder, in milliseconds, or an archive; a missing or cut file is an error that names it.

        An archive is unpacked to the user's cache when it is first opened; `note` hears of that.
        """
        path = Path(folder)
        if archive.is_archive(path):
            return cls._open(archive.at_hand(path, _whole, note))
        return cls._open(path)

    @classmethod
    def _open(cls, path: Path) -> Model:
        content = _content(path)
        files = {f["path"]: (f["bytes"], f["hash"]) for f in content["files"]}
        shared = frozenset(f["path"] for f in content["files"] if f.get("in_base"))
        base = _base(path, content, shared)
        parts = tuple(_part(path / MANIFEST, entry) for entry in content["features"])
        _check_named(path / MANIFEST, content["tables"], parts, files)
        opened = cls(
            path,
            tuple(content["tables"]),
            parts,
            weights.load(path / WEIGHTS),
            content.get("search", {}),
            content.get("text", {}),
            content.get("made", {}),
            files,
            tuple(content.get("tuned", [])),
            base,
            shared,
            content.get("system", PHRASE),
        )
        for name, (size, _) in files.items():
            _check_size(opened.file(name), size)
        return opened

    def file(self, name: str) -> Path:
        """Where a file of the model is: in its folder or, if it is shared, in that of its base."""
        if self.base is not None and name in self.shared:
            return self.base.folder / name
        return self.folder / name

    @property
    def preparation(self) -> dict[str, Any]:
        """What `text` says, with the places of its files."""
        places = {
            key: [os.fspath(self.file(str(name)).absolute()) if name else "" for name in self.text[key]]
            for key in LEARNT.values()
            if key in self.text
        }
        return {**self.text, **places}

    @property
    def corpus(self) -> Mapping[str, Any]:
        """What training noted of its text, where that is known: pairs read and kept, tokens."""
        if "corpus" in self.made:
            known: Mapping[str, Any] = self.made["corpus"]
            return known
        try:
            steps = json.loads((self.folder / REPORT).read_text(encoding="utf-8"))["steps"]
            found = next(step["report"] for step in steps if step["name"] == "clean")
            toml.dumps(found)  # so that it can be written down
        except (OSError, ValueError, LookupError, TypeError, StopIteration):
            return {}
        return dict(found)

    def verify(self) -> None:
        """Reads every file and compares its hash; an error names the first that differs."""
        for name, (_, want) in self.files.items():
            if file_hash(self.file(name)) != want:
                path = str(self.file(name))
                raise InputError(f"{path}: the file is not the one that this model was made with", path)

    @property
    def signature(self) -> str:
        """A short hash of all files but the weights: equal signatures mean equal tables."""
        return _signature({name: known for name, (_, known) in self.files.items()})

    @property
    def state(self) -> str:
        """A short hash of all that decides a translation but the weights: files, features, search, text."""
        whole = hashlib.blake2b(digest_size=8)
        described = [(part.kind, part.name, sorted(part.options.items())) for part in self.parts]
        kind = () if self.system == PHRASE else (self.system,)
        for item in (self.signature, self.tables, described, dict(self.search), dict(self.text), *kind):
            whole.update(repr(item).encode() + b"\n")
        return whole.hexdigest()


def weights_hash(used: Weights) -> str:
    """A short hash of weights, by name; those that are zero are as if they were not there."""
    whole = hashlib.blake2b(digest_size=8)
    for name, value in sorted(used.to_dict().items()):
        if value:
            whole.update(f"{name} {value!r}\n".encode())
    return whole.hexdigest()


def is_model(path: str | PathLike[str]) -> bool:
    """Whether a path is a folder, or a file that `pack` made."""
    return Path(path).is_dir() or archive.is_archive(path)


def _signature(hashes: Mapping[str, str]) -> str:
    whole = hashlib.blake2b(digest_size=8)
    for name in sorted(hashes):
        whole.update(f"{name} {hashes[name]}\n".encode())
    return whole.hexdigest()


def _content(path: Path) -> dict[str, Any]:
    """What `model.toml` says, its form checked."""
    manifest = path / MANIFEST
    if not manifest.is_file():
        what = f"a folder without {MANIFEST}" if path.is_dir() else "no such folder" if not path.exists() else "a file"
        raise InputError(f"{path}: expected a model, found {what}", str(path))
    content = toml.load(manifest, "the description of a model")
    _check(manifest, content)
    return content


def _check(manifest: Path, content: Mapping[str, Any]) -> None:
    name = str(manifest)
    if content.get("format") != FORMAT:
        raise InputError(f"{name}: expected format {FORMAT}, found {content.get('format')}", name)
    for section in content:
        if section not in _SECTIONS:
            raise InputError(f"{name}: unknown section `{section}`", name)
    if content.get("system", PHRASE) not in SYSTEMS:
        raise InputError(f"{name}: expected the system {' or '.join(SYSTEMS)}, found {content['system']}", name)
    for section in ("tables", "features"):
        if not isinstance(content.get(section), list):
            raise InputError(f"{name}: expected a list `{section}`, found none", name)
    _check_entries(name, content)


def _check_entries(name: str, content: Mapping[str, Any]) -> None:
    for section in ("search", "text", "made", "base"):
        if not isinstance(content.get(section, {}), dict):
            raise InputError(f"{name}: expected a section [{section}]", name)
    if not all(isinstance(table, str) for table in content["tables"]):
        raise InputError(f"{name}: expected names of files in `tables`", name)
    for section in ("features", "tuned"):
        entries = content.get(section, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InputError(f"{name}: expected tables [[{section}]]", name)
    _check_text(name, content.get("text", {}))
    _check_files(name, content)


def _check_text(name: str, text: Mapping[str, Any]) -> None:
    for key in ("languages", "tokenizers", *LEARNT.values()):
        values = text.get(key, ["", ""])
        if not isinstance(values, list) or len(values) != 2 or not all(isinstance(value, str) for value in values):
            raise InputError(
                f"{name}: `{key}` of its text must be two names, one for each side, found {values!r}", name
            )


def _check_files(name: str, content: Mapping[str, Any]) -> None:
    """Whether the list of files is there, and whole: a description that was cut must not pass for one of less."""
    files = content.get("files")
    if not isinstance(files, list) or not files:
        raise InputError(f"{name}: it lists no files: cut off, or not the description of a model", name)
    kinds = {"path": str, "bytes": int, "hash": str}
    for entry in files:
        if not isinstance(entry, dict) or any(not isinstance(entry.get(k), t) for k, t in kinds.items()):
            raise InputError(f"{name}: every entry of `files` needs a path, its bytes and a hash", name)
        if Path(entry["path"]).is_absolute() or ".." in Path(entry["path"]).parts or "\0" in entry["path"]:
            raise InputError(f"{name}: `{entry['path']}` leads out of the model's folder", name)
    count = content.get("file_count", len(files))
    if count != len(files):
        raise InputError(f"{name}: expected {count} files, found {len(files)}: cut off, or not as it was written", name)


def _check_named(manifest: Path, tables: Sequence[str], parts: Sequence[Part], files: Mapping[str, Any]) -> None:
    """Every file that the model uses is on its list, but for those from elsewhere, which have absolute names."""
    for name in [*tables, *_own_files(parts)]:
        if name not in files:
            raise InputError(f"{manifest}: `{name}` is used, but not among its files", str(manifest))


def _own_files(parts: Sequence[Part]) -> list[str]:
    """The files that parts name, without those from elsewhere."""
    given = [str(value) for part in parts for option, value in part.options.items() if is_file(option)]
    return [name for name in given if not Path(name).is_absolute()]


def _base(path: Path, content: Mapping[str, Any], shared: frozenset[str]) -> Base | None:
    """The base, if there is one, the same that it was; else an error says what to do."""
    about, manifest = content.get("base"), path / MANIFEST
    if about is None:
        if shared:
            raise InputError(f"{manifest}: expected a section [base], found files that are in one", str(manifest))
        return None
    place, want = about.get("path"), about.get("signature")
    if not isinstance(place, str) or not isinstance(want, str):
        raise InputError(f"{manifest}: [base] needs a path and a signature", str(manifest))
    folder = Path(os.path.normpath(path.resolve() / place))
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{path}: the tables of this model are in its base, {folder}, where no model is now: put it back, or write "
            f"its new place under [base] in {manifest}",
            str(folder),
        )
    found = _signature({f["path"]: f["hash"] for f in _content(folder)["files"]})
    if found != want:
        raise InputError(
            f"{path}: its base {folder} has changed since (signature {found}, was {want}): bring back the one of "
            "before, or tune again",
            str(folder),
        )
    return Base(folder, want)


def _check_size(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', error)}", str(path)) from None
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


def has_file(folder: Path, name: str) -> bool:
    """Whether a model's folder, or its base, has a file."""
    if (folder / name).is_file():
        return True
    if not (folder / MANIFEST).is_file():
        return False
    content = _content(folder)
    return any(f["path"] == name and f.get("in_base") for f in content["files"])


def seal(
    folder: str | PathLike[str],
    *,
    tables: Sequence[str],
    parts: Sequence[Part],
    initial: Mapping[str, float],
    system: str = PHRASE,
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
    names = list(dict.fromkeys([*tables, *_own_files(parts), *extra]))
    files = {name: _entry(name, path / name) for name in names}
    about = {
        **_named(system), "tables": list(tables), "search": dict(search or {}), "text": dict(text or {}),
        "made": dict(made or {}),
    }  # fmt: skip
    write_bytes(path / MANIFEST, _described(about, parts, files))
    return Model.open(path)


def _named(system: str) -> dict[str, str]:
    """What `model.toml` says of the system: nothing of phrases."""
    return {} if system == PHRASE else {"system": system}


def _entry(name: str, path: Path) -> dict[str, Any]:
    try:
        return {"path": name, "bytes": path.stat().st_size, "hash": file_hash(path)}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from None


def _described(about: Mapping[str, Any], parts: Sequence[Part], files: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The text of `model.toml`."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "file_count": len(files),
        **{name: value for name, value in about.items() if value or name == "tables"},
        "features": [{"kind": part.kind, "name": part.name, **part.options} for part in parts],
        "files": list(files.values()),
    }
    return toml.dumps(content).encode()


def derive(
    folder: str | PathLike[str],
    model: Model,
    *,
    search: Mapping[str, Any] | None = None,
    tuned: Mapping[str, Any] | None = None,
    copy: bool = False,
) -> Model:
    """Makes a tuned model of a folder that has its `weights.toml`: all else is that of `model`, with its parts.

    Tables are shared with the base, which is `model` or, if that shares its own, the base of that; `copy` copies them.
    Files that features brought along from elsewhere are copied always, and so are those of a model in a cache, which
    may go.
    """
    path = Path(folder)
    parts, taken = _taken_in(model)
    origin = model.base or Base(model.folder, model.signature)
    alone = copy or origin.folder.resolve().is_relative_to(cache_folder().resolve())
    shares = frozenset() if alone else model.shared if model.base is not None else frozenset(model.files)
    files: dict[str, dict[str, Any]] = {}
    for name, (size, known) in model.files.items():
        files[name] = {"path": name, "bytes": size, "hash": known}
        if name in shares:
            files[name]["in_base"] = True
        else:
            _copy(model.file(name), path / name, known)
    for name, place in taken.items():
        _copy(place, path / name)
        files[name] = _entry(name, path / name)
    about = _history(model)
    if search is not None:
        about["search"] = dict(search)
    if tuned is not None:
        about["tuned"].append(dict(tuned))
    if shares:
        where = os.path.relpath(origin.folder.resolve(), path.resolve())
        about["base"] = {"path": where, "signature": origin.signature}
    write_bytes(path / MANIFEST, _described(about, parts, files))
    return Model.open(path)


def _history(model: Model) -> dict[str, Any]:
    """What a model made of another says of it."""
    made = {**model.made, **({"corpus": dict(model.corpus)} if model.corpus else {})}
    return {
        **_named(model.system), "tables": list(model.tables), "search": dict(model.search), "text": dict(model.text),
        "made": made, "tuned": list(map(dict, model.tuned)),
    }  # fmt: skip


def _taken_in(model: Model) -> tuple[list[Part], dict[str, Path]]:
    """The parts with files of their own in place of those from elsewhere, and where these come from."""
    taken: dict[str, Path] = {}
    parts = []
    for part in model.parts:
        own = {name: str(v) for name, v in part.options.items() if is_file(name) and Path(str(v)).is_absolute()}
        named = {option: _new_name(Path(place), taken, model.files) for option, place in own.items()}
        parts.append(replace(part, options={**part.options, **named}))
    return parts, taken


def _new_name(place: Path, taken: dict[str, Path], files: Mapping[str, Any]) -> str:
    """A name in the model for a file from elsewhere; one file gets one name, and two of one name get two."""
    for number in range(1, len(taken) + len(files) + 3):
        name = f"{_TAKEN}/{place.name}" if number == 1 else f"{_TAKEN}/{place.stem}-{number}{place.suffix}"
        if taken.get(name) == place:
            return name
        if name not in taken and name not in files:
            taken[name] = place
            return name
    raise AssertionError("there are more names than files")


_RESERVED = {MANIFEST, WEIGHTS, "config.toml", "trace.jsonl", "checkpoint", "curve.png", TOOK}


def _copy(source: Path, target: Path, known: str | None = None) -> None:
    """Copies a file, which appears when it is whole; one that is there already is left."""
    if target.name in _RESERVED:
        raise InputError(f"{source}: a file of a model cannot be called {target.name}, as one of a run is", str(source))
    try:
        if known is not None and target.is_file() and file_hash(target) == known:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        shutil.copyfile(source, partial)
        if known is not None and file_hash(partial) != known:
            partial.unlink()
            raise InputError(f"{source}: the file is not the one that this model was made with", str(source))
        partial.replace(target)
    except OSError as error:
        raise InputError(f"{error.filename or target}: {error.strerror}", str(target)) from None


def pack(model: Model, out: str | PathLike[str]) -> None:
    """Writes a model with all its files, those of its base, too, into one file; equal models give equal bytes."""
    parts, taken = _taken_in(model)
    contents: dict[str, Path | bytes] = {name: model.file(name) for name in model.files}
    files = {name: {"path": name, "bytes": size, "hash": known} for name, (size, known) in model.files.items()}
    for name, place in taken.items():
        contents[name], files[name] = place, _entry(name, place)
    contents[MANIFEST] = _described(_history(model), parts, files)
    contents[WEIGHTS] = model.folder / WEIGHTS
    model.verify()
    archive.pack(contents, Path(out))


def unpack(path: str | PathLike[str], folder: str | PathLike[str]) -> Model:
    """Makes a folder of a file that `pack` made; every hash is checked, and nothing appears unless all is right."""
    if not archive.is_archive(path):
        raise InputError(f"{path}: expected a file that `dragoman model pack` made", str(path))
    archive.unpack(Path(path), Path(folder), _whole)
    return Model.open(folder)


def _whole(folder: Path) -> None:
    """Refuses an unpacked folder that is no model, or one that needs anything else."""
    opened = Model._open(folder)
    outside = [
        str(value)
        for part in opened.parts
        for option, value in part.options.items()
        if is_file(option) and Path(str(value)).is_absolute()
    ]
    learnt = [str(name) for key in LEARNT.values() for name in opened.text.get(key, []) if name]
    outside += [name for name in learnt if name not in opened.files]
    if opened.base is not None or outside:
        what = outside[0] if outside or opened.base is None else opened.base.folder
        raise InputError(
            f"{folder / MANIFEST}: a model that travels must be whole, and this one needs {what}", str(what)
        )
