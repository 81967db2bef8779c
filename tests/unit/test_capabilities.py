"""What a metric can do inside a kernel, and that options of a metric are honoured there or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import Judged, Plan, tune_source
from tests.unit.test_samplerank import REFERENCES, SMALL, SOURCES, model, wrong

from dragoman.decoder import Decoder, DecoderSource
from dragoman.errors import OptionError
from dragoman.metrics import Bleu, Chrf, External, Ter, Wer
from dragoman.metrics.capability import capabilities, require
from dragoman.types import Metric

__all__ = ["model"]
ALL = {"approximate", "linear", "incremental"}
WORDS = Bleu(tokenize="none")


@pytest.mark.parametrize(
    ("metric", "lacks"),
    [
        (WORDS, set()),
        (Bleu(tokenize="none", smooth="add-k", ref_length="average", lowercase=True), set()),
        (Bleu(tokenize="none", length_scale=0.9, length_offset=1.0), set()),
        (Bleu(), {"linear", "incremental"}),
        (Bleu(tokenize="none", order=3), {"approximate", "incremental"}),
        (Bleu(tokenize="none", smooth="floor"), {"incremental"}),
        (Bleu(tokenize="none", effective_order=True), {"incremental"}),
        (Chrf(), ALL),
        (Ter(), ALL),
        (Wer(), ALL),
        (External(), ALL),
    ],
    ids=lambda x: " ".join(sorted(x)) if isinstance(x, set) else str(x),
)
def test_what_metrics_can_do(metric: Metric, lacks: set[str]) -> None:
    assert capabilities(metric) == ALL - lacks
    for name in lacks:
        with pytest.raises(OptionError, match=rf"a test needs .* `{name}`, such as .*BLEU|bleu.*; found"):
            require(metric, name, "a test")


def test_words_that_python_makes_are_unknown_to_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core then reads lines that are tokenised already, but paths and chains have other words."""
    monkeypatch.setattr("dragoman.metrics.native.python_tokenizer", lambda name: str.lower)
    metric = Bleu(tokenize="mine")
    assert metric._native.capabilities == ["approximate", "linear", "incremental"]
    assert capabilities(metric) == {"approximate"}


@pytest.mark.parametrize(
    "other",
    [
        Bleu(tokenize="none", ref_length="shortest"),
        Bleu(tokenize="none", ref_length="average"),
        Bleu(tokenize="none", smooth="add-k"),
        Bleu(tokenize="none", smooth="add-all", smooth_value=1.0),
        Bleu(tokenize="none", length_scale=0.5),
    ],
    ids=str,
)
def test_samplerank_honours_the_options_of_its_metric(model: Path, other: Bleu) -> None:
    def run(metric: Bleu) -> dict[str, float]:
        source = DecoderSource(Decoder(model, threads=1), SOURCES)
        setting = Judged(source, [[f"{line} too", line.split()[0]] for line in REFERENCES])
        plan = Plan(epochs=1, select="last", fixed=["UP"])
        return tune_source(setting, metric, SMALL, wrong(setting), plan).weights.to_dict()

    plain = run(WORDS)
    assert run(WORDS) == plain
    assert run(other) != plain
