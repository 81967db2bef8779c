from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.tuning import Limits, Pool
from dragoman.tuning.tuners.risk import Risk
from dragoman.types import F64, Candidates, Features, Names, Texts


def make(seed: int, sentences: int = 8, size: int = 6, width: int = 4) -> Pool:
    rng = np.random.default_rng(seed)
    count = sentences * size
    values = rng.normal(size=(count, width))
    reference = np.repeat(rng.integers(6, 20, sentences), size).astype(float)
    length = reference + rng.integers(-2, 3, count)
    totals = np.maximum(0, length[:, None] - np.arange(4))
    matches = np.round(totals * rng.random((count, 1)) ** [1, 2, 3, 4])
    columns = np.tile(np.arange(width, dtype=np.uint32), count)
    starts = np.arange(0, values.size + 1, width, dtype=np.int64)
    features = Features(Names([f"f{j}" for j in range(width)]), starts, columns, values.reshape(-1))
    groups = np.arange(0, count + 1, size, dtype=np.int64)
    lists = Candidates(Texts([str(s) for s in range(sentences)]), groups, Texts([""] * count), features)
    return Pool(lists, Bleu(), np.column_stack([length, reference, matches, totals]))


def probabilities(pool: Pool, w: F64, gamma: float) -> F64:
    scores = gamma * (pool.dense @ w).reshape(len(pool.candidates), -1)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True)).reshape(-1)


def expected(objective: str, pool: Pool, w: F64, gamma: float) -> float:
    p = probabilities(pool, w, gamma)
    if objective == "sentence":
        return float(p @ pool.sentence_gains()) / len(pool.candidates)
    return float(pool.metric.score(p @ pool.statistics)) / 100


@pytest.mark.parametrize("objective", ["sentence", "corpus"])
def test_value_and_gradient_are_the_formula(objective: str) -> None:
    pool = make(1)
    session = Risk().over(pool, Limits.none(4), 1)
    start, l2, gamma = np.full(4, 0.2), 0.3, 1.7

    def ours(w: F64) -> tuple[float, F64]:
        payoff = {"gains": session.gains} if objective == "sentence" else {"statistics": pool.statistics}
        return session.packed.lists.risk(w, start, score=session._corpus_gain, gamma=gamma, l2=l2, **payoff)

    w = np.array([0.3, -0.5, 0.9, 0.1])
    value, gradient = ours(w)
    penalty = l2 / 2 * float((w - start) @ (w - start))
    assert value == pytest.approx(penalty - expected(objective, pool, w, gamma), rel=1e-10)
    slopes = [(ours(w + d)[0] - ours(w - d)[0]) / 2e-5 for d in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("objective", ["sentence", "corpus"])
def test_a_step_climbs_to_a_flat_place(objective: str) -> None:
    pool = make(2)
    tuner = Risk(objective=objective, gamma=1.0, iterations=1, sigma=1.0, tolerance=0.0, select="last")  # type: ignore[arg-type]
    session = tuner.over(pool, Limits.none(4), 1)
    begun = session.begin(np.zeros(4))
    state = session.step(begun)

    def value(w: F64) -> float:
        return expected(objective, pool, w, 1.0) - float(w @ w) / 2

    assert value(state.weights) == pytest.approx(-state.record["objective"], rel=1e-9)
    assert value(state.weights) > value(begun.weights)
    around = [value(state.weights + d) for d in np.vstack([np.eye(4), -np.eye(4)]) * 1e-3]
    assert max(around) <= value(state.weights) + 1e-9


def test_the_schedule_sharpens() -> None:
    tuner = Risk(gamma=0.5, factor=3.0, iterations=3, select="last")
    assert tuner.gammas == (0.5, 1.5, 4.5)
    session = tuner.over(make(3), Limits.none(4), 1)
    state, seen = session.begin(np.zeros(4)), []
    while not state.done:
        state = session.step(state)
        seen.append(state.record["gamma"])
    assert seen == [0.5, 1.5, 4.5]


def test_a_narrow_penalty_holds_the_start() -> None:
    pool, start = make(4), np.full(4, 0.3)
    far = []
    for sigma in (1e-4, 1.0, math.inf):
        session = Risk(sigma=sigma, iterations=2, gamma=1.0, select="last").over(pool, Limits.none(4), 1)
        state = session.begin(start)
        while not state.done:
            state = session.step(state)
        far.append(float(np.abs(state.weights - start).max()))
    assert far[0] < 1e-4 < far[1] < far[2]


@dataclass(frozen=True)
class Broken(Bleu):
    """Fails when it is asked for the score of expected statistics."""

    def score(self, statistics: F64) -> F64:
        if statistics.shape[0] == 21:
            raise ValueError("no such score")
        return super().score(statistics)


def test_an_error_of_the_metric_arrives() -> None:
    pool = replace(make(5), metric=Broken())
    session = Risk(objective="corpus").over(pool, Limits.none(4), 1)
    with pytest.raises(ValueError, match="no such score"):
        session.step(session.begin(np.zeros(4)))


def test_options_out_of_range() -> None:
    for bad in ({"gamma": 0.0}, {"factor": 0.5}, {"iterations": 0}, {"sigma": 0.0}, {"objective": "bleu"}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            Risk(**bad)
