"""Ray clusters on this machine, for tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Ray reads these when it is imported.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", "0" * 64)
os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", "300")  # a busy machine is slow to begin
os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # else workers get next to nothing of a busy machine

STORE = 80 << 20
"""Bytes of the object store of a node: the least that Ray takes."""


RUNNING: list[Any] = []
"""Clusters of this process, the last one last."""


@contextmanager
def nodes(count: int, cpus: int = 1) -> Iterator[Any]:
    """A cluster of some nodes, which all use the loopback address."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as cache, pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", cache)  # where nodes put models that are sent
            for _ in range(count):
                add(cluster, cpus)
            patch.undo()
            RUNNING.append(cluster)
            yield cluster
    finally:
        cluster.shutdown()


def add(cluster: Any, cpus: int = 1) -> Any:
    """One more node. Ray gives a node 30 seconds to begin, which a busy machine may not keep: it is tried again."""
    for left in reversed(range(3)):
        try:
            return cluster.add_node(
                num_cpus=cpus, object_store_memory=STORE, include_dashboard=False, node_ip_address="127.0.0.1"
            )
        except Exception as error:  # noqa: PERF203
            if not left or "timed out during startup" not in str(error):
                raise
    return None
