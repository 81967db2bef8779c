"""N-best lists: Moses, cdec, Travatar and JSONL, whole or in a stream, both ways.

Formats: `moses` (`id ||| text ||| LM= -1 TM= -2 -3 wp_a_b=1 ||| total ||| 0-0 1-1`), `cdec` (features as
`name=value` only), `travatar` (the total before the features) and `jsonl`, one object a line:

    {"id": 0, "text": "a house", "features": {"LM": -1, "TM": [-2, -3]}, "sparse": {"wp_a_b": 1},
     "scores": {"COMET": 0.8}, "total": -4.5, "alignment": "0-0 1-1", "extra": "anything"}

Only `id` and `text` must be there. Any other key is a column of your own (`Candidates.columns`): numbers, which metrics
can read (`external:NAME`), texts, or else JSON as it is (`Candidates.json`). `auto` tells the format from the first
line. Files may be compressed (gz, zst, xz by name), and `-` is the standard stream. What is written and read again is
the same in every value; a format that cannot hold some candidates (scores in Moses, a name with a space) refuses them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from os import PathLike
from types import TracebackType

import numpy as np

from dragoman._core import NbestReader, NbestWriter, nbest_stat
from dragoman.dialects import CORE, dialect_of, formatted, parsed
from dragoman.errors import OptionError
from dragoman.files import Lines
from dragoman.types import F64, I64, Candidates, Features, Names, Texts, taken

__all__ = [
    "FORMATS",
    "DenseFeature",
    "Stat",
    "Writer",
    "convert",
    "format_of",
    "join",
    "read",
    "stat",
    "stream",
    "write",
]

FORMATS = CORE
"""The formats of the core; reading knows `auto`, too, and `FILE.py:NAME` is one of yours (`dragoman.dialects`)."""

_WHOLE = 2**62
_PACKED = (".gz", ".zst", ".xz")


def format_of(path: str | PathLike[str]) -> str:
    """Tell the format to write from a file's name: jsonl for `.jsonl` (packed or not), else moses."""
    name = os.fspath(path)
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return "jsonl" if name.endswith(".jsonl") else "moses"


def _batches(reader: NbestReader, names: Names, size: int) -> Iterator[Candidates]:
    while (columns := reader.next(size)) is not None:
        ids, starts, texts, rows, features, values, totals, scores, alignments, extra, own = columns
        yield Candidates(
            ids,
            starts,
            texts,
            Features(names, rows, features, values),
            totals,
            dict(scores),
            alignments,
            extra,
            {**dict(own[0]), **dict(own[1])},
            dict(own[2]),
        )


def read(path: str | PathLike[str], format: str = "auto", names: Names | None = None) -> Candidates:
    """Read a whole list. Feature names go to `names`, or to a table of their own."""
    return next(_opened(path, format, names, _WHOLE))


def stream(
    path: str | PathLike[str],
    format: str = "auto",
    names: Names | None = None,
    batch: int = 10_000,
) -> Iterator[Candidates]:
    """Read a list in batches of whole sentences, about `batch` candidates each, with one table of names.

    Memory does not grow with the list. The file is opened at once, so a missing one is an error here.
    """
    if batch < 1:
        raise OptionError(f"expected a batch of at least 1 candidate, found {batch}")
    return _opened(path, format, names, batch)


def _opened(path: str | PathLike[str], format: str, names: Names | None, batch: int) -> Iterator[Candidates]:
    names = Names() if names is None else names
    dialect = dialect_of(format)
    if dialect is not None:
        return parsed(path, dialect, names, batch)
    return _batches(NbestReader(os.fspath(path), format, names), names, batch)


def join(lists: Sequence[Candidates]) -> Candidates:
    """One pool of several lists that share a table of names: the candidates of a sentence come together.

    Sentences are ordered by their ids if these are numbers, else as they first appear. A candidate with the text and
    features of an earlier one is dropped. Totals, alignments and `extra`, which belong to one list, are too; scores and
    columns of your own are kept.
    """
    if len(lists) == 1:
        return lists[0]
    if len({id(part.features.names) for part in lists}) != 1:
        raise OptionError("lists to be joined must be read with one table of names")
    seen = dict.fromkeys(i for part in lists for i in part.ids)
    order = sorted(seen, key=int) if all(i.isdecimal() for i in seen) else list(seen)
    rank = {i: r for r, i in enumerate(order)}
    sentence = np.concatenate([np.array([rank[i] for i in part.ids])[part.sentence] for part in lists])
    pooled = _stacked(lists)
    rows = np.argsort(sentence, kind="stable")
    rows = rows[_first_of_each(pooled, sentence, rows)]
    sizes = np.bincount(sentence[rows], minlength=len(order))
    return Candidates(
        Texts(order),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        pooled.texts.take(rows),
        pooled.features.take(rows),
        scores={name: column[rows] for name, column in pooled.scores.items()},
        columns={name: taken(column, rows) for name, column in pooled.columns.items()},
        json={name: column.take(rows) for name, column in pooled.json.items()},
    )


def _stacked(lists: Sequence[Candidates]) -> Candidates:
    """All candidates, one list after the other, as if of one sentence."""
    ends = np.cumsum([0, *(len(part.features.values) for part in lists)])
    features = Features(
        lists[0].features.names,
        np.concatenate([[0], *(part.features.starts[1:] + end for part, end in zip(lists, ends, strict=False))]),
        np.concatenate([part.features.columns for part in lists]),
        np.concatenate([part.features.values for part in lists]),
    )
    names = dict.fromkeys(name for part in lists for name in part.scores)
    scores = {
        name: np.concatenate([part.scores.get(name, np.full(part.size, np.nan)) for part in lists]) for name in names
    }
    texts = Texts([text for part in lists for text in part.texts])
    columns, json = _stacked_columns(lists)
    return Candidates(
        Texts([""]), np.array([0, len(texts)]), texts, features, scores=scores, columns=columns, json=json
    )


def _stacked_columns(lists: Sequence[Candidates]) -> tuple[dict[str, F64 | Texts], dict[str, Texts]]:
    """Columns of the user's own; where lists do not agree on what one has, it is JSON."""
    plain: dict[str, F64 | Texts] = {}
    json: dict[str, Texts] = {}
    for name in dict.fromkeys(name for part in lists for name in (*part.columns, *part.json)):
        found = [part.columns.get(name, part.json.get(name)) for part in lists]
        kinds = {
            "json" if name in part.json else type(column)
            for part, column in zip(lists, found, strict=True)
            if column is not None
        }
        if kinds == {np.ndarray}:
            missing = [np.full(part.size, np.nan) for part in lists]
            plain[name] = np.concatenate(
                [m if c is None else np.asarray(c) for m, c in zip(missing, found, strict=True)]
            )
            continue
        texts: list[str] = []
        for part, column in zip(lists, found, strict=True):
            if column is None:
                texts += [""] * part.size
            else:
                texts += column if kinds == {Texts} or name in part.json else _as_json(column)
        (plain if kinds == {Texts} else json)[name] = Texts(texts)
    return plain, json


def _as_json(column: F64 | Texts) -> list[str]:
    """The values of a plain column as JSON; those of a JSON column are that already."""
    if isinstance(column, Texts):
        return [dumps(value, ensure_ascii=False) if value else "" for value in column]
    return ["" if np.isnan(value) else dumps(value) for value in column.tolist()]


def _first_of_each(pooled: Candidates, sentence: I64, rows: I64) -> I64:
    """Positions in `rows` of candidates that are not the same as an earlier one of their sentence."""
    features, seen = pooled.features, set()
    kept = []
    for position, row in enumerate(rows.tolist()):
        span = slice(int(features.starts[row]), int(features.starts[row + 1]))
        key = (sentence[row], pooled.texts[row], features.columns[span].tobytes(), features.values[span].tobytes())
        if key not in seen:
            seen.add(key)
            kept.append(position)
    return np.array(kept, dtype=np.int64)


class Writer:
    """Writes a list a batch at a time; it appears under its name when the `with` block ends without an error.

    With an error nothing of it stays, and an older file of that name is untouched. Only `-`, pipes and
    devices are written as the batches come. Without a format, the name tells it (see `format_of`).
    """

    def __init__(self, path: str | PathLike[str], format: str | None = None) -> None:
        chosen = format_of(path) if format is None else format
        self._dialect = dialect_of(chosen)
        self._lines = None if self._dialect is None else Lines(path)
        self._core = NbestWriter(os.fspath(path), chosen) if self._dialect is None else None

    def write(self, candidates: Candidates) -> None:
        """Write whole sentences; those of a later batch come after those of an earlier one."""
        if self._core is None:
            assert self._dialect is not None
            assert self._lines is not None
            for line in formatted(candidates, self._dialect):
                self._lines.write(line)
            return
        features = candidates.features
        scores = [(name, np.ascontiguousarray(column)) for name, column in candidates.scores.items()]
        totals = None if candidates.totals is None else np.ascontiguousarray(candidates.totals)
        columns = candidates.columns.items()
        numbers = [(name, np.ascontiguousarray(c)) for name, c in columns if not isinstance(c, Texts)]
        texts = [(name, c) for name, c in columns if isinstance(c, Texts)]
        self._core.write(
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
            (numbers, texts, list(candidates.json.items())),
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lines is not None:
            self._lines.__exit__(kind, error, trace)
        elif self._core is not None and kind is None:
            self._core.finish()
        elif self._core is not None:
            self._core.discard()


def write(path: str | PathLike[str], candidates: Candidates, format: str | None = None) -> None:
    """Write a whole list; without a format, the name tells it (see `format_of`)."""
    with Writer(path, format) as writer:
        writer.write(candidates)


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    from_format: str = "auto",
    to_format: str | None = None,
    dense: Iterable[str] | None = None,
) -> None:
    """Rewrite a list in another format, in a stream.

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
    """Count through a list, in a stream."""
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
