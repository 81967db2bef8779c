"""The command `dragoman`: its subcommands, exit codes, and how errors are told."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from dragoman._core import VERSION
from dragoman.cli.arguments import Command
from dragoman.errors import DragomanError

__all__ = ["main", "run"]

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_COMMANDS = {
    "train": "train",
    "translate": "translate",
    "score": "score",
    "compare": "score",
    "tune": "tune",
    "rerank": "tune",
    "nbest": "nbest",
    "weights": "weights",
    "features": "features",
    "lm": "lm",
    "align": "alignment",
    "model": "translate",
    "rules": "rules",
    "classes": "word_classes",
    "clean": "corpus",
    "tokenize": "corpus",
    "detokenize": "corpus",
    "truecase": "corpus",
    "demo": "demo",
}
"""The module in `dragoman.cli` that has each command: it is imported when the command is asked for."""


class _Commands(click.Group):
    """Commands that are imported on use, so that each starts as fast as what it needs itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return sorted({*super().list_commands(ctx), *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command."""
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        found = getattr(import_module(f"dragoman.cli.{_COMMANDS[cmd_name]}"), cmd_name)
        return found if isinstance(found, click.Command) else None


@click.group(cls=_Commands, context_settings=_HELP, epilog="Exit codes: 0 done, 1 bad input, 2 wrong usage.")
@click.version_option(VERSION, prog_name="dragoman")
def dragoman() -> None:
    """Feature-rich statistical machine translation on plain CPUs.

    Results go to standard output (a table, or JSON with --json), messages and progress to standard error.
    Files may be packed (.gz, .zst, .xz); - is the standard stream.
    """


@dragoman.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: eval "$(dragoman completion bash)" in ~/.bashrc switches it on."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    make = get_completion_class(shell)
    if make is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(make(dragoman, {}, "dragoman", "_DRAGOMAN_COMPLETE").source())


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None) -> int:
    """Runs the command line and gives its exit code; errors are told on standard error."""
    options: dict[str, Any] = {"prog_name": "dragoman", "standalone_mode": False}
    try:
        result = dragoman.main(arguments, **options)
        sys.stdout.flush()
    except DragomanError as error:
        click.echo(f"dragoman: {error}", err=True)
        return 1
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return 1
    except click.Abort:
        click.echo("dragoman: interrupted", err=True)
        return 130
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) has seen enough, which click tells by SystemExit. That is no failure; and Python
        # must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0
