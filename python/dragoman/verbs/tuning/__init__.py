"""`dragoman.tune`: weights for a metric, from n-best lists of any system or with a model's decoder in the loop."""

from __future__ import annotations

import importlib.util
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman._core import set_threads
from dragoman.decoder import Decoder
from dragoman.engine import engine_of
from dragoman.errors import OptionError
from dragoman.model import Model, is_model
from dragoman.options import made
from dragoman.translator import Translator
from dragoman.tuning import NamedLimits, Tuner, sweep
from dragoman.tuning.replicate import spread
from dragoman.types import Metric
from dragoman.verbs.inputs import (
    is_path,
    metric_of,
    tuner_of,
)
from dragoman.verbs.tuning.asked import SEARCH_OPTIONS, Asked, Silent, TuneOptions, Watcher
from dragoman.verbs.tuning.found import Tuning
from dragoman.verbs.tuning.lists import list_job, refuse_other
from dragoman.verbs.tuning.models import model_job

__all__ = ["SEARCH_OPTIONS", "TuneOptions", "Tuning", "Watcher", "tune"]


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
    watch = watcher or Silent()
    chosen = tuner_of(tuner if tuner is not None else _usual(modelled, features))
    variants = sweep.variants(chosen, o.sweep)
    if o.sweep and held_out is None:
        raise OptionError("a sweep chooses on held-out text: give a share, --held-out 0.2, or text of its own")
    if any(getattr(variant, "lists", 0) != getattr(chosen, "lists", 0) for _, variant in variants):
        raise OptionError("all variants of a sweep have the same lists: give their size by --nbest-size")
    if curve is not None and importlib.util.find_spec("matplotlib") is None:
        raise OptionError("a learning curve as a picture needs matplotlib: pip install 'dragoman[plots]'")
    limits = NamedLimits(o.fix, dict(_bound(text) for text in o.bound))
    form = metric_of(metric if metric is not None else "bleu:tokenize=none" if modelled else "bleu")
    place = None if out is None else Path(out)
    if o.threads is not None:
        set_threads(o.threads)
    engine = engine_of(o.threads, o.engine)
    request = Asked(
        what, source, references, form, held_out, held_out_references, start, features, glossary, glossary_weight,
        tokenized, trust, limits, o, searching, getattr(chosen, "lists", 0),
    )  # fmt: skip
    job = (model_job if modelled else list_job)(request, place, watch)
    job.trace, job.curve = None if trace is None else Path(trace), None if curve is None else Path(curve)
    settings = {"select": o.select, "resume": not overwrite, "seed": o.seed, "engine": engine}
    if job.modelled is None:
        settings["keep_worse"] = o.keep_worse
        refuse_other(place, overwrite, chosen, form, o)
    else:
        job.begin(chosen, o, overwrite)
    step = (o.select or ("best" if modelled else "last")) == "best"
    with engine:
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
