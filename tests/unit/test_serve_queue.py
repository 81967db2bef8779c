"""The queue: turns, batches, bounds, deadlines, what is cancelled and what is lost; with decoders that do as told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from starlette.types import Message

from dragoman.serve.decoders import Decoder
from dragoman.serve.frames import Applied, Apply, Batch, Done, Found, Recipe
from dragoman.serve.models import Models
from dragoman.serve.options import Options
from dragoman.serve.queue import Full, Line, Lost, Queue, Refused, TooLate
from dragoman.serve.service import Caller, Service

RECIPE = Recipe("m")


class Fake:
    """Keeps batches until the test says what becomes of them."""

    def __init__(self, threads: int = 1) -> None:
        self.threads, self.ready, self.starts = threads, True, 1
        self.told: Callable[[Decoder, Done], None]
        self.lost: Callable[[Decoder], None]
        self.freed: Callable[[], None]
        self.batches: list[Batch] = []
        self.cancelled: list[int] = []

    async def start(self) -> None: ...

    def run(self, batch: Batch) -> None:
        self.batches.append(batch)

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)

    async def apply(self, change: Apply) -> Applied:
        return Applied(change.number)

    async def close(self) -> None: ...

    def do(self, **more: str) -> Batch:
        """Answers the oldest batch."""
        batch = self.batches.pop(0)
        found = [] if more else [Found(line.upper()) for line in batch.lines]
        self.told(self, Done(batch.number, found, 0.001, **more))
        return batch


def lines(*texts: str) -> list[Line]:
    return [Line(text) for text in texts]


def run(test: Callable[[Queue, Fake], object], most: int = 8) -> None:
    async def body() -> None:
        fake = Fake()
        made = test(Queue([fake], most=most), fake)
        if asyncio.iscoroutine(made):
            await made

    asyncio.run(body())


def test_answers_come_back_in_order() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        work = queue.submit(RECIPE, lines(*(f"a{i}" for i in range(40))), 10)
        while fake.batches:
            fake.do()
        assert [f.text for f in await queue.result(work)] == [f"A{i}" for i in range(40)]
        assert queue.works == 0 and await queue.idle(0.1) and queue.wait == 0

    run(test)


def test_works_take_turns() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        book = queue.submit(RECIPE, lines(*["x"] * 160), 10)
        caption = queue.submit(Recipe("m", 2), lines("y"), 10)
        seen = []
        while caption.left:
            seen.append(fake.do().lines[0])
        assert len(seen) <= 4 and book.left
        queue.cancel(book)

    run(test)


def test_many_small_works_travel_together() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        works = [queue.submit(RECIPE, lines(f"w{i}"), 10) for i in range(50)]
        sizes = []
        while fake.batches:
            sizes.append(len(fake.do().lines))
        assert max(sizes) > 4 and sum(sizes) == 50
        for number, work in enumerate(works):
            assert [f.text for f in await queue.result(work)] == [f"W{number}"]

    run(test, most=100)


def test_what_would_wait_for_half_of_its_deadline_is_refused() -> None:
    def test(queue: Queue, fake: Fake) -> None:
        for _ in range(40):
            queue.submit(RECIPE, lines("a" * 1000), 100)
        wait = queue.wait
        assert wait > 1
        with pytest.raises(Full):
            queue.submit(RECIPE, lines("a"), 1.8 * wait)
        queue.submit(RECIPE, lines("a"), 2.2 * wait)

    run(test, most=100)


def test_a_server_that_is_behind_refuses() -> None:
    """Its answers take several turns of an event loop, each as long as the loop is behind."""

    def test(queue: Queue, fake: Fake) -> None:
        queue.lag.seconds = 2.0
        assert queue.refuse(10) is None, "when nothing is under way"
        work = queue.submit(RECIPE, lines("a"), 10)
        assert work.until - time.monotonic() < 6, "its search ends in time for the answer"
        assert queue.refuse(10) is not None and queue.refuse(100) is None
        queue.lag.seconds = 0.1
        assert queue.refuse(10) is None
        assert 8.9 < queue.submit(RECIPE, lines("a"), 10).until - time.monotonic() <= 9

    run(test)


def test_requests_that_come_together_are_counted_before_they_are_submitted() -> None:
    def test(queue: Queue, fake: Fake) -> None:
        for _ in range(3):
            assert queue.refuse(10) is None
            queue.enter()
        assert queue.refuse(10) is not None
        for _ in range(3):
            queue.submit(RECIPE, lines("a"), 10)
        fake.do()
        assert queue.refuse(10) is not None, "its answer is not sent yet"
        queue.leave()
        assert queue.refuse(10) is None

    run(test, most=3)


def test_where_connections_count_nothing_searches_are_bounded() -> None:
    def test(queue: Queue, fake: Fake) -> None:
        for _ in range(3):
            assert queue.refuse(10) is None
            queue.submit(RECIPE, lines("a"), 10)
        assert queue.under_way == 3 and queue.refuse(10) is not None

    run(test, most=3)


def test_the_wait_is_what_it_takes_to_come_back() -> None:
    """A process that is too busy to feed its decoders is slower than they are."""

    def test(queue: Queue, fake: Fake) -> None:
        for _ in range(120):
            queue.submit(RECIPE, lines("a"), 100)
        fast = queue.wait
        for _ in range(3):
            time.sleep(0.2)
            fake.do()
        assert queue.wait > 5 * fast
        while fake.batches:
            fake.do()
        assert queue.wait == 0
        for _ in range(120):
            queue.submit(RECIPE, lines("a"), 100)
        assert queue.wait < 3 * fast, "what was measured on a busy server does not last"

    run(test, most=200)


def test_a_full_queue_refuses() -> None:
    def test(queue: Queue, fake: Fake) -> None:
        works = [queue.submit(RECIPE, lines("a"), 10) for _ in range(3)]
        with pytest.raises(Full) as full:
            queue.submit(RECIPE, lines("a"), 10)
        assert full.value.after >= 1
        queue.cancel(works[0])
        queue.submit(RECIPE, lines("a"), 10)

    run(test, most=3)


def test_what_cannot_be_done_in_time_is_refused() -> None:
    def test(queue: Queue, fake: Fake) -> None:
        assert queue.too_long(10_000_000, 1) and not queue.too_long(100, 0.001)
        queue.submit(RECIPE, lines(*["x" * 1000] * 100), 60)
        with pytest.raises(Full):
            queue.submit(RECIPE, lines("a"), 1)

    run(test)


def test_slow_answers_of_before_do_not_shut_the_door() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        for _ in range(50):
            work = queue.submit(RECIPE, lines("a"), 1)
            batch = fake.batches.pop()
            fake.told(fake, Done(batch.number, [Found("A")], 100.0))
            assert (await queue.result(work))[0].text == "A"

    run(test)


def test_a_deadline_that_passes() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        first = queue.submit(RECIPE, lines("a"), 0.05)
        await asyncio.sleep(0.06)
        fake.ready = False
        waits = queue.submit(RECIPE, lines("b"), 0.05)
        for work in (first, waits):
            with pytest.raises(TooLate):
                await queue.result(work)
        assert queue.works == 0 and fake.cancelled

    run(test)


def test_cancelled_works_leave_nothing() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        one = queue.submit(RECIPE, lines(*["a"] * 100), 10)
        queue.cancel(one)
        assert fake.cancelled == [batch.number for batch in fake.batches]
        assert queue.works == 0 and queue.wait == 0
        other = queue.submit(RECIPE, lines("b"), 10)
        while fake.batches:
            fake.do()
        assert [f.text for f in await queue.result(other)] == ["B"]

    run(test)


def test_lost_batches_are_done_again_once() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        work = queue.submit(RECIPE, lines("a"), 10)
        fake.batches.clear()
        fake.ready = False
        fake.lost(fake)
        assert not fake.batches
        fake.ready = True
        fake.freed()
        fake.do()
        assert (await queue.result(work))[0].text == "A"
        deadly = queue.submit(RECIPE, lines("b"), 10)
        for _ in range(2):
            fake.batches.clear()
            fake.lost(fake)
        with pytest.raises(Lost, match="more than once"):
            await queue.result(deadly)
        assert queue.works == 0

    run(test)


def test_refusals_and_faults_are_told_apart() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        for told, kind in (({"refused": "no"}, Refused), ({"fault": "oh"}, Lost)):
            work = queue.submit(RECIPE, lines("a"), 10)
            fake.do(**told)
            with pytest.raises(kind):
                await queue.result(work)

    run(test)


def test_streams() -> None:
    async def test(queue: Queue, fake: Fake) -> None:
        work = queue.submit(RECIPE, lines(*(f"a{i}" for i in range(20))), 10)
        asyncio.get_running_loop().call_later(0.01, lambda: [fake.do() for _ in range(len(fake.batches))])
        assert [f.text async for f in queue.stream(work)] == [f"A{i}" for i in range(20)]

    run(test)


def streamed(test: Callable[[Queue, Fake, AsyncIterator[Found]], Awaitable[None]]) -> None:
    """A test with a stream of 100 lines, on a server that takes two requests and has half a second for each."""

    async def body() -> None:
        fake = Fake()
        queue = Queue([fake], most=2)
        service = Service(Models([fake]), queue, Options(deadline=0.5))
        there = asyncio.Event()

        async def receive() -> Message:
            await there.wait()
            return {"type": "http.disconnect"}

        caller = Caller(receive, 0.5, time.monotonic())
        await test(queue, fake, service.stream(lines(*(f"a{i}" for i in range(100))), RECIPE, caller))

    asyncio.run(body())


async def read(stream: AsyncIterator[Found], seen: list[str]) -> None:
    async for found in stream:
        seen.append(found.text)  # noqa: PERF401  as they come


def test_a_stream_on_a_busy_server_is_slow_but_whole() -> None:
    """Of a window whose time is over the rest is done in the next one."""

    async def test(queue: Queue, fake: Fake, stream: AsyncIterator[Found]) -> None:
        seen: list[str] = []
        reading = asyncio.ensure_future(read(stream, seen))
        await asyncio.sleep(0.05)
        fake.do()  # one of four pieces, and no other until its time is over
        await asyncio.sleep(0.7)
        assert len(seen) == 16 and not reading.done()
        while not reading.done():
            while fake.batches:
                fake.do()
            await asyncio.sleep(0.001)
        await reading
        assert seen == [f"A{i}" for i in range(100)] and queue.works == 0

    streamed(test)


def test_a_stream_that_stands_still_ends() -> None:
    async def test(queue: Queue, fake: Fake, stream: AsyncIterator[Found]) -> None:
        with pytest.raises(TooLate):
            await read(stream, [])
        assert queue.works == 0

    streamed(test)


def test_a_stream_that_was_let_in_goes_on() -> None:
    """However full the queue is when its next window comes."""

    async def test(queue: Queue, fake: Fake, stream: AsyncIterator[Found]) -> None:
        seen: list[str] = []
        reading = asyncio.ensure_future(read(stream, seen))
        await asyncio.sleep(0.01)
        queue.submit(Recipe("m", 2), lines("b"), 10)
        with pytest.raises(Full):
            queue.submit(RECIPE, lines("c"), 10)
        queue.lag.seconds = 100.0
        while not reading.done():
            while fake.batches:
                if fake.batches[0].recipe == RECIPE:
                    fake.do()
                else:
                    fake.batches.pop(0)  # it never comes back
                    queue.most = 1
            await asyncio.sleep(0.001)
        await reading
        assert seen == [f"A{i}" for i in range(100)] and queue.works == 1

    streamed(test)
