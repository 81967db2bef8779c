"""What a metric can do inside a kernel. Code asks for a capability, never for a metric's name."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dragoman._core import NativeMetric, refusal
from dragoman.errors import OptionError
from dragoman.types import Metric

__all__ = ["AdjustableLevel", "capabilities", "require"]


@runtime_checkable
class AdjustableLevel(Protocol):
    """A metric whose sentence-level form can be smoothed in other ways, as tuners ask for: BLEU."""

    def adjusted_level(
        self,
        *,
        alpha: float | None = None,
        unigrams: bool = False,
        length_scale: float | None = None,
        length_offset: float | None = None,
    ) -> Metric:
        """The sentence-level form with another add-alpha and another reference length."""
        ...


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
