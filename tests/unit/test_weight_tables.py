"""Weights in all forms, and whole tables of them against plain dictionaries."""

from __future__ import annotations

import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import weights
from dragoman.cli.app import dragoman
from dragoman.errors import InputError, OptionError
from dragoman.types import Names, Weights

NAMES = st.sampled_from(["LM", "TM[0]", "TM[1]", "pt:a>b", "pt:c>d", "pt:é_f>g", "lo:M.next:a>b", "wp:x>y", "x y"])
TABLES = st.lists(st.dictionaries(NAMES, st.floats(-5, 5).map(lambda x: round(x, 1))), min_size=1, max_size=4)


def same(found: Weights, want: dict[str, float]) -> None:
    have = found.to_dict()
    assert list(have) == list(want)
    np.testing.assert_allclose(list(have.values()), list(want.values()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", ["txt", "txt.gz", "txt.zst", "weights.xz", "bin", "toml", "toml.gz", "json"])
def test_every_form_keeps_names_values_and_marks(form: str, tmp_path: Path) -> None:
    values = {"LM": 0.5, "TM[0]": 1e-300, "TM[1]": -0.0, "pt:das_haus>the_house": 1 / 3, "x y": 1e17, "pt:é>": -7.0}
    path = tmp_path / f"w.{form}"
    weights.save(path, Weights.of(values), {"seed": 3, "who": "é\nme"})
    found = weights.load(path)
    have = found.to_dict()
    assert list(have) == list(values)
    assert [np.float64(v).tobytes() for v in have.values()] == [np.float64(v).tobytes() for v in values.values()]
    if form in {"bin", "json"}:
        assert weights.about(path)["seed"] == 3
    if not form.startswith(("bin", "json")):
        assert [found.names.is_dense(name) for name in values] == [False, True, True, False, False, False]


def test_the_content_tells_the_form(tmp_path: Path) -> None:
    values = {"LM": 0.5, "pt:a>b": -1.0}
    for form in ("txt", "bin", "toml", "json"):
        weights.save(tmp_path / f"w.{form}", Weights.of(values))
        strange = tmp_path / f"{form}.strange"
        (tmp_path / f"w.{form}").rename(strange)
        assert weights.load(strange).to_dict() == values
    (tmp_path / "by-hand").write_text("# cdec's\nLM 0.5\nTM= 1 2\npt:a>b=3\n")
    assert weights.load(tmp_path / "by-hand").to_dict() == {"LM": 0.5, "TM[0]": 1.0, "TM[1]": 2.0, "pt:a>b": 3.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("LM 1\nTM\n", ":2: expected a name and a finite number, found `TM`"),
        ("LM 1\n\nTM nan\n", ":3: expected a name and a finite number"),
        ("LM 1\nTM 2\nLM 3\n", ":3: expected each name once \\(the first is in line 1\\), found `LM`"),
        ("LM 1\n\xff\xfe\n".encode("latin-1"), ":2: expected UTF-8 text"),
    ],
)
def test_faults_in_text_have_a_line(content: str | bytes, message: str, tmp_path: Path) -> None:
    raw = content.encode() if isinstance(content, str) else content
    for path, data in ((tmp_path / "w.txt", raw), (tmp_path / "w.txt.gz", gzip.compress(raw))):
        path.write_bytes(data)
        with pytest.raises(InputError, match=message) as error:
            weights.load(path)
        assert error.value.path == str(path)


def test_damaged_binary_files(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    weights.save(path, Weights.of({f"pt:{i}>x": float(i) for i in range(100)}))
    good = path.read_bytes()
    for bad in (good[:-1], good[:100], good[:9], good[:500] + b"\0" + good[501:], good + b"\0"):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"w\.bin:1: .*(truncated|corrupt)"):
            weights.load(path)
    path.write_bytes(good[:8] + b"\x07" + good[9:])
    with pytest.raises(InputError, match="weights of form 7"):
        weights.load(path)


def test_names_that_a_form_cannot_hold(tmp_path: Path) -> None:
    for name in ("#a", "a= b", " a", "a\nb", ""):
        with pytest.raises(OptionError, match="no name for plain text"):
            weights.save(tmp_path / "w.txt", Weights.of({"LM": 1.0, name: 1.0}))
    with pytest.raises(OptionError, match=r"without \.gz"):
        weights.save(tmp_path / "w.bin.gz", Weights.of({"LM": 1.0}))
    assert list(tmp_path.iterdir()) == []


def test_mapped_names_grow_and_stay_apart(tmp_path: Path) -> None:
    weights.save(tmp_path / "w.bin", Weights.of({"a": 1.0, "b": 2.0}))
    one, two = weights.load(tmp_path / "w.bin"), weights.load(tmp_path / "w.bin")
    (tmp_path / "w.bin").unlink()
    assert one.names.intern("c") == 2
    assert one.names.intern("b") == 1
    assert (len(one.names), len(two.names), one.names.to_list()) == (3, 2, ["a", "b", "c"])
    assert one.align(Names(["c", "b"])).tolist() == [0.0, 2.0]
    assert len(one.names.copy()) == 3
    weights.save(tmp_path / "again.bin", one)
    assert weights.load(tmp_path / "again.bin").to_dict() == {"a": 1.0, "b": 2.0}


def reloaded(table: dict[str, float], folder: Path, number: int) -> Weights:
    """The same weights with names in memory, mapped, or with more names than values."""
    made = Weights.of(table)
    if number % 3 == 1:
        weights.save(folder / f"{number}.bin", made)
        return weights.load(folder / f"{number}.bin")
    if number % 3 == 2:
        made.names.intern("has no value")
    return made


@settings(max_examples=60, deadline=None)
@given(tables=TABLES, seed=st.integers(0, 9))
def test_tables_behave_like_dictionaries(
    tables: list[dict[str, float]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    parts = [reloaded(table, folder, seed + i) for i, table in enumerate(tables)]
    names = list(dict.fromkeys(name for table in tables for name in table))
    last = {name: [t[name] for t in tables if name in t] for name in names}
    same(weights.merge(parts), {name: values[-1] for name, values in last.items()})
    same(weights.merge(parts, duplicates="first"), {name: values[0] for name, values in last.items()})
    same(weights.merge(parts, duplicates="sum"), {name: sum(values) for name, values in last.items()})
    same(weights.average(parts), {name: sum(values) / len(tables) for name, values in last.items()})
    same(weights.average(parts, present=True), {name: sum(v) / len(v) for name, v in last.items()})
    shares = [i + 1.0 for i in range(len(tables))]
    mixed = {n: sum(s * t.get(n, 0.0) for s, t in zip(shares, tables, strict=True)) / sum(shares) for n in names}
    same(weights.average(parts, factors=shares), mixed)
    assert [part.to_dict() for part in parts] == tables, "the parts stay as they were"


def test_merge_can_refuse() -> None:
    parts = [Weights.of({"a": 1.0}), Weights.of({"b": 1.0, "a": 1.0})]
    with pytest.raises(OptionError, match="`a` is in more than one"):
        weights.merge(parts, duplicates="error")
    assert len(weights.merge([parts[0], Weights.of({"c": 1.0})], duplicates="error")) == 2
    for factors in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(
            OptionError, match=r"a factor for each of 2 parts|factors must be a list, each a number of at least 0"
        ):
            weights.average(parts, factors=factors)


def test_pruning() -> None:
    table = {"LM": 0.001, "Zero": 0.0, "pt:a>b": 0.5, "pt:c>d": -2.0, "lo:M.next:a>b": 0.01, "wp:a>b": -0.5}
    made = Weights.of(table)

    def kept(**wishes: Any) -> list[str]:
        return list(weights.prune(made, **wishes).to_dict())

    assert kept() == ["LM", "pt:a>b", "pt:c>d", "lo:M.next:a>b", "wp:a>b"]
    assert kept(min_weight=0.5) == ["LM", "pt:a>b", "pt:c>d", "wp:a>b"]
    assert kept(min_weight=0.5, dense=True) == ["pt:a>b", "pt:c>d", "wp:a>b"]
    assert kept(max_features=2) == ["LM", "pt:a>b", "pt:c>d"]
    assert kept(max_features=0) == ["LM"]
    assert kept(only=["pt"]) == ["LM", "pt:a>b", "pt:c>d"]
    assert kept(only=["lo", "*c>*"]) == ["LM", "pt:c>d", "lo:M.next:a>b"]
    assert kept(without=["pt", "LM*"]) == ["lo:M.next:a>b", "wp:a>b"]
    assert weights.prune(made, max_features=1)["pt:c>d"] == -2.0
    with pytest.raises(OptionError, match="no weight belongs to a set `tp`; known: lo, pt, wp"):
        kept(only=["tp"])


def test_figures_of_sets() -> None:
    made = Weights.of({"LM": 0.5, "pt:a>b": 3.0, "pt:c>d": -4.0, "lo:x": 0.0, "TM[0]": 1.0})
    found = {s.name: s for s in weights.sets(made)}
    assert list(found) == ["", "lo", "pt"]
    assert (found["pt"].names, found["pt"].l1, found["pt"].l2, found["pt"].lowest, found["pt"].highest) == (
        2,
        7.0,
        5.0,
        -4.0,
        3.0,
    )
    assert (found["lo"].names, found["lo"].nonzero, found[""].names) == (1, 0, 2)
    assert weights.top(made, 2) == [("pt:c>d", -4.0), ("pt:a>b", 3.0)]
    assert weights.top(made, 5, "*a*") == [("pt:a>b", 3.0)]
    assert weights.top(made, 0) == []


def test_differences() -> None:
    first = Weights.of({"a": 1.0, "b": 2.0, "c": 3.0, "a zero is no missing name": 0.0})
    found = weights.diff(first, Weights.of({"d": 4.0, "c": 3.0, "b": 2.5}))
    assert (found.first, found.second, found.both, found.equal) == (2, 1, 2, 1)
    assert found.distance == pytest.approx(math.sqrt(1 + 0.25 + 16))
    assert found.cosine == pytest.approx((5 + 9) / math.sqrt(14 * (16 + 9 + 6.25)))
    assert [name for name, _, _ in found.largest] == ["d", "a", "b"]
    assert math.isnan(found.largest[0][1]) and found.largest[0][2] == 4.0
    assert math.isnan(weights.diff(Weights.of({}), Weights.of({"a": 1.0})).cosine)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(dragoman, ["weights", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_commands(tmp_path: Path) -> None:
    rng = random.Random(1)
    a, b, out = (str(tmp_path / name) for name in ("a.txt", "b.bin", "out.toml"))
    weights.save(a, Weights.of({"LM": 0.5, **{f"pt:{i}>x": rng.uniform(-1, 1) for i in range(50)}}))
    weights.save(b, Weights.of({"LM": 1.5, "lo:y": 2.0}), {"seed": 7})
    shown = json.loads(run("show", b, "--json"))
    assert (shown["names"], shown["about"]["seed"], shown["largest"][0]["name"]) == (2, 7, "lo:y")
    assert "(dense)" in run("show", a, "--match", "pt:*")
    run("average", a, b, "--factors", "3", "1", "-o", out)
    assert weights.load(out)["LM"] == 0.75
    run("merge", a, b, "-o", out)
    assert (len(weights.load(out)), weights.load(out)["LM"]) == (52, 1.5)
    run("prune", out, "--max-features", "3", "-o", b)
    assert len(weights.load(b)) == 4
    assert json.loads(run("diff", a, b, "--json"))["first"] == 48
    assert "cosine" in run("diff", a, b)
    run("convert", b, "-o", a)
    assert Path(a).read_text().splitlines()[1].startswith("LM 1.5")
