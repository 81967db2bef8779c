"""The reference pages: every command and everything that can be named, with all options, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dragoman import registry
from dragoman.cli.app import dragoman
from dragoman.cli.arguments import COMMON
from dragoman.cli.listing import options_of_name

__all__ = ["commands", "page"]


def page() -> str:
    """The whole reference as Markdown."""
    lines = [
        "# Reference",
        "",
        "Made from the declarations of the options; `make golden` writes it anew. Commands take their options from the",
        "command line or from a TOML file (`--config`), by the same names; `--print-config` prints such a file.",
        "Metrics, tuners and feature sets take theirs after a colon: `mert:starts=5,l2=0.1`.",
        "",
        "## Commands",
        "",
    ]
    for path, command in commands(dragoman):
        lines += [f"### dragoman {' '.join(path)}", "", *_first_lines(command), ""]
        rows = list(_rows(command))
        if rows:
            lines += ["| option | meaning |", "|---|---|", *rows, ""]
    lines += ["## Every command", "", "| option | meaning |", "|---|---|", *_common(), ""]
    for kind in registry.KINDS:
        lines += [f"## {_PLURALS[kind]}", ""]
        for name in registry.TABLE[kind]:
            found = options_of_name(kind, name)
            if not found:
                lines += [f"- `{name}`"]
                continue
            lines += ["", f"### {kind} `{name}`", "", "| option | default | range | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{row['name']}` | {_cell(row['default'])} | {_cell(row['range'])} | {_cell(row['help'])} |"
                for row in found
            ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


_PLURALS = {
    "metric": "Metrics",
    "tuner": "Tuners",
    "feature set": "Feature sets",
    "tokenizer": "Tokenisers",
    "splitter": "Splitters",
    "tagger": "Taggers",
    "engine": "Engines",
    "dialect": "N-best dialects",
}


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands, those of groups after the group's name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*before, name))
        elif found is not None:
            yield (*before, name), found


def _first_lines(command: click.Command) -> list[str]:
    """The first paragraph of a command's help."""
    text = (command.help or "").split("\n\n")[0]
    return [" ".join(text.split())]


def _rows(command: click.Command) -> Iterator[str]:
    context = click.Context(command)
    for param in command.params:
        if isinstance(param, click.Argument):
            yield f"| `{param.make_metavar(context)}` | |"
        elif getattr(param, "section", "") != COMMON:
            yield _row(param, context)


def _common() -> list[str]:
    command = dragoman.get_command(click.Context(dragoman), "score")
    assert command is not None
    context = click.Context(command)
    return [_row(param, context) for param in command.params if getattr(param, "section", "") == COMMON]


def _row(param: click.Parameter, context: click.Context) -> str:
    record = param.get_help_record(context)
    assert record is not None
    return f"| `{record[0].replace('|', '&#124;')}` | {_cell(' '.join(record[1].split()))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
