"""`dragoman tune --model`: tuning with the decoder in the loop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from dragoman import curves, weights
from dragoman.cli.progress import watch
from dragoman.cli.show import print_json, print_table
from dragoman.decode import Decoder, DecoderSource
from dragoman.errors import InputError
from dragoman.files import read_parallel, write_text
from dragoman.model import file_hash
from dragoman.own import load
from dragoman.significance import Interval, Replications, replications
from dragoman.tune import Judged, Plan, TunedSource, Tuner, tune_source
from dragoman.tune.base import set_apart
from dragoman.types import Metric, Weights

__all__ = ["Request", "run"]


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    model: str
    src: str
    refs: Sequence[str]
    out: str
    metric: Metric
    tuner: Tuner
    plan: Plan
    size: int
    replications: int
    held_out: Sequence[str] | float = ()
    """A source file in a list, or a share of the text."""
    held_out_refs: Sequence[str] = ()
    start: str | None = None
    features: str | None = None
    threads: int | None = None
    search: Mapping[str, Any] | None = None
    resume: bool = False
    tokenized: bool = False
    own: Sequence[str] = ()


def run(request: Request, as_json: bool) -> None:
    """Tunes, once or several times, and tells the result."""
    text, other = _texts(request)
    extra = [feature for spec in request.own for feature in load(spec)]
    decoder = Decoder(request.model, features=request.features, threads=request.threads, extra=extra)
    decoder.search = replace(decoder.search, **(request.search or {}))
    tuning = _judged(decoder, text, request.size, request.tokenized)
    held_out = _judged(decoder, other, 1, request.tokenized) if other else None
    unknown = [part.name for part in decoder.model.parts if part.kind == "unknown-penalty"]
    plan = replace(
        request.plan, fixed=(*request.plan.fixed, *(name for name in unknown if name not in request.plan.fixed))
    )
    start = weights.load(request.start) if request.start else decoder.weights
    _writable(Path(request.out))
    if other and isinstance(request.held_out, float):
        for name, column in zip(["src", *(f"ref.{i}" for i in range(len(other) - 1))], other, strict=True):
            write_text(Path(request.out) / f"held-out.{name}", column)
    results = []
    for number in range(request.replications):
        folder = Path(request.out) if request.replications == 1 else Path(request.out) / f"run{number + 1}"
        _writable(folder)
        if request.replications > 1:
            click.echo(f"run {number + 1} of {request.replications}", err=True)
        found = _once(request, decoder, tuning, held_out, start, replace(plan, seed=plan.seed + number), folder)
        for warning in found.warnings:
            click.echo(f"dragoman: warning: {warning}", err=True)
        curves.save(found.records, folder, request.metric.name)
        if held_out is not None:
            words = held_out.source.best(found.weights).texts.to_list()
            write_text(folder / "held-out.txt", words if request.tokenized else decoder.text.after(words))
        results.append(found)
    _tell(request, results, _spread(request, held_out or tuning, results), as_json)


def _once(
    request: Request,
    decoder: Decoder,
    tuning: Judged,
    held_out: Judged | None,
    start: Weights,
    plan: Plan,
    folder: Path,
) -> TunedSource:
    course = _Course(decoder, request.metric, plan.epochs)
    with watch(course.now) as say:
        return tune_source(
            tuning, request.metric, request.tuner, start, plan, held_out=held_out, folder=folder,
            resume=request.resume, about=_about(request, decoder), progress=lambda record: say(course.ended(record)),
        )  # fmt: skip


def _texts(request: Request) -> tuple[list[list[str]], list[list[str]] | None]:
    """What to tune on and what to judge on: the source and its references."""
    if not request.refs:
        raise click.UsageError("missing --refs: at least one reference file, e.g. --refs dev.en")
    if isinstance(request.held_out, float):
        if request.held_out_refs:
            raise click.UsageError("a share of the text has its references already: leave --held-out-refs out")
        columns = _columns(request.src, request.refs)
        parts = set_apart(len(columns[0]), request.held_out, request.plan.seed)
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


def _judged(decoder: Decoder, columns: Sequence[list[str]], size: int, tokenized: bool) -> Judged:
    """A text with its references, tokenised and cased as the model has it."""
    source, *references = columns
    if not tokenized:
        source, references = decoder.text.before(source), [decoder.text.reference(column) for column in references]
    return Judged(DecoderSource(decoder, source, size), list(zip(*references, strict=True)))


def _about(request: Request, decoder: Decoder) -> dict[str, str | int | float | bool]:
    """What the result depends on, besides tuner and plan."""
    own = [spec.rpartition(":") for spec in request.own]
    share = request.held_out if isinstance(request.held_out, float) else 0.0
    others = () if isinstance(request.held_out, float) else request.held_out
    inputs = [request.src, *request.refs, *others, *request.held_out_refs]
    return {
        "model": decoder.model.signature,
        "features": request.features or "",
        "own": " ".join(f"{file_hash(Path(path))}:{names}" for path, _, names in own),
        "search": repr(decoder.search),
        "size": request.size,
        "tokenized": request.tokenized,
        "held_out_share": share,
        "inputs": " ".join(file_hash(Path(path)) for path in inputs),
        "start": "model" if request.start is None else file_hash(Path(request.start)),
    }


def _writable(folder: Path) -> None:
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
        self.epoch = int(record["epoch"])
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


def _spread(request: Request, judged: Judged, results: Sequence[TunedSource]) -> Replications | None:
    if len(results) < 2:
        return None
    rows = np.array([judged.statistics(request.metric, found.weights) for found in results])
    return replications(rows, request.metric)


def _interval(interval: Interval) -> str:
    return f"{interval.score:.2f} [{interval.low:.2f} {interval.high:.2f}]"


def _tell(request: Request, results: Sequence[TunedSource], spread: Replications | None, as_json: bool) -> None:
    if as_json:
        fields = [
            {key: value for key, value in _plain(found).items() if key not in {"weights", "records"}}
            for found in results
        ]
        print_json({"runs": fields, "spread": asdict(spread) if spread else None, "out": request.out})
        return
    name = request.metric.name
    for number, found in enumerate(results):
        rows = [["tuning", _interval(found.start), _interval(found.end)]]
        if found.held_out and found.held_out_start:
            rows.append(["held-out", _interval(found.held_out_start), _interval(found.held_out)])
        print_table([f"{name} run {number + 1}" if len(results) > 1 else name, "start", "end"], rows)
        click.echo(f"# {found.metric}|seed:{found.seed}|tuner:{found.tuner}|epoch:{found.best}")
    if spread is not None:
        text = "held-out" if request.held_out else "tuning"
        click.echo(f"{text} {name}: mean {spread.mean:.2f}, s.d. {spread.s_opt:.2f} over {len(results)} runs")
    if len(results) == 1:
        click.echo(curves.sketch(results[0].records))
    seconds = sum(found.seconds for found in results)
    click.echo(f"dragoman: {seconds:.1f} s, weights in {request.out}", err=True)


def _plain(found: TunedSource) -> dict[str, object]:
    made = {name: getattr(found, name) for name in TunedSource.__dataclass_fields__}
    return {key: asdict(value) if isinstance(value, Interval) else value for key, value in made.items()}
