"""Progress on standard error, where a person is watching; silence where the stream is a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import click

__all__ = ["bar", "counter", "steps", "watch"]


@contextmanager
def counter(unit: str) -> Iterator[Callable[[int], None]]:
    """A running count for work whose end is not known; call what it yields with how many were done."""
    if not sys.stderr.isatty():
        yield lambda _count: None
        return
    from rich.console import Console  # noqa: PLC0415  only where it is seen
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} " + unit), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=None)
        yield lambda count: progress.update(task, advance=count)


@contextmanager
def steps(metric: str) -> Iterator[Callable[[Mapping[str, float]], None]]:
    """The step that a tuner is at, and the score of the weights it has found so far, from the record of each step."""
    if not sys.stderr.isatty():
        yield lambda _record: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("step {task.completed:,.0f}  {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(record: Mapping[str, float]) -> None:
            score = record.get("score", float("nan"))
            progress.update(task, completed=record["step"], description=f"{metric} {score:.2f}")

        yield show


@contextmanager
def bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work of known length; call what it yields with how many are done and how many there are."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def watch(look: Callable[[], str]) -> Iterator[Callable[[str], None]]:
    """A line that is always up to date, for work that cannot call back but can be looked at.

    Lines that stay, above it or in a file, are told by calling what it yields.
    """
    if not sys.stderr.isatty():
        yield partial(click.echo, err=True)
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)
    with Live(get_renderable=lambda: Text(look()), console=console, transient=True):
        yield lambda line: console.print(Text(line))
