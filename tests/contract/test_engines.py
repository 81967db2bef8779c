"""Engines keep the law book, and the law book tells what breaks it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import pytest

from dragoman.engine import Engine, Processes, Serial, Threads, engine_of
from dragoman.errors import OptionError
from dragoman.testing import LawBroken, check_engine

Work = Callable[[Any], Any]


@pytest.mark.parametrize("engine", [Serial(), Threads(1), Threads(2), Threads(5), Processes(2)], ids=str)
def test_ours_keep_the_laws(engine: Engine) -> None:
    assert isinstance(engine, Engine)
    check_engine(engine)


def test_engine_of() -> None:
    assert engine_of(1) == Serial()
    assert engine_of(3) == Threads(3)
    assert engine_of().workers >= 1
    with pytest.raises(OptionError, match="at least one thread"):
        engine_of(0)


def test_a_stream_that_nobody_finishes_leaves_nothing_behind() -> None:
    begun: list[int] = []

    def work(task: int) -> int:
        begun.append(task)
        time.sleep(0.05)
        return task

    stream = Threads(1).stream(work, range(1000), 3)
    assert next(stream) == 0
    stream.close()  # type: ignore[attr-defined]
    assert len(begun) < 4, "tasks that were waiting are not begun"


@dataclass(frozen=True)
class Hasty(Threads):
    """Hands out what is ready first."""

    def map(self, work: Work, tasks: Iterable[Any]) -> list[Any]:
        with ThreadPoolExecutor(4) as pool:
            return [done.result() for done in as_completed([pool.submit(work, task) for task in tasks])]


@dataclass(frozen=True)
class Greedy(Serial):
    """Takes all tasks at once."""

    def stream(self, work: Work, tasks: Iterable[Any], ahead: int) -> Iterator[Any]:
        return iter(self.map(work, list(tasks)))


@dataclass(frozen=True)
class Late(Serial):
    """Takes each task only when it has nothing else to do."""

    def stream(self, work: Work, tasks: Iterable[Any], ahead: int) -> Iterator[Any]:
        return map(work, tasks)


@dataclass(frozen=True)
class Silent(Serial):
    """Says nothing when a task fails."""

    def map(self, work: Work, tasks: Iterable[Any]) -> list[Any]:
        done: list[Any] = []
        with contextlib.suppress(ArithmeticError):
            done.extend(map(work, tasks))
        return done


@pytest.mark.parametrize(
    ("engine", "law"),
    [(Hasty(4), "order of the tasks"), (Greedy(), "task n is taken"), (Late(), "task n is taken"),
     (Silent(), "an error in a task")],
    ids=lambda x: type(x).__name__ if isinstance(x, Engine) else "",
)  # fmt: skip
def test_breaches_are_told(engine: Engine, law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        check_engine(engine)
