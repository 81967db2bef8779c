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

__all__ = ["Analysis", "analyse", "to_judge"]

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
    reordered: Sequence[Mapping[str, Any]]
    """Sentences with mostly the same words in another order, of the first runs."""

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
            parts += [f"line {one['line']}, {one['difference']:+.1f}", *self._side_by_side(one)]
        if self.reordered:
            parts += ["", f"mostly the same words in another order: {len(self.reordered):,} sentences"]
        for one in self.reordered[:_SHOWN]:
            parts += [f"line {one['line']}, words moved: {one['moved']}", *self._side_by_side(one)]
        return "\n".join(parts)

    def _side_by_side(self, one: Mapping[str, Any]) -> list[str]:
        rows = ("reference", one["reference"]), (self.names[0], one["first"]), (self.names[1], one["second"])
        return [f"  {name:12} {text}" for name, text in rows]


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
    moved = [
        {"line": one.sentence + 1, "moved": one.moved, "reference": reference[one.sentence],
         "first": texts[0][0][one.sentence], "second": texts[1][0][one.sentence]}
        for one in breakdown.reordered(texts[0][0], texts[1][0], tokenized=tokenized)
    ]  # fmt: skip
    by_frequency = breakdown.by_frequency(texts, reference, counted, tokenized=tokenized) if training else []
    return Analysis(
        (first, last), form.name, by_frequency, breakdown.by_sentences(pair, form, wanted, breakdown.LENGTHS),
        breakdown.by_sentences(pair, form, ratio, breakdown.RATIOS),
        [_quarter(b) for b in breakdown.by_sentences(pair, form, ranks, (0, 1, 2, 3))], ahead, behind, shown, moved,
    )  # fmt: skip


_TO_JUDGE = ("line", "words moved", "source", "reference", "one", "two", "one is")


def to_judge(
    systems: Mapping[str, Sequence[Any]], references: Any, source: Any = None, *, tokenized: bool = False, seed: int = 0
) -> list[str]:
    """Sentences whose word order the last system changes, as rows with tabs for people who judge them.

    Which system is `one` is drawn for each sentence, so that nobody knows whom they judge; the last column tells.
    """
    name, *_, other = systems
    first, second = ([str(line) for line in lines_of(systems[which][0], "output")] for which in (name, other))
    lines = references_of(references)
    told = [""] * len(lines) if source is None else list(lines_of(source, "source"))
    draw = np.random.default_rng([seed])
    rows: list[Sequence[object]] = [_TO_JUDGE]
    for found in breakdown.reordered(first, second, tokenized=tokenized):
        i, swapped = found.sentence, bool(draw.integers(2))
        one, two = (second[i], first[i]) if swapped else (first[i], second[i])
        rows.append((i + 1, found.moved, told[i], lines[i][0], one, two, other if swapped else name))
    return ["\t".join(str(cell).replace("\t", " ") for cell in row) for row in rows]


def _quarter(bucket: Bucket) -> Bucket:
    names = {"0": "hardest", "1": "hard", "2": "easy", "3 and more": "easiest"}
    return Bucket(names[bucket.label], bucket.size, bucket.values)
