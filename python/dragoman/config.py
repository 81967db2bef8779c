"""Options from text: `name:key=value,flag` on the command line becomes a frozen dataclass, strictly."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from dragoman.errors import OptionError

__all__ = ["build", "closest", "from_options"]

T = TypeVar("T")


def closest(word: str, known: Iterable[str]) -> str:
    """A hint for an error message: what `word` was probably meant to be, or all that is known."""
    choices = sorted(known)
    near = difflib.get_close_matches(word, choices, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(choices)}"


def build(kind: str, table: Mapping[str, type[T]], spec: str) -> T:
    """An object of a registry from its text form.

    `bleu`, `bleu:lowercase`, `bleu:tokenize=none,smooth=add-k`, `external:comet`: a name, then options. An option
    without a value switches a flag on or, if there is no such flag, sets the first field.
    """
    name, _, rest = spec.partition(":")
    if name not in table:
        raise OptionError(f"unknown {kind} `{name}`; {closest(name, table)}")
    cls = table[name]
    known = _options(cls)
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, given, value = item.partition("=")
        if not given:
            key, value = (key, "true") if known.get(key) is bool else (next(iter(known)), key)
        if key in options:
            raise OptionError(f"{kind} {name}: option `{key}` is given twice")
        options[key] = value
    return from_options(f"{kind} {name}", cls, options)


def from_options(what: str, cls: type[T], options: Mapping[str, Any]) -> T:
    """A dataclass from a mapping; unknown names and values of the wrong type are errors that say what is known."""
    known = _options(cls)
    values = {}
    for key, value in options.items():
        if key not in known:
            raise OptionError(f"{what}: unknown option `{key}`; {closest(key, known)}")
        try:
            values[key] = msgspec.convert(value, known[key], strict=False)
        except msgspec.ValidationError:
            raise OptionError(f"{what}: {key} must be {_expected(known[key])}, found `{value}`") from None
    return cls(**values)


def _options(cls: type[Any]) -> dict[str, Any]:
    """The fields that a caller may set, with their types."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.init}


def _expected(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    names = {bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}
    parts = [names.get(part, str(part)) for part in (get_args(hint) or (hint,))]
    return " or ".join(parts)
