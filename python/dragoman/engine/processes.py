"""Several tasks at once, in processes of this machine: what crosses is pickled, as it is on a cluster."""

from __future__ import annotations

import pickle
import secrets
import tempfile
import weakref
from collections import OrderedDict
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dragoman.engine.base import Shared
from dragoman.engine.pooled import PooledEngine

__all__ = ["Processes"]

_SEEN: OrderedDict[str, Any] = OrderedDict()
"""What this process has read of shared values, the last used last."""
_MOST_SEEN = 32


@dataclass(frozen=True)
class _File:
    """A value in a file, which each process reads once."""

    path: str
    keeps: Any = field(default=None, compare=False, repr=False)
    """Where the file was written, the value: files of what is shared inside it stay as long as its own."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _File, (self.path,)

    @property
    def value(self) -> Any:
        """The value."""
        if self.path not in _SEEN:
            _SEEN[self.path] = pickle.loads(Path(self.path).read_bytes())
        _SEEN.move_to_end(self.path)
        while len(_SEEN) > _MOST_SEEN:
            _SEEN.popitem(last=False)
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
        """Writes the value to a file, which each process reads once; it goes when nobody here needs it any more."""
        if not self._kept.blocks:
            return super().share(value)
        path = Path(self._kept.more.name) / secrets.token_hex(8)
        path.write_bytes(pickle.dumps(value))
        shared = _File(str(path), value)
        weakref.finalize(shared, path.unlink, missing_ok=True)
        return shared
