"""`dragoman tune --model`: a problem with the decoder in the loop, and how far a run has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from dragoman import weights
from dragoman.cli.progress import watch
from dragoman.decoder import Decoder, DecoderSource
from dragoman.errors import InputError
from dragoman.features import files_of
from dragoman.files import read_parallel, write_text
from dragoman.model import file_hash
from dragoman.tuning import NamedLimits, Problem, Workspace
from dragoman.tuning.pool import set_apart
from dragoman.types import Metric, Texts, Weights

__all__ = ["Request", "Setting", "open_model", "watching", "writable"]


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    model: str
    src: str | None
    refs: Sequence[str]
    metric: Metric
    size: int
    held_out: Sequence[str] | float = ()
    """A source file in a list, or a share of the text."""
    held_out_refs: Sequence[str] = ()
    start: str | None = None
    features: str | None = None
    threads: int | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    tokenized: bool = False
    limits: NamedLimits = field(default_factory=NamedLimits)
    memory: int = 4 << 30
    seed: int = 0


@dataclass(frozen=True)
class Setting:
    """A model, ready to be tuned."""

    decoder: Decoder
    problem: Problem
    start: Weights
    about: dict[str, Any]
    """What the result depends on, besides tuner and seed."""
    tokenized: bool

    def readable(self, lines: Texts) -> Texts | list[str]:
        """Translations as people read them, unless the texts are tokenised."""
        return lines if self.tokenized else self.decoder.text.after(lines.to_list())


def open_model(request: Request, out: Path) -> Setting:
    """Opens the model and reads the texts; what is wrong is told before any work."""
    text, other = _texts(request)
    decoder = Decoder(request.model, features=request.features, threads=request.threads)
    decoder.search = replace(decoder.search, **request.search)
    unknown = [part.name for part in decoder.model.parts if part.kind == "unknown-penalty"]
    given = request.limits
    limits = replace(given, fixed=(*given.fixed, *(name for name in unknown if name not in given.names)))
    held_out = _problem(decoder, other, request, 1) if other else None
    space = Workspace(memory=request.memory)
    problem = _problem(decoder, text, request, request.size, held_out=held_out, limits=limits, workspace=space)
    start = weights.load(request.start) if request.start else decoder.weights
    writable(out)
    if other and isinstance(request.held_out, float):
        for name, column in zip(["src", *(f"ref.{i}" for i in range(len(other) - 1))], other, strict=True):
            write_text(out / f"held-out.{name}", column)
    return Setting(decoder, problem, start, _about(request, decoder), request.tokenized)


@contextmanager
def watching(setting: Setting, epochs: int) -> Iterator[Callable[[dict[str, float]], None]]:
    """Tells each epoch that ended, and to those who watch how far the one under way is."""
    course = _Course(setting.decoder, setting.problem.metric, epochs)
    with watch(course.now) as say:
        yield lambda record: say(course.ended(record))


def _texts(request: Request) -> tuple[list[list[str]], list[list[str]] | None]:
    """What to tune on and what to judge on: the source and its references."""
    if request.src is None:
        raise click.UsageError("--model needs the source text: --src dev.de")
    if not request.refs:
        raise click.UsageError("missing --refs: at least one reference file, e.g. --refs dev.en")
    if isinstance(request.held_out, float):
        if request.held_out_refs:
            raise click.UsageError("a share of the text has its references already: leave --held-out-refs out")
        columns = _columns(request.src, request.refs)
        parts = set_apart(len(columns[0]), request.held_out, request.seed)
        rest, apart = ([[column[int(i)] for i in part] for column in columns] for part in parts)
        return rest, apart
    if len(request.held_out) != bool(request.held_out_refs):
        raise click.UsageError(
            "a held-out text is one source file with its --held-out-refs, or a share: --held-out 0.2"
        )
    other = _columns(request.held_out[0], request.held_out_refs) if request.held_out else None
    return _columns(request.src, request.refs), other


def _columns(src: str, refs: Sequence[str]) -> list[list[str]]:
    columns = [column.to_list() for column in read_parallel([src, *refs])]
    empty = [i + 1 for i, line in enumerate(columns[0]) if not line.strip()]
    if empty:
        raise InputError(f"{src}:{empty[0]}: an empty line has nothing to tune on", src, empty[0])
    return columns


def _problem(decoder: Decoder, columns: Sequence[list[str]], request: Request, size: int, **more: Any) -> Problem:
    """A text with its references, tokenised and cased as the model has it."""
    source, *references = columns
    if not request.tokenized:
        source, references = decoder.text.before(source), [decoder.text.reference(column) for column in references]
    lines = list(zip(*references, strict=True))
    return Problem.of_source(DecoderSource(decoder, source, size), lines, request.metric, **more)


def _about(request: Request, decoder: Decoder) -> dict[str, str | int | float | bool]:
    """What the result depends on, besides tuner and plan."""
    share = request.held_out if isinstance(request.held_out, float) else 0.0
    others = () if isinstance(request.held_out, float) else request.held_out
    inputs = [str(request.src), *request.refs, *others, *request.held_out_refs]
    return {
        "model": decoder.model.signature,
        "features": request.features or "",
        "user_files": " ".join(file_hash(path) for path in files_of(request.features or "")),
        "search": repr(decoder.search),
        "size": request.size,
        "tokenized": request.tokenized,
        "held_out_share": share,
        "inputs": " ".join(file_hash(Path(path)) for path in inputs),
        "start": "model" if request.start is None else file_hash(Path(request.start)),
    }


def writable(folder: Path) -> None:
    """Says now, not after the work, that a result could not be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}", str(folder)) from None


class _Course:
    """How far a run has come: a line for each epoch, and for those who watch one about the epoch under way."""

    def __init__(self, decoder: Decoder, metric: Metric, epochs: int) -> None:
        self.decoder, self.metric, self.epochs = decoder, metric, epochs
        self.epoch = -1
        """The last one that ended; 0 is the scoring of the start weights."""
        self.usual: tuple[int, float] | None = None
        """Sentences and seconds of the last epoch."""
        self._mark()

    def _mark(self) -> None:
        self.began, self.searched = time.monotonic(), self.decoder.searched

    def ended(self, record: dict[str, float]) -> str:
        """What came of an epoch, with the time that is left if the others take as long."""
        self.epoch = int(record["step"])
        parts = [f"epoch {self.epoch}/{self.epochs}", f"{self.metric.name} {record['score']:.2f}"]
        parts += [f"held-out {record['held_out']:.2f}"] if "held_out" in record else []
        if "nonzero" in record:
            left = record["seconds"] * (self.epochs - self.epoch)
            parts += [f"{int(record['nonzero']):,} weights", f"{record['seconds']:.1f} s"]
            parts += [f"at most {_clock(left)} left"] if left >= 1 else []
            self.usual = self.decoder.searched - self.searched, record["seconds"]
        self._mark()
        return "  ".join(parts)

    def now(self) -> str:
        """The epoch under way: sentences that were translated, and the time that is left for all epochs."""
        if self.epoch == self.epochs:
            return "scoring the result"
        done, seconds = self.decoder.searched - self.searched, time.monotonic() - self.began
        parts = [f"epoch {self.epoch + 1}/{self.epochs}", f"{done:,} sentences translated", _clock(seconds)]
        if self.usual is not None:
            count, duration = self.usual
            parts[1] = f"{min(done, count):,} of {count:,} sentences translated"
            left = duration * (self.epochs - self.epoch) - seconds
            parts += [f"at most {_clock(left)} left"] if left >= 1 else []
        return "  ".join(parts)


def _clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"
