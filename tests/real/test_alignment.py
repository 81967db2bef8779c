"""Error rates on the Hansards gold sentences with Europarl around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import alignment
from dragoman.files import read_parallel
from dragoman.types import Texts


def bitext(data: Path, count: int | None = None) -> tuple[Texts, Texts, alignment.Gold]:
    folder = data / "gold-alignments" / "fr-en"
    source, target = read_parallel([folder / "bitext.fr.gz", folder / "bitext.en.gz"])
    if count is not None:
        source, target = Texts(source.to_list()[:count]), Texts(target.to_list()[:count])
    return source, target, alignment.Gold.read(folder / "gold.fr-en")


def test_five_thousand_pairs(data: Path, tmp_path: Path) -> None:
    source, target, gold = bitext(data, 5000)
    aligner = alignment.train(source, target, alignment.Options(samplers=2, sweeps=(3, 5, 10)))
    assert aligner.trained is not None
    assert alignment.error_rate(aligner.trained.links("intersection"), gold) < 0.13
    assert alignment.error_rate(aligner.trained.links(), gold) < 0.135
    # New text: the gold sentences once more, by a saved aligner.
    aligner.save(tmp_path / "aligner")
    first = [Texts(text.to_list()[:447]) for text in (source, target)]
    again = alignment.Aligner.load(tmp_path / "aligner").align(*first)
    assert alignment.error_rate(again.links(), gold) < 0.135


@pytest.mark.long
def test_all_pairs(data: Path) -> None:
    source, target, gold = bitext(data)
    trained = alignment.train(source, target).trained
    assert trained is not None
    assert alignment.error_rate(trained.links("intersection"), gold) <= 0.078
    assert alignment.error_rate(trained.links(), gold) <= 0.085
