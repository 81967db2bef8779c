"""The decoder: translates with a model, and gives n-best lists, lattices, alignments and explanations."""

from dragoman.decoder.constraints import Constraints
from dragoman.decoder.decoder import Decoder
from dragoman.decoder.derivation import Derivation, Phrase
from dragoman.decoder.forest import Arc, Lattice
from dragoman.decoder.search import Search
from dragoman.decoder.sources import DecoderRanker, DecoderSource

__all__ = [
    "Arc",
    "Constraints",
    "Decoder",
    "DecoderRanker",
    "DecoderSource",
    "Derivation",
    "Lattice",
    "Phrase",
    "Search",
]
