"""MIRA over a pool: the nine pairs of oracle and prediction (Eidelman 2012) and k-best batch MIRA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from dragoman._core import JudgedLists, MiraRun
from dragoman.errors import OptionError
from dragoman.tune._learning import Select, Workbench, check, floats, native_of
from dragoman.tune.base import Limits, Memory, Pool, State
from dragoman.types import F64, I64

__all__ = ["Mira"]


@dataclass(frozen=True)
class Mira:
    """Margin-infused relaxed algorithm with 1-best updates.

    For each sentence, with model scores M and gains G: if G(y+) > G(y-) and the loss
    [M(y-) - M(y+)] + [G(y+) - G(y-)] is above 0, w += min(c, loss / |d|^2) d, d = h(y+) - h(y-).

    >>> Mira.kbmira().epochs
    60
    """

    oracle: Literal["lu", "mb", "hope"] = "hope"
    """y+: `lu` largest gain among the model's `local` best candidates, `mb` largest gain, `hope` M + G."""
    prediction: Literal["pb", "mc", "fear"] = "fear"
    """y-: `pb` largest M, `mc` smallest gain, `fear` M - G."""
    c: float = 0.01
    """Largest step."""
    gain: Literal["sentence", "background", "corpus"] = "corpus"
    """`sentence`: the metric's sentence-level form. `background`: the corpus metric on top of a decaying sum.
    `corpus`: sentence-level in the first epoch, then the corpus metric of the previous epoch's 1-best output
    with this sentence's replaced (Eidelman 2012)."""
    context: Literal["latest", "epoch"] = "latest"
    """Online, gain=corpus: when a new 1-best translation takes the old one's place in that corpus. `latest`: at once.
    `epoch`: after the epoch, as Eidelman has it; then all of an epoch answers to the lengths of the one before, too
    short to too long and back."""
    unit: Literal["score", "sentence", "length"] = "length"
    """What a gain is multiplied by, since one sentence hardly moves a corpus score: nothing, the number of sentences
    in the context (1 if there is none), or the reference length in words of the context and the sentence's 1-best
    translation (Cherry & Foster 2012), one factor for all candidates of a sentence. In words gains weigh as much as
    model scores do, so that hope and fear are not just the 1-best."""
    length_column: int = 1
    """Which statistic that length is: 1 in BLEU, TER and WER."""
    decay: float = 0.999
    """What is left of the background when a candidate's statistics are added."""
    feed: Literal["oracle", "model"] = "oracle"
    """Whose statistics those are. Added whenever y+ has a larger gain than y-, even if no update follows."""
    local: int = 500
    """How many candidates `lu` looks at."""
    near: int = 0
    """Online: how many of the model's best candidates hope and the predictions look at; 0 is all. A list of 50,000 for
    `mb` and 500 for the rest (Eidelman 2012) is `--size 50000` with near=500."""
    space: Literal["list", "lattice"] = "list"
    """Online: where oracle and prediction are looked for. In a `lattice` they are the best paths that a
    search with dynamic programming and a beam finds for BLEU itself; `lu` needs a list."""
    density: float = 100.0
    """Arcs for each source word that such a lattice keeps; 0 keeps all."""
    epochs: int = 20
    average: bool = True
    """The answer is the mean of the start and the weights after each update, not the last weights."""
    shuffle: bool = True
    """A new order of sentences for every epoch, from the seed."""
    select: Select = "best"
    """`best`: of the epochs' answers and the start, the one with the best corpus gain on the pool."""

    def __post_init__(self) -> None:
        check(
            "MIRA",
            oracle=self.oracle in {"lu", "mb", "hope"},
            prediction=self.prediction in {"pb", "mc", "fear"},
            c=self.c > 0,
            gain=self.gain in {"sentence", "background", "corpus"},
            context=self.context in {"latest", "epoch"},
            unit=self.unit in {"score", "sentence", "length"},
            length_column=self.length_column >= 0,
            decay=0 < self.decay <= 1,
            feed=self.feed in {"oracle", "model"},
            local=self.local > 0,
            near=self.near >= 0,
            space=self.space == "list" or (self.space == "lattice" and self.oracle != "lu"),
            density=self.density >= 0,
            epochs=self.epochs > 0,
        )

    @classmethod
    def kbmira(cls) -> Mira:
        """k-best batch MIRA (Cherry & Foster 2012) as in Moses: 60 epochs on a background in words.

        Unlike there the average is a true one: n updates make n + 1 vectors and the sum is divided by n + 1.
        """
        return cls(gain="background", unit="length", epochs=60)

    @property
    def name(self) -> str:
        """MIRA."""
        return "mira"

    @property
    def never_worse(self) -> bool:
        """Only if it may keep the start."""
        return self.select == "best"

    def check_lists(self) -> None:
        """Refuses options that mean nothing on fixed lists."""
        if self.near or self.space != "list":
            raise OptionError("MIRA: near and space are for online tuning with the decoder in the loop, not for lists")

    def session(self, pool: Pool, limits: Limits, seed: int) -> MiraSession:
        """A run over `pool`."""
        self.check_lists()
        check("MIRA", length_column=self.unit != "length" or self.length_column < pool.metric.width)
        return MiraSession(self, Workbench(pool, limits, seed, self.select))


class MiraSession:
    """A run of MIRA: one step is one epoch."""

    def __init__(self, options: Mira, bench: Workbench) -> None:
        self.options = options
        self.bench = bench
        self.judged = JudgedLists(bench.lists, np.ascontiguousarray(bench.pool.statistics))
        self.gains = bench.pool.sentence_gains()

    def begin(self, start: F64) -> State:
        """The state before the first epoch. The background starts with 1 everywhere, as Moses' does."""
        memory: Memory = {"updates": 0}
        if self.options.gain == "background":
            memory |= {"background": np.ones(self.bench.pool.metric.width), "count": 0.0}
        return self.bench.begin(start, self.gains, memory)

    def step(self, state: State) -> State:
        """One pass over all sentences."""
        if state.done:
            return state
        run = self._resume(state)
        order = self.bench.order(state.step, self.options.shuffle)
        if self.options.gain == "sentence" or (self.options.gain == "corpus" and state.step == 0):
            run.visit_all(order, self.gains)
        else:
            self._in_context(run, order)
        weights, drift, updates, seen = run.state()
        memory: Memory = {"weights": weights, "drift": drift, "updates": updates}
        if self.options.gain == "background":
            row, count = run.background()
            memory |= {"background": row, "count": count}
        elif self.options.gain == "corpus":
            memory["choice"] = seen
        answer = weights - drift / (updates + 1) if self.options.average else weights
        last = state.step + 1 >= self.options.epochs
        oracle, prediction = (float(self.bench.pool.metric.score(row)) for row in run.met())
        record = {"updates": float(updates), "oracle": oracle, "prediction": prediction}
        return self.bench.end(state, answer, last, memory, record)

    def _resume(self, state: State) -> MiraRun:
        options, memory, limits = self.options, state.memory, self.bench.limits
        background, choice = memory.get("background"), memory.get("choice")
        return MiraRun(
            self.judged,
            options,
            floats(memory, "weights", state.weights),
            floats(memory, "drift", np.zeros(len(state.weights))),
            int(memory["updates"]),
            limits.lower,
            limits.upper,
            background=cast("F64 | None", background),
            count=float(memory.get("count", 0.0)),
            choice=cast("I64 | None", choice),
        )

    def _in_context(self, run: MiraRun, order: I64) -> None:
        """Visits each sentence with gains in context: in the core, or by asking a metric in plain Python."""
        pool = self.bench.pool
        sign, metric, native = pool.gain_sign, pool.metric, native_of(pool.metric)
        if native is not None:
            run.visit_native(order, native, sign, metric.scale)
            return
        starts = pool.candidates.starts.tolist()
        for sentence in order.tolist():
            sums = run.others(sentence) + pool.statistics[starts[sentence] : starts[sentence + 1]]
            run.visit(sentence, sign * np.asarray(metric.score(sums)) / metric.scale)
