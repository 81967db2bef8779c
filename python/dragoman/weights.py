"""Weights on disk, and whole sets of weights at once: merged, averaged, pruned, compared.

Small ones are TOML that people can read and edit, or JSON; millions are plain text (`name value`, as Moses, cdec and
Travatar have it) or a binary file that is mapped. What a file holds shows in its content, its form in its name:

    .toml (and any other name)   [weights], with the components of a dense group together: `TM = [0.2, 0.3]`
    .json                        the same as JSON
    .txt, .weights               a line `name value` each
    .bin                         mapped: opens without reading names one by one

Text may be compressed (`.txt.gz`). Names are never Python objects here, but where some are shown.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dragoman._core import (
    VERSION,
    Names,
    names_extend,
    names_match,
    names_sets,
    names_take,
    weights_load,
    weights_save,
)
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text, write_text
from dragoman.options import check, closest, made, option
from dragoman.toml import key
from dragoman.toml import load as load_toml
from dragoman.toml import loads as loads_toml
from dragoman.toml import value as toml_value
from dragoman.types import F64, I64, Weights

__all__ = [
    "Averaging",
    "Changes",
    "Merging",
    "Pruning",
    "SetStat",
    "about",
    "average",
    "diff",
    "form_of",
    "load",
    "merge",
    "prune",
    "save",
    "sets",
    "top",
]

Info = Mapping[str, str | int | float]

_KEYS = ("weights", "info")
_COMPONENT = re.compile(r"(.+)\[(0|[1-9][0-9]{0,8})\]", re.DOTALL)
_PACKED = (".gz", ".zst", ".xz")
_FORMS = {".json": "json", ".toml": "toml", ".txt": "text", ".weights": "text", ".bin": "binary"}


def form_of(path: str | os.PathLike[str]) -> str:
    """The form that a name asks for: `json`, `text`, `binary`, else `toml`; standard output takes text."""
    name = os.fspath(path)
    packed = name.endswith(_PACKED)
    plain = name.rsplit(".", 1)[0] if packed else name
    form = "text" if plain == "-" else _FORMS.get(Path(plain).suffix, "toml")
    if packed and form == "binary":
        raise OptionError(f"expected a file name without .gz, .zst or .xz for weights that are mapped, found `{name}`")
    return form


def save(path: str | os.PathLike[str], weights: Weights, info: Info | None = None) -> None:
    """Writes weights, and what they came from, in the form that the name asks for. Round trips are exact."""
    name, form = os.fspath(path), form_of(path)
    facts: dict[str, str | int | float] = {"version": VERSION, **(info or {})}
    if form == "json":
        groups = {"weights": _grouped(weights.to_dict()), "info": facts}
        write_text(name, json.dumps(groups, indent=1, ensure_ascii=False).split("\n"))
        return
    if form == "text":
        said = [(key, str(value)) for key, value in facts.items()]
    elif form == "binary":
        said = [("", json.dumps(facts, ensure_ascii=False))]
    else:
        lines = ["", "[info]", *(f"{key(name)} = {toml_value(value)}" for name, value in facts.items()), ""]
        said = [("", "\n".join(lines))]
    weights_save(name, form, weights.names, np.ascontiguousarray(weights.values), said)


def load(path: str | os.PathLike[str]) -> Weights:
    """Reads weights of any form (text and TOML compressed or not); errors name file and line."""
    return _load(os.fspath(path))[0]


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says about its weights: where they came from. Plain text says it to people only."""
    name = os.fspath(path)
    if name.endswith(".toml"):
        _, found, info = Path(name).read_text(encoding="utf-8").rpartition("\n[info]\n")
        return loads_toml(f"[info]\n{info}")["info"] if found else {}
    return _load(name)[1]


def _load(name: str) -> tuple[Weights, dict[str, Any]]:
    plain = name.rsplit(".", 1)[0] if name.endswith(_PACKED) else name
    found = None if plain.endswith(".json") else weights_load(name, plain.endswith(".toml"))
    if found is not None:
        names, values, said = found
        return Weights(names, values), {} if said is None else json.loads(said)
    content = _parse(name, plain)
    for section in content:
        if section not in _KEYS:
            raise InputError(f"{name}: unknown section `{section}`; {closest(section, _KEYS)}", name)
    table = content.get("weights")
    if not isinstance(table, dict):
        raise InputError(f"{name}: expected a section `weights` with `name = number` lines, found none", name)
    return _weights(name, table), content.get("info", {})


def _weights(name: str, table: Mapping[str, Any]) -> Weights:
    names = Names()
    values: list[float] = []
    for feature, value in _flattened(name, table):
        if names.intern(feature, _COMPONENT.fullmatch(feature) is not None) < len(values):
            raise InputError(f"{name}: the weight of `{feature}` is given twice", name)
        values.append(value)
    return Weights(names, np.array(values, dtype=np.float64))


def _parse(name: str, plain: str) -> dict[str, Any]:
    if name == "-":
        raise InputError("-: expected weights as lines `name value`, found TOML or JSON: give it as a file", name)
    if plain.endswith(".toml") or (not plain.endswith(".json") and not _is_json(name)):
        return load_toml(name, "weights")
    try:
        content = json.loads("\n".join(read_text(Path(name))))
    except ValueError as error:
        raise InputError(f"{name}: expected weights in JSON, but {error}", name) from None
    if not isinstance(content, dict):
        raise InputError(f"{name}: expected an object with `weights` in it", name)
    return content


def _is_json(name: str) -> bool:
    return next((line for line in map(str.strip, read_text(Path(name))) if line), "").startswith("{")


def _grouped(weights: Mapping[str, float]) -> dict[str, float | list[float]]:
    """Puts `TM[0]`, `TM[1]`, ... together, if they are all there and nothing else is called `TM`."""
    groups: dict[str, float | list[float]] = {}
    for name, value in weights.items():
        match = _COMPONENT.fullmatch(name)
        base = match[1] if match else ""
        if not match or base in weights or not _whole(weights, base, int(match[2])):
            groups[name] = value
        elif base not in groups:
            groups[base] = list(_components(weights, base))
    return groups


def _components(weights: Mapping[str, float], base: str) -> Iterator[float]:
    for k in count():
        if f"{base}[{k}]" not in weights:
            return
        yield weights[f"{base}[{k}]"]


def _whole(weights: Mapping[str, float], base: str, index: int) -> bool:
    """Whether component `index` is reached by counting up from 0."""
    return all(f"{base}[{k}]" in weights for k in range(index))


def _flattened(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in table.items():
        values = value if isinstance(value, list) else [value]
        for k, v in enumerate(values):
            if isinstance(v, bool) or not isinstance(v, (int, float)) or not np.isfinite(v):
                raise InputError(f"{path}: expected a finite number as the weight of `{name}`, found `{v}`", path)
            yield (f"{name}[{k}]" if isinstance(value, list) else name), float(v)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """How several sets of weights become one."""

    duplicates: Literal["last", "first", "sum", "error"] = option(
        "last", help="What a name weighs that several files have."
    )

    def __post_init__(self) -> None:
        check(self)


def merge(parts: Sequence[Weights], options: Merging | None = None, **changes: Any) -> Weights:
    """All names of all parts. A name that several have gets the last value, the first, the sum, or is an error."""
    duplicates = made(Merging, changes, base=options).duplicates
    names, values, seen = _start(parts), np.zeros(0), np.zeros(0, dtype=np.int64)
    for number, part in enumerate(parts):
        ids = names_extend(names, _exact(part)) if number else np.arange(len(part))
        values, seen = _widened(values, len(names)), _widened(seen, len(names))
        again = seen[ids] > 0
        if duplicates == "error" and again.any():
            raise OptionError(f"`{names[int(ids[again][0])]}` is in more than one of the parts")
        if duplicates == "sum":
            values[ids] += part.values
        else:
            values[ids] = np.where(again, values[ids], part.values) if duplicates == "first" else part.values
        seen[ids] += 1
    return Weights(names, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaging:
    """How the mean of weights is taken."""

    factors: tuple[float, ...] = option((), help="How much each file counts.", min=0, usual="all alike")
    present: bool = option(
        False, help="Take the mean over those files that have a name; else a name weighs 0 in a file that lacks it."
    )

    def __post_init__(self) -> None:
        check(self)


def average(parts: Sequence[Weights], options: Averaging | None = None, **changes: Any) -> Weights:
    """The mean of weights, as iterative parameter mixing takes it: a name that a part lacks weighs 0 there.

    `changes` are options by name: `factors` says how much each part counts, `present` takes the mean over those parts
    only that have the name.
    """
    o = made(Averaging, changes, base=options)
    shares = [float(factor) for factor in o.factors] or [1.0] * len(parts)
    if not parts or len(shares) != len(parts) or not sum(shares) > 0:
        raise OptionError(f"expected a factor for each of {len(parts)} parts, not all of them 0, found {o.factors}")
    names, sums, mass = _start(parts), np.zeros(0), np.zeros(0)
    for number, (part, share) in enumerate(zip(parts, shares, strict=True)):
        ids = names_extend(names, _exact(part)) if number else np.arange(len(part))
        sums, mass = _widened(sums, len(names)), _widened(mass, len(names))
        sums[ids] += share * part.values
        mass[ids] += share
    if not o.present:
        mass = np.full(len(sums), sum(shares))
    return Weights(names, np.divide(sums, mass, out=np.zeros(len(sums)), where=mass > 0))


def _exact(weights: Weights) -> Names:
    """The names that have values."""
    whole = len(weights.names) == len(weights)
    return weights.names if whole else names_take(weights.names, np.arange(len(weights)))


def _start(parts: Sequence[Weights]) -> Names:
    """A table to add all names to: that of the first part, so that its names need not be added one by one."""
    return _exact(parts[0]).copy() if parts else Names()


def _widened(values: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    return np.concatenate([values, np.zeros(width - len(values), dtype=values.dtype)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """Which weights are kept."""

    min_weight: float = option(
        0.0, help="Drop sparse features that weigh less than this, up or down.", min=0, was=["least"]
    )
    max_features: int | None = option(
        None, help="Keep the N largest sparse features.", min=0, usual="all", was=["most"]
    )
    only: tuple[str, ...] = option(
        (), help="Keep these sets alone, or patterns: 'pt:*haus*'.", metavar="SET", usual="all"
    )
    without: tuple[str, ...] = option((), help="Drop these sets or patterns.", metavar="SET")
    dense: bool = option(False, help="Let dense features go, too; else they stay.")

    def __post_init__(self) -> None:
        check(self)


def prune(weights: Weights, options: Pruning | None = None, **changes: Any) -> Weights:
    """Fewer weights: those of some size, the largest, of the sets `only`, not of the sets `without`.

    `changes` are options by name. `only` and `without` take sets (`pt`) or patterns (`pt:*haus*`). Names outside all
    sets are dense features and stay whatever they weigh, unless `dense` is true. Zeros go in any case.
    """
    o = made(Pruning, changes, base=options)
    known, of = names_sets(weights.names)
    of = of[: len(weights)]
    sparse = np.ones(len(weights), dtype=bool) if o.dense else np.array([name != "" for name in known], dtype=bool)[of]
    size = np.abs(weights.values)
    keep = (size > 0) & ~(sparse & (size < o.min_weight))
    if o.only:
        keep &= ~sparse | _chosen(weights, known, of, o.only)
    if o.without:
        keep &= ~_chosen(weights, known, of, o.without)
    if o.max_features is not None:
        rivals = np.flatnonzero(keep & sparse)
        keep[rivals[np.argsort(-size[rivals], kind="stable")[o.max_features :]]] = False
    ids = np.flatnonzero(keep)
    return Weights(names_take(weights.names, ids), weights.values[ids])


def _chosen(
    weights: Weights, known: Sequence[str], of: npt.NDArray[np.uint32], wanted: Sequence[str]
) -> npt.NDArray[np.bool_]:
    """Which names belong to some of the sets, or fit some of the patterns."""
    fit = np.zeros(len(weights), dtype=bool)
    for item in wanted:
        if "*" in item:
            fit |= names_match(weights.names, item)[: len(weights)]
        elif item in known:
            fit |= of == known.index(item)
        else:
            raise OptionError(f"no weight belongs to a set `{item}`; {closest(item, [k for k in known if k])}")
    return fit


@dataclass(frozen=True, slots=True)
class SetStat:
    """The weights of a set; `name` is empty for the dense features, which belong to none."""

    name: str
    names: int
    nonzero: int
    l1: float
    """Sum of sizes."""
    l2: float
    """Euclidean length."""
    lowest: float
    highest: float


def sets(weights: Weights) -> list[SetStat]:
    """What weights there are, set by set."""
    known, of = names_sets(weights.names)
    of, values = of[: len(weights)], weights.values
    order = np.argsort(of, kind="stable")
    bounds = np.searchsorted(of[order], np.arange(len(known) + 1))
    made = []
    for name, first, last in zip(known, bounds[:-1], bounds[1:], strict=True):
        own = values[order[first:last]]
        if len(own):
            size = np.abs(own)
            length = float(np.sqrt(np.sum(own * own)))
            made.append(
                SetStat(
                    name, len(own), int((own != 0).sum()), float(size.sum()), length, float(own.min()), float(own.max())
                )
            )
    return made


def top(weights: Weights, size: int, pattern: str | None = None) -> list[tuple[str, float]]:
    """The largest weights with their names, largest first; of all, or of those whose names fit a pattern."""
    rows = np.arange(len(weights)) if pattern is None else np.flatnonzero(names_match(weights.names, pattern))
    rows = rows[rows < len(weights)]
    order = rows[_largest(np.abs(weights.values[rows]), size)]
    return [(weights.names[int(row)], float(weights.values[row])) for row in order]


def _largest(sizes: F64, size: int) -> I64:
    """Places of the largest, in order."""
    if size < len(sizes):
        edge = np.partition(sizes, len(sizes) - size)[len(sizes) - size] if size else np.inf
        some = np.flatnonzero(sizes >= edge)
    else:
        some = np.arange(len(sizes))
    return some[np.argsort(-sizes[some], kind="stable")[:size]]


@dataclass(frozen=True, slots=True)
class Changes:
    """How two sets of weights differ."""

    first: int
    """Names of the first alone."""
    second: int
    """Names of the second alone."""
    both: int
    """Names that both have."""
    equal: int
    """Names that both have with the same value."""
    distance: float
    """Euclidean length of the difference; a name that one lacks weighs 0 there."""
    cosine: float
    """Of the angle between the two; NaN if one of them is all zero."""
    largest: list[tuple[str, float, float]]
    """The names that differ most, with both values; NaN where a name is missing."""


def diff(first: Weights, second: Weights, size: int = 20) -> Changes:
    """Compares two sets of weights by name."""
    names = _start([first])
    ids = names_extend(names, _exact(second))
    left, right = np.full(len(names), np.nan), np.full(len(names), np.nan)
    left[: len(first)], right[ids] = first.values, second.values
    has_left, has_right = ~np.isnan(left), ~np.isnan(right)
    a, b = np.nan_to_num(left), np.nan_to_num(right)
    change = np.abs(a - b)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    rows = _largest(change, size)
    return Changes(
        first=int((has_left & ~has_right).sum()),
        second=int((has_right & ~has_left).sum()),
        both=int((has_left & has_right).sum()),
        equal=int((left == right).sum()),
        distance=float(np.linalg.norm(change)),
        cosine=float(a @ b) / norm if norm > 0 else float("nan"),
        largest=[(names[int(r)], float(left[r]), float(right[r])) for r in rows if change[r] > 0],
    )
