"""What a plan says: data sets, models to train, tuning runs, n-best lists, free commands, comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.experiment.cutting import Part

__all__ = [
    "MANY", "Choose", "Compare", "Data", "Free", "Lists", "Plan", "System", "Train", "Tune", "folders_in"
]  # fmt: skip

MANY = 500
"""More tuning runs than this need a word from the user."""


@dataclass(frozen=True)
class Data:
    """A text with its translations: those of a training text, or references."""

    name: str
    src: str
    refs: tuple[str, ...]
    part: Part = field(default_factory=Part)
    without: tuple[str, ...] = ()
    """Data sets whose sentences are left out here."""


@dataclass(frozen=True)
class Train:
    """A model."""

    name: str
    data: tuple[str, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Lists:
    """N-best lists of a model, made once for each data set that asks for them."""

    name: str
    model: str
    nbest_size: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Tune:
    """Tuning runs with one setting, one for each seed; a grid has been unfolded into several of these."""

    name: str
    family: str
    """The name without the grid's values."""
    model: str
    """A model, or `""` where there are lists."""
    lists: str
    data: tuple[str, ...]
    """Data sets; of several the lines stand one after the other."""
    held_out: str | float | None
    tuner: str
    features: str
    start: str
    replications: int
    options: Mapping[str, Any]
    test: bool = True


@dataclass(frozen=True)
class Choose:
    """The best of some tuning runs on a development set: it alone is tested."""

    name: str
    among: tuple[str, ...]
    on: str
    metric: str


@dataclass(frozen=True)
class System:
    """A model that is tested as it is."""

    name: str
    model: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Free:
    """A command of the user's."""

    name: str
    run: str
    needs: tuple[str, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Compare:
    """Systems against a baseline, and what is expected."""

    baseline: str
    systems: tuple[str, ...]
    claim: str
    expect: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A whole plan."""

    path: Path
    text: str
    title: str
    about: str
    seed: int
    tokenized: bool
    metrics: tuple[str, ...]
    tests: tuple[str, ...]
    details: int
    """Sentences whose derivations and n-best lists the report shows."""
    data: Mapping[str, Data]
    train: Mapping[str, Train]
    lists: Mapping[str, Lists]
    tune: Mapping[str, Tune]
    systems: Mapping[str, System]
    free: Mapping[str, Free]
    choices: Mapping[str, Choose]
    comparisons: Sequence[Compare]
    seconds: Mapping[str, float]
    """What steps take by an earlier measurement, by kind or by name: for the first estimate."""

    @property
    def runs(self) -> int:
        """Tuning runs."""
        return sum(tune.replications for tune in self.tune.values())

    @property
    def tested(self) -> dict[str, int]:
        """Systems that are tested, and the number of their runs."""
        single = dict.fromkeys(self.systems, 1)
        chosen = {one.name: self.tune[one.among[0]].replications for one in self.choices.values()}
        return single | {tune.name: tune.replications for tune in self.tune.values() if tune.test} | chosen


def folders_in(*values: Any) -> list[str]:
    """The steps whose folders options name, as `{NAME}`."""
    found = (name for value in values if isinstance(value, str) for name in re.findall(r"\{([^{}]+)\}", value))
    return list(dict.fromkeys(found))
