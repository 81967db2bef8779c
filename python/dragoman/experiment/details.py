"""Derivations and n-best lists of the sentences that systems disagree on most, for the report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import weights as weight_files
from dragoman.experiment.runner import Experiment
from dragoman.experiment.steps import command_of, outputs_of, runnable
from dragoman.experiment.tables import Tables
from dragoman.files import read_text, write_bytes, write_text
from dragoman.types import F64, Candidates
from dragoman.verbs.inputs import candidates_of, metric_of

__all__ = ["tell_details"]

_OTHERS = 5
"""Candidates of a reranked sentence, the best first."""


def tell_details(found: Experiment, tables: Tables, say: Callable[[str], None]) -> None:
    """Explains sentences with the first run of each system, unless that is done; of lists it shows candidates."""
    if not found.plan.details:
        return
    lists: dict[str, Candidates] = {}  # those of one test: systems that choose from the same lists read them once
    for test in found.plan.tests:
        statistics = next(own for (on, _), own in tables.statistics.items() if on == test)
        chosen = _disagreeing(list(statistics.values()), found.plan.metrics[0], found.plan.details)
        source = read_text(found.source(test))
        for output in outputs_of(found.steps):
            step = found.steps[output.step]
            if output.test != test or output.run:
                continue
            folder = found.out / "details" / step.folder.name
            told = folder / "told.json"
            if told.exists() and json.loads(told.read_text(encoding="utf-8"))["chosen"] == chosen:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if step.kind == "rerank":
                words = command_of(step, found.steps)
                path, weighed = words[words.index("--nbest") + 1], words[words.index("--weights") + 1]
                if path not in lists:
                    lists = {path: candidates_of(path)}
                sentences = _reranked(lists[path], Path(weighed), {i: source[i] for i in chosen})
            else:
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


def _reranked(lists: Candidates, weights: Path, chosen: dict[int, str]) -> dict[str, Any]:
    """What `translate --explain` would tell, of candidates: lists have features of a whole sentence."""
    found = weight_files.load(weights)
    places = {name: place for place, name in enumerate(lists.ids)}
    told = {}
    for number, source in chosen.items():
        place = places.get(str(number))
        if place is None or lists.starts[place] == lists.starts[place + 1]:
            continue
        rows = np.arange(lists.starts[place], lists.starts[place + 1])
        totals = lists.features.take(rows).dot(found)
        order = np.argsort(-totals, kind="stable")
        best = int(rows[order[0]])
        features = lists.features.row(best)
        others = dict.fromkeys(lists.texts[int(rows[k])] for k in order.tolist())
        scores = {lists.texts[int(rows[k])]: float(totals[k]) for k in reversed(order.tolist())}
        told[str(number)] = {
            "list": True,
            "score": float(totals[order[0]]),
            "weights": {name: found[name] for name in features},
            "phrases": [{"source": source, "target": lists.texts[best], "features": features}],
            "alternatives": [{"text": text, "score": scores[text]} for text in list(others)[:_OTHERS]],
        }
    return told


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
