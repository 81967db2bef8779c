"""The decoder against Moses, on a Moses system with its own 20-best lists under two sets of weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import moses, nbest
from dragoman.decode import Decoder
from dragoman.types import Candidates, Weights
from dragoman.weights import load

MEANS = {"default": -48.6523, "tuned": -36.0244}
"""Moses' mean model scores; both of its searches agree on them."""


@pytest.fixture(scope="module", params=list(MEANS))
def run(
    request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Decoder, Candidates, Candidates]:
    """The name of the weights, the decoder, our lists and Moses' lists."""
    name = str(request.param)
    golden = data / "golden-moses"
    folder = tmp_path_factory.mktemp(name) / "model"
    decoder = Decoder(moses.convert(golden / f"moses.{name}.ini", folder))
    lines = (golden / "in.de").read_text(encoding="utf-8").splitlines()
    theirs = nbest.read(golden / f"{name}.stack200.nbest20.gz")
    return name, decoder, decoder.nbest(lines, 200, distinct=False), theirs


def firsts(candidates: Candidates) -> list[str]:
    return [" ".join(candidates.texts[int(row)].split()) for row in candidates.starts[:-1]]


def test_first_translations_are_the_same(run: tuple[str, Decoder, Candidates, Candidates]) -> None:
    name, _, ours, theirs = run
    assert len(ours) == len(theirs) == 300
    equal = sum(a == b for a, b in zip(firsts(ours), firsts(theirs), strict=True))
    assert equal >= 297
    assert ours.totals is not None
    mean = float(ours.totals[ours.starts[:-1]].mean())
    assert mean >= MEANS[name] - 1e-4
    assert mean <= MEANS[name] + 0.05, "a better search finds a little more, not much"


def test_the_best_alone_is_the_first_of_the_list(data: Path, run: tuple[str, Decoder, Candidates, Candidates]) -> None:
    _, decoder, ours, _ = run
    lines = (data / "golden-moses" / "in.de").read_text(encoding="utf-8").splitlines()
    assert decoder.translate(lines) == firsts(ours)


def test_features_of_common_derivations_agree(run: tuple[str, Decoder, Candidates, Candidates]) -> None:
    """Moses lists each text once, by its best derivation; one of ours with that text must have the same features.

    A few texts have two derivations whose scores are equal to all the digits that Moses prints, and the other one may
    be past the end of our list.
    """
    _, decoder, ours, theirs = run
    assert ours.totals is not None and theirs.totals is not None
    names = [name for name in decoder.dense if not name.startswith("Unknown")]
    common, agreed = 0, 0
    for sentence in range(len(ours)):
        known: dict[str, list[int]] = {}
        for row in range(int(ours.starts[sentence]), int(ours.starts[sentence + 1])):
            known.setdefault(ours.texts[row], []).append(row)
        for row in range(int(theirs.starts[sentence]), int(theirs.starts[sentence + 1])):
            mine = known.get(" ".join(theirs.texts[row].split()), [])
            want = theirs.features.row(row)
            common += bool(mine)
            # Moses prints six digits.
            same = any(
                all(abs(have[name] - want[name]) <= max(1e-3, 1e-5 * abs(want[name])) for name in names)
                for have in map(ours.features.row, mine)
            )
            agreed += same
            if mine and not same:
                assert ours.totals[mine[0]] >= theirs.totals[row] - 1e-3, "ours is another one, and not worse"
    assert common >= 3000
    assert agreed >= 0.99 * common


def test_weights_may_change_with_every_call(data: Path, run: tuple[str, Decoder, Candidates, Candidates]) -> None:
    """One decoder under the other's weights gives what a decoder made with them does."""
    name, decoder, _, _ = run
    golden = data / "golden-moses"
    other = next(n for n in MEANS if n != name)
    values = moses.read_ini(golden / f"moses.{other}.ini").weights
    flat = {n if len(v) == 1 else f"{n}[{i}]": w for n, v in values.items() for i, w in enumerate(v)}
    lines = (golden / "in.de").read_text(encoding="utf-8").splitlines()
    theirs = nbest.read(golden / f"{other}.stack200.nbest20.gz")
    swapped = decoder.translate(lines, weights=Weights.of(flat))
    assert sum(a == b for a, b in zip(swapped, firsts(theirs), strict=True)) >= 297
    assert load(decoder.model.folder / "weights.toml").to_dict() == decoder.weights.to_dict()
