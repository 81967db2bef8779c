"""One way for all requests: who asks, how often, what is in the body, and what errors look like."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from enum import Enum
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.serve.models import NoModel
from dragoman.serve.queue import Full, Lost, Refused
from dragoman.serve.safety import FAULT, Outside, address_of, log_fault
from dragoman.serve.service import Gone, Service, TooLong

__all__ = [
    "Bad",
    "Handler",
    "Key",
    "Upload",
    "answer",
    "body",
    "charge",
    "endpoint",
    "fields",
    "is_json",
    "lets_in_by_body",
    "told",
]

Handler = Callable[[Service, Request], Awaitable[Response]]
T = TypeVar("T")
_MOST_FIELDS = 2000
_encoder = msgspec.json.Encoder()
_GONE = 499
"""What nginx calls a request whose asker left: for the metrics, as nobody reads it."""


class Key(Enum):
    """Whether a request needs a key, where keys are demanded."""

    NONE = "none"
    HEAD = "head"
    ADMIN = "admin"
    """In its head, and one that may change models."""
    BODY = "body"
    """In its head or, as LibreTranslate's clients have it, in its body: then its handler looks for it."""


class Bad(Exception):
    """What is wrong with a request, and its status."""

    def __init__(self, what: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(what)
        self.status, self.headers = status, headers


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(_encoder.encode(content), status, headers, "application/json")


def endpoint(service: Service, path: str, handler: Handler, *, key: Key = Key.NONE, waits: bool = False) -> Any:
    """A handler with all that requests have in common.

    `waits` says that it goes through the queue. What can be refused before the body is read is: refusing costs little.
    """

    async def run(request: Request) -> Response:
        began = time.monotonic()
        try:
            await service.begin()
            if waits:
                _not_full(service, request)
            if key is Key.BODY and service.keys.demanded and not key_of(request):
                _not_guessing(service, request)
            elif key is not Key.NONE:
                lets_in(service, request, key_of(request), admin=key is Key.ADMIN)
            response = await handler(service, request)
        except Outside:
            raise
        except Exception as error:
            response = told(error)
        service.metrics.count(path, response.status_code, time.monotonic() - began)
        return response

    return run


def _not_full(service: Service, request: Request) -> None:
    """Refuses what finds the queue full; what has a place there already may go on."""
    full = None if getattr(request.state, "entered", False) else service.queue.refuse(service.options.deadline)
    if full is not None:
        raise full


def told(error: Exception) -> Response:
    """The answer to a request that failed."""
    if isinstance(error, Bad):
        return answer({"error": str(error)}, error.status, error.headers)
    if isinstance(error, Full):
        return answer({"error": str(error)}, 503, {"retry-after": str(error.after)})
    if isinstance(error, (Gone, ClientDisconnect)):
        return answer({"error": "the caller has left"}, _GONE)
    status = next((status for kinds, status in _STATUS if isinstance(error, kinds)), None)
    if status is None:
        log_fault(error)
        return answer({"error": FAULT}, 500)
    return answer({"error": str(error)}, status)


_STATUS: list[tuple[Any, int]] = [(TooLong, 413), ((NoModel, Refused, DragomanError), 400), (Lost, 500)]


def key_of(request: Request) -> str:
    """The key in the head of a request."""
    given = request.headers.get("authorization", "")
    if given[:7].lower() == "bearer ":
        return given[7:].strip()
    return request.headers.get("x-api-key", "")


def lets_in(service: Service, request: Request, key: str, *, admin: bool = False) -> None:
    """Refuses who has no key, or asks too often."""
    if service.keys.demanded:
        if not key:
            raise Bad("this server needs an API key", 401, {"www-authenticate": "Bearer"})
        _not_guessing(service, request)
        if not service.keys.knows(key, admin=admin):
            known = admin and service.keys.knows(key)
            if not known:
                service.guesses.count(address_of(request.scope))
            raise Bad("this key may not change models" if known else "Invalid API key", 403)
    # Where no key is demanded anybody may send any, a new one each time.
    request.state.payer = key if service.keys.demanded else address_of(request.scope)
    _pay(service, request, 1)


def lets_in_by_body(service: Service, request: Request, key: Any, cost: float = 1.0) -> None:
    """Does the same with the key of a body, if there was none in the head; `cost` is that of all of the request."""
    if not hasattr(request.state, "payer"):
        if not key:
            raise Bad("Please contact the server operator to get an API key", 400)
        lets_in(service, request, str(key))
    charge(service, request, cost)


def charge(service: Service, request: Request, cost: float) -> None:
    """Counts a request, which was let in, for several."""
    if cost > 1:
        service.rates.count(request.state.payer, -1)
        _pay(service, request, cost)


def _pay(service: Service, request: Request, cost: float) -> None:
    wait = service.rates.wait(request.state.payer, cost)
    if wait:
        _slow_down(f"{service.options.rate:g} requests a minute are the most", wait)


def _not_guessing(service: Service, request: Request) -> None:
    """Refuses those from where many wrong keys came, whatever they send now: else guessing would cost nothing."""
    wait = service.guesses.owed(address_of(request.scope))
    if wait:
        _slow_down("too many wrong API keys came from this address", wait)


def _slow_down(why: str, wait: float) -> NoReturn:
    raise Bad(f"Slowdown: {why}", 429, {"retry-after": str(max(1, math.ceil(wait)))})


async def body(request: Request, kind: type[T]) -> T:
    """The JSON of a request, its form checked."""
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.ValidationError as error:
        raise Bad(f"Invalid request: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Bad(f"Invalid JSON: {error}") from None
    except RecursionError:
        raise Bad("Invalid JSON: too many objects inside each other") from None


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_json(request: Request) -> bool:
    """Whether the body says that it is JSON."""
    return _kind(request) == "application/json"


async def fields(request: Request) -> dict[str, Any]:
    """The parameters of a request as LibreTranslate takes them: a JSON object, a form, or the query."""
    if is_json(request):
        given = await body(request, Any)
        if not isinstance(given, dict):
            raise Bad("Invalid JSON format")
        return given
    found: dict[str, Any] = _parsed(request.url.query)
    if _kind(request) == "multipart/form-data":
        try:
            async with aclosing(request.stream()) as stream:
                form = await _Form(request.headers, stream, max_fields=_MOST_FIELDS).parse()
            for name, value in form.items():
                found[name] = value if isinstance(value, str) else Upload(value.filename or "", await value.read())
            await form.close()
        except MultiPartException as error:
            raise Bad(f"Invalid request: {error.message}") from None
    else:
        try:
            found.update(_parsed((await request.body()).decode("utf-8")))
        except UnicodeDecodeError:
            raise Bad("Invalid request: expected UTF-8 text") from None
    return found


class Upload(NamedTuple):
    """A file of a form."""

    name: str
    content: bytes


class _Form(MultiPartParser):
    """A form in parts, whose text is UTF-8: Starlette takes what is not for Latin-1, and would translate that."""

    spool_max_size = 1 << 62
    """No part of a form goes to the disk: bodies are small enough, and nothing of users is kept there."""

    def on_part_begin(self) -> None:
        """Another charset that a request names is not asked: some of Python's need the square of a text's length."""
        self._charset = "utf-8"
        super().on_part_begin()

    def on_part_end(self) -> None:
        """Refuses text that is damaged."""
        if self._current_part.file is None:
            try:
                bytes(self._current_part.data).decode("utf-8")
            except UnicodeDecodeError:
                raise MultiPartException("expected UTF-8 text") from None
        super().on_part_end()


def _parsed(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except UnicodeDecodeError:
        raise Bad("Invalid request: expected UTF-8 text") from None
    except ValueError as error:
        raise Bad(f"Invalid request: {error}") from None
