"""What was done to a text, noted beside it, so that training can take it up: `train.de` has `train.de.prep.toml`.

The note has the size of the text and a hash of its beginning: one that is about another text is an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

from dragoman import toml
from dragoman._core import VERSION, language_code
from dragoman.errors import InputError
from dragoman.files import write_bytes

__all__ = ["LEARNT", "SUFFIX", "Prepared", "of_files"]

Path = str | PathLike[str]
SUFFIX = ".prep.toml"
_BEGINNING = 1 << 16
"""Bytes that are hashed."""
LEARNT = {"truecaser": "truecasers", "compounds": "compounds", "subwords": "subwords"}
"""What is learnt from a text to change its words: settings of `Prepared` that name its file, and what a model calls the
list of both sides' files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What was done to one side of a bitext; the defaults are nothing."""

    language: str = ""
    tokenizer: str = "none"
    normalise: str = "none"
    case: str = "keep"
    truecaser: str = ""
    """The file with the forms of words, for `case` truecase."""
    compounds: str = ""
    """The file with the words that compounds were split into."""
    subwords: str = ""
    """The file with the pieces that words were cut into."""
    bars: str = "keep"
    factored: bool = False

    @property
    def done(self) -> bool:
        """Whether the text is no longer plain text."""
        cut = bool(self.compounds or self.subwords)
        return self.tokenizer != "none" or self.case != "keep" or self.factored or cut

    @property
    def files(self) -> dict[str, str]:
        """The files with what was learnt, by name."""
        return {name: getattr(self, name) for name in LEARNT if getattr(self, name)}

    def note(self, path: Path) -> None:
        """Writes the note beside a text that is whole; there is none for a pipe."""
        text = FilePath(path)
        if os.fspath(path) == "-" or not text.is_file():
            return
        about: dict[str, Any] = {name: value for name, value in asdict(self).items() if value not in {"", False}}
        about |= {name: _relative(file, text) for name, file in self.files.items()}
        write_bytes(_beside(text), toml.dumps({"dragoman": VERSION, **about, "file": _identity(text)}).encode())

    @classmethod
    def of(cls, path: Path) -> Prepared | None:
        """The note beside a text, or None."""
        text = FilePath(path)
        beside = _beside(text)
        if not beside.is_file() or not text.is_file():
            return None
        content = toml.load(beside, "a note of how a text was prepared")
        if content.pop("file", None) != _identity(text):
            raise InputError(
                f"{text}: has changed since {beside.name} was written; prepare it again, or remove {beside.name}",
                str(text),
            )
        content.pop("dragoman", None)
        known = {field.name: type(field.default) for field in fields(cls)}
        for name, value in content.items():
            if name not in known or not isinstance(value, known[name]):
                raise InputError(
                    f"{beside}: expected the settings {', '.join(known)}, found `{name} = {value!r}`", str(beside)
                )
        content |= {name: str(text.parent / content[name]) for name in LEARNT if content.get(name)}
        return cls(**content)


def _beside(text: FilePath) -> FilePath:
    return text.with_name(text.name + SUFFIX)


def _relative(file: str, text: FilePath) -> str:
    return os.path.relpath(FilePath(file).resolve(), text.parent.resolve())


def _identity(text: FilePath) -> dict[str, Any]:
    with text.open("rb") as file:
        beginning = hashlib.blake2b(file.read(_BEGINNING), digest_size=16).hexdigest()
    return {"size": text.stat().st_size, "beginning": beginning}


def of_files(sources: Sequence[Path], targets: Sequence[Path]) -> tuple[Prepared, Prepared] | None:
    """How both sides of a bitext were prepared; None if nothing was done to them. Files that disagree are an error."""
    both = [(os.fspath(path), Prepared.of(path) or Prepared()) for path in (*sources, *targets)]
    if not any(prepared.done for _, prepared in both):
        return None
    for side in (both[: len(sources)], both[len(sources) :]):
        for path, prepared in side[1:]:
            _agree(side[0], (path, prepared), [field.name for field in fields(Prepared) if field.name not in LEARNT])
            for name in LEARNT:
                first, second = (getattr(one, name) for one in (side[0][1], prepared))
                if bool(first) != bool(second) or (first and _read(first) != _read(second)):
                    raise InputError(
                        f"{path} and {side[0][0]} were prepared with different models ({name}): prepare them together",
                        path,
                    )
    source, target = both[0], both[len(sources)]
    # A model has one rule of case and one normal form for both sides; tokenised and plain text do not go together.
    _agree(source, target, ["case", "normalise", "factored", "bars"])
    if "none" in {source[1].tokenizer, target[1].tokenizer} and source[1].tokenizer != target[1].tokenizer:
        _agree(source, target, ["tokenizer"])
    return source[1], target[1]


def _read(path: str) -> bytes:
    try:
        return FilePath(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; the note of a prepared text names it", path) from None


def _agree(one: tuple[str, Prepared], other: tuple[str, Prepared], names: Sequence[str]) -> None:
    for name in names:
        first, second = getattr(one[1], name), getattr(other[1], name)
        if name == "language":
            first, second = language_code(first), language_code(second)
        if first != second:
            raise InputError(
                f"{one[0]} was prepared with {name} = {first!r}, and {other[0]} with {second!r}: prepare them alike",
                other[0],
            )
