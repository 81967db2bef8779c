"""One run repeated with other seeds: how much of a score is the optimiser's luck (Clark et al. 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.engine import Engine, Serial, Shared, engine_of
from dragoman.significance import Replications, replications
from dragoman.tuning.driver import Tuned, tune
from dragoman.tuning.problem import Problem, Tuner
from dragoman.tuning.rundir import RunDir

__all__ = ["replicate", "spread"]


@dataclass(frozen=True)
class _One:
    """One run, for a worker."""

    problem: Shared[Problem]
    tuner: Tuner
    options: dict[str, Any]

    def __call__(self, task: tuple[int, RunDir | None]) -> Tuned:
        seed, run = task
        return tune(self.problem.value, self.tuner, seed=seed, engine=Serial(), run=run, **self.options)


def replicate(
    problem: Problem,
    tuner: Tuner,
    count: int,
    place: Callable[[int], RunDir | None] = lambda _number: None,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    began: Callable[[int], None] | None = None,
    ended: Callable[[Tuned], None] | None = None,
    **options: Any,
) -> list[Tuned]:
    """Runs with the seeds `seed`, `seed + 1`, ...; number n is kept at `place(n)`, from 0.

    On threads of this process runs follow each other, and each uses all workers. Any other engine gets them as tasks.
    """
    chosen = engine or engine_of()
    tasks = [(seed + number, place(number)) for number in range(count)]
    if not chosen.local:
        with chosen:
            options = {**options, "progress": None}
            return chosen.map(_One(chosen.share(problem), tuner, options), tasks)
    results = []
    for number, (own, run) in enumerate(tasks):
        if began:
            began(number)
        results.append(tune(problem, tuner, seed=own, engine=chosen, run=run, **options))
        if ended:
            ended(results[-1])
    return results


def spread(problem: Problem, results: Sequence[Tuned]) -> Replications | None:
    """Mean and standard deviation over runs, on the held-out text if there is one; None for a single run."""
    if len(results) < 2:
        return None
    return replications(np.array([found.rows for found in results]), problem.metric)
