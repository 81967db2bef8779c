"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data: `DRAGOMAN_DATA`, else `../shared/data` beside the repository (or its worktrees)."""
    root = Path(__file__).resolve().parents[1]
    named = os.environ.get("DRAGOMAN_DATA")
    folders = [Path(named)] if named else [root.parent / "shared/data", root.parent.parent / "shared/data"]
    for folder in folders:
        if folder.is_dir():
            return folder
    pytest.skip(f"no real data: set DRAGOMAN_DATA (looked in {', '.join(map(str, folders))})")
