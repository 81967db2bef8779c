"""Every tuner does its work through the engine it is given, and finds the same weights through each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny

from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import Engine, EngineBase, Processes, Ray, Serial, Threads
from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.testing import planted_pool
from dragoman.tuning import (
    ForestMert,
    LatticeMira,
    Mert,
    Mira,
    NamedLimits,
    Online,
    Pro,
    Problem,
    Risk,
    RunDir,
    SampleRank,
    Tuner,
    replicate,
    sweep,
    tune,
)
from dragoman.types import Weights

METRIC = Bleu(tokenize="none")

DENSE: list[Tuner] = [
    Mert(starts=3),
    Mert.smooth(),
    Pro(iterations=3),
    replace(Mira.kbmira(), epochs=5),
    Risk(iterations=3),
    LatticeMira(epochs=4),
    ForestMert(random_directions=2),
    Mira(shards=3),
    Mira(space="lattice"),
    Mira(gain="background", mode="online"),
    Online(batch=3, rate=0.1),
    Online(batch=3, rate=0.1, stale=1, average=True, updater="arow"),
    Online(mode="batch", epochs=3, rate=0.1),
    SampleRank(chains=3, samples=20, burn_in=5),
]
SPARSE: list[Tuner] = [
    Online(batch=3, rate=0.1, l1=0.001),
    Mira(shards=2),
    SampleRank(chains=2, samples=20, burn_in=5, oracle="hope", rate=0.0),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


def problem(model: Path, features: str | None = None) -> Problem:
    """References are what other weights would say."""
    decoder = Decoder(model, features=features, search=tiny.SEARCH)
    lines = tiny.lines(14, longest=5)
    other = Weights.of({"TM": 1.5, "LM": 0.1, "Words": 0.3, "Unknown": 1.0, "Distortion": 0.5})
    references = [[line] for line in decoder.translate(lines, weights=other)]
    limits = NamedLimits(fixed=("Unknown",), bounds={"LM": (-0.2, 2.0)})
    return Problem.of_source(DecoderSource(decoder, lines, 15), references, METRIC, limits=limits)


def found(model: Path, tuner: Tuner, engine: Engine, features: str | None = None) -> dict[str, float]:
    """All weights but zeros, by name."""
    result = tune(problem(model, features), tuner, rounds=2, select="last", engine=engine, seed=4)
    return {name: value for name, value in sorted(result.weights.to_dict().items()) if value}


@pytest.mark.parametrize("tuner", DENSE, ids=str)
def test_with_a_decoder(model: Path, processes: Processes, two_nodes: Ray, tuner: Tuner) -> None:
    want = found(model, tuner, Serial())
    assert want["Unknown"] == 1.0 and -0.2 <= want["LM"] <= 2.0
    assert found(model, tuner, Threads(3)) == want
    assert found(model, tuner, processes) == want
    assert found(model, tuner, two_nodes) == want


@pytest.mark.parametrize("tuner", SPARSE, ids=str)
def test_with_sparse_features(model: Path, processes: Processes, two_nodes: Ray, tuner: Tuner) -> None:
    """Features travel by name: another process numbers them in another order, and no sum may depend on it."""
    want = found(model, tuner, Serial(), tiny.SETS)
    assert sum(":" in name for name in want) > 5
    assert found(model, tuner, Threads(3), tiny.SETS) == want
    assert found(model, tuner, processes, tiny.SETS) == want
    assert found(model, tuner, two_nodes, tiny.SETS) == want


@pytest.mark.parametrize("features", [None, tiny.SETS])
def test_updates_in_the_order_of_arrival(
    model: Path, processes: Processes, two_nodes: Ray, features: str | None
) -> None:
    """With one worker the order is that of the batches; with more, each batch counts once, whatever the order."""
    tuner = Online(batch=3, rate=0.1, l1=0.001, arrival=True)
    fixed = replace(tuner, arrival=False, stale=0)
    assert found(model, tuner, Serial(), features) == found(model, fixed, Serial(), features)
    for engine in (Threads(2), processes, two_nodes):
        result = tune(problem(model, features), tuner, rounds=2, select="last", engine=engine, seed=4)
        assert 0 < result.trace[-1]["staleness"] <= 1, "two batches are under way"
        near = tune(problem(model, features), fixed, rounds=2, select="last", seed=4)
        assert result.trace[-1]["loss"] == pytest.approx(near.trace[-1]["loss"], rel=0.3)
    with pytest.raises(OptionError, match="stale does nothing with arrival"):
        tune(problem(model), replace(tuner, stale=1), rounds=1)


@pytest.mark.parametrize("tuner", [replace(Mira.kbmira(), epochs=3), LatticeMira(epochs=3)], ids=str)
def test_rounds_with_sparse_features(model: Path, processes: Processes, two_nodes: Ray, tuner: Tuner) -> None:
    """The same weights but for last bits: sums over features are made in the order in which a process met them."""
    want = found(model, tuner, Serial(), tiny.SETS)
    assert sum(":" in name for name in want) > 5
    assert found(model, tuner, Threads(3), tiny.SETS) == want
    for engine in (processes, two_nodes):
        assert found(model, tuner, engine, tiny.SETS) == pytest.approx(want, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("tuner", [Mert(starts=5, together=4), Mert(starts=3, noise=0.1), Pro(iterations=3)], ids=str)
def test_over_lists(processes: Processes, two_nodes: Ray, tuner: Tuner) -> None:
    pool = planted_pool()[0].split(0.3, 1)[0]
    engines: list[Engine] = [Serial(), Threads(3), processes, two_nodes]
    runs = [tune(Problem.of_pool(pool), tuner, engine=engine, seed=2) for engine in engines]
    assert all(np.array_equal(run.weights.values, runs[0].weights.values) for run in runs)


def test_sweeps_and_replications(model: Path, processes: Processes, two_nodes: Ray, tmp_path: Path) -> None:
    engines: list[Engine] = [Serial(), Threads(2), processes, two_nodes]
    rest, apart = planted_pool()[0].split(0.3, 1)
    lists = Problem.of_pool(rest, held_out=Problem.of_pool(apart))
    variants = sweep.variants(Online(epochs=3), ["rate=0.02,0.2"])
    tried = [sweep.run(lists, variants, engine=engine, seed=1) for engine in engines]
    for other in tried[1:]:
        assert [name for name, _ in other] == [name for name, _ in tried[0]]
        for (_, mine), (_, theirs) in zip(other, tried[0], strict=True):
            assert np.array_equal(mine.weights.values, theirs.weights.values)
    runs = [
        replicate(problem(model), Online(batch=3, rate=0.2), 2, lambda n, at=at: RunDir(tmp_path / str(at) / str(n)),  # type: ignore[misc]
                  engine=engine, rounds=1, select="last")
        for at, engine in enumerate(engines)
    ]  # fmt: skip
    for again in runs[1:]:
        assert [run.weights.to_dict() for run in again] == [run.weights.to_dict() for run in runs[0]]
        assert [run.end for run in again] == [run.end for run in runs[0]]
    assert runs[0][0].weights.to_dict() != runs[0][1].weights.to_dict()


@dataclass
class Counting(EngineBase):
    """Counts what it is given."""

    calls: list[str] = field(default_factory=list)
    workers: int = 2
    local: bool = True

    def map(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        given = list(tasks)
        self.calls += ["map"] * len(given)
        return [work(task) for task in given]

    def stream(self, work: Callable[[Any], Any], tasks: Iterable[Any], ahead: int) -> Iterator[Any]:
        for result in Serial().stream(work, tasks, ahead):
            self.calls.append("stream")
            yield result


def test_the_work_is_given_to_the_engine(model: Path) -> None:
    for tuner, count in ((Mira(shards=3), 3), (Online(batch=3), 5)):
        engine = Counting()
        tune(problem(model), tuner, rounds=1, engine=engine)
        assert len(engine.calls) == count
    far = Counting(local=False)
    tune(problem(model), Mert(starts=3), rounds=1, engine=far)
    assert len(far.calls) == 2 * 8 + 3, "two passes in eight parts, three starting points"
    chains = Counting(local=False)
    tune(problem(model), SampleRank(chains=3, samples=5, burn_in=2), rounds=1, engine=chains)
    assert len(chains.calls) == 2 * 8 + 3


def test_one_pool_of_threads_lives_as_long_as_the_run(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    tune(problem(model), Online(batch=3), rounds=4, engine=Threads(2))
    assert len(begun) <= 2
