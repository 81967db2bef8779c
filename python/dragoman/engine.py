"""Where work is done: one task after the other, or several at once on threads. The results are the same.

An engine of your own (processes, a cluster) has the methods of `Engine`, and `dragoman.testing.check_engine` holds it
to the laws that ours keep. What is random in a task comes from the task, never from the worker that happens to do it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar, runtime_checkable

from dragoman.errors import OptionError

__all__ = ["Engine", "Serial", "Threads", "engine_of"]

Task = TypeVar("Task")
Result = TypeVar("Result")


@runtime_checkable
class Engine(Protocol):
    """A way to get tasks done."""

    @property
    def workers(self) -> int:
        """How many tasks can be under way at once."""
        ...

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks; of several errors, that of the first task."""
        ...

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The results in the order of the tasks, which are taken as late as keeping `ahead` of them waiting allows.

        Task n is taken when the results up to n - ahead - 1 have been used, on any number of workers: so a task may
        depend on earlier results (weights, say), and what it misses is never a matter of chance.
        """
        ...


@dataclass(frozen=True)
class Serial:
    """One task after the other, here and now.

    >>> Serial().map(abs, [-1, 2])
    [1, 2]
    """

    @property
    def workers(self) -> int:
        """1."""
        return 1

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        return [work(task) for task in tasks]

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one."""
        return _in_order(lambda task: partial(work, task), tasks, ahead)


@dataclass(frozen=True)
class Threads:
    """Several tasks at once. Pays where the work is done by the core, which leaves the interpreter to others."""

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"expected at least one thread, found {self.workers}")

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(work, tasks))

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one; tasks that wait are already being worked on."""
        pool = ThreadPoolExecutor(self.workers)
        try:
            yield from _in_order(lambda task: pool.submit(work, task).result, tasks, ahead)
        finally:
            pool.shutdown(cancel_futures=True)


def engine_of(threads: int | None = None) -> Engine:
    """The engine for a number of threads; for all cores, if it is None."""
    engine = Threads() if threads is None else Threads(threads)
    return engine if engine.workers > 1 else Serial()


def _in_order(begin: Callable[[Task], Callable[[], Result]], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
    """Begins tasks until `ahead` and one more are waiting, ends the first of them, and so on."""
    left, waiting = iter(tasks), deque[Callable[[], Result]]()
    while True:
        for task in islice(left, ahead + 1 - len(waiting)):
            waiting.append(begin(task))
        if not waiting:
            return
        yield waiting.popleft()()
