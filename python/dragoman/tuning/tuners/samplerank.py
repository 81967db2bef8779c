"""SampleRank (Haddow, Arun and Koehn 2011): weights are learned while derivations are sampled; nothing is decoded.

A chain holds one derivation for each sentence of a batch. A sample changes one of them a little; whenever the batch's
BLEU and the model rank the sampled derivation and the best one nearby differently, the weights move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dragoman.engine import Engine
from dragoman.errors import OptionError
from dragoman.options import check as check_options
from dragoman.options import option
from dragoman.tuning.loops.chains import ChainEpochs
from dragoman.tuning.problem import Problem
from dragoman.types import Chains

__all__ = ["SampleRank"]


@dataclass(frozen=True)
class SampleRank:
    """SampleRank and its options.

    The paper's rule (oracle=hope, rate=0): for a sampled derivation y' and the oracle y+ of its neighbourhood, if gain
    and model rank them differently, w += min(b / |a|^2, c) a, a = h(y+) - h(y'),
    b = m (gain(y+) - gain(y')) - (score(y+) - score(y')), m = gain(y+). (The paper prints gain(y') as the last term of
    b, where its equation 6 has score(y').)

    The default climbs the expected gain of each neighbourhood instead: a = sum p (gain - mean gain) h over its members,
    in natural steps for the dense features and with AdaGrad for the sparse ones; the weights keep their length.

    >>> SampleRank().chains
    8
    """

    chains: int = option(
        8,
        help="Chains that learn apart, each on its own part of the text; their weights are averaged after every epoch.",
        min=1,
    )
    samples: int = option(200, help="Samples for each sentence that are learned from.", min=1)
    burn_in: int = option(100, help="Samples for each sentence before that.", min=0)
    batch: int = option(
        0, help="Sentences whose common BLEU is the gain; 0 is all of a chain's, as in the paper.", min=0
    )
    oracle: Literal["mean", "hope", "gain"] = option(
        "mean",
        help="What a sample is held against: all of its neighbourhood; or y+, the largest gain + score, or the "
        "largest gain.",
    )
    rate: float = option(
        0.1,
        help="How far steps go at first; they get shorter with the root of what was seen. 0: the paper's "
        "steps, up to c.",
        min=0,
    )
    c: float = option(0.01, help="Largest step of the paper's.", above=0)
    scale: float = option(
        100.0, help="What a perfect gain is: 100 as the authors ran it, or 1. Steps and margins depend on it.", above=0
    )
    smooth: float = option(0.01, help="Added to all counts of BLEU.", above=0)
    margin: bool = option(True, help="Whether m is the oracle's gain; else it is 1.")
    always: bool = option(
        False,
        help="Whether a right ranking by less than the margin b moves the weights, too; else only a wrong one does.",
    )
    temperature: float = option(0.2, help="Derivations are drawn by exp(score / temperature).", above=0)
    hot: float = option(
        0.0,
        help="Temperature at the start of the burn-in, from which it falls to `temperature`; 0: it is constant.",
        min=0,
    )
    start: Literal["gloss", "best"] = option(
        "best",
        help="Derivations start with the best translation of each word (the paper), or with the phrases that "
        "look best.",
    )
    merge: float = option(0.4, help="Share of the operator MERGE-SPLIT.", min=0)
    reorder: float = option(0.4, help="Share of the operator REORDER.", min=0)
    retranslate: float = option(0.2, help="Share of the operator RETRANSLATE.", min=0)
    width: int = option(
        3,
        help="Translations of a phrase that every neighbourhood has; of the others, number i (best first) is "
        "in it with the chance width / (i + 1) and weighs as much more, so that the distribution stays "
        "the same. 0: all are in it.",
        min=0,
    )
    visit: int = option(
        8,
        help="Samples in a row that one sentence gives before another one is drawn; more of them are a little faster.",
        min=1,
    )
    average: Literal["late", "all", "epoch", "none"] = option(
        "late",
        help="The answer: mean of the weights after every sample, where epoch e counts e^2 times; of all "
        "epochs alike; of the last epoch; or the mixed weights.",
    )
    documents: str = option("", help="A file with the name of each line's document: batches then have whole documents.")
    text_features: tuple[str, ...] = option(
        (),
        help="Features of whole sentences or documents, FILE.py:NAME=START, whose weights are learned, too. Each is "
        "called for every member of a neighbourhood: `width` keeps these small.",
        metavar="FILE.py:NAME",
    )
    clock: bool = option(False, help="Measures the time that gains take (`gain_time` in the trace).")

    presets: ClassVar[tuple[str, ...]] = ("haddow",)

    @classmethod
    def haddow(cls) -> SampleRank:
        """The paper's own setting: its rule and steps, 16 chains, 500 samples of each sentence at temperature 1.

        Its tables also have 1 to 8 chains and 100 samples.
        """
        return cls(
            chains=16, samples=500, oracle="hope", rate=0.0, temperature=1.0, start="gloss", merge=0.5, reorder=0.5,
            retranslate=0.0, width=0, visit=1, average="all",
        )  # fmt: skip

    def __post_init__(self) -> None:
        check_options(self, "samplerank")
        shares = (self.merge, self.reorder, self.retranslate)
        if not sum(shares) > 0:
            raise OptionError("samplerank: merge, reorder and retranslate must not all be 0")

    @property
    def name(self) -> str:
        """SampleRank."""
        return "samplerank"

    @property
    def never_worse(self) -> bool:
        """No promise."""
        return False

    @property
    def needs(self) -> type:
        """Derivations to sample."""
        return Chains

    @property
    def metric_needs(self) -> str:
        """A metric whose statistics change with one sentence."""
        return "incremental"

    def session(self, problem: Problem, engine: Engine, seed: int) -> ChainEpochs:
        """Epochs of chains."""
        return ChainEpochs(problem, self, engine, seed)
