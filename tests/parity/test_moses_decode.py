"""The decoder against Moses, on a Moses system with its own 20-best lists under two sets of weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import moses, nbest
from dragoman.decoder import Decoder
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
    return name, decoder, decoder.nbest(lines, 20), theirs


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


def test_features_of_common_derivations_agree(data: Path, run: tuple[str, Decoder, Candidates, Candidates]) -> None:
    """Moses lists each text by its best derivation; ours, forced to that text, is the same one, or better.

    It may be better because forcing looks past the 20 options of a phrase that Moses keeps.
    """
    _, decoder, _, theirs = run
    lines = (data / "golden-moses" / "in.de").read_text(encoding="utf-8").splitlines()
    first, last = theirs.starts[:-1], theirs.starts[1:]
    rows = [row for a, b in zip(first.tolist(), last.tolist(), strict=True) for row in range(a, b, 4)]
    sentences = theirs.sentence[rows].tolist()
    forced = decoder.force([lines[s] for s in sentences], [" ".join(theirs.texts[row].split()) for row in rows])
    assert (forced.starts[1:] - forced.starts[:-1] == 1).all(), "everything that Moses finds can be reached"
    assert theirs.totals is not None and forced.totals is not None
    names = [name for name in decoder.dense if not name.startswith("Unknown")]
    agreed = 0
    for mine, row in enumerate(rows):
        # Moses prints six digits.
        assert forced.totals[mine] >= theirs.totals[row] - max(1e-3, 1e-5 * abs(theirs.totals[row]))
        have, want = forced.features.row(mine), theirs.features.row(row)
        agreed += all(abs(have[name] - want[name]) <= max(1e-3, 1e-5 * abs(want[name])) for name in names)
    assert len(rows) > 1000
    assert agreed >= 0.995 * len(rows)


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
