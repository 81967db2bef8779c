"""Progress on standard error, where a person is watching; silence where the stream is a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counter", "steps"]


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
def steps(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work of known length; call what it yields with how many are done and how many there are."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415  only where it is seen
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
