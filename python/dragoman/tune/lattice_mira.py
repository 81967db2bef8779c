"""Batch MIRA over lattices: hope and fear among all that the decoder kept, by dynamic programming (Cherry 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman._core import LatticePool
from dragoman.errors import OptionError
from dragoman.metrics.capability import require
from dragoman.tune._learning import Select, check
from dragoman.tune.base import Limits, Pool, Session
from dragoman.types import LatticeSource, Metric, Source

__all__ = ["LatticeMira", "lattice_pool", "lattice_source"]


@dataclass(frozen=True)
class LatticeMira:
    """k-best batch MIRA's loop (`Mira.kbmira`) with lattices in place of lists.

    For each sentence y+ and y- are the best paths of its lattices under M + G and M - G that a search finds. It takes
    BLEU to first order (so much for a word, so much for each matched n-gram), goes on from the path that is best then,
    and judges paths by their true gains on top of a decaying background.

    >>> LatticeMira(density=20).epochs
    30
    """

    oracle: Literal["mb", "hope"] = "hope"
    """y+: `mb` largest gain, `hope` M + G."""
    prediction: Literal["pb", "mc", "fear"] = "fear"
    """y-: `pb` largest M, `mc` smallest gain, `fear` M - G."""
    c: float = 0.01
    """Largest step."""
    unit: Literal["score", "sentence", "length"] = "length"
    """What a gain is multiplied by: nothing, the number of sentences in the background, or its reference length."""
    decay: float = 0.999
    """What is left of the background when a path's statistics are added."""
    feed: Literal["oracle", "model"] = "oracle"
    """Whose statistics those are. Added whenever y+ has a larger gain than y-, even if no update follows."""
    epochs: int = 30
    """Passes over the sentences in each round."""
    average: bool = True
    """The answer is the mean of the start and the weights after each update, not the last weights."""
    shuffle: bool = True
    """A new order of sentences for every pass, from the seed."""
    select: Select = "best"
    """`best`: of the passes' answers and the start, the one with the best BLEU of the lattices' 1-best paths."""
    density: float = 50.0
    """Arcs for each source word that a lattice keeps, those on the best paths; 0 keeps all."""
    keep: int = 0
    """Rounds whose lattices take part, the current one included; 0 is all of them."""
    memory: float = 2.0
    """Gigabytes for lattices; beyond, those of the oldest rounds go, with a warning."""

    def __post_init__(self) -> None:
        check(
            "lattice MIRA",
            oracle=self.oracle in {"mb", "hope"},
            prediction=self.prediction in {"pb", "mc", "fear"},
            c=self.c > 0,
            unit=self.unit in {"score", "sentence", "length"},
            decay=0 < self.decay <= 1,
            feed=self.feed in {"oracle", "model"},
            epochs=self.epochs > 0,
            density=self.density >= 0,
            keep=self.keep >= 0,
            memory=self.memory > 0,
        )

    @property
    def name(self) -> str:
        """lattice-mira."""
        return "lattice-mira"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    def session(self, pool: Pool, limits: Limits, seed: int) -> Session:  # noqa: ARG002
        """There is none: a list has no lattice."""
        raise OptionError(
            "lattice-mira needs the decoder in the loop (--model): n-best lists have no lattices; try kbmira"
        )


def lattice_source(source: Source) -> LatticeSource:
    """The source, if it can give lattices."""
    if isinstance(source, LatticeSource):
        return source
    raise OptionError(
        f"this needs lattices, but {type(source).__name__} gives lists only: it has no method `lattices` "
        "(see dragoman.types.LatticeSource)"
    )


def lattice_pool(metric: Metric, references: list[list[str]]) -> LatticePool:
    """An empty pool, if the metric falls apart into n-grams of a path."""
    return LatticePool(require(metric, "linear", "the search for hope and fear in lattices"), references)
