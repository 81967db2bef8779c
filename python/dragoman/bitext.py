"""Where sentence pairs come from: two files, or one with both sides, known by name and by content.

    bitext.Files("corpus.de", "corpus.en")
    bitext.Bitext("memory.tmx")
    bitext.resolve([bitext.Bitext("memory.tmx")], ("sna", "en"))

A TMX, XLIFF, JSONL or TSV file is known by its first bytes, whatever its name; `corpus` with the languages de and en
stands for `corpus.de` and `corpus.en`. Codes of languages mean what people mean by them: sn, sna and sn-ZW are one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path as FilePath

from dragoman._core import bitext_languages, bitext_sample, language_code, language_fits, language_known, sniff_file
from dragoman.errors import InputError, OptionError
from dragoman.types import Texts

__all__ = ["Bitext", "Files", "Resolved", "language_code", "named", "resolve"]

Path = str | PathLike[str]
Given = tuple[str, str, str, str]
"""What the native readers take: the form, a path, and a second path or what says which side is which."""

_NAMES = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tmx": "tmx", ".xlf": "xliff", ".xliff": "xliff"}
_CONTENTS = {"xml:tmx": "tmx", "xml:xliff": "xliff", "json": "jsonl", "tabs": "tsv"}
_COMPRESSED = (".gz", ".zst", ".xz")
_KINDS = "TMX, XLIFF, JSONL or TSV"


@dataclass(frozen=True, slots=True)
class Files:
    """Two parallel files, a sentence a line."""

    source: Path
    target: Path

    @property
    def paths(self) -> tuple[str, ...]:
        """Both files."""
        return os.fspath(self.source), os.fspath(self.target)

    def given(self, _languages: tuple[str, str]) -> Given:
        """For the native readers. A file that is not plain text is an error."""
        for path in self.paths:
            _check_text(path)
        return ("files", os.fspath(self.source), os.fspath(self.target), "")


@dataclass(frozen=True, slots=True)
class Bitext:
    """One file with both sides: TMX, XLIFF, JSONL or TSV (which may be compressed: .gz, .zst, .xz)."""

    path: Path
    sides: tuple[str, str] | None = None
    """Which side is which: numbers of TSV columns from 1 (by default 1 and 2), names of JSON fields (by default the
    languages, else `source` and `target`; `translation.de` leads into an object), languages of a TMX or XLIFF file."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The file."""
        return (os.fspath(self.path),)

    @property
    def form(self) -> str:
        """`tmx`, `xliff`, `jsonl` or `tsv`, by content, else by name."""
        path = os.fspath(self.path)
        by_name = _NAMES.get(_suffix(path))
        if not FilePath(path).is_file():  # a pipe can be read only once
            if FilePath(path).exists() and by_name is not None:
                return by_name
            raise InputError(f"{path}: {'is not a file' if FilePath(path).exists() else 'no such file'}", path)
        content = sniff_file(path)
        if content in _CONTENTS:
            return _CONTENTS[content]
        if content == "empty":
            raise InputError(f"{path}:1: expected at least one pair, found an empty file", path, 1)
        if content in {"text", "xml:"} and by_name is not None:
            return by_name  # the reader names the line that is wrong
        found = f"the document is <{content[4:]}>" if content.startswith("xml:") else f"found {_called(content)}"
        hint = "; name two files of text with --src and --tgt" if content == "text" else ""
        raise InputError(f"{path}: expected {_KINDS}, {found}{hint}", path)

    def given(self, languages: tuple[str, str]) -> Given:
        """For the native readers."""
        path, form = os.fspath(self.path), self.form
        known = languages if all(languages) else None
        if self.sides is not None:
            return (form, path, *self.sides)
        if form == "tsv":
            return (form, path, "1", "2")
        if form == "jsonl":
            return (form, path, *_fields(path, known))
        if known is None:
            raise OptionError(f"{path}: name its languages, such as --languages de en; found: {listed(path, form)}")
        return (form, path, *known)

    def languages(self) -> tuple[str, list[tuple[str, int]]]:
        """The source language that the file names, and its languages with the number of texts of each."""
        form = self.form
        return bitext_languages(os.fspath(self.path), form == "xliff") if form in {"tmx", "xliff"} else ("", [])


def _suffix(path: str) -> str:
    """The end of a name that says what the file is."""
    name = FilePath(path)
    return (name.with_suffix("").suffix if name.suffix in _COMPRESSED else name.suffix).lower()


def _called(content: str) -> str:
    names = {"text": "plain text", "json": "JSON", "binary": "bytes that are no text", "tabs": "a table"}
    return names.get(content, "XML" if content.startswith("xml:") else content)


def _check_text(path: str) -> None:
    """An error for a file that is not a sentence a line, and would be trained on as if it were."""
    if not FilePath(path).is_file():
        return  # the reader says what is wrong, and a pipe can be read only once
    content = sniff_file(path)
    if content.startswith("xml:") or content == "json":
        raise InputError(f"{path}: expected plain text, a sentence a line, found {_called(content)}; read a file with"
                         " both sides with --bitext", path)  # fmt: skip
    if content == "binary":
        raise InputError(f"{path}: expected plain text in UTF-8, a sentence a line, found other bytes", path)


def _fields(path: str, known: tuple[str, str] | None) -> tuple[str, str]:
    """The fields of a JSONL file that hold both sides, as far as its first line shows them."""
    first = _first_object(path)
    fields = {name for name, value in first.items() if isinstance(value, str)}
    inner = {f"{outer}.{name}" for outer, value in first.items() if isinstance(value, dict) for name in value}

    def of(language: str) -> str | None:
        for name in (*sorted(fields), *sorted(inner)):
            if language_fits(language, name.rpartition(".")[2]):
                return name
        return None

    if known is not None:
        found = of(known[0]), of(known[1])
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    if {"source", "target"} <= fields or known is None:
        return "source", "target"
    return known


def _first_object(path: str) -> dict[str, object]:
    # The first column of a table is a whole line of JSON, in which no tab can be.
    first = bitext_sample([("tsv", path, "1", "1")], 1, True)[0].to_list() if FilePath(path).is_file() else []
    try:
        value = json.loads(first[0]) if first else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def listed(path: Path, form: str) -> str:
    """The languages of a TMX or XLIFF file, most frequent first, with the number of texts of each."""
    counts = bitext_languages(os.fspath(path), form == "xliff")[1]
    return ", ".join(f"{code or '?'} ({count:,})" for code, count in sorted(counts, key=lambda row: -row[1])) or "none"


def named(paths: Sequence[Path], languages: tuple[str, str] = ("", "")) -> list[Files | Bitext]:
    """What `--bitext` means by each of its values: a file with both sides, or the beginning of the names of two."""
    return [Bitext(path) if FilePath(path).exists() else _pair(path, languages) for path in paths]


def _pair(prefix: Path, languages: tuple[str, str]) -> Files:
    """`corpus.de` and `corpus.en` of the prefix `corpus`."""
    start = FilePath(prefix)
    if not start.parent.is_dir():
        raise InputError(f"{prefix}: no such file", os.fspath(prefix))
    rest = {path: path.name[len(start.name) + 1 :] for path in start.parent.glob(f"{glob_escape(start.name)}.*")}
    codes = {
        path: code.removesuffix(next((p for p in _COMPRESSED if code.endswith(p)), "")) for path, code in rest.items()
    }
    codes = {path: code for path, code in sorted(codes.items()) if code and "." not in code and path.is_file()}
    if not codes:
        raise InputError(f"{prefix}: no such file", os.fspath(prefix))
    there = ", ".join(path.name for path in codes)
    if not all(languages):
        raise OptionError(f"{prefix}: no such file; for two of {there}, name their languages: --languages de en")
    found = []
    for language in languages:
        fits = [path for path, code in codes.items() if language_fits(language, code)]
        exact = [path for path, code in codes.items() if code == language]
        if not fits:
            raise InputError(f"{prefix}: no file {prefix}.{language}; there are {there}", os.fspath(prefix))
        if len(exact or fits) > 1:
            several = ", ".join(path.name for path in exact or fits)
            raise InputError(f"{prefix}: expected one file for {language}, found {several}", os.fspath(prefix))
        found.append((exact or fits)[0])
    return Files(*found)


def glob_escape(name: str) -> str:
    """A name in which no character has a meaning of its own."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Inputs that can be read."""

    inputs: Sequence[Files | Bitext]
    languages: tuple[str, str]
    """Of both sides: those that were asked for, or those that the files name."""
    given: Sequence[Given]
    notes: Sequence[str] = ()
    """What was decided, for people."""
    by_name: bool = False
    """Whether nothing but the names of files tells the languages."""

    @property
    def paths(self) -> list[str]:
        """All files, in order."""
        return [path for each in self.inputs for path in each.paths]

    def sample(self, count: int, *, skip: bool = False) -> tuple[Texts, Texts]:
        """Up to `count` pairs from the beginnings of the inputs, as they are in the files."""
        return bitext_sample(list(self.given), count, skip)

    def found(self) -> str:
        """The languages of the files that name them, for an error message."""
        both = [(each, each.form) for each in self.inputs if isinstance(each, Bitext)]
        parts = [
            f"{os.fspath(one.path)} has {listed(one.path, form)}" for one, form in both if form in {"tmx", "xliff"}
        ]
        return "; ".join(parts)


def resolve(inputs: Sequence[Files | Bitext], languages: tuple[str, str] = ("", "")) -> Resolved:
    """Inputs with all that must be known of them; the languages of TMX and XLIFF files, where these have just two.

    Languages that neither the caller nor a file names are those that the names of all pairs of files end with:
    `train.de.gz` and `train.en.gz`.
    """
    if not inputs:
        raise OptionError("expected at least one bitext: --bitext, or --src and --tgt")
    notes: list[str] = []
    if not all(languages):
        for each in inputs:
            named_by = _two(each) if isinstance(each, Bitext) and each.sides is None else None
            if named_by is None or named_by == languages:
                continue
            if all(languages):
                raise OptionError(f"{each.paths[0]} has the languages {' '.join(named_by)}, others before it have"
                                  f" {' '.join(languages)}: say which with --languages")  # fmt: skip
            languages = named_by
            notes.append(f"{each.paths[0]}: from {languages[0]} to {languages[1]}; --languages says otherwise")
    if not any(languages):
        ends = {_ends(each) for each in inputs}
        by_name = ends.pop() if len(ends) == 1 else None
        if by_name is not None:
            return Resolved(inputs, by_name, [each.given(by_name) for each in inputs], notes, by_name=True)
    return Resolved(inputs, languages, [each.given(languages) for each in inputs], notes)


def _ends(files: Files | Bitext) -> tuple[str, str] | None:
    """The languages that the names of two files end with, if both do, and differ."""
    if isinstance(files, Bitext):
        return None
    ends = []
    for path in files.paths:
        name = FilePath(path)
        name = name.with_suffix("") if name.suffix in _COMPRESSED else name
        ends.append(name.suffix.removeprefix("."))
    known = all(map(language_known, ends)) and language_code(ends[0]) != language_code(ends[1])
    return (ends[0], ends[1]) if known else None


def _two(bitext: Bitext) -> tuple[str, str] | None:
    """The languages of a file that has just two: first the one that the file calls the source, else its first."""
    source, counts = bitext.languages()
    codes = list(dict.fromkeys(language_code(code) for code, _ in counts))
    if len(codes) != 2:
        return None
    first = language_code(source)
    return (codes[1], codes[0]) if first == codes[1] else (codes[0], codes[1])
