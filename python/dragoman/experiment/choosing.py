"""The best of some tuning runs on a development set: its folder leads to theirs, as if it had been tuned itself."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.errors import OptionError
from dragoman.experiment.tables import Choice, Judge
from dragoman.files import read_text, write_bytes
from dragoman.verbs.inputs import references_of

__all__ = ["CHOSEN", "Runs", "choose", "chosen_in", "parted"]

CHOSEN = "chosen.json"
"""What a choice leaves in its folder, besides a link to each run of the best."""


@dataclass(frozen=True)
class Runs:
    """A setting with its runs: what they made of the development set, and their folders."""

    name: str
    texts: Sequence[str]
    folders: Sequence[str]


def choose(settings: Sequence[Runs], references: Sequence[str], metric: str, out: Path) -> str:
    """Finds the setting with the best mean over runs, the first of equals; writes scores, and links to its runs."""
    judge = Judge(metric, references_of([Path(path) for path in references]))
    means: dict[str, float] = {}
    deviations: dict[str, float | None] = {}
    for one in settings:
        rows = judge.statistics([list(read_text(path)) for path in one.texts])
        scores = judge.metric.score(rows.sum(axis=1))
        means[one.name] = float(scores.mean())
        deviations[one.name] = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    best = max(settings, key=lambda one: means[one.name] if judge.metric.higher_is_better else -means[one.name])
    out.mkdir(parents=True, exist_ok=True)
    for number, folder in enumerate(best.folders):
        link = out / f"run{number}"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(folder, out))
    found = {"chosen": best.name, "metric": judge.metric.name, "means": means, "deviations": deviations}
    write_bytes(out / CHOSEN, (json.dumps(found, indent=1) + "\n").encode())
    return best.name


def parted(names: Sequence[str], texts: Sequence[str], folders: Sequence[str]) -> list[Runs]:
    """Settings from texts and folders that stand in the order of the names, as many runs of each."""
    runs, rest = divmod(len(texts), len(names))
    if rest or len(texts) != len(folders):
        raise OptionError(
            f"texts and runs must be as many for each of {len(names)} names, found {len(texts)} and {len(folders)}"
        )
    return [
        Runs(name, texts[n * runs : (n + 1) * runs], folders[n * runs : (n + 1) * runs]) for n, name in enumerate(names)
    ]


def chosen_in(folder: Path, name: str, on: str) -> Choice:
    """What a choice found."""
    found: dict[str, Any] = json.loads((folder / CHOSEN).read_text(encoding="utf-8"))
    return Choice(name, on, found["metric"], found["chosen"], found["means"], found["deviations"])
