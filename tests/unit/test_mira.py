from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.tuning import Limits, Pool, State
from dragoman.tuning.tuners.mira import Mira
from dragoman.types import F64, Candidates, Features, Metric, Names, References, Texts


@dataclass(frozen=True)
class Plain:
    """A metric that hides whatever the core knows of it: what a user would write in Python."""

    inner: Metric
    name: str = "plain"
    width: int = 10
    higher_is_better: bool = True
    scale: float = 100.0

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        return self.inner.prepare(references)

    def score(self, statistics: F64) -> F64:
        return self.inner.score(statistics)

    def sentence_level(self) -> Metric:
        return self.inner.sentence_level()

    def signature(self) -> str:
        return "plain"


def make(seed: int, sizes: Sequence[int] = (4, 0, 1, 7, 5, 6), width: int = 5, metric: Metric | None = None) -> Pool:
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    values = np.round(rng.normal(size=(count, width)), 2)
    reference = np.repeat(rng.integers(5, 20, len(sizes)), sizes).astype(float)
    length = reference + rng.integers(-2, 3, count)
    totals = np.maximum(0, length[:, None] - np.arange(4))
    matches = np.minimum.accumulate(np.round(totals * rng.random((count, 1)) ** [1, 2, 3, 4]), axis=1)
    statistics = np.column_stack([length, reference, matches, totals])
    starts = np.arange(0, values.size + 1, width, dtype=np.int64)
    columns = np.tile(np.arange(width, dtype=np.uint32), count)
    features = Features(Names([f"f{j}" for j in range(width)]), starts, columns, values.reshape(-1))
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ids = Texts([str(s) for s in range(len(sizes))])
    return Pool(Candidates(ids, groups, Texts([""] * count), features), metric or Bleu(), statistics)


def run(tuner: Mira, pool: Pool, seed: int = 3, start: float = 0.1) -> list[State]:
    session = tuner.over(pool, Limits.none(pool.width), seed)
    states = [session.begin(np.full(pool.width, start))]
    while not states[-1].done:
        states.append(session.step(states[-1]))
    return states


class Slow:
    """MIRA by the book: dense vectors, one number at a time, all weights kept for the average."""

    def __init__(self, options: Mira, pool: Pool) -> None:
        self.o, self.pool = options, pool
        self.w = np.full(pool.width, 0.1)
        self.all = [self.w]
        self.background, self.count = np.ones(10), 0.0
        self.previous: dict[int, int] = {}
        self.seen: dict[int, int] = {}

    def gain(self, s: int, i: int, epoch: int) -> float:
        o, row = self.o, self.pool.statistics[i]
        if o.gain == "sentence" or (o.gain == "corpus" and epoch == 0):
            alone = float(self.pool.metric.sentence_level().score(row)) / 100
            return alone * float(row[1]) if o.unit == "length" else alone
        if o.gain == "background":
            total, count = self.background + row, self.count + 1
        else:
            others = [self.pool.statistics[b] for t, b in self.previous.items() if t != s]
            total, count = sum(others, start=np.zeros(10)) + row, float(len(others)) + 1
        unit = {"score": 1.0, "sentence": count, "length": total[1]}[o.unit]
        return float(float(self.pool.metric.score(total)) / 100 * unit)

    def visit(self, s: int, epoch: int) -> None:
        start, end = self.pool.candidates.starts[s : s + 2].tolist()
        if start == end:
            return
        span, h = range(start, end), self.pool.dense
        model = {i: float(h[i] @ self.w) for i in span}
        gain = {i: self.gain(s, i, epoch) for i in span}
        near = sorted(span, key=lambda i: -model[i])[: self.o.local]
        plus = {
            "lu": max(sorted(near), key=lambda i: gain[i]),
            "mb": max(span, key=lambda i: gain[i]),
            "hope": max(span, key=lambda i: model[i] + gain[i]),
        }[self.o.oracle]
        best = max(span, key=lambda i: model[i])
        minus = {
            "pb": best,
            "mc": min(span, key=lambda i: gain[i]),
            "fear": max(span, key=lambda i: model[i] - gain[i]),
        }[self.o.prediction]
        self.seen[s] = best
        if gain[plus] <= gain[minus]:
            return
        loss, d = model[minus] - model[plus] + gain[plus] - gain[minus], h[plus] - h[minus]
        if loss > 1e-11 and d @ d > 0:
            self.w = self.w + min(self.o.c, loss / float(d @ d)) * d
            self.all.append(self.w)
        fed = plus if self.o.feed == "oracle" else best
        self.background = self.o.decay * self.background + self.pool.statistics[fed]
        self.count = self.o.decay * self.count + 1

    def run(self, seed: int) -> list[F64]:
        answers = []
        for epoch in range(self.o.epochs):
            self.seen = {}
            for s in np.random.default_rng([seed, epoch]).permutation(len(self.pool.candidates)):
                self.visit(int(s), epoch)
            self.previous = self.seen
            answers.append(np.mean(self.all, axis=0) if self.o.average else self.w)
        return answers


MODES: list[dict[str, Any]] = [
    {"gain": "sentence", "unit": "length"},
    {"gain": "background", "unit": "length"},
    {"gain": "background", "unit": "sentence", "feed": "model", "decay": 0.9, "average": False},
    {"gain": "corpus", "unit": "sentence"},
    {"gain": "corpus", "unit": "score"},
    {"gain": "corpus", "unit": "length"},
    {"gain": "sentence", "unit": "sentence"},
]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("pair", [*itertools.product(["lu", "mb", "hope"], ["pb", "mc", "fear"])], ids="-".join)
def test_every_strategy_equals_the_book(pair: tuple[Any, Any], mode: dict[str, Any]) -> None:
    options = Mira(oracle=pair[0], prediction=pair[1], local=3, epochs=3, select="last", c=0.05, **mode)
    for seed in range(4):
        pool = make(seed)
        found = [state.weights for state in run(options, pool)[1:]]
        for ours, want in zip(found, Slow(options, pool).run(3), strict=True):
            np.testing.assert_allclose(ours, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", MODES[1:], ids=str)
@pytest.mark.parametrize("smooth", ["exp", "none", "add-k", "add-all", "floor"])
def test_a_metric_in_python_gives_the_same_bits(mode: dict[str, Any], smooth: Any) -> None:
    options = Mira(epochs=4, **mode)
    pool = make(11, [20] * 15, width=7, metric=Bleu(smooth=smooth))
    python = replace(pool, metric=Plain(pool.metric))
    for ours, theirs in zip(run(options, pool), run(options, python), strict=True):
        assert ours.weights.tobytes() == theirs.weights.tobytes()
        assert ours.record == theirs.record


def test_kbmira_is_what_moses_does() -> None:
    options = Mira.kbmira()
    assert (options.oracle, options.prediction, options.c, options.decay) == ("hope", "fear", 0.01, 0.999)
    assert (options.gain, options.unit, options.epochs, options.select) == (
        "background",
        "length",
        60,
        "best",
    )
    states = run(replace(options, epochs=5), make(2, [10] * 12))
    assert [state.step for state in states] == list(range(6))
    gains = [state.record["gain"] for state in states]
    assert gains == sorted(gains), "the best epoch so far is kept, the start among them"


def test_the_background_grows_even_without_an_update() -> None:
    pool = make(2, [10] * 12)
    options = Mira(oracle="mb", prediction="mc", gain="background", unit="score", epochs=1)
    session = options.over(pool, Limits.none(5), 1)
    begun = session.begin(pool.dense[:12].sum(axis=0) * 0)
    state = session.step(begun)
    assert state.numbers["updates"] == 12
    # Weights so large and so right that every margin holds: no updates, the same number of additions.
    easy = replace(pool, candidates=_with_oracle_feature(pool))
    session = options.over(easy, Limits.none(1), 1)
    quiet = session.step(session.begin(np.array([1e6])))
    assert quiet.numbers["updates"] == 0
    assert quiet.numbers["count"] == state.numbers["count"]


def _with_oracle_feature(pool: Pool) -> Candidates:
    count = pool.candidates.size
    values = pool.sentence_gains(Bleu(smooth="add-k"))
    columns, starts = np.zeros(count, dtype=np.uint32), np.arange(count + 1, dtype=np.int64)
    return replace(pool.candidates, features=Features(Names(["oracle"]), starts, columns, values))


def test_without_shuffling_the_order_of_sentences_is_that_of_the_pool() -> None:
    pool = make(4, [6] * 8)
    options = Mira(epochs=2, shuffle=False)
    first, second = run(options, pool, seed=1), run(options, pool, seed=2)
    assert np.array_equal(first[-1].weights, second[-1].weights)
    shuffled = run(replace(options, shuffle=True), pool)
    assert not np.array_equal(first[-1].weights, shuffled[-1].weights), "MIRA depends on the order"


def test_options_out_of_range() -> None:
    for bad in ({"c": 0.0}, {"oracle": "fear"}, {"decay": 1.5}, {"epochs": 0}, {"unit": "words"}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            Mira(**bad)
    with pytest.raises(OptionError, match="length_column"):
        Mira(unit="length", length_column=10).over(make(1), Limits.none(5), 1)
