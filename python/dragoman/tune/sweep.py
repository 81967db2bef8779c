"""Options chosen by trying them: a grid of tuners on one pool, judged on held-out sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from dragoman.config import changed
from dragoman.engine import Threads
from dragoman.errors import OptionError
from dragoman.tune.base import Pool, Tuner
from dragoman.tune.run import Options, Tuned, tune_pool
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


def run(
    pool: Pool, tuners: Sequence[Variant], held_out: Pool | None, out: str, options: Options
) -> list[tuple[str, Tuned]]:
    """Runs every variant, two at a time; each has a checkpoint of its own next to `out`."""

    def one(numbered: tuple[int, Variant]) -> tuple[str, Tuned]:
        number, (name, tuner) = numbered
        mine: Options = {**options, "checkpoint": Path(f"{out}.checkpoint.{number}")}
        return name, tune_pool(pool, tuner, held_out=held_out, **mine)

    # Kernels release the interpreter and share its threads, so a second run fills the gaps of the first.
    return Threads(2).map(one, enumerate(tuners))


def best(tried: Sequence[tuple[str, Tuned]], metric: Metric) -> Tuned:
    """The variant with the best held-out score (the first of equals)."""
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(
        (tuned for _, tuned in tried),
        key=lambda tuned: sign * tuned.held_out.score if tuned.held_out else float("-inf"),
    )
