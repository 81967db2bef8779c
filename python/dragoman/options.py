"""Options from text: `name:key=value,flag` on the command line becomes a frozen dataclass, strictly."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from dragoman.errors import OptionError

__all__ = ["build", "changed", "closest", "describe"]

T = TypeVar("T")


def closest(word: str, known: Iterable[str]) -> str:
    """A hint for an error message: what `word` was probably meant to be, or all that is known."""
    choices = sorted(islice(known, 10_000))
    near = difflib.get_close_matches(word, choices, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known: {', '.join(choices[:40])}{', ...' if len(choices) > 40 else ''}"


def build(kind: str, table: Mapping[str, T], spec: str) -> T:
    """A copy of a registered object, changed by the options of its text form.

    `bleu`, `bleu:lowercase`, `bleu:tokenize=none,smooth=add-k`, `external:comet`: a name, then options. An option
    without a value switches a flag on or, if there is no such flag, sets the first field.
    """
    name, _, rest = spec.partition(":")
    if name not in table:
        raise OptionError(f"unknown {kind} `{name}`; {closest(name, table)}")
    known = _options(table[name])
    options: dict[str, str] = {}
    for item in filter(None, rest.split(",")):
        key, given, value = item.partition("=")
        if not given:
            key, value = (key, "true") if known.get(key) is bool else (next(iter(known)), key)
        if key in options:
            raise OptionError(f"{kind} {name}: option `{key}` is given twice")
        options[key] = value
    return changed(f"{kind} {name}", table[name], options)


def changed(what: str, prototype: T, options: Mapping[str, str]) -> T:
    """A dataclass with some fields set from text; unknown names and wrong values are errors that say what is known."""
    known = _options(prototype)
    values = {}
    for key, value in options.items():
        if key not in known:
            raise OptionError(f"{what}: unknown option `{key}`; {closest(key, known)}")
        try:
            values[key] = msgspec.convert(value, known[key], strict=False)
        except msgspec.ValidationError:
            raise OptionError(f"{what}: {key} must be {_expected(known[key])}, found `{value}`") from None
    return replace(prototype, **values)  # type: ignore[type-var]


def describe(name: str, made: Any) -> str:
    """The text form of an object: its name, and the options that differ from their defaults."""
    plain = type(made)()
    options = [f"{key}={getattr(made, key)}" for key in _options(made) if getattr(made, key) != getattr(plain, key)]
    return ":".join([name, ",".join(options)]) if options else name


def _options(prototype: Any) -> dict[str, Any]:
    """The fields that text can set, with their types."""
    hints = get_type_hints(type(prototype))
    return {f.name: hints[f.name] for f in fields(prototype) if f.init and _plain(hints[f.name])}


def _plain(hint: Any) -> bool:
    return get_origin(hint) is Literal or all(
        part in {bool, int, float, str, type(None)} for part in (get_args(hint) or (hint,))
    )


def _expected(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    names = {bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}
    parts = [names.get(part, str(part)) for part in (get_args(hint) or (hint,))]
    return " or ".join(parts)
