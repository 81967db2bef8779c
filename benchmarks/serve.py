"""The server on multi30k, German to English: speed, what it costs beside decoding, and too much load. Prints JSON.

`start` is the time from the command to the first translated byte. `captions` has requests for single captions by 1,
8, 64 and 512 clients, each of which asks again when it has its answer: requests a second, milliseconds of the median,
of 95 and of 99 in 100. `cost` is the processor time of a request, server and decoder together, beyond that of the
same lines in one call of the decoder. `batches` are requests of 100 lines, against `dragoman translate` on the same
text, in turn: the ratio of lines per processor second, and per second. `overload` asks ten times as often as the
server can answer, at set times, for `--seconds`: answers by status, how many of those that were let in came after
their deadline, memory before and after. `detail` has 64 clients ask for lists of 100 with features, and for lattices:
memory before, at most, and after. `shared` are bytes of a decoder's own for one and for two processes, and what
sharing the language model costs in processor time. Clients are processes of their own on the same machine: its cores
are shared with them. `--only captions cost` runs some of these parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import _multi30k
from dragoman._core import lm_copies
from dragoman.decoder import Decoder

TICK = os.sysconf("SC_CLK_TCK")
DEADLINE = 10.0
PAUSE = 1.0
"""Seconds after which a client that was refused asks again."""


class Server:
    """`dragoman serve` in a process of its own."""

    def __init__(self, model: Path, *options: str) -> None:
        began = time.perf_counter()
        command = [sys.executable, "-m", "dragoman", "serve", "--model", str(model), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        found = re.search(r"http://\S+", said)
        if not found:
            raise SystemExit(f"the server did not start: {said}")
        self.url = urlsplit(found[0])
        asyncio.run(self._one("ein hund rennt ."))
        self.first = time.perf_counter() - began
        self.first_cpu = self.seconds()

    async def _one(self, line: str) -> None:
        await Client(self.url.port or 80).ask(line)

    @property
    def pids(self) -> list[int]:
        """The server's, then those of its decoders."""
        me = self.process.pid
        children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        return [me, *map(int, children)]

    def seconds(self) -> float:
        """Processor time of the server and its decoders."""
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.pids]
        return sum(int(field[11]) + int(field[12]) for field in fields) / TICK

    def memory(self) -> list[int]:
        """Bytes of their own, not of mapped files: the server's, then each decoder's."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in self.pids]
        return [int(found[1]) * 1024 for text in texts if (found := re.search(r"RssAnon:\s+(\d+)", text))]

    def late(self) -> int:
        """Answers that took the server longer than a deadline, since it was started."""
        with urlopen(f"http://127.0.0.1:{self.url.port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        found = re.findall(r'request_seconds_bucket{le="(?:10.0|\+Inf)"} (\d+)', text)
        return int(found[1]) - int(found[0])

    def stop(self) -> int:
        """Ends it."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Server]:
    """A server, and its end."""
    server = Server(model, *options)
    try:
        yield server
    finally:
        server.stop()


class Client:
    """One connection that lives on, with as little work as can be."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._link: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, lines: str | Sequence[str]) -> tuple[int, Any]:
        """Status and answer."""
        return await self.send("/translate", {"q": lines, "source": "de", "target": "en"})

    async def send(self, path: str, asked: Any) -> tuple[int, Any]:
        """Status and answer of any request."""
        if self._link is None:
            self._link = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._link
        writer.write(_request(path, asked))
        got = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", got.lower())[1])  # type: ignore[index]
        content = await reader.readexactly(length)
        return int(got[9:12]), content

    def close(self) -> None:
        """Ends the connection."""
        if self._link is not None:
            self._link[1].close()
            self._link = None


def _request(path: str, asked: Any) -> bytes:
    body = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _places(waits: Sequence[float]) -> dict[str, float]:
    """Milliseconds of the median, of 95 and of 99 in 100; `waits` are in order."""
    return {f"p{part}": round(waits[len(waits) * part // 100] * 1e3, 1) for part in (50, 95, 99) if waits}


async def _closed(port: int, lines: Sequence[str], clients: int, seconds: float) -> tuple[list[float], int, float]:
    """Clients that ask again when they have an answer: their waits, who was refused, and the time of it all."""
    waits: list[float] = []
    refused: list[float] = []
    numbers = iter(range(1 << 60))
    until = time.perf_counter() + seconds

    async def one() -> None:
        client = Client(port)
        while time.perf_counter() < until:
            began = time.perf_counter()
            status, _ = await client.ask(lines[next(numbers) % len(lines)])
            if status == 503:
                refused.append(began)
                await asyncio.sleep(PAUSE)
                continue
            waits.append(time.perf_counter() - began)
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return waits, len(refused), time.perf_counter() - began


def _away(function: str, *arguments: Any) -> Any:
    """Runs one of the functions below in a process of its own, whose processor time is not the server's."""
    code = f"import json, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import serve; " \
           f"print(json.dumps(serve.{function}(*json.load(sys.stdin))))"  # fmt: skip
    made = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(arguments), capture_output=True, text=True, check=True
    )
    return json.loads(made.stdout.splitlines()[-1])


def clients_of(port: int, lines: list[str], clients: int, seconds: float) -> dict[str, float]:
    """Rate and latency of single captions."""
    waits, refused, whole = asyncio.run(_closed(port, lines, clients, seconds))
    figures = {"requests": len(waits), "refused": refused, "a_second": round(len(waits) / whole, 1)}
    return {**figures, **_places(sorted(waits))}


async def _batches(port: int, lines: Sequence[str], size: int, clients: int) -> float:
    pieces = [lines[at : at + size] for at in range(0, len(lines), size)]
    waiting = iter(pieces)
    began = time.perf_counter()

    async def one() -> None:
        client = Client(port)
        for piece in waiting:
            status, _ = await client.ask(list(piece))
            if status != 200:
                raise SystemExit(f"expected 200, found {status}")
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return time.perf_counter() - began


def batches_of(port: int, lines: list[str], size: int, clients: int) -> float:
    """Seconds for all lines in requests of some."""
    return asyncio.run(_batches(port, lines, size, clients))


class _Asker(asyncio.Protocol):
    """A connection of the open load, with one request at a time.

    It does as little work as can be, since it takes turns with the server on the same cores.
    """

    def __init__(self, told: Callable[[_Asker, int, float], None]) -> None:
        self._told = told
        self._came = b""
        self._began = 0.0
        self.lost = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self, request: bytes, began: float) -> None:
        """Sends a request that began then: a connection may have been made for it."""
        self._began, self._came = began, b""
        assert self._transport is not None
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._came += data
        end = self._came.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._came.find(b"content-length: ") + 16
        if len(self._came) >= end + 4 + int(self._came[at : self._came.index(b"\r", at)]):
            began, self._began = self._began, 0.0
            self._told(self, int(self._came[9:12]), began)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.lost = True
        if self._began:
            self._told(self, 0, self._began)

    def close(self) -> None:
        """Ends it."""
        assert self._transport is not None
        self._transport.abort()


class _Load:
    """Requests at set times, whether others are answered or not, unless so many wait."""

    def __init__(self, port: int, lines: Sequence[str], waiting: int) -> None:
        self._port, self._most = port, waiting
        self._requests = [_request("/translate", {"q": line, "source": "de", "target": "en"}) for line in lines]
        self._free: deque[_Asker] = deque()
        """Those without a request, the one that had its answer first first: none rests until the server ends it."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self.statuses: Counter[str] = Counter()
        self.waits: dict[int, list[float]] = {200: [], 503: []}

    async def run(self, rate: float, seconds: float) -> int:
        """Asks; how many there were."""
        began, number = time.perf_counter(), 0
        while (now := time.perf_counter() - began) < seconds:
            while number < now * rate and self._waiting < self._most:
                self._one(number)
                number += 1
            await asyncio.sleep(0.002)
        while self._waiting:
            await asyncio.sleep(0.01)
        for asker in self._free:
            asker.close()
        return number

    def _one(self, number: int) -> None:
        self._waiting += 1
        request, began = self._requests[number % len(self._requests)], time.perf_counter()
        while self._free:
            asker = self._free.popleft()
            if not asker.lost:
                asker.ask(request, began)
                return
        task = asyncio.ensure_future(self._connected(request, began))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, request: bytes, began: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, asker = await loop.create_connection(lambda: _Asker(self._told), "127.0.0.1", self._port)
        except OSError:
            self._waiting -= 1
            self.statuses["cut"] += 1
            return
        asker.ask(request, began)

    def _told(self, asker: _Asker, status: int, began: float) -> None:
        self._waiting -= 1
        self.statuses[str(status or "cut")] += 1
        if status:
            self._free.append(asker)
        if status in self.waits:
            self.waits[status].append(time.perf_counter() - began)


async def _open(port: int, lines: Sequence[str], rate: float, seconds: float, waiting: int) -> dict[str, Any]:
    load = _Load(port, lines, waiting)
    number = await load.run(rate, seconds)
    answered, refused = (sorted(load.waits[status]) for status in (200, 503))
    return {
        "asked": number, "asked_a_second": round(number / seconds, 1), "answers": dict(load.statuses),
        "late": sum(wait > DEADLINE for wait in answered), "slowest": round(max(answered, default=0.0), 2),
        "answered_ms": _places(answered), "refused_ms": _places(refused),
    }  # fmt: skip


def overload_of(port: int, lines: list[str], rate: float, seconds: float, waiting: int) -> dict[str, Any]:
    """More than can be done."""
    return asyncio.run(_open(port, lines, rate, seconds, waiting))


HEAVY: tuple[tuple[int, dict[str, Any]], ...] = (
    (1, {"nbest": 100, "explain": True}), (10, {"nbest": 100, "explain": True}), (200, {"nbest": 100, "explain": True}),
    (1, {"lattice": True}), (5, {"lattice": True, "nbest": 100, "explain": True}), (100, {"lattice": True}),
)  # fmt: skip
"""Lines of a request, and what is wanted of them."""


async def _heavy(port: int, lines: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    seen: Counter[str] = Counter()
    size, until = [0], time.perf_counter() + seconds

    async def one(number: int) -> None:
        while time.perf_counter() < until:
            count, wanted = HEAVY[number % len(HEAVY)]
            client, number = Client(port), number + 1
            asked = {"text": "\n".join(lines[number % 100 :][:count]), **wanted}
            status, content = await client.send("/v1/translate", asked)
            seen[str(status)] += 1
            size[0] = max(size[0], len(content))
            client.close()
            await asyncio.sleep(0.0 if status == 200 else 0.2)

    await asyncio.gather(*(one(number) for number in range(clients)))
    return {"answers": dict(seen), "largest": size[0]}


def heavy_of(port: int, lines: list[str], clients: int, seconds: float) -> dict[str, Any]:
    """Many who want all that there is to know."""
    return asyncio.run(_heavy(port, lines, clients, seconds))


def command_line(model: Path, lines: Sequence[str]) -> tuple[float, float]:
    """`dragoman translate`: wall and processor seconds, without those of starting it."""
    with tempfile.TemporaryDirectory() as folder:
        text, short = Path(folder) / "in", Path(folder) / "short"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        short.write_text(f"{lines[0]}\n", encoding="utf-8")
        figures = []
        for source in (short, text):
            with source.open() as given:
                began, before = time.perf_counter(), os.times()
                subprocess.run(
                    [sys.executable, "-m", "dragoman", "translate", "--model", str(model)], stdin=given,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                )  # fmt: skip
                after = os.times()
                cpu = after.children_user + after.children_system - before.children_user - before.children_system
                figures.append((time.perf_counter() - began, cpu))
    return figures[1][0] - figures[0][0], figures[1][1] - figures[0][1]


def sharing(model: Path, lines: list[str], repeat: int) -> float:
    """Processor time with the pages of the language model's file over that with a copy in large pages."""
    decoders = []
    for copies in (False, True):
        lm_copies(copies)
        decoders.append(Decoder(model, threads=1))
        decoders[-1].translate(lines[:50])
    ratios = []
    for _ in range(repeat):
        times = []
        for decoder in decoders:
            began = time.process_time()
            decoder.translate(lines)
            times.append(time.process_time() - began)
        ratios.append(times[0] / times[1])
    return round(statistics.median(ratios), 3)


def main() -> None:
    """Runs and prints."""
    parser = _multi30k.options(__doc__, 1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of overload")
    parser.add_argument("--waiting", type=int, default=4000, help="requests of overload that wait at most")
    parser.add_argument("--each", type=float, default=8.0, help="seconds for each number of clients")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS), help="some of the parts")
    options: argparse.Namespace = parser.parse_args()
    lines = _multi30k.read("test_2016_flickr.de", options.sentences)
    with _multi30k.model_of(options.model) as model:
        report: dict[str, Any] = {"load_average": os.getloadavg()[0]}
        for part in options.only:
            report[part] = PARTS[part](model, lines, options)
            print(f"{part}: done", file=sys.stderr)
    print(json.dumps(report, indent=1))


@contextmanager
def _warm(model: Path, lines: list[str], *options: str) -> Iterator[Server]:
    """A server that has translated some lines."""
    with serving(model, *options) as server:
        _away("batches_of", server.url.port, lines[:200], 20, 2)
        yield server


def _start(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, float]:  # noqa: ARG001
    """From the command to the first byte."""
    rows = []
    for _ in range(options.repeat):
        with serving(model) as server:
            rows.append((server.first, server.first_cpu))
    seconds, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
    return {"seconds": round(seconds, 2), "slowest": round(max(rows)[0], 2), "cpu_seconds": round(cpu, 2)}


def _captions(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Single captions."""
    with _warm(model, lines) as server:
        return {str(n): _away("clients_of", server.url.port, lines, n, options.each) for n in CLIENTS}


def _overload(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Ten times what the server can answer."""
    with _warm(model, lines) as server:
        port = server.url.port
        best = _away("clients_of", port, lines, 64, options.each)["a_second"]
        before = server.memory()
        report = {"best": best, **_away("overload_of", port, lines, 10 * best, options.seconds, options.waiting)}
        report["late_by_the_server"] = server.late()
        time.sleep(PAUSE)
        middle = server.memory()
        again = _away("overload_of", port, lines, 10 * best, options.seconds / 4, options.waiting)
        megabytes = [[round(part / 1e6, 1) for part in row] for row in (before, middle, server.memory())]
        report |= {"megabytes": megabytes, "again": again["answers"]}
        return {**report, "answers_after": _away("clients_of", port, lines, 1, 1.0)["requests"] > 0}


def _detail(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Lists of 100 with features, and lattices, for many at once: what memory it takes at most."""
    with _warm(model, lines) as server, ThreadPoolExecutor(1) as pool:
        rows = [server.memory()]
        asking = pool.submit(_away, "heavy_of", server.url.port, lines, 64, options.seconds / 2)
        while not asking.done():
            rows.append(server.memory())
            time.sleep(0.1)
        most = [max(column) for column in zip(*rows, strict=True)]
        megabytes = [[round(part / 1e6, 1) for part in row] for row in (rows[0], most, server.memory())]
        return {**asking.result(), "megabytes": megabytes}


def _cost(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Processor time of single captions, beside that of the same lines in the decoder alone."""
    decoder = Decoder(model, threads=1)
    decoder.translate(lines[:50])
    with _warm(model, lines) as server:
        return _costs(decoder, server, lines, options.each)


def _costs(decoder: Decoder, server: Server, lines: list[str], seconds: float) -> dict[str, Any]:
    rows = {}
    for clients in (1, 64):
        before = server.seconds()
        asked = _away("clients_of", server.url.port, lines, clients, seconds)["requests"]
        each = (server.seconds() - before) / asked
        some = (lines * (asked // len(lines) + 1))[:asked]
        began = time.process_time()
        decoder.translate(some)
        alone = (time.process_time() - began) / asked
        rows[str(clients)] = {
            "request_ms": round(each * 1e3, 3), "decoding_ms": round(alone * 1e3, 3),
            "beyond_ms": round((each - alone) * 1e3, 3),
        }  # fmt: skip
    return rows


def _batches_against(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Requests of 100 lines against the command line, in turn."""
    walls, times, lines = [], [], lines * 2
    with _warm(model, lines, "--deadline", "120") as server:  # throughput, whatever else the machine does
        for _ in range(options.repeat):
            wall, cpu = command_line(model, lines)
            before = server.seconds()
            own = _away("batches_of", server.url.port, lines, 100, 6)
            walls.append(wall / own)
            times.append(cpu / (server.seconds() - before))
    return {"wall_ratio": round(statistics.median(walls), 3), "cpu_ratio": round(statistics.median(times), 3)}


def _shared(model: Path, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """What sharing the language model costs, and what it saves."""
    report: dict[str, Any] = {"cpu_ratio": sharing(model, lines[:200], options.repeat)}
    for workers in ("1", "2"):
        with serving(model, "--workers", workers, "--threads", "2") as server:
            _away("batches_of", server.url.port, lines[:200], 10, 4)
            report[f"megabytes_{workers}"] = [round(part / 1e6, 1) for part in server.memory()]
    return report


CLIENTS = (1, 8, 64, 512)
PARTS: dict[str, Callable[[Path, list[str], argparse.Namespace], dict[str, Any]]] = {
    "start": _start, "captions": _captions, "cost": _cost, "batches": _batches_against, "overload": _overload,
    "detail": _detail,
    "shared": _shared,
}  # fmt: skip


if __name__ == "__main__":
    main()
