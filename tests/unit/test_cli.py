"""The command line: tables, JSON, exit codes, kind errors, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.metrics import Bleu, corpus_score

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "ref").write_text("the cat sat on the mat .\nit is raining again today .\n")
    (tmp_path / "ref2").write_text("a cat sat on the mat .\nit rains again today .\n")
    (tmp_path / "good").write_text("the cat sat on the mat .\nit is raining again .\n")
    (tmp_path / "poor").write_text("cat sat mat\nrain again it does today\n")
    (tmp_path / "good.comet").write_text("0.5\n0.9\n")
    (tmp_path / "poor.comet").write_text("0.1\n0.2\n")
    return tmp_path


def test_score_prints_a_table_with_signatures(files: Path, cli: Cli) -> None:
    code, out, err = cli("score", files / "good", files / "poor", "--refs", files / "ref", files / "ref2")
    assert (code, err) == (0, "")
    header, good, poor, *signatures = out.splitlines()
    assert header.split() == ["system", "BLEU", "chrF2"]
    assert good.split()[0] == str(files / "good")
    assert float(good.split()[1]) > float(poor.split()[1])
    assert signatures[0].startswith("# BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|len:closest|version:dragoman-")


def test_score_prints_json_with_intervals(files: Path, cli: Cli) -> None:
    code, out, _ = cli("score", files / "good", "--refs", files / "ref", "-m", "bleu", "--confidence", "--json")
    (result,) = json.loads(out)
    lines = (files / "good").read_text().splitlines()
    refs = [[line] for line in (files / "ref").read_text().splitlines()]
    assert code == 0
    assert result["score"] == corpus_score(Bleu(), lines, refs)
    assert result["low"] <= result["score"] <= result["high"]
    assert result["signature"].startswith("BLEU|nrefs:1|")


def test_score_each_sentence(files: Path, cli: Cli) -> None:
    code, out, _ = cli("score", files / "good", "--refs", files / "ref", "--sentences", "-m", "bleu", "ter")
    *signatures, first, second = out.splitlines()
    assert code == 0
    assert "smooth:add-k[1.00]" in signatures[0]
    assert first == "100.0000\t0.0000"
    assert 0 < float(second.split("\t")[0]) < 100
    code, out, _ = cli("score", files / "good", "--refs", files / "ref", "--sentences", "-m", "bleu", "--json")
    assert len(json.loads(out)[0]["scores"]) == 2
    assert cli("score", files / "good", files / "poor", "--refs", files / "ref", "--sentences")[0] == 2


def test_external_scores_stand_beside_the_output(files: Path, cli: Cli) -> None:
    code, out, _ = cli("score", files / "good", files / "poor", "--metric", "external:comet", "--json")
    assert code == 0
    assert [r["score"] for r in json.loads(out)] == pytest.approx([0.7, 0.15])
    (files / "poor.comet").write_text("0.1\n")
    code, _, err = cli("score", files / "poor", "--metric", "external:comet")
    assert code == 1
    assert "poor.comet:2: expected 2 lines" in err


def test_compare(files: Path, cli: Cli) -> None:
    arguments = ("compare", files / "poor", files / "good", "--refs", files / "ref", "--samples", "100")
    code, out, _ = cli(*arguments)
    assert code == 0
    assert out.splitlines()[0].split() == ["system", "BLEU", "s_sel", "difference", "p"]
    assert "test:permutation|samples:100|seed:0" in out
    for test in ("bootstrap", "permutation", "randomisation"):
        code, out, _ = cli(*arguments, "--test", test, "--json", "-m", "bleu")
        assert code == 0
        assert 0 < json.loads(out)[0]["systems"][1]["p_value"] <= 1


def test_compare_replications(files: Path, cli: Cli) -> None:
    for run, name in enumerate(["good", "poor", "good"]):
        (files / f"new.run{run}").write_text((files / name).read_text())
        (files / f"old.run{run}").write_text((files / "poor").read_text())
    code, out, _ = cli(
        "compare",
        f"old={files}/old.run?",
        f"new={files}/new.run0,{files}/new.run1,{files}/new.run2",
        "--refs",
        files / "ref",
        "--json",
        "-m",
        "bleu",
    )
    (result,) = json.loads(out)
    assert code == 0
    assert result["test"] == "randomisation"
    assert [s["system"] for s in result["systems"]] == ["old", "new"]
    assert len(result["systems"][1]["scores"]) == 3
    assert result["systems"][1]["s_opt"] > 0
    code, out, _ = cli("compare", f"old={files}/old.run?", f"new={files}/new.run?", "--refs", files / "ref")
    assert "s_opt" in out.splitlines()[0]
    code, out, _ = cli("compare", f"old={files}/old.run0", f"new={files}/new.run?", "--refs", files / "ref")
    assert code == 0, "a baseline with one output is held fixed"
    assert "fixed" in out.splitlines()[1].split() and "baseline:fixed" in out
    code, _, err = cli("compare", f"old={files}/old.run?", f"new={files}/new.run0", "--refs", files / "ref")
    assert code == 1
    assert "old 3, new 1" in err
    code, _, err = cli(
        "compare",
        f"a={files}/old.run?",
        f"b={files}/new.run?",
        "--refs",
        files / "ref",
        "--test",
        "bootstrap",
    )
    assert code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["score"], 2, "expected at least 1 output file before --refs"),
        (["score", "--refs", "ref", "good"], 2, "before --refs"),
        (["score", "good"], 1, "expected references"),
        (["score", "good", "--refs", "missing"], 1, "missing: No such file"),
        (["score", "good", "--refs", "short"], 1, "short:2: expected 2 lines as in good, found 1"),
        (["score", "empty", "--refs", "ref"], 1, "empty:1: expected at least one line"),
        (["score", "latin1", "--refs", "ref"], 1, "latin1:1: expected UTF-8"),
        (["score", "good", "--refs", "ref", "--metric", "blue"], 1, "did you mean bleu"),
        (["score", "good", "--refs", "ref", "--metric", "external:x"], 1, "good.x: No such file"),
        (["score", "good", "--refs", "ref", "--samples", "0"], 2, "--samples"),
        (["compare", "good", "--refs", "ref"], 2, "at least 2 output files"),
        (["compare", "good", "good", "--refs", "ref"], 2, "same name"),
        (["compare", "good", "b=nothing*", "--refs", "ref"], 1, "nothing*: no such file"),
        (["scor"], 2, "no such command `scor`; did you mean score?"),
    ],
)
def test_errors(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    (files / "empty").write_text("")
    (files / "short").write_text("one\n")
    (files / "latin1").write_bytes(b"caf\xe9\nx\n")
    monkeypatch.chdir(files)
    found, out, err = cli(*arguments)
    assert (found, out) == (code, "")
    assert message in err


def test_help_teaches(cli: Cli) -> None:
    for command in (
        [],
        ["score"],
        ["compare"],
        ["nbest"],
        ["nbest", "convert"],
        ["nbest", "stat"],
        ["tune"],
        ["rerank"],
        ["demo"],
    ):
        code, out, _ = cli(*command, "--help")
        assert code == 0
        assert "Usage: dragoman" in out
    assert "dragoman score out.en --refs ref.A.en ref.B.en" in cli("score", "-h")[1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli: Cli, shell: str) -> None:
    code, out, _ = cli("completion", shell)
    assert code == 0
    assert "_DRAGOMAN_COMPLETE" in out


def test_demo(tmp_path: Path, cli: Cli) -> None:
    code, out, err = cli("demo", "--out", tmp_path / "demo")
    assert code == 0, err
    assert "Is the difference more than luck?" in out
    names = {"ref.en", "words.en", "phrases.en", "list.nbest", "weights.toml", "reranked.en"}
    assert {p.name for p in (tmp_path / "demo").iterdir()} == names


def test_as_a_process(files: Path) -> None:
    """Exit codes, standard input, and a reader that leaves early, as a shell sees them."""
    program = [str(Path(sys.executable).with_name("dragoman"))]
    good = (files / "good").read_bytes()
    run = subprocess.run(
        [*program, "score", "-", "--refs", files / "ref"], input=good, capture_output=True, check=False
    )
    assert run.returncode == 0
    assert b"BLEU" in run.stdout
    bad = subprocess.run([*program, "score", "/none", "--refs", files / "ref"], capture_output=True, check=False)
    assert (bad.returncode, bad.stdout) == (1, b"")
    assert bad.stderr.startswith(b"dragoman: /none: No such file")
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run([*program, "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (gone.returncode, gone.stderr) == (0, b"")
