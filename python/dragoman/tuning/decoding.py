"""One pass over a text under some weights, through the engine: n-best lists, best translations, forests.

An engine whose workers are threads of this process leaves the pass to one native call, which uses as many threads as
there are workers. Any other engine gets the text in parts; what comes back is put together in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dragoman._core import names_extend
from dragoman.engine import Engine, Shared
from dragoman.types import (
    Candidates,
    Features,
    ForestColumns,
    Forests,
    Hypotheses,
    Lists,
    Names,
    Source,
    Texts,
    Translator,
    Weights,
)

__all__ = ["Passes", "first_of", "joined", "renamed"]

_PARTS = 4
"""Parts of the text for each worker: enough that none waits long for the last one."""


@dataclass(frozen=True)
class _Pass:
    """What a worker does with a part of the text."""

    source: Shared[Any]
    weights: Weights
    call: str
    options: tuple[Any, ...] = ()

    def __call__(self, sentences: Sequence[int]) -> Any:
        return getattr(self.source.value, self.call)(sentences, self.weights, *self.options, 1)


class Passes:
    """The passes over the sentences of a source, under one weight vector each."""

    def __init__(self, source: Source, engine: Engine) -> None:
        self.source, self.engine = source, engine
        self.count = 0
        """Passes so far over the whole text."""

    @cached_property
    def shared(self) -> Shared[Any]:
        """The source, as tasks carry it."""
        return self.engine.share(self.source)

    def lists(self, weights: Weights) -> Candidates:
        """The n-best lists of all sentences."""
        assert isinstance(self.source, Lists)
        self.count += 1
        every = range(len(self.source))
        if self.engine.local:
            return self.source.candidates(every, weights, self.engine.workers)
        parts = self.engine.map(_Pass(self.shared, weights, "candidates"), _parts(every, self.engine.workers))
        return joined(parts, self.source.names)

    def best(self, weights: Weights) -> Hypotheses:
        """The best translation of each sentence; an empty one where there is none."""
        if isinstance(self.source, Translator) and self.engine.local:
            self.count += 1
            return self.source.best(weights, self.engine.workers)
        return first_of(self.lists(weights))

    def forests(
        self, sentences: Sequence[int], weights: Weights, density: float
    ) -> Iterator[tuple[Sequence[int], ForestColumns]]:
        """The forests of some sentences, part after part."""
        assert isinstance(self.source, Forests)
        self.count += int(0 in sentences)
        if self.engine.local:
            yield sentences, self.source.forests(sentences, weights, density, self.engine.workers)
            return
        parts, work = _parts(sentences, self.engine.workers), _Pass(self.shared, weights, "forests", (density,))
        for part, found in zip(parts, self.engine.map(work, parts), strict=True):
            names = self.source.names
            native = found.native if found.names is names else found.native.renamed(names_extend(names, found.names))
            yield part, replace(found, names=names, native=native)


def first_of(found: Candidates) -> Hypotheses:
    """The first candidate of each sentence; an empty text where there is none."""
    filled = np.flatnonzero(np.diff(found.starts))
    texts = [""] * len(found)
    for at in filled.tolist():
        texts[at] = found.texts[int(found.starts[at])]
    scores = {}
    for name, column in found.scores.items():
        scores[name] = np.zeros(len(found))
        scores[name][filled] = column[found.starts[:-1][filled]]
    return Hypotheses.one_each(texts, scores)


def joined(parts: Sequence[Candidates], names: Names) -> Candidates:
    """Lists of one part after the other, with features in the numbering of `names`, which gets those it lacks."""
    ends = np.cumsum([0, *(part.size for part in parts)])
    rows = [part.features for part in parts]
    cuts = np.cumsum([0, *(len(row.columns) for row in rows)])
    features = Features(
        names,
        np.concatenate([[0], *(row.starts[1:] + cut for row, cut in zip(rows, cuts, strict=False))]),
        np.concatenate([renamed(row.columns, row.names, names) for row in rows]),
        np.concatenate([row.values for row in rows]),
    )
    return Candidates(
        Texts([i for part in parts for i in part.ids]),
        np.concatenate([[0], *(part.starts[1:] + end for part, end in zip(parts, ends, strict=False))]),
        Texts([text for part in parts for text in part.texts]),
        features,
        scores={name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores},
    )


def renamed(columns: Any, old: Names, new: Names) -> Any:
    """Numbers of features in another table of names, which gets those it lacks."""
    if old is new or not len(columns):
        return columns
    return names_extend(new, old)[columns].astype(np.uint32)


def _parts(sentences: Sequence[int], workers: int) -> list[Sequence[int]]:
    count = max(min(_PARTS * workers, len(sentences)), 1)
    cuts = np.linspace(0, len(sentences), count + 1).astype(int)
    return [list(sentences[a:b]) for a, b in pairwise(cuts.tolist()) if b > a]
