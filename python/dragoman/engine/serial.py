"""One task after the other, here and now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from dragoman.engine.base import EngineBase, Result, Task, in_order

__all__ = ["Serial"]


@dataclass(frozen=True)
class Serial(EngineBase):
    """One task after the other, here and now.

    >>> Serial().map(abs, [-1, 2])
    [1, 2]
    """

    local = True

    @property
    def workers(self) -> int:
        """1."""
        return 1

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks."""
        return [work(task) for task in tasks]

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The same one by one."""
        return in_order(lambda task: partial(work, task), tasks, ahead)
