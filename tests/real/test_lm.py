"""Language models against KenLM's own results on real text."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from dragoman import lm
from dragoman.files import read_text

Arpa = dict[str, tuple[float, float]]


def read_arpa(path: Path) -> tuple[Arpa, list[str]]:
    """All n-grams, and the lines with their counts."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if "\t" in line)
    head = [line for line in text.splitlines()[:10] if line.startswith("ngram")]
    return {r[1]: (float(r[0]), float(r[2]) if len(r) > 2 else 0.0) for r in rows}, head


@pytest.mark.parametrize(
    ("golden", "text", "order", "prune"),
    [
        ("order3", "multi30k/tok/train.en.gz", 3, []),
        ("order5", "golden-lm/text-8k.en.gz", 5, []),
        ("order4-pruned", "multi30k/tok/train.en.gz", 4, [0, 0, 1, 2]),
    ],
)
def test_estimates_equal_those_of_lmplz(
    data: Path, tmp_path: Path, golden: str, text: str, order: int, prune: list[int]
) -> None:
    lm.estimate(data / text, tmp_path / "lm.arpa", order=order, prune=prune)
    found, head = read_arpa(tmp_path / "lm.arpa")
    want, want_head = read_arpa(data / f"golden-lm/{golden}.arpa.gz")
    assert head == want_head
    assert list(found) == list(want)  # in the same order, too
    np.testing.assert_allclose(list(found.values()), list(want.values()), atol=2e-6, rtol=0)


def kenlm_tokens(path: Path) -> tuple[list[float], list[int], list[bool]]:
    logs, lengths, unknown = [], [], []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if "\tTotal: " in line:
            for token in line.split("\t")[:-1]:
                word, length, log = token.rsplit(" ", 2)
                logs.append(float(log))
                lengths.append(int(length))
                unknown.append(word.endswith("=0"))
    return logs, lengths, unknown


@pytest.mark.parametrize("golden", ["order3", "order5"])
def test_tokens_score_as_in_kenlm(data: Path, tmp_path: Path, golden: str) -> None:
    logs, lengths, unknown = kenlm_tokens(data / f"golden-lm/{golden}.val-en.query.txt.gz")
    text = read_text(data / "multi30k/tok/val.en.gz")
    arpa = data / f"golden-lm/{golden}.arpa.gz"
    lm.convert(arpa, tmp_path / "lm.bin")
    for path in (arpa, tmp_path / "lm.bin"):
        scores = lm.Model(path).score(text)
        np.testing.assert_allclose(scores.logs / math.log(10), logs, atol=5e-6, rtol=0)
        assert scores.lengths.tolist() == lengths
        assert scores.unknown.tolist() == unknown


def test_compact_tables_are_small_and_close(data: Path, tmp_path: Path) -> None:
    arpa, text = data / "golden-lm/order5.arpa.gz", read_text(data / "multi30k/tok/val.en.gz")
    exact = lm.Model(arpa)
    scores = exact.score(text)
    bounds = {6: 0.01, 8: 0.0015, 12: 1e-4}
    for bits, bound in bounds.items():
        lm.convert(arpa, tmp_path / "lm.small", form="compact", bits=bits)
        model = lm.Model(tmp_path / "lm.small")
        found = model.score(text)
        assert model.size < exact.size / 2.5
        assert abs(found.perplexity / scores.perplexity - 1) < bound, bits
        assert (found.lengths == scores.lengths).all()
        assert np.abs(found.logs - scores.logs).max() < 40 / 2**bits + 0.1


def test_mixture_weights_and_merging(data: Path, tmp_path: Path) -> None:
    lines = list(read_text(data / "golden-lm/text-8k.en.gz"))
    half = {"a": lines[:3000], "b": [line.upper() if i % 3 else line for i, line in enumerate(lines[3000:6000])]}
    for name, part in half.items():
        (tmp_path / name).write_text("\n".join(part), encoding="utf-8")
        lm.estimate(tmp_path / name, tmp_path / f"{name}.arpa", order=3)
    models = [lm.Model(tmp_path / f"{name}.arpa") for name in half]
    tuning = lines[6000:6500]
    weights = lm.tune_weights(models, tuning)
    assert sum(weights) == pytest.approx(1) and weights[0] > weights[1] > 0.01

    def perplexity(first: float) -> float:
        scores = lm.Mixture(models, [first, 1 - first]).score(tuning)
        known = ~(models[0].score(tuning).unknown & models[1].score(tuning).unknown)
        return float(-scores.logs[known].astype(float).mean())

    best = perplexity(weights[0])
    for step in (-0.02, 0.02):
        assert perplexity(weights[0] + step) > best
    lm.merge([tmp_path / "a.arpa", tmp_path / "b.arpa"], weights, tmp_path / "m.bin")
    merged = lm.Model(tmp_path / "m.bin").score(tuning).perplexity
    mixed = lm.Mixture(models, weights).score(tuning).perplexity
    assert merged == pytest.approx(mixed, rel=0.02)
    assert mixed < min(model.score(tuning).perplexity for model in models)
