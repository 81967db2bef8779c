"""`dragoman tune` and `dragoman rerank`."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dragoman import curves, nbest, reranking, weights
from dragoman._core import parse_size, set_threads
from dragoman.cli import tune_model, tune_report
from dragoman.cli.arguments import Command, as_json, own_option, refs_option, seed_option
from dragoman.cli.progress import steps
from dragoman.engine import engine_of
from dragoman.errors import InputError
from dragoman.files import read_parallel, write_text
from dragoman.metrics import metric_from, needs_references
from dragoman.tuning import (
    NamedLimits,
    Pool,
    Problem,
    RunDir,
    Tuned,
    Tuner,
    adjusted,
    judge,
    replicate,
    sweep,
    tuner_from,
)
from dragoman.tuning.problem import missing_of, some
from dragoman.types import Candidates, Metric, Names

__all__ = ["rerank", "tune"]


def _nbest_option(required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about = "N-best lists; several make one pool."
    return click.option("--nbest", "lists", multiple=True, required=required, metavar="FILE...", help=about)


_MODEL = (
    click.option("--model", metavar="FOLDER", help="Tune this model's own decoder instead of fixed lists."),
    click.option("--features", metavar="SETS", help="With --model: sparse feature sets to add, e.g. pt,al,lo."),
    own_option,
    click.option("--src", metavar="FILE", help="With --model: the source text of --refs."),
    click.option(
        "--tokenized", is_flag=True, help="With --model: all texts are tokenised and cased, as the model has them."
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        help="With --model, batch tuners: what the pool of all rounds may take before it goes to disk.  [default: 4G]",
    ),
    click.option(
        "--epochs",
        type=click.IntRange(min=1),
        help="With --model: passes, or rounds of batch tuners, at most.  [default: 10]",
    ),
    click.option(
        "--size", type=click.IntRange(min=2), help="With --model: candidates of each sentence.  [default: 100]"
    ),
    click.option(
        "--mode",
        type=click.Choice(["auto", "batch", "online"]),
        help="With --model: rounds on a pool, or an update after every few sentences.  [default: what suits the tuner]",
    ),
    click.option(
        "--stale",
        type=click.IntRange(min=0),
        help="With --model, online: batches that are decoded ahead of the updates.  [default: 3]",
    ),
    click.option(
        "--shards",
        type=click.IntRange(min=1),
        help="With --model, online MIRA: shards that learn apart and are averaged.  [default: 1]",
    ),
    click.option("--stack-size", type=click.IntRange(min=1), help="With --model: as for `dragoman translate`."),
    click.option("--pop-limit", type=click.IntRange(min=0), help="With --model: as for `dragoman translate`."),
)


def _model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_MODEL):
        command = option(command)
    return command


@click.command(cls=Command)
@_nbest_option(required=False)
@refs_option
@click.option(
    "--metric",
    "-m",
    help="What to maximise, as for `dragoman score`.  [default: bleu; with --model bleu:tokenize=none]",
)
@click.option(
    "--tuner",
    "-t",
    help="mert, smooth-mert, pro, mira, kbmira, adagrad, online, phrasal, risk or, with --model, lattice-mira or "
    "samplerank; options after a colon: mert:starts=5,l2=0.1.  [default: mert; with --model smooth-mert, or "
    "adagrad if there are --features]",
)
@click.option(
    "--out",
    "-o",
    metavar="FILE",
    help="Where the weights go; with --model a folder for all of the run.  [default: weights.toml; with --model tuned]",
)
@click.option(
    "--held-out",
    multiple=True,
    metavar="SHARE|FILE...",
    help="Sentences to judge the result on (and to choose the step by: --select): a share of the list or text (0.2), "
    "or others with --held-out-refs.",
)
@click.option("--held-out-refs", multiple=True, metavar="FILE...", help="References of the held-out lists or text.")
@click.option(
    "--start",
    default="auto",
    show_default=True,
    help="Start weights: a file, `ones`, `fit` (those that made the list), or `auto` (fit if it can, else ones); with "
    "--model a file, or `auto`, the model's own.",
)
@click.option("--fix", "fixed", multiple=True, metavar="NAME...", help="Features whose weights stay as they start.")
@click.option("--bound", "bounds", multiple=True, metavar="NAME=LOW:HIGH...", help="Bounds of weights: LM=0:1 or LM=0:")
@click.option(
    "--sweep",
    "grid",
    multiple=True,
    metavar="OPTION=A,B...",
    help="Try each value of the tuner's options (each combination) and keep the best on the held-out set.",
)
@click.option(
    "--select",
    type=click.Choice(["best", "last"]),
    help="Which step's weights to take: the best on the held-out (else the tuning) text, or the last.  [default: last; "
    "with --model best]",
)
@click.option(
    "--replications",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Runs with different seeds: mean and spread.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use.  [default: all cores]")
@click.option(
    "--engine", default="threads", show_default=True, help="Who does the work: threads, or processes of this machine."
)
@click.option(
    "--allow-missing", is_flag=True, help="With --nbest: tune on, though some sentences have no candidate at all."
)
@click.option("--trace", metavar="FILE", help="Write a JSON line for each step.")
@click.option(
    "--curve", metavar="FILE.png", help="Draw the learning curve (with --model it is in the run's folder, too)."
)
@click.option("--resume", is_flag=True, help="Go on with a run that was killed.")
@_model_options
@seed_option
@as_json
def tune(
    lists: tuple[str, ...],
    refs: tuple[str, ...],
    metric: str | None,
    tuner: str | None,
    out: str | None,
    held_out: tuple[str, ...],
    held_out_refs: tuple[str, ...],
    start: str,
    fixed: tuple[str, ...],
    bounds: tuple[str, ...],
    grid: tuple[str, ...],
    select: str | None,
    replications: int,
    threads: int | None,
    engine: str,
    allow_missing: bool,
    trace: str | None,
    curve: str | None,
    resume: bool,
    seed: int,
    as_json: bool,
    **decoding: Any,
) -> None:
    """Find the weights that maximise a metric, on n-best lists of any system or with the decoder in the loop.

    \b
    dragoman tune --nbest dev.nbest.gz --refs dev.ref* --metric bleu --tuner mert --held-out 0.2
    dragoman tune --nbest dev.jsonl --refs dev.en --metric chrf --tuner kbmira --out w.toml
    dragoman tune --nbest dev.nbest --refs dev.en --tuner mert --sweep l2=0.01,0.1,1 --held-out 0.3

    Then choose with them: dragoman rerank --weights w.toml --nbest test.nbest.gz > test.out

    \b
    dragoman tune --model model --src dev.de --refs dev.en --tuner kbmira --out tuned
    dragoman translate --model model --weights tuned/weights.toml < test.de > test.out
    """
    modelled = decoding["model"] is not None
    workers = engine_of(threads, engine)
    if threads is not None:
        set_threads(threads)
    made = adjusted(
        tuner_from(tuner or _usual(decoding)),
        {name: decoding[name] for name in ("mode", "stale", "shards") if decoding[name] is not None},
    )
    variants = sweep.variants(made, grid)
    limits = NamedLimits(fixed, dict(_bound(text) for text in bounds))
    share = _share(held_out)
    if grid and not held_out:
        raise click.UsageError("--sweep chooses on held-out sentences: add --held-out 0.2, or lists of their own")
    if grid and replications > 1:
        raise click.UsageError("--sweep and --replications do not go together: sweep first, then repeat the best")
    if modelled:
        if lists:
            raise click.UsageError("--nbest has fixed lists, and is not for --model, which makes its own")
        form = metric_from(metric or "bleu:tokenize=none")
        request = tune_model.Request(
            decoding["model"], decoding["src"], refs, form, decoding["size"] or 100, share or held_out, held_out_refs,
            None if start == "auto" else start, decoding["features"], threads,
            {key: decoding[key] for key in ("stack_size", "pop_limit") if decoding[key] is not None},
            decoding["tokenized"], decoding["own"], limits, parse_size(decoding["memory"] or "4G"), seed,
        )  # fmt: skip
        setting = tune_model.open_model(request, Path(out or "tuned"))
        job = _Job(
            setting.problem, setting.start, Path(out or "tuned"), setting.about, decoding["epochs"] or 10, setting
        )
    else:
        _refuse_model_options(decoding)
        if not lists:
            raise click.UsageError("expected --nbest, or --model with --src")
        form = metric_from(metric or "bleu")
        first = start if start in {"auto", "fit", "ones"} else weights.load(start)
        pool, other = _pools(form, lists, refs, held_out, held_out_refs, seed, allow_missing)
        _writable(out or "weights.toml", trace)
        problem = Problem.of_pool(pool, limits=limits, held_out=None if other is None else Problem.of_pool(other))
        job = _Job(problem, first, Path(out or "weights.toml"))
    job.trace, job.curve = Path(trace) if trace else None, Path(curve) if curve else None
    if curve and importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("--curve needs matplotlib: pip install 'dragoman[plots]'")
    options = {"select": select, "resume": resume, "seed": seed, "engine": workers}
    if grid:
        tried = job.sweep(variants, options)
        tune_report.show([sweep.best(tried, form)], tried, job, as_json)
    else:
        tune_report.show(job.run(made, replications, options), None, job, as_json)


@dataclass
class _Job:
    """What to tune and where it goes: lists or a model, one run or several."""

    problem: Problem
    start: Any
    out: Path
    """A file for weights, or with a model a folder."""
    about: dict[str, Any] | None = None
    rounds: int | None = None
    setting: tune_model.Setting | None = None
    trace: Path | None = None
    curve: Path | None = None

    @property
    def modelled(self) -> bool:
        """Whether there is a decoder in the loop."""
        return self.setting is not None

    def place(self, mark: str = "", keep: bool = False) -> RunDir:
        """Where a run is kept; `mark` tells several apart."""
        trace = None if self.trace is None else _marked(self.trace, mark)
        if self.modelled:
            return RunDir(self.out / mark if mark else self.out, trace=trace)
        return RunDir.beside(_marked(self.out, mark), trace, keep=keep)

    def run(self, tuner: Tuner, count: int, options: dict[str, Any]) -> list[Tuned]:
        """One run, or several with other seeds; the best of these gives the result."""
        marks = [""] if count == 1 else [f"run{number + 1}" for number in range(count)]
        places = [self.place(mark, keep=count > 1) for mark in marks]

        def began(number: int) -> None:
            self._ready(places[number])
            if count > 1:
                click.echo(f"run {number + 1} of {count}", err=True)

        done: list[Tuned] = []

        def ended(found: Tuned) -> None:
            done.append(found)
            self._tell(found, places[len(done) - 1], marks[len(done) - 1])

        with self._watch() as progress:
            results = replicate(
                self.problem, tuner, count, places.__getitem__, began=began, ended=ended, start=self.start,
                rounds=self.rounds, about=self.about, progress=progress, **options,
            )  # fmt: skip
        if count > 1:
            self._adopt(places, max(range(count), key=lambda number: self._key(results[number])))
        return results

    def sweep(self, variants: Sequence[sweep.Variant], options: dict[str, Any]) -> list[tuple[str, Tuned]]:
        """A run for each variant; the best of these gives the result."""
        places = [self.place(f"sweep{number + 1}", keep=True) for number in range(len(variants))]
        for place in places:
            self._ready(place)
        with self._watch() as progress:
            tried = sweep.run(
                self.problem, variants, places.__getitem__, start=self.start, rounds=self.rounds, about=self.about,
                progress=progress, **options,
            )  # fmt: skip
        chosen = sweep.best(tried, self.problem.metric)
        self._adopt(places, next(number for number, (_, found) in enumerate(tried) if found is chosen))
        return tried

    def _key(self, found: Tuned) -> float:
        return self.problem.sign * (found.held_out or found.end).score

    def _ready(self, place: RunDir) -> None:
        if place.folder is not None:
            tune_model.writable(place.folder)

    def _watch(self) -> AbstractContextManager[Any]:
        """Shows progress, where somebody looks."""
        if self.setting is not None:
            return tune_model.watching(self.setting, self.rounds or 0)
        metric = self.problem.metric
        return steps(metric.name)

    def _tell(self, found: Tuned, place: RunDir, mark: str) -> None:
        """What a run leaves besides its weights."""
        if self.curve is not None:
            curves.save(found.trace, _marked(self.curve, mark), self.problem.metric.name)
        for warning in found.warnings:
            click.echo(f"dragoman: warning: {warning}", err=True)
        if place.folder is not None and self.setting is not None:
            curves.save(found.trace, place.folder / "curve.png", self.problem.metric.name)
            if found.held_out_texts is not None:
                lines = found.held_out_texts
                write_text(place.folder / "held-out.txt", self.setting.readable(lines))

    def _adopt(self, places: Sequence[RunDir], best: int) -> None:
        """The weights of the best run are the result; only then may checkpoints of lists go."""
        source = places[best].out
        assert source is not None
        target = self.out / "weights.toml" if self.modelled else self.out
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        shutil.copyfile(source, partial)
        partial.replace(target)
        if not self.modelled:
            for place in places:
                place.remove()


def _marked(path: Path, mark: str) -> Path:
    """A file name with a mark before its ending, to tell several runs apart."""
    return path.with_name(f"{path.stem}.{mark}{path.suffix}") if mark else path


def _usual(decoding: dict[str, Any]) -> str:
    """The tuner where none is named: one for fixed lists, for rounds with a decoder, or for thousands of features."""
    if decoding["model"] is None:
        return "mert"
    return "adagrad" if decoding["features"] else "smooth-mert"


def _refuse_model_options(decoding: dict[str, Any]) -> None:
    """Options that would do nothing are refused."""
    given = [name for name, value in decoding.items() if value not in (None, False, ()) and name != "model"]
    if given:
        raise click.UsageError(f"--{given[0].replace('_', '-')} is for tuning with --model, not for fixed lists")


def _pools(
    form: Metric,
    lists: Sequence[str],
    refs: Sequence[str],
    held_out: Sequence[str],
    held_out_refs: Sequence[str],
    seed: int,
    allow_missing: bool,
) -> tuple[Pool, Pool | None]:
    """The pool to tune on and the one to judge on, checked before any work."""
    share = _share(held_out)
    if share is None and bool(held_out) != bool(held_out_refs) and needs_references(form):
        raise click.UsageError("held-out lists need --held-out-refs, and the other way round")
    pool = _pool(form, lists, refs, allow_missing)
    if share is not None:
        return pool.split(share, seed)
    return pool, _pool(form, held_out, held_out_refs, allow_missing) if held_out else None


def _pool(form: Metric, lists: Sequence[str], refs: Sequence[str], allow_missing: bool) -> Pool:
    if not refs and needs_references(form):
        raise click.UsageError("missing --refs: at least one reference file, e.g. --refs dev.en")
    columns = read_parallel(refs) if refs else []
    candidates = _joined(lists)
    references: Sequence[Sequence[str]] = list(zip(*columns, strict=True)) if refs else _none(candidates)
    missing = missing_of(candidates, references) if allow_missing else []
    if missing:
        click.echo(f"dragoman: warning: {some(missing)} sentences have no candidate and are left out", err=True)
    return judge(candidates, references, form, allow_missing=allow_missing)


def _joined(lists: Sequence[str]) -> Candidates:
    names = Names()
    return nbest.join([nbest.read(path, names=names) for path in lists])


def _none(candidates: Candidates) -> list[Sequence[str]]:
    """References for a metric that needs none."""
    ids = candidates.ids.to_list()
    return [()] * (max(map(int, ids)) + 1 if all(i.isdecimal() for i in ids) else len(ids))


def _share(held_out: Sequence[str]) -> float | None:
    try:
        share = float(held_out[0]) if len(held_out) == 1 else None
    except ValueError:
        return None
    if share is not None and not 0 < share < 1:
        raise click.UsageError(f"--held-out as a share lies between 0 and 1, found {held_out[0]}")
    return share


def _bound(text: str) -> tuple[str, tuple[float, float]]:
    name, given, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    try:
        bounds = (float(low or "-inf"), float(high or "inf"))
    except ValueError:
        colon = ""
    if not (name and given and colon):
        raise click.UsageError(f"--bound is NAME=LOW:HIGH, found {text}")
    return name, bounds


def _writable(*paths: str | None) -> None:
    """Says now, not after the work, that a result could not be written."""
    for path in filter(None, paths):
        folder = Path(path).resolve().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"{path}: cannot be written: {folder} is missing or read-only", path)


@click.command(cls=Command)
@_nbest_option(required=True)
@click.option("--weights", "-w", "file", required=True, metavar="FILE", help="Weights, as `dragoman tune` writes them.")
@click.option(
    "--out", "-o", default="-", metavar="FILE", help="Where the best candidates go.  [default: standard output]"
)
def rerank(lists: tuple[str, ...], file: str, out: str) -> None:
    """Choose the best candidate of each sentence under given weights.

    \b
    dragoman rerank --weights weights.toml --nbest test.nbest.gz > test.out

    Line i of the output is the best candidate of the sentence with id i (of the i-th sentence, where ids are words);
    a sentence without candidates gets an empty line.
    """
    found = reranking.rerank(_joined(lists), weights.load(file))
    for warning in found.warnings:
        click.echo(f"dragoman: warning: {warning}", err=True)
    write_text(out, found.texts)
