"""Who may ask, how often, how much, how slowly: keys, rates, sizes, times, origins, and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import math
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import InputError
from dragoman.serve.metrics import Metrics

__all__ = [
    "FAULT",
    "HEADERS",
    "Guard",
    "Hold",
    "Keys",
    "Outside",
    "Rates",
    "Room",
    "TooLarge",
    "address_of",
    "is_loopback",
    "log_fault",
    "read_keys",
]

FAULT = "a fault of the server: its log says more"
_log = logging.getLogger(__name__)
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
"""Of every answer, unless it has its own."""
_MOST_CALLERS = 10_000
"""Callers whose rates are remembered."""
_LEAST_KEY = 8
_DRAINED = 256 << 20
"""Bytes of a body that is too large which are read and forgotten, so that the caller hears why; then all is cut."""
BODIES = 128
"""Bodies of the largest size that there may be at once, or answers as large: what is under way bounds the memory."""
_SHARE = 4
"""An address may have this part of all bodies and answers under way, so that one cannot keep out all others."""
_PIECE = 1 << 16
"""Bytes of an answer that are handed on at a time, so that an answer which nobody reads is given up."""


class Outside(Exception):
    """What the outermost layer answers, whatever was on its way: a status and a sentence."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class TooLarge(Outside):
    """The body has more bytes than are taken."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"the request has more than {most:,} bytes; send less at once")


class Crowded(Outside):
    """Others have all that there is."""

    def __init__(self) -> None:
        super().__init__(503, "the server has more to do than it can: try again later")


class _Unread(Exception):
    """Nobody reads the answer."""


def log_fault(error: Exception) -> None:
    """Notes a fault of ours. The log says where: what the error says may be users' text."""
    place = "".join(traceback.format_tb(error.__traceback__))
    _log.error("a request met a fault: %s\n%s", type(error).__name__, place)


@lru_cache(_MOST_CALLERS)
def _network(host: str) -> str:
    """The address of a caller; of IPv6 the network, as each caller has more addresses than one can remember."""
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if known.version == 4 else str(ipaddress.ip_network((int(known) >> 64 << 64, 64)))


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    return _network((scope.get("client") or ("",))[0])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Keys:
    """Keys that let callers in; no keys let everybody in."""

    users: frozenset[str] = frozenset()
    admins: frozenset[str] = frozenset()

    @property
    def demanded(self) -> bool:
        """Whether one is needed."""
        return bool(self.users or self.admins)

    def knows(self, key: str, *, admin: bool = False) -> bool:
        """Whether a key is one of ours; it takes the same time for all keys."""
        given = key.encode("utf-8", "replace")
        known = self.admins if admin else self.users | self.admins
        return sum(hmac.compare_digest(given, one.encode()) for one in known) > 0


def read_keys(path: str) -> Keys:
    """Keys from a file: one a line, `admin` after those that may change models; `#` begins a remark."""
    users: set[str] = set()
    admins: set[str] = set()
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {why}; expected a file with a key a line", path) from None
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 2 or words[1:] not in ([], ["admin"]):
            raise InputError(f"{path}:{number}: expected a key, or a key and the word admin", path, number)
        if len(words[0]) < _LEAST_KEY:
            raise InputError(f"{path}:{number}: a key has at least {_LEAST_KEY} characters", path, number)
        (admins if words[1:] else users).add(words[0])
    if not users and not admins:
        raise InputError(f"{path}: expected a key a line, found none", path)
    return Keys(frozenset(users), frozenset(admins))


@dataclass
class Rates:
    """A bucket of tokens for each caller, filled at a rate; as many as a minute brings may be spent at once."""

    minute: float
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that a caller has to wait; 0 lets the request pass, and counts it."""
        seconds = self.owed(caller, cost)
        if not seconds:
            self.count(caller, cost)
        return seconds

    def owed(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that a caller has to wait."""
        if not self.minute:
            return 0.0
        return max(0.0, min(cost, self.minute) - self._tokens(caller)) * 60 / self.minute

    def count(self, caller: str, cost: float = 1.0) -> None:
        """Counts a request; less than nothing gives tokens back."""
        if not self.minute:
            return
        left = min(self.minute, self._tokens(caller) - cost)
        self._left.pop(caller, None)
        self._left[caller] = (left, time.monotonic())
        while len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)

    def _tokens(self, caller: str) -> float:
        now = time.monotonic()
        left, at = self._left.get(caller, (self.minute, now))
        return min(self.minute, left + (now - at) * self.minute / 60)


class Room:
    """Bytes that all bodies and answers under way may still have."""

    def __init__(self, most: float = math.inf) -> None:
        self.left = most
        self.used = 0
        self.share = most / _SHARE
        """What an address may have."""
        self.held: Counter[str] = Counter()
        """What each address has."""


class Hold:
    """What a request has of the room, until its answer is sent."""

    def __init__(self, room: Room, address: str = "") -> None:
        self.room, self._address, self._size = room, address, 0

    def take(self, size: int) -> None:
        """Takes more, or refuses the request."""
        self._add(size)
        if self.room.held[self._address] > self.room.share:
            raise Outside(429, "this address has too much under way: try again later")
        if self.room.left < 0:
            raise Crowded

    def give(self, size: int | None = None) -> None:
        """Gives some back; without a number all."""
        self._add(-(self._size if size is None else size))

    def _add(self, size: int) -> None:
        self._size += size
        self.room.left -= size
        self.room.used += size
        self.room.held[self._address] += size
        if not self.room.held[self._address]:
            del self.room.held[self._address]


class Guard:
    """The outermost layer: hosts and origins that are let in, sizes of bodies, headers of answers."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        room: Room,
        most: int,
        hosts: Sequence[str],
        cors: str = "",
        seconds: float = 30.0,
        metrics: Metrics | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self._app, self._most, self._cors, self._seconds = app, most, cors, seconds
        self._metrics, self._leave = metrics or Metrics(), leave
        self._hosts = frozenset(hosts)
        """Names that a browser may call this server by: against pages that give themselves its address."""
        self._room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        hold = state["hold"] = Hold(self._room, address_of(scope))
        try:
            await self._run(scope, _Body(receive, self._most, hold, self._seconds), send)
        finally:
            hold.give()
            if state.get("entered"):
                self._leave()

    async def _run(self, scope: Scope, body: _Body, send: Send) -> None:
        """Has the request answered; what goes wrong on the way is told, if the answer has not begun."""
        headers, came = Headers(scope=scope), time.monotonic()
        answer, length = self._send(send, headers.get("origin", "")), headers.get("content-length", "0")
        refused = self._refused(headers, scope["method"])
        if refused is not None:
            await refused(scope, body, answer)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await answer(message)

        try:
            if scope["state"].get("crowded"):
                raise Crowded
            if not length.isdigit() or int(length) > self._most:
                raise TooLarge(self._most)
            await self._app(scope, body, watched)
        except (_Unread, ClientDisconnect):
            return
        except Outside as error:
            self._metrics.count("refused", error.status, time.monotonic() - came)
            if begun:
                return  # the server cuts the connection: what was sent is not whole
            if isinstance(error, TooLarge):
                await body.drain(int(length) if length.isdigit() else 0)
            more = {"retry-after": "1"} if error.status in {429, 503} else {}
            told = JSONResponse({"error": str(error)}, error.status, {"connection": "close", **more})
            await told(scope, body, answer)
        except Exception as error:
            log_fault(error)
            if not begun:
                await JSONResponse({"error": FAULT}, 500)(scope, body, answer)

    def _refused(self, headers: Headers, method: str) -> JSONResponse | None:
        host = headers.get("host", "").rpartition("@")[2]
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self._hosts and name.strip("[]").lower() not in self._hosts:
            return JSONResponse({"error": f"this server is not called {name[:100]}"}, 403)
        origin = headers.get("origin", "")
        if origin and method not in {"GET", "HEAD"} and not self._allows(origin, host):
            return JSONResponse({"error": "pages of other sites may not call this server: --cors lets them"}, 403)
        if origin and method == "OPTIONS" and self._allows(origin, host):
            return JSONResponse({}, 200)
        return None

    def _allows(self, origin: str, host: str) -> bool:
        return origin.partition("//")[2] == host or self._cors in {"*", origin}

    def _send(self, send: Send, origin: str) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self._cors and origin and self._cors in {"*", origin}:
                    headers["access-control-allow-origin"] = self._cors
                    headers["access-control-allow-methods"] = "GET, POST, PUT"
                    headers["access-control-allow-headers"] = "authorization, content-type, x-api-key"
                    del headers["cross-origin-resource-policy"]
            elif len(message.get("body", b"")) > _PIECE:
                await self._in_pieces(message, send)
                return
            elif message.get("more_body"):
                await self._in_time(message, send)
                return
            await send(message)

        return sent

    async def _in_pieces(self, message: Message, send: Send) -> None:
        body, more = memoryview(message["body"]), message.get("more_body", False)
        for at in range(0, len(body), _PIECE):
            last = at + _PIECE >= len(body)
            await self._in_time({**message, "body": bytes(body[at : at + _PIECE]), "more_body": more or not last}, send)

    async def _in_time(self, message: Message, send: Send) -> None:
        """Hands a part of an answer on: whoever does not read the parts before is given up."""
        try:
            await asyncio.wait_for(send(message), self._seconds)
        except asyncio.TimeoutError:
            raise _Unread from None


class _Body:
    """A body that is counted as it comes, and has to come in time."""

    def __init__(self, receive: Receive, most: int, hold: Hold, seconds: float) -> None:
        self._receive, self._most, self._hold = receive, most, hold
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._held = 0
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()  # whether the caller has left: that may take as long as the answer
        message = await self._more()
        size = len(message.get("body", b""))
        self._held += size
        if self._held > self._most:
            raise TooLarge(self._most)
        self._hold.take(size)
        return message

    async def _more(self) -> Message:
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._until - time.monotonic()))
        except asyncio.TimeoutError:
            raise Outside(408, f"the request did not come within {self._seconds:g} seconds") from None
        self._whole = message["type"] == "http.disconnect" or not message.get("more_body")
        return message

    async def drain(self, length: int) -> None:
        """Reads what is left of a body, and forgets it."""
        seen = 0
        with suppress(Outside):
            while length <= _DRAINED and seen < _DRAINED and not self._whole:
                seen += len((await self._more()).get("body", b""))
