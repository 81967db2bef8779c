"""Progress on standard error, where a person is watching; silence where the stream is a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dragoman.tune.base import State

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
def steps(metric: str, scale: float) -> Iterator[Callable[[State], None]]:
    """The step that a tuner is at, and the score of the weights it has found so far."""
    if not sys.stderr.isatty():
        yield lambda _state: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("step {task.completed:,.0f}  {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(state: State) -> None:
            score = scale * state.record.get("gain", float("nan"))
            progress.update(task, completed=state.step, description=f"{metric} {score:.2f}")

        yield show
