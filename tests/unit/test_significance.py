"""Significance tests against exact enumeration and by their known behaviour."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from dragoman import significance
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.metrics import Bleu, External, Ter, statistics
from dragoman.types import F64

MEAN = External("score")


def mean_rows(values: list[float] | F64) -> F64:
    return np.column_stack([values, np.ones(len(values))])


def exact_permutation(a: F64, b: F64) -> float:
    """All 2^n swaps."""
    observed = abs(a.mean() - b.mean())
    differences = [
        abs(np.where(swap, b, a).mean() - np.where(swap, a, b).mean()) for swap in product([False, True], repeat=len(a))
    ]
    return float(np.mean(np.array(differences) >= observed - 1e-12))


def exact_randomisation(a: F64, b: F64) -> float:
    """All ways to deal out every sentence's 2R outputs in two halves; a and b are (runs, sentences)."""
    runs, sentences = a.shape
    observed = abs(a.mean() - b.mean())
    outputs = np.concatenate([a, b])
    halves = list(combinations(range(2 * runs), runs))
    hits = count = 0
    for choice in product(halves, repeat=sentences):
        x = sum(outputs[list(half), s].sum() for s, half in enumerate(choice))
        difference = abs(2 * x - outputs.sum()) / (runs * sentences)
        hits += difference >= observed - 1e-12
        count += 1
    return hits / count


@pytest.mark.parametrize("seed", range(4))
def test_permutation_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=9)
    b = a + rng.normal(0.4, 0.6, size=9)
    found = significance.paired_permutation(mean_rows(a), mean_rows(b), MEAN, samples=20_000).p_value
    assert found == pytest.approx(exact_permutation(a, b), abs=0.012)


@pytest.mark.parametrize(("runs", "sentences"), [(2, 4), (3, 3)])
def test_randomisation_over_runs_equals_enumeration(runs: int, sentences: int) -> None:
    rng = np.random.default_rng(runs)
    a, b = rng.normal(size=(2, runs, sentences)) + np.array([0.0, 0.5])[:, None, None]
    first, second = (np.stack([mean_rows(run) for run in system]) for system in (a, b))
    found = significance.stratified_randomisation(first, second, MEAN, samples=20_000).p_value
    assert found == pytest.approx(exact_randomisation(a, b), abs=0.012)


def test_one_run_each_is_the_permutation_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    single = significance.paired_permutation(mean_rows(a), mean_rows(b), MEAN, samples=500, seed=4)
    stratified = significance.stratified_randomisation(
        mean_rows(a)[None], mean_rows(b)[None], MEAN, samples=500, seed=4
    )
    assert single.p_value == stratified.p_value


@pytest.mark.parametrize("runs", [1, 3])
def test_identical_systems_never_differ(runs: int) -> None:
    rows = np.stack([mean_rows(np.linspace(0, 1, 12))] * runs)
    assert significance.stratified_randomisation(rows, rows, MEAN, samples=200).p_value == 1.0
    assert significance.paired_bootstrap(rows[0], rows[0], MEAN, samples=200).p_value == 1.0


@pytest.mark.parametrize("test", [significance.paired_permutation, significance.paired_bootstrap])
def test_p_values_are_uniform_under_the_null(test: object) -> None:
    assert callable(test)
    rng = np.random.default_rng(7)
    values = []
    for trial in range(300):
        a, b = rng.normal(size=(2, 40))
        values.append(test(mean_rows(a), mean_rows(b), MEAN, samples=200, seed=trial).p_value)
    for level in (0.1, 0.3, 0.5):
        assert np.mean(np.array(values) <= level) == pytest.approx(level, abs=0.09)


def test_confidence_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for trial in range(300):
        interval = significance.confidence(
            mean_rows(rng.normal(5, 1, size=50)), MEAN, samples=300, seed=trial, level=0.9
        )
        covered += interval.low <= 5 <= interval.high
    assert covered / 300 == pytest.approx(0.9, abs=0.05)


def test_replications_are_summarised() -> None:
    runs = np.stack([mean_rows([1.0, 3.0]), mean_rows([2.0, 4.0]), mean_rows([0.0, 8.0])])
    found = significance.replications(runs, MEAN)
    assert found.scores == (2.0, 3.0, 4.0)
    assert (found.mean, found.s_opt) == (3.0, 1.0)
    # Two sentences resampled: (x, x), (x, y), (y, x), (y, y); the mean deviates by |x - y| / (2 sqrt 2).
    assert found.s_sel == pytest.approx((2 + 2 + 8) / 3 / (2 * 2**0.5), rel=0.05)
    assert np.isnan(significance.replications(runs[:1], MEAN).s_opt)


def test_seeds_decide_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200))
    first = significance.paired_permutation(mean_rows(a), mean_rows(b), MEAN, samples=300, seed=1)
    assert first == significance.paired_permutation(mean_rows(a), mean_rows(b), MEAN, samples=300, seed=1)
    assert (
        first.p_value != significance.paired_permutation(mean_rows(a), mean_rows(b), MEAN, samples=300, seed=2).p_value
    )


def test_direction_of_error_rates() -> None:
    better, worse = np.array([[1.0, 10.0]] * 20), np.array([[5.0, 10.0]] * 20)
    result = significance.paired_permutation(worse, better, Ter())
    assert result.difference == pytest.approx(-40.0)
    assert result.p_value < 0.001


def test_real_systems(data: Path) -> None:
    folder = data / "wmt22-systems" / "de-en"
    refs = [[line] for line in read_text(folder / "ref.A.en.gz")]
    rows = {
        s: statistics(Bleu(), read_text(folder / f"hyp.{s}.en.gz"), refs) for s in ("LT22", "Online-A", "Lan-Bridge")
    }
    far = significance.paired_permutation(rows["LT22"], rows["Online-A"], Bleu(), samples=2000)
    near = significance.paired_permutation(rows["Online-A"], rows["Lan-Bridge"], Bleu(), samples=2000)
    assert far.p_value < 0.001
    assert far.difference > 5
    assert near.p_value > far.p_value
    again = significance.paired_bootstrap(rows["Online-A"], rows["Lan-Bridge"], Bleu(), samples=2000)
    assert again.p_value == pytest.approx(near.p_value, abs=0.1)


def test_bad_arguments() -> None:
    rows = mean_rows([1.0, 2.0])
    with pytest.raises(InputError, match="2 sentences against 1"):
        significance.paired_permutation(rows, rows[:1], MEAN)
    with pytest.raises(InputError, match="finite"):
        significance.confidence(rows * np.nan, MEAN)
    with pytest.raises(InputError, match="shape"):
        significance.confidence(rows[:0], MEAN)
    with pytest.raises(InputError, match="as many runs"):
        significance.stratified_randomisation(np.stack([rows, rows]), rows[None], MEAN)
    with pytest.raises(OptionError, match="samples"):
        significance.paired_bootstrap(rows, rows, MEAN, samples=0)
    with pytest.raises(OptionError, match="level"):
        significance.confidence(rows, MEAN, level=1.0)
