"""Lines and regularisers against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._core import best_per_group
from dragoman.metrics import Bleu, External
from dragoman.tune.base import Limits
from dragoman.tune.mert.climb import Climb
from dragoman.tune.mert.regularise import REGULARISERS, L0, L2, L2Fixed, L2Normalised, Line, Plain, Regulariser
from dragoman.tune.surface import Surface
from dragoman.types import F64, Metric

SEEDS = st.integers(0, 2**32 - 1)


def small(seed: int, metric: Metric, whole: bool, fill: float = 1.0) -> tuple[Surface, F64, F64]:
    """A small pool: its surface, its features (features, candidates) and its statistics."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 7, 8)
    n, width = int(sizes.sum()), 4
    matrix = rng.integers(-3, 4, (width, n)).astype(np.float64) if whole else rng.standard_normal((width, n))
    matrix *= rng.random((width, n)) < fill
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    statistics = rng.integers(0, 9, (n, metric.width)).astype(np.float64)
    if metric.width == 2:
        statistics = np.stack([rng.random(n), np.ones(n)], axis=1)
    return Surface.of_matrix(starts, matrix, statistics, metric), matrix, starts


def gain_at(surface: Surface, matrix: F64, starts: Any, statistics: F64, weights: F64) -> float:
    best = best_per_group(matrix.T @ weights, starts)
    return float(surface.gains(statistics[best[best >= 0]].sum(axis=0)))


@given(SEEDS, st.booleans(), st.sampled_from([1.0, 0.3]))
def test_intervals_hold_the_statistics_of_the_winners(seed: int, whole: bool, fill: float) -> None:
    rng = np.random.default_rng(seed)
    metric = External()
    sizes = rng.integers(0, 7, 8)
    n = int(sizes.sum())
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    draw = (lambda: rng.integers(-3, 4, n).astype(np.float64)) if whole else (lambda: rng.standard_normal(n))
    scores, slopes = draw(), draw() * (rng.random(n) < fill)
    statistics = np.stack([rng.random(n), np.ones(n)], axis=1)
    surface = Surface.of_matrix(starts, slopes[None, :], statistics, metric)
    corners, totals = surface.lines.search(scores, slopes)
    assert (np.diff(corners) > 0).all()
    ends = np.concatenate([corners[:1] - 1, corners, corners[-1:] + 1]) if len(corners) else np.array([-1.0, 1.0])
    probes = np.concatenate([(ends[1:] + ends[:-1]) / 2, rng.uniform(-5, 5, 20)])
    for gamma in probes:
        if np.abs(corners - gamma).min(initial=1.0) < 1e-9:
            continue
        best = best_per_group(scores + gamma * slopes, starts)
        want = statistics[best[best >= 0]].sum(axis=0)
        np.testing.assert_allclose(totals[np.searchsorted(corners, gamma)], want, rtol=1e-14)


def penalties(width: int, origin: F64) -> list[Regulariser]:
    fixed = np.where(np.arange(width) == 0, 1.5, 0.0)
    strong: list[Regulariser] = [L2(0.3, origin), L2Fixed(0.3, fixed), L2Normalised(2.0), L0(0.1)]
    return [Plain(), *strong]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("metric", [External(), External(higher_is_better=False), Bleu(tokenize="none", smooth="add-k")])
@given(SEEDS, st.booleans(), st.booleans())
def test_the_best_point_is_that_of_a_dense_grid(kind: int, metric: Metric, seed: int, whole: bool, bounded: bool) -> None:
    """No point of a grid (nor of a grid inside each interval) beats the regulariser's; and its value is true."""
    surface, matrix, starts = small(seed, metric, whole)
    rng = np.random.default_rng([seed, 1])
    width = len(matrix)
    weights = rng.integers(-2, 3, width).astype(np.float64) if whole else rng.standard_normal(width)
    weights[0] = 1.5
    direction = rng.standard_normal(width) * (rng.random(width) < 0.7)
    direction[0] = 0.0
    towards = int(rng.integers(1, width)) if rng.random() < 0.5 else direction
    penalty = penalties(width, rng.standard_normal(width))[kind]
    limits = Limits(np.full(width, -2.5), np.full(width, 2.5)) if bounded else Limits.none(width)
    climb = Climb(surface, penalty, limits, weights, tolerance=0.0, rng=rng, spreads=np.ones(width))
    before = climb.value
    step = climb.line(towards)
    if step is None:
        return
    corners, _ = surface.search(climb.scores, climb.total, towards, None) if isinstance(towards, int) else (
        surface.lines.search(climb.scores, surface.product(direction))
    )
    vector = np.eye(width)[towards] if isinstance(towards, int) else climb._admissible(direction)
    assert step.value >= before - 1e-9 or not _inside_usable(corners)
    low, high = climb._bounds(towards if isinstance(towards, int) else vector)
    span = np.clip([-20.0, 20.0], low, high)
    edges = np.concatenate([span[:1], corners[(corners > span[0]) & (corners < span[1])], span[1:]])
    crossings = -weights[vector != 0] / vector[vector != 0]
    grid = np.concatenate([np.linspace(*span, 101), *(np.linspace(a, b, 9)[1:-1] for a, b in zip(edges[:-1], edges[1:]))])
    grid = np.concatenate([grid, crossings[(crossings >= span[0]) & (crossings <= span[1])]])
    statistics = _statistics(surface, seed, metric)
    slack = 2e-3 * (1.0 + 0.6 * 40.0 * 3) if kind in (1, 2, 3) else 1e-9
    for gamma in grid:
        if np.abs(corners - gamma).min(initial=1.0) < 1e-6 * max(1.0, abs(gamma)):
            continue
        point = weights + gamma * vector
        point[np.abs(point) < 1e-12] = 0.0
        value = gain_at(surface, matrix, starts, statistics, point) - penalty.value(point)
        assert value <= step.value + slack * _edge_loss(penalty, weights, vector, edges, gamma)
    climb.take(step)
    true = gain_at(surface, matrix, starts, statistics, climb.weights) - penalty.value(climb.weights)
    if step.total is not None:
        assert true == pytest.approx(step.value, abs=1e-6)
