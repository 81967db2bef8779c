"""Several tasks at once, on threads of this process."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from dragoman._core import get_threads, set_threads
from dragoman.engine.pooled import PooledEngine

__all__ = ["Threads"]


@dataclass(frozen=True)
class Threads(PooledEngine):
    """Several tasks at once. Pays where the work is done by the core, which leaves the interpreter to others.

    Inside a `with` block one pool of threads serves all calls, and native kernels use no more threads than this.
    """

    local = True

    def _open(self) -> Executor:
        self._kept.more = get_threads()
        set_threads(self.workers)
        return ThreadPoolExecutor(self.workers)

    def _closed(self) -> None:
        set_threads(self._kept.more)
