"""What a sentence's translation is judged together with while MIRA goes from sentence to sentence.

One sentence's BLEU says little about a corpus's: whether a word more or less helps depends on how long the other
translations are. So candidates are put in the place of a sentence in the corpus, or on top of a decaying sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dragoman.tuning.packed import check
from dragoman.tuning.state import State
from dragoman.types import F64, I64

if TYPE_CHECKING:
    from dragoman.tuning.tuners.mira import Mira

__all__ = ["Context", "after", "before"]


@dataclass(slots=True, eq=False)
class Context:
    """The surroundings of the sentences that one shard goes through."""

    tuner: Mira
    alone: bool
    """Whether sentences are judged without any."""
    sum: F64
    """Statistics of the corpus, or the background."""
    count: float
    """How many sentences that is."""
    rows: F64 | None
    """Statistics of each sentence's translation in that corpus."""
    seen: dict[int, F64]
    """The same, of the sentences that the shard has come to."""

    def others(self, sentence: int) -> F64 | None:
        """What the statistics of a candidate are added to; None if it is judged alone."""
        if self.alone:
            return None
        return self.sum if self.rows is None else self.sum - self.rows[sentence]

    def unit(self, best: F64) -> float:
        """What scores are multiplied by, where `best` is the sum of `others` and the 1-best translation.

        One factor for all candidates: with several references the closest length is not the same for all of them, and
        a candidate is worth no more for it.
        """
        if self.tuner.unit == "length":
            return float(best[self.tuner.length_column])
        return self.count + float(self.rows is None) if self.tuner.unit == "sentence" else 1.0

    def saw(self, sentence: int, model: F64, oracle: F64 | None) -> None:
        """Takes in the statistics of the 1-best translation, and of the oracle if it had a larger gain."""
        self.seen[sentence] = model
        if self.tuner.gain == "background" and oracle is not None:
            fed = oracle if self.tuner.feed == "oracle" else model
            self.sum = self.tuner.decay * self.sum + fed
            self.count = self.tuner.decay * self.count + 1.0
        elif self.rows is not None and self.tuner.context == "latest":
            self.sum = self.sum + (model - self.rows[sentence])


def before(tuner: Mira, state: State, sentences: int, width: int) -> Context:
    """The context at the start of an epoch. A background starts with 1 everywhere, as Moses' does."""
    check("MIRA", length_column=tuner.unit != "length" or tuner.length_column < width)
    if tuner.gain == "background":
        row = state.row("background")
        return Context(tuner, False, np.ones(width) if row is None else row, state.number("count"), None, {})
    rows = state.row("corpus")
    if rows is None or tuner.gain == "sentence":
        return Context(tuner, True, np.zeros(width), 0.0, None, {})
    return Context(tuner, False, rows.sum(axis=0), float(sentences), rows, {})


def after(contexts: Sequence[Context], sizes: F64) -> tuple[dict[str, F64 | I64], float]:
    """What the shards saw, of which each had such a share of the sentences: rows to remember, and a count."""
    seen = {i: row for context in contexts for i, row in context.seen.items()}
    rows = np.array([seen[i] for i in range(len(seen))])
    if contexts[0].tuner.gain != "background":
        return {"mixed": rows, "corpus": rows}, 0.0
    background = np.asarray(sum(s * c.sum for s, c in zip(sizes, contexts, strict=True)))
    count = float(sum(s * c.count for s, c in zip(sizes, contexts, strict=True)))
    return {"mixed": rows, "background": background}, count
