"""MERT over forests, against lists of all derivations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs import Judged, Plan, tune_source
from tests.unit.test_lattice_mira import METRIC, Net, NetSource, judged, random_net, start, values

from dragoman._core import ForestLines, LinePool
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.metrics import Bleu, Ter
from dragoman.tuning import ForestMert, Problem, tuner_from
from dragoman.tuning.limits import Limits
from dragoman.tuning.problem import PreparedReferences
from dragoman.tuning.tuners.forest_mert import ForestSurface
from dragoman.types import Hypotheses, Weights

SMALL = ForestMert(random_directions=3)


@pytest.mark.parametrize("seed", range(8))
def test_a_line_is_that_of_the_lists_of_all_paths(seed: int) -> None:
    """The same corners, and the same corpus statistics between them, as an exhaustive list has."""
    rng = np.random.default_rng(seed)
    setting = judged(12, seed)
    nets, references = setting.source.nets, setting.references
    surface = ForestSurface(ForestLines(12, METRIC.width), PreparedReferences(references, METRIC), 3, np.ones(3))
    found = setting.source.forests(range(12), start(setting))
    surface.pool.add(0, np.arange(12), found.native)
    weights, direction = rng.integers(-8, 9, size=3) / 4, rng.integers(-4, 5, size=3).astype(np.float64)
    direction[0] = 1.0
    lists = [net.paths for net in nets]
    starts = np.concatenate([[0], np.cumsum([len(list_) for list_ in lists])])
    sentence = np.repeat(np.arange(12), np.diff(starts))
    texts = [text for list_ in lists for text, _ in list_]
    matrix = np.array([row for list_ in lists for _, row in list_]).T.copy()
    rows = METRIC.prepare(references).statistics(_given(texts, sentence))
    slow = LinePool.from_matrix(starts, matrix, rows)
    for way in (direction, 1):
        vector = np.eye(3)[1] if isinstance(way, int) else way
        corners, totals = surface.search(
            surface.product(weights), np.zeros(0), way, None if isinstance(way, int) else surface.product(vector)
        )
        wanted, sums = slow.search(weights @ matrix, vector @ matrix)
        np.testing.assert_array_equal(corners, wanted)
        np.testing.assert_array_equal(totals, sums)
        assert len(corners) > 5
    np.testing.assert_array_equal(surface.total(surface.product(weights)), slow.total(weights @ matrix))


def _given(texts: list[str], sentence: np.ndarray[Any, np.dtype[np.int64]]) -> Hypotheses:
    from dragoman.types import Texts

    return Hypotheses(Texts(texts), sentence)


WAYS = [
    SMALL,
    replace(SMALL, starts=3, directions="coordinate", order="cyclic"),
    replace(SMALL, starts=2, restart="walk", directions="powell", keep=1),
    replace(SMALL, l2=0.001),
    replace(SMALL, l2=0.001, l2_form="normalised"),
    replace(SMALL, l2=0.001, l2_form="fixed", fixed="one"),
    replace(SMALL, l0=0.0005),
]


@pytest.mark.parametrize("tuner", WAYS, ids=str)
def test_every_way_improves_and_repeats(tuner: ForestMert) -> None:
    found = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=3))
    assert found.end.score > found.start.score + 5
    again = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=3))
    assert np.array_equal(values(found), values(again))


def test_weights_that_explain_the_references_are_found() -> None:
    """Hidden weights gave the references: MERT on whole lattices finds weights that give nearly all of them."""
    found = tune_source(judged(), METRIC, SMALL, start(judged()), Plan(epochs=4))
    assert found.end.score > 90
    assert found.trace[-1]["pool_score"] == pytest.approx(found.trace[-1]["score"], abs=1e-9), "lattices are fixed here"


def test_other_metrics() -> None:
    for metric in (Bleu(), Ter()):
        found = tune_source(judged(), metric, SMALL, start(judged()), Plan(epochs=2))
        better = found.end.score - found.start.score
        assert (better if metric.higher_is_better else -better) > 5


class Killed(Exception):
    pass


@pytest.mark.parametrize("tuner", [SMALL, replace(SMALL, keep=2, l2=0.01), replace(SMALL, memory=1e-5)], ids=str)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_killed_run_goes_on_to_the_same_end(tuner: ForestMert, at: int, tmp_path: Path) -> None:
    plan = Plan(epochs=3)
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


def test_fixed_weights_stay() -> None:
    found = tune_source(judged(), METRIC, SMALL, start(judged()), Plan(epochs=2, fixed=("two",), select="last"))
    assert found.weights["two"] == 0.1
    assert found.weights["one"] != 0.1


def test_memory_is_bounded_and_told() -> None:
    found = tune_source(judged(), METRIC, replace(SMALL, memory=1e-5), start(judged()), Plan(epochs=3))
    assert any("dropped" in warning for warning in found.warnings)


def test_what_cannot_be_tuned_is_told(tmp_path: Path) -> None:
    setting = judged()
    bare = type("Bare", (), {k: v for k, v in NetSource.__dict__.items() if k not in {"forests", "__dict__"}})
    with pytest.raises(OptionError, match="forest-mert needs forests or lattices, but Bare gives lists only"):
        tune_source(Judged(bare(setting.source.nets), setting.references), METRIC, SMALL, start(setting))
    for wrong, told in (
        ("directions=gradient", "lists"), ("directions=up", "directions"), ("l2=1,l0=1", "l2 and l0"),
        ("density=-1", "density"), ("l2_form=fixed", "fixed"), ("noise=1", "noise"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=told):
            tuner_from(f"forest-mert:{wrong}")
    one = NetSource([Net(2, [(0, 1, "a b c d", [0.0, 1.0, 0.0])])])
    with pytest.raises(TuningError, match="nothing to learn: no two derivations"):
        tune_source(Judged(one, [["a b c d e"]]), METRIC, SMALL, Weights(one.names, np.ones(3)))
    tune_source(setting, METRIC, SMALL, start(setting), Plan(epochs=2), folder=tmp_path)
    (tmp_path / "forests" / "000.zst").write_bytes(b"")
    with pytest.raises(InputError, match=r"000\.zst"):
        tune_source(setting, METRIC, SMALL, start(setting), Plan(epochs=2), folder=tmp_path, resume=True)


def test_rounds_are_united() -> None:
    """A line over two rounds is the line over both forests of each sentence."""
    rng = np.random.default_rng(3)
    nets = [[random_net(rng, 4) for _ in range(6)] for _ in range(2)]
    references = [["a b c d e"]] * 6
    both = ForestSurface(ForestLines(6, METRIC.width), PreparedReferences(references, METRIC), 3, np.ones(3))
    for number, round_ in enumerate(nets):
        source = NetSource(round_)
        found = source.forests(range(6), Weights(source.names, np.ones(3)))
        both.pool.add(number, np.arange(6), found.native)
    weights = np.array([0.5, -0.25, 1.0])
    scores = both.product(weights)
    best = both.pool.best(scores)
    for s in range(6):
        paths = [path for round_ in nets for path in round_[s].paths]
        assert best[s] == max(paths, key=lambda path: float(path[1] @ weights))[0]
    both.pool.forget(1)
    assert both.pool.edges < len(scores)


def test_limits_hold() -> None:
    setting = judged()
    problem = Problem.of_source(setting.source, setting.references, METRIC)
    pool = ForestLines(30, METRIC.width)
    pool.add(0, np.arange(30), setting.source.forests(range(30), start(setting)).native)
    limits = Limits(np.array([0.0, -np.inf, -0.2]), np.array([0.3, np.inf, 0.2]))
    begun = np.array([0.1, 0.1, 0.1])
    session = SMALL.over(pool, problem.prepared, limits, 0, problem.names, start(setting), begun)
    now = session.begin(begun)
    while not now.done:
        now = session.step(now)
    assert (now.weights >= limits.lower).all() and (now.weights <= limits.upper).all()
    assert now.record["objective"] > session.surface.gain(begun)
