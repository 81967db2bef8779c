"""What all ways of asking have in common: texts become sentences, sentences wait their turn, answers become texts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.types import Receive

from dragoman._core import language_fits
from dragoman.document import Document, spaced
from dragoman.errors import OptionError
from dragoman.serve.frames import Found, Recipe
from dragoman.serve.markup import Aligned, Page, read_pages
from dragoman.serve.metrics import Metrics
from dragoman.serve.models import Models, NoModel, Version
from dragoman.serve.options import Options
from dragoman.serve.queue import Full, Line, Queue, TooLate, Work
from dragoman.serve.safety import BODIES, Hold, Keys, Rates, Room
from dragoman.splitting import Splitter, make

__all__ = ["PAGE_SIZE", "Caller", "Gone", "Service", "TooLong", "Translated", "aligned", "recipe_of"]

T = TypeVar("T")
Lines = Callable[[Document], list[Line]]
_SMALL = 20_000
"""Characters whose sentences are found faster than another thread is asked."""
_WINDOW = 64
"""Sentences of a long text that wait at a time."""
_TEXT_SIZE, _WORDS_SIZE, _LATTICE_SIZE = 8, 50, 60_000
"""Bytes for each character of a sentence: of a translation, of its words and their links, of a lattice."""
_FEATURES_SIZE = 3000
"""Bytes of the features of a candidate."""
PAGE_SIZE = 20
"""Bytes for each character of a page, cut into its tags."""
_GUESSES = 20
"""Wrong keys of an address in a minute."""
_DETECTED = 400
"""Characters that are enough to tell a language."""


class Gone(Exception):
    """The asker has left."""


class TooLong(Exception):
    """A text needs more time than a request has."""


class Caller:
    """Who waits for an answer: whether they are still there, and until when it is of use to them."""

    def __init__(self, receive: Receive, seconds: float, came: float, hold: Hold | None = None) -> None:
        self._receive = receive
        self.hold = hold or Hold(Room())
        """What the request has of the room for bodies and answers."""
        self.goes_on = False
        """Whether a part of a long text was let in."""
        # When a request came is an estimate, so it has half of its time at least.
        self._until = max(came, time.monotonic() - seconds / 2) + seconds

    @property
    def seconds(self) -> float:
        """What is left, however many searches an answer needs."""
        return max(0.0, self._until - time.monotonic())

    async def gone(self) -> None:
        """Comes back when they have left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


@dataclass(slots=True)
class Translated:
    """A text and its translation, sentence by sentence."""

    document: Document
    found: Sequence[Found]
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
        self.room = Room(BODIES * self.options.max_body)
        self.guesses = Rates(_GUESSES)
        self._thread = ThreadPoolExecutor(1, "dragoman-aside")
        self._splitters: dict[str, Splitter] = {}
        self._began: asyncio.Future[None] | None = None

    async def begin(self) -> None:
        """Starts decoders and models, once.

        With the server; or with the first request, where another application has this one inside and tells it nothing.
        """
        if self._began is None:
            self._began = asyncio.ensure_future(self._begin())
        await asyncio.shield(self._began)

    async def _begin(self) -> None:
        await asyncio.gather(*(decoder.start() for decoder in self.queue.decoders))
        await self.models.begin()
        self.queue.lag.start()

    async def end(self) -> None:
        """Ends them when what is under way is done, or its time is over."""
        self.closing = True
        await self.queue.idle(self.options.deadline)
        self.queue.lag.stop()
        await asyncio.gather(*(decoder.close() for decoder in self.queue.decoders))

    def splitter(self, language: str) -> Splitter:
        """What finds sentences of a language."""
        if language not in self._splitters:
            self._splitters[language] = make(self.options.splitter, language)
        return self._splitters[language]

    def document(self, text: str, version: Version, *, split: bool = True) -> Document:
        """The sentences of a text."""
        splitter = self.splitter(version.source) if split else None
        return Document.of(text, splitter, self.options.max_sentence)

    async def cut(
        self, texts: Sequence[str], version: Version, caller: Caller, *, split: bool = True, lines: Lines | None = None
    ) -> tuple[list[Document], list[list[Line]]]:
        """Texts as sentences, each of which is a line that wants to be translated; `lines` makes those of a text."""

        def made() -> tuple[list[Document], list[list[Line]]]:
            documents = [self.document(text, version, split=split) for text in texts]
            return documents, [lines(one) if lines else [Line(s) for s in one.sentences] for one in documents]

        return await self.aside(caller.seconds, made) if sum(map(len, texts)) > _SMALL else made()

    async def aside(self, seconds: float, function: Callable[..., T], *arguments: Any) -> T:
        """Does what may take long, and needs no decoder, on a thread of its own: other requests are answered meanwhile.

        There is one such thread, so that strange pages of a few callers do not slow down all others.
        """
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._thread, function, *arguments), seconds)
        except asyncio.TimeoutError:
            raise TooLate(self.options.deadline) from None

    def caller(self, request: Request, seconds: float | None = None) -> Caller:
        """Who asks, and for how many seconds since their request came: those of the server, or fewer."""
        most = self.options.deadline
        came = getattr(request.state, "came", time.monotonic() - self.queue.lag.seconds)
        return Caller(request.receive, most if seconds is None else min(seconds, most), came, request.state.hold)

    async def found(self, recipe: Recipe, lines: Sequence[Line], caller: Caller) -> list[Found]:
        """What becomes of lines; the first that cannot be done is an error. A caller who leaves cancels it."""
        self._ends(sum(len(line.text) for line in lines), caller)
        self.fits(sum(_size(recipe, line) for line in lines), caller)
        found = await self._waited(self.queue.submit(recipe, lines, caller.seconds), caller)
        wrong = next((one.error for one in found if one.error), None)
        if wrong is not None:
            raise OptionError(wrong)
        return found

    def _ends(self, size: int, caller: Caller) -> None:
        """Refuses a text of so many characters that needs more time than the request has."""
        if self.queue.too_long(size, caller.seconds):
            raise TooLong(
                f"this would take longer than the {caller.seconds:.3g} seconds that are left of this request: send "
                "less at once, or to /v1/translate with stream"
            )

    @staticmethod
    def fits(size: float, caller: Caller) -> None:
        """Makes room for what a request needs, as far as one can tell before; refuses what nobody may have."""
        most = caller.hold.room.share
        if size > most:
            raise TooLong(
                f"this would need about {size:,.0f} bytes, and {most:,.0f} are the most: ask for less text, fewer "
                "candidates or lattices at once, or /v1/translate with stream"
            )
        caller.hold.take(int(size))

    async def _waited(self, work: Work, caller: Caller) -> list[Found]:
        with self._while_there(work, caller):
            return await self.queue.result(work)

    @contextmanager
    def _while_there(self, work: Work, caller: Caller) -> Iterator[None]:
        """Cancels a work when its caller leaves, and when nobody waits for it any more."""

        def left(task: asyncio.Task[None]) -> None:
            if not task.cancelled():
                self.queue.cancel(work, Gone())

        gone = asyncio.ensure_future(caller.gone())
        gone.add_done_callback(left)
        try:
            yield
        finally:
            gone.cancel()
            self.queue.cancel(work)

    async def translate(
        self,
        texts: Sequence[str],
        version: Version,
        recipe: Recipe,
        caller: Caller,
        *,
        split: bool = True,
        lines: Lines | None = None,
    ) -> list[Translated]:
        """Translates texts; `lines` makes lines with constraints of a text."""
        self._ends(sum(map(len, texts)), caller)
        documents, asked = await self.cut(texts, version, caller, split=split, lines=lines)
        found = await self.found(recipe, [line for some in asked for line in some], caller)
        return self._all(documents, found, version)

    def _all(self, documents: Sequence[Document], found: Sequence[Found], version: Version) -> list[Translated]:
        """Texts and what became of all their sentences, in order."""
        made, at = [], 0
        for document in documents:
            own = found[at : at + len(document.spans)]
            at += len(document.spans)
            made.append(self._joined(document, own, version))
        self.note((one.document.text, one.text) for one in made)
        return made

    @staticmethod
    def _joined(document: Document, found: Sequence[Found], version: Version) -> Translated:
        text, spans = document.joined([one.text for one in found], apart=spaced(version.target))
        return Translated(document, found, text, spans)

    async def stream(self, lines: Sequence[Line], recipe: Recipe, caller: Caller) -> AsyncGenerator[Found]:
        """Sentences one by one, however many there are: a window of them after the other, each with a deadline.

        On a busy server they come slowly: what is left of a window when its time is over begins the next one.
        """
        first = 0
        while first < len(lines):
            window = _window(recipe, lines, first, caller.hold.room.share / _WINDOW)
            size, done = sum(_size(recipe, line) for line in window), 0
            caller.hold.take(size)
            work = await self._patient(recipe, window, caller)
            try:
                with self._while_there(work, caller):
                    async for found in self.queue.stream(work):
                        done += 1
                        yield found
            except TooLate:
                if not done:
                    raise
            first += done
            caller.hold.give(size)

    async def _patient(self, recipe: Recipe, lines: Sequence[Line], caller: Caller) -> Work:
        """The first window of a long text waits until there is room; then the text is let in, with all that it has."""
        until = time.monotonic() + self.options.deadline
        while True:
            try:
                work = self.queue.submit(recipe, lines, self.options.deadline, goes_on=caller.goes_on)
            except Full:  # noqa: PERF203  it waits
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.05)
            else:
                caller.goes_on = True
                return work

    async def long(self, texts: Sequence[str], version: Version, recipe: Recipe, caller: Caller) -> list[Translated]:
        """Translates texts that may be long: files."""
        documents, lines = await self.cut(texts, version, caller)
        self.fits(sum(_size(recipe, line) for some in lines for line in some), caller)
        found = []
        async with aclosing(self.stream(list(chain.from_iterable(lines)), recipe, caller)) as coming:
            async for one in coming:
                if one.error:
                    raise OptionError(one.error)
                found.append(one)
        return self._all(documents, found, version)

    async def html(
        self, texts: Sequence[str], version: Version, recipe: Recipe, caller: Caller
    ) -> tuple[list[str], list[list[str]]]:
        """Translates pages; their tags go where their words went. The best, and the next best of each."""
        self.fits((PAGE_SIZE + recipe.nbest) * sum(map(len, texts)), caller)
        read = await self.aside(caller.seconds, read_pages, texts)
        detailed = msgspec.structs.replace(recipe, detail=True)
        segments = [segment.text for page in read for segment in page.segments]
        made = await self.translate(segments, version, detailed, caller)
        return await self.aside(caller.seconds, self._filled, read, made, recipe.nbest, version)

    def _filled(
        self, read: Sequence[Page], translated: Sequence[Translated], nbest: int, version: Version
    ) -> tuple[list[str], list[list[str]]]:
        """Pages with the translations of all their segments."""
        best: list[str] = []
        others: list[list[str]] = []
        made = iter(translated)
        for page in read:
            own = [next(made) for _ in page.segments]
            best.append(page.filled([aligned(one) for one in own]))
            listed = [[one, *self.others(one, nbest - 1, version)] for one in own]
            more = [
                page.filled([aligned(some[min(rank, len(some) - 1)]) for some in listed])
                for rank in range(1, max(map(len, listed), default=1))
            ]
            others.append([text for text in dict.fromkeys(more) if text != best[-1]])
        return best, others

    def others(self, made: Translated, count: int, version: Version) -> list[Translated]:
        """Other translations of a text: the next best of each of its sentences."""
        lists = [_candidates(found) for found in made.found]
        return [
            self._joined(made.document, [listed[min(rank, len(listed) - 1)] for listed in lists], version)
            for rank in range(1, count + 1)
            if any(len(listed) > rank for listed in lists)
        ]

    async def detect(self, text: str, caller: Caller, target: str = "") -> list[tuple[Version, float]]:
        """Which model knows the most of a text's words, as percentages: the best first."""
        versions: dict[str, Version] = {}
        for version in self.models.loaded():
            if not target or language_fits(target, version.target):
                versions.setdefault(version.source, version)
        line = " ".join(text[:_DETECTED].split())
        shares = []
        for version in versions.values():
            found = await self.found(recipe_of(version, kind="detect"), [Line(line)], caller)
            shares.append((version, float((found[0].detail or {}).get("known", 0.0))))
        return sorted(shares, key=lambda share: -share[1])

    async def version(self, model: str, source: str, target: str, texts: Sequence[str], caller: Caller) -> Version:
        """The model that somebody means, as it is now."""
        if model:
            return self.models.now(model)
        if source == "auto" or (target and not source):
            known = await self.detect(" ".join(texts)[:_DETECTED], caller, target)
            if not known:
                raise NoModel(f"no model translates to {target[:40]}")
            return known[0][0]
        return self.models.find(source, target)

    def note(self, made: Iterable[tuple[str, str]]) -> None:
        """Keeps texts and their translations, if that was asked for."""
        if not self.options.log_text:
            return
        lines = [json.dumps({"source": source, "target": target}, ensure_ascii=False) for source, target in made]
        with Path(self.options.log_text).open("a", encoding="utf-8", errors="replace") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def gauges(self) -> list[tuple[str, str, str, float]]:
        """What `/metrics` shows besides requests."""
        queue = self.queue
        starts = sum(decoder.starts - 1 for decoder in queue.decoders)
        return [
            ("dragoman_requests_under_way", "gauge", "Requests that have no answer yet.", queue.under_way),
            ("dragoman_requests_waiting", "gauge", "Those that wait or are searched.", queue.works),
            ("dragoman_wait_seconds", "gauge", "Estimated wait of a request that comes now.", queue.wait),
            ("dragoman_lag_seconds", "gauge", "How far the server itself is behind its requests.", queue.lag.seconds),
            ("dragoman_sentences_total", "counter", "Sentences that were translated.", queue.sentences),
            ("dragoman_decoder_seconds_total", "counter", "Time of decoders' threads.", queue.seconds),
            ("dragoman_late_total", "counter", "Requests whose turn came too late.", queue.late),
            ("dragoman_cancelled_total", "counter", "Requests that were cancelled.", queue.cancelled),
            ("dragoman_decoder_restarts_total", "counter", "Decoders that were replaced.", starts),
            ("dragoman_held_bytes", "gauge", "Of bodies and answers under way, about.", self.room.used),
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


def _candidates(found: Found) -> list[Found]:
    """The translations of a sentence, each as if it were the best."""
    detail = found.detail or {}
    made = []
    for one in detail.get("candidates", []):
        links = []
        if "alignment" in one:
            left, right = detail["source_spans"], one["target_spans"]
            links = [[*left[s], *right[t]] for s, t in one["alignment"]]
        made.append(Found(one["text"], detail={"spans": links, "target_spans": one.get("target_spans", [])}))
    return made or [found]


def _size(recipe: Recipe, line: Line) -> int:
    """Bytes of memory that the answer to a line takes, about: as measured with a model of multi30k."""
    length = len(line.text) + 20
    of_words = _WORDS_SIZE * length if recipe.detail or recipe.explain else 0
    size = _TEXT_SIZE * length + 2 * of_words
    if recipe.nbest > 1 or recipe.explain:
        size += recipe.nbest * (_TEXT_SIZE * length + of_words + (_FEATURES_SIZE if recipe.explain else 0))
    return size + (_LATTICE_SIZE * length if recipe.lattice else 0)


def _window(recipe: Recipe, lines: Sequence[Line], first: int, most: float) -> Sequence[Line]:
    """The next lines of a stream: as many as are answered within some memory, one at least."""
    size, last = 0.0, first
    while last < min(len(lines), first + _WINDOW) and (last == first or size < most):
        size += _size(recipe, lines[last])
        last += 1
    return lines[first:last]


def recipe_of(version: Version, **wanted: Any) -> Recipe:
    """What a request wants, of the model as it was when it began."""
    return Recipe(version.name, revision=version.revision, **wanted)
