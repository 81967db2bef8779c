"""Tuning with fresh candidates: rounds, online epochs, folders that survive a kill."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.runs import Judged, Plan, tune_source

from dragoman import nbest
from dragoman._core import CandidateLists, Learner
from dragoman.engine import Engine
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.metrics import Bleu, External
from dragoman.testing import planted_pool
from dragoman.tuning import Limits, Mert, Mira, Online, Pool, Pro, RunDir, State, Tuned, Tuner
from dragoman.tuning.loops.contexts import before
from dragoman.tuning.loops.growing import GrowingPool
from dragoman.tuning.problem import PreparedReferences
from dragoman.tuning.rundir import Progress
from dragoman.tuning.tuners.mert import MertSession
from dragoman.types import F64, Candidates, Features, Hypotheses, Names, Texts, Weights

METRIC = External("quality")


class ListSource:
    """The best `size` of many fixed candidates: what a decoder would find, without one."""

    def __init__(self, pool: Pool, size: int) -> None:
        self.pool, self.size, self.calls = pool, size, 0

    @property
    def names(self) -> Names:
        return self.pool.candidates.features.names

    def __len__(self) -> int:
        return len(self.pool.candidates)

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        self.calls += 1
        scores = self.pool.model_scores(weights.align(self.names))
        starts = self.pool.candidates.starts
        rows = []
        for s in sentences:
            own = np.arange(starts[s], starts[s + 1])
            rows.append(own[np.argsort(-scores[own], kind="stable")][: self.size])
        taken, every = np.concatenate(rows), self.pool.candidates
        return Candidates(
            Texts([str(s) for s in sentences]),
            np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64),
            every.texts.take(taken),
            every.features.take(taken),
            scores={name: column[taken] for name, column in every.scores.items()},
        )

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        found = self.candidates(range(len(self)), weights)
        rows = [int(a) if b > a else -1 for a, b in zip(found.starts, found.starts[1:], strict=False)]
        texts = [found.texts[r] if r >= 0 else "" for r in rows]
        column = found.scores["quality"]
        return Hypotheses.one_each(texts, {"quality": np.array([column[r] if r >= 0 else 0.0 for r in rows])})


def judged(size: int = 6, seed: int = 0) -> Judged:
    pool, _ = planted_pool(sentences=60, size=30, seed=seed)
    return Judged(ListSource(pool, size), [()] * 60)


def start(setting: Judged) -> Weights:
    return Weights(setting.source.names, np.full(len(setting.source.names), 0.1))


def values(found: Tuned) -> F64:
    return found.weights.align(found.weights.names)


TUNERS: list[tuple[Tuner, Plan]] = [
    (Mert(starts=2), Plan(epochs=4)),
    (Mert.smooth(), Plan(epochs=3)),
    (Pro(iterations=3), Plan(epochs=4)),
    (Mira.kbmira(), Plan(epochs=3)),
    (replace(Mira.kbmira(), gain="corpus", unit="sentence", epochs=5), Plan(epochs=3, mode="batch")),
    (Online(batch=7), Plan(epochs=3)),
    (Online(batch=7, average=True, objective="hope-fear", updater="passive-aggressive"), Plan(epochs=3, stale=0)),
    (Mira(), Plan(epochs=3)),
    (Mira(oracle="lu", prediction="mc"), Plan(epochs=3, shards=4)),
]


@pytest.mark.parametrize(("tuner", "plan"), TUNERS, ids=lambda x: getattr(x, "name", ""))
def test_every_way_improves_and_repeats(tuner: Tuner, plan: Plan) -> None:
    setting = judged()
    found = tune_source(setting, METRIC, tuner, start(setting), plan)
    assert found.end.score > found.start.score + 0.02
    assert found.best > 0
    for record in found.trace[1:]:
        assert {"score", "norm", "nonzero", "seconds", "decoding"} <= record.keys()
        if record.get("new") != 0:  # a round that finds nothing new does not tune
            assert {"oracle", "updating"} <= record.keys()
            assert math.isfinite(record["loss"] if "loss" in record else record["objective"])
    again = tune_source(judged(), METRIC, tuner, start(setting), plan)
    assert np.array_equal(values(found), values(again))


class Killed(Exception):
    pass


@pytest.mark.parametrize(("tuner", "plan"), TUNERS, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_killed_run_goes_on_to_the_same_end(tuner: Tuner, plan: Plan, at: int, tmp_path: Path) -> None:
    whole = tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=tmp_path / "whole")

    def kill(record: dict[str, float]) -> None:
        if record["step"] == at:
            raise Killed

    folder = tmp_path / "run"
    if len(whole.trace) > at:
        with pytest.raises(Killed):
            tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=folder, progress=kill)
    found = tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=folder, resume=True)
    assert np.array_equal(values(whole), values(found))
    assert found.best == whole.best
    kept = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    assert [r["step"] for r in kept] == [r["step"] for r in whole.trace]
    assert (folder / "weights.toml").exists()


def test_a_resumed_run_must_be_the_same(tmp_path: Path) -> None:
    setting, tuner = judged(), Online(batch=20)
    tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=1), folder=tmp_path)
    with pytest.raises(InputError, match="other inputs or options"):
        tune_source(setting, METRIC, Online(batch=10), start(setting), Plan(epochs=1), folder=tmp_path, resume=True)
    # More epochs are no other run: it goes on, and ends as one that had so many from the start.
    more = tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=2), folder=tmp_path, resume=True)
    assert len(more.trace) == 3
    with pytest.raises(InputError, match="other inputs or options"):
        tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=1), folder=tmp_path, resume=True)
    again = tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=2), folder=tmp_path)
    assert len(again.trace) == 3
    assert np.array_equal(values(more), values(again))


def test_a_checkpoint_knows_features_by_name_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    names, rows = Names(["a", "b", "c"]), np.arange(6.0).reshape(3, 2)  # as many sentences as features
    squares = np.array([4.0, 5.0])  # `c` was met after the squares were taken
    before = State(np.array([1.0, 2.0, 3.0]), features={"squares": squares}, rows={"corpus": rows})
    run = RunDir(tmp_path)
    run.begin({}, resume=False)
    run.save("", Progress(before, State(np.zeros(0)), [{"step": 0}]), names)
    other = Names(["c"])
    progress = RunDir(tmp_path).load("", other)
    assert progress is not None
    again = progress.state
    assert other.to_list() == ["c", "a", "b"]
    assert again.weights.tolist() == [3.0, 1.0, 2.0]
    assert again.features["squares"].tolist() == [0.0, 4.0, 5.0]
    assert np.array_equal(again.rows["corpus"], rows)


def test_batches_equal_the_native_epoch() -> None:
    # With all candidates in every list and no pairs to draw, fresh lists are a fixed pool.
    setting = judged(size=1000)
    pool = setting.source.pool
    for updater in ("adagrad", "sgd", "arow"):
        tuner = Online(objective="hope-fear", updater=updater, batch=9, epochs=2, rate=0.05)
        first = np.full(pool.width, 0.1)
        session = tuner.over(pool, Limits.none(pool.width), seed=5)
        state = session.begin(first)
        while not state.done:
            state = session.step(state)
        plan = Plan(epochs=2, stale=0, select="last", seed=5)
        online = replace(tuner, epochs=Online().epochs)
        found = tune_source(setting, METRIC, online, Weights(setting.source.names, first), plan)
        np.testing.assert_allclose(values(found), state.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("smooth", "sign"), [(True, 1.0), (False, -1.0)])
@pytest.mark.parametrize("updater", ["adagrad", "sgd", "arow"])
def test_pairs_of_fresh_lists_with_a_smoothed_brevity_penalty(updater: str, smooth: bool, sign: float) -> None:
    # BLEU+1 has the short candidate before the one with a wrong word (0.867, 0.860), a grown reference the other way
    # round (0.751, 0.759).
    reference, short, long = "a b c d e f g h", "a b c d e f g", "a b c d e f g x"
    features = Features(Names(["words"]), np.array([0, 1, 2]), np.zeros(2, np.uint32), np.array([7.0, 8.0]))
    lists = Candidates(
        Texts(["0"]), np.array([0, 2]), Texts([short, long]), features, scores={"quality": np.array([0.0, 0.0])}
    )
    metric = Bleu(tokenize="none")
    setting = Judged(ListSource(Pool.judge(lists, [[reference]], metric), 2), [[reference]])
    tuner = Online(updater=updater, smooth_brevity=smooth, threshold=0.0, l1=0.0)
    first = Weights(setting.source.names, np.array([0.1]))
    found = tune_source(setting, metric, tuner, first, Plan(epochs=1, select="last"))
    assert np.sign(values(found) - 0.1).tolist() == [sign]


def test_staleness_is_an_option_and_not_an_accident() -> None:
    setting, tuner = judged(), Online(batch=5)
    runs = {s: values(tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=2, stale=s))) for s in (0, 2)}
    assert not np.array_equal(runs[0], runs[2])
    again = values(tune_source(judged(), METRIC, tuner, start(setting), Plan(epochs=2, stale=2)))
    assert np.array_equal(runs[2], again)


def slow_mira(setting: Judged, tuner: Mira, first: F64, epochs: int, seed: int) -> F64:
    """One-best MIRA as the equations have it, with nothing shared."""
    source: ListSource = setting.source
    weights, corpus = first.copy(), None
    for epoch in range(epochs):
        seen, vectors = {}, [weights.copy()]
        for s in np.random.default_rng([seed, epoch]).permutation(len(source)):
            found = source.candidates([int(s)], Weights(source.names, weights))
            if not found.size:
                seen[int(s)] = np.zeros(2)
                continue
            quality, h = found.scores["quality"], found.features.dense()
            gain = (
                quality
                if corpus is None
                else np.array([sum(q for i, q in corpus.items() if i != s) + q for q in quality])
                / sum(1 for i in corpus if len(source.candidates([i], Weights(source.names, weights)).texts))
                * len(source)
            )
            model = h @ weights
            good = int(np.argmax({"hope": model + gain, "mb": gain}[tuner.oracle]))
            bad = int(np.argmax({"fear": model - gain, "pb": model, "mc": -gain}[tuner.prediction]))
            loss = model[bad] - model[good] + gain[good] - gain[bad]
            seen[int(s)] = quality[0]
            if corpus is not None and tuner.context == "latest":
                corpus[int(s)] = float(quality[0])
            d = h[good] - h[bad]
            if gain[good] > gain[bad] and loss > 0 and d @ d > 0:
                weights = weights + min(tuner.c, loss / (d @ d)) * d
                vectors.append(weights.copy())
        corpus = {i: float(np.sum(q)) for i, q in seen.items()}
        answer: F64 = np.mean(vectors, axis=0)
    return answer


@pytest.mark.parametrize("oracle", ["hope", "mb"])
@pytest.mark.parametrize("prediction", ["fear", "pb", "mc"])
@pytest.mark.parametrize("context", ["latest", "epoch"])
def test_online_mira_is_what_the_equations_say(oracle: str, prediction: str, context: str) -> None:
    setting = judged()
    tuner = Mira(oracle=oracle, prediction=prediction, unit="sentence", context=context)  # type: ignore[arg-type]
    first = np.full(len(setting.source.names), 0.1)
    plan = Plan(epochs=2, select="last", seed=3)
    found = tune_source(setting, METRIC, tuner, Weights(setting.source.names, first), plan)
    np.testing.assert_allclose(values(found), slow_mira(setting, tuner, first, 2, 3), rtol=1e-9)


def test_gains_are_counted_in_words_on_top_of_the_latest_translations() -> None:
    rows = np.array([[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]])
    state = State(np.zeros(0), rows={"corpus": rows})
    context = before(Mira(), state, 2)
    others = context.others(0)
    assert others is not None
    assert others.tolist() == [6.0, 8.0]
    assert context.unit(others + np.array([9.0, 7.0])) == 15.0
    context.saw(0, np.array([9.0, 7.0]), None)
    latest, frozen = context.others(1), before(Mira(context="epoch"), state, 2)
    frozen.saw(0, np.array([9.0, 7.0]), None)
    old = frozen.others(1)
    assert latest is not None
    assert old is not None
    assert (latest.tolist(), old.tolist()) == ([10.0, 9.0], [4.0, 6.0])
    decaying = before(Mira(gain="background", decay=0.5), State(np.zeros(0)), 2)
    decaying.saw(2, np.array([9.0, 7.0]), None)  # no oracle: nothing is added
    decaying.saw(0, np.array([9.0, 7.0]), np.array([8.0, 8.0]))
    assert decaying.sum.tolist() == [8.5, 8.5]
    first = before(Mira(), State(np.zeros(0)), 2)
    assert (first.others(0), first.unit(np.array([9.0, 7.0]))) == (None, 7.0)
    with pytest.raises(OptionError, match="length_column"):
        before(Mira(), State(np.zeros(0)), 1)


ALL = np.arange(4, dtype=np.uint32)


def test_updaters_follow_their_formulas() -> None:
    rng = np.random.default_rng(0)
    w, gradients = rng.normal(size=4), rng.normal(size=(3, 4)) * np.array([1, 1, 0, 1])
    total, expected = np.zeros(4), w.copy()
    ada = Learner(Online(rate=0.1, l1=0.3), w)
    for g in gradients:
        ada.step(ALL, g, 0.0)
        total += g**2
        for j in range(4):
            if total[j]:
                rate = 0.1 / np.sqrt(total[j])
                x = expected[j] - rate * g[j]
                expected[j] = np.sign(x) * max(abs(x) - 0.3 * rate, 0.0)
    moved = ada.weights()
    np.testing.assert_allclose(moved, expected)
    assert moved[2] == w[2]
    g = gradients[0]

    def after(options: Online, loss: float) -> F64:
        learner = Learner(options, w)
        learner.step(ALL, g, loss)
        return learner.weights()

    np.testing.assert_allclose(after(Online(updater="sgd", rate=0.5), 0.0), w - 0.5 * g)
    np.testing.assert_allclose(after(Online(updater="arow", rate=0.5, prior=2.0), 0.0), w - 0.5 * g / (2.0 + g**2))
    np.testing.assert_allclose(after(Online(updater="passive-aggressive", c=9.0), 0.7), w - 0.7 / (g @ g) * g)
    np.testing.assert_allclose(after(Online(updater="passive-aggressive", c=0.01), 0.7), w - 0.01 * g)


def test_fixed_weights_stay_and_unknown_ones_are_named() -> None:
    setting = judged()
    for tuner in (Mert(starts=1), Online(batch=20), Mira()):
        plan = Plan(epochs=1, fixed=("dense1",), select="last")
        found = tune_source(setting, METRIC, tuner, start(setting), plan)
        assert found.weights["dense1"] == 0.1
    with pytest.raises(OptionError, match="dense1"):
        tune_source(setting, METRIC, Mert(), start(setting), Plan(fixed=("dens1",)))


def test_min_count_leaves_rare_features_alone() -> None:
    setting = judged()
    rare = tune_source(
        setting, METRIC, Online(batch=20, min_count=10_000), start(setting), Plan(epochs=1, select="last")
    )
    assert np.array_equal(values(rare), np.full(11, 0.1))


def test_what_cannot_be_tuned_is_told() -> None:
    setting = judged()
    with pytest.raises(InputError, match="60 sentences"):
        Judged(setting.source, [()] * 59).problem(METRIC)
    with pytest.raises(OptionError, match="online"):
        tune_source(setting, METRIC, Mert(), start(setting), Plan(mode="online"))
    with pytest.raises(OptionError, match="mode"):
        Online(mode="sometimes")  # type: ignore[arg-type]
    zero = Judged(ListSource(Pool(*_worthless()), 5), [()] * 60)
    with pytest.raises(TuningError, match="zero under the start"):
        tune_source(zero, METRIC, Online(), start(zero), Plan(epochs=1))
    with pytest.raises(TuningError, match="collapsed"):
        tune_source(setting, METRIC, Online(l1=1e9), start(setting), Plan(epochs=1))


def _worthless() -> tuple[Candidates, External, F64]:
    pool, _ = planted_pool(sentences=60, size=30)
    scores = {"quality": np.zeros(pool.candidates.size)}
    return replace(pool.candidates, scores=scores), METRIC, pool.statistics * 0


def test_the_epoch_is_chosen_on_the_held_out_text() -> None:
    setting, other = judged(), judged(seed=1)
    found = tune_source(setting, METRIC, Online(batch=20), start(setting), Plan(epochs=4), held_out=other)
    scores = [record["held_out"] for record in found.trace]
    assert found.best == int(np.argmax(scores))
    assert found.held_out is not None
    assert found.held_out.score == pytest.approx(max(scores))


class HoleSource(ListSource):
    """Has no candidate for the sentences of `holes`."""

    holes: frozenset[int] = frozenset({3, 40})

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        found = super().candidates(sentences, weights, threads)
        sizes = np.where([s in self.holes for s in sentences], 0, np.diff(found.starts))
        kept = np.repeat([s not in self.holes for s in sentences], np.diff(found.starts))
        rows = np.flatnonzero(kept)
        return Candidates(
            found.ids,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            found.texts.take(rows),
            found.features.take(rows),
            scores={name: column[rows] for name, column in found.scores.items()},
        )


LOOPS = [(Mert(starts=1), Plan(epochs=2)), (Online(batch=7), Plan(epochs=2)), (Mira(), Plan(epochs=2, shards=2))]


@pytest.mark.parametrize(("tuner", "plan"), LOOPS, ids=lambda x: getattr(x, "name", ""))
def test_sentences_without_a_translation_are_told(tuner: Tuner, plan: Plan) -> None:
    pool, _ = planted_pool(sentences=60, size=30, seed=0)
    setting = Judged(HoleSource(pool, 6), [()] * 60)
    found = tune_source(setting, METRIC, tuner, start(setting), plan)
    assert any("to 3 of 60 sentences had no translation" in warning for warning in found.warnings)
    plain = tune_source(judged(), METRIC, tuner, start(judged()), plan)
    assert [warning[:10] for warning in plain.warnings] == ["up to 1 of"], "the pool has one such sentence itself"


@pytest.mark.parametrize(("tuner", "plan"), LOOPS, ids=lambda x: getattr(x, "name", ""))
def test_lists_of_equal_candidates_are_no_success(tuner: Tuner, plan: Plan) -> None:
    setting = judged(size=1)
    with pytest.raises(TuningError, match="nothing to learn"):
        tune_source(setting, METRIC, tuner, start(setting), plan)


def test_what_never_got_better_than_its_start_says_so() -> None:
    setting = judged()
    good = tune_source(setting, METRIC, Mert(starts=3), start(setting), Plan(epochs=6)).weights
    found = tune_source(setting, METRIC, Online(rate=1e-9), good, Plan(epochs=1))
    assert found.best == 0
    assert any("no epoch was better" in warning for warning in found.warnings)


def test_a_pool_on_disk_is_the_same_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Round after round, with and without room in memory, and against lists joined in the plain way."""
    monkeypatch.setattr("dragoman.tuning.loops.growing._BLOCK", 7)
    setting = judged(size=9)
    rng = np.random.default_rng(1)
    references: list[tuple[str, ...]] = [()] * 60
    names = setting.source.names
    prepared = PreparedReferences(references, METRIC)
    kept, mapped = (GrowingPool(names, prepared, room, tmp_path) for room in (1 << 30, 3000))
    lists = []
    for _ in range(4):
        found = setting.source.candidates(range(60), Weights(names, rng.normal(size=len(names))))
        lists.append(found)
        assert kept.add(prepared.judge(found)) == mapped.add(prepared.judge(found))
    assert mapped.on_disk and not kept.on_disk
    assert kept.add(prepared.judge(lists[1])) == 0
    plain = Pool.judge(
        nbest.join([part.take(np.flatnonzero(np.diff(part.starts))) for part in lists]), references[:59], METRIC
    )
    for pool in (kept.pool(), mapped.pool()):
        assert pool.candidates.ids == plain.candidates.ids
        assert np.array_equal(pool.statistics, plain.statistics)
        for array in ("starts", "columns", "values"):
            assert np.array_equal(getattr(pool.candidates.features, array), getattr(plain.candidates.features, array))
    assert [file.suffix for file in next(tmp_path.glob("pool-*")).iterdir()] == [".npy"] * 5
    mapped.close()
    assert not list(tmp_path.iterdir())


def test_a_run_with_its_pool_on_disk_finds_the_same_weights(tmp_path: Path) -> None:
    found = [
        values(
            tune_source(judged(), METRIC, Mira.kbmira(), start(judged()), Plan(epochs=3, memory=room), folder=tmp_path)
        )
        for room in (1, 1 << 30)
    ]
    assert np.array_equal(found[0], found[1])
    assert not list(tmp_path.glob("pool-*"))


def test_no_sum_depends_on_the_numbers_of_features() -> None:
    """Whichever batch met a name first: renumbered rows are the same."""
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 40, 300).astype(np.uint32)
    other = rng.permutation(1000).astype(np.uint32)
    groups, starts = np.array([0, 8, 20], dtype=np.int64), np.arange(0, 301, 15, dtype=np.int64)
    cells, gains = rng.normal(size=300), rng.normal(size=20)
    lists, met = CandidateLists.renumbered(groups, starts, columns, cells)
    again, moved = CandidateLists.renumbered(groups, starts, other[columns], cells)
    assert met.tolist() == list(dict.fromkeys(columns.tolist()))
    assert np.array_equal(other[met], moved)
    none = np.zeros(0, dtype=np.int64)
    pairs, options = (np.zeros(3, dtype=np.int64), none, none), Online(objective="expected")
    weights = rng.normal(size=len(met))
    one, same = (made.gradient(gains, pairs, weights, options) for made in (lists, again))
    assert np.array_equal(one[0], same[0])
    assert one[1] == same[1] > 0


def test_l2_pulls_to_the_start_of_the_run_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = judged()
    origins = []
    session = Mert.over

    def spied(tuner: Mert, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> MertSession:
        assert tuner.origin is not None
        origins.append(tuner.origin.to_dict())
        return session(tuner, pool, limits, seed, engine)

    monkeypatch.setattr(Mert, "over", spied)
    first = start(setting)
    tuned = tune_source(setting, METRIC, Mert(starts=1, l2=0.001), first, Plan(epochs=3))
    assert len(origins) > 1
    assert all(origin == first.to_dict() for origin in origins)
    assert tuned.weights.to_dict() != first.to_dict()
