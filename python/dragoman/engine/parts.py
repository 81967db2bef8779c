"""Parts of a work that go to the workers of an engine, and what they make of them, taken as it arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dragoman.engine.base import Engine

__all__ = ["Job", "work_off"]

_AHEAD = 2
"""Parts for each worker that are under way."""


class Job(Protocol):
    """Work whose result does not depend on the order in which parts come back."""

    def chunk(self) -> bytes | None:
        """The next part; None after the last."""
        ...

    def add(self, result: bytes, /) -> None:
        """Takes what a worker made of a part."""
        ...


def work_off(engine: Engine, job: Job, work: Callable[[bytes], bytes]) -> None:
    """Has all parts worked on; memory holds those that are under way."""
    with engine:
        for _, result in engine.arriving(work, iter(job.chunk, None), _AHEAD * engine.workers - 1):
            job.add(result)
