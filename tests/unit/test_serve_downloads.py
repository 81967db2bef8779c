"""Translated files that wait to be fetched: bounded, whatever their size."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("starlette")

from dragoman.serve.libretranslate import Downloads


def test_small_files_are_bounded_as_large_ones_are() -> None:
    files = Downloads(most=1 << 20)
    began = time.process_time()
    tokens = [files.add("a.txt", "text/plain", b"a") for _ in range(20_000)]
    assert time.process_time() - began < 5, "the time for a file does not go with the number of those that wait"
    assert files.size <= 1 << 20 and tokens[-1] in files._files and tokens[0] not in files._files


def test_old_files_go() -> None:
    files = Downloads(seconds=0.01)
    old = files.add("a.txt", "text/plain", b"a" * 1000)
    time.sleep(0.02)
    new = files.add("b.txt", "text/plain", b"b")
    assert list(files._files) == [new] != [old]
