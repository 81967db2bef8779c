"""Lines and regularisers against brute force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman._core import best_per_group
from dragoman.metrics import Bleu, External
from dragoman.tuning import Limits
from dragoman.tuning.tuners.mert.climb import Climb
from dragoman.tuning.tuners.mert.regularise import L0, L2, L2Fixed, L2Normalised, Line, Plain, Regulariser
from dragoman.tuning.tuners.mert.surface import Direction, Surface
from dragoman.types import F64, I64, Metric

SEEDS = st.integers(0, 2**32 - 1)
WIDTH = 4


@dataclass(frozen=True, eq=False)
class Small:
    """A small pool, with the slow way to judge weights."""

    surface: Surface
    matrix: F64
    starts: I64
    statistics: F64

    @classmethod
    def draw(cls, rng: np.random.Generator, metric: Metric, whole: bool) -> Small:
        sizes = rng.integers(0, 7, 8)
        n = int(sizes.sum())
        matrix = rng.integers(-3, 4, (WIDTH, n)).astype(np.float64) if whole else rng.standard_normal((WIDTH, n))
        matrix *= rng.random((WIDTH, n)) < 0.8
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        statistics = rng.integers(1, 9, (n, metric.width)).astype(np.float64)
        if metric.width == 2:
            statistics = np.stack([rng.random(n), np.ones(n)], axis=1)
        return cls(Surface.of_matrix(starts, matrix, statistics, metric), matrix, starts, statistics)

    def total(self, scores: F64) -> F64:
        best = best_per_group(scores, self.starts)
        return np.asarray(self.statistics[best[best >= 0]].sum(axis=0))

    def gain(self, scores: F64) -> float:
        return float(self.surface.gains(self.total(scores)))


@given(SEEDS, st.booleans())
def test_intervals_hold_the_statistics_of_the_winners(seed: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    pool = Small.draw(rng, External(), whole)
    scores, slopes = pool.matrix[:2]
    corners, totals = pool.surface.lines.search(scores, slopes)
    assert (np.diff(corners) > 0).all()
    ends = np.concatenate([[-10.0], corners, [10.0]])
    for gamma in [*(ends[1:] + ends[:-1]) / 2, *rng.uniform(-5.0, 5.0, 20)]:
        if np.abs(corners - gamma).min(initial=1.0) > 1e-9:
            want = pool.total(scores + gamma * slopes)
            np.testing.assert_allclose(totals[np.searchsorted(corners, gamma)], want, rtol=1e-14)


@given(SEEDS, st.booleans())
def test_a_feature_is_the_direction_of_its_column(seed: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    pool = Small.draw(rng, External(), whole)
    scores = rng.standard_normal(WIDTH) @ pool.matrix
    total = pool.surface.lines.total(scores)
    np.testing.assert_allclose(total, pool.total(scores), rtol=1e-14)
    for feature in range(WIDTH):
        by_feature = pool.surface.lines.search_feature(scores, feature, total)
        by_slopes = pool.surface.lines.search(scores, np.ascontiguousarray(pool.matrix[feature]))
        for one, other in zip(by_feature, by_slopes, strict=True):
            np.testing.assert_array_equal(one, other)


def draw_penalty(kind: str, rng: np.random.Generator) -> Regulariser:
    strength = float(rng.choice([0.01, 0.3, 3.0]))
    made: dict[str, Regulariser] = {
        "none": Plain(),
        "l2": L2(strength, rng.standard_normal(WIDTH)),
        "l2-fixed": L2Fixed(strength, np.array([1.5, 0.0, 0.0, 0.0])),
        "l2-normalised": L2Normalised(strength),
        "l0": L0(strength / 5),
    }
    return made[kind]


def draw_line(rng: np.random.Generator, whole: bool) -> tuple[F64, Direction]:
    """Weights and a direction that leaves the first weight alone (version 2 fixes it)."""
    # Inside the bounds of 2.5: a weight that stands at one would be left out of the direction.
    weights = rng.integers(-2, 3, WIDTH).astype(np.float64) if whole else rng.normal(size=WIDTH).clip(-2.4, 2.4)
    weights[0] = 1.5
    if rng.random() < 0.5:
        return weights, int(rng.integers(1, WIDTH))
    direction = rng.standard_normal(WIDTH) * (rng.random(WIDTH) < 0.7)
    direction[0] = 0.0
    return weights, direction


def grid(corners: F64, crossings: F64, low: float, high: float) -> F64:
    """Points at least .001 inside every interval, and those where weights vanish, from -6 to 6.

    Intervals are taken at their full length, so that the points stay as far from corners as a regulariser does.
    """
    edges = np.concatenate([[low], corners[(corners > low) & (corners < high)], [high]])
    parts = np.array([0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])
    inside = edges[:-1, None] + np.diff(edges)[:, None] * parts
    wide = np.diff(edges) > 1e-6
    points = np.concatenate([inside[wide].ravel(), np.linspace(-6.0, 6.0, 201)])
    nearest = np.searchsorted(edges, points)
    nearest = np.clip(nearest, 1, len(edges) - 1)
    room = np.minimum(points - edges[nearest - 1], edges[nearest] - points)
    points = points[
        (points > low) & (points < high) & (room >= 0.001 * (edges[nearest] - edges[nearest - 1]) * (1 - 1e-6))
    ]
    zeros = crossings[(crossings > low) & (crossings < high)]
    apart = [z for z in zeros if np.abs(corners - z).min(initial=1.0) > 1e-9]
    points = np.concatenate([points, apart])
    return np.asarray(points[np.abs(points) <= 6.0])


@pytest.mark.parametrize(
    "metric", [Bleu(tokenize="none", smooth="none"), Bleu(tokenize="none", smooth="add-k")], ids=str
)
@given(SEEDS, st.booleans(), st.booleans())
def test_the_core_takes_the_same_point_of_a_line(metric: Metric, seed: int, whole: bool, bounded: bool) -> None:
    """All features in one call give, to the bit, what one line after the other gives."""
    rng = np.random.default_rng(seed)
    pool = Small.draw(rng, metric, whole)
    weights, bound = rng.standard_normal(WIDTH), 2.5 if bounded else np.inf
    limits = Limits(np.full(WIDTH, -bound), np.full(WIDTH, bound))
    climb = Climb(pool.surface, Plain(), limits, weights, tolerance=0.0, rng=rng, spreads=np.ones(WIDTH))
    assert climb.quick
    directions: list[Direction] = [2, rng.standard_normal(WIDTH), 0, 3, 1]
    quick = climb.lines(directions)
    climb.quick = False
    slow = climb.lines(directions)
    assert climb.searches == 2 * len(directions)
    for ours, theirs in zip(quick, slow, strict=True):
        assert ours is not None and theirs is not None
        assert (ours.gamma, ours.value) == (theirs.gamma, theirs.value)
        np.testing.assert_array_equal(ours.direction, theirs.direction)
        np.testing.assert_array_equal(ours.total, theirs.total)


@pytest.mark.parametrize("kind", ["none", "l2", "l2-fixed", "l2-normalised", "l0"])
@pytest.mark.parametrize(
    "metric", [External(), External(higher_is_better=False), Bleu(tokenize="none", smooth="add-k")], ids=str
)
@settings(max_examples=60)
@given(SEEDS, st.booleans(), st.booleans())
def test_no_point_of_a_grid_is_better(kind: str, metric: Metric, seed: int, whole: bool, bounded: bool) -> None:
    rng = np.random.default_rng(seed)
    pool, penalty = Small.draw(rng, metric, whole), draw_penalty(kind, rng)
    weights, towards = draw_line(rng, whole)
    vector = np.eye(WIDTH)[towards] if isinstance(towards, int) else towards
    bound = 2.5 if bounded else np.inf
    limits = Limits(np.full(WIDTH, -bound), np.full(WIDTH, bound))
    climb = Climb(pool.surface, penalty, limits, weights, tolerance=0.0, rng=rng, spreads=np.ones(WIDTH))
    weights = climb.weights
    step = climb.line(towards)
    moving = vector != 0.0
    if not moving.any():
        assert step is None
        return
    assert step is not None
    ends = (np.array([[-bound], [bound]]) - weights[moving]) / vector[moving]
    low, high = max(ends.min(axis=0).max(), -1e3), min(ends.max(axis=0).min(), 1e3)
    scores, slopes = climb.scores.copy(), vector @ pool.matrix
    corners, _ = pool.surface.lines.search(scores, slopes)
    crossings = -weights[moving] / vector[moving]
    for gamma in grid(corners, crossings, low, high):
        point = weights + gamma * vector
        point[moving] = np.where(crossings == gamma, 0.0, point[moving])
        assert pool.gain(scores + gamma * slopes) - penalty.value(point) <= step.value + 1e-9
    climb.take(step)
    if np.abs(corners - step.gamma).min(initial=1.0) > 1e-9:
        true = pool.gain(scores + step.gamma * slopes) - penalty.value(climb.weights)
        assert true == pytest.approx(step.value, abs=1e-9)
    assert (np.abs(climb.weights) <= bound).all()


@pytest.mark.parametrize("kind", ["l2", "l2-fixed", "l2-normalised", "l0"])
def test_corners_that_rounding_has_doubled_are_passed_over(kind: str) -> None:
    """Intervals too narrow to be hit offer no point, however good, and nobody asks what their ends are worth."""
    asked: list[float] = []

    def probe(gamma: float) -> float:
        asked.append(gamma)
        return 1.0

    corners = np.array([0.3, np.nextafter(0.3, 1.0), 0.8, np.nextafter(0.8, 0.9), 0.9])
    edges = np.concatenate([[-np.inf], corners, [np.inf]])
    gains = np.array([0.1, 1.0, 0.2, 1.0, 0.3, 0.1])
    weights, rng = np.array([1.5, 0.7, -0.2, -0.1]), np.random.default_rng(0)
    gamma, value = draw_penalty(kind, rng).best(Line(weights, 1, edges, gains, probe))
    assert not asked
    assert value <= 0.3
    assert np.abs(corners - gamma).min() > 1e-6


@pytest.mark.parametrize("kind", ["l2", "l2-fixed", "l2-normalised"])
@given(SEEDS)
def test_penalties_have_the_gradients_they_claim(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalty, weights = draw_penalty(kind, rng), rng.uniform(0.1, 1.0, WIDTH) * rng.choice([-1.0, 1.0], WIDTH)
    steps = 1e-6 * np.eye(WIDTH)
    slopes = [(penalty.value(weights + s) - penalty.value(weights - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(penalty.gradient(weights), slopes, rtol=1e-5, atol=1e-7)
