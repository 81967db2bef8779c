"""Tuning with a model's decoder in the loop."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman._core import parse_size
from dragoman.decoder import Decoder, Search
from dragoman.errors import InputError, OptionError
from dragoman.features import files_of
from dragoman.glossary import FEATURE, Glossary, glossary_of
from dragoman.model import MANIFEST, Model, file_hash, weights_hash
from dragoman.options import made
from dragoman.translator import Translator
from dragoman.tuning import Workspace
from dragoman.verbs.inputs import (
    is_path,
    weights_of,
)
from dragoman.verbs.tuning.asked import SAME_TEXT, Asked, Watcher
from dragoman.verbs.tuning.job import Job, writable_folder
from dragoman.verbs.tuning.modelled import Modelled, Text


def model_job(request: Asked, out: Path | None, watch: Watcher) -> Job:
    """The job of tuning a model; says what is wrong with its texts before any work."""
    o = request.options
    if request.source is None:
        raise OptionError("a model needs the source text that the references translate: --src dev.de")
    if request.references is None:
        raise OptionError("expected references of the source text: --refs dev.en")
    if o.allow_missing:
        raise OptionError("allow_missing is for n-best lists: a model makes its own")
    decoder = _decoder(request)
    text = Text.read(request.source, request.references)
    other = None
    share = request.share
    if share is not None:
        if request.held_out_references is not None:
            raise OptionError("a share of the text has its references already: leave the held-out references out")
        text, other = text.split(share, o.seed)
    elif (request.held_out is None) != (request.held_out_references is None):
        raise OptionError("a held-out text is source lines with their references, or a share of the text: 0.2")
    elif request.held_out is not None:
        other = Text.read(request.held_out, request.held_out_references)
        _warn_of_same(text, other, watch)
    unknown = [part.name for part in decoder.model.parts if part.kind == "unknown-penalty"]
    given = request.limits
    limits = replace(given, fixed=(*given.fixed, *(name for name in unknown if name not in given.names)))
    size = o.nbest_size or request.lists or 100
    held_out = other.problem(decoder, request, 1) if other else None
    space = Workspace(memory=parse_size(o.memory or "4G"))
    problem = text.problem(decoder, request, size, held_out=held_out, limits=limits, workspace=space)
    automatic = isinstance(request.start, str) and request.start == "auto"
    start = decoder.weights if automatic else weights_of(request.start)
    if out is not None:
        _refuse_model(out, decoder.model)
        writable_folder(out)
    about = _about(request, decoder, size, text, other)
    modelled = Modelled(decoder, request.tokenized, len(text.source), 0 if other is None else len(other.source))
    modelled.apart = other if share is not None else None
    return Job(problem, start, out, watch, about, o.epochs or 10, modelled)


def _warn_of_same(text: Text, other: Text, watch: Watcher) -> None:
    """A held-out text that is, mostly, the tuning text can choose nothing."""
    seen = {(line, tuple(refs)) for line, refs in zip(text.source, text.references, strict=True)}
    again = sum((line, tuple(refs)) in seen for line, refs in zip(other.source, other.references, strict=True))
    if again == len(other.source):
        watch.warning(SAME_TEXT)
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


def _decoder(request: Asked) -> Decoder:
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


def _about(
    request: Asked, decoder: Decoder, size: int, text: Text, other: Text | None
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
