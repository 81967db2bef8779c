"""MIRA over a pool: the nine pairs of oracle and prediction (Eidelman 2012) and k-best batch MIRA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np

from dragoman._core import JudgedLists, MiraRun
from dragoman.engine import Engine
from dragoman.errors import OptionError
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.limits import Limits
from dragoman.tuning.loops.online_mira import OnlineMira
from dragoman.tuning.packed import PackedPool, Select, list_size, native_of, refuse
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner, Problem, Session
from dragoman.tuning.state import Number, State
from dragoman.types import F64, I64, Forests, Lists

__all__ = ["Mira"]


@dataclass(frozen=True)
class Mira(BatchTuner):
    """Margin-infused relaxed algorithm with 1-best updates.

    For each sentence, with model scores M and gains G: if G(y+) > G(y-) and the loss
    [M(y-) - M(y+)] + [G(y+) - G(y-)] is above 0, w += min(c, loss / |d|^2) d, d = h(y+) - h(y-).

    >>> Mira.kbmira().epochs
    60
    """

    oracle: Literal["lu", "mb", "hope"] = option(
        "hope", help="y+: `lu` largest gain among the model's `local` best candidates, `mb` largest gain, `hope` M + G."
    )
    prediction: Literal["pb", "mc", "fear"] = option(
        "fear", help="y-: `pb` largest M, `mc` smallest gain, `fear` M - G."
    )
    c: float = option(0.01, help="Largest step.", above=0)
    gain: Literal["sentence", "background", "corpus"] = option(
        "corpus",
        help="`sentence`: the metric's sentence-level form. `background`: the corpus metric on top of a "
        "decaying sum. `corpus`: sentence-level in the first epoch, then the corpus metric of the "
        "previous epoch's 1-best output with this sentence's replaced (Eidelman 2012).",
    )
    context: Literal["latest", "epoch"] = option(
        "latest",
        help="Online, gain=corpus: when a new 1-best translation takes the old one's place in that corpus. "
        "`latest`: at once. `epoch`: after the epoch, as Eidelman has it; then all of an epoch answers to "
        "the lengths of the one before, too short to too long and back.",
    )
    unit: Literal["score", "sentence", "length"] = option(
        "length",
        help="What a gain is multiplied by, since one sentence hardly moves a corpus score: nothing, the "
        "number of sentences in the context (1 if there is none), or the reference length in words of the "
        "context and the sentence's 1-best translation (Cherry & Foster 2012), one factor for all "
        "candidates of a sentence. In words gains weigh as much as model scores do, so that hope and fear "
        "are not just the 1-best.",
    )
    length_column: int = option(1, help="Which statistic that length is: 1 in BLEU, TER and WER.", min=0)
    decay: float = option(
        0.999, help="What is left of the background when a candidate's statistics are added.", above=0, max=1
    )
    feed: Literal["oracle", "model"] = option(
        "oracle",
        help="Whose statistics those are. Added whenever y+ has a larger gain than y-, even if no update follows.",
    )
    local: int = option(500, help="How many candidates `lu` looks at.", min=1)
    near: int = option(
        0,
        help="Online: how many of the model's best candidates hope and the predictions look at; 0 is all. A "
        "list of 50,000 for `mb` and 500 for the rest (Eidelman 2012) is `--nbest-size 50000` with near=500.",
        min=0,
    )
    space: Literal["list", "lattice"] = option(
        "list",
        help="Online: where oracle and prediction are looked for. In a `lattice` they are the best paths that "
        "a search with dynamic programming and a beam finds for BLEU itself; `lu` needs a list.",
    )
    density: float = option(100.0, help="Arcs for each source word that such a lattice keeps; 0 keeps all.", min=0)
    epochs: int = option(20, help="Passes over the sentences.", min=1)
    average: bool = option(
        True, help="The answer is the mean of the start and the weights after each update, not the last weights."
    )
    shuffle: bool = option(True, help="A new order of sentences for every epoch, from the seed.")
    select: Select = option(
        "best", help="`best`: of the epochs' answers and the start, the one with the best corpus gain on the pool."
    )
    mode: Literal["auto", "batch", "online"] = option(
        "auto",
        help="With a decoder: rounds on a pool, or an update after every sentence; auto: rounds if the gain is "
        "`background`.",
    )
    shards: int = option(
        1,
        help="Online: the sentences are dealt into so many shards, which learn apart; their weights are "
        "averaged after each epoch (iterative parameter mixing).",
        min=1,
    )

    lists: int = list_size()

    presets: ClassVar[tuple[str, ...]] = ("eidelman",)

    def __post_init__(self) -> None:
        check_options(self, "mira")
        if self.space == "lattice" and self.oracle == "lu":
            raise OptionError("mira: the oracle lu looks at a list; with space=lattice choose mb or hope")

    @classmethod
    def kbmira(cls) -> Mira:
        """k-best batch MIRA (Cherry & Foster 2012) as in Moses: 60 epochs on a background in words.

        Unlike there the average is a true one: n updates make n + 1 vectors and the sum is divided by n + 1.
        """
        return cls(gain="background", unit="length", epochs=60)

    @classmethod
    def eidelman(cls) -> Mira:
        """Eidelman's own setting (2012, section 4): 500-best lists, 20 shards whose last weights are mixed, no average.

        BLEU is that of a sentence in the first epoch, then that of the corpus of the last epoch's 1-best translations.
        That the corpus gain counts times the number of sentences is our reading: the paper does not say in which unit
        it stands beside model scores, and without it C = 0.01 would hardly move a weight.
        """
        return cls(unit="sentence", context="epoch", average=False, shuffle=False, mode="online", shards=20, lists=500)

    @property
    def name(self) -> str:
        """MIRA."""
        return "mira"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    @property
    def needs(self) -> type:
        """N-best lists, or lattices."""
        return Lists if self.space == "list" else Forests

    @property
    def metric_needs(self) -> str:
        """On lattices, a metric that falls apart into n-grams of a derivation."""
        return "" if self.space == "list" else "linear"

    @property
    def online(self) -> bool:
        """Whether it learns sentence by sentence where there is a decoder."""
        return self.mode == "online" or (self.mode == "auto" and self.gain != "background")

    def check_lists(self) -> None:
        """Refuses options that mean nothing on fixed lists."""
        if self.near or self.space != "list" or self.shards > 1:
            raise OptionError(
                "MIRA: near, space and shards are for online tuning with the decoder in the loop, not for lists"
            )

    def session(self, problem: Problem, engine: Engine, seed: int) -> Session:
        """Epochs over fixed lists; with a decoder, sentence by sentence or in rounds."""
        if self.online and not problem.fixed:
            why = "does nothing online, where the run itself has epochs (--epochs) and chooses one (--select)"
            refuse(self, (Mira.kbmira(),), why, "epochs", "select")
            return OnlineMira(problem, self, engine, seed)
        self.check_lists()
        return super().session(problem, engine, seed)

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> MiraSession:  # noqa: ARG002
        """A run over `pool`."""
        self.check_lists()
        if self.unit == "length" and self.length_column >= pool.metric.width:
            raise OptionError(f"mira: length_column must be below {pool.metric.width}, found {self.length_column}")
        return MiraSession(self, PackedPool(pool, limits, seed, self.select))


class MiraSession:
    """A run of MIRA: one step is one epoch."""

    def __init__(self, options: Mira, packed: PackedPool) -> None:
        self.options = options
        self.packed = packed
        self.judged = JudgedLists(packed.lists, np.ascontiguousarray(packed.pool.statistics))
        self.gains = packed.pool.sentence_gains()

    def begin(self, start: F64) -> State:
        """The state before the first epoch. The background starts with 1 everywhere, as Moses' does."""
        if self.options.gain == "background":
            row = np.ones(self.packed.pool.metric.width)
            return self.packed.begin(start, self.gains, {"updates": 0, "count": 0.0}, {"background": row})
        return self.packed.begin(start, self.gains, {"updates": 0})

    def step(self, state: State) -> State:
        """One pass over all sentences."""
        if state.done:
            return state
        run = self._resume(state)
        order = self.packed.order(state.step, self.options.shuffle)
        if self.options.gain == "sentence" or (self.options.gain == "corpus" and state.step == 0):
            run.visit_all(order, self.gains)
        else:
            self._in_context(run, order)
        weights, drift, updates, seen = run.state()
        numbers: dict[str, Number] = {"updates": updates}
        rows: dict[str, F64 | I64] = {}
        if self.options.gain == "background":
            rows["background"], numbers["count"] = run.background()
        elif self.options.gain == "corpus":
            rows["choice"] = seen
        answer = weights - drift / (updates + 1) if self.options.average else weights
        last = state.step + 1 >= self.options.epochs
        oracle, prediction = (float(self.packed.pool.metric.score(row)) for row in run.met())
        record = {"updates": float(updates), "oracle": oracle, "prediction": prediction}
        features = {"weights": weights, "drift": drift}
        return self.packed.end(state, answer, last, record, features=features, rows=rows, numbers=numbers)

    def _resume(self, state: State) -> MiraRun:
        options, limits = self.options, self.packed.limits
        background, choice = state.rows.get("background"), state.rows.get("choice")
        return MiraRun(
            self.judged,
            options,
            state.features.get("weights", state.weights),
            state.feature("drift", len(state.weights)),
            int(state.number("updates")),
            limits.lower,
            limits.upper,
            background=cast("F64 | None", background),
            count=state.number("count"),
            choice=cast("I64 | None", choice),
        )

    def _in_context(self, run: MiraRun, order: I64) -> None:
        """Visits each sentence with gains in context: in the core, or by asking a metric in plain Python."""
        pool = self.packed.pool
        sign, metric, native = pool.gain_sign, pool.metric, native_of(pool.metric)
        if native is not None:
            run.visit_native(order, native, sign, metric.scale)
            return
        starts = pool.candidates.starts.tolist()
        for sentence in order.tolist():
            sums = run.others(sentence) + pool.statistics[starts[sentence] : starts[sentence + 1]]
            run.visit(sentence, sign * np.asarray(metric.score(sums)) / metric.scale)
