"""The whole demonstration at a small size: killed on the way, taken up again, and the report that it leaves."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from dragoman.cli import app
from dragoman.demo import full
from dragoman.demo.corpus import Sizes, plain
from dragoman.demo.report import content_of
from dragoman.demo.results import read
from dragoman.errors import InputError
from dragoman.files import read_text
from dragoman.report import Content

SMALL = Sizes(train=1500, british=0.3, tune=60, dev=30, test=60)


class Killed(BaseException):
    pass


def test_a_small_run_killed_and_taken_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    request = full.Request(tmp_path / "a demo", SMALL, rounds=2, epochs=2)
    started: list[str] = []

    def command(arguments: list[str]) -> int:
        if "adagrad" in str(arguments) and "tune" in arguments and len(started) < 5:
            raise Killed
        started.append(arguments[0])
        return app.run(arguments)

    with pytest.raises(Killed):
        full.run(request, command)
    assert started == ["train", "tune", "train", "tune"]
    assert not (request.folder / "report.html").exists()
    model = (request.folder / "model" / "model.toml").stat().st_mtime_ns
    started.append("again")
    assert full.run(request, command) == 0
    assert (request.folder / "model" / "model.toml").stat().st_mtime_ns == model
    assert not list(request.folder.rglob("*.partial"))
    out = capfd.readouterr().out
    assert "9/9 Write the report" in out
    report = (request.folder / "report.html").read_text(encoding="utf-8")
    _judge(request, report, out)


def _judge(request: full.Request, report: str, out: str) -> None:
    shown = report[: report.index('id="data"')]
    results = read(request.folder, {})
    assert [s.name for s in results.systems] == ["start", "mert", "hiero", "adagrad"]
    assert [s.against for s in results.systems] == ["", "start", "MERT", "MERT"]
    for system in results.systems:
        assert f"{system.bleu.score:.2f}" in shown
        assert f"{system.bleu.score:.2f}" in out
        if system.change is not None:
            assert f"{system.change.difference:+.2f}" in shown
            assert f"{system.change.p_value:.4f}" in shown
    assert plain(results.examples[0].source) in out
    content = content_of(request.folder, results, [(s.name, s.title, s.commands) for s in full.steps(request)])
    assert content.tests[0].systems["AdaGrad"][0] == list(read_text(request.folder / "test.adagrad.en"))
    records = [json.loads(line) for line in (request.folder / "adagrad" / "trace.jsonl").read_text().splitlines()]
    assert records[-1]["nonzero"] > 100
    assert [list(curve.runs[0]) for curve in content.curves if curve.system == "AdaGrad"] == [records]
    for step in full.steps(request):
        assert step.title in shown
    assert "--tuner adagrad:rate=0.1" in shown
    assert (
        html.escape(f"--out '{request.folder}/model'", quote=True).replace("&#x27;", "&#39;") in shown
    )  # as a shell wants
    _judge_trees(content)


def _judge_trees(content: Content) -> None:
    """Both derivations where phrases and rules with gaps differ; together their steps make the translation."""
    test = content.tests[0]
    phrases, trees = test.details["MERT"], test.details["hierarchical"]
    assert phrases and phrases.keys() == trees.keys()
    for number, told in phrases.items():
        assert " ".join(p["target"] for p in told["phrases"] if p["target"]) == test.systems["MERT"][0][number]
        rules = [p for p in trees[number]["phrases"] if p["origin"] != "glue"]
        words = [word for p in rules for word in p["target"].split() if not word.startswith("[X,")]
        assert sorted(words) == sorted(test.systems["hierarchical"][0][number].split())
    assert any(p["depth"] > 1 for told in trees.values() for p in told["phrases"])


def test_another_demonstration_in_the_folder_is_refused(tmp_path: Path) -> None:
    sizes = Sizes(train=50, tune=5, dev=5, test=5)
    full.write_text(full.Request(tmp_path, sizes))
    first = (tmp_path / "train.de").read_bytes()
    full.write_text(full.Request(tmp_path, sizes))
    (tmp_path / "train.de").unlink()
    full.write_text(full.Request(tmp_path, sizes))  # what a kill left is made whole
    assert (tmp_path / "train.de").read_bytes() == first
    with pytest.raises(InputError, match="other sizes, seed or version"):
        full.write_text(full.Request(tmp_path, sizes, seed=1))


def test_the_command_writes_the_corpus(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(["demo", "--text", "--pairs", "1000", "--out", str(tmp_path)]) == 0
    assert "1,000 pairs" in capfd.readouterr().out
    assert len((tmp_path / "test.en").read_text(encoding="utf-8").splitlines()) == 50
    assert app.run(["demo", "--text", "--pairs", "1100", "--out", str(tmp_path)]) == 1
    assert "use another --out" in capfd.readouterr().err
