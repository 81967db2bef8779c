"""Where work is done: one task after the other, or several at once. The results are the same.

To add an engine: a file here, and a line in `ENGINES`. One of your own (a cluster, say) has the methods of `Engine`;
`dragoman.testing.check_engine` holds it to the laws that ours keep. What is random in a task comes from the task, never
from the worker that happens to do it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from dragoman.engine.base import Engine, EngineBase, Here, Shared
from dragoman.engine.processes import Processes
from dragoman.engine.serial import Serial
from dragoman.engine.threads import Threads
from dragoman.errors import OptionError
from dragoman.options import closest

__all__ = ["ENGINES", "Engine", "EngineBase", "Here", "Processes", "Serial", "Shared", "Threads", "engine_of"]


ENGINES: dict[str, Callable[[int], Engine]] = {
    "threads": lambda workers: Threads(workers) if workers > 1 else Serial(),
    "processes": Processes,
}
"""What the command line can name: makes an engine with so many workers."""


def engine_of(workers: int | None = None, name: str = "threads") -> Engine:
    """The engine of this name with so many workers; as many as there are cores, if that is None."""
    if name not in ENGINES:
        raise OptionError(f"unknown engine `{name}`; {closest(name, ENGINES)}")
    if workers is not None and workers < 1:
        raise OptionError(f"expected at least one thread, found {workers}")
    return ENGINES[name](workers or os.cpu_count() or 1)
