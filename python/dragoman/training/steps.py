"""A folder that is filled step by step: a run that was killed goes on with the step it was in.

The files of a step are made in a hidden folder inside, and noted there when they are whole; what stands there without
a note was left by a killed run, and goes. When all steps are done the files move up. The note holds a key of inputs and
options: a run with another key is refused.
"""

from __future__ import annotations

import fcntl
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from dragoman.errors import InputError
from dragoman.files import write_bytes

__all__ = ["Made", "Step", "Workshop", "peak"]

_WORK, _STATE, _LOCK = ".train", "state.json", "lock"

Made = tuple[Sequence[str], dict[str, Any]]
"""What a step made: files, by their names, and a report of figures."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was done."""

    name: str
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all cores together."""
    peak: int
    """Bytes of memory at most."""
    report: dict[str, Any]
    files: Sequence[str] = ()
    reused: bool = False
    """Whether an earlier run had done it."""


class Workshop:
    """The folder `out` while it is filled; for one process at a time.

    `old` are files of `out` that an earlier result has there: they go when the new result is ready, not before.
    """

    def __init__(self, out: Path, key: str, *, old: Sequence[str] = (), overwrite: bool = False) -> None:
        self.out, self.work = out, out / _WORK
        self.steps: list[Step] = []
        self._key, self._old, self._overwrite = key, old, overwrite
        self._state: dict[str, Any] = {}
        self._new = not out.exists()
        self._lock: IO[str] | None = None

    @staticmethod
    def begun(out: Path) -> bool:
        """Whether there is nothing in a folder but what a run has begun."""
        work = out / _WORK
        return (work / _STATE).exists() or (work.exists() and [path.name for path in out.iterdir()] == [_WORK])

    @staticmethod
    def clear(out: Path) -> None:
        """Removes what a run left that was killed at its very end."""
        shutil.rmtree(out / _WORK, ignore_errors=True)

    def __enter__(self) -> Workshop:
        self._lock = self._locked()
        try:
            self._continue()
            self._sweep()
        except BaseException:
            self._lock.close()
            raise
        return self

    def _locked(self) -> IO[str]:
        """A file that this process alone holds."""
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            lock = (self.work / _LOCK).open("w", encoding="ascii")
        except OSError as error:
            raise InputError(f"{self.out}: {error.strerror}", str(self.out)) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            what = "another run is filling this folder" if isinstance(error, BlockingIOError) else error.strerror
            raise InputError(f"{self.out}: {what}", str(self.out)) from None
        return lock

    def _continue(self) -> None:
        """Takes up the notes of an earlier run, or starts anew."""
        state = self.work / _STATE
        found = json.loads(state.read_text(encoding="utf-8")) if state.exists() else None
        if found is not None and found["key"] == self._key and not self._overwrite:
            self._state = found
            return
        # A run that failed or was killed in its first step left nothing that is worth keeping.
        useful = found is not None and (found["moving"] or any(step["files"] for step in found["steps"].values()))
        if useful and not self._overwrite:
            raise InputError(
                f"{self.out}: holds the beginning of a run with other inputs or options; use --overwrite to throw it"
                " away, or another folder",
                str(self.out),
            )
        old = [*self._old, *(found["old"] if found else ())]
        if found is not None and found["moving"]:
            old += [name for step in found["steps"].values() for name in step["files"]]
        self._state = {"key": self._key, "old": old, "moving": False, "steps": {}}
        self._note()

    def _note(self) -> None:
        write_bytes(self.work / _STATE, json.dumps(self._state).encode())

    def _sweep(self) -> None:
        """Removes what no finished step has made."""
        kept = {_STATE, _LOCK, *(name for step in self._state["steps"].values() for name in step["files"])}
        for path in self.work.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def step(self, name: str, make: Callable[[], Made]) -> None:
        """Does a step, unless it is done."""
        known = self._state["steps"].get(name)
        if known is not None and all(self._there(file) for file in known["files"]):
            self.steps.append(Step(**{**known, "reused": True}))
            return
        start, before = time.perf_counter(), cpu()
        forget_peak()
        files, report = make()
        made = Step(name, time.perf_counter() - start, cpu() - before, peak(), report, files)
        self.steps.append(made)
        self._state["steps"][name] = asdict(made)
        self._note()

    def _there(self, file: str) -> bool:
        return (self.work / file).is_file() or (self._state["moving"] and (self.out / file).is_file())

    def move_up(self, files: Sequence[str]) -> None:
        """Puts files of the finished steps where they belong; files of an earlier result go."""
        self._state["moving"] = True
        self._note()
        for name in self._state["old"]:
            if name not in files:
                (self.out / name).unlink(missing_ok=True)
        for name in files:
            if (self.work / name).exists():
                (self.work / name).replace(self.out / name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves what a later run can use: after an error the steps that were done, after none nothing."""
        assert self._lock is not None  # we are inside
        try:
            if kind is not None and any(step["files"] for step in self._state["steps"].values()):
                self._sweep()
            else:
                shutil.rmtree(self.work)
                if kind is not None and self._new:
                    with suppress(OSError):  # there is something in it
                        self.out.rmdir()
        finally:
            self._lock.close()


def cpu() -> float:
    """Seconds of all cores that this process and its children have worked."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def forget_peak() -> None:
    """Lets Linux count the peak of memory anew; elsewhere the peak is that of the whole run."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> int:
    """Bytes of memory at most."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        # Kilobytes, but bytes on macOS.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
