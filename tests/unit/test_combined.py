"""Sums of metrics: what they are, what is refused, and that tuners, tests and kernels take them like any other."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.contract.test_metrics import Overlap

from dragoman import registry
from dragoman.errors import OptionError
from dragoman.metrics import (
    Bleu,
    Chrf,
    Combined,
    External,
    Ter,
    corpus_score,
    metric_from,
    needs_references,
    score_columns,
    statistics,
)
from dragoman.metrics.capability import capabilities
from dragoman.significance import confidence, paired_permutation
from dragoman.testing import check_metric
from dragoman.tuning import Mert, Mira, Pool, Problem, Tuner, tune, tuner_from
from dragoman.types import Candidates, Hypotheses, Metric, Texts

OUTPUT = ["the cat sat on a mat .", "it rains again , we stay at home .", "where are the keys ?"]
OTHER = ["a cat on the mat .", "it is raining again and we stay .", "where did you put keys ?"]
REFERENCES = ["the cat sat on the mat .", "it is raining again , so we stay at home .", "where did you put the keys ?"]


@pytest.mark.parametrize("spec", ["0.5*bleu+0.5*chrf", "0.5*bleu-0.25*ter", "1*ter+2*wer", "-1*bleu+0.5*ter"])
def test_the_law_book(spec: str) -> None:
    check_metric(metric_from(spec))
    check_metric(Combined([(0.5, Overlap()), (0.1, metric_from(spec) if spec[0] not in "1-" else Bleu())]))


def test_the_law_book_with_a_column() -> None:
    metric = metric_from("0.7*bleu+0.3*external:comet")
    check_metric(metric, reads_text=False)
    assert (score_columns(metric), needs_references(metric)) == (("comet",), True)
    assert not needs_references(metric_from("1*external:a-1*external:b,higher_is_better=false"))


def test_the_sum_is_that_of_scores_from_0_to_100() -> None:
    metric = metric_from("0.7*bleu-0.2*ter+0.3*external:comet")
    comet = np.array([0.5, 0.9, 0.4])
    rows = metric.prepare([[text] for text in REFERENCES]).statistics(Hypotheses.one_each(OUTPUT, {"comet": comet}))
    expected = 0.7 * corpus_score(Bleu(), OUTPUT, REFERENCES) - 0.2 * corpus_score(Ter(), OUTPUT, REFERENCES) + 30 * 0.6
    assert float(metric.score(rows.sum(axis=0))) == pytest.approx(expected, abs=1e-12)
    assert metric.width == Bleu().width + Ter().width + 2
    assert (metric.scale, metric.higher_is_better) == (100.0, True)
    level = metric.sentence_level().score(rows)
    alone = 0.7 * Bleu().sentence_level().score(statistics(Bleu(), OUTPUT, REFERENCES))
    alone += -0.2 * Ter().score(statistics(Ter(), OUTPUT, REFERENCES)) + 30 * comet
    assert level == pytest.approx(alone, abs=1e-12)


def test_kernels_score_what_python_scores() -> None:
    metric = Combined([(0.5, Bleu()), (-2.0, Ter()), (0.3, External("comet", scale=5.0))])
    assert metric._native is not None
    rows = np.abs(np.random.default_rng(0).normal(5, 3, (50, metric.width))).round()
    assert metric._native.score(rows) == pytest.approx(metric.score(rows), abs=1e-9)
    assert capabilities(metric) == frozenset()
    assert Combined([(1.0, Overlap())])._native is None


def test_it_travels() -> None:
    metric = metric_from("0.5*bleu:smooth=add-k+0.5*chrf")
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.signature() == metric.signature()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("0.5*bleu+0.5*ter", r"TER is better when lower, .* write -0.5\*TER"),
        ("bleu+chrf", r"needs their weights, e.g. 0.5\*bleu\+0.5\*chrf"),
        ("*bleu", r"WEIGHT\*METRIC\+WEIGHT\*METRIC"),
        ("0.5*bleu+chrf", "needs their weights"),
        ("0.5*bleu+0*chrf", "a number other than 0"),
        ("0.5*belu+0.5*chrf", "did you mean bleu"),
    ],
)
def test_what_is_refused(spec: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        metric_from(spec)


def test_options_may_have_signs() -> None:
    metric = metric_from(" 0.5*bleu:smooth=add-k,length_scale=1e-1 + 2e-1*chrf:word_order=2")
    assert metric.name == "0.5*BLEU+0.2*chrF2++"
    assert isinstance(metric, Combined)
    assert metric.parts[0][1] == Bleu(smooth="add-k", length_scale=0.1)


def lists(better: bool = True) -> Pool:
    """Lists whose features say how good a candidate is, give or take."""
    rng = np.random.default_rng(4)
    words = [f"w{number}" for number in range(12)]
    records, references = [], []
    for sentence in range(15):
        reference = list(rng.choice(words, 9))
        references.append(" ".join(reference))
        for _ in range(8):
            wrong = rng.random(9) < rng.random()
            text = [str(rng.choice(words)) if bad else word for bad, word in zip(wrong, reference, strict=True)]
            quality = 1 - wrong.mean()
            features = {"good": quality + rng.normal(0, 0.2), "noise": rng.normal(), "length": len(text)}
            records.append({"id": sentence, "text": " ".join(text), "features": features, "comet": quality / 5})
    metric = metric_from("0.4*bleu+0.3*chrf+0.3*external:comet" if better else "0.5*ter+0.5*wer")
    candidates = Candidates.from_records(records)
    return Problem.of_lists(candidates, references, metric).pool


@pytest.mark.parametrize(
    "name", [name for name in registry.names("tuner") if name not in {"forest-mert", "lattice-mira", "samplerank"}]
)
@pytest.mark.parametrize("better", [True, False])
def test_every_tuner_over_lists(name: str, better: bool) -> None:
    pool = lists(better)
    problem = Problem.of_pool(pool)
    found = tune(problem, tuner_from(name), seed=1)
    assert problem.sign * (found.end.score - found.start.score) >= 0
    if name in {"mert", "kbmira", "risk"}:
        assert problem.sign * (found.end.score - found.start.score) > 1


@pytest.mark.parametrize("tuner", [Mert(starts=2), replace(Mira.kbmira(), epochs=5)], ids=["mert", "kbmira"])
def test_the_general_path_finds_the_same(tuner: Tuner, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = tune(Problem.of_pool(lists()), tuner, seed=1).weights.values
    monkeypatch.setattr(Combined, "_handle", lambda self: None)
    slow_pool = lists()
    assert getattr(slow_pool.metric, "_native", None) is None
    assert tune(Problem.of_pool(slow_pool), tuner, seed=1).weights.values == pytest.approx(fast, rel=1e-6, abs=1e-9)


def test_a_sum_may_be_negative() -> None:
    metric = metric_from("0.1*bleu-1*ter")
    pool = lists()
    candidates = Candidates.from_records(pool.candidates.to_records())
    references = [" ".join(f"w{number}" for number in range(9))] * 15
    found = tune(Problem.of_lists(candidates, references, metric), Mert(starts=1), seed=1)
    assert found.end.score < 0
    assert found.end.score >= found.start.score


def test_significance() -> None:
    metric = metric_from("0.5*bleu+0.5*chrf")
    a, b = (statistics(metric, output, REFERENCES) for output in (OUTPUT, OTHER))
    found = paired_permutation(a, b, metric, samples=200)
    means = [(corpus_score(Bleu(), o, REFERENCES) + corpus_score(Chrf(), o, REFERENCES)) / 2 for o in (OUTPUT, OTHER)]
    assert (found.baseline, found.system) == pytest.approx(tuple(means))
    interval = confidence(a, metric, samples=200)
    assert interval.low <= interval.score <= interval.high


def test_the_command_line_reads_the_column(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "out").write_text("".join(f"{line}\n" for line in OUTPUT))
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES))
    (tmp_path / "out.comet").write_text("0.5\n0.9\n0.4\n")
    spec: str = "0.5*bleu+0.5*external:comet"
    code, shown, err = cli("score", tmp_path / "out", "--refs", tmp_path / "ref", "--metric", spec)
    assert (code, err) == (0, "")
    assert f"{0.5 * corpus_score(Bleu(), OUTPUT, REFERENCES) + 30:.2f}" in shown


def test_texts_are_judged_by_sums_too() -> None:
    metric: Metric = metric_from("0.5*bleu+0.5*chrf")
    assert isinstance(metric, Metric)
    assert corpus_score(metric, Texts(REFERENCES), REFERENCES) == pytest.approx(100.0)
