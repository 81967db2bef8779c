"""The command `dragoman`: its subcommands, exit codes, and what errors look like."""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from dragoman._core import VERSION
from dragoman.cli.arguments import Command, Commands
from dragoman.cli.messages import messages
from dragoman.errors import DragomanError

__all__ = ["main", "run"]

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_COMMANDS = {
    "train": "train",
    "translate": "translate",
    "serve": "serve",
    "score": "score",
    "compare": "score",
    "tune": "tune",
    "rerank": "tune",
    "nbest": "nbest",
    "weights": "weights",
    "features": "features",
    "lm": "lm",
    "align": "alignment",
    "model": "model",
    "rules": "rules",
    "classes": "word_classes",
    "clean": "corpus",
    "tokenize": "corpus",
    "detokenize": "corpus",
    "truecase": "corpus",
    "subwords": "corpus",
    "demo": "demo",
    "experiment": "experiment",
    "report": "report",
    "options": "listing",
}
"""The module in `dragoman.cli` that has each command: it is imported when the command is asked for."""


class _Commands(Commands):
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


_CODES = """Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted (Ctrl-C), 143 stopped (SIGTERM). What was
interrupted goes on where it was if the same command is given again."""


@click.group(cls=_Commands, context_settings=_HELP, epilog=_CODES)
@click.version_option(VERSION, "--version", "-V", prog_name="dragoman")
def dragoman() -> None:
    """Feature-rich statistical machine translation on plain CPUs.

    \b
    dragoman train --src train.de --tgt train.en --out model
    dragoman tune --model model --src dev.de --refs dev.en --out tuned
    dragoman translate --model tuned < test.de

    Results go to standard output (a table, or JSON with --json), messages and progress to standard error.
    Files may be compressed (.gz, .zst, .xz); - is the standard stream.
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
    code = run(arguments)
    if code in (_INTERRUPTED, _STOPPED):
        # A thread may be waiting for the next line of standard input, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


_INTERRUPTED, _STOPPED = 130, 143


class _Stopped(BaseException):
    """The process was asked to end (SIGTERM)."""


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped


def run(arguments: list[str] | None) -> int:
    """Runs the command line and gives its exit code; errors are told on standard error."""
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _stop)
        result = dragoman.main(arguments, prog_name="dragoman", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (DragomanError, click.ClickException, click.Abort, _Stopped) as error:
        return _explained(error)
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) has seen enough, which click tells by SystemExit. That is no failure; and Python
        # must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        messages.close()


def _explained(error: BaseException) -> int:
    """Says what went wrong; the exit code."""
    if isinstance(error, click.ClickException):
        error.show()
        return 2 if isinstance(error, click.UsageError) else 1
    if isinstance(error, DragomanError):
        messages.error(str(error))
        return 1
    stopped = isinstance(error, _Stopped)
    what = "stopped" if stopped else "interrupted"
    messages.error(f"{what}: {messages.resuming or 'the same command goes on where it was, if it can be resumed'}")
    return _STOPPED if stopped else _INTERRUPTED
