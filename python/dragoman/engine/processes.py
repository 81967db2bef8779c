"""Several tasks at once, in processes of this machine: what crosses is pickled, as it is on a cluster."""

from __future__ import annotations

import pickle
import tempfile
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dragoman.engine.base import Shared
from dragoman.engine.pooled import PooledEngine

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


@dataclass(frozen=True)
class Processes(PooledEngine):
    """Several tasks at once, each in a process of its own. For work in plain Python, and to try what a cluster needs.

    Where the core does the work, threads are quicker: nothing has to be sent, and a model is opened once.
    """

    def _open(self) -> Executor:
        self._kept.more = tempfile.TemporaryDirectory(prefix="dragoman-")
        # Spawned: a forked process would inherit the core's threads half alive.
        return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))

    def _closed(self) -> None:
        self._kept.more.cleanup()

    def share(self, value: Any) -> Shared[Any]:
        """Writes the value to a file, which each process reads once; it goes when the `with` block ends."""
        if not self._kept.blocks:
            return super().share(value)
        folder = Path(self._kept.more.name)
        path = folder / str(len(list(folder.iterdir())))
        path.write_bytes(pickle.dumps(value))
        return _File(str(path))
