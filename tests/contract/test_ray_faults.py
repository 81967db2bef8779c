"""What a cluster may do to a run: each fault at a random moment, and the same result."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from tests import clusters, tiny
from tests.unit.test_engines_everywhere import problem

from dragoman import rules
from dragoman.engine import Ray, Serial, crew
from dragoman.tuning import Online, tune
from dragoman.weights import load as load_weights

DEADLINE = 2.0
TUNER = Online(batch=2, rate=0.1, l1=0.001)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def cluster(two_nodes: Ray) -> Any:
    """The cluster of all tests, whose engine gives its CPUs back while these tests run."""
    return clusters.RUNNING[-1]


@pytest.fixture(scope="module")
def engine(two_nodes: Ray) -> Ray:
    return two_nodes


@contextmanager
def meanwhile(fault: Callable[[], None], after: float) -> Iterator[None]:
    """Does something bad while the block is under way."""
    timer = threading.Timer(after, fault)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def slow(task: int) -> tuple[int, int]:
    time.sleep(0.05)
    return task, os.getpid()


def workers(engine: Ray) -> list[int]:
    return [hand.pid for hand in engine._crew._hands if hand.pid]


def ended(engine: Ray, number: signal.Signals, rng: random.Random) -> Callable[[], None]:
    def fault() -> None:
        until = time.monotonic() + 120
        while not (there := workers(engine)) and time.monotonic() < until:
            time.sleep(0.01)  # the last one was ended a moment ago
        os.kill(rng.choice(there), number)

    return fault


def check_tasks(engine: Ray, fault: Callable[[], None], after: float) -> None:
    """Each task ends once, in order and as they arrive."""
    with meanwhile(fault, after):
        assert [task for task, _ in engine.map(slow, range(24))] == list(range(24))
    with meanwhile(fault, after):
        arrived = Counter(number for number, _ in engine.arriving(slow, range(24), 3))
    assert arrived == Counter(range(24)), "none is lost, and none counts twice"


def weights(result: Any) -> dict[str, float]:
    return {name: value for name, value in sorted(result.weights.to_dict().items()) if value}


def check_tuning(model: Path, engine: Ray, fault: Callable[[], None], after: float) -> None:
    """The same weights as without any fault, from as many updates."""
    want = tune(problem(model, tiny.SETS), TUNER, rounds=3, select="last", engine=Serial(), seed=4)
    with meanwhile(fault, after):
        found = tune(problem(model, tiny.SETS), TUNER, rounds=3, select="last", engine=engine, seed=4)
    assert weights(found) == weights(want)
    assert [record["loss"] for record in found.trace[1:]] == [record["loss"] for record in want.trace[1:]]


def killed(model: Path, engine: Ray, rng: random.Random) -> None:
    fault = ended(engine, signal.SIGKILL, rng)
    check_tasks(engine, fault, rng.uniform(0.05, 0.5))
    check_tuning(model, engine, fault, rng.uniform(0.0, 0.6))


def hung(model: Path, engine: Ray, rng: random.Random) -> None:
    fault = ended(engine, signal.SIGSTOP, rng)
    with meanwhile(fault, rng.uniform(0.05, 0.4)):
        assert [task for task, _ in engine.map(slow, range(24))] == list(range(24))


def big(task: int) -> Any:
    return np.full(3_000_000, task, dtype=np.float64)


def full(model: Path, engine: Ray, rng: random.Random) -> None:
    """Results of 24 MB each, many times what the stores of 80 MB hold: Ray writes them to disk."""
    count = rng.randint(14, 20)
    for task, found in enumerate(engine.map(big, range(count))):
        assert found[0] == found[-1] == task


def text(folder: Path, pairs: int = 4_000) -> tuple[Path, Path, Path]:
    """Text and links that make many rules."""
    rng, files = random.Random(1), (folder / "source", folder / "target", folder / "links")
    lines = [[f"w{int(rng.paretovariate(0.8)) % 2_000}" for _ in range(12)] for _ in range(pairs)]
    files[0].write_text("".join(" ".join(line) + "\n" for line in lines))
    files[1].write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
    files[2].write_text((" ".join(f"{i}-{11 - i}" for i in range(12)) + "\n") * pairs)
    return files


def exchanged(model: Path, engine: Ray, rng: random.Random) -> None:
    """Rules that travel by ranges of their phrases, while a worker is killed: the bytes of one process."""
    with TemporaryDirectory() as folder:
        files, one, many = text(Path(folder)), Path(folder) / "one", Path(folder) / "many"
        rules.extract(*files, one)
        with meanwhile(ended(engine, signal.SIGKILL, rng), rng.uniform(0.0, 2.0)):
            rules.extract(*files, many, engine=engine, memory="4M")
        assert one.read_bytes() == many.read_bytes()


def test_a_worker_that_is_killed_while_rules_are_exchanged(model: Path, engine: Ray) -> None:
    exchanged(model, engine, random.Random(4))


def test_a_worker_that_is_killed(model: Path, engine: Ray) -> None:
    killed(model, engine, random.Random(1))


def test_a_worker_that_hangs(model: Path, engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    with_deadline(engine, monkeypatch)
    hung(model, engine, random.Random(2))


def with_deadline(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(engine._crew, "limits", replace(engine._crew.limits, deadline=DEADLINE))


def test_a_worker_that_is_stopped_with_its_first_task(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task has told how long one takes: the worker gives no sign of life."""
    monkeypatch.setattr(crew, "_LOOK", 0.2)
    monkeypatch.setattr(crew, "_SILENT", 1.0)
    engine.map(slow, range(2))  # the thread that looks learns of it
    assert engine._crew.limits.deadline == 0.0
    began = time.monotonic()
    with meanwhile(ended(engine, signal.SIGSTOP, random.Random(5)), 0.1):
        assert engine.map(patient, range(4)) == list(range(4))
    assert time.monotonic() - began < 55, "before the least deadline of a task, a minute"


def patient(task: int) -> int:
    time.sleep(0.3)
    return task


def test_an_object_store_that_is_full(model: Path, engine: Ray) -> None:
    full(model, engine, random.Random(3))


def lost(model: Path, engine: Ray, cluster: Any, rng: random.Random) -> None:
    """A third node joins, gets work, and is lost with it."""
    node = clusters.add(cluster)
    until = time.monotonic() + 60
    while len(workers(engine)) < 3 and time.monotonic() < until:
        engine.map(slow, range(40))
    assert len(workers(engine)) == 3, "a node that joins is used"
    fault: Callable[[], None] = lambda: cluster.remove_node(node, allow_graceful=False)  # noqa: E731
    with meanwhile(fault, rng.uniform(0.0, 0.5)):
        check_tuning(model, engine, lambda: None, 0.0)
        assert [task for task, _ in engine.map(slow, range(40))] == list(range(40))


TWENTY = pytest.mark.parametrize("seed", range(20))


@pytest.mark.long
@TWENTY
def test_a_node_that_is_lost(model: Path, engine: Ray, cluster: Any, seed: int) -> None:
    lost(model, engine, cluster, random.Random(seed))


@pytest.mark.long
@TWENTY
@pytest.mark.parametrize("scenario", [killed, hung, full, exchanged])
def test_twenty_times(
    model: Path, engine: Ray, scenario: Callable[..., None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scenario is hung:
        with_deadline(engine, monkeypatch)
    scenario(model, engine, random.Random(100 + seed))


COMMAND = """
import sys
from tests import tiny
from tests.unit.test_engines_everywhere import problem
from dragoman.engine import Ray, Serial
from dragoman.tuning import Online, RunDir, tune
from pathlib import Path
engine = Ray(workers=2, store="80M") if sys.argv[3] == "ray" else Serial()
tuner = Online(batch=2, rate=0.1, l1=0.001)
text = problem(Path(sys.argv[1]), tiny.SETS)
step = lambda record: print(record["step"], flush=True)
run = RunDir(Path(sys.argv[2]))
tune(text, tuner, rounds=8, select="last", engine=engine, seed=4, run=run, resume=True, progress=step)
"""


def driver(model: Path, run: Path, engine: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(model), str(run), engine], stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The weights of a run that nobody killed."""
    run = tmp_path_factory.mktemp("run") / "want"
    plain = driver(model, run, "serial")
    plain.communicate()
    assert plain.returncode == 0
    return saved(run)


def saved(run: Path) -> dict[str, float]:
    """The weights of a run by name; in which order names were met is not promised."""
    found = load_weights(run / "weights.toml").to_dict()
    return {name: value for name, value in found.items() if value}


@pytest.mark.long
@TWENTY
def test_a_driver_that_is_killed(model: Path, tmp_path: Path, undisturbed: dict[str, float], seed: int) -> None:
    rng, run = random.Random(seed), tmp_path / str(seed)
    first = driver(model, run, "ray")
    assert first.stdout is not None
    for _ in range(rng.randint(1, 6)):
        first.stdout.readline()
    time.sleep(rng.uniform(0, 0.1))
    first.kill()
    first.communicate()
    second = driver(model, run, "ray")
    told, _ = second.communicate()
    assert second.returncode == 0
    assert not told.startswith("0\n"), "it went on"
    assert saved(run) == undisturbed
