"""The driver: what every run has, whatever its tuner and its source.

Start weights, limits, steps until the session is done, a trace, checkpoints, the choice of the best step, warnings, and
a verdict with intervals. So each of these works with n-best lists and with a decoder alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dragoman import registry
from dragoman.engine import Engine, engine_of
from dragoman.errors import OptionError, TuningError
from dragoman.files import read_text, write_text
from dragoman.metrics.format import format_score
from dragoman.significance import Interval, confidence
from dragoman.tuning.problem import Outcome, Problem, Session, Tuner, check_fit, some
from dragoman.tuning.rundir import Progress, Record, RunDir, fingerprint
from dragoman.tuning.start import starting_weights
from dragoman.tuning.state import State, padded
from dragoman.types import F64, Texts, Weights

__all__ = ["Tuned", "tune"]

ROUNDS = 10
"""Rounds or epochs with a source that makes new candidates, unless told otherwise."""
_FEW = 2000
"""Up to so many features, each is looked at for the report."""
_TEXTS = "held-out.words"
"""The file of the best held-out translations so far, as the system has them."""


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
    """How many there were: line searches, rounds or epochs."""
    best: int
    """The step whose weights these are; 0 is the start."""
    seconds: float
    start: Interval
    """Score of the tuning text (the pool's 1-best candidates) under the start weights, with its bootstrap interval."""
    end: Interval
    """The same under the weights found. Where held-out text chooses the epoch of an online tuner, the translations are
    those that the epoch made while it learned: another pass over the tuning text would decide nothing."""
    oracle: float | None = None
    """Fixed lists: the score when each sentence gets the candidate with the best gain of its own. Choosing for the
    corpus as a whole can find a little more."""
    held_out_start: Interval | None = None
    held_out: Interval | None = None
    zeros: tuple[str, ...] = ()
    """Features whose weight became zero though it did not start there (not listed beyond a few thousand)."""
    at_bound: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What may not be as it should."""
    passes: int = 0
    """Passes over the tuning text; over the held-out text there is one for each step at most."""
    trace: tuple[Record, ...] = field(default=(), repr=False)
    """A record of each step."""
    rows: F64 | None = field(default=None, repr=False)
    """Statistics of the translations that `end` or, where there is one, `held_out` is the score of."""
    held_out_texts: Texts | None = field(default=None, repr=False)
    """The translations of the held-out text, where there are any."""


def tune(
    problem: Problem,
    tuner: Tuner,
    *,
    start: Weights | str = "auto",
    seed: int = 0,
    rounds: int | None = None,
    select: Literal["best", "last"] | None = None,
    keep_worse: bool = False,
    engine: Engine | None = None,
    run: RunDir | Path | None = None,
    resume: bool = False,
    about: Mapping[str, Any] | None = None,
    progress: Callable[[Record], None] | None = None,
) -> Tuned:
    """Finds the weights that maximise the problem's metric.

    `start`: weights, or "auto", "fit" or "ones" (`dragoman.tuning.start`). `rounds`: rounds or epochs at most, with a
    source that makes new candidates. `select`: the weights of the step with the best score, on the held-out text if
    there is one (`best`, usual with such a source), or of the last (`last`, usual with fixed lists). A run over fixed
    lists that ends at or below its start on these lists returns the start with a warning, unless `keep_worse` wants
    what it found, or held-out text chose the step. `engine` does the work, on all cores unless told otherwise; the
    result does not depend on it. `run` is where the run is kept, and with `resume` it goes on from there; `about` is
    what else the result depends on, for the run's config. `progress` is called with the record of each step.
    """
    keeper = run if isinstance(run, RunDir) else RunDir(run)
    chosen = engine or engine_of()
    with chosen:
        return _Run(problem, tuner, start, seed, rounds, select, keep_worse, chosen, keeper, about).go(resume, progress)


class _Run:
    """One run from start to verdict."""

    def __init__(
        self,
        problem: Problem,
        tuner: Tuner,
        start: Weights | str,
        seed: int,
        rounds: int | None,
        select: str | None,
        keep_worse: bool,
        engine: Engine,
        keeper: RunDir,
        about: Mapping[str, Any] | None,
    ) -> None:
        self.began = time.monotonic()
        check_fit(problem, tuner)
        if select not in {None, "best", "last"}:
            raise OptionError(f"expected select best or last, found {select}")
        if problem.fixed and rounds is not None:
            raise OptionError(
                "the number of rounds is for a decoder in the loop: over fixed lists tuners end by themselves"
            )
        if rounds is not None and rounds < 1:
            raise OptionError(f"expected at least one round, found {rounds}")
        if problem.fixed and not (problem.pool.spread(problem.pool.sentence_gains()) > 0).any():
            raise TuningError(f"nothing to learn: no two candidates of any sentence differ in {problem.metric.name}")
        self.first, self.warnings = starting_weights(problem, start)
        limited = problem.limited(Weights(problem.names, self.first))
        self.first = limited.limits.clip(self.first, problem.names)
        self.problem = replace(limited, workspace=replace(problem.workspace, folder=keeper.folder))
        self.held_out, self.metric = problem.held_out, problem.metric
        self.tuner, self.seed, self.engine, self.keeper = tuner, seed, engine, keeper
        self.rounds = None if problem.fixed else rounds or ROUNDS
        self.select = select or ("last" if problem.fixed else "best")
        self.keep_worse, self.about = keep_worse, about
        self.passes = problem.passes(engine)
        self.passed = self.passes.count
        self.texts: Texts | None = None
        """The held-out translations under the best weights."""

    def go(self, resume: bool, progress: Callable[[Record], None] | None) -> Tuned:
        """Steps until done."""
        self.keeper.begin(self._config(), resume)
        session = self.tuner.session(self.problem, self.engine, self.seed)
        run = self._identity()
        try:
            now = self.keeper.load(run, self.problem.names) if resume else None
            if now is None:
                now = self._begin(session, run, progress)
            else:
                self._take_up(session, now)
            while not now.state.done:
                self._step(session, now)
                self.keeper.save(run, now, self.problem.names)
                if progress:
                    progress(now.records[-1])
        finally:
            end = getattr(session, "end", None)
            if end is not None:
                end()
        return self._verdict(now)

    def _config(self) -> dict[str, Any]:
        """What the run depends on, for its folder."""
        limits = self.problem.limits
        bounds = {name: list(ends) for name, ends in limits.bounds.items() if name not in limits.fixed}
        return {
            "tuner": registry.name_of("tuner", self.tuner), "metric": self.metric.signature(),
            "rounds": self.rounds or 0, "select": self.select, "fixed": list(limits.fixed),
            "bounds": [f"{name}={low}:{high}" for name, (low, high) in bounds.items()], "seed": self.seed,
            **(self.about or {}),
        }  # fmt: skip

    def _identity(self) -> str:
        """What the run depends on, in a short word; with a folder its config tells."""
        if not self.problem.fixed or self.keeper.checkpoint is None:
            return ""
        arrays = self.problem.limits.arrays(self.problem.names)
        return fingerprint(self.problem.pool, self.tuner, arrays, self.first, self.seed)

    def _begin(self, session: Session, run: str, progress: Callable[[Record], None] | None) -> Progress:
        """The first state. A source that makes new candidates has its start scored, and that is a record."""
        state = session.begin(self.first)
        now = Progress(state, State(np.zeros(0), rows={}, numbers={"best": 0}), [])
        if self._scores_steps:
            now.records.append({"step": 0, **self._score(session, state, now)})
        if not self.problem.fixed:
            record = now.records[0]
            if self.metric.higher_is_better and not record["score"] and not record.get("held_out"):
                raise TuningError(
                    f"{self.metric.name} is zero under the start weights: are these the right references, "
                    "tokenised likewise?"
                )
        self.keeper.begin_trace([])
        if now.records:
            self.keeper.save(run, now, self.problem.names)
            if progress:
                progress(now.records[0])
        return now

    def _take_up(self, session: Session, now: Progress) -> None:
        """Goes on with a saved run."""
        self.keeper.begin_trace(now.records)
        if self.keeper.folder is not None and (self.keeper.folder / _TEXTS).exists():
            self.texts = read_text(self.keeper.folder / _TEXTS)
        if now.state.done and now.kept.numbers.get("limited") and now.state.step < (self.rounds or 0):
            now.state = replace(now.state, done=False)
        again = getattr(session, "resume", None)
        if again is not None:
            again(now.state)

    @property
    def _scores_steps(self) -> bool:
        """Whether each step is scored: always with new candidates, else where a held-out text chooses."""
        return not self.problem.fixed or (self.select == "best" and self.held_out is not None)

    def _step(self, session: Session, now: Progress) -> None:
        """One step, judged and recorded."""
        began = time.monotonic()
        state = session.step(now.state)
        idle = not state.done and np.array_equal(state.weights, padded(now.state.weights, len(state.weights)))
        limited = self.rounds is not None and state.step >= self.rounds and not state.done
        if limited:
            state = replace(state, done=True)
        if not self.problem.fixed:
            self._check(state)
        scored = self._score(session, state, now) if self._scores_steps else {}
        if self.problem.fixed and "gain" in state.record:
            scored["score"] = self.problem.sign * self.metric.scale * state.record["gain"]
        if idle and not self.problem.fixed:
            scored["unmoved"] = 1.0
        now.state, weights = state, state.weights
        record = {
            "step": state.step, **scored, **state.record, "norm": float(np.linalg.norm(weights)),
            "nonzero": int(np.count_nonzero(weights)), "seconds": round(time.monotonic() - began, 6),
        }  # fmt: skip
        now.records.append(record)
        # A run that ended by its number of rounds goes on if it is asked for more.
        now.kept = replace(now.kept, numbers={**now.kept.numbers, "limited": int(limited)})

    def _check(self, state: State) -> None:
        """No step passes for a success that had nothing to learn from or lost everything."""
        if state.record.get("differing", 1) == 0:
            raise TuningError(
                f"nothing to learn in epoch {state.step}: no two candidates of any sentence differ in "
                f"{self.metric.name}"
            )
        if not np.isfinite(state.weights).all() or not state.weights.any():
            raise TuningError(f"the weights have collapsed in epoch {state.step}: all are zero or not finite")

    def _score(self, session: Session, state: State, now: Progress) -> Record:
        """The scores of a state's weights; the best ones are kept, with all that the verdict wants to know.

        The session knows how its weights do if it has translated the text under them; an online epoch has translated it
        under mixed weights, and where a held-out text decides, that is good enough.
        """
        named = Weights(self.problem.names, state.weights)
        scores: Record = {}
        other = None
        if self.held_out is not None:
            other = self.held_out.outcome(named, self.engine)
            scores["held_out"] = self.held_out.score(other.rows)
        told: Outcome | None = session.outcome(state) if hasattr(session, "outcome") else None
        if told is None and self.held_out is not None and "mixed" in state.rows:
            told = Outcome(np.asarray(state.rows["mixed"]))
        outcome = told or self.problem.outcome(named, self.engine)
        scores["score"] = self.problem.score(outcome.rows)
        self._keep(state, scores, outcome, other, now)
        return scores

    def _keep(self, state: State, scores: Record, outcome: Outcome, other: Outcome | None, now: Progress) -> None:
        """Remembers the weights if they are the best so far."""
        rows: dict[str, Any] = dict(now.kept.rows)
        if state.step == 0:
            rows["start"] = outcome.rows
            if other is not None:
                rows["held_out_start"] = other.rows
        before = max((self._key(record) for record in now.records), default=-float("inf"))
        if self.select != "last" and state.step and not self._key(scores) > before:
            now.kept = replace(now.kept, rows=rows)
            return
        rows["end"] = outcome.rows
        if other is not None:
            rows["held_out"] = other.rows
            if other.texts is not None:
                self._keep_texts(other.texts)
        now.kept = replace(
            now.kept, weights=state.weights.copy(), rows=rows, numbers={**now.kept.numbers, "best": state.step}
        )

    def _keep_texts(self, texts: Texts) -> None:
        self.texts = texts
        if self.keeper.folder is not None:
            write_text(self.keeper.folder / _TEXTS, texts)

    def _key(self, record: Mapping[str, float]) -> float:
        """What steps are compared by: higher is better."""
        return self.problem.sign * record.get("held_out", record["score"])

    def _interval(self, rows: F64) -> Interval:
        return confidence(rows, self.metric, seed=self.seed)

    def _verdict(self, now: Progress) -> Tuned:
        """The result, written before anything that could resume the run goes."""
        problem, state = self.problem, now.state
        chosen = self._scores_steps
        best = int(now.kept.number("best")) if chosen else state.step
        # Names that were met after the best step are listed, too: which ones it knew depends on where a run went on.
        weights = padded(now.kept.weights if chosen else state.weights, len(problem.names))
        first = padded(self.first, len(problem.names))
        if not np.isfinite(weights).all() or not weights.any():
            raise TuningError("the weights have collapsed: all are zero or not finite; try a weaker regulariser")
        found, begun = Weights(problem.names, weights), Weights(problem.names, first)
        rows = dict(now.kept.rows)
        if not chosen:
            rows |= {"start": problem.outcome(begun, self.engine).rows, "end": problem.outcome(found, self.engine).rows}
            if self.held_out is not None:
                rows["held_out_start"] = self.held_out.outcome(begun, self.engine).rows
                rows["held_out"] = self.held_out.outcome(found, self.engine).rows
            if warning := self._no_gain(rows):
                self.warnings.append(warning)
                if not self.keep_worse:
                    best, weights, found = 0, first, begun
                    rows["end"] = rows["start"]
                    if self.held_out is not None:
                        rows["held_out"] = rows["held_out_start"]
        scored = {key: self._interval(np.asarray(values)) for key, values in rows.items()}
        end = scored["end"]
        if self.metric.higher_is_better and end.score == 0:
            raise TuningError(f"the result has a {self.metric.name} of {end.score:g}: no success")
        result = Tuned(
            weights=found, tuner=registry.name_of("tuner", self.tuner), metric=self.metric.signature(), seed=self.seed,
            steps=state.step, best=best, seconds=time.monotonic() - self.began, start=scored["start"], end=end,
            oracle=problem.pool.oracle if problem.fixed else None, held_out_start=scored.get("held_out_start"),
            held_out=scored.get("held_out"), **self._looks(first, weights),
            warnings=(*self.warnings, *self._told(now, best)), passes=self.passes.count - self.passed,
            trace=tuple(now.records),
            rows=np.asarray(rows.get("held_out", rows["end"]), dtype=np.float64), held_out_texts=self.texts,
        )  # fmt: skip
        info: dict[str, str | int | float] = {"tuner": result.tuner, "metric": result.metric, "seed": self.seed}
        if not problem.fixed:
            info["epoch"] = best
        self.keeper.finish(found, {**info, "score": end.score})
        return result

    def _no_gain(self, rows: Mapping[str, Any]) -> str | None:
        """What to say of a run over fixed lists that gained nothing on them."""
        start, end = (self.problem.score(np.asarray(rows[key])) for key in ("start", "end"))
        if self.problem.sign * (end - start) > 0:
            return None
        name, own = self.tuner.name, format_score(start, self.metric)
        told = f"at {own}, as it began" if end == start else f"at {format_score(end, self.metric)}, from {own}"
        result = "what it found is kept all the same" if self.keep_worse else "the result is the start"
        others = [other for other in ("mert", "kbmira") if other.removeprefix("kb") != name]
        if getattr(self.tuner, "units", "spread") != "spread":
            others.append(f"{name}:units=spread")
        return f"{name} ended {told} {self.metric.name} on its own lists: {result}; try {' or '.join(others)}"

    def _looks(self, first: F64, weights: F64) -> dict[str, tuple[str, ...]]:
        """Features whose weights vanished, or reached a bound."""
        names, limits = self.problem.names, self.problem.limits.arrays(self.problem.names)
        vanished = np.flatnonzero((weights == 0) & (first != 0)) if len(names) <= _FEW else ()
        bound = np.flatnonzero(limits.free & ((weights == limits.lower) | (weights == limits.upper)))
        return {
            "zeros": tuple(names[int(i)] for i in vanished),
            "at_bound": tuple(names[int(i)] for i in bound),
        }

    def _told(self, now: Progress, best: int) -> list[str]:
        """What a run shows that its user should know."""
        return _useless(self.problem) if self.problem.fixed else _course(now.records, len(self.problem.source), best)


def _useless(problem: Problem) -> list[str]:
    """A warning for features that cannot tell candidates apart."""
    pool, names = problem.pool, problem.names
    if pool.width > _FEW:
        return []
    constant = [names[int(i)] for i in np.flatnonzero((pool.spread(pool.dense) == 0).all(axis=0))]
    if not constant:
        return []
    shown = ", ".join(constant[:5]) + (f" and {len(constant) - 5} more" if len(constant) > 5 else "")
    return [f"the same for all candidates of every sentence, so of no use: {shown}"]


def _course(records: list[Record], count: int, best: int) -> list[str]:
    """Warnings from the records of all steps."""
    empty = int(max(record.get("empty", 0) for record in records))
    differing = [record["differing"] for record in records if "differing" in record]
    found = []
    if empty:
        found.append(f"up to {empty} of {count} sentences had no translation at all, and nothing to learn from")
    if differing and min(differing) < count / 2:
        found.append(f"only {int(min(differing))} of {count} sentences had candidates that differ in the metric")
    if still := [int(record["step"]) for record in records if "unmoved" in record]:
        found.append(
            f"no weight moved in {some(still)} of {len(records) - 1} epochs: the step size (rate, c) may be too small, "
            "or the threshold of pairs too large"
        )
    if dropped := int(sum(record.get("dropped", 0) for record in records)):
        found.append(f"the lattices of {dropped} rounds were dropped for want of memory: see the option `memory`")
    if not best:
        found.append("no epoch was better than the start weights, so that these are the result")
    return found
