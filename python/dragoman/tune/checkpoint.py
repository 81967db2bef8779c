"""A run on disk: its state after some step, and the trace of all steps. Killed at any moment, it can go on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dragoman._core import VERSION, names_pack
from dragoman.errors import InputError
from dragoman.files import write_bytes
from dragoman.tune.base import Limits, Pool, State, Tuner
from dragoman.types import F64

__all__ = ["Checkpoint", "Trace", "decode_state", "encode_state", "fingerprint"]

_ARRAY = 1  # the code of an array among msgpack's extension types


def encode_state(state: State) -> bytes:
    """A state as bytes; every number keeps every bit."""
    fields = [state.weights, state.step, state.done, state.memory, state.record]
    return msgspec.msgpack.encode(fields, enc_hook=_encode_array)


def decode_state(content: bytes) -> State:
    """The state that `encode_state` made these bytes of."""
    weights, step, done, memory, record = msgspec.msgpack.Decoder(ext_hook=_decode_array).decode(content)
    return State(weights, step, done, memory, record)


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


def fingerprint(pool: Pool, tuner: Tuner, limits: Limits, start: F64, seed: int) -> str:
    """What a run's result depends on, in a short word: runs may be resumed only if it is the same."""
    candidates = pool.candidates
    digest = hashlib.blake2b(digest_size=12)
    for part in (VERSION, repr(tuner), pool.metric.signature(), str(seed)):
        digest.update(part.encode() + b"\0")
    features = candidates.features
    digest.update(names_pack(features.names, len(features.names)))
    arrays: Iterable[np.ndarray[Any, Any]] = (
        candidates.starts, features.starts, features.columns, features.values,
        pool.statistics, limits.lower, limits.upper, start,
    )  # fmt: skip
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


@dataclass(slots=True)
class Checkpoint:
    """The last state of a run, in a file that is always whole.

    Steps are saved at most once in `interval` seconds: as they repeat exactly, going on from an older state ends in
    the same place.
    """

    path: Path
    run: str
    """The fingerprint of the run."""
    interval: float = 1.0
    _saved: float = field(default=0.0, init=False)

    def load(self) -> State | None:
        """The saved state; None if the run was killed before its first. A state of another run is refused."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        name = os.fspath(self.path)
        try:
            run, state = msgspec.msgpack.decode(content, type=tuple[str, bytes])
            found = decode_state(state)
        except (msgspec.DecodeError, ValueError) as error:
            raise InputError(f"{name}: not a checkpoint of this program ({error})", name) from None
        if run != self.run:
            raise InputError(
                f"{name}: belongs to another run: the lists, references, metric, options, start or seed have changed. "
                "Leave --resume out to start anew",
                name,
            )
        return found

    def save(self, state: State) -> None:
        """Keeps the state, unless the last one was kept a moment ago."""
        now = time.monotonic()
        if self._saved and now - self._saved < self.interval:
            return
        write_bytes(self.path, msgspec.msgpack.encode((self.run, encode_state(state))))
        self._saved = now

    def remove(self) -> None:
        """The run is over."""
        self.path.unlink(missing_ok=True)


@dataclass(slots=True)
class Trace:
    """One JSON line for each step."""

    path: Path

    def begin(self, step: int) -> None:
        """Drops what an earlier run wrote; when it goes on after `step`, only the lines behind that."""
        kept: list[str] = []
        if step and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except ValueError:  # the run was killed while it wrote this line
                    break
                if record["step"] <= step:
                    kept.append(line)
        write_bytes(self.path, "".join(f"{line}\n" for line in kept).encode())

    def add(self, record: dict[str, float]) -> None:
        """Appends a line."""
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(record) + "\n")
