"""Boosted features: inducing, files of trees, native values against plain Python and scikit-learn, tuning with them."""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor
from tests import tiny

from dragoman import boosting, weights
from dragoman._core import set_threads
from dragoman.boosting import ATTRIBUTES, Derivations, Pairs, boost
from dragoman.decoder import Decoder, Derivation
from dragoman.errors import InputError, OptionError
from dragoman.metrics import Bleu
from dragoman.model import Model
from dragoman.rules import Rule, Table
from dragoman.training import train
from dragoman.tuning.pool import Pool
from dragoman.types import Weights
from dragoman.verbs import score

Cli = Callable[..., tuple[int, str, str]]
METRIC, METRIC_SPEC = Bleu(tokenize="none"), "bleu:tokenize=none"
FREQUENT = {"source": ["der", "den"], "target": ["the", ",", "sees"]}
SCORES = ["score:p(e|f)", "score:log count"]


def text() -> list[tuple[str, str]]:
    """German and English with marks, numbers, compounds, and verbs whose place differs."""
    nouns = [("hund", "dog"), ("Straßenbahn", "street car"), ("vogel", "bird"), ("A3", "A3"), ("ball", "round ball")]
    verbs = [("sieht", "sees"), ("sucht", "looks for"), ("hat", "has")]
    return [
        (f"weil der {a} den {b} {v} , {number} .", f"because the {x} {w} the {y} , {number} .")
        for number, ((a, x), (v, w), (b, y)) in enumerate(itertools.product(nouns, verbs, nouns))
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text to tune on, and a model of each kind."""
    folder = tmp_path_factory.mktemp("boost")
    rng = random.Random(1)
    # References that no model can reach: a fifth of their words is missing.
    dev = [(f, " ".join(word for word in e.split() if rng.random() < 0.8)) for f, e in text()[::3]]
    for name, part in (("train", text()), ("dev", dev)):
        for side, lines in zip(("de", "en"), zip(*part, strict=True), strict=True):
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for system in ("phrase", "hiero"):
        options: dict[str, Any] = {"system": system, "classes": (), "order": 2, "tokenized": True}
        train(folder / "train.de", folder / "train.en", folder / system, **options)
    return folder


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def induced(root: Path, system: str, out: Path, **options: Any) -> boosting.Induced:
    refs = [[line] for line in lines(root / "dev.en")]
    given: dict[str, Any] = {
        "trees": 8,
        "least_rules": 2,
        "least_difference": 0.0,
        "keep": "all",
        "nbest_size": 40,
    } | options
    return boost(root / system, lines(root / "dev.de"), refs, out, metric=METRIC, **given)


@pytest.mark.filterwarnings("ignore:.*looks tokenised already")
def test_plain_text_is_prepared_as_the_model_has_it(root: Path, tmp_path: Path, cli: Cli) -> None:
    model, files = tmp_path / "model", (tmp_path / "plain.de", tmp_path / "plain.en")
    for side, path in zip(("de", "en"), files, strict=True):
        plain = [f"{line[:1].upper()}{line[1:]}." for line in lines(root / f"train.{side}")]
        path.write_text("\n".join(plain) + "\n", encoding="utf-8")
    train(*files, model, classes=(), order=2)
    prepared = Decoder(model).text
    src, ref = (lines(path)[::3] for path in files)
    ready = prepared.before(src), [[text] for text in prepared.reference(ref)]
    assert ready[0] != src
    options: dict[str, Any] = {"trees": 3, "least_rules": 2, "least_difference": 0.0, "keep": "all", "held_out": 0.0}
    boost(model, *ready, tmp_path / "want.json", metric=METRIC, tokenized=True, **options)
    boost(model, src, [[text] for text in ref], tmp_path / "found.json", metric=METRIC, **options)
    assert (tmp_path / "found.json").read_bytes() == (tmp_path / "want.json").read_bytes()
    for number, texts in enumerate((src, ref)):
        (tmp_path / f"dev.{number}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    told = "--trees", 3, "--least-rules", 2, "--least-difference", 0, "--keep", "all", "--held-out", 0
    sides = "--src", tmp_path / "dev.0", "--refs", tmp_path / "dev.1"
    code, _, err = cli(
        "features",
        "boost",
        "--model",
        model,
        *sides,
        *told,
        "--metric",
        "bleu:tokenize=none",
        "--out",
        tmp_path / "cli.json",
    )
    assert code == 0, err
    assert (tmp_path / "cli.json").read_bytes() == (tmp_path / "want.json").read_bytes()


@pytest.mark.parametrize("place", ["out", "weights_out"])
def test_a_place_that_cannot_be_written_is_an_error_before_the_work(root: Path, tmp_path: Path, place: str) -> None:
    began: list[str] = []
    places = {"out": tmp_path / "t.json", "weights_out": tmp_path / "w.toml", place: tmp_path / "none" / "file"}
    with pytest.raises(InputError, match="cannot be written"):
        induced(root, "phrase", progress=lambda what, *_: began.append(what), **places)
    assert not began


# -- in plain Python

Tree = Any


def value(tree: Tree, attributes: Mapping[str, float]) -> float:
    """The leaf that attributes come to."""
    while isinstance(tree, dict):
        tree = tree["then" if attributes[tree["attribute"]] <= np.float32(tree["up_to"]) else "else"]
    return float(np.float32(tree))


def attributes(table: Table, source: str, rule: Rule) -> dict[str, float]:
    """What trees may ask of a rule, from its texts."""
    f, e = source.split(), rule.target.split()
    words = {"source": [w for w in f if not w.startswith("[X,")], "target": [w for w in e if not w.startswith("[X,")]}
    count = {side: len(found) for side, found in words.items()}
    linked = [(i, j) for i, j in rule.links if not f[i].startswith("[X,")]
    cross = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in itertools.combinations(rule.links, 2))
    found: dict[str, float] = {
        "gaps": len(f) - count["source"],
        "length-ratio": count["target"] / max(count["source"], 1),
        "links": len(linked),
        "source-unlinked": count["source"] - len({i for i, _ in linked}),
        "target-unlinked": count["target"] - len({j for _, j in linked}),
        "crossings": cross,
        "copied": sum(word in words["source"] for word in words["target"]),
    }
    for side, some in words.items():
        found |= {
            f"{side}-words": len(some),
            f"{side}-frequent": sum(word in FREQUENT[side] for word in some) / max(len(some), 1),
            f"{side}-letters": sum(map(len, some)) / max(len(some), 1),
            f"{side}-marks": sum(not any(c.isalnum() for c in word) for word in some),
            f"{side}-numbers": sum(any(c.isnumeric() for c in word) for word in some),
        }
    scores = dict(zip((f"score:{column}" for column in table.columns), rule.scores, strict=True))
    return {name: np.float32(number) for name, number in {**found, **scores}.items()}


def of_derivation(table: Table, found: Derivation) -> list[dict[str, float] | None]:
    """The attributes of each rule; none for what no table has."""
    made: list[dict[str, float] | None] = []
    for phrase in found.phrases:
        rule = [one for one in table.lookup(phrase.source) if one.target == phrase.target]
        made.append(attributes(table, phrase.source, rule[0]) if phrase.origin == "rule" else None)
    return made


def random_tree(rng: random.Random, names: Sequence[str], depth: int = 4) -> Tree:
    if depth == 0 or rng.random() < 0.1:
        return rng.uniform(-2, 2)
    name = rng.choice(names)
    limit = rng.uniform(-4, 0) if name in SCORES else rng.choice([0, 0.5, 1, 2, 3, rng.uniform(0, 5)])
    down = (random_tree(rng, names, depth - 1) for _ in range(2))
    return {"attribute": name, "up_to": limit, "then": next(down), "else": next(down)}


def write(path: Path, trees: Sequence[Tree], names: Sequence[str]) -> Path:
    head = {"what": "boosted trees", "format": 1, "attributes": list(names), "frequent": FREQUENT}
    path.write_text(json.dumps({**head, "trees": list(trees)}), encoding="utf-8")
    return path


# -- values


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_values_are_those_of_plain_python_rule_by_rule(root: Path, tmp_path: Path, system: str) -> None:
    names = [*SCORES, *ATTRIBUTES]
    rng = random.Random(5)
    trees = [random_tree(rng, names) for _ in range(60)]
    file = write(tmp_path / "trees.json", trees, names)
    model = Model.open(root / system)
    decoder = Decoder(model, features=f"boosted:file={file}")
    table = Table(model.file(model.tables[0]))
    seen: dict[str, set[float]] = {}
    sources = [*lines(root / "dev.de"), "der unbekannte hund", "7 A3 . der"]
    for line in sources:
        explained = decoder.explain(line)
        totals: Counter[str] = Counter()
        for phrase, known in zip(explained.phrases, of_derivation(table, explained), strict=True):
            got = {name: number for name, number in phrase.features.items() if name.startswith("boosted:")}
            want = {f"boosted:{k}": value(tree, known) for k, tree in enumerate(trees, 1)} if known else {}
            assert got == want
            totals.update(want)
            for name, number in (known or {}).items():
                seen.setdefault(name, set()).add(float(number))
        row = decoder.nbest([line], 1).features.row(0)
        assert {name: number for name, number in row.items() if name.startswith("boosted:")} == pytest.approx(
            {name: number for name, number in totals.items() if number}, rel=1e-12
        )
    constant = {name for name in names if len(seen[name]) < 2}
    assert constant <= {"gaps", "crossings", "source-unlinked"}, "the text must show what differs"


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_scores_are_weights_times_values_whatever_the_weights(root: Path, tmp_path: Path, system: str) -> None:
    rng = random.Random(6)
    names = [*SCORES, *ATTRIBUTES]
    file = write(tmp_path / "trees.json", [random_tree(rng, names) for _ in range(20)], names)
    model = Model.open(root / system)
    decoder = Decoder(model, features=f"pt,boosted:file={file}")
    for turn in range(4):
        more = {f"boosted:{k}": rng.uniform(-1, 1) for k in range(1, 21) if turn}
        used = Weights.of({**model.weights.to_dict(), **more, "pt:hund>dog": 0.25})
        some = lines(root / "dev.de")[:6]
        found = decoder.nbest(some, 30, weights=used)
        assert found.totals is not None
        assert found.totals == pytest.approx(found.features.dot(used), abs=1e-4)
        # What the search sums itself decides which one is first.
        for line, start, end in zip(some, found.starts, found.starts[1:], strict=False):
            best = max(found.totals[start:end])
            assert best == pytest.approx(found.totals[start], abs=1e-4)
            assert best == pytest.approx(decoder.explain(line, weights=used).score, abs=1e-4)


def test_trees_of_scikit_learn_come_out_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    names = [f"a{k}" for k in range(6)]
    for seed in range(20):
        # Few different values, so that limits lie close to them; then neighbours among numbers of 32 bits.
        table = rng.choice([0.1, 0.3, 1 / 3, 2.5, np.nextafter(np.float32(2.5), np.float32(3))], (200, 6))
        table = table.astype(np.float32)
        fit = DecisionTreeRegressor(max_leaf_nodes=12, random_state=seed).fit(table, rng.normal(size=200))
        leaves = rng.normal(size=fit.tree_.node_count).astype(np.float32)
        tree = json.loads(json.dumps(boosting._tree(fit.tree_, names, leaves)))
        near = np.concatenate([table, np.nextafter(table, np.float32(9)), np.nextafter(table, np.float32(-9))])
        got = [value(tree, dict(zip(names, row, strict=True))) for row in near]
        assert got == leaves[fit.apply(near)].tolist()
    for number in (np.float32(0.1), np.float32(-2.5)):
        assert boosting._below(float(number)) == number
        assert boosting._below(float(np.nextafter(np.float64(number), -9))) == np.nextafter(number, np.float32(-9))


def test_attributes_in_names_are_those_of_the_rules(root: Path, tmp_path: Path) -> None:
    """What trees are fitted to is what they are asked for later."""
    out = tmp_path / "trees.json"
    induced(root, "hiero", out, trees=30, frequent_words=2)
    file = json.loads(out.read_text(encoding="utf-8"))
    model = Model.open(root / "hiero")
    found = boosting._lists(model, file, lines(root / "dev.de"), 20, False, lambda *_: None)
    derivations = Derivations.of(found, len(file["attributes"]))
    decoder = Decoder(model, features=f"boosted:file={out}")
    again = decoder.nbest(lines(root / "dev.de"), 20)
    assert again.texts.to_list() == found.texts.to_list()
    for number, tree in enumerate(file["trees"], 1):
        by_row = [value(tree, dict(zip(file["attributes"], row, strict=True))) for row in derivations.attributes]
        want = derivations.sums(np.array(by_row))
        got = again.features.dot(Weights.of({f"boosted:{number}": 1.0}))
        assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


# -- inducing


def test_the_functional_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    size, kinds = 30, 12
    rows = np.repeat(np.arange(size), 4)
    derivations = Derivations(
        rows, rng.integers(kinds, size=len(rows)), rng.integers(1, 3, len(rows)).astype(float), size,
        np.zeros((kinds, 1), dtype=np.float32),
    )  # fmt: skip
    pairs = Pairs(rng.integers(size, size=40), rng.integers(size, size=40))
    scores, values, step = rng.normal(size=size), rng.normal(size=kinds), 1e-5

    def loss(values: Any) -> float:
        return pairs.loss(scores + derivations.sums(values))

    gradient = -derivations.shares(pairs.pull(scores + derivations.sums(values)))
    for kind in range(kinds):
        move = np.where(np.arange(kinds) == kind, step, 0.0)
        assert (loss(values + move) - loss(values - move)) / (2 * step) == pytest.approx(gradient[kind], abs=1e-8)


def test_the_step_is_the_best_one() -> None:
    rng = np.random.default_rng(4)
    pairs = Pairs(np.arange(0, 40, 2), np.arange(1, 40, 2))
    scores, change = rng.normal(size=40), rng.normal(size=40) + np.tile([0.5, 0.0], 20)
    best = pairs.best_step(scores, change)
    assert best > 0
    losses = [pairs.loss(scores + step * change) for step in (best - 1e-3, best, best + 1e-3)]
    assert losses[1] == min(losses)
    assert pairs.best_step(scores, -change) == 0.0
    assert pairs.best_step(np.zeros(40), np.tile([1.0, 0.0], 20), most=8.0) == pytest.approx(8.0, rel=0.1)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, a text, and references that a hidden tree prefers: others must find out what that is."""
    folder = tmp_path_factory.mktemp("taught")
    model = tiny.model(folder / "model")
    long = {"attribute": "score:one", "up_to": -1, "then": 2, "else": -1}
    hidden = {"attribute": "target-words", "up_to": 1, "then": long, "else": -0.5}
    file = write(folder / "hidden.json", [hidden], ["score:one", "target-words"])
    used = Weights.of({**Model.open(model).weights.to_dict(), "boosted:1": 1.0})
    src = tiny.lines(60)
    refs = Decoder(model, features=f"boosted:file={file}", weights=used).translate(src)
    for name, side in (("src", src), ("refs", refs)):
        (folder / name).write_text("\n".join(side) + "\n")
    return folder


def test_each_tree_lowers_the_loss(taught: Path, tmp_path: Path) -> None:
    out, start = tmp_path / "trees.json", tmp_path / "start.toml"
    src, refs = lines(taught / "src"), [[text] for text in lines(taught / "refs")]
    options: dict[str, Any] = {"trees": 25, "shrinkage": 0.2, "least_rules": 2, "keep": "all"}
    found = boost(taught / "model", src, refs, out, metric=METRIC, weights_out=start, **options)
    assert found.trees == 25
    assert found.lines == 48
    assert len(found.loss) == len(found.held_out) == 26
    assert all(after < before for before, after in itertools.pairwise(found.loss))
    assert found.loss[-1] < 0.7 * found.loss[0]
    assert found.held_out[-1] < 0.8 * found.held_out[0], "what was hidden is found"
    assert sum(found.questions.values()) >= 25
    # With weight 1 for each tree the same lists are ranked better.
    decoder = Decoder(taught / "model", features=f"boosted:file={out}")
    listed = decoder.nbest(src, 100)
    pool = Pool.judge(listed, refs, METRIC)
    before, after = (w.align(listed.features.names) for w in (decoder.weights, weights.load(start)))
    assert pool.corpus_gain(after) > pool.corpus_gain(before) + 0.1
    # Leaves are in units of the model's score: at its scale they have the loss that was told.
    fitted, apart = boosting._pairs(pool, boosting.Boosting(**options))
    scale = fitted.best_step(np.zeros(listed.size), listed.features.dot(decoder.weights))
    scores = scale * listed.features.dot(weights.load(start))
    assert (fitted.loss(scores), apart.loss(scores)) == pytest.approx((found.loss[-1], found.held_out[-1]), rel=1e-6)
    sentences = [set(listed.sentence[np.concatenate([one.better, one.worse])].tolist()) for one in (fitted, apart)]
    assert not sentences[0] & sentences[1], "no tree has seen what is set apart"
    other, _ = boosting._pairs(pool, boosting.Boosting(seed=1, held_out=0.0))
    same, _ = boosting._pairs(pool, boosting.Boosting(held_out=0.0))
    assert other.better.tolist() != same.better.tolist()


def test_a_tree_has_the_best_step_in_its_leaves(taught: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"trees": 1, "shrinkage": 1.0, "least_rules": 2, "held_out": 0.0}
    src, refs = lines(taught / "src"), [[text] for text in lines(taught / "refs")]
    boost(taught / "model", src, refs, tmp_path / "t.json", metric=METRIC, **options)
    decoder = Decoder(taught / "model", features=f"boosted:file={tmp_path / 't.json'}")
    listed = decoder.nbest(src, 100)
    pairs, _ = boosting._pairs(Pool.judge(listed, refs, METRIC), boosting.Boosting(**options))
    plain, change = (listed.features.dot(w) for w in (decoder.weights, Weights.of({"boosted:1": 1.0})))
    scale = pairs.best_step(np.zeros(listed.size), plain)
    assert pairs.best_step(scale * plain, scale * change) == pytest.approx(1.0, rel=1e-4)


def test_the_held_out_lines_choose(root: Path, tmp_path: Path) -> None:
    every = induced(root, "phrase", tmp_path / "all.json", trees=20, shrinkage=1.0)
    best = induced(root, "phrase", tmp_path / "best.json", trees=20, shrinkage=1.0, keep="best")
    assert best.held_out == every.held_out
    assert best.trees == max(int(np.argmin(best.held_out)), 1)
    trees = [json.loads((tmp_path / name).read_text())["trees"] for name in ("all.json", "best.json")]
    assert trees[1] == trees[0][: best.trees]
    whole = induced(root, "phrase", tmp_path / "whole.json", held_out=0.0, keep="best")
    assert (whole.trees, whole.held_out, whole.lines) == (8, [], 25)


def test_equal_seeds_give_equal_files(root: Path, tmp_path: Path) -> None:
    files = []
    for name, seed, threads in (("a", 0, 1), ("b", 0, 2), ("c", 1, 1)):
        set_threads(threads)
        try:
            induced(root, "phrase", tmp_path / name, seed=seed)
        finally:
            set_threads(None)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]
    assert str(root).encode() not in files[0], "a file says nothing of the machine"


def test_what_cannot_be_induced(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "trees.json"
    with pytest.raises(InputError, match="lower least_difference"):
        induced(root, "phrase", out, least_difference=1.0)
    with pytest.raises(InputError, match="no tree lowers the loss"):
        induced(root, "phrase", out, least_rules=10**6)
    with pytest.raises(InputError, match="references of 2 lines, found 1"):
        boost(root / "phrase", ["a", "b"], [["a"]], out, metric=METRIC)
    with pytest.raises(OptionError, match="trees must be a whole number of at least 1"):
        induced(root, "phrase", out, trees=0)
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(OptionError, match=r"pip install 'dragoman\[boost\]'"):
        induced(root, "phrase", out)
    assert not out.exists()


# -- files


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"what": "a model"}, r'trees.json: what: expected "boosted trees", found "a model"'),
        ({"format": 7}, r"trees.json: format: expected 1, found 7"),
        ({"trees": []}, r"trees.json: trees: expected at least one, found none"),
        ({"trees": [[1]]}, r"trees.json: tree 1: expected an object, found a list"),
        (
            {"trees": [0, {"attribute": "gaps", "up_to": 1, "then": 1}]},
            r"trees.json: tree 2.else: expected a value, found nothing",
        ),
        (
            {"trees": [{"attribute": "links", "up_to": 1, "then": 1, "else": 2}]},
            r"tree 1.attribute: expected one of the file's attributes, found \"links\"",
        ),
        ({"attributes": ["gap"], "trees": [1]}, None),
        (
            {"attributes": ["score:p"], "trees": [{"attribute": "score:p", "up_to": 0, "then": 1, "else": 2}]},
            r"attributes: expected a column of the rule table, which has .*p\(e\|f\).*, found `p`",
        ),
        (
            {"attributes": ["gap"], "trees": [{"attribute": "gap", "up_to": 0, "then": 1, "else": 2}]},
            r"attributes: expected an attribute: score: and a column, source-words, .*, found `gap`",
        ),
    ],
)
def test_wrong_files_are_told(root: Path, tmp_path: Path, change: dict[str, Any], told: str | None) -> None:
    file = write(tmp_path / "trees.json", [0.5], ["gaps"])
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    if told is None:  # no tree asks about it
        Decoder(root / "phrase", features=f"boosted:file={file}")
        return
    with pytest.raises(OptionError, match=told):
        Decoder(root / "phrase", features=f"boosted:file={file}")


def test_files_that_are_cut_or_missing(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "trees.json"
    induced(root, "phrase", file, trees=3)
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[: whole.index('"trees": [') + 60], encoding="utf-8")
    line = whole[: whole.index('"trees": [') + 60].count("\n") + 1
    with pytest.raises(InputError, match=f"trees.json:{line}: no file of boosted trees, or cut off"):
        Decoder(root / "phrase", features=f"boosted:file={file}")
    with pytest.raises(InputError, match=r"none\.json: No such file"):
        Decoder(root / "phrase", features=f"boosted:file={tmp_path / 'none.json'}")
    with pytest.raises(OptionError, match="expected boosted:file=FILE"):
        Decoder(root / "phrase", features="boosted")
    file.write_text(whole, encoding="utf-8")
    with pytest.raises(OptionError, match="no feature `boosted:4`"):
        Decoder(root / "phrase", features=f"boosted:file={file}", weights=Weights.of({"boosted:4": 1.0}))


# -- with a model


def test_from_the_command_line_to_a_tuned_model(cli: Cli, taught: Path, tmp_path: Path) -> None:
    trees, start = tmp_path / "trees.json", tmp_path / "start.toml"
    dev = ["--model", taught / "model", "--src", taught / "src", "--refs", taught / "refs", "--metric", METRIC_SPEC]
    code, out, err = cli(
        "features", "boost", *dev, "--out", trees, "--weights-out", start, "--trees", "12", "--least-rules", "2",
        "--keep", "all", "--shrinkage", "0.2",
    )  # fmt: skip
    assert code == 0, err
    table = out.splitlines()
    assert table[1].split() == ["trees", "loss", "held-out", "loss"]
    assert [row.split()[0] for row in table[2:8]] == ["0", "1", "2", "5", "10", "12"]
    code, out, err = cli(
        "tune", *dev, "--features", f"boosted:file={trees}", "--start", start, "--tuner", "kbmira", "--epochs", "3",
        "--tokenized", "--out", tmp_path / "tuned",
    )  # fmt: skip
    assert code == 0, err
    trees.unlink()
    tuned = Model.open(tmp_path / "tuned")
    assert tuned.file("features/trees.json").is_file()
    tuned.verify()
    assert any(tuned.weights[f"boosted:{k}"] != 1.0 for k in range(1, 13))
    src, refs = lines(taught / "src"), [[text] for text in lines(taught / "refs")]
    found = {
        name: score(Decoder(model).translate(src), refs, METRIC).score
        for name, model in (("plain", Model.open(taught / "model")), ("tuned", tuned))
    }
    assert found["tuned"] > found["plain"] + 5
    code, out, err = cli("translate", "--model", tmp_path / "tuned", "--input", taught / "src", "--tokenized")
    assert code == 0, err
    assert out.splitlines() == Decoder(tuned).translate(src)
    (tmp_path / "tuned" / "features" / "trees.json").write_text("{}")
    with pytest.raises(InputError, match="not the file of this model"):
        Model.open(tmp_path / "tuned")


def test_figures_for_programs(cli: Cli, root: Path, tmp_path: Path) -> None:
    arguments = ["--src", root / "dev.de", "--refs", root / "dev.en", "--out", tmp_path / "t.json", "--json"]
    code, out, err = cli(
        "features",
        "boost",
        "--model",
        root / "phrase",
        *arguments,
        "--trees",
        "3",
        "--least-rules",
        "2",
        "--keep",
        "all",
    )
    assert code == 0, err
    told = json.loads(out)
    assert (told["trees"], len(told["loss"])) == (3, 4)
    (tmp_path / "short").write_text("a\n")
    arguments[3] = tmp_path / "short"
    code, _, err = cli("features", "boost", "--model", root / "phrase", *arguments)
    assert code == 1
    assert "short:2: expected 25 lines" in err
