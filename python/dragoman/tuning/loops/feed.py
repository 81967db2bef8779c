"""Weights on their way to workers of other processes: a base once an epoch, then what each update changed.

Updates are links of a chain. A task carries the last one; a worker follows it back to what it knows already, so that
each link travels to a process once. The worker's table of names grows in the order of ours: numbers of features are
agreed, and gradients come back with these.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman._core import names_extend, names_take
from dragoman.engine import Engine, Here, Shared
from dragoman.types import F64, U32, Names, Weights

__all__ = ["Feed", "Version"]

_MOST_KNOWN = 64
"""Versions that a process keeps: tasks that are under way may want older ones than the last."""
_KNOWN: dict[str, OrderedDict[int, Weights]] = {}
"""What this process knows, of the last feed."""
_following = threading.Lock()


@dataclass(frozen=True, eq=False)
class _Link:
    """An update: features that are new, and the weights that changed."""

    before: Version
    names: Names
    columns: U32
    values: F64


@dataclass(frozen=True, eq=False)
class Version:
    """Weights after so many updates, as tasks carry them."""

    feed: str
    number: int
    content: Shared[_Link | Weights]

    def weights(self) -> Weights:
        """The weights, in the process that asks; their names are numbered as in the process that feeds."""
        with _following:
            if self.feed not in _KNOWN:
                _KNOWN.clear()
                _KNOWN[self.feed] = OrderedDict()
            return self._followed(_KNOWN[self.feed])

    def _followed(self, known: OrderedDict[int, Weights]) -> Weights:
        missing: list[_Link] = []
        at = self
        while at.number not in known:
            content = at.content.value
            if isinstance(content, Weights):
                known[at.number] = content  # the first that this process sees of the feed; it stays
                break
            missing.append(content)
            at = content.before
        found = known[at.number]
        for number, link in enumerate(reversed(missing), at.number + 1):
            names_extend(found.names, link.names)
            found = known[number] = found.changed(link.columns, link.values)
        while len(known) > _MOST_KNOWN + 1:  # the base stays, at the head
            second = next(key for key in known if key != 0)
            del known[second]
        return found


class Feed:
    """The weights of an epoch. Where workers are threads, or nothing can be shared, whole weights are handed on."""

    def __init__(self, engine: Engine, weights: Weights) -> None:
        self._engine, self.weights, self._count = engine, weights, len(weights)
        self.updates = 0
        """How many there were."""
        self._last: Version | None = None
        if not engine.local:
            base: Shared[Any] = engine.share(weights)
            if not isinstance(base, Here):
                self._last = Version(uuid.uuid4().hex, 0, base)

    @property
    def now(self) -> Weights | Version:
        """What the next task carries."""
        return self._last or self.weights

    def change(self, columns: U32, values: F64) -> None:
        """An update."""
        self.weights = self.weights.changed(columns, values)
        self.updates += 1
        if self._last is None:
            return
        names, count = self.weights.names, len(self.weights.names)
        new = names_take(names, np.arange(self._count, count, dtype=np.int64))
        self._count = count
        link = _Link(self._last, new, columns, values)
        self._last = Version(self._last.feed, self.updates, self._engine.share(link))
