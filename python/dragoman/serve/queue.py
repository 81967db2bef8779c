"""Requests wait here: bounded, in turn, in batches for the decoders' threads, with deadlines, and cancelled when alone.

A request is a work of one or more pieces, lines with the same recipe. Works take turns, so that a book does not hold up
a caption. Pieces of different works that have the same recipe travel together when there are many.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from dragoman.serve.decoders import Decoder
from dragoman.serve.frames import Batch, Constraint, Done, Found, Recipe
from dragoman.serve.lag import Lag

__all__ = ["Full", "Line", "Lost", "Queue", "Refused", "TooLate", "Work"]

_PIECE = 16
"""Lines that a thread takes at once."""
_AHEAD = 1
"""Batches that wait at a decoder, besides one for each thread, so that no thread waits for the next."""
_FORGET = 0.05
"""Weight of the newest batch in the estimate of what a character costs."""
_FIRST_COST = 2e-4
"""Seconds of a thread for a character, before any was measured."""
_SHORT = 5000
"""Characters that are never too many."""
_LEAST_SECONDS = 0.005
_TRIES = 2
"""Times that a batch is begun, when its decoder is lost meanwhile."""
_RESERVE = 0.9
"""Part of a deadline that searches may use; the rest is for what comes after."""
_TURNS = 4
"""Turns of the event loop between the last search of a request and the moment when its answer is on its way."""
_TAKE = 0.5
"""Part of a deadline that a request may have to wait, as far as one can tell: a server that refuses thousands of others
meanwhile is slower than it was when the cost of a character was measured."""


class Full(Exception):
    """No more requests are taken for now."""

    def __init__(self, after: float) -> None:
        super().__init__("the server has more to do than it can: try again later")
        self.after = max(1, math.ceil(after))
        """Seconds after which it may be otherwise."""


class TooLate(Full):
    """The deadline of a request passed before its turn came."""


class Refused(Exception):
    """A decoder says what is wrong with what was asked."""


class Lost(Exception):
    """What was asked could not be done, through no fault of the asker."""


@dataclass(slots=True)
class Line:
    """A line that wants something done."""

    text: str
    constraints: Constraint | None = None
    target: str | None = None


@dataclass(slots=True, eq=False)
class _Piece:
    work: Work
    first: int
    lines: Sequence[Line]
    tries: int = 0

    @property
    def size(self) -> int:
        return sum(len(line.text) for line in self.lines) + len(self.lines)


@dataclass(slots=True, eq=False)
class Work:
    """A request: its lines, when it must be done, and what was found so far."""

    recipe: Recipe
    until: float
    """By the monotonic clock."""
    found: list[Found | None]
    waiting: deque[_Piece] = field(default_factory=deque)
    left: int = 0
    """Pieces without an answer."""
    failed: Exception | None = None
    over: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, eq=False)
class _Flight:
    """A batch at a decoder."""

    decoder: Decoder
    batch: Batch
    pieces: list[_Piece]


class _Pace:
    """How fast batches come back while others wait: less fast than decoders are if this process is too busy."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._took = self._did = 0.0

    def back(self, size: int, *, waited: bool) -> None:
        """A batch of so many characters is back; `waited` says whether others wait."""
        now = time.monotonic()
        if self._last is not None:
            self._took += now - self._last - _FORGET * self._took
            self._did += size - _FORGET * self._did
        if not waited:  # the time until the next one says nothing, and what was measured on a busy server must not last
            self._took = self._did = 0.0
        self._last = now if waited else None

    @property
    def seconds(self) -> float:
        """Of the clock, for a character; 0 where nothing waits."""
        return self._took / self._did if self._did else 0.0


class Queue:
    """The only place where requests wait."""

    def __init__(self, decoders: Sequence[Decoder], *, most: int) -> None:
        self.decoders = decoders
        self.most = most
        self._works: deque[Work] = deque()
        """Those with pieces that wait, in turn."""
        self._flights: dict[int, _Flight] = {}
        self._busy: dict[Decoder, int] = dict.fromkeys(decoders, 0)
        self._numbers = itertools.count(1)
        self._cost = _FIRST_COST
        self._pace = _Pace()
        self.lag = Lag()
        self._waiting_size = 0
        self.entered = 0
        """Requests that are whole and have no answer yet, as connections count them."""
        self.works = 0
        """Those that wait or are searched."""
        self.sentences = 0
        self.late = 0
        self.cancelled = 0
        self.seconds = 0.0
        """Of decoders' threads, in all."""
        for decoder in decoders:
            decoder.told, decoder.lost, decoder.freed = self._told, self._lost, self._send
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def threads(self) -> int:
        """All that work."""
        return sum(decoder.threads for decoder in self.decoders)

    @property
    def under_way(self) -> int:
        """Requests that have no answer yet; inside another server, whose connections count nothing, those searched."""
        return max(self.entered, self.works)

    @property
    def wait(self) -> float:
        """Seconds until the turn of a request that comes now, as far as one can tell."""
        return self._waiting_size * max(self._cost / max(1, self.threads), self._pace.seconds)

    @property
    def _after(self) -> float:
        """Seconds that an answer takes when its searches are done, if the event loop stays as far behind as it is."""
        return _TURNS * self.lag.seconds

    def refuse(self, seconds: float) -> Full | None:
        """Why a request cannot be taken now, if so: for those who have not read its body yet."""
        return Full(self.wait) if self.under_way >= self.most or self._late(seconds) else None

    def _late(self, seconds: float) -> bool:
        """Whether a request that comes now would wait too long."""
        # When nothing is under way a request is always taken: what was measured on a busy machine must not last.
        return self.works > 0 and self.wait + self._after > _TAKE * seconds

    def enter(self) -> None:
        """A request is let in. Many may come in one turn of the event loop, before the first of them is submitted."""
        self.entered += 1

    def leave(self) -> None:
        """It has its answer."""
        self.entered -= 1

    def too_long(self, size: int, seconds: float) -> bool:
        """Whether a text of so many characters needs more time than a request has, were it alone."""
        return size > _SHORT and size * self._cost / max(1, self.threads) > seconds

    def submit(self, recipe: Recipe, lines: Sequence[Line], seconds: float, *, goes_on: bool = False) -> Work:
        """Takes a request, or refuses it, unless it `goes_on`: then a part of it was taken before."""
        if not goes_on and (self.works >= self.most or self._late(seconds)):
            raise Full(self.wait)
        # At least half: one look at a clock that stood still must not cost a request on a quiet server its time.
        search = min(_RESERVE * seconds, max(seconds / 2, seconds - self._after))
        work = Work(recipe, time.monotonic() + search, [None] * len(lines))
        # Who wants much of a line gets a thread for each.
        most = 1 if recipe.explain or recipe.nbest > 1 or recipe.lattice else _PIECE
        for first in range(0, len(lines), most):
            piece = _Piece(work, first, lines[first : first + most])
            work.waiting.append(piece)
            self._waiting_size += piece.size
        work.left = len(work.waiting)
        self.works += 1
        self._idle.clear()
        if work.waiting:
            self._works.append(work)
            self._send()
        else:
            self._finish(work)
        return work

    async def result(self, work: Work) -> list[Found]:
        """All that was found, when it is."""
        while work.left and work.failed is None:
            work.news.clear()
            await self._news(work)
        if work.failed is not None:
            raise work.failed
        return [found for found in work.found if found is not None]

    async def stream(self, work: Work) -> AsyncIterator[Found]:
        """What was found, line by line, in order, as it comes."""
        for number in range(len(work.found)):
            while (found := work.found[number]) is None:
                if work.failed is not None:
                    raise work.failed
                work.news.clear()
                await self._news(work)
            work.found[number] = Found()  # it is not needed any more
            yield found

    async def _news(self, work: Work) -> None:
        # A little later than the searches' own deadline: an answer that is on its way still counts.
        patience = work.until - time.monotonic() + 0.05
        try:
            await asyncio.wait_for(work.news.wait(), max(0.01, patience))
        except asyncio.TimeoutError:
            if work.left and work.failed is None:
                self.cancel(work)
                work.failed = TooLate(self.wait)

    def cancel(self, work: Work, why: Exception | None = None) -> None:
        """Nobody wants a work any more: what waits is dropped, searches under way end soon."""
        if work.over:
            return
        work.failed = why
        if work.left:
            self.cancelled += 1
        for flight in list(self._flights.values()):
            if all(piece.work is work or piece.work.over for piece in flight.pieces):
                flight.decoder.cancel(flight.batch.number)
        self._finish(work)

    def _finish(self, work: Work) -> None:
        if work.over:
            return
        work.over = True
        self._waiting_size -= sum(piece.size for piece in work.waiting)
        work.waiting.clear()
        self.works -= 1
        work.news.set()
        if not self.works:
            self._idle.set()

    async def idle(self, seconds: float) -> bool:
        """Waits until nothing is under way, but no longer than so; says whether that is so."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except asyncio.TimeoutError:
            return False
        return True

    def _send(self) -> None:
        """Gives decoders all that they can take."""
        while True:
            free = [d for d in self.decoders if d.ready and self._busy[d] < d.threads + _AHEAD]
            if not free:
                return
            decoder = min(free, key=lambda d: self._busy[d] / d.threads)
            pieces = self._next()
            if not pieces:
                return
            self._fly(decoder, pieces)

    def _next(self) -> list[_Piece]:
        """The pieces of the next batch: one, or several that have the same recipe when there are many."""
        taken: list[_Piece] = []
        room = min(_PIECE, max(1, math.ceil(len(self._works) / (4 * max(1, self.threads)))))
        now = time.monotonic()
        for _ in range(len(self._works)):
            work = self._works.popleft()
            if work.over or not work.waiting:
                continue
            if work.until <= now:
                work.failed = TooLate(self.wait)
                self.late += 1
                self._finish(work)
                continue
            piece = work.waiting[0]
            if taken and not (piece.work.recipe == taken[0].work.recipe and len(piece.lines) <= room):
                self._works.appendleft(work)
                break
            work.waiting.popleft()
            self._waiting_size -= piece.size
            taken.append(piece)
            room -= len(piece.lines)
            if work.waiting:
                self._works.append(work)
            if room <= 0:
                break
        return taken

    def _fly(self, decoder: Decoder, pieces: list[_Piece]) -> None:
        lines = [line for piece in pieces for line in piece.lines]
        left = min(piece.work.until for piece in pieces) - time.monotonic()
        seconds = max(_LEAST_SECONDS, left / len(lines))
        asked = [line.constraints for line in lines]
        targets = [line.target or "" for line in lines] if pieces[0].work.recipe.kind == "score" else None
        batch = Batch(
            next(self._numbers), pieces[0].work.recipe, [line.text for line in lines], seconds,
            asked if any(asked) else None, targets,
        )  # fmt: skip
        for piece in pieces:
            piece.tries += 1
        self._flights[batch.number] = _Flight(decoder, batch, pieces)
        self._busy[decoder] += 1
        decoder.run(batch)

    def _told(self, decoder: Decoder, done: Done) -> None:
        flight = self._flights.pop(done.number, None)
        if flight is None:
            return
        self._busy[decoder] -= 1
        self.seconds += done.seconds
        size = sum(piece.size for piece in flight.pieces)
        self._pace.back(size, waited=self._waiting_size > 0)
        failed = Refused(done.refused) if done.refused else Lost(done.fault) if done.fault else None
        if failed is None:
            self._cost += _FORGET * (done.seconds / max(1, size) - self._cost)
            self.sentences += len(done.found)
        at = 0
        for piece in flight.pieces:
            self._answer(piece, done.found[at : at + len(piece.lines)], failed)
            at += len(piece.lines)
        self._send()

    @staticmethod
    def _put(piece: _Piece, found: Sequence[Found]) -> None:
        piece.work.found[piece.first : piece.first + len(found)] = found

    def _answer(self, piece: _Piece, found: Sequence[Found], failed: Exception | None) -> None:
        work = piece.work
        if work.over:
            return
        if failed is not None:
            work.failed = failed
            self._finish(work)
            return
        self._put(piece, found)
        work.left -= 1
        work.news.set()
        if not work.left:
            self._finish(work)

    def _lost(self, decoder: Decoder) -> None:
        """A decoder is gone: others, or its successor, do what it was doing."""
        gone = [flight for flight in self._flights.values() if flight.decoder is decoder]
        self._busy[decoder] = 0
        for flight in gone:
            del self._flights[flight.batch.number]
            for piece in flight.pieces:
                self._again(piece)
        self._send()

    def _again(self, piece: _Piece) -> None:
        work = piece.work
        if work.over:
            return
        if piece.tries >= _TRIES:
            work.failed = Lost("the decoder was lost with this text, more than once")
            self._finish(work)
            return
        waited = bool(work.waiting)
        work.waiting.appendleft(piece)
        self._waiting_size += piece.size
        if not waited:
            self._works.appendleft(work)
