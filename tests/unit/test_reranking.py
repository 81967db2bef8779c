"""Choosing from lists: by weights, by minimum Bayes risk against the definition, and with a tuned scale."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contract.test_metrics import Overlap

from dragoman import reranking
from dragoman.errors import InputError, OptionError
from dragoman.metrics import Bleu, Chrf, External, Ter, Wer, metric_from
from dragoman.reranking import mbr, rerank, tune_mbr_scale
from dragoman.types import Candidates, Hypotheses, Metric, Weights


def lists(sentences: int = 12, size: int = 9, seed: int = 0) -> Candidates:
    """Candidates with words in common; one sentence has a single candidate, and two texts are the same."""
    rng = np.random.default_rng(seed)
    records = []
    for sentence in range(sentences):
        base = rng.choice(["a", "b", "c", "d", "e.", "f,"], 8)
        for k in range(1 if sentence == 3 else size):
            text = [w if rng.random() > 0.3 else rng.choice(["a", "b", "x"]) for w in base[: rng.integers(5, 9)]]
            lm = float(rng.normal(0, 2))
            records.append({"id": sentence, "text": " ".join(text), "features": {"LM": lm, "k": k}, "total": lm})
        records.append({**records[-1], "total": 1.0})
    return Candidates.from_records(records)


METRICS = [
    "bleu",
    "chrf",
    "chrf:word_order=2",
    "wer",
    "bleu:order=2,lowercase",
    "0.5*bleu+0.5*chrf",
    "0.5*bleu-0.5*wer",
]


@pytest.mark.parametrize("spec", METRICS)
@pytest.mark.parametrize("scale", [0.0, 0.3, 4.0])
def test_minimum_bayes_risk_is_the_definition(spec: str, scale: float) -> None:
    candidates, metric = lists(), metric_from(spec)
    assert candidates.totals is not None
    level, sign = metric.sentence_level(), 1 if metric.higher_is_better else -1
    for sentence, row in enumerate(mbr(candidates, metric, scale=scale)):
        first, last = candidates.starts[sentence : sentence + 2]
        texts = [candidates.texts[int(at)] for at in range(first, last)]
        belief = np.exp(scale * candidates.totals[first:last])
        expected = []
        for text in texts:
            rows = [level.prepare([[other]]).statistics(Hypotheses.one_each([text]))[0] for other in texts]
            expected.append(sign * float(np.array([float(level.score(r)) for r in rows]) @ belief) / belief.sum())
        assert expected[row - first] == pytest.approx(max(expected), rel=1e-12)
        assert texts.index(texts[row - first]) == row - first  # the first of equals


@pytest.mark.parametrize("metric", [Bleu(), Chrf(), Ter(), Wer(), metric_from("0.3*bleu+0.7*chrf")], ids=str)
def test_the_core_chooses_as_python_does(metric: Metric) -> None:
    candidates = lists(20, 12, seed=3)
    scales = np.array([0.0, 0.5, 2.0])
    assert candidates.totals is not None
    fast = reranking._choices(candidates, metric, candidates.totals, scales)
    slow = reranking._slow_choices(candidates, metric.sentence_level(), candidates.totals, scales)
    texts = candidates.texts
    assert [[texts[int(i)] for i in rows] for rows in fast] == [[texts[int(i)] for i in rows] for rows in slow]


def test_a_metric_in_plain_python_and_weights() -> None:
    candidates = lists()
    weights = Weights.of({"LM": -2.0, "k": 3.0})
    found = mbr(candidates, Overlap(), weights=weights, scale=5.0)
    totals = candidates.features.dot(weights)
    again = reranking._choices(candidates, Overlap(), totals, np.array([5.0]))[0]
    assert found.tolist() == again.tolist() != mbr(candidates, Overlap(), scale=5.0).tolist()
    sharp = mbr(candidates, Bleu(), weights=weights, scale=1000.0)
    texts = candidates.texts
    assert [texts[int(row)] for row in sharp] == [texts[int(row)] for row in candidates.best(weights)]


def test_a_sentence_without_candidates() -> None:
    candidates = Candidates.from_records([{"id": 0, "text": "a", "total": 1}, {"id": 1, "text": "b", "total": 1}])
    empty = Candidates(candidates.ids, np.array([0, 0, 2]), candidates.texts, candidates.features, candidates.totals)
    assert mbr(empty, Bleu()).tolist() == [-1, 0]
    found = rerank(empty)
    assert found.texts == ("", "a")
    assert np.isnan(found.scores[0])
    assert found.scores[1] == 1.0
    assert found.warnings == ("1 sentences have no candidate: their lines are empty",)


def test_rerank_by_weights() -> None:
    candidates = Candidates.from_records(
        [{"id": i, "text": t, "features": {"LM": f}} for i, t, f in [(2, "x", 1), (2, "y", 2), (0, "z", 0)]]
    )
    found = rerank(candidates, Weights.of({"LM": 1.0, "TM": 2.0}))
    assert found.texts == ("z", "", "y")
    assert found.rows.tolist() == [0, 2]
    assert found.scores.tolist() == [0.0, 2.0]
    assert found.warnings == (
        "weights of features that no candidate has: TM",
        "1 sentences have no candidate: their lines are empty",
    )
    named = Candidates.from_records([{"id": "b", "text": "x", "total": 1}, {"id": "a", "text": "y", "total": 0}])
    assert rerank(named).texts == ("x", "y")


def test_rerank_by_risk() -> None:
    candidates = lists()
    weights = Weights.of({"LM": 1.0})
    found = rerank(candidates, weights, "chrf", mbr=True, scale=0.5)
    assert found.rows.tolist() == mbr(candidates, Chrf(), weights=weights, scale=0.5).tolist()
    assert found.texts == tuple(candidates.texts[int(row)] for row in found.rows)
    plain = rerank(candidates, weights)
    assert plain.rows.tolist() == candidates.best(weights).tolist() != found.rows.tolist()
    assert rerank(candidates, weights, mbr=True).rows.tolist() == mbr(candidates, Bleu(), weights=weights).tolist()


def test_what_is_refused() -> None:
    candidates = lists()
    with pytest.raises(OptionError, match="for minimum Bayes risk: ask for it"):
        rerank(candidates, metric="bleu")
    with pytest.raises(OptionError, match="score reads a column of scores"):
        mbr(candidates, External())
    with pytest.raises(OptionError, match="finite number"):
        mbr(candidates, Bleu(), scale=float("nan"))
    with pytest.raises(InputError, match="no feature of these weights is in the lists: `unheard`"):
        rerank(candidates, Weights.of({"unheard": 1.0}))
    bare = Candidates.from_records([{"id": 0, "text": "a"}])
    with pytest.raises(OptionError, match="state no model scores: give the weights"):
        mbr(bare, Bleu())
    some = Candidates.from_records([{"id": 0, "text": "a", "total": 1}, {"id": 0, "text": "b"}])
    with pytest.raises(InputError, match="candidate 2 of the lists states no model score"):
        rerank(some)


def planted(seed: int = 2) -> tuple[Candidates, list[str]]:
    """Most candidates are near the reference, and the model likes those that are not by a little."""
    rng = np.random.default_rng(seed)
    records, references = [], []
    for sentence in range(40):
        reference = [f"w{n}" for n in rng.integers(0, 30, 10)]
        references.append(" ".join(reference))
        for k in range(8):
            wrong = 0.2 if k < 6 else 0.9
            text = " ".join(f"x{rng.integers(9)}" if rng.random() < wrong else word for word in reference)
            records.append({"id": sentence, "text": text, "total": float(rng.normal() + (k >= 6))})
    return Candidates.from_records(records), references


def test_the_scale_is_tuned() -> None:
    candidates, references = planted()
    found = tune_mbr_scale(candidates, references, Bleu())
    tried = dict(found.tried)
    assert found.score == max(tried.values()) == tried[found.scale]
    assert found.score > found.one_best + 5
    assert len(tried) > 13  # the grid was refined
    rows = Bleu().prepare([[text] for text in references]).statistics(candidates.hypotheses)
    chosen = mbr(candidates, Bleu(), scale=found.scale)
    assert float(Bleu().score(rows[chosen].sum(axis=0))) == found.score
    by_chrf = tune_mbr_scale(candidates, references, Bleu(), loss=Chrf(), scales=[0.0, 1.0, 100.0], refinements=0)
    assert [scale for scale, _ in by_chrf.tried] == [0.0, 1.0, 100.0]
    assert by_chrf.tried[2][1] == pytest.approx(by_chrf.one_best)
    worst = tune_mbr_scale(candidates, references, Ter(), scales=[0.1, 50.0], refinements=1)
    assert worst.score == min(score for _, score in worst.tried)
    assert len(worst.tried) == 3


def test_scales_are_checked() -> None:
    candidates, references = planted()
    for scales in ([], [-1.0], [float("inf")]):
        with pytest.raises(OptionError, match="scales of 0 or more"):
            tune_mbr_scale(candidates, references, Bleu(), scales=scales)
