"""The decoder against a slow one that tries everything (tests/slow_decode.py), on small random models."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import slow_decode as slow

from dragoman import lm, rules
from dragoman._core import ForestPool
from dragoman.decoder import Constraints, Decoder, DecoderSource, Forest, Search
from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.model import Part, seal
from dragoman.types import Candidates

SOURCE, TARGET = "abcdef", "uvwxyz"
WIDE = Search(stack_size=1_000_000, pop_limit=0, table_limit=0)
MOST = 800  # derivations that the slow decoder may try
EXAMPLES = 40
seeds = st.integers(0, 2**32)
limits = st.sampled_from([0, 1, 2, 3, -1])
reorderings = st.sampled_from(["", "phrase", "stack"])


@dataclass
class Pair:
    """The same system twice."""

    decoder: Decoder
    slow: slow.System


def logs(rng: random.Random, count: int) -> list[float]:
    return [round(rng.uniform(0.05, 1.0), 3) for _ in range(count)]


def random_table(rng: random.Random, size: int) -> dict[tuple[str, ...], dict[tuple[str, ...], list[float]]]:
    """Source, target: two scores and six orientation probabilities."""
    table: dict[tuple[str, ...], dict[tuple[str, ...], list[float]]] = {}
    for _ in range(size):
        source = tuple(rng.choices(SOURCE[:-1], k=rng.choice([1, 1, 1, 2, 2, 3])))
        target = tuple(rng.choices(TARGET, k=rng.choice([1, 1, 2, 3])))
        # Few different orientation scores, so that rules agree in some of them and not in others.
        table.setdefault(source, {})[target] = logs(rng, 2) + rng.choices([0.2, 0.5, 0.9], k=6)
    return table


def write_table(folder: Path, name: str, table: dict[tuple[str, ...], dict[tuple[str, ...], list[float]]]) -> None:
    phrases, orientations = [], []
    for source in sorted(table):
        for target in sorted(table[source]):
            numbers = [str(number) for number in table[source][target]]
            sides = f"{' '.join(source)} ||| {' '.join(target)} |||"
            phrases.append(f"{sides} {' '.join(numbers[:2])} ||| 0-0 ||| 1 1 1\n")
            orientations.append(f"{sides} {' '.join(numbers[2:])}\n")
    (folder / f"{name}.txt").write_text("".join(phrases))
    (folder / f"{name}.orientations").write_text("".join(orientations))
    rules.import_moses(
        folder / f"{name}.txt",
        folder / f"{name}.rules",
        reordering={"hier": folder / f"{name}.orientations"},
        columns=["one", "two"],
    )


def write_lm(folder: Path, name: str, rng: random.Random, order: int) -> None:
    text = [" ".join(rng.choices(TARGET[:-1] + "f", k=rng.randint(1, 6))) for _ in range(8)]
    (folder / f"{name}.txt").write_text("\n".join(text) + "\n")
    lm.estimate(folder / f"{name}.txt", folder / f"{name}.arpa", order=order, discount_fallback=(0.5, 1.0, 1.5))


def slow_table(
    table: dict[tuple[str, ...], dict[tuple[str, ...], list[float]]],
) -> dict[tuple[str, ...], list[slow.Entry]]:
    def entry(target: tuple[str, ...], numbers: list[float]) -> slow.Entry:
        values = [math.log(number) for number in numbers]
        return slow.Entry(target, tuple(values[:2]), tuple(values[2:]))

    return {s: [entry(t, numbers) for t, numbers in targets.items()] for s, targets in table.items()}


def make(
    folder: Path, seed: int, reordering: str = "", tables: int = 1, models: int = 1, completion: bool = False
) -> Pair:
    """A random system as a model folder and as the slow decoder has it."""
    rng = random.Random(seed)
    content = [random_table(rng, rng.randint(4, 14)) for _ in range(tables)]
    parts, names = [], ["Words", "Phrases", "Unknown", "Distortion"]
    for number, table in enumerate(content):
        write_table(folder, f"t{number}", table)
        parts.append(
            Part("scores", f"TM{number}", {"table": number, "columns": ["one", "two"], "group": f"TM{number}"})
        )
        names += [f"TM{number}[0]", f"TM{number}[1]"]
    for number in range(models):
        write_lm(folder, f"lm{number}", rng, 3 - number)
        parts.append(Part("lm", f"LM{number}", {"path": f"lm{number}.arpa"}))
        names.append(f"LM{number}")
    parts += [Part("word-penalty", "Words"), Part("phrase-penalty", "Phrases"), Part("unknown-penalty", "Unknown")]
    parts.append(Part("distortion", "Distortion", {"cost": "completion"} if completion else {}))
    if reordering:
        parts.append(Part("reordering", "RM", {"table": 0, "model": "hier", "top": reordering}))
        names += [f"RM[{i}]" for i in range(6)]
    weights = {name: round(rng.uniform(-0.3, 1.0), 3) for name in names}
    seal(folder, tables=[f"t{i}.rules" for i in range(tables)], parts=parts, initial=weights)
    whole = {f"LM{i}": sentence_scorer(folder / f"lm{i}.arpa") for i in range(models)}
    tried = slow.System([slow_table(t) for t in content], whole, weights, reordering, completion)
    return Pair(Decoder(folder, search=WIDE), tried)


def sentence_scorer(path: Path) -> Callable[[str], float]:
    model = lm.Model(path)

    @cache
    def score(text: str) -> float:
        return float(model.score([text]).sentences()[0])

    return score


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


_numbers = itertools.count()


def fresh(folder: Path) -> Path:
    made = folder / str(next(_numbers))
    made.mkdir()
    return made


def sentence(seed: int, length: int) -> list[str]:
    return random.Random(seed + 1).choices(SOURCE, k=length)


def tried(pair: Pair, words: list[str], limit: int, wishes: slow.Wishes | None = None) -> list[slow.Derivation]:
    """All derivations, if they are few enough to try."""
    assume(slow.count(pair.slow, words, limit, wishes, MOST) < MOST)
    return slow.decode(pair.slow, words, limit, wishes)


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-4)


def compare_lists(found: Candidates, want: list[slow.Derivation], weights: dict[str, float]) -> None:
    """The same derivations: texts, scores and features, sorted by score."""
    assert found.totals is not None
    totals = found.totals.tolist()
    assert totals == sorted(totals, reverse=True)
    assert len(totals) == len(want)

    def key(text: str, features: dict[str, float]) -> tuple[object, ...]:
        return (text, *(round(features.get(name, 0.0), 2) + 0.0 for name in sorted(weights)))

    ours = sorted((key(text, found.features.row(i)), totals[i], i) for i, text in enumerate(found.texts))
    theirs = sorted(((key(d.text, d.features), d.score, i) for i, d in enumerate(want)))
    for (_, total, i), (_, score, k) in zip(ours, theirs, strict=True):
        assert found.texts[i] == want[k].text
        assert close(total, score)
        row = found.features.row(i)
        for name in weights:
            assert close(row.get(name, 0.0), want[k].features.get(name, 0.0)), name
        assert close(total, sum(weights[n] * v for n, v in row.items()))


def paths(forest: Forest) -> list[tuple[str, float]]:
    """Every derivation of a lattice: text and score."""
    assert forest.is_lattice

    def walk(node: int) -> Iterator[tuple[list[str], float]]:
        for edge in (edge for edge in forest.edges if edge.head == node):
            assert all(tail < node for tail in edge.tails)
            for words, score in walk(edge.tails[0]) if edge.tails else [([], 0.0)]:
                yield [*words, *edge.text.split()], edge.score + score

    return [(" ".join(words), score) for words, score in walk(forest.nodes - 1)]


systems = st.fixed_dictionaries(
    {
        "seed": seeds,
        "reordering": reorderings,
        "tables": st.integers(1, 2),
        "models": st.integers(1, 2),
        "completion": st.booleans(),
    }
)


@settings(max_examples=EXAMPLES)
@given(systems, st.integers(1, 6), limits)
def test_wide_search_finds_every_derivation(folder: Path, options: dict[str, int], length: int, limit: int) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    want = tried(pair, words, limit)
    best = max(derivation.score for derivation in want)
    line = " ".join(words)
    for pops in (0, 1_000_000):
        pair.decoder.search = replace(WIDE, pop_limit=pops, distortion_limit=limit)
        one = pair.decoder.nbest([line], 1)
        assert one.totals is not None and close(float(one.totals[0]), best)
        every = pair.decoder.nbest([line], len(want) + 5, distinct=False)
        compare_lists(every, want, pair.slow.weights)
    derivation = pair.decoder.explain(line)
    assert close(derivation.score, best)
    assert sorted(word for phrase in derivation.phrases for word in phrase.source.split()) == sorted(words)


@settings(max_examples=EXAMPLES // 2)
@given(systems, st.integers(1, 5), limits)
def test_distinct_lists_have_the_best_derivation_of_each_text(
    folder: Path, options: dict[str, int], length: int, limit: int
) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    best: dict[str, float] = {}
    for derivation in tried(pair, words, limit):
        best[derivation.text] = max(best.get(derivation.text, -math.inf), derivation.score)
    pair.decoder.search = replace(WIDE, distortion_limit=limit)
    found = pair.decoder.nbest([" ".join(words)], len(best) + 5)
    assert found.totals is not None
    assert found.totals.tolist() == sorted(found.totals.tolist(), reverse=True)
    assert sorted(found.texts) == sorted(best)
    assert all(close(total, best[text]) for text, total in zip(found.texts, found.totals.tolist(), strict=True))
    few = pair.decoder.nbest([" ".join(words)], 3)
    assert few.texts.to_list() == found.texts.to_list()[:3]
    plain = pair.decoder.nbest([" ".join(words)], len(best) + 5, features=False)
    assert plain.totals is not None
    assert all(close(a, b) for a, b in zip(plain.totals, found.totals, strict=True))


@settings(max_examples=EXAMPLES // 2)
@given(systems, st.integers(0, 5), limits)
def test_paths_of_the_lattice_are_the_derivations(
    folder: Path, options: dict[str, int], length: int, limit: int
) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    want = sorted((d.text, d.score) for d in tried(pair, words, limit)) if words else [("", 0.0)]
    pair.decoder.search = replace(WIDE, distortion_limit=limit)
    forest = pair.decoder.forest(" ".join(words), features=True)
    found = sorted(paths(forest))
    assert len(found) == len(want)
    for (text, score), (wanted, best) in zip(found, want, strict=True):
        assert text == wanted and close(score, best)
    for edge in forest.edges:
        assert close(edge.score, sum(pair.slow.weights[name] * value for name, value in edge.features.items()))
    # The best of them, and their alignments, are those of a list.
    top, listed = forest.k_best(40), pair.decoder.nbest([" ".join(words)], 40, features=True)
    assert listed.totals is not None and listed.alignments is not None
    assert len(top) == listed.size
    for place, derived in enumerate(top):
        assert close(derived.score, listed.totals[place])
        row = listed.features.row(place)
        if derived.text == listed.texts[place] and all(close(row.get(n, 0.0), v) for n, v in derived.features.items()):
            assert derived.alignment == listed.alignments[place] or options["tables"] > 1
        reached = forest.reach(derived.text)
        assert reached is not None and close(reached.score, derived.score)
    assert forest.reach("no such words") is None


def worth(text: str, reference: str, slopes: list[float]) -> float:
    """Linearised BLEU by its definition: words and unclipped matches."""
    words, theirs = text.split(), reference.split()
    total = slopes[0] * len(words)
    for n in range(1, len(slopes)):
        known = {tuple(theirs[i : i + n]) for i in range(len(theirs) - n + 1)}
        total += slopes[n] * sum(tuple(words[i : i + n]) in known for i in range(len(words) - n + 1))
    return total


@settings(max_examples=EXAMPLES)
@given(systems, st.integers(1, 5), limits, st.sampled_from([(1, 1), (1, -1), (0, 1), (0, -1), (1, 0)]))
def test_hope_and_fear_are_those_of_all_derivations(
    folder: Path, options: dict[str, int], length: int, limit: int, wish: tuple[int, int]
) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    rng, (model, gain) = random.Random(options["seed"]), wish
    every = tried(pair, words, limit)
    reference = " ".join(rng.choice(every).text.split()[::-1][:3] + rng.choice(every).text.split())
    slopes = [rng.uniform(-1, 1) for _ in range(5)]
    best = max(model * d.score + gain * worth(d.text, reference, slopes) for d in every)
    pair.decoder.search = replace(WIDE, distortion_limit=limit)
    source = DecoderSource(pair.decoder, [" ".join(words)])
    weights = pair.decoder.weights.align(source.names)

    def found(density: float) -> tuple[str, float, int]:
        forests = source.forests([0], pair.decoder.weights, density)
        pool = ForestPool(Bleu(tokenize="none")._native, [[reference]])
        pool.add(0, np.zeros(1, dtype=np.int64), forests.native)
        texts, _, places, values = pool.paths(0, weights, [wish], np.array(slopes))
        assert len(texts) == 1
        return texts[0], float(values @ weights[places]), int(forests.edges[0])

    text, score, arcs = found(0.0)
    assert close(model * score + gain * worth(text, reference, slopes), best)
    _, pruned, fewer = found(2.0)
    assert fewer <= arcs
    if wish == (1, 0):
        assert close(pruned, best), "the best path stays"


@settings(max_examples=EXAMPLES // 2)
@given(systems, st.integers(1, 5), limits, st.booleans())
def test_force_reaches_what_can_be_reached(
    folder: Path, options: dict[str, int], length: int, limit: int, narrow: bool
) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    rng = random.Random(options["seed"])
    best: dict[str, slow.Derivation] = {}
    for derivation in tried(pair, words, limit):
        if derivation.text not in best or derivation.score > best[derivation.text].score:
            best[derivation.text] = derivation
    reachable = rng.sample(sorted(best), min(8, len(best)))
    strange = [" ".join(rng.choices(TARGET, k=rng.randint(0, 6))) for _ in range(8)]
    targets = reachable + [text for text in strange if text not in best]
    # However narrow the search is otherwise: what can be reached is.
    pair.decoder.search = (
        Search(stack_size=2, pop_limit=2, table_limit=1, distortion_limit=limit)
        if narrow
        else replace(WIDE, distortion_limit=limit)
    )
    found = pair.decoder.force([" ".join(words)] * len(targets), targets)
    assert found.totals is not None
    for number, target in enumerate(targets):
        first, last = found.starts[number : number + 2].tolist()
        if number >= len(reachable):
            assert first == last
            continue
        assert last == first + 1 and found.texts[first] == target
        assert close(float(found.totals[first]), best[target].score)


def random_wishes(rng: random.Random, length: int) -> slow.Wishes:
    """Constraints that do not contradict each other: given spans lie apart from borders of zones and walls."""
    cuts = sorted(rng.sample(range(length + 1), min(length + 1, rng.randint(2, 4))))
    pieces = list(itertools.pairwise(cuts))
    given_, zones, walls = [], [], [cut for cut in cuts if rng.random() < 0.3]
    for start, end in pieces:
        kind = rng.random()
        if kind < 0.4:
            texts = ["given", "u v", ""][: rng.randint(1, 3)]
            given_ += [(start, end, text, round(rng.uniform(-2, 0), 2)) for text in texts]
        elif kind < 0.8:
            zones.append((start, end))
    return slow.Wishes(given_, rng.random() < 0.5, walls, zones)


@settings(max_examples=EXAMPLES)
@given(systems, st.integers(1, 6), limits)
def test_demands_are_met(folder: Path, options: dict[str, int], length: int, limit: int) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    wishes = random_wishes(random.Random(options["seed"] + 2), length)
    want = tried(pair, words, limit, wishes) or slow.decode(pair.slow, words, 0, wishes)
    constraints = Constraints(wishes.given, wishes.exclusive, wishes.walls, wishes.zones)
    for pops in (0, 1_000_000):
        pair.decoder.search = replace(WIDE, pop_limit=pops, distortion_limit=limit)
        found = pair.decoder.nbest(
            [" ".join(words)], len(want) + 5, distinct=False, constraints=[constraints], features=False
        )
        assert found.totals is not None and found.size == len(want)
        ours = sorted(zip(found.texts, found.totals.tolist(), strict=True))
        theirs = sorted((d.text, d.score) for d in want)
        assert all(a[0] == b[0] and close(a[1], b[1]) for a, b in zip(ours, theirs, strict=True))
        named = pair.decoder.nbest([" ".join(words)], len(want) + 5, distinct=False, constraints=[constraints])
        assert named.totals is not None
        assert all(close(a, b) for a, b in zip(found.totals, named.totals, strict=True))


@settings(max_examples=EXAMPLES // 2)
@given(systems, st.integers(1, 5), limits)
def test_unknown_words_may_be_dropped(folder: Path, options: dict[str, int], length: int, limit: int) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    pair.slow.drop_unknown = True
    want = tried(pair, words, limit)
    pair.decoder.search = replace(WIDE, distortion_limit=limit, drop_unknown=True)
    compare_lists(pair.decoder.nbest([" ".join(words)], len(want) + 5, distinct=False), want, pair.slow.weights)


NARROW = (
    Search(deadline=1e-9),
    Search(memory=1),
    Search(stack_size=1, pop_limit=1),
    Search(stack_size=1, pop_limit=0, table_limit=1),
    Search(threshold=0.0),
    Search(stack_size=3, pop_limit=2, threshold=0.1),
)


@settings(max_examples=10)
@given(systems, st.integers(1, 30), limits, st.sampled_from(NARROW))
def test_narrow_searches_always_give_a_translation(
    folder: Path, options: dict[str, int], length: int, limit: int, narrow: Search
) -> None:
    pair = make(fresh(folder), **options)  # type: ignore[arg-type]
    words = sentence(options["seed"], length)
    wishes = random_wishes(random.Random(options["seed"] + 2), length)
    constraints = Constraints(wishes.given, wishes.exclusive, wishes.walls, wishes.zones)
    pair.decoder.search = replace(narrow, distortion_limit=limit)
    lines = [" ".join(words), "", " ".join(words[:3])]
    found = []
    for threads in (1, 2):
        pair.decoder.threads = threads
        found.append(pair.decoder.nbest(lines, 5))
    one, two = found
    assert one.texts.to_list() == two.texts.to_list() and one.totals is not None
    assert (one.starts == two.starts).all() and (one.totals == two.totals).all()
    assert (one.starts[1:] > one.starts[:-1]).all()
    assert one.texts[int(one.starts[1])] == ""
    assert len(pair.decoder.translate([lines[0]], constraints=[constraints])) == 1


@pytest.mark.parametrize("limit", [6, -1])
@pytest.mark.parametrize("reordering", ["phrase", "stack"])
def test_a_long_line_is_translated(folder: Path, reordering: str, limit: int) -> None:
    pair = make(fresh(folder), 5, reordering)
    words = sentence(3, 300)
    for narrow in (Search(stack_size=5, pop_limit=5), Search(deadline=0.05), Search(memory=1 << 20)):
        pair.decoder.search = replace(narrow, distortion_limit=limit)
        found = pair.decoder.nbest([" ".join(words)], 2, features=True)
        assert found.size >= 1
        covered = found.alignments
        assert covered is not None and found.texts[0].split()


def test_demands_that_contradict_each_other_are_an_error(folder: Path) -> None:
    pair = make(fresh(folder), 5)
    constraints = Constraints([(0, 2, "x", 0.0), (1, 3, "y", 0.0)])
    with pytest.raises(OptionError, match="line 2: no translation meets the constraints"):
        pair.decoder.translate(["a", "a b c"], constraints=[Constraints(), constraints])
    with pytest.raises(OptionError, match=r"line 1: span 1-1 does not lie in a sentence of 3 words"):
        pair.decoder.translate(["a b c"], constraints=[Constraints([(1, 1, "x", 0.0)])])


def test_a_reordering_model_may_serve_several_tables(folder: Path) -> None:
    pair = make(fresh(folder), 11, "stack", tables=2)
    path = pair.decoder.model.folder / "model.toml"
    path.write_text(path.read_text().replace('table = 0\nmodel = "hier"', 'table = "0,1"\nmodel = "hier"'))
    decoder = Decoder(pair.decoder.model.folder, search=WIDE)
    source = next(source for source in pair.slow.tables[1] if source not in pair.slow.tables[0])
    rows = decoder.nbest([" ".join(source)], 1000, distinct=False)
    found = [rows.features.row(i) for i in range(rows.size)]
    entry = pair.slow.tables[1][source][0]
    assert any(close(row["TM1[0]"], entry.scores[0]) and close(row["RM[0]"], entry.orientation[0]) for row in found)
