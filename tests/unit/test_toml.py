"""TOML both ways: what is written is what is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import toml
from dragoman.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.one_of(TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=3))
TABLES = st.dictionaries(TEXT, VALUES, max_size=4)
TREES = st.dictionaries(TEXT, st.one_of(VALUES, TABLES, st.lists(TABLES, min_size=1, max_size=3)), max_size=4)


@given(TREES)
def test_round_trip(table: dict[str, Any]) -> None:
    assert toml.loads(toml.dumps(table)) == table


def test_numbers_of_numpy_are_numbers() -> None:
    assert toml.loads(toml.dumps({"a": np.float64(0.1), "b": [np.float64(2)]})) == {"a": 0.1, "b": [2.0]}


@pytest.mark.parametrize("content", [None, {1, 2}, [None], b"bytes"])
def test_what_toml_cannot_say_is_no_text(content: object) -> None:
    with pytest.raises(TypeError, match="TOML has no word"):
        toml.dumps({"a": content})


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b"a = 1\na = 2"])
def test_bad_files_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.toml: expected a recipe in TOML, but"):
        toml.load(path, "a recipe")
