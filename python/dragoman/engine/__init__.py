"""Where work is done: one task after the other, or several at once. The results are the same. To add one: a file here.

An engine of your own (processes, a cluster) has the methods of `Engine`, and `dragoman.testing.check_engine` holds it
to the laws that ours keep. What is random in a task comes from the task, never from the worker that happens to do it.
"""

from __future__ import annotations

from dragoman.engine.base import Engine, EngineBase, Here, Shared
from dragoman.engine.processes import Processes
from dragoman.engine.serial import Serial
from dragoman.engine.threads import Threads

__all__ = ["Engine", "EngineBase", "Here", "Processes", "Serial", "Shared", "Threads", "engine_of"]


def engine_of(threads: int | None = None) -> Engine:
    """The engine for a number of threads; for all cores, if it is None."""
    engine = Threads() if threads is None else Threads(threads)
    return engine if engine.workers > 1 else Serial()
