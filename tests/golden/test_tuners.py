"""Every tuner's weights on fixed seeds, over lists and with a small model, as they were when they were last looked at.

A change of structure keeps them. Where a change is meant, `make golden` writes them anew, and the commit says which and
why. Compared with a tolerance, since linear algebra differs between CPUs; `tests/digests.py` compares every bit of two
programs on one machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests import tiny

from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import Serial
from dragoman.metrics import Bleu
from dragoman.testing import planted_pool
from dragoman.tuning import (
    ForestMert,
    LatticeMira,
    Mert,
    Mira,
    Online,
    Pro,
    Problem,
    Risk,
    SampleRank,
    Tuned,
    Tuner,
    tune,
)
from dragoman.types import Weights

FILE = Path(__file__).with_name("tuners.json")

LISTS: dict[str, Tuner] = {
    "mert": Mert(starts=3),
    "mert gradient l2": Mert(starts=2, directions="gradient", l2=0.01),
    "mert powell l0": Mert(starts=2, directions="powell", order="steepest", l0=0.001),
    "smooth-mert": Mert.smooth(),
    "pro": Pro(iterations=4),
    "mira": Mira(epochs=4, unit="sentence"),
    "mira lu mc": Mira(oracle="lu", prediction="mc", local=4, epochs=3, unit="score"),
    "kbmira": replace(Mira.kbmira(), epochs=6, unit="sentence"),
    "adagrad": Online(epochs=3),
    "adagrad average": Online(epochs=3, average=True, l1=0.01, min_count=5),
    "hope-fear arow": Online(objective="hope-fear", updater="arow", epochs=3),
    "expected sgd": Online(objective="expected", updater="sgd", epochs=3),
    "risk": Risk(iterations=3),
    "risk corpus": Risk(objective="corpus", iterations=3),
}
MODEL: dict[str, tuple[Tuner, str | None]] = {
    "mert": (Mert(starts=2), None),
    "pro": (Pro(iterations=3), None),
    "kbmira": (replace(Mira.kbmira(), epochs=5), None),
    "risk": (Risk(iterations=3), None),
    "lattice-mira": (LatticeMira(epochs=4), None),
    "forest-mert": (ForestMert(random_directions=3), None),
    "forest-mert starts l2": (ForestMert(starts=2, directions="coordinate", l2=0.01), None),
    "mira": (Mira(), None),
    "mira shards sparse": (Mira(shards=2), tiny.SETS),
    "mira lattice": (Mira(space="lattice", oracle="mb"), None),
    "adagrad": (Online(batch=3, rate=0.1), None),
    "adagrad sparse": (Online(batch=3, rate=0.1, l1=0.001, average=True), tiny.SETS),
    "samplerank": (SampleRank(chains=2, samples=20, burn_in=5), None),
    "samplerank paper": (SampleRank(chains=1, samples=20, burn_in=5, oracle="hope", rate=0.0), tiny.SETS),
}


def over_lists(tuner: Tuner) -> Tuned:
    return tune(Problem.of_pool(planted_pool()[0]), tuner, engine=Serial(), seed=5, keep_worse=True)


def with_model(tuner: Tuner, features: str | None, folder: Path) -> Tuned:
    decoder = Decoder(folder, features=features, search=tiny.SEARCH)
    lines = tiny.lines(12, longest=5)
    other = Weights.of({"TM": 1.5, "LM": 0.1, "Words": 0.3, "Unknown": 1.0, "Distortion": 0.5})
    references = [[line] for line in decoder.translate(lines, weights=other)]
    problem = Problem.of_source(DecoderSource(decoder, lines, 15), references, Bleu(tokenize="none"))
    return tune(problem, tuner, rounds=2, select="last", engine=Serial(), seed=5)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


def check(name: str, run: Callable[[], Tuned], rewrite: bool) -> None:
    found = {feature: value for feature, value in sorted(run().weights.to_dict().items()) if value}
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if rewrite:
        FILE.write_text(json.dumps({**known, name: found}, indent=1, sort_keys=True) + "\n")
        return
    assert found.keys() == known[name].keys()
    assert found == pytest.approx(known[name], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", LISTS)
def test_over_lists(name: str, request: pytest.FixtureRequest) -> None:
    check(f"lists {name}", lambda: over_lists(LISTS[name]), request.config.getoption("--rewrite-golden"))


@pytest.mark.parametrize("name", MODEL)
def test_with_a_model(name: str, model: Path, request: pytest.FixtureRequest) -> None:
    tuner, features = MODEL[name]
    rewrite = request.config.getoption("--rewrite-golden")
    check(f"model {name}", lambda: with_model(tuner, features, model), rewrite)
