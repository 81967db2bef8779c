"""Options that name files, and how much is listed: those that several commands have, each declared here alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["limit_option", "model_option", "out_option", "src_option", "text_option", "tgt_option", "trust_option",
           "weights_option"]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
_SOURCE, _TARGET = "Source text, tokenised, a sentence a line.", "Target text, a line for each source line."


def _metavar(what: str, several: bool) -> str:
    return f"{what}..." if several else what


def src_option(help: str = _SOURCE, *, required: bool = True, several: bool = False) -> Callable[[F], F]:
    """The source side of a bitext, or what is to be translated."""
    return click.option("--src", required=required, multiple=several, metavar=_metavar("FILE", several), help=help)


def tgt_option(help: str = _TARGET, *, required: bool = True, several: bool = False) -> Callable[[F], F]:
    """The target side of a bitext."""
    return click.option("--tgt", required=required, multiple=several, metavar=_metavar("FILE", several), help=help)


def out_option(help: str, *, default: str | None = None, metavar: str = "FILE") -> Callable[[F], F]:
    """Where the result goes; it must be said unless there is a default."""
    shown = "standard output" if default == "-" else default is not None
    return click.option(
        "--out", "-o", required=default is None, default=default, show_default=shown, metavar=metavar, help=help
    )


def model_option(help: str, *, required: bool = False, metavar: str = "FILE") -> Callable[[F], F]:
    """A trained model of some kind."""
    return click.option("--model", required=required, metavar=metavar, help=help)


def text_option(
    help: str = "Text, tokenised, a sentence a line.",
    *,
    required: bool = True,
    several: bool = False,
    default: str | None = None,
) -> Callable[[F], F]:
    """Text of one language."""
    shown = "standard input" if default == "-" else False
    return click.option(
        "--text", required=required, multiple=several, default=default, show_default=shown,
        metavar=_metavar("FILE", several), help=help,
    )  # fmt: skip


def weights_option(help: str, *, several: bool = False) -> Callable[[F], F]:
    """Files of weights."""
    return click.option("--weights", multiple=several, metavar=_metavar("FILE", several), help=help)


trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Run what the model brings along in Python: read it first, `dragoman model info` names it.",
)


def limit_option(default: int, help: str) -> Callable[[F], F]:
    """How many rows are listed."""
    return click.option(
        "--limit", default=default, show_default=True, type=click.IntRange(min=0), metavar="N", help=help
    )
