"""More requests than can be answered: what is refused costs little, and what is let in keeps its deadline."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import select
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from tests.serving import Server, start

from dragoman.serve.lag import Lag
from dragoman.serve.protocol import CONNECTIONS, Bounded
from dragoman.serve.service import Caller

GERMAN = "Der Hund sieht den Stein."
SMALL = json.dumps({"text": GERMAN}).encode()


@pytest.fixture
def full(models: Path) -> Iterator[Server]:
    """A server that takes one request, and has one: its decoder stands still."""
    own = start(
        "--model", models / "phrase", "--queue", "1", "--threads", "1", "--deadline", "60", "--body-deadline", "2"
    )
    (decoder,) = own.workers()
    os.kill(decoder, signal.SIGSTOP)
    try:
        with link_to(own) as asking:
            asking.sendall(head("/v1/translate") + SMALL)
            until = time.monotonic() + 30
            while not own.metric("dragoman_requests_under_way"):
                assert time.monotonic() < until, "nothing is under way"
            yield own
            os.kill(decoder, signal.SIGCONT)
            assert answer_of(asking)[0] == 200
        own.calm()
    finally:
        os.kill(decoder, signal.SIGCONT)
        assert own.stop() == 0


def link_to(server: Server) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname or "", place.port or 0), 30)


def head(path: str, *more: str, size: int | None = len(SMALL)) -> bytes:
    length = [] if size is None else [f"Content-Length: {size}"]
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *length, *more]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def answer_of(link: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the next answer."""
    came = b""
    while b"\r\n\r\n" not in came:
        more = link.recv(1)
        assert more, came
        came += more
    first, *rest = came.decode().split("\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    body = b""
    while len(body) < int(headers["content-length"]):
        body += link.recv(int(headers["content-length"]) - len(body))
    return int(first.split()[1]), headers, body


def is_cut(link: socket.socket) -> bool:
    link.settimeout(5)
    try:
        return link.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/v1/score", "/detect"])
def test_a_quick_refusal_says_what_a_slow_one_says(full: Server, path: str) -> None:
    chunked = head(path, "Transfer-Encoding: chunked", size=None)  # which the quick way does not take
    with link_to(full) as quick, link_to(full) as slow:
        quick.sendall(head(path) + SMALL)
        slow.sendall(chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(SMALL), SMALL))
        found, wanted = answer_of(quick), answer_of(slow)
    for one in (found, wanted):
        assert one[1].pop("date")
    assert found == wanted
    assert found[0] == 503 and int(found[1]["retry-after"]) >= 1 and b"try again later" in found[2]
    assert full.metric(f'dragoman_requests_total{{path="{path}",status="503"}}') == 2


def test_a_refused_connection_goes_on(full: Server) -> None:
    with link_to(full) as link:
        for _ in range(3):
            link.sendall(head("/v1/translate") + SMALL)
            assert answer_of(link)[0] == 503
        time.sleep(2.5)  # longer than a head or a body may take
        link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer_of(link)[0] == 200
        link.sendall(head("/v1/translate")[:20])  # a head and a body that come in pieces
        time.sleep(0.1)
        link.sendall(head("/v1/translate")[20:] + SMALL[:5])
        time.sleep(0.1)
        link.sendall(SMALL[5:])
        assert answer_of(link)[0] == 503
        link.sendall(head("/v1/translate", "Connection: close") + SMALL)
        status, headers, _ = answer_of(link)
        assert (status, headers["connection"]) == (503, "close") and is_cut(link)


def test_bodies_of_any_form_hear_of_it(full: Server) -> None:
    """Also those that are too large to be read and forgotten."""
    large = b"a" * 300_000
    for asked in (
        head("/v1/translate", size=len(large)) + large,
        head("/v1/translate", "Transfer-Encoding: chunked", size=None) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(large), large),
        head("/v1/translate", "Expect: 100-continue"),
    ):
        with link_to(full) as link:
            link.sendall(asked)
            assert answer_of(link)[0] == 503


def test_answers_keep_the_order_of_requests(full: Server) -> None:
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with link_to(full) as link:
        asked = head("/v1/translate") + SMALL
        link.sendall(health + asked + asked + health + asked)
        assert [answer_of(link)[0] for _ in range(5)] == [200, 503, 503, 200, 503]


def test_a_refused_body_that_trickles_is_cut(full: Server) -> None:
    with link_to(full) as link:
        began = time.monotonic()
        link.sendall(head("/v1/translate", size=10_000))
        while not select.select([link], [], [], 0.2)[0]:
            link.sendall(b" ")
            assert time.monotonic() - began < 10
        assert is_cut(link)


def test_nobody_is_made_to_keep_refusals(full: Server) -> None:
    """Who asks again and again and reads nothing is cut."""
    memory = full.memory(decoders=False)
    with link_to(full) as link:
        link.setblocking(False)
        asked, until = (head("/v1/translate") + SMALL) * 100, time.monotonic() + 20
        sent = 0
        with pytest.raises(ConnectionError):
            while time.monotonic() < until:
                if select.select([], [link], [], 0.2)[1]:
                    sent += link.send(asked)
        assert sent < 20_000_000
        assert full.memory(decoders=False) - memory < 10_000_000


def test_who_was_refused_and_left_is_forgotten(full: Server) -> None:
    """At once: what waits for their next request ends with the connection, also with one that is cut."""

    def leave(count: int) -> None:
        for _ in range(count):
            with link_to(full) as link:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                link.sendall(head("/v1/translate") + SMALL)
                assert answer_of(link)[0] == 503

    leave(200)
    memory = full.memory(decoders=False)
    leave(4000)
    assert full.memory(decoders=False) - memory < 6_000_000


def test_requests_that_wait_on_one_connection_are_bounded(full: Server) -> None:
    memory = full.memory(decoders=False)
    with link_to(full) as link, pytest.raises(ConnectionError):
        link.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000_000)
    assert full.memory(decoders=False) - memory < 10_000_000


def test_who_leaves_leaves_room(models: Path) -> None:
    """Requests that were let in and whose callers left, also such that waited for another on the same connection."""
    own = start("--model", models / "phrase", "--queue", "4", "--threads", "1")
    try:
        for _ in range(20):
            with link_to(own) as link:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                link.sendall((head("/v1/translate") + SMALL) * 20)
            with link_to(own) as link:
                link.sendall(head("/v1/translate", "Host: evil.example"))
                link.sendall(SMALL)
        own.calm()
        assert own.call("/v1/translate", {"text": GERMAN})[0] == 200
    finally:
        assert own.stop() == 0


def test_what_comes_at_once_is_refused_at_once(models: Path) -> None:
    """Hundreds of requests that come in one moment: as many as the queue takes are let in, not all of them."""
    own = start("--model", models / "phrase", "--queue", "8", "--threads", "1", "--deadline", "60")
    try:
        links = [link_to(own) for _ in range(300)]
        for link in links:
            link.sendall(head("/v1/translate") + SMALL)
        seen = Counter(answer_of(link)[0] for link in links)
        assert set(seen) == {200, 503} and seen[200] >= 8
        for link in links:
            link.close()
        own.calm()
    finally:
        assert own.stop() == 0


def test_more_connections_than_there_may_be(models: Path) -> None:
    """They hear that the server is full, and when to come again; then it goes on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < CONNECTIONS + 200:
        pytest.skip(f"this system lets a process have {before[1]:,} open files, fewer than the server takes")
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    own = start("--model", models / "phrase", "--threads", "1")
    links = []
    try:
        links = [link_to(own) for _ in range(CONNECTIONS)]
        chunked = head("/v1/translate", "Transfer-Encoding: chunked", size=None) + b"0\r\n\r\n"
        for asked in (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", head("/v1/translate") + SMALL, chunked):
            with link_to(own) as link:
                link.sendall(asked)
                status, headers, body = answer_of(link)
                assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
                assert b"try again later" in body and is_cut(link)
        for link in links:
            link.close()
        until = time.monotonic() + 30
        while own.raw("/health")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        for link in links:
            link.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert own.stop() == 0


def test_requests_of_callers_who_left_count_too() -> None:
    """Until they end: else whoever connects and leaves, again and again, has any number of them."""
    link = Bounded.__new__(Bounded)
    link.connections = set()
    for count, crowded in ((CONNECTIONS - 1, False), (CONNECTIONS, True)):
        link.tasks = set(range(count))  # type: ignore[arg-type]  # their number is all that is asked
        assert link._crowded() == crowded


def test_a_server_knows_how_late_it_is(models: Path) -> None:
    own = start("--model", models / "phrase", "--threads", "1")
    try:
        with link_to(own) as link:
            os.kill(own.process.pid, signal.SIGSTOP)
            time.sleep(0.6)
            link.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            os.kill(own.process.pid, signal.SIGCONT)
            found = re.search(rb"^dragoman_lag_seconds (\S+)", answer_of(link)[2], re.M)
        assert found and float(found[1]) > 0.3
    finally:
        assert own.stop() == 0


def test_the_lag_is_seen_and_forgotten() -> None:
    async def body() -> None:
        lag = Lag()
        lag.start()
        await asyncio.sleep(0.2)
        calm = lag.seconds
        time.sleep(0.6)  # the loop is busy
        await asyncio.sleep(0.01)
        assert lag.seconds > 0.5 > calm
        await asyncio.sleep(0.07)
        assert lag.seconds > 0.05, "a busy loop has quiet moments"
        await asyncio.sleep(1.5)
        assert lag.seconds < 0.25
        lag.stop()

    asyncio.run(body())


def test_a_deadline_begins_when_a_request_comes() -> None:
    receive = cast(Any, None)
    now = time.monotonic()
    assert 9.9 < Caller(receive, 10.0, now).seconds <= 10
    assert 7.9 < Caller(receive, 10.0, now - 2).seconds <= 8, "two seconds before it was read"
    assert 4.9 < Caller(receive, 10.0, now - 60).seconds <= 5, "an estimate takes half at most"
