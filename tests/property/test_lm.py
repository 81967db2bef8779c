"""Language models against slow versions that follow the definitions, on small random texts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import lm
from dragoman.types import Texts

Gram = tuple[str, ...]
Arpa = dict[Gram, tuple[float, float]]

FALLBACK = (0.5, 1.0, 1.5)
sentences = st.lists(st.lists(st.sampled_from("abcdé"), max_size=6), min_size=1, max_size=12).filter(any)


def discounts(adjusted: dict[Gram, int]) -> tuple[float, ...]:
    n = Counter(adjusted.values())
    if not (n[1] and n[2] and n[3]):
        return FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    found = tuple(j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3))
    return found if all(0 <= d <= j for j, d in zip((1, 2, 3), found, strict=True)) else FALLBACK


def raw_and_adjusted(text: list[list[str]], order: int) -> tuple[list[Counter[Gram]], list[dict[Gram, int]]]:
    raw: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
    for words in text:
        line = ["<s>", *words, "</s>"]
        for n in range(1, order + 1):
            raw[n].update(tuple(line[i : i + n]) for i in range(len(line) - n + 1))
    del raw[1]["<s>",]
    adjusted: list[dict[Gram, int]] = [{}]
    for n in range(1, order + 1):
        before = defaultdict(set)
        for gram in raw[n + 1] if n < order else ():
            before[gram[1:]].add(gram[0])
        adjusted.append({g: c if n == order or g[0] == "<s>" else len(before[g]) for g, c in raw[n].items()})
    adjusted[1]["<unk>",] = 0
    return raw, adjusted


def kneser_ney(text: list[list[str]], order: int, prune: list[int]) -> Arpa:
    """Modified Kneser-Ney from its definition: dictionaries, recursion, no order of anything."""
    raw, adjusted = raw_and_adjusted(text, order)
    kept = [
        {g for g in a if raw[n][g] > prune[n - 1] or g in {("<unk>",), ("</s>",)}} for n, a in enumerate(adjusted) if n
    ]
    follow: dict[Gram, list[Gram]] = defaultdict(list)
    for a in adjusted[1:]:
        for gram in a:
            follow[gram[:-1]].append(gram)
    cut = [()] + [discounts(a) for a in adjusted[1:]]

    def taken(gram: Gram) -> float:
        count = adjusted[len(gram)][gram]
        return 0.0 if count == 0 else cut[len(gram)][min(count, 3) - 1]

    def gamma(context: Gram) -> float:
        n = len(context) + 1
        free = sum(taken(g) if g in kept[n - 1] else adjusted[n][g] for g in follow[context])
        return free / sum(adjusted[n][g] for g in follow[context])

    def probability(gram: Gram) -> float:
        if not gram:
            return 1 / len(kept[0])
        own = (adjusted[len(gram)][gram] - taken(gram)) / sum(adjusted[len(gram)][g] for g in follow[gram[:-1]])
        return own + gamma(gram[:-1]) * probability(gram[1:])

    model: Arpa = {("<s>",): (0.0, math.log10(gamma(("<s>",))) if order > 1 else 0.0)}
    for grams in kept:
        for gram in grams:
            backoff = math.log10(gamma(gram)) if len(gram) < order and follow[gram] else 0.0
            model[gram] = (math.log10(probability(gram)), backoff)
    return model


def read_arpa(path: Path) -> Arpa:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if "\t" in line)
    return {tuple(r[1].split(" ")): (float(r[0]), float(r[2]) if len(r) > 2 else 0.0) for r in rows}


def backed_off(model: Arpa, context: Gram, word: str) -> float:
    """log10 p(word | context), from the definition of an ARPA file."""
    gram = (*context, word)
    if gram in model:
        return model[gram][0]
    if not context:
        return model["<unk>",][0]
    return model.get(context, (0.0, 0.0))[1] + backed_off(model, context[1:], word)


def slow_scores(model: Arpa, order: int, words: list[str]) -> list[float]:
    known = ["<s>", *(w if (w,) in model else "<unk>" for w in words), "</s>"]
    return [
        backed_off(model, tuple(known[max(0, i - order + 1) : i]) if order > 1 else (), known[i])
        for i in range(1, len(known))
    ]


@settings(max_examples=60)
@given(sentences, st.integers(1, 4), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_estimates_follow_the_definition(text: list[list[str]], order: int, thresholds: list[int]) -> None:
    prune = [0, *sorted(thresholds)][:order]
    want = kneser_ney(text, order, prune)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "lm.arpa"
        lines = Texts([" ".join(words) for words in text])
        lm.estimate(lines, out, order=order, prune=prune, discount_fallback=FALLBACK)
        found = read_arpa(out)
        assert found.keys() == want.keys()
        for gram, (probability, backoff) in want.items():
            assert found[gram] == pytest.approx((probability, backoff), abs=2e-6), gram
        scores = lm.Model(out).score([*lines, "a x b", ""])
        slow = [s for words in [*text, ["a", "x", "b"], []] for s in slow_scores(found, order, words)]
        np.testing.assert_allclose(scores.logs / math.log(10), slow, atol=1e-5)


@settings(max_examples=20)
@given(sentences, st.integers(2, 4))
def test_probabilities_sum_to_one(text: list[list[str]], order: int) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "lm.arpa"
        lines = Texts([" ".join(words) for words in text])
        lm.estimate(lines, out, order=order, prune=[0, 1], discount_fallback=FALLBACK)
        model = read_arpa(out)
        words = [gram[0] for gram in model if len(gram) == 1 and gram != ("<s>",)]
        for context in [(), ("a",), ("<s>",), ("a", "b"), ("<s>", "a"), ("b", "b", "a")]:
            if len(context) < order:
                assert sum(10 ** backed_off(model, context, w) for w in words) == pytest.approx(1, abs=1e-4)


@st.composite
def models(draw: st.DrawFn) -> Arpa:
    """Any model whose contexts are n-grams; endings may be missing, as pruning leaves them."""
    log = st.integers(-300, 0).map(lambda i: i / 100)
    words = ["<unk>", "<s>", "</s>", "a", "b", "c"]
    model: Arpa = {(w,): (draw(log), draw(log)) for w in words}
    layer = list(model)
    for n in range(2, 5):
        grams = [(*g, w) for g in layer for w in words if g[-1] != "</s>" and w != "<s>"]
        layer = draw(st.lists(st.sampled_from(grams), max_size=12, unique=True)) if grams else []
        for gram in layer:
            model[gram] = (draw(log), draw(log) if n < 4 and draw(st.booleans()) else 0.0)
    return model


def write_arpa(model: Arpa, path: Path) -> None:
    orders = range(1, 5)
    grams = {n: [g for g in model if len(g) == n] for n in orders}
    head = ["\\data\\", *(f"ngram {n}={len(grams[n])}" for n in orders)]
    for n in orders:
        rows = [f"{model[g][0]}\t{' '.join(g)}" + (f"\t{model[g][1]}" if n < 4 else "") for g in grams[n]]
        head += ["", f"\\{n}-grams:", *rows]
    path.write_text("\n".join([*head, "", "\\end\\", ""]), encoding="utf-8")


@settings(max_examples=60)
@given(models(), st.lists(st.lists(st.sampled_from("abcx"), max_size=8), min_size=1, max_size=5))
def test_queries_follow_the_definition(model: Arpa, text: list[list[str]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_arpa(model, folder / "lm.arpa")
        lm.convert(folder / "lm.arpa", folder / "lm.bin")
        lm.convert(folder / "lm.arpa", folder / "lm.small", form="compact", bits=16)
        slow = [s for words in text for s in slow_scores(model, 4, words)]
        for file in ("lm.arpa", "lm.bin", "lm.small"):  # few values, so that 16 bits hold all of them
            scores = lm.Model(folder / file).score([" ".join(words) for words in text])
            np.testing.assert_allclose(scores.logs / math.log(10), slow, atol=1e-5)


@settings(max_examples=20)
@given(models(), models(), st.floats(0.05, 0.95))
def test_mixtures_follow_the_definition(a: Arpa, b: Arpa, weight: float) -> None:
    text = ["a b c a", "c x a", ""]
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_arpa(a, folder / "a.arpa")
        write_arpa(b, folder / "b.arpa")
        both = [lm.Model(folder / "a.arpa"), lm.Model(folder / "b.arpa")]
        mixed = lm.Mixture(both, [weight, 1 - weight]).score(text)
        apart = [model.score(text).logs.astype(float) for model in both]
        want = np.log(weight * np.exp(apart[0]) + (1 - weight) * np.exp(apart[1]))
        np.testing.assert_allclose(mixed.logs, want, rtol=1e-5, atol=1e-5)
        lm.merge([folder / "a.arpa", folder / "b.arpa"], [weight, 1 - weight], folder / "m.arpa")
        merged = read_arpa(folder / "m.arpa")
        assert merged.keys() >= a.keys() | b.keys()
        for gram, (probability, _) in merged.items():
            if gram != ("<s>",):
                parts = [10 ** backed_off(m, gram[:-1], gram[-1]) for m in (a, b)]
                assert probability == pytest.approx(
                    min(0, math.log10(weight * parts[0] + (1 - weight) * parts[1])), abs=1e-4
                )
