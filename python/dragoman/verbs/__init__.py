"""The verbs of the library: what the command line, the demonstration and the examples call.

Each takes anything reasonable (a file, lines, lists; a metric or tuner by name or as an object), says in one sentence
what is wrong with what it is given, and returns an object that prints as the command line's table.
"""

from dragoman.verbs.choosing import mbr, rerank
from dragoman.verbs.judging import Comparison, Score, Scores, compare, score
from dragoman.verbs.tuning import TuneOptions, Tuning, tune

__all__ = ["Comparison", "Score", "Scores", "TuneOptions", "Tuning", "compare", "mbr", "rerank", "score", "tune"]
