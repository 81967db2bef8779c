"""The recombined search graph of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Arc", "Lattice"]


@dataclass(frozen=True, slots=True)
class Arc:
    """A phrase of a lattice, from a node to a later one."""

    start: int
    end: int
    text: str
    span: tuple[int, int]
    """Source words: first, one after the last."""
    score: float
    """What it adds to the model score."""
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Lattice:
    """The recombined search graph: every path from node 0 to a final node is a derivation."""

    nodes: int
    finals: Sequence[int]
    arcs: Sequence[Arc]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `{"nodes": 3, "finals": [2], "arcs": [[0, 1, "a", [0, 1], -1.5, {"LM": -2}], ...]}`."""
        arcs = [[a.start, a.end, a.text, list(a.span), a.score, dict(a.features)] for a in self.arcs]
        return {"nodes": self.nodes, "finals": list(self.finals), "arcs": arcs}

    def to_openfst(self) -> str:
        """OpenFST's text form, a word an arc, with minus the score as the weight of a phrase's first word."""
        lines = []
        extra = self.nodes
        for arc in self.arcs:
            words = arc.text.split() or ["<eps>"]
            state, weight = arc.start, -arc.score
            for place, word in enumerate(words):
                last = place + 1 == len(words)
                target = arc.end if last else extra
                extra += not last
                lines.append(f"{state}\t{target}\t{word}\t{word}\t{weight:.6f}")
                state, weight = target, 0.0
        return "\n".join([*lines, *map(str, self.finals), ""])
