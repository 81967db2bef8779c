"""Options from text."""

from __future__ import annotations

import pytest

from dragoman.errors import OptionError
from dragoman.metrics import METRICS, Bleu, Chrf, External, metric_from
from dragoman.options import build


def test_specs() -> None:
    assert metric_from("bleu") == Bleu()
    assert metric_from("bleu:lowercase,smooth=add-k,smooth_value=0.5") == Bleu(
        lowercase=True, smooth="add-k", smooth_value=0.5
    )
    assert metric_from("chrf:word_order=2,whitespace=true") == Chrf(word_order=2, whitespace=True)
    assert metric_from("external:comet,higher_is_better=false") == External("comet", higher_is_better=False)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blue", "unknown metric `blue`; did you mean bleu?"),
        ("zzz", "unknown metric `zzz`; known: bleu, chrf"),
        ("bleu:smoth=exp", "metric bleu: unknown option `smoth`; did you mean smooth?"),
        ("bleu:_native=1", "unknown option `_native`"),
        ("bleu:smooth=linear", "smooth must be one of none, exp, floor, add-k, add-all, found `linear`"),
        ("bleu:order=four", "order must be a whole number, found `four`"),
        ("bleu:lowercase=maybe", "lowercase must be true or false, found `maybe`"),
        ("bleu:smooth_value=x", "smooth_value must be a number or null, found `x`"),
        ("bleu:order=0", "order must be from 1 to 100"),
        ("bleu:order=4,order=5", "`order` is given twice"),
        ("bleu:length_scale=0", "length_scale must be above 0"),
        ("bleu:smooth=floor,smooth_value=-1", "must not be negative"),
        ("bleu:tokenize=13b", "unknown tokenizer `13b`"),
        ("chrf:beta=0", "beta above 0"),
        ("external:comet,scale=0", "scale must be above 0"),
    ],
)
def test_errors_teach(spec: str, message: str) -> None:
    with pytest.raises(OptionError) as error:
        build("metric", METRICS, spec)
    assert message in str(error.value)
