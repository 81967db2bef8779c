"""Files that people have: plain text, subtitles, Word documents, pages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dragoman.errors import InputError
from dragoman.serve.markup import Aligned, Page
from dragoman.serve.models import Version
from dragoman.serve.service import Caller, Service, aligned, recipe_of

__all__ = ["ENDINGS", "Opened", "read"]

ENDINGS = {
    ".txt": "text/plain; charset=utf-8",
    ".srt": "application/x-subrip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".html": "text/html; charset=utf-8",
}
_MOST_UNPACKED = 64 << 20
"""Bytes of a Word document when it is unpacked: a small file may hold a very large one."""


class Opened(Protocol):
    """A file of some kind, read."""

    @property
    def texts(self) -> Sequence[str]:
        """What is to be translated."""

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        """The file in the other language."""


def read(ending: str, content: bytes) -> Opened:
    """Reads a file; what is wrong with it is said."""
    if ending == ".docx":
        return _Word(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("expected a file of UTF-8 text", "file") from None
    kinds: dict[str, Callable[[str], Opened]] = {".txt": _Text, ".srt": _Subtitles, ".html": _Html}
    return kinds[ending](text)


class _Text:
    def __init__(self, text: str) -> None:
        self.texts = [text]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version), caller)
        return made[0].text.encode("utf-8", "replace")


class _Html:
    def __init__(self, text: str) -> None:
        self._page = Page(text)
        self.texts = [segment.text for segment in self._page.segments]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version, detail=True), caller)
        return self._page.filled([aligned(one) for one in made]).encode("utf-8", "replace")


class _Subtitles:
    """Each subtitle is a text of its own, and has as many lines as before."""

    def __init__(self, text: str) -> None:
        import srt  # noqa: PLC0415  an extra

        try:
            self._items: list[Any] = list(srt.parse(text))
        except (srt.SRTParseError, ValueError, OverflowError) as error:
            raise InputError(f"expected subtitles (SRT), but {type(error).__name__}", "file") from None
        self._compose = srt.compose
        self.texts = [" ".join(item.content.split()) for item in self._items]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version), caller)
        for item, one in zip(self._items, made, strict=True):
            item.content = _wrapped(one.text, item.content.count("\n") + 1)
        text: str = self._compose(self._items, reindex=False)
        return text.encode("utf-8", "replace")


def _wrapped(text: str, lines: int) -> str:
    """A text on so many lines of about the same length."""
    words, made = text.split(), []
    for left in range(lines, 1, -1):
        most = (len(" ".join(words)) + left - 1) // left
        line: list[str] = []
        while words and (not line or len(" ".join([*line, words[0]])) <= most + 2):
            line.append(words.pop(0))
        made.append(" ".join(line))
    return "\n".join(filter(None, [*made, " ".join(words)]))


class _Word:
    """Paragraphs and cells of tables; bold and the like go where their words go."""

    def __init__(self, content: bytes) -> None:
        import docx  # noqa: PLC0415  an extra

        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if sum(item.file_size for item in archive.infolist()) > _MOST_UNPACKED:
                    raise InputError("the document is too large", "file")
            self._document = docx.Document(io.BytesIO(content))
        except InputError:
            raise
        except Exception as error:  # the library has many
            raise InputError(f"expected a Word document (.docx), but {type(error).__name__}", "file") from None
        self._paragraphs = [p for p in self._all(self._document) if any(run.text.strip() for run in p.runs)]
        self.texts = ["".join(run.text for run in paragraph.runs) for paragraph in self._paragraphs]

    @classmethod
    def _all(cls, part: Any) -> list[Any]:
        found = list(part.paragraphs)
        for table in part.tables:
            cells = {id(cell._tc): cell for row in table.rows for cell in row.cells}
            found += [paragraph for cell in cells.values() for paragraph in cls._all(cell)]
        return found

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version, detail=True), caller)
        for paragraph, one in zip(self._paragraphs, made, strict=True):
            _refill(paragraph.runs, aligned(one))
        out = io.BytesIO()
        self._document.save(out)
        return out.getvalue()


def _refill(runs: Sequence[Any], made: Aligned) -> None:
    """Puts a translation into the runs of a paragraph.

    Each run keeps its form and its place, and gets the words whose source words it had, and those between them.
    """
    bounds, at = [], 0
    for run in runs:
        bounds.append((at, at + len(run.text)))
        at += len(run.text)
    sources: dict[tuple[int, int], int] = {}
    for s0, _, t0, t1 in made.links:
        owner = next((i for i, (start, end) in enumerate(bounds) if start <= s0 < end), 0)
        sources.setdefault((t0, t1), owner)
    # Runs stay in order: a word never goes to a run before that of the word before it, unless it must.
    texts, current, done = [""] * len(runs), 0, 0
    for start, end in sorted(set(made.words)):
        before, current = current, max(current, sources.get((start, end), current))
        # A space goes with the word before it.
        texts[before] += made.text[done:start]
        texts[current] += made.text[start:end]
        done = end
    texts[current] += made.text[done:]
    for run, text in zip(runs, texts, strict=True):
        run.text = text
