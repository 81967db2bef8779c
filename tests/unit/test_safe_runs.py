"""Runs that are repeated, lengthened or replaced; replications that are alike; examples that keep test text apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny

import dragoman
from dragoman import weights
from dragoman.decoder import Decoder
from dragoman.types import Weights

Cli = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A run of tuning with a model; its folder is the last word."""
    base, source = tiny.model(tmp_path / "base"), tiny.lines(30)
    wanted = Weights.of({"TM": 0.2, "LM": 1.0, "Words": 0.4, "Unknown": 1.0, "Distortion": 0.5})
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in source))
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in Decoder(base).translate(source, weights=wanted)))
    files = ["--model", str(base), "--src", str(tmp_path / "src"), "--refs", str(tmp_path / "ref")]
    return ["tune", *files, "--nbest-size", "20", "--pop-limit", "50", "--out", str(tmp_path / "tuned")]


def made(folder: Path) -> dict[str, int]:
    """When each step of a run was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "steps").iterdir()}


def test_a_finished_run_is_not_done_again(command: list[str], cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    options, out = ["--tuner", "kbmira", "--epochs", "2"], Path(command[-1])
    code, first, err = cli(*command, *options)
    assert code == 0, err
    steps, result = made(out), (out / "weights.toml").read_bytes()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it searches again")

    with monkeypatch.context() as patched:
        patched.setattr("dragoman.tuning.tuners.mira.Mira.over", never)
        code, second, err = cli(*command, *options)
    assert code == 0, err
    assert made(out) == steps and (out / "weights.toml").read_bytes() == result
    assert second.splitlines()[0] == first.splitlines()[0]


def test_another_tuner_in_its_place_is_refused(command: list[str], cli: Cli) -> None:
    out = Path(command[-1])
    assert cli(*command, "--tuner", "kbmira", "--epochs", "1")[0] == 0
    result = (out / "weights.toml").read_bytes()
    code, _, err = cli(*command, "--tuner", "mert", "--epochs", "1")
    assert code == 1 and "--overwrite" in err and str(out) in err
    assert (out / "weights.toml").read_bytes() == result
    assert cli(*command, "--tuner", "mert", "--epochs", "1", "--overwrite")[0] == 0
    assert (out / "weights.toml").read_bytes() != result


def test_more_epochs_go_on_from_what_is_there(command: list[str], cli: Cli, tmp_path: Path) -> None:
    out, options = Path(command[-1]), ["--tuner", "kbmira", "--select", "last"]
    assert cli(*command, *options, "--epochs", "1")[0] == 0
    steps = made(out)
    code, _, err = cli(*command, *options, "--epochs", "3")
    assert code == 0, err
    longer = made(out)
    assert len(longer) > len(steps) and {name: longer[name] for name in steps} == steps
    assert cli(*command[:-1], tmp_path / "whole", *options, "--epochs", "3")[0] == 0
    whole = weights.load(tmp_path / "whole" / "weights.toml").to_dict()
    assert weights.load(out / "weights.toml").to_dict() == whole


def test_replications_that_are_alike_say_why(command: list[str], cli: Cli) -> None:
    for tuner, alike in (("mert:starts=1", True), ("kbmira", False)):
        folder = Path(f"{command[-1]}-{alike}")
        options = ["--tuner", tuner, "--epochs", "1", "--replications", "2"]
        code, out, err = cli(*command[:-1], folder, *options)
        assert code == 0, err
        runs = [weights.load(folder / f"run{n}" / "weights.toml").to_dict() for n in (1, 2)]
        assert (runs[0] == runs[1]) == alike
        assert ("all runs ended with the same weights: this tuner, with these options, draws no random" in out) == alike
        assert dragoman.load(folder).weights.to_dict() in runs


def test_no_example_tunes_or_chooses_on_a_test_text() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "python" / "dragoman").rglob("*.py")]
    commands = [
        line for page in pages for line in re.findall(r"dragoman tune [^\n`]*(?:\\\n[^\n`]*)*", page.read_text("utf-8"))
    ]
    assert len(commands) > 10
    chosen = re.compile(r"--(held-out|held-out-refs|src|refs|nbest)\s+\S*test")
    assert [command for command in commands if chosen.search(command)] == []
