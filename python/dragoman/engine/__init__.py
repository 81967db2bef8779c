"""Where work is done: one task after the other, or several at once. The results are the same.

To add an engine: a file here, and a line in `dragoman.registry`. One of your own (a cluster, say) has the methods of
`Engine`; `dragoman.testing.check_engine` holds it to the laws that ours keep. What is random in a task comes from the
task, never from the worker that happens to do it.
"""

from __future__ import annotations

import os
from dataclasses import replace

from dragoman import registry
from dragoman.engine.base import Engine, EngineBase, Here, Shared
from dragoman.engine.parts import work_off
from dragoman.engine.processes import Processes
from dragoman.engine.ray import Ray
from dragoman.engine.serial import Serial
from dragoman.engine.threads import Threads
from dragoman.errors import OptionError

__all__ = [
    "Engine",
    "EngineBase",
    "Here",
    "Processes",
    "Ray",
    "Serial",
    "Shared",
    "Threads",
    "engine_of",
    "threads",
    "work_off",
]


def threads(workers: int) -> Engine:
    """Threads of this process; none besides the one at work, if one is enough."""
    return Threads(workers) if workers > 1 else Serial()


def engine_of(workers: int | None = None, name: str = "threads") -> Engine:
    """The engine of this name, or `FILE.py:NAME`, with so many workers; as many as there are cores, if that is None.

    `ray://host:port` is short for `ray:address=host:port`.
    """
    if workers is not None and workers < 1:
        raise OptionError(f"expected at least one thread, found {workers}")
    spec = name.replace("ray://", "ray:address=", 1) if name.startswith("ray://") else name
    made: Engine = registry.make("engine", spec, workers or os.cpu_count() or 1)
    if isinstance(made, Ray) and workers is None and made.address is not None:
        return replace(made, workers=0)  # as many as the cluster has
    return made


def ray(workers: int) -> Engine:
    """Workers of a Ray cluster."""
    return Ray(workers=workers)
