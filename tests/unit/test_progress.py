"""What a person sees who waits, and a file that does not."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

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
