"""What the driver owns: it works with lists and with a decoder alike, decodes each text once, and loses nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny
from tests.runs import Judged, Plan, tune_source
from tests.unit.test_tune import lists as lists  # noqa: PLC0414 - a fixture
from tests.unit.test_tune_source import METRIC, ListSource, judged, start

from dragoman import weights
from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import Serial
from dragoman.errors import InputError, OptionError
from dragoman.metrics import Bleu, External
from dragoman.testing import planted_pool
from dragoman.tuning import (
    BatchTuner,
    Limits,
    Mert,
    Mira,
    NamedLimits,
    Online,
    Pool,
    Problem,
    RunDir,
    SampleRank,
    State,
    Tuner,
    sweep,
    tune,
)
from dragoman.tuning.tuners.online import OnlineSession
from dragoman.types import F64, Weights

Cli = Callable[..., tuple[int, str, str]]


class Counted(ListSource):
    """Counts sentences that were decoded, by weight vector."""

    def __init__(self, pool: Pool, size: int) -> None:
        super().__init__(pool, size)
        self.seen: list[bytes] = []

    def candidates(self, sentences: Any, weights: Weights, threads: int | None = None) -> Any:
        self.seen += [weights.align(self.names).tobytes()] * len(sentences)
        return super().candidates(sentences, weights, threads)


def counted(size: int = 6) -> Judged:
    pool, _ = planted_pool(sentences=60, size=30)
    return Judged(Counted(pool, size), [()] * 60)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize(
    ("tuner", "passes"),
    [(Mert(starts=2), (4, 4)), (Mira.kbmira(), (4, 4)), (Online(batch=7), (7, 4)), (Mira(), (7, 4))],
    ids=lambda x: getattr(x, "name", ""),
)
def test_each_text_is_decoded_once(tuner: Tuner, passes: tuple[int, int], held_out: bool) -> None:
    """Three rounds have four weight vectors; an online epoch is a pass of its own, unless held-out text decides."""
    setting, other = counted(), counted()
    found = tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=3), held_out=other if held_out else None)
    assert found.steps == 3
    assert len(setting.source.seen) == 60 * found.passes
    if passes[0] == 4:
        assert found.passes == len(set(setting.source.seen)) <= 4
    else:
        assert found.passes == passes[held_out]
    if passes[0] == 4:
        assert all(setting.source.seen.count(vector) == 60 for vector in set(setting.source.seen))
    vectors = len(set(setting.source.seen)) if passes[0] == 4 else 4
    assert len(set(other.source.seen)) == (vectors if held_out else 0)


def test_references_are_digested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    prepare = type(METRIC).prepare

    def spied(metric: Any, references: Any) -> Any:
        calls.append(len(references))
        return prepare(metric, references)

    monkeypatch.setattr(type(METRIC), "prepare", spied)
    for tuner in (Mert(starts=1), Online(batch=7), Mira()):
        setting = judged()
        calls.clear()
        tune_source(setting, METRIC, tuner, start(setting), Plan(epochs=2))
        assert calls == [60]


def test_bounds_hold_with_fresh_candidates() -> None:
    for tuner in (Mert(starts=2), Mira.kbmira(), Online(batch=7), Mira(shards=2)):
        plan = Plan(epochs=2, select="last", bounds={"dense0": (0.05, 0.12), "dense3": (0.1, 0.1)})
        found = tune_source(judged(), METRIC, tuner, start(judged()), plan).weights
        assert 0.05 <= found["dense0"] <= 0.12
        assert found["dense3"] == 0.1
        free = tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=2, select="last")).weights
        assert not (0.05 <= free["dense0"] <= 0.12 and free["dense3"] == 0.1)


def test_bounds_hold_for_samples_and_for_names_met_later(tmp_path: Path) -> None:
    decoder = Decoder(tiny.model(tmp_path), features="pt", search=tiny.SEARCH)
    lines = tiny.lines(12, longest=4)
    references = [[line] for line in decoder.translate(lines, weights=Weights.of({"TM": 2.0, "LM": 0.1}))]
    source = DecoderSource(decoder, lines, 20)
    free = tune(Problem.of_source(source, references, Bleu(tokenize="none")), Online(rate=0.5, l1=0.0), rounds=1)
    sparse = {name: value for name, value in free.weights.to_dict().items() if name.startswith("pt:")}
    name = max(sparse, key=lambda name: abs(sparse[name]))
    assert abs(sparse[name]) > 0.1

    def anew() -> DecoderSource:
        return DecoderSource(Decoder(decoder.model.folder, features="pt", search=tiny.SEARCH), lines, 20)

    fresh = anew()
    limits = NamedLimits(bounds={name: (-0.1, 0.1), "LM": (0.0, 0.6)})
    for tuner in (Online(rate=0.5, l1=0.0), Mira(c=1.0), SampleRank(chains=2, samples=30, burn_in=5)):
        fresh = anew()
        assert name not in fresh.names
        problem = Problem.of_source(fresh, references, Bleu(tokenize="none"), limits=limits)
        found = tune(problem, tuner, rounds=1, select="last").weights
        assert -0.1 <= found[name] <= 0.1 and 0.0 <= found["LM"] <= 0.6
    with pytest.raises(OptionError, match="no feature `xy:z`"):
        tune(Problem.of_source(fresh, references, Bleu(tokenize="none"), limits=NamedLimits(["xy:z"])), Mira())


def test_held_out_lists_choose_the_step() -> None:
    rest, apart = planted_pool(noise=2.0)[0].split(0.4, 1)
    problem = Problem.of_pool(rest, held_out=Problem.of_pool(apart))
    tuner = Online(epochs=12, rate=0.5, l1=0.0)
    last, best = (tune(problem, tuner, select=select) for select in ("last", "best"))
    assert last.best == 12 and best.best < 12
    scores = {record["step"]: record["held_out"] for record in best.trace}
    assert best.held_out is not None and last.held_out is not None
    assert best.held_out.score == pytest.approx(max(scores.values())) == pytest.approx(scores[best.best])
    assert best.held_out.score >= last.held_out.score


def test_the_checkpoint_outlives_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, _ = planted_pool()
    out = tmp_path / "w.toml"
    steps: list[dict[str, float]] = []
    whole = tune(Problem.of_pool(pool), Online(epochs=5))

    def full(*_arguments: Any) -> None:
        raise InputError(f"{out}: No space left on device", str(out))

    with monkeypatch.context() as patch:
        patch.setattr(weights, "save", full)
        with pytest.raises(InputError, match="No space"):
            tune(Problem.of_pool(pool), Online(epochs=5), run=RunDir.beside(out))
    assert Path(f"{out}.checkpoint").exists() and not out.exists()
    run = RunDir.beside(out)
    found = tune(Problem.of_pool(pool), Online(epochs=5), run=run, resume=True, progress=steps.append)
    assert np.array_equal(found.weights.values, whole.weights.values)
    assert len(steps) < 5
    assert out.exists() and not Path(f"{out}.checkpoint").exists()


class Killed(Exception):
    pass


def test_a_sweep_keeps_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rest, apart = planted_pool()[0].split(0.3, 1)
    problem = Problem.of_pool(rest, held_out=Problem.of_pool(apart))
    variants = sweep.variants(Online(epochs=3), ["rate=0.02,0.2,0.5"])
    stepped: list[float] = []
    step = OnlineSession.step

    def spied(session: OnlineSession, state: Any) -> Any:
        stepped.append(session.options.rate)
        return step(session, state)

    monkeypatch.setattr(OnlineSession, "step", spied)

    def place(number: int) -> RunDir:
        run = RunDir.beside(tmp_path / f"{number}.toml", keep=True)
        run.interval = 0.0
        return run

    def kill(record: dict[str, float]) -> None:
        if stepped.count(0.2) == 2:
            raise Killed

    with pytest.raises(Killed):
        sweep.run(problem, variants, place, engine=Serial(), progress=kill)
    assert stepped == [0.02] * 3 + [0.2] * 2
    stepped.clear()
    resumed = sweep.run(problem, variants, place, engine=Serial(), resume=True)
    assert stepped == [0.2] + [0.5] * 3
    fresh = sweep.run(problem, variants, engine=Serial())
    for (_, one), (_, other) in zip(resumed, fresh, strict=True):
        assert np.array_equal(one.weights.values, other.weights.values)


def test_sweeps_bounds_and_traces_with_a_model(cli: Cli, tmp_path: Path) -> None:
    model, lines = tiny.model(tmp_path / "model"), tiny.lines(16, longest=4)
    decoder = Decoder(model, search=tiny.SEARCH)
    references = decoder.translate(lines, weights=Weights.of({"TM": 2.0, "LM": 0.1, "Words": 0.2}))
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in references))
    base = ["tune", "--model", model, "--src", tmp_path / "src", "--refs", tmp_path / "ref", "--tokenized"]
    base += ["--tuner", "adagrad:batch=3", "--epochs", "2", "--nbest-size", "20", "--held-out", "0.25"]
    more = [
        "--sweep",
        "rate=0.02,0.3",
        "--bound",
        "LM=0:0.3",
        "--out",
        tmp_path / "t",
        "--trace",
        tmp_path / "trace.jsonl",
    ]
    code, out, err = cli(*base, *more, "--json")
    assert code == 0, err
    tried = json.loads(out)["sweep"]
    assert [t["options"] for t in tried] == ["rate=0.02", "rate=0.3"]
    best = max(tried, key=lambda t: t["held_out"]["score"])
    assert json.loads(out)["runs"][0]["held_out"]["score"] == best["held_out"]["score"]
    found = weights.load(tmp_path / "t" / "weights.toml")
    assert found.to_dict() == best["weights"] and found["LM"] <= 0.3
    traced = [json.loads(line) for line in (tmp_path / "trace.sweep2.jsonl").read_text().splitlines()]
    assert [record["step"] for record in traced] == [0, 1, 2]
    kept = (tmp_path / "t" / "sweep1" / "weights.toml").stat().st_mtime_ns
    code, _, err = cli(*base, *more)
    assert code == 0, err
    assert (tmp_path / "t" / "weights.toml").exists() and kept


def test_replications_over_lists(lists: Path, cli: Cli) -> None:
    base = ("tune", "--nbest", lists / "dev.nbest", "--refs", lists / "dev.ref", "--metric", "bleu:tokenize=none")
    code, out, err = cli(
        *base,
        "--tuner",
        "mert:starts=3",
        "--replications",
        "3",
        "--out",
        lists / "w.toml",
        "--json",
        "--curve",
        lists / "curve.png",
    )
    assert code == 0, err
    told = json.loads(out)
    scores = [run["end"]["score"] for run in told["runs"]]
    assert told["spread"]["mean"] == pytest.approx(sum(scores) / 3)
    assert len(list(lists.glob("curve.run?.png"))) == 3
    best = weights.load(lists / f"w.run{int(np.argmax(scores)) + 1}.toml").to_dict()
    assert weights.load(lists / "w.toml").to_dict() == best
    assert not list(lists.glob("*.checkpoint*"))


def test_options_that_would_do_nothing_are_refused(lists: Path, cli: Cli) -> None:
    base = ("tune", "--nbest", lists / "dev.nbest", "--refs", lists / "dev.ref", "--out", lists / "w.toml")
    for option, value in (
        ("--epochs", "3"),
        ("--nbest-size", "50"),
        ("--memory", "1G"),
        ("--stack-size", "9"),
        ("--src", "x"),
    ):
        code, _, err = cli(*base, option, value)
        name = {"--src": "source"}.get(option, option[2:].replace("-", "_"))
        assert code == 1 and f"{name} is for tuning with a model" in err
    code, _, err = cli(*base, "--tuner", "mert:stale=2")
    assert code == 1 and "unknown option `stale`" in err
    code, _, err = cli(*base, "--tuner", "mert", "--stale", "2")
    assert code == 2 and "--stale is called --tuner NAME:stale=N now" in err


def test_start_weights_keep_their_sparse_features(tmp_path: Path) -> None:
    folder, lines = tiny.model(tmp_path), tiny.lines(12, longest=4)

    def source(features: str | None) -> DecoderSource:
        return DecoderSource(Decoder(folder, features=features, search=tiny.SEARCH), lines, 20)

    target = Weights.of({"TM": 2.0, "LM": 0.1, "pt:a>s": 3.0, "pt:b>t": -2.0})
    references = [[line] for line in source("pt").decoder.translate(lines, weights=target)]
    problem = Problem.of_source(source("pt"), references, Bleu(tokenize="none"))
    found = tune(problem, Online(rate=1e-9, l1=0.0), start=target, rounds=1, select="last")
    assert found.weights["pt:a>s"] == pytest.approx(3.0) and found.weights["pt:b>t"] == pytest.approx(-2.0)
    assert found.start.score == pytest.approx(100.0), "the start is scored with all its weights"
    without = Problem.of_source(source(None), references, Bleu(tokenize="none"))
    with pytest.raises(OptionError, match="`pt:a>s` that the system cannot have: name its set with --features"):
        tune(without, Online(), start=target)


@pytest.mark.parametrize(
    ("tuner", "message"),
    [
        (Mira(epochs=3), "epochs does nothing online"),
        (Mira(select="last"), "select does nothing online"),
        (Online(epochs=3), "epochs does nothing online"),
        (Online(select="best"), "select does nothing online"),
        (Online(mode="batch", stale=1), "stale is for online tuning"),
        (Mira(mode="batch", shards=2), "shards are for online tuning"),
    ],
    ids=str,
)
def test_options_of_tuners_that_would_do_nothing_are_refused(tuner: Tuner, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tune_source(judged(), METRIC, tuner, start(judged()), Plan(epochs=1))


def test_sentences_can_come_in_their_own_order() -> None:
    runs = {
        (kind, shuffle): tune_source(
            judged(), METRIC, kind(shuffle=shuffle), start(judged()), Plan(epochs=1, seed=seed, select="last")
        ).weights.values
        for kind in (Mira, Online)
        for shuffle in (True, False)
        for seed in (0,)
    }
    for kind in (Mira, Online):
        assert not np.array_equal(runs[kind, True], runs[kind, False])
        other = Plan(epochs=1, seed=9, select="last")
        again = tune_source(judged(), METRIC, kind(shuffle=False), start(judged()), other).weights.values
        assert (kind is Online) or np.array_equal(runs[kind, False], again), "the seed has nothing left to decide"


def test_an_epoch_without_an_update_is_told() -> None:
    found = tune_source(judged(), METRIC, Online(threshold=0.99), start(judged()), Plan(epochs=2))
    assert any("no weight moved in 2 (1, 2) of 2 epochs" in warning for warning in found.warnings)
    moved = tune_source(judged(), METRIC, Online(), start(judged()), Plan(epochs=2))
    assert not any("no weight moved" in warning for warning in moved.warnings)


def test_lists_without_a_sentence_are_refused(lists: Path, cli: Cli) -> None:
    text = (lists / "dev.nbest").read_text().splitlines(keepends=True)
    (lists / "hole.nbest").write_text("".join(line for line in text if line.split(" ", 1)[0] not in {"3", "17"}))
    base = ("tune", "--nbest", lists / "hole.nbest", "--refs", lists / "dev.ref", "--out", lists / "w.toml")
    code, _, err = cli(*base)
    assert code == 1 and "2 (3, 17) of 40 sentences have references but no candidate" in err
    assert "--allow-missing" in err and not (lists / "w.toml").exists()
    code, _, err = cli(*base, "--allow-missing")
    assert code == 0 and "warning: 2 (3, 17) sentences have no candidate and are left out" in err


@dataclass(frozen=True)
class Downhill(BatchTuner):
    """A tuner that goes the wrong way, or nowhere."""

    factor: float = -1.0
    units: str = "auto"
    name: str = "downhill"
    never_worse: bool = False

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Any = None) -> Downhill:
        return self

    def begin(self, start: F64) -> State:
        return State(start)

    def step(self, state: State) -> State:
        return State(state.weights * self.factor, 1, True)


class TestNoGain:
    """A run over lists that gains nothing on them says so, and its result is the start."""

    def problem(self, better: bool = True) -> Problem:
        pool, _ = planted_pool()
        return Problem.of_pool(Pool(pool.candidates, External("quality", higher_is_better=better), pool.statistics))

    def test_the_start_is_the_result(self, tmp_path: Path) -> None:
        hidden = Weights(self.problem().names, planted_pool()[1])
        run = RunDir.beside(tmp_path / "w.toml")
        found = tune(replace(self.problem(), held_out=self.problem()), Downhill(), start=hidden, run=run)
        assert found.weights.to_dict() == hidden.to_dict()
        assert weights.load(tmp_path / "w.toml").to_dict() == hidden.to_dict()
        assert (found.best, found.end, found.held_out) == (0, found.start, found.held_out_start)
        (warning,) = found.warnings
        assert re.fullmatch(
            r"downhill ended at 0\.\d{4}, from 0\.\d{4} quality on its own lists: the result is the start; "
            r"try mert or kbmira or downhill:units=spread",
            warning,
        )

    def test_unless_the_worse_weights_are_wanted(self) -> None:
        hidden = Weights(self.problem().names, planted_pool()[1])
        found = tune(self.problem(), Downhill(), start=hidden, keep_worse=True)
        assert np.array_equal(found.weights.values, -hidden.values)
        assert found.end.score < found.start.score
        assert "what it found is kept all the same" in found.warnings[0]

    def test_an_error_rate_has_the_other_direction(self) -> None:
        hidden = Weights(self.problem().names, planted_pool()[1])
        found = tune(self.problem(better=False), Downhill(), start=hidden)
        assert found.end.score < found.start.score
        assert not found.warnings

    def test_no_gain_at_all_is_said_too(self) -> None:
        hidden = Weights(self.problem().names, planted_pool()[1])
        found = tune(self.problem(), Downhill(factor=2.0), start=hidden)
        assert np.array_equal(found.weights.values, hidden.values)
        assert "as it began" in found.warnings[0]
