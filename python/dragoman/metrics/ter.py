"""TER (Snover et al. 2006): edits and block shifts for each word of the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dragoman._core import NativeMetric
from dragoman.metrics.native import NativeForm, sign
from dragoman.options import check, option

__all__ = ["Ter"]


@dataclass(frozen=True, slots=True)
class Ter(NativeForm):
    """Translation edit rate in percent; lower is better. The defaults are sacreBLEU's (and tercom's).

    A row of statistics is: edits to the nearest reference, mean length of the references.
    """

    normalized: bool = option(False, help="Tokenise as tercom does.")
    no_punct: bool = option(False, help="Leave punctuation out.")
    asian_support: bool = option(False, help="Treat each CJK character as a word (with normalized or no_punct).")
    case_sensitive: bool = option(False, help="Compare with case.")
    higher_is_better: ClassVar[bool] = False
    _native: NativeMetric = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "ter")
        handle = NativeMetric.ter(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )
        object.__setattr__(self, "_native", handle)

    @property
    def name(self) -> str:
        """TER."""
        return "TER"

    def signature(self) -> str:
        """Every option that changes the figure, in sacreBLEU's words."""
        return sign(
            self.name,
            case="mixed" if self.case_sensitive else "lc",
            tok="tercom",
            norm="yes" if self.normalized else "no",
            punct="no" if self.no_punct else "yes",
            asian="yes" if self.asian_support else "no",
        )
