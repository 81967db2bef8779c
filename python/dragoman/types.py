"""The types that every part of dragoman shares: columns of candidates, weights, and the metric protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dragoman._core import (
    Names,
    NativeForests,
    SharedValues,
    Texts,
    align_weights,
    best_per_group,
    dot_rows,
    names_pack,
    names_take,
    names_unpack,
)
from dragoman.errors import OptionError

__all__ = [
    "F64",
    "I64",
    "TEXT",
    "U32",
    "Candidates",
    "Chains",
    "Features",
    "ForestColumns",
    "Forests",
    "Hypotheses",
    "Lists",
    "Metric",
    "Names",
    "References",
    "Source",
    "Texts",
    "Translator",
    "Weights",
]

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
TEXT = "text:"
"""What the names of features of whole texts begin with: only a sampler asks for them."""


class Change(NamedTuple):
    """Some features with their new weights, and which weights they were changed in."""

    before: object
    columns: U32
    values: F64


_STEPS = 8
"""Changes that weights remember for a decoder that knows what they came from."""


class Weights:
    """Feature names and a float64 for each. Names without a value weigh nothing. They are values: they never change.

    >>> w = Weights.of({"LM": 0.5, "WordPenalty": -1.0})
    >>> w["LM"], w["unheard of"]
    (0.5, 0.0)
    """

    __slots__ = ("_plain", "_shared", "mark", "names", "steps")

    _plain: F64 | None
    """The values in one array, where there is one."""
    _shared: SharedValues | None
    """The values in blocks that other weights share, where they were made by a change or were changed."""
    names: Names
    mark: object
    """Tells these weights from all others of the process."""
    steps: tuple[Change, ...]
    """The last changes that led here, the last one last."""

    def __init__(self, names: Names, values: F64) -> None:
        if values.ndim != 1 or len(values) > len(names):
            raise OptionError("weights need one value for each name, in one dimension")
        if not np.isfinite(values).all():
            bad = names[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise OptionError(f"the weight of {bad} is not a finite number")
        self._begin(names, values, None, ())

    def _begin(self, names: Names, plain: F64 | None, shared: SharedValues | None, steps: tuple[Change, ...]) -> None:
        fields = {"names": names, "steps": steps, "mark": object(), "_plain": plain, "_shared": shared}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, _value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to `{name}`: make other weights")

    @property
    def values(self) -> F64:
        """A float64 for each name, in order; written down when somebody asks."""
        if self._plain is not None:
            return self._plain
        assert self._shared is not None
        whole = self._shared.all()
        whole.flags.writeable = False
        object.__setattr__(self, "_plain", whole)
        return whole

    def take(self, columns: U32) -> F64:
        """The values of some ids; zero for those past the end. Costs what is asked for."""
        if self._shared is not None:
            return self._shared.take(columns)
        known = columns < len(self)
        taken = np.zeros(len(columns))
        taken[known] = self.values[columns[known]]
        return taken

    def changed(self, columns: U32, values: F64) -> Weights:
        """The same weights with other values at some ids of names. Costs what is changed, not what there is.

        The new weights share the values of these, which must stay as they are from now on.
        """
        columns, values = np.array(columns, dtype=np.uint32), np.array(values, dtype=np.float64)
        if columns.ndim != 1 or columns.shape != values.shape:
            raise OptionError("a change needs one value for each id, in one dimension")
        size = max(len(self), int(columns.max()) + 1) if len(columns) else len(self)
        if size > len(self.names):
            raise OptionError(f"there is no name {size - 1}, only {len(self.names)}")
        if not np.isfinite(values).all():
            bad = self.names[int(columns[np.flatnonzero(~np.isfinite(values))[0]])]
            raise OptionError(f"the weight of {bad} is not a finite number")
        shared = self._shared
        if shared is None:
            shared = SharedValues(np.ascontiguousarray(self.values, dtype=np.float64))
            object.__setattr__(self, "_shared", shared)
        made = Weights.__new__(Weights)
        steps = (*self.steps, Change(self.mark, columns, values))[-_STEPS:]
        made._begin(self.names, None, shared.changed(columns, values, size), steps)
        return made

    @classmethod
    def of(cls, values: Mapping[str, float]) -> Weights:
        """The weights of a plain mapping."""
        return cls(Names(list(values)), np.fromiter(values.values(), dtype=np.float64, count=len(values)))

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: a table that grew beyond these weights does not travel with them."""
        return _weights, (names_pack(self.names, len(self)), self.values)

    def __repr__(self) -> str:
        return f"Weights({len(self)} of {self.names!r})"

    def __len__(self) -> int:
        if self._plain is not None:
            return len(self._plain)
        assert self._shared is not None
        return len(self._shared)

    def __getitem__(self, name: str) -> float:
        index = self.names.get(name)
        return float(self.values[index]) if index is not None and index < len(self) else 0.0

    def to_dict(self) -> dict[str, float]:
        """All names and values, in order of the names' ids."""
        return dict(zip(self.names.to_list(), self.values.tolist(), strict=False))

    def align(self, names: Names) -> F64:
        """The values in the order of another table of names: what a kernel multiplies with."""
        return align_weights(self.names, self.values, names)


def _weights(names: bytes, values: F64) -> Weights:
    return Weights(names_unpack(names), values)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Sparse feature vectors, a row a candidate: `values[k]` at `columns[k]` for k in `starts[i]:starts[i+1]`."""

    names: Names
    starts: I64
    columns: U32
    values: F64

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, and only the names that occur: tables of a decoder may have millions."""
        used, columns = np.unique(self.columns, return_inverse=True)
        names = names_take(self.names, used.astype(np.int64))
        return Features, (names, self.starts, columns.astype(np.uint32), self.values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dot(self, weights: Weights) -> F64:
        """The model score w.h of every row."""
        return dot_rows(self.starts, self.columns, self.values, weights.align(self.names))

    def row(self, index: int) -> dict[str, float]:
        """One row with its names."""
        span = slice(int(self.starts[index]), int(self.starts[index + 1]))
        columns, values = self.columns[span].tolist(), self.values[span].tolist()
        return {self.names[c]: v for c, v in zip(columns, values, strict=True)}

    def dense(self) -> F64:
        """All rows as one matrix, a column for each name. Only for few names."""
        matrix = np.zeros((len(self), len(self.names)))
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        matrix[rows, self.columns] = self.values
        return matrix

    def take(self, rows: I64) -> Features:
        """The given rows, in that order."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Features(self.names, starts, self.columns[entries], self.values[entries])


@dataclass(frozen=True, slots=True, eq=False)
class Hypotheses:
    """What a metric looks at: texts, the sentence each belongs to, and scores that came with them."""

    texts: Texts
    sentence: I64
    scores: Mapping[str, F64] = field(default_factory=dict)

    @classmethod
    def one_each(cls, texts: Texts | Iterable[str], scores: Mapping[str, F64] | None = None) -> Hypotheses:
        """One hypothesis for each sentence, in order: a system's output."""
        column = texts if isinstance(texts, Texts) else Texts(list(texts))
        return cls(column, np.arange(len(column), dtype=np.int64), scores or {})

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidate translations of some sentences, in columns.

    The candidates of sentence s are those from `starts[s]` up to `starts[s + 1]`; `ids[s]` is its name in the
    file it came from. Missing numbers in `totals` and `scores` are NaN.
    """

    ids: Texts
    starts: I64
    texts: Texts
    features: Features
    totals: F64 | None = None
    """The model score that the list itself states."""
    scores: Mapping[str, F64] = field(default_factory=dict)
    """Numbers that judge a candidate (COMET, a human): for metrics, never for the model."""
    alignments: Texts | None = None
    """Word alignments as the list writes them, `0-0 1-2`."""
    extra: Texts | None = None
    """Further columns, as the list writes them."""
    columns: Mapping[str, F64 | Texts] = field(default_factory=dict)
    """Columns of your own: other keys of JSON lines. Numbers (NaN where a candidate has none), which metrics can read
    as scores, or texts (empty where a candidate has none)."""
    json: Mapping[str, Texts] = field(default_factory=dict)
    """Columns of your own whose values are neither all numbers nor all texts, as JSON; empty where there is none."""

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.ids)

    @property
    def size(self) -> int:
        """Number of candidates of all sentences together."""
        return len(self.texts)

    @property
    def sentence(self) -> I64:
        """For each candidate, the position of its sentence in `ids`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))

    @property
    def hypotheses(self) -> Hypotheses:
        """The part that metrics may see. Of a score and a column of the same name it is the score."""
        numbers = {name: column for name, column in self.columns.items() if not isinstance(column, Texts)}
        return Hypotheses(self.texts, self.sentence, {**numbers, **self.scores})

    def take(self, sentences: I64) -> Candidates:
        """The candidates of some sentences, in the order given."""
        sizes = np.diff(self.starts)[sentences]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.starts[sentences] - starts[:-1], sizes) + np.arange(starts[-1])
        return Candidates(
            self.ids.take(np.ascontiguousarray(sentences, dtype=np.int64)),
            starts,
            self.texts.take(rows),
            self.features.take(rows),
            None if self.totals is None else self.totals[rows],
            {name: column[rows] for name, column in self.scores.items()},
            None if self.alignments is None else self.alignments.take(rows),
            None if self.extra is None else self.extra.take(rows),
            {name: taken(column, rows) for name, column in self.columns.items()},
            {name: column.take(rows) for name, column in self.json.items()},
        )

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]], names: Names | None = None) -> Candidates:
        """Candidates from dictionaries with the keys of JSON lines (`dragoman.nbest`), in any order of sentences.

        >>> found = Candidates.from_records([{"id": 0, "text": "a house", "features": {"LM": -1.5}, "comet": 0.8}])
        >>> found.texts[0], found.features.row(0), found.columns["comet"].tolist()
        ('a house', {'LM': -1.5}, [0.8])
        """
        from dragoman.records import candidates_of  # noqa: PLC0415  records are made of these types

        return candidates_of(records, names)

    def to_records(self) -> list[dict[str, Any]]:
        """A dictionary for each candidate, as `from_records` takes it."""
        from dragoman.records import records_of  # noqa: PLC0415  records are made of these types

        return records_of(self)

    @classmethod
    def from_pandas(cls, frame: Any, names: Names | None = None) -> Candidates:
        """Candidates from a pandas data frame with the columns that `to_pandas` gives."""
        from dragoman.records import of_frame  # noqa: PLC0415  records are made of these types

        return of_frame(frame, names)

    def to_pandas(self) -> Any:
        """A pandas data frame with a row for each candidate.

        Its columns are `id`, `text`, `total`, `alignment`, `extra`, `feature:NAME` for each dense feature, `sparse`
        with a dictionary, `score:NAME` for each score, and your own.
        """
        from dragoman.records import to_frame  # noqa: PLC0415  records are made of these types

        return to_frame(self)

    def best(self, weights: Weights) -> I64:
        """For each sentence, its best candidate under the weights (the first of equals; -1 where there is none)."""
        return best_per_group(self.features.dot(weights), self.starts)


def taken(column: F64 | Texts, rows: I64) -> F64 | Texts:
    """The given rows of a column."""
    return column.take(rows) if isinstance(column, Texts) else column[rows]


@dataclass(frozen=True, slots=True, eq=False)
class ForestColumns:
    """Forests of some sentences: hypergraphs of derivations (docs/forest.md). A lattice is one with a tail per edge.

    A derivation of a node is one of its edges with a derivation of each of the edge's tails; derivations of the last
    node are translations. A forest without nodes has none.
    """

    ids: Texts
    names: Names
    """The names of features."""
    native: NativeForests

    @classmethod
    def of(cls, ids: Sequence[str], names: Names, **columns: Any) -> ForestColumns:
        """Forests from flat arrays with the names of `columns`; those from `scores` on may be left out."""
        return cls(Texts(list(ids)), names, NativeForests.from_columns(**columns))

    @classmethod
    def of_lattices(
        cls, ids: Sequence[str], nodes: I64, starts: I64, tails: U32, heads: U32, texts: Sequence[str], rows: Features
    ) -> ForestColumns:
        """Lattices: the arcs of lattice s are those from `starts[s]` up to `starts[s + 1]`, in order of their heads.

        Node 0 is the start and the last node the end. Each arc leads to a higher node and has words and features; a
        lattice with a single node has the empty translation.
        """
        table, made = Names([]), _Lattices()
        for s, count in enumerate(nodes.tolist()):
            for arc in range(int(starts[s]), int(starts[s + 1])):
                span = slice(int(rows.starts[arc]), int(rows.starts[arc + 1]))
                numbers = [table.intern(word) for word in texts[arc].split()]
                made.add(int(tails[arc]), int(heads[arc]), numbers, rows.columns[span], rows.values[span])
            if count == 1:
                made.add(0, 1, [], rows.columns[:0], rows.values[:0])
            made.end(max(count - 1, min(count, 1)))
        return cls.of(ids, rows.names, words=Texts(table.to_list()), **made.columns())

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.native)

    @property
    def nodes(self) -> I64:
        """Number of nodes of each forest."""
        return self.native.nodes

    @property
    def edges(self) -> I64:
        """Number of edges of each forest."""
        return self.native.edges

    def columns(self) -> dict[str, Any]:
        """All of it as flat arrays, by name; docs/forest.md says what each one is."""
        return self.native.columns()

    @property
    def features(self) -> Features:
        """A row an edge, of all forests one after the other; those of a derivation add up."""
        made = self.columns()
        return Features(self.names, made["row_starts"], made["columns"], made["values"])

    def take(self, sentences: I64) -> ForestColumns:
        """The forests of some sentences, in the order given."""
        rows = np.ascontiguousarray(sentences, dtype=np.int64)
        return ForestColumns(self.ids.take(rows), self.names, self.native.take(rows))

    def rescored(self, weights: Weights) -> ForestColumns:
        """The same with the scores that edges have under some weights."""
        return ForestColumns(self.ids, self.names, self.native.rescored(weights.align(self.names)))

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, and only the names that occur."""
        made = self.columns()
        used, made["columns"] = np.unique(made["columns"], return_inverse=True)
        made["columns"] = made["columns"].astype(np.uint32)
        return _forests, (self.ids, names_take(self.names, used.astype(np.int64)), made)


class _Lattices:
    """The columns of lattices that are being made."""

    def __init__(self) -> None:
        self.nodes, self.heads, self.tails, self.symbols = list[int](), list[int](), list[int](), list[int]()
        self.starts, self.tail_starts, self.symbol_starts, self.row_starts = [0], [0], [0], [0]
        self.rows: list[tuple[U32, F64]] = []

    def add(self, tail: int, head: int, words: Sequence[int], columns: U32, values: F64) -> None:
        """An arc; node 0, the start, is no node of a forest."""
        self.heads.append(head - 1)
        self.tails += [tail - 1] * (tail > 0)
        self.symbols += [_TAIL] * (tail > 0) + list(words)
        self.rows.append((columns, values))
        for starts, size in (
            (self.tail_starts, len(self.tails)), (self.symbol_starts, len(self.symbols)),
            (self.row_starts, self.row_starts[-1] + len(columns)),
        ):  # fmt: skip
            starts.append(size)

    def end(self, nodes: int) -> None:
        """The end of a lattice."""
        self.nodes.append(nodes)
        self.starts.append(len(self.heads))

    def columns(self) -> dict[str, Any]:
        """As `ForestColumns.of` takes them."""
        bad = [node for node in (*self.heads, *self.tails) if node < 0]
        if bad:
            raise OptionError("a lattice has an arc to its start")
        wide = {
            name: np.array(getattr(self, name), dtype=np.int64)
            for name in ("nodes", "starts", "tail_starts", "symbol_starts", "row_starts")
        }
        narrow = {name: np.array(getattr(self, name), dtype=np.uint32) for name in ("heads", "tails", "symbols")}
        columns = np.concatenate([row[0] for row in self.rows] or [np.zeros(0, dtype=np.uint32)])
        values = np.concatenate([row[1] for row in self.rows] or [np.zeros(0)])
        return {**wide, **narrow, "columns": columns.astype(np.uint32), "values": values.astype(np.float64)}


_TAIL = 1 << 31
"""From here on a target symbol is no word: this plus k is tail k."""


def _forests(ids: Texts, names: Names, columns: dict[str, Any]) -> ForestColumns:
    return ForestColumns(ids, names, NativeForests.from_columns(**columns))


@runtime_checkable
class References(Protocol):
    """The references of some sentences, digested once."""

    def statistics(self, hypotheses: Hypotheses) -> F64:
        """The row of additive statistics of each hypothesis: an array of (hypotheses, width)."""
        ...


@runtime_checkable
class Metric(Protocol):
    """A score of sums of statistics. Ours and yours pass the same laws: `dragoman.testing.check_metric`."""

    @property
    def name(self) -> str:
        """What tables call it, e.g. BLEU."""
        ...

    @property
    def width(self) -> int:
        """Number of statistics in a row."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """False for error rates."""
        ...

    @property
    def scale(self) -> float:
        """What a score is divided by to get the unit of the formulas: 100 for percentages, else 1."""
        ...

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        """Digests the references: one sequence for each sentence, with one or more references in it."""
        ...

    def score(self, statistics: F64) -> F64:
        """The score of each row of an array (..., width), as an array (...)."""
        ...

    def sentence_level(self) -> Metric:
        """The form to score single sentences with, on the same statistics: smoothed, where that is needed."""
        ...

    def signature(self) -> str:
        """Every option that changes the figure, in one line."""
        ...


@runtime_checkable
class Source(Protocol):
    """Sentences to translate, by our decoder or any other system behind a call.

    What it can give, its protocol says: `Lists`, `Forests`, `Chains`. A source with the attribute `fixed = True` gives
    the same candidates under all weights, as a file of lists does.
    """

    @property
    def names(self) -> Names:
        """The names of all features met so far; it may grow with every call."""
        ...

    def __len__(self) -> int:
        """Number of sentences."""
        ...


@runtime_checkable
class Lists(Source, Protocol):
    """A source that gives n-best lists, which depend on the weights."""

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        """The candidates of some sentences, by number, under the weights, best first; `ids` are the numbers as text.

        The result must not depend on `threads` (all cores if None). Several threads may call at once.
        """
        ...


@runtime_checkable
class Translator(Source, Protocol):
    """A source that gives the best translation alone, in less time than a list."""

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        """The best translation of every sentence, in order; an empty text where there is none."""
        ...


@runtime_checkable
class Forests(Source, Protocol):
    """A source that gives forests: hypergraphs of derivations, or lattices, where each edge has one tail."""

    def forests(
        self, sentences: Sequence[int], weights: Weights, density: float = 0.0, threads: int | None = None
    ) -> ForestColumns:
        """The forests of some sentences, pruned to about `density` edges for each source word (0: not at all)."""
        ...


@runtime_checkable
class Chains(Source, Protocol):
    """A source whose derivations can be sampled (see `dragoman.tuning.loops.chains`)."""

    def ranker(self, references: Sequence[Sequence[str]], metric: Metric) -> Any:
        """Gets ready for SampleRank; the metric must have the capability `incremental`."""
        ...
