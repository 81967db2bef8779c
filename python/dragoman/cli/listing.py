"""`dragoman options`: what can be named, and the options of each."""

from __future__ import annotations

from typing import Any

import click

from dragoman import registry
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.show import print_json, print_table
from dragoman.errors import OptionError
from dragoman.options import PRESET, closest, options_of, presets_of

__all__ = ["options", "options_of_name"]


@click.command(cls=Command)
@click.argument("kind", required=False)
@click.argument("name", required=False)
@as_json
def options(kind: str | None, name: str | None, as_json: bool) -> None:
    """List what can be named (metrics, tuners, ...) and the options that go behind the name.

    \b
    dragoman options                 all names, by kind
    dragoman options tuner           all tuners with their options
    dragoman options tuner kbmira    one of them
    """
    if kind is None:
        known = {kind: registry.names(kind) for kind in registry.KINDS}
        if as_json:
            print_json(known)
        else:
            print_table(["kind", "names"], [[kind, " ".join(names)] for kind, names in known.items()], left=2)
        return
    wanted = next((k for k in registry.KINDS if kind in {k, k + "s", k.replace(" ", "-")}), None)
    if wanted is None:
        raise OptionError(f"unknown kind `{kind}`; {closest(kind, registry.KINDS)}")
    found = {n: options_of_name(wanted, n) for n in ([name] if name else registry.names(wanted))}
    if as_json:
        print_json(found)
        return
    for title, rows in found.items():
        click.echo(title)
        table = [[f"  {row['name']}", row["default"], row["range"], row["help"]] for row in rows]
        print_table(["  option", "default", "range", "meaning"], table or [["  (none)", "", "", ""]], left=4)


def options_of_name(kind: str, name: str) -> list[dict[str, Any]]:
    """The options of something by name, with the values that its prototype has."""
    if registry.KINDS[kind].factory:
        registry.find(kind, name)
        return []
    made = registry.make(kind, name)
    presets = list(presets_of(made))
    first = {
        "name": PRESET,
        "default": "none",
        "range": ", ".join(presets),
        "help": "A setting by name, to start from.",
    }
    return [
        *([first] if presets else []),
        *(
            {
                "name": option.name,
                "default": _shown(made, option.name, option.shown),
                "range": option.range or ", ".join(map(str, option.choices)),
                "help": option.help,
            }
            for option in options_of(made).values()
        ),
    ]


def _shown(made: Any, name: str, usual: str) -> str:
    """The value that this prototype has: `smooth-mert` is `mert` with other options."""
    value = getattr(made, name)
    if value is None or isinstance(value, bool) or value == ():
        return usual if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
