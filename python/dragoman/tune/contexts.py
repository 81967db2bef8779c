"""What a sentence's translation is judged together with while MIRA goes from sentence to sentence.

One sentence's BLEU says little about a corpus's: whether a word more or less helps depends on how long the other
translations are. So candidates are put in the place of a sentence in the corpus, or on top of a decaying sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman._core import MiraContext, MiraWalk
from dragoman.tune._learning import check
from dragoman.tune.base import Memory
from dragoman.tune.mira import Mira
from dragoman.types import F64

__all__ = ["after", "before"]


def before(tuner: Mira, memory: Memory, width: int) -> MiraContext:
    """The context at the start of an epoch. A background starts with 1 everywhere, as Moses' does."""
    check("MIRA", length_column=tuner.unit != "length" or tuner.length_column < width)
    background, corpus = memory.get("background"), memory.get("corpus")
    return MiraContext(
        tuner,
        width,
        background=None if background is None else np.asarray(background, dtype=np.float64)[0],
        count=float(memory.get("count", 0.0)),
        corpus=None if corpus is None else np.ascontiguousarray(corpus, dtype=np.float64),
    )


def after(tuner: Mira, walks: Sequence[MiraWalk], sizes: F64, memory: Memory) -> F64:
    """Remembers what the shards saw, of which each had such a share of the sentences; gives the sum."""
    seen = [walk.seen() for walk in walks]
    order = np.argsort(np.concatenate([places for places, _ in seen]))
    rows = np.concatenate([found for _, found in seen])[order]
    if tuner.gain == "background":
        sums = [walk.context() for walk in walks]
        memory["background"] = np.asarray(sum(s * row for s, (row, _) in zip(sizes, sums, strict=True)))[None]
        memory["count"] = float(sum(s * count for s, (_, count) in zip(sizes, sums, strict=True)))
    else:
        memory["corpus"] = rows
    return np.asarray(rows.sum(axis=0))
