"""The container, the systemd unit, and the name for people who have a server: they fit what is in the package."""

from __future__ import annotations

import configparser
import fnmatch
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.serve import serve

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNIT = ROOT / "examples" / "systemd" / "dragoman.service"


def sent(path: str) -> bool:
    """Whether .dockerignore lets a path into the container's build: the last line that fits decides."""
    keeps = True
    for line in (ROOT / ".dockerignore").read_text().split():
        pattern = line.removeprefix("!").removeprefix("**/")
        if any(fnmatch.fnmatch(str(part), pattern) for part in (Path(path), *Path(path).parents)):
            keeps = line.startswith("!")
    return keeps


def test_the_container_finds_all_files_that_it_copies() -> None:
    copies = [line for line in DOCKERFILE.splitlines() if re.match(r"COPY (?!--from)", line)]
    assert copies
    for path in (path for line in copies for path in line.split()[1:-1]):
        assert (ROOT / path).exists() and sent(path), path
    assert not sent("python/dragoman/_core.abi3.so") and not sent("docs")


def test_the_container_copies_all_that_the_package_is_made_of() -> None:
    """Files that Cargo.toml and pyproject.toml name, and Rust code that reads a file while it is compiled."""
    assert all(name in DOCKERFILE for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE"))
    project = (ROOT / "pyproject.toml").read_text()
    assert 'readme = "README.md"' in project and 'license-files = ["LICENSE"]' in project
    assert 'members = ["crates/*"]' in (ROOT / "Cargo.toml").read_text()
    outside = [
        path for path in (ROOT / "crates").rglob("*.rs")
        if re.search(r"include_(str|bytes)!\(\s*\"(\.\./){3}", path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    assert not outside


def arguments(command: list[str]) -> list[str]:
    """The arguments of `dragoman serve` in a command, whose options are known."""
    assert command[0].endswith("dragoman") and command[1] == "serve"
    made = serve.make_context("serve", command[2:])
    assert made.params["models"] and made.params["keys"] and made.params["host"] == "0.0.0.0"
    return command[2:]


def test_the_container_starts_the_server() -> None:
    entry, most = (
        json.loads(re.findall(rf"^{name} (\[.*\])$", DOCKERFILE, re.M)[-1]) for name in ("ENTRYPOINT", "CMD")
    )
    assert arguments([*entry, *most])


def test_the_unit_starts_the_server() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(re.sub(r"\\\n\s*", "", UNIT.read_text()))
    service = unit["Service"]
    given = arguments(shlex.split(service["ExecStart"]))
    assert service["LoadCredential"].startswith("keys:") and "${CREDENTIALS_DIRECTORY}/keys" in given
    assert f"/var/lib/{service['StateDirectory']}/suggestions" in given
    assert float(service["TimeoutStopSec"]) > 30 + 10  # what uvicorn waits, and what the queue does then


@pytest.mark.parametrize("name", ["app", "Keys"])
def test_the_package_knows_its_server(name: str) -> None:
    code = f"import dragoman; print(dragoman.serve.{name})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and name in run.stdout, run.stderr
