"""What can be added in one file and a line in a table: a batch tuner, a loss, an update rule, an engine.

Each is written here as a user would, registered, and then used like ours: over lists, with a decoder, by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny
from tests.runs import Plan, tune_pool, tune_source
from tests.unit.test_tune import lists as lists  # noqa: PLC0414 - a fixture
from tests.unit.test_tune_source import METRIC, judged, start

from dragoman import registry
from dragoman.engine import Engine, EngineBase, Serial
from dragoman.errors import OptionError
from dragoman.testing import check_engine, check_tuner, planted_pool
from dragoman.tuning import BatchTuner, Limits, Online, Pool, Session, State
from dragoman.tuning.learning import LOSSES, RULES
from dragoman.types import F64

Cli = Callable[..., tuple[int, str, str]]


# A batch tuner: a dataclass of options with `over`, and a session with `begin` and `step`.


@dataclass(frozen=True)
class Wander(BatchTuner):
    """Tries random weights near the best so far."""

    steps: int = 30
    width: float = 0.5
    name: str = "wander"
    never_worse: bool = True

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> Session:
        return Wandering(self, pool, limits, seed)


@dataclass
class Wandering:
    options: Wander
    pool: Pool
    limits: Limits
    seed: int

    def begin(self, start: F64) -> State:
        weights = self.limits.clip(start)
        return State(
            weights, done=not np.ptp(self.pool.sentence_gains()), record={"gain": self.pool.corpus_gain(weights)}
        )

    def step(self, state: State) -> State:
        rng = np.random.default_rng([self.seed, state.step])
        near = self.limits.clip(state.weights + rng.normal(size=len(state.weights)) * self.options.width)
        best = max([state.weights, near], key=self.pool.corpus_gain)
        record = {"gain": self.pool.corpus_gain(best)}
        return State(best, state.step + 1, state.step + 1 >= self.options.steps, record=record)


def test_a_batch_tuner(lists: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.TABLE["tuner"], "wander", Wander())
    check_tuner(Wander())
    base = ("tune", "--nbest", lists / "dev.nbest", "--refs", lists / "dev.ref", "--tuner", "wander:steps=40")
    code, out, err = cli(*base, "--out", lists / "w.toml", "--held-out", "0.25", "--json", "--replications", "2")
    assert code == 0, err
    assert all(run["end"]["score"] > run["start"]["score"] for run in json.loads(out)["runs"])
    plan, run = Plan(epochs=3), tmp_path / "run"
    found = tune_source(judged(), METRIC, Wander(), start(judged()), plan, folder=run)
    assert found.end.score > found.start.score + 0.02
    again = tune_source(
        judged(), METRIC, Wander(), start(judged()), Plan(epochs=3), folder=tmp_path / "run", resume=True
    )
    assert np.array_equal(again.weights.values, found.weights.values)


# A loss: a function of model scores and gains that gives the loss and its slopes.


def expected(model: F64, gains: F64, options: Online) -> tuple[float, F64]:
    """The best gain less the one expected under softmax(gamma M): what the core calls `expected`."""
    shares = np.exp(options.gamma * (model - model.max()))
    shares /= shares.sum()
    mean = float(shares @ gains)
    return float(gains.max()) - mean, -options.gamma * shares * (gains - mean)


def test_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "mine", expected)
    mine, ours = Online(objective="mine", batch=7, rate=0.1), Online(objective="expected", batch=7, rate=0.1)
    pool, _ = planted_pool()
    found, want = (tune_pool(pool, tuner, start="ones").weights.values for tuner in (mine, ours))
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    found, want = (
        tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=2, select="last")).weights.values
        for tuner in (mine, ours)
    )
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    check_tuner(mine)
    with pytest.raises(OptionError, match="objective is unknown: `mime`; did you mean mine"):
        Online(objective="mime")


# An update rule: a function that gives new weights from a gradient.


def arow(weights: F64, gradient: F64, squares: F64, loss: float, options: Online) -> F64:
    """Steps divided by the inverse variance: what the core calls `arow`."""
    moved: F64 = weights - options.rate * gradient / (options.prior + squares)
    return moved


def test_an_update_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "mine", arow)
    for average in (False, True):
        options: dict[str, Any] = {
            "objective": "hope-fear",
            "batch": 7,
            "rate": 0.1,
            "average": average,
            "min_count": 3,
        }
        mine, ours = Online(updater="mine", **options), Online(updater="arow", **options)
        pool, _ = planted_pool()
        found, want = (tune_pool(pool, tuner, start="ones").weights.values for tuner in (mine, ours))
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
        plan = Plan(epochs=2, select="last", bounds={"dense0": (0.05, 0.12), "dense3": (0.1, 0.1)})
        found, want = (
            tune_source(judged(), METRIC, tuner, start(judged()), plan).weights.values for tuner in (mine, ours)
        )
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    check_tuner(Online(updater="mine", objective="hope-fear", rate=0.5, epochs=4))


# An engine: `workers`, `map` and `stream`.


@dataclass(frozen=True)
class Backwards(EngineBase):
    """Does tasks from the last to the first, wherever it may."""

    workers: int = 3

    def map(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        done, failed = [], {}
        given = list(tasks)
        for at in range(len(given) - 1, -1, -1):
            try:
                done.append(work(given[at]))
            except ArithmeticError as error:  # noqa: PERF203
                failed[at] = error
                done.append(None)
        if failed:
            raise failed[min(failed)]
        return done[::-1]

    def stream(self, work: Callable[[Any], Any], tasks: Iterable[Any], ahead: int) -> Iterator[Any]:
        return Serial().stream(work, tasks, ahead)


def test_an_engine(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_engine(Backwards())
    monkeypatch.setitem(registry.TABLE["engine"], "backwards", Backwards)
    model = tiny.model(tmp_path / "model")
    for name, lines in (("src", tiny.lines(10, longest=4)), ("ref", ["s t u"] * 5 + ["v w x"] * 5)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    found = []
    for engine in ("threads", "backwards"):
        code, _, err = cli(
            "tune", "--model", model, "--src", tmp_path / "src", "--refs", tmp_path / "ref", "--tokenized", "--tuner",
            "kbmira:epochs=4", "--epochs", "2", "--engine", engine, "--out", tmp_path / engine, "--select", "last",
            "-m", "bleu:tokenize=none,smooth=add-k",
        )  # fmt: skip
        assert code == 0, err
        found.append((tmp_path / engine / "weights.toml").read_bytes())
    assert found[0] == found[1]
    code, _, err = cli("tune", "--model", model, "--src", "x", "--refs", "x", "--engine", "backward")
    assert code == 1 and "unknown engine `backward`; did you mean backwards?" in err
