"""Translating by sampling: annealed search, samples of the model, and features of whole texts.

>>> from dragoman.decoder import Decoder                                       # doctest: +SKIP
>>> sampled(Decoder("model"), ["ein haus"]).texts.to_list()                   # doctest: +SKIP
['a house']
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

from dragoman._core import sample_translations
from dragoman.common import Seeded
from dragoman.decoder.constraints import Constraints
from dragoman.decoder.decoder import Decoder
from dragoman.errors import OptionError
from dragoman.options import check, option
from dragoman.registry import load_file
from dragoman.types import TEXT, Candidates, Texts, Weights

__all__ = ["Sampling", "TextFeature", "TextFeatures", "sampled", "text_feature"]


@dataclass(frozen=True)
class Sampling(Seeded):
    """How long to sample, and from what. Numbers of samples are for each source word."""

    samples: int = option(100, help="Samples that count.", min=1)
    burn_in: int = option(500, help="Samples before that; the temperature falls during these.", min=0)
    hot: float = option(
        1.0, help="Temperature at the start: derivations are drawn by exp(score / temperature).", above=0
    )
    cold: float = option(0.02, help="Temperature after the burn-in.", above=0)
    lag: int = option(
        0,
        help="Every so many samples of the document one is listed, with its share of all; 0 gives the best "
        "derivation met.",
        min=0,
    )
    merge: float = option(0.4, help="Share of the operator MERGE-SPLIT.", min=0)
    reorder: float = option(0.4, help="Share of the operator REORDER.", min=0)
    retranslate: float = option(0.2, help="Share of the operator RETRANSLATE.", min=0)
    width: int = option(
        0,
        help="Translations of a phrase that every neighbourhood has; of the others, number i (best first) is "
        "in it with the chance width / (i + 1) and weighs as much more, so that the distribution stays "
        "the same. 0: all are in it.",
        min=0,
    )

    def __post_init__(self) -> None:
        check(self, "sampling")
        if not self.cold <= self.hot < float("inf"):
            raise OptionError(f"sampling: expected a temperature that does not rise, found {self.hot} to {self.cold}")
        if not sum((self.merge, self.reorder, self.retranslate)) > 0:
            raise OptionError("sampling: merge, reorder and retranslate must not all be 0")

    @classmethod
    def of_model(cls, samples: int = 100, *, temperature: float = 1.0, lag: int = 1, seed: int = 0) -> Sampling:
        """Samples of the model itself, for its distribution or minimum Bayes risk."""
        return cls(samples=samples, burn_in=100, hot=temperature, cold=temperature, lag=lag, seed=seed)


class TextFeature(Protocol):
    """A feature of a whole sentence or document: any object with a name and this method.

    A document without a name of its own is one sentence. The method is called for every sample that would change a
    text, so it should be quick.
    """

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """The value for a document; its model score is multiplied by exp(weight x value)."""
        ...


def text_feature(spec: str, weights: Weights | None = None) -> tuple[TextFeature, float]:
    """A feature and its weight from `FILE.py:NAME=weight` or `module:NAME=weight`; a class is called for an object.

    Without a weight it is the one that the feature has in `weights`, where tuning has learned it.
    """
    place, given, weight = spec.rpartition("=")
    if not given:
        place = spec
    source, _, name = place.rpartition(":")
    try:
        value = float(weight) if given else None
    except ValueError:
        value, source = None, ""
    if not source or not name:
        raise OptionError(f"expected a feature as module:object=weight, found `{spec}`")
    found = getattr(_module(source), name, None)
    feature: Any = found() if isinstance(found, type) else found
    if not callable(getattr(feature, "score", None)) or not isinstance(getattr(feature, "name", None), str):
        raise OptionError(f"{source} has no text feature `{name}`: an object with a name and `score(sources, targets)`")
    if value is None:
        known = {} if weights is None else weights.to_dict()
        if TEXT + feature.name not in known:
            raise OptionError(f"the model has no weight for `{feature.name}`: say one, {spec}=1.0, or tune it")
        value = known[TEXT + feature.name]
    return cast("TextFeature", feature), value


def _module(source: str) -> Any:
    if source.endswith(".py"):
        return load_file(source)
    try:
        return importlib.import_module(source)
    except ImportError as error:
        raise OptionError(f"cannot load the text feature of {source}: {error}") from None


class TextFeatures:
    """Text features whose weights are being learned, for the native side: it opens batches of sentences."""

    def __init__(self, specs: Sequence[str], lines: Texts, documents: Sequence[Sequence[int]]) -> None:
        self.features = [text_feature(spec if "=" in spec else f"{spec}=0")[0] for spec in specs]
        self.lines = lines
        self.document = {line: list(document) for document in documents for line in document}

    @property
    def names(self) -> list[str]:
        """What their weights are called."""
        return [TEXT + feature.name for feature in self.features]

    def open(self, batch: Sequence[int]) -> _OpenTexts:
        """The sentences of a batch, which has whole documents."""
        return _OpenTexts(self, list(batch))


class _OpenTexts:
    """The translations of a batch."""

    def __init__(self, of: TextFeatures, batch: list[int]) -> None:
        self.features, self.batch, self.document = of.features, batch, of.document
        self.sources = {line: [of.lines[other] for other in of.document[line]] for line in batch}
        self.targets = dict.fromkeys(batch, "")

    def values(self, place: int, text: str) -> list[float]:
        """What each feature says of the sentence's document if the sentence had this translation."""
        line = self.batch[place]
        targets = [text if other == line else self.targets[other] for other in self.document[line]]
        return [float(feature.score(self.sources[line], targets)) for feature in self.features]

    def keep(self, place: int, text: str) -> None:
        """The sentence has this translation."""
        self.targets[self.batch[place]] = text


class _Whole:
    """Asks text features, for one document."""

    def __init__(self, sources: Sequence[str], features: Sequence[tuple[TextFeature, float]]) -> None:
        self.sources, self.features = sources, features
        self.targets = [""] * len(sources)
        self.asked = (0, "")

    def score(self, place: int, text: str) -> float:
        """The weighted sum if one sentence had another text."""
        self.asked, old = (place, text), self.targets[place]
        self.targets[place] = text
        try:
            return sum(weight * feature.score(self.sources, self.targets) for feature, weight in self.features)
        finally:
            self.targets[place] = old

    def keep(self) -> None:
        """The last text asked about stands."""
        self.targets[self.asked[0]] = self.asked[1]


class _Documents(NamedTuple):
    """Which lines are sampled together, as the native side reads it."""

    bounds: list[tuple[int, int]]
    """The first line of each document and one past its last."""
    wholes: list[_Whole] | None


def sampled(
    decoder: Decoder,
    lines: Sequence[str],
    sampling: Sampling | None = None,
    *,
    size: int = 1_000_000,
    features: bool = False,
    phrases: bool = False,
    distinct: bool = True,
    weights: Weights | None = None,
    constraints: Sequence[Constraints] | None = None,
    documents: Sequence[int] | None = None,
    text_features: Sequence[tuple[TextFeature, float]] = (),
) -> Candidates:
    """Translations by sampling: the best derivation met, or with `lag` a list of those sampled.

    In a list `totals` are logarithms of shares, so that `mbr(found, metric)` minimises the risk under the samples.
    `documents` has the number of lines of each document; `text_features` (each with its weight) look at these as a
    whole. With a seed the result is the same on any number of threads.
    """
    plan = sampling or Sampling()
    bounds = _bounds(documents, len(lines))
    wholes = [_Whole(lines[a:b], text_features) for a, b in bounds] if text_features else None
    settings = replace(decoder._settings(), size=size, distinct=distinct, features=features)
    ready = decoder._native_weights(weights)
    together = _Documents(bounds, wholes)
    wanted = None if constraints is None else [each.native() for each in constraints]
    columns = sample_translations(
        decoder._system, Texts(list(lines)), ready, settings, plan, together, wanted, decoder.threads
    )
    return decoder._candidates(columns, Texts([str(i) for i in range(len(lines))]), phrases)


def _bounds(documents: Sequence[int] | None, lines: int) -> list[tuple[int, int]]:
    if documents is None:
        return [(line, line + 1) for line in range(lines)]
    if any(count < 1 for count in documents) or sum(documents) != lines:
        raise OptionError(f"expected documents of {lines} lines in all, found {sum(documents)}")
    ends = [sum(documents[: i + 1]) for i in range(len(documents))]
    return list(zip([0, *ends[:-1]], ends, strict=True))
