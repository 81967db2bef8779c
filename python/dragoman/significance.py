"""Do two systems really differ? Bootstrap, permutation, and randomisation over several tuning runs.

Every test takes statistics, not texts: rows of (sentences, width) from `metrics.statistics`. Sums of rows are scored
in one call, so any metric will do, one in plain Python too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman._core import bootstrap_sums, shuffle_sums
from dragoman.errors import InputError, OptionError
from dragoman.types import F64, Metric

__all__ = [
    "Comparison",
    "Interval",
    "Replications",
    "confidence",
    "paired_bootstrap",
    "paired_permutation",
    "replications",
    "stratified_randomisation",
]


@dataclass(frozen=True, slots=True)
class Interval:
    """A score and the interval that its bootstrap resamples fall in."""

    score: float
    mean: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on one metric. `p_value`: how often chance alone gives a difference at least this large."""

    baseline: float
    system: float
    difference: float
    """System minus baseline, in the metric's own direction: for error rates negative is better."""
    p_value: float
    test: str
    samples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Replications:
    """The scores of several tuning runs of one system (Clark et al. 2011)."""

    scores: tuple[float, ...]
    mean: float
    s_opt: float
    """Standard deviation over runs (n - 1): what the optimiser's luck is worth. NaN for a single run."""
    s_sel: float
    """Standard deviation over bootstrap resamples, averaged over runs: what the choice of sentences is worth."""


def confidence(statistics: F64, metric: Metric, *, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Interval:
    """The bootstrap interval of a score (Koehn 2004)."""
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1, found {level}")
    rows = _checked(statistics, metric)
    resampled = metric.score(bootstrap_sums(rows, _count(samples), seed))
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Interval(_corpus(rows, metric), float(resampled.mean()), float(low), float(high), level)


def paired_bootstrap(baseline: F64, system: F64, metric: Metric, *, samples: int = 1000, seed: int = 0) -> Comparison:
    """Paired bootstrap, two-sided, by the shift method: resampled differences are centred to stand for the null."""
    a, b = _paired(baseline, system, metric)
    resampled = metric.score(bootstrap_sums(b, _count(samples), seed)) - metric.score(bootstrap_sums(a, samples, seed))
    return _compare(a, b, metric, resampled - resampled.mean(), "paired bootstrap", seed)


def paired_permutation(
    baseline: F64, system: F64, metric: Metric, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Paired approximate randomisation (Riezler & Maxwell 2005): outputs of a sentence are swapped by a fair coin."""
    a, b = _paired(baseline, system, metric)
    return _compare(a, b, metric, _shuffled(a[None], b[None], metric, samples, seed), "paired permutation", seed)


def stratified_randomisation(
    baseline: F64, system: F64, metric: Metric, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Approximate randomisation over several tuning runs of both systems (Clark et al. 2011, MultEval's test).

    `baseline` and `system` are (runs, sentences, width). Within each sentence the outputs of all runs of both
    systems are dealt out anew, half to each side, so the two sides always share out all outputs exactly, for
    three and more runs too. Scores are of the statistics pooled over runs.
    """
    a, b = (_checked(s, metric, dimensions=3) for s in (baseline, system))
    if a.shape != b.shape:
        raise InputError(
            "both systems need as many runs and sentences: "
            f"{a.shape[0]} runs of {a.shape[1]} against {b.shape[0]} of {b.shape[1]}"
        )
    pooled = [s.reshape(-1, metric.width) for s in (a, b)]
    shuffled = _shuffled(a, b, metric, samples, seed)
    return _compare(pooled[0], pooled[1], metric, shuffled, "stratified approximate randomisation", seed)


def replications(statistics: F64, metric: Metric, *, samples: int = 1000, seed: int = 0) -> Replications:
    """Mean and spread of (runs, sentences, width)."""
    runs = _checked(statistics, metric, dimensions=3)
    scores = metric.score(runs.sum(axis=1))
    s_opt = float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")
    resampled = [metric.score(bootstrap_sums(run, _count(samples), seed)).std(ddof=1) for run in runs]
    return Replications(tuple(scores.tolist()), float(scores.mean()), s_opt, float(np.mean(resampled)))


def _shuffled(a: F64, b: F64, metric: Metric, samples: int, seed: int) -> F64:
    """Differences between the two pseudo-systems of each relabelling; a and b are (runs, sentences, width)."""
    outputs = np.ascontiguousarray(np.concatenate([a, b]).swapaxes(0, 1))
    first = shuffle_sums(outputs, _count(samples), seed)
    return metric.score(outputs.sum(axis=(0, 1)) - first) - metric.score(first)


def _compare(a: F64, b: F64, metric: Metric, null: F64, test: str, seed: int) -> Comparison:
    """The p-value of the observed difference among the differences under the null hypothesis."""
    scores = _corpus(a, metric), _corpus(b, metric)
    difference = scores[1] - scores[0]
    # At least as large counts, so that identical systems get p = 1; the tolerance is for sums in another order.
    extreme = int((np.abs(null) >= abs(difference) - 1e-9 * metric.scale).sum())
    p_value = (extreme + 1) / (len(null) + 1)
    return Comparison(*scores, difference, p_value, test, len(null), seed)


def _corpus(rows: F64, metric: Metric) -> float:
    return float(metric.score(rows.sum(axis=0)))


def _count(samples: int) -> int:
    if samples < 1:
        raise OptionError(f"samples must be at least 1, found {samples}")
    return samples


def _checked(statistics: F64, metric: Metric, dimensions: int = 2) -> F64:
    rows = np.ascontiguousarray(statistics, dtype=np.float64)
    if rows.ndim != dimensions or rows.shape[-1] != metric.width or rows.size == 0:
        raise InputError(
            f"expected statistics in {dimensions} dimensions with {metric.width} numbers a row, "
            f"found an array of shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise InputError("statistics must be finite numbers")
    return rows


def _paired(baseline: F64, system: F64, metric: Metric) -> tuple[F64, F64]:
    a, b = _checked(baseline, metric), _checked(system, metric)
    if a.shape != b.shape:
        raise InputError(f"the systems differ in length: {len(a)} sentences against {len(b)}")
    return a, b
