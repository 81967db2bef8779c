"""Several tasks at once, in processes of this machine: what crosses is pickled, as it is on a cluster."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dragoman.engine.base import EngineBase, Result, Shared, Task, in_order
from dragoman.errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Processes"]

_SEEN: dict[str, Any] = {}
"""What this process has read of shared values."""


@dataclass(frozen=True)
class _File:
    """A value in a file, which each process reads once."""

    path: str

    @property
    def value(self) -> Any:
        """The value."""
        if self.path not in _SEEN:
            _SEEN[self.path] = pickle.loads(Path(self.path).read_bytes())
        return _SEEN[self.path]


@dataclass
class _Kept:
    """What an open `with` block keeps."""

    pool: ProcessPoolExecutor | None = None
    folder: tempfile.TemporaryDirectory[str] | None = None
    blocks: int = 0
    values: int = 0


@dataclass(frozen=True)
class Processes(EngineBase):
    """Several tasks at once, each in a process of its own. For work in plain Python, and to try what a cluster needs.

    Where the core does the work, threads are quicker: nothing has to be sent, and a model is opened once.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"expected at least one process, found {self.workers}")

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        with self._processes() as pool:
            return list(pool.map(work, tasks))

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one; tasks that wait are already being worked on."""
        begun: list[Future[Result]] = []

        def begin(task: Task) -> Callable[[], Result]:
            begun[:] = [future for future in begun if not future.done()]
            begun.append(pool.submit(work, task))
            return begun[-1].result

        with self._processes() as pool:
            try:
                yield from in_order(begin, tasks, ahead)
            finally:
                for future in begun:
                    future.cancel()

    def share(self, value: Any) -> Shared[Any]:
        """Writes the value to a file, which each process reads once; it goes when the `with` block ends."""
        if self._kept.folder is None:
            return super().share(value)
        path = Path(self._kept.folder.name) / str(self._kept.values)
        self._kept.values += 1
        path.write_bytes(pickle.dumps(value))
        return _File(str(path))

    @contextmanager
    def _processes(self) -> Iterator[ProcessPoolExecutor]:
        """The processes of the `with` block, or some for this call."""
        if self._kept.pool is not None:
            yield self._kept.pool
            return
        with self:
            assert self._kept.pool is not None
            yield self._kept.pool

    def __enter__(self) -> Self:
        if not self._kept.blocks:
            # Spawned: a forked process would inherit the core's threads half alive.
            self._kept.pool = ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
            self._kept.folder = tempfile.TemporaryDirectory(prefix="dragoman-")
        self._kept.blocks += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.blocks -= 1
        if not self._kept.blocks and self._kept.pool is not None and self._kept.folder is not None:
            self._kept.pool.shutdown(cancel_futures=True)
            self._kept.folder.cleanup()
            self._kept.pool = self._kept.folder = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Processes, (self.workers,)
