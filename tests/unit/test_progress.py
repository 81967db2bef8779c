"""What a person sees who waits, and a file that does not."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pytest

from dragoman.cli import progress
from dragoman.cli.messages import messages

WATCH = """
import time
from dragoman.cli.progress import watch
with watch(lambda: "under way") as say:
    for line in ("one", "two"):
        time.sleep(0.6)
        say(line)
"""


def on_a_terminal(script: str) -> list[str]:
    """The lines that a script shows on standard error if that is a terminal, cut where it is told to go back."""
    terminal, other = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", script], stderr=other, env=os.environ | {"TERM": "xterm"}) as run:
        os.close(other)
        shown = b""
        with suppress(OSError):  # how a terminal that was left says so
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    assert run.returncode == 0, shown
    return [line for line in re.split(r"(?:\r?\n|\r|\x1b\[[0-9;?]*[A-Za-z])+", shown.decode()) if line]


def test_lines_that_stay_do_not_mix_with_the_one_that_is_rewritten() -> None:
    shown = on_a_terminal(WATCH)
    assert set(shown) == {"under way", "one", "two"}
    assert [line for line in shown if line != "under way"] == ["one", "two"]


def test_a_file_has_only_the_lines_that_stay() -> None:
    found = subprocess.run([sys.executable, "-c", WATCH], check=True, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("", "one\ntwo\n")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plain lines come soon, and no test leaves messages quiet."""
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "EVERY", 0.02)
    yield
    messages.setup()


@contextmanager
def looking() -> Iterator[Callable[[], None]]:
    with progress.watch(lambda: "under way"):
        yield lambda: None


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("make", "call", "line"),
    [
        (lambda: progress.counter("pairs"), (1234,), "1,234 pairs"),
        (lambda: progress.bar("sweeps"), (3, 1700), "3 of 1,700 sweeps"),
        (lambda: progress.steps("BLEU"), ({"step": 7, "score": 31.256},), "step 7: BLEU 31.26"),
        (progress.tasks, ("align", 3, 45), "align: 3 of 45"),
        (progress.tasks, ("clean", 20_000, 0), "clean: 20,000"),
        (progress.tasks, ("rules", 0, 0), "rules"),
        (looking, (), "under way"),
    ],
    ids=["counter", "bar", "steps", "tasks", "open end", "no count", "watch"],
)
def test_plain_lines_now_and_then(
    make: Callable[[], AbstractContextManager[Callable[..., None]]],
    call: tuple[object, ...],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with make() as move:
        move(*call)
        time.sleep(0.3)
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert (
        shown.out == ""
        and len(lines) > 1
        and {re.sub(r"(, about .* left)? [(].*", "", text) for text in lines} == {line}
    ), lines
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "none after the end"
    messages.setup(quiet=True)
    with make() as move:
        move(*call)
        time.sleep(0.1)
    assert capsys.readouterr().err == "", "none with --quiet"


@pytest.mark.usefixtures("often")
def test_nothing_to_say_yet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.counter("pairs"), progress.bar("sweeps"), progress.steps("BLEU"), progress.tasks():
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.FIRST == 15 and progress.EVERY == 30
    with progress.counter("pairs") as advance:
        advance(1)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("often")
def test_a_bar_says_how_long_it_will_take(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar("lines") as move:
        time.sleep(0.2)
        move(10, 30)
        time.sleep(0.2)
    told = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"10 of 30 lines, about [01] s left", told), told
