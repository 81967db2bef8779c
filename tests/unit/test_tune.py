"""Runs of tuners: from lists on disk to weights, killed and resumed, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.runs import tune_pool

from dragoman import nbest, weights
from dragoman.errors import InputError, OptionError, TuningError
from dragoman.metrics import Bleu, Ter
from dragoman.metrics.references import references_of
from dragoman.testing import planted_pool
from dragoman.tuning import Mert, Mira, NamedLimits, Online, Pool, Problem, State, judge, sweep, tune, tuner_from
from dragoman.tuning.start import starting_weights
from dragoman.tuning.state import decode_state, encode_state
from dragoman.types import Names, Texts, Weights

Cli = Callable[..., tuple[int, str, str]]
WORDS = ["the", "a", "cat", "dog", "house", "garden", "sees", "finds", "small", "old", "in", "near", "quickly", "today"]


def write_lists(folder: Path, sentences: int = 40, size: int = 10, seed: int = 0, name: str = "dev") -> None:
    """A list whose better candidates have better features, and its reference."""
    rng = np.random.default_rng(seed)
    lines, refs = [], []
    for s in range(sentences):
        ref = rng.choice(WORDS, size=rng.integers(6, 12))
        refs.append(" ".join(ref))
        for _ in range(size):
            hyp = ref.copy()
            places = rng.random(len(hyp)) < rng.uniform(0, 0.6)
            hyp[places] = rng.choice(WORDS, size=int(places.sum()))
            errors = float((hyp != ref).sum())
            lm, tm, junk = -errors + rng.normal(), -0.5 * errors + rng.normal(), rng.normal()
            lines.append(f"{s} ||| {' '.join(hyp)} ||| LM= {lm:.4f} TM= {tm:.4f} {junk:.4f} Bias= 1 ||| {lm - tm:.4f}")
    (folder / f"{name}.nbest").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.ref").write_text("\n".join(refs) + "\n")


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    write_lists(tmp_path)
    write_lists(tmp_path, seed=1, name="test")
    return tmp_path


def test_tune_and_rerank(lists: Path, cli: Cli) -> None:
    out = lists / "w.toml"
    arguments = ("tune", "--nbest", lists / "dev.nbest", "--refs", lists / "dev.ref", "--metric", "bleu:tokenize=none")
    held_out = ("--held-out", lists / "test.nbest", "--held-out-refs", lists / "test.ref")
    code, table, err = cli(*arguments, *held_out, "--out", out, "--trace", lists / "trace")
    assert code == 0, err
    assert table.splitlines()[0].split() == ["BLEU", "start", "end", "oracle"]
    assert "warning: the same for all candidates of every sentence, so of no use: Bias" in err
    found = weights.load(out)
    assert found["LM"] > 0 and found["TM[0]"] > 0
    records = [json.loads(line) for line in (lists / "trace").read_text().splitlines()]
    assert [r["step"] for r in records] == list(range(1, len(records) + 1))
    assert not list(lists.glob("*.checkpoint*")), "a finished run leaves no checkpoint"
    code, best, err = cli("rerank", "--weights", out, "--nbest", lists / "test.nbest")
    assert (code, err) == (0, "")
    (lists / "best").write_text(best)
    assert len(best.splitlines()) == 40
    code, table, _ = cli("score", lists / "best", "--refs", lists / "test.ref", "-m", "bleu:tokenize=none", "--json")
    code, report, _ = cli(*arguments, *held_out, "--out", out, "--json")
    assert json.loads(table)[0]["score"] == pytest.approx(json.loads(report)["held_out"]["score"])


def test_the_start_is_what_made_the_list(lists: Path) -> None:
    candidates = nbest.read(lists / "dev.nbest")
    refs = [[line] for line in (lists / "dev.ref").read_text().splitlines()]
    pool = judge(candidates, refs, Bleu(tokenize="none"))
    start, _ = starting_weights(Problem.of_pool(pool), "auto")
    named = dict(zip(candidates.features.names.to_list(), start, strict=True))
    assert named["LM"] == pytest.approx(1.0, abs=1e-3)
    assert named["TM[0]"] == pytest.approx(-1.0, abs=1e-3)
    assert named["TM[1]"] == pytest.approx(0.0, abs=1e-3)
    assert starting_weights(Problem.of_pool(pool), "ones")[0].tolist() == [1.0] * 4
    given, warnings = starting_weights(Problem.of_pool(pool), Weights.of({"LM": 2.0, "nowhere": 1.0}))
    assert given.tolist() == [2.0, 0.0, 0.0, 0.0]
    assert warnings == ["weights of features that no candidate has: nowhere"]
    with pytest.raises(InputError, match="no feature of the start weights"):
        starting_weights(Problem.of_pool(pool), Weights.of({"nowhere": 1.0}))
    with pytest.raises(OptionError, match="start must be"):
        starting_weights(Problem.of_pool(pool), "zeros")


def test_fit_needs_totals_that_the_features_explain() -> None:
    pool, _ = planted_pool()
    with pytest.raises(InputError, match="not a weighted sum"):
        starting_weights(Problem.of_pool(pool), "fit")
    dense = [1.0] * 5 + [0.0] * 6
    assert starting_weights(Problem.of_pool(pool), "auto")[0].tolist() == dense


@pytest.mark.parametrize(
    "tuner", ["mert:starts=6,together=1", "kbmira", "adagrad:epochs=40", "pro:iterations=12", "risk:iterations=10"]
)
def test_kill_and_resume(lists: Path, tuner: str) -> None:
    """Killed at several moments, a run goes on and ends with the weights of an undisturbed one."""
    program = Path(sys.executable).with_name("dragoman")

    def command(out: str, *more: str) -> list[str]:
        base = ["tune", "--nbest", "dev.nbest", "--refs", "dev.ref", "--tuner", tuner, "--out", out]
        return [str(program), *base, "--metric", "bleu:tokenize=none", "--trace", f"{out}.trace", *more]

    began = time.monotonic()
    subprocess.run(command("whole.toml"), cwd=lists, check=True, capture_output=True)
    whole = time.monotonic() - began
    for share in (0.5, 0.8, 0.95):
        run = subprocess.Popen(command("killed.toml"), cwd=lists, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            run.wait(timeout=share * whole)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
    subprocess.run(command("killed.toml"), cwd=lists, check=True, capture_output=True)
    assert weights.load(lists / "killed.toml").to_dict() == weights.load(lists / "whole.toml").to_dict()
    traces = [
        [json.loads(line) for line in (lists / f"{n}.toml.trace").read_text().splitlines()] for n in ("whole", "killed")
    ]
    for record in traces[0] + traces[1]:
        del record["seconds"]
    assert traces[0] == traces[1]


def test_resume_in_the_middle_is_exact(tmp_path: Path) -> None:
    """The same without luck: a run is stopped by an error after its third step, whose state is on disk."""
    pool, _ = planted_pool()
    tuner = Online(epochs=8)
    whole = tune_pool(pool, tuner, seed=3)

    def stop(record: dict[str, float]) -> None:
        if record["step"] == 3:
            raise RuntimeError

    path = tmp_path / "checkpoint"
    with pytest.raises(RuntimeError):
        tune_pool(pool, tuner, seed=3, checkpoint=path, progress=stop)
    assert path.exists()
    with pytest.raises(InputError, match="belongs to another run"):
        tune_pool(pool, tuner, seed=4, checkpoint=path, resume=True)
    with pytest.raises(InputError, match="belongs to another run"):
        tune_pool(pool, Online(epochs=9), seed=3, checkpoint=path, resume=True)
    resumed = tune_pool(pool, tuner, seed=3, checkpoint=path, resume=True)
    assert resumed.weights.values.tobytes() == whole.weights.values.tobytes()
    assert not path.exists()
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="not a checkpoint"):
        tune_pool(pool, tuner, seed=3, checkpoint=path, resume=True)


def test_states_keep_every_bit() -> None:
    names = Names(["a", "b", "c"])
    state = State(
        np.array([0.1, -0.0, 1e-300]), 7, True, rows={"a": np.arange(6).reshape(2, 3)},
        numbers={"n": 3, "x": 0.1 + 0.2}, record={"g": 1.0},
    )  # fmt: skip
    found = decode_state(encode_state(state, names), names)
    assert found.weights.tobytes() == state.weights.tobytes()
    assert (found.step, found.done, found.record) == (7, True, {"g": 1.0})
    assert found.numbers["n"] == 3 and found.numbers["x"] == 0.1 + 0.2
    array = found.rows["a"]
    assert isinstance(array, np.ndarray) and array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_sweep_picks_on_the_held_out_set(lists: Path, cli: Cli) -> None:
    base = (
        "tune",
        "--nbest",
        lists / "dev.nbest",
        "--refs",
        lists / "dev.ref",
        "--out",
        lists / "w.toml",
        "--tuner",
        "adagrad:epochs=3",
    )
    code, _, err = cli(*base, "--sweep", "l1=0.1,0.2")
    assert code == 1 and "a sweep chooses on held-out text" in err
    code, report, _ = cli(*base, "--sweep", "l1=0.001,5", "rate=0.02,0.2", "--held-out", "0.3", "--json")
    tried = json.loads(report)["sweep"]
    assert code == 0
    assert [t["options"] for t in tried] == [
        "l1=0.001,rate=0.02",
        "l1=0.001,rate=0.2",
        "l1=5,rate=0.02",
        "l1=5,rate=0.2",
    ]
    assert json.loads(report)["held_out"]["score"] == max(t["held_out"]["score"] for t in tried)
    code, _, err = cli(*base, "--sweep", "l3=1,2", "--held-out", "0.3")
    assert code == 1 and "unknown option `l3`; known: " in err
    assert [name for name, _ in sweep.variants(Mert(), ["starts=1,2"])] == ["starts=1", "starts=2"]


def test_several_lists_make_one_pool(lists: Path) -> None:
    text = (lists / "dev.nbest").read_text().splitlines(keepends=True)
    (lists / "odd").write_text("".join(text[0::2]))
    (lists / "even").write_text("".join(text[1::2] + text[-2:-1]))
    names = Names()
    joined = nbest.join([nbest.read(lists / part, names=names) for part in ("odd", "even")])
    whole = nbest.read(lists / "dev.nbest")
    assert joined.ids == whole.ids
    assert joined.starts.tolist() == whole.starts.tolist(), "the repeated last candidate is dropped"
    assert sorted(joined.texts) == sorted(whole.texts)
    assert joined.features.dense().sum() == pytest.approx(whole.features.dense().sum())
    with pytest.raises(OptionError, match="one table of names"):
        nbest.join([whole, nbest.read(lists / "dev.nbest")])


def test_references_go_by_id() -> None:
    pool, _ = planted_pool(sentences=4)
    refs = [["zero"], ["one"], ["two"], ["three"]]
    some = pool.candidates.take(np.array([2, 0]))
    assert references_of(some, refs, Bleu()) == [["two"], ["zero"]]
    with pytest.raises(InputError, match="sentence 3 has no reference: the files end after 3 lines"):
        references_of(pool.candidates, refs[:3], Bleu())


def test_limits_by_name() -> None:
    pool, _ = planted_pool()
    start = np.arange(pool.width, dtype=np.float64)
    given = Weights(pool.candidates.features.names, start)
    named = NamedLimits(["dense2"], {"dense1": (0.0, 5.0)})
    limits = Problem.of_pool(pool, limits=named).limited(given).limits.arrays(given.names)
    assert (limits.lower[2], limits.upper[2]) == (2.0, 2.0)
    assert (limits.lower[1], limits.upper[1]) == (0.0, 5.0)
    found = tune_pool(
        pool, Mert(starts=3), start=Weights(pool.candidates.features.names, start), bounds={"dense1": (0.9, 1.1)}
    )
    assert 0.9 <= found.weights["dense1"] <= 1.1
    with pytest.raises(OptionError, match="no candidate has a feature `dense9`; did you mean"):
        Problem.of_pool(pool, limits=NamedLimits(["dense9"])).limited(given)
    with pytest.raises(OptionError, match="empty"):
        NamedLimits(bounds={"dense1": (1.0, 0.0)})


def test_error_rates_go_down(lists: Path) -> None:
    candidates = nbest.read(lists / "dev.nbest")
    refs = [[line] for line in (lists / "dev.ref").read_text().splitlines()]
    for tuner in (Mert(starts=3), Mira.kbmira(), Online()):
        found = tune(Problem.of_lists(candidates, refs, Ter()), tuner, start="ones")
        assert found.oracle is not None
        assert found.oracle <= found.end.score <= found.start.score


def test_zero_is_no_success(lists: Path) -> None:
    candidates = nbest.read(lists / "dev.nbest")
    with pytest.raises(TuningError, match="BLEU is zero for every candidate"):
        tune(Problem.of_lists(candidates, [["xyz"]] * 40, Bleu()), Mert())
    pool, _ = planted_pool(flat=True)
    for tuner in (Mert(), Mira(), Online()):
        with pytest.raises(TuningError, match="nothing to learn"):
            tune_pool(pool, tuner)
    good, _ = planted_pool()
    with pytest.raises(TuningError, match="collapsed"):
        tune_pool(good, Online(l1=1e6))


def test_a_split_shares_out_all_sentences() -> None:
    pool, _ = planted_pool()
    first, second = pool.split(0.25, seed=1)
    assert (len(first.candidates), len(second.candidates)) == (30, 10)
    assert sorted([*first.candidates.ids, *second.candidates.ids]) == sorted(pool.candidates.ids)
    again = pool.split(0.25, seed=1)[1]
    assert again.candidates.ids == second.candidates.ids != pool.split(0.25, seed=2)[1].candidates.ids
    where = [int(i) for i in second.candidates.ids]
    total = sum(pool.statistics[pool.candidates.starts[i] : pool.candidates.starts[i + 1]].sum() for i in where)
    assert second.statistics.sum() == pytest.approx(total)
    with pytest.raises(InputError, match="too few"):
        pool.take(np.array([0])).split(0.5, seed=0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--refs", "dev.ref"], 2, "expected either --nbest"),
        (["--nbest", "dev.nbest"], 1, "expected references of the lists"),
        (["--nbest", "none", "--refs", "dev.ref"], 1, "none: No such file"),
        (
            ["--nbest", "dev.nbest", "--refs", "short.ref"],
            1,
            "sentence 39 has no reference: the files end after 39 lines",
        ),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "short.ref"], 1, "short.ref:40: expected 40 lines"),
        (["--nbest", "nan.nbest", "--refs", "dev.ref"], 1, "nan.nbest:2: expected a finite number"),
        (["--nbest", "twice.nbest", "--refs", "dev.ref"], 1, "twice.nbest:1: expected each feature once, found `LM`"),
        (
            ["--nbest", "dev.nbest", "--refs", "dev.ref", "--tuner", "mart"],
            1,
            "unknown tuner `mart`; did you mean mert?",
        ),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--tuner", "mert:start=2"], 1, "did you mean starts?"),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--start", "w.toml"], 1, "no feature of the start weights"),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--out", "no/w.toml"], 1, "no/w.toml: cannot be written"),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--held-out", "1.5"], 1, "between 0 and 1"),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--held-out", "test.nbest"], 1, "need their references"),
        (["--nbest", "dev.nbest", "--refs", "dev.ref", "--bound", "LM"], 1, "NAME=LOW:HIGH"),
        (
            ["--nbest", "dev.nbest", "--refs", "dev.ref", "--fix", "ML"],
            1,
            "no candidate has a feature `ML`; known: Bias, LM, TM[0], TM[1]",
        ),
        (["--nbest", "dev.nbest", "--refs", "other.ref"], 1, "BLEU is zero for every candidate"),
    ],
)
def test_errors(
    lists: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    refs = (lists / "dev.ref").read_text().splitlines(keepends=True)
    (lists / "short.ref").write_text("".join(refs[:39]))
    (lists / "other.ref").write_text("xyz\n" * 40)
    (lists / "nan.nbest").write_text("0 ||| a ||| LM= 1\n0 ||| b ||| LM= nan\n")
    (lists / "twice.nbest").write_text("0 ||| a ||| LM= 1 LM= 2\n")
    (lists / "w.toml").write_text("[weights]\nnowhere = 1\n")
    monkeypatch.chdir(lists)
    before = sorted(lists.iterdir())
    found, out, err = cli("tune", *arguments)
    assert (found, out) == (code, ""), err
    assert message in err
    assert sorted(lists.iterdir()) == before, "nothing is left behind"


def test_rerank_warns_and_refuses(lists: Path, cli: Cli) -> None:
    (lists / "w.toml").write_text("[weights]\nLM = 1\nnowhere = 1\n")
    (lists / "gap.nbest").write_text("0 ||| a ||| LM= 1\n0 ||| b ||| LM= 2\n2 ||| c ||| LM= 1\n")
    code, out, err = cli("rerank", "--weights", lists / "w.toml", "--nbest", lists / "gap.nbest")
    assert (code, out) == (0, "b\n\nc\n")
    assert "no candidate has: nowhere" in err and "1 sentences have no candidate" in err
    (lists / "w.toml").write_text("[weights]\nnowhere = 1\n")
    code, out, err = cli("rerank", "--weights", lists / "w.toml", "--nbest", lists / "gap.nbest")
    assert (code, out) == (1, "") and "no feature of these weights is in the list" in err


def test_an_empty_entry_and_identical_candidates_are_no_trouble(lists: Path) -> None:
    (lists / "odd.nbest").write_text("0 |||  ||| LM= 0\n0 ||| a cat ||| LM= 1\n1 ||| a ||| LM= 1\n1 ||| a ||| LM= 1\n")
    candidates = nbest.read(lists / "odd.nbest")
    problem = Problem.of_lists(candidates, [["a cat"], ["a dog"]], Bleu(smooth="add-k"))
    found = tune(problem, Mert(starts=2))
    assert found.weights["LM"] > 0


def test_specs() -> None:
    assert tuner_from("kbmira:epochs=3") == replace(Mira.kbmira(), epochs=3)
    with pytest.raises(OptionError, match="unknown option `gain_metric`"):
        tuner_from("adagrad:gain_metric=1")


def test_pools_are_judged_with_names_of_their_own() -> None:
    pool, hidden = planted_pool()
    weights_found = tune_pool(pool, Mira(), held_out=planted_pool(seed=0)[0])
    assert weights_found.held_out is not None and weights_found.held_out_start is not None
    assert weights_found.held_out.score == weights_found.end.score
    assert isinstance(pool, Pool) and isinstance(pool.candidates.texts, Texts) and len(hidden) == 11
