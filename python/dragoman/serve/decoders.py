"""Where batches are done: on threads of this process, or in processes that are replaced when they are lost."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import dragoman
from dragoman.errors import OptionError
from dragoman.serve.frames import Applied, Apply, Batch, Cancel, Done, decode, encode, length
from dragoman.serve.runner import Runner
from dragoman.translator import Translator

__all__ = ["Decoder", "Local", "Process"]

_TRIES = 5
"""Times that a process may fail to open its models before the server gives up starting."""
_PATIENCE = 60.0
"""Seconds that a change of the models waits for a process that is being replaced."""
_HUNG = 30.0
"""Seconds after its own in which a batch comes back, or its process hangs: a feature of a user's own may never end."""
_LOOK = 1.0
"""Seconds between two looks for such a batch."""
_log = logging.getLogger(__name__)


class Decoder(Protocol):
    """Does batches. The queue hears what is done."""

    threads: int
    ready: bool
    starts: int
    """Times that it was made ready: each after the first is a loss before."""
    told: Callable[[Decoder, Done], None]
    """Called with every answer."""
    lost: Callable[[Decoder], None]
    """Called when all batches under way are lost."""
    freed: Callable[[], None]
    """Called when it can work again."""

    async def start(self) -> None:
        """Makes it ready."""

    def run(self, batch: Batch) -> None:
        """Takes a batch."""

    def cancel(self, number: int) -> None:
        """Nobody wants a batch any more."""

    async def apply(self, change: Apply) -> Applied:
        """Changes the models."""

    async def close(self) -> None:
        """Ends it."""


def _ignore(*_: Any) -> None:
    pass


class Local:
    """Threads of this process, with models that are open already or opened here."""

    def __init__(self, models: Mapping[str, Translator], threads: int) -> None:
        self.threads, self.ready, self.starts = threads, True, 1
        self.told: Callable[[Decoder, Done], None] = _ignore
        self.lost: Callable[[Decoder], None] = _ignore
        self.freed: Callable[[], None] = _ignore
        self.runner = Runner()
        for name, model in models.items():
            self.runner.add(name, model)
        self._pool: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        """Starts the threads."""
        self._pool = ThreadPoolExecutor(self.threads + 1, "dragoman-serve")

    def run(self, batch: Batch) -> None:
        """Takes a batch."""
        assert self._pool is not None
        loop = asyncio.get_running_loop()
        self.runner.expect(batch.number)

        def work() -> None:
            done = self.runner.run(batch)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self.told, self, done)

        self._pool.submit(work)

    def cancel(self, number: int) -> None:
        """Nobody wants a batch any more."""
        self.runner.cancel(number)

    async def apply(self, change: Apply) -> Applied:
        """Changes the models."""
        return await asyncio.get_running_loop().run_in_executor(None, self.runner.apply, change)

    async def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Process:
    """A process of its own. When it is lost another takes its place, with the models that are loaded then."""

    def __init__(self, threads: int, *, shared: bool, state: Callable[[], list[Apply]]) -> None:
        self.threads, self.ready = threads, False
        self.told: Callable[[Decoder, Done], None] = _ignore
        self.lost: Callable[[Decoder], None] = _ignore
        self.freed: Callable[[], None] = _ignore
        self._shared, self._state = shared, state
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._answers: dict[int, asyncio.Future[Applied | None]] = {}
        self._due: dict[int, float] = {}
        """When batches under way must be back."""
        self._task: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._number = 0
        self.closing = False
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """Of the process that works now."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts the process and opens the models; the first failure ends the server, later ones are tried again."""
        self._task = asyncio.get_running_loop().create_task(self._live())
        self._watcher = asyncio.get_running_loop().create_task(self._watch())
        await self._begun()

    async def _begun(self) -> None:
        while not self.ready:
            assert self._task is not None
            if self._task.done():
                self._task.result()
                raise OptionError("the decoder ended before it was ready")
            await asyncio.sleep(0.01)

    async def _live(self) -> None:
        failures = 0
        while not self.closing:
            try:
                reader = await self._spawn()
                listener = asyncio.get_running_loop().create_task(self._listen(reader))
                opening = asyncio.get_running_loop().create_task(self._open())
                await asyncio.wait({listener, opening}, return_when=asyncio.FIRST_COMPLETED)
                if opening.done():
                    opening.result()
                    failures = 0 if self.ready else failures + 1
                    await listener
                else:
                    opening.cancel()
                    failures += 1
            except (OptionError, OSError):  # a model that is broken; no memory, no files for a process
                if not self.starts:
                    raise
                failures += 1
            finally:
                self._end()
            if failures >= _TRIES and not self.starts:
                raise OptionError("the decoder cannot be started: it ended again and again")
            if failures and not self.closing:
                await asyncio.sleep(0.2 * 2 ** min(failures, _TRIES))

    async def _spawn(self) -> asyncio.StreamReader:
        ours, theirs = socket.socketpair()
        # The child finds this very package, wherever it was imported from.
        place = str(Path(dragoman.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH", "")]))
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "dragoman.serve.worker", str(theirs.fileno()), str(self.threads),
                "shared" if self._shared else "alone", pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path}, stdin=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        reader, self._writer = await asyncio.open_connection(sock=ours)
        return reader

    async def _open(self) -> None:
        """Opens all models in a new process, those that come meanwhile, too, then lets it work."""
        opened: set[tuple[str, int]] = set()
        while wanted := [one for one in self._state() if (one.model, one.revision) not in opened]:
            for change in wanted:
                done = await self._ask(change)
                if done is None:
                    return  # the listener knows, too
                if done.error is not None:
                    raise OptionError(done.error)
                opened.add((change.model, change.revision))
        self.ready = True
        self.starts += 1
        self.freed()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(4)
                message = decode(await reader.readexactly(length(head)))
                if isinstance(message, Done):
                    self._due.pop(message.number, None)
                    self.told(self, message)
                elif isinstance(message, Applied):
                    answer = self._answers.pop(message.number, None)
                    if answer is not None and not answer.done():
                        answer.set_result(message)

    async def _watch(self) -> None:
        """Ends processes that hang."""
        while not self.closing:
            await asyncio.sleep(_LOOK)
            if self._process is not None and min(self._due.values(), default=math.inf) < time.monotonic():
                _log.error("a decoder hangs: another takes its place")
                self._due.clear()
                with suppress(ProcessLookupError):
                    self._process.kill()

    def _end(self) -> None:
        """The process is gone: so are its batches."""
        self.ready = False
        self._due.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result(None)
        self._answers.clear()
        self.lost(self)

    def run(self, batch: Batch) -> None:
        """Takes a batch."""
        if self._writer is not None:
            self._due[batch.number] = time.monotonic() + batch.seconds * len(batch.lines) + _HUNG
            self._writer.write(encode(batch))

    def cancel(self, number: int) -> None:
        """Nobody wants a batch any more."""
        if self._writer is not None:
            self._writer.write(encode(Cancel(number)))

    async def apply(self, change: Apply) -> Applied:
        """Changes the models. While the process is being replaced the change waits for the next one."""
        until = time.monotonic() + _PATIENCE
        while not self.closing and time.monotonic() < until:
            done = await self._ask(change) if self.ready else None
            if done is not None:
                return done
            await asyncio.sleep(0.01)
        return Applied(change.number, "the decoder is being replaced: try again later")

    async def _ask(self, change: Apply) -> Applied | None:
        """The answer of the process; none if it was lost meanwhile."""
        assert self._writer is not None
        self._number += 1
        change.number = self._number
        answer: asyncio.Future[Applied | None] = asyncio.get_running_loop().create_future()
        self._answers[change.number] = answer
        self._writer.write(encode(change))
        return await answer

    async def close(self) -> None:
        """Ends the process; what it was doing was waited for before."""
        self.closing = True
        if self._watcher is not None:
            self._watcher.cancel()
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            with suppress(asyncio.TimeoutError, ProcessLookupError):
                await asyncio.wait_for(self._process.wait(), 2.0)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, OptionError):
                await self._task
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
