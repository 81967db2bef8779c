"""What a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dragoman.experiment.tables import Compared, Tables
from dragoman.types import Weights

__all__ = ["Best", "Content", "Curve", "Timed", "Translated", "best_of", "findings"]

TOP = 3000
"""Weights of a system that a report carries: the largest ones, whatever their sign, and those of other systems."""


@dataclass(frozen=True)
class Translated:
    """A text with references, and what each system made of it."""

    name: str
    references: Sequence[Sequence[str]]
    systems: Mapping[str, Sequence[Sequence[str]]]
    """By system, then by run: a line for each sentence."""
    source: Sequence[str] = ()
    unknown: Sequence[int] = ()
    """Words of each source sentence that the training text does not have."""
    terms: Sequence[int] = ()
    """Glossary terms in each source sentence."""
    details: Mapping[str, Mapping[int, Mapping[str, Any]]] = field(default_factory=dict)
    """By system and sentence: derivation and n-best list, as `translate --explain --json` tells them."""


@dataclass(frozen=True)
class Curve:
    """The traces of a system's tuning runs."""

    system: str
    runs: Sequence[Sequence[Mapping[str, float]]]


@dataclass(frozen=True)
class Best:
    """The best held-out scores of a system's runs."""

    system: str
    scores: Sequence[float]
    """Of each run, its best epoch, the start among them."""
    epochs: Sequence[int]
    """Which epoch that was."""

    @property
    def mean(self) -> float:
        """Over runs."""
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float | None:
        """Over runs; None for a single one."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else None


def best_of(curves: Sequence[Curve], higher: bool = True) -> list[Best]:
    """The best held-out score of each run of each system that has a held-out text."""
    made = []
    for curve in curves:
        scores, epochs = [], []
        for run in curve.runs:
            known = [
                (record["held_out"], int(record.get("step", n))) for n, record in enumerate(run) if "held_out" in record
            ]
            if known:
                score, epoch = max(known, key=lambda one: (one[0] if higher else -one[0], -one[1]))
                scores.append(score)
                epochs.append(epoch)
        if scores:
            made.append(Best(curve.system, scores, epochs))
    return made


@dataclass(frozen=True)
class Timed:
    """A step: what it was, its command, and what it took."""

    name: str
    command: str
    seconds: float | None = None
    cpu: float | None = None
    peak: int | None = None
    output: str = ""
    """What it printed, where that is a result."""
    part: bool = False
    """Whether its time is counted in another step: an epoch of a run."""


@dataclass(frozen=True)
class Content:
    """A whole report."""

    title: str
    about: str = ""
    tables: Tables = field(default_factory=lambda: Tables([], []))
    tests: Sequence[Translated] = ()
    curves: Sequence[Curve] = ()
    weights: Mapping[str, Weights] = field(default_factory=dict)
    steps: Sequence[Timed] = ()
    signatures: Sequence[str] = ()
    sentences: Sequence[str] = ()
    """Findings besides those of the comparisons."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often words of the tests stand in the training text."""
    tokenized: bool = True
    metric: str = "bleu"
    """The BLEU whose statistics the page carries."""
    plan: str = ""


def findings(tables: Tables) -> list[str]:
    """What was found, in sentences with numbers."""
    return [*_best(tables), *(f"{one}." for one in tables.choices), *(_sentence(one) for one in tables.comparisons)]


def _best(tables: Tables) -> list[str]:
    """The system with the best mean on each test, where there are several."""
    told = []
    for test, metric in dict.fromkeys((row.test, row.metric) for row in tables.rows):
        rows = [row for row in tables.rows if (row.test, row.metric) == (test, metric)]
        if len(rows) > 2:
            best = max(rows, key=lambda row: row.mean if row.higher_is_better else -row.mean)
            told.append(
                f"On {test}, {best.system} has the best {metric} of {len(rows)} systems: {best.mean:.{best.digits}f}."
            )
    return told


def _sentence(one: Compared) -> str:
    runs = f"{one.runs} runs" if one.runs > 1 else "one run"
    figures = (
        f"{one.score:.2f} against {one.baseline_score:.2f} {one.metric}, {one.difference:+.2f}, p = {one.p_value:.4f}"
        f" ({one.corrected:.4f} after Holm's correction; {runs})"
    )
    if not one.sure and not one.lost:
        return f"On {one.test}, {one.system} cannot be told from {one.baseline}: {figures}."
    word = "better" if one.better > 0 else "worse"
    if one.lost:
        claim = f"On {one.test}, {one.system} may be {word} than {one.baseline}"
        return f"{claim}; the correction for the number of comparisons leaves it open: {figures}."
    return f"On {one.test}, {one.system} is {word} than {one.baseline}: {figures}."
