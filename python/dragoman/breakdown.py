"""Where two systems differ: by rare words, by length, by difficulty, by n-grams, by sentence (as compare-mt shows it).

Words are counted in columns: a text becomes an array of word numbers and one of sentence numbers, and what is asked is
a matter of sorting pairs of them. With several references the first one counts, as it must be one text to count words
in; scores are those of the metric, with all references.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman.types import F64, I64, Metric

__all__ = [
    "FREQUENCIES",
    "Bucket",
    "Ngram",
    "Reordered",
    "Words",
    "by_frequency",
    "by_sentences",
    "counts_of",
    "differing",
    "ngrams",
    "reordered",
    "terms_in",
    "unknown_in",
]

FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000)
"""Lower ends of the classes of words by how often they stand in the training text."""
LENGTHS = (1, 11, 21, 31, 41, 61)
RATIOS = (0.0, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2)
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Bucket:
    """A class of words or sentences, and what each system has there: F-measure (0 to 100), or a score."""

    label: str
    size: int
    """Reference words, or sentences."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class Ngram:
    """Words that one system gets right more often than the other."""

    words: str
    first: float
    """Matches in the first system, for each run,"""
    second: float
    """and in the second."""


@dataclass(frozen=True)
class Reordered:
    """A sentence whose words two systems put in another order."""

    sentence: int
    moved: int
    """The fewest words that must be moved to make one order into the other, of those that both have."""
    shared: float
    """How much of both translations these are, 0 to 1."""


class Words:
    """Texts as arrays of word numbers, with one vocabulary for all."""

    def __init__(self, tokenized: bool = True) -> None:
        self.split: Callable[[str], list[str]] = str.split if tokenized else _WORD.findall
        self.numbers: dict[str, int] = {}

    def read(self, lines: Iterable[str]) -> tuple[I64, I64]:
        """Word numbers, and the number of the sentence of each."""
        words: list[int] = []
        lengths: list[int] = []
        known = self.numbers
        for line in lines:
            found = [known.setdefault(word, len(known)) for word in self.split(line)]
            words += found
            lengths.append(len(found))
        sentences = np.repeat(np.arange(len(lengths)), lengths)
        return np.array(words, dtype=np.int64), sentences

    def lengths(self, lines: Sequence[str]) -> I64:
        """Words of each line."""
        return np.array([len(self.split(line)) for line in lines], dtype=np.int64)


def counts_of(training: Iterable[str], words: Words) -> I64:
    """How often each known word stands in a text; words that nobody asks about are not counted."""
    counts = np.zeros(len(words.numbers), dtype=np.int64)
    known = words.numbers
    for line in training:
        for word in words.split(line):
            number = known.get(word)
            if number is not None:
                counts[number] += 1
    return counts


def unknown_in(source: Sequence[str], training: Iterable[str], tokenized: bool = True) -> list[int]:
    """How many words of each sentence the training text does not have.

    >>> unknown_in(["das haus", "der hund"], ["das ist das haus"])
    [0, 2]
    """
    words = Words(tokenized)
    numbers, sentences = words.read(source)
    unseen = np.bincount(sentences, weights=counts_of(training, words)[numbers] == 0, minlength=len(source))
    return [int(n) for n in unseen]


def terms_in(source: Sequence[str], terms: Iterable[str]) -> list[int]:
    """How many of some terms each sentence has, as words that stand in it.

    >>> terms_in(["das große haus", "der haushund"], ["Haus", "große Haus"])
    [2, 0]
    """
    wanted = [f" {term.lower()} " for term in terms]
    return [sum(term in f" {line.lower()} " for term in wanted) for line in source]


def by_frequency(
    systems: Sequence[Sequence[Sequence[str]]],
    reference: Sequence[str],
    training: Iterable[str],
    *,
    tokenized: bool = True,
    edges: Sequence[int] = FREQUENCIES,
) -> list[Bucket]:
    """F-measure of words by how often the training text has them, unseen ones first; each system has several runs."""
    words = Words(tokenized)
    wanted = words.read(reference)
    outputs = [[words.read(run) for run in runs] for runs in systems]
    kinds = np.digitize(counts_of(training, words), edges) - 1
    of_reference = np.bincount(kinds[wanted[0]], minlength=len(edges))
    measures = []
    for runs in outputs:
        matched, said = np.zeros(len(edges)), np.zeros(len(edges))
        for run in runs:
            pairs, counts = _pairs(run, len(words.numbers))
            others, other_counts = _pairs(wanted, len(words.numbers))
            shared, here, there = np.intersect1d(pairs, others, assume_unique=True, return_indices=True)
            both = np.minimum(counts[here], other_counts[there])
            np.add.at(matched, kinds[shared % len(words.numbers)], both)
            said += np.bincount(kinds[run[0]], minlength=len(edges))
        total = said + len(runs) * of_reference
        measures.append(np.divide(200.0 * matched, total, out=np.zeros(len(edges)), where=total > 0))
    labels = [_range(edges, i) for i in range(len(edges))]
    return [
        Bucket(label, int(size), tuple(float(m[i]) for m in measures))
        for i, (label, size) in enumerate(zip(labels, of_reference, strict=True))
    ]


def _pairs(text: tuple[I64, I64], width: int) -> tuple[I64, I64]:
    """Each (sentence, word) of a text once, in order, and how often it is there."""
    found, counts = np.unique(text[1] * width + text[0], return_counts=True)
    return found, counts


def by_sentences(
    statistics: Sequence[F64], metric: Metric, values: npt.NDArray[np.float64] | I64, edges: Sequence[float]
) -> list[Bucket]:
    """Scores of each system, (runs, sentences, width) pooled over runs, on classes of sentences by a value of each."""
    kinds = np.digitize(values, edges) - 1
    made = []
    for i in range(len(edges)):
        own = kinds == i
        if own.any():
            scores = tuple(float(metric.score(s[:, own].sum(axis=(0, 1)))) for s in statistics)
            made.append(Bucket(_range(edges, i), int(own.sum()), scores))
    return made


def difficulty(statistics: Sequence[F64], metric: Metric) -> F64:
    """The mean score of all systems on each sentence, by the metric's sentence-level form."""
    level = metric.sentence_level()
    found: F64 = np.mean([level.score(s).mean(axis=0) for s in statistics], axis=0)
    return found


def ngrams(
    first: Sequence[Sequence[str]],
    second: Sequence[Sequence[str]],
    reference: Sequence[str],
    *,
    tokenized: bool = True,
    longest: int = 4,
    limit: int = 12,
) -> tuple[list[Ngram], list[Ngram]]:
    """N-grams of the reference that the first system gets right and the second does not, and the other way round.

    Ranked by the difference of matches for each run; longer ones come first among equals.
    """
    words = Words(tokenized)
    wanted = [words.split(line) for line in reference]
    tallies = [_matches(runs, wanted, words, longest) for runs in (first, second)]
    names = {*tallies[0], *tallies[1]}
    rows = [Ngram(" ".join(n), tallies[0].get(n, 0.0), tallies[1].get(n, 0.0)) for n in names]
    ahead = sorted(
        (row for row in rows if row.first > row.second),
        key=lambda r: (r.second - r.first, -r.words.count(" "), r.words),
    )
    behind = sorted(
        (row for row in rows if row.second > row.first),
        key=lambda r: (r.first - r.second, -r.words.count(" "), r.words),
    )
    return ahead[:limit], behind[:limit]


def _matches(
    runs: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]], words: Words, longest: int
) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    share = 1.0 / len(runs)
    for run in runs:
        for line, target in zip(run, wanted, strict=True):
            said = words.split(line)
            for order in range(1, longest + 1):
                there: dict[tuple[str, ...], int] = {}
                for n in zip(*(target[i:] for i in range(order)), strict=False):
                    there[n] = there.get(n, 0) + 1
                for n in zip(*(said[i:] for i in range(order)), strict=False):
                    left = there.get(n, 0)
                    if left:
                        there[n] = left - 1
                        found[n] = found.get(n, 0.0) + share
    return found


def differing(first: F64, second: F64, metric: Metric, limit: int) -> list[tuple[int, float]]:
    """The sentences whose sentence-level scores differ most, and second minus first; means over runs."""
    level = metric.sentence_level()
    gap = level.score(second).mean(axis=0) - level.score(first).mean(axis=0)
    order = np.argsort(-np.abs(gap), kind="stable")[:limit]
    return [(int(i), float(gap[i])) for i in order if gap[i] != 0]


def reordered(
    first: Sequence[str], second: Sequence[str], *, least: float = 0.75, tokenized: bool = True
) -> list[Reordered]:
    """The sentences for which two systems use mostly the same words in another order, most moved words first.

    `least` is the share of their words that both must have. A word that stands several times is paired in order.

    >>> reordered(["er hat das gesagt", "ja"], ["das hat er gesagt", "ja"])
    [Reordered(sentence=0, moved=2, shared=1.0)]
    """
    split = Words(tokenized).split
    found = []
    for number, (one, two) in enumerate(zip(first, second, strict=True)):
        a, b = split(one), split(two)
        places: dict[str, list[int]] = {}
        for place in reversed(range(len(b))):
            places.setdefault(b[place], []).append(place)
        order = [places[word].pop() for word in a if places.get(word)]
        moved, shared = len(order) - _longest_rise(order), 2 * len(order) / max(len(a) + len(b), 1)
        if moved and shared >= least:
            found.append(Reordered(number, moved, shared))
    return sorted(found, key=lambda one: (-one.moved, -one.shared, one.sentence))


def _longest_rise(numbers: Sequence[int]) -> int:
    """How many of some different numbers can stay if the others go and the rest rises."""
    ends: list[int] = []
    for number in numbers:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


def _range(edges: Sequence[float], i: int) -> str:
    if i + 1 == len(edges):
        return f"{edges[i]:g} and more"
    if all(isinstance(edge, int) for edge in edges):
        return f"{edges[i]}" if edges[i + 1] - edges[i] == 1 else f"{edges[i]} to {int(edges[i + 1]) - 1}"
    return f"{edges[i]:g} to {edges[i + 1]:g}"
