"""Sparse features against slow ones on random derivations, and the search against listing every derivation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.slow_features import SLOW, Lists, Step

from dragoman import lm, model, nbest, rules
from dragoman.decoder import Decoder, Search
from dragoman.errors import InputError, OptionError
from dragoman.features import extended, parse
from dragoman.model import Part
from dragoman.types import Candidates, Weights

SOURCE = ["a", "b", "c=d", "50%", "e"]
TARGET = ["u", "v", "w_x", "[1]", "z>"]
LISTS = Lists(
    (["b", "a", "e"], ["v", "w_x", "u"]),
    {
        3: ({"a": 2, "b": 3, "50%": 4}, {"u": 2, "v": 3, "w_x": 4, "z>": 2}),
        2: ({"a": 2, "b": 2, "c=d": 3}, {"u": 3, "v": 2, "[1]": 3}),
    },
)
Table = dict[tuple[str, ...], list[tuple[tuple[str, ...], tuple[tuple[int, int], ...], float]]]
WIDE = Search(stack_size=1_000_000, pop_limit=0, distortion_limit=-1, table_limit=0)


def table_of(seed: int) -> Table:
    """A few rules for some phrases of one and two words."""
    rng = random.Random(seed)
    phrases = [(a,) for a in SOURCE[:4]] + [(a, b) for a in SOURCE[:4] for b in SOURCE[:4] if rng.random() < 0.3]
    made: Table = {}
    for phrase in phrases:
        targets = {tuple(rng.choices(TARGET, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 2))}
        for target in sorted(targets):
            cells = [(f, e) for f in range(len(phrase)) for e in range(len(target))]
            links = tuple(sorted(rng.sample(cells, rng.randint(0, len(cells)))))
            made.setdefault(phrase, []).append((target, links, float(rng.choice([1, 2, 3, 5, 40]))))
    return made


def write_model(folder: Path, table: Table) -> Path:
    """A model with counts as its only scores."""
    lines = []
    for source in sorted(table):
        for target, links, count in table[source]:
            cells = " ".join(f"{f}-{e}" for f, e in links)
            lines.append(f"{' '.join(source)} ||| {' '.join(target)} ||| {count} ||| {cells} ||| 1 1 1")
    (folder / "table").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rules.import_moses(folder / "table", folder / "rules", columns=["log count"])
    (folder / "text").write_text("u v w_x\nv u [1]\nz> u\n", encoding="utf-8")
    lm.estimate([folder / "text"], folder / "lm", order=2, discount_fallback=(0.5, 1.0, 1.5), form="hash")
    for side, name in enumerate(("source", "target")):
        (folder / f"{name}.words").write_text("".join(f"{w}\t9\n" for w in LISTS.words[side]), encoding="utf-8")
        for size, sides in LISTS.classes.items():
            text = "".join(f"{w}\t{c}\n" for w, c in sides[side].items())
            (folder / f"{name}.{size}.classes").write_text(text, encoding="utf-8")
    parts = [
        Part("scores", "rules", {"table": 0, "columns": ["log count"]}),
        Part("lm", "LM", {"path": "lm"}),
        Part("distortion", "Distortion"),
        Part("word-penalty", "WordPenalty"),
        Part("unknown-penalty", "UnknownPenalty"),
    ]
    model.seal(folder, tables=["rules"], parts=parts, initial={"LM": 0.5, "WordPenalty": -0.5, "Distortion": 0.1})
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Table]:
    table = table_of(7)
    return write_model(tmp_path_factory.mktemp("model"), table), table


def sentences(seed: int, count: int, longest: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices([*SOURCE, "unheard-of"], k=rng.randint(1, longest))) for _ in range(count)]


def steps_of(found: Candidates, row: int, source: list[str], table: Table) -> list[Step]:
    """The derivation of a candidate, from its text, phrases and word links."""
    words = found.texts[row].split()
    links = [tuple(map(int, link.split("-"))) for link in (found.alignments or [])[row].split()]
    steps = []
    for item in (found.extra or [])[row].split():
        (s, e), (t, u) = (map(int, side.split("-")) for side in item.rstrip("!").split(":"))
        target = tuple(words[t:u])
        own = tuple((f - s, g - t) for f, g in links if t <= g < u and s <= f < e)
        count = None
        if not item.endswith("!"):
            count = next(c for target_, _, c in table[tuple(source[s:e])] if target_ == target)
        steps.append(Step(s, e, target, own, count))
    return steps


@pytest.mark.parametrize("features", SLOW)
def test_names_and_values_agree_with_the_definitions(made: tuple[Path, Table], features: str) -> None:
    folder, table = made
    decoder = Decoder(folder, features=features)
    lines = sentences(1, 25, 6)
    found = decoder.nbest(lines, 30, distinct=False, phrases=True)
    prefix = "shrm" if features.startswith("sparse") else features.partition(":")[0]
    checked = 0
    for row, line in zip(range(found.size), found.sentence.tolist(), strict=True):
        source = lines[line].split()
        want = SLOW[features](source, steps_of(found, row, source, table), LISTS)
        have = {name: value for name, value in found.features.row(row).items() if name.startswith(f"{prefix}:")}
        assert have == want
        checked += len(want)
    assert checked > 100


def random_weights(names: list[str], seed: int) -> dict[str, float]:
    rng = random.Random(seed)
    return {name: rng.uniform(-1, 1) for name in names}


def test_the_search_scores_what_lists_show(made: tuple[Path, Table]) -> None:
    folder, _ = made
    decoder = Decoder(folder, features=",".join(SLOW))
    lines = sentences(2, 20, 8)
    names = decoder.nbest(lines, 50, distinct=False).features.names.to_list()
    weights = Weights.of(random_weights(names, 3))
    plain = decoder.nbest(lines, 50, distinct=False, features=False, weights=weights)
    listed = decoder.nbest(lines, 50, distinct=False, weights=weights)
    assert plain.totals is not None
    again = np.concatenate([np.sort(listed.features.dot(weights)[a:b])[::-1] for a, b in _spans(listed)])
    beam = np.concatenate([np.sort(plain.totals[a:b])[::-1] for a, b in _spans(plain)])
    np.testing.assert_allclose(beam, again, atol=2e-4)


def _spans(found: Candidates) -> list[tuple[int, int]]:
    return list(zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True))


def derivations(source: list[str], table: Table) -> Iterator[list[Step]]:
    """Every way to cover a sentence by rules, in every order; words that no rule of one word knows stay as they are."""

    def go(covered: frozenset[int], steps: list[Step]) -> Iterator[list[Step]]:
        if len(covered) == len(source):
            yield steps
        for start in range(len(source)):
            for end in range(start + 1, min(start + 2, len(source)) + 1):
                if any(i in covered for i in range(start, end)):
                    break
                phrase = tuple(source[start:end])
                found = [Step(start, end, t, links, count) for t, links, count in table.get(phrase, [])]
                if not found and end == start + 1:
                    found = [Step(start, end, phrase, ((0, 0),), None)]
                for step in found:
                    yield from go(covered | set(range(start, end)), [*steps, step])

    yield from go(frozenset(), [])


@pytest.mark.parametrize("features", [*SLOW, ",".join(SLOW)])
def test_recombination_loses_nothing(made: tuple[Path, Table], features: str) -> None:
    folder, table = made
    decoder = Decoder(folder, features=features, search=WIDE)
    wanted = [SLOW[one] for one in SLOW] if features not in SLOW else [SLOW[features]]
    for seed, line in enumerate(sentences(5, 6, 4)):
        source = line.split()
        fired = []
        for steps in derivations(source, table):
            all_of_it: Counter[str] = Counter()
            for slow in wanted:
                all_of_it += slow(source, steps, LISTS)
            fired.append(all_of_it)
        weights = random_weights(sorted({name for one in fired for name in one}), seed)
        best = max(sum(weights[name] * value for name, value in one.items()) for one in fired)
        found = decoder.nbest([line], 1, features=False, weights=Weights.of(weights))
        assert found.totals is not None
        assert found.totals[0] == pytest.approx(best, abs=1e-4)
        # The best of a list that is as long as there are derivations, too; the list has them all.
        if len(fired) < 400:
            every = decoder.nbest([line], len(fired) + 1, distinct=False, weights=Weights.of(weights))
            scores = sorted(sum(weights[name] * value for name, value in one.items()) for one in fired)
            np.testing.assert_allclose(np.sort(every.features.dot(Weights.of(weights))), scores, atol=1e-4)


def test_the_inventory_of_sparse_hrm(tmp_path: Path, made: tuple[Path, Table]) -> None:
    folder, _ = made
    for file in ("rules", "lm", "model.toml", "weights.toml"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    for side in ("source", "target"):
        (tmp_path / f"{side}.words").write_text("".join(f"w{i}\t{99 - i}\n" for i in range(90)), encoding="utf-8")
        for size in (50, 20):
            text = "".join(f"w{i}\t{2 + i % size}\n" for i in range(90))
            (tmp_path / f"{side}.{size}.classes").write_text(text, encoding="utf-8")
    decoder = Decoder(tmp_path, features="sparse-hrm")
    names = decoder.names.to_list()[len(decoder.dense) :]
    assert len(names) == len(set(names)) == 3588
    groups = Counter(name.split(":")[1].split(".")[0] for name in names)
    assert (groups["source"] + groups["target"], groups["top"], groups["between"]) == (1872, 1404, 312)
    assert Counter(name.split(":")[2] for name in names) == {"w80": 1886, "c50": 1196, "c20": 506}


@pytest.mark.parametrize(
    ("groups", "begins"),
    [("phrase", ("source", "target")), ("stack", ("top",)), ("between", ("between",)),
     ("stack+between", ("top", "between"))],
)  # fmt: skip
def test_groups_of_sparse_hrm(made: tuple[Path, Table], groups: str, begins: tuple[str, ...]) -> None:
    """What a group fires is what the whole set fires of it (tables 6 and 8 of Cherry 2013)."""
    folder, _ = made
    spec = "sparse-hrm:words=2,classes=3"
    whole, some = Decoder(folder, features=spec), Decoder(folder, features=f"{spec},groups={groups}")
    lines = sentences(5, 12, 6)

    def own(names: Iterable[str]) -> list[str]:
        return [n for n in names if n.startswith("shrm:") and n.split(":")[1].split(".")[0] in begins]

    assert own(some.names.to_list()) == own(whole.names.to_list())
    assert len(own(some.names.to_list())) == sum(n.startswith("shrm:") for n in some.names.to_list())
    weights = Weights.of(random_weights(own(whole.names.to_list()), 3) | {"LM": 1.0})
    a, b = (d.nbest(lines, 5, weights=weights) for d in (whole, some))
    assert a.texts.to_list() == b.texts.to_list()
    assert a.scores == pytest.approx(b.scores, abs=1e-4)
    for row in range(b.size):
        full = a.features.row(row)
        assert {n: v for n, v in b.features.row(row).items() if n.startswith("shrm:")} == {
            n: full[n] for n in own(full)
        }


# By hand, from the definitions: sentence, phrases, and every name that one set fires on the derivation.
GOLDEN = [
    ("pt", "pt:a>u:1 pt:b>v:1 pt:c%3Dd>w%5Fx_z%3E:1"),
    ("al:inserted", "al:>z%3E:1 al:a>u:1 al:b>v:1 al:c%3Dd>w%5Fx:1"),
    ("wp", "wp:a>u:1 wp:b>v:1 wp:c%3Dd>w%5Fx:1"),
    ("ins", "ins:c%3Dd>z%3E:1"),
    ("tb", "tb:^>w%5Fx:1 tb:u>v:1 tb:v>$:1 tb:w%5Fx>z%3E:1 tb:z%3E>u:1"),
    ("pb:classes=3", "pb:2>2:1 pb:2>3:1 pb:3>$:1 pb:^>4:1"),
    (
        "bin:words=2",
        "bin:count:1:1 bin:count:2:1 bin:count:3-4:1 bin:length:1>1:2 bin:length:1>2:1 bin:pair:b>v:1 bin:source:1:3"
        " bin:target:1:2 bin:target:2:1",
    ),
    (
        "lo",
        "lo:D.next:^:1 lo:D.next:c%3Dd>w%5Fx_z%3E:1 lo:D.previous:a>u:1 lo:D.previous:c%3Dd>w%5Fx_z%3E:1"
        " lo:M.next:a>u:1 lo:M.previous:b>v:1 lo:N.next:^:1 lo:N.next:c%3Dd>w%5Fx_z%3E:1 lo:N.previous:a>u:1"
        " lo:N.previous:c%3Dd>w%5Fx_z%3E:1",
    ),
    (
        "sparse-hrm:words=2,classes=0",
        "shrm:between.left:w2:b:1 shrm:between.right:w2:a:1 shrm:between.right:w2:b:1"
        " shrm:source.first.D:w2:^other:1 shrm:source.first.D:w2:a:1 shrm:source.first.M:w2:b:1"
        " shrm:source.last.D:w2:^other:1 shrm:source.last.D:w2:a:1 shrm:source.last.M:w2:b:1"
        " shrm:target.first.D:w2:^other:1 shrm:target.first.D:w2:w%5Fx:1 shrm:target.first.M:w2:v:1"
        " shrm:target.last.D:w2:^other:2 shrm:target.last.M:w2:v:1"
        " shrm:top.source.first.D:w2:^:1 shrm:top.source.first.D:w2:^other:1 shrm:top.source.first.M:w2:a:1"
        " shrm:top.source.last.D:w2:^:1 shrm:top.source.last.D:w2:^other:1 shrm:top.source.last.M:w2:a:1"
        " shrm:top.target.last.D:w2:^:1 shrm:top.target.last.D:w2:^other:1 shrm:top.target.last.M:w2:^other:1",
    ),
]


@pytest.mark.parametrize(("features", "want"), GOLDEN)
def test_derivations_worked_out_by_hand(tmp_path: Path, features: str, want: str) -> None:
    one = ((0, 0),)
    table: Table = {
        ("a",): [(("u",), one, 1.0)],
        ("b",): [(("v",), one, 2.0)],
        ("c=d",): [(("w_x", "z>"), one, 3.0)],
    }
    decoder = Decoder(write_model(tmp_path, table), features=features, search=WIDE)
    found = decoder.nbest(["a b c=d"], 6, distinct=False, phrases=True)
    assert found.extra is not None
    # The last word first, a jump over two words; back to the first, over one; and on.
    row = found.extra.to_list().index("2-3:0-2 0-1:2-3 1-2:3-4")
    fired = [f"{n}:{v:g}" for n, v in found.features.row(row).items() if n not in decoder.dense]
    assert " ".join(fired) == want
    nbest.write(tmp_path / "list", found)
    back = nbest.read(tmp_path / "list")
    assert back.features.row(row) == found.features.row(row)


def test_lists_do_not_depend_on_threads(made: tuple[Path, Table]) -> None:
    folder, _ = made
    lines = sentences(11, 60, 7)
    rows = []
    for threads in (1, 2, 5):
        decoder = Decoder(folder, features=",".join(SLOW), threads=threads)
        found = decoder.nbest(lines, 10)
        assert found.totals is not None
        rows.append((found.texts.to_list(), found.features.columns.tolist(), decoder.names.to_list()))
        for streamed, start in zip(decoder.stream(lines, 10, features=True), found.starts.tolist(), strict=False):
            assert list(streamed.features.row(0).items()) == list(found.features.row(start).items())
    assert rows[0] == rows[1] == rows[2]


def test_cut_offs(made: tuple[Path, Table], tmp_path: Path) -> None:
    folder, table = made
    lines = sentences(4, 30, 5)
    often = Decoder(folder, features="pt:min_count=3,lo:min_count=3").nbest(lines, 20, phrases=True, distinct=False)
    for row, line in zip(range(often.size), often.sentence.tolist(), strict=True):
        source = lines[line].split()
        steps = [s for s in steps_of(often, row, source, table) if s.count is not None and s.count >= 3]
        have = Counter({n: v for n, v in often.features.row(row).items() if n.startswith("pt:")})
        assert have == SLOW["pt"](source, steps, LISTS)
    only = tmp_path / "only"
    only.write_text("tb:u>v\ntb:^>u\n", encoding="utf-8")
    found = Decoder(folder, features=f"tb:only={only}").nbest(lines, 20)
    names = {name for row in range(found.size) for name in found.features.row(row) if ":" in name}
    assert names == {"tb:u>v", "tb:^>u"}
    weights = Weights.of({"tb:u>v": 1.0, "tb:v>u": 100.0})
    decoder = Decoder(folder, features=f"tb:only={only}")
    plain = decoder.nbest(lines, 1, features=False, weights=weights)
    listed = decoder.nbest(lines, 1, weights=weights)
    assert plain.totals is not None and listed.totals is not None
    np.testing.assert_allclose(plain.totals, listed.features.dot(Weights.of({"tb:u>v": 1.0})), atol=1e-5)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("pr", "unknown feature set `pr`; known: al, bin"),
        ("sparse-hrn", "did you mean sparse-hrm?"),
        ("pt,lo,pt", "given twice"),
        ("", "expected names of feature sets"),
        ("min_count=2", "before its options"),
        ("pt:mincount=2", "unknown option `mincount`; did you mean min_count?"),
        ("pt:min_count=-1", "at least 0"),
        ("sparse-hrm:words=0,classes=0", "expected words or different numbers"),
        ("sparse-hrm:words=2,classes=3+3", "expected words or different numbers"),
        ("sparse-hrm:words=2,classes=x", "classes must be a whole number of at least 0, found `x`"),
        ("pb:classes=9", "has no target.9.classes; it has source.2.classes"),
        ("pb:classes=2,tb:min_count=1", "unknown option `min_count`"),
    ],
)
def test_errors_of_specifications(made: tuple[Path, Table], features: str, message: str) -> None:
    if not features:
        with pytest.raises(OptionError, match=message):
            parse(features)
        return
    with pytest.raises(OptionError) as caught:
        Decoder(made[0], features=features)
    assert message in str(caught.value)


def test_other_errors(made: tuple[Path, Table], tmp_path: Path) -> None:
    folder, _ = made
    alien = tmp_path / "alien"
    alien.write_text("pt:a>b\nwp:a>b\n", encoding="utf-8")
    with pytest.raises(OptionError, match="`wp:a>b` is no name of the set `pt`"):
        Decoder(folder, features=f"pt:only={alien}")
    with pytest.raises(InputError, match="No such file"):
        Decoder(folder, features=f"pt:only={tmp_path / 'none'}")
    bad = tmp_path / "tags"
    bad.write_text("u\tNOUN\nv\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"tags:2: expected a word, a tab and a tag, found `v`"):
        Decoder(folder, features=f"pb:tags={bad}")
    decoder = Decoder(folder, features="pt,pb:classes=2")
    with pytest.raises(OptionError, match="no feature `wp:a>b`"):
        decoder.translate(["a"], weights=Weights.of({"wp:a>b": 1.0}))
    with pytest.raises(OptionError, match="no feature `pb:7>9`"):
        decoder.translate(["a"], weights=Weights.of({"pb:7>9": 1.0}))
    assert decoder.translate(["a"], weights=Weights.of({"pt:never>seen": 1.0, "pb:2>3": 0.5}))


def test_tags_of_any_name(made: tuple[Path, Table], tmp_path: Path) -> None:
    tags = tmp_path / "tags"
    tags.write_text("u\tNOUN\nv\tVERB\nw_x\t$.\n", encoding="utf-8")
    found = Decoder(made[0], features=f"pb:tags={tags}").nbest(["a"], 1)
    names = [name for name in found.features.row(0) if name.startswith("pb:")]
    assert len(names) == 2
    assert all(part in {"^", "$", "NOUN", "VERB", "%24.", "^other"} for name in names for part in name[3:].split(">"))


def test_sets_are_part_of_a_model(made: tuple[Path, Table], tmp_path: Path) -> None:
    folder, _ = made
    more = extended(model.Model.open(folder), parse("pt,pb:classes=2", folder))
    for file in ("rules", "lm", "target.2.classes"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    model.seal(tmp_path, tables=["rules"], parts=more.parts, initial={"LM": 1.0, "pt:a>u": 0.5})
    stored = Decoder(tmp_path)
    assert stored.weights["pt:a>u"] == 0.5
    weights = Weights.of({"LM": 1.0, "pt:a>u": 0.5})
    assert stored.translate(["a b a"]) == Decoder(folder, features="pt,pb:classes=2", weights=weights).translate(
        ["a b a"]
    )
    with pytest.raises(OptionError, match="already"):
        Decoder(tmp_path, features="pt")
