"""What sparse features do: how often they fire, which of them data sets share, and what competes with what.

The tables of Green et al. (2013): `overlap` is table 6, `contrast` is table 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman._core import Names, names_extend, names_find, names_match, names_sets
from dragoman.errors import OptionError
from dragoman.features import in_names
from dragoman.rules import Table
from dragoman.types import I64, Candidates, Texts, Weights

__all__ = ["Overlap", "Rival", "SetUse", "Usage", "contrast", "occurrences", "overlap", "rivals", "rules_with"]


@dataclass(frozen=True, slots=True)
class SetUse:
    """How a set fires; `name` is empty for the dense features."""

    name: str
    names: int
    """Different names that fired."""
    fired: int
    """Times that any of them fired: entries of feature vectors that are not zero."""
    candidates: int
    """Candidates in which the set fired."""
    sentences: int
    """Sentences in which the set fired."""
    once: int
    """Names that fired in one sentence only: their weights can be learnt by heart."""


class Usage:
    """Counts what fires, list by list; all lists must share a table of names, as those of a decoder or a reader do."""

    def __init__(self) -> None:
        self.names: Names = Names()
        self.candidates = self.sentences = 0
        self._fired: I64 = np.zeros(0, dtype=np.int64)
        self._in_sentences: I64 = np.zeros(0, dtype=np.int64)
        self._sets: dict[str, tuple[int, int]] = {}
        self._known: tuple[list[str], npt.NDArray[np.uint32]] = ([], np.zeros(0, dtype=np.uint32))

    def add(self, found: Candidates) -> None:
        """Counts the features of some lists."""
        self.names = found.features.names
        width = len(self.names)
        rows = np.repeat(np.arange(found.size), np.diff(found.features.starts))
        live = found.features.values != 0
        rows, columns = rows[live], found.features.columns[live].astype(np.int64)
        sentence = found.sentence[rows]
        self._fired = _sum(self._fired, np.bincount(columns, minlength=width))
        pairs = np.unique(sentence * width + columns)
        self._in_sentences = _sum(self._in_sentences, np.bincount(pairs % width, minlength=width))
        if len(self._known[1]) < width:
            self._known = names_sets(self.names)
        known, of = self._known
        kinds = of[columns].astype(np.int64)
        by_row = np.bincount(np.unique(rows * len(known) + kinds) % len(known), minlength=len(known))
        by_sentence = np.bincount(np.unique(sentence * len(known) + kinds) % len(known), minlength=len(known))
        for name, more, others in zip(known, by_row.tolist(), by_sentence.tolist(), strict=True):
            candidates, sentences = self._sets.get(name, (0, 0))
            self._sets[name] = candidates + more, sentences + others
        self.candidates += found.size
        self.sentences += len(found)

    def sets(self) -> list[SetUse]:
        """The figures of each set that fired."""
        known, of = names_sets(self.names)
        of = of[: len(self._fired)]
        made = []
        for number, name in enumerate(known):
            own = (of == number) & (self._fired > 0)
            if own.any():
                once = int((self._in_sentences[own] == 1).sum())
                made.append(SetUse(name, int(own.sum()), int(self._fired[own].sum()), *self._sets[name], once))
        return made

    def weights(self) -> Weights:
        """Each name with the number of times it fired, for `overlap`."""
        return Weights(self.names, self._fired.astype(np.float64))


def _sum(counts: I64, more: npt.NDArray[np.int64]) -> I64:
    total = np.zeros(max(len(counts), len(more)), dtype=np.int64)
    total[: len(counts)] += counts
    total[: len(more)] += more
    return total


@dataclass(frozen=True, slots=True)
class Overlap:
    """The names of a set in two data sets; those with a weight of zero do not count."""

    name: str
    first: int
    second: int
    both: int

    @property
    def share(self) -> float:
        """Of the first's names, the share that the second has, too."""
        return self.both / self.first if self.first else math.nan


def overlap(first: Weights, second: Weights) -> list[Overlap]:
    """Which features two sets of weights share (Green et al. 2013, table 6), set by set."""
    left, right = first.values != 0, second.values != 0
    where = names_find(second.names, first.names)[: len(first)]
    shared = np.zeros(len(first), dtype=bool)
    valued = (where >= 0) & (where < len(second))
    shared[valued] = right[where[valued]]
    known = Names()
    both_sets: list[list[int]] = []
    for names, marks in ((first.names, [left, left & shared]), (second.names, [right])):
        sets, of = names_sets(names)
        places = names_extend(known, Names(sets))
        for mark in marks:
            counts = np.bincount(of[: len(mark)][mark], minlength=len(sets))
            spread = [0] * len(known)
            for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                spread[place] = count
            both_sets.append(spread)
    width = len(known)
    lefts, boths, rights = (column + [0] * (width - len(column)) for column in both_sets)
    rows = [Overlap(known[i], lefts[i], rights[i], boths[i]) for i in range(width)]
    return sorted((row for row in rows if row.first or row.second), key=lambda row: row.name)


@dataclass(frozen=True, slots=True)
class Rival:
    """A translation of a source phrase among others."""

    target: str
    count: float
    """How often the pair was seen; NaN if the table does not say."""
    probability: float
    """p(e|f); NaN if the table does not say."""
    weights: tuple[float, ...]
    """The weight of its rule feature in each of some files."""


def rivals(table: Table, phrase: str, weights: Sequence[Weights] = (), prefix: str = "pt") -> list[Rival]:
    """All translations of a source phrase, the most frequent first, with what weights say about each."""
    source = phrase.split()
    made = []
    for rule in table.lookup(source):
        scores = dict(zip(table.columns, rule.scores, strict=True))
        name = f"{prefix}:{in_names(source)}>{in_names(rule.target.split())}"
        count = round(math.exp(scores["log count"])) if "log count" in scores else math.nan
        probability = math.exp(scores["p(e|f)"]) if "p(e|f)" in scores else math.nan
        made.append(Rival(rule.target, count, probability, tuple(w[name] for w in weights)))
    return sorted(made, key=lambda rival: (-np.nan_to_num(rival.count), -np.nan_to_num(rival.probability)))


def occurrences(lines: Iterable[str] | Texts, phrases: Sequence[str]) -> list[int]:
    """How often each phrase stands in a text, words apart by blanks."""
    wanted = [" " + "  ".join(phrase.split()) + " " for phrase in phrases]
    counts = [0] * len(phrases)
    for line in lines:
        padded = " " + line.replace(" ", "  ") + " "
        for number, phrase in enumerate(wanted):
            counts[number] += padded.count(phrase)
    return counts


def rules_with(weights: Weights, phrase: str, prefix: str = "pt") -> Weights:
    """The weights, other than zero, of rules whose target has a phrase."""
    words = in_names(phrase.split())
    if not words:
        raise OptionError("expected a word or a phrase, found nothing")
    fit = np.zeros(len(weights.names), dtype=bool)
    for pattern in (f">{words}", f">{words}_*", f">*_{words}", f">*_{words}_*"):
        fit |= names_match(weights.names, f"{prefix}:*{pattern}")
    rows = np.flatnonzero(fit[: len(weights)] & (weights.values != 0))
    return Weights.of({weights.names[int(row)]: float(weights.values[row]) for row in rows})


def contrast(
    phrases: Sequence[str],
    texts: Sequence[Iterable[str] | Texts] = (),
    weights: Sequence[Weights] = (),
    prefix: str = "pt",
) -> list[tuple[list[int], list[int]]]:
    """What competing target phrases have (Green et al. 2013, table 7).

    For each phrase its count in each text, and in each set of weights the number of rules with it that weigh anything.
    """
    counted = [occurrences(text, phrases) for text in texts]
    rules = [[len(rules_with(w, phrase, prefix)) for w in weights] for phrase in phrases]
    return [([column[i] for column in counted], rules[i]) for i in range(len(phrases))]
