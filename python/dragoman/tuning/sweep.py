"""Options chosen by trying them: a grid of tuners on one problem, judged on held-out sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dragoman.engine import Engine, Serial, Shared, engine_of
from dragoman.errors import OptionError
from dragoman.options import changed
from dragoman.tuning.driver import Tuned, tune
from dragoman.tuning.problem import Problem, Tuner
from dragoman.tuning.rundir import RunDir
from dragoman.types import Metric

__all__ = ["best", "run", "variants"]

Variant = tuple[str, Tuner]


def variants(tuner: Tuner, grid: Sequence[str]) -> list[Variant]:
    """A tuner for each combination of `option=a,b,c`, with the combination as its name."""
    axes = []
    for text in grid:
        option, given, values = text.partition("=")
        if not given or not values:
            raise OptionError(f"a sweep is OPTION=VALUE,VALUE..., found `{text}`")
        axes.append([(option, value) for value in values.split(",")])
    return [
        (",".join("=".join(pair) for pair in pairs), changed(f"tuner {tuner.name}", tuner, dict(pairs)))
        for pairs in product(*axes)
    ]


@dataclass(frozen=True)
class _One:
    """One variant, for a worker."""

    problem: Shared[Problem]
    options: dict[str, Any]

    def __call__(self, task: tuple[Variant, RunDir | None]) -> tuple[str, Tuned]:
        (name, tuner), run = task
        return name, tune(self.problem.value, tuner, engine=Serial(), run=run, **self.options)


def run(
    problem: Problem,
    tuners: Sequence[Variant],
    place: Callable[[int], RunDir | None] = lambda _number: None,
    *,
    engine: Engine | None = None,
    **options: Any,
) -> list[tuple[str, Tuned]]:
    """Runs every variant; number n is kept at `place(n)`, so that with `resume` finished ones are not run again.

    Over fixed lists variants run side by side. With a decoder they run one after the other, and each uses all workers.
    """
    chosen = engine or engine_of()
    tasks = [(variant, place(number)) for number, variant in enumerate(tuners)]
    if chosen.local and not problem.fixed:
        return [(name, tune(problem, tuner, engine=chosen, run=run, **options)) for (name, tuner), run in tasks]
    if not chosen.local:
        options = {**options, "progress": None}
    with chosen:
        return chosen.map(_One(chosen.share(replace(problem)), options), tasks)


def best(tried: Sequence[tuple[str, Tuned]], metric: Metric) -> Tuned:
    """The variant with the best held-out score (the first of equals)."""
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(
        (tuned for _, tuned in tried),
        key=lambda tuned: sign * tuned.held_out.score if tuned.held_out else float("-inf"),
    )
