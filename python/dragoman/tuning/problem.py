"""What a tuner is given and what it gives back: a problem, made once, and a session of resumable steps.

A source says by its protocol what it can give: n-best lists (`Lists`), hypergraphs (`Forests`) or derivations to sample
(`Chains`). A tuner says what it needs. What does not fit is refused here, in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dragoman._core import names_find
from dragoman.engine import Engine
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.metrics.capability import require
from dragoman.metrics.references import AnyReferences, as_references, references_of
from dragoman.options import closest
from dragoman.tuning.decoding import Passes
from dragoman.tuning.limits import Limits, NamedLimits
from dragoman.tuning.pool import Pool
from dragoman.tuning.state import State
from dragoman.types import (
    F64,
    Candidates,
    Chains,
    Forests,
    Hypotheses,
    Lists,
    Metric,
    Names,
    References,
    Source,
    Texts,
    Weights,
)

__all__ = [
    "BatchTuner",
    "FixedLists",
    "Outcome",
    "PreparedReferences",
    "Problem",
    "Session",
    "Tuner",
    "Workspace",
    "check_fit",
    "check_metric_fit",
    "is_fixed",
    "judge",
    "missing_of",
    "references_of",
    "some",
    "unknown_of",
]


class PreparedReferences:
    """The references of a text, digested once for all sentences and all steps."""

    def __init__(self, texts: Sequence[Sequence[str]], metric: Metric) -> None:
        self.texts, self.metric = texts, metric
        self._digested: References = metric.prepare(texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedReferences, (self.texts, self.metric)

    def statistics(self, hypotheses: Hypotheses) -> F64:
        """The metric's statistics of hypotheses, which name their sentences by number."""
        return self._digested.statistics(hypotheses)

    def judge(self, candidates: Candidates) -> Pool:
        """Judges candidates whose ids are the numbers of their sentences."""
        numbers = np.array([int(i) for i in candidates.ids], dtype=np.int64)
        found = Hypotheses(candidates.texts, numbers[candidates.sentence], candidates.scores)
        return Pool(candidates, self.metric, self.statistics(found))

    def first(self, pool: Pool) -> F64:
        """The statistics of the first candidate of each sentence; where there is none, of an empty translation."""
        candidates = pool.candidates
        sizes = np.diff(candidates.starts)
        rows = np.zeros((len(candidates), pool.statistics.shape[1]))
        rows[sizes > 0] = pool.statistics[candidates.starts[:-1][sizes > 0]]
        empty = [int(candidates.ids[int(at)]) for at in np.flatnonzero(sizes == 0)]
        if empty:
            scores = {name: np.zeros(len(empty)) for name in candidates.scores}
            rows[sizes == 0] = self.statistics(Hypotheses(Texts([""] * len(empty)), np.array(empty), scores))
        return rows


class FixedLists:
    """N-best lists from a file: a source whose candidates are the same under all weights."""

    fixed = True

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @property
    def names(self) -> Names:
        """The names of all features."""
        return self.pool.candidates.features.names

    def __len__(self) -> int:
        return len(self.pool.candidates)

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:  # noqa: ARG002
        """The lists of some sentences."""
        return self.pool.candidates.take(np.asarray(sentences, dtype=np.int64))


class Outcome(NamedTuple):
    """How weights do on a text."""

    rows: F64
    """The metric's statistics of each sentence's best translation."""
    texts: Texts | None = None
    """The translations, where they were made for this."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a session keeps its files, and how much memory it may take before it does."""

    folder: Path | None = None
    """None keeps nothing: the run cannot be resumed."""
    memory: int = 4 << 30
    """Bytes that the pool of all rounds may take before it goes to disk."""


@dataclass(frozen=True, eq=False)
class Problem:
    """All that a tuner may know; made once for a run.

    >>> from dragoman.testing import planted_pool
    >>> problem = Problem.of_pool(planted_pool()[0])
    >>> problem.fixed, len(problem.source)
    (True, 40)
    """

    source: Source
    """What candidates come from."""
    metric: Metric
    references: PreparedReferences | None = None
    """None where the candidates are judged already."""
    limits: NamedLimits = field(default_factory=NamedLimits)
    held_out: Problem | None = None
    """What the result is judged on, and the best step is chosen by."""
    workspace: Workspace = field(default_factory=Workspace)
    _passes: dict[int, Passes] = field(default_factory=dict, repr=False)

    @classmethod
    def of_lists(
        cls,
        candidates: Candidates,
        references: AnyReferences,
        metric: Metric,
        *,
        held_out: Problem | None = None,
        limits: NamedLimits | None = None,
        allow_missing: bool = False,
    ) -> Problem:
        """N-best lists of any system: `references[i]` is the reference of the sentence with id i, or a list of them.

        None is for a metric that needs no references.
        """
        pool = judge(candidates, references, metric, allow_missing=allow_missing)
        return cls.of_pool(pool, held_out=held_out, limits=limits)

    @classmethod
    def of_pool(cls, pool: Pool, *, held_out: Problem | None = None, limits: NamedLimits | None = None) -> Problem:
        """Lists that are judged already."""
        return cls(FixedLists(pool), pool.metric, limits=limits or NamedLimits(), held_out=held_out)

    @classmethod
    def of_source(
        cls,
        source: Source,
        references: AnyReferences,
        metric: Metric,
        *,
        held_out: Problem | None = None,
        limits: NamedLimits | None = None,
        workspace: Workspace | None = None,
    ) -> Problem:
        """A system that makes its own candidates, such as our decoder; `references[i]` belong to its sentence i."""
        given = as_references(references, metric, len(source))
        if len(source) != len(given):
            raise InputError(f"the source has {len(source)} sentences, the references {len(given)} lines")
        if not len(source):
            raise InputError("there is no sentence to tune on")
        prepared = PreparedReferences(given, metric)
        return cls(source, metric, prepared, limits or NamedLimits(), held_out, workspace or Workspace())

    @property
    def fixed(self) -> bool:
        """Whether candidates are the same under all weights."""
        return is_fixed(self.source)

    @property
    def names(self) -> Names:
        """The names of all features met so far."""
        return self.source.names

    @property
    def sign(self) -> float:
        """+1 if the metric is better when higher, else -1."""
        return 1.0 if self.metric.higher_is_better else -1.0

    @property
    def prepared(self) -> PreparedReferences:
        """The references, where candidates are still to be judged."""
        assert self.references is not None
        return self.references

    @cached_property
    def pool(self) -> Pool:
        """The judged candidates of a fixed source."""
        if isinstance(self.source, FixedLists):
            return self.source.pool
        assert isinstance(self.source, Lists)
        every = self.source.candidates(range(len(self.source)), Weights(self.names, np.zeros(0)))
        return self.prepared.judge(every)

    def limited(self, start: Weights) -> Problem:
        """The problem of a run with these start weights; a limit for a feature that cannot come is refused."""
        for name in self.limits.names:
            if name not in self.names and unknown_of(self.source, Names([name])) is not None:
                hint = closest(name, self.names.to_list())
                owner = "no candidate has a feature" if self.fixed else "the system has no feature"
                raise OptionError(f"{owner} `{name}`; {hint}")
        return replace(self, limits=self.limits.at(start))

    def passes(self, engine: Engine) -> Passes:
        """The passes over this text that an engine makes: one object for all of a run."""
        return self._passes.setdefault(id(engine), Passes(self.source, engine))

    def outcome(self, weights: Weights, engine: Engine) -> Outcome:
        """How weights do: one pass over the text, or over the lists."""
        if self.fixed:
            return Outcome(self.pool.statistics[self.pool.choice(weights.align(self.names))])
        found = self.passes(engine).best(weights)
        return Outcome(self.prepared.statistics(found), found.texts)

    def score(self, rows: F64) -> float:
        """The corpus score of rows of statistics."""
        return float(self.metric.score(rows.sum(axis=0)))


def is_fixed(source: Source) -> bool:
    """Whether a source gives the same candidates under all weights."""
    return bool(getattr(source, "fixed", False))


def unknown_of(source: Source, names: Names) -> str | None:
    """The first of some names that a source does not know and cannot meet later.

    A source that meets features as it goes has a method `unknown(names)`, which says so.
    """
    asked: Callable[[Names], str | None] | None = getattr(source, "unknown", None)
    if asked is not None:
        return asked(names)
    strange = np.flatnonzero(names_find(source.names, names) < 0)
    return names[int(strange[0])] if len(strange) else None


def some(numbers: Sequence[int]) -> str:
    """A few of many numbers, for a message.

    >>> some([3, 5, 6, 7, 8, 9, 12])
    '7 (3, 5, 6, 7, 8, ...)'
    """
    return f"{len(numbers)} ({', '.join(map(str, numbers[:5]))}{', ...' if len(numbers) > 5 else ''})"


def missing_of(candidates: Candidates, references: AnyReferences) -> list[int]:
    """The numbers of sentences that have references but no candidate at all, where ids are numbers."""
    if references is None:
        return []
    ids, filled = candidates.ids.to_list(), np.diff(candidates.starts) > 0
    if not all(i.isdecimal() for i in ids):
        return []
    have = {int(i) for i, full in zip(ids, filled, strict=True) if full}
    return [number for number in range(len(references)) if number not in have]


def judge(candidates: Candidates, references: AnyReferences, metric: Metric, *, allow_missing: bool = False) -> Pool:
    """A pool for tuning; a metric under which all candidates are worth nothing is refused at once.

    So are lists without a candidate for some of the sentences, unless `allow_missing` says that this is meant.
    """
    own = references_of(candidates, references, metric)
    missing = [] if allow_missing or references is None else missing_of(candidates, references)
    if missing and references is not None:
        raise InputError(
            f"{some(missing)} of {len(references)} sentences have references but no candidate: are these the lists of "
            "these references? --allow-missing tunes on the others"
        )
    pool = Pool.judge(candidates, own, metric)
    gains = pool.sentence_gains()
    if metric.higher_is_better and not gains.any():
        raise TuningError(
            f"{metric.name} is zero for every candidate: are these the right references, in the right order, "
            "tokenised in the same way?"
        )
    return pool


@runtime_checkable
class Session(Protocol):
    """One run on one problem. It may keep what it derives from its inputs, never anything that a step changes."""

    def begin(self, start: F64) -> State:
        """The state before the first step."""
        ...

    def step(self, state: State) -> State:
        """The next state: a line search, a round or an epoch. Depends on the session's inputs and on `state` only.

        A session may also have `resume(state)`, called before the first step of a run that goes on after a kill;
        `outcome(state)`, how the weights of a state do on the tuning text, if it knows that without another pass; and
        `end()`, called once, when the run is over or has failed.
        """
        ...


@runtime_checkable
class Tuner(Protocol):
    """A way to find weights. A frozen dataclass of options; the work is done in a session."""

    @property
    def name(self) -> str:
        """What tables and the command line call it."""
        ...

    @property
    def never_worse(self) -> bool:
        """Whether it promises that a pool's corpus gain never ends below the start's."""
        ...

    @property
    def needs(self) -> type:
        """What a source must give: `Lists`, `Forests` or `Chains` of `dragoman.types`."""
        ...

    def session(self, problem: Problem, engine: Engine, seed: int) -> Session:
        """A run. The tuner chooses its kind: rounds on a pool, a stream with stale gradients, shards, chains."""
        ...


class BatchTuner:
    """What tuners over pools share: `over` is all that one has to write.

    On fixed lists a step is a step over the pool; with a decoder it is a round (decode, add to the pool, tune on it).
    """

    @property
    def needs(self) -> type:
        """N-best lists."""
        return Lists

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> Session:  # noqa: ARG002
        """A run over one pool."""
        raise TypeError(f"{type(self).__name__} has no method `over`")

    def anchored(self, start: Weights) -> BatchTuner:  # noqa: ARG002
        """The tuner of a run of rounds from this start: itself, unless something pulls to the start."""
        return self

    def session(self, problem: Problem, engine: Engine, seed: int) -> Session:
        """A run over fixed lists, or in rounds."""
        from dragoman.tuning.loops.pool import pool_session  # noqa: PLC0415  the loop knows batch tuners, too

        return pool_session(self, problem, engine, seed)


_LACKS: dict[type, str] = {
    Lists: "{tuner} needs n-best lists, but {source} gives none: it has no method `candidates`",
    Forests: "{tuner} needs forests or lattices, but {source} gives lists only: it has no method `forests` (see "
    "dragoman.types.Forests)",
    Chains: "{tuner} samples derivations, but {source} has none: it has no method `ranker` (see dragoman.types.Chains)",
}
_FIXED: dict[type, str] = {
    Forests: "{tuner} needs the decoder in the loop (--model): n-best lists have no forests; try kbmira, or mert",
    Chains: "{tuner} samples derivations of a model: use --model instead of --nbest",
}


def check_metric_fit(metric: Metric, tuner: Tuner) -> None:
    """Refuses a metric that lacks the capability which a tuner names as `metric_needs`, if it does."""
    capability = getattr(tuner, "metric_needs", "")
    if capability:
        require(metric, capability, tuner.name)


def check_fit(problem: Problem, tuner: Tuner) -> None:
    """Refuses a source that cannot give what the tuner needs, and a metric that it cannot climb."""
    if not isinstance(problem.source, tuner.needs):
        told = (_FIXED if problem.fixed else _LACKS)[tuner.needs]
        raise OptionError(told.format(tuner=tuner.name, source=type(problem.source).__name__))
    check_metric_fit(problem.metric, tuner)
