"""Files that people have: plain text, subtitles, Word documents, pages."""

from __future__ import annotations

import io
import re
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from dragoman.errors import InputError, OptionError
from dragoman.serve.markup import Aligned, read_pages
from dragoman.serve.models import Version
from dragoman.serve.scanner import plain
from dragoman.serve.service import PAGE_SIZE, Caller, Service, Translated, aligned, recipe_of

if TYPE_CHECKING:
    from docx.text.run import Run

__all__ = ["ENDINGS", "Opened", "read", "weight"]

ENDINGS = {
    ".txt": "text/plain; charset=utf-8",
    ".srt": "application/x-subrip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".html": "text/html; charset=utf-8",
}
_TIMES = re.compile(r"\s*\d+[:.,]\d+[:.,]\d+([:.,]\d*)?\s*-->\s*\d+[:.,]\d+")
_TAG = re.compile(r"<[^<>]*>")
_UNBROKEN = re.compile(rf"(?:{_TAG.pattern}|\S)+")
"""What stands on one line: a word with its tags."""
_TEXT_SIZE, _XML_SIZE = 4, 10
"""Bytes of memory for each byte of text, and for each of a Word document when it is unpacked."""

_RUNS = "|".join(f"{place}w:r" for place in ("", "w:hyperlink/", "w:ins/", "w:smartTag/", "w:sdt/w:sdtContent/"))
"""Where runs of a paragraph are: links have their own, and so has what was added while changes are tracked."""
_NO_TEXT = (
    "*[not(self::w:rPr|self::w:t|self::w:tab|self::w:ptab|self::w:cr|self::w:noBreakHyphen"
    "|self::w:br[not(@w:type) or @w:type='textWrapping'])]"
)
"""What else is in a run."""


class Opened(Protocol):
    """A file of some kind, read."""

    @property
    def texts(self) -> Sequence[str]:
        """What is to be translated."""

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        """The file in the other language."""


def weight(ending: str, content: bytes) -> int:
    """Bytes of memory that a file takes when it is read, about."""
    if ending != ".docx":
        return len(content) * (_TEXT_SIZE if ending == ".txt" else PAGE_SIZE)
    with _damaged_documents_are_told(), zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(item.file_size for item in archive.infolist())
        return size + _XML_SIZE * sum(i.file_size for i in archive.infolist() if i.filename.endswith((".xml", ".rels")))


@contextmanager
def _damaged_documents_are_told() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the library has many
        raise InputError(f"expected a Word document (.docx), but {type(error).__name__}", "file") from None


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
        (self._page,) = read_pages([text])
        self.texts = [segment.text for segment in self._page.segments]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version, detail=True), caller)
        return await service.aside(service.options.deadline, self._written, made)

    def _written(self, made: Sequence[Translated]) -> bytes:
        return self._page.filled([aligned(one) for one in made]).encode("utf-8", "replace")


class _Subtitles:
    """Each subtitle is a text of its own, and has as many lines as before. Numbers and times stay as they are.

    Tags (`<i>`) go where their words go, as in a page.
    """

    def __init__(self, text: str) -> None:
        lines = [line.rstrip("\r") for line in text.split("\n")]
        times = [number for number, line in enumerate(lines) if "-->" in line and _TIMES.match(line)]
        if not times and text.strip():
            raise InputError("expected subtitles (SRT), but no line has times", "file")
        self._parts: list[list[str]] = []
        """In turn lines that stay, and the lines of a subtitle."""
        done = 0
        for time, following in zip(times, [*times, len(lines)][1:], strict=True):
            end = following
            if following < len(lines) and lines[following - 1].strip().isdigit():
                end -= 1  # the number of the next one
            while end > time + 1 and not lines[end - 1].strip():
                end -= 1
            self._parts += [lines[done : time + 1], lines[time + 1 : end]]
            done = end
        self._rest = lines[done:]
        self._pages = read_pages(" ".join(" ".join(part).split()) for part in self._parts[1::2])
        self.texts = [segment.text for page in self._pages for segment in page.segments]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        recipe = recipe_of(version, detail=any(page.tags for page in self._pages))
        made = await service.long(self.texts, version, recipe, caller)
        return await service.aside(service.options.deadline, self._written, made)

    def _written(self, made: Sequence[Translated]) -> bytes:
        lines: list[str] = []
        left = iter(made)
        for kept, part, page in zip(self._parts[::2], self._parts[1::2], self._pages, strict=True):
            text = plain(page.filled([aligned(next(left)) for _ in page.segments]))
            lines += [*kept, *_wrapped(text, len(part))]
        return "\n".join([*lines, *self._rest]).encode("utf-8", "replace")


def _wrapped(text: str, most: int) -> list[str]:
    """A text on so many lines of about the same length, tags not counted, or on fewer."""
    words = [(word, len(_TAG.sub("", word))) for word in _UNBROKEN.findall(text)]
    left = sum(size for _, size in words) + len(words) - 1
    made: list[str] = []
    line: list[str] = []
    length = 0
    for word, size in words:
        lines = most - len(made)
        if line and lines > 1 and length + 1 + size > (left + lines - 1) // lines + 2:
            made.append(" ".join(line))
            left -= length + 1
            line, length = [], 0
        length += size + bool(line)
        line.append(word)
    return [*made, " ".join(line)] if line else made


class _Word:
    """Paragraphs and cells of tables; bold and the like go where their words go."""

    def __init__(self, content: bytes) -> None:
        try:
            import docx  # noqa: PLC0415  an extra
            from docx.oxml.ns import qn  # noqa: PLC0415
            from docx.text.run import Run  # noqa: PLC0415
        except ModuleNotFoundError:
            raise OptionError("Word documents need python-docx: pip install 'dragoman[serve]'") from None
        with _damaged_documents_are_told():
            self._document = docx.Document(io.BytesIO(content))
            # Not by tables, rows and cells: a cell may say that it is a thousand million columns wide.
            inside = self._document.element.body.iter(qn("w:p"))
            found = [[Run(run, self._document) for run in element.xpath(_RUNS)] for element in inside]
        # Runs without text (pictures, fields, notes) stay as they are.
        found = [[run for run in runs if run.text] for runs in found]
        self._paragraphs = [runs for runs in found if any(run.text.strip() for run in runs)]
        self.texts = ["".join(run.text for run in runs) for runs in self._paragraphs]

    async def translated(self, service: Service, version: Version, caller: Caller) -> bytes:
        made = await service.long(self.texts, version, recipe_of(version, detail=True), caller)
        return await service.aside(service.options.deadline, self._written, made)

    def _written(self, made: Sequence[Translated]) -> bytes:
        for runs, one in zip(self._paragraphs, made, strict=True):
            _refill(runs, aligned(one))
        out = io.BytesIO()
        self._document.save(out)
        return out.getvalue()


def _refill(runs: Sequence[Run], made: Aligned) -> None:
    """Puts a translation into the runs of a paragraph.

    Each run keeps its form and its place, and gets the words whose source words it had, and those between them.
    """
    starts, at = [], 0
    for run in runs:
        starts.append(at)
        at += len(run.text)
    sources: dict[tuple[int, int], int] = {}
    for s0, _, t0, t1 in made.links:
        sources.setdefault((t0, t1), bisect_right(starts, s0) - 1)
    # Runs stay in order: a word never goes to a run before that of the word before it, unless it must.
    texts: list[list[str]] = [[] for _ in runs]
    current = done = 0
    for start, end in sorted(set(made.words)):
        before, current = current, max(current, sources.get((start, end), current))
        # A space goes with the word before it.
        texts[before].append(made.text[done:start])
        texts[current].append(made.text[start:end])
        done = end
    texts[current].append(made.text[done:])
    for run, parts in zip(runs, texts, strict=True):
        _write(run, "".join(parts))


def _write(run: Run, text: str) -> None:
    """Gives a run another text. What else is in it (a picture, a note, the end of a page) is kept, after the text."""
    kept = run._r.xpath(_NO_TEXT)
    run.text = text
    run._r.extend(kept)
