"""docs/reference.md is what the declarations of the options say."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.reference import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"


def test_the_reference_is_up_to_date(request: pytest.FixtureRequest) -> None:
    made = page()
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "make golden writes it anew"
