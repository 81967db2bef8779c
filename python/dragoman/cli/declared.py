"""Command-line options from declared ones: `takes(Search, into="search")` gives a command the options of `Search`.

Nothing about an option is said here that its declaration says already. The command gets one dictionary of the values
that were given; what was not given keeps its default, which the declaration has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from dragoman import registry
from dragoman.errors import DragomanError, OptionError
from dragoman.options import PRESET, Option, expected_of, flat, options_of, presets_of, read_text_value

__all__ = ["DeclaredOption", "Named", "collect", "takes"]

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic since 8.2 only

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__"
_METAVARS = {"a whole number": "N", "a number": "X", "a text": "TEXT"}


class Value(_ParamType):
    """A value of a declared option: converted, and checked against its range."""

    name = "value"

    def __init__(self, declared: Option) -> None:
        self.declared = declared

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or an error that says what is expected."""
        try:
            return read_text_value(self.declared, value)
        except OptionError as error:
            _, found, expected = str(error).partition(" must be ")
            self.fail(f"expected {expected}" if found else str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The named values, or what the registry knows."""
        if self.declared.kind:
            return Named(self.declared.kind).shell_complete(ctx, param, incomplete)
        return [CompletionItem(str(choice)) for choice in self.declared.choices if str(choice).startswith(incomplete)]


class DeclaredOption(click.Option):
    """A command-line option made of a declaration."""

    def __init__(self, declared: Option, into: str, section: str) -> None:
        self.declared, self.into, self.section = declared, into, section
        flag = "--" + declared.name.replace("_", "-")
        names = [f"{into}{_MARK}{declared.name}"]
        if declared.flag:
            names.append(f"{flag}/--no-{flag[2:]}")
            super().__init__(names, default=None, help=_help(declared))
        else:
            metavar = declared.metavar or _metavar(declared)
            several = declared.several and declared.count is None
            super().__init__(
                [*names, flag], default=None, help=_help(declared), type=Value(declared), multiple=several,
                nargs=declared.count or 1, metavar=f"{metavar}..." if several else metavar,
            )  # fmt: skip


def _metavar(declared: Option) -> str:
    if declared.choices:
        return "|".join(map(str, declared.choices))
    return _METAVARS.get(expected_of(declared.hint).partition(" or ")[0].rpartition("each ")[2], "VALUE")


def _help(declared: Option) -> str:
    facts = [f"default: {declared.shown}", *([declared.range] if declared.range else [])]
    return f"{declared.help}  [{'; '.join(facts)}]"


def takes(
    kind: type, *, into: str, section: str = "", only: Sequence[str] = (), without: Sequence[str] = ()
) -> Callable[[F], F]:
    """Gives a command the options of a dataclass; it gets those that were given as the dictionary `into`.

    `section` is the heading above them in the help.
    """
    known = flat(kind)
    wanted = [known[name] for name in (only or known) if name not in without]

    def add(command: F) -> F:
        for declared in reversed(wanted):
            made = DeclaredOption(declared, into, declared.section or section)
            if isinstance(command, click.Command):
                command.params.append(made)
            else:
                if not hasattr(command, "__click_params__"):
                    command.__click_params__ = []  # type: ignore[attr-defined]
                command.__click_params__.append(made)  # type: ignore[attr-defined]
        return command

    return add


def collect(params: dict[str, Any], options: Sequence[click.Parameter]) -> dict[str, Any]:
    """The parameters of a command with the values of declared options in their dictionaries."""
    kept = {name: value for name, value in params.items() if _MARK not in name}
    for declared in (option for option in options if isinstance(option, DeclaredOption)):
        given = kept.setdefault(declared.into, {})
        value = params.get(str(declared.name))
        if value is not None and value != ():
            given[declared.declared.name] = _whole(value, declared.declared)
    return kept


def _whole(value: Any, declared: Option) -> Any:
    """What the option means by its values: `none` is no value, where there may be none."""
    if not declared.several or declared.count is not None:
        return value
    if declared.alone:
        return value[0] if len(value) == 1 else value
    return () if value == ("none",) else value


class Named(_ParamType):
    """Something that the registry knows by name, or `FILE.py:NAME`, with options after a colon."""

    def __init__(self, kind: str) -> None:
        self.name = self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """The text as it is; who uses it makes the thing of it."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Names and, after a colon, the options."""
        name, colon, rest = incomplete.partition(":")
        if not colon:
            return [CompletionItem(n) for n in registry.names(self.kind) if n.startswith(incomplete)]
        try:
            made = registry.make(self.kind, name)
        except DragomanError:
            return []
        done, comma, last = rest.rpartition(",")
        start = f"{name}:{done}{comma}"
        presets = [f"{PRESET}={preset}" for preset in presets_of(made)]
        return [
            *(CompletionItem(start + preset) for preset in presets if preset.startswith(last)),
            *(
                CompletionItem(f"{start}{key}=", help=o.help)
                for key, o in options_of(made).items()
                if key.startswith(last)
            ),
        ]
