"""Several tasks at once, on threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dragoman._core import get_threads, set_threads
from dragoman.engine.base import EngineBase, Result, Task, in_order
from dragoman.errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Threads"]


@dataclass
class _Kept:
    """What an open `with` block keeps."""

    pool: ThreadPoolExecutor | None = None
    blocks: int = 0
    """`with` blocks that are open."""
    before: int | None = None
    """The number of threads of native kernels outside of them."""


@dataclass(frozen=True)
class Threads(EngineBase):
    """Several tasks at once. Pays where the work is done by the core, which leaves the interpreter to others.

    Inside a `with` block one pool of threads serves all calls, and native kernels use no more threads than this.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False, compare=False)

    local = True

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"expected at least one thread, found {self.workers}")

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        with self._threads() as pool:
            return list(pool.map(work, tasks))

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one; tasks that wait are already being worked on."""
        begun: list[Future[Result]] = []

        def begin(task: Task) -> Callable[[], Result]:
            begun[:] = [future for future in begun if not future.done()]
            begun.append(pool.submit(work, task))
            return begun[-1].result

        with self._threads() as pool:
            try:
                yield from in_order(begin, tasks, ahead)
            finally:
                for future in begun:
                    future.cancel()

    def __reduce__(self) -> tuple[Any, ...]:
        return Threads, (self.workers,)

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        """The pool of the `with` block, or one for this call."""
        if self._kept.pool is not None:
            yield self._kept.pool
            return
        pool = ThreadPoolExecutor(self.workers)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        if not self._kept.blocks:
            self._kept.pool, self._kept.before = ThreadPoolExecutor(self.workers), get_threads()
            set_threads(self.workers)
        self._kept.blocks += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.blocks -= 1
        if not self._kept.blocks and self._kept.pool is not None:
            self._kept.pool.shutdown(cancel_futures=True)
            self._kept.pool = None
            set_threads(self._kept.before)
