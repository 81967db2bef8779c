"""Tuners: weights that maximise a metric, from candidates of any system. To add one: a file, and a line in `TUNERS`."""

from __future__ import annotations

from dragoman.config import build
from dragoman.tune import sweep
from dragoman.tune.base import Limits, Pool, Session, State, Tuner
from dragoman.tune.lattice_mira import LatticeMira
from dragoman.tune.mert import Mert
from dragoman.tune.mira import Mira
from dragoman.tune.online import Online
from dragoman.tune.pro import Pro
from dragoman.tune.risk import Risk
from dragoman.tune.run import Options, Tuned, judge, tune, tune_pool
from dragoman.tune.samplerank import SampleRank
from dragoman.tune.source import Judged, Plan, TunedSource, tune_source

__all__ = [
    "TUNERS",
    "Judged",
    "LatticeMira",
    "Limits",
    "Mert",
    "Mira",
    "Online",
    "Options",
    "Plan",
    "Pool",
    "Pro",
    "Risk",
    "SampleRank",
    "Session",
    "State",
    "Tuned",
    "TunedSource",
    "Tuner",
    "judge",
    "sweep",
    "tune",
    "tune_pool",
    "tune_source",
    "tuner_from",
]

TUNERS: dict[str, Tuner] = {
    "mert": Mert(),
    "smooth-mert": Mert.smooth(),
    "pro": Pro(),
    "mira": Mira(),
    "kbmira": Mira.kbmira(),
    "lattice-mira": LatticeMira(),
    "adagrad": Online(),
    "online": Online(),
    "phrasal": Online.phrasal(),
    "risk": Risk(),
    "samplerank": SampleRank(),
}
"""What the command line can name: a tuner with its options, as they are unless told otherwise."""


def tuner_from(spec: str) -> Tuner:
    """A tuner from its text form, e.g. `mert:starts=5,directions=gradient`."""
    return build("tuner", TUNERS, spec)
