"""A Ray cluster: one of our own on this machine, which nobody else can reach, or one that is there.

Everything that can be wrong with it is one sentence, before the work starts.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Any

from dragoman.errors import EngineError

__all__ = ["Cluster", "Node", "load_ray"]

_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With 0, Ray uses the loopback address on every system: nothing of a local cluster can be reached from outside."""
_NICENESS = "RAY_worker_niceness"
"""Ray gives workers 15, so that they get next to nothing of a machine that does something else, too."""
_TOKEN = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_SECONDS = 10.0
"""How long an address may take to answer."""
_LEAST_STORE = 80 << 20
"""Bytes: Ray takes no smaller object store."""


@dataclass(frozen=True)
class Node:
    """A machine of a cluster."""

    id: str
    address: str
    cpus: int
    store: int
    """Bytes of its object store."""


def load_ray() -> Any:
    """The module, quiet: what matters is said by us."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415  214 MB, on use only
    except ImportError:
        raise EngineError("the engine ray needs Ray: pip install 'dragoman[ray]'") from None
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


class Cluster:
    """A connection to a cluster, until `close`."""

    def __init__(self, address: str | None, cpus: int | None, store: int | None) -> None:
        self.address = address
        self._own = False
        """Whether the connection is ours, and not one that this process had before."""
        if address is None:
            os.environ.setdefault(_LOOPBACK, "0")
            os.environ.setdefault(_NICENESS, "0")
        self.ray = load_ray()
        if self.ray.is_initialized():
            self._check_same()
        elif address is None:
            self._start(cpus, store)
        else:
            self._connect(address)

    def _check_same(self) -> None:
        """A process is part of one cluster at most; what it is part of is used."""
        now = self.ray.get_runtime_context().gcs_address
        if self.address is not None and now != self.address:
            raise EngineError(
                f"this process is part of the Ray cluster {now} and cannot join {self.address}: "
                "call ray.shutdown() first"
            )

    def _start(self, cpus: int | None, store: int | None) -> None:
        """A cluster of this machine alone, on its loopback address, with a token of its own."""
        from ray._private import ray_constants  # noqa: PLC0415

        if not any(name in os.environ for name in _TOKEN):
            os.environ[_TOKEN[0]] = secrets.token_hex(32)
        ray_constants.ENABLE_RAY_CLUSTER = False  # read when Ray was imported, perhaps by somebody else
        try:
            self.ray.init(
                address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, configure_logging=False,
                object_store_memory=None if store is None else max(store, _LEAST_STORE),
            )  # fmt: skip
        except Exception as error:
            self.ray.shutdown()
            raise EngineError(f"no local Ray cluster could be started: {_first(error)}") from error
        self._own = True

    def _connect(self, address: str) -> None:
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdigit():
            raise EngineError(f"expected the address of a Ray cluster, host:port, found `{address}`")
        try:
            socket.create_connection((host, int(port)), _SECONDS).close()
        except OSError as error:
            raise EngineError(
                f"no Ray cluster answers at {address} ({error.strerror or error}): start one there with "
                f"`ray start --head --port {port}`, or name the address that it printed"
            ) from None
        if host in {"127.0.0.1", "localhost"}:
            from ray._private import ray_constants  # noqa: PLC0415

            ray_constants.ENABLE_RAY_CLUSTER = False  # else Ray would look for it at an address of the network
        try:
            self.ray.init(address=address, log_to_driver=False, configure_logging=False)
        except Exception as error:
            raise _refused(address, error) from error
        self._own = True

    def nodes(self) -> list[Node]:
        """Machines that have CPUs for us, in the order of their addresses."""
        found = [
            Node(str(n["NodeID"]), str(n["NodeManagerAddress"]), int(n["Resources"]["CPU"]),
                 int(n["Resources"].get("object_store_memory", 0)))
            for n in self.ray.nodes()
            if n["Alive"] and n["Resources"].get("CPU", 0) >= 1
        ]  # fmt: skip
        return sorted(found, key=lambda node: (node.address, node.id))

    def close(self) -> None:
        """Leaves the cluster; one that was started here ends."""
        if self._own:
            self.ray.shutdown()


def _refused(address: str, error: Exception) -> EngineError:
    text = f"{error} {error.__cause__ or ''}"  # that a token is wrong, Ray says in the cause alone
    if "ersion mismatch" in text:
        told = " ".join(str(error).split())
        return EngineError(f"the Ray cluster {address} has other versions than this process: {told}")
    if "uthenticat" in text or "token" in text.lower():
        return EngineError(
            f"the Ray cluster {address} refuses this process: give it the cluster's token in RAY_AUTH_TOKEN or "
            "~/.ray/auth_token (`ray get-auth-token` prints it on the head node)"
        )
    return EngineError(
        f"the Ray cluster {address} cannot be used from here: {_first(error)}; this machine must be one of its nodes "
        "(`ray start --address`)"
    )


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
