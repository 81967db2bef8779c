"""Extraction and scores against plain Python: every span, every block, dictionaries of counts."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import rules
from dragoman.errors import InputError, OptionError

Links = frozenset[tuple[int, int]]


class Pair(NamedTuple):
    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links


@st.composite
def pairs(draw: st.DrawFn, words: int = 8) -> Pair:
    source = tuple(draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=words)))
    target = tuple(draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=words)))
    cells = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return Pair(source, target, frozenset(draw(st.lists(cells, max_size=words + 2))))


bitexts = st.lists(pairs(), min_size=1, max_size=6)


def blocks(pair: Pair) -> Iterator[tuple[int, int, int, int]]:
    """All consistent blocks (first and last source word, first and last target word), by trying every span."""
    n, m = len(pair.source), len(pair.target)
    for fs, es in product(range(n), range(m)):
        for fe, ee in product(range(fs, n), range(es, m)):
            inside = [(fs <= i <= fe, es <= j <= ee) for i, j in pair.links]
            if (True, True) in inside and all(a == b for a, b in inside):
                yield fs, fe, es, ee


def orientation(pair: Pair, span: tuple[int, int, int, int], near: set[Any], after: bool, moses: bool) -> int:
    """0 monotone, 1 swap, 2 discontinuous; `near` are the blocks that count as neighbours."""
    fs, fe, es, ee = span
    n, m = len(pair.source), len(pair.target)
    row = ee + 1 if after else es - 1
    straight, crossed = (fe + 1, fs - 1) if after else (fs - 1, fe + 1)
    edge = (straight, row) in ((-1, -1), (n, m))
    is_straight = edge or (straight, row) in pair.links
    is_crossed = (crossed, row) in pair.links
    # Corners: which target end of the neighbour is in the row, and which source end touches us.
    target_end = 2 if after and not moses else 3
    touching = {(b[target_end], b[0]) for b in near}, {(b[target_end], b[1]) for b in near}
    begins, ends = touching
    m_block = (row, straight) in (begins if after else ends)
    s_block = (row, crossed) in (ends if after else begins)
    if (is_straight and not is_crossed) or m_block:
        return 0
    return 1 if (is_crossed and not is_straight) or s_block else 2


class Slow:
    """Counts of a whole bitext, in dictionaries."""

    def __init__(self, bitext: list[Pair], length: int, models: tuple[str, ...], moses: bool = False) -> None:
        self.count: Counter[Any] = Counter()
        self.links: dict[Any, Counter[Links]] = defaultdict(Counter)
        self.orient: dict[Any, Counter[int]] = defaultdict(Counter)
        self.word: Counter[Any] = Counter()
        self.models = models
        for pair in bitext:
            self.add_words(pair)
            every = set(blocks(pair))
            short = {b for b in every if b[1] - b[0] < length and b[3] - b[2] < length}
            near = {"wbe": set(), "phrase": short, "hier": every}
            for span in short:
                fs, fe, es, ee = span
                key = pair.source[fs : fe + 1], pair.target[es : ee + 1]
                self.count[key] += 1
                inner = frozenset((i - fs, j - es) for i, j in pair.links if fs <= i <= fe)
                self.links[key][inner] += 1
                for model, after in product(models, (False, True)):
                    turn = orientation(pair, span, near[model], after, moses)
                    self.orient[model, after, key[0], key[1]][turn] += 1

    def add_words(self, pair: Pair) -> None:
        free_source = set(range(len(pair.source))) - {i for i, _ in pair.links}
        free_target = set(range(len(pair.target))) - {j for _, j in pair.links}
        linked = [(pair.source[i], pair.target[j]) for i, j in pair.links]
        self.word.update(linked)
        self.word.update((pair.source[i], None) for i in free_source)
        self.word.update((None, pair.target[j]) for j in free_target)

    def lexical(self, key: Any, forward: bool) -> float:
        source, target = key if forward else key[::-1]

        def order(links: Links) -> Any:
            turned = [link if forward else link[::-1] for link in links]
            return self.links[key][links], [sorted(i for i, j in turned if j == at) for at in range(len(target))]

        best = [link if forward else link[::-1] for link in max(self.links[key], key=order)]
        product_ = 1.0
        for at, word in enumerate(target):
            partners = [source[i] for i, j in best if j == at] or [None]
            pairs_ = [(p, word) if forward else (word, p) for p in partners]
            given_ = [sum(n for k, n in self.word.items() if k[0 if forward else 1] == p) for p in partners]
            product_ *= sum(self.word[pair] / n for pair, n in zip(pairs_, given_, strict=True)) / len(partners)
        return product_

    def marginal(self, key: Any, side: int) -> int:
        return sum(n for k, n in self.count.items() if k[side] == key[side])

    def probabilities(self, key: Any, smoothing: str) -> tuple[float, float]:
        """p(f|e) and p(e|f), by the formulas that Moses' documentation and code give."""
        c, cf, ce = self.count[key], self.marginal(key, 0), self.marginal(key, 1)
        n = [0] + [sum(v == k for v in self.count.values()) for k in range(1, 11)]
        if smoothing == "good-turing":
            factors = [0.01]
            for k in range(1, 10):
                factor = min(1.0, (k + 1) / k * (n[k + 1] + 0.1 if k < 10 else 0.1) / (n[k] + 0.1))
                factors.append(max(factor, factors[-1]))
            adjusted = c * factors[c] if c < 9 else c
            return adjusted / ce, adjusted / cf
        if smoothing == "kneser-ney":
            y = n[1] / (n[1] + 2 * n[2])
            k = min(c, 3)
            d = min(k - (k + 1) * y * n[k + 1] / n[k], k - 0.1)
            f_types = sum(other[0] == key[0] for other in self.count)
            e_types = sum(other[1] == key[1] for other in self.count)
            adjusted = c - d + d * f_types * e_types / len(self.count)
            return adjusted / ce, adjusted / cf
        return c / ce, c / cf

    def orientations(self, key: Any, alpha: float | None, add: float) -> Iterator[float]:
        for model, after in product(self.models, (False, True)):

            def counts(test: Any, model: str = model, after: bool = after) -> list[float]:
                kept = [c for k, c in self.orient.items() if k[:2] == (model, after) and test(k)]
                return [sum(c[o] for c in kept) for o in range(3)]

            own = counts(lambda k: k[2:] == key)
            if alpha is None:
                yield from ((c + add) / (sum(own) + 3 * add) for c in own)
                continue
            everywhere = counts(lambda k: True)
            base = [(c + alpha / 3) / (sum(everywhere) + alpha) for c in everywhere]
            mixed = [0.0] * 3
            for side in (0, 1):
                some = counts(lambda k, side=side: k[2 + side] == key[side])
                mixed = [s + (c + alpha * p) / (sum(some) + alpha) for s, c, p in zip(mixed, some, base, strict=True)]
            yield from ((c + alpha * p) / (sum(own) + 2 * alpha) for c, p in zip(own, mixed, strict=True))


def run(bitext: list[Pair], **options: Any) -> tuple[rules.Report, dict[Any, rules.Rule], bytes]:
    """Extracts, and looks up every source phrase that there could be."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("f", "e", "a", "out")]
        files[0].write_text("".join(" ".join(p.source) + "\n" for p in bitext))
        files[1].write_text("".join(" ".join(p.target) + "\n" for p in bitext))
        files[2].write_text("".join(" ".join(f"{i}-{j}" for i, j in p.links) + "\n" for p in bitext))
        report = rules.extract(files[0], files[1], files[2], files[3], **options)
        assert sorted(path.name for path in Path(folder).iterdir()) == ["a", "e", "f", "out"]
        table = rules.Table(files[3])
        table.verify()
        spans = {p.source[i:j] for p in bitext for i in range(len(p.source)) for j in range(i + 1, len(p.source) + 1)}
        found = {(s, tuple(r.target.split())): r for s in spans for r in table.lookup(s)}
        assert len(found) == len(table) == report.rules
        return report, found, files[3].read_bytes()


@given(bitexts, st.integers(1, 4), st.booleans())
@settings(max_examples=120)
def test_phrase_pairs_orientations_and_counts_are_those_of_brute_force(
    bitext: list[Pair], length: int, moses: bool
) -> None:
    slow = Slow(bitext, length, rules.MODELS, moses)
    report, found, _ = run(
        bitext, max_phrase_length=length, reordering=rules.MODELS, add=0.5, orientation_counts=True, moses_next=moses
    )
    assert set(found) == set(slow.count)
    assert (report.tokens, report.extracted) == (slow.count.total(), len(slow.count))
    assert report.unaligned == sum(not pair.links for pair in bitext)
    for key, rule in found.items():
        want = [
            slow.orient[model, after, key[0], key[1]][o]
            for model, after, o in product(rules.MODELS, (False, True), range(3))
        ]
        assert rule.scores[24:] == want, key
        assert rule.scores[4:6] == pytest.approx([math.log(slow.count[key]), float(slow.count[key] == 1)])
        assert slow.links[key][frozenset(rule.links)] == max(slow.links[key].values())


def marked(seed: int, pairs: int) -> list[Pair]:
    """Sentence pairs with words that all have, and behind them one that no other has."""
    draw = random.Random(seed)
    made = []
    for number in range(pairs):
        source, target = (tuple(draw.choices(letters, k=draw.randint(2, 5))) for letters in ("ab", "xy"))
        cells = [(i, j) for i in range(len(source)) for j in range(len(target))]
        links = {*draw.sample(cells, 2), (len(source), len(target))}
        made.append(Pair((*source, f"S{number}"), (*target, f"T{number}"), frozenset(links)))
    return made


def test_orientations_of_a_share_of_the_text_are_those_of_these_lines_alone() -> None:
    """All rules and their scores stay; orientations are those that a model of the smaller text gives them."""
    bitext = marked(3, 60)
    options: dict[str, Any] = {"max_phrase_length": 3, "reordering": ("phrase", "hier"), "orientation_counts": True}
    _, whole, _ = run(bitext, **options)
    shares: list[set[int]] = []
    for share in (0.2, 0.6):
        _, found, _ = run(bitext, **options, reordering_share=share)
        assert set(found) == set(whole)
        lines = {n for n in range(60) if any(found[(f"S{n}",), (f"T{n}",)].scores[18:])}
        assert abs(len(lines) - 60 * share) < 4 * math.sqrt(60 * share * (1 - share))
        slow = Slow([bitext[n] for n in sorted(lines)], 3, ("phrase", "hier"))
        for key, rule in found.items():
            assert rule.scores[:6] == whole[key].scores[:6]
            got = [math.exp(s) for s in rule.scores[6:18]]
            if slow.count:
                assert got == pytest.approx([*slow.orientations(key, 10.0, 0.5)], rel=1e-5), key
            want = [
                slow.orient[m, after, key[0], key[1]][o]
                for m, after, o in product(slow.models, (False, True), range(3))
            ]
            assert rule.scores[18:] == want
        shares.append(lines)
    assert shares[0] < shares[1]


@pytest.mark.parametrize("memory", ["1M", "2G"])
def test_rules_carry_the_most_frequent_tags_of_their_first_and_last_word(tmp_path: Path, memory: str) -> None:
    draw = random.Random(8)
    bitext = [Pair(p.source[:-1], p.target[:-1], frozenset(p.links - {max(p.links)})) for p in marked(5, 300)]
    tagged = [tuple(draw.choices(["N", "V", "of_"], k=len(p.target))) for p in bitext]
    (tmp_path / "f").write_text("".join(" ".join(p.source) + "\n" for p in bitext))
    (tmp_path / "e").write_text("".join(" ".join(p.target) + "\n" for p in bitext))
    (tmp_path / "a").write_text("".join(" ".join(f"{i}-{j}" for i, j in p.links) + "\n" for p in bitext))
    (tmp_path / "t").write_text("".join(" ".join(tags) + "\n" for tags in tagged))
    files = tmp_path / "f", tmp_path / "e", tmp_path / "a"
    report = rules.extract(*files, tmp_path / "out", max_phrase_length=3, rule_tags=str(tmp_path / "t"), memory=memory)
    names = (tmp_path / "out.tags").read_text().splitlines()
    assert sorted(names) == ["N", "V", "of_"]
    seen: dict[Any, Counter[tuple[str, str]]] = defaultdict(Counter)
    for pair, tags in zip(bitext, tagged, strict=True):
        for fs, fe, es, ee in blocks(pair):
            if fe - fs < 3 and ee - es < 3:
                seen[pair.source[fs : fe + 1], pair.target[es : ee + 1]][tags[es], tags[ee]] += 1
    table = rules.Table(tmp_path / "out")
    assert table.columns[-2:] == ("tag.first", "tag.last")
    found = 0
    for source in {key[0] for key in seen}:
        for rule in table.lookup(source):
            own = seen[source, tuple(rule.target.split())]
            first, last = (names[int(number)] for number in rule.scores[-2:])
            # Of equally frequent ones those whose tags the text has first.
            best = min(own, key=lambda pair: (-own[pair], [names.index(tag) for tag in pair]))
            assert (first, last) == best
            found += 1
    assert found == report.rules
    assert sum(len(own) > 1 for own in seen.values()) > 50
    # The other columns are those of the text without tags.
    rules.extract(*files, tmp_path / "plain", max_phrase_length=3)
    plain = rules.Table(tmp_path / "plain")
    source = next(iter(seen))[0]
    assert [r.scores for r in plain.lookup(source)] == [r.scores[:-2] for r in table.lookup(source)]
    (tmp_path / "t").write_text("N\n")
    with pytest.raises(InputError, match=r"t:1: expected \d+ tags, one for each word of .*e:1"):
        rules.extract(*files, tmp_path / "bad", rule_tags=str(tmp_path / "t"))


def check_scores(bitext: list[Pair], slow: Slow, smoothing: str, alpha: float | None) -> None:
    options: dict[str, Any] = {"add": 0.5} if alpha is None else {"alpha": alpha}
    _, found, _ = run(bitext, max_phrase_length=3, reordering=slow.models, smoothing=smoothing, **options)
    assert set(found) == set(slow.count)
    for key, rule in found.items():
        backward, forward = slow.probabilities(key, smoothing)
        want = [backward, slow.lexical(key, False), forward, slow.lexical(key, True)]
        got = [math.exp(s) for s in rule.scores]
        assert got[:4] == pytest.approx(want, rel=1e-5), key
        assert got[6:] == pytest.approx(list(slow.orientations(key, alpha, 0.5)), rel=1e-5), key


@given(bitexts, st.sampled_from(rules.SMOOTHING), st.sampled_from([None, 10.0, 0.3]))
@settings(max_examples=60)
def test_scores_are_those_of_dictionaries(bitext: list[Pair], smoothing: str, alpha: float | None) -> None:
    slow = Slow(bitext, 3, ("wbe", "hier"))
    if smoothing == "kneser-ney" and not {1, 2, 3} <= set(slow.count.values()):
        with pytest.raises(OptionError, match="Kneser-Ney smoothing needs rules that were seen once"):
            run(bitext, max_phrase_length=3, smoothing=smoothing)
        return
    check_scores(bitext, slow, smoothing, alpha)


@pytest.mark.parametrize("smoothing", rules.SMOOTHING)
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_rules_that_were_seen_with_several_links(seed: int, smoothing: str) -> None:
    draw = random.Random(seed)
    bitext = []
    for _ in range(40):
        source, target = (tuple(draw.choices(letters, k=draw.randint(2, 5))) for letters in ("ab", "xy"))
        cells = [(i, j) for i in range(len(source)) for j in range(len(target))]
        bitext.append(Pair(source, target, frozenset(draw.sample(cells, draw.randint(2, 4)))))
    slow = Slow(bitext, 3, ("phrase",))
    ties = [c for c in slow.links.values() if list(c.values()).count(max(c.values())) > 1]
    assert len(ties) > 5
    assert {1, 2, 3, 4} <= set(slow.count.values())
    check_scores(bitext, slow, smoothing, 10.0)


@given(st.lists(pairs(5), min_size=2, max_size=8), st.sampled_from(["a+e", "a-e", 0.5]))
@settings(max_examples=60)
def test_significance_is_fishers_exact_test(bitext: list[Pair], threshold: str | float) -> None:
    slow = Slow(bitext, 3, ())
    report, found, _ = run(bitext, max_phrase_length=3, reordering=(), significance=threshold)
    n = len(bitext)
    alpha = {"a+e": math.log(n) + 0.01, "a-e": math.log(n) - 0.01}.get(str(threshold), 0.5)

    def has(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
        return any(words[i : i + len(phrase)] == phrase for i in range(len(words)))

    keep = set()
    for f, e in slow.count:
        seen = [(has(pair.source, f), has(pair.target, e)) for pair in bitext]
        cf, ce, both = sum(s for s, _ in seen), sum(t for _, t in seen), sum(s and t for s, t in seen)
        ways = sum(math.comb(cf, k) * math.comb(n - cf, ce - k) for k in range(both, min(cf, ce) + 1))
        value = -math.log(ways / math.comb(n, ce))
        if value >= alpha - 1e-9:
            keep.add((f, e))
    assert set(found) == keep
    assert report.insignificant == len(slow.count) - len(keep)


@given(bitexts, st.integers(1, 3))
@settings(max_examples=40)
def test_top_keeps_the_best_of_each_source_phrase(bitext: list[Pair], top: int) -> None:
    _, everything, _ = run(bitext, max_phrase_length=3)
    report, found, _ = run(bitext, max_phrase_length=3, top=top)
    by_source: dict[Any, list[Any]] = defaultdict(list)
    for key, rule in everything.items():
        by_source[key[0]].append((rule.scores[2], rule.scores[0]))
    kept: dict[Any, list[Any]] = defaultdict(list)
    for key, rule in found.items():
        assert rule == everything[key]
        kept[key[0]].append((rule.scores[2], rule.scores[0]))
    assert {k: sorted(v) for k, v in kept.items()} == {k: sorted(v)[-top:] for k, v in by_source.items()}
    assert report.below_top == len(everything) - len(found)


@given(st.lists(pairs(), min_size=30, max_size=60))
@settings(max_examples=5)
def test_the_memory_does_not_show(bitext: list[Pair]) -> None:
    tables = [run(bitext * 20, memory=memory)[2] for memory in ("1M", "3M", "1G")]
    assert all(a == b for a, b in pairwise(tables))
