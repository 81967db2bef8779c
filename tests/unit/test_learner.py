"""The handle of the learner: `crates/optim` holds its arithmetic to an eager one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman._core import Learner
from dragoman.errors import OptionError
from dragoman.tuning import Online
from dragoman.types import F64, U32

ADA = Online(rate=0.1, l1=0.05)


def ids(*numbers: int) -> U32:
    return np.array(numbers, dtype=np.uint32)


def walk(learner: Learner, steps: range) -> None:
    """Each step moves two of nine features; the others shrink."""
    for step in steps:
        rng = np.random.default_rng(step)
        learner.step(ids(step % 9, (step + 4) % 9), rng.normal(size=2), 0.3, np.array([1, 2]))


@pytest.mark.parametrize("updater", ["adagrad", "sgd", "arow", "passive-aggressive"])
@pytest.mark.parametrize("average", [True, False])
def test_a_learner_goes_on_from_its_arrays(updater: str, average: bool) -> None:
    options = replace(ADA, updater=updater, average=average, min_count=3)
    whole, first = Learner(options, np.full(5, 0.2)), Learner(options, np.full(5, 0.2))
    for learner in (whole, first):
        learner.bound(ids(2, 4), np.array([0.2, 0.1]), np.array([0.2, 0.5]))
    walk(whole, range(40))
    walk(first, range(20))
    second = Learner(
        options, first.weights(), squares=first.squares(), sums=first.sums(), counts=first.counts(), time=first.time
    )
    second.bound(ids(2, 4), np.array([0.2, 0.1]), np.array([0.2, 0.5]))
    walk(second, range(20, 40))
    assert (len(whole.weights()), whole.time) == (9, second.time)
    np.testing.assert_allclose(second.weights(), whole.weights(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(second.mean(), whole.mean(), rtol=1e-12, atol=1e-15)
    assert np.array_equal(second.counts(), whole.counts())
    assert whole.weights()[2] == 0.2
    assert np.array_equal(whole.values(ids(0, 8, 99)), [*whole.weights()[[0, 8]], 0.0])


def test_changes_are_all_that_is_needed_to_follow() -> None:
    learner = Learner(ADA, np.full(9, 0.2), watch=True)
    known: F64 = learner.weights()
    for step in range(30):
        walk(learner, range(step, step + 1))
        columns, values = learner.changes()
        known[columns] = values
        assert np.array_equal(known, learner.weights())
    assert not len(learner.changes()[0])


def test_an_average_can_start_anew() -> None:
    options = replace(ADA, average=True)
    learner = Learner(options, np.full(9, 0.2))
    walk(learner, range(7))
    learner.restart()
    rest: list[F64] = []
    for step in range(7, 12):
        walk(learner, range(step, step + 1))
        rest.append(learner.weights())
    np.testing.assert_allclose(learner.mean(), np.mean(rest, axis=0), rtol=1e-12)
    assert learner.time == 5


def test_what_makes_no_sense_is_refused() -> None:
    learner = Learner(ADA, np.zeros(3))
    with pytest.raises(OptionError, match="two slopes"):
        learner.step(ids(1, 0, 1), np.ones(3), 0.0)
    with pytest.raises(OptionError, match="expected 2 slopes"):
        learner.step(ids(1, 0), np.ones(3), 0.0)
    with pytest.raises(OptionError, match="negative"):
        learner.step(ids(1), np.ones(1), 0.0, np.array([-1]))
    with pytest.raises(OptionError, match="watch"):
        learner.changes()
    with pytest.raises(OptionError, match="no updater"):
        Learner(type("Options", (), {**vars(ADA), "updater": "adam"}), np.zeros(3))
