"""Our own API, `/v1/`: translations with all that led there, scores of given ones, and the models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dragoman.document import Document, spaced
from dragoman.errors import OptionError
from dragoman.serve.endpoint import Bad, answer, body, charge
from dragoman.serve.frames import Constraint, Found, Recipe
from dragoman.serve.models import Version
from dragoman.serve.queue import Full, Line, Lost, Refused
from dragoman.serve.safety import FAULT, Outside, log_fault
from dragoman.serve.service import Caller, Gone, Service, Translated, recipe_of

__all__ = [
    "Changed",
    "Demands",
    "Score",
    "Translate",
    "change_weights",
    "load",
    "model",
    "models",
    "score",
    "translate",
    "unload",
]

Place = Annotated[int, Meta(ge=0, le=100_000_000)]
_MOST_TERMS = 1000
_MOST_PLACES = 1000


class Demands(msgspec.Struct, forbid_unknown_fields=True):
    """What the writer asks of a translation; places count characters of the text."""

    given: Annotated[list[tuple[Place, Place, str]], Meta(max_length=_MOST_PLACES)] = []
    """Translations of spans: from, up to, text."""
    exclusive: bool = True
    """Whether these rule out others."""
    walls: Annotated[list[Place], Meta(max_length=_MOST_PLACES)] = []
    zones: Annotated[list[tuple[Place, Place]], Meta(max_length=_MOST_PLACES)] = []


class Translate(msgspec.Struct, forbid_unknown_fields=True):
    """A request for translations."""

    text: str | list[str]
    source: str = ""
    target: str = ""
    model: str = ""
    format: Literal["text", "html"] = "text"
    split: bool = True
    """Whether sentences are looked for; else a line is one."""
    tokenized: bool = False
    """Whether text is as the model has it."""
    nbest: Annotated[int, Meta(ge=1, le=10_000)] = 1
    alignment: bool = True
    explain: bool = False
    lattice: bool = False
    glossary: dict[str, str | list[str]] | None = None
    constraints: Demands | None = None
    deadline: Annotated[float, Meta(gt=0)] | None = None
    stream: bool = False
    """Whether sentences come one by one, as lines of JSON."""


class Score(msgspec.Struct, forbid_unknown_fields=True):
    """A request for the model's opinion of a translation: one sentence."""

    text: str
    translation: str
    source: str = ""
    target: str = ""
    model: str = ""
    tokenized: bool = False
    explain: bool = False
    deadline: Annotated[float, Meta(gt=0)] | None = None


class Changed(msgspec.Struct, forbid_unknown_fields=True):
    """New weights: those that change, or all of the model's folder again."""

    weights: dict[str, float] | None = None
    reload: bool = False


async def translate(service: Service, request: Request) -> Response:
    """Texts with n-best lists, alignments, explanations."""
    asked = await body(request, Translate)
    texts = [asked.text] if isinstance(asked.text, str) else asked.text
    _check(asked, texts, service)
    charge(service, request, len(texts))
    caller = service.caller(request, asked.deadline)
    version = await service.version(asked.model, asked.source, asked.target, texts, caller)
    recipe = _recipe(asked, version)
    if asked.format == "html":
        pages, _ = await service.html(texts, version, recipe, caller)
        return answer({**_model(version), "translations": [{"text": text} for text in pages]})

    def lines(document: Document) -> list[Line]:
        return _lines(document, asked.constraints)

    split = asked.split and not asked.tokenized
    if asked.stream:
        documents, asked_for = await service.cut(texts, version, caller, split=split, lines=lines)
        streamed = _streamed(service, documents, asked_for, version, recipe, caller)
        return StreamingResponse(streamed, media_type="application/x-ndjson")
    made = await service.translate(texts, version, recipe, caller, split=split, lines=lines)
    return answer({**_model(version), "translations": [_translation(one) for one in made]})


def _check(asked: Translate, texts: Sequence[str], service: Service) -> None:
    most = service.options
    if len(texts) > most.max_texts:
        raise Bad(f"Invalid request: {len(texts):,} texts, and {most.max_texts:,} are the most")
    if asked.nbest > most.max_nbest:
        raise Bad(f"Invalid request: nbest must be at most {most.max_nbest}")
    if asked.constraints is not None and len(texts) != 1:
        raise Bad("Invalid request: constraints need one text")
    if asked.glossary is not None and len(asked.glossary) > _MOST_TERMS:
        raise Bad(f"Invalid request: a glossary of at most {_MOST_TERMS} terms")
    details = asked.nbest > 1 or asked.explain or asked.lattice or asked.constraints or asked.stream
    if asked.format == "html" and (details or asked.tokenized):
        raise Bad("Invalid request: html goes with a glossary, and with nothing else")


def _recipe(asked: Translate, version: Version) -> Recipe:
    terms = None
    if asked.glossary is not None:
        terms = tuple((term, (t,) if isinstance(t, str) else tuple(t)) for term, t in asked.glossary.items())
    return recipe_of(
        version, nbest=asked.nbest, detail=asked.alignment or asked.explain, explain=asked.explain,
        lattice=asked.lattice, tokenized=asked.tokenized, glossary=terms,
    )  # fmt: skip


def _model(version: Version) -> dict[str, Any]:
    return {
        "model": version.name, "revision": version.revision, "source": version.source, "target": version.target
    }  # fmt: skip


def _lines(document: Document, demands: Demands | None) -> list[Line]:
    """The sentences of a text, each with what is asked of it."""
    if demands is None:
        return [Line(sentence) for sentence in document.sentences]
    asked: dict[int, Constraint] = {}

    def of(number: int) -> Constraint:
        return asked.setdefault(number, ([], demands.exclusive, [], []))

    for start, end, text in demands.given:
        number, first, last = document.place(start, end)
        of(number)[0].append((first, last, text))
    for wall in demands.walls:
        number, first, _ = document.place(wall, wall)
        of(number)[2].append(first)
    for start, end in demands.zones:
        number, first, last = document.place(start, end)
        of(number)[3].append((first, last))
    return [Line(sentence, asked.get(number)) for number, sentence in enumerate(document.sentences)]


def _translation(made: Translated) -> dict[str, Any]:
    rows = zip(made.document.spans, made.spans, made.found, made.document.sentences, strict=True)
    sentences = [
        {**_sentence(found, source), "span": list(span), "target_span": list(place)}
        for span, place, found, source in rows
    ]
    return {"text": made.text, "sentences": sentences}


def _sentence(found: Found, source: str) -> dict[str, Any]:
    detail = dict(found.detail or {})
    if "lattice" in detail:
        detail["lattice"] = msgspec.Raw(detail["lattice"].encode())
    return {"text": found.text, "source": source, "late": found.late, **detail}


async def _streamed(
    service: Service, documents: Sequence[Document], asked: Sequence[list[Line]], version: Version, recipe: Recipe,
    caller: Caller,
) -> AsyncGenerator[bytes]:  # fmt: skip
    """Lines of JSON, one for each sentence; the last one says that all is there, or what went wrong."""
    encode, count = msgspec.json.encode, 0
    try:
        for number, (document, lines) in enumerate(zip(documents, asked, strict=True)):
            apart = spaced(version.target)
            async with aclosing(service.stream(lines, recipe, caller)) as coming:
                place = 0
                async for found in coming:
                    start, end = document.spans[place]
                    source = document.text[start:end]
                    if found.error:
                        raise OptionError(found.error)
                    service.note([(source, found.text)])
                    before = document.before(place, apart=apart)
                    where = {"number": number, "span": [start, end], "before": before}
                    yield encode({**where, **_sentence(found, source)}) + b"\n"
                    place, count = place + 1, count + 1
        yield encode({"done": True, "sentences": count, **_model(version)}) + b"\n"
    except Gone:
        return
    except (Full, Lost, Refused, OptionError, Outside) as error:
        yield encode({"error": str(error)}) + b"\n"
    except Exception as error:
        log_fault(error)
        yield encode({"error": FAULT}) + b"\n"


async def score(service: Service, request: Request) -> Response:
    """The score of a given translation."""
    asked = await body(request, Score)
    for text in (asked.text, asked.translation):
        if len(text) > service.options.max_sentence:
            raise Bad(f"Invalid request: a sentence of at most {service.options.max_sentence:,} characters")
    caller = service.caller(request, asked.deadline)
    version = await service.version(asked.model, asked.source, asked.target, [asked.text], caller)
    recipe = recipe_of(version, explain=asked.explain, tokenized=asked.tokenized, kind="score")
    line = Line(asked.text.replace("\n", " "), target=asked.translation.replace("\n", " "))
    found = await service.found(recipe, [line], caller)
    return answer({**_model(version), **(found[0].detail or {})})


async def models(service: Service, request: Request) -> Response:  # noqa: ARG001
    """All models, loaded or not."""
    return answer({"models": [entry.shown() for entry in service.models.entries.values()]})


def _named(service: Service, request: Request) -> str:
    name = request.path_params["name"]
    if name not in service.models.entries:
        raise Bad(f"there is no model `{name[:100]}`", 404)
    return str(name)


async def model(service: Service, request: Request) -> Response:
    """One model."""
    return answer(service.models.get(_named(service, request)).shown())


async def load(service: Service, request: Request) -> Response:
    """Opens a model, or opens it again."""
    return answer((await service.models.load(_named(service, request))).shown())


async def unload(service: Service, request: Request) -> Response:
    """Lets go of a model."""
    return answer((await service.models.unload(_named(service, request))).shown())


async def change_weights(service: Service, request: Request) -> Response:
    """Other weights, from the next request on."""
    name = _named(service, request)
    asked = await body(request, Changed)
    if asked.reload == (asked.weights is not None):
        raise Bad("Invalid request: expected weights, or reload")
    return answer((await service.models.weights(name, asked.weights)).shown())
