"""Tuning with a decoder in the loop: candidates are made anew under the weights that are being found.

Batch tuners (MERT, PRO, k-best MIRA, risk) work in rounds: decode, add to the pool, tune on the pool. Online tuners
(AdaGrad and relatives, MIRA) decode a few sentences, update, and go on to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dragoman.config import closest, describe
from dragoman.engine import Engine, engine_of
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.significance import Interval, confidence
from dragoman.tune._learning import floats, padded
from dragoman.tune.base import Tuner
from dragoman.tune.folder import Epochs, Folder
from dragoman.tune.fresh import Fresh
from dragoman.tune.lattice_mira import LatticeMira
from dragoman.tune.lattices import LatticeRounds
from dragoman.tune.mert import Mert
from dragoman.tune.mira import Mira
from dragoman.tune.online import Online
from dragoman.tune.parade import Parade
from dragoman.tune.rounds import Rounds
from dragoman.tune.samplerank import Chains, SampleRank
from dragoman.types import F64, Metric, Source, Weights

__all__ = ["Judged", "Plan", "TunedSource", "loop_of", "tune_source"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to tune, and how."""

    epochs: int = 10
    """Passes over the sentences; for batch tuners, rounds at most."""
    mode: str = "auto"
    """batch, online, or auto: what suits the tuner."""
    stale: int = 3
    """Online, gradients: a batch is decoded with weights that lack the last so many batches, so that as many more
    can be decoded at once. The result does not depend on the number of threads. 0: none is missed."""
    shards: int = 1
    """Online MIRA: the sentences are dealt into so many shards, which learn apart; their weights are averaged after
    each epoch (iterative parameter mixing)."""
    select: str = "best"
    """best: the epoch with the best score on the held-out text, or without one on the tuning text; last: the last."""
    fixed: Sequence[str] = ()
    """Features whose weights stay as they start."""
    seed: int = 0
    memory: int = 4 << 30
    """Batch tuners: bytes that the pool of all rounds may take before it goes to disk."""
    engine: Engine = field(default_factory=engine_of)
    """Who does the work of online tuners: all cores, unless told otherwise. The result does not depend on it."""

    def __post_init__(self) -> None:
        if self.mode not in {"auto", "batch", "online"} or self.select not in {"best", "last"}:
            raise OptionError(f"expected mode auto, batch or online and select best or last, found {self}")
        if self.epochs < 1 or self.stale < 0 or self.shards < 1:
            raise OptionError(f"expected at least one epoch and shard, and no negative staleness, found {self}")


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A source with its references: what a run tunes on, or is judged on."""

    source: Source
    references: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        if len(self.source) != len(self.references):
            raise InputError(
                f"the source has {len(self.source)} sentences, the references {len(self.references)} lines"
            )
        if not len(self.source):
            raise InputError("there is no sentence to tune on")

    def statistics(self, metric: Metric, weights: Weights) -> F64:
        """The metric's statistics of each sentence's best translation."""
        return metric.prepare(self.references).statistics(self.source.best(weights))


class Loop(Protocol):
    """A way to go through epochs."""

    def begin(self, now: Epochs) -> None:
        """Before the first epoch, or after a checkpoint was read."""
        ...

    def epoch(self, now: Epochs) -> dict[str, float]:
        """One epoch: changes the weights and the memory of `now`, and says what happened."""
        ...

    def end(self) -> None:
        """After the last epoch, or when one has failed."""
        ...


@dataclass(frozen=True, slots=True)
class TunedSource:
    """What a run found."""

    weights: Weights
    tuner: str
    metric: str
    seed: int
    best: int
    """The epoch whose weights these are; 0 is the start."""
    start: Interval
    """Score of the tuning text under the start weights."""
    end: Interval
    """The same under the weights found."""
    held_out_start: Interval | None
    held_out: Interval | None
    seconds: float
    warnings: Sequence[str]
    """What may not be as it should."""
    records: Sequence[Mapping[str, float]] = field(repr=False)


def tune_source(
    tuning: Judged,
    metric: Metric,
    tuner: Tuner,
    start: Weights,
    plan: Plan | None = None,
    *,
    held_out: Judged | None = None,
    folder: Path | None = None,
    resume: bool = False,
    about: Mapping[str, Any] | None = None,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> TunedSource:
    """Weights for a system that makes its own candidates, such as our decoder.

    With a `folder` the run is kept there (see `dragoman.tune.folder`) and can go on after a kill with `resume`; `about`
    is what else the run depends on, for its config. `progress` is called with the record of each epoch.
    """
    began, plan = time.monotonic(), plan or Plan()
    names = tuning.source.names
    first = start.align(names)
    keeper = Folder(
        folder, {"tuner": describe(tuner.name, tuner), "metric": metric.signature(), **_config(plan, about)}
    )
    now = keeper.begin(names, first, resume)
    loop = loop_of(tuning, metric, _anchored(tuner, Weights(names, first)), plan, keeper)
    scores = _Scores(tuning, held_out, metric, plan)
    if not now.records:
        now.records.append({"epoch": 0, **scores.of(now)})
        if metric.higher_is_better and max(now.records[0]["score"], now.records[0].get("held_out", 0.0)) <= 0:
            raise TuningError(
                f"{metric.name} is zero under the start weights: are these the right references, tokenised likewise?"
            )
        if progress:
            progress(now.records[0])
        keeper.save(now)
    try:
        loop.begin(now)
        while not now.done:
            _epoch(loop, now, scores, keeper, plan, metric)
            if progress:
                progress(now.records[-1])
    finally:
        loop.end()
    return _result(now, tuning, held_out, metric, tuner, plan, keeper, first, time.monotonic() - began)


def _anchored(tuner: Tuner, start: Weights) -> Tuner:
    """MERT's L2 pulls to where the run started, not to where its last round ended (w0 of Galley et al. 2013)."""
    return replace(tuner, origin=start) if isinstance(tuner, Mert) and tuner.origin is None else tuner


def _epoch(loop: Loop, now: Epochs, scores: _Scores, keeper: Folder, plan: Plan, metric: Metric) -> None:
    """One epoch, judged, recorded and saved."""
    start = time.monotonic()
    record = loop.epoch(now)
    now.epoch += 1
    now.done = now.done or now.epoch >= plan.epochs
    _check(now, record, metric)
    scored = scores.of(now, record)
    seconds = round(time.monotonic() - start, 3)
    now.records.append(
        {"epoch": now.epoch, **scored, **record, "norm": float(np.linalg.norm(now.weights)),
         "nonzero": int(np.count_nonzero(now.weights)), "seconds": seconds}
    )  # fmt: skip
    scores.keep(now)
    keeper.save(now)


def _check(now: Epochs, record: Mapping[str, float], metric: Metric) -> None:
    """No epoch passes for a success that taught nothing or lost everything."""
    if record.get("telling", 1) == 0:
        raise TuningError(
            f"nothing to learn in epoch {now.epoch}: no two candidates of any sentence differ in {metric.name}"
        )
    if not np.isfinite(now.weights).all() or not now.weights.any():
        raise TuningError(f"the weights have collapsed in epoch {now.epoch}: all are zero or not finite")


def _warnings(now: Epochs, tuning: Judged, best: int) -> list[str]:
    """What the records of a run show that its user should know."""
    count = len(tuning.source)
    empty = int(max(record.get("empty", 0) for record in now.records))
    telling = [record["telling"] for record in now.records if "telling" in record]
    found = []
    if empty:
        found.append(f"up to {empty} of {count} sentences had no translation at all and taught nothing")
    if telling and min(telling) < count / 2:
        found.append(f"only {int(min(telling))} of {count} sentences had candidates that differ in the metric")
    if dropped := int(sum(record.get("dropped", 0) for record in now.records)):
        found.append(f"the lattices of {dropped} rounds were dropped for want of memory: see the option `memory`")
    if not best:
        found.append("no epoch was better than the start weights, so that these are the result")
    return found


def _config(plan: Plan, about: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "epochs": plan.epochs, "mode": plan.mode, "stale": plan.stale, "shards": plan.shards, "select": plan.select,
        "fixed": list(plan.fixed), "seed": plan.seed, **(about or {}),
    }  # fmt: skip


def loop_of(tuning: Judged, metric: Metric, tuner: Tuner, plan: Plan, keeper: Folder) -> Loop:
    """The way in which a tuner goes through epochs."""
    names = tuning.source.names
    for name in plan.fixed:
        if name not in names:
            raise OptionError(f"the system has no feature `{name}`; {closest(name, names.to_list())}")
    if isinstance(tuner, SampleRank):
        return Chains(tuning.source, tuning.references, metric, tuner, plan.fixed, plan.seed)
    online = isinstance(tuner, Online) or (isinstance(tuner, Mira) and tuner.gain != "background")
    if isinstance(tuner, LatticeMira) and plan.mode != "online":
        return LatticeRounds(tuning.source, tuning.references, metric, tuner, plan.fixed, plan.seed, keeper.path)
    if plan.mode == "batch" or (plan.mode == "auto" and not online):
        if isinstance(tuner, Mira):
            tuner.check_lists()
        return Rounds(tuning.source, tuning.references, metric, tuner, plan.fixed, plan.seed, keeper.path, plan.memory)
    if isinstance(tuner, Online):
        return Fresh(tuning.source, tuning.references, metric, tuner, plan.fixed, plan.seed, plan.stale, plan.engine)
    if isinstance(tuner, Mira):
        return Parade(tuning.source, tuning.references, metric, tuner, plan.fixed, plan.seed, plan.shards, plan.engine)
    raise OptionError(f"{tuner.name} cannot be run online; leave the mode out")


class _Scores:
    """Scores of the weights after each epoch; the best ones are kept."""

    def __init__(self, tuning: Judged, held_out: Judged | None, metric: Metric, plan: Plan) -> None:
        self.tuning, self.held_out, self.metric, self.plan = tuning, held_out, metric, plan
        self.sign = 1.0 if metric.higher_is_better else -1.0

    def of(self, now: Epochs, record: Mapping[str, float] | None = None) -> dict[str, float]:
        """The scores of the current weights.

        An online epoch has translated the tuning text already, under mixed weights; where a held-out text decides,
        that is good enough.
        """
        scores = {}
        if self.held_out is not None:
            rows = self.held_out.statistics(self.metric, now.named)
            scores["held_out"] = float(self.metric.score(rows.sum(axis=0)))
        if self.held_out is not None and record is not None and "mixed" in record:
            scores["score"] = record["mixed"]
        else:
            rows = self.tuning.statistics(self.metric, now.named)
            scores["score"] = float(self.metric.score(rows.sum(axis=0)))
        now.widen()
        return scores

    def key(self, record: Mapping[str, float]) -> float:
        """What epochs are compared by: higher is better."""
        return self.sign * record.get("held_out", record["score"])

    def keep(self, now: Epochs) -> None:
        """Remembers the weights if they are the best so far."""
        before = max(self.key(record) for record in now.records[:-1])
        if self.plan.select == "last" or self.key(now.records[-1]) > before:
            now.memory["best"], now.memory["best_epoch"] = now.weights.copy(), now.epoch


def _result(
    now: Epochs,
    tuning: Judged,
    held_out: Judged | None,
    metric: Metric,
    tuner: Tuner,
    plan: Plan,
    keeper: Folder,
    first: F64,
    seconds: float,
) -> TunedSource:
    epoch = int(now.memory.get("best_epoch", 0))
    values = floats(now.memory, "best", first) if epoch else first
    # Names that were met after the best epoch are listed, too: which ones it knew depends on where a run was resumed.
    found, begun = Weights(now.names, padded(values, len(now.names))), Weights(now.names, first)

    def score(judged: Judged, weights: Weights) -> Interval:
        return confidence(judged.statistics(metric, weights), metric, seed=plan.seed)

    end = score(tuning, found)
    if metric.higher_is_better and end.score <= 0:
        raise TuningError(f"the result has a {metric.name} of {end.score:g}: no success")
    result = TunedSource(
        found, describe(tuner.name, tuner), metric.signature(), plan.seed, epoch, score(tuning, begun), end,
        score(held_out, begun) if held_out else None, score(held_out, found) if held_out else None,
        seconds, _warnings(now, tuning, epoch), tuple(now.records),
    )  # fmt: skip
    keeper.finish(
        found, {"tuner": result.tuner, "metric": result.metric, "seed": plan.seed, "epoch": epoch, "score": end.score}
    )
    return result
