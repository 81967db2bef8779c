"""Every example is run: the README, the pages under docs, and the docstrings."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dragoman

ROOT = Path(__file__).resolve().parent.parent
MADE = "reference.md"
"""A page without examples, made from the declarations."""
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != MADE)]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block (`$ `, continued by `> `) with the output that the page shows."""
    command, output = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif line.startswith("> ") and not output:
            command += line[2:]
        else:
            output += line
    yield command, output


def shell(command: str) -> str:
    """What a command prints, both streams together, with our own `dragoman` first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    return run.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(tmp_path)
    example = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", example)  # dataclasses look their module up
    text = page.read_text(encoding="utf-8")
    blocks = FENCE.findall(text)
    assert blocks
    for language, block in blocks:
        if language == "python":
            exec(compile(block, page.name, "exec", dont_inherit=True), example.__dict__)
        if language == "console":
            for command, expected in commands(block):
                found = shell(command)
                if request.config.getoption("--rewrite-golden"):
                    shown = "> ".join(command.splitlines(keepends=True))
                    text = text.replace(f"$ {shown}{expected}", f"$ {shown}{found}")
                else:
                    assert found == expected, command
    if text != page.read_text(encoding="utf-8"):
        page.write_text(text, encoding="utf-8")


MODULES = ["dragoman", *(m.name for m in pkgutil.walk_packages(dragoman.__path__, "dragoman."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
