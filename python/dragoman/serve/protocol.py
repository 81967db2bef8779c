"""Connections: how long and how large the head of a request may be, and how many connections an address may have.

uvicorn waits for a head as long as it takes, and keeps what has come of it, however much that is.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.serve.safety import address_of, is_loopback

__all__ = ["CONNECTIONS", "Bounded", "bounded"]

CONNECTIONS = 10_000
"""Callers at once: more are answered 503."""
_SHARE = 4
"""An address may have this part of them, but for this machine: a web server before ours has them all."""
_MOST_HEAD = 1 << 16
"""Bytes of a head."""


class Bounded(HttpToolsProtocol):
    """A connection whose requests have heads of a bounded size that come in time; else it is cut."""

    seconds: ClassVar[float] = 30.0
    _of: ClassVar[Counter[str]] = Counter()
    _late: asyncio.TimerHandle | None = None
    """While a head is on its way."""
    _head = 0

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
        super().data_received(data)
        if self._late is not None:
            self._head += len(data)
            if self._head > _MOST_HEAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._expect()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """It ends."""
        self._arrived()
        super().on_headers_complete()


def bounded(seconds: float) -> type[Bounded]:
    """Connections whose heads have so many seconds to come."""
    return type("Bounded", (Bounded,), {"seconds": seconds})
