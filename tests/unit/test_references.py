"""References as people have them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import DragomanError, InputError
from dragoman.metrics import Bleu, External, corpus_score, digits, format_score, metric_from, statistics
from dragoman.tuning import Mert, Problem, judge, tune
from dragoman.types import Candidates, Texts, Weights

RECORDS = [
    {"id": s, "text": text, "features": {"LM": lm, "w": lm**2}, "comet": comet}
    for s in (0, 1)
    for text, lm, comet in (("the cat sat on the mat", 1.0, 0.9), ("the cat sat on a hat", 2.0, 0.2), ("a", 3.0, 0.4))
]
TEXTS = ["the cat sat on the mat", "the cat sat on the mat"]


def candidates() -> Candidates:
    return Candidates.from_records(RECORDS)


def test_a_metric_that_needs_none() -> None:
    problem = Problem.of_lists(candidates(), None, External("comet"))
    found = tune(problem, Mert(starts=2), start=Weights.of({"LM": 1.0, "w": 0.0}))
    assert found.end.score == pytest.approx(0.9)
    assert found.start.score == pytest.approx(0.4)


def test_texts_and_lists_of_texts() -> None:
    pools = [judge(candidates(), given, Bleu()) for given in (TEXTS, [[text] for text in TEXTS], Texts(TEXTS))]
    assert len({pool.statistics.tobytes() for pool in pools}) == 1
    both = judge(candidates(), [["x", TEXTS[0]], TEXTS[1]], Bleu())
    assert both.statistics[0].tolist() == pools[0].statistics[0].tolist()
    assert corpus_score(Bleu(), TEXTS, TEXTS) == corpus_score(Bleu(), TEXTS, [[t] for t in TEXTS]) == pytest.approx(100)


@pytest.mark.parametrize(
    ("references", "said"),
    [
        (None, "BLEU needs references: expected a list with one text or a list of texts for each sentence"),
        ("the cat", "found a str"),
        (b"the cat", "found a bytes"),
        (5, "found a int"),
        ([TEXTS[0], None], "found nothing for sentence 1"),
        ([TEXTS[0], 5], "found a int for sentence 1"),
        ([[TEXTS[0]], [7]], "found a list with a int for sentence 1"),
        ([TEXTS[0]], "sentence 1 has no reference: the files end after 1 lines"),
        ([TEXTS[0], []], "sentence 1 has no reference"),
    ],
)
def test_wrong_references(references: Any, said: str) -> None:
    with pytest.raises(DragomanError, match=said):
        Problem.of_lists(candidates(), references, Bleu())


def test_outputs_and_sources() -> None:
    with pytest.raises(InputError, match="output: expected a list with a text for each sentence"):
        statistics(Bleu(), "the cat", TEXTS)
    with pytest.raises(InputError, match="BLEU needs references"):
        corpus_score(Bleu(), TEXTS, None)
    source: Any = Problem.of_lists(candidates(), TEXTS, Bleu()).source
    with pytest.raises(InputError, match="found a str"):
        Problem.of_source(source, "text", Bleu())
    assert len(Problem.of_source(source, TEXTS, Bleu()).prepared) == 2
    assert len(Problem.of_source(source, None, External("comet")).prepared) == 2


def test_digits() -> None:
    assert [digits(m) for m in (Bleu(), External("comet"), External("da", scale=100.0), External("x", scale=5.0))] == [
        2, 4, 2, 4,
    ]  # fmt: skip
    assert digits(External("big", scale=25000.0)) == 2
    assert format_score(0.61342, External("comet")) == "0.6134"
    assert format_score(-0.00456, External("comet"), sign=True) == "-0.0046"
    assert format_score(33.9449, metric_from("0.5*bleu+0.5*chrf"), sign=True) == "+33.94"
