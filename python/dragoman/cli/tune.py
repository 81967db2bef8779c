"""`dragoman tune` and `dragoman rerank`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from dragoman import nbest, weights
from dragoman._core import names_find, parse_size
from dragoman.cli import tune_model
from dragoman.cli.arguments import Command, as_json, own_option, refs_option, seed_option
from dragoman.cli.progress import steps
from dragoman.cli.show import print_json, print_table
from dragoman.engine import engine_of
from dragoman.errors import InputError
from dragoman.files import read_parallel, write_text
from dragoman.metrics import External, metric_from
from dragoman.significance import Interval
from dragoman.tune import Options, Plan, Pool, Tuned, Tuner, judge, sweep, tune_pool, tuner_from
from dragoman.types import Candidates, Metric, Names, Weights

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
        "--tokenized", is_flag=True, help="With --model: all texts are words between blanks, as the model has them."
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        default="4G",
        show_default=True,
        help="With --model, batch tuners: what the pool of all rounds may take before it goes to disk.",
    ),
    click.option(
        "--epochs",
        default=10,
        show_default=True,
        type=click.IntRange(min=1),
        help="With --model: passes, or rounds of batch tuners, at most.",
    ),
    click.option(
        "--size",
        default=100,
        show_default=True,
        type=click.IntRange(min=2),
        help="With --model: candidates of each sentence.",
    ),
    click.option(
        "--mode",
        type=click.Choice(["auto", "batch", "online"]),
        default="auto",
        show_default=True,
        help="With --model: rounds on a pool, or an update after every few sentences.",
    ),
    click.option(
        "--stale",
        default=3,
        show_default=True,
        type=click.IntRange(min=0),
        help="With --model, online: batches that are decoded ahead of the updates.",
    ),
    click.option(
        "--shards",
        default=1,
        show_default=True,
        type=click.IntRange(min=1),
        help="With --model, online MIRA: shards that learn apart and are averaged.",
    ),
    click.option(
        "--select",
        type=click.Choice(["best", "last"]),
        default="best",
        show_default=True,
        help="With --model: which epoch's weights to take.",
    ),
    click.option(
        "--replications",
        default=1,
        show_default=True,
        type=click.IntRange(min=1),
        help="With --model: runs with different seeds.",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="With --model: default all cores."),
    click.option("--stack", type=click.IntRange(min=1), help="With --model: as for `dragoman translate`."),
    click.option("--pops", type=click.IntRange(min=0), help="With --model: as for `dragoman translate`."),
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
    default="weights.toml",
    metavar="FILE",
    help="Where the weights go; with --model a folder for all of the run.  [default: weights.toml; with --model tuned]",
)
@click.option(
    "--held-out",
    multiple=True,
    metavar="SHARE|FILE...",
    help="Sentences to judge the result on (with --model, to choose the epoch by): a share of the list or text (0.2), "
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
@click.option("--trace", metavar="FILE", help="Write a JSON line for each step.")
@click.option("--resume", is_flag=True, help="Go on with a run that was killed.")
@_model_options
@seed_option
@as_json
def tune(
    lists: tuple[str, ...],
    refs: tuple[str, ...],
    metric: str | None,
    tuner: str | None,
    out: str,
    held_out: tuple[str, ...],
    held_out_refs: tuple[str, ...],
    start: str,
    fixed: tuple[str, ...],
    bounds: tuple[str, ...],
    grid: tuple[str, ...],
    trace: str | None,
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
    made = tuner_from(tuner or _usual(decoding))
    if decoding["model"] is not None:
        if lists or grid or bounds or trace:
            raise click.UsageError("--nbest, --sweep, --bound and --trace are for fixed lists, not for --model")
        form = metric_from(metric or "bleu:tokenize=none")
        request = _request(form, made, refs, out, held_out, held_out_refs, start, fixed, resume, seed, decoding)
        tune_model.run(request, as_json)
        return
    if not lists:
        raise click.UsageError("expected --nbest, or --model with --src")
    form = metric_from(metric or "bleu")
    variants = sweep.variants(made, grid)
    first = start if start in {"auto", "fit", "ones"} else weights.load(start)
    limits = dict(_bound(text) for text in bounds)
    pool, other = _pools(form, lists, refs, held_out, held_out_refs, seed)
    if grid and other is None:
        raise click.UsageError("--sweep chooses on held-out sentences: add --held-out 0.2, or lists of their own")
    _writable(out, trace)
    options: Options = {"start": first, "fixed": fixed, "bounds": limits, "seed": seed, "resume": resume}
    with steps(form.name, form.scale if form.higher_is_better else -form.scale) as progress:
        options["progress"] = progress
        if grid:
            tried = sweep.run(pool, variants, other, out, options)
            found = sweep.best(tried, form)
        else:
            tried = None
            options["checkpoint"], options["trace"] = Path(f"{out}.checkpoint"), Path(trace) if trace else None
            found = tune_pool(pool, made, held_out=other, **options)
    info: dict[str, str | int | float] = {
        "tuner": found.tuner,
        "metric": found.metric,
        "seed": seed,
        "score": found.end.score,
    }
    weights.save(out, found.weights, info)
    if as_json:
        print_json(_as_dict(found, tried))
    else:
        _print(found, tried, form, out)


def _usual(decoding: dict[str, Any]) -> str:
    """The tuner where none is named: one for fixed lists, for rounds with a decoder, or for thousands of features."""
    if decoding["model"] is None:
        return "mert"
    return "adagrad" if decoding["features"] else "smooth-mert"


def _request(
    form: Metric,
    made: Tuner,
    refs: Sequence[str],
    out: str,
    held_out: Sequence[str],
    held_out_refs: Sequence[str],
    start: str,
    fixed: Sequence[str],
    resume: bool,
    seed: int,
    decoding: dict[str, Any],
) -> tune_model.Request:
    if decoding["src"] is None:
        raise click.UsageError("--model needs the source text: --src dev.de")
    plan = Plan(
        epochs=decoding["epochs"], mode=decoding["mode"], stale=decoding["stale"], shards=decoding["shards"],
        select=decoding["select"], fixed=fixed, seed=seed, engine=engine_of(decoding["threads"]),
        memory=parse_size(decoding["memory"]),
    )  # fmt: skip
    return tune_model.Request(
        decoding["model"], decoding["src"], refs, "tuned" if out == "weights.toml" else out, form, made, plan,
        decoding["size"], decoding["replications"], _share(held_out) or held_out, held_out_refs,
        None if start == "auto" else start,
        decoding["features"], decoding["threads"],
        {key: decoding[key] for key in ("stack", "pops") if decoding[key] is not None}, resume,
        own=decoding["own"], tokenized=decoding["tokenized"],
    )  # fmt: skip


def _pools(
    form: Metric,
    lists: Sequence[str],
    refs: Sequence[str],
    held_out: Sequence[str],
    held_out_refs: Sequence[str],
    seed: int,
) -> tuple[Pool, Pool | None]:
    """The pool to tune on and the one to judge on, checked before any work."""
    share = _share(held_out)
    if share is None and bool(held_out) != bool(held_out_refs) and not isinstance(form, External):
        raise click.UsageError("held-out lists need --held-out-refs, and the other way round")
    pool = _pool(form, lists, refs)
    if share is not None:
        return pool.split(share, seed)
    return pool, _pool(form, held_out, held_out_refs) if held_out else None


def _pool(form: Metric, lists: Sequence[str], refs: Sequence[str]) -> Pool:
    if not refs and not isinstance(form, External):
        raise click.UsageError("missing --refs: at least one reference file, e.g. --refs dev.en")
    columns = read_parallel(refs) if refs else []
    candidates = _joined(lists)
    references: Sequence[Sequence[str]] = list(zip(*columns, strict=True)) if refs else _none(candidates)
    return judge(candidates, references, form)


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


def _interval(interval: Interval) -> str:
    return f"{interval.score:.2f} [{interval.low:.2f} {interval.high:.2f}]"


def _print(found: Tuned, tried: Sequence[tuple[str, Tuned]] | None, form: Metric, out: str) -> None:
    if tried:
        rows = [[name, f"{t.end.score:.2f}", f"{t.held_out.score:.2f}" if t.held_out else ""] for name, t in tried]
        print_table(["options", f"{form.name} pool", f"{form.name} held-out"], rows)
        click.echo()
    rows = [["pool", _interval(found.start), _interval(found.end), f"{found.oracle:.2f}"]]
    if found.held_out and found.held_out_start:
        rows.append(["held-out", _interval(found.held_out_start), _interval(found.held_out), ""])
    print_table([form.name, "start", "end", "oracle"], rows)
    for title, names in (("zero", found.zeros), ("at a bound", found.at_bound)):
        if names:
            click.echo(f"# {title}: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}")
    click.echo(f"# {found.metric}|seed:{found.seed}|tuner:{found.tuner}")
    for warning in found.warnings:
        click.echo(f"dragoman: warning: {warning}", err=True)
    click.echo(f"dragoman: {found.steps} steps in {found.seconds:.1f} s, weights in {out}", err=True)


def _as_dict(found: Tuned, tried: Sequence[tuple[str, Tuned]] | None) -> dict[str, object]:
    fields = {name: getattr(found, name) for name in Tuned.__dataclass_fields__ if name not in {"weights", "trace"}}
    result = {k: asdict(v) if isinstance(v, Interval) else v for k, v in fields.items()}
    result["weights"] = found.weights.to_dict() if len(found.weights) <= 10_000 else None
    if tried:
        result["sweep"] = [{"options": name, **_as_dict(t, None)} for name, t in tried]
    return result


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
    found = weights.load(file)
    candidates = _joined(lists)
    names = candidates.features.names
    missing = np.flatnonzero(names_find(names, found.names) < 0)
    unknown = [found.names[int(name)] for name in missing[:5]]
    if len(missing) == len(found.names):
        raise InputError(f"{file}: no feature of these weights is in the list: `{', '.join(unknown[:3])}`, ...", file)
    if unknown:
        click.echo(f"dragoman: warning: weights of features that no candidate has: {', '.join(unknown)}", err=True)
    lines, empty = _best_lines(candidates, found)
    if empty:
        click.echo(f"dragoman: warning: {empty} sentences have no candidate: their lines are empty", err=True)
    write_text(out, lines)


def _best_lines(candidates: Candidates, found: Weights) -> tuple[list[str], int]:
    texts = [candidates.texts[int(i)] if i >= 0 else "" for i in candidates.best(found)]
    ids = candidates.ids.to_list()
    if not all(i.isdecimal() for i in ids):
        return texts, 0
    lines = [""] * (int(ids[-1]) + 1)
    for i, text in zip(ids, texts, strict=True):
        lines[int(i)] = text
    return lines, len(lines) - len(ids)
