from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Bleu, Ter
from dragoman.tuning import Limits, Pool, State
from dragoman.tuning.tuners.pro import Pro, ProSession
from dragoman.types import F64, I64, Candidates, Features, Names, Texts


def make(seed: int, sentences: int = 20, size: int = 10, width: int = 5) -> Pool:
    rng = np.random.default_rng(seed)
    count = sentences * size
    values = rng.normal(size=(count, width))
    quality = values @ np.linspace(-1, 1, width) + 0.5 * rng.normal(size=count)
    reference = np.repeat(rng.integers(6, 20, sentences), size).astype(float)
    totals = np.maximum(0, reference[:, None] - np.arange(4))
    matches = np.round(totals * np.clip(0.5 + quality[:, None] / 6, 0, 1) ** [1, 2, 3, 4])
    columns = np.tile(np.arange(width, dtype=np.uint32), count)
    starts = np.arange(0, values.size + 1, width, dtype=np.int64)
    features = Features(Names([f"f{j}" for j in range(width)]), starts, columns, values.reshape(-1))
    groups = np.arange(0, count + 1, size, dtype=np.int64)
    lists = Candidates(Texts([str(s) for s in range(sentences)]), groups, Texts([""] * count), features)
    return Pool(lists, Bleu(), np.column_stack([reference, reference, matches, totals]))


def run(tuner: Pro, pool: Pool, limits: Limits | None = None) -> list[State]:
    session = tuner.over(pool, limits or Limits.none(pool.width), 3)
    states = [session.begin(np.full(pool.width, 0.1))]
    while not states[-1].done:
        states.append(session.step(states[-1]))
    return states


def opened(tuner: Pro, pool: Pool) -> ProSession:
    session = tuner.over(pool, Limits.none(pool.width), 3)
    assert isinstance(session, ProSession)
    return session


def differences(tuner: Pro, pool: Pool, step: int = 0) -> F64:
    session = opened(tuner, pool)
    _, better, worse = session.packed.lists.sample_pairs(
        session.gains, draws=tuner.pairs, keep=tuner.keep, threshold=tuner.threshold, seed=3, step=step
    )
    return np.asarray(pool.dense[better] - pool.dense[worse])


def loss(x: F64, w: F64, sigma: float) -> float:
    return float(2 * np.logaddexp(0, -x @ w).sum() + w @ w / (2 * sigma**2))


def test_pairs_are_the_largest_of_those_that_differ_enough() -> None:
    pool = make(1)
    session = opened(Pro(), pool)

    def sample(**options: float) -> tuple[I64, I64, I64]:
        settings = {"draws": 300, "keep": 20, "threshold": 0.05, "seed": 3, "step": 1, **options}
        return session.packed.lists.sample_pairs(session.gains, **settings)  # type: ignore[arg-type]

    starts, better, worse = sample()
    gap = session.gains[better] - session.gains[worse]
    assert gap.min() >= 0.05
    everything = sample(keep=300)
    for s in range(20):
        mine = gap[starts[s] : starts[s + 1]]
        span = slice(everything[0][s], everything[0][s + 1])
        accepted = session.gains[everything[1][span]] - session.gains[everything[2][span]]
        np.testing.assert_array_equal(mine, np.sort(accepted)[::-1][:20])
        assert (better[starts[s] : starts[s + 1]] // 10 == s).all()
    assert [a.tolist() for a in sample()] == [a.tolist() for a in (starts, better, worse)]
    assert sample(step=2)[1].tolist() != better.tolist()
    assert sample(seed=4)[1].tolist() != better.tolist()


def test_the_loss_and_its_gradient_are_the_formula() -> None:
    pool, tuner = make(2), Pro(pairs=100, keep=10)
    session = opened(tuner, pool)
    pairs = session.packed.lists.sample_pairs(session.gains, draws=100, keep=10, threshold=0.05, seed=3, step=0)
    x, w = differences(tuner, pool), np.linspace(-0.4, 0.3, 5)
    value, gradient = session.packed.lists.pair_loss(*pairs, w, np.zeros(5), l2=1 / 0.5**2, pull=0.0)
    assert value == pytest.approx(loss(x, w, 0.5), rel=1e-12)
    want = -2 * x.T @ (1 / (1 + np.exp(x @ w))) + w / 0.5**2
    np.testing.assert_allclose(gradient, want, rtol=1e-10)


@pytest.mark.parametrize("bounded", [False, True])
def test_the_fit_is_the_optimum_that_scipy_finds(bounded: bool) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    pool, tuner = make(3), Pro(pairs=200, keep=20, sigma=0.3, psi=1.0, iterations=1, tolerance=0.0)
    x = differences(tuner, pool)
    lower, upper = np.full(5, -np.inf), np.full(5, np.inf)
    if bounded:
        lower[0], upper[4], lower[2], upper[2] = -0.1, 0.2, 0.4, 0.4
    ours = run(tuner, pool, Limits(lower, upper))[-1]
    bounds = list(zip(lower, upper, strict=True))
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    theirs = optimize.minimize(loss_of(x, 0.3), np.full(5, 0.1), method="L-BFGS-B", bounds=bounds, options=options)
    np.testing.assert_allclose(ours.weights, theirs.x, atol=1e-4)
    assert ours.record["objective"] <= theirs.fun * (1 + 1e-9)
    assert ours.record["converged"] == 1.0


def loss_of(x: F64, sigma: float) -> object:
    return lambda w: loss(x, w, sigma)


def test_psi_is_the_share_of_the_new_weights() -> None:
    pool = make(4)
    fitted = run(Pro(psi=1.0, iterations=1), pool)[-1].weights
    moved = run(Pro(psi=0.1, iterations=1), pool)[-1].weights
    np.testing.assert_allclose(moved, 0.9 * 0.1 + 0.1 * fitted, rtol=1e-12)


def test_the_prior_and_the_pull() -> None:
    pool = make(5)
    one = Pro(psi=1.0, iterations=1)
    size = [float(np.abs(run(replace(one, sigma=s), pool)[-1].weights).sum()) for s in (0.01, 0.1, 1.0)]
    assert size == sorted(size)
    held = run(replace(one, sigma=math.inf, pull=1e9), pool)[-1].weights
    np.testing.assert_allclose(held, 0.1, atol=1e-4)


def test_options_of_the_sentence_level_bleu() -> None:
    pool = make(6)
    form = Pro(alpha=0.3, smooth_brevity=True, length_scale=1.1).sentence_form(pool.metric)
    assert form == Bleu(smooth="add-k", smooth_value=0.3, length_offset=1.0, length_scale=1.1)
    assert Pro.moses().sentence_form(pool.metric) == Bleu(smooth="add-all", smooth_value=1.0)
    plain = pool.metric.sentence_level()
    assert isinstance(plain, Bleu)
    assert Pro().sentence_form(pool.metric) == replace(plain, length_offset=1.0)
    assert Pro(smooth_brevity=False).sentence_form(pool.metric) == plain
    assert Pro().sentence_form(Ter()) == Ter()
    with pytest.raises(OptionError, match="smooth_brevity"):
        Pro(smooth_brevity=True).sentence_form(Ter())
    with pytest.raises(OptionError, match="BLEU"):
        Pro(alpha=1.0).sentence_form(Ter())
    assert Pro(gain=Bleu(smooth="floor")).sentence_form(Ter()) == Bleu(smooth="floor")


@pytest.mark.parametrize("tuner", [Pro.moses(), Pro.cdec(), Pro(pairs=500, iterations=5, psi=0.5)])
def test_presets_learn(tuner: Pro) -> None:
    states = run(tuner, make(7, sentences=60))
    assert states[-1].record["gain"] > states[0].record["gain"] + 0.1


def test_a_threshold_that_no_pair_reaches_teaches_nothing() -> None:
    state = run(Pro(threshold=1.5), make(8))[-1]
    assert state.done
    assert state.record["informative"] == 0.0
    assert np.array_equal(state.weights, np.full(5, 0.1))


def test_options_out_of_range() -> None:
    for bad in ({"pairs": 0}, {"keep": 0}, {"sigma": 0.0}, {"psi": 0.0}, {"psi": 1.1}, {"iterations": 0}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            Pro(**bad)
