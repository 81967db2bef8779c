"""The workers of a cluster as a pool: jobs go to whichever is free, and a job whose worker is lost goes to another.

A worker is a process on a node, with a thread for each CPU that it has: a model is opened once and serves all of them.
One thread of the driver hands out jobs and takes results. A job has at most one flight that counts: when a worker is
lost its flights are struck off, and what they may still bring is not looked at. So each job ends once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

from dragoman._core import VERSION, lm_copies, set_threads
from dragoman.engine import travel, wire
from dragoman.engine.cluster import Cluster, Node
from dragoman.errors import EngineError

__all__ = ["Crew", "Limits"]

_TRIES = 5
"""Workers that a job may lose before the job itself is blamed."""
_LOOK = 5.0
"""Seconds between two looks at the nodes and at the clocks of flights."""
_PATIENCE = 300.0
"""Seconds without any worker, or for a worker to begin: on a busy machine that takes a minute."""
_SLOW, _USUAL = 60.0, 20.0
"""A flight hangs when it takes so many seconds, and so many times the slowest of its kind, unless told otherwise."""
_SILENT = 60.0
"""Seconds after which a worker that gives no sign of life is given up, whatever it does."""
_SHORT = 2.0
"""Seconds of a job that may wait at a worker for a free thread, while others may be free."""
_MOST_WORKS = 8
"""Kinds of work that are known; sweeps and replications bring one each."""
_CHUNK = 32 << 20
"""Bytes of a file that travel at once."""


@dataclass(frozen=True)
class Limits:
    """How a cluster is used."""

    workers: int | None
    """Threads at most; all CPUs of the cluster, if that is None."""
    processes: int
    """On each node, at most."""
    deadline: float
    """Seconds for a job; 0 tells by what others took."""
    send: bool
    """Whether folders are sent to nodes, not looked for where they are here."""


class Worker:
    """What runs on a node. Jobs come on several threads."""

    def __init__(self, path: Sequence[str], alone: bool) -> None:
        lm_copies(alone)  # processes of one node share the mapped file
        sys.path += [place for place in path if place not in sys.path]
        set_threads(1)  # each thread is a worker by itself
        self._work: dict[str, tuple[Callable[[Any], Any]]] = {}
        self._reading = threading.Lock()
        self._folder: TemporaryDirectory[str] | None = None

    def hello(self) -> tuple[str, str, int]:
        """Versions and the number of the process."""
        return VERSION, ".".join(map(str, sys.version_info[:2])), os.getpid()

    def do(
        self, work: wire.Mark, task: bytes, marks: list[wire.Mark], gone: list[str], *brought: wire.Brought
    ) -> tuple[bytes, list[wire.Mark]]:
        """The result of a task, or the error that it ended with; small values that it needs come with it."""
        wire.forget(gone)
        wire.bring(brought)
        try:
            return _sent((True, wire.Put(work).value(wire.loads(task, marks))))
        except Exception as error:
            return _failed(error)

    def pulse(self) -> None:
        """That the process is not stopped."""

    def check(self, folder: bytes) -> bytes:
        """What is wrong with a folder as this machine sees it."""
        found: travel.Folder = wire.loads(folder, [])
        try:
            found.check(found.path)
        except Exception as error:
            return str(error).encode()
        return b""

    def receive(self, name: str, chunk: bytes) -> None:
        """More bytes of a file."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="dragoman-")
        with (Path(self._folder.name) / name).open("ab") as file:
            file.write(chunk)

    def unpack(self, name: str, folder: bytes) -> bytes:
        """Makes a folder of a file that was received; what was wrong with it."""
        assert self._folder is not None
        found: travel.Folder = wire.loads(folder, [])
        file = Path(self._folder.name) / name
        try:
            travel.moved(found.key, found.unpack(file))
        except Exception as error:
            return str(error).encode()
        finally:
            file.unlink(missing_ok=True)
        return b""


def _sent(answer: tuple[bool, Any]) -> tuple[bytes, list[wire.Mark]]:
    content, puts = wire.dumps(answer)
    return content, [put.mark for put in puts]


def _failed(error: Exception) -> tuple[bytes, list[wire.Mark]]:
    """An error as it travels; one that cannot is sent as its text."""
    try:
        content = _sent((False, error))
        wire.loads(*content)
    except Exception:
        return _sent((False, EngineError(f"{type(error).__name__}: {error}")))
    return content


@dataclass(eq=False)
class _Job:
    future: Future[Any]
    work: Callable[[Any], Any]
    task: Any
    lost: int = 0
    """Workers that were lost with it."""


@dataclass(eq=False)
class _Hand:
    """A worker, as the driver sees it."""

    node: Node
    threads: int
    actor: Any
    began: float
    pid: int = 0
    """0 until it has said hello."""
    heard: float = 0.0
    """When it last answered."""
    asked: bool = False
    """Whether it was asked for a sign of life since."""
    flights: dict[_Flight, None] = field(default_factory=dict)
    """Jobs that it has: as many as it has threads are under way, further ones wait there for the next free thread."""
    known: set[str] = field(default_factory=set)
    """Keys of shared values that have reached it."""
    given: set[str] = field(default_factory=set)
    """Keys of shared values that were sent to it."""
    gone: list[str] = field(default_factory=list)
    """Keys of shared values that it was sent and that nobody needs any more."""


@dataclass(eq=False)
class _Work:
    """What is done to tasks, on its way to the workers once and not with every task."""

    work: Callable[[Any], Any]
    put: wire.Put
    slowest: float = 0.0
    """Seconds of the slowest job so far."""
    usual: float | None = None
    """Seconds of a job, the last ones counting most."""

    def took(self, seconds: float) -> None:
        """One more job is done."""
        self.slowest = max(self.slowest, seconds)
        self.usual = seconds if self.usual is None else 0.7 * self.usual + 0.3 * seconds


@dataclass(eq=False)
class _Flight:
    job: _Job
    hand: _Hand
    work: _Work
    puts: Sequence[wire.Put]
    """Shared values that the task needs, and those that came with it: they stay while it is under way."""
    began: float


class Crew(Executor):
    """All workers of a cluster that are ours."""

    def __init__(self, cluster: Cluster, limits: Limits) -> None:
        self.cluster, self.limits = cluster, limits
        self._ray = cluster.ray
        self._events: SimpleQueue[tuple[str, Any, Any]] = SimpleQueue()
        self._jobs: deque[_Job] = deque()
        self._hands: list[_Hand] = []
        self._homes: dict[Any, _Hand] = {}
        self._needed: WeakKeyDictionary[wire.Put, Sequence[travel.Folder]] = WeakKeyDictionary()
        """What every worker was checked to have, or was sent, for as long as somebody needs it."""
        self._why = ""
        """Why the last worker that came could not stay."""
        self._works: list[_Work] = []
        """The last ones used last."""
        self._gone: SimpleQueue[str] = SimpleQueue()
        """Keys of shared values that nobody here needs any more."""
        self._ended = False
        self._shutting = threading.Lock()
        self._remote = self._ray.remote(concurrency_groups={"apart": 1, "pulse": 1}, num_cpus=1)(Worker)
        self._begin()
        self._alone_since = time.monotonic()
        self._pump = threading.Thread(target=self._run, name="dragoman-crew", daemon=True)
        self._pump.start()

    # What callers ask for.

    @property
    def threads(self) -> int:
        """How many jobs can be under way at once."""
        return max(sum(hand.threads for hand in self._hands), 1)

    @property
    def store(self) -> int:
        """Bytes of the smallest object store of a node."""
        return min((node.store for node in {hand.node for hand in self._hands}), default=0)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A job: the call of a function with one argument."""
        (task,) = args
        assert not kwargs
        job = _Job(Future(), fn, task)
        self._events.put(("job", job, None))
        return job.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Ends all workers; jobs that are not done are cancelled."""
        with self._shutting:
            if self._ended:
                return
            self._ended = True
        self._events.put(("end", None, None))
        self._pump.join()
        for hand in self._hands:
            self._ray.kill(hand.actor)

    def share(self, value: Any, content: wire.Wire, folders: Sequence[travel.Folder]) -> wire.Put:
        """Shares a value, and sees to it that all nodes have the folders that it needs."""
        there, shared = self._folders() if folders else {}, self._put(value, content)
        if folders:
            self._needed[shared] = folders  # from now on a worker that comes gets them, too
        for folder in folders:
            if folder.key not in there:
                self._give(folder, [hand for hand in self._hands if hand.pid])
        return shared

    def _put(self, value: Any, content: wire.Wire) -> wire.Put:
        shared = wire.put(value, content)
        weakref.finalize(shared, self._gone.put, shared.key).atexit = False
        return shared

    def _folders(self) -> dict[str, travel.Folder]:
        return {folder.key: folder for folders in list(self._needed.values()) for folder in folders}

    # Workers.

    def _begin(self) -> None:
        """A worker on each node, which has said hello."""
        nodes = self.cluster.nodes()
        if not nodes:
            raise EngineError("the Ray cluster has no node with a CPU")
        for node, threads in _shares(nodes, self.limits):
            self._hands.append(self._engaged(node, threads))
        answers = [hand.actor.hello.remote() for hand in self._hands]
        _, late = self._ray.wait(answers, num_returns=len(answers), timeout=_PATIENCE)
        if late:
            self._dismiss_all()
            raise EngineError(
                f"{len(late)} of {len(answers)} nodes of the Ray cluster gave us no worker within {_PATIENCE:.0f} s: "
                "are its CPUs taken by other jobs? Ask for fewer with --threads"
            )
        try:
            for hand, answer in zip(self._hands, answers, strict=True):
                hand.pid, hand.heard = self._fits(hand.node, self._ray.get(answer)), time.monotonic()
        except EngineError:
            self._dismiss_all()
            raise
        except self._ray.exceptions.RayError as error:
            self._dismiss_all()
            raise EngineError(
                f"no worker could be started: is this version of dragoman ({VERSION}) installed on every node? "
                f"{_last(error)}"
            ) from error

    def _dismiss_all(self) -> None:
        for hand in self._hands:
            self._ray.kill(hand.actor)

    @staticmethod
    def _fits(node: Node, hello: tuple[str, str, int]) -> int:
        version, python, pid = hello
        own = ".".join(map(str, sys.version_info[:2]))
        if (version, python) != (VERSION, own):
            raise EngineError(
                f"the node {node.address} has dragoman {version} on Python {python}, and this process {VERSION} on "
                f"Python {own}: install the same on all"
            )
        return pid

    def _engaged(self, node: Node, threads: int) -> _Hand:
        """A new worker on a node; it has not said hello yet."""
        actor = self._remote.options(
            num_cpus=threads, max_restarts=0, max_concurrency=threads, scheduling_strategy=self._on(node)
        ).remote(sys.path, self.limits.processes == 1)  # fmt: skip
        return _Hand(node, threads, actor, time.monotonic())

    def _on(self, node: Node) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

        return NodeAffinitySchedulingStrategy(node.id, soft=False)

    def _give(self, folder: travel.Folder, hands: Sequence[_Hand]) -> None:
        """Checks that workers have a folder, or sends it to them."""
        described, puts = wire.dumps(folder)
        assert not puts
        if not self.limits.send:
            answers = [hand.actor.check.options(concurrency_group="apart").remote(described) for hand in hands]
            for hand, wrong in self._answers(hands, answers):
                if wrong:
                    raise EngineError(
                        f"the node {hand.node.address} does not have what {folder.path} is here: {wrong.decode()}; put "
                        "it where all nodes see it under this path, or have it sent (--engine ray:send)"
                    )
            return
        with TemporaryDirectory(prefix="dragoman-") as place:
            file = Path(place) / "folder"
            folder.pack(file)
            with file.open("rb") as content:
                while chunk := content.read(_CHUNK):
                    ref = self._ray.put(chunk)
                    list(self._answers(hands, [self._apart(hand, "receive", folder.key, ref) for hand in hands]))
        answers = [self._apart(hand, "unpack", folder.key, described) for hand in hands]
        for hand, wrong in self._answers(hands, answers):
            if wrong:
                raise EngineError(f"the node {hand.node.address} could not take {folder.path}: {wrong.decode()}")

    def _answers(self, hands: Sequence[_Hand], calls: Sequence[Any]) -> Iterator[tuple[_Hand, Any]]:
        """What workers answer; one that is lost meanwhile does not, and the one in its place is given everything."""
        gone = (self._ray.exceptions.ActorDiedError, self._ray.exceptions.ActorUnavailableError)
        for hand, call in zip(hands, calls, strict=True):
            with suppress(*gone):
                yield hand, self._ray.get(call)

    @staticmethod
    def _apart(hand: _Hand, method: str, *arguments: Any) -> Any:
        """A call beside the jobs of a worker."""
        return getattr(hand.actor, method).options(concurrency_group="apart").remote(*arguments)

    # The thread that hands out jobs. All below runs on it alone.

    def _run(self) -> None:
        looked = time.monotonic()
        while True:
            try:
                kind, what, more = self._events.get(timeout=self._pause())
            except Empty:
                kind, what, more = "look", None, None
            if kind == "end":
                break
            if kind == "job":
                self._jobs.append(what)
            elif kind == "result":
                self._arrived(what, more)
            elif kind == "hello":
                self._greeted(what, more)
            elif kind == "pulse":
                self._alive(what, more)
            if kind == "look" or time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                self._look()
            self._hand_out()
        for job in [*self._jobs, *(flight.job for hand in self._hands for flight in hand.flights)]:
            if not job.future.cancel():
                job.future.set_exception(EngineError("the engine was closed"))

    def _pause(self) -> float:
        return min(_LOOK, self.limits.deadline / 4) if self.limits.deadline else _LOOK

    def _hand_out(self) -> None:
        """Gives waiting jobs to the workers with the largest share of free threads.

        Where jobs are short each worker has one more than threads, so that none of these waits for the way there and
        back. A long one would wait there while another worker is free.
        """
        while self._jobs:
            usual = next((known.usual for known in self._works if known.work is self._jobs[0].work), None)
            more = 1 if usual is not None and usual < _SHORT else 0
            free = [hand for hand in self._hands if hand.pid and len(hand.flights) < hand.threads + more]
            if not free:
                return
            hand = min(free, key=lambda hand: len(hand.flights) / hand.threads)
            job = self._next(hand)
            if not job.lost and not job.future.set_running_or_notify_cancel():
                continue
            try:
                self._send(job, hand)
            except Exception as error:
                job.future.set_exception(error)

    def _next(self, hand: _Hand) -> _Job:
        """The first job that is at home there, or nowhere; else the first of all, which moves there."""
        at = next((at for at, job in enumerate(self._jobs) if self._home(job) in {None, hand}), 0)
        job = self._jobs[at]
        del self._jobs[at]
        home = getattr(job.task, "home", None)
        if home is not None:
            self._homes[home] = hand
        return job

    def _home(self, job: _Job) -> _Hand | None:
        """The worker that had the last job with this home, if it is still there."""
        hand = self._homes.get(getattr(job.task, "home", None))
        return hand if hand in self._hands else None

    def _send(self, job: _Job, hand: _Hand) -> None:
        task, puts = wire.dumps(job.task)
        work = self._work(job.work)
        needed = [work.put, *puts]
        new = wire.missing(needed, hand.known)
        flight = _Flight(job, hand, work, [*needed, *new], time.monotonic())
        answer = hand.actor.do.remote(
            work.put.mark, task, [put.mark for put in puts], self._forgotten(hand), *wire.brought(new)
        )
        hand.given.update(put.key for put in new)
        hand.flights[flight] = None
        answer.future().add_done_callback(lambda done: self._events.put(("result", flight, done)))

    def _forgotten(self, hand: _Hand) -> list[str]:
        """What nobody needs any more of what a worker was sent; tasks under way keep what they need."""
        with suppress(Empty):
            while True:
                key = self._gone.get_nowait()
                for each in self._hands:
                    if key in each.given:
                        each.given.discard(key)
                        each.known.discard(key)
                        each.gone.append(key)
        gone, hand.gone = hand.gone, []
        return gone

    def _work(self, work: Callable[[Any], Any]) -> _Work:
        """The work of a call."""
        at = next((at for at, known in enumerate(self._works) if known.work is work), None)
        found = self._works.pop(at) if at is not None else _Work(work, self._put(work, wire.dumps(work)))
        self._works = [*self._works[-_MOST_WORKS + 1 :], found]
        return found

    def _arrived(self, flight: _Flight, done: Future[Any]) -> None:
        """A result, an error of the task, or the news that a worker is gone."""
        hand, job = flight.hand, flight.job
        if flight not in hand.flights:
            return  # struck off: another worker has the job, or has done it
        error = done.exception()
        if error is None:
            self._landed(flight)
            try:
                good, result = wire.loads(*done.result())
            except Exception as problem:
                good, result = False, problem
            if good:
                job.future.set_result(result)
            else:
                job.future.set_exception(result)
        elif isinstance(error, (self._ray.exceptions.ActorDiedError, self._ray.exceptions.ActorUnavailableError)):
            self._replace(hand)
        else:
            del hand.flights[flight]
            self._again(job, error)

    @staticmethod
    def _landed(flight: _Flight) -> None:
        """A worker has answered: it knows what came with the task, and begins with one that waited there."""
        hand, now = flight.hand, time.monotonic()
        waiting = [each for at, each in enumerate(hand.flights) if at >= hand.threads and each is not flight]
        del hand.flights[flight]
        for first in waiting[:1]:
            first.began = now
        hand.known.update(put.key for put in flight.puts)
        hand.heard, hand.asked = now, False
        flight.work.took(now - flight.began)

    def _again(self, job: _Job, why: BaseException | str) -> None:
        """Puts a job first in the queue, unless it was lost too often."""
        job.lost += 1
        if job.lost >= _TRIES:
            told = why if isinstance(why, str) else _last(why)
            job.future.set_exception(
                EngineError(f"a task was given to {job.lost} workers and came back from none: {told}")
            )
        else:
            self._jobs.appendleft(job)

    def _replace(self, hand: _Hand, why: str = "the worker was lost") -> None:
        """Strikes a worker off, gives its jobs back, and engages another one on its node."""
        self._hands.remove(hand)
        for flight in reversed(list(hand.flights)):
            self._again(flight.job, why)
        hand.flights.clear()
        self._end(hand)
        self._engage(hand.node, hand.threads)

    def _engage(self, node: Node, threads: int) -> None:
        hand = self._engaged(node, threads)
        self._hands.append(hand)
        hand.actor.hello.remote().future().add_done_callback(lambda done: self._events.put(("hello", hand, done)))

    def _end(self, hand: _Hand) -> None:
        """Ends a process for sure: one that hangs would not listen, and keep its CPUs."""
        self._ray.kill(hand.actor)
        if hand.pid:
            kill = self._ray.remote(_kill).options(num_cpus=0, max_retries=0, scheduling_strategy=self._on(hand.node))
            kill.remote(hand.pid)

    def _greeted(self, hand: _Hand, done: Future[Any]) -> None:
        """A new worker is there, or will not be."""
        if hand not in self._hands:
            return
        try:
            pid = self._fits(hand.node, done.result())
            for folder in self._folders().values():
                self._give(folder, [hand])
            hand.pid, hand.heard = pid, time.monotonic()
        except Exception as error:  # its node is gone, or not as the others; `_look` tries again while it is there
            self._why = f": {_last(error)}"
            self._hands.remove(hand)
            self._end(hand)

    def _look(self) -> None:
        """Flights that hang, workers that never began, nodes that came; the end, where no worker is left for long."""
        now = time.monotonic()
        for hand in list(self._hands):
            if any(now - flight.began > self._deadline(flight) for flight in hand.flights):
                self._replace(hand, "it took too long; give it more time by the engine's option deadline")
            elif hand.pid and hand.asked and now - hand.heard > _SILENT:
                self._replace(hand, f"the worker gave no sign of life for {_SILENT:.0f} s")
            elif not hand.pid and now - hand.began > _PATIENCE:
                self._hands.remove(hand)
                self._end(hand)
            elif hand.pid and hand.flights and not hand.asked:
                self._ask(hand, now)
        if self._jobs:
            self._look_for_nodes()
        if any(hand.pid for hand in self._hands) or not self._jobs:
            self._alone_since = now
        elif now - self._alone_since > _PATIENCE:
            for job in self._jobs:
                told = f"no worker of the Ray cluster is left since {_PATIENCE:.0f} s{self._why}"
                job.future.set_exception(EngineError(told))
            self._jobs.clear()

    def _ask(self, hand: _Hand, now: float) -> None:
        """Asks a worker for a sign of life, which a stopped process or machine does not give."""
        hand.asked, hand.heard = True, now
        answer = hand.actor.pulse.options(concurrency_group="pulse").remote()
        answer.future().add_done_callback(lambda done: self._events.put(("pulse", hand, done)))

    @staticmethod
    def _alive(hand: _Hand, done: Future[Any]) -> None:
        if done.exception() is None:  # that a worker is gone its tasks tell
            hand.heard, hand.asked = time.monotonic(), False

    def _deadline(self, flight: _Flight) -> float:
        """Seconds that a flight may take: more for a job that has been lost before."""
        more = 2.0**flight.job.lost
        if self.limits.deadline:
            return self.limits.deadline * more
        slowest = flight.work.slowest
        return max(_SLOW, _USUAL * slowest) * more if slowest else float("inf")

    def _look_for_nodes(self) -> None:
        """Engages workers on nodes that have none: nodes that joined, or whose workers were lost."""
        try:
            nodes = self.cluster.nodes()
        except Exception:  # the head is not to be reached right now
            return
        there = {hand.node.id for hand in self._hands}
        for node, threads in _shares(nodes, self.limits):
            if node.id not in there:
                self._engage(node, threads)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _last(error: BaseException) -> str:
    """The last line of an error of Ray: the lines before it are traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _shares(nodes: Sequence[Node], limits: Limits) -> list[tuple[Node, int]]:
    """How many threads each worker has: all CPUs, or as many as are wanted, dealt to the nodes one by one."""
    wanted = sum(node.cpus for node in nodes) if limits.workers is None else limits.workers
    given = dict.fromkeys(range(len(nodes)), 0)
    while wanted > 0 and any(given[at] < node.cpus for at, node in enumerate(nodes)):
        for at, node in enumerate(nodes):
            if wanted > 0 and given[at] < node.cpus:
                given[at] += 1
                wanted -= 1
    shares = []
    for at, node in enumerate(nodes):
        count = min(limits.processes, given[at])
        shares += [(node, given[at] // count + (number < given[at] % count)) for number in range(count)]
    return shares
