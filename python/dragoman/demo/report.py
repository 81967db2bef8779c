"""The report of the demonstration: made as every other report is, from what the demonstration left."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman import weights
from dragoman.decoder import Derivation
from dragoman.demo.results import AGAINST, SHORT, Results, System
from dragoman.experiment.plan import Compare
from dragoman.experiment.tables import Judge, Tables, compared, corrected_by_holm, row_of
from dragoman.files import read_text
from dragoman.report import Content, Curve, Timed, Translated, page
from dragoman.report.gather import counts_in, unknown_in

__all__ = ["Commands", "content_of", "written"]

Commands = Sequence[tuple[str, str, Sequence[Sequence[str]]]]
"""Name, title and arguments of each step."""
_TEST = "test"
_METRICS = ("bleu:tokenize=none", "chrf")
_ABOUT = (
    "A German-English corpus from a grammar: mostly American text to train on, British text to tune and test on. A "
    "dense model cannot say that “lift” is better than “elevator”; a hierarchical one moves words further; thousands "
    "of sparse features learn to speak British. Every step is a command, shown below."
)


def written(folder: Path, results: Results, commands: Commands) -> str:
    """The whole page."""
    return page(content_of(folder, results, commands))


def content_of(folder: Path, results: Results, commands: Commands) -> Content:
    """What the page shows."""
    source, reference = (list(read_text(folder / f"test.{language}")) for language in ("de", "en"))
    texts = {SHORT[s.name]: [list(read_text(folder / f"test.{s.name}.en"))] for s in results.systems}
    tables = _tables(texts, reference)
    test = Translated(
        _TEST, [[line] for line in reference], texts, source, unknown_in(source, [str(folder / "train.de")], True), [],
        {SHORT[name]: {i: told_of(one) for i, one in found.items()} for name, found in results.derived.items()},
    )  # fmt: skip
    tuned = [system for system in results.systems if system.records]
    return Content(
        "A translator that learns to speak British", _ABOUT, tables, [test],
        [Curve(SHORT[system.name], [system.records]) for system in tuned],
        {SHORT[system.name]: weights.load(folder / system.name / "weights.toml") for system in reversed(tuned)},
        list(_steps(commands, results.seconds)), list(dict.fromkeys(row.signature for row in tables.rows)),
        _sentences(results.systems), counts_in([test], [str(folder / "train.en")], True), True, _METRICS[0],
    )  # fmt: skip


def _tables(texts: Mapping[str, Sequence[Sequence[str]]], reference: Sequence[str]) -> Tables:
    rows, made = [], []
    for metric in _METRICS:
        judge = Judge(metric, [[line] for line in reference])
        own = {name: judge.statistics(runs) for name, runs in texts.items()}
        rows += [row_of(_TEST, name, judge, found) for name, found in own.items()]
        for system, against in AGAINST.items():
            one, base = SHORT[system], SHORT[against]
            claim = Compare(base, (one,), "", "above", (_TEST,))
            made.append(compared(_TEST, judge, (base, own[base]), (one, own[one]), claim, 10_000, 0))
    return Tables(rows, corrected_by_holm(made))


def _sentences(systems: Sequence[System]) -> list[str]:
    counts = {system.name: system.weights for system in systems}
    return [
        f"MERT has found {counts['mert']} weights, MIRA {counts['hiero']} for the hierarchical model; of the sparse "
        f"features' weights {counts['adagrad']:,} are not zero."
    ]


def _steps(commands: Commands, seconds: Mapping[str, float]) -> list[Timed]:
    return [
        Timed(title, "\n".join(f"dragoman {shlex.join(one)}" for one in arguments), seconds.get(name))
        for name, title, arguments in commands
    ]


def told_of(derivation: Derivation) -> dict[str, Any]:
    """A derivation as `translate --explain --json` tells it."""
    phrases = [
        {"source": p.source, "target": p.target, "features": dict(p.features), "depth": p.depth, "origin": p.origin}
        for p in derivation.phrases
    ]
    return {"score": derivation.score, "weights": dict(derivation.weights), "phrases": phrases, "alternatives": []}
