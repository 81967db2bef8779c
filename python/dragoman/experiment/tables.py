"""What came out, as figures: scores of all systems with their spread, and every comparison with its p-value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.experiment.plan import Compare, Plan
from dragoman.files import write_bytes
from dragoman.metrics.format import digits
from dragoman.significance import stratified_randomisation
from dragoman.tables import table
from dragoman.types import F64, Hypotheses, Metric
from dragoman.verbs.inputs import lines_of, metric_of, references_of
from dragoman.verbs.judging import signature

__all__ = [
    "SURE",
    "Choice",
    "Compared",
    "Judge",
    "Row",
    "Tables",
    "compared",
    "corrected_by_holm",
    "holm",
    "row_of",
    "tables_of",
]

SURE = 0.05
"""Differences with a smaller p are called differences."""


@dataclass(frozen=True)
class Row:
    """A system on a test set under a metric."""

    test: str
    metric: str
    system: str
    mean: float
    deviation: float | None
    """Standard deviation over runs; None for a single one."""
    scores: Sequence[float]
    signature: str
    digits: int = 2
    higher_is_better: bool = True


@dataclass(frozen=True)
class Compared:
    """A system against a baseline."""

    test: str
    metric: str
    baseline: str
    system: str
    baseline_score: float
    score: float
    difference: float
    """In the metric's own direction: for error rates negative is better."""
    better: float
    """The same, so that positive is better."""
    p_value: float
    corrected: float
    """By Holm's method over all comparisons of the experiment."""
    runs: int
    claim: str
    expect: str
    samples: int

    @property
    def sure(self) -> bool:
        """Whether p says that there is a difference, corrected for the number of comparisons."""
        return self.corrected < SURE

    @property
    def lost(self) -> bool:
        """Whether p alone says that there is a difference, and the correction does not."""
        return self.p_value < SURE <= self.corrected

    @property
    def outcome(self) -> str:
        """What became of the claim."""
        if self.expect == "level":
            open_ = "open after correction" if self.lost else "no difference found"
            return "differs" if self.sure else open_
        wanted = self.better > 0 if self.expect == "above" else self.better < 0
        if not self.sure:
            when = "open after correction" if self.lost else "open"
            return f"{when}: the direction is as claimed" if wanted else f"{when}: the direction is the other one"
        return "came out" if wanted else "the opposite came out"


@dataclass(frozen=True)
class Choice:
    """The best of some settings on a development set."""

    name: str
    on: str
    metric: str
    chosen: str
    means: Mapping[str, float]
    """Of each setting, over its runs."""
    deviations: Mapping[str, float | None]

    def __str__(self) -> str:
        family = self.chosen.partition(":")[2] or self.chosen
        return (
            f"{self.name}: chosen on {self.on}: {family} ({self.means[self.chosen]:.2f} {self.metric}, "
            f"the best of {len(self.means)})"
        )


@dataclass(frozen=True)
class Tables:
    """All figures of an experiment."""

    rows: Sequence[Row]
    comparisons: Sequence[Compared]
    statistics: Mapping[tuple[str, str], Mapping[str, F64]] = field(default_factory=dict, repr=False, compare=False)
    """By test and metric, then by system: (runs, sentences, width)."""
    choices: Sequence[Choice] = ()

    def to_dict(self) -> dict[str, Any]:
        """What `tables.json` has."""
        compared = [{**asdict(one), "outcome": one.outcome} for one in self.comparisons]
        chosen = {"choices": [asdict(one) for one in self.choices]} if self.choices else {}
        return {"scores": [asdict(row) for row in self.rows], "comparisons": compared, **chosen}

    def save(self, path: Path) -> None:
        """Writes the figures."""
        write_bytes(path, (json.dumps(self.to_dict(), indent=1) + "\n").encode())

    def __str__(self) -> str:
        parts = []
        for test, metric in dict.fromkeys((row.test, row.metric) for row in self.rows):
            own = [row for row in self.rows if (row.test, row.metric) == (test, metric)]
            cells = [
                [r.system, f"{r.mean:.{r.digits}f}", "" if r.deviation is None else f"{r.deviation:.{r.digits}f}",
                 str(len(r.scores))] for r in own
            ]  # fmt: skip
            parts += [f"{test}", table(["system", metric, "s.d.", "runs"], cells), f"# {own[0].signature}", ""]
        if self.choices:
            parts += [*map(str, self.choices), ""]
        if self.comparisons:
            cells = [
                [c.test, c.system, c.baseline, f"{c.difference:+.2f}", f"{c.p_value:.4f}", f"{c.corrected:.4f}",
                 c.outcome] for c in self.comparisons
            ]  # fmt: skip
            parts.append(table(["test", "system", "against", "difference", "p", "p (Holm)", "claim"], cells))
        return "\n".join(parts).rstrip()


class Judge:
    """Scores translations of one test set under one metric; references are digested once."""

    def __init__(self, metric: Metric | str, references: Sequence[Sequence[str]]) -> None:
        self.metric = metric_of(metric)
        self.references = [list(line) for line in references]
        self.prepared = self.metric.prepare(self.references)

    def statistics(self, runs: Sequence[Any]) -> F64:
        """(runs, sentences, width)."""
        return np.stack([self.prepared.statistics(Hypotheses.one_each(lines_of(run, "output"), {})) for run in runs])

    @property
    def signature(self) -> str:
        """How the figures were made."""
        return signature(self.metric, self.references)


def row_of(test: str, system: str, judge: Judge, statistics: F64) -> Row:
    """The scores of a system."""
    scores = judge.metric.score(statistics.sum(axis=1))
    deviation = float(scores.std(ddof=1)) if len(scores) > 1 else None
    form = judge.metric
    return Row(
        test, form.name, system, float(scores.mean()), deviation, scores.tolist(), judge.signature, digits(form),
        form.higher_is_better,
    )  # fmt: skip


def compared(
    test: str, judge: Judge, baseline: tuple[str, F64], system: tuple[str, F64], claim: Compare, samples: int, seed: int
) -> Compared:
    """One comparison, not yet corrected; a system with one run is the same in all runs of the other."""
    (base_name, a), (name, b) = baseline, system
    runs = max(len(a), len(b))
    a, b = (np.repeat(one, runs, axis=0) if len(one) == 1 else one for one in (a, b))
    found = stratified_randomisation(a, b, judge.metric, samples=samples, seed=seed)
    means = [float(judge.metric.score(one.sum(axis=1)).mean()) for one in (a, b)]
    difference = means[1] - means[0]
    better = difference if judge.metric.higher_is_better else -difference
    return Compared(
        test, judge.metric.name, base_name, name, means[0], means[1], difference, better, found.p_value, 1.0, runs,
        claim.claim, claim.expect, samples,
    )  # fmt: skip


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for their number, by Holm's step-down method."""
    order = np.argsort(values, kind="stable")
    corrected, largest = [1.0] * len(values), 0.0
    for place, number in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(values) - place) * values[number]))
        corrected[number] = largest
    return corrected


def corrected_by_holm(made: Sequence[Compared]) -> list[Compared]:
    """The same comparisons, each with its p corrected for their number."""
    values = holm([one.p_value for one in made])
    return [replace(one, corrected=p) for one, p in zip(made, values, strict=True)]


def tables_of(
    plan: Plan,
    texts: Mapping[tuple[str, str], Sequence[Path]],
    references: Mapping[str, Sequence[Path]],
    samples: int = 10_000,
) -> Tables:
    """All figures; `texts` has the translations of each (system, test), `references` the files of each test."""
    rows: list[Row] = []
    made: list[Compared] = []
    kept: dict[tuple[str, str], dict[str, F64]] = {}
    for test in plan.tests:
        lines = references_of(list(references[test]))
        for name in plan.metrics:
            judge = Judge(name, lines)
            own = {system: judge.statistics(list(runs)) for (system, on), runs in texts.items() if on == test}
            kept[test, judge.metric.name] = own
            rows += [row_of(test, system, judge, statistics) for system, statistics in own.items()]
            for claim in plan.comparisons:
                if test in claim.tests and claim.baseline in own:
                    base = claim.baseline, own[claim.baseline]
                    made += [
                        compared(test, judge, base, (system, own[system]), claim, samples, plan.seed)
                        for system in claim.systems
                        if system in own
                    ]
    return Tables(rows, corrected_by_holm(made), kept)
