"""Our figures against sacreBLEU's, on real outputs and on random text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from dragoman.files import read_text
from dragoman.metrics import Bleu, Chrf, Ter, corpus_score, statistics
from dragoman.types import Metric

SYSTEMS = [
    "JDExploreAcademy",
    "LT22",
    "Lan-Bridge",
    "Online-A",
    "Online-B",
    "Online-G",
    "Online-W",
    "Online-Y",
    "PROMT",
]
BLEUS: list[tuple[Bleu, dict[str, Any]]] = [
    (Bleu(), {}),
    (Bleu(tokenize="none"), {"tokenize": "none"}),
    (Bleu(tokenize="intl"), {"tokenize": "intl"}),
    (Bleu(tokenize="char"), {"tokenize": "char"}),
    (Bleu(tokenize="zh"), {"tokenize": "zh"}),
    (Bleu(lowercase=True, order=6), {"lowercase": True, "max_ngram_order": 6}),
    (Bleu(smooth="none"), {"smooth_method": "none"}),
    (Bleu(smooth="floor"), {"smooth_method": "floor"}),
    (Bleu(smooth="floor", smooth_value=0.3), {"smooth_method": "floor", "smooth_value": 0.3}),
    (Bleu(smooth="add-k"), {"smooth_method": "add-k"}),
    (Bleu(smooth="add-k", smooth_value=0.2), {"smooth_method": "add-k", "smooth_value": 0.2}),
    (Bleu(effective_order=True), {"effective_order": True}),
]
CHRFS: list[tuple[Chrf, dict[str, Any]]] = [
    (Chrf(), {}),
    (Chrf(word_order=2), {"word_order": 2}),
    (Chrf(char_order=4, beta=3, lowercase=True), {"char_order": 4, "beta": 3, "lowercase": True}),
    (Chrf(whitespace=True), {"whitespace": True}),
    (Chrf(word_order=1, eps_smoothing=True), {"word_order": 1, "eps_smoothing": True}),
]
TERS: list[tuple[Ter, dict[str, Any]]] = [
    (Ter(), {}),
    (Ter(normalized=True), {"normalized": True}),
    (Ter(no_punct=True, case_sensitive=True), {"no_punct": True, "case_sensitive": True}),
    (
        Ter(normalized=True, no_punct=True, asian_support=True),
        {"normalized": True, "no_punct": True, "asian_support": True},
    ),
]


@cache
def lines(path: Path, limit: int | None = None) -> tuple[str, ...]:
    return tuple(read_text(path).to_list()[:limit])


def corpus(data: Path, system: str, nrefs: int, limit: int | None = None) -> tuple[list[str], list[list[str]]]:
    folder = data / "wmt22-systems" / "de-en"
    refs = [lines(folder / f"ref.{r}.en.gz", limit) for r in "AB"[:nrefs]]
    hyp = lines(folder / f"hyp.{system}.en.gz", limit)
    return list(hyp), [list(column) for column in refs]


def same(ours: Metric, theirs: Any, hyp: list[str], refs: list[list[str]]) -> None:
    want = theirs.corpus_score(hyp, refs).score
    found = corpus_score(ours, hyp, [list(r) for r in zip(*refs, strict=True)])
    assert found == pytest.approx(want, abs=1e-9, rel=0)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system(data: Path, system: str) -> None:
    same(Bleu(), BLEU(), *corpus(data, system, 1))
    same(Bleu(), BLEU(), *corpus(data, system, 2))
    # sacreBLEU needs many seconds for chrF and a minute for TER on a whole system: a part here, all in the long run.
    same(Chrf(), CHRF(), *corpus(data, system, 2, limit=150))
    same(Chrf(word_order=2), CHRF(word_order=2), *corpus(data, system, 1, limit=150))
    same(Ter(), TER(), *corpus(data, system, 2, limit=25))


@pytest.mark.long
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("nrefs", [1, 2])
def test_every_system_whole(data: Path, system: str, nrefs: int) -> None:
    whole = corpus(data, system, nrefs)
    same(Chrf(), CHRF(), *whole)
    same(Chrf(word_order=2), CHRF(word_order=2), *whole)
    same(Ter(), TER(), *whole)


@pytest.mark.parametrize(("ours", "options"), BLEUS)
def test_bleu_options(data: Path, ours: Bleu, options: dict[str, Any]) -> None:
    same(ours, BLEU(**options), *corpus(data, "Online-W", 2, limit=1000))


@pytest.mark.parametrize(("ours", "options"), CHRFS)
def test_chrf_options(data: Path, ours: Chrf, options: dict[str, Any]) -> None:
    same(ours, CHRF(**options), *corpus(data, "Online-W", 2, limit=200))


@pytest.mark.parametrize(("ours", "options"), TERS)
def test_ter_options(data: Path, ours: Ter, options: dict[str, Any]) -> None:
    same(ours, TER(**options), *corpus(data, "Online-Y", 2, limit=40))


def test_every_sentence_alone(data: Path) -> None:
    hyp, refs = corpus(data, "PROMT", 2, limit=100)
    for ours, theirs in (
        (Bleu(effective_order=True), BLEU(effective_order=True)),
        (Bleu(smooth="add-k"), BLEU(smooth_method="add-k")),
        (Chrf(word_order=2), CHRF(word_order=2)),
    ):
        found = ours.score(statistics(ours, hyp, [list(r) for r in zip(*refs, strict=True)]))
        want = [theirs.sentence_score(h, list(r)).score for h, *r in zip(hyp, *refs, strict=True)]
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)


WORDS = st.sampled_from(
    [
        "a",
        "b",
        "the",
        "The",
        "1,000.5",
        "3.14",
        "don't",
        "x-ray",
        "5-3",
        "&quot;",
        "&amp;lt;",
        "(",
        "«",
        "“q”",
        ".",
        "...",
        "漢字",
        "かな",
        "é",
        "İ",
        "ß",
        "€5",
        "-",
        "<skipped>",
        "\u3000",
        "\x1c",
        "\u200b",
        "\t",
        "ÀB",
        "１２",
        "و",
        "a.b,c",
    ]
)
LINES = st.lists(WORDS, max_size=12).flatmap(
    lambda ws: st.sampled_from([" ".join(ws), "".join(ws), " ".join(ws) + " "])
)
CORPORA = st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *((ours, BLEU(**options)) for ours, options in BLEUS),
        *((ours, CHRF(**options)) for ours, options in CHRFS),
        *((ours, TER(**options)) for ours, options in TERS),
    ],
    ids=lambda metric: metric.signature() if isinstance(metric, Metric) else "",
)
@given(rows=CORPORA)
def test_random_text(ours: Metric, theirs: Any, rows: list[tuple[str, str, str]]) -> None:
    hyp, *refs = (list(column) for column in zip(*rows, strict=True))
    same(ours, theirs, hyp, refs)


def test_python_tokenizers_come_from_sacrebleu(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Those that only sacreBLEU has need models; so 13a, which both have, is sent the same way.
    monkeypatch.setattr("dragoman.metrics.native.NATIVE_TOKENIZERS", ("none",))
    hyp, refs = corpus(data, "Online-B", 2, limit=200)
    same(Bleu(lowercase=True), BLEU(lowercase=True), hyp, refs)
