"""Word error rate: insertions, deletions and substitutions for each word of the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dragoman._core import NativeMetric
from dragoman.metrics.native import TokenizedForm, sign
from dragoman.options import check, option

__all__ = ["Wer"]


@dataclass(frozen=True, slots=True)
class Wer(TokenizedForm):
    """Word error rate in percent; lower is better. Of several references the nearest counts.

    A row of statistics is: edits, words of the reference.
    """

    tokenize: str = option("none", help="As for BLEU; speech recognisers usually give words already.")
    lowercase: bool = option(False, help="Compare without case.")
    higher_is_better: ClassVar[bool] = False
    _native: NativeMetric = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "wer")
        object.__setattr__(self, "_native", NativeMetric.wer(**self._core_options))

    @property
    def name(self) -> str:
        """WER."""
        return "WER"

    def signature(self) -> str:
        """Every option that changes the figure."""
        return sign(self.name, case="lc" if self.lowercase else "mixed", tok=self.tokenize)
