"""How work, tasks and results cross to the workers of a cluster: pickled once, with references to what is shared.

References travel beside the bytes and not inside, so that the cluster knows who still needs an object.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections import OrderedDict
from typing import Any

from ray import cloudpickle
from ray import get as fetch
from ray import put as keep

__all__ = ["Put", "dumps", "loads", "put"]

Wire = tuple[bytes, list[Any]]
"""Bytes, and the references that these count."""

_SEEN: OrderedDict[str, Any] = OrderedDict()
"""What this process has read of shared values, the last used last."""
_MOST_SEEN = 32
_reading = threading.RLock()


class Put:
    """A value in the object store: once on each node, read once by each process."""

    def __init__(self, ref: Any, *known: Any) -> None:
        self.ref, self._known = ref, known

    @property
    def value(self) -> Any:
        """The value."""
        if self._known:
            return self._known[0]
        key = self.ref.hex()
        with _reading:
            if key not in _SEEN:
                _SEEN[key] = loads(*fetch(self.ref))
            _SEEN.move_to_end(key)
            while len(_SEEN) > _MOST_SEEN:
                _SEEN.popitem(last=False)
            return _SEEN[key]

    def __reduce__(self) -> Any:
        raise pickle.PicklingError("what is shared on a cluster travels with the tasks of its engine only")


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.refs: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, Put):
            return None
        self.refs.append(obj.ref)
        return len(self.refs) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, refs: list[Any]) -> None:
        super().__init__(file)
        self.refs = refs

    def persistent_load(self, pid: Any) -> Put:
        return Put(self.refs[pid])


def dumps(value: Any) -> Wire:
    """A value as it travels."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.refs


def loads(content: bytes, refs: list[Any]) -> Any:
    """The value again."""
    return _Unpickler(io.BytesIO(content), refs).load()


def put(value: Any, wire: Wire) -> Put:
    """Shares a value that was pickled already."""
    return Put(keep(wire), value)
