"""Where a run stands: all that its next step depends on, in typed slots, so that a saved run goes on bit for bit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from dragoman._core import names_extend, names_pack, names_unpack
from dragoman.types import F64, I64, Names

__all__ = ["Number", "State", "decode_state", "encode_state", "padded", "placed"]

Number = int | float | str
_ARRAY = 1  # the code of an array among msgpack's extension types


def padded(array: F64, width: int) -> F64:
    """The array, with zeros for features that were not known when it was made."""
    return array if len(array) >= width else np.concatenate([array, np.zeros(width - len(array))])


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a run stands. It holds all that the next step depends on, so a saved state resumes bit for bit.

    Randomness is no state: step t draws from `np.random.default_rng([seed, t])` or the native stream (seed, t).
    What belongs to features is saved by name, since another process numbers them in another order; so each value has
    its slot by what it belongs to, and nobody has to guess from its shape.
    """

    weights: F64
    """The answer if the run ended now: a number for each feature known when the step ended."""
    step: int = 0
    done: bool = False
    features: Mapping[str, F64] = field(default_factory=dict)
    """Arrays with a number for each feature; those past their end are zero."""
    rows: Mapping[str, F64 | I64] = field(default_factory=dict)
    """Arrays that have nothing to do with features: a row for each sentence, sums of statistics."""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    files: Sequence[str] = ()
    """Files in the run's workspace that the next step reads, below its folder."""
    record: Mapping[str, float] = field(default_factory=dict)
    """What the last step did, for the trace: `gain` (corpus gain of `weights` on a pool), `objective`, ..."""

    def feature(self, key: str, width: int = 0) -> F64:
        """An array by feature, widened to `width` with zeros; zeros if there is none."""
        return padded(self.features.get(key, np.zeros(0)), width)

    def number(self, key: str, default: float = 0.0) -> float:
        """A number; `default` if there is none."""
        return float(self.numbers.get(key, default))

    def row(self, key: str) -> F64 | None:
        """An array that has nothing to do with features, if there is one."""
        found = self.rows.get(key)
        return None if found is None else np.asarray(found, dtype=np.float64)


def placed(values: F64, places: I64, width: int) -> F64:
    """An array by feature in another numbering: number i of before is `places[i]` now."""
    spread = np.zeros(width)
    spread[places[: len(values)]] = values
    return spread


def encode_state(state: State, names: Names) -> bytes:
    """A state as bytes, with the names of its features; every number keeps every bit."""
    width = max([len(state.weights), *map(len, state.features.values())])
    fields = [
        names_pack(names, width), state.weights, state.step, state.done, dict(state.features), dict(state.rows),
        dict(state.numbers), list(state.files), dict(state.record),
    ]  # fmt: skip
    return msgspec.msgpack.encode(fields, enc_hook=_encode_array)


def decode_state(content: bytes, names: Names) -> State:
    """The state that `encode_state` made these bytes of, in the numbering of `names`, which gets those it lacks."""
    packed, weights, step, done, features, rows, numbers, files, record = msgspec.msgpack.Decoder(
        ext_hook=_decode_array
    ).decode(content)
    state = State(weights, step, done, features, rows, numbers, tuple(files), record)
    known = names_unpack(packed)
    places = names_extend(names, known).astype(np.int64)
    if np.array_equal(places, np.arange(len(places))):
        return state
    width = len(names)
    moved = {key: placed(values, places, width) for key, values in state.features.items()}
    return replace(state, weights=placed(state.weights, places, width), features=moved)


def _encode_array(value: object) -> msgspec.msgpack.Ext:
    array = np.asarray(value, order="C")
    head = json.dumps([array.dtype.str, array.shape]).encode()
    return msgspec.msgpack.Ext(_ARRAY, len(head).to_bytes(4, "little") + head + array.tobytes())


def _decode_array(code: int, content: memoryview) -> np.ndarray[Any, Any]:
    if code != _ARRAY:
        raise ValueError(f"unknown extension {code}")
    size = 4 + int.from_bytes(content[:4], "little")
    dtype, shape = json.loads(bytes(content[4:size]))
    return np.array(np.frombuffer(content[size:], dtype=dtype).reshape(shape))
