from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Bleu, Ter
from dragoman.tuning import Limits, Pool, State
from dragoman.tuning.tuners.online import Online, OnlineSession
from dragoman.types import F64, Candidates, Features, Names, Texts


def make(seed: int, sizes: Sequence[int] = (4, 0, 1, 7, 5, 6, 5), width: int = 8) -> Pool:
    """Two dense features, the others in a third of the candidates."""
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    matrix = rng.normal(size=(count, width))
    matrix[:, 2:] = np.round(matrix[:, 2:]) * (rng.random((count, width - 2)) < 0.4)
    rows = [np.flatnonzero(row) for row in matrix]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    values = np.concatenate([matrix[i, row] for i, row in enumerate(rows)])
    features = Features(Names([f"f{j}" for j in range(width)]), starts, np.concatenate(rows).astype(np.uint32), values)
    reference = np.repeat(rng.integers(5, 20, len(sizes)), sizes).astype(float)
    length = reference + rng.integers(-3, 4, count)
    totals = np.maximum(0, length[:, None] - np.arange(4))
    matches = np.round(totals * rng.random((count, 1)) ** [1, 2, 3, 4])
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    lists = Candidates(Texts([str(s) for s in range(len(sizes))]), groups, Texts([""] * count), features)
    return Pool(lists, Bleu(), np.column_stack([length, reference, matches, totals]))


def run(tuner: Online, pool: Pool, limits: Limits | None = None, seed: int = 3) -> list[State]:
    session = tuner.over(pool, limits or Limits.none(pool.width), seed)
    states = [session.begin(np.full(pool.width, 0.1))]
    while not states[-1].done:
        states.append(session.step(states[-1]))
    return states


def softmax(x: F64) -> F64:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


class Slow:
    """The same by dense vectors: every weight shrinks after every batch, every average is a plain mean."""

    def __init__(self, options: Online, pool: Pool) -> None:
        self.o, self.pool, self.h = options, pool, pool.dense
        self.gains = pool.sentence_gains(Bleu(smooth="add-k", length_offset=float(options.smooth_brevity)))
        session = options.over(pool, Limits.none(pool.width), 3)
        assert isinstance(session, OnlineSession)
        self.lists = session.packed.lists
        self.w, self.squares = np.full(pool.width, 0.1), np.zeros(pool.width)
        self.history: list[F64] = []

    def sentence(self, s: int, pairs: list[tuple[int, int]]) -> tuple[float, F64]:
        o, span = self.o, slice(*self.pool.candidates.starts[s : s + 2].tolist())
        h, g, loss, gradient = self.h[span], self.gains[span], 0.0, np.zeros_like(self.w)
        if o.objective in {"logistic", "hinge"}:
            for better, worse in pairs:
                x = self.h[better] - self.h[worse]
                m = float(self.w @ x)
                if o.objective == "logistic":
                    loss, gradient = loss + np.log1p(np.exp(-m)), gradient - x / (1 + np.exp(m))
                elif m < 1:
                    loss, gradient = loss + 1 - m, gradient - x
            return loss, gradient
        if len(g) == 0 or g.max() == g.min():
            return 0.0, gradient
        m = h @ self.w
        if o.objective == "hope-fear":
            hope, fear = int(np.argmax(m + g)), int(np.argmax(m - g))
            cost = float(m[fear] - m[hope] + g[hope] - g[fear])
            taught = g[hope] > g[fear] and cost > 0
            return (cost, h[fear] - h[hope]) if taught else (0.0, gradient)
        p = softmax(o.gamma * m)
        if o.objective == "expected":
            return float(g.max() - p @ g), -o.gamma * (p * (g - p @ g)) @ h
        q = softmax(o.sharpness * g)
        return float(q @ (np.log(q) - np.log(p))), o.gamma * (p - q) @ h

    def update(self, loss: float, g: F64) -> None:
        o = self.o
        g = np.where(np.abs(g) < 1e-12, 0.0, g)
        if o.updater == "sgd":
            self.w = self.w - o.rate * g
        elif o.updater == "passive-aggressive":
            self.w = self.w - (min(o.c, loss / float(g @ g)) * g if g.any() else 0.0)
        else:
            self.squares = self.squares + g**2
            own = np.zeros_like(g)
            seen = self.squares > 0
            if o.updater == "arow":
                own[seen] = o.rate / (o.prior + self.squares[seen])
                self.w = self.w - own * g
            else:
                own[seen] = o.rate / (np.sqrt(self.squares[seen]) + o.epsilon)
                moved = self.w - own * g
                self.w = np.sign(moved) * np.maximum(0, np.abs(moved) - o.l1 * own)
        self.history.append(self.w)

    def run(self, seed: int) -> list[F64]:
        answers, o = [], self.o
        for epoch in range(o.epochs):
            starts, better, worse = self.lists.sample_pairs(
                self.gains, draws=o.draws, keep=o.pairs, threshold=o.threshold, seed=seed, step=epoch
            )
            order = np.random.default_rng([seed, epoch]).permutation(len(self.pool.candidates))
            for at in range(0, len(order), o.batch):
                batch = order[at : at + o.batch]
                spans = [slice(starts[s], starts[s + 1]) for s in batch]
                parts = [
                    self.sentence(int(s), list(zip(better[x].tolist(), worse[x].tolist(), strict=True)))
                    for s, x in zip(batch, spans, strict=True)
                ]
                share = o.factor / (len(batch) if o.reduce == "mean" else 1)
                self.update(
                    share * sum(part[0] for part in parts),
                    share * np.sum([part[1] for part in parts], axis=0),
                )
            answers.append(np.mean(self.history, axis=0) if o.average else self.w)
        return answers


OBJECTIVES = ["logistic", "hinge", "hope-fear", "expected", "softmax"]
UPDATERS = ["adagrad", "sgd", "arow", "passive-aggressive"]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("parts", [*itertools.product(OBJECTIVES, UPDATERS)], ids="-".join)
def test_every_objective_and_updater_equals_the_book(parts: tuple[Any, Any], average: bool) -> None:
    options = Online(
        objective=parts[0],
        updater=parts[1],
        average=average,
        epochs=3,
        batch=2,
        pairs=4,
        draws=30,
        rate=0.1,
        l1=0.2,
        factor=1.5,
        sharpness=5.0,
        gamma=0.7,
        smooth_brevity=average,
        reduce="mean" if average else "sum",
    )
    for seed in range(3):
        pool = make(seed)
        found = [state.weights for state in run(options, pool)[1:]]
        for ours, want in zip(found, Slow(options, pool).run(3), strict=True):
            np.testing.assert_allclose(ours, want, rtol=1e-8, atol=1e-11)


def test_lazy_equals_exact_and_l1_makes_zeros() -> None:
    pool = make(5, [6] * 60, width=40)
    lazy = Online(epochs=4, batch=3, l1=8.0)
    first, second = run(lazy, pool)[-1], run(replace(lazy, lazy=False), pool)[-1]
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-9, atol=1e-12)
    assert np.array_equal(first.weights == 0, second.weights == 0)
    assert 0 < first.record["nonzero"] < run(replace(lazy, l1=0.0), pool)[-1].record["nonzero"]


def test_rare_features_keep_their_weights() -> None:
    pool = make(6, [6] * 10)
    counts = [len({s for s in range(10) if pool.dense[6 * s : 6 * s + 6, j].any()}) for j in range(8)]
    floor = sorted(counts)[4]
    state = run(Online(epochs=2, min_count=floor, l1=0.0), pool)[-1]
    assert 0 < sum(c < floor for c in counts) < 8
    assert [w != 0.1 for w in state.weights] == [c >= floor for c in counts]


def test_phrasal_scales_gains_by_the_length() -> None:
    pool = make(7)
    session = Online.phrasal().over(pool, Limits.none(8), 1)
    assert isinstance(session, OnlineSession)
    np.testing.assert_allclose(session.gains, pool.sentence_gains() * pool.statistics[:, 1])
    assert (Online.phrasal().factor, Online.phrasal().epsilon) == (2.0, 1e-3)
    assert run(replace(Online.phrasal(), epochs=2), pool)[-1].record["informative"] > 0


def test_the_brevity_penalty_can_be_smoothed() -> None:
    plain, grown = Bleu(smooth="add-k"), Bleu(smooth="add-k", length_offset=1.0)
    assert Online().sentence_form(Bleu()) == plain
    assert Online(smooth_brevity=True).sentence_form(Bleu()) == grown
    assert Online().sentence_form(Ter()) == Ter()
    assert Online(gain=Bleu(smooth="floor")).sentence_form(Ter()) == Bleu(smooth="floor")
    with pytest.raises(OptionError, match="smooth_brevity"):
        Online(smooth_brevity=True).sentence_form(Ter())


def test_a_threshold_that_no_pair_reaches_teaches_nothing() -> None:
    state = run(Online(threshold=2.0), make(8))[-1]
    assert state.done
    assert state.record["informative"] == 0.0
    assert np.array_equal(state.weights, np.full(8, 0.1))


def test_divergence_is_reported_and_undone() -> None:
    states = run(Online(updater="sgd", objective="hinge", rate=1e308, factor=1e10, epochs=5), make(9))
    assert states[-1].done
    assert states[-1].record["diverged"] == 1.0
    assert np.array_equal(states[-1].weights, states[-2].weights)


def test_options_out_of_range() -> None:
    for bad in ({"rate": 0.0}, {"l1": -1.0}, {"batch": 0}, {"objective": "log"}, {"updater": "adam"}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            Online(**bad)
    with pytest.raises(OptionError, match="length_column"):
        Online(times_length=True, length_column=10).over(make(1), Limits.none(8), 1)
