"""Runs the steps of a plan: what is done is not done again, and a killed run goes on.

A step's folder holds what its command made, `log` (what it said), and `done.json`, which is written last. While a run
is under way it holds a lock, which its commands inherit: if only the run is killed, the next one waits until they end.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from dragoman.engine import Engine
from dragoman.errors import InputError
from dragoman.experiment.choosing import chosen_in
from dragoman.experiment.plan import MANY, Plan
from dragoman.experiment.reading import read_plan
from dragoman.experiment.steps import Hashes, Step, command_of, outputs_of, runnable, steps_of
from dragoman.experiment.tables import Tables, tables_of
from dragoman.files import write_bytes

__all__ = ["Done", "Experiment", "Failed", "Outcome", "Task"]

_DONE, _FAILED, _LOG, _RUNNING = "done.json", "failed.json", "log", "running.json"


@dataclass(frozen=True)
class Done:
    """A step that was done."""

    id: str
    kind: str
    family: str
    key: str
    command: str
    seconds: float
    cpu: float
    """Seconds of all cores."""
    peak: int
    """Bytes of memory at most."""


@dataclass(frozen=True)
class Failed:
    """A step that failed."""

    id: str
    command: str
    code: int
    told: str
    """The last line of what it said."""


@dataclass(frozen=True)
class Task:
    """A step for a worker, here or elsewhere: a command and the folder for its result."""

    step: str
    kind: str
    family: str
    key: str
    folder: str
    words: tuple[str, ...]
    resumable: bool

    def __call__(self, lock: int | None = None, started: Callable[[int], None] | None = None) -> Done | Failed:
        """Runs the command."""
        folder = Path(self.folder)
        if folder.exists() and not self.resumable:
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FAILED).unlink(missing_ok=True)
        shown = shlex.join(self.words)
        began = time.monotonic()
        with (folder / _LOG).open("ab") as log, (folder / "stdout").open("wb") as out:
            log.write(f"$ {shown}\n".encode())
            log.flush()
            try:
                child = subprocess.Popen(
                    runnable(self.words), stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                    pass_fds=[] if lock is None else [lock],
                )  # fmt: skip
            except OSError as error:
                return Failed(self.step, shown, 127, f"{self.words[0]}: {error.strerror}")
            write_bytes(folder / _RUNNING, json.dumps({"pid": child.pid, "since": time.time()}).encode())
            if started is not None:
                started(child.pid)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        (folder / _RUNNING).unlink(missing_ok=True)
        seconds = time.monotonic() - began
        if child.returncode != 0:
            failed = Failed(self.step, shown, child.returncode, _last_line(folder / _LOG))
            write_bytes(folder / _FAILED, json.dumps(asdict(failed)).encode())
            return failed
        kilobytes = used.ru_maxrss
        done = Done(
            self.step, self.kind, self.family, self.key, shown, round(seconds, 2),
            round(used.ru_utime + used.ru_stime, 2), kilobytes * 1024,
        )  # fmt: skip
        write_bytes(folder / _DONE, json.dumps(asdict(done)).encode())
        return done


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


@dataclass(frozen=True)
class Outcome:
    """What a run of an experiment came to."""

    done: int
    """Steps that this run did,"""
    reused: int
    """that were done already,"""
    failed: Sequence[Failed]
    tables: Tables | None
    """None if a step failed."""


@dataclass
class Experiment:
    """A plan with the folder of its results."""

    plan: Plan
    out: Path
    steps: dict[str, Step] = field(init=False)

    def __post_init__(self) -> None:
        hashes = Hashes(self.out / "hashes.json")
        self.steps = steps_of(self.plan, self.out, hashes)
        self._hashes = hashes

    @classmethod
    def opened(cls, out: Path) -> Experiment:
        """The experiment in a folder."""
        path = out / "plan.toml"
        if not path.is_file():
            raise InputError(
                f"{out}: no experiment is here; `dragoman experiment run plan.toml --out {out}` begins one"
            )
        return cls(read_plan(path), out)

    # -- what is known

    def done(self) -> dict[str, Done]:
        """The steps that are done."""
        found = {}
        for step in self.steps.values():
            note = _read(step.folder / _DONE)
            if note is not None and note.get("key") == step.key:
                found[step.id] = Done(**note)
        return found

    def failed(self) -> dict[str, Failed]:
        """The steps that failed when they were last tried."""
        notes = {step.id: _read(step.folder / _FAILED) for step in self.steps.values()}
        return {name: Failed(**note) for name, note in notes.items() if note is not None}

    def running(self) -> dict[str, float]:
        """The steps that are under way, and since when."""
        found = {}
        for step in self.steps.values():
            note = _read(step.folder / _RUNNING)
            if note is not None and _alive(int(note["pid"])):
                found[step.id] = float(note["since"])
        return found

    def estimates(self) -> dict[str, float | None]:
        """Seconds that each step takes, by steps of its family or its kind that are done; None if there are none."""
        known: dict[str, list[float]] = {}
        for path in (self.out / "steps").glob(f"*/{_DONE}"):
            note = _read(path)
            if note is not None:
                known.setdefault(note["family"], []).append(note["seconds"])
                known.setdefault(note["kind"], []).append(note["seconds"])
        given = self.plan.seconds

        def of(step: Step) -> float | None:
            for name in (step.family, step.kind):
                if name in known:
                    return sum(known[name]) / len(known[name])
                own = name.partition(" ")[2] or name
                hint = given.get(name, given.get(own, given.get(own.partition(":")[0])))
                if hint is not None:
                    return hint
            return None

        return {step.id: of(step) for step in self.steps.values()}

    def left(self, todo: Sequence[str], jobs: int) -> tuple[float, int]:
        """Seconds for some steps on so many jobs, and how many of them nobody can tell the time of."""
        times = self.estimates()
        known = {name: times[name] or 0.0 for name in todo}
        longest: dict[str, float] = {}
        for name in todo:  # in an order in which they can run
            before = [longest.get(other, 0.0) for other in self.steps[name].needs]
            longest[name] = known[name] + max(before, default=0.0)
        total = max(sum(known.values()) / max(jobs, 1), max(longest.values(), default=0.0))
        return total, sum(times[name] is None for name in todo)

    def command(self, name: str, threads: int | None = None) -> str:
        """The command of a step, to copy."""
        return shlex.join(command_of(self.steps[name], self.steps, threads))

    # -- doing

    def check_size(self, yes: bool) -> None:
        """Refuses a grid that nobody meant."""
        if self.plan.runs <= MANY or yes:
            return
        largest = max(
            dict.fromkeys(t.family for t in self.plan.tune.values()),
            key=lambda family: sum(t.replications for t in self.plan.tune.values() if t.family == family),
        )
        line = next(
            (n for n, text in enumerate(self.plan.text.splitlines(), 1) if text.strip().startswith(f"[tune.{largest}")),
            1,
        )
        raise InputError(
            f"{self.plan.path}:{line}: the plan has {self.plan.runs:,} tuning runs, most of them of `{largest}`; "
            "--yes runs them all the same",
            str(self.plan.path), line,
        )  # fmt: skip

    def run(
        self,
        *,
        jobs: int = 1,
        threads: int | None = None,
        engine: Engine | None = None,
        yes: bool = False,
        say: Callable[[str], None] = lambda _text: None,
    ) -> Outcome:
        """Does what is left, then makes the tables."""
        self.check_size(yes)
        self.out.mkdir(parents=True, exist_ok=True)
        with _Lock(self.out, say) as lock:
            write_bytes(self.out / "plan.toml", self.plan.text.encode())
            self._hashes.save()
            reused = len(self.done())
            failed = _Scheduler(self, jobs, threads, engine, lock, say).run()
            if failed:
                return Outcome(len(self.done()) - reused, reused, failed, None)
            tables = self.tables()
            tables.save(self.out / "tables.json")
            return Outcome(len(self.done()) - reused, reused, [], tables)

    def tables(self) -> Tables:
        """The figures of a finished experiment."""
        made = tables_of(self.plan, self.texts(), {test: self.references(test) for test in self.plan.tests})
        chosen = [
            chosen_in(self.steps[f"choose {one.name}"].folder, one.name, one.on) for one in self.plan.choices.values()
        ]
        return replace(made, choices=chosen)

    def texts(self) -> dict[tuple[str, str], list[Path]]:
        """The translations of each system and test, one for each run."""
        found: dict[tuple[str, str], list[Path]] = {}
        for output in sorted(outputs_of(self.steps), key=lambda o: o.run):
            found.setdefault((output.system, output.test), []).append(self.steps[output.step].folder / "text")
        order = list(self.plan.tested)
        return dict(sorted(found.items(), key=lambda item: order.index(item[0][0])))

    def source(self, name: str) -> Path:
        """The source side of a data set, where it is now."""
        return self._sides(name)[0]

    def references(self, name: str) -> list[Path]:
        """The references of a data set."""
        return self._sides(name)[1:]

    def _sides(self, name: str) -> list[Path]:
        data = self.plan.data[name]
        step = self.steps.get(f"cut {name}")
        if step is None:
            return [Path(data.src), *map(Path, data.refs)]
        return [step.folder / str(number) for number in range(1 + len(data.refs))]


class _Scheduler:
    """Starts each step when those before it are done."""

    def __init__(
        self,
        experiment: Experiment,
        jobs: int,
        threads: int | None,
        engine: Engine | None,
        lock: int,
        say: Callable[[str], None],
    ) -> None:
        self.experiment, self.jobs, self.engine, self.lock, self.say = experiment, jobs, engine, lock, say
        self.threads = threads if threads is not None else max(1, (os.cpu_count() or 1) // jobs)
        self.children: set[int] = set()
        self.guard = threading.Lock()

    def run(self) -> list[Failed]:
        """Does all steps that are left; a failed one stops only what needs it."""
        steps, done = self.experiment.steps, set(self.experiment.done())
        todo = [name for name in steps if name not in done]
        if not todo:
            return []
        failed: list[Failed] = []
        waiting, under_way = list(todo), dict[Future[Done | Failed], str]()
        pool = ThreadPoolExecutor(self.jobs)
        try:
            while waiting or under_way:
                ready = [name for name in waiting if set(steps[name].needs) <= done]
                for name in ready[: self.jobs - len(under_way)]:
                    waiting.remove(name)
                    under_way[pool.submit(self._one, steps[name])] = name
                if not under_way:
                    break  # what waits needs something that failed
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    name, result = under_way.pop(future), future.result()
                    if isinstance(result, Failed):
                        failed.append(result)
                    else:
                        done.add(name)
                    self._tell(result, [*waiting, *under_way.values()], len(done), len(steps))
        except BaseException:
            with self.guard:
                for pid in self.children:
                    os.kill(pid, signal.SIGTERM)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return failed

    def _one(self, step: Step) -> Done | Failed:
        words = tuple(command_of(step, self.experiment.steps, self.threads))
        task = Task(step.id, step.kind, step.family, step.key, str(step.folder), words, step.resumable)
        if self.engine is not None and not self.engine.local:
            return self.engine.map(_run_task, [task])[0]
        own: list[int] = []

        def started(pid: int) -> None:
            own.append(pid)
            with self.guard:
                self.children.add(pid)

        try:
            return task(self.lock, started)
        finally:
            with self.guard:
                self.children.difference_update(own)

    def _tell(self, result: Done | Failed, todo: Sequence[str], done: int, total: int) -> None:
        if isinstance(result, Failed):
            self.say(f"[{done}/{total}] {result.id} FAILED: {result.told}")
            return
        order = [name for name in self.experiment.steps if name in set(todo)]
        seconds, unknown = self.experiment.left(order, self.jobs)
        left = (
            ""
            if not order
            else f", about {duration(seconds)} left" + (f" and {unknown} steps of unknown length" if unknown else "")
        )
        self.say(f"[{done}/{total}] {result.id}: {duration(result.seconds)}{left}")


def _run_task(task: Task) -> Done | Failed:
    """For workers elsewhere."""
    return task()


class _Lock:
    """One run at a time in a folder; commands of a killed run hold it, too, until they end."""

    def __init__(self, out: Path, say: Callable[[str], None]) -> None:
        self.path, self.say = out / "lock", say
        self.file: IO[str] | None = None

    def __enter__(self) -> int:
        self.file = self.path.open("a+", encoding="ascii")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.seek(0)
            holder = self.file.read().strip()
            if holder.isdigit() and _alive(int(holder)):
                self.file.close()
                raise InputError(f"{self.path.parent}: another run is filling this folder (process {holder})") from None
            self.say("waiting for a step of a run that was killed")
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.file.truncate(0)
        self.file.write(str(os.getpid()))
        self.file.flush()
        return self.file.fileno()

    def __exit__(self, *_: object) -> None:
        assert self.file is not None
        self.file.truncate(0)
        self.file.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
