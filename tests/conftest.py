"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import clusters

from dragoman.cli import app
from dragoman.engine import Ray

ROOT = Path(__file__).resolve().parent.parent

# Examples are derived from the test itself, so that a failure in one place is a failure everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write what the commands print as the new truth")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real corpora; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data are not here: set DRAGOMAN_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[Ray]:
    """The engine of a Ray cluster with two nodes of one CPU each, both on this machine."""
    with clusters.nodes(2) as cluster, Ray(cluster.address) as engine:
        assert engine.workers == 2
        yield engine


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command line and gives exit code, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = app.run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return run
