"""`dragoman.tune`: weights for a metric, from n-best lists of any system or with a model's decoder in the loop."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

from dragoman import curves, registry, weights
from dragoman._core import parse_size, set_threads
from dragoman.common import Seeded, Threaded
from dragoman.decoder import Constraints, Decoder, DecoderSource, Search
from dragoman.engine import engine_of
from dragoman.errors import InputError, OptionError
from dragoman.features import files_of
from dragoman.files import write_text
from dragoman.glossary import FEATURE, Glossary, glossary_of
from dragoman.metrics import needs_references
from dragoman.metrics.format import digits
from dragoman.model import MANIFEST, USER, Model, derive, file_hash, is_model, weights_hash
from dragoman.options import check, made, option, options_of, plain
from dragoman.request import Request, asker
from dragoman.significance import Interval, Replications
from dragoman.tables import table
from dragoman.translator import Translator
from dragoman.tuning import NamedLimits, Pool, Problem, RunDir, Tuned, Tuner, Workspace, judge, replicate, sweep
from dragoman.tuning.pool import set_apart
from dragoman.tuning.problem import missing_of, some
from dragoman.tuning.replicate import spread
from dragoman.types import Candidates, Metric, Texts, Weights
from dragoman.verbs.inputs import (
    candidates_of,
    is_path,
    lines_of,
    metric_of,
    paths_of,
    references_of,
    tuner_of,
    weights_of,
    where,
)

__all__ = ["TuneOptions", "Tuning", "Watcher", "tune"]


def _size(text: str) -> None:
    parse_size(text)


@dataclass(frozen=True)
class TuneOptions(Threaded, Seeded):
    """How weights are tuned, besides the tuner's own options."""

    fix: tuple[str, ...] = option((), help="Features whose weights stay as they start.", metavar="NAME")
    bound: tuple[str, ...] = option(
        (), help="Bounds of weights: LM=0:1, or LM=0: for no upper one.", metavar="NAME=LOW:HIGH"
    )
    sweep: tuple[str, ...] = option(
        (),
        help="Try each value of the tuner's options (each combination) and keep the best on the held-out text.",
        metavar="OPTION=A,B",
    )
    select: Literal["best", "last"] | None = option(
        None,
        help="Which step's weights to take: the best on the held-out (else the tuning) text, or the last.",
        usual="last; with a model best",
    )
    keep_worse: bool = option(
        False, help="With lists: keep weights that end below the start on the tuning lists, instead of the start."
    )
    replications: int = option(1, help="Runs with different seeds: mean and spread.", min=1)
    epochs: int | None = option(
        None, help="With a model: passes, or rounds of batch tuners, at most.", min=1, usual="10"
    )
    nbest_size: int | None = option(
        None, help="With a model: candidates of each sentence.", min=2, usual="100", was=["size"]
    )
    memory: str | None = option(
        None,
        help="With a model, batch tuners: what the pool of all rounds may take before it goes to disk.",
        usual="4G",
        metavar="SIZE",
        valid=_size,
    )
    copy: bool = option(
        False, help="With a model: copy its tables to the tuned one, instead of sharing them where they are."
    )
    nbest_format: str = option(
        "auto", help="With lists: their format, moses, cdec, travatar, jsonl, or FILE.py:NAME.", metavar="FORMAT"
    )
    allow_missing: bool = option(False, help="With lists: tune on, though some sentences have no candidate at all.")
    engine: str = option("threads", help="Who does the work: threads, processes, or one of yours, FILE.py:NAME.")

    def __post_init__(self) -> None:
        check(self)
        if self.sweep and self.replications > 1:
            raise OptionError("a sweep and replications do not go together: sweep first, then repeat the best")


SEARCH_OPTIONS = tuple(name for name in options_of(Search) if name not in {"memory", "markup"})
"""Options of the search that tuning with a model takes, too."""


class Watcher(Protocol):
    """Somebody who is shown how far a run is."""

    def watching(
        self, decoder: Decoder | None, metric: Metric, epochs: int, texts: tuple[int, int]
    ) -> AbstractContextManager[Any]:
        """A context that gives a function for the record of each step; `texts`: sentences to tune on, and held out."""
        ...

    def note(self, text: str) -> None:
        """Something that happened."""
        ...

    def warning(self, text: str) -> None:
        """Something that the user should know."""
        ...


class _Silent:
    """Nobody looks."""

    def watching(
        self,
        decoder: Decoder | None,  # noqa: ARG002
        metric: Metric,  # noqa: ARG002
        epochs: int,  # noqa: ARG002
        texts: tuple[int, int],  # noqa: ARG002
    ) -> AbstractContextManager[Any]:
        return nullcontext(lambda _record: None)

    def note(self, text: str) -> None:
        """Is not heard."""

    warning = note


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tuning found: one run, several, or all variants of a sweep. Prints as a table."""

    runs: Sequence[Tuned]
    tried: Sequence[tuple[str, Tuned]]
    """The variants of a sweep, by their options."""
    metric: Metric
    modelled: bool
    """Whether a decoder was in the loop."""
    out: Path | None
    """Where the weights are."""
    across: Replications | None
    """Mean and spread over runs."""
    chosen: int = 0
    """The run whose weights are the result."""
    model: Path | None = None
    """The folder, if it is a model now: `dragoman.load` opens it."""
    chooses: str = ""
    """What the held-out text chose, if anything: its score is no test then."""

    @property
    def best(self) -> Tuned:
        """The run whose weights are the result."""
        return self.runs[self.chosen]

    @property
    def weights(self) -> Weights:
        """The result."""
        return self.best.weights

    @property
    def start(self) -> Interval:
        """The score of the tuning text under the start weights."""
        return self.best.start

    @property
    def end(self) -> Interval:
        """The score of the tuning text under the result."""
        return self.best.end

    @property
    def held_out(self) -> Interval | None:
        """The score of the held-out text under the result."""
        return self.best.held_out

    @property
    def warnings(self) -> list[str]:
        """What may not be as it should."""
        return [warning for run in self.runs for warning in run.warnings]

    @property
    def _text(self) -> str:
        return "tuning" if self.modelled else "pool"

    def __str__(self) -> str:
        name, d = self.metric.name, digits(self.metric)
        parts = []
        if self.tried:
            rows = [
                [options, f"{t.end.score:.{d}f}", f"{t.held_out.score:.{d}f}" if t.held_out else ""]
                for options, t in self.tried
            ]
            parts += [table(["options", f"{name} {self._text}", f"{name} held-out"], rows), ""]
        for number, found in enumerate(self.runs):
            parts.append(self._table(found, f"{name} run {number + 1}" if len(self.runs) > 1 else name))
        if self.chooses and self.best.held_out is not None:
            parts.append(f"# the held-out text chose {self.chooses}, so its score flatters: judge on a test text")
        if self.across is not None:
            parts.append(self._spread(self.across))
        return "\n".join(parts)

    def _spread(self, across: Replications) -> str:
        d, count = digits(self.metric), len(self.runs)
        text = "held-out" if self.best.held_out else self._text
        line = f"{text} {self.metric.name}: mean {across.mean:.{d}f}, s.d. {across.s_opt:.{d}f} over {count} runs"
        if self.identical:
            line += "\nall runs ended with the same weights: this tuner, with these options, draws no random numbers "
            line += "that matter"
        if self.out is not None:
            line += f"\nthe result is run {self.chosen + 1}, the median"
        return line

    @property
    def identical(self) -> bool:
        """Whether several runs ended with the same weights."""
        first = self.runs[0].weights
        return len(self.runs) > 1 and all(
            len(run.weights) == len(first) and (run.weights.align(first.names) == first.values).all()
            for run in self.runs
        )

    def _table(self, found: Tuned, title: str) -> str:
        d = digits(self.metric)

        def interval(x: Interval) -> str:
            return f"{x.score:.{d}f} [{x.low:.{d}f} {x.high:.{d}f}]"

        oracle = [] if found.oracle is None else [f"{found.oracle:.{d}f}"]
        rows = [[self._text, interval(found.start), interval(found.end), *oracle]]
        if found.held_out and found.held_out_start:
            rows.append(
                ["held-out", interval(found.held_out_start), interval(found.held_out), *([""] if oracle else [])]
            )
        lines = [table([title, "start", "end", *(["oracle"] if oracle else [])], rows)]
        for about, names in (("zero", found.zeros), ("at a bound", found.at_bound)):
            if names and (found.oracle is not None or about == "at a bound"):
                lines.append(f"# {about}: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}")
        epoch = f"|epoch:{found.best}" if self.modelled else ""
        return "\n".join([*lines, f"# {found.metric}|seed:{found.seed}|tuner:{found.tuner}{epoch}"])

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        shown: dict[str, Any]
        if self.modelled or len(self.runs) > 1:
            shown = {"runs": [_plain(found) for found in self.runs], "out": None if self.out is None else str(self.out)}
            shown["spread"] = asdict(self.across) if self.across else None
        else:
            shown = _with_weights(self.runs[0])
        if self.model is not None:
            shown["model"] = str(self.model)
        if self.tried:
            shown["sweep"] = [{"options": name, **_with_weights(found)} for name, found in self.tried]
        return shown


_HIDDEN = {"weights", "trace", "rows", "held_out_texts"}
"""Fields of a result that JSON does not show."""


def _plain(found: Tuned) -> dict[str, Any]:
    fields = {name: getattr(found, name) for name in Tuned.__dataclass_fields__ if name not in _HIDDEN}
    return {key: asdict(value) if isinstance(value, Interval) else value for key, value in fields.items()}


def _with_weights(found: Tuned) -> dict[str, Any]:
    return {**_plain(found), "weights": found.weights.to_dict() if len(found.weights) <= 10_000 else None}


def tune(
    what: Any,
    references: Any = None,
    metric: Metric | str | None = None,
    tuner: Tuner | str | None = None,
    *,
    source: Any = None,
    held_out: Any = None,
    held_out_references: Any = None,
    start: Any = "auto",
    features: str | None = None,
    glossary: Any = None,
    glossary_weight: float | None = None,
    tokenized: bool = False,
    trust: bool = False,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    trace: str | PathLike[str] | None = None,
    curve: str | PathLike[str] | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> Tuning:
    """Finds the weights that maximise a metric.

    `what` is tuned: n-best lists of any system (a file or several, records, `Candidates`), or a model (a folder, an
    archive, or `dragoman.load(...)`) whose decoder makes new lists as it goes, from the lines of `source`. `references`
    are a file, a string for each sentence, or a list of strings for each; None where the metric needs none. `held_out`
    is a share of the text (0.2), or further lists or source lines with `held_out_references`: it chooses the step and
    the variant of a sweep, so it is not a test set. `start` are weights, or `auto`, `fit`, `ones`.

    The result goes to `out`: a file of weights or, with a model, a folder that is a model itself, for `dragoman.load`.
    It shares large tables with the one that was tuned, unless `copy` copies them; `trust` runs what that one brings
    along in Python. With a `glossary` (a file, a mapping, pairs) the weight of its terms is tuned with the others, from
    `glossary_weight` on, and the tuned model keeps both. The same call again goes on with a run that was interrupted;
    another one in its place is refused, unless `overwrite` says otherwise. Options are those of `TuneOptions`, by name:
    `replications=3`, `epochs=20`, `sweep=["c=0.01,0.1"]`, `seed=1`.
    """
    searching = {name: options.pop(name) for name in SEARCH_OPTIONS if name in options}
    o = made(TuneOptions, options, what="tune")
    modelled = _is_model(what)
    watch = watcher or _Silent()
    chosen = tuner_of(tuner if tuner is not None else _usual(modelled, features))
    variants = sweep.variants(chosen, o.sweep)
    if o.sweep and held_out is None:
        raise OptionError("a sweep chooses on held-out text: give a share, --held-out 0.2, or text of its own")
    if curve is not None and importlib.util.find_spec("matplotlib") is None:
        raise OptionError("a learning curve as a picture needs matplotlib: pip install 'dragoman[plots]'")
    limits = NamedLimits(o.fix, dict(_bound(text) for text in o.bound))
    form = metric_of(metric if metric is not None else "bleu:tokenize=none" if modelled else "bleu")
    place = None if out is None else Path(out)
    if o.threads is not None:
        set_threads(o.threads)
    engine = engine_of(o.threads, o.engine)
    request = _Request(
        what, source, references, form, held_out, held_out_references, start, features, glossary, glossary_weight,
        tokenized, trust, limits, o, searching,
    )  # fmt: skip
    job = (_model_job if modelled else _list_job)(request, place, watch)
    job.trace, job.curve = None if trace is None else Path(trace), None if curve is None else Path(curve)
    settings = {"select": o.select, "resume": not overwrite, "seed": o.seed, "engine": engine}
    if job.modelled is None:
        settings["keep_worse"] = o.keep_worse
        _refuse_other(place, overwrite, chosen, form, o)
    else:
        job.begin(chosen, o, overwrite)
    step = (o.select or ("best" if modelled else "last")) == "best"
    if o.sweep:
        tried = job.sweep(variants, settings)
        runs, number, across = [sweep.best(tried, form)], 0, None
        chooses = "the variant and its step" if step else "the variant"
    else:
        tried = []
        runs, number = job.run(chosen, o.replications, settings)
        chooses, across = "the step" if step else "", spread(job.problem, runs)
    made_of = job.seal(runs[number], o) if job.modelled is not None else None
    return Tuning(runs, tried, form, modelled, place, across, number, made_of, chooses)


@dataclass(frozen=True)
class _Request:
    """What is asked for."""

    what: Any
    source: Any
    references: Any
    metric: Metric
    held_out: Any
    held_out_references: Any
    start: Any
    features: str | None
    glossary: Any
    glossary_weight: float | None
    tokenized: bool
    trust: bool
    limits: NamedLimits
    options: TuneOptions
    search: Mapping[str, Any]
    """Options of the search that were given."""

    @property
    def share(self) -> float | None:
        """The share of the text that is held out, if it is one."""
        if isinstance(self.held_out, (int, float)) and not isinstance(self.held_out, bool):
            if not 0 < self.held_out < 1:
                raise OptionError(f"a held-out share lies between 0 and 1, found {self.held_out}")
            return float(self.held_out)
        return None


def _is_model(what: Any) -> bool:
    if isinstance(what, (Translator, Decoder, Model)):
        return True
    return is_path(what) and is_model(what)


def _usual(modelled: bool, features: str | None) -> str:
    """The tuner where none is named: one for fixed lists, for rounds with a decoder, or for thousands of features."""
    if not modelled:
        return "mert"
    return "adagrad" if features else "smooth-mert"


def _bound(text: str) -> tuple[str, tuple[float, float]]:
    name, given, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    try:
        bounds = (float(low or "-inf"), float(high or "inf"))
    except ValueError:
        colon = ""
    if not (name and given and colon):
        raise OptionError(f"a bound is NAME=LOW:HIGH, found `{text}`")
    return name, bounds


@dataclass
class _Modelled:
    """A model, ready to be tuned."""

    decoder: Decoder
    tokenized: bool
    sentences: int
    held_out: int
    apart: _Text | None = None
    """The share of the text that is held out."""

    def readable(self, lines: Texts) -> Texts | list[str]:
        """Translations as people read them, unless the texts are tokenised."""
        return lines if self.tokenized else self.decoder.text.after(lines.to_list())


@dataclass
class _Job:
    """What to tune and where it goes: lists or a model, one run or several."""

    problem: Problem
    start: Any
    out: Path | None
    """A file for weights, or with a model a folder."""
    watch: Watcher
    about: dict[str, Any] | None = None
    rounds: int | None = None
    modelled: _Modelled | None = None
    trace: Path | None = None
    curve: Path | None = None

    def place(self, mark: str = "", keep: bool = False) -> RunDir:
        """Where a run is kept; `mark` tells several apart."""
        trace = None if self.trace is None else _marked(self.trace, mark)
        if self.out is None:
            return RunDir(trace=trace)
        if self.modelled is not None:
            return RunDir(self.out / mark if mark else self.out, trace=trace, untrue=[self.out / MANIFEST])
        return RunDir.beside(_marked(self.out, mark), trace, keep=keep)

    def begin(self, tuner: Tuner, o: TuneOptions, overwrite: bool) -> None:
        """Several runs of a model have a folder each, and one around them, which must not hold another result."""
        if self.out is None:
            return
        several: dict[str, Any] = {"tuner": registry.name_of("tuner", tuner), "metric": self.problem.metric.signature()}
        if o.sweep:
            several["sweep"] = list(o.sweep)
        elif o.replications > 1:
            several |= {"replications": o.replications, "seed": o.seed}
        else:
            several = {}
        RunDir(self.out, untrue=[self.out / MANIFEST]).begin_several(several, not overwrite)

    def seal(self, found: Tuned, o: TuneOptions) -> Path | None:
        """Makes a model of the folder with the result; one with features from memory cannot be a model."""
        if self.out is None or self.modelled is None:
            return None
        if self.modelled.apart is not None:
            self.modelled.apart.save(self.out)
        decoder = self.modelled.decoder
        described = [part.name for part in decoder.model.parts if part.kind == USER]
        lost = [feature.name for feature in decoder.extra if feature.name not in described]
        if lost:
            self.watch.warning(
                f"{self.out}: has weights, but is no model: the feature `{lost[0]}` was made in memory and cannot go "
                "with it; load it from a file, FILE.py:NAME"
            )
            return None
        if decoder.glossary is not None and not decoder.counts_terms:
            self.watch.warning(
                "terms of the glossary were forced: they have no weight, and the tuned model does not keep them; give "
                "the glossary again when it translates, or tune with a glossary_weight"
            )
        with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
            model = _kept(decoder, Path(folder))
            derive(self.out, model, search=_settings(decoder), tuned=self._about(found, o), copy=o.copy)
        return self.out

    def _about(self, found: Tuned, o: TuneOptions) -> dict[str, Any]:
        """How a model was tuned, for those who look at it."""
        assert self.modelled is not None
        about: dict[str, Any] = {
            "tuner": found.tuner, "metric": found.metric, "seed": found.seed, "epochs": found.steps,
            "epoch": found.best, "sentences": self.modelled.sentences, "start": found.start.score,
            "end": found.end.score,
        }  # fmt: skip
        if found.held_out is not None and found.held_out_start is not None:
            about |= {"held_out_sentences": self.modelled.held_out, "held_out_start": found.held_out_start.score}
            about |= {"held_out": found.held_out.score}
        if o.replications > 1:
            about["replications"] = o.replications
        if o.sweep:
            about["sweep"] = list(o.sweep)
        return about

    def run(self, tuner: Tuner, count: int, settings: dict[str, Any]) -> tuple[list[Tuned], int]:
        """One run, or several with other seeds, and the number of the one that is the result: the median."""
        marks = [""] if count == 1 else [f"run{number + 1}" for number in range(count)]
        places = [self.place(mark, keep=count > 1) for mark in marks]

        def began(number: int) -> None:
            self._ready(places[number])
            if count > 1:
                self.watch.note(f"run {number + 1} of {count}")

        done: list[Tuned] = []

        def ended(found: Tuned) -> None:
            done.append(found)
            self._tell(found, places[len(done) - 1], marks[len(done) - 1])

        with self._watching() as progress:
            results = replicate(
                self.problem, tuner, count, places.__getitem__, began=began, ended=ended, start=self.start,
                rounds=self.rounds, about=self.about, progress=progress, **settings,
            )  # fmt: skip
        if count == 1:
            return results, 0
        order = sorted(range(count), key=lambda number: self._key(results[number]))
        median = order[(count - 1) // 2]
        self._adopt(places, median)
        return results, median

    def sweep(self, variants: Sequence[sweep.Variant], settings: dict[str, Any]) -> list[tuple[str, Tuned]]:
        """A run for each variant; the best of these gives the result."""
        places = [self.place(f"sweep{number + 1}", keep=True) for number in range(len(variants))]
        for place in places:
            self._ready(place)
        with self._watching() as progress:
            tried = sweep.run(
                self.problem, variants, places.__getitem__, start=self.start, rounds=self.rounds, about=self.about,
                progress=progress, **settings,
            )  # fmt: skip
        chosen = sweep.best(tried, self.problem.metric)
        for warning in chosen.warnings:
            self.watch.warning(warning)
        self._adopt(places, next(number for number, (_, found) in enumerate(tried) if found is chosen))
        return tried

    def _key(self, found: Tuned) -> float:
        return self.problem.sign * (found.held_out or found.end).score

    def _ready(self, place: RunDir) -> None:
        if place.folder is not None:
            _writable_folder(place.folder)

    def _watching(self) -> AbstractContextManager[Any]:
        decoder = None if self.modelled is None else self.modelled.decoder
        texts = (0, 0) if self.modelled is None else (self.modelled.sentences, self.modelled.held_out)
        return self.watch.watching(decoder, self.problem.metric, self.rounds or 0, texts)

    def _tell(self, found: Tuned, place: RunDir, mark: str) -> None:
        """What a run leaves besides its weights."""
        if self.curve is not None:
            curves.save(found.trace, _marked(self.curve, mark), self.problem.metric.name)
        for warning in found.warnings:
            self.watch.warning(warning)
        if place.folder is not None and self.modelled is not None:
            curves.save(found.trace, place.folder / "curve.png", self.problem.metric.name)
            if found.held_out_texts is not None:
                write_text(place.folder / "held-out.txt", self.modelled.readable(found.held_out_texts))

    def _adopt(self, places: Sequence[RunDir], chosen: int) -> None:
        """The weights of one run are the result; only then may checkpoints of lists go."""
        source = places[chosen].out
        if source is None or self.out is None:
            return
        target = self.out / "weights.toml" if self.modelled else self.out
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        shutil.copyfile(source, partial)
        partial.replace(target)
        if self.modelled is None:
            for place in places:
                place.remove()


def _marked(path: Path, mark: str) -> Path:
    """A file name with a mark before its ending, to tell several runs apart."""
    return path.with_name(f"{path.stem}.{mark}{path.suffix}") if mark else path


# Over n-best lists.


def _list_job(request: _Request, out: Path | None, watch: Watcher) -> _Job:
    o = request.options
    for name in ("source", "features", "glossary", "glossary_weight", "tokenized"):
        if getattr(request, name) not in (None, False):
            raise OptionError(f"{name} is for tuning with a model, not for fixed lists")
    for name in ("epochs", "nbest_size", "memory", "copy"):
        if getattr(o, name) not in (None, False):
            raise OptionError(f"{name} is for tuning with a model, not for fixed lists")
    if request.search:
        raise OptionError(f"{next(iter(request.search))} is for tuning with a model, not for fixed lists")
    share, form = request.share, request.metric
    if share is not None and request.held_out_references is not None:
        raise OptionError("a share of the lists has its references already: leave the held-out references out")
    given = request.held_out is not None and share is None
    if needs_references(form) and given != (request.held_out_references is not None):
        raise OptionError("held-out lists need their references, and the other way round")
    pool = _pool(form, request.what, request.references, o, watch)
    other = None
    if share is not None:
        pool, other = pool.split(share, o.seed)
    elif given:
        other = _pool(form, request.held_out, request.held_out_references, o, watch)
        if _same(pool.candidates.texts, other.candidates.texts):
            watch.warning(_SAME_TEXT)
    if out is not None:
        _writable_file(out)
    start = request.start
    first = start if isinstance(start, str) and start in {"auto", "fit", "ones"} else weights_of(start)
    problem = Problem.of_pool(pool, limits=request.limits, held_out=None if other is None else Problem.of_pool(other))
    return _Job(problem, first, out, watch)


def _pool(form: Metric, lists: Any, references: Any, o: TuneOptions, watch: Watcher) -> Pool:
    if references is None and needs_references(form):
        raise OptionError("expected references of the lists: a file with a line for each sentence, or a list")
    candidates, allow_missing = candidates_of(lists, o.nbest_format), o.allow_missing
    found = references_of(references) if references is not None else _none(candidates)
    missing = missing_of(candidates, found) if allow_missing else []
    if missing:
        watch.warning(f"{some(missing)} sentences have no candidate and are left out")
    return judge(candidates, found, form, allow_missing=allow_missing)


def _none(candidates: Candidates) -> list[list[str]]:
    """References for a metric that needs none."""
    ids = candidates.ids.to_list()
    return [[] for _ in range(max(map(int, ids)) + 1 if all(i.isdecimal() for i in ids) else len(ids))]


def _refuse_other(out: Path | None, overwrite: bool, tuner: Tuner, form: Metric, o: TuneOptions) -> None:
    """Weights of another run are not replaced without a word."""
    if out is None or overwrite or not out.exists():
        return
    about = weights.about(out)
    mine = {"tuner": registry.name_of("tuner", tuner), "metric": form.signature(), "seed": o.seed}
    if o.sweep or o.replications > 1:
        del mine["seed"]
    theirs = {name: about.get(name) for name in mine}
    if o.sweep:  # it chose some of the options
        mine["tuner"], theirs["tuner"] = (str(spec["tuner"]).partition(":")[0] for spec in (mine, theirs))
    if theirs != mine:
        different = next((f"{name} {value}" for name, value in theirs.items() if value != mine[name]), "another run")
        what = f"weights of another run ({different})" if about else "other weights"
        raise InputError(f"{out}: holds {what}; --overwrite replaces them", str(out))


def _writable_file(path: Path) -> None:
    """Says now, not after the work, that a result could not be written."""
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: cannot be written: {folder} is missing or read-only", str(path))


# With a decoder in the loop.


def _model_job(request: _Request, out: Path | None, watch: Watcher) -> _Job:
    o = request.options
    if request.source is None:
        raise OptionError("a model needs the source text that the references translate: --src dev.de")
    if request.references is None:
        raise OptionError("expected references of the source text: --refs dev.en")
    if o.allow_missing:
        raise OptionError("allow_missing is for n-best lists: a model makes its own")
    decoder = _decoder(request)
    text = _Text.read(request.source, request.references)
    other = None
    share = request.share
    if share is not None:
        if request.held_out_references is not None:
            raise OptionError("a share of the text has its references already: leave the held-out references out")
        text, other = text.split(share, o.seed)
    elif (request.held_out is None) != (request.held_out_references is None):
        raise OptionError("a held-out text is source lines with their references, or a share of the text: 0.2")
    elif request.held_out is not None:
        other = _Text.read(request.held_out, request.held_out_references)
        _warn_of_same(text, other, watch)
    unknown = [part.name for part in decoder.model.parts if part.kind == "unknown-penalty"]
    given = request.limits
    limits = replace(given, fixed=(*given.fixed, *(name for name in unknown if name not in given.names)))
    size = o.nbest_size or 100
    held_out = other.problem(decoder, request, 1) if other else None
    space = Workspace(memory=parse_size(o.memory or "4G"))
    problem = text.problem(decoder, request, size, held_out=held_out, limits=limits, workspace=space)
    automatic = isinstance(request.start, str) and request.start == "auto"
    start = decoder.weights if automatic else weights_of(request.start)
    if out is not None:
        _refuse_model(out, decoder.model)
        _writable_folder(out)
    about = _about(request, decoder, size, text, other)
    modelled = _Modelled(decoder, request.tokenized, len(text.source), 0 if other is None else len(other.source))
    modelled.apart = other if share is not None else None
    return _Job(problem, start, out, watch, about, o.epochs or 10, modelled)


def _kept(decoder: Decoder, folder: Path) -> Model:
    """The model with a file for the terms of its glossary, where these are not its own."""
    terms, model = decoder.glossary, decoder.model
    own = next((part for part in model.parts if part.kind == FEATURE.lower()), None)
    if terms is None or own is None:
        return model
    place = terms.path
    if place is None:
        place = folder / "glossary.tsv"
        terms.save(place)
    name = own.options.get("path")
    if name is not None and model.file(str(name)).resolve() == place.resolve():
        return model
    named = replace(own, options={"path": os.fspath(place.resolve())})
    return replace(model, parts=tuple(named if part is own else part for part in model.parts))


_SAME_TEXT = (
    "the held-out text is the tuning text: what chooses the step must be text that the tuner did not see; "
    "--held-out 0.2 sets some apart"
)


def _same(one: Texts, other: Texts) -> bool:
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def _warn_of_same(text: _Text, other: _Text, watch: Watcher) -> None:
    """A held-out text that is, mostly, the tuning text can choose nothing."""
    seen = {(line, tuple(refs)) for line, refs in zip(text.source, text.references, strict=True)}
    again = sum((line, tuple(refs)) in seen for line, refs in zip(other.source, other.references, strict=True))
    if again == len(other.source):
        watch.warning(_SAME_TEXT)
    elif 2 * again > len(other.source):
        watch.warning(f"{again} of the {len(other.source)} held-out sentences are in the tuning text, too")


def _refuse_model(out: Path, model: Model) -> None:
    """A model that no run of tuning made here is never replaced."""
    mine = [model.folder, *([model.base.folder] if model.base else [])]
    if out.exists() and any(out.resolve() == folder.resolve() for folder in mine):
        raise InputError(
            f"{out}: is the model that is tuned, or its base: the tuned one needs another folder", str(out)
        )
    if (out / MANIFEST).exists() and not (out / "config.toml").exists():
        raise InputError(f"{out}: holds a model that no tuning made; use another folder", str(out))


def _settings(decoder: Decoder) -> dict[str, Any]:
    """The search settings that a tuned model wants: those of its base and those it was tuned with."""
    usual, now = plain(Search()), plain(decoder.search)
    wanted = [
        name for name in now if name in decoder.model.search or (name in SEARCH_OPTIONS and now[name] != usual[name])
    ]
    return {name: now[name] for name in wanted}


def _decoder(request: _Request) -> Decoder:
    what, o = request.what, request.options
    if isinstance(what, Translator):
        what = what.decoder
    if isinstance(what, Decoder):
        for name in ("features", "glossary", "glossary_weight"):
            if getattr(request, name) is not None:
                raise OptionError(f"this model is loaded already: give {name} to `load`")
        decoder = what
    else:
        opened = what if isinstance(what, Model) else Model.open(what)
        terms = _terms(opened, request.glossary, request.glossary_weight)
        decoder = Decoder(opened, features=request.features, threads=o.threads, trust=request.trust, glossary=terms)
    decoder.search = made(Search, request.search, base=decoder.search, what="tune")
    return decoder


_GLOSSARY_START = 1.0
"""The weight of a glossary before tuning: that of two or three times the probability, after a scaling of 1."""


def _terms(model: Model, given: Any, weight: float | None) -> Glossary | None:
    """The glossary whose weight is tuned; the model's own keeps its weight, unless it is said otherwise."""
    if weight is not None and not math.isfinite(weight):
        raise OptionError(f"tuning finds the weight of a glossary and starts from a number, found {weight}")
    terms = glossary_of(model, given, weight)
    if terms is None or terms.weight is not None or FEATURE in model.weights.names:
        return terms
    return terms.weighted(_GLOSSARY_START)


@dataclass(frozen=True)
class _Text:
    """A source text with its references, as people write it, and the files that it came from."""

    source: Sequence[str]
    references: Sequence[Sequence[str]]
    files: Sequence[str] = field(default=())

    @classmethod
    def read(cls, source: Any, references: Any) -> _Text:
        lines = lines_of(source, "source text").to_list()
        found = references_of(references)
        place, other = where(source, "source text"), where(references, "references")
        if len(found) != len(lines):
            line = min(len(found), len(lines)) + 1
            raise InputError(
                f"{other}:{line}: expected {len(lines)} lines as in {place}, found {len(found)}", other, line
            )
        empty = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
        if empty is not None:
            raise InputError(f"{place}:{empty}: an empty line has nothing to tune on", place, empty)
        return cls(lines, found, [*paths_of(source), *paths_of(references)])

    def split(self, share: float, seed: int) -> tuple[_Text, _Text]:
        """What is left, and the share that is held out."""
        parts = set_apart(len(self.source), share, seed)
        rest, apart = (
            _Text([self.source[int(i)] for i in part], [self.references[int(i)] for i in part], self.files)
            for part in parts
        )
        return rest, apart

    def problem(self, decoder: Decoder, request: _Request, size: int, **more: Any) -> Problem:
        """The text, tokenised and cased as the model has it."""
        source, references = self.source, self.references
        constraints = None
        if decoder.glossary is not None:
            asked = _asked(decoder, source, request.tokenized)
            source, constraints = [each.ready for each in asked], [each.constraints or Constraints() for each in asked]
        elif not request.tokenized:
            source = decoder.text.before(source)
        if not request.tokenized:
            flat = decoder.text.reference([text for texts in references for text in texts])
            ends = iter(flat)
            references = [[next(ends) for _ in texts] for texts in references]
        lines = DecoderSource(decoder, source, size, constraints=constraints)
        return Problem.of_source(lines, references, request.metric, **more)

    def save(self, folder: Path) -> None:
        """Writes what was held out, so that it can be looked at."""
        write_text(folder / "held-out.src", list(self.source))
        for number in range(min(len(texts) for texts in self.references)):
            write_text(folder / f"held-out.ref.{number}", [texts[number] for texts in self.references])

    def digest(self) -> str:
        """A short hash of all lines."""
        whole = hashlib.blake2b(digest_size=12)
        for line, texts in zip(self.source, self.references, strict=True):
            whole.update("\t".join([line, *texts]).encode() + b"\n")
        return whole.hexdigest()


def _asked(decoder: Decoder, lines: Sequence[str], tokenized: bool) -> list[Request]:
    """Lines with the terms of the glossary that are in them."""
    ask = asker(decoder.text, decoder.glossary, decoder.weights, featured=decoder.counts_terms, tokenized=tokenized).ask
    return [ask(line) for line in lines]


def _about(
    request: _Request, decoder: Decoder, size: int, text: _Text, other: _Text | None
) -> dict[str, str | int | float | bool]:
    """What the result depends on, besides tuner and plan."""
    start = request.start
    automatic = isinstance(start, str) and start == "auto"
    return {
        "model": decoder.model.state,
        "features": request.features or "",
        "user_files": " ".join(file_hash(path) for path in files_of(request.features or "")),
        "search": repr(decoder.search),
        "glossary": "" if decoder.glossary is None else decoder.glossary.digest,
        "size": size,
        "tokenized": request.tokenized,
        "held_out_share": request.share or 0.0,
        "inputs": " ".join(part.digest() for part in (text, other) if part is not None),
        "start": weights_hash(decoder.weights) if automatic else _start_hash(start),
    }


def _start_hash(start: Any) -> str:
    values = weights_of(start).to_dict() if not is_path(start) else None
    if values is None:
        return file_hash(Path(start))
    return hashlib.blake2b(repr(sorted(values.items())).encode(), digest_size=16).hexdigest()


def _writable_folder(folder: Path) -> None:
    """Says now, not after the work, that a result could not be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}", str(folder)) from None
