"""Options from text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Bleu, Chrf, External, metric_from
from dragoman.options import check, flat, group, made, option, plain


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
        ("bleu:order=four", "order must be a whole number from 1 to 100, found `four`"),
        ("bleu:lowercase=maybe", "lowercase must be true or false, found `maybe`"),
        ("bleu:smooth_value=x", "smooth_value must be a number of at least 0, or null, found `x`"),
        ("bleu:order=0", "order must be a whole number from 1 to 100"),
        ("bleu:order=4,order=5", "`order` is given twice"),
        ("bleu:length_scale=0", "length_scale must be a number above 0"),
        ("bleu:smooth=floor,smooth_value=-1", "must be a number of at least 0"),
        ("bleu:tokenize=13b", "unknown tokenizer `13b`"),
        ("chrf:beta=0", "beta must be a whole number of at least 1"),
        ("external:comet,scale=0", "scale must be a number above 0"),
    ],
)
def test_errors_teach(spec: str, message: str) -> None:
    with pytest.raises(OptionError) as error:
        metric_from(spec)
    assert message in str(error.value)


@dataclass(frozen=True)
class Part:
    size: int = option(3, help="How many.", min=1, was=["number"])
    sides: tuple[str, str] = option(("", ""), help="Both.")
    names: tuple[str, ...] = option((), help="Files.")
    one_or_two: str | tuple[str, str] = option("a", help="One for both, or one for each.")
    form: Literal["x", "y"] | float | None = option(None, help="A form.", min=0)
    seed: int = option(0, help="Seed.", min=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Whole:
    seed: int = option(0, help="Seed of all.", min=0)
    first: Part = group(Part, without=["seed"], section="First")
    second: Part = group(
        Part, names={n: f"second_{n}" for n in ("size", "sides", "names", "one_or_two", "form")}, without=["seed"],
        defaults={"size": 7},
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)


def test_groups() -> None:
    assert list(flat(Whole))[:3] == ["seed", "size", "sides"]
    assert (flat(Whole)["size"].section, flat(Whole)["second_size"].section) == ("First", "")
    assert (flat(Whole)["second_size"].default, Whole().second.size, Whole().first.size) == (7, 7, 3)
    whole = made(Whole, {"second_size": 9, "names": [Path("a"), "b"], "form": 2})
    assert (whole.second.size, whole.first.names, whole.first.form) == (9, ("a", "b"), 2)
    assert plain(whole)["second_size"] == 9 and "second_seed" not in plain(whole)
    assert made(Whole, {"size": 4}, base=whole).second.size == 9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"number": 4}, "`number` is called `size` now"),
        ({"second_number": 4}, "unknown option `second_number`"),
        ({"size": 0}, "size must be a whole number of at least 1, found 0"),
        ({"size": True}, "size must be a whole number of at least 1, found True"),
        ({"sides": ("a",)}, "sides must be 2 values, each a text, found"),
        ({"sides": "de"}, "sides must be 2 values, each a text, found `de`"),
        ({"one_or_two": ("a", "b", "c")}, "one_or_two must be 2 values"),
        ({"names": "file"}, "names must be a list, each a text"),
        ({"form": "z"}, "form must be one of x, y or a number of at least 0, or null, found `z`"),
        ({"form": -1.0}, "found -1.0"),
    ],
)
def test_wrong_values_in_groups(values: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as error:
        made(Whole, values)
    assert message in str(error.value)


def test_what_the_program_sets_is_refused() -> None:
    with pytest.raises(OptionError, match="second: `seed` is set by the program here"):
        Whole(second=Part(seed=1))
    with pytest.raises(OptionError, match=r"first must be a .*Part, found 3"):
        Whole(first=3)  # type: ignore[arg-type]
