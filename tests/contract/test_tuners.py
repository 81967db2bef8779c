"""Every tuner keeps the law book, and the law book notices when one does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dragoman import registry
from dragoman.engine import Engine
from dragoman.testing import LawBroken, check_tuner
from dragoman.tuning import (
    BatchTuner,
    ForestMert,
    LatticeMira,
    Limits,
    Mert,
    Mira,
    Online,
    Pool,
    Pro,
    Risk,
    SampleRank,
    Session,
    State,
    Tuner,
)
from dragoman.types import F64

SMALL: list[Tuner] = [
    Mert(starts=5, together=2),
    Mert(starts=3, directions="powell", order="steepest"),
    Mert(starts=3, directions="random+coordinate", restart="walk"),
    Mert(starts=2, directions="gradient"),
    Mert(starts=3, noise=0.2, copies=2),
    Mert.smooth(),
    Pro(iterations=4, pairs=500),
    Mira(epochs=5),
    Mira.kbmira(),
    *(Mira(oracle=o, prediction=p, epochs=4) for o in ("lu", "mb", "hope") for p in ("pb", "mc", "fear")),
    Mira(gain="background", epochs=4),
    Mira(gain="sentence", epochs=4, average=False),
    *(
        Online(objective=o, epochs=4, rate=0.1, l1=0.0)
        for o in ("logistic", "hinge", "hope-fear", "expected", "softmax")
    ),
    *(Online(updater=u, epochs=4, batch=5) for u in ("sgd", "arow", "passive-aggressive")),
    Online(epochs=4, rate=0.1, l1=0.01, lazy=False, average=True),
    Risk(),
    Risk(objective="corpus", iterations=4),
]


@pytest.mark.parametrize("tuner", SMALL, ids=str)
def test_ours(tuner: Tuner) -> None:
    promises = isinstance(tuner, Risk) or (isinstance(tuner, Mert) and tuner.directions == "coordinate")
    check_tuner(tuner, order_invariant=isinstance(tuner, Risk), scale_invariant=promises and isinstance(tuner, Mert))


def test_every_registered_tuner_is_checked_above() -> None:
    # Tuners on forests and SampleRank have no session over lists: they are tried where there is a model.
    others = {ForestMert, LatticeMira, SampleRank}
    every = [registry.make("tuner", name) for name in registry.names("tuner")]
    assert {type(tuner) for tuner in every} - others == {type(tuner) for tuner in SMALL}
    assert all(tuner.name for tuner in every)


@dataclass(frozen=True)
class Broken(BatchTuner):
    """A tuner that climbs a little each step, and breaks one law if told to."""

    breaks: str = ""
    name: str = "broken"
    never_worse: bool = True

    def over(self, pool: Pool, limits: Limits, seed: int, engine: Engine | None = None) -> Session:
        return BrokenSession(self, pool, limits, seed)


@dataclass
class BrokenSession:
    tuner: Broken
    pool: Pool
    limits: Limits
    seed: int
    steps_so_far: int = 0

    def begin(self, start: F64) -> State:
        if self.tuner.breaks == "start":
            start += 1.0
        gains = self.pool.sentence_gains()
        return State(start, done=not np.ptp(gains) > 0)

    def step(self, state: State) -> State:
        self.steps_so_far += 1
        breaks, weights = self.tuner.breaks, state.weights.copy()
        noise = np.random.default_rng() if breaks == "seed" else np.random.default_rng([self.seed, state.step])
        candidates = [self.limits.clip(weights + noise.normal(size=len(weights))) for _ in range(20)]
        best = max([weights, *candidates], key=self.pool.corpus_gain)
        if breaks == "limits":
            best = best + 1.0
        if breaks == "worse":
            best = min(candidates, key=self.pool.corpus_gain)
        if breaks == "nan":
            best = best * np.nan
        done = (self.steps_so_far if breaks == "resume" else state.step + 1) >= 4
        return State(best, state.step + 1, done, record=dict(state.record))


def test_a_tuner_of_your_own() -> None:
    check_tuner(Broken())


@pytest.mark.parametrize(
    ("breaks", "law"),
    [
        ("seed", "one seed gives one result"),
        ("start", "left alone"),
        ("limits", "fixed weight"),
        ("worse", "never ends below"),
        ("nan", "finite"),
        ("resume", "resumes bit for bit"),
    ],
)
def test_broken_tuners_are_noticed(breaks: str, law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        check_tuner(replace(Broken(), breaks=breaks))
