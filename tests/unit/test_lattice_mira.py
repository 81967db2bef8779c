"""MIRA over lattices, against all paths of small lattices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs import Judged, Plan, tune_source

from dragoman._core import ForestPool
from dragoman.engine import Serial
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.metrics import Bleu, Chrf
from dragoman.tuning import LatticeMira, Mira, Tuned, tuner_from
from dragoman.tuning.loops.forests import LatticeRounds
from dragoman.tuning.loops.paths import Paths
from dragoman.types import F64, Candidates, Features, ForestColumns, Hypotheses, Names, Texts, Weights

METRIC = Bleu(tokenize="none")
WORDS = ["a", "b", "c", "d", "e"]


class Net:
    """A lattice in plain Python: arcs (tail, head, words, features)."""

    def __init__(self, nodes: int, arcs: list[tuple[int, int, str, list[float]]]) -> None:
        self.nodes, self.arcs = nodes, sorted(arcs, key=lambda arc: arc[1])

    @cached_property
    def paths(self) -> list[tuple[str, F64]]:
        """All translations with the sums of their features."""
        ways: list[list[tuple[list[str], F64]]] = [[] for _ in range(self.nodes)]
        ways[0].append(([], np.zeros(3)))
        for tail, head, words, row in self.arcs:
            ways[head] += [([*said, words], total + np.array(row)) for said, total in ways[tail]]
        return [(" ".join(filter(None, said)), total) for said, total in ways[-1]]


def random_net(rng: np.random.Generator, length: int) -> Net:
    arcs = []
    for tail in range(length):
        for head in range(tail + 1, min(tail + 3, length + 1)):
            for _ in range(int(rng.integers(1, 4))):
                words = " ".join(rng.choice(WORDS, size=int(rng.integers(1, 3))))
                arcs.append((tail, head, words, [float(x) for x in rng.integers(-8, 9, size=3) / 4]))
    return Net(length + 1, arcs)


def columns(nets: Sequence[Net], ids: Sequence[int], names: Names) -> ForestColumns:
    arcs = [arc for net in nets for arc in net.arcs]
    starts = np.concatenate([[0], np.cumsum([len(net.arcs) for net in nets])]).astype(np.int64)
    rows = Features(
        names,
        np.arange(0, 3 * len(arcs) + 1, 3, dtype=np.int64),
        np.tile(np.arange(3, dtype=np.uint32), len(arcs)),
        np.array([value for arc in arcs for value in arc[3]], dtype=np.float64),
    )
    return ForestColumns.of_lattices(
        [str(i) for i in ids], np.array([net.nodes for net in nets], dtype=np.int64), starts,
        np.array([arc[0] for arc in arcs], dtype=np.uint32), np.array([arc[1] for arc in arcs], dtype=np.uint32),
        [arc[2] for arc in arcs], rows,
    )  # fmt: skip


class NetSource:
    """Fixed lattices, of which only the arcs near the best path are shown: what a decoder would keep."""

    def __init__(self, nets: Sequence[Net]) -> None:
        self.nets, self.names, self.calls = nets, Names(["one", "two", "three"]), 0

    def __len__(self) -> int:
        return len(self.nets)

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        found = [self._sorted(s, weights)[:20] for s in sentences]
        starts = np.concatenate([[0], np.cumsum([len(list_) for list_ in found])]).astype(np.int64)
        paths = [path for list_ in found for path in list_]
        rows = np.arange(0, 3 * len(paths) + 1, 3, dtype=np.int64)
        values = np.concatenate([row for _, row in paths])
        features = Features(self.names, rows, np.tile(np.arange(3, dtype=np.uint32), len(paths)), values)
        return Candidates(Texts([str(s) for s in sentences]), starts, Texts([text for text, _ in paths]), features)

    def _sorted(self, sentence: int, weights: Weights) -> list[tuple[str, F64]]:
        values = weights.align(self.names)
        return sorted(self.nets[sentence].paths, key=lambda path: -float(path[1] @ values))

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        return Hypotheses.one_each([self._sorted(s, weights)[0][0] for s in range(len(self))])

    def forests(
        self, sentences: Sequence[int], weights: Weights, density: float = 0.0, threads: int | None = None
    ) -> ForestColumns:
        self.calls += 1
        return columns([self.nets[s] for s in sentences], sentences, self.names)


def judged(sentences: int = 30, seed: int = 0) -> Judged:
    """References are the paths that hidden weights like best."""
    rng = np.random.default_rng(seed)
    source = NetSource([random_net(rng, int(rng.integers(4, 7))) for _ in range(sentences)])
    hidden = Weights(source.names, np.array([1.0, -0.5, 0.25]))
    return Judged(source, [[line] for line in source.best(hidden).texts.to_list()])


def start(setting: Judged) -> Weights:
    return Weights(setting.source.names, np.array([0.1, 0.1, 0.1]))


def values(found: Tuned) -> F64:
    return found.weights.align(found.weights.names)


def worth(text: str, reference: str, slopes: F64) -> float:
    """Linearised BLEU by its definition: words and unclipped matches."""
    words, theirs = text.split(), reference.split()
    total = slopes[0] * len(words)
    for n in range(1, len(slopes)):
        known = {tuple(theirs[i : i + n]) for i in range(len(theirs) - n + 1)}
        total += slopes[n] * sum(tuple(words[i : i + n]) in known for i in range(len(words) - n + 1))
    return float(total)


def pool_of(nets: Sequence[Net], references: Sequence[str], rounds: int = 1) -> ForestPool:
    pool = ForestPool(METRIC._native, [[line] for line in references])
    found = columns(nets, range(len(nets)), Names(["one", "two", "three"]))
    for number in range(rounds):
        pool.add(number, np.arange(len(nets)), found.native)
    return pool


@given(st.integers(0, 10**6), st.sampled_from([(1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.0)]))
@settings(max_examples=60, deadline=None)
def test_paths_are_the_best_of_all(seed: int, wish: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    net, reference = random_net(rng, 5), " ".join(rng.choice(WORDS, size=6))
    weights, slopes = rng.normal(size=3), rng.normal(size=5)
    texts, _, places, row = pool_of([net], [reference]).paths(0, weights, [wish], slopes)
    model, gain = wish

    def value(text: str, features: F64) -> float:
        return model * float(features @ weights) + gain * worth(text, reference, slopes)

    features = np.zeros(3)
    features[places] = row
    assert len(texts) == 1
    assert value(texts[0], features) == pytest.approx(max(value(*path) for path in net.paths), abs=1e-9)


def slow_pass(
    nets: Sequence[Net], references: Sequence[str], order: Sequence[int], weights: F64, row: F64
) -> tuple[F64, F64, int, F64]:
    """A pass of hope and fear over all paths, by the book."""
    drift, updates = np.zeros(3), 0
    for s in order:
        paths = nets[s].paths
        judge = METRIC.prepare([[references[s]]] * len(paths))
        rows = judge.statistics(Hypotheses.one_each([text for text, _ in paths]))
        model = np.array([float(f @ weights) for _, f in paths])
        true = METRIC.score(row + rows) / 100 * (row + rows[int(np.argmax(model))])[1]
        plus, minus = int(np.argmax(model + true)), int(np.argmax(model - true))
        if true[plus] <= true[minus]:
            continue
        loss, d = model[minus] - model[plus] + true[plus] - true[minus], paths[plus][1] - paths[minus][1]
        if loss > 1e-12 * sum(abs(x[i]) for x in (model, true) for i in (plus, minus)) and d @ d > 0:
            updates += 1
            step = min(0.01, loss / float(d @ d)) * d
            weights, drift = weights + step, drift + updates * step
        row = row * 0.999 + rows[plus]
    return weights, drift, updates, row


@pytest.mark.parametrize("seed", range(6))
def test_a_pass_is_mira_over_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nets = [random_net(rng, 4) for _ in range(12)]
    references = [" ".join(rng.choice(WORDS, size=5)) for _ in nets]
    weights, order = rng.normal(size=3), rng.permutation(12)
    row = rng.integers(20, 60, size=10).astype(np.float64)
    bound = np.full(3, np.inf)
    pool = pool_of(nets, references, rounds=1 + seed % 2)
    found = pool.visit(
        order, weights, np.zeros(3), 0, -bound, bound, row, 5.0,
        oracle="hope", prediction="fear", c=0.01, decay=0.999, feed="oracle", unit="length",
    )  # fmt: skip
    expected = slow_pass(nets, references, order.tolist(), weights, row)
    assert found[2] == expected[2] > 0
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-9)


SMALL = LatticeMira(epochs=5)
OPTIONS: dict[str, Any] = {
    "oracle": "hope", "prediction": "fear", "c": 0.01, "decay": 0.999, "feed": "oracle", "unit": "length",
}  # fmt: skip
WAYS = [
    SMALL,
    replace(SMALL, oracle="mb", prediction="pb"),
    replace(SMALL, prediction="mc", feed="model", unit="sentence", c=0.001),
    replace(SMALL, keep=1, average=False, shuffle=False, select="last"),
]


@pytest.mark.parametrize("tuner", WAYS, ids=str)
def test_every_way_improves_and_repeats(tuner: LatticeMira) -> None:
    found = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=3))
    assert found.end.score > found.start.score + 5
    assert found.best > 0
    again = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=3))
    assert np.array_equal(values(found), values(again))
    other = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=3, seed=1))
    assert np.array_equal(values(found), values(other)) is not tuner.shuffle


class Killed(Exception):
    pass


RESTLESS = replace(SMALL, select="last")


@pytest.mark.parametrize("tuner", [RESTLESS, replace(RESTLESS, keep=2), replace(RESTLESS, memory=1e-5)], ids=str)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_killed_run_goes_on_to_the_same_end(tuner: LatticeMira, at: int, tmp_path: Path) -> None:
    plan = Plan(epochs=4)
    whole = tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=tmp_path / "whole")

    def kill(record: dict[str, float]) -> None:
        if record["step"] == at:
            raise Killed

    folder = tmp_path / "run"
    with pytest.raises(Killed):
        tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=folder, progress=kill)
    found = tune_source(judged(), METRIC, tuner, start(judged()), plan, folder=folder, resume=True)
    assert np.array_equal(values(whole), values(found))
    kept = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in r.items() if k not in {"seconds", "decoding", "updating"}} for r in kept]
    assert timeless == [
        {k: v for k, v in r.items() if k not in {"seconds", "decoding", "updating"}} for r in whole.trace
    ]


class Spy:
    """A pool that remembers how passes were asked for."""

    def __init__(self, pool: ForestPool) -> None:
        self.pool, self.visits = pool, list[tuple[Any, ...]]()

    def visit(self, *given: Any, **options: Any) -> Any:
        self.visits.append(given)
        return self.pool.visit(*given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)


def test_passes_have_their_own_orders_and_a_background_that_means_something() -> None:
    setting = judged()
    problem = setting.problem(METRIC)
    rounds = LatticeRounds(problem, SMALL, Serial(), 0)
    spy = Spy(rounds.pool)
    rounds.pool = spy  # type: ignore[assignment]
    now = rounds.begin(start(setting).values)
    for _ in range(2):
        before = now.weights
        now = rounds.step(now)
        first = problem.outcome(Weights(problem.names, before), Serial()).rows.sum(axis=0) + 1
        np.testing.assert_allclose(spy.visits[-SMALL.epochs][6][:2], first[:2], atol=3)
    orders = {tuple(given[0]) for given in spy.visits}
    assert len(orders) == 2 * SMALL.epochs
    assert all(sorted(order) == list(range(30)) for order in orders)
    assert np.array_equal(spy.visits[1][1], spy.pool.visit(*spy.visits[0], **OPTIONS)[0]), "passes follow each other"


def test_memory_is_bounded_and_told() -> None:
    found = tune_source(judged(), METRIC, replace(SMALL, memory=1e-5), start(judged()), Plan(epochs=3))
    assert any("dropped" in warning for warning in found.warnings)
    arcs = [record["arcs"] for record in found.trace[1:]]
    assert len(set(arcs)) == 1
    free = tune_source(judged(), METRIC, SMALL, start(judged()), Plan(epochs=3))
    assert not any("dropped" in warning for warning in free.warnings)
    assert free.trace[2]["arcs"] == 2 * arcs[0]


def test_fixed_weights_stay() -> None:
    found = tune_source(judged(), METRIC, SMALL, start(judged()), Plan(epochs=2, fixed=("two",), select="last"))
    assert found.weights["two"] == 0.1
    assert found.weights["one"] != 0.1


def test_what_cannot_be_tuned_is_told(tmp_path: Path) -> None:
    setting = judged()
    bare = type("Bare", (), {k: v for k, v in NetSource.__dict__.items() if k not in {"forests", "__dict__"}})
    source = bare(setting.source.nets)
    with pytest.raises(OptionError, match="Bare gives lists only"):
        tune_source(Judged(source, setting.references), METRIC, SMALL, start(setting))
    for metric in (Bleu(), Chrf()):
        with pytest.raises(OptionError, match="bleu:tokenize=none"):
            tune_source(setting, metric, SMALL, start(setting))
    with pytest.raises(OptionError, match="online"):
        tune_source(setting, METRIC, SMALL, start(setting), Plan(mode="online"))
    with pytest.raises(OptionError, match="density"):
        LatticeMira(density=-1)
    with pytest.raises(OptionError, match="oracle"):
        tuner_from("lattice-mira:oracle=lu")
    with pytest.raises(TuningError, match="nothing to learn"):
        one = NetSource([Net(2, [(0, 1, "a b c d", [0.0, 1.0, 0.0])])])
        tune_source(Judged(one, [["a b c d e"]]), METRIC, SMALL, Weights(one.names, np.ones(3)))
    tune_source(setting, METRIC, SMALL, start(setting), Plan(epochs=2), folder=tmp_path)
    (tmp_path / "forests" / "000.zst").write_bytes(b"")
    with pytest.raises(InputError, match=r"000\.zst"):
        tune_source(setting, METRIC, SMALL, start(setting), Plan(epochs=2), folder=tmp_path, resume=True)


def test_bad_lattices_are_told() -> None:
    names, u32 = Names(["one"]), np.uint32
    rows = Features(names, np.array([0, 1, 2]), np.zeros(2, dtype=u32), np.zeros(2))
    ends = {"tails": np.array([0, 1], dtype=u32), "heads": np.array([1, 2], dtype=u32)}
    good: dict[str, Any] = {"nodes": np.array([3]), "rows": rows, **ends}

    def add(**changes: Any) -> None:
        given = good | changes
        found = ForestColumns.of_lattices(
            ["0"], given["nodes"], np.array([0, 2]), given["tails"], given["heads"], ["a", "b"], given["rows"]
        )
        ForestPool(METRIC._native, [["a b"]]).add(0, np.zeros(1, dtype=np.int64), found.native)

    add()
    for wrong, what in (
        ({"heads": np.array([2, 1], dtype=u32)}, "order"),
        ({"heads": np.array([0, 1], dtype=u32)}, "to its start"),
        ({"tails": np.array([0, 2], dtype=u32)}, "not below its head"),
        ({"nodes": np.array([2])}, "to node 1"),
        ({"rows": Features(names, rows.starts, rows.columns, np.array([0.0, np.nan]))}, "finite"),
        ({"rows": Features(names, rows.starts, rows.columns, np.array([0.0, 1e300]))}, "finite"),
    ):
        with pytest.raises(OptionError, match=what):
            add(**wrong)


def test_repeated_words_are_clipped_in_the_end() -> None:
    net = Net(2, [(0, 1, "a a a a", [0.0, 0.0, 0.0]), (0, 1, "a b c d", [0.0, 0.0, 0.0])])
    pool = pool_of([net], ["a b c d"])
    # Four unclipped matches of unigrams either way: bigrams tell.
    texts, *_ = pool.paths(0, np.zeros(3), [(0.0, 1.0)], np.array([0.0, 1.0, 1.0, 0.0, 0.0]))
    assert texts[0] == "a b c d"
    twice = pool_of([Net(2, net.arcs[:1])], ["a b c d"])
    assert twice.total(np.zeros(3))[2] == 1.0, "true statistics are clipped"


ONLINE = [
    Mira(space="lattice"),
    Mira(space="lattice", oracle="mb", prediction="mc", c=0.001),
    Mira(space="lattice", oracle="mb", prediction="pb", gain="sentence"),
]


@pytest.mark.parametrize("tuner", ONLINE, ids=str)
@pytest.mark.parametrize("shards", [1, 3])
def test_online_mira_learns_from_lattices(tuner: Mira, shards: int) -> None:
    plan = Plan(epochs=3, shards=shards)
    found = tune_source(judged(), METRIC, tuner, start(judged()), plan)
    assert found.end.score > found.start.score + 5
    again = tune_source(judged(), METRIC, tuner, start(judged()), plan)
    assert np.array_equal(values(found), values(again))


def test_max_bleu_of_a_lattice_is_that_of_all_paths() -> None:
    setting = judged()
    source = setting.source
    assert isinstance(source, NetSource)
    lattice = Paths(source, setting.references, METRIC, Mira(space="lattice", oracle="mb"))
    total = METRIC.prepare(setting.references).statistics(source.best(start(setting))).sum(axis=0)
    level = METRIC.sentence_level()

    def best(s: int, texts: list[str]) -> float:
        rows = METRIC.prepare([setting.references[s]] * len(texts)).statistics(Hypotheses.one_each(texts))
        return float(level.score(rows).max())

    for others in (total, total * 0.0, None):
        better = 0
        for s in range(30):
            found = lattice.candidates(s, start(setting), others, lambda _: 30.0, None)
            first = float(found.features.dot(start(setting))[0])
            top = float(source._sorted(s, start(setting))[0][1].sum()) / 10
            assert first == pytest.approx(top), "the 1-best comes first"
            better += best(s, found.texts.to_list()) == best(s, [text for text, _ in source.nets[s].paths])
        assert better >= 20, "the reference is a path, and hardly any other is as good to first order"


def test_oracles_of_lattices_are_no_worse_than_those_of_lists() -> None:
    """References that no path has, and words that come more often than they count."""
    rng = np.random.default_rng(5)
    source = NetSource([random_net(rng, 6) for _ in range(40)])
    references = [[" ".join(rng.choice([*WORDS, "f"], size=8)) for _ in range(1 + s % 2)] for s in range(40)]
    weights = Weights(source.names, np.array([0.1, 0.1, 0.1]))
    lattice = Paths(source, references, METRIC, Mira(space="lattice", oracle="mb"))
    firsts = METRIC.prepare(references).statistics(source.best(weights))
    for level, alone in ((METRIC.sentence_level(), True), (METRIC, False)):
        best = 0
        for s in range(40):
            others = None if alone else firsts.sum(axis=0) - firsts[s]
            found = lattice.candidates(s, weights, others, lambda _: 8.0, None).texts.to_list()
            listed = source.candidates([s], weights).texts.to_list()
            every = [text for text, _ in source.nets[s].paths]
            ours, theirs, most = (_most(level, references[s], texts, others) for texts in (found, listed, every))
            assert ours >= theirs - 1e-9
            best += ours >= most - 1e-9
        assert best >= 38, "nearly always the best of all paths"


def _most(metric: Bleu, references: Sequence[str], texts: list[str], others: F64 | None) -> float:
    rows = METRIC.prepare([references] * len(texts)).statistics(Hypotheses.one_each(texts))
    return float(metric.score(rows if others is None else others + rows).max())


def test_near_bounds_all_but_max_bleu() -> None:
    runs = {near: tune_source(judged(), METRIC, Mira(oracle="mb", near=near), start(judged()), Plan(epochs=2))
            for near in (0, 2, 20)}  # fmt: skip
    assert np.array_equal(values(runs[0]), values(runs[20])), "lists have 20 candidates"
    assert not np.array_equal(values(runs[0]), values(runs[2]))
    plain = [
        tune_source(judged(), METRIC, Mira(oracle="mb", prediction="pb", near=near), start(judged()), Plan(epochs=2))
        for near in (0, 2)
    ]
    assert np.array_equal(values(plain[0]), values(plain[1])), "the 1-best is near, and max-BLEU looks at all"


def test_online_options_are_refused_on_lists() -> None:
    for tuner in (Mira(space="lattice"), Mira(near=3)):
        with pytest.raises(OptionError, match="online"):
            tune_source(judged(), METRIC, tuner, start(judged()), Plan(mode="batch"))
    with pytest.raises(OptionError, match="space"):
        Mira(space="lattice", oracle="lu")
