"""Numbers of a server, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

__all__ = ["Metrics"]

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts requests by path and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def count(self, path: str, status: int, seconds: float) -> None:
        """One more; `path` is that of the route, so that callers cannot make names, or `refused`."""
        self._requests[path, status] += 1
        self._buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def text(self, gauges: Iterable[tuple[str, str, str, float]]) -> str:
        """All numbers, with more of them: name, kind, help, value."""
        lines = [
            "# HELP dragoman_requests_total Requests by path and status.",
            "# TYPE dragoman_requests_total counter",
        ]
        for (path, status), count in sorted(self._requests.items()):
            lines.append(f'dragoman_requests_total{{path="{path}",status="{status}"}} {count}')
        name = "dragoman_request_seconds"
        lines += [f"# HELP {name} Time from the first byte of a request to its answer.", f"# TYPE {name} histogram"]
        total = 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], self._buckets, strict=True):
            total += count
            lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
        lines += [f"{name}_sum {self._sum:.6f}", f"{name}_count {total}"]
        for name, kind, about, value in gauges:
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", f"{name} {value:.10g}"]
        return "\n".join(lines) + "\n"
