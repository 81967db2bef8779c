"""Minimum error rate training: exact line searches, many ways to choose the lines, regularised or not."""

from dragoman.tuning.tuners.mert.regularise import REGULARISERS, Line, Regulariser
from dragoman.tuning.tuners.mert.tuner import Mert, MertSession

__all__ = ["REGULARISERS", "Line", "Mert", "MertSession", "Regulariser"]
