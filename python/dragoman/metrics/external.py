"""Any number that came with a hypothesis (COMET, a human's score) as a metric: its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.errors import InputError
from dragoman.metrics.native import sign
from dragoman.options import check, option
from dragoman.types import F64, Hypotheses, References

__all__ = ["External"]


@dataclass(frozen=True, slots=True)
class External:
    """The mean of a column of precomputed scores. References are not looked at.

    A row of statistics is: the score, and 1.
    """

    column: str = option("score", help="Which of the scores of a hypothesis: a key of `scores` in JSONL lists.")
    higher_is_better: bool = option(True, help="Whether more is better.")
    scale: float = option(
        1.0, help="What a perfect hypothesis gets: divides scores where formulas want 0 to 1.", above=0
    )

    def __post_init__(self) -> None:
        check(self, "external")

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads of a hypothesis."""
        return (self.column,)

    @property
    def needs_references(self) -> bool:
        """No."""
        return False

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column

    @property
    def width(self) -> int:
        """2."""
        return 2

    def prepare(self, references: Sequence[Sequence[str]]) -> References:  # noqa: ARG002
        """Nothing to digest."""
        return _Column(self.column)

    def score(self, statistics: F64) -> F64:
        """The mean: sum over count; 0 where there is nothing."""
        total, count = statistics[..., 0], statistics[..., 1]
        return np.asarray(np.divide(total, count, out=np.zeros_like(total, dtype=np.float64), where=count > 0))

    def sentence_level(self) -> External:
        """Itself."""
        return self

    def signature(self) -> str:
        """The column and which way is up."""
        return sign("external", column=self.column, better="higher" if self.higher_is_better else "lower")


@dataclass(frozen=True, slots=True)
class _Column:
    column: str

    def statistics(self, hypotheses: Hypotheses) -> F64:
        if self.column not in hypotheses.scores:
            have = ", ".join(sorted(hypotheses.scores)) or "none at all"
            raise InputError(f"no hypothesis has a score called `{self.column}`; there are: {have}")
        values = hypotheses.scores[self.column]
        if len(values) != len(hypotheses):
            raise InputError(f"`{self.column}` has {len(values)} scores for {len(hypotheses)} hypotheses")
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise InputError(f"hypothesis {bad[0] + 1} has no finite score called `{self.column}`")
        return np.column_stack([values, np.ones(len(values))])
