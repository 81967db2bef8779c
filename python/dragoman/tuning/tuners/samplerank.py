"""SampleRank (Haddow, Arun and Koehn 2011): weights are learned while derivations are sampled; nothing is decoded.

A chain holds one derivation for each sentence of a batch. A sample changes one of them a little; whenever the batch's
BLEU and the model rank the sampled derivation and the best one nearby differently, the weights move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dragoman.engine import Engine
from dragoman.tuning.loops.chains import ChainEpochs
from dragoman.tuning.packed import check
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

    chains: int = 8
    """Chains that learn apart, each on its own part of the text; their weights are averaged after every epoch."""
    samples: int = 200
    """Samples for each sentence that are learned from."""
    burn_in: int = 100
    """Samples for each sentence before that."""
    batch: int = 0
    """Sentences whose common BLEU is the gain; 0 is all of a chain's, as in the paper."""
    oracle: Literal["mean", "hope", "gain"] = "mean"
    """What a sample is held against: all of its neighbourhood; or y+, the largest gain + score, or the largest gain."""
    rate: float = 0.1
    """How far steps go at first; they get shorter with the root of what was seen. 0: the paper's steps, up to c."""
    c: float = 0.01
    """Largest step of the paper's."""
    scale: float = 100.0
    """What a perfect gain is: 100 as the authors ran it, or 1. Steps and margins depend on it."""
    smooth: float = 0.01
    """Added to all counts of BLEU."""
    margin: bool = True
    """Whether m is the oracle's gain; else it is 1."""
    always: bool = False
    """Whether a right ranking by less than the margin b moves the weights, too; else only a wrong one does."""
    temperature: float = 0.2
    """Derivations are drawn by exp(score / temperature)."""
    hot: float = 0.0
    """Temperature at the start of the burn-in, from which it falls to `temperature`; 0: it is constant."""
    start: Literal["gloss", "best"] = "best"
    """Derivations start with the best translation of each word (the paper), or with the phrases that look best."""
    merge: float = 0.4
    """Share of the operator MERGE-SPLIT."""
    reorder: float = 0.4
    """Share of the operator REORDER."""
    retranslate: float = 0.2
    """Share of the operator RETRANSLATE."""
    width: int = 3
    """Translations of a phrase that every neighbourhood has; of the others, number i (best first) is in it with the
    chance width / (i + 1) and weighs as much more, so that the distribution stays the same. 0: all are in it."""
    visit: int = 8
    """Samples in a row that one sentence gives before another one is drawn; more of them are a little faster."""
    average: Literal["late", "all", "epoch", "none"] = "late"
    """The answer: mean of the weights after every sample, where epoch e counts e^2 times; of all epochs alike; of the
    last epoch; or the mixed weights."""
    documents: str = ""
    """A file with the name of each line's document: batches then have whole documents."""
    clock: bool = False
    """Measures the time that gains take (`gain_time` in the trace)."""

    def __post_init__(self) -> None:
        shares = (self.merge, self.reorder, self.retranslate)
        check(
            "SampleRank",
            chains=self.chains > 0,
            samples=self.samples > 0,
            burn_in=self.burn_in >= 0,
            batch=self.batch >= 0,
            rate=self.rate >= 0,
            c=self.c > 0,
            scale=self.scale > 0,
            smooth=self.smooth > 0,
            oracle=self.oracle in {"mean", "hope", "gain"},
            temperature=self.temperature > 0,
            start=self.start in {"gloss", "best"},
            merge=min(shares) >= 0 and sum(shares) > 0,
            width=self.width >= 0,
            visit=self.visit > 0,
            average=self.average in {"late", "all", "epoch", "none"},
        )

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

    def session(self, problem: Problem, engine: Engine, seed: int) -> ChainEpochs:
        """Epochs of chains."""
        return ChainEpochs(problem, self, engine, seed)
