"""WER against jiwer's, with one reference, which is all that jiwer takes."""

from __future__ import annotations

from pathlib import Path

import jiwer
import pytest

from dragoman.files import read_text
from dragoman.metrics import Wer, corpus_score


def test_wer_on_real_output(data: Path) -> None:
    folder = data / "wmt22-systems" / "de-en"
    hyp = read_text(folder / "hyp.Online-G.en.gz").to_list()[:500]
    ref = read_text(folder / "ref.A.en.gz").to_list()[:500]
    want = 100 * jiwer.wer([" ".join(r.split()) for r in ref], [" ".join(h.split()) for h in hyp])
    assert corpus_score(Wer(), hyp, [[r] for r in ref]) == pytest.approx(want, abs=1e-9)
