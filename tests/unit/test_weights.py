"""Weights in memory and on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import weights
from dragoman.errors import InputError, OptionError
from dragoman.types import Names, Weights

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.builds(
        "{}[{}]".format,
        st.sampled_from(["TM", "LM", "a[0]", "x y"]),
        st.sampled_from(["0", "1", "2", "00", "7"]),
    ),
)


@pytest.mark.parametrize("form", ["toml", "json"])
@given(table=st.dictionaries(NAMES, FINITE, max_size=12))
def test_round_trip_is_exact(form: str, table: dict[str, float], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"weights.{form}"
    weights.save(path, Weights.of(table))
    found = weights.load(path).to_dict()
    assert found == table
    assert [np.float64(v).tobytes() for v in found.values()] == [np.float64(table[k]).tobytes() for k in found]


def test_the_file_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    weights.save(path, Weights.of({"LM": 0.5, "TM[0]": 0.2, "TM[1]": 0.3, "pair das>that": -1.5}), {"seed": 3})
    text = path.read_text()
    assert text.startswith('[weights]\nLM = 0.5\nTM = [0.2, 0.3]\n"pair das>that" = -1.5\n\n[info]\n')
    assert "seed = 3" in text


def test_alignment_to_other_names() -> None:
    w = Weights.of({"a": 1.0, "b": 2.0})
    assert w.align(Names(["x", "b", "a"])).tolist() == [0.0, 2.0, 1.0]
    w.names.intern("later")
    assert w.align(w.names).tolist() == [1.0, 2.0, 0.0]
    assert w["b"] == 2.0
    assert w["later"] == w["never"] == 0.0
    assert len(w) == 2


def test_weights_are_finite() -> None:
    with pytest.raises(OptionError, match="weight of b is not a finite"):
        Weights.of({"a": 1.0, "b": float("inf")})
    with pytest.raises(OptionError, match="one value for each name"):
        Weights(Names(["a"]), np.zeros(2))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.toml", "LM = 0.5\n", "unknown section `LM`"),
        ("w.toml", "[weight]\nLM = 0.5\n", "did you mean weights"),
        ("w.toml", "[info]\nx = 1\n", "expected a section `weights`"),
        ("w.toml", "[weights]\nLM = 'x'\n", "finite number as the weight of `LM`, found `x`"),
        ("w.toml", "[weights]\nLM = inf\n", "finite number as the weight of `LM`"),
        ("w.toml", "[weights]\nLM = true\n", "finite number"),
        ("w.toml", "[weights]\nTM = [0.1, nan]\n", "finite number"),
        ("w.toml", '[weights]\nTM = [0.1]\n"TM[0]" = 2\n', "`TM\\[0\\]` is given twice"),
        ("w.toml", "[weights\n", "expected weights in TOML"),
        ("w.json", "{", "expected weights in JSON"),
        ("w.json", "[1]", "expected an object"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message) as error:
        weights.load(path)
    assert error.value.path == str(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        weights.load(tmp_path / "none.toml")
