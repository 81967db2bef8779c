"""The API of LibreTranslate, so that its clients work unchanged: its parameters, answers, errors, status codes."""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from dragoman._core import language_fits
from dragoman.serve import files
from dragoman.serve.endpoint import Bad, Upload, answer, fields, is_json, lets_in_by_body
from dragoman.serve.languages import name_of
from dragoman.serve.models import Version
from dragoman.serve.service import Caller, Service, Translated, recipe_of

__all__ = ["Downloads", "detect", "health", "languages", "settings", "suggest", "translate"]

_SUGGESTED = 10_000
"""Characters of a suggestion."""
_MOST_SUGGESTED = 64 << 20
"""Bytes of a file of suggestions, after which no more are taken."""
_FILE_SIZE = 1000
"""Bytes that a translated file takes besides its content."""


def _needed(given: dict[str, Any], name: str) -> Any:
    value = given.get(name)
    if not value or not (isinstance(value, str) or name == "q"):
        raise Bad(f"Invalid request: missing {name} parameter")
    return value


async def _version(
    service: Service, caller: Caller, source: str, target: str, texts: Sequence[str]
) -> tuple[Version, float]:
    """The model for two languages, and how sure its source language is."""
    loaded = service.models.loaded()
    sources = {version.source for version in loaded}
    if source != "auto":
        _supported(source, sources)
    _supported(target, sources | {version.target for version in loaded})
    if source == "auto":
        known = await service.detect(" ".join(texts), caller, target)
        if known:
            return known[0]
    version = service.models.meant(source, target)
    if version is None:
        wanted = f"{name_of(target)} ({target})"
        raise Bad(f"{wanted} is not available as a target language from {name_of(source)} ({source})")
    return version, 100.0


def _supported(code: str, codes: Iterable[str]) -> None:
    if not any(language_fits(code, one) for one in codes):
        raise Bad(f"{code[:100]} is not supported")


def _texts(given: dict[str, Any], service: Service, *, form: bool) -> list[str]:
    q = _needed(given, "q")
    if isinstance(q, str):
        return ["\n".join(q.splitlines()) if form else q]
    if not isinstance(q, list) or not all(isinstance(text, str) for text in q):
        raise Bad("Invalid request: q must be a text or a list of texts")
    if len(q) > service.options.max_texts:
        raise Bad(f"Invalid request: request ({len(q)}) exceeds text limit ({service.options.max_texts})")
    return q


def _alternatives(given: dict[str, Any], service: Service) -> int:
    try:
        wanted = max(0, int(given.get("alternatives") or 0))
    except (ValueError, TypeError, OverflowError):
        raise Bad("Invalid request: alternatives parameter is not a number") from None
    most = service.options.max_nbest - 1
    if wanted > most:
        raise Bad(f"Invalid request: alternatives parameter must be <= {most}")
    return wanted


async def translate(service: Service, request: Request) -> Response:
    """`/translate`."""
    given = await fields(request)
    several = isinstance(given.get("q"), list)
    lets_in_by_body(service, request, given.get("api_key"), len(given["q"]) if several else 1)
    texts = _texts(given, service, form=not is_json(request))
    source, target = _needed(given, "source"), _needed(given, "target")
    alternatives = _alternatives(given, service)
    how = given.get("format") or "text"
    if how not in ("text", "html"):
        raise Bad(f"{str(how)[:100]} format is not supported")
    caller = service.caller(request)
    version, sure = await _version(service, caller, source, target, texts)
    recipe = recipe_of(version, nbest=alternatives + 1)
    if how == "html":
        made, others = await service.html(texts, version, recipe, caller)
    else:
        found = await service.translate(texts, version, recipe, caller)
        made = [one.text for one in found]
        others = [_texts_of(service.others(one, alternatives, version), one.text) for one in found]
    known = {"confidence": round(sure, 1), "language": version.source}
    result: dict[str, Any] = {"translatedText": made if several else made[0]}
    if source == "auto":
        result["detectedLanguage"] = [known] * len(made) if several else known
    if alternatives:
        result["alternatives"] = others if several else others[0]
    return answer(result)


def _texts_of(others: Sequence[Translated], best: str) -> list[str]:
    return [text for text in dict.fromkeys(one.text for one in others) if text != best]


async def languages(service: Service, request: Request) -> Response:  # noqa: ARG001
    """`/languages`."""
    targets: dict[str, list[str]] = {}
    for version in service.models.loaded():
        targets.setdefault(version.source, []).append(version.target)
    for version in service.models.loaded():
        targets.setdefault(version.target, [])
    return answer(
        [{"code": c, "name": name_of(c), "targets": sorted(dict.fromkeys(t))} for c, t in targets.items()]
    )  # fmt: skip


async def detect(service: Service, request: Request) -> Response:
    """`/detect`: among the languages that the models translate, by the words that they know."""
    given = await fields(request)
    lets_in_by_body(service, request, given.get("api_key"))
    q = _needed(given, "q")
    text = " ".join(q) if isinstance(q, list) and all(isinstance(one, str) for one in q) else q
    if not isinstance(text, str):
        raise Bad("Invalid request: q must be a text")
    known = await service.detect(text, service.caller(request))
    return answer([{"confidence": round(share, 1), "language": version.source} for version, share in known])


async def settings(service: Service, request: Request) -> Response:  # noqa: ARG001
    """`/frontend/settings`."""
    loaded = service.models.loaded()
    source, target = (loaded[0].source, loaded[0].target) if loaded else ("", "")
    options = service.options
    return answer({
        "charLimit": options.max_body // 4, "frontendTimeout": 500, "apiKeys": service.keys.demanded,
        "keyRequired": service.keys.demanded, "suggestions": bool(options.suggestions), "filesTranslation": True,
        "supportedFilesFormat": list(files.ENDINGS),
        "language": {"source": {"code": source, "name": name_of(source)},
                     "target": {"code": target, "name": name_of(target)}},
    })  # fmt: skip


async def suggest(service: Service, request: Request) -> Response:
    """`/suggest`: kept in a file, for the next training."""
    given = await fields(request)
    lets_in_by_body(service, request, given.get("api_key"))
    if not service.options.suggestions:
        raise Bad("Suggestions are disabled on this server.", 403)
    q, s, source, target = (_needed(given, name) for name in ("q", "s", "source", "target"))
    if not isinstance(q, str):
        raise Bad("Invalid request: q must be a text")
    if len(q) > _SUGGESTED or len(s) > _SUGGESTED:
        raise Bad(f"Invalid request: suggestions have at most {_SUGGESTED:,} characters")
    version, _ = await _version(service, service.caller(request), source, target, [q])
    # The names of files come from the models, never from a request.
    path = Path(service.options.suggestions) / f"{version.source}-{version.target}.jsonl"
    if path.exists() and path.stat().st_size > _MOST_SUGGESTED:
        raise Bad("there is no more room for suggestions on this server", 403)
    pair = {version.source: " ".join(q.split()), version.target: " ".join(s.split())}
    line = json.dumps(pair, ensure_ascii=False)
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(f"{line}\n")
    return answer({"success": True})


async def health(service: Service, request: Request) -> Response:  # noqa: ARG001
    """`/health`: the server is up."""
    return answer({"status": "ok"})


class _File(NamedTuple):
    """A translated file that waits to be fetched."""

    made: float
    """By the monotonic clock."""
    name: str
    kind: str
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content) + _FILE_SIZE


class Downloads:
    """Translated files, in memory, until they are old or there are too many."""

    def __init__(self, most: int = 64 << 20, seconds: float = 900.0) -> None:
        self._most, self._seconds = most, seconds
        self._files: OrderedDict[str, _File] = OrderedDict()
        self.size = 0
        """Bytes of them all."""

    def add(self, name: str, kind: str, content: bytes) -> str:
        """Keeps a file; what it is called from now on."""
        token = f"{secrets.token_urlsafe(24)}{Path(name).suffix.lower()}"
        file = self._files[token] = _File(time.monotonic(), name, kind, content)
        self.size += file.size
        while self._files and (self.size > self._most or self._old(next(iter(self._files.values())))):
            _, gone = self._files.popitem(last=False)
            self.size -= gone.size
        return token

    def _old(self, file: _File) -> bool:
        return time.monotonic() - file.made > self._seconds

    async def get(self, service: Service, request: Request) -> Response:  # noqa: ARG002
        """`/download_file/NAME`."""
        file = self._files.get(request.path_params["token"])
        if file is None or self._old(file):
            raise Bad("there is no such file, or not any more", 404)
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in file.name)
        headers = {"content-disposition": f'attachment; filename="{plain}"'}
        return Response(file.content, 200, headers, file.kind)

    async def translate_file(self, service: Service, request: Request) -> Response:
        """`/translate_file`."""
        given = await fields(request)
        lets_in_by_body(service, request, given.get("api_key"))
        upload = given.get("file")
        if not isinstance(upload, Upload):
            raise Bad("Invalid request: missing file parameter")
        source, target = _needed(given, "source"), _needed(given, "target")
        name = Path(upload.name).name
        if not name:
            raise Bad("Invalid request: empty file")
        ending = Path(name).suffix.lower()
        if ending not in files.ENDINGS:
            raise Bad("Invalid request: file format not supported")
        caller = service.caller(request)
        service.fits(await service.aside(caller.seconds, files.weight, ending, upload.content), caller)
        opened = await service.aside(caller.seconds, files.read, ending, upload.content)
        version, _ = await _version(service, caller, source, target, opened.texts)
        made = await opened.translated(service, version, caller)
        stem = f"{Path(name).stem[:80]}_{version.target}{ending}"
        token = self.add(stem, files.ENDINGS[ending], made)
        return answer({"translatedFileUrl": str(request.url_for("download_file", token=token))})
