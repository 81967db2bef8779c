"""A tuning run on disk: what was asked for, what happened in each epoch, and enough to go on after a kill.

`config.toml` (the request), `trace.jsonl` (a line an epoch), `epochs/003.toml` (weights), `checkpoint` (the state after
the last epoch), `weights.toml` (the result, written last).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dragoman import toml, weights
from dragoman._core import names_extend, names_pack, names_unpack
from dragoman.errors import InputError, OptionError
from dragoman.files import write_bytes, write_text
from dragoman.tune._learning import padded
from dragoman.tune.base import Memory, State
from dragoman.tune.checkpoint import decode_state, encode_state
from dragoman.types import F64, Names, Weights

__all__ = ["Epochs", "Folder"]


@dataclass(slots=True)
class Epochs:
    """Where a run stands after an epoch. Arrays are as wide as `names`, the features met so far."""

    names: Names
    weights: F64
    epoch: int = 0
    done: bool = False
    memory: Memory = field(default_factory=dict)
    records: list[dict[str, float]] = field(default_factory=list)

    def widen(self) -> None:
        """Gives features that were met since a weight of zero."""
        self.weights = padded(self.weights, len(self.names))

    @property
    def named(self) -> Weights:
        """The weights with their names."""
        return Weights(self.names, self.weights)


class Folder:
    """The folder of a run; None as its path keeps nothing."""

    def __init__(self, path: Path | None, config: Mapping[str, Any]) -> None:
        self.path = path
        self.config = dict(config)

    def begin(self, names: Names, start: F64, resume: bool) -> Epochs:
        """A new run, or with `resume` the one that was here; an unwritable folder is told before any work."""
        fresh = Epochs(names, start)
        if self.path is None:
            return fresh
        for partial in self.path.rglob(".*.partial"):
            partial.unlink(missing_ok=True)  # a run was killed while it wrote
        for pool in self.path.glob("pool-*"):
            shutil.rmtree(pool, ignore_errors=True)
        config = self.path / "config.toml"
        if resume and config.exists():
            if toml.load(config, "the options of a run") != toml.loads(toml.dumps(self.config)):
                raise InputError(
                    f"{config}: this run had other inputs or options; leave --resume out to start anew", str(config)
                )
            return self._load(names) or fresh
        if (self.path / "config.toml").exists() and not resume:
            self._clear()
        try:
            (self.path / "epochs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror}", str(self.path)) from None
        write_text(config, toml.dumps(self.config).splitlines())
        return fresh

    def _clear(self) -> None:
        assert self.path is not None
        for name in ("checkpoint", "weights.toml", "trace.jsonl", "config.toml"):
            (self.path / name).unlink(missing_ok=True)
        for file in (self.path / "epochs").glob("*.toml"):
            file.unlink()

    def _load(self, names: Names) -> Epochs | None:
        assert self.path is not None
        path = self.path / "checkpoint"
        if not path.exists():
            return None
        try:
            packed, state, records = msgspec.msgpack.decode(
                path.read_bytes(), type=tuple[bytes, bytes, list[dict[str, float]]]
            )
            saved, known = decode_state(state), names_unpack(packed)
        except (msgspec.DecodeError, ValueError, OptionError) as error:
            raise InputError(f"{path}: not the checkpoint of a run ({error})", str(path)) from None
        places = names_extend(names, known).astype(np.int64)
        memory: Memory = {}
        for key, value in saved.memory.items():
            # Plain arrays have a number for each feature; what belongs to sentences or statistics has two dimensions.
            spread = isinstance(value, np.ndarray) and value.ndim == 1
            memory[key] = _placed(value, places, len(names)) if spread else value  # type: ignore[arg-type]
        return Epochs(names, _placed(saved.weights, places, len(names)), saved.step, saved.done, memory, records)

    def save(self, now: Epochs) -> None:
        """Keeps the state after an epoch, and its weights."""
        if self.path is None:
            return
        write_text(self.path / "trace.jsonl", [json.dumps(record) for record in now.records])
        weights.save(self.path / "epochs" / f"{now.epoch:03}.toml", now.named)
        state = State(now.weights, now.epoch, now.done, now.memory)
        known = names_pack(now.names, len(now.weights))
        write_bytes(self.path / "checkpoint", msgspec.msgpack.encode((known, encode_state(state), now.records)))

    def finish(self, found: Weights, info: Mapping[str, str | int | float]) -> None:
        """Writes the result."""
        if self.path is not None:
            weights.save(self.path / "weights.toml", found, info)


def _placed(values: F64, places: np.ndarray[Any, Any], width: int) -> F64:
    spread = np.zeros(width)
    spread[places[: len(values)]] = values
    return spread
