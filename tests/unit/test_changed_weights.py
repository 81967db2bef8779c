"""Weights that differ in few features from others: the same as weights made anew, at the cost of the change."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import tiny

from dragoman.decoder import Decoder, DecoderSource
from dragoman.errors import OptionError
from dragoman.types import F64, U32, Names, Weights

LINES = tiny.lines(8, longest=6)
NAMES = 60
numbers = st.integers(0, NAMES - 1)
changes = st.lists(st.tuples(st.lists(st.tuples(numbers, st.floats(-5, 5)), max_size=40), st.booleans()), max_size=20)


def arrays(change: list[tuple[int, float]]) -> tuple[U32, F64]:
    columns = np.array([column for column, _ in change], dtype=np.uint32)
    return columns, np.array([value for _, value in change], dtype=np.float64)


@given(changes)
def test_values_are_those_of_an_array(steps: list[tuple[list[tuple[int, float]], bool]]) -> None:
    weights, plain = Weights(Names([f"n{i}" for i in range(NAMES)]), np.ones(10)), np.ones(10)
    before = []
    for change, asked in steps:
        before.append((weights, plain))
        weights = weights.changed(*arrays(change))
        plain = np.concatenate([plain, np.zeros(max([len(plain), *(c + 1 for c, _ in change)]) - len(plain))])
        for column, value in change:
            plain[column] = value
        assert len(weights) == len(plain)
        if asked:
            assert np.array_equal(weights.values, plain)
    for known, values in [*before, (weights, plain)]:
        assert np.array_equal(known.values, values)
        assert known["n3"] == (values[3] if len(values) > 3 else 0.0)


def test_nothing_keeps_what_weights_came_from() -> None:
    """Changes do not pile up, and some values can be had without all of them."""
    weights = Weights(Names([f"n{i}" for i in range(10_000)]), np.zeros(10_000))
    plain = np.zeros(10_000)
    first = weakref.ref(weights.values)
    rng = np.random.default_rng(0)
    for step in range(50):
        columns = rng.choice(10_000, 100, replace=False).astype(np.uint32)
        weights = weights.changed(columns, np.full(100, float(step)))
        plain[columns] = step
        assert np.array_equal(weights.take(columns), plain[columns])
        assert len(weights.steps) <= 8
    gc.collect()
    assert first() is None
    assert np.array_equal(weights.values, plain)


def test_what_cannot_be_changed_is_told() -> None:
    weights = Weights.of({"a": 1.0, "b": 2.0})
    with pytest.raises(OptionError, match="no name 2"):
        weights.changed(np.array([2], dtype=np.uint32), np.ones(1))
    with pytest.raises(OptionError, match="weight of b is not a finite"):
        weights.changed(np.array([1], dtype=np.uint32), np.array([np.nan]))
    with pytest.raises(OptionError, match="one value for each id"):
        weights.changed(np.array([1], dtype=np.uint32), np.ones(2))
    with pytest.raises(FrozenInstanceError):
        weights.names = Names([])
    with pytest.raises(ValueError, match="read-only"):
        weights.changed(np.array([1], dtype=np.uint32), np.ones(1)).values[0] = 5.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


def listed(decoder: Decoder, weights: Weights, threads: int | None = None) -> list[Any]:
    found = DecoderSource(decoder, LINES, 10).candidates(range(len(LINES)), weights, threads)
    assert found.totals is not None
    return [found.texts.to_list(), found.totals.tolist(), [found.features.row(i) for i in range(found.size)]]


def fresh(folder: Path, weights: Weights) -> list[Any]:
    """With a decoder that has never seen any other weights."""
    whole = Weights.of({name: value for name, value in weights.to_dict().items() if value})
    return listed(Decoder(folder, features=tiny.SETS, search=tiny.SEARCH), whole)


@pytest.mark.parametrize("own", [True, False], ids=["the decoder's names", "other names"])
def test_the_decoder_finds_what_weights_made_anew_find(folder: Path, own: bool) -> None:
    decoder = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH)
    rng = np.random.default_rng(5)
    names = decoder.names
    if not own:
        names = Names([*decoder.weights.to_dict(), "pt:a>s", "pt:never>met"])
    weights = Weights(names, decoder.weights.align(names))
    kept = [(weights, listed(decoder, weights))]
    for _ in range(12):
        if not own:  # names that the decoder has met meanwhile, and that it has not
            met = decoder.names.to_list()
            for name in rng.choice(met, 5).tolist():
                names.intern(name)
        # Sparse and dense ones, some back to nothing; now and then two changes between two calls.
        for _ in range(int(rng.integers(1, 3))):
            columns = rng.choice(len(names), min(12, len(names)), replace=False).astype(np.uint32)
            values = rng.normal(size=len(columns)) * rng.integers(0, 2, len(columns)) * 0.4
            weights = weights.changed(columns, values)
        assert decoder._changed(decoder._system, weights) is not None, "no weights are made anew"
        kept.append((weights, listed(decoder, weights)))
    for known, lists in kept:
        assert listed(decoder, known) == lists, "earlier weights are what they were"
    for known, lists in kept[::4]:
        assert fresh(folder, known) == lists


def test_several_weights_at_once(folder: Path) -> None:
    decoder = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH)
    listed(decoder, decoder.weights)
    rng = np.random.default_rng(6)
    weights = Weights(decoder.names, decoder.weights.align(decoder.names))
    all_of_them = [weights]
    for _ in range(15):
        columns = rng.choice(len(weights), 20, replace=False).astype(np.uint32)
        all_of_them.append(all_of_them[-1].changed(columns, rng.normal(size=20) * 0.3))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: listed(decoder, one, 1), all_of_them))
    for known, lists in zip(all_of_them[::5], found[::5], strict=True):
        assert fresh(folder, known) == lists


def test_features_that_the_model_cannot_have(folder: Path) -> None:
    decoder = Decoder(folder, features=tiny.SETS)
    weights = Weights(Names(["TM", "LM", "nonsense"]), np.ones(2))
    with pytest.raises(OptionError, match="no feature `nonsense`"):
        decoder.translate(LINES, weights=weights)
    names = Names(["TM", "LM"])
    weights = Weights(names, np.ones(2))
    decoder.translate(LINES, weights=weights)
    names.intern("nonsense")
    with pytest.raises(OptionError, match="no feature `nonsense`"):
        decoder.translate(LINES, weights=weights.changed(np.array([2], dtype=np.uint32), np.ones(1)))


def test_weights_that_are_changed_in_place_all_the_same(folder: Path) -> None:
    decoder = Decoder(folder, search=tiny.SEARCH)
    values = decoder.weights.values.copy()
    weights = Weights(decoder.weights.names, values)
    first = listed(decoder, weights)
    values[:] = -values
    assert listed(decoder, weights) != first
