"""Every metric keeps the law book, and the law book notices when one does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from dragoman import registry
from dragoman.metrics import Bleu, Chrf, External, Ter, Wer
from dragoman.testing import LawBroken, check_metric
from dragoman.types import F64, Hypotheses, Metric, References


@pytest.mark.parametrize(
    "metric",
    [
        Bleu(),
        Bleu(smooth="none"),
        Bleu(smooth="add-k", length_offset=1.0),
        Bleu(smooth="add-all"),
        Bleu(ref_length="average", length_scale=1.05),
        Bleu(ref_length="shortest", tokenize="intl", lowercase=True),
        Chrf(),
        Chrf(word_order=2, eps_smoothing=True),
        Ter(),
        Ter(normalized=True),
        Wer(),
        Wer(tokenize="13a", lowercase=True),
    ],
    ids=lambda m: m.signature(),
)
def test_ours(metric: Metric) -> None:
    check_metric(metric)


def test_external() -> None:
    check_metric(External("comet"), reads_text=False)
    check_metric(External("edits", higher_is_better=False), reads_text=False)


def test_every_registered_metric_is_checked_above() -> None:
    assert {type(registry.make("metric", name)) for name in registry.names("metric")} == {
        Bleu,
        Chrf,
        Ter,
        Wer,
        External,
    }


@dataclass(frozen=True)
class Overlap:
    """A metric in plain Python: the share of the reference's words that the output has."""

    name: str = "overlap"
    width: int = 2
    higher_is_better: bool = True
    scale: float = 1.0

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        return OverlapReferences([set(refs[0].split()) for refs in references])

    def score(self, statistics: F64) -> F64:
        found: F64 = statistics[..., 0] / np.maximum(statistics[..., 1], 1)
        return found

    def sentence_level(self) -> Metric:
        return self

    def signature(self) -> str:
        return "overlap|version:1"


@dataclass(frozen=True)
class OverlapReferences:
    words: list[set[str]]

    def statistics(self, hypotheses: Hypotheses) -> F64:
        rows = [
            [len(self.words[s] & set(text.split())) - 0.01 * len(text.split()), len(self.words[s])]
            for text, s in zip(hypotheses.texts, hypotheses.sentence.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 2)


def test_a_metric_in_plain_python() -> None:
    metric = Overlap()
    assert isinstance(metric, Metric)
    check_metric(metric)


class _Counting(OverlapReferences):
    calls = 0

    def statistics(self, hypotheses: Hypotheses) -> F64:
        type(self).calls += 1
        return super().statistics(hypotheses) + self.calls


class _Mutating(Overlap):
    def score(self, statistics: F64) -> F64:
        statistics[..., 0] *= 0.5
        return super().score(statistics)


class _Upside(Overlap):
    def score(self, statistics: F64) -> F64:
        return -super().score(statistics)


class _Neighbours(Overlap):
    def score(self, statistics: F64) -> F64:
        found: F64 = super().score(statistics)
        return found - np.full_like(found, found.mean())


class _Drifting(Overlap):
    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        return _Counting([set(refs[0].split()) for refs in references])


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (_Mutating, "leaves the statistics alone"),
        (_Upside, "perfect output"),
        (_Neighbours, "independently"),
        (_Drifting, "repeat"),
        (lambda: Overlap(width=3), "shape"),
        (lambda: Overlap(name=""), "name"),
        (lambda: Overlap(scale=0.0), "scale"),
    ],
)
def test_broken_metrics_are_noticed(broken: Callable[[], Metric], law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        check_metric(broken())
