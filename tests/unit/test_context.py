"""Background and corpus-context forms, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import OptionError
from dragoman.metrics import Background, Bleu, Ter, corpus_context, statistics

HYP = ["a b c d e", "a c b d", "x y z"]
REF = [["a b c d e"], ["a b c d"], ["x y w"]]


def test_background_decays_and_adds() -> None:
    metric = Bleu(tokenize="none")
    rows = statistics(metric, HYP, REF)
    background = Background.start(metric, decay=0.5, count=2.0)
    assert background.total.tolist() == [2.0] * 10
    background = background.add(rows[0]).add(rows[1])
    np.testing.assert_allclose(background.total, 0.25 * 2.0 + 0.5 * rows[0] + rows[1])
    want = [float(metric.score(background.total + row)) for row in rows]
    np.testing.assert_allclose(background.score(rows), want)


def test_background_needs_a_decay() -> None:
    with pytest.raises(OptionError, match="decay"):
        Background.start(Bleu(), decay=0.0)


@pytest.mark.parametrize("metric", [Bleu(tokenize="none", smooth="add-all"), Ter()])
def test_corpus_context_is_the_corpus_score_with_one_sentence_replaced(metric: Bleu | Ter) -> None:
    rows = statistics(metric, HYP, REF)
    others = statistics(metric, ["a b c", "a b c d", ""], [REF[1]] * 3)
    found = corpus_context(metric, rows.sum(axis=0), rows[1], others)
    want = [float(metric.score(rows[0] + other + rows[2])) for other in others]
    np.testing.assert_allclose(found, want, atol=1e-9)
