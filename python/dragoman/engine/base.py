"""What an engine is: a way to get tasks done, here, on threads, in other processes or on other machines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Engine", "EngineBase", "Here", "Result", "Shared", "Task", "in_order"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Value_co = TypeVar("Value_co", covariant=True)


class Shared(Protocol[Value_co]):
    """Something that all workers have: it travels to each of them once, not with every task."""

    @property
    def value(self) -> Value_co:
        """The thing itself, in the process that asks."""
        ...


@runtime_checkable
class Engine(Protocol):
    """A way to get tasks done. Work and tasks must be picklable, unless the engine is `local`.

    Tasks with the same `home`, if they have such an attribute, go to the same worker where that costs no time: what
    they share is read and kept there.
    """

    @property
    def workers(self) -> int:
        """How many tasks can be under way at once."""
        ...

    @property
    def local(self) -> bool:
        """Whether all workers are threads of this process: then a native call may use all of them by itself."""
        ...

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks; of several errors, that of the first task."""
        ...

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The results in the order of the tasks, which are taken as late as keeping `ahead` of them waiting allows.

        Task n is taken when the results up to n - ahead - 1 have been used, on any number of workers: so a task may
        depend on earlier results (weights, say), and what it misses is never a matter of chance.
        """
        ...

    def arriving(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int
    ) -> Iterator[tuple[int, Result]]:
        """Each result as soon as it is there, with the number of its task: nobody waits for a slow one.

        A task is taken while no more than `ahead` others are under way or waiting to be used. What it depends on is a
        matter of chance then, so that two runs may differ.
        """
        ...

    def share(self, value: Any) -> Shared[Any]:
        """Makes something known to all workers; tasks carry what is returned, and ask for its `value`."""
        ...

    def __enter__(self) -> Self:
        """Keeps workers alive between calls, until the block ends."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Here(Generic[Value_co]):
    """A value that is shared with the threads of this process."""

    value: Value_co


class EngineBase:
    """What engines have in common: an engine of your own needs `workers`, `map` and `stream`."""

    local = False

    def stream(self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
        """The results in the order of the tasks."""
        raise NotImplementedError

    def arriving(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], ahead: int
    ) -> Iterator[tuple[int, Result]]:
        """In the order of the tasks, which is one in which they may arrive."""
        return enumerate(self.stream(work, tasks, ahead))

    def share(self, value: Result) -> Shared[Result]:
        """The value itself; an engine with other processes sends it with every task, unless it knows better."""
        return Here(value)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was kept alive."""


def in_order(begin: Callable[[Task], Callable[[], Result]], tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
    """Begins tasks until `ahead` and one more are waiting, ends the first of them, and so on."""
    left, waiting = iter(tasks), deque[Callable[[], Result]]()
    while True:
        for task in islice(left, ahead + 1 - len(waiting)):
            waiting.append(begin(task))
        if not waiting:
            return
        yield waiting.popleft()()
