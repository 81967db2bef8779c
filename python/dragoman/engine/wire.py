"""How work, tasks and results cross to the workers of a cluster: pickled once, apart from what they share.

What is shared crosses in one of two ways. A large value lies in the object store: once on each node. A small one goes
with the first tasks of a worker that need it, since the object store costs milliseconds on both sides. In the bytes of
a task a shared value is a number; beside them stands its mark, so that the cluster knows who still needs an object.
"""

from __future__ import annotations

import io
import pickle
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Set
from typing import Any
from weakref import WeakValueDictionary

from ray import cloudpickle
from ray import get as fetch
from ray import put as keep

__all__ = ["Brought", "Mark", "Put", "Wire", "bring", "brought", "dumps", "forget", "loads", "missing", "put"]

_SMALL = 64_000
"""Bytes of a value that goes with tasks; Ray itself puts arguments above 100,000 into the object store."""

Mark = tuple[str, Any]
"""The key of a shared value, and the reference to it in the object store; None for a small one."""
Brought = tuple[str, bytes, list[Mark]]
"""A small value on its way: its key, its bytes, and what is shared inside it."""

_PUTS: WeakValueDictionary[str, Put] = WeakValueDictionary()
"""Values that this process shares."""
_BROUGHT: dict[str, tuple[bytes, list[Mark]]] = {}
"""Small values that this process was brought, until it is told to forget them."""
_SEEN: OrderedDict[str, Any] = OrderedDict()
"""What this process has read of shared values, the last used last."""
_MOST_SEEN = 32
_reading = threading.RLock()


class Put:
    """A shared value; each process reads it once."""

    def __init__(self, mark: Mark, wire: Wire | None = None, *known: Any) -> None:
        self.key, self.ref = mark
        self.wire = wire
        """As it travels with tasks, in the process that shares it."""
        self._known = known

    @property
    def mark(self) -> Mark:
        """What stands for it beside the bytes of a task."""
        return self.key, self.ref

    @property
    def value(self) -> Any:
        """The value."""
        if self._known:
            return self._known[0]
        with _reading:
            if self.key not in _SEEN:
                _SEEN[self.key] = loads(*(_BROUGHT[self.key] if self.ref is None else fetch(self.ref)))
            _SEEN.move_to_end(self.key)
            while len(_SEEN) > _MOST_SEEN:
                _SEEN.popitem(last=False)
            return _SEEN[self.key]

    def __reduce__(self) -> Any:
        raise pickle.PicklingError("what is shared on a cluster travels with the tasks of its engine only")


Wire = tuple[bytes, list[Put]]
"""Bytes, and the shared values that these count."""


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.puts: list[Put] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, Put):
            return None
        self.puts.append(obj)
        return len(self.puts) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, marks: list[Mark]) -> None:
        super().__init__(file)
        self.marks = marks

    def persistent_load(self, pid: Any) -> Put:
        mark = self.marks[pid]
        return _PUTS.get(mark[0]) or Put(mark)


def dumps(value: Any) -> Wire:
    """A value as it travels."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.puts


def loads(content: bytes, marks: list[Mark]) -> Any:
    """The value again."""
    return _Unpickler(io.BytesIO(content), marks).load()


def put(value: Any, wire: Wire) -> Put:
    """Shares a value that was pickled already."""
    content, inside = wire
    ref = keep((content, [put.mark for put in inside])) if len(content) > _SMALL else None
    made = Put((secrets.token_hex(8), ref), (content if ref is None else b"", inside), value)
    _PUTS[made.key] = made
    return made


def missing(puts: Iterable[Put], known: Set[str]) -> list[Put]:
    """The shared values that a worker must get or may ask for, and those inside them, but for what it knows."""
    found: dict[str, Put] = {}
    left = list(puts)
    while left:
        put = left.pop()
        if put.key not in known and put.key not in found:
            found[put.key] = put
            left += put.wire[1] if put.wire else []
    return list(found.values())


def brought(puts: Iterable[Put]) -> list[Brought]:
    """The small ones of some shared values, as they go with a task."""
    return [
        (put.key, put.wire[0], [inside.mark for inside in put.wire[1]]) for put in puts if put.ref is None and put.wire
    ]


def bring(values: Iterable[Brought]) -> None:
    """Takes small values that came with a task."""
    for key, content, marks in values:
        _BROUGHT.setdefault(key, (content, marks))


def forget(keys: Iterable[str]) -> None:
    """Nobody will ask for these any more."""
    with _reading:
        for key in keys:
            _BROUGHT.pop(key, None)
            _SEEN.pop(key, None)
