"""Rules with gaps against plain Python: every span, every choice of gaps, dictionaries of fractions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import grammars, rules
from dragoman._core import set_threads

Block = tuple[int, int, int, int]
"""First and last source word, first and last target word."""


class Pair(NamedTuple):
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]

    def text(self) -> tuple[str, str, str]:
        return " ".join(self.source), " ".join(self.target), " ".join(f"{i}-{j}" for i, j in self.links)


class Limits(NamedTuple):
    """What the options of a run mean."""

    max_span: int
    max_symbols: int
    max_gaps: int
    min_gap: int
    min_target_gap: int
    edges: str
    counts: str

    @classmethod
    def of(cls, preset: str, **changes: Any) -> Limits:
        known = {**grammars.PRESETS[preset], **changes}
        return cls(*(known[name] for name in cls._fields))


@st.composite
def pairs(draw: st.DrawFn, words: int = 7) -> Pair:
    source = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=words))
    target = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=words))
    cells = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return Pair(source, target, sorted(set(draw(st.lists(cells, max_size=words + 1)))))


OPTIONS: list[dict[str, Any]] = [
    {"preset": "moses"},
    {"preset": "cdec"},
    {"preset": "moses", "max_span": 4, "max_symbols": 3, "min_gap": 1},
    {"preset": "moses", "edges": "tight", "counts": "whole", "min_target_gap": 2},
    {"preset": "cdec", "max_gaps": 1, "edges": "loose", "scores": "moses"},
    {"preset": "moses", "max_gaps": 0, "max_span": 6},
]


def blocks(pair: Pair, limits: Limits) -> Iterator[Block]:
    """All phrase pairs, by trying every pair of spans."""
    n, m = len(pair.source), len(pair.target)
    linked = {i for i, _ in pair.links}, {j for _, j in pair.links}
    for fs, es in product(range(n), range(m)):
        for fe, ee in product(range(fs, min(n, fs + limits.max_span)), range(es, min(m, es + limits.max_span))):
            inside = [(fs <= i <= fe, es <= j <= ee) for i, j in pair.links]
            tight = limits.edges == "loose" or ({fs, fe} <= linked[0] and {es, ee} <= linked[1])
            if (True, True) in inside and all(a == b for a, b in inside) and tight:
                yield fs, fe, es, ee


class Occurrence(NamedTuple):
    source: str
    target: str
    links: tuple[tuple[int, int], ...]
    block: Block
    cut: tuple[Block, ...]
    """In the order of the source."""


def write(words: list[str], first: int, last: int, gaps: list[tuple[int, int, str]]) -> tuple[str, dict[int, int]]:
    """Symbols of a span, and for each word that is left the place of its symbol."""
    symbols: list[str] = []
    places: dict[int, int] = {}
    for at in range(first, last + 1):
        gap = next((name for begin, end, name in gaps if begin <= at <= end), None)
        if gap is None:
            places[at] = len(symbols)
            symbols.append(words[at])
        elif any(at == begin for begin, _, _ in gaps):
            symbols.append(gap)
    return " ".join(symbols), places


def occurrences(pair: Pair, limits: Limits) -> Iterator[Occurrence]:
    known = list(blocks(pair, limits))
    small = [b for b in known if b[1] - b[0] + 1 >= limits.min_gap and b[3] - b[2] + 1 >= limits.min_target_gap]
    for block in known:
        fs, fe, es, ee = block
        inside = [b for b in small if fs <= b[0] and b[1] <= fe and es <= b[2] and b[3] <= ee]
        for count in range(limits.max_gaps + 1):
            for cut in combinations(inside, count):
                if all(apart(a, b) for a, b in combinations(cut, 2)):
                    ordered = tuple(sorted(cut))
                    gaps = [(b, f"[X,{i + 1}]") for i, b in enumerate(ordered)]
                    source, left = write(pair.source, fs, fe, [(b[0], b[1], name) for b, name in gaps])
                    target, right = write(pair.target, es, ee, [(b[2], b[3], name) for b, name in gaps])
                    links = tuple((left[i], right[j]) for i, j in pair.links if i in left and j in right)
                    if links and len(source.split()) <= limits.max_symbols:
                        yield Occurrence(source, target, links, block, ordered)


def apart(a: Block, b: Block) -> bool:
    """No word in common, and in the source a word between them."""
    return (a[1] + 1 < b[0] or b[1] + 1 < a[0]) and (a[3] < b[2] or b[3] < a[2])


def counted(pair: Pair, limits: Limits) -> Iterator[tuple[Occurrence, Fraction, Fraction]]:
    """Each occurrence, its count, and its share of the occurrence of its source side."""
    found = list(occurrences(pair, limits))
    of_block = Counter(each.block for each in found)

    def place(each: Occurrence) -> Any:
        return each.block[:2], tuple(b[:2] for b in each.cut)

    of_place = Counter(map(place, found))
    for each in found:
        fractional = limits.counts == "fractional"
        yield each, Fraction(1, of_block[each.block] if fractional else 1), Fraction(1, of_place[place(each)])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(deadline=None, max_examples=60)
@given(pair=pairs())
def test_rules_of_a_sentence_pair(pair: Pair, options: dict[str, Any]) -> None:
    limits = Limits.of(**{name: value for name, value in options.items() if name != "scores"})
    want = sorted((e.source, e.target, list(e.links), float(count)) for e, count, _ in counted(pair, limits))
    assert sorted(grammars.of_sentence(*pair.text(), **options)) == want


class Slow:
    """Counts of a whole bitext, in dictionaries."""

    def __init__(self, bitext: list[Pair], limits: Limits) -> None:
        self.count: Counter[Any] = Counter()
        self.seen: Counter[Any] = Counter()
        self.samples: Counter[str] = Counter()
        self.links: dict[Any, Counter[Any]] = defaultdict(Counter)
        self.word: Counter[Any] = Counter()
        for pair in bitext:
            self.add_words(pair)
            for each, count, share in counted(pair, limits):
                key = each.source, each.target
                self.count[key] += count  # type: ignore[assignment]
                self.seen[key] += 1
                self.samples[each.source] += share  # type: ignore[assignment]
                self.links[key][each.links] += count  # type: ignore[assignment]

    def add_words(self, pair: Pair) -> None:
        linked = {i for i, _ in pair.links}, {j for _, j in pair.links}
        self.word.update((pair.source[i], pair.target[j]) for i, j in pair.links)
        self.word.update((word, None) for i, word in enumerate(pair.source) if i not in linked[0])
        self.word.update((None, word) for j, word in enumerate(pair.target) if j not in linked[1])

    def word_probability(self, word: str, given_word: str | None, forward: bool) -> float:
        """Of a word of the one side given one of the other; forward gives target words."""
        both = (given_word, word) if forward else (word, given_word)
        total = sum(n for k, n in self.word.items() if k[0 if forward else 1] == given_word)
        return self.word[both] / total if total else 0.0

    def lexical(self, key: Any, forward: bool) -> float:
        side, other = [part.split() for part in (key if not forward else key[::-1])]

        def turned(links: Any) -> Any:
            return [(j, i) if forward else (i, j) for i, j in links]

        def order(links: Any) -> Any:
            return self.links[key][links], [sorted(o for s, o in turned(links) if s == at) for at in range(len(side))]

        best, whole = turned(max(self.links[key], key=order)), 1.0
        for at, word in enumerate(side):
            if not word.startswith("["):
                partners = [other[o] for s, o in best if s == at] or [None]
                whole *= sum(self.word_probability(word, p, forward) for p in partners) / len(partners)
        return whole

    def best_cost(self, key: Any, forward: bool) -> float:
        side, other = [[w for w in part.split() if w[0] != "["] for part in (key if not forward else key[::-1])]
        best = [max(self.word_probability(word, given_word, forward) for given_word in [*other, None]) for word in side]
        return sum(-math.log10(p) if p else 99.0 for p in best)

    def scores(self, key: Any) -> list[float]:
        def alike(target: str) -> str:
            return target.replace("[X,2]", "[X,1]")

        count = self.count[key]
        source = sum(n for k, n in self.count.items() if k[0] == key[0])
        target = sum(n for k, n in self.count.items() if alike(k[1]) == alike(key[1]))
        lexical = self.lexical(key, False), self.lexical(key, True)
        return [
            *(math.log(p) for p in (count / target, lexical[0], count / source, lexical[1], count)),
            float(self.seen[key] == 1),
        ]

    def cdec(self, key: Any) -> list[float]:
        seen, samples = self.seen[key], self.samples[key[0]]
        costs = self.best_cost(key, False), self.best_cost(key, True)
        logs = -math.log10(seen / samples), math.log10(1 + samples), math.log10(1 + seen)
        return [*logs, *costs, float(samples == 1), float(seen == 1)]


def extracted(bitext: list[Pair], folder: Path, **options: Any) -> tuple[rules.Table, rules.Report]:
    texts = list(zip(*(pair.text() for pair in bitext), strict=True))
    paths = [folder / name for name in "fea"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    report = grammars.extract(paths[0], paths[1], paths[2], folder / "rules", **options)
    return rules.Table(folder / "rules"), report


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(deadline=None, max_examples=15)
@given(bitext=st.lists(pairs(6), min_size=1, max_size=4), least=st.integers(1, 3))
def test_tables(bitext: list[Pair], least: int, options: dict[str, Any]) -> None:
    limits = Limits.of(**{name: value for name, value in options.items() if name != "scores"})
    slow = Slow(bitext, limits)
    kept = {key for key in slow.count if "[X,1]" not in key[0] or slow.seen[key] >= least}
    with TemporaryDirectory() as folder:
        table, report = extracted(bitext, Path(folder), min_rule_count=least, **options)
        table.verify()
        assert (report.tokens, report.extracted) == (sum(slow.seen.values()), len(slow.count))
        assert (report.rules, report.rare) == (len(kept), len(slow.count) - len(kept))
        assert len(table) == len(kept)
        found = {(s, rule.target): rule for s in {key[0] for key in kept} for rule in table.lookup(s)}
        assert found.keys() == kept
        cdec = table.columns == grammars.CDEC_COLUMNS
        for key, rule in found.items():
            assert rule.scores == pytest.approx((slow.cdec if cdec else slow.scores)(key), abs=2e-5)
            assert slow.links[key][tuple(rule.links)] == max(slow.links[key].values())


@settings(deadline=None, max_examples=20)
@given(bitext=st.lists(pairs(), min_size=1, max_size=6), top=st.integers(1, 3))
def test_the_best_rules_of_each_source_side(bitext: list[Pair], top: int) -> None:
    slow = Slow(bitext, Limits.of("moses"))
    with TemporaryDirectory() as folder:
        table, report = extracted(bitext, Path(folder), top=top)
        for source in {key[0] for key in slow.count}:
            ranked = sorted((slow.count[key] for key in slow.count if key[0] == source), reverse=True)
            kept = sorted((slow.count[source, rule.target] for rule in table.lookup(source)), reverse=True)
            assert kept == ranked[:top]
        assert report.below_top == len(slow.count) - len(table)


def test_neither_memory_nor_threads_show(tmp_path: Path) -> None:
    pair = Pair([*"abcabcab"], [*"xyzxyzxy"], [(i, i) for i in range(8)])
    shifted = Pair([*"cabbacab"], [*"zxyyxzxy"], [(i, (i * 3) % 8) for i in range(8)])
    bitext = [pair, shifted] * 300
    files = []
    try:
        for memory, threads in (("2G", 1), ("1M", 1), ("1M", 3), ("64M", 2)):
            set_threads(threads)
            extracted(bitext, tmp_path, memory=memory)
            files.append((tmp_path / "rules").read_bytes())
    finally:
        set_threads(None)
    assert len(set(files)) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name not in {"f", "e", "a"}] == ["rules"]


def fits(pattern: list[str], words: list[str]) -> bool:
    """Whether a pattern covers words, by every way to fill its gaps."""
    if not pattern:
        return not words
    if pattern[0].startswith("["):
        return any(fits(pattern[1:], words[count:]) for count in range(1, len(words) + 1))
    return bool(words) and pattern[0] == words[0] and fits(pattern[1:], words[1:])


@settings(deadline=None, max_examples=40)
@given(
    bitext=st.lists(pairs(), min_size=1, max_size=6),
    lines=st.lists(st.lists(st.sampled_from("abcd"), max_size=6), max_size=3),
    preset=st.sampled_from(["moses", "cdec"]),
    least=st.integers(1, 2),
)
def test_a_filter_keeps_what_its_lines_match(
    bitext: list[Pair], lines: list[list[str]], preset: str, least: int
) -> None:
    """The same rules with the same scores as those of the whole table."""
    spans = [line[i:j] for line in lines for i in range(len(line)) for j in range(i + 1, len(line) + 1)]
    sources = {each.source for pair in bitext for each in occurrences(pair, Limits.of(preset))}
    with TemporaryDirectory() as folder, TemporaryDirectory() as other:
        table, _ = extracted(bitext, Path(folder), preset=preset, min_rule_count=least)
        text = Path(other) / "input"
        text.write_text("".join(" ".join(line) + "\n" for line in lines))
        some, report = extracted(bitext, Path(other), preset=preset, min_rule_count=least, filter=(str(text),))
        wanted = {source for source in sources if any(fits(source.split(), span) for span in spans)}
        for source in sources:
            assert some.lookup(source) == (table.lookup(source) if source in wanted else [])
        assert report.rules == sum(len(table.lookup(source)) for source in wanted)


def chance(both: int, one: int, other: int, of: int) -> float:
    """Negative log of the probability that so many pairs, or more, have both sides by chance: Fisher's exact test."""
    ways = sum(math.comb(one, k) * math.comb(of - one, other - k) for k in range(both, min(one, other) + 1))
    return -math.log(Fraction(ways, math.comb(of, other)))


@settings(deadline=None, max_examples=30)
@given(bitext=st.lists(pairs(6), min_size=2, max_size=8), level=st.sampled_from([0.5, 1.0, 1.5]))
def test_fishers_test_counts_sentences_that_have_a_side(bitext: list[Pair], level: float) -> None:
    def having(pattern: str, side: int) -> set[int]:
        def has(words: list[str]) -> bool:
            spans = ((i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1))
            return any(fits(pattern.split(), words[i:j]) for i, j in spans)

        return {number for number, pair in enumerate(bitext) if has(pair[side])}  # type: ignore[arg-type]

    slow = Slow(bitext, Limits.of("moses"))
    kept = set()
    for source, target in slow.count:
        sides = having(source, 0), having(target, 1)
        value = chance(len(sides[0] & sides[1]), len(sides[0]), len(sides[1]), len(bitext))
        if abs(value - level) > 1e-9 and value > level:
            kept.add((source, target))
    with TemporaryDirectory() as folder:
        table, report = extracted(bitext, Path(folder), significance=level)
        found = {(s, rule.target) for s in {key[0] for key in slow.count} for rule in table.lookup(s)}
    assert found == kept
    assert report.insignificant == len(slow.count) - len(kept)
