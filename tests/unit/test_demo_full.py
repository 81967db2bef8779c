"""The whole demonstration at a small size: killed on the way, taken up again, and the report that it leaves."""

from __future__ import annotations

import html
import html.parser
import json
from pathlib import Path

import pytest

from dragoman.cli import app
from dragoman.demo import full
from dragoman.demo.corpus import Sizes, plain
from dragoman.demo.results import Results, read
from dragoman.demo.svg import Series, chart
from dragoman.errors import InputError

SMALL = Sizes(train=1500, british=0.3, tune=60, dev=30, test=60)


class Checker(html.parser.HTMLParser):
    """Tags that are opened are closed, and nothing is loaded from elsewhere."""

    void = frozenset({"meta", "line", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {name for name, _ in attrs} & {"src", "href", "srcset", "data"}
        self.seen.append(tag)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def checked(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    return checker


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
    checker = checked(report)
    assert checker.seen.count("svg") == 2
    assert checker.seen.count("polyline") == 6
    assert "http" not in report and "url(" not in report
    results = read(request.folder, {})
    assert [s.name for s in results.systems] == ["start", "mert", "hiero", "adagrad"]
    assert [s.against for s in results.systems] == ["", "start", "MERT", "MERT"]
    for system in results.systems:
        assert f"{system.bleu.score:.2f}" in report
        assert f"{system.bleu.score:.2f}" in out
        if system.change is not None:
            assert f"{system.change.difference:+.2f}" in report
            assert f"{system.change.p_value:.4f}" in report
    assert len(results.examples) > 0
    assert plain(results.examples[0].source) in report
    assert plain(results.examples[0].reference) in report
    _judge_trees(results, checker, report)
    for step in full.steps(request):
        assert step.title in report
    assert "--tuner adagrad:rate=0.1" in report
    assert html.escape(f"--out '{request.folder}/model'") in report  # quoted, as a shell wants it
    records = [json.loads(line) for line in (request.folder / "adagrad" / "trace.jsonl").read_text().splitlines()]
    assert records[-1]["nonzero"] > 100
    # The learning curves show the trace.
    assert f"epoch 2: {records[2]['held_out']:.2f}" in report


def _judge_trees(results: Results, checker: Checker, report: str) -> None:
    """Both derivations where phrases and rules with gaps differ; together their steps make the translation."""
    shown = [example for example in results.examples if example.tree]
    assert shown
    assert checker.seen.count("details") == len(shown)
    names = [system.name for system in results.systems]
    for example in results.examples:
        mert, hiero = (example.outputs[names.index(name)] for name in ("mert", "hiero"))
        assert bool(example.tree) == bool(example.phrases) == (mert != hiero)
        if example.tree:
            assert " ".join(phrase.target for phrase in example.phrases if phrase.target) == mert
            words = [w for p in example.tree if p.origin != "glue" for w in p.target.split() if not w.startswith("[X,")]
            assert sorted(words) == sorted(hiero.split())
    assert any(phrase.depth > 1 for example in shown for phrase in example.tree)
    assert "<b class=gap>1</b>" in report and "[X,1]" not in report


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


def test_charts() -> None:
    lines = [Series("a<b", "one", "#123456", [(0, 40.0), (1, 55.5)]), Series("b", "two", "#654321", [(0, 40.0)])]
    text = chart(lines, "epoch", "BLEU")
    checker = checked(text)
    assert checker.seen.count("circle") == 3
    assert "a&lt;b" in text and "a<b" not in text
    assert "epoch 1: 55.50" in text
    assert {"40", "45", "50", "55", "60"} <= set(checker.words)
    assert chart([], "epoch", "BLEU") == ""
    flat = chart([Series("a", "one", "#123456", [(0, 0.0), (1, 0.0)])], "x", "y")
    assert "nan" not in flat


def test_the_command_writes_the_corpus(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(["demo", "--text", "--pairs", "1000", "--out", str(tmp_path)]) == 0
    assert "1,000 pairs" in capfd.readouterr().out
    assert len((tmp_path / "test.en").read_text(encoding="utf-8").splitlines()) == 50
    assert app.run(["demo", "--text", "--pairs", "1100", "--out", str(tmp_path)]) == 1
    assert "use another --out" in capfd.readouterr().err
