"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["Command", "as_json", "metrics_option", "refs_option", "samples_option", "seed_option"]

F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose repeatable options take several values at once.

    `--refs dev.ref*` reaches us as `--refs dev.ref0 dev.ref1`: every word up to the next option belongs to `--refs`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrites `--refs a b` to `--refs a --refs b`, then parses as usual."""
        repeatable = {
            name
            for param in self.params
            if isinstance(param, click.Option) and param.multiple and not param.is_flag
            for name in param.opts
        }
        return super().parse_args(ctx, _spread(args, repeatable))


def _spread(args: list[str], repeatable: set[str]) -> list[str]:
    spread: list[str] = []
    option, fresh = "", False
    for position, arg in enumerate(args):
        if arg == "--":
            return spread + args[position:]
        if arg.startswith("-") and arg != "-":
            option, fresh = (arg if arg in repeatable else ""), True
        elif option:
            if not fresh:
                spread.append(option)
            fresh = False
        spread.append(arg)
    return spread


refs_option = click.option(
    "--refs",
    "refs",
    multiple=True,
    metavar="FILE...",
    help="Reference files, a line for each line of the output; several mean several references.",
)
metrics_option = click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    metavar="METRIC...",
    default=("bleu", "chrf"),
    show_default="bleu chrf",
    help="bleu, chrf, ter, wer or external:COLUMN, with options after a colon: bleu:tokenize=none,lowercase.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")
own_option = click.option(
    "--own",
    multiple=True,
    metavar="FILE.py:NAME...",
    help="Features of your own, from a file of Python (which is run): mine.py:repetition,Lengths.",
)
seed_option = click.option("--seed", default=0, show_default=True, help="Seed of everything random.")


def samples_option(default: int) -> Callable[[F], F]:
    """How many resamples a test draws."""
    return click.option(
        "--samples",
        default=default,
        show_default=True,
        type=click.IntRange(min=1),
        help="Number of resamples.",
    )
