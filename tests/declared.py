"""Every option of every command, and where it is declared. Run as a program: prints them as JSON.

Where a `click.option` was called is known only while commands are made. So this runs in a process of its own, which
takes notes before anything of `dragoman.cli` is imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

ROOT = Path(__file__).resolve().parent.parent


class Found(NamedTuple):
    """An option of a command."""

    command: str
    name: str
    """With its dashes."""
    place: str
    """Its declaration: a dataclass and a field, or a file and a line."""


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands that do something, with the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        elif command is not None:
            yield (*path, name), command


def options(command: click.Command) -> list[click.Option]:
    """The options of a command."""
    return [param for param in command.params if isinstance(param, click.Option)]


def long_name(option: click.Option) -> str:
    """Its name with two dashes."""
    return next(name for name in option.opts if name.startswith("--"))


def places() -> list[Found]:
    """All options of all commands, with their declarations."""
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True, cwd=ROOT)
    return [Found(*row) for row in json.loads(run.stdout)]


def _noting(make: Callable[..., Any]) -> Callable[..., Any]:
    """`click.option` that leaves in each option the line that called it."""

    def option(*names: str, **about: Any) -> Callable[[Any], Any]:
        caller = sys._getframe(1)
        file = Path(caller.f_code.co_filename)  # of the package, wherever it is installed
        place = f"{'/'.join(file.parts[file.parts.index('cli') - 1 :])}:{caller.f_lineno}"
        decorate = make(*names, **about)

        def add(function: Any) -> Any:
            made = decorate(function)
            params: list[Any] = made.params if isinstance(made, click.Command) else made.__click_params__
            params[-1].place = place
            return made

        return add

    return option


def _main() -> None:
    click.option = _noting(click.option)
    from dragoman.cli.app import dragoman
    from dragoman.cli.declared import DeclaredOption

    rows = []
    for path, command in every_command(dragoman):
        for option in options(command):
            if isinstance(option, DeclaredOption):
                # In a group an option may have another name; its help is that of the declaration.
                place = f"{option.declared.owner}: {option.declared.help}"
            else:
                place = getattr(option, "place", f"dragoman/cli/arguments.py {long_name(option)}")
            rows.append(Found(" ".join(path), long_name(option), place))
    print(json.dumps(rows))


if __name__ == "__main__":
    _main()
