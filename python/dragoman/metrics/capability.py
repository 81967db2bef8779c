"""What a metric can do inside a kernel. Code asks for a capability, never for a metric's name."""

from __future__ import annotations

from dragoman._core import NativeMetric, refusal
from dragoman.errors import OptionError
from dragoman.types import Metric

__all__ = ["capabilities", "require"]


def capabilities(metric: Metric) -> frozenset[str]:
    """The names of a metric's capabilities; a metric in plain Python has none.

    >>> from dragoman.metrics import Bleu, Chrf
    >>> sorted(capabilities(Bleu(tokenize="none"))), sorted(capabilities(Chrf()))
    (['approximate', 'incremental', 'linear'], [])
    """
    return frozenset(getattr(metric, "capabilities", ()))


def require(metric: Metric, capability: str, what: str) -> NativeMetric:
    """The metric's handle in the core; an error that names the capability if it lacks that."""
    handle = getattr(metric, "_native", None)
    if isinstance(handle, NativeMetric) and capability in capabilities(metric):
        return handle
    raise OptionError(f"{refusal(what, capability)}; found {metric.signature()}")
