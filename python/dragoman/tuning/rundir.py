"""A run on disk: what was asked for, what happened in each step, and enough to go on after a kill.

In a folder: `config.toml` (the request), `trace.jsonl` (a line a step), `steps/003.toml` (weights), `checkpoint` (the
state after the last step), `weights.toml` (the result, written last). A run over fixed lists is short, and has only a
checkpoint beside its result, which goes when the result is safe on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dragoman import toml, weights
from dragoman._core import VERSION, names_pack, names_take
from dragoman.errors import InputError, OptionError
from dragoman.files import write_bytes, write_text
from dragoman.tuning.limits import Limits
from dragoman.tuning.pool import Pool
from dragoman.tuning.state import State, decode_state, encode_state
from dragoman.types import F64, Names, Weights

__all__ = ["Progress", "RunDir", "Trace", "fingerprint", "in_order"]

Record = dict[str, float]


@dataclass(slots=True)
class Progress:
    """What is saved of a run: where its session stands, and what the driver knows of all steps."""

    state: State
    """The session's."""
    kept: State
    """The driver's: the best weights so far, with the statistics of their translations and of the start's."""
    records: list[Record] = field(default_factory=list)


def fingerprint(pool: Pool, tuner: object, limits: Limits, start: F64, seed: int) -> str:
    """What the result of a run over lists depends on, in a short word: only the same run may be resumed."""
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


class RunDir:
    """The files of a run. Every file appears whole or not at all, so a run can be killed at any moment."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        out: Path | None = None,
        checkpoint: Path | None = None,
        trace: Path | None = None,
        keep: bool | None = None,
        untrue: Sequence[Path] = (),
        interval: float = 0.0,
    ) -> None:
        self.folder = folder
        self.out = out if out is not None else folder / "weights.toml" if folder else None
        """Where the result goes."""
        self.checkpoint = checkpoint if checkpoint is not None else folder / "checkpoint" if folder else None
        traces = [folder / "trace.jsonl" if folder else None, trace]
        self.traces = [Trace(path) for path in traces if path is not None]
        self.keep = folder is not None if keep is None else keep
        """Whether the checkpoint stays when the run is over, so that resuming it gives the result at once."""
        self.untrue = untrue
        """Files that go when the run begins or goes on: what they say of its result holds no more."""
        self.interval = interval
        """Steps are saved at most once in so many seconds: as they repeat exactly, an older state will do."""
        self._saved = -float("inf")

    @classmethod
    def beside(cls, out: Path, trace: Path | None = None, *, keep: bool = False, mark: str = "") -> RunDir:
        """A short run over lists: a checkpoint beside its result."""
        return cls(out=out, checkpoint=Path(f"{out}.checkpoint{mark}"), trace=trace, keep=keep, interval=1.0)

    def begin(self, config: Mapping[str, Any], resume: bool) -> None:
        """Gets the folder ready; one that cannot be written, or has another run to go on with, is an error at once."""
        if self.folder is None:
            return
        for partial in self.folder.rglob(".*.partial"):
            partial.unlink(missing_ok=True)  # a run was killed while it wrote
        for pool in self.folder.glob("pool-*"):
            shutil.rmtree(pool, ignore_errors=True)
        path = self.folder / "config.toml"
        if path.exists() and resume:
            self._check_same(path, config)
            self._withdraw()
            write_text(path, toml.dumps(config).splitlines())
            return
        self._withdraw()
        if path.exists():
            self._clear()
        try:
            (self.folder / "steps").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: {error.strerror}", str(self.folder)) from None
        write_text(path, toml.dumps(config).splitlines())

    def begin_several(self, config: Mapping[str, Any], resume: bool) -> None:
        """Gets the folder around the folders of several runs ready; with an empty config there is one run, in it."""
        assert self.folder is not None
        path = self.folder / "config.toml"
        before = toml.load(path, "the options of a run") if path.exists() else None
        if before is not None and _layout(before) != _layout(config):
            if resume:
                raise InputError(
                    f"{self.folder}: holds {_layout(before)}; --overwrite replaces it, or use another folder", str(path)
                )
            self._clear()
        if not resume:
            for run in (*self.folder.glob("run[0-9]*"), *self.folder.glob("sweep[0-9]*")):
                if (run / "config.toml").exists():
                    shutil.rmtree(run, ignore_errors=True)
        if not config:
            return
        if path.exists() and resume:
            self._check_same(path, config)
        self._withdraw()
        write_text(path, toml.dumps(config).splitlines())

    def _withdraw(self) -> None:
        for file in self.untrue:
            file.unlink(missing_ok=True)

    def _check_same(self, path: Path, config: Mapping[str, Any]) -> None:
        """Refuses to go on with a run of other inputs or options; more rounds than it had are no other run."""
        before, now = toml.load(path, "the options of a run"), toml.loads(toml.dumps(config))
        changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        if len(changed) == 1 and changed[0] in _GROWS and now[changed[0]] > before[changed[0]]:
            return
        if changed:
            name = changed[0]
            what = f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
            raise InputError(
                f"{self.folder}: holds a run with other inputs or options ({what}); --overwrite replaces it, or use "
                "another folder",
                str(path),
            )

    def _clear(self) -> None:
        assert self.folder is not None
        for name in ("checkpoint", "weights.toml", "trace.jsonl", "config.toml"):
            (self.folder / name).unlink(missing_ok=True)
        for file in (self.folder / "steps").glob("*.toml"):
            file.unlink()

    def load(self, run: str, names: Names) -> Progress | None:
        """The saved run; None if it was killed before its first state. One of another run is refused."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return None
        name = os.fspath(self.checkpoint)
        try:
            found, state, kept, records = msgspec.msgpack.decode(
                self.checkpoint.read_bytes(), type=tuple[str, bytes, bytes, list[Record]]
            )
            progress = Progress(decode_state(state, names), decode_state(kept, names), records)
        except (msgspec.DecodeError, ValueError, TypeError, OptionError) as error:
            raise InputError(f"{name}: not a checkpoint of this program ({error})", name) from None
        if found != run:
            raise InputError(
                f"{name}: belongs to another run: the lists, references, metric, options, start or seed have changed. "
                "--overwrite starts anew",
                name,
            )
        for file in progress.state.files:
            if self.folder is not None and not (self.folder / file).exists():
                raise InputError(
                    f"{self.folder / file}: missing, so that the run cannot go on; --overwrite starts anew", file
                )
        return progress

    def begin_trace(self, records: list[Record]) -> None:
        """Drops from the trace what an earlier run wrote, or this one after the state that it goes on from."""
        for trace in self.traces:
            trace.begin(records)

    def save(self, run: str, now: Progress, names: Names) -> None:
        """Keeps the state after a step, and its weights; adds the step to the trace."""
        for trace in self.traces:
            trace.add(now.records[-1:])
        if self.folder is not None:
            path = self.folder / "steps" / f"{now.state.step:03}.toml"
            weights.save(path, Weights(names, now.state.weights))
        moment = time.monotonic()
        if self.checkpoint is not None and moment - self._saved >= self.interval:
            content = (run, encode_state(now.state, names), encode_state(now.kept, names), now.records)
            write_bytes(self.checkpoint, msgspec.msgpack.encode(content))
            self._saved = moment

    def finish(self, found: Weights, info: Mapping[str, str | int | float]) -> None:
        """Writes the result; only then the checkpoint may go."""
        if self.out is not None:
            weights.save(self.out, in_order(found), info)
        if not self.keep:
            self.remove()

    def remove(self) -> None:
        """Removes the checkpoint."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)


_GROWS = {"rounds", "replications"}
"""What a run may have more of than it had, and go on."""


def _layout(config: Mapping[str, Any]) -> str:
    """What a folder holds, by its config."""
    return "replications" if "replications" in config else "a sweep" if "sweep" in config else "a run"


def in_order(found: Weights) -> Weights:
    """The weights with sparse features (`set:...`) last and by name: in which order they were met is chance."""
    names = found.names.to_list()[: len(found)]
    sparse = [number for number, name in enumerate(names) if ":" in name]
    if not sparse:
        return found
    dense = [number for number, name in enumerate(names) if ":" not in name]
    order = np.array([*dense, *sorted(sparse, key=names.__getitem__)], dtype=np.int64)
    return Weights(names_take(found.names, order), found.values[order])


@dataclass(slots=True)
class Trace:
    """One JSON line for each step."""

    path: Path

    def begin(self, records: list[Record]) -> None:
        """Starts with what is known of earlier steps."""
        write_bytes(self.path, "".join(json.dumps(record) + "\n" for record in records).encode())

    def add(self, records: list[Record]) -> None:
        """Appends lines."""
        with self.path.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(record) + "\n" for record in records)
