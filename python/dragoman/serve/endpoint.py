"""One way for all requests: who asks, how often, what is in the body, and what errors look like."""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.serve.models import NoModel
from dragoman.serve.queue import Full, Lost, Refused
from dragoman.serve.safety import TooLarge, TooMuch
from dragoman.serve.service import Gone, Service, TooLong

__all__ = ["Bad", "Handler", "answer", "body", "endpoint", "fields", "key_of", "lets_in"]

Handler = Callable[[Service, Request], Awaitable[Response]]
T = TypeVar("T")
_MOST_FIELDS = 2000
_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()
_GONE = 499
"""What nginx calls a request whose asker left: for the metrics, as nobody reads it."""


class Bad(Exception):
    """What is wrong with a request, and its status."""

    def __init__(self, what: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(what)
        self.status, self.headers = status, headers


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(_encoder.encode(content), status, headers, "application/json")


def endpoint(
    service: Service, path: str, handler: Handler, *, key: bool = True, admin: bool = False, waits: bool = False
) -> Any:
    """A handler with all that requests have in common.

    `key` says that one is needed, where keys are demanded; `waits` that it goes through the queue: when that is full, a
    request is refused before its body is read, so that refusing costs little.
    """

    async def run(request: Request) -> Response:
        began = time.monotonic()
        try:
            full = service.queue.refuse(service.options.deadline) if waits else None
            if full is not None:
                raise full
            if key or admin:
                lets_in(service, request, key_of(request), admin=admin)
            response = await handler(service, request)
        except (TooLarge, TooMuch):  # the outermost layer answers
            raise
        except Exception as error:
            response = _told(error)
        service.metrics.count(path, response.status_code, time.monotonic() - began)
        return response

    return run


def _told(error: Exception) -> Response:
    """The answer to a request that failed."""
    if isinstance(error, Bad):
        return answer({"error": str(error)}, error.status, error.headers)
    if isinstance(error, Full):
        return answer({"error": str(error)}, 503, {"retry-after": str(error.after)})
    if isinstance(error, (Gone, ClientDisconnect)):
        return answer({"error": "the caller has left"}, _GONE)
    status = next((status for kinds, status in _STATUS if isinstance(error, kinds)), None)
    if status is None:
        return _fault(error)
    return answer({"error": str(error)}, status)


def _fault(error: Exception) -> Response:
    """The answer to a request that met a fault of ours. The log says where: what the error says may be users' text."""
    place = "".join(traceback.format_tb(error.__traceback__))
    _log.error("a request met a fault: %s\n%s", type(error).__name__, place)
    return answer({"error": "a fault of the server: its log says more"}, 500)


_STATUS: list[tuple[Any, int]] = [(TooLong, 413), ((NoModel, Refused, DragomanError), 400), (Lost, 500)]


def key_of(request: Request) -> str:
    """The key in the head of a request."""
    given = request.headers.get("authorization", "")
    if given[:7].lower() == "bearer ":
        return given[7:].strip()
    return request.headers.get("x-api-key", "")


def lets_in(service: Service, request: Request, key: str, *, admin: bool = False, cost: float = 1.0) -> None:
    """Refuses who has no key, or asks too often."""
    if service.keys.demanded:
        if not key:
            raise Bad("this server needs an API key", 401, {"www-authenticate": "Bearer"})
        if not service.keys.knows(key, admin=admin):
            known = admin and service.keys.knows(key)
            raise Bad("this key may not change models" if known else "Invalid API key", 403)
    caller = key or (request.client.host if request.client else "")
    wait = service.rates.wait(caller, cost)
    if wait:
        raise Bad(
            f"Slowdown: {service.options.rate:g} requests a minute are the most", 429,
            {"retry-after": str(max(1, math.ceil(wait)))},
        )  # fmt: skip


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


async def fields(request: Request) -> dict[str, Any]:
    """The parameters of a request as LibreTranslate takes them: a JSON object, a form, or the query."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        given = await body(request, Any)
        if not isinstance(given, dict):
            raise Bad("Invalid JSON format")
        return given
    found: dict[str, Any] = _parsed(request.url.query)
    if kind == "multipart/form-data":
        try:
            found.update((await request.form(max_fields=_MOST_FIELDS)).items())
        except HTTPException as error:
            raise Bad(f"Invalid request: {error.detail}") from None
    else:
        try:
            found.update(_parsed((await request.body()).decode("utf-8")))
        except UnicodeDecodeError:
            raise Bad("Invalid request: expected UTF-8 text") from None
    return found


def _parsed(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except UnicodeDecodeError:
        raise Bad("Invalid request: expected UTF-8 text") from None
    except ValueError as error:
        raise Bad(f"Invalid request: {error}") from None
