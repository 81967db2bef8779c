"""Tuners: weights that maximise a metric, from candidates of any system.

To add one: a file in `tuners`, and a line in `dragoman.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dragoman import registry
from dragoman.errors import OptionError
from dragoman.tuning import sweep
from dragoman.tuning.driver import Tuned, tune
from dragoman.tuning.limits import Limits, NamedLimits
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import BatchTuner, Problem, Session, Tuner, Workspace, judge
from dragoman.tuning.replicate import replicate
from dragoman.tuning.rundir import RunDir
from dragoman.tuning.state import State
from dragoman.tuning.tuners.forest_mert import ForestMert
from dragoman.tuning.tuners.forest_mira import LatticeMira
from dragoman.tuning.tuners.mert import Mert
from dragoman.tuning.tuners.mira import Mira
from dragoman.tuning.tuners.online import Online
from dragoman.tuning.tuners.pro import Pro
from dragoman.tuning.tuners.risk import Risk
from dragoman.tuning.tuners.samplerank import SampleRank

__all__ = [
    "BatchTuner",
    "ForestMert",
    "LatticeMira",
    "Limits",
    "Mert",
    "Mira",
    "NamedLimits",
    "Online",
    "Pool",
    "Pro",
    "Problem",
    "Risk",
    "RunDir",
    "SampleRank",
    "Session",
    "State",
    "Tuned",
    "Tuner",
    "Workspace",
    "adjusted",
    "judge",
    "replicate",
    "sweep",
    "tune",
    "tuner_from",
]


def tuner_from(spec: str) -> Tuner:
    """A tuner from its text form, e.g. `mert:starts=5,directions=gradient`, or `FILE.py:NAME`."""
    made: Tuner = registry.make("tuner", spec)
    return made


def adjusted(tuner: Tuner, options: Mapping[str, str | int]) -> Tuner:
    """The tuner with some of its options set; one that it does not have, and that would do nothing, is refused.

    >>> adjusted(Online(), {"stale": 0}).stale
    0
    """
    for name, value in options.items():
        if hasattr(tuner, name):
            tuner = replace(tuner, **{name: value})  # type: ignore[type-var]
        elif name == "mode" and value == "online":
            raise OptionError(f"{tuner.name} cannot be run online; leave the mode out")
        elif name != "mode":
            raise OptionError(f"{name} means nothing to {tuner.name}: leave it out")
    return tuner
