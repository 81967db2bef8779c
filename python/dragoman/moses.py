"""Moses' models: `moses.ini` with its tables, language models and weights becomes a model folder.

Phrase-based systems and hierarchical ones, whose rules have gaps: these have a glue grammar, too, of three rules.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from dragoman import lm, model, rules
from dragoman._core import VERSION, rules_form
from dragoman.errors import InputError
from dragoman.files import cache_folder, read_text
from dragoman.model import MANIFEST, PHRASE, Model, Part

__all__ = ["cached", "convert", "read_ini"]

_SPANS = "max-chart-span"
_SEARCH = {"distortion-limit": "distortion_limit", "stack": "stack_size", "cube-pruning-pop-limit": "pop_limit"}
_IGNORED = {
    "input-factors",
    "mapping",
    "threads",
    "verbose",
    "cache-path",
    "n-best-list",
    "search-algorithm",
    "beam-threshold",
    "cube-pruning-diversity",
    "cube-pruning-lazy-scoring",
    "max-phrase-length",
    "print-alignment-info",
    "print-alignment-info-in-n-best",
    "report-segmentation",
    "output-search-graph",
    "show-weights",
    "mark-unknown",
    "inputtype",
    "non-terminals",
}
"""Sections that say nothing about scores, or whose work our own options do."""


@dataclass(slots=True)
class Ini:
    """What a `moses.ini` says."""

    path: Path
    features: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    """Line, kind, options of each feature."""
    weights: dict[str, list[float]] = field(default_factory=dict)
    weight_lines: dict[str, int] = field(default_factory=dict)
    search: dict[str, int] = field(default_factory=dict)
    """Fields of `Search`."""
    spans: list[int] = field(default_factory=list)
    """Words that rules may span, table by table."""

    def fail(self, line: int, what: str) -> InputError:
        """An error at a line."""
        return InputError(f"{self.path}:{line}: {what}", str(self.path), line)


def read_ini(path: str | PathLike[str]) -> Ini:
    """Reads a `moses.ini`; anything this package could not honour is an error that names the line."""
    ini = Ini(Path(path))
    section = ""
    for number, raw in enumerate(read_text(Path(path)), start=1):
        text = raw.split("#", 1)[0].strip()
        if not text:
            continue
        if text.startswith("["):
            section = text.strip("[]")
            if section not in {"feature", "weight", _SPANS, *_SEARCH, *_IGNORED}:
                raise ini.fail(number, f"section [{section}] cannot be read from Moses")
        elif section == "feature":
            kind, *options = text.split()
            ini.features.append((number, kind, dict(_option(ini, number, item) for item in options)))
        elif section == "weight":
            name, equal, values = text.partition("=")
            if not equal:
                raise ini.fail(number, f"expected name= weights, found `{text}`")
            ini.weights[name.strip()] = [_number(ini, number, item) for item in values.split()]
            ini.weight_lines[name.strip()] = number
        elif section == _SPANS:
            ini.spans.append(_whole(ini, number, section, text, 1))
        elif section in _SEARCH:
            ini.search[_SEARCH[section]] = _whole(ini, number, section, text)
        elif section not in _IGNORED:
            raise ini.fail(number, f"expected a section in brackets first, found `{text}`")
    if not ini.features:
        raise ini.fail(1, "expected a section [feature] with features in it, found none")
    return ini


def _option(ini: Ini, line: int, item: str) -> tuple[str, str]:
    name, equal, value = item.partition("=")
    if not equal:
        raise ini.fail(line, f"expected name=value, found `{item}`")
    return name, value


def _number(ini: Ini, line: int, item: str) -> float:
    try:
        value = float(item)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ini.fail(line, f"expected a weight, found `{item}`")
    return value


def _whole(ini: Ini, line: int, what: str, item: str, least: int = -1) -> int:
    try:
        value = int(item)
    except ValueError:
        value = least - 1
    if value < least:
        raise ini.fail(line, f"expected a whole number of at least {least} as {what}, found `{item}`")
    return value


def convert(path: str | PathLike[str], folder: str | PathLike[str]) -> Model:
    """Reads the tables, language models and weights of a Moses system and writes them as a model folder."""
    ini, out = read_ini(path), Path(folder)
    if (out / MANIFEST).exists():
        raise InputError(f"{out}: there is a model already", str(out))
    out.mkdir(parents=True, exist_ok=True)
    maker = _Maker(ini, out)
    for line, kind, options in ini.features:
        maker.add(line, kind, options)
    tables, parts = maker.finish()
    return model.seal(
        out,
        tables=tables,
        parts=parts,
        initial=maker.initial,
        system="hiero" if maker.hiero else PHRASE,
        search=maker.search(),
        made={"from": "moses.ini"},
    )


class _Maker:
    """Collects parts; tables are joined with their reordering tables at the end."""

    def __init__(self, ini: Ini, out: Path) -> None:
        self.ini, self.out = ini, out
        self.initial: dict[str, float] = {}
        self.limits: list[int] = []
        self.parts: list[Part] = []
        self.phrase_tables: list[tuple[int, str, Path]] = []
        self.reordering: list[tuple[str, Path, str]] = []
        self.counts: dict[str, int] = {}
        self.weighed: set[str] = set()
        tables = [(line, o) for line, kind, o in ini.features if kind == "PhraseDictionaryMemory"]
        forms = [rules_form(os.fspath(self._file(line, options))) for line, options in tables]
        self.hiero = forms.count("phrases") < len(forms)
        """Whether rules have gaps."""
        if self.hiero and "phrases" in forms:
            raise ini.fail(tables[forms.index("phrases")][0], "expected rules with gaps, as in the other tables")

    def search(self) -> dict[str, int]:
        """How widely to search, as Moses would."""
        found = {"table_limit": 0 if 0 in self.limits else max(self.limits), **self.ini.search}
        if self.hiero:
            found["span_limit"] = min(self.ini.spans, default=_MOSES_SPAN)
            found["cell_limit"] = found.pop("stack_size", _MOSES_CELL)
            found.pop("distortion_limit", None)  # Moses, too, has no use for it there
        return found

    def add(self, line: int, kind: str, options: dict[str, str]) -> None:
        """Adds a line of [feature]."""
        kinds = {
            "UnknownWordPenalty": "unknown-penalty",
            "WordPenalty": "word-penalty",
            "PhrasePenalty": "phrase-penalty",
            "Distortion": "distortion",
        }
        name = options.get("name") or f"{kind}{self._next(kind)}"
        if kind in kinds:
            self._weigh(line, name, 1)
            self.parts.append(Part(kinds[kind], name, _COUNTED.get(kind, {}) if self.hiero else {}))
        elif kind == "KENLM":
            self._weigh(line, name, 1)
            file = f"{name}.lm"
            lm.convert(self._file(line, options), self.out / file, form="hash")
            self.parts.append(Part("lm", name, {"path": file}))
        elif kind == "PhraseDictionaryMemory" and (glue := self._glue(self._file(line, options))) is not None:
            self._weigh(line, name, 1)
            self.parts.append(Part("glue", name, {"first": glue, "next": glue}))
        elif kind == "PhraseDictionaryMemory":
            self.limits.append(_whole(self.ini, line, "table-limit", options.get("table-limit", "20"), 0))
            count = _whole(self.ini, line, "num-features", options.get("num-features", "4"), 1)
            self.phrase_tables.append((line, name, self._file(line, options)))
            self._weigh(line, name, count)
        elif kind == "LexicalReordering":
            self._check_reordering(line, options)
            top = "stack" if options["type"].startswith("hier") else "phrase"
            self.reordering.append((name, self._file(line, options), top))
            self._weigh(line, name, 6)
        else:
            raise self.ini.fail(line, f"feature `{kind}` cannot be read from Moses")

    def finish(self) -> tuple[list[str], list[Part]]:
        """Writes the tables; gives their names and all parts."""
        if not self.phrase_tables:
            raise self.ini.fail(1, "expected a PhraseDictionaryMemory, found none")
        for name, line in self.ini.weight_lines.items():
            if name not in self.weighed:
                raise self.ini.fail(line, f"there are weights of {name}, but no such feature")
        tables, parts = [], []
        joined = {name: path for name, path, _ in self.reordering}
        for number, (line, name, path) in enumerate(self.phrase_tables):
            file = f"{name}.rules"
            columns = self._import(line, name, path, joined)
            tables.append(file)
            group = {"group": name} if columns[0] == f"{name}[0]" else {}
            parts.append(Part("scores", name, {"table": number, "columns": columns, **group}))
        every = ",".join(str(number) for number in range(len(tables)))
        for name, _, top in self.reordering:
            parts.append(Part("reordering", name, {"table": every, "model": name, "top": top}))
        return tables, [*self.parts, *parts]

    def _import(self, line: int, name: str, path: Path, reordering: Mapping[str, Path]) -> list[str]:
        """Writes a table; gives the names of its scores, and of their weights. Those of cdec have names already."""
        values, file = self.ini.weights[name], self.out / f"{name}.rules"
        columns = [f"{name}[{i}]" for i in range(len(values))]
        if rules_form(os.fspath(path)) != "cdec":
            rules.import_moses(path, file, reordering=reordering, columns=columns)
            return columns
        named = list(rules.import_moses(path, file, reordering=reordering).columns)
        if len(named) != len(values):
            raise self.ini.fail(
                line, f"expected num-features={len(named)} and weights of {' '.join(named)}, in this order"
            )
        for column in columns if len(columns) > 1 else [name]:
            del self.initial[column]
        self.initial.update(zip(named, values, strict=True))
        return named

    def _glue(self, path: Path) -> float | None:
        """What each rule of the start symbol scores, if the table is a glue grammar; else none."""
        if not self.hiero or path.stat().st_size > _MOST_GLUE:
            return None
        found: dict[str, float] = {}
        for number, line in enumerate(read_text(path), start=1):
            sides = [" ".join(part.split()) for part in line.split("|||")]
            if len(sides) < 3 or (rule := " ||| ".join(sides[:2])) not in _GLUE:
                if "[S]" in line:
                    raise InputError(f"{path}:{number}: expected a rule of a glue grammar, found `{line}`", str(path))
                return None
            found[_GLUE[rule]] = _number(self.ini, number, sides[2])
        if set(found) != set(_GLUE.values()) or found["start"] != 1 or found["end"] != 1 or found["next"] <= 0:
            raise InputError(f"{path}: expected rules for <s>, </s> (scored 1) and `[X][S] [X][X]`", str(path))
        return math.log(found["next"])

    def _check_reordering(self, line: int, options: Mapping[str, str]) -> None:
        kind = options.get("type", "")
        if not re.fullmatch(r"(wbe|phrase|hier)-msd-bidirectional-fe(-allff)?", kind):
            raise self.ini.fail(line, f"expected a reordering type X-msd-bidirectional-fe, found `{kind}`")

    def _next(self, kind: str) -> int:
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return self.counts[kind]

    def _file(self, line: int, options: Mapping[str, str]) -> Path:
        if "path" not in options:
            raise self.ini.fail(line, "expected path=FILE, found none")
        given = Path(options["path"])
        choices = [given, self.ini.path.parent / given, *(_packed(self.ini.path.parent / given))]
        for choice in choices:
            if choice.is_file():
                return choice
        raise self.ini.fail(line, f"there is no file {given}")

    def _weigh(self, line: int, name: str, count: int) -> None:
        values = self.ini.weights.get(name)
        if name in self.weighed:
            raise self.ini.fail(line, f"two features are called {name}")
        self.weighed.add(name)
        if values is None or len(values) != count:
            found = "none" if values is None else len(values)
            raise self.ini.fail(line, f"expected {count} weight(s) of {name} in [weight], found {found}")
        names = [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
        self.initial.update(zip(names, values, strict=True))


_GLUE = {
    "<s> [X] ||| <s> [S]": "start",
    "[X][S] </s> [X] ||| [X][S] </s> [S]": "end",
    "[X][S] [X][X] [X] ||| [X][S] [X][X] [S]": "next",
}
"""The rules of a glue grammar with one kind of gap."""
_MOST_GLUE = 10_000
"""Bytes of a glue grammar, at most."""
_COUNTED: dict[str, dict[str, int]] = {"WordPenalty": {"ends": 2}, "PhrasePenalty": {"glue": 1, "ends": 2}}
"""What Moses' chart counts besides: `<s>` and `</s>` as words and as rules, and each rule of the start symbol."""
_MOSES_SPAN, _MOSES_CELL = 20, 200
"""Moses' defaults."""


def _packed(path: Path) -> Iterator[Path]:
    yield path.with_name(path.name + ".gz")


def cached(path: str | PathLike[str]) -> Model:
    """The model of a `moses.ini`, converted once and kept in the user's cache until one of its files changes."""
    ini = read_ini(path)
    key = hashlib.blake2b(digest_size=12)
    key.update(f"{VERSION} {model.FORMAT}\n".encode())
    key.update(Path(path).read_bytes())
    for line, _, options in ini.features:
        if "path" in options:
            file = _Maker(ini, Path())._file(line, options)
            status = file.stat()
            key.update(f"{file.resolve()} {status.st_size} {status.st_mtime_ns}\n".encode())
    root = cache_folder("moses")
    folder = root / key.hexdigest()
    if not (folder / MANIFEST).exists():
        work = root / f"{key.hexdigest()}.{os.getpid()}"
        shutil.rmtree(work, ignore_errors=True)
        convert(path, work)
        try:
            work.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(work, ignore_errors=True)
    return Model.open(folder)
