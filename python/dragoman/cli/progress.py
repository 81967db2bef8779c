"""Progress on standard error: a line that is rewritten on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from dragoman.cli.messages import messages

__all__ = ["bar", "counter", "steps", "tasks", "watch"]

FIRST = 15.0
"""Seconds until the first plain line."""
EVERY = 30.0
"""Seconds between plain lines after that."""


@contextmanager
def _lines(look: Callable[[], str]) -> Iterator[None]:
    """Says now and then how far the work is, where there is no terminal; nothing while there is nothing to say."""
    began, ended = time.monotonic(), threading.Event()

    def tell() -> None:
        pause = FIRST
        while not ended.wait(pause):
            pause = EVERY
            if text := look():
                messages.note(f"{text} ({time.monotonic() - began:.0f} s)")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


@contextmanager
def counter(unit: str) -> Iterator[Callable[[int], None]]:
    """A running count for work whose end is not known; call what it yields with how many were done."""
    if not messages.watched:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count

        with _lines(lambda: f"{done:,} {unit}" if done else ""):
            yield advance
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

    def text(record: Mapping[str, float]) -> str:
        return f"{metric} {record.get('score', float('nan')):.2f}"

    if not messages.watched:
        last: Mapping[str, float] = {}

        def note(record: Mapping[str, float]) -> None:
            nonlocal last
            last = record

        with _lines(lambda: f"step {last['step']:,.0f}: {text(last)}" if last else ""):
            yield note
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("step {task.completed:,.0f}  {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda record: progress.update(task, completed=record["step"], description=text(record))


@contextmanager
def bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work of known length; call what it yields with how many are done and how many there are."""
    if not messages.watched:
        now = (0, 0)

        def move(done: int, total: int) -> None:
            nonlocal now
            now = done, total

        began = time.monotonic()

        def text() -> str:
            done, total = now
            if not done or not total:
                return f"{done:,} {unit}" if done else ""
            left = (time.monotonic() - began) * (total - done) / done
            return f"{done:,} of {total:,} {unit}, about {left:,.0f} s left"

        with _lines(text):
            yield move
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def tasks() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each of several tasks, one after the other.

    Call what it yields with the name of a task, how much is done, and how much there is (0: not known).
    """
    if not messages.watched:
        now = ("", 0, 0)

        def move(name: str, done: int, total: int) -> None:
            nonlocal now
            now = name, done, total

        with _lines(lambda: _task(*now)):
            yield move
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description:8}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        known: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            for other, task in known.items():
                if other != name:
                    progress.update(task, total=1, completed=1)
            if name not in known:
                known[name] = progress.add_task(name, total=None)
            progress.update(known[name], completed=done, total=total or None)

        yield show


def _task(name: str, done: int, total: int) -> str:
    if not done:
        return name
    return f"{name}: {done:,} of {total:,}" if total else f"{name}: {done:,}"


@contextmanager
def watch(look: Callable[[], str]) -> Iterator[Callable[[str], None]]:
    """A line that is always up to date, for work that cannot call back but can be looked at.

    Lines that stay are said by calling what it yields.
    """
    if not messages.watched:
        with _lines(look):
            yield messages.note
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)

    def say(line: str) -> None:
        messages.log(line)
        console.print(Text(line))

    with Live(get_renderable=lambda: Text(look()), console=console, transient=True):
        yield say
