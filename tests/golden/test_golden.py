"""Golden folders: a case is a folder with a `command`, its inputs, and the `output` it must print, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/command"))


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_case(case: Path, request: pytest.FixtureRequest) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", str(case / "command")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=case,
        env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    if request.config.getoption("--rewrite-golden"):
        (case / "output").write_text(run.stdout, encoding="utf-8")
    assert run.stdout == (case / "output").read_text(encoding="utf-8")
