"""What engines on a pool of workers share: one pool for all calls inside a `with` block, else one for each call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dragoman.engine.base import EngineBase, Result, Task, in_order
from dragoman.errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Pooled", "PooledEngine"]


@dataclass
class _Kept:
    """What an open `with` block keeps."""

    pool: Executor | None = None
    blocks: int = 0
    """`with` blocks that are open."""
    more: Any = None
    """What a kind of engine keeps besides."""


@dataclass(frozen=True)
class Pooled(EngineBase):
    """An engine on a pool of workers; `_open` makes the pool, and `_closed` is told when it is gone."""

    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False, compare=False)

    def _open(self) -> Executor:
        raise TypeError(f"{type(self).__name__} has no method `_open`")

    def _closed(self) -> None:
        """Nothing to tidy up."""

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        with self._workers() as pool:
            return list(pool.map(work, tasks))

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one; tasks that wait are already being worked on."""
        begun: list[Future[Result]] = []

        def begin(task: Task) -> Callable[[], Result]:
            begun[:] = [future for future in begun if not future.done()]
            begun.append(pool.submit(work, task))
            return begun[-1].result

        with self._workers() as pool:
            try:
                yield from in_order(begin, tasks, ahead)
            finally:
                for future in begun:
                    future.cancel()

    def arriving(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int
    ) -> Iterator[tuple[int, Result]]:
        """Each result as soon as it is there, with the number of its task."""
        left, begun = enumerate(tasks), dict[Future[Result], int]()
        with self._workers() as pool:
            try:
                while True:
                    for number, task in islice(left, ahead + 1 - len(begun)):
                        begun[pool.submit(work, task)] = number
                    if not begun:
                        return
                    ready, _ = wait(begun, return_when=FIRST_COMPLETED)
                    first = min(ready, key=begun.__getitem__)
                    yield begun.pop(first), first.result()
            finally:
                for future in begun:
                    future.cancel()

    @contextmanager
    def _workers(self) -> Iterator[Executor]:
        with self:
            assert self._kept.pool is not None
            yield self._kept.pool

    def __enter__(self) -> Self:
        if not self._kept.blocks:
            self._kept.pool = self._open()
        self._kept.blocks += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.blocks -= 1
        if not self._kept.blocks and self._kept.pool is not None:
            self._kept.pool.shutdown(cancel_futures=True)
            self._kept.pool = None
            self._closed()


@dataclass(frozen=True)
class PooledEngine(Pooled):
    """An engine with a given number of workers on this machine."""

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"expected at least one thread or process, found {self.workers}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.workers,)
