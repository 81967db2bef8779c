"""`dragoman compare --analyse`: where the last system differs from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dragoman import breakdown
from dragoman.breakdown import Bucket, Ngram
from dragoman.files import read_text
from dragoman.tables import table
from dragoman.types import F64, Hypotheses, Metric
from dragoman.verbs.inputs import lines_of, metric_of, references_of

__all__ = ["Analysis", "analyse"]

_SHOWN = 10


@dataclass(frozen=True)
class Analysis:
    """Where two systems differ; prints as tables."""

    names: tuple[str, str]
    metric: str
    by_frequency: Sequence[Bucket]
    by_length: Sequence[Bucket]
    by_ratio: Sequence[Bucket]
    by_difficulty: Sequence[Bucket]
    ahead: Sequence[Ngram]
    """N-grams that the first gets right more often,"""
    behind: Sequence[Ngram]
    """and the second."""
    sentences: Sequence[Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        return asdict(self)

    def __str__(self) -> str:
        parts = []
        for title, size, buckets in (
            ("F-measure of words by their count in the training text", "words", self.by_frequency),
            (f"{self.metric} by length of the reference", "sentences", self.by_length),
            (f"{self.metric} by length ratio of {self.names[1]}", "sentences", self.by_ratio),
            (f"{self.metric} by difficulty, the hardest first", "sentences", self.by_difficulty),
        ):
            if buckets:
                rows = [[b.label, f"{b.size:,}", *(f"{v:.2f}" for v in b.values), f"{b.values[1] - b.values[0]:+.2f}"]
                        for b in buckets]  # fmt: skip
                parts += [title, table(["", size, *self.names, "difference"], rows), ""]
        for name, found in zip(self.names, (self.ahead, self.behind), strict=True):
            rows = [[n.words, f"{n.first:.1f}", f"{n.second:.1f}"] for n in found[:_SHOWN]]
            parts += [f"n-grams that {name} gets right more often", table(["", *self.names], rows), ""]
        parts.append("sentences that differ most")
        for one in self.sentences[:_SHOWN]:
            parts.append(f"line {one['line']}, {one['difference']:+.1f}")
            parts += [f"  {'reference':12} {one['reference']}", f"  {self.names[0]:12} {one['first']}"]
            parts.append(f"  {self.names[1]:12} {one['second']}")
        return "\n".join(parts)


def analyse(
    systems: Mapping[str, Sequence[Any]],
    references: Any,
    metric: Metric | str = "bleu",
    *,
    training: Sequence[Any] = (),
    tokenized: bool = False,
) -> Analysis:
    """Where the last of some systems differs from the first; each has the outputs of one or more runs."""
    form = metric_of(metric)
    lines = references_of(references)
    prepared = form.prepare([list(line) for line in lines])
    first, *_, last = systems
    texts = [[list(lines_of(run, "output")) for run in systems[name]] for name in (first, last)]
    every = [[lines_of(run, "output") for run in runs] for runs in systems.values()]
    rows: list[F64] = [np.stack([prepared.statistics(Hypotheses.one_each(run, {})) for run in runs]) for runs in every]
    pair = [rows[0], rows[-1]]
    reference = [line[0] for line in lines]
    words = breakdown.Words(tokenized)
    wanted = words.lengths(reference)
    ratio = words.lengths(texts[1][0]) / np.maximum(wanted, 1)
    hard = breakdown.difficulty(rows, form)
    quarters = np.quantile(hard, [0.25, 0.5, 0.75])
    ranks = np.digitize(hard, quarters)
    counted = (line for path in training for line in read_text(path))
    ahead, behind = breakdown.ngrams(texts[0], texts[1], reference, tokenized=tokenized)
    shown = [
        {"line": i + 1, "difference": gap, "reference": reference[i], "first": texts[0][0][i], "second": texts[1][0][i]}
        for i, gap in breakdown.differing(pair[0], pair[1], form, 2 * _SHOWN)
    ]
    by_frequency = breakdown.by_frequency(texts, reference, counted, tokenized=tokenized) if training else []
    return Analysis(
        (first, last), form.name, by_frequency, breakdown.by_sentences(pair, form, wanted, breakdown.LENGTHS),
        breakdown.by_sentences(pair, form, ratio, breakdown.RATIOS),
        [_quarter(b) for b in breakdown.by_sentences(pair, form, ranks, (0, 1, 2, 3))], ahead, behind, shown,
    )  # fmt: skip


def _quarter(bucket: Bucket) -> Bucket:
    names = {"0": "hardest", "1": "hard", "2": "easy", "3 and more": "easiest"}
    return Bucket(names[bucket.label], bucket.size, bucket.values)
