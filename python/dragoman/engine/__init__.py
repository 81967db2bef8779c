"""Where work is done: one task after the other, or several at once. The results are the same.

To add an engine: a file here, and a line in `dragoman.registry`. One of your own (a cluster, say) has the methods of
`Engine`; `dragoman.testing.check_engine` holds it to the laws that ours keep. What is random in a task comes from the
task, never from the worker that happens to do it.
"""

from __future__ import annotations

import os

from dragoman import registry
from dragoman.engine.base import Engine, EngineBase, Here, Shared
from dragoman.engine.processes import Processes
from dragoman.engine.serial import Serial
from dragoman.engine.threads import Threads
from dragoman.errors import OptionError

__all__ = ["Engine", "EngineBase", "Here", "Processes", "Serial", "Shared", "Threads", "engine_of", "threads"]


def threads(workers: int) -> Engine:
    """Threads of this process; none besides the one at work, if one is enough."""
    return Threads(workers) if workers > 1 else Serial()


def engine_of(workers: int | None = None, name: str = "threads") -> Engine:
    """The engine of this name, or `FILE.py:NAME`, with so many workers; as many as there are cores, if that is None."""
    if workers is not None and workers < 1:
        raise OptionError(f"expected at least one thread, found {workers}")
    made: Engine = registry.make("engine", name, workers or os.cpu_count() or 1)
    return made
