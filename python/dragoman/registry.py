"""What can be named: metrics, tuners, feature sets, tokenisers, splitters, engines and more. One table.

A name is looked for in `TABLE`, then among the entry points of installed packages (group `dragoman.metrics` and so on).
`FILE.py:NAME` takes an object or a class from a file of yours, and works wherever a name does:

    dragoman score --metric mine.py:Mine ...
    dragoman tune --tuner mine.py:Mine:rate=0.1 ...

A file of Python is run when it is loaded: name only what you trust.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.options import changed, closest, describe, presets_of

__all__ = ["KINDS", "TABLE", "Kind", "add", "find", "from_file", "is_file_spec", "make", "name_of", "names"]

TABLE: dict[str, dict[str, Any]] = {
    "metric": {
        "bleu": "dragoman.metrics.bleu:Bleu",
        "chrf": "dragoman.metrics.chrf:Chrf",
        "ter": "dragoman.metrics.ter:Ter",
        "wer": "dragoman.metrics.wer:Wer",
        "external": "dragoman.metrics.external:External",
    },
    "tuner": {
        "mert": "dragoman.tuning.tuners.mert:Mert",
        "smooth-mert": "dragoman.tuning.tuners.mert:Mert.smooth",
        "pro": "dragoman.tuning.tuners.pro:Pro",
        "mira": "dragoman.tuning.tuners.mira:Mira",
        "kbmira": "dragoman.tuning.tuners.mira:Mira.kbmira",
        "lattice-mira": "dragoman.tuning.tuners.forest_mira:LatticeMira",
        "forest-mert": "dragoman.tuning.tuners.forest_mert:ForestMert",
        "adagrad": "dragoman.tuning.tuners.online:Online",
        "phrasal": "dragoman.tuning.tuners.online:Online.phrasal",
        "risk": "dragoman.tuning.tuners.risk:Risk",
        "samplerank": "dragoman.tuning.tuners.samplerank:SampleRank",
    },
    "feature set": {
        "pt": "dragoman.features:Rules",
        "al": "dragoman.features:Alignments",
        "lo": "dragoman.features:Orientations",
        "wp": "dragoman.features:WordPairs",
        "ins": "dragoman.features:Insertions",
        "tb": "dragoman.features:TargetBigrams",
        "shape": "dragoman.features:Shapes",
        "path": "dragoman.features:SourcePaths",
        "pb": "dragoman.features:PhraseBoundaries",
        "bin": "dragoman.features:Bins",
        "boosted": "dragoman.features:Boosted",
        "sparse-hrm": "dragoman.features:SparseHrm",
    },
    "tokenizer": {
        "none": "dragoman.tokenizers:Blank",
        "char": "dragoman.tokenizers:Characters",
        "unicode": "dragoman.tokenizers:Unicode",
        "moses": "dragoman.tokenizers:Moses",
        "jieba": "dragoman.tokenizers:jieba",
        "fugashi": "dragoman.tokenizers:fugashi",
    },
    "splitter": {
        "rules": "dragoman.splitting:Rules",
        "none": "dragoman.splitting:Blank",
    },
    "tagger": {
        "en": "dragoman.tags:english",
        "de": "dragoman.tags:german",
        "nl": "dragoman.tags:dutch",
    },
    "engine": {
        "threads": "dragoman.engine:threads",
        "processes": "dragoman.engine.processes:Processes",
        "ray": "dragoman.engine:ray",
    },
    "dialect": {
        "moses": "dragoman.dialects:moses",
        "cdec": "dragoman.dialects:cdec",
        "travatar": "dragoman.dialects:travatar",
        "jsonl": "dragoman.dialects:jsonl",
    },
}
"""A name leads to `module:object`, imported on use. `add` puts an object of yours here."""

_OLD: dict[str, dict[str, str]] = {"tuner": {"online": "adagrad"}}
"""Names of before, and what they are called now."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the things of a kind are called, and what each must have."""

    group: str
    """Of entry points."""
    needs: tuple[str, ...]
    """Attributes; of what a factory makes, where `factory` is true."""
    factory: bool = False
    """Called for each use (with a language, a number of workers), not once for a prototype with options."""


KINDS: dict[str, Kind] = {
    "metric": Kind("dragoman.metrics", ("name", "higher_is_better", "prepare", "score")),
    "tuner": Kind("dragoman.tuners", ("name", "session")),
    "feature set": Kind("dragoman.features", ()),
    "tokenizer": Kind("dragoman.tokenizers", ("tokenize", "detokenize"), factory=True),
    "splitter": Kind("dragoman.splitters", ("spans",), factory=True),
    "tagger": Kind("dragoman.taggers", (), factory=True),
    "engine": Kind("dragoman.engines", ("map", "stream"), factory=True),
    "dialect": Kind("dragoman.nbest", ("parse",)),
}

_PREFIX = "dragoman_file_"
_FILES: dict[str, tuple[float, ModuleType]] = {}
"""Files of users that were run, by resolved path, with the time of their last change."""
_NAMED: dict[type, str] = {}
"""Classes from files of users, with the spec that named them: what signatures say."""


def add(kind: str, name: str, thing: Any) -> None:
    """Registers an object (or `module:object`) under a name, or replaces what has it."""
    if kind not in TABLE:
        raise OptionError(f"unknown kind `{kind}`; {closest(kind, TABLE)}")
    TABLE[kind][name] = thing


def names(kind: str) -> list[str]:
    """All names of a kind: ours in the order of the table, then those of installed packages."""
    more = sorted({entry.name for entry in entry_points(group=KINDS[kind].group)} - set(TABLE[kind]))
    return [*TABLE[kind], *more]


def find(kind: str, name: str) -> Any:
    """The object of a name, or of `FILE.py:NAME`; a class stays a class."""
    if is_file_spec(name):
        found, _ = from_file(name)
        return found
    if name in TABLE[kind]:
        entry = TABLE[kind][name]
        return _imported(entry) if isinstance(entry, str) else entry
    for point in entry_points(group=KINDS[kind].group):
        if point.name == name:
            return _loaded(kind, point)
    if name in _OLD.get(kind, {}):
        raise OptionError(f"the {kind} `{name}` is called `{_OLD[kind][name]}` now")
    raise OptionError(f"unknown {kind} `{name}`; {closest(name, names(kind))}, or one of yours as FILE.py:NAME")


def make(kind: str, spec: str, *arguments: Any) -> Any:
    """What a spec names: `bleu:lowercase`, `kbmira:c=0.01`, `mine.py:Mine:rate=2`, ready for use.

    Prototypes are changed by the options of the spec; factories are called with `arguments`.
    """
    name, rest = _parted(spec)
    found = find(kind, name)
    about = KINDS[kind]
    if about.factory:
        made = _called(kind, name, found, arguments)
    else:
        # A class, or a function such as `Mert.smooth`, makes the prototype.
        makes = isinstance(found, (type, FunctionType, MethodType))
        made = _called(kind, name, found, ()) if makes else found
        if is_file_spec(name):
            _NAMED[type(made)] = name
    for need in about.needs:
        if not hasattr(made, need):
            raise OptionError(f"{name} is no {kind}: it lacks `{need}`")
    if rest and not is_dataclass(made):
        raise OptionError(f"the {kind} {name} takes no options: only a dataclass does; found `{rest}`")
    return changed(f"{kind} {name}", made, rest) if rest else made


def name_of(kind: str, thing: Any) -> str:
    """The spec of a thing: the name it has in the table, or in its file, and the options that differ from that."""
    if type(thing) in _NAMED:
        return describe(_NAMED[type(thing)], thing)
    specs = []
    for name in names(kind):
        prototype = make(kind, name)
        if type(prototype) is type(thing):
            specs.append(describe(name, thing, prototype))
            specs += [describe(name, thing, made, preset) for preset, made in presets_of(prototype).items()]
    if not specs:
        return describe(getattr(thing, "name", type(thing).__name__), thing) if is_dataclass(thing) else thing.name
    return min(specs, key=lambda spec: (spec.count("="), len(spec)))  # the first of equals


def is_file_spec(spec: str) -> bool:
    """Whether a spec names something in a file of Python: `FILE.py:NAME`, perhaps with options."""
    return ".py:" in spec or spec.endswith(".py")


def from_file(spec: str) -> tuple[Any, str]:
    """What `FILE.py:NAME` names, and the options that follow a second colon."""
    path, _, rest = spec.rpartition(".py:")
    name, _, options = rest.partition(":")
    if not path or not name:
        raise OptionError(f"expected FILE.py:NAME, found `{spec}`")
    module = load_file(f"{path}.py")
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [n for n in vars(module) if not n.startswith("_")]
            raise OptionError(f"{path}.py: there is no `{name}`; {closest(name, known)}")
        found = getattr(found, part)
    return found, options


def load_file(path: str | os.PathLike[str]) -> ModuleType:
    """Runs a file of Python, once, unless it has changed since; errors name the file and the line."""
    given = Path(path)
    if not given.is_file():
        raise InputError(f"{given}: there is no such file", str(given))
    place = str(given.resolve())
    changed_at = given.stat().st_mtime
    known = _FILES.get(place)
    if known is not None and known[0] == changed_at:
        return known[1]
    # Its name says where the file is, so that what it defines can be pickled: see _Files.
    name = _PREFIX + place.encode().hex()
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise InputError(f"{given}: expected a file of Python, .py", str(given))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their module
    try:
        spec.loader.exec_module(module)
    except DragomanError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise _failed(given, error) from error
    _FILES[place] = changed_at, module
    return module


def _failed(path: Path, error: Exception) -> InputError:
    """An error in a file of a user, with its line."""
    places = [p for p in traceback.extract_tb(error.__traceback__) if Path(p.filename) == path.resolve()]
    line = error.lineno if isinstance(error, SyntaxError) else places[-1].lineno if places else None
    where = f"{path}:{line}" if line else str(path)
    what = error.msg if isinstance(error, SyntaxError) else str(error)
    return InputError(f"{where}: {type(error).__name__}: {what}", str(path), line)


class _Files(importlib.abc.MetaPathFinder):
    """Lets other processes import what was pickled of a file of a user: the module's name is the file's path."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """The file, if the name is one of ours."""
        if not fullname.startswith(_PREFIX):
            return None
        return importlib.util.spec_from_file_location(fullname, bytes.fromhex(fullname[len(_PREFIX) :]).decode())


sys.meta_path.append(_Files())


def _parted(spec: str) -> tuple[str, str]:
    """The name of a spec and its options."""
    if is_file_spec(spec):
        path, _, rest = spec.rpartition(".py:")
        name, _, options = rest.partition(":")
        return f"{path}.py:{name}", options
    name, _, options = spec.partition(":")
    return name, options


def _imported(entry: str) -> Any:
    place, _, name = entry.partition(":")
    found: Any = importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _loaded(kind: str, point: Any) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise OptionError(f"the {kind} {point.name} of {point.value} cannot be loaded: {error}") from error


def _called(kind: str, name: str, found: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a class or a factory makes."""
    if not callable(found):
        return found
    try:
        return found(*arguments)
    except DragomanError:
        raise
    except Exception as error:
        raise OptionError(f"the {kind} {name} cannot be made: {type(error).__name__}: {error}") from error
