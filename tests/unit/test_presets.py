"""Presets: each paper's own setting against a slow, literal version of its equations (tests/literal.py), by numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from tests import literal
from tests.literal import Adaptive, Candidate, Sentence

from dragoman import registry, rules
from dragoman._core import names_find
from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import Serial
from dragoman.metrics import Bleu
from dragoman.model import Part, seal
from dragoman.tuning import Mert, NamedLimits, Problem, SampleRank, Tuner, tune
from dragoman.types import F64, Candidates, Features, Hypotheses, Names, Texts, Weights

METRIC = Bleu(tokenize="none")
WIDTH = 4
START = np.array([0.4, -0.3, 0.2, 0.5])


def sentences(count: int, size: int, seed: int, longest: int = 9) -> list[Sentence]:
    """Candidates are the reference with some words replaced, dropped or doubled; features know a little of that."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        reference = tuple(rng.choices("abcdefgh", k=rng.randint(6, longest)))
        candidates: list[Candidate] = []
        gains: set[float] = set()
        while len(candidates) < size:
            words = [rng.choice("xyz") if rng.random() < 0.3 else word for word in reference]
            words = [word for word in words if rng.random() < 0.9] or ["x"]
            words += rng.choices("abc", k=rng.choice([0, 0, 1]))
            good = literal.bleu_plus_one(literal.counts(tuple(words), reference))
            if round(good, 9) in gains:
                continue  # which pair is the widest must be plain
            gains.add(round(good, 9))
            features = [rng.gauss(0, 1) + good, rng.gauss(0, 1), float(len(words) - 8), rng.gauss(0, 1) - good]
            candidates.append(Candidate(tuple(words), np.array(features)))
        made.append(Sentence(tuple(candidates), reference))
    return made


class Lists:
    """A decoder without a search: all candidates of a sentence, best first."""

    def __init__(self, text: Sequence[Sentence]) -> None:
        self.text, self.names = text, Names([f"f{j}" for j in range(WIDTH)])

    def __len__(self) -> int:
        return len(self.text)

    def candidates(self, wanted: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        own = weights.align(self.names)
        ranked = [sorted(self.text[i].candidates, key=lambda y: -float(own @ y.features)) for i in wanted]
        flat = [y for ys in ranked for y in ys]
        values = np.array([y.features for y in flat])
        features = Features(
            self.names, np.arange(0, values.size + 1, WIDTH, dtype=np.int64),
            np.tile(np.arange(WIDTH, dtype=np.uint32), len(flat)), values.ravel(),
        )  # fmt: skip
        starts = np.concatenate([[0], np.cumsum([len(ys) for ys in ranked])]).astype(np.int64)
        return Candidates(Texts([str(i) for i in wanted]), starts, Texts([" ".join(y.words) for y in flat]), features)

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        found = self.candidates(range(len(self)), weights)
        return Hypotheses.one_each([found.texts[int(row)] for row in found.starts[:-1]], {})


def run(text: Sequence[Sentence], tuner: Tuner, rounds: int, seed: int = 3) -> F64:
    """The weights after so many rounds or epochs with a decoder."""
    source = Lists(text)
    problem = Problem.of_source(source, [[" ".join(s.reference)] for s in text], METRIC)
    start = Weights(source.names, START)
    found = tune(problem, tuner, start=start, rounds=rounds, select="last", seed=seed, engine=Serial())
    assert found.steps == rounds
    return found.weights.align(source.names)


def preset(spec: str) -> Tuner:
    made: Tuner = registry.make("tuner", spec)
    return made


@pytest.mark.parametrize(("seed", "c"), [(0, 0.01), (1, 0.01), (0, 1.0)])
def test_eidelman(seed: int, c: float) -> None:
    """45 sentences make 20 shards of two or three; the context begins with the second epoch.

    Nearly every step is the largest, c = 0.01; with a larger one steps show losses and contexts.
    """
    text, tuner = sentences(45, 6, seed), preset(f"mira:preset=eidelman,c={c}")
    before = START
    for epochs in (1, 2, 3):
        mine = literal.eidelman(text, START, epochs, c=c)
        assert np.abs(mine - before).max() > 1e-4, "an epoch that learns nothing tests nothing"
        assert run(text, tuner, epochs) == pytest.approx(mine, rel=1e-9, abs=1e-12)
        before = mine


@pytest.mark.parametrize("seed", [0, 1])
def test_hopkins_and_may(seed: int) -> None:
    text, tuner = sentences(12, 4, seed), preset("pro:preset=hopkins-may")
    for rounds in (1, 2):
        assert run(text, tuner, rounds) == pytest.approx(literal.hopkins_may(text, START, rounds), rel=1e-5, abs=1e-7)


def orders(count: int, epochs: int, seed: int) -> list[list[int]]:
    """The orders that a run with this seed takes: papers say nothing of them."""
    return [np.random.default_rng([seed, epoch]).permutation(count).tolist() for epoch in range(epochs)]


GREEN = [
    ("adagrad:preset=green", Adaptive()),
    ("adagrad:preset=green,batch=3", Adaptive(batch=3)),
    ("adagrad:preset=phrasal", Adaptive(pairs=50, threshold=0.5, twice=2.0, epsilon=1e-3, words=True, stale=3)),
    (
        "adagrad:preset=phrasal,batch=5",
        Adaptive(pairs=50, threshold=0.5, twice=2.0, epsilon=1e-3, words=True, stale=3, batch=5),
    ),
]


@pytest.mark.parametrize(("spec", "constants"), GREEN, ids=[spec for spec, _ in GREEN])
def test_green_and_phrasal(spec: str, constants: Adaptive) -> None:
    """Small batches make more of them than gradients are late, so that lateness shows within an epoch."""
    text, tuner = sentences(70, 3, 4), preset(spec)
    for epochs in (1, 2):
        mine = literal.green(text, START, orders(70, epochs, 3), constants)
        assert run(text, tuner, epochs) == pytest.approx(mine, rel=1e-8, abs=1e-11)
    assert np.abs(mine - START).max() > 0.01


@pytest.mark.parametrize(("seed", "strength"), [(0, 0.02), (2, 0.05), (6, 0.05)])
def test_galley(seed: int, strength: float) -> None:
    """From one start, on lists as the paper reranks them; walks from there are random and have no literal version.

    A move that adds just about the tolerance can fall either way, as with seed 1: there the two part by 4e-5.
    """
    text = sentences(10, 5, seed)
    tuner = preset(f"mert:preset=galley,starts=1,l2={strength}")
    assert isinstance(tuner, Mert)
    source = Lists(text)
    lists = source.candidates(range(len(text)), Weights(source.names, START))
    problem = Problem.of_lists(lists, [" ".join(s.reference) for s in text], METRIC)
    found = tune(problem, tuner, start=Weights(source.names, START), keep_worse=True, engine=Serial())
    mine = literal.galley(text, START, strength, tuner.tolerance)
    assert np.abs(mine - START).max() > 0.01
    assert found.weights.align(source.names) == pytest.approx(mine, rel=1e-7, abs=1e-9)


CONSTANTS = [
    # k-best lists of 500, 20 shards, C = 0.01 (Eidelman 2012, section 4).
    ("mira:preset=eidelman", {"lists": 500, "shards": 20, "c": 0.01, "oracle": "hope", "prediction": "fear"}),
    # 1500-best lists, Gamma 5000, Xi 50, alpha 0.05, Psi 0.1 (Hopkins & May 2011).
    ("pro:preset=hopkins-may", {"lists": 1500, "pairs": 5000, "keep": 50, "threshold": 0.05, "psi": 0.1}),
    # 200-best lists, 16 threads, batches of 20, rate 0.02, lambda 0.1, Xi 15, alpha 5 (Green et al. 2013, section 4.2).
    (
        "adagrad:preset=green",
        {"lists": 200, "stale": 15, "batch": 20, "rate": 0.02, "l1": 0.1, "pairs": 15, "threshold": 0.05},
    ),
    ("adagrad:preset=phrasal", {"epochs": 8, "draws": 5000, "pairs": 50, "threshold": 0.5, "rate": 0.02, "l1": 0.1}),
    # 16 chains, 500 samples, temperature 1 (Haddow et al. 2011, section 3).
    (
        "samplerank:preset=haddow",
        {
            "chains": 16,
            "samples": 500,
            "burn_in": 100,
            "c": 0.01,
            "scale": 100.0,
            "temperature": 1.0,
            "smooth": 0.01,
            "merge": 0.5,
            "reorder": 0.5,
            "retranslate": 0.0,
            "width": 0,
            "start": "gloss",
            "oracle": "hope",
        },
    ),
    (
        "mert:preset=galley",
        {"starts": 20, "restart": "walk", "together": 1, "order": "cyclic", "first": 1.0, "noise": 0.0},
    ),
]


@pytest.mark.parametrize(("spec", "said"), CONSTANTS, ids=[spec for spec, _ in CONSTANTS])
def test_constants_that_small_lists_do_not_show(spec: str, said: dict[str, object]) -> None:
    tuner = preset(spec)
    assert {name: getattr(tuner, name) for name in said} == said


def test_walks_start_from_the_best_point() -> None:
    """Each of the preset's points after the first is a step away from the best so far, one after the other."""
    tuner = preset("mert:preset=galley")
    assert isinstance(tuner, Mert)
    assert (tuner.starts, tuner.restart, tuner.together, tuner.noise) == (20, "walk", 1, 0.0)


TABLE = {
    ("a",): {"u v": (0.5, 0.4), "w": (0.3, 0.6)},
    ("b",): {"y z": (0.7, 0.2), "q q": (0.2, 0.5)},
    ("a", "b"): {"u v y q": (0.4, 0.3), "w z": (0.1, 0.9)},
    ("c",): {"m n": (0.8, 0.8)},
}
SOURCES, REFERENCES = ["a b", "c"], ["w u v y z q", "m n o"]
NAMES = ("TM[0]", "TM[1]", "D", "WP")
FIRST = np.array([-0.4, 0.8, 1.0, -0.1])


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    folder = tmp_path_factory.mktemp("model")
    rows = [
        f"{' '.join(source)} ||| {target} ||| {one} {two} ||| 0-0 ||| 1 1 1\n"
        for source, found in TABLE.items()
        for target, (one, two) in sorted(found.items())
    ]
    (folder / "phrases").write_text("".join(sorted(rows)))
    rules.import_moses(folder / "phrases", folder / "rules", columns=["one", "two"])
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["one", "two"], "group": "TM"}),
        Part("distortion", "D"),
        Part("word-penalty", "WP"),
        Part("unknown-penalty", "UP"),
    ]
    seal(folder, tables=["rules"], parts=parts, initial={**dict(zip(NAMES, FIRST.tolist(), strict=True)), "UP": 1.0})
    return Decoder(folder, threads=1)


def sampler(
    sentences: Sequence[int], c: float = 0.01, scale: float = 100.0, references: Sequence[str] = REFERENCES
) -> literal.Sampler:
    table = {
        source: [
            (tuple(target.split()), np.log(scores).astype(np.float32).astype(np.float64))
            for target, scores in found.items()
        ]
        for source, found in TABLE.items()
    }
    sources, wanted = ([tuple(lines[s].split()) for s in sentences] for lines in (SOURCES, references))
    return literal.Sampler(table, sources, wanted, c, scale)


def test_the_literal_sampler_has_the_decoders_features(decoder: Decoder) -> None:
    found, slow = decoder.nbest([SOURCES[0]], 50), sampler([0])
    derivations = {m for _, ms in slow.neighbourhoods(0, slow.gloss(0, FIRST)) for m in ms}
    derivations |= {m[::-1] for m in derivations}
    mine = {
        (" ".join(w for p in d for w in p[2]), *slow.features(d, ("a", "b")).round(9).tolist()) for d in derivations
    }
    values = np.array(
        [[row.get(name, 0.0) for name in NAMES] for row in map(found.features.row, range(len(found.texts)))]
    )
    theirs = {(text, *row) for text, row in zip(found.texts, values.round(9).tolist(), strict=True)}
    assert theirs == mine


def epoch(
    decoder: Decoder, tuner: SampleRank, seed: int, first: F64 = FIRST, references: Sequence[str] = REFERENCES
) -> tuple[F64, F64]:
    """The mixed weights and the mean of those collected, after one epoch."""
    source = DecoderSource(decoder, SOURCES)
    problem = Problem.of_source(source, [[line] for line in references], METRIC, limits=NamedLimits(["UP"]))
    weights = Weights.of({**dict(zip(NAMES, first.tolist(), strict=True)), "UP": 1.0})
    start = weights.align(source.names)
    session = tuner.session(problem.limited(weights), Serial(), seed)
    state = session.step(session.begin(start))
    places = names_find(source.names, Names(list(NAMES)))
    return state.features["plain"][places], state.weights[places]


@pytest.mark.parametrize(
    ("chains", "burn_in", "samples", "c", "scale"),
    [(1, 0, 1, 0.01, 100), (1, 0, 2, 0.01, 100), (1, 1, 1, 0.01, 100), (16, 0, 2, 0.01, 100), (1, 0, 1, 1e9, 100),
     (16, 0, 2, 1e9, 100), (1, 0, 1, 1e9, 10)],
    ids=str,
)  # fmt: skip
def test_haddow(decoder: Decoder, chains: int, burn_in: int, samples: int, c: float, scale: float) -> None:
    check_haddow(decoder, (chains, burn_in, samples, c, scale), FIRST, REFERENCES)


@pytest.mark.parametrize(("reference", "c", "scale"), [("w q y z u v", 0.01, 100), ("w q q u v", 1e9, 3)], ids=str)
def test_haddow_where_order_and_scores_matter(decoder: Decoder, reference: str, c: float, scale: float) -> None:
    """Weights that like jumps: it matters where a chain starts, and the oracle is not the member with the best gain."""
    first = np.array([-0.4, 0.8, -0.5, -0.1])
    check_haddow(decoder, (16, 0, 1, c, scale), first, [reference, REFERENCES[1]])


def check_haddow(
    decoder: Decoder, constants: tuple[int, int, int, float, float], first: F64, references: Sequence[str]
) -> None:
    """Every epoch ends with weights that the paper's rule allows, and as often as its distribution says.

    On the authors' scale every step is the largest, c, and the oracle the largest gain. Without that limit a step shows
    b and the margin m; with small gains the oracle depends on scores as well.
    """
    chains, burn_in, samples, c, scale = constants
    options = f"chains={chains},burn_in={burn_in},samples={samples},c={c},scale={scale}"
    tuner = preset(f"samplerank:preset=haddow,{options}")
    assert isinstance(tuner, SampleRank)
    if chains == 1:
        allowed = sampler([0, 1], c, scale, references).outcomes(first, burn_in, samples)
    else:  # a chain for each line; that of the second has nothing to change, and both are averaged
        one = sampler([0], c, scale, references).outcomes(first, burn_in, samples)
        allowed = [(chance, (last + first) / 2, (mean + first) / 2) for chance, last, mean in one]
    known = np.array([np.concatenate([last, mean]) for _, last, mean in allowed])
    chances = np.array([chance for chance, _, _ in allowed])
    assert chances.sum() == pytest.approx(1.0)
    found = np.array([np.concatenate(epoch(decoder, tuner, seed, first, references)) for seed in range(600)])
    size = np.abs(known).max(axis=1).clip(1)
    apart = (np.abs(found[:, None, :] - known[None]).max(axis=2) / size).min(axis=1)
    assert apart.max() < 1e-9
    kinds, number = np.unique(known.round(7), axis=0, return_inverse=True)
    expected = np.bincount(number.ravel(), chances) * len(found)
    assert 0.05 < expected[np.abs(kinds[:, :4] - first).max(axis=1) > 1e-6].sum() / len(found) < 0.95
    met = np.abs(found[:, None, :] - kinds[None]).max(axis=2).argmin(axis=1)
    often = expected > 5
    squares = (np.bincount(met, minlength=len(kinds)) - expected)[often] ** 2 / expected[often]
    assert squares.sum() < often.sum() + 4 * math.sqrt(2 * often.sum()), "chi-square"
