"""BLEU (Papineni et al. 2002) and its sentence-level relatives, on one set of statistics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from dragoman._core import NativeMetric
from dragoman.metrics.native import TokenizedForm, sign
from dragoman.options import check, option

__all__ = ["Bleu"]

_DEFAULT_VALUE = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0, "add-all": 0.01}


@dataclass(frozen=True, slots=True)
class Bleu(TokenizedForm):
    """BLEU with any number of references, on a scale of 0 to 100; the defaults are sacreBLEU's.

    A row of statistics is: hypothesis length, reference length, matches of order 1.., totals of order 1...

    >>> metric = Bleu(tokenize="none")
    >>> from dragoman.metrics import corpus_score
    >>> round(corpus_score(metric, ["the cat sat on a mat"], [["the cat sat on the mat"]]), 2)
    53.73
    """

    tokenize: str = option(
        "13a", help="`13a`, `none` (split at spaces), `intl`, `zh`, `char`, or one of sacreBLEU's if that is installed."
    )
    lowercase: bool = option(False, help="Compare without case.")
    smooth: Literal["none", "exp", "floor", "add-k", "add-all"] = option(
        "exp",
        help="What orders without a match count for. `add-k` adds to orders 2 and up: with 1 it is BLEU+1 (Lin "
        "& Och 2004), any other value is add-alpha. `add-all` adds to unigrams too (0.01 in Haddow et al. "
        "2011).",
    )
    smooth_value: float | None = option(
        None, help="What is added, or the floor.", min=0, usual="floor 0.1, add-k 1, add-all 0.01"
    )
    effective_order: bool = option(False, help="Average only over the orders that a short hypothesis has.")
    order: int = option(4, help="The longest n-grams.", min=1, max=100)
    ref_length: Literal["closest", "shortest", "average"] = option(
        "closest", help="Which of several reference lengths counts; of two equally close, the shorter."
    )
    length_scale: float = option(1.0, help="Reference lengths are multiplied by this (Galley et al. 2013).", above=0)
    length_offset: float = option(
        0.0,
        help="Added to the reference length: 1 smooths the brevity penalty too, for single sentences (Nakov et "
        "al. 2012).",
        min=0,
    )
    _native: NativeMetric = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "bleu")
        handle = NativeMetric.bleu(
            order=self.order,
            **self._core_options,
            smooth=self.smooth,
            smooth_value=self._value,
            effective_order=self.effective_order,
            ref_length=self.ref_length,
            length_scale=self.length_scale,
            length_offset=self.length_offset,
        )
        object.__setattr__(self, "_native", handle)

    @property
    def _value(self) -> float:
        return _DEFAULT_VALUE[self.smooth] if self.smooth_value is None else self.smooth_value

    @property
    def name(self) -> str:
        """BLEU."""
        return "BLEU"

    def sentence_level(self) -> Bleu:
        """BLEU+1, unless a smoothing that can stand alone (add-k, add-all) is chosen already."""
        return self if self.smooth in {"add-k", "add-all"} else replace(self, smooth="add-k", smooth_value=None)

    def adjusted_level(
        self,
        *,
        alpha: float | None = None,
        unigrams: bool = False,
        length_scale: float | None = None,
        length_offset: float | None = None,
    ) -> Bleu:
        """The sentence-level form with another add-alpha (to unigrams, too) and another reference length."""
        form = self.sentence_level()
        if alpha is not None:
            form = replace(form, smooth="add-all" if unigrams else "add-k", smooth_value=alpha)
        if length_scale is not None:
            form = replace(form, length_scale=length_scale)
        return form if length_offset is None else replace(form, length_offset=length_offset)

    def signature(self) -> str:
        """Every option that changes the figure, in sacreBLEU's words where it has them."""
        value = f"[{self._value:.2f}]" if self.smooth not in {"none", "exp"} else ""
        options: dict[str, str | float] = {
            "case": "lc" if self.lowercase else "mixed",
            "eff": "yes" if self.effective_order else "no",
            "tok": self.tokenize,
            "smooth": self.smooth + value,
            "len": self.ref_length,
        }
        if self.order != 4:
            options["order"] = str(self.order)
        if self.length_scale != 1.0:
            options["len*"] = self.length_scale
        if self.length_offset != 0.0:
            options["len+"] = self.length_offset
        return sign(self.name, **options)
