"""Weights on disk: a TOML file that people can read and edit, or JSON for programs.

The components of a dense group stand together: `TM = [0.2, 0.3]` is the weight of `TM[0]` and `TM[1]`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from dragoman._core import VERSION, Names
from dragoman.config import closest
from dragoman.errors import InputError
from dragoman.files import write_text
from dragoman.toml import key
from dragoman.toml import load as load_toml
from dragoman.toml import value as toml_value
from dragoman.types import Weights

__all__ = ["load", "save"]

_KEYS = ("weights", "info")
_COMPONENT = re.compile(r"(.+)\[(0|[1-9][0-9]{0,8})\]", re.DOTALL)


def save(path: str | os.PathLike[str], weights: Weights, info: Mapping[str, str | int | float] | None = None) -> None:
    """Writes weights, and what they came from, to `.json` or (any other name) TOML. Round trips are exact."""
    groups = _grouped(weights.to_dict())
    about = {"version": VERSION, **(info or {})}
    if Path(path).suffix == ".json":
        lines = json.dumps({"weights": groups, "info": about}, indent=1, ensure_ascii=False).split("\n")
    else:
        lines = ["[weights]", *(f"{key(name)} = {toml_value(value)}" for name, value in groups.items()), ""]
        lines += ["[info]", *(f"{key(name)} = {toml_value(value)}" for name, value in about.items())]
    write_text(path, lines)


def load(path: str | os.PathLike[str]) -> Weights:
    """Reads weights from TOML or (`.json`) JSON; anything but finite numbers is an error that names the feature."""
    name = os.fspath(path)
    content = _parse(name)
    for section in content:
        if section not in _KEYS:
            raise InputError(f"{name}: unknown section `{section}`; {closest(section, _KEYS)}", name)
    table = content.get("weights")
    if not isinstance(table, dict):
        raise InputError(f"{name}: expected a section `weights` with `name = number` lines, found none", name)
    flat: dict[str, float] = {}
    dense: dict[str, bool] = {}
    for feature, value in _flattened(name, table):
        if feature in flat:
            raise InputError(f"{name}: the weight of `{feature}` is given twice", name)
        flat[feature] = value
        dense[feature] = _COMPONENT.fullmatch(feature) is not None
    names = Names()
    for feature, mark in dense.items():
        names.intern(feature, mark)
    return Weights(names, np.fromiter(flat.values(), dtype=np.float64, count=len(flat)))


def _parse(name: str) -> dict[str, Any]:
    if not name.endswith(".json"):
        return load_toml(name, "weights")
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", name) from None
    except ValueError as error:  # of the decoder or of JSON
        raise InputError(f"{name}: expected weights in JSON, but {error}", name) from None
    if not isinstance(content, dict):
        raise InputError(f"{name}: expected an object with `weights` in it", name)
    return content


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
