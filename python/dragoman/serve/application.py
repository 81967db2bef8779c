"""The server as an ASGI application: routes, start and end."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dragoman.errors import InputError, OptionError
from dragoman.options import made
from dragoman.serve import api_v1, libretranslate
from dragoman.serve.decoders import Decoder, Local, Process
from dragoman.serve.endpoint import Handler, Key, answer, endpoint
from dragoman.serve.models import Models, named
from dragoman.serve.options import Options
from dragoman.serve.queue import Queue
from dragoman.serve.safety import Guard, Keys
from dragoman.serve.service import Service
from dragoman.translator import Translator, load

__all__ = ["ROUTES", "WAITING", "Way", "app", "build", "service_of"]

PAGE = Path(__file__).parent / "page"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Way(NamedTuple):
    """A path of the API."""

    path: str
    method: str
    handler: Handler
    key: Key = Key.NONE
    waits: bool = False
    """Whether it goes through the queue."""


async def _ready(service: Service, request: Request) -> Response:  # noqa: ARG001
    """Whether requests are answered now."""
    return answer({"ready": service.ready}, 200 if service.ready else 503)


async def _metrics(service: Service, request: Request) -> Response:  # noqa: ARG001
    """Numbers for Prometheus."""
    return Response(service.metrics.text(service.gauges()), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _openapi(service: Service, request: Request) -> Response:  # noqa: ARG001
    """The description of all paths."""
    from dragoman.serve.openapi import describe  # noqa: PLC0415  who asks pays

    return answer(describe())


ROUTES = (
    Way("/translate", "POST", libretranslate.translate, Key.BODY, waits=True),
    Way("/detect", "POST", libretranslate.detect, Key.BODY, waits=True),
    Way("/suggest", "POST", libretranslate.suggest, Key.BODY),
    Way("/languages", "GET", libretranslate.languages),
    Way("/frontend/settings", "GET", libretranslate.settings),
    Way("/health", "GET", libretranslate.health),
    Way("/spec", "GET", _openapi),
    Way("/openapi.json", "GET", _openapi),
    Way("/ready", "GET", _ready),
    Way("/metrics", "GET", _metrics, Key.HEAD),
    Way("/v1/translate", "POST", api_v1.translate, Key.HEAD, waits=True),
    Way("/v1/score", "POST", api_v1.score, Key.HEAD, waits=True),
    Way("/v1/models", "GET", api_v1.models, Key.HEAD),
    Way("/v1/models/{name}", "GET", api_v1.model, Key.HEAD),
    Way("/v1/models/{name}/load", "POST", api_v1.load, Key.ADMIN),
    Way("/v1/models/{name}/unload", "POST", api_v1.unload, Key.ADMIN),
    Way("/v1/models/{name}/weights", "PUT", api_v1.change_weights, Key.ADMIN),
)
WAITING = frozenset(way.path.encode() for way in ROUTES if way.waits)
"""Paths that go through the queue, as requests name them."""


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """A file of the page, read once: no path from a request reaches the file system."""
    content, kind = path.read_bytes(), _KINDS[path.suffix]

    async def get(request: Request) -> Response:  # noqa: ARG001
        return Response(content, 200, {"cache-control": "no-cache"}, kind)

    return get


def build(service: Service, *, hosts: Iterable[str] = (), page: bool = True) -> Starlette:
    """The application of a service. `hosts` are the names that browsers may call it by; none is any."""
    downloads = libretranslate.Downloads()
    ways = [
        *ROUTES,
        Way("/translate_file", "POST", downloads.translate_file, Key.BODY),
        Way("/download_file/{token}", "GET", downloads.get),
    ]

    @asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        await service.begin()
        try:
            yield
        finally:
            await service.end()

    async def told(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return answer({"error": error.detail}, error.status_code, error.headers)

    def run(way: Way) -> Any:
        return endpoint(service, way.path, way.handler, key=way.key, waits=way.waits)

    routes = [Route(way.path, run(way), methods=[way.method], name=way.path.split("/")[1]) for way in ways]
    if page:
        routes += [Route("/", _file(PAGE / "index.html"))]
        routes += [Route(f"/page/{path.name}", _file(path)) for path in PAGE.iterdir() if path.suffix in _KINDS]
    options = service.options
    guard = Middleware(
        Guard,
        room=service.room,
        most=options.max_body,
        hosts=[h.lower() for h in hosts],
        cors=options.cors,
        seconds=options.body_deadline,
        metrics=service.metrics,
        leave=service.queue.leave,
    )
    made = Starlette(routes=routes, middleware=[guard], lifespan=live, exception_handlers={HTTPException: told})
    made.state.service = service
    return made


def service_of(
    models: Mapping[str, str | Translator],
    options: Options,
    *,
    offered: str = "",
    keys: Keys | None = None,
    trust: bool = False,
) -> Service:
    """A service for models, by name: folders, or such that are open; `offered` is a folder of more of them."""
    opened = {name: model for name, model in models.items() if isinstance(model, Translator)}
    if opened and options.workers:
        raise OptionError("models that are open are served by threads: workers must be 0")
    decoders: list[Decoder] = []
    catalogue = Models(decoders, trust=trust)
    for name, model in models.items():
        if isinstance(model, Translator):
            catalogue.add(name, model.model, "", loaded=True)
        else:
            catalogue.offer(name, str(model), loaded=True)
    if offered:
        catalogue.offer_all(offered)
    threads = options.threads or os.cpu_count() or 1
    if options.workers:
        share = [threads // options.workers + (i < threads % options.workers) for i in range(options.workers)]
        shared = options.workers > 1
        decoders += [Process(max(1, count), shared=shared, state=catalogue.state) for count in share]
    else:
        for version in catalogue.loaded():
            if version.folder:
                opened[version.name] = load(version.folder, trust=trust, threads=1)
        decoders.append(Local(opened, threads))
    _check_places(options)
    service = Service(catalogue, Queue(decoders, most=options.queue), options, keys or Keys())
    for entry in catalogue.entries.values():
        service.splitter(entry.source)  # what is wrong with it is said at the start, not to the first caller
    return service


def _check_places(options: Options) -> None:
    """Makes what is written to while the server runs."""
    try:
        if options.suggestions:
            Path(options.suggestions).mkdir(parents=True, exist_ok=True)
        if options.log_text:
            Path(options.log_text).open("a", encoding="utf-8").close()
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        raise InputError(
            f"{why}; suggestions and log_text need a place that can be written to", error.filename
        ) from None


def app(
    models: str | PathLike[str] | Translator | Iterable[str | PathLike[str]] | Mapping[str, Any],
    *,
    keys: Keys | None = None,
    hosts: Iterable[str] = (),
    trust: bool = False,
    **options: Any,
) -> Starlette:
    """The server as an ASGI application, for those who have a server: a model, several of them, or a mapping by name.

    Without `workers` models are searched on threads of this process. `keys` let callers in; without any, everybody is.
    """
    chosen = made(Options, {"workers": 0, **options}, what="serve.app")
    if isinstance(models, Mapping):
        given = {name: m if isinstance(m, Translator) else os.fspath(m) for name, m in models.items()}
    elif isinstance(models, Translator):
        given = {models.model.folder.resolve().name: models}
    else:
        several = [models] if isinstance(models, (str, PathLike)) else list(models)
        given = dict(named(os.fspath(one)) for one in several)
    return build(service_of(given, chosen, keys=keys, trust=trust), hosts=hosts)
