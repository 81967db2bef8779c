"""All derivations of a sentence that a search kept: a hypergraph; a lattice is one with a tail per edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dragoman import files
from dragoman._core import NativeForests
from dragoman.errors import OptionError
from dragoman.types import Features, ForestColumns, Names, Texts, Weights

__all__ = ["Derived", "Edge", "Forest", "read_forests", "write_forests"]

_TAIL = 1 << 31
"""From here on a target symbol is a tail."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A way to derive a node: a rule over other nodes."""

    head: int
    tails: Sequence[int]
    """Nodes below; none for an edge that is complete by itself."""
    target: Sequence[str | int]
    """Words, and numbers for tails: 0 is the first."""
    span: tuple[int, int]
    """Source words: first, one after the last."""
    score: float
    """What it adds to the model score."""
    features: Mapping[str, float]
    links: Sequence[tuple[int, int]] = ()
    """Aligned words: a source word, a place on the target side."""

    @property
    def text(self) -> str:
        """The words of its own."""
        return " ".join(word for word in self.target if isinstance(word, str))


@dataclass(frozen=True, slots=True)
class Derived:
    """A derivation of a forest."""

    text: str
    score: float
    features: Mapping[str, float]
    alignment: str
    """Aligned words, `0-0 1-2`."""
    edges: Sequence[int]
    """Bottom up: the edges of the first tail, of the second and so on, then the edge itself."""


class Forest:
    """A forest: every derivation of its last node is a translation."""

    def __init__(self, columns: ForestColumns) -> None:
        if len(columns) != 1:
            raise OptionError(f"a forest is that of one sentence, not of {len(columns)}")
        self.columns = columns

    @property
    def id(self) -> str:
        """The sentence."""
        return self.columns.ids[0]

    @property
    def nodes(self) -> int:
        """Number of nodes; 0 if there is no derivation."""
        return int(self.columns.nodes[0])

    @property
    def is_lattice(self) -> bool:
        """Whether no edge has more than one tail."""
        return self.columns.native.lattices

    @cached_property
    def edges(self) -> list[Edge]:
        """All edges, in order of their heads."""
        c = self.columns.columns()
        words, names = c["words"], self.columns.names
        rows = Features(names, c["row_starts"], c["columns"], c["values"])
        spans, links = c["spans"].reshape(-1, 2).tolist(), c["links"].reshape(-1, 2).tolist()

        def part(name: str, edge: int) -> slice:
            return slice(int(c[f"{name}_starts"][edge]), int(c[f"{name}_starts"][edge + 1]))

        return [
            Edge(
                int(c["heads"][e]), c["tails"][part("tail", e)].tolist(),
                [words[s] if s < _TAIL else s - _TAIL for s in c["symbols"][part("symbol", e)].tolist()],
                (spans[e][0], spans[e][1]), float(c["scores"][e]), rows.row(e),
                [(s, t) for s, t in links[part("link", e)]],
            )
            for e in range(len(c["heads"]))
        ]  # fmt: skip

    def k_best(self, size: int, *, distinct: bool = True) -> list[Derived]:
        """The best derivations under its scores, best first; of each string the best one, if they are `distinct`."""
        return self._derived(self.columns.native.kbest(0, size, distinct))

    def reach(self, target: str) -> Derived | None:
        """The best derivation of a given translation; None if the forest does not have it."""
        return next(iter(self._derived(self.columns.native.reach(0, target.split()))), None)

    def _derived(self, found: tuple[Any, ...]) -> list[Derived]:
        texts, scores, starts, columns, values, links, edges = found
        rows = Features(self.columns.names, starts, columns, values)
        return [Derived(texts[i], float(scores[i]), rows.row(i), links[i], edges[i]) for i in range(len(texts))]

    def outline(self, edges: Sequence[int]) -> str:
        """A derivation as a tree: a line for each edge, indented below the one that it is a tail of."""
        return self.columns.native.outline(0, list(edges))

    def rescored(self, weights: Weights) -> Forest:
        """The same with the scores that edges have under some weights."""
        return Forest(self.columns.rescored(weights))

    def pruned(self, *, edges: int | None = None, beam: float | None = None) -> Forest:
        """The edges on the best derivations: about so many, or those worse than the very best by `beam` at most."""
        if (edges is None) == (beam is None):
            raise OptionError("pruning a forest needs either a number of edges or a beam")
        native = self.columns.native
        if edges is not None:
            made = native.densest(np.array([edges], dtype=np.int64))
        else:
            assert beam is not None
            made = native.within(beam)
        return Forest(ForestColumns(self.columns.ids, self.columns.names, made))

    def to_json(self) -> str:
        """A line of JSON, as docs/forest.md describes it."""
        return self.columns.native.jsonl(0, self.id, self.columns.names)

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        made: dict[str, Any] = msgspec.json.decode(self.to_json())
        return made

    def to_cdec(self, source: str = "") -> str:
        """A line in cdec's JSON form; with the sentence, rules have a source side."""
        return self.columns.native.cdec(0, self.columns.names, source.split())

    def to_openfst(self) -> str:
        """A lattice in OpenFST's text form, a word an arc, with minus the score as the weight of a phrase's first word.

        State 0 is the start, and node n is state n + 1.
        """
        if not self.is_lattice:
            raise OptionError("OpenFST's form is for lattices: this forest has edges with several tails")
        if any(edge.target[1:] and 0 in edge.target[1:] for edge in self.edges):
            raise OptionError("OpenFST's form is for lattices whose edges have their tail in front")
        lines, extra = [], self.nodes + 1
        for edge in self.edges:
            words = edge.text.split() or ["<eps>"]
            state, weight = (edge.tails[0] + 1 if edge.tails else 0), -edge.score
            for place, word in enumerate(words):
                last = place + 1 == len(words)
                target = edge.head + 1 if last else extra
                extra += not last
                lines.append(f"{state}\t{target}\t{word}\t{word}\t{weight:.6f}")
                state, weight = target, 0.0
        return "\n".join([*lines, *([str(self.nodes)] if self.nodes else []), ""])


def write_forests(path: str | Path, forests: Iterable[Forest]) -> None:
    """Writes forests, a line each: JSON lines, or cdec's form if the name has `.cdec` in it."""
    with files.Lines(path) as out:
        for forest in forests:
            out.write(forest.to_cdec() if ".cdec" in Path(path).suffixes else forest.to_json())


def read_forests(path: str | Path, names: Names | None = None) -> Iterator[Forest]:
    """The forests of a file that `write_forests` or cdec wrote, compressed or not; one after the other.

    Those of cdec have no scores: see `Forest.rescored`. A sentence without an id has the number of its line, from 0.
    """
    table = Names([]) if names is None else names
    for number, line in enumerate(files.read_text(path)):
        if ".cdec" in Path(path).suffixes:
            native, name = NativeForests.read_cdec(line, table, str(path), number + 1), ""
        else:
            name, native = NativeForests.read_jsonl(line, table, str(path), number + 1)
        yield Forest(ForestColumns(Texts([name or str(number)]), table, native))
