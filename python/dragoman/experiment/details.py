"""Derivations and n-best lists of the sentences that systems disagree on most, for the report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.experiment.runner import Experiment
from dragoman.experiment.steps import command_of, outputs_of, runnable
from dragoman.experiment.tables import Tables
from dragoman.files import read_text, write_bytes, write_text
from dragoman.types import F64
from dragoman.verbs.inputs import metric_of

__all__ = ["tell_details"]


def tell_details(found: Experiment, tables: Tables, say: Callable[[str], None]) -> None:
    """Explains sentences with the first run of each system that was translated, unless that is done."""
    if not found.plan.details:
        return
    for test in found.plan.tests:
        statistics = next(own for (on, _), own in tables.statistics.items() if on == test)
        chosen = _disagreeing(list(statistics.values()), found.plan.metrics[0], found.plan.details)
        source = read_text(found.source(test))
        for output in outputs_of(found.steps):
            step = found.steps[output.step]
            if output.test != test or output.run or step.kind != "translate":
                continue
            folder = found.out / "details" / step.folder.name
            told = folder / "told.json"
            if told.exists() and json.loads(told.read_text(encoding="utf-8"))["chosen"] == chosen:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / "source", [source[i] for i in chosen])
            words = _explaining(command_of(step, found.steps), folder / "source")
            done = subprocess.run(runnable(words), capture_output=True, text=True, check=False)
            if done.returncode:
                say(f"no derivations of {output.system}: {(done.stderr.strip().splitlines() or [''])[-1]}")
                continue
            sentences = dict(zip(map(str, chosen), _objects(done.stdout), strict=True))
            content = {
                "test": test, "system": output.system, "step": step.id, "key": step.key, "chosen": chosen,
                "sentences": sentences,
            }  # fmt: skip
            write_bytes(told, json.dumps(content).encode())


def _disagreeing(statistics: list[F64], metric: str, limit: int) -> list[int]:
    """The sentences whose sentence-level scores spread most over systems."""
    level = metric_of(metric).sentence_level()
    scores = np.stack([level.score(own).mean(axis=0) for own in statistics])
    order = np.argsort(-(scores.max(axis=0) - scores.min(axis=0)), kind="stable")
    return sorted(int(i) for i in order[:limit])


def _explaining(words: list[str], source: Path) -> list[str]:
    """The command that translated a text, for some of its sentences, with explanations."""
    kept = list(words)
    kept[kept.index("--input") + 1] = str(source)
    at = kept.index("--output")
    del kept[at : at + 2]
    return [*kept, "--explain", "--json"]


def _objects(text: str) -> list[dict[str, Any]]:
    """Objects of JSON, one after the other."""
    reader, at, found = json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        while text[at].isspace():
            at += 1
        one, at = reader.raw_decode(text, at)
        found.append(one)
    return found
