"""N-best lists: Moses, cdec, Travatar and JSONL, whole or in a stream, both ways.

Formats: `moses` (`id ||| text ||| LM= -1 TM= -2 -3 wp_a_b=1 ||| total ||| 0-0 1-1`), `cdec` (features as
`name=value` only), `travatar` (the total before the features) and `jsonl`, one object a line:

    {"id": 0, "text": "a house", "features": {"LM": -1, "TM": [-2, -3]}, "sparse": {"wp_a_b": 1},
     "scores": {"COMET": 0.8}, "total": -4.5, "alignment": "0-0 1-1", "extra": "anything"}

Only `id` and `text` must be there. `auto` tells the format from the first line. Files may be packed (gz, zst, xz
by name), and `-` is the standard stream. What is written and read again is the same in every value; a format
that cannot hold some candidates (scores in Moses, a name with a blank) refuses them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from types import TracebackType

import numpy as np

from dragoman._core import NbestReader, NbestWriter, nbest_stat
from dragoman.errors import OptionError
from dragoman.types import Candidates, Features, Names

__all__ = [
    "FORMATS",
    "DenseFeature",
    "Stat",
    "Writer",
    "convert",
    "format_of",
    "read",
    "stat",
    "stream",
    "write",
]

FORMATS = ("moses", "cdec", "travatar", "jsonl")
"""The formats that can be written; reading knows `auto`, too."""

_WHOLE = 2**62
_PACKED = (".gz", ".zst", ".xz")


def format_of(path: str | PathLike[str]) -> str:
    """The format that a file to be written gets by its name: jsonl for `.jsonl` (packed or not), else moses."""
    name = os.fspath(path)
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return "jsonl" if name.endswith(".jsonl") else "moses"


def _batches(reader: NbestReader, names: Names, size: int) -> Iterator[Candidates]:
    while (columns := reader.next(size)) is not None:
        ids, starts, texts, rows, features, values, totals, scores, alignments, extra = columns
        yield Candidates(
            ids,
            starts,
            texts,
            Features(names, rows, features, values),
            totals,
            dict(scores),
            alignments,
            extra,
        )


def read(path: str | PathLike[str], format: str = "auto", names: Names | None = None) -> Candidates:
    """A whole list. Feature names go to `names`, or to a table of their own."""
    names = Names() if names is None else names
    return next(_batches(NbestReader(os.fspath(path), format, names), names, _WHOLE))


def stream(
    path: str | PathLike[str],
    format: str = "auto",
    names: Names | None = None,
    batch: int = 10_000,
) -> Iterator[Candidates]:
    """A list in batches of whole sentences, about `batch` candidates each; all share one table of names.

    Memory does not grow with the list. The file is opened at once, so a missing one is an error here.
    """
    if batch < 1:
        raise OptionError(f"expected a batch of at least 1 candidate, found {batch}")
    names = Names() if names is None else names
    return _batches(NbestReader(os.fspath(path), format, names), names, batch)


class Writer:
    """Writes a list a batch at a time; it appears under its name when the `with` block ends without an error.

    With an error nothing of it stays, and an older file of that name is untouched. Only `-`, pipes and devices
    are written as the batches come. Without a format, the name tells it (see `format_of`).
    """

    def __init__(self, path: str | PathLike[str], format: str | None = None) -> None:
        self._native = NbestWriter(os.fspath(path), format_of(path) if format is None else format)

    def write(self, candidates: Candidates) -> None:
        """Writes whole sentences; those of a later batch come after those of an earlier one."""
        features = candidates.features
        scores = [(name, np.ascontiguousarray(column)) for name, column in candidates.scores.items()]
        totals = None if candidates.totals is None else np.ascontiguousarray(candidates.totals)
        self._native.write(
            features.names,
            candidates.ids,
            np.ascontiguousarray(candidates.starts),
            candidates.texts,
            (
                np.ascontiguousarray(features.starts),
                np.ascontiguousarray(features.columns),
                np.ascontiguousarray(features.values),
            ),
            totals,
            scores,
            candidates.alignments,
            candidates.extra,
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._native.finish()
        else:
            self._native.discard()


def write(path: str | PathLike[str], candidates: Candidates, format: str | None = None) -> None:
    """Writes a whole list; without a format, the name tells it (see `format_of`)."""
    with Writer(path, format) as writer:
        writer.write(candidates)


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    from_format: str = "auto",
    to_format: str | None = None,
    dense: Iterable[str] | None = None,
) -> None:
    """Rewrites a list in another format, in a stream.

    cdec and Travatar do not say which features are dense; `dense` names those that a Moses or JSONL list
    shall have so (`LM`, or `TM[0]`, `TM[1]` for the parts of a group).
    """
    names = Names([] if dense is None else list(dense), dense=True)
    with Writer(target, to_format) as writer:
        for batch in stream(source, from_format, names):
            writer.write(batch)


@dataclass(frozen=True, slots=True)
class DenseFeature:
    """The range of a dense feature over all candidates; one without it counts as 0."""

    name: str
    minimum: float
    mean: float
    maximum: float
    constant: bool
    """The same for all candidates of each sentence: tuning cannot use it."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What a list is like."""

    sentences: int
    candidates: int
    smallest: int
    """Candidates of the shortest list."""
    mean_size: float
    """Mean number of candidates of a sentence."""
    largest: int
    """Candidates of the longest list."""
    distinct: float
    """Share of candidates whose text does not stand earlier in the same list, 0 to 1."""
    duplicates: int
    """Candidates whose text stands earlier in the same list."""
    dense: tuple[DenseFeature, ...]
    sparse: int
    """Number of different sparse features."""


def stat(path: str | PathLike[str], format: str = "auto") -> Stat:
    """The figures of a list, read in a stream."""
    figures = nbest_stat(os.fspath(path), format)
    sentences, candidates, smallest, largest, duplicates, sparse, dense = figures
    return Stat(
        sentences=sentences,
        candidates=candidates,
        smallest=smallest,
        mean_size=candidates / sentences,
        largest=largest,
        distinct=1 - duplicates / candidates,
        duplicates=duplicates,
        dense=tuple(DenseFeature(*feature) for feature in dense),
        sparse=sparse,
    )
