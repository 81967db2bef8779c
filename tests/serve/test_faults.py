"""What goes wrong: lost decoders, damaged requests, large bodies, callers who leave, too many of them."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest import mock
from urllib.parse import urlsplit

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from tests.serving import Server, start

from dragoman import serve
from dragoman.serve.protocol import Bounded
from dragoman.serve.safety import BODIES, Guard, Room

GERMAN = "Der Hund sieht den Stein."
SHORT = {"text": GERMAN, "alignment": False}
CANCELLED = int(os.environ.get("SERVE_CANCELLED", "1000000"))
"""Connections that the long test cuts."""


def text_of(found: Any) -> str:
    return str(found["translations"][0]["text"])


def test_a_lost_decoder_is_replaced(models: Path) -> None:
    own = start("--model", models / "phrase", "--deadline", "60")
    try:
        for _ in range(2):
            (pid,) = own.workers()
            os.kill(pid, signal.SIGKILL)
            status, found = own.call("/v1/translate", SHORT)  # the very next one
            assert (status, text_of(found)) == (200, "The dog sees the stone.")
            assert own.workers() != [pid]
        metrics = own.raw("/metrics")[1].decode()
        assert "dragoman_decoder_restarts_total 2" in metrics
    finally:
        assert own.stop() == 0


def test_what_a_lost_decoder_was_doing_is_done_again(models: Path) -> None:
    own = start("--model", models / "phrase", "--workers", "2", "--threads", "2", "--deadline", "60")
    try:
        answers: list[tuple[int, Any]] = []
        text = "\n".join([GERMAN] * 400)
        asking = [
            threading.Thread(target=lambda: answers.append(own.call("/v1/translate", {"text": text}))) for _ in range(4)
        ]
        for thread in asking:
            thread.start()
        time.sleep(0.1)
        os.kill(own.workers()[0], signal.SIGKILL)
        for thread in asking:
            thread.join()
        wanted = "\n".join(["The dog sees the stone."] * 400)
        assert [(status, text_of(found)) for status, found in answers] == [(200, wanted)] * 4
    finally:
        assert own.stop() == 0


def test_a_decoder_that_hangs_is_replaced(
    models: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dragoman.serve.decoders._HUNG", 0.5)
    monkeypatch.setattr("dragoman.serve.decoders._LOOK", 0.1)
    app = serve.app({"mine": models / "phrase"}, workers=1, deadline=1.0)
    with TestClient(app) as client:
        (decoder,) = app.state.service.queue.decoders
        os.kill(decoder.pid, signal.SIGSTOP)
        assert client.post("/v1/translate", json=SHORT).status_code == 503
        until = time.monotonic() + 30
        while client.post("/v1/translate", json=SHORT).status_code != 200:
            assert time.monotonic() < until
        time.sleep(2.5)  # what has come back is not waited for
        assert decoder.starts == 2 and caplog.text.count("hangs") == 1


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/v1/score", "/detect"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"text"', b'{"q": "\xff"}', b"\xff\xfe", b'{"text": 1}', b'{"text": {"a": 1}}',
     b'{"text": "a", "nbest": 1e999}', b'{"text": "a", "nbest": -1}', b'{"q": [], "source": 5, "target": []}',
     b'{"q": ["a", 1], "source": "de", "target": "en"}', b'{"text": "a", "glossary": {"a": []}}',
     b'{"text":"a","constraints":{"given":[[0,99999999999999999999,"x"]]}}', b"[" * 100_000,
     b'{"q": ' + b"[" * 100_000,
     b'{"text": "\\ud800", "translation": "\\udfff", "q": "\\ud800", "source": "de", "target": "en"}'],
)  # fmt: skip
def test_bad_bodies_are_refused(server: Server, path: str, body: bytes) -> None:
    status, answer, _ = server.raw(path, body, **{"Content-Type": "application/json"})
    assert 400 <= status < 500, (status, answer)
    assert json.loads(answer)["error"]


def test_text_that_is_not_utf_8(server: Server) -> None:
    for body in (b"q=%ff&source=de&target=en", b"q=\xff&source=de&target=en"):
        status, answer, _ = server.raw("/translate", body)
        assert status == 400 and b"UTF-8" in answer
    for kind in ("multipart/form-data; boundary=b", "multipart/form-data; boundary=b; charset=latin-1"):
        parts = {"q": b"M\xfcller", "source": b"de", "target": b"en"}
        fields = [
            b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (n.encode(), v)
            for n, v in parts.items()
        ]
        status, answer, _ = server.raw("/translate", b"".join(fields) + b"--b--\r\n", **{"Content-Type": kind})
        assert status == 400 and b"UTF-8" in answer
    assert server.upload("a.txt", b"M\xfcller", source="de", target="en")[0] == 400


def test_a_body_that_is_too_large(server: Server) -> None:
    before = server.memory()
    for body in (b'{"text": "' + b"a" * 100_000_000 + b'"}', b"q=" + b"a" * 100_000_000):
        status, answer, _ = server.raw("/translate", body)
        assert status == 413 and b"2,000,000 bytes" in answer
    assert server.metric('dragoman_requests_total{path="refused",status="413"}') >= 2
    assert server.memory() - before < 30_000_000
    assert server.call("/v1/translate", SHORT)[0] == 200


def test_a_body_of_unknown_length_is_counted(server: Server) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
        link.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(30):
            link.sendall(b"19000\r\n" + b"a" * 0x19000 + b"\r\n")
        link.sendall(b"0\r\n\r\n")
        assert link.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "\x00", "a\u0301" * 500, "😀 " * 50, "\u202eabc", "a" * 5000, "." * 3000]
)
def test_strange_text_is_answered(server: Server, text: str) -> None:
    for name in ("phrase", "hiero"):
        status, found = server.call("/v1/translate", {"text": text, "model": name})
        assert status == 200, found


_STRANGE = ["<a ", "<b>", "<b>x ", "<p>x", "<!--<a ", "<img>x ", "&#1", "x", "a\n", "\u3002a"]


@pytest.mark.parametrize("kind", ["html", "text", "file"])
@pytest.mark.parametrize("part", _STRANGE)
def test_strange_pages_hold_up_nobody(server: Server, part: str, kind: str) -> None:
    """Two million bytes of anything are answered or refused in seconds, and others are answered meanwhile."""
    text = part * (1_900_000 // len(part.encode()))
    asked = {"text": text, "format": kind, "alignment": False, "deadline": 5.0}
    found: list[int] = []

    def ask() -> None:
        if kind == "file":
            found.append(replace(server, wait=5.0).upload("a.html", text.encode(), source="de", target="en")[0])
        else:
            found.append(server.call("/v1/translate", asked)[0])

    thread = threading.Thread(target=ask)
    thread.start()
    waits: list[float] = []
    while thread.is_alive() or not waits:
        began = time.monotonic()
        assert server.call("/health")[0] == 200
        waits.append(time.monotonic() - began)
        time.sleep(0.02)
    thread.join()
    assert found[0] in {0, 200, 400, 413, 503}
    assert max(waits) < 2, "the server was busy with one page"


def test_answers_are_not_held_back(server: Server) -> None:
    """Head and body of an answer go out at once: else each waits 40 ms for the caller's acknowledgement."""
    place, body = urlsplit(server.url), json.dumps(SHORT).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    waits = []
    with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
        for _ in range(60):
            began, answer = time.monotonic(), b""
            link.sendall(head + body)
            while b'"translations"' not in answer:
                answer += link.recv(10_000)
            waits.append(time.monotonic() - began)
    assert min(waits[30:]) < 0.035


def _cut(
    server: Server,
    body: bytes,
    *,
    under_way: bool = False,
    path: str = "/v1/translate",
    head: str = "",
    after: float = 0,
) -> None:
    """Sends a request and leaves: at once, when it is under way, or after some sentences."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}\r\n\r\n"
        link.sendall(head.encode() + body)
        until = time.monotonic() + 30
        while under_way and not server.metric("dragoman_requests_waiting"):
            assert time.monotonic() < until, "nothing is under way"
            time.sleep(0.005)
        while after and server.metric("dragoman_sentences_total") < after:
            assert time.monotonic() < until, "nothing is translated"
            time.sleep(0.01)


def test_who_leaves_stops_the_search(models: Path) -> None:
    """A sentence that takes seconds to search leaves the thread free when its caller is gone."""
    own = start("--model", models / "phrase", "--threads", "1", "--deadline", "60")
    try:
        slow = {"text": " ".join([GERMAN[:-1]] * 35), "nbest": 100, "explain": True, "split": False}
        began = time.monotonic()
        status, _ = own.call("/v1/translate", slow)
        whole = time.monotonic() - began
        assert status == 200
        own.call("/v1/translate", SHORT)
        _cut(own, json.dumps(slow).encode(), under_way=True)
        began = time.monotonic()
        assert own.call("/v1/translate", SHORT)[0] == 200
        assert time.monotonic() - began < max(0.3, whole / 2)
        assert "dragoman_cancelled_total 1" in own.raw("/metrics")[1].decode()
    finally:
        assert own.stop() == 0


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_who_leaves_a_long_text_stops_its_search(models: Path, kind: str) -> None:
    own = start("--model", models / "phrase", "--threads", "1", "--deadline", "60")
    try:
        text = "\n".join([GERMAN] * 20_000)
        if kind == "stream":
            path, head, body = "/v1/translate", "", json.dumps({"text": text, "stream": True, "nbest": 5}).encode()
        else:
            path, head = "/translate_file", "Content-Type: multipart/form-data; boundary=b\r\n"
            parts = {'source"': "de", 'target"': "en", 'file"; filename="a.txt"': text}
            fields = "".join(
                f'--b\r\nContent-Disposition: form-data; name="{n}\r\n\r\n{v}\r\n' for n, v in parts.items()
            )
            body = f"{fields}--b--\r\n".encode()
        _cut(own, body, path=path, head=head, after=100)
        done = own.metric("dragoman_sentences_total")
        own.calm()
        assert own.metric("dragoman_cancelled_total") == 1
        assert own.metric("dragoman_sentences_total") - done < 1000
        assert own.call("/v1/translate", SHORT)[0] == 200
    finally:
        assert own.stop() == 0


def test_a_server_without_free_files_recovers(models: Path) -> None:
    """Callers take all files that it may have open, and its decoder is lost meanwhile."""
    own = start("--model", models / "phrase", "--deadline", "60")
    place = urlsplit(own.url)
    said = cast(Any, own.process.stderr)
    reader = threading.Thread(target=said.read)  # it has much to say
    reader.start()
    try:
        resource.prlimit(own.process.pid, resource.RLIMIT_NOFILE, (60, 60))
        links = [socket.create_connection((place.hostname or "", place.port or 0), 30) for _ in range(80)]
        time.sleep(0.5)
        os.kill(own.workers()[0], signal.SIGKILL)
        time.sleep(1.0)
        for link in links:
            link.close()
        status, found = own.call("/v1/translate", SHORT)
        assert (status, text_of(found)) == (200, "The dog sees the stone.")
    finally:
        own.process.send_signal(signal.SIGTERM)
        assert own.process.wait(60) == 0
        reader.join()
        said.close()


def _stalled(server: Server, head: str, body: bytes) -> socket.socket:
    place = urlsplit(server.url)
    link = socket.create_connection((place.hostname or "", place.port or 0), 30)
    link.sendall(f"POST {head} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1900000\r\n\r\n".encode() + body)
    return link


def test_slow_bodies_are_given_up_and_keep_nobody_out(models: Path) -> None:
    own = start("--model", models / "phrase", "--body-deadline", "1.5", "--deadline", "60")
    try:
        links = [_stalled(own, "/v1/translate", b'{"text": "' + b"a" * 1_800_000) for _ in range(40)]
        links += [_stalled(own, "/translate", b"q=") for _ in range(100)]
        links.append(_stalled(own, "/translate_file", b"--b"))
        links.append(_stalled(own, "/nothing", b"q="))
        status, found = own.call("/health")
        assert (status, found["status"]) == (200, "ok")
        answers = Counter(link.recv(12)[9:] for link in links)
        assert answers[b"408"] >= 130 and set(answers) <= {b"408", b"429", b"404"}, answers
        assert answers[b"429"] >= 3, "an address may have a quarter of all bodies"
        for link in links:
            link.close()
        assert own.call("/v1/translate", SHORT)[0] == 200
    finally:
        assert own.stop() == 0


def test_bodies_on_their_way_have_no_place_in_the_queue(models: Path) -> None:
    own = start("--model", models / "phrase", "--queue", "2", "--body-deadline", "60")
    try:
        links = [_stalled(own, path, b'{"text": "') for path in ("/v1/translate", "/translate") for _ in range(10)]
        time.sleep(0.5)
        assert own.call("/v1/translate", SHORT)[0] == 200
        for link in links:
            link.close()
    finally:
        assert own.stop() == 0


def _cut_after(server: Server, *parts: bytes, wait: float = 0.0) -> float:
    """Seconds after which the connection ends while parts are sent again and again."""
    began = time.monotonic()
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
        with suppress(BrokenPipeError, ConnectionResetError):
            link.sendall(parts[0])
            while time.monotonic() - began < 10 and not select.select([link], [], [], wait)[0]:
                link.sendall(parts[-1])
            assert link.recv(100) == b""
        return time.monotonic() - began


def test_heads_of_any_size_are_cut(server: Server) -> None:
    before = server.memory()
    assert _cut_after(server, b"GET / HTTP/1.1\r\nX: ", b"a" * 100_000) < 5
    assert server.memory() - before < 20_000_000


def test_heads_that_never_end_are_cut(models: Path) -> None:
    own = start("--model", models / "phrase", "--body-deadline", "1")
    place = urlsplit(own.url)
    try:
        assert _cut_after(own, b"GET / HTTP/1.1\r\nX: ", b"a", wait=0.2) < 5, "a slow one"
        assert _cut_after(own, b"", wait=0.2) < 5, "none"
        with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
            link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(2)  # a connection that waits for its next request lives on
            link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.5)
            assert link.recv(10_000).count(b"HTTP/1.1 200") == 2
    finally:
        assert own.stop() == 0


def test_an_address_has_a_part_of_all_connections() -> None:
    aborted: Counter[str] = Counter()

    def connect(host: str) -> Bounded:
        made = Bounded.__new__(Bounded)
        transport = mock.Mock()
        transport.get_extra_info = {"peername": (host, 1), "sockname": ("127.0.0.1", 2)}.get
        transport.abort = lambda: aborted.update([host])
        made.loop, made.connections, made.logger = mock.Mock(), set(), mock.Mock(level=100)
        made.cycle, made.parser, made.flow = None, None, None  # type: ignore[assignment]
        made.timeout_keep_alive_task = None
        made.connection_made(transport)
        return made

    links = [connect(host) for host in ("10.0.0.1", "127.0.0.1") for _ in range(2510)]
    assert aborted == {"10.0.0.1": 10}
    for link in links:
        link.connection_lost(None)
    assert not Bounded._of


def test_bodies_that_trickle_are_given_up(models: Path) -> None:
    own = start("--model", models / "phrase", "--body-deadline", "1")
    try:
        for size in ("1000", "100000000"):
            place = urlsplit(own.url)
            with socket.create_connection((place.hostname or "", place.port or 0), 30) as link:
                link.sendall(f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
                began = time.monotonic()
                with suppress(BrokenPipeError, ConnectionResetError):
                    while time.monotonic() - began < 5 and not select.select([link], [], [], 0.2)[0]:
                        link.sendall(b"q")
                assert time.monotonic() - began < 3
                assert link.recv(12)[9:] == (b"408" if size == "1000" else b"413")
    finally:
        assert own.stop() == 0


def test_an_answer_that_nobody_reads_is_given_up(models: Path) -> None:
    own = start("--model", models / "phrase", "--body-deadline", "1", "--deadline", "60")
    place, files = urlsplit(own.url), _files(own)
    try:
        for more in ({"nbest": 100, "explain": True}, {"stream": True, "nbest": 50, "explain": True}):
            body = json.dumps({"text": " ".join([GERMAN] * (3000 if "stream" in more else 30)), **more}).encode()
            with socket.socket() as link:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                link.settimeout(30)
                link.connect((place.hostname or "", place.port or 0))
                link.sendall(
                    f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                )
                link.sendall(body)
                assert link.recv(12)[9:] == b"200"
                until = time.monotonic() + 30
                while own.metric("dragoman_held_bytes") and time.monotonic() < until:
                    time.sleep(0.1)
                assert own.metric("dragoman_held_bytes") == 0, "its memory is not held any more"
        own.calm()
        assert _files(own) <= files + 5
    finally:
        assert own.stop() == 0


def test_answers_that_are_too_large_are_refused(server: Server) -> None:
    """However many sentences, candidates, features and lattices are asked for: before anything is searched."""
    text = "\n".join([GERMAN] * 500)
    for more in ({"nbest": 100, "explain": True}, {"nbest": 100}, {"lattice": True}):
        began = server.metric("dragoman_sentences_total")
        status, told = server.call("/v1/translate", {"text": text, **more})
        assert status == 413 and "fewer" in told["error"], (more, told)
        assert server.metric("dragoman_sentences_total") == began
    form = {"q": f"<p title='{'a' * 1_000_000}'>{GERMAN}", "source": "de", "target": "en", "format": "html"}
    status, told = server.call("/translate", {**form, "alternatives": 99})
    assert status == 413 and "fewer" in told["error"]


def test_all_bodies_together_are_bounded() -> None:
    """What is read and not answered yet never has more than so many bytes; the others may come again later."""
    most, held, seen = 1000, 0, Counter[int]()
    go = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        nonlocal held
        size = len((await receive())["body"])
        held += size
        await go.wait()
        await Response("done")(scope, receive, send)

    guard = Guard(slow, most=most, room=Room(BODIES * most), hosts=())

    async def one(host: int) -> None:
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"1000")],
                 "client": (f"10.0.0.{host}", 1)}  # fmt: skip

        async def receive() -> Any:
            return {"type": "http.request", "body": b"a" * most}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                seen[message["status"]] += 1

        await guard(scope, receive, send)

    async def all_of_them() -> None:
        asked = [asyncio.ensure_future(one(1)) for _ in range(50)]
        await asyncio.sleep(0.05)
        assert seen == {429: 50 - 32}, "one address alone has a quarter"
        asked += [asyncio.ensure_future(one(number)) for number in range(2, 152)]
        await asyncio.sleep(0.05)
        assert seen == {429: 18, 503: 150 - 96} and held == 128 * most
        go.set()
        await asyncio.gather(*asked)
        await one(1)
        assert seen[200] == 129

    asyncio.run(all_of_them())


def _many_leave(server: Server, count: int) -> None:
    body = json.dumps(SHORT).encode()

    def leave(times: int) -> None:
        for number in range(times):
            cut = False
            while not cut:  # the system drops some of thousands that come at once
                with suppress(TimeoutError):
                    _cut(server, body if number % 3 else body[:-5])
                    cut = True

    threads = [threading.Thread(target=leave, args=(count // 4,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.calm()
    left = -1
    while left != (left := _files(server)):  # connections that are cut are closed when their turn comes
        time.sleep(0.5)


def _files(server: Server) -> int:
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())


def _leaks_nothing(server: Server, count: int, room: int = 20_000_000) -> None:
    """What the first connections made room for is enough for all, but for `room`: bursts differ."""
    _many_leave(server, max(2000, count // 25))
    memory, files = server.memory(), _files(server)
    _many_leave(server, count)
    after = server.memory(), _files(server)
    print(f"{count:,} cut connections: {memory:,} bytes and {files} files before, {after[0]:,} and {after[1]} after")
    assert server.call("/v1/translate", SHORT)[0] == 200
    assert after[0] - memory < room
    assert after[1] <= files + 5


def test_cut_connections_leak_nothing(server: Server) -> None:
    _leaks_nothing(server, 1000)


@pytest.mark.long
def test_a_million_cut_connections_leak_nothing(server: Server) -> None:
    _leaks_nothing(server, CANCELLED, CANCELLED * 50)  # a leak of 50 bytes each is found


def test_more_than_it_can_do_is_refused(models: Path) -> None:
    """Few are let in, these are answered in time, the others learn when to come again."""
    own = start("--model", models / "phrase", "--queue", "4", "--deadline", "5")
    try:
        seen: list[tuple[int, float, Any]] = []

        def ask() -> None:
            for _ in range(5):
                began = time.monotonic()
                status, _, headers = own.raw("/v1/translate", {"text": "\n".join([GERMAN] * 40)})
                seen.append((status, time.monotonic() - began, headers.get("retry-after")))

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = Counter(status for status, _, _ in seen)
        assert set(counts) == {200, 503} and counts[200] >= 4
        assert all(after and int(after) >= 1 for status, _, after in seen if status == 503)
        assert max(took for status, took, _ in seen if status == 200) < 6
        own.calm()
    finally:
        assert own.stop() == 0


def test_a_deadline_ends_a_search(server: Server) -> None:
    slow = {"text": " ".join([GERMAN[:-1]] * 35), "split": False, "nbest": 100, "explain": True}
    began = time.monotonic()
    status, found = server.call("/v1/translate", {**slow, "deadline": 0.05})
    took = time.monotonic() - began
    assert status in {200, 503}, found
    assert status == 503 or took < 2 or found["translations"][0]["sentences"][0]["late"]
    status, told = server.call("/v1/translate", {"text": "\n".join([GERMAN] * 60_000), "deadline": 0.1})
    assert status == 413 and "stream" in told["error"]


def test_the_end_waits_for_what_is_under_way(models: Path) -> None:
    own = start("--model", models / "phrase", "--deadline", "60")
    answers: list[tuple[int, Any]] = []
    text = "\n".join([GERMAN] * 600)
    thread = threading.Thread(
        target=lambda: answers.append(own.call("/v1/translate", {"text": text, "alignment": False}))
    )
    thread.start()
    until = time.monotonic() + 10
    while not own.metric("dragoman_requests_waiting") and time.monotonic() < until:
        time.sleep(0.005)
    assert own.stop() == 0
    thread.join()
    assert answers[0][0] == 200 and text_of(answers[0][1]).count("dog") == 600
