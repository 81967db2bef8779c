"""`dragoman translate` through engines with other processes: the same lines, whatever happens on the way."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import tiny

from dragoman.cli.shards import Setup, lines_of_a_shard, translate_shards
from dragoman.cli.unfinished import Kept, Unfinished
from dragoman.decoder import Decoder
from dragoman.engine import Ray, Threads

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "in"
    file.write_text("\n".join([*tiny.lines(70), "", "a unheard b"]) + "\n")
    return file


def command(model: Path, text: Path, out: Path, *more: str) -> list[str | Path]:
    return ["translate", "--model", model, "--input", text, "--output", out, *more]


@pytest.mark.parametrize(
    "more", [[], ["--mbr", "bleu", "--nbest", "5"], ["--align-out", "{links}", "--unknown", "{unknown}"]], ids=str
)
def test_the_same_lines(
    cli: Cli, model: Path, text: Path, tmp_path: Path, two_nodes: Ray, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.cli.translate.engine_of", lambda _threads, _name: two_nodes)
    found = []
    for engine in ("threads", "ray"):
        place = tmp_path / engine[:3]
        place.mkdir()
        own = [each.format(links=place / "links", unknown=place / "unknown") for each in more]
        code, _, err = cli(*command(model, text, place / "out", "--engine", engine, *own))
        assert code == 0, err
        found.append({file.name: file.read_text() for file in sorted(place.iterdir())})
    assert found[0] == found[1] and found[0]["out"].count("\n") == 72


def test_a_glossary_travels(cli: Cli, model: Path, text: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("a b\tst st\nc\tz\n")
    found = []
    for engine in ("threads", "processes"):
        out, report = tmp_path / f"{engine}.out", tmp_path / f"{engine}.report"
        more = ["--glossary", str(terms), "--glossary-report", str(report), "--engine", engine, "--threads", "2"]
        code, _, err = cli(*command(model, text, out, *more))
        assert code == 0, err
        found.append((out.read_text(), report.read_text()))
    assert found[0] == found[1] and "z" in found[0][0]


def test_goes_on_after_the_last_line_that_was_kept(
    cli: Cli, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    want, out = tmp_path / "want", tmp_path / "out"
    assert cli(*command(model, text, want))[0] == 0
    whole, added = Unfinished.add, 0

    def until_forty(self: Unfinished, kept: Kept) -> None:
        nonlocal added
        added += 1
        if added == 41:
            raise KeyboardInterrupt
        whole(self, kept)

    monkeypatch.setattr(Unfinished, "add", until_forty)
    assert cli(*command(model, text, out, "--engine", "processes", "--threads", "2"))[0] == 130
    monkeypatch.setattr(Unfinished, "add", whole)
    code, _, err = cli(*command(model, text, out, "--engine", "processes", "--threads", "2"))
    assert code == 0 and "going on after line 40" in err
    assert out.read_bytes() == want.read_bytes()


def long_text(folder: Path, lines: int) -> Path:
    file = folder / "long"
    file.write_text("\n".join(tiny.lines(lines)) + "\n")
    return file


def test_a_worker_is_killed_on_the_way(
    cli: Cli, model: Path, tmp_path: Path, two_nodes: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, want, out = long_text(tmp_path, 3000), tmp_path / "want", tmp_path / "out"
    assert cli(*command(model, text, want))[0] == 0
    monkeypatch.setattr("dragoman.cli.translate.engine_of", lambda _threads, _name: two_nodes)
    whole, killed = Unfinished.add, list[int]()

    def and_kills(self: Unfinished, kept: Kept) -> None:
        if not killed:
            killed.append(next(hand.pid for hand in two_nodes._crew._hands if hand.pid))
            os.kill(killed[0], signal.SIGKILL)
        whole(self, kept)

    monkeypatch.setattr(Unfinished, "add", and_kills)
    assert cli(*command(model, text, out, "--engine", "ray"))[0] == 0
    assert killed and out.read_bytes() == want.read_bytes()


def test_lines_are_read_a_fixed_number_ahead(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory does not grow with the text."""
    text, out = long_text(tmp_path, 5000), tmp_path / "out"
    setup = Setup(Decoder(model), None, False, False, 1, False, None, None, False, False, str(text))
    read, written, most, whole = 0, 0, 0, Unfinished.add

    def lines() -> Iterator[tuple[str, None]]:
        nonlocal read, most
        for line in text.read_text().splitlines():
            read += 1
            most = max(most, read - written)
            yield line, None

    def counted(self: Unfinished, kept: Kept) -> None:
        nonlocal written
        written += 1
        whole(self, kept)

    monkeypatch.setattr(Unfinished, "add", counted)
    with Unfinished(out, [], []) as kept:
        kept.begin()
        translate_shards(Threads(2), setup, lines(), 0, kept)
    size = lines_of_a_shard(5000, 2)
    assert size == 128 and lines_of_a_shard(100, 40) == 1 and lines_of_a_shard(3000, 40) == 9
    assert (written, most) == (5000, (3 * 2 + 1) * size), "those ahead, and the one that is asked for"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_the_command_is_killed_on_the_way(cli: Cli, model: Path, tmp_path: Path, seed: int) -> None:
    """At a random line; the same command goes on there, and writes what it would have written."""
    count = 20_000
    text, want, out = long_text(tmp_path, count), tmp_path / "want", tmp_path / "out"
    assert cli(*command(model, text, want))[0] == 0
    words = [str(word) for word in command(model, text, out, "--engine", "ray:store=80M", "--threads", "2")]
    at = random.Random(seed).randrange(100, count - 5000)
    kept = out.with_name(f".{out.name}.unfinished")
    first = subprocess.Popen([sys.executable, "-m", "dragoman", *words])
    while first.poll() is None and (not kept.exists() or kept.read_bytes().count(b"\n") < at):
        time.sleep(0.01)
    first.kill()
    first.wait()
    assert not out.exists() and kept.exists()
    second = subprocess.run([sys.executable, "-m", "dragoman", *words], capture_output=True, text=True, check=True)
    assert "going on after line" in second.stderr
    assert out.read_bytes() == want.read_bytes()


@pytest.mark.parametrize("more", [["--explain"], ["--json"], ["--nbest", "2", "--nbest-out", "x"]], ids=str)
def test_what_does_not_go_together(cli: Cli, model: Path, text: Path, tmp_path: Path, more: list[str]) -> None:
    code, _, err = cli(*command(model, text, tmp_path / "out", "--engine", "ray", *more))
    assert code == 2 and "--engine ray gives best translations: it does not go with" in err
    code, _, err = cli("translate", "--model", model, "--engine", "ray")
    assert code == 2 and "name --input and --output" in err


def test_wrong_input_is_told_with_its_line(cli: Cli, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "a b"}\n' * 40 + '{"text": "a b", "walls": [9]}\n')
    code, _, err = cli(*command(model, file, tmp_path / "out", "--jsonl", "--engine", "processes", "--threads", "2"))
    assert code == 1 and "in.jsonl:41:" in err
