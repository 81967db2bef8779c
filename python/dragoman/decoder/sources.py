"""A decoder with a text, as what tuners draw from: lists, forests, chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dragoman._core import NativeMetric, SampleRanker, names_extend
from dragoman.decoder.constraints import Constraints
from dragoman.decoder.decoder import Decoder, as_texts
from dragoman.decoder.sampling import TextFeatures, text_feature
from dragoman.errors import OptionError
from dragoman.metrics.capability import require
from dragoman.tuning.loops.chains import Pace, Ranked, documents_of
from dragoman.tuning.tuners.samplerank import SampleRank
from dragoman.types import F64, I64, TEXT, Candidates, ForestColumns, Hypotheses, Metric, Names, Texts, Weights

__all__ = ["DecoderRanker", "DecoderSource"]


class DecoderSource:
    """A text and a decoder as a source of candidates for tuning: lists are made anew under the weights of each call."""

    def __init__(
        self,
        decoder: Decoder,
        lines: Sequence[str] | Texts,
        size: int = 200,
        *,
        distinct: bool = True,
        constraints: Sequence[Constraints] | None = None,
    ) -> None:
        self.decoder, self.lines, self.size, self.distinct = decoder, as_texts(lines), size, distinct
        self.constraints = constraints

    def _asked(self, numbers: Sequence[int] | I64) -> list[Constraints] | None:
        return None if self.constraints is None else [self.constraints[int(number)] for number in numbers]

    @property
    def names(self) -> Names:
        """The decoder's."""
        return self.decoder.names

    def __len__(self) -> int:
        return len(self.lines)

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        """The n-best lists of some lines."""
        numbers = np.asarray(sentences, dtype=np.int64)
        settings = replace(self.decoder._settings(), size=self.size, distinct=self.distinct, features=True)
        found = self.decoder._run(self.lines.take(numbers), weights, settings, self._asked(numbers), threads=threads)
        return replace(found, ids=Texts([str(number) for number in numbers]))

    def forests(
        self, sentences: Sequence[int], weights: Weights, density: float = 0.0, threads: int | None = None
    ) -> ForestColumns:
        """The derivations of some lines that the search kept, with all features.

        `density` keeps that many edges for each source word, those on the best derivations (Sixtus & Ortmanns 1999).
        """
        numbers = np.asarray(sentences, dtype=np.int64)
        found = self.decoder._forests(
            self.lines.take(numbers), weights, self._asked(numbers), density=density, threads=threads
        )
        return replace(found, ids=Texts([str(number) for number in numbers]))

    @property
    def weights(self) -> Weights:
        """The decoder's own: where tuning starts, unless told otherwise."""
        return self.decoder.weights

    def unknown(self, names: Names) -> str | None:
        """The first of some names that no feature of this system can have."""
        return self.decoder._system.unknown(names)

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        """The best translation of every line."""
        settings, asked = self.decoder._settings(), self.constraints
        return Hypotheses.one_each(self.decoder._run(self.lines, weights, settings, asked, threads=threads).texts)

    def text_names(self, specs: Sequence[str]) -> dict[str, float]:
        """The weights of features of whole texts, by name, and where they start."""
        found = [text_feature(spec if "=" in spec else f"{spec}=0") for spec in specs]
        if len({feature.name for feature, _ in found}) < len(found):
            raise OptionError("two text features have the same name")
        return {TEXT + feature.name: start for feature, start in found}

    def ranker(self, references: Sequence[Sequence[str]], metric: Metric) -> DecoderRanker:
        """The text with its references, ready for SampleRank."""
        native = require(metric, "incremental", "SampleRank")
        return DecoderRanker(self.decoder, self.lines, references, native, self.constraints)


@dataclass(frozen=True)
class _Ranking(SampleRank):
    """All that an epoch of SampleRank wants, as the native side reads it."""

    distortion_limit: int = 6
    table_limit: int = 20
    drop_unknown: bool = False
    seed: int = 0
    first: int = 0
    """The number of the first chain's random stream."""
    threads: int | None = None


class DecoderRanker:
    """A text whose derivations can be sampled, with its references."""

    def __init__(
        self,
        decoder: Decoder,
        lines: Texts,
        references: Sequence[Sequence[str]],
        metric: NativeMetric,
        constraints: Sequence[Constraints] | None = None,
    ) -> None:
        self.decoder = decoder
        self._made = decoder, lines, references, metric, constraints
        wanted = None if constraints is None else [each.native() for each in constraints]
        self._native = SampleRanker(decoder._system, lines, [list(texts) for texts in references], metric, wanted)

    def __reduce__(self) -> tuple[Any, ...]:
        return DecoderRanker, self._made

    def _texts(self, tuner: SampleRank) -> tuple[list[int], TextFeatures] | None:
        """The features of whole texts that are learned, with their numbers."""
        if not tuner.text_features:
            return None
        lines = self._made[1]
        texts = TextFeatures(
            tuner.text_features, lines, [d.tolist() for d in documents_of(tuner.documents, len(lines))]
        )
        return [int(place) for place in names_extend(self.decoder.names, Names(texts.names))], texts

    def epoch(
        self,
        weights: Weights,
        start: F64,
        pace: Pace,
        fixed: Sequence[int],
        shards: Sequence[Sequence[Sequence[int]]],
        tuner: SampleRank,
        seed: int,
        first: int,
        threads: int | None = None,
    ) -> Ranked:
        """One epoch of all chains; options are chosen under `weights`, and `start` is where chains begin."""
        search = self.decoder.search
        ranking = _Ranking(
            **{f.name: getattr(tuner, f.name) for f in fields(SampleRank)},
            distortion_limit=search.distortion_limit, table_limit=search.table_limit, drop_unknown=search.drop_unknown,
            seed=seed, first=first, threads=threads or self.decoder.threads,
        )  # fmt: skip
        dealt = [[list(batch) for batch in shard] for shard in shards]
        ready = self.decoder._native_weights(weights)
        (mixed, collected, squares, information), figures = self._native.epoch(
            ready, start, pace, list(fixed), dealt, ranking, self._texts(tuner)
        )
        return Ranked(mixed, collected, squares, information, figures)
