"""Ray as an engine: the laws, what may listen, what is sent, and what is said before the work starts."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests import tiny
from tests.unit.test_train import content, sentences, write

from dragoman.decoder import Decoder
from dragoman.engine import Engine, Ray, Shared, crew, engine_of, wire
from dragoman.engine.cluster import Cluster, Node, _refused
from dragoman.engine.crew import Crew, Limits, _shares
from dragoman.errors import EngineError, OptionError
from dragoman.testing import check_engine
from dragoman.training import train


def test_two_nodes_keep_the_laws(two_nodes: Ray) -> None:
    assert isinstance(two_nodes, Engine)
    check_engine(two_nodes)


def test_named_on_the_command_line() -> None:
    assert engine_of(3, "ray") == Ray(workers=3)
    assert engine_of(None, "ray://a.b:6379") == Ray("a.b:6379")
    assert engine_of(4, "ray:address=a:1,deadline=30,send,store=1G") == Ray(
        "a:1", 4, deadline=30.0, send=True, store="1G"
    )
    with pytest.raises(OptionError, match="unknown option `dead`"):
        engine_of(1, "ray:dead=3")
    with pytest.raises(OptionError, match="deadline must be"):
        Ray(deadline=-1.0)


def pid(_task: int) -> int:
    return os.getpid()


def node(_task: int) -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def test_a_process_on_each_node(two_nodes: Ray) -> None:
    assert len(set(two_nodes.map(pid, range(30)))) == 2
    assert len(set(two_nodes.map(node, range(30)))) == 2


def test_nothing_listens_on_an_address_of_the_network(two_nodes: Ray) -> None:
    """Two nodes, their workers and this process listen; the driver's ports were opened by `ray.init`."""
    import psutil  # type: ignore[import-untyped]

    own = [psutil.Process(), *psutil.Process().children(recursive=True)]
    there = [c for process in own for c in process.net_connections("tcp") if c.status == "LISTEN"]
    assert len(there) > 5
    assert {c.laddr.ip.removeprefix("::ffff:") for c in there} == {"127.0.0.1"}
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_an_address_that_nobody_has() -> None:
    cluster = Cluster.__new__(Cluster)  # not joined: another test may have joined one
    with pytest.raises(EngineError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 .*ray start --head"):
        cluster._connect("127.0.0.1:1")
    with pytest.raises(EngineError, match="expected the address of a Ray cluster"):
        cluster._connect("here")


def test_one_cluster_at_a_time(two_nodes: Ray) -> None:
    with pytest.raises(EngineError, match=r"is part of the Ray cluster .* and cannot join 10"), Ray("10.0.0.1:6379"):
        pass


def test_versions_that_do_not_fit() -> None:
    with pytest.raises(EngineError, match=r"the node 10\.0\.0\.7 has dragoman 0\.0\.1 on Python 3\.9"):
        Crew._fits(Node("x", "10.0.0.7", 1, 0), ("0.0.1", "3.9", 1))
    told = str(_refused("a:1", RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.59.0")))
    assert told == (
        "the Ray cluster a:1 has other versions than this process: Version mismatch: The cluster was started with: "
        "Ray: 2.59.0"
    )
    assert "RAY_AUTH_TOKEN" in str(_refused("a:1", RuntimeError("InvalidAuthToken: Authentication token is missing")))
    assert "must be one of its nodes" in str(_refused("a:1", RuntimeError("no raylet here\nat all")))


STRANGER = """
import sys
from dragoman.engine import Ray
from dragoman.errors import EngineError
try:
    with Ray(sys.argv[1]):
        print("let in")
except EngineError as error:
    print(error)
"""


def test_a_wrong_token_is_refused(two_nodes: Ray) -> None:
    told = subprocess.run(
        [sys.executable, "-c", STRANGER, str(two_nodes.address)], env={**os.environ, "RAY_AUTH_TOKEN": "1" * 64},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "refuses this process: give it the cluster's token in RAY_AUTH_TOKEN" in told and told.count("\n") == 1


def test_too_little_memory(two_nodes: Ray) -> None:
    with pytest.raises(EngineError, match=r"must know takes 90 MB, .* --object-store-memory"):
        two_nodes.share(b"x" * 90_000_000)


@dataclass(frozen=True)
class AtHome:
    home: int


def where(_task: AtHome) -> int:
    time.sleep(0.02)
    return os.getpid()


def test_tasks_go_where_those_before_them_went(two_nodes: Ray) -> None:
    """Not all: a worker that would be idle takes others."""
    rounds = [two_nodes.map(where, [AtHome(home) for home in (1, 2, 3, 4)]) for _ in range(12)]
    stayed = sum(one == other for before, after in pairwise(rounds) for one, other in zip(before, after, strict=True))
    assert stayed >= 34, "of 44"


class Translate:
    def __init__(self, decoder: Shared[Decoder]) -> None:
        self.decoder = decoder

    def __call__(self, line: str) -> tuple[str, str, int]:
        decoder = self.decoder.value
        return decoder.translate([line])[0], str(decoder.model.folder), os.getpid()


LINES = tiny.lines(20)


def test_a_model_that_a_node_cannot_see(two_nodes: Ray, tmp_path: Path) -> None:
    decoder = Decoder(tiny.model(tmp_path / "model"), features=tiny.SETS)
    shutil.move(tmp_path / "model", tmp_path / "elsewhere")
    with pytest.raises(EngineError, match=r"the node 127\.0\.0\.1 does not have what .*--engine ray:send"):
        two_nodes.share(decoder)


def test_another_model_under_the_same_path(two_nodes: Ray, tmp_path: Path) -> None:
    decoder = Decoder(tiny.model(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")
    tiny.model(tmp_path / "model", seed=1)
    with pytest.raises(EngineError, match="expected the model"):
        two_nodes.share(decoder)


def test_a_model_is_opened_where_it_is_or_sent(two_nodes: Ray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder(tiny.model(tmp_path / "model", seed=5), features=tiny.SETS)
    want = decoder.translate(LINES)
    found = two_nodes.map(Translate(two_nodes.share(decoder)), LINES)
    assert [text for text, _, _ in found] == want and {folder for _, folder, _ in found} == {str(tmp_path / "model")}
    assert len({process for _, _, process in found}) == 2
    other = Decoder(tiny.model(tmp_path / "sent", seed=6), features=tiny.SETS)
    want = other.translate(LINES)
    crew = two_nodes._crew
    monkeypatch.setattr(crew, "limits", replace(crew.limits, send=True))
    shared = two_nodes.share(other)
    shutil.rmtree(tmp_path / "sent")
    found = two_nodes.map(Translate(shared), LINES)
    assert [text for text, _, _ in found] == want
    assert all(str(tmp_path) not in folder for _, folder, _ in found)


@pytest.mark.parametrize(
    ("cpus", "workers", "processes", "want"),
    [([4, 2], None, 1, [4, 2]), ([4, 2], 3, 1, [2, 1]), ([4, 2], None, 2, [2, 2, 1, 1]), ([3], 2, 5, [1, 1]),
     ([1, 1, 1], 2, 1, [1, 1])],
)  # fmt: skip
def test_shares(cpus: list[int], workers: int | None, processes: int, want: list[int]) -> None:
    nodes = [Node(str(at), "", count, 0) for at, count in enumerate(cpus)]
    assert [threads for _, threads in _shares(nodes, Limits(workers, processes, 0.0, False))] == want


def test_what_is_shared_travels_with_tasks_alone(two_nodes: Ray) -> None:
    import pickle

    shared: Any = two_nodes.share([1, 2])
    assert shared.value == [1, 2]
    with pytest.raises(pickle.PicklingError, match="travels with the tasks"):
        pickle.dumps(shared)
    nested = two_nodes.share({"inside": shared})
    assert two_nodes.map(Inside(nested), [0, 1]) == [1, 2]


def test_what_a_worker_lacks() -> None:
    """Everything that a value needs, but nothing twice, and nothing that is behind what it knows."""
    base = wire.Put(("base", None), (b"b", []), 0)
    first = wire.Put(("first", None), (b"1", [base]), 1)
    second = wire.Put(("second", None), (b"2", [first, base]), 2)
    large = wire.Put(("large", "reference"), (b"", [second]), 3)
    assert {put.key for put in wire.missing([large, second], set())} == {"base", "first", "second", "large"}
    assert {put.key for put in wire.missing([large], {"first", "base"})} == {"second", "large"}
    assert wire.missing([second], {"second"}) == []
    assert wire.brought([large, first]) == [("first", b"1", [("base", None)])]


class Holds:
    """Reads a shared value, and says which small ones its process keeps."""

    def __init__(self, shared: Shared[Any] | None) -> None:
        self.shared = shared

    def __call__(self, _task: int) -> tuple[Any, set[str]]:
        return self.shared.value if self.shared else None, set(wire._BROUGHT)


def test_small_values_go_with_tasks_and_are_forgotten(two_nodes: Ray) -> None:
    small: Any = two_nodes.share("small")
    large: Any = two_nodes.share(b"x" * 100_000)
    assert small.ref is None and large.ref is not None
    key = small.key
    assert all(value == "small" and key in kept for value, kept in two_nodes.map(Holds(small), range(8)))
    assert all(len(value) == 100_000 and large.key not in kept for value, kept in two_nodes.map(Holds(large), range(8)))
    del small
    two_nodes._crew._works.clear()  # the last calls' work is kept, and what it needs
    gc.collect()
    two_nodes.map(Holds(None), range(8))
    assert not any(key in kept for _, kept in two_nodes.map(Holds(None), range(8)))


@pytest.mark.parametrize(("short", "most"), [(10.0, 2), (0.0, 1)])
def test_a_short_task_waits_at_its_worker(
    two_nodes: Ray, monkeypatch: pytest.MonkeyPatch, short: float, most: int
) -> None:
    """So that the way there and back costs nothing; a long one would wait while another worker is free."""
    monkeypatch.setattr(crew, "_SHORT", short)
    results = two_nodes.stream(where, [AtHome(0)] * 20, 9)
    seen = [max(len(hand.flights) for hand in two_nodes._crew._hands) for _ in results]
    assert max(seen[4:12]) == most


class Inside:
    def __init__(self, shared: Shared[Any]) -> None:
        self.shared = shared

    def __call__(self, at: int) -> int:
        return int(self.shared.value["inside"].value[at])


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raises(task: int) -> int:
    raise Odd(task, 2)


def test_an_error_that_cannot_travel_is_told(two_nodes: Ray) -> None:
    with pytest.raises(EngineError, match="Odd: 1 and 2"):
        two_nodes.map(raises, [1])


def test_a_model_trained_on_two_nodes(two_nodes: Ray, tmp_path: Path) -> None:
    """The bytes of one machine; word links in shards are the same on any engine."""
    pair = write(tmp_path, sentences())
    quick: dict[str, Any] = {
        "align_samplers": 1,
        "align_sweeps": (2, 2, 2),
        "align_shards": 3,
        "order": 3,
        "classes": (),
    }
    for name, engine in (("here", None), ("there", two_nodes)):
        train(*pair, tmp_path / name, engine=engine, languages=("de", "en"), say=lambda _level, _text: None, **quick)
    assert content(tmp_path / "here") == content(tmp_path / "there")
