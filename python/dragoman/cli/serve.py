"""`dragoman serve`: a translation server with a web page."""

from __future__ import annotations

import asyncio
import math
import resource
import signal
import socket
from contextlib import suppress
from typing import Any

import click

from dragoman.cli.arguments import Command
from dragoman.cli.declared import takes
from dragoman.cli.file_options import trust_option
from dragoman.cli.messages import messages
from dragoman.errors import InputError, OptionError
from dragoman.options import made
from dragoman.serve.options import Options

__all__ = ["serve"]

_BACKLOG = 2048


@click.command(cls=Command)
@click.option(
    "--model", "models", multiple=True, metavar="[NAME=]FOLDER...", help="Models to serve, from the start on."
)
@click.option("--offer", metavar="FOLDER", help="A folder of more models, which may be loaded while the server runs.")
@trust_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port",
    default=5000,
    show_default=True,
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port; 0 takes a free one.",
)
@click.option("--keys", metavar="FILE", help="Keys of callers, one a line; `admin` after those who may change models.")
@click.option("--no-auth", is_flag=True, help="Let other machines in without a key.")
@takes(Options, into="options")
def serve(
    models: tuple[str, ...],
    offer: str | None,
    trust: bool,
    host: str,
    port: int,
    keys: str | None,
    no_auth: bool,
    options: dict[str, Any],
) -> None:
    """Serve translations: a page for people, HTTP for programs.

    \b
    dragoman serve --model tuned
    dragoman serve --model de=tuned-de fr=tuned-fr --workers 2
    dragoman serve --model tuned --host 0.0.0.0 --keys keys.txt --rate 60

    The page shows alternatives, alignments and what each feature adds. Programs use the API of LibreTranslate, or our
    own, /v1/, which /openapi.json describes. The server listens to this machine alone unless --host says otherwise, and
    then it needs --keys. What is translated is kept nowhere, unless --log-text says so.
    """
    from dragoman import serve as server  # noqa: PLC0415  an extra
    from dragoman.serve.models import named  # noqa: PLC0415

    if not models and not offer:
        raise click.UsageError("expected --model, or --offer")
    # By these names, so that a missing part of the extra is an error before models are opened.
    build, service_of, read_keys, bounded = server.build, server.service_of, server.read_keys, server.bounded
    from dragoman.serve.safety import Keys, is_loopback  # noqa: PLC0415

    chosen = made(Options, options, what="serve")
    alone = is_loopback(host)
    if not alone and not keys and not no_auth:
        raise click.UsageError(
            f"other machines can reach {host}: say --keys FILE (a key a line), or --no-auth if everybody may come in"
        )
    if keys and no_auth:
        raise click.UsageError("--no-auth does not go with --keys")
    known = read_keys(keys) if keys else Keys()
    given = dict(map(named, models))
    if len(given) < len(models):
        raise OptionError("two models have the same name: say NAME=FOLDER")
    service = service_of(given, chosen, offered=offer or "", keys=known, trust=trust)
    # On this machine a page of another site could give itself our address: only these names are ours.
    hosts = ("localhost", "127.0.0.1", "::1", host) if alone else ()
    _more_files()
    _run(build(service, hosts=hosts), _listening(host, port), chosen, bounded(service))


def _more_files() -> None:
    """Each connection is an open file: as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, or asyncio lets each answer wait for the caller's acknowledgement: 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise InputError(f"{host}:{port}: {error.strerror or error}; say another --host or --port", host) from None
    opened.listen(_BACKLOG)
    return opened


def _run(app: Any, listening: socket.socket, options: Options, connection: Any) -> None:
    import uvicorn  # noqa: PLC0415  an extra

    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="on", server_header=False, timeout_keep_alive=30,
        timeout_graceful_shutdown=math.ceil(max(30.0, options.deadline)), backlog=_BACKLOG,
        http=connection, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host

    async def run() -> None:
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if server.started:
            messages.note(f"http://{shown}:{port}/ is ready; Ctrl-C ends it")
        await task

    # Signals end a server well; uvicorn raises them once more when it has ended, for those who still want them.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(run())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        listening.close()
    if not server.started:
        raise OptionError("the server could not start: what went wrong is said above")
