"""Tasks on many machines, by Ray (https://docs.ray.io). See docs/cluster.md."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman._core import parse_size
from dragoman.engine import travel
from dragoman.engine.base import Shared
from dragoman.engine.cluster import Cluster
from dragoman.engine.pooled import Pooled
from dragoman.errors import EngineError
from dragoman.options import check, option

if TYPE_CHECKING:
    from dragoman.engine.crew import Crew

__all__ = ["Ray"]


@dataclass(frozen=True)
class Ray(Pooled):
    """Several tasks at once, on the machines of a Ray cluster, or on this one by a cluster of its own.

    A cluster of its own listens on the loopback address only, and ends with the block or the process. Each node has one
    process with a thread for each CPU, so that a model is opened once there. A task whose worker is lost is given to
    another one; each counts once.

        with Ray("10.0.0.1:6379") as engine:
            tune(problem, Online(), engine=engine)
    """

    address: str | None = option(
        None, help="Of a cluster that is there, host:port; without one, a cluster of this machine is started."
    )
    workers: int = option(
        0,
        help="Tasks at once, at most; 0: as many as the cluster has CPUs. Inside the block, how many there are.",
        min=0,
    )
    processes: int = option(
        1,
        help="Worker processes on each node, which share its CPUs. Each opens the model; more than one is for work in "
        "plain Python, whose threads get in each other's way.",
        min=1,
    )
    deadline: float = option(
        0.0,
        help="Seconds that a task may take before its worker is ended and another one gets it; 0: when it takes 20 "
        "times as long as the slowest before it, and a minute at least.",
        min=0,
    )
    send: bool = option(
        False,
        help="Whether models are sent to the nodes and kept there in a cache, verified by their hashes. Else each node "
        "must see the model under the same path.",
    )
    store: str = option("512M", help="Memory of the object store of a cluster of this machine.", metavar="SIZE")

    def __post_init__(self) -> None:
        check(self, "ray")
        parse_size(self.store)

    @property
    def _crew(self) -> Crew:
        from dragoman.engine.crew import Crew  # noqa: PLC0415

        assert isinstance(self._kept.pool, Crew)
        return self._kept.pool

    def _open(self) -> Executor:
        cluster = Cluster(self.address, self.workers or None, parse_size(self.store))
        from dragoman.engine.crew import Crew, Limits  # noqa: PLC0415  needs Ray

        try:
            crew = Crew(cluster, Limits(self.workers or None, self.processes, self.deadline, self.send))
        except BaseException:
            cluster.close()
            raise
        self._kept.more = cluster, self.workers
        object.__setattr__(self, "workers", crew.threads)
        return crew

    def _closed(self) -> None:
        cluster, workers = self._kept.more
        object.__setattr__(self, "workers", workers)
        cluster.close()

    def share(self, value: Any) -> Shared[Any]:
        """Puts the value into the object store, and sees to it that every node has the folders that it needs."""
        if not self._kept.blocks:
            return super().share(value)
        from dragoman.engine import wire  # noqa: PLC0415  needs Ray

        with travel.noting() as folders:
            content = wire.dumps(value)
        size, room = len(content[0]), self._crew.store
        if size > room:
            raise EngineError(
                f"what every worker must know takes {size / 1e6:,.0f} MB, and the smallest object store of the cluster "
                f"has {room / 1e6:,.0f} MB: start nodes with a larger --object-store-memory"
                + ("" if self.address else " (here: --engine ray:store=SIZE)")
            )
        return self._crew.share(value, content, list(folders.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        workers = self._kept.more[1] if self._kept.blocks else self.workers
        return Ray, (self.address, workers, self.processes, self.deadline, self.send, self.store)
