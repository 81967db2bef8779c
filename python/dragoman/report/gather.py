"""Finds what a report shows: in the folder of an experiment, in that of a tuning run, or in files of translations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import breakdown, toml, weights
from dragoman.errors import InputError
from dragoman.experiment import Experiment
from dragoman.experiment.plan import Compare
from dragoman.experiment.steps import weights_in
from dragoman.experiment.tables import Compared, Judge, Tables, compared, corrected_by_holm, row_of
from dragoman.files import read_text
from dragoman.glossary import Glossary
from dragoman.model import TOOK
from dragoman.report.content import Content, Curve, Timed, Translated
from dragoman.verbs.inputs import lines_of, references_of

__all__ = ["counts_in", "of_experiment", "of_outputs", "of_run", "unknown_in"]


def of_experiment(folder: Path, glossary: str | None = None) -> Content:
    """The report of an experiment whose steps are done."""
    found = Experiment.opened(folder)
    done = found.done()
    left = [name for name in found.steps if name not in done]
    if left:
        raise InputError(f"{folder}: {len(left)} steps are not done, the first is `{left[0]}`; run the plan first")
    plan, tables = found.plan, found.tables()
    training = [data for train in plan.train.values() for data in train.data]
    sources = {str(found.source(name)) for name in training}
    targets = {str(path) for name in training for path in found.references(name)}
    tests = []
    for name in plan.tests:
        source = list(read_text(found.source(name)))
        outputs: dict[str, list[list[str]]] = {}
        for (system, test), runs in found.texts().items():
            if test == name:
                outputs[system] = [list(read_text(path)) for path in runs]
        references = references_of(found.references(name))
        unknown = unknown_in(source, sources, plan.tokenized)
        terms = _terms(source, glossary)
        tests.append(Translated(name, references, outputs, source, unknown, terms, _details(found, name)))
    curves, kept = [], {}
    for tune in plan.tune.values():
        inner = [found.steps[n] for n, s in found.steps.items() if s.kind == "tune" and s.system == tune.name]
        traces = [step.folder / ("trace.jsonl" if tune.lists else "model/trace.jsonl") for step in inner]
        curves.append(Curve(tune.name, [_trace(path) for path in traces if path.exists()]))
        kept[tune.name] = weights.load(inner[0].folder / weights_in(tune.lists))
    steps = [
        Timed(name, one.command, one.seconds, one.cpu, one.peak, _printed(found, name)) for name, one in done.items()
    ]
    order = list(found.steps)
    steps.sort(key=lambda step: order.index(step.name))
    return Content(
        plan.title, plan.about, tables, tests, curves, kept, steps,
        list(dict.fromkeys(row.signature for row in tables.rows)), [], counts_in(tests, targets, plan.tokenized),
        plan.tokenized, plan.metrics[0], plan.text,
    )  # fmt: skip


def of_outputs(
    systems: Mapping[str, Sequence[Any]],
    references: Any,
    metrics: Sequence[str] = ("bleu",),
    *,
    source: Any = None,
    training: Sequence[str] = (),
    source_training: Sequence[str] = (),
    glossary: str | None = None,
    tokenized: bool = False,
    title: str = "Comparison",
    samples: int = 10_000,
    seed: int = 0,
    test: str = "test",
) -> Content:
    """The report of files of translations, the first system against all others; each has one or more runs."""
    lines = references_of(references)
    texts = {name: [list(read_text(run)) if isinstance(run, (str, Path)) else list(run) for run in runs]
             for name, runs in systems.items()}  # fmt: skip
    first, *others = texts
    claim = Compare(first, tuple(others), "", "above", (test,))
    rows, made = [], list[Compared]()
    for name in metrics:
        judge = Judge(name, lines)
        own = {system: judge.statistics(runs) for system, runs in texts.items()}
        rows += [row_of(test, system, judge, found) for system, found in own.items()]
        made += [
            compared(test, judge, (first, own[first]), (other, own[other]), claim, samples, seed) for other in others
        ]
    tables = Tables(rows, corrected_by_holm(made))
    told = list(lines_of(source, "source")) if source is not None else []
    one = Translated(
        test, lines, texts, told, unknown_in(told, source_training, tokenized) if source_training else [],
        _terms(told, glossary),
    )  # fmt: skip
    bleu = next((m for m in metrics if str(m).startswith("bleu")), "bleu")
    return Content(
        title, "", tables, [one], signatures=list(dict.fromkeys(row.signature for row in rows)),
        counts=counts_in([one], training, tokenized), tokenized=tokenized, metric=bleu,
    )  # fmt: skip


def of_run(folder: Path) -> Content:
    """The report of a tuning run: its curve, its weights, what was asked for."""
    if not (folder / "config.toml").exists():
        raise InputError(
            f"{folder}: neither an experiment (plan.toml) nor a tuning run (config.toml) is here; "
            "`dragoman compare ... --report FILE.html` reports on files of translations"
        )
    several = [run for run in sorted(folder.glob("run[0-9]*")) if (run / "trace.jsonl").exists()] or [folder]
    records = [_trace(run / "trace.jsonl") for run in several]
    config = toml.load(several[0] / "config.toml", "the options of a run")
    kept = weights.load(folder / "weights.toml")
    sentences = []
    for name, key in (("tuning text", "score"), ("held-out text", "held_out")):
        values = [[r[key] for r in run if key in r] for run in records]
        if all(len(v) > 1 for v in values):
            start, best = np.mean([v[0] for v in values]), np.mean([max(v) for v in values])
            sentences.append(
                f"On the {name} the score goes from {start:.2f} to {best:.2f} at best, {best - start:+.2f}."
            )
    sentences.append(f"{int(np.count_nonzero(kept.values)):,} weights are not zero.")
    shown = {key: value for key, value in config.items() if not isinstance(value, (dict, list))}
    signatures = [f"{config['metric']}|seed:{config.get('seed', 0)}|tuner:{config['tuner']}"]
    about = ", ".join(f"{key} {value}" for key, value in shown.items() if key in {"tuner", "metric", "seed", "epochs"})
    return Content(
        f"Tuning run {folder.name}", about, curves=[Curve(folder.name, records)], weights={folder.name: kept},
        sentences=sentences, steps=_epochs(several, records), signatures=signatures, metric=_bleu_of(config),
        plan=(several[0] / "config.toml").read_text(encoding="utf-8"),
    )  # fmt: skip


def _epochs(runs: Sequence[Path], records: Sequence[Sequence[Mapping[str, float]]]) -> list[Timed]:
    """The time of each epoch of tuning runs, and time and memory of each run, where it has noted them."""
    made = []
    for folder, record in zip(runs, records, strict=True):
        mark = f"{folder.name}, " if len(runs) > 1 else ""
        took = json.loads((folder / TOOK).read_text(encoding="utf-8")) if (folder / TOOK).exists() else {}
        if took:
            made.append(Timed(f"{mark}all of it", "", took["seconds"], None, took["peak"]))
        made += [Timed(f"{mark}epoch {r['step']}", "", r["seconds"], part=bool(took)) for r in record if "seconds" in r]
    return made


def _bleu_of(config: Mapping[str, Any]) -> str:
    """A metric with the direction of a run's scores: its own name, where that can be made anew."""
    name = str(config["metric"]).partition("|")[0].lower()
    return name if name in {"bleu", "chrf", "ter", "wer"} else "bleu"


def _trace(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def unknown_in(source: Sequence[str], training: Iterable[str], tokenized: bool) -> list[int]:
    """How many words of each sentence some files of training text do not have."""
    return breakdown.unknown_in(source, (line for path in training for line in read_text(path)), tokenized)


def _terms(source: Sequence[str], glossary: str | None) -> list[int]:
    """How many terms of a glossary each sentence has."""
    if glossary is None:
        return []
    return breakdown.terms_in(source, [term.source for term in Glossary.read(glossary)])


def counts_in(tests: Sequence[Translated], training: Iterable[str], tokenized: bool) -> dict[str, int]:
    """How often words of references and outputs stand in the training text; empty if there is none."""
    paths = list(training)
    if not paths:
        return {}
    words = breakdown.Words(tokenized)
    for test in tests:
        words.read(line for refs in test.references for line in refs[:1])
        for runs in test.systems.values():
            for run in runs:
                words.read(run)
    counts = np.zeros(len(words.numbers), dtype=np.int64)
    for path in paths:
        counts += breakdown.counts_of(read_text(path), words)
    return {word: int(counts[number]) for word, number in words.numbers.items() if counts[number]}


def _details(found: Experiment, test: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Derivations that the experiment's details steps have told."""
    made: dict[str, dict[int, dict[str, Any]]] = {}
    for folder in sorted((found.out / "details").glob("*/told.json")):
        told = json.loads(folder.read_text(encoding="utf-8"))
        if told["test"] == test and told["key"] == found.steps[told["step"]].key:
            made[told["system"]] = {int(number): one for number, one in told["sentences"].items()}
    return made


def _printed(found: Experiment, name: str) -> str:
    """What a command of the user's printed: that is its result."""
    step = found.steps[name]
    path = step.folder / "stdout"
    if not step.free or not path.exists():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")[:20_000]
