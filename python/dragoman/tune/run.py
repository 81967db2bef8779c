"""One run of a tuner over fixed lists, from judged candidates to weights and a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from dragoman._core import best_per_group
from dragoman.config import closest, describe
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.significance import Interval, confidence
from dragoman.tune.base import Limits, Pool, Session, State, Tuner
from dragoman.tune.checkpoint import Checkpoint, Trace, fingerprint
from dragoman.tune.start import starting_weights
from dragoman.types import F64, Candidates, Metric, Weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Options", "Tuned", "judge", "limits_of", "references_of", "tune", "tune_pool"]

Bounds = dict[str, tuple[float, float]]
_FEW = 2000
"""Up to so many features, each is looked at for the report."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a run found, and how good it is."""

    weights: Weights
    tuner: str
    """The tuner, with the options that differ from their defaults."""
    metric: str
    """The metric's signature."""
    seed: int
    steps: int
    seconds: float
    start: Interval
    """Score of the pool's 1-best candidates under the start weights, with its bootstrap interval."""
    end: Interval
    """The same under the weights found."""
    oracle: float
    """Score when each sentence gets its best candidate: what no reranking of this pool can pass."""
    held_out_start: Interval | None = None
    held_out: Interval | None = None
    zeros: tuple[str, ...] = ()
    """Features whose weight became zero though it did not start there (not listed beyond a few thousand)."""
    at_bound: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trace: tuple[dict[str, float], ...] = field(default=(), repr=False)


def references_of(candidates: Candidates, references: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The references of each sentence of a list: by its id if ids are numbers (line numbers from 0), else in order."""
    ids = candidates.ids.to_list()
    if all(i.isdecimal() for i in ids):
        outside = [i for i in ids if int(i) >= len(references)]
        if outside:
            raise InputError(f"sentence {outside[0]} has no reference: the files end after {len(references)} lines")
        return [references[int(i)] for i in ids]
    if len(ids) != len(references):
        raise InputError(f"the list has {len(ids)} sentences, the references have {len(references)} lines")
    return list(references)


def judge(candidates: Candidates, references: Sequence[Sequence[str]], metric: Metric) -> Pool:
    """A pool for tuning; a metric under which all candidates are worth nothing is refused at once."""
    pool = Pool.judge(candidates, references_of(candidates, references), metric)
    gains = pool.sentence_gains()
    if metric.higher_is_better and not (gains > 0).any():
        raise TuningError(
            f"{metric.name} is zero for every candidate: are these the right references, in the right order, "
            "tokenised in the same way?"
        )
    return pool


def limits_of(pool: Pool, start: F64, fixed: Sequence[str] = (), bounds: Bounds | None = None) -> Limits:
    """Limits by name: `fixed` weights stay where they start, `bounds` give (lowest, highest)."""
    limits = Limits.none(pool.width)
    names = pool.candidates.features.names
    for name in [*fixed, *(bounds or {})]:
        if name not in names:
            raise OptionError(f"no candidate has a feature `{name}`; {closest(name, names.to_list())}")
    for name in fixed:
        limits.lower[names.get(name)] = limits.upper[names.get(name)] = start[names.get(name)]
    for name, (low, high) in (bounds or {}).items():
        if not low <= high:
            raise OptionError(f"the bounds of {name} are empty: {low} to {high}")
        limits.lower[names.get(name)], limits.upper[names.get(name)] = low, high
    return limits


class Options(TypedDict, total=False):
    """What a run can be told, besides its pool and its tuner."""

    start: Weights | str
    """Start weights, or "auto", "fit" or "ones" (see `dragoman.tune.start`)."""
    fixed: Sequence[str]
    """Features whose weights stay as they start."""
    bounds: Bounds
    """Lowest and highest weight of features."""
    seed: int
    checkpoint: Path | None
    """Where the run is kept while it goes on; it is removed at the end."""
    resume: bool
    """Go on from the checkpoint, if there is one: the weights will be those of an undisturbed run."""
    trace: Path | None
    """A file for a JSON line about each step."""
    progress: Callable[[State], None] | None
    """Called after each step."""


def tune(
    candidates: Candidates,
    references: Sequence[Sequence[str]],
    metric: Metric,
    tuner: Tuner,
    *,
    held_out: tuple[Candidates, Sequence[Sequence[str]]] | None = None,
    **options: Unpack[Options],
) -> Tuned:
    """Weights for any n-best list: `references[i]` are the references of the sentence with id i.

    `held_out` is another list with its references, to judge the result on. See `Options` for the rest.
    """
    other = None if held_out is None else judge(*held_out, metric)
    return tune_pool(judge(candidates, references, metric), tuner, held_out=other, **options)


def tune_pool(pool: Pool, tuner: Tuner, *, held_out: Pool | None = None, **options: Unpack[Options]) -> Tuned:
    """`tune` for candidates that are judged already."""
    began, seed = time.monotonic(), options.get("seed", 0)
    if not (pool.spread(pool.sentence_gains()) > 0).any():
        raise TuningError(f"nothing to learn: no two candidates of any sentence differ in {pool.metric.name}")
    first, warnings = starting_weights(pool, options.get("start", "auto"))
    limits = limits_of(pool, first, options.get("fixed", ()), options.get("bounds"))
    first = limits.clip(first)
    path = options.get("checkpoint")
    keeper = Checkpoint(path, fingerprint(pool, tuner, limits, first, seed)) if path else None
    session = tuner.session(pool, limits, seed)
    state, records = _steps(session, first, keeper, options)
    result = _verdict(pool, held_out, first, state, limits, tuner, seed, time.monotonic() - began)
    if keeper:
        keeper.remove()
    return replace(result, warnings=(*warnings, *_useless(pool)), trace=tuple(records))


def _steps(
    session: Session, first: F64, keeper: Checkpoint | None, options: Options
) -> tuple[State, list[dict[str, float]]]:
    """Steps until done; each is saved, traced and shown."""
    path, progress = options.get("trace"), options.get("progress")
    trace = Trace(path) if path else None
    state = (keeper.load() if keeper and options.get("resume") else None) or session.begin(first)
    if trace:
        trace.begin(state.step)
    records: list[dict[str, float]] = []
    while not state.done:
        began = time.monotonic()
        state = session.step(state)
        weights = state.weights
        record = {
            "step": state.step, **state.record, "norm": float(np.linalg.norm(weights)),
            "nonzero": int(np.count_nonzero(weights)), "seconds": round(time.monotonic() - began, 6),
        }  # fmt: skip
        records.append(record)
        if trace:
            trace.add(record)
        if keeper:
            keeper.save(state)
        if progress:
            progress(state)
    return state, records


def _verdict(
    pool: Pool,
    held_out: Pool | None,
    first: F64,
    state: State,
    limits: Limits,
    tuner: Tuner,
    seed: int,
    seconds: float,
) -> Tuned:
    weights = state.weights
    if not np.isfinite(weights).all() or not weights.any():
        raise TuningError("the weights have collapsed: all are zero or not finite; try a weaker regulariser")
    end = _score(pool, weights, seed)
    if pool.metric.higher_is_better and end.score <= 0:
        raise TuningError(f"the result has a {pool.metric.name} of {end.score:g}: no success")
    few = pool.width <= _FEW
    names = pool.candidates.features.names
    vanished = np.flatnonzero((weights == 0) & (first != 0)) if few else ()
    bound = np.flatnonzero(limits.free & ((weights == limits.lower) | (weights == limits.upper)))
    found = Weights(names, weights)
    return Tuned(
        weights=found,
        tuner=describe(tuner.name, tuner),
        metric=pool.metric.signature(),
        seed=seed,
        steps=state.step,
        seconds=seconds,
        start=_score(pool, first, seed),
        end=end,
        oracle=_oracle(pool),
        held_out_start=_transferred(held_out, Weights(names, first), seed) if held_out else None,
        held_out=_transferred(held_out, found, seed) if held_out else None,
        zeros=tuple(names[int(i)] for i in vanished),
        at_bound=tuple(names[int(i)] for i in bound),
    )


def _score(pool: Pool, weights: F64, seed: int) -> Interval:
    return confidence(pool.statistics[pool.choice(weights)], pool.metric, seed=seed)


def _transferred(pool: Pool, weights: Weights, seed: int) -> Interval:
    """The score of weights on a pool with feature names of its own."""
    return _score(pool, weights.align(pool.candidates.features.names), seed)


def _oracle(pool: Pool) -> float:
    best = best_per_group(pool.sentence_gains(), pool.candidates.starts)
    return float(pool.metric.score(pool.statistics[best[best >= 0]].sum(axis=0)))


def _useless(pool: Pool) -> list[str]:
    """A warning for features that cannot tell candidates apart."""
    if pool.width > _FEW:
        return []
    names = pool.candidates.features.names
    constant = [names[int(i)] for i in np.flatnonzero((pool.spread(pool.dense) == 0).all(axis=0))]
    if not constant:
        return []
    shown = ", ".join(constant[:5]) + (f" and {len(constant) - 5} more" if len(constant) > 5 else "")
    return [f"the same for all candidates of every sentence, so of no use: {shown}"]
