"""Features in units of their own spread: the same choices, whatever a feature is measured in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.testing import check_tuner, planted_pool
from dragoman.tuning import NamedLimits, Online, Pool, Pro, Problem, Tuned, Tuner, tune
from dragoman.tuning.units import Units, spreads
from dragoman.types import F64, Weights

TUNERS: list[Online | Pro] = [Pro(iterations=5), Online(epochs=4), Online(rate=0.1, average=True)]
FACTORS = np.array([1000.0, 1, 0.02, 1, 1, *[1.0] * 6])


def measured_in(pool: Pool, factors: F64) -> Pool:
    rows = pool.candidates.features
    features = replace(rows, values=rows.values * factors[rows.columns])
    return Pool(replace(pool.candidates, features=features), pool.metric, pool.statistics)


def run(tuner: Tuner, pool: Pool, start: F64, limits: NamedLimits | None = None) -> Tuned:
    names = pool.candidates.features.names
    return tune(Problem.of_pool(pool, limits=limits), tuner, start=Weights(names, start), seed=2, keep_worse=True)


def test_spreads() -> None:
    pool, _ = planted_pool()
    plain, wide = spreads(pool), spreads(measured_in(pool, FACTORS))
    assert wide == pytest.approx(plain * FACTORS)
    assert (plain[5:] == 1).all()  # sparse features are counts
    values, sentence = pool.dense[:, 2], pool.candidates.sentence
    lists = [values[sentence == s] for s in np.unique(sentence)]
    apart = [np.abs(one - one.mean()) for one in lists if len(one) > 1]
    assert len(apart) < len(lists)
    assert plain[2] == pytest.approx(np.concatenate(apart).mean())


def test_a_feature_that_rarely_differs_is_not_small() -> None:
    pool, _ = planted_pool()
    rows = pool.candidates.features
    rare = replace(rows, values=np.where((rows.columns == 1) & (np.arange(len(rows.values)) > 90), 0.0, rows.values))
    alone = spreads(Pool(replace(pool.candidates, features=rare), pool.metric, pool.statistics))
    assert 0.3 < alone[1] / spreads(pool)[1] < 3


@pytest.mark.parametrize("tuner", TUNERS, ids=lambda t: t.name)
def test_the_unit_of_a_feature_changes_nothing(tuner: Online | Pro) -> None:
    tuner, (pool, _) = replace(tuner, units="spread"), planted_pool()
    start = np.full(pool.width, 0.3)
    here = run(tuner, pool, start)
    there = run(tuner, measured_in(pool, FACTORS), start / FACTORS)
    assert there.weights.values * FACTORS == pytest.approx(here.weights.values, rel=1e-6, abs=1e-9)
    assert there.end.score == here.end.score
    raw = replace(tuner, units="raw")
    assert run(raw, measured_in(pool, FACTORS), start / FACTORS).weights.values * FACTORS != pytest.approx(
        run(raw, pool, start).weights.values, rel=1e-3
    )


@pytest.mark.parametrize("tuner", TUNERS, ids=lambda t: t.name)
def test_auto_is_raw_where_features_are_alike(tuner: Online | Pro) -> None:
    pool, _ = planted_pool()
    start = np.full(pool.width, 0.3)

    def weights(units: Units, factors: F64) -> list[float]:
        return list(run(replace(tuner, units=units), measured_in(pool, factors), start).weights.values)

    alike = np.array([9.0, *[1.0] * 10])
    assert weights("auto", alike) == weights("raw", alike) != weights("spread", alike)
    assert weights("auto", FACTORS) == weights("spread", FACTORS) != weights("raw", FACTORS)


@pytest.mark.parametrize("tuner", TUNERS, ids=lambda t: t.name)
def test_limits_hold_in_the_features_own_units(tuner: Online | Pro) -> None:
    pool, _ = planted_pool()
    limits = NamedLimits(fixed=("dense0",), bounds={"dense1": (0.1, 0.2), "dense2": (-np.inf, 0.0)})
    start = np.array([0.0007, 0.15, -3.0, 0.3, 0.3, *[0.1] * 6])
    found = run(replace(tuner, units="spread"), measured_in(pool, FACTORS), start, limits).weights
    assert found["dense0"] == 0.0007
    assert 0.1 <= found["dense1"] <= 0.2
    assert found["dense2"] <= 0.0


@pytest.mark.parametrize("tuner", TUNERS, ids=lambda t: t.name)
def test_the_laws_of_tuners(tuner: Online | Pro) -> None:
    check_tuner(replace(tuner, units="spread"))


def test_unknown_units_are_refused() -> None:
    with pytest.raises(OptionError, match="pro: units must be one of auto, raw, spread"):
        Pro(units="metres")  # type: ignore[arg-type]
