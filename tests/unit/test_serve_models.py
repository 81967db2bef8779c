"""Changes of models while decoders are lost: whoever takes a place knows of them before it works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

pytest.importorskip("starlette")

from dragoman.serve.decoders import Process
from dragoman.serve.frames import Applied, Apply
from dragoman.serve.models import Entry, Models


class Remembers:
    """A decoder that has what it was told, until it begins anew."""

    threads, ready, starts = 1, True, 1

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.has: set[int] = set()
        self._meanwhile = meanwhile

    async def apply(self, change: Apply) -> Applied:
        self._meanwhile()
        self._meanwhile = lambda: None
        self.has.add(change.revision)
        return Applied(change.number, about={"all_weights": {}})

    def anew(self) -> None:
        self.has, self.starts = {1}, self.starts + 1


def test_a_decoder_that_is_replaced_during_a_change_is_told_again() -> None:
    first = Remembers()
    second = Remembers(meanwhile=first.anew)
    models = Models([first, second])  # type: ignore[list-item]
    entry = models._entries["m"] = Entry("m", "folder", "de", "en", "phrase", "")
    models._becomes(entry, 1)
    changed = asyncio.run(models.weights("m", {"LM": 1.0}))
    assert changed.revision == 2 and {2} <= first.has and {2} <= second.has


def test_what_comes_while_a_decoder_opens_its_models_is_opened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    state = [Apply(0, "load", "m", 1)]
    decoder, asked = Process(1, shared=False, state=lambda: list(state)), []

    async def ask(change: Apply) -> Applied:
        assert not decoder.ready
        asked.append(change.revision)
        if len(asked) == 1:
            state.append(Apply(0, "load", "m", 2))
        return Applied(0)

    monkeypatch.setattr(decoder, "_ask", ask)
    asyncio.run(decoder._open())
    assert asked == [1, 2] and decoder.ready
