"""MERT as a tuner: limits, restarts, resuming, and that it never ends below its start."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from dragoman._core import LinePool, noisy_copies
from dragoman.errors import OptionError
from dragoman.metrics import Bleu, External
from dragoman.tuning import Limits, Pool, Session, State, Tuner
from dragoman.tuning.packed import native_of
from dragoman.tuning.tuners.mert import Mert
from dragoman.tuning.tuners.mert.climb import Climb
from dragoman.tuning.tuners.mert.expected import ExpectedGain
from dragoman.tuning.tuners.mert.regularise import Plain
from dragoman.tuning.tuners.mert.surface import Surface
from dragoman.types import F64, Candidates, Features, Metric, Names, Texts, Weights

DIRECTIONS = ["coordinate", "powell", "random", "gradient", "natural", "coordinate+random", "gradient+coordinate"]


def make_pool(
    seed: int = 0, sentences: int = 30, width: int = 6, metric: Metric | None = None, fill: float = 1.0
) -> Pool:
    """Lists of 0 to 12 candidates; features know something about the statistics."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, sentences)
    sizes[3] = 0
    n = int(sizes.sum())
    quality = rng.standard_normal(n)
    matrix = rng.standard_normal((n, width)) + quality[:, None] * rng.uniform(-0.5, 1.0, width)
    matrix *= rng.random((n, width)) < fill
    metric = metric or Bleu(tokenize="none")
    if metric.width == 2:
        statistics = np.stack([quality, np.ones(n)], axis=1)
    else:
        length = rng.integers(8, 30, n)
        matches = [rng.binomial(length, 1 / (1 + np.exp(-quality)))]
        for _ in range(3):
            matches.append(rng.binomial(matches[-1], 0.7))
        totals = [length - k for k in range(4)]
        statistics = np.stack([length, np.full(n, 20), *matches, *totals], axis=1).astype(np.float64)
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    names = Names([f"f{i}" for i in range(width)])
    features = Features(names, starts, columns.astype(np.uint32), matrix[rows, columns])
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ids = Texts([str(i) for i in range(sentences)])
    return Pool(Candidates(ids, bounds, Texts([""] * n), features), metric, statistics)


def run(pool: Pool, tuner: Mert, start: F64, limits: Limits | None = None, seed: int = 5) -> State:
    session = tuner.over(pool, limits or Limits.none(pool.width), seed)
    state = session.begin(start)
    while not state.done:
        state = session.step(state)
    return state


def test_it_is_a_tuner() -> None:
    tuner = Mert()
    assert isinstance(tuner, Tuner)
    assert isinstance(tuner.over(make_pool(), Limits.none(6), 0), Session)
    assert tuner.never_worse
    assert not Mert(l0=0.1).never_worse
    assert not Mert.smooth().never_worse


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("order", ["greedy", "cyclic", "steepest"])
@pytest.mark.parametrize("fill", [1.0, 0.15])
def test_every_finder_improves_and_tells_the_truth(directions: str, order: Any, fill: float) -> None:
    pool = make_pool(fill=fill)
    start = np.ones(pool.width)
    state = run(pool, Mert(directions, order, starts=3), start)
    assert state.record["gain"] == pool.corpus_gain(state.weights)
    assert state.record["gain"] > pool.corpus_gain(start)
    assert state.record["starts"] == 3
    assert np.abs(state.weights).sum() == pytest.approx(1.0)


def test_error_rates_go_down() -> None:
    pool = make_pool(metric=External(higher_is_better=False))
    start = np.ones(pool.width)
    state = run(pool, Mert(starts=2), start)
    before, after = (pool.statistics[pool.choice(w)].sum(axis=0) for w in (start, state.weights))
    assert pool.metric.score(after) < pool.metric.score(before)


def test_a_metric_in_plain_python_with_fractions() -> None:
    class Odd(External):
        def score(self, statistics: F64) -> F64:
            total, count = statistics[..., 0], statistics[..., 1]
            return np.tanh(total / (3.0 * count))

    pool = make_pool(metric=Odd())
    state = run(pool, Mert(starts=2, directions="gradient+coordinate"), np.ones(pool.width))
    assert state.record["gain"] == pool.corpus_gain(state.weights) > pool.corpus_gain(np.ones(pool.width))


def test_more_starts_never_hurt() -> None:
    pool = make_pool(seed=3)
    gains = [run(pool, Mert(starts=k), np.ones(pool.width)).record["gain"] for k in (1, 4, 12)]
    assert gains == sorted(gains)
    assert gains[-1] > gains[0]


@pytest.mark.parametrize("restart", ["uniform", "walk"])
@pytest.mark.parametrize("directions", ["coordinate", "gradient+coordinate", "random"])
def test_limits_hold_exactly(restart: Any, directions: str) -> None:
    pool = make_pool(seed=2)
    lower = np.array([-np.inf, 0.0, -0.25, 0.4, -np.inf, 0.1])
    upper = np.array([np.inf, np.inf, 0.25, 0.4, 0.0, 0.2])
    limits = Limits(lower, upper)
    start = np.full(pool.width, 0.3)
    state = run(pool, Mert(directions, starts=6, restart=restart), start, limits)
    assert (lower <= state.weights).all()
    assert (state.weights <= upper).all()
    assert state.weights[3] == 0.4
    assert state.record["gain"] > pool.corpus_gain(limits.clip(start))


@pytest.mark.parametrize("directions", ["random", "gradient"])
def test_weights_at_their_limits_do_not_hold_up_the_others(directions: str) -> None:
    pool = make_pool(seed=2)
    start = np.full(pool.width, 0.3)
    limits = Limits.none(pool.width)
    limits.lower[:2] = limits.upper[:2] = 0.3
    state = run(pool, Mert(directions, starts=1), start, limits)
    assert state.record["gain"] > pool.corpus_gain(start) + 0.01
    assert (state.weights[:2] == 0.3).all()


def test_everything_fixed_is_no_search() -> None:
    pool = make_pool()
    start = np.arange(1.0, 7.0)
    state = run(pool, Mert("gradient+coordinate", starts=2), start, Limits(start, start))
    np.testing.assert_array_equal(state.weights, start)


@pytest.mark.parametrize("restart", ["uniform", "walk"])
def test_a_saved_state_resumes_bit_for_bit(restart: Any) -> None:
    pool = make_pool(seed=1)
    tuner = Mert("coordinate+random", starts=9, together=2, restart=restart)
    whole = run(pool, tuner, np.ones(pool.width))
    state = tuner.over(pool, Limits.none(pool.width), 5).begin(np.ones(pool.width))
    steps = 0
    while not state.done:
        packed = msgspec.msgpack.encode(
            {
                "weights": state.weights.tobytes(),
                "step": state.step,
                "features": {k: v.tobytes() for k, v in state.features.items()},
                "numbers": state.numbers,
            }
        )
        saved = msgspec.msgpack.decode(packed)
        features = {k: np.frombuffer(v) for k, v in saved["features"].items()}
        state = State(np.frombuffer(saved["weights"]), saved["step"], features=features, numbers=saved["numbers"])
        state = tuner.over(pool, Limits.none(pool.width), 5).step(state)
        steps += 1
    assert steps == 5
    np.testing.assert_array_equal(state.weights, whole.weights)
    assert state.record == whole.record


def test_together_changes_nothing_but_the_clock() -> None:
    pool = make_pool(seed=4)
    one, many = (run(pool, Mert(starts=5, together=k), np.ones(pool.width)) for k in (1, 5))
    np.testing.assert_array_equal(one.weights, many.weights)


def test_the_scale_of_the_start_does_not_matter() -> None:
    pool = make_pool(seed=6)
    start = np.linspace(0.5, -1.0, pool.width)
    one, two = (run(pool, Mert(starts=3), factor * start) for factor in (1.0, 1024.0))
    np.testing.assert_array_equal(one.weights, two.weights)


def test_threads_change_nothing(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import numpy as np, test_mert as t\n"
        "s = t.run(t.make_pool(seed=8), t.Mert('gradient+coordinate', starts=3), np.ones(6))\n"
        "print(s.weights.tobytes().hex())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, script],
            env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for threads in (1, 2, 5)
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("regulariser", ["origin", "fixed", "normalised", "l0"])
@pytest.mark.parametrize("directions", ["coordinate", "gradient+coordinate"])
def test_regularised_objectives_rise(regulariser: Any, directions: str) -> None:
    pool = make_pool(seed=7)
    start = np.full(pool.width, 0.5)
    fixed = "f2" if regulariser == "fixed" else None
    tuner = Mert(directions, starts=3, l0=0.05)
    if regulariser != "l0":
        tuner = Mert(directions, starts=3, l2=0.05, l2_form=regulariser, fixed=fixed)
    session = tuner.over(pool, Limits.none(pool.width), 5)
    begun = session.begin(start)
    state = run(pool, tuner, start)
    assert state.record["objective"] > begun.record["objective"]
    assert state.record["objective"] <= state.record["gain"]
    if fixed:
        assert state.weights[2] == 0.5


def test_l0_empties_and_l2_holds_back() -> None:
    pool = make_pool(seed=7)
    start = np.full(pool.width, 0.5)
    sparse = run(pool, Mert(l0=0.02, starts=4), start)
    assert np.count_nonzero(sparse.weights) < pool.width
    origin = Weights(pool.candidates.features.names, np.linspace(0.0, 1.0, pool.width))
    far, near = (run(pool, Mert(l2=strength, origin=origin, starts=4), start) for strength in (1e-6, 10.0))
    distances = [float(np.linalg.norm(state.weights - origin.values)) for state in (far, near)]
    assert distances[1] < 0.1 < distances[0]


@pytest.mark.parametrize("strength", [1e-4, 0.02])
def test_a_normalised_penalty_looks_at_sign_changes_that_are_corners(strength: float) -> None:
    """At weight 0 all candidates of a list are level, and the first one is neither the best before nor behind."""
    lists = 4
    matrix = np.tile([[0.0, 1.0], [-1.0, 1.0], [1.0, 1.0]], (lists, 1))
    statistics = np.stack([np.tile([0.9, 0.2, 0.3], lists), np.ones(3 * lists)], axis=1)
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))]).astype(np.int64)
    features = Features(Names(["a", "b"]), starts, columns.astype(np.uint32), matrix[rows, columns])
    texts = Texts([f"c{i}" for i in range(3 * lists)])
    candidates = Candidates(Texts(list(map(str, range(lists)))), np.arange(0, 3 * lists + 1, 3), texts, features)
    pool = Pool(candidates, External(), statistics)
    tuner = Mert(starts=1, l2=strength, l2_form="normalised")
    state = run(pool, tuner, np.array([0.5, 0.5]))
    assert state.weights[0] == 0.0
    assert state.record["objective"] == pytest.approx(state.record["gain"] - strength)


def test_options_that_make_no_sense() -> None:
    for options in (
        {"directions": "downhill"},
        {"directions": "random+random"},
        {"l2_form": "l3"},
        {"l2": 1.0, "l0": 1.0},
        {"starts": 0},
        {"tolerance": -1.0},
        {"l2": float("nan")},
        {"l2_form": "fixed"},
        {"fixed": "f1"},
    ):
        with pytest.raises(OptionError, match="mert"):
            Mert(**options)
    pool = make_pool()
    tuner = Mert(l2_form="fixed", fixed="f0", l2=1.0)
    with pytest.raises(OptionError, match="must not start at 0"):
        tuner.over(pool, Limits.none(6), 0).begin(np.zeros(6))
    with pytest.raises(OptionError, match="no feature"):
        replace(tuner, fixed="g").over(pool, Limits.none(6), 0)


@pytest.mark.parametrize("fill", [1.0, 0.15])
@pytest.mark.parametrize("metric", [Bleu(tokenize="none"), External()])
@pytest.mark.parametrize("mu", [0.05, 1.0, 3.0])
def test_the_gradient_is_that_of_finite_differences(fill: float, metric: Metric, mu: float) -> None:
    pool = make_pool(seed=9, metric=metric, fill=fill)
    surface = Surface.of(pool)
    expected = ExpectedGain(surface)
    weights = np.random.default_rng(0).uniform(-1.0, 1.0, pool.width)
    slopes = np.empty(pool.width)
    for i in range(pool.width):
        step = 1e-5 * (np.arange(pool.width) == i)
        slopes[i] = (expected.value(weights + step, mu) - expected.value(weights - step, mu)) / 2e-5
    gradient = expected.gradient(surface.product(weights), mu)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-9)


def test_expected_gain_sharpens_to_the_gain() -> None:
    pool = make_pool(seed=9)
    surface = Surface.of(pool)
    weights = np.linspace(1.0, -0.5, pool.width)
    assert ExpectedGain(surface).value(weights, 1e7) == pytest.approx(pool.corpus_gain(weights), abs=1e-9)


def test_scores_follow_the_moves() -> None:
    """After many coordinate moves, the running scores are those of the weights (footnote 6)."""
    for fill in (1.0, 0.1):
        pool = make_pool(seed=11, fill=fill)
        surface, limits = Surface.of(pool), Limits.none(pool.width)
        rng = np.random.default_rng(0)
        start = np.ones(pool.width)
        climb = Climb(surface, Plain(), limits, start, tolerance=-np.inf, rng=rng, spreads=start)
        for turn in range(40):
            climb.improve(turn % pool.width)
            assert climb.value == pytest.approx(pool.corpus_gain(climb.weights))
        np.testing.assert_allclose(climb.scores, pool.model_scores(climb.weights), atol=1e-9)


def test_the_handle_checks_its_arguments() -> None:
    pool = make_pool()
    lines = Surface.of(pool).lines
    scores, total = np.zeros(len(lines)), np.zeros(10)
    assert (lines.width, len(lines), lines.dense) == (6, pool.candidates.size, True)
    assert not Surface.of(make_pool(fill=0.1)).lines.dense
    short = np.zeros(3)
    starts, statistics = pool.candidates.starts, pool.statistics
    native = native_of(pool.metric)
    assert native is not None
    for bad in (
        lambda: lines.search_best(short, total, [0], [-1.0], [1.0], 1.0, native, 0.01),
        lambda: lines.search_best(scores, short, [0], [-1.0], [1.0], 1.0, native, 0.01),
        lambda: lines.search_best(scores, total, [6], [-1.0], [1.0], 1.0, native, 0.01),
        lambda: lines.search_best(scores, total, [0, 1], [-1.0], [1.0], 1.0, native, 0.01),
        lambda: lines.search(short, scores),
        lambda: lines.search(scores, short),
        lambda: lines.search_feature(scores, 6, total),
        lambda: lines.search_feature(scores, 0, short),
        lambda: lines.combine(short),
        lambda: lines.advance(9, scores, 1.0),
        lambda: lines.total(short),
        lambda: lines.expect(short, 1.0),
        lambda: lines.gradient(short, total),
        lambda: lines.gradient(scores, short),
        lambda: LinePool.from_matrix(starts, np.zeros((2, 5)), statistics),
        lambda: LinePool.from_matrix(starts, np.zeros((len(lines), 2)).T, statistics),
    ):
        with pytest.raises(OptionError):
            bad()


def test_narrow_matrices_are_searched_where_they_lie() -> None:
    pool = make_pool()
    matrix = np.ascontiguousarray(pool.dense.T, dtype=np.float32)
    narrow = Surface.of_matrix(pool.candidates.starts, matrix, pool.statistics, pool.metric)
    wide = Surface.of_matrix(pool.candidates.starts, matrix.astype(np.float64), pool.statistics, pool.metric)
    weights = np.ones(pool.width)
    scores = narrow.product(weights)
    np.testing.assert_array_equal(scores, wide.product(weights))
    total = narrow.lines.total(scores)
    for feature in range(pool.width):
        for one, other in zip(
            narrow.search(scores, total, feature, None), wide.search(scores, total, feature, None), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_the_natural_gradient_solves_the_fisher_system() -> None:
    pool = make_pool(seed=9)
    surface = Surface.of(pool)
    expected, scores, mu = ExpectedGain(surface), surface.product(np.ones(pool.width)), 0.7
    less = np.linspace(0.0, 0.01, pool.width)
    chances, _ = surface.lines.expect(scores, mu)
    fisher = np.zeros((pool.width, pool.width))
    for start, end in zip(pool.candidates.starts, pool.candidates.starts[1:], strict=False):
        rows, p = pool.dense[start:end], chances[start:end]
        fisher += mu**2 * (rows.T * p) @ (rows - p @ rows)
    want = np.linalg.solve(fisher, expected.gradient(scores, mu) - less)
    np.testing.assert_allclose(expected.natural(scores, mu, 50, less), want, rtol=0.05, atol=0.02 * np.abs(want).max())


def load(name: str) -> Any:
    """A benchmark as a module."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    load("mert").main(["--sentences", "20", "--size", "15", "--width", "4", "--starts", "2"])
    result = json.loads(capsys.readouterr().out)["dragoman"]
    assert result["bleu"] > result["bleu_start"]


def test_gold_weights_are_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    load("synthetic").main(["--quick", "--json"])
    rows = json.loads(capsys.readouterr().out)
    score = {(row["features"], row["data"], row["method"]): row["score"] for row in rows}
    assert len(rows) == 20
    for method in ("gradient", "natural"):
        assert score[20, "clean", method] > 0.995
        assert score[20, "clean", "coordinate"] < score[20, "clean", method]
        assert score[20, "noisy", method] > score[20, "noisy", "random"]


def test_a_single_width_is_traced(capsys: pytest.CaptureFixture[str]) -> None:
    synthetic = load("synthetic")
    synthetic.main(["--quick", "--json", "--widths", "7", "--methods", "gradient"])
    assert {row["features"] for row in json.loads(capsys.readouterr().out)} == {7}
    assert synthetic.Size(widths=(7,)).traced == 7
    assert synthetic.Size().traced == 500


def test_what_is_given_to_moses(tmp_path: Path) -> None:
    benchmark = load("mert")
    pool = benchmark.make_pool(3, 2, 4)
    benchmark.write_moses(pool, tmp_path)
    scores = (tmp_path / "scores.dat").read_text().splitlines()
    assert scores[0] == "SCORES_TXT_BEGIN_0 0 2 9 BLEU"
    assert [int(x) for x in scores[1].split()[:2]] == pool.statistics[0, [2, 6]].astype(int).tolist()
    assert len((tmp_path / "features.dat").read_text().splitlines()) == 3 * 4


def spike_and_hill() -> Pool:
    """40 sentences that are worth most where w1/w0 is between 0.99 and 1.01, and nearly as much from 2 to 4."""
    edges = {-np.inf: 0.0, 0.99: 1.0, 1.01: 0.0, 2.0: 0.9, 4.0: 0.0}
    # The upper envelope of the lines with slopes 0, 1, 2, ... changes at these ratios, from one to the next.
    slopes = np.arange(len(edges), dtype=np.float64)
    heights = -np.cumsum([0.0, *list(edges)[1:]])
    sentences, n = 40, len(edges)
    matrix = np.tile(np.stack([heights, slopes], axis=1), (sentences, 1))
    matrix[matrix == 0.0] = 1e-300  # rows are stored in full
    starts = np.arange(0, sentences * n + 1, n, dtype=np.int64)
    features = Features(
        Names(["w0", "w1"]),
        np.arange(0, 2 * sentences * n + 1, 2, dtype=np.int64),
        np.tile(np.arange(2, dtype=np.uint32), sentences * n),
        matrix.ravel(),
    )
    statistics = np.stack([np.tile(list(edges.values()), sentences), np.ones(sentences * n)], axis=1)
    ids = Texts([str(i) for i in range(sentences)])
    return Pool(Candidates(ids, starts, Texts([""] * (sentences * n)), features), External(), statistics)


def test_noise_prefers_a_hill_to_a_spike() -> None:
    pool, start = spike_and_hill(), np.array([1.0, 0.5])
    plain = run(pool, Mert(starts=5), start)
    assert 0.99 < plain.weights[1] / plain.weights[0] < 1.01
    assert plain.record["gain"] == pytest.approx(1.0)
    noisy = run(pool, Mert(starts=5, noise=0.1), start)
    assert 2.0 < noisy.weights[1] / noisy.weights[0] < 4.0
    assert noisy.record["gain"] == pytest.approx(0.9)  # of the pool itself
    assert noisy.record["objective"] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("fill", [1.0, 0.3])
def test_every_list_of_a_noisy_surface_sees_its_own_weights(fill: float) -> None:
    pool, copies = make_pool(fill=fill), 3
    surface = Surface.noisy(pool, 0.4, copies, 9)
    rows, starts = pool.candidates.features, pool.candidates.starts
    scaled = noisy_copies(starts, rows.starts, rows.columns, rows.values, 0.4, copies, 9)
    factors = np.ones((copies, len(pool.candidates), pool.width))
    sentence = np.repeat(pool.candidates.sentence, np.diff(rows.starts))
    for copy, values in enumerate(scaled.reshape(copies, -1)):
        factors[copy, sentence, rows.columns] = values / rows.values
        back = rows.values * factors[copy, sentence, rows.columns]
        np.testing.assert_allclose(back, values)  # one factor for all candidates of a list
    assert 0.6 < factors.min() < 0.7
    assert 1.3 < factors.max() < 1.4
    rng = np.random.default_rng(2)
    for _ in range(20):
        weights = rng.standard_normal(pool.width)
        total = np.zeros(pool.metric.width)
        for copy in range(copies):
            for s, (first, last) in enumerate(pairwise(starts)):
                if first < last:
                    best = first + np.argmax(pool.dense[first:last] @ (weights * factors[copy, s]))
                    total += pool.statistics[best]
        want = pool.metric.score(total) / pool.metric.scale
        assert surface.gain(weights) == pytest.approx(float(want), abs=1e-12)


def test_noise_is_repeated_by_the_seed_and_is_none_at_zero() -> None:
    pool, start = make_pool(), np.ones(6)
    tuner = Mert(starts=3, noise=0.3, copies=2)
    one = run(pool, tuner, start)
    np.testing.assert_array_equal(one.weights, run(pool, tuner, start).weights)
    assert (one.weights != run(pool, tuner, start, seed=6).weights).any()
    assert one.record["gain"] == pool.corpus_gain(one.weights)
    plain = run(pool, Mert(starts=3), start)
    np.testing.assert_array_equal(plain.weights, run(pool, Mert(starts=3, copies=2), start).weights)
    assert one.record["gain"] <= plain.record["gain"]


@pytest.mark.parametrize("wrong", [{"noise": -0.1}, {"noise": 1.5}, {"noise": float("nan")}, {"copies": 0}])
def test_noise_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"noise|copies"):
        Mert(**wrong)
