"""What all ways of asking have in common: texts become sentences, sentences wait their turn, answers become texts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from starlette.types import Receive

from dragoman.document import Document, spaced
from dragoman.errors import OptionError
from dragoman.serve.frames import Found, Recipe
from dragoman.serve.markup import Aligned, Page
from dragoman.serve.metrics import Metrics
from dragoman.serve.models import Entry, Models, NoModel
from dragoman.serve.options import Options
from dragoman.serve.queue import Full, Line, Queue, Work
from dragoman.serve.safety import Keys, Rates
from dragoman.splitting import Splitter, make

__all__ = ["Gone", "Service", "TooLong", "Translated"]

_WINDOW = 64
"""Sentences of a long text that wait at a time."""
_DETECTED = 400
"""Characters that are enough to tell a language."""


class Gone(Exception):
    """The asker has left."""


class TooLong(Exception):
    """A text needs more time than a request has."""


@dataclass(slots=True)
class Translated:
    """A text and its translation, sentence by sentence."""

    document: Document
    found: list[Found]
    text: str
    spans: list[tuple[int, int]]


@dataclass
class Service:
    """A server, but for its ways of asking."""

    models: Models
    queue: Queue
    options: Options
    keys: Keys = field(default_factory=Keys)
    metrics: Metrics = field(default_factory=Metrics)
    started: float = field(default_factory=time.monotonic)
    closing: bool = False

    def __post_init__(self) -> None:
        self.rates = Rates(self.options.rate)
        self._splitters: dict[str, Splitter] = {}

    def splitter(self, language: str) -> Splitter:
        """What finds sentences of a language."""
        if language not in self._splitters:
            self._splitters[language] = make(self.options.splitter, language)
        return self._splitters[language]

    def document(self, text: str, entry: Entry, *, split: bool = True) -> Document:
        """The sentences of a text."""
        splitter = self.splitter(entry.source) if split else None
        return Document.of(text, splitter, self.options.max_sentence)

    async def found(
        self, recipe: Recipe, lines: Sequence[Line], receive: Receive | None, seconds: float | None = None
    ) -> list[Found]:
        """What becomes of lines; the first that cannot be done is an error. Whoever leaves meanwhile cancels it."""
        work = self._submit(recipe, lines, seconds)
        found = await self._waited(work, receive)
        wrong = next((one.error for one in found if one.error), None)
        if wrong is not None:
            raise OptionError(wrong)
        return found

    def _submit(self, recipe: Recipe, lines: Sequence[Line], seconds: float | None) -> Work:
        whole = self.options.deadline if seconds is None else min(seconds, self.options.deadline)
        if self.queue.too_long(sum(len(line.text) for line in lines), whole):
            raise TooLong(
                f"this would take longer than the {whole:g} seconds of a request: send less at once, or to "
                "/v1/translate with stream"
            )
        return self.queue.submit(recipe, lines, whole)

    async def _waited(self, work: Work, receive: Receive | None) -> list[Found]:
        try:
            if receive is None or not work.left:
                return await self.queue.result(work)
            result = asyncio.ensure_future(self.queue.result(work))
            gone = asyncio.ensure_future(_disconnected(receive))
            try:
                await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not result.done():
                    raise Gone
                return result.result()
            finally:
                gone.cancel()
                result.cancel()
        finally:
            self.queue.cancel(work)

    async def translate(
        self,
        texts: Sequence[str],
        entry: Entry,
        recipe: Recipe,
        receive: Receive | None,
        *,
        split: bool = True,
        seconds: float | None = None,
        lines: Callable[[Document], list[Line]] | None = None,
    ) -> list[Translated]:
        """Translates texts; `lines` makes lines with constraints of a text."""
        documents = [self.document(text, entry, split=split) for text in texts]
        asked = [lines(one) if lines else [Line(s) for s in one.sentences] for one in documents]
        found = await self.found(recipe, [line for some in asked for line in some], receive, seconds)
        made, at = [], 0
        for document, some in zip(documents, asked, strict=True):
            own = found[at : at + len(some)]
            at += len(some)
            made.append(self._joined(document, own, entry))
        self.note(made)
        return made

    @staticmethod
    def _joined(document: Document, found: list[Found], entry: Entry) -> Translated:
        text, spans = document.joined([one.text for one in found], apart=spaced(entry.target))
        return Translated(document, found, text, spans)

    async def stream(
        self, document: Document, recipe: Recipe, receive: Receive | None = None, asked: Sequence[Line] | None = None
    ) -> AsyncIterator[Found]:
        """The sentences of a text one by one, however long it is; each window of them has a deadline of its own."""
        lines = asked if asked is not None else [Line(sentence) for sentence in document.sentences]
        for first in range(0, len(lines), _WINDOW):
            window = lines[first : first + _WINDOW]
            work = await self._patient(recipe, window)
            gone = None if receive is None else asyncio.ensure_future(_disconnected(receive))
            try:
                async for found in self.queue.stream(work):
                    if gone is not None and gone.done():
                        raise Gone
                    yield found
            finally:
                if gone is not None:
                    gone.cancel()
                self.queue.cancel(work)

    async def _patient(self, recipe: Recipe, lines: Sequence[Line]) -> Work:
        """A window of a long text waits until there is room."""
        until = time.monotonic() + self.options.deadline
        while True:
            try:
                return self.queue.submit(recipe, lines, self.options.deadline)
            except Full:  # noqa: PERF203  it waits
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.05)

    async def long(self, texts: Sequence[str], entry: Entry, recipe: Recipe) -> list[Translated]:
        """Translates texts that may be long: files."""
        documents = [self.document(text, entry) for text in texts]
        whole = [Line(sentence) for one in documents for sentence in one.sentences]
        found = [one async for one in self.stream(documents[0], recipe, asked=whole)] if documents else []
        wrong = next((one.error for one in found if one.error), None)
        if wrong is not None:
            raise OptionError(wrong)
        made, at = [], 0
        for document in documents:
            own = found[at : at + len(document.spans)]
            at += len(document.spans)
            made.append(self._joined(document, own, entry))
        self.note(made)
        return made

    async def html(self, text: str, entry: Entry, recipe: Recipe, receive: Receive | None) -> str:
        """Translates a page; its tags go where their words went."""
        page = Page(text)
        detailed = msgspec.structs.replace(recipe, detail=True)
        made = await self.translate([s.text for s in page.segments], entry, detailed, receive)
        return page.filled([aligned(one) for one in made])

    async def detect(self, text: str, receive: Receive | None, target: str = "") -> list[tuple[Entry, float]]:
        """Which model knows the most of a text's words, as percentages: the best first."""
        entries: dict[str, Entry] = {}
        for entry in self.models.loaded():
            if not target or entry.target == target:
                entries.setdefault(entry.source, entry)
        line = " ".join(text[:_DETECTED].split())
        shares = []
        for entry in entries.values():
            found = await self.found(Recipe(entry.name, kind="detect"), [Line(line)], receive)
            shares.append((entry, float((found[0].detail or {}).get("known", 0.0))))
        return sorted(shares, key=lambda share: -share[1])

    async def entry(self, model: str, source: str, target: str, texts: Sequence[str], receive: Receive) -> Entry:
        """The model that somebody means."""
        if model:
            entry = self.models.get(model)
            if not entry.loaded:
                raise NoModel(f"the model {model} is not loaded")
            return entry
        loaded = self.models.loaded()
        if not source and not target and loaded:
            return loaded[0]
        if source in {"", "auto"}:
            ranked = await self.detect(" ".join(texts)[:_DETECTED], receive, target)
            if not ranked:
                raise NoModel(f"no model translates to {target[:40]}")
            return ranked[0][0]
        return self.models.find(source, target)

    def note(self, made: Sequence[Translated]) -> None:
        """Keeps what was translated, if that was asked for."""
        if not self.options.log_text:
            return
        lines = [json.dumps({"source": one.document.text, "target": one.text}, ensure_ascii=False) for one in made]
        with Path(self.options.log_text).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def gauges(self) -> list[tuple[str, str, str, float]]:
        """What `/metrics` shows besides requests."""
        queue = self.queue
        starts = sum(getattr(decoder, "starts", 1) - 1 for decoder in queue.decoders)
        return [
            ("dragoman_requests_waiting", "gauge", "Requests under way.", queue.works),
            ("dragoman_wait_seconds", "gauge", "Estimated wait of a request that comes now.", queue.wait),
            ("dragoman_sentences_total", "counter", "Sentences that were translated.", queue.sentences),
            ("dragoman_decoder_seconds_total", "counter", "Time of decoders' threads.", queue.seconds),
            ("dragoman_late_total", "counter", "Requests whose turn came too late.", queue.late),
            ("dragoman_cancelled_total", "counter", "Requests that were cancelled.", queue.cancelled),
            ("dragoman_decoder_restarts_total", "counter", "Decoders that were replaced.", starts),
            ("dragoman_models_loaded", "gauge", "Models that translate.", len(self.models.loaded())),
            ("dragoman_up_seconds", "gauge", "Time since the start.", time.monotonic() - self.started),
        ]

    @property
    def ready(self) -> bool:
        """Whether requests are answered."""
        return not self.closing and any(decoder.ready for decoder in self.queue.decoders)


def aligned(made: Translated) -> Aligned:
    """A translation of several sentences with its links, in characters of the whole."""
    links: list[tuple[int, int, int, int]] = []
    words: list[tuple[int, int]] = []
    for (start, _), (first, _), found in zip(made.document.spans, made.spans, made.found, strict=True):
        detail = found.detail or {}
        links += [(start + a, start + b, first + c, first + d) for a, b, c, d in detail.get("spans", [])]
        words += [(first + a, first + b) for a, b in detail.get("target_spans", [])]
    return Aligned(made.text, links, words)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
