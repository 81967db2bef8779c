"""The Maxent reordering model against an independent implementation on NumPy and SciPy."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from dragoman import maxent, rules
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.model import Model
from dragoman.training import Options, train
from dragoman.word_classes import Classes

Cli = Callable[..., tuple[int, str, str]]
SIDES = ("previous", "next")
ORIENTATIONS = "MSD"


def bitext(folder: Path, name: str, pairs: int, seed: int) -> tuple[Path, Path, Path]:
    """Sentences that keep or turn their word order, by their first word."""
    rng = np.random.default_rng(seed)
    source, target, links = [], [], []
    for _ in range(pairs):
        words = rng.integers(0, 6, size=rng.integers(2, 5))
        order = list(range(len(words)))
        if words[0] % 3 == 0:
            order.reverse()
        elif words[0] % 3 == 1:
            rng.shuffle(order)
        source.append(" ".join(f"s{w}" for w in words))
        target.append(" ".join(f"t{words[i]}" for i in order))
        links.append(" ".join(f"{i}-{j}" for j, i in enumerate(order)))
    paths = tuple(folder / f"{name}.{part}" for part in ("src", "tgt", "links"))
    for path, lines in zip(paths, (source, target, links), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths[0], paths[1], paths[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maxent")
    for name, pairs in (("train", 60), ("other", 30)):
        rules.extract(*bitext(path, name, pairs, pairs), path / name, max_phrase_length=3, orientation_counts=True)
    Classes.of({f"s{i}": 2 + i % 2 for i in range(5)}).save(path / "s.classes")  # s5 is unknown
    Classes.of({f"t{i}": 2 + i % 3 for i in range(6)}).save(path / "t.classes")
    return path


def run(folder: Path, out: str, **options: object) -> maxent.Report:
    classes = (folder / "s.classes", folder / "t.classes")
    return maxent.train(folder / "train", classes, folder / out, **options)  # type: ignore[arg-type]


Row = tuple[str, str, dict[str, float]]


def rows(path: Path, sources: Path) -> list[Row]:
    """All rules, by looking up every phrase of the source text."""
    table = rules.Table(path)
    phrases = sorted(
        {
            " ".join(words[i:j])
            for words in map(str.split, sources.read_text().splitlines())
            for i in range(len(words))
            for j in range(i + 1, len(words) + 1)
        }
    )
    found = [(p, r.target, dict(zip(table.columns, r.scores, strict=True))) for p in phrases for r in table.lookup(p)]
    assert len(found) == len(table)
    return found


def describe(source: str, target: str, classes: tuple[Classes, Classes]) -> list[str]:
    """Table 1 of the paper."""
    names = ["bias", f"{source}^{target}", f"src {source}", f"tgt {target}"]
    for side, phrase, of in (("src", source, classes[0]), ("tgt", target, classes[1])):
        words = phrase.split()
        for place, word in (("first", words[0]), ("last", words[-1])):
            names += [f"{side}.{place} {word}", f"{side}.{place} class {of[word] or 1}"]
    return names


def counted(row: Row, side: str) -> list[float]:
    return [row[2][f"hier.{side}.{o}.count"] for o in ORIENTATIONS]


def slow(folder: Path, side: str, c: float, least: int) -> dict[tuple[str, str], np.ndarray]:
    """Log probabilities of all rules by equation 4 as it is written, minimised by SciPy."""
    classes = (Classes.load(folder / "s.classes"), Classes.load(folder / "t.classes"))
    table = rows(folder / "train", folder / "train.src")
    seen: Counter[str] = Counter()
    for row in table:
        for name in describe(row[0], row[1], classes):
            seen[name] += sum(counted(row, side))  # type: ignore[assignment]
    ids = {name: i for i, name in enumerate(sorted(n for n, count in seen.items() if count >= least))}
    matrix = np.zeros((len(table), len(ids)))
    for i, row in enumerate(table):
        for name in describe(row[0], row[1], classes):
            if name in ids:
                matrix[i, ids[name]] = 1
    counts = np.array([counted(row, side) for row in table])
    weight = counts.sum(axis=1)
    aim = counts / weight[:, None]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(-1, 3)
        scores = matrix @ w
        norm = np.log(np.exp(scores).sum(axis=1))
        value = 0.5 * (w**2).sum() + c * (weight * (norm - (aim * scores).sum(axis=1))).sum()
        slope = w + c * matrix.T @ (weight[:, None] * (np.exp(scores - norm[:, None]) - aim))
        return value, slope.ravel()

    found = minimize(objective, np.zeros(3 * len(ids)), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0})
    scores = matrix @ found.x.reshape(-1, 3)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return {(row[0], row[1]): log for row, log in zip(table, logs, strict=True)}


@pytest.mark.parametrize(("c", "least"), [(0.1, 5), (1.0, 1), (0.02, 12)])
def test_agrees_with_scipy(folder: Path, c: float, least: int) -> None:
    report = run(folder, "all", c=c, min_count=least, singletons=1.0)
    assert report.examples == report.rules and report.previous.converged and report.next.converged
    made = rows(folder / "all", folder / "train.src")
    for side in SIDES:
        wanted = slow(folder, side, c, least)
        for source, target, scores in made:
            found = [math.exp(scores[f"maxent.{side}.{o}"]) for o in ORIENTATIONS]
            assert found == pytest.approx(np.exp(wanted[source, target]).tolist(), abs=1e-3), (source, target)
            assert sum(found) == pytest.approx(1, abs=1e-5)


def test_old_columns_links_and_phrases_stay(folder: Path) -> None:
    run(folder, "kept")
    old, new = rules.Table(folder / "train"), rules.Table(folder / "kept")
    new.verify()
    assert new.columns[: len(old.columns)] == old.columns
    assert new.columns[len(old.columns) :] == tuple(f"maxent.{s}.{o}" for s in SIDES for o in ORIENTATIONS)
    assert new.models == ("hier", "maxent")
    for phrase in ("s1", "s1 s2", "s3 s3", "s0 s4"):
        for before, after in zip(old.lookup(phrase), new.lookup(phrase), strict=True):
            assert (before.target, before.links) == (after.target, after.links)
            assert before.scores == after.scores[: len(old.columns)]
    assert new.meta["maxent"]["c"] == 0.1 and new.meta["length"] == 3
    run(folder, "dropped", drop_counts=True)
    assert rules.Table(folder / "dropped").columns == tuple(c for c in new.columns if not c.endswith(".count"))


def test_soft_targets_of_frequent_pairs_are_met(folder: Path) -> None:
    run(folder, "soft", c=1000.0, min_count=1, singletons=1.0)
    table = rows(folder / "soft", folder / "train.src")
    frequent = [row for row in table if sum(counted(row, "previous")) >= 20]
    assert frequent
    mixed = 0
    for row in frequent:
        for side in SIDES:
            counts = counted(row, side)
            wanted = [count / sum(counts) for count in counts]
            mixed += max(wanted) < 0.9
            found = [math.exp(row[2][f"maxent.{side}.{o}"]) for o in ORIENTATIONS]
            assert found == pytest.approx(wanted, abs=0.02)
    assert mixed  # distributions, not only certainties


def test_cut_offs_and_subsampling(folder: Path) -> None:
    table = rows(folder / "train", folder / "train.src")
    once = sum(sum(counted(row, "next")) == 1 for row in table)
    assert once > 20
    assert run(folder, "a", singletons=0.0).examples == len(table) - once
    half = run(folder, "b", singletons=0.5).examples - (len(table) - once)
    assert 0.3 * once < half < 0.7 * once
    run(folder, "c", singletons=0.5)
    run(folder, "d", singletons=0.5, seed=1)
    assert (folder / "b").read_bytes() == (folder / "c").read_bytes()
    one, other = (rows(folder / name, folder / "train.src") for name in "bd")
    assert [row[2]["maxent.next.M"] for row in one] != [row[2]["maxent.next.M"] for row in other]
    # The bias alone is left: every rule has the same scores.
    tokens = int(sum(sum(counted(row, "next")) for row in table))
    bare = run(folder, "e", min_count=tokens + 1)
    assert bare.features == 1
    assert len({row[2]["maxent.next.M"] for row in rows(folder / "e", folder / "train.src")}) == 1
    assert run(folder, "f", min_count=5).features < run(folder, "g", min_count=1).features


def test_held_out_perplexity_of_the_training_table_is_that_of_its_columns(folder: Path) -> None:
    report = run(folder, "self", held_out=folder / "train")
    assert report.heldout is not None and report.heldout.unseen == 0
    assert report.heldout.maxent == report.heldout.maxent_seen
    table = rows(folder / "self", folder / "train.src")
    for i, side in enumerate(SIDES):
        for name, found in (("maxent", report.heldout.maxent[i]), ("hier", report.heldout.relative[i])):
            logs = [c * row[2][f"{name}.{side}.{o}"] for row in table for o, c in zip("MSD", counted(row, side))]  # noqa: B905
            assert found == pytest.approx(math.exp(-sum(logs) / report.heldout.tokens), rel=1e-5)


def test_held_out_pairs_that_are_new_are_backed_off(folder: Path) -> None:
    report = run(folder, "other-out", held_out=folder / "other")
    held = report.heldout
    assert held is not None and 0 < held.unseen < held.tokens
    table = rows(folder / "train", folder / "train.src")
    sums = {kind: {"": np.zeros(3)} for kind in ("source", "target", "rule", "all")}
    for row in table:
        counts = np.array(counted(row, "previous"))
        for kind, key in (("source", row[0]), ("target", row[1]), ("rule", f"{row[0]}|{row[1]}"), ("all", "")):
            sums[kind][key] = sums[kind].get(key, np.zeros(3)) + counts
    loss = tokens = 0.0
    for row in rows(folder / "other", folder / "other.src"):
        world = (sums["all"][""] + 10 / 3) / (sums["all"][""].sum() + 10)
        backoff = []
        for kind, key in (("source", row[0]), ("target", row[1])):
            own = sums[kind].get(key, np.zeros(3))
            backoff.append((own + 10 * world) / (own.sum() + 10))
        own = sums["rule"].get(f"{row[0]}|{row[1]}", np.zeros(3))
        p = (own + 10 * backoff[0] + 10 * backoff[1]) / (own.sum() + 20)
        counts = np.array(counted(row, "previous"))
        loss -= float(counts @ np.log(p))
        tokens += counts.sum()
    assert held.tokens == tokens
    assert held.relative[0] == pytest.approx(math.exp(loss / tokens), rel=1e-6)


def test_errors(folder: Path, tmp_path: Path) -> None:
    classes = (folder / "s.classes", folder / "t.classes")
    rules.extract(folder / "train.src", folder / "train.tgt", folder / "train.links", tmp_path / "bare")
    for expected, table, options in (
        ("orientation counts", tmp_path / "bare", {}),
        ("hier2.previous.M.count", folder / "train", {"counts_of": "hier2"}),
        ("c must be a number above 0, found 0.0", folder / "train", {"c": 0.0}),
        ("c must be a number above 0, found nan", folder / "train", {"c": math.nan}),
        ("singletons must be a number from 0 to 1", folder / "train", {"singletons": 1.5}),
        ("iterations must be a whole number of at least 1", folder / "train", {"iterations": 0}),
        ("already", folder / "train", {"name": "hier"}),
        ("column", folder / "train", {"held_out": tmp_path / "bare"}),
    ):
        with pytest.raises(OptionError, match=expected):
            maxent.train(table, classes, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()
    with pytest.raises(InputError):
        maxent.train(folder / "train", (tmp_path / "none", classes[1]), tmp_path / "out")


def test_command(folder: Path, cli: Cli) -> None:
    options = ["--classes", folder / "s.classes", folder / "t.classes", "--held-out", folder / "other"]
    code, out, _ = cli("rules", "maxent", folder / "train", *options, "--out", folder / "cli", "--json")
    assert code == 0
    found = json.loads(out)
    run(folder, "api", held_out=folder / "other")
    assert (folder / "cli").read_bytes() == (folder / "api").read_bytes()
    assert found["heldout"]["tokens"] > 0
    code, out, _ = cli("rules", "maxent", folder / "train", *options, "--out", folder / "cli")
    assert code == 0 and "known pairs, next" in out
    code, _, err = cli("rules", "maxent", folder / "train", *options[:3], "--out", folder / "x", "--c", "-1")
    assert code == 2 and "expected a number above 0, found -1.0" in err


def test_training_path(folder: Path, tmp_path: Path) -> None:
    source, target, links = (folder / f"train.{part}" for part in ("src", "tgt", "links"))
    options = Options.of(alignments=links, reordering=("maxent",), classes=(50,), order=2)
    made = train(source, target, tmp_path / "model", options)
    assert [step.name for step in made.steps][-1] == "maxent"
    model = Model.open(tmp_path / "model")
    assert "rules.counts" not in model.files and not (tmp_path / "model" / "rules.counts").exists()
    assert rules.Table(tmp_path / "model" / "rules").models == ("hier", "maxent")
    decoder = Decoder(model)
    values = decoder.explain("s1 s2 s4").phrases[0].features
    assert any(name.startswith("Reordering.maxent[") for name in values)
    with pytest.raises(OptionError, match="50 word classes"):
        Options.of(reordering=("maxent",), classes=(20,))


def test_templates(folder: Path) -> None:
    """Each template brings its own features; all together have those of each, and one bias."""
    every = maxent.Training().templates
    alone = [run(folder, f"only-{name}", templates=(name,)).features - 1 for name in every]
    assert min(alone) > 0 and sum(alone) + 1 == run(folder, "every").features
    assert run(folder, "both", templates=("words", "classes")).features == alone[3] + alone[4] + 1
    assert run(folder, "none", templates=()).features == 1, "the bias"


def test_only_frequent_words_at_corners(folder: Path) -> None:
    """The lists' first words have features, as if all others were seen too rarely (tables 6 and 7 of the paper)."""
    lists = folder / "s.words", folder / "t.words"
    for path, letter in zip(lists, "st", strict=True):
        path.write_text("".join(f"{letter}{i}\t{9 - i}\n" for i in (3, 0, 5, 1, 2, 4)))
    words = run(folder, "f-words", templates=("words",), min_count=1)
    two = run(folder, "f-two", templates=("words",), min_count=1, frequent=2, words=lists)
    assert (words.features, two.features) == (1 + 4 * 6, 1 + 4 * 2)
    own = {(s, t): np.array([r[f"maxent.next.{o}"] for o in ORIENTATIONS])
           for s, t, r in rows(folder / "f-two", folder / "train.src")}  # fmt: skip
    assert (own["s1", "t1"] == own["s2", "t2"]).all(), "words that are not listed look alike"
    assert not (own["s0", "t0"] == own["s3", "t3"]).all()
    every = run(folder, "f-every", templates=("words",), min_count=1, frequent=6, words=lists)
    assert every.features == words.features
    with pytest.raises(OptionError, match="two lists, the most frequent first"):
        run(folder, "f-none", frequent=2)


def test_a_template_twice() -> None:
    with pytest.raises(OptionError, match="a template twice"):
        maxent.Training(templates=("words", "words"))
