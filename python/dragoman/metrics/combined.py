"""A weighted sum of metrics: `0.5*bleu+0.5*chrf`, `0.7*bleu+0.3*external:comet`, `0.5*bleu-0.5*ter`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman._core import VERSION, NativeMetric
from dragoman.errors import OptionError
from dragoman.metrics.external import External
from dragoman.types import F64, Hypotheses, Metric, References

__all__ = ["Combined", "combined_from"]

_TERM = re.compile(r"(?P<sign>[+-]?)\s*(?P<weight>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*\*\s*")


@dataclass(frozen=True, slots=True)
class Combined:
    """The sum of weight x score over some metrics, each score on a scale of 0 to 100, whatever its own.

    A row of statistics is the rows of the metrics, side by side. Signs say which way is up: a metric that is better
    when higher has a positive weight and one that is better when lower a negative one, or all the other way round,
    which makes an error rate; any other mixture is refused.

    >>> from dragoman.metrics import Bleu, Chrf, Ter
    >>> Combined([(0.5, Bleu()), (0.5, Chrf())]).name
    '0.5*BLEU+0.5*chrF2'
    >>> Combined([(0.5, Bleu()), (-0.5, Ter())]).higher_is_better
    True
    """

    parts: Sequence[tuple[float, Metric]]
    """Weights and metrics."""
    higher_is_better: bool = field(init=False)
    scale: float = field(init=False, default=100.0)
    _native: NativeMetric | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = tuple((float(weight), metric) for weight, metric in self.parts)
        if not parts:
            raise OptionError("a combined metric needs at least one part, e.g. 0.5*bleu+0.5*chrf")
        for weight, metric in parts:
            if not (np.isfinite(weight) and weight):
                raise OptionError(f"the weight of {metric.name} must be a number other than 0, found {weight:g}")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "higher_is_better", self._direction())
        object.__setattr__(self, "_native", self._handle())

    def _direction(self) -> bool:
        """Whether a higher sum is better; signs that disagree are an error."""
        upward = [(weight > 0) == metric.higher_is_better for weight, metric in self.parts]
        if len(set(upward)) == 1:
            return upward[0]
        # Most people mean a score and forget the minus of an error rate.
        weight, metric = next(part for part, up in zip(self.parts, upward, strict=True) if not up)
        way = "higher" if metric.higher_is_better else "lower"
        raise OptionError(
            f"{self.name}: {metric.name} is better when {way}, and the other parts say that the sum is better when "
            f"higher: write {-weight:g}*{metric.name}"
        )

    def _handle(self) -> NativeMetric | None:
        """The sum in the core, for kernels that score rows; None if a part is in plain Python."""
        handles = [
            NativeMetric.mean() if isinstance(metric, External) else getattr(metric, "_native", None)
            for _, metric in self.parts
        ]
        if not all(isinstance(handle, NativeMetric) for handle in handles):
            return None
        return NativeMetric.combined(parts=handles, factors=self._factors)  # type: ignore[arg-type]

    @property
    def _factors(self) -> list[float]:
        """What the own score of each part is multiplied with."""
        return [self.scale * weight / metric.scale for weight, metric in self.parts]

    @property
    def name(self) -> str:
        """The sum, with the names of its parts."""
        terms = "".join(f"{weight:+g}*{metric.name}" for weight, metric in self.parts)
        return terms.removeprefix("+")

    @property
    def width(self) -> int:
        """The widths of all parts together."""
        return sum(metric.width for _, metric in self.parts)

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        """Digests the references for each part."""
        return _SideBySide([metric.prepare(references) for _, metric in self.parts])

    def score(self, statistics: F64) -> F64:
        """The score of each row of (..., width), as (...)."""
        rows = np.asarray(statistics, dtype=np.float64)
        if rows.ndim == 0 or rows.shape[-1] != self.width:
            raise OptionError(f"expected rows of {self.width} statistics, found an array of shape {rows.shape}")
        total, first = np.zeros(rows.shape[:-1]), 0
        for factor, (_, metric) in zip(self._factors, self.parts, strict=True):
            total = total + factor * metric.score(rows[..., first : first + metric.width])
            first += metric.width
        return np.asarray(total)

    def sentence_level(self) -> Combined:
        """The sum of the sentence-level forms."""
        return Combined([(weight, metric.sentence_level()) for weight, metric in self.parts])

    def signature(self) -> str:
        """The sum, and the signatures of its parts."""
        version = f"|version:dragoman-{VERSION}"
        parts = [metric.signature().removesuffix(version).replace("|", ",") for _, metric in self.parts]
        return "|".join([self.name, *parts]) + version


@dataclass(frozen=True, slots=True)
class _SideBySide:
    parts: list[References]

    def statistics(self, hypotheses: Hypotheses) -> F64:
        return np.concatenate([part.statistics(hypotheses) for part in self.parts], axis=1)


def combined_from(spec: str, one: Callable[[str], Metric]) -> Combined:
    """A sum from its text form, WEIGHT*METRIC+WEIGHT*METRIC...; `one` makes a metric from its text form.

    >>> from dragoman.metrics import metric_from
    >>> combined_from("0.5*bleu:smooth=add-k - 2e-1*ter", metric_from).name
    '0.5*BLEU-0.2*TER'
    """
    spec = spec.strip()
    terms = [found for found in _TERM.finditer(spec) if not found.start() or found["sign"]]
    if not terms or terms[0].start():
        raise OptionError(f"a sum of metrics is WEIGHT*METRIC+WEIGHT*METRIC, e.g. 0.5*bleu+0.5*chrf, found `{spec}`")
    ends = [*(term.start() for term in terms[1:]), len(spec)]
    return Combined(
        [
            (float(term["sign"] + term["weight"]), one(spec[term.end() : end].strip()))
            for term, end in zip(terms, ends, strict=True)
        ]
    )
