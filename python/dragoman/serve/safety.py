"""Who may ask, how often, how much: keys, rates, sizes, origins, and the headers of every answer."""

from __future__ import annotations

import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import InputError

__all__ = ["Guard", "Keys", "Rates", "TooLarge", "TooMuch", "is_loopback", "read_keys"]

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_MOST_CALLERS = 10_000
"""Callers whose rates are remembered."""
_LEAST_KEY = 8
_DRAINED = 256 << 20
"""Bytes of a body that is too large which are read and forgotten, so that the caller hears why; then all is cut."""


_BODIES = 128
"""Bodies of the largest size that there may be at once: what is read and not answered yet bounds the memory."""


class TooLarge(Exception):
    """The body has more bytes than are taken."""


class TooMuch(Exception):
    """All bodies together have more bytes than are taken."""


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
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}", path) from None
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
        raise InputError(f"{path}: it has no keys", path)
    return Keys(frozenset(users), frozenset(admins))


@dataclass
class Rates:
    """A bucket of tokens for each caller, filled at a rate; as many as a minute brings may be spent at once."""

    minute: float
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that a caller has to wait; 0 lets the request pass, and counts it."""
        if not self.minute:
            return 0.0
        now = time.monotonic()
        left, at = self._left.pop(caller, (self.minute, now))
        left = min(self.minute, left + (now - at) * self.minute / 60)
        lets = left >= min(cost, self.minute)
        self._left[caller] = (left - cost if lets else left, now)
        while len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)
        return 0.0 if lets else (min(cost, self.minute) - left) * 60 / self.minute


class Guard:
    """The outermost layer: hosts and origins that are let in, sizes of bodies, headers of answers."""

    def __init__(self, app: ASGIApp, *, most: int, hosts: Sequence[str], cors: str = "") -> None:
        self._app, self._most, self._cors = app, most, cors
        self._hosts = frozenset(hosts)
        """Names that a browser may call this server by: against pages that give themselves its address."""
        self._room = _Room(_BODIES * most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._send(send, headers.get("origin", ""))
        refused = self._refused(headers, scope["method"])
        if refused is not None:
            await refused(scope, receive, answer)
            return
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most:
            await self._drain(receive, int(length) if length.isdigit() else 0)
            await self._too_large()(scope, receive, answer)
            return
        body = _Body(receive, self._most, self._room)
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await answer(message)

        try:
            await self._app(scope, body, watched)
        except TooLarge:
            if begun:
                raise
            await self._drain(receive, 0)
            await self._too_large()(scope, receive, answer)
        except TooMuch:
            if begun:
                raise
            told = {"error": "the server has more to do than it can: try again later"}
            await JSONResponse(told, 503, {"retry-after": "1", "connection": "close"})(scope, receive, answer)
        finally:
            self._room.left += body.held

    def _too_large(self) -> JSONResponse:
        told = {"error": f"the request has more than {self._most:,} bytes; send less at once"}
        return JSONResponse(told, 413, {"connection": "close"})

    @staticmethod
    async def _drain(receive: Receive, length: int) -> None:
        """Reads what is left of a body, and forgets it."""
        seen = 0
        while length <= _DRAINED and seen < _DRAINED:
            message = await receive()
            seen += len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                return

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
                for name, value in _HEADERS.items():
                    headers[name] = value
                if "cache-control" not in headers:
                    headers["cache-control"] = "no-store"
                if self._cors and origin and self._cors in {"*", origin}:
                    headers["access-control-allow-origin"] = self._cors
                    headers["access-control-allow-methods"] = "GET, POST, PUT"
                    headers["access-control-allow-headers"] = "authorization, content-type, x-api-key"
                else:
                    headers["cross-origin-resource-policy"] = "same-origin"
            await send(message)

        return sent


@dataclass
class _Room:
    """Bytes that bodies may still have."""

    left: int


class _Body:
    """A body that is counted as it comes."""

    def __init__(self, receive: Receive, most: int, room: _Room) -> None:
        self._receive, self._most, self._room = receive, most, room
        self.held = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.held += size
            self._room.left -= size
            if self.held > self._most:
                raise TooLarge
            if self._room.left < 0:
                raise TooMuch
        return message
