"""chrF and chrF++ (Popovic 2015, 2017): F-score of character (and word) n-grams."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman._core import NativeMetric
from dragoman.metrics.native import NativeForm, sign
from dragoman.options import check, option

__all__ = ["Chrf"]


@dataclass(frozen=True, slots=True)
class Chrf(NativeForm):
    """chrF on a scale of 0 to 100; `word_order=2` makes it chrF++. The defaults are sacreBLEU's.

    A row of statistics is, for each order: n-grams of the hypothesis, of the best reference, and of both.
    """

    char_order: int = option(6, help="The longest n-grams of characters.", min=1, max=100)
    word_order: int = option(0, help="The longest n-grams of words; 2 makes it chrF++.", min=0, max=100)
    beta: int = option(2, help="Recall counts beta times as much as precision.", min=1)
    lowercase: bool = option(False, help="Compare without case.")
    whitespace: bool = option(False, help="Let spaces be part of character n-grams.")
    eps_smoothing: bool = option(
        False, help="Smooth as NLTK and Moses do, instead of averaging over the orders that occur."
    )
    _native: NativeMetric = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "chrf")
        handle = NativeMetric.chrf(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=float(self.beta),
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )
        object.__setattr__(self, "_native", handle)

    @property
    def name(self) -> str:
        """chrF2, or chrF2++ with words."""
        return f"chrF{self.beta}{'+' * self.word_order}"

    def signature(self) -> str:
        """Every option that changes the figure, in sacreBLEU's words."""
        return sign(
            self.name,
            case="lc" if self.lowercase else "mixed",
            eff="no" if self.eps_smoothing else "yes",
            nc=str(self.char_order),
            nw=str(self.word_order),
            space="yes" if self.whitespace else "no",
        )
