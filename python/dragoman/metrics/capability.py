"""What a metric can do inside a kernel. Code asks for a capability, never for a metric's name."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dragoman._core import NativeMetric, refusal
from dragoman.errors import OptionError
from dragoman.types import Metric

__all__ = ["AdjustableLevel", "capabilities", "needs_references", "require", "score_columns"]


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


def score_columns(metric: Metric) -> tuple[str, ...]:
    """The columns of scores that a metric reads: that of `external`, and those of a sum's parts.

    A metric of your own that reads some says so with an attribute `columns`.

    >>> from dragoman.metrics import metric_from
    >>> score_columns(metric_from("0.5*bleu+0.5*external:comet"))
    ('comet',)
    """
    parts = getattr(metric, "parts", ())
    own = (getattr(metric, "columns", ()), *(score_columns(part) for _, part in parts))
    return tuple(dict.fromkeys(column for some in own for column in some))


def needs_references(metric: Metric) -> bool:
    """Whether a metric looks at references: all do, but those that read columns of scores only.

    A metric of your own that needs none says so with an attribute `needs_references = False`.
    """
    parts = getattr(metric, "parts", ())
    if parts:
        return any(needs_references(part) for _, part in parts)
    return bool(getattr(metric, "needs_references", True))
