"""Translating by sampling: annealed search, samples of the model, and features of whole texts.

>>> from dragoman.decode import Decoder                                       # doctest: +SKIP
>>> sampled(Decoder("model"), ["ein haus"]).texts.to_list()                   # doctest: +SKIP
['a house']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dragoman._core import NativeSystem, SampleRanker, sample_translations
from dragoman.errors import OptionError
from dragoman.tune.samplerank import SampleRank
from dragoman.types import F64, Candidates, Texts, Weights

__all__ = ["Sampling", "TextFeature", "sampled"]
