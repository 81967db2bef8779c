"""Tuning over n-best lists of any system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman import registry, weights
from dragoman.errors import InputError, OptionError
from dragoman.files import check_writable
from dragoman.metrics import needs_references
from dragoman.tuning import Pool, Problem, Tuner, judge
from dragoman.tuning.problem import missing_of, some
from dragoman.types import Candidates, Metric, Texts
from dragoman.verbs.inputs import (
    candidates_of,
    references_of,
    weights_of,
)
from dragoman.verbs.tuning.asked import SAME_TEXT, Asked, TuneOptions, Watcher
from dragoman.verbs.tuning.job import Job


def list_job(request: Asked, out: Path | None, watch: Watcher) -> Job:
    """The job of tuning on lists; says what is wrong with them before any work."""
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
            watch.warning(SAME_TEXT)
    if out is not None:
        check_writable(out)
    start = request.start
    first = start if isinstance(start, str) and start in {"auto", "fit", "ones"} else weights_of(start)
    problem = Problem.of_pool(pool, limits=request.limits, held_out=None if other is None else Problem.of_pool(other))
    return Job(problem, first, out, watch)


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


def _same(one: Texts, other: Texts) -> bool:
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def refuse_other(out: Path | None, overwrite: bool, tuner: Tuner, form: Metric, o: TuneOptions) -> None:
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
