"""Batch MIRA over lattices: hope and fear among all that the decoder kept, by dynamic programming (Cherry 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.engine import Engine
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.loops.forests import LatticeRounds
from dragoman.tuning.packed import Select
from dragoman.tuning.problem import Problem
from dragoman.types import Forests

__all__ = ["LatticeMira"]


@dataclass(frozen=True)
class LatticeMira:
    """k-best batch MIRA's loop (`Mira.kbmira`) with lattices in place of lists.

    For each sentence y+ and y- are the best paths of its lattices under M + G and M - G that a search finds. It takes
    BLEU to first order (so much for a word, so much for each matched n-gram), goes on from the path that is best then,
    and judges paths by their true gains on top of a decaying background.

    >>> LatticeMira(density=20).epochs
    30
    """

    oracle: Literal["mb", "hope"] = option("hope", help="y+: `mb` largest gain, `hope` M + G.")
    prediction: Literal["pb", "mc", "fear"] = option(
        "fear", help="y-: `pb` largest M, `mc` smallest gain, `fear` M - G."
    )
    c: float = option(0.01, help="Largest step.", above=0)
    unit: Literal["score", "sentence", "length"] = option(
        "length",
        help="What a gain is multiplied by: nothing, the number of sentences in the background, or its "
        "reference length.",
    )
    decay: float = option(
        0.999, help="What is left of the background when a path's statistics are added.", above=0, max=1
    )
    feed: Literal["oracle", "model"] = option(
        "oracle",
        help="Whose statistics those are. Added whenever y+ has a larger gain than y-, even if no update follows.",
    )
    epochs: int = option(30, help="Passes over the sentences in each round.", min=1)
    average: bool = option(
        True, help="The answer is the mean of the start and the weights after each update, not the last weights."
    )
    shuffle: bool = option(True, help="A new order of sentences for every pass, from the seed.")
    select: Select = option(
        "best",
        help="`best`: of the passes' answers and the start, the one with the best BLEU of the lattices' 1-best paths.",
    )
    density: float = option(
        50.0, help="Arcs for each source word that a lattice keeps, those on the best paths; 0 keeps all.", min=0
    )
    keep: int = option(0, help="Rounds whose lattices take part, the current one included; 0 is all of them.", min=0)
    memory: float = option(
        2.0, help="Gigabytes for lattices; beyond, those of the oldest rounds go, with a warning.", above=0
    )

    def __post_init__(self) -> None:
        check_options(self, "lattice-mira")

    @property
    def name(self) -> str:
        """lattice-mira."""
        return "lattice-mira"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    @property
    def needs(self) -> type:
        """Lattices."""
        return Forests

    @property
    def metric_needs(self) -> str:
        """A metric that falls apart into n-grams of a derivation."""
        return "linear"

    def session(self, problem: Problem, engine: Engine, seed: int) -> LatticeRounds:
        """Rounds on lattices."""
        return LatticeRounds(problem, self, engine, seed)
