"""MERT over forests: line searches that see every derivation that the decoder kept (Kumar et al. 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman._core import ForestLines
from dragoman.engine import Engine, Serial
from dragoman.errors import OptionError
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.limits import Limits
from dragoman.tuning.loops.forests import MertRounds
from dragoman.tuning.problem import PreparedReferences, Problem
from dragoman.tuning.tuners.mert.directions import Order
from dragoman.tuning.tuners.mert.surface import Direction
from dragoman.tuning.tuners.mert.tuner import Mert, MertSession
from dragoman.types import F64, Forests, Hypotheses, Metric, Names, Weights

__all__ = ["ForestMert", "ForestSurface"]


class ForestSurface:
    """The corpus gain of the best derivations of some forests as a function of the weights.

    It is what `Surface` is for lists, with edges in place of candidates: scores and slopes are one for each edge.
    """

    quick = False
    """The core takes no point by itself: it asks for the statistics of strings."""

    def __init__(self, pool: ForestLines, judge: PreparedReferences, width: int, weights: F64) -> None:
        self.pool, self.judge, self.width, self._at = pool, judge, width, weights
        self.metric: Metric = judge.metric
        self.corners = 0
        """Corners of all lines so far: none means that no line changes anything."""
        self._unit = (1.0 if self.metric.higher_is_better else -1.0) / self.metric.scale

    @property
    def lines(self) -> ForestSurface:
        """Itself."""
        return self

    def product(self, vector: F64) -> F64:
        """`vector . h` of every edge."""
        return self.pool.product(vector)

    def gains(self, totals: F64) -> F64:
        """Corpus gains (higher is better, 0..1) of rows of statistics; what has no score is worth nothing."""
        gains = self._unit * np.asarray(self.metric.score(totals), dtype=np.float64)
        return np.where(np.isnan(gains), -np.inf, gains)

    def gain(self, weights: F64) -> float:
        """The corpus gain at a point."""
        return float(self.gains(self.total(self.product(weights))))

    def search(self, scores: F64, total: F64, direction: Direction, slopes: F64 | None) -> tuple[F64, F64]:  # noqa: ARG002
        """The corners of a line and the statistics of its intervals, of which there is one more."""
        if slopes is None:
            assert isinstance(direction, int)
            along = np.zeros(self.width)
            along[direction] = 1.0
            slopes = self.product(along)
        return self._finished(scores, slopes)

    def _finished(self, scores: F64, slopes: F64) -> tuple[F64, F64]:
        line = self.pool.search(scores, slopes)
        rows = np.zeros((0, self.metric.width))
        if len(line.texts):
            rows = self.judge.statistics(Hypotheses(line.texts, line.sentences))
        corners, totals = self.pool.finish(line, np.ascontiguousarray(rows, dtype=np.float64))
        self.corners += len(corners)
        return corners, totals

    def total(self, scores: F64) -> F64:
        """The statistics of the best derivations: those of a line that goes nowhere."""
        _, totals = self._finished(scores, np.zeros_like(scores))
        total: F64 = totals[0]
        return total

    def best(
        self, scores: F64, total: F64, features: Sequence[int], bounds: Sequence[tuple[float, float]], reach: float
    ) -> list[tuple[float, float, F64 | None] | None]:
        """Not at hand: see `quick`."""
        raise NotImplementedError

    def advance(self, feature: int, scores: F64, gamma: float) -> None:
        """Moves scores along a feature."""
        self.pool.advance(feature, scores, gamma)

    def spreads(self) -> F64:
        """How far apart the values of each feature are among the best derivations."""
        return self.pool.spreads(self.product(self._at), self.width)


class ForestSession(MertSession):
    """A run of MERT over forests."""

    surface: ForestSurface


@dataclass(frozen=True)
class ForestMert:
    """Minimum error rate training on forests or lattices (Kumar et al. 2009), in rounds with a decoder.

    A line search is as exact as on lists, over all derivations that the decoder kept in any round: the envelope of a
    node is that of its edges, and the one of an edge is the sum of those of its tails. Each round searches the axes and
    some random directions from the weights of the round before.

    >>> ForestMert(starts=3).directions
    'coordinate+random'
    """

    directions: str = option(
        "coordinate+random", help="`coordinate`, `random`, `powell`, or several joined: `coordinate+random`."
    )
    order: Order = option(
        "greedy",
        help="Move along every line that helps (`cyclic`), only along the best of a round (`steepest`), or along the "
        "better half (`greedy`).",
    )
    random_directions: int = option(15, help="Random directions in a round, where `directions` has `random`.", min=1)
    starts: int = option(1, help="Starting points: the weights of the round before, and random ones.", min=1)
    restart: Literal["uniform", "walk"] = option(
        "uniform", help="Random starting points: anywhere in each feature's range, or a step away from the best so far."
    )
    l2: float = option(
        0.0, help="Strength of an L2 penalty on the weights, 1/(2 sigma^2). Gains are on the 0..1 scale.", min=0
    )
    l2_form: Literal["origin", "fixed", "normalised"] = option(
        "origin",
        help="What L2 measures: the distance from the run's start (v1), the weights with one `fixed` (v2), or "
        "w/|w|_1 (v3).",
    )
    fixed: str | None = option(None, help="The feature that the form `fixed` keeps at its starting value.")
    l0: float = option(0.0, help="The price of each weight that is not zero; instead of L2.", min=0)
    tolerance: float = option(1e-5, help="What a move must add to the objective: 0.001 BLEU points.", min=0)
    rounds: int = option(20, help="Sweeps over all directions from each starting point, at most.", min=1)
    density: float = option(
        50.0, help="Edges for each source word that a forest keeps, those on the best derivations; 0 keeps all.", min=0
    )
    keep: int = option(0, help="Rounds whose forests take part, the current one included; 0 is all of them.", min=0)
    memory: float = option(
        2.0, help="Gigabytes for forests; beyond, those of the oldest rounds go, with a warning.", above=0
    )

    def __post_init__(self) -> None:
        check_options(self, "forest-mert")
        if not {"gradient", "natural"}.isdisjoint(self.directions.split("+")):
            raise OptionError("forest-mert: gradients of the expected gain need lists: see the tuner mert")
        self._lists(None)

    def _lists(self, origin: Weights | None) -> Mert:
        """The same search as MERT on lists has it."""
        return Mert(
            directions=self.directions, order=self.order, random_directions=self.random_directions,
            starts=self.starts, restart=self.restart, l2=self.l2, l2_form=self.l2_form, origin=origin,
            fixed=self.fixed, l0=self.l0, tolerance=self.tolerance, rounds=self.rounds, together=1,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """forest-mert."""
        return "forest-mert"

    @property
    def never_worse(self) -> bool:
        """False: the weights that are best on the forests of all rounds may not be so for the decoder."""
        return False

    @property
    def needs(self) -> type:
        """Forests."""
        return Forests

    def session(self, problem: Problem, engine: Engine, seed: int) -> MertRounds:
        """Rounds on forests."""
        return MertRounds(problem, self, engine, seed)

    def over(
        self,
        pool: ForestLines,
        judge: PreparedReferences,
        limits: Limits,
        seed: int,
        names: Names,
        origin: Weights,
        start: F64,
    ) -> ForestSession:
        """A run over the forests of a pool; L2 pulls to `origin`."""
        surface = ForestSurface(pool, judge, len(names), start)
        return ForestSession(self._lists(origin), surface, limits, seed, names=names, engine=Serial())
