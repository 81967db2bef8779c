"""Can MERT find weights that are known to be best? Hopkins & May's synthetic experiment (2011).

As repeated by Galley et al. (2013, sections 5 and 6): a table, their figure 2 (score and cosine by the number of
features) and their figure 3 (score by line searches).

Run `python benchmarks/synthetic.py --out figures`; it takes 2 GB and, at full size, the better part of an hour.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dragoman.metrics import External
from dragoman.tuning import Limits
from dragoman.tuning.tuners.mert.climb import Climb
from dragoman.tuning.tuners.mert.directions import ascend, strategies
from dragoman.tuning.tuners.mert.regularise import Plain
from dragoman.tuning.tuners.mert.surface import Surface
from dragoman.types import F64

F32 = npt.NDArray[np.float32]
METHODS = {
    "gradient": "gradient+coordinate",
    "natural": "natural+coordinate",
    "coordinate": "coordinate",
    "powell": "powell",
    "random": "random",
}
"""The gradient finders end with a round of coordinates, and go on if that helped (footnote 8)."""


@dataclass(frozen=True)
class Size:
    """How large the experiment is."""

    sentences: int = 1000
    candidates: int = 500
    widths: tuple[int, ...] = (10, 50, 100, 200, 500, 1000)
    random: int = 50
    """Random directions in a round."""
    passes: int = 10
    """Rounds of the methods that do not converge: each has a line search for every feature."""
    printed: bool = False
    """Gradients are those of log expected BLEU with mu on w as it is, as printed in the paper."""

    @property
    def traced(self) -> int:
        """Number of features of figure 3."""
        return self.widths[-2:][0]  # 500 at full size; the only one where there is one


QUICK = Size(sentences=60, candidates=40, widths=(5, 20), random=10, passes=3)


@dataclass(frozen=True, eq=False)
class Data:
    """Features (features, candidates) as f32, since there are 500 million at full size, and the gold weights."""

    matrix: F32
    gold: F64
    statistics: F64
    starts: npt.NDArray[np.int64]


def generate(size: Size, width: int, seed: int) -> Data:
    """Features U[0, 500]; pseudo-BLEU is w*.h, brought to 0..1 within each list."""
    rng = np.random.default_rng([seed, width])
    n = size.sentences * size.candidates
    gold = rng.uniform(-1.0, 1.0, width)
    matrix = np.empty((width, n), dtype=np.float32)
    score = np.zeros(n)
    for row, weight in zip(matrix, gold, strict=True):
        rng.random(dtype=np.float32, out=row)
        np.multiply(row, 500.0, out=row)
        score += weight * row.astype(np.float64)
    lists = score.reshape(size.sentences, size.candidates)
    lists -= lists.min(axis=1, keepdims=True)
    lists /= lists.max(axis=1, keepdims=True)
    starts = np.arange(0, n + 1, size.candidates, dtype=np.int64)
    return Data(matrix, gold, np.stack([score, np.ones(n)], axis=1), starts)


def blur(data: Data, seed: int) -> None:
    """Noise N(0, 200) on every feature, in place, once the pseudo-BLEU is known."""
    rng = np.random.default_rng([seed, len(data.gold), 1])
    for row in data.matrix:
        np.add(row, np.float32(200.0) * rng.standard_normal(len(row), dtype=np.float32), out=row)


def search(data: Data, method: str, size: Size, seed: int) -> Climb:
    """One search from equal weights, without restarts, as in the paper."""
    width = len(data.gold)
    surface = Surface.of_matrix(data.starts, data.matrix, data.statistics, External())
    climb = Climb(
        surface,
        Plain(),
        Limits.none(width),
        np.full(width, 1.0 / width),
        tolerance=1e-5,
        rng=np.random.default_rng(seed),
        spreads=np.full(width, 500.0),
    )
    parts = strategies(METHODS[method], "cyclic", size.random, log=size.printed, raw=size.printed)
    ascend(climb, parts, 100 if method in {"gradient", "natural"} else size.passes)
    return climb


def cosine(a: F64, b: F64) -> float:
    """The cosine of the angle between two vectors."""
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def experiment(size: Size, methods: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """Every width, clean and noisy, by every method."""
    for width in size.widths:
        data = generate(size, width, seed)
        for noise in ("clean", "noisy"):
            if noise == "noisy":
                blur(data, seed)
            for method in methods:
                wall, cpu = time.perf_counter(), time.process_time()
                climb = search(data, method, size, seed)
                yield {
                    "features": width,
                    "data": noise,
                    "method": method,
                    "score": climb.value,
                    "cosine": cosine(climb.weights, data.gold),
                    "searches": climb.searches,
                    "seconds": time.perf_counter() - wall,
                    "cpu_seconds": time.process_time() - cpu,
                    "history": climb.history if width == size.traced else [],
                }


def plot(rows: list[dict[str, Any]], size: Size, folder: Path) -> None:
    """Figures 2 and 3 of the paper as PNG."""
    import matplotlib as mpl  # noqa: PLC0415  only if plots are wanted

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    styles = {"clean": "--", "noisy": "-"}
    for colour, method in enumerate(METHODS):
        for noise, style in styles.items():
            chosen = [r for r in rows if r["method"] == method and r["data"] == noise]
            for axis, key in zip(axes, ("score", "cosine"), strict=True):
                x, y = [r["features"] for r in chosen], [r[key] for r in chosen]
                axis.plot(x, y, style, color=f"C{colour}", marker="o", label=f"{method}, {noise}")
                axis.set(xlabel="features", ylabel=key, xscale="log", ylim=(0.0, 1.03))
    axes[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(folder / "figure2.png", dpi=120)
    figure, axis = plt.subplots(figsize=(6, 4))
    for row in rows:
        if row["features"] == size.traced and row["method"] in {"gradient", "natural", "coordinate"}:
            axis.plot(range(1, len(row["history"]) + 1), row["history"], label=f"{row['method']}, {row['data']}")
    axis.set(xlabel=f"line searches ({size.traced} features)", ylabel="score", xscale="log")
    axis.legend()
    figure.tight_layout()
    figure.savefig(folder / "figure3.png", dpi=120)


def main(arguments: list[str] | None = None) -> None:
    """Runs the experiment; a line of the table as soon as it is known."""
    parser = argparse.ArgumentParser(description="MERT on lists whose best weights are known")
    parser.add_argument("--quick", action="store_true", help="seconds instead of an hour; proves nothing")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--widths", nargs="+", type=int, help="numbers of features")
    parser.add_argument("--printed", action="store_true", help="gradients as printed in the paper")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for the figures")
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else Size()
    if options.widths:
        size = replace(size, widths=tuple(options.widths))
    size = replace(size, printed=options.printed)
    rows = []
    if not options.json:
        print(f"{'features':>8} {'data':>6} {'method':>10} {'score':>8} {'cosine':>8} {'searches':>8} {'cpu s':>8}")
    for row in experiment(size, options.methods, options.seed):
        rows.append(row)
        if not options.json:
            figures = f"{row['score']:8.4f} {row['cosine']:8.4f} {row['searches']:8d} {row['cpu_seconds']:8.1f}"
            print(f"{row['features']:8d} {row['data']:>6} {row['method']:>10} {figures}", flush=True)
    if options.json:
        json.dump(rows, sys.stdout)
    if options.out:
        plot(rows, size, options.out)


if __name__ == "__main__":
    main()
