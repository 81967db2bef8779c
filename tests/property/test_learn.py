"""What all learning tuners must hold to, on random pools: `Pro`, `Mira`, `Online`, `Risk`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.tuning import BatchTuner, Limits, Pool, State
from dragoman.tuning.tuners.mira import Mira
from dragoman.tuning.tuners.online import Online
from dragoman.tuning.tuners.pro import Pro
from dragoman.tuning.tuners.risk import Risk
from dragoman.types import F64, Candidates, Features, Metric, Names, References, Texts


@dataclass(frozen=True)
class Errors:
    """Mean errors a word, lower is better, fractional; without smoothing and on a scale of 1."""

    name: str = "errors"
    width: int = 2
    higher_is_better: bool = False
    scale: float = 1.0

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        raise NotImplementedError

    def score(self, statistics: F64) -> F64:
        return np.asarray(statistics[..., 0] / np.maximum(statistics[..., 1], 1e-9))

    def sentence_level(self) -> Metric:
        return self

    def signature(self) -> str:
        return "errors"


def lists_of(sizes: Sequence[int], matrix: F64, zeros: bool = True) -> Candidates:
    """Lists of these sizes; with `zeros` every row has every feature, else only those that are not 0."""
    rows = [np.arange(matrix.shape[1]) if zeros else np.flatnonzero(row) for row in matrix]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    columns = np.concatenate([np.zeros(0, dtype=int), *rows]).astype(np.uint32)
    values = np.concatenate([np.zeros(0), *(matrix[i, row] for i, row in enumerate(rows))])
    names = Names([f"f{j}" for j in range(matrix.shape[1])])
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    texts = Texts([""] * len(matrix))
    return Candidates(
        Texts([str(s) for s in range(len(sizes))]), groups, texts, Features(names, starts, columns, values)
    )


def bleu_rows(rng: np.random.Generator, quality: F64, sizes: Sequence[int]) -> F64:
    reference = np.repeat(rng.integers(5, 30, len(sizes)), sizes).astype(float)
    length = np.maximum(1, reference + rng.integers(-2, 3, len(quality)))
    totals = np.maximum(0, length[:, None] - np.arange(4))
    precision = np.clip(0.5 + 0.25 * quality, 0.05, 0.95)[:, None] ** np.array([1, 1.6, 2.2, 2.8])
    matches = np.minimum.accumulate(np.round(totals * precision), axis=1)
    return np.column_stack([length, reference, matches, totals])


def planted(seed: int, sizes: Sequence[int], width: int = 6, sparse: bool = False, noise: float = 0.3) -> Pool:
    """A pool whose quality is a weighted sum of the features: the weights are there to be found."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(sum(sizes), width))
    if sparse:
        matrix[:, 2:] *= rng.random((len(matrix), width - 2)) < 0.3
    quality = matrix @ np.linspace(-1, 1, width) + noise * rng.normal(size=len(matrix))
    return Pool(lists_of(sizes, matrix, zeros=not sparse), Bleu(), bleu_rows(rng, quality, sizes))


def errors_pool(seed: int, sizes: Sequence[int]) -> Pool:
    pool = planted(seed, sizes)
    rng = np.random.default_rng(seed)
    quality = pool.dense @ np.linspace(-1, 1, 6)
    length = np.repeat(rng.integers(5, 30, len(sizes)), sizes).astype(float)
    rates = np.clip(0.5 - 0.1 * quality, 0, 2)
    return replace(pool, metric=Errors(), statistics=np.column_stack([rates * length, length]))


TUNERS: dict[str, BatchTuner] = {
    "pro": Pro(pairs=200, keep=20, iterations=3, psi=0.5),
    "mira-corpus": Mira(epochs=4, c=0.1),
    "mira-sentence": Mira(epochs=4, gain="sentence", c=0.1),
    "kbmira": replace(Mira.kbmira(), epochs=4),
    "online": Online(epochs=4, rate=0.1, l1=0.01, batch=4),
    "online-average": Online(epochs=4, rate=0.1, l1=0.01, batch=4, average=True),
    "online-hinge-sgd": Online(objective="hinge", updater="sgd", epochs=4, rate=0.01, batch=4),
    "online-hope-fear-pa": Online(objective="hope-fear", updater="passive-aggressive", epochs=4, c=0.1, batch=1),
    "online-expected-arow": Online(objective="expected", updater="arow", epochs=4, rate=1.0, batch=4),
    "online-softmax": Online(objective="softmax", epochs=4, rate=0.1, l1=0.01, batch=4, sharpness=20),
    "risk": Risk(iterations=4),
    "risk-corpus": Risk(iterations=4, objective="corpus"),
}


@pytest.fixture(params=sorted(TUNERS), name="tuner")
def _tuner(request: pytest.FixtureRequest) -> BatchTuner:
    return TUNERS[request.param]


def run(tuner: BatchTuner, pool: Pool, limits: Limits | None = None, start: F64 | None = None, seed: int = 5) -> State:
    session = tuner.over(pool, limits or Limits.none(pool.width), seed)
    state = session.begin(np.full(pool.width, 0.01) if start is None else start)
    while not state.done:
        state = session.step(state)
    return state


def test_planted_weights_are_found(tuner: BatchTuner) -> None:
    pool = planted(1, [30] * 40)
    state = run(tuner, pool)
    start, best = pool.corpus_gain(np.full(6, 0.01)), pool.corpus_gain(np.linspace(-1, 1, 6))
    assert state.record["gain"] == pool.corpus_gain(state.weights)
    assert state.record["gain"] > start + 0.7 * (best - start)
    assert state.record["informative"] > 0.9


def test_lower_is_better_and_fractional(tuner: BatchTuner) -> None:
    if isinstance(tuner, Pro):
        tuner = replace(tuner, threshold=0.01)
    pool = errors_pool(2, [20] * 30)
    state = run(tuner, pool)
    start, best = pool.corpus_gain(np.full(6, 0.01)), pool.corpus_gain(np.linspace(-1, 1, 6))
    assert start < best < 0
    assert state.record["gain"] > start + 0.7 * (best - start)


def test_sparse_and_mixed_features(tuner: BatchTuner) -> None:
    pool = planted(3, [20] * 40, width=12, sparse=True)
    dense = replace(pool, candidates=lists_of([20] * 40, pool.dense))
    state = run(tuner, pool)
    assert state.record["gain"] > pool.corpus_gain(np.full(12, 0.01)) + 0.1
    assert np.allclose(state.weights, run(tuner, dense).weights, rtol=1e-6, atol=1e-8)


def test_limits_hold_and_fixed_weights_never_move(tuner: BatchTuner) -> None:
    pool = planted(4, [15] * 20)
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    lower[0], upper[5] = -0.05, 0.07
    lower[1] = upper[1] = 0.3
    limits = Limits(lower, upper)
    session = tuner.over(pool, limits, 5)
    state = session.begin(np.full(6, 0.01))
    while not state.done:
        state = session.step(state)
        assert (state.weights >= lower).all()
        assert (state.weights <= upper).all()
        assert state.weights[1] == 0.3
    assert state.weights[4] != 0.01


def pack(state: State) -> bytes:
    """A state as bytes and back, as a checkpoint file would hold it."""
    arrays = [{k: [v.dtype.kind, v.tobytes()] for k, v in slot.items()} for slot in (state.features, state.rows)]
    assert all(v[0] in {"f", "i"} for slot in arrays for v in slot.values())
    return msgspec.msgpack.encode(
        [state.weights.tobytes(), state.step, state.done, *arrays, state.numbers, state.record]
    )


def unpack(data: bytes) -> State:
    weights, step, done, features, rows, numbers, record = msgspec.msgpack.decode(data)
    kinds = {"f": np.float64, "i": np.int64}
    slots: list[dict[str, Any]] = [
        {k: np.frombuffer(v[1], kinds[v[0]]) for k, v in slot.items()} for slot in (features, rows)
    ]
    return State(np.frombuffer(weights, np.float64), step, done, slots[0], slots[1], numbers, record=record)


def test_a_saved_state_resumes_bit_for_bit(tuner: BatchTuner) -> None:
    pool = planted(5, [15] * 20)
    state = tuner.over(pool, Limits.none(6), 9).begin(np.full(6, 0.01))
    while not state.done:
        saved = pack(state)
        state = tuner.over(pool, Limits.none(6), 9).step(unpack(saved))
        assert pack(unpack(saved)) == saved
    assert pack(state) == pack(run(tuner, pool, seed=9))


def test_another_seed_is_another_run(tuner: BatchTuner) -> None:
    pool = planted(5, [15] * 20)
    same = np.array_equal(run(tuner, pool, seed=1).weights, run(tuner, pool, seed=2).weights)
    assert same == isinstance(tuner, Risk)


def test_equal_gains_are_no_success(tuner: BatchTuner) -> None:
    pool = planted(6, [5] * 4)
    flat = replace(pool, statistics=np.tile([10.0, 11, 5, 4, 3, 2, 10, 9, 8, 7], (20, 1)))
    state = run(tuner, flat)
    assert state.done
    assert state.record["informative"] == 0.0
    assert np.array_equal(state.weights, np.full(6, 0.01))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 4), max_size=6), seed=st.integers(0, 2**70), sparse=st.booleans())
def test_any_lists_end_in_finite_weights(tuner: BatchTuner, sizes: list[int], seed: int, sparse: bool) -> None:
    pool = planted(seed % 2**32, sizes, sparse=sparse)
    state = run(tuner, pool, seed=seed)
    assert np.isfinite(state.weights).all()
    assert all(np.isfinite(v) for v in state.record.values())


def test_numbers_that_are_not_finite_are_refused(tuner: BatchTuner) -> None:
    pool = planted(7, [3, 3])
    pool.candidates.features.values[7] = np.nan
    with pytest.raises(OptionError, match=r"feature 1 of candidate 1 \(sentence 0\)"):
        tuner.over(pool, Limits.none(6), 1)
    with pytest.raises(OptionError, match="finite"):
        tuner.over(planted(7, [3, 3]), Limits.none(6), 1).begin(np.full(6, np.nan))


def test_never_worse_is_kept() -> None:
    pool = planted(8, [10] * 10)
    start = run(Risk(), pool).weights
    for tuner in TUNERS.values():
        state = run(replace(tuner, select="best"), pool, start=start)  # type: ignore[type-var]
        assert state.record["gain"] >= pool.corpus_gain(start)
        assert state.record["gain"] == pool.corpus_gain(state.weights)


PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("learn", sys.argv[1])
learn = importlib.util.module_from_spec(spec)
sys.modules["learn"] = learn
spec.loader.exec_module(learn)
for name, tuner in sorted(learn.TUNERS.items()):
    print(name, learn.run(tuner, learn.planted(1, [12] * 50, width=40, sparse=True)).weights.tobytes().hex())
"""


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def weights(threads: int) -> str:
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__))]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    one = weights(1)
    assert one.count("\n") == len(TUNERS)
    assert one == weights(2) == weights(5)
