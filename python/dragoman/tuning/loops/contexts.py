"""What a sentence's translation is judged together with while MIRA goes from sentence to sentence.

One sentence's BLEU says little about a corpus's: whether a word more or less helps depends on how long the other
translations are. So candidates are put in the place of a sentence in the corpus, or on top of a decaying sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dragoman._core import MiraContext
from dragoman.errors import OptionError
from dragoman.tuning.state import State

if TYPE_CHECKING:
    from dragoman.tuning.tuners.mira import Mira

__all__ = ["before"]


def before(tuner: Mira, state: State, width: int) -> MiraContext:
    """The context at the start of an epoch. A background starts with 1 everywhere, as Moses' does."""
    if tuner.unit == "length" and tuner.length_column >= width:
        raise OptionError(f"mira: length_column must be below {width}, found {tuner.length_column}")
    corpus = state.row("corpus")
    return MiraContext(
        tuner,
        width,
        background=state.row("background"),
        count=state.number("count"),
        corpus=None if corpus is None else np.ascontiguousarray(corpus),
    )
