"""Short forms of `tune` for tests: over a pool, and over a source with references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.engine import Engine
from dragoman.tuning import NamedLimits, Pool, Problem, RunDir, Tuned, Tuner, Workspace, adjusted, tune
from dragoman.types import Metric, Source, Weights


def tune_pool(
    pool: Pool,
    tuner: Tuner,
    *,
    held_out: Pool | None = None,
    fixed: Sequence[str] = (),
    bounds: dict[str, tuple[float, float]] | None = None,
    checkpoint: Path | None = None,
    **options: Any,
) -> Tuned:
    """Tunes on judged lists."""
    other = None if held_out is None else Problem.of_pool(held_out)
    problem = Problem.of_pool(pool, held_out=other, limits=NamedLimits(fixed, bounds or {}))
    return tune(problem, tuner, run=RunDir(checkpoint=checkpoint), **options)


@dataclass(frozen=True, eq=False)
class Judged:
    """A source with its references."""

    source: Any
    references: Sequence[Sequence[str]]

    def problem(self, metric: Metric, **more: Any) -> Problem:
        source: Source = self.source
        return Problem.of_source(source, self.references, metric, **more)


@dataclass(frozen=True)
class Plan:
    """How long to tune, and how."""

    epochs: int = 10
    mode: str = "auto"
    stale: int = 3
    shards: int = 1
    select: str = "best"
    fixed: Sequence[str] = ()
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 0
    memory: int = 4 << 30
    engine: Engine | None = None

    def tuner(self, tuner: Tuner) -> Tuner:
        usual = {"mode": "auto", "stale": 3, "shards": 1}
        return adjusted(
            tuner, {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}
        )


def tune_source(
    setting: Judged,
    metric: Metric,
    tuner: Tuner,
    start: Weights,
    plan: Plan | None = None,
    *,
    held_out: Judged | None = None,
    folder: Path | None = None,
    resume: bool = False,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> Tuned:
    """Tunes with fresh candidates."""
    plan = plan or Plan()
    other = None if held_out is None else held_out.problem(metric)
    space, limits = Workspace(memory=plan.memory), NamedLimits(plan.fixed, plan.bounds)
    problem = setting.problem(metric, held_out=other, workspace=space, limits=limits)
    return tune(
        problem, plan.tuner(tuner), start=start, seed=plan.seed, rounds=plan.epochs, select=plan.select,  # type: ignore[arg-type]
        engine=plan.engine, run=folder, resume=resume, progress=progress,
    )  # fmt: skip
