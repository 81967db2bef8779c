"""Callers who do not wait for ever: seconds for a sentence, and a stop that another thread says."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tests import tiny

from dragoman._core import Stop, lm_copies
from dragoman.decoder import Decoder, Patience
from dragoman.errors import OptionError


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return Decoder(tiny.model(tmp_path_factory.mktemp("model")), search=tiny.SEARCH)


def test_patience_that_lasts_changes_nothing(decoder: Decoder) -> None:
    lines = tiny.lines(20)
    patient, narrow = decoder.listed(lines, 5, patience=Patience(60.0, Stop()))
    usual = decoder.nbest(lines, 5)
    assert patient.texts.to_list() == usual.texts.to_list()
    assert not any(narrow)


def test_what_nobody_wants_is_not_begun(decoder: Decoder) -> None:
    stop = Stop()
    assert not stop.stopped
    stop.stop()
    assert stop.stopped
    with pytest.raises(OptionError, match="stopped"):
        decoder.nbest(tiny.lines(3), 1, patience=Patience(stop=stop))


def test_a_search_under_way_ends_soon(decoder: Decoder) -> None:
    """All derivations of a long sentence take much longer than the test waits."""
    decoder.search = type(tiny.SEARCH)(stack_size=200_000, pop_limit=0, distortion_limit=-1)
    try:
        stop = Stop()
        line = " ".join(tiny.lines(12, longest=9))
        threading.Timer(0.3, stop.stop).start()
        began = time.monotonic()
        found, narrow = decoder.listed([line], 1, features=False, patience=Patience(stop=stop))
        assert time.monotonic() - began < 60
        assert list(narrow) == [True] and found.size == 1
        _, late = decoder.listed([line], 1, features=False, patience=Patience(0.05))
        assert list(late) == [True]
    finally:
        decoder.search = tiny.SEARCH


def test_copies_of_language_models_change_nothing(tmp_path: Path) -> None:
    lines = tiny.lines(40)
    try:
        lm_copies(False)
        shared = Decoder(tiny.model(tmp_path), search=tiny.SEARCH).translate(lines)
    finally:
        lm_copies(True)
    assert Decoder(tmp_path, search=tiny.SEARCH).translate(lines) == shared
