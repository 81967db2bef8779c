"""Connections: how large heads may be and when they must be here, how many an address may have, who is refused at once.

uvicorn waits for a head as long as it takes, and keeps what has come of it, however much that is. A request that finds
the queue full is answered here, with a third of the work that others need: a server that is asked ten times as often as
it can answer must not spend its time on refusing.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import lru_cache
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.serve.application import WAITING
from dragoman.serve.endpoint import told
from dragoman.serve.queue import Full
from dragoman.serve.safety import HEADERS, address_of, is_loopback
from dragoman.serve.service import Service

__all__ = ["CONNECTIONS", "Bounded", "bounded"]

CONNECTIONS = 10_000
"""Callers at once, and requests of theirs: more are answered 503."""
_SHARE = 4
"""An address may have this part of them, but for this machine: a web server before ours has them all."""
_MOST_HEAD = 1 << 16
"""Bytes of a head."""
_SMALL = 1 << 14
"""Bytes of a body that is read only to be forgotten."""
_PIPELINED = 64
"""Requests that may wait for the answer to another on the same connection: what has come is held in memory."""


class _TooMany(Exception):
    """Ends the parsing of what has come."""


class Bounded(HttpToolsProtocol):
    """A connection whose requests have heads of a bounded size that come in time; else it is cut."""

    service: ClassVar[Service]
    seconds: ClassVar[float] = 30.0
    _of: ClassVar[Counter[str]] = Counter()
    _late: asyncio.TimerHandle | None = None
    """While a head is on its way, or the body of a request that is refused."""
    _head = 0
    _full: Full | None = None
    """Why the request that is on its way is refused, whatever its body says."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        address = self._address()
        self._of[address] += 1
        if self._of[address] > CONNECTIONS // _SHARE and not is_loopback(address):
            transport.abort()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self._arrived()
        self._unset_keepalive_if_required()  # a timer keeps a connection in memory, also one that was cut
        address = self._address()
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]
        super().connection_lost(exc)

    def _address(self) -> str:
        return address_of({"client": self.client})

    def _expect(self) -> None:
        """A head is on its way."""
        if self._late is None:
            self._head = 0
            self._late = self.loop.call_later(self.seconds, self.transport.abort)

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        before = self._late
        super().data_received(data)
        if self._late is not None and self._late is before:  # else most of it is of requests before
            self._head += len(data)
            if self._head > _MOST_HEAD + _SMALL:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._expect()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """It ends."""
        self._full = self._refused()
        if self._full is None:
            self._arrived()
            if len(self.pipeline) >= _PIPELINED:
                self.transport.abort()
                raise _TooMany
            self.scope["state"]["crowded"] = self._crowded()
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        if self._full is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        if self._full is not None:
            self._arrived()
            self._refuse(self._full)
            return
        # What is read only now has waited since before the loop became busy.
        self.scope["state"]["came"] = time.monotonic() - self.service.queue.lag.seconds
        # A request that waits for the answer to another may never begin; one that has its answer has left already.
        if self._waits() and not self.pipeline and not self.cycle.response_complete and self._full_for() is None:
            self.service.queue.enter()
            self.scope["state"]["entered"] = True
        super().on_message_complete()

    def _refused(self) -> Full | None:
        """Why a request is refused, if that can be told from its head, and its body is small."""
        if self.cycle is not None and not self.cycle.response_complete:
            return None  # answers keep the order of the requests
        full = Full(1) if self._crowded() else self._full_for() if self._waits() else None
        return full if full is not None and not self.flow.write_paused and self._is_simple() else None

    def _full_for(self) -> Full | None:
        return self.service.queue.refuse(self.service.options.deadline)

    def _waits(self) -> bool:
        """Whether the request goes through the queue."""
        return self.parser.get_method() == b"POST" and self.url.partition(b"?")[0] in WAITING

    def _crowded(self) -> bool:
        return len(self.connections) >= CONNECTIONS or len(self.tasks) >= CONNECTIONS

    def _is_simple(self) -> bool:
        head = self.parser.get_method() == b"HEAD"  # whose answer has no body
        if head or self.parser.get_http_version() != "1.1" or self.parser.should_upgrade():
            return False
        for name, value in self.headers:
            if name == b"content-length":
                if not value.isdigit() or int(value) > _SMALL:
                    return False
            elif name in (b"transfer-encoding", b"expect") or (name == b"origin" and self.service.options.cors):
                return False
        return True

    def _refuse(self, full: Full) -> None:
        stays = self.parser.should_keep_alive() and not self._crowded()
        first = [b"HTTP/1.1 503 Service Unavailable\r\n"]
        first += [b"%s: %s\r\n" % header for header in self.server_state.default_headers]
        self.transport.write(b"".join(first) + _refusal(full.after, stays))
        self._full = None
        path = self.url.partition(b"?")[0]
        self.service.metrics.count(path.decode() if path in WAITING else "refused", 503, 0.0)
        self.server_state.total_requests += 1
        if stays:
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.transport.close()


@lru_cache(100)
def _refusal(after: int, stays: bool) -> bytes:
    """The answer to a request that finds the queue full, but for its first lines: the same as `endpoint` gives."""
    answer = told(Full(after))
    headers = [*answer.raw_headers, *((name.encode(), value.encode()) for name, value in HEADERS.items())]
    if not stays:
        headers.append((b"connection", b"close"))
    return b"".join(b"%s: %s\r\n" % header for header in headers) + b"\r\n" + bytes(answer.body)


def bounded(service: Service) -> type[Bounded]:
    """Connections to a service."""
    return type("Bounded", (Bounded,), {"service": service, "seconds": service.options.body_deadline})
