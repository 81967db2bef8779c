"""An option is declared once, in the dataclass that uses it: default, help, range, unit.

    @dataclass(frozen=True, slots=True)
    class Search:
        stack_size: int = option(400, help="Hypotheses that each stack keeps.", min=1)

        def __post_init__(self) -> None:
            check(self)

All else is made from that declaration: the command line, `name:key=value`, TOML files, errors, shell completion and the
reference pages. `group` takes the options of another dataclass into one, under names that are unique in the whole.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, partial
from itertools import islice
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from dragoman.errors import OptionError

__all__ = [
    "PRESET",
    "Option",
    "build",
    "changed",
    "check",
    "closest",
    "describe",
    "flat",
    "group",
    "made",
    "option",
    "options_of",
    "plain",
    "presets_of",
    "read_text_value",
    "split_spec",
]

T = TypeVar("T")
_DECLARED, _GROUP = "dragoman.option", "dragoman.group"
PRESET = "preset"
"""What chooses one of a thing's named settings, in `name:preset=NAME`."""


@dataclass(frozen=True, slots=True)
class Option:
    """A declared option, with all that a reader or a parser must know."""

    name: str
    hint: Any
    """Its type."""
    default: Any
    help: str
    min: float | None = None
    """The smallest value, itself allowed."""
    above: float | None = None
    """The value is larger than this."""
    max: float | None = None
    """The largest value, itself allowed."""
    below: float | None = None
    """The value is smaller than this."""
    usual: str = ""
    """What is shown as the default, where that is not a plain value."""
    metavar: str = ""
    """What stands for the value in help."""
    was: tuple[str, ...] = ()
    """Names that it had before; they are answered with this one."""
    valid: Callable[[Any], object] | None = None
    """Raises an OptionError for a value that is wrong in a way that no range tells."""
    kind: str = ""
    """Of the registry, where its values are names of that kind."""
    section: str = ""
    """The heading above it in help."""
    owner: str = ""
    """The dataclass that declares it."""

    @property
    def flag(self) -> bool:
        """Whether it is true or false."""
        return self.hint is bool

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return _items(self.hint) is not None

    @property
    def count(self) -> int | None:
        """How many values it takes, where that number is fixed; None where one alone will do, too."""
        return None if self.alone else _count(self.hint)

    @property
    def alone(self) -> bool:
        """Whether a single value will do where it takes several."""
        parts = [part for part in _parts(self.hint) if part is not type(None)]
        return self.several and any(_items(part) is None for part in parts)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values it may have, where these are named."""
        inner = _items(self.hint) or self.hint
        found = (get_args(part) for part in (_parts(inner)) if get_origin(part) is Literal)
        return tuple(value for group in found for value in group)

    @property
    def shown(self) -> str:
        """The default, as people read it."""
        if self.usual:
            return self.usual
        if self.default is None or self.default == ():
            return "none"
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        if isinstance(self.default, (list, tuple)):
            return " ".join(map(str, self.default))
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def range(self) -> str:
        """The range in words; empty if there is none."""
        if self.min is not None and self.max is not None:
            return f"{self.min:g} to {self.max:g}"
        words = (("at least", self.min), ("above", self.above), ("at most", self.max), ("below", self.below))
        return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None)

    @property
    def expected(self) -> str:
        """What a value must be."""
        what = expected_of(self.hint)
        if not self.range:
            return what
        what, null, _ = what.partition(" or null")
        both = self.min is not None and self.max is not None
        return f"{what} {f'from {self.range}' if both else _of(self)}{',' if null else ''}{null}"

    def check(self, value: Any, what: str = "") -> None:
        """An error that says what is expected, for a value that is wrong."""
        where = f"{what}: {self.name}" if what else self.name
        if not _fits(value, self.hint) or not all(self._within(number) for number in _numbers(value)):
            raise OptionError(f"{where} must be {self.expected}, found {_found(value)}")
        if self.valid is not None and value is not None:
            self.valid(value)

    def _within(self, number: float) -> bool:
        # Written so that NaN is outside of every range.
        return (
            (self.min is None or number >= self.min)
            and (self.above is None or number > self.above)
            and (self.max is None or number <= self.max)
            and (self.below is None or number < self.below)
            and (not math.isnan(number))
        )


def _of(declared: Option) -> str:
    return f"of {declared.range}" if declared.min is not None or declared.max is not None else declared.range


@dataclass(frozen=True, slots=True)
class _Group:
    """How the options of one dataclass appear in another."""

    kind: type
    names: Mapping[str, str]
    without: frozenset[str]
    defaults: Mapping[str, Any]
    section: str

    def renamed(self, name: str, declared: Option) -> Option:
        """An option of the group as it appears in the whole; its old names were not of this place if it is renamed."""
        called = self.names.get(name, name)
        default = self.defaults.get(name, declared.default)
        was, section = declared.was if called == name else (), self.section or declared.section
        return replace(declared, name=called, default=default, was=was, section=section)


def option(
    default: Any = MISSING,
    *,
    help: str,
    min: float | None = None,
    above: float | None = None,
    max: float | None = None,
    below: float | None = None,
    usual: str = "",
    metavar: str = "",
    was: Sequence[str] = (),
    valid: Callable[[Any], object] | None = None,
    kind: str = "",
    section: str = "",
) -> Any:
    """Declares a field of a dataclass as an option."""
    given: dict[str, Any] = {
        "help": help, "min": min, "above": above, "max": max, "below": below, "usual": usual, "metavar": metavar,
        "was": tuple(was), "valid": valid, "kind": kind, "section": section,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata={_DECLARED: given})


def group(
    kind: type[T],
    *,
    names: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    section: str = "",
) -> Any:
    """Declares a field that holds the options of another dataclass.

    In the flat form they keep their names, but for those that `names` changes, `{"order": "lm_order"}`; those in
    `without` are set by the program and not by users. `defaults` are other defaults than the group has alone;
    `section` is the heading above them in help.
    """
    about = _Group(kind, dict(names or {}), frozenset(without), dict(defaults or {}), section)
    return dataclasses.field(default_factory=partial(kind, **about.defaults), metadata={_GROUP: about})


@cache
def _declared(kind: Any) -> dict[str, Option]:
    hints = get_type_hints(kind)
    found = {}
    for field in fields(kind):
        given = field.metadata.get(_DECLARED)
        if given is not None:
            owner = next(
                (base for base in reversed(kind.__mro__) if field.name in getattr(base, "__annotations__", {})), kind
            )
            place = f"{owner.__module__}.{owner.__qualname__}"
            default = MISSING if field.default is MISSING else field.default
            found[field.name] = Option(field.name, hints[field.name], default, owner=place, **given)
    return found


def options_of(kind: Any) -> dict[str, Option]:
    """The options that a dataclass, or an object of it, declares itself, by name."""
    return _declared(kind if isinstance(kind, type) else type(kind))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an option of the flat form lives."""

    path: tuple[str, ...]
    option: Option


@cache
def _flat(kind: Any) -> dict[str, _Place]:
    own = _declared(kind)
    found: dict[str, _Place] = {}
    for field in fields(kind):
        about = field.metadata.get(_GROUP)
        if field.name in own:
            places = [_Place((field.name,), own[field.name])]
        elif about is not None:
            inner = {name: place for name, place in _flat(about.kind).items() if name not in about.without}
            places = [_Place((field.name, *p.path), about.renamed(name, p.option)) for name, p in inner.items()]
        else:
            places = []
        for place in places:
            if place.option.name in found:
                raise TypeError(f"{kind.__name__}: two options are called `{place.option.name}`: rename one of them")
            found[place.option.name] = place
    return found


def flat(kind: type) -> dict[str, Option]:
    """All options of a dataclass and of the groups in it, by names that are unique in the whole."""
    return {name: place.option for name, place in _flat(kind).items()}


def plain(thing: Any) -> dict[str, Any]:
    """The values of all options of an object, by their names in the flat form."""
    found = {}
    for name, place in _flat(type(thing)).items():  # type: ignore[arg-type]
        value = thing
        for step in place.path:
            value = getattr(value, step)
        found[name] = value
    return found


def check(thing: Any, what: str = "") -> None:
    """Checks the types and ranges of an object's options, and its groups; for `__post_init__`."""
    for name, declared in options_of(thing).items():
        declared.check(getattr(thing, name), what)
    for field in fields(thing):
        if _GROUP in field.metadata:
            _check_group(field.name, getattr(thing, field.name), field.metadata[_GROUP], what)


def _check_group(name: str, value: Any, about: _Group, what: str) -> None:
    where = f"{what}: {name}" if what else name
    if not isinstance(value, about.kind):
        raise OptionError(f"{where} must be a {about.kind.__module__}.{about.kind.__qualname__}, found {_found(value)}")
    for hidden, usual in plain(about.kind(**about.defaults)).items():
        if hidden in about.without and plain(value)[hidden] != usual:
            raise OptionError(f"{where}: `{hidden}` is set by the program here; leave it out")


def made(kind: type[T], values: Mapping[str, Any], *, base: T | None = None, what: str = "") -> T:
    """An object of a dataclass from options by name, as keywords, TOML or a command line give them.

    What is not named keeps its default, or its value in `base`. Unknown names are errors that say what is known.
    """
    places = _flat(kind)  # type: ignore[arg-type]
    old = {name: called for called, place in places.items() for name in place.option.was}
    tree: dict[str, Any] = {}
    for name, value in values.items():
        if name not in places:
            where = f"{what}: " if what else ""
            if name in old:
                raise OptionError(f"{where}`{name}` is called `{old[name]}` now")
            raise OptionError(f"{where}unknown option `{name}`; {closest(name, places)}")
        place = places[name]
        fitted = _fitted(value, place.option)
        place.option.check(fitted, what)
        branch = tree
        for step in place.path[:-1]:
            branch = branch.setdefault(step, {})
        branch[place.path[-1]] = fitted
    return _grown(kind() if base is None else base, tree)


def _fitted(value: Any, declared: Option) -> Any:
    """A value as options have it: paths as text, lists as tuples."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if declared.several and isinstance(value, (list, tuple)):
        return tuple(os.fspath(item) if isinstance(item, os.PathLike) else item for item in value)
    return value


def _grown(thing: T, tree: Mapping[str, Any]) -> T:
    """The object with the values of a tree in place of its own."""
    changes = {
        name: _grown(getattr(thing, name), value)
        if isinstance(value, dict) and dataclasses.is_dataclass(getattr(thing, name))
        else value
        for name, value in tree.items()
    }
    return replace(thing, **changes) if changes else thing  # type: ignore[type-var]


def closest(word: str, known: Iterable[str]) -> str:
    """A hint for an error message: what `word` was probably meant to be, or all that is known."""
    choices = sorted(islice(known, 10_000))
    near = difflib.get_close_matches(word, choices, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known: {', '.join(choices[:40])}{', ...' if len(choices) > 40 else ''}"


def split_spec(rest: str, prototype: Any) -> dict[str, str]:
    """The options after the colon of `name:key=value,flag`, by name.

    An option without a value switches a flag on or, if there is no such flag, sets the first field.
    """
    known = _settable(prototype)
    options: dict[str, str] = {}
    for item in filter(None, rest.split(",")):
        key, given, value = item.partition("=")
        if not given:
            if not known:
                raise OptionError(f"there are no options here, found `{item}`")
            key, value = (key, "true") if known.get(key) is bool else (next(iter(known)), key)
        if key in options:
            raise OptionError(f"option `{key}` is given twice")
        options[key] = value
    return options


def build(kind: str, table: Mapping[str, T], spec: str) -> T:
    """A copy of a registered object, changed by the options of its text form.

    `bleu`, `bleu:lowercase`, `bleu:tokenize=none,smooth=add-k`, `external:comet`: a name, then options.
    """
    name, _, rest = spec.partition(":")
    if name not in table:
        raise OptionError(f"unknown {kind} `{name}`; {closest(name, table)}")
    return changed(f"{kind} {name}", table[name], rest)


def changed(what: str, prototype: T, options: str | Mapping[str, str]) -> T:
    """A dataclass with some fields set from text; unknown names and wrong values are errors that say what is known."""
    try:
        given = split_spec(options, prototype) if isinstance(options, str) else options
    except OptionError as error:
        raise OptionError(f"{what}: {error}") from None
    if PRESET in given:
        prototype = _preset(what, prototype, given[PRESET])
    known = _settable(prototype)
    values = {}
    for key, value in given.items():
        if key == PRESET:
            continue
        if key not in known:
            raise OptionError(f"{what}: unknown option `{key}`; {closest(key, known)}")
        values[key] = _from_text(what, prototype, key, known[key], value)
    return replace(prototype, **values) if values else prototype  # type: ignore[type-var]


def presets_of(thing: Any) -> dict[str, Any]:
    """The named settings of a thing's class, which lists them in `presets`: `mira:preset=eidelman`.

    Each is a class method of that name; they start from the plain defaults, so what is changed already has none.
    """
    kind = type(thing)
    known = getattr(kind, "presets", ())
    if not known or not dataclasses.is_dataclass(kind) or thing != kind():
        return {}
    return {name: getattr(kind, name.replace("-", "_"))() for name in known}


def _preset(what: str, prototype: T, name: str) -> T:
    """The setting of that name, in place of the defaults."""
    known = list(getattr(type(prototype), "presets", ()))
    if not known:
        raise OptionError(f"{what}: there are no presets here, found `{name}`")
    if name not in known:
        raise OptionError(f"{what}: unknown preset `{name}`; {closest(name, known)}")
    found: dict[str, T] = presets_of(prototype)
    if name not in found:
        raise OptionError(f"{what}: a preset sets all options: give the plain name with preset={name}, then changes")
    return found[name]


def _from_text(what: str, prototype: Any, key: str, hint: Any, text: str) -> Any:
    declared = options_of(prototype).get(key) or Option(key, hint, None, "")
    if declared.several:
        return tuple(read_text_value(declared, part, what) for part in text.split("+") if part)
    return read_text_value(declared, text, what)


def read_text_value(declared: Option, value: Any, what: str = "") -> Any:
    """The value of an option (one of its values, where it takes several) from text; checked."""
    inner = _items(declared.hint)
    one = replace(declared, hint=declared.hint if inner is None else inner)
    if isinstance(value, str) and not (inner is not None and value == "none"):
        try:
            value = msgspec.convert(value, one.hint, strict=False)
        except msgspec.ValidationError:
            where = f"{what}: {one.name}" if what else one.name
            raise OptionError(f"{where} must be {one.expected}, found `{value}`") from None
        one.check(value, what)
    elif not isinstance(value, str):
        one.check(value, what)
    return value


def describe(name: str, thing: Any, prototype: Any = None, preset: str = "") -> str:
    """The text form of an object: its name, and the options that differ from a prototype's, else from the defaults."""
    usual = type(thing)() if prototype is None else prototype
    options = [f"{PRESET}={preset}"] if preset else []
    options += [
        f"{key}={_text(getattr(thing, key))}" for key in _settable(thing) if getattr(thing, key) != getattr(usual, key)
    ]
    return ":".join([name, ",".join(options)]) if options else name


def _text(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@cache
def _settable_of(kind: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(kind):
        return {}
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind) if f.init and _plain_hint(hints[f.name])}


def _settable(prototype: Any) -> dict[str, Any]:
    """The fields that text can set, with their types."""
    return _settable_of(type(prototype))  # type: ignore[arg-type]


def _plain_hint(hint: Any) -> bool:
    inner = _items(hint)
    return all(
        get_origin(part) is Literal or part in {bool, int, float, str, type(None)} for part in _parts(inner or hint)
    )


def _parts(hint: Any) -> tuple[Any, ...]:
    """The members of a union; else the type itself."""
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _items(hint: Any) -> Any:
    """The type of the items of a sequence; None for what is none."""
    for part in _parts(hint):
        origin = get_origin(part)
        if origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
            return get_args(part)[0]
    return None


def _count(hint: Any) -> int | None:
    """How many items a tuple has whose type says so: `tuple[str, str]`."""
    for part in _parts(hint):
        items = get_args(part)
        if get_origin(part) is tuple and Ellipsis not in items:
            return len(items)
    return None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has a type; types that are not plain are left to those who use them."""
    if value is None and type(None) in _parts(hint):
        return True
    inner = _items(hint)
    if inner is not None:
        single = any(_fits(value, part) for part in _parts(hint) if _items(part) is None)
        if single or not isinstance(value, (list, tuple)):
            return single
        return _count(hint) in {None, len(value)} and all(_fits(item, inner) for item in value)
    return any(_is(value, part) for part in _parts(hint))


_TYPES: dict[Any, Callable[[Any], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
    float: lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    type(None): lambda value: value is None,
}


def _is(value: Any, part: Any) -> bool:
    if get_origin(part) is Literal:
        return value in get_args(part)
    return part not in _TYPES or _TYPES[part](value)


def _numbers(value: Any) -> Iterable[float]:
    every = value if isinstance(value, (list, tuple)) else (value,)
    return [number for number in every if isinstance(number, (int, float)) and not isinstance(number, bool)]


def _found(value: Any) -> str:
    return f"`{value}`" if isinstance(value, str) else repr(value)


def expected_of(hint: Any) -> str:
    """What a value of a type is called."""
    inner = _items(hint)
    if inner is not None:
        size = _count(hint)
        return f"a list, each {expected_of(inner)}" if size is None else f"{size} values, each {expected_of(inner)}"
    literals = [value for part in _parts(hint) if get_origin(part) is Literal for value in get_args(part)]
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "null"}
    others = [
        names.get(part, getattr(part, "__name__", str(part)))
        for part in _parts(hint)
        if get_origin(part) is not Literal
    ]
    return " or ".join([*(["one of " + ", ".join(map(str, literals))] if literals else []), *others])
