"""Columns: texts, names, sparse rows, candidates."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import OptionError
from dragoman.types import Candidates, Features, Hypotheses, Names, Texts, Weights


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_texts_are_a_sequence(strings: list[str]) -> None:
    texts = Texts(strings)
    assert list(texts) == texts.to_list() == strings
    assert len(texts) == len(strings)
    assert [texts[i] for i in range(-len(strings), len(strings))] == strings * 2
    assert bytes(texts.bytes) == "".join(strings).encode()
    assert texts == Texts(strings) != Texts([*strings, "x"])
    order = np.arange(len(strings), dtype=np.int64)[::-1].copy()
    assert list(texts.take(order)) == strings[::-1]


def test_texts_share_their_memory_with_numpy() -> None:
    texts = Texts(["one", "two"])
    view = texts.bytes
    address = view.__array_interface__["data"]
    assert address == texts.bytes.__array_interface__["data"]
    assert isinstance(view.base, Texts)
    del texts
    gc.collect()
    assert bytes(view) == b"onetwo"
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0


def test_texts_refuse_positions_outside() -> None:
    with pytest.raises(IndexError):
        Texts(["a"])[1]
    with pytest.raises(IndexError):
        Texts(["a"])[-2]
    with pytest.raises(IndexError):
        Texts(["a"]).take(np.array([3]))


def test_names() -> None:
    names = Names(["LM", "WP"], dense=True)
    assert names.intern("pair") == 2
    assert names.intern("LM") == 0
    assert names.to_list() == ["LM", "WP", "pair"]
    assert names.get("none") is None
    assert "WP" in names
    assert names[-1] == "pair"
    assert [names.is_dense(n) for n in names.to_list()] == [True, True, False]
    with pytest.raises(KeyError):
        names.is_dense("none")
    copy = names.copy()
    copy.intern("more")
    assert (len(names), len(copy)) == (3, 4)


def rows() -> Features:
    names = Names(["a", "b", "c"])
    return Features(
        names,
        np.array([0, 2, 2, 3]),
        np.array([0, 2, 1], dtype=np.uint32),
        np.array([1.0, 2.0, -3.0]),
    )


def test_sparse_rows() -> None:
    features = rows()
    assert len(features) == 3
    assert features.row(0) == {"a": 1.0, "c": 2.0}
    assert features.row(1) == {}
    assert features.dense().tolist() == [[1, 0, 2], [0, 0, 0], [0, -3, 0]]
    w = Weights.of({"c": 10.0, "b": 1.0})
    assert features.dot(w).tolist() == [20.0, 0.0, -3.0]
    taken = features.take(np.array([2, 0, 2]))
    assert taken.dense().tolist() == [[0, -3, 0], [1, 0, 2], [0, -3, 0]]


@pytest.mark.parametrize("starts", [[0, 2, 1, 3], [0, 2, 2, 4], [1, 2, 2, 3], []])
def test_kernels_refuse_rows_that_do_not_fit(starts: list[int]) -> None:
    good = rows()
    bad = Features(good.names, np.array(starts, dtype=np.int64), good.columns, good.values)
    with pytest.raises(OptionError, match="row starts"):
        bad.dot(Weights.of({"a": 1.0}))


def test_best_candidates() -> None:
    names = Names(["a"])
    features = Features(names, np.arange(6), np.zeros(5, dtype=np.uint32), np.array([1.0, 3.0, 3.0, -1.0, -2.0]))
    pool = Candidates(Texts(["0", "1", "2"]), np.array([0, 3, 3, 5]), Texts(list("abcde")), features)
    assert len(pool) == 3
    assert pool.size == 5
    assert pool.sentence.tolist() == [0, 0, 0, 2, 2]
    assert pool.best(Weights.of({"a": 1.0})).tolist() == [1, -1, 3], "the first of equals; -1 for no candidate"
    assert pool.best(Weights.of({"a": -1.0})).tolist() == [0, -1, 4]


def test_one_hypothesis_each() -> None:
    output = Hypotheses.one_each(["x", "y"])
    assert output.sentence.tolist() == [0, 1]
    assert len(output) == 2
