"""The sampler against the exact distribution over all derivations (tests/slow_decode.py), on small random models."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests import slow_decode as slow
from tests.property.test_decode import Pair, logs, sentence_scorer, slow_table, write_lm, write_table

from dragoman.decoder import Decoder, Search
from dragoman.decoder.sampling import Sampling, sampled
from dragoman.model import Part, seal
from dragoman.types import Candidates

STEPS = 300_000
"""Samples of a chain; its distance from the truth is then mostly below 0.02."""
FAR = 0.04
"""Total variation that no chain may reach: half the sum of differences of probabilities."""


def make(folder: Path, seed: int, words: str, longest: int, most: int, reordering: str = "stack") -> Pair:
    """A random system in which every span of the sentence up to `longest` words has up to `most` translations."""
    rng = random.Random(seed)
    folder.mkdir()
    table: dict[tuple[str, ...], dict[tuple[str, ...], list[float]]] = {}
    spans = [words[i:j] for i, j in itertools.combinations(range(len(words) + 1), 2) if j - i <= longest]
    for span in spans:
        for _ in range(rng.randint(1, most)):
            target = tuple(rng.choices("uvwxyz", k=rng.choice([1, 1, 2, 3])))
            table.setdefault(tuple(span), {})[target] = logs(rng, 2) + rng.choices([0.2, 0.5, 0.9], k=6)
    write_table(folder, "t0", table)
    write_lm(folder, "lm0", rng, 3)
    parts = [
        Part("scores", "TM0", {"table": 0, "columns": ["one", "two"], "group": "TM0"}),
        Part("lm", "LM0", {"path": "lm0.arpa"}),
        Part("word-penalty", "Words"),
        Part("distortion", "Distortion"),
    ]
    names = ["TM0[0]", "TM0[1]", "LM0", "Words", "Distortion"]
    if reordering:
        parts.append(Part("reordering", "RM", {"table": 0, "model": "hier", "top": reordering}))
        names += [f"RM[{i}]" for i in range(6)]
    weights = {name: round(rng.uniform(0.0, 0.7), 3) for name in names}
    seal(folder, tables=["t0.rules"], parts=parts, initial=weights)
    models = {"LM0": sentence_scorer(folder / "lm0.arpa")}
    tried = slow.System([slow_table(table)], models, weights, reordering)
    return Pair(Decoder(folder, search=Search(table_limit=0), threads=1), tried)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


Key = tuple[tuple[int, int, str], ...]


def exact(derivations: Sequence[slow.Derivation], scores: Sequence[float]) -> dict[Key, float]:
    top = max(scores)
    shares: dict[Key, float] = defaultdict(float)
    for derivation, score in zip(derivations, scores, strict=True):
        key = tuple((o.start, o.end, " ".join(o.target)) for o in derivation.options)
        shares[key] += math.exp(score - top)
    total = sum(shares.values())
    return {key: share / total for key, share in shares.items()}


def drawn(found: Candidates) -> dict[Key, float]:
    assert found.totals is not None and found.extra is not None
    shares: dict[Key, float] = {}
    for text, total, phrases in zip(found.texts, found.totals, found.extra, strict=True):
        words = text.split()
        key = []
        for phrase in phrases.split():
            (a, b), (c, d) = (map(int, side.strip("!").split("-")) for side in phrase.split(":"))
            key.append((a, b, " ".join(words[c:d])))
        shares[tuple(key)] = math.exp(total)
    return shares


def distance(one: dict[Key, float], other: dict[Key, float]) -> float:
    return sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in {*one, *other}) / 2


def sampling(words: str, **options: float) -> Sampling:
    plan = Sampling.of_model(samples=STEPS // len(words), temperature=options.pop("temperature", 1.0))
    return replace(plan, burn_in=100, **options)  # type: ignore[arg-type]


def check(pair: Pair, words: str, limit: int, plan: Sampling) -> None:
    derivations = slow.decode(pair.slow, list(words), limit)
    assert 1 < len(derivations) < 2_000
    want = exact(derivations, [d.score / plan.cold for d in derivations])
    pair.decoder.search = replace(pair.decoder.search, distortion_limit=limit)
    found = drawn(sampled(pair.decoder, [" ".join(words)], plan, distinct=False, phrases=True))
    assert set(found) <= set(want), "a derivation that there is not"
    assert math.isclose(sum(found.values()), 1.0)
    assert distance(found, want) < FAR


ALONE: dict[str, tuple[str, int, int, int, dict[str, float]]] = {
    "merge": ("abc", 3, 3, 0, {"merge": 1.0, "reorder": 0.0, "retranslate": 0.0}),
    "reorder": ("abcd", 1, 1, -1, {"merge": 0.0, "reorder": 1.0, "retranslate": 0.0}),
    "retranslate": ("abcd", 1, 3, 0, {"merge": 0.0, "reorder": 0.0, "retranslate": 1.0}),
    "all": ("abc", 3, 2, -1, {}),
    "all, limited": ("abcd", 2, 1, 2, {}),
    "all, narrow": ("abc", 2, 4, -1, {"width": 1}),
    "merge, narrow": ("abc", 3, 4, 0, {"merge": 1.0, "reorder": 0.0, "retranslate": 0.0, "width": 1}),
    "all, hot": ("abc", 2, 2, 2, {"temperature": 3.0}),
}


@pytest.mark.parametrize("case", ALONE)
@pytest.mark.parametrize("reordering", ["stack", ""])
def test_the_chain_has_the_models_distribution(folder: Path, case: str, reordering: str) -> None:
    words, longest, most, limit, options = ALONE[case]
    pair = make(folder / f"{case}{reordering}", len(case), words, longest, most, reordering)
    check(pair, words, limit, sampling(words, **options))


class Length:
    """A feature that no step-by-step search can have: the square of the number of different words."""

    name = "distinct"

    def __init__(self) -> None:
        self.calls = 0

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        self.calls += 1
        assert len(sources) == len(targets)
        return float(len({word for text in targets for word in text.split()}) ** 2)


def test_features_of_whole_texts_take_part(folder: Path) -> None:
    pair = make(folder / "whole", 5, "abc", 2, 2)
    derivations = slow.decode(pair.slow, list("abc"), 2)
    values = [float(len(set(d.text.split())) ** 2) for d in derivations]
    want = exact(derivations, [d.score + 0.2 * value for d, value in zip(derivations, values, strict=True)])
    pair.decoder.search = replace(pair.decoder.search, distortion_limit=2)
    feature = Length()
    plan = replace(sampling("abc"), samples=30_000)
    found = sampled(pair.decoder, ["a b c"], plan, distinct=False, phrases=True, text_features=[(feature, 0.2)])
    assert distance(drawn(found), want) < FAR
    assert distance(exact(derivations, [d.score for d in derivations]), want) > 2 * FAR, "it makes a difference"
    assert 0 < feature.calls < 3 * (30_000 + 100)


def test_documents_are_judged_as_one(folder: Path) -> None:
    pair = make(folder / "document", 6, "ab", 1, 3, "")
    pair.decoder.search = replace(pair.decoder.search, distortion_limit=0)
    one = slow.decode(pair.slow, ["a"], 0)
    two = slow.decode(pair.slow, ["b"], 0)
    shares: dict[Key, float] = defaultdict(float)
    for first, second in itertools.product(one, two):
        value = len({*first.text.split(), *second.text.split()}) ** 2
        key = ((0, 1, first.text),)
        shares[key] += math.exp(first.score + second.score + 0.3 * value)
    total = sum(shares.values())
    plan = replace(sampling("ab"), samples=40_000)
    found = sampled(
        pair.decoder, ["a", "b"], plan, distinct=False, phrases=True, documents=[2], text_features=[(Length(), 0.3)]
    )
    alone = found.take(np.array([0]))
    assert distance(drawn(alone), {key: share / total for key, share in shares.items()}) < FAR


def test_annealing_finds_the_best(folder: Path) -> None:
    hits = 0
    for seed in range(6):
        pair = make(folder / f"best{seed}", seed, "abcde", 3, 2)
        pair.decoder.search = replace(pair.decoder.search, distortion_limit=3, stack_size=10_000, pop_limit=0)
        found = sampled(pair.decoder, ["a b c d e"], Sampling(burn_in=2_000), features=True)
        best = pair.decoder.nbest(["a b c d e"], 1)
        assert found.totals is not None and best.totals is not None
        assert found.totals[0] <= best.totals[0] + 1e-4
        hits += bool(found.totals[0] > best.totals[0] - 1e-4)
        scores = pair.decoder.weights.to_dict()
        row = found.features.row(0)
        assert math.isclose(found.totals[0], sum(scores[n] * v for n, v in row.items()), abs_tol=1e-4)
    assert hits >= 5


def test_samples_do_not_depend_on_threads(folder: Path) -> None:
    pair = make(folder / "threads", 3, "abc", 2, 3)
    lines = ["a b c", "c b", "", "a a a b", "b"]
    plan = Sampling.of_model(samples=40, seed=5)
    lists = []
    for threads in (1, 2):
        pair.decoder.threads = threads
        found = sampled(pair.decoder, lines, plan)
        assert found.totals is not None
        lists.append((found.starts.tolist(), found.texts.to_list(), found.totals.tolist()))
    assert lists[0] == lists[1]
    again = sampled(pair.decoder, lines, replace(plan, seed=6))
    assert again.totals is not None
    assert again.totals.tolist() != lists[0][2]
