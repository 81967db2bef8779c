from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import nbest
from dragoman.types import Candidates, Features, Names, Texts

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAME = st.text(st.characters(exclude_characters=" \t\n;", exclude_categories=["Cs"]), min_size=1, max_size=6)
WORD = st.text(st.characters(exclude_characters=" \t\n", exclude_categories=["Cs"]), min_size=1, max_size=5)
LINKS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4)


def usable(name: str) -> bool:
    """Whether a name may be dense: what looks like a component belongs to its group."""
    return not name.endswith("]")


@st.composite
def candidates(draw: st.DrawFn, plain: bool) -> Candidates:
    """Any candidates that JSON can hold, or only what the formats with bars can hold, too."""
    singles = draw(st.lists(NAME.filter(usable), unique=True, max_size=3))
    groups = [f"g{name}" for name in draw(st.lists(NAME.filter(usable), unique=True, max_size=2))]
    groups = [g for g in groups if g not in singles]
    dense = singles + [f"{g}[{k}]" for g in groups for k in range(draw(st.integers(2, 4)))]
    name = NAME if plain else st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
    sparse = draw(st.lists(name.filter(lambda n: n not in dense and n not in groups), unique=True, max_size=5))
    text = (
        st.lists(WORD.filter(lambda w: w != "|||"), max_size=4).map(" ".join)
        if plain
        else st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    )
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    size = sum(sizes)
    rows = [dense + draw(st.lists(st.sampled_from(sparse), unique=True)) if sparse else dense for _ in range(size)]
    names = Names(dense, dense=True)
    columns = np.array([names.intern(n) for row in rows for n in row], dtype=np.uint32)
    values = np.array([draw(FINITE) for _ in columns], dtype=np.float64)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = sorted(draw(st.sets(st.integers(0, 2**64 - 1), min_size=len(sizes), max_size=len(sizes))))
    column = st.lists(FINITE, min_size=size, max_size=size).map(np.array)
    links = st.lists(LINKS.map(lambda ls: " ".join(f"{i}-{j}" for i, j in ls)), min_size=size, max_size=size)
    return Candidates(
        Texts([str(i) for i in ids]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        Texts([draw(text) for _ in range(size)]),
        Features(names, starts, columns, values),
        draw(st.none() | column),
        {} if plain else {n: draw(column) for n in draw(st.sets(name, max_size=2))},
        draw(st.none() | links.map(Texts)),
        draw(st.none() | st.just(Texts(["e ||| x"] * size))),
    )


def bits(values: object) -> list[int]:
    return [int(v) for v in np.asarray(values, dtype=np.float64).view(np.uint64)]


def assert_same(a: Candidates, b: Candidates) -> None:
    assert a.ids == b.ids
    assert a.texts == b.texts
    assert a.starts.tolist() == b.starts.tolist()
    for x, y in ((a.totals, b.totals), *((a.scores.get(n), b.scores.get(n)) for n in {*a.scores, *b.scores})):
        assert (x is None) == (y is None)
        assert x is None or y is None or bits(x) == bits(y)
    assert a.alignments == b.alignments
    assert a.extra == b.extra
    assert a.features.starts.tolist() == b.features.starts.tolist()
    for i in range(a.size):
        one, two = a.features.row(i), b.features.row(i)
        assert list(one) == list(two)
        assert bits(list(one.values())) == bits(list(two.values()))


@pytest.mark.parametrize("dialect", nbest.FORMATS)
@settings(deadline=None)
@given(c=candidates(plain=True))
def test_every_format_returns_what_it_took(dialect: str, c: Candidates) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        nbest.write(path, c, dialect)
        assert_same(c, nbest.read(path, dialect))


@settings(deadline=None)
@given(c=candidates(plain=False))
def test_jsonl_holds_everything(c: Candidates) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "list.jsonl"
        nbest.write(path, c)
        assert_same(c, nbest.read(path))


@settings(deadline=None)
@given(c=candidates(plain=True))
def test_through_jsonl_and_back_byte_for_byte(c: Candidates) -> None:
    with TemporaryDirectory() as folder:
        first, middle, last = (Path(folder) / name for name in ("a", "b.jsonl", "c"))
        nbest.write(first, c)
        nbest.convert(first, middle, "moses")
        nbest.convert(middle, last)
        assert first.read_bytes() == last.read_bytes()
