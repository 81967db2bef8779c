"""The decoder: translates with a model, and gives n-best lists, forests, alignments and explanations."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dragoman.decoder.constraints import Constraints
from dragoman.decoder.decoder import Decoder
from dragoman.decoder.derivation import Derivation, Phrase
from dragoman.decoder.forest import Derived, Edge, Forest, read_forests, write_forests
from dragoman.decoder.search import Patience, Search

if TYPE_CHECKING:
    from dragoman.decoder.sources import DecoderRanker, DecoderSource

__all__ = [
    "Constraints",
    "Decoder",
    "DecoderRanker",
    "DecoderSource",
    "Derivation",
    "Derived",
    "Edge",
    "Forest",
    "Patience",
    "Phrase",
    "Search",
    "read_forests",
    "write_forests",
]


def __getattr__(name: str) -> Any:
    """Sources bring all of tuning with them, which takes longer than loading a model: only where they are asked for."""
    if name in {"DecoderRanker", "DecoderSource"}:
        return getattr(importlib.import_module("dragoman.decoder.sources"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
