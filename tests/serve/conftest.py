"""A server with a phrase-based and a hierarchical model, for all tests here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serving import Server, model, start


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models `phrase` and `hiero`."""
    folder = tmp_path_factory.mktemp("models")
    for system in ("phrase", "hiero"):
        model(folder, system)
    return folder


@pytest.fixture(scope="session")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    suggestions = tmp_path_factory.mktemp("suggestions")
    made = start("--model", models / "phrase", models / "hiero", "--suggestions", suggestions)
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; tests that need one are skipped where none is installed, and say so."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: `make browser` installs Debian's, if you are root")
    return found
