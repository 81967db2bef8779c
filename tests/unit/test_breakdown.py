"""Where two systems differ, against slow versions on random small texts."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import breakdown
from dragoman.metrics import Bleu, statistics

Cli = Callable[..., tuple[int, str, str]]
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


def texts(rng: np.random.Generator, count: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, size=rng.integers(0, 9))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_f_measure_by_frequency_is_what_counting_by_hand_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference, training = texts(rng, 20), ["a a a b b c", "a d d d d d"]
    systems = [[texts(rng, 20) for _ in range(2)], [texts(rng, 20)]]
    counts = Counter(word for line in training for word in line.split())
    edges = (0, 1, 2, 4)
    found = breakdown.by_frequency(systems, reference, training, edges=edges)
    for place, low in enumerate(edges):
        high = edges[place + 1] if place + 1 < len(edges) else 10**9
        own = {word for word in WORDS if low <= counts[word] < high}
        for runs, value in zip(systems, found[place].values, strict=True):
            matched = said = wanted = 0
            for run in runs:
                for line, target in zip(run, reference, strict=True):
                    x, y = Counter(line.split()), Counter(target.split())
                    matched += sum(min(x[w], y[w]) for w in own)
                    said += sum(x[w] for w in own)
                    wanted += sum(y[w] for w in own)
            assert value == pytest.approx(200 * matched / (said + wanted) if said + wanted else 0.0)
        assert found[place].size == sum(line.split().count(w) for line in reference for w in own)


def test_scores_of_classes_are_scores_of_their_sentences() -> None:
    rng = np.random.default_rng(3)
    reference = [line or "a" for line in texts(rng, 40)]
    runs = [texts(rng, 40) for _ in range(2)]
    metric = Bleu(tokenize="none")
    rows = np.stack([statistics(metric, run, [[r] for r in reference]) for run in runs])
    lengths = breakdown.Words().lengths(reference)
    found = breakdown.by_sentences([rows], metric, lengths, (1, 3, 6))
    assert sum(bucket.size for bucket in found) == 40
    own = [i for i, line in enumerate(reference) if 3 <= len(line.split()) < 6]
    assert found[1].label == "3 to 5" and found[1].size == len(own)
    assert found[1].values[0] == pytest.approx(float(metric.score(rows[:, own].sum(axis=(0, 1)))))


def test_ngrams_are_clipped_and_ranked() -> None:
    ahead, behind = breakdown.ngrams([["the cat the cat"]], [["the dog sat"]], ["the cat sat"])
    assert [(n.words, n.first, n.second) for n in ahead] == [("the cat", 1.0, 0.0), ("cat", 1.0, 0.0)]
    assert [(n.words, n.first, n.second) for n in behind] == [("sat", 0.0, 1.0)]
    assert breakdown.ngrams([["Sat."]], [["x"]], ["sat."], tokenized=False)[0][0].words == "."


@pytest.mark.parametrize("seed", range(4))
def test_moved_words_are_those_that_no_common_order_keeps(seed: int) -> None:
    """Against trying all ways to leave words out; each word stands once."""
    rng = random.Random(seed)
    for _ in range(60):
        one, two = (rng.sample(WORDS, rng.randint(1, 6)) for _ in range(2))
        both = [word for word in one if word in two]
        kept = max(
            (k for k in range(len(both) + 1) for c in itertools.combinations(both, k)
             if list(c) == sorted(c, key=two.index)),
        )  # fmt: skip
        found = breakdown.reordered([" ".join(one)], [" ".join(two)], least=0)
        assert [r.moved for r in found] == [len(both) - kept] * (kept < len(both))
        if found:
            assert found[0].shared == pytest.approx(2 * len(both) / (len(one) + len(two)))


def test_sentences_in_another_order_are_listed_for_judging(tmp_path: Path, cli: Cli) -> None:
    for name, lines in {
        "src": ["das hat er gesagt", "ja", "wann kommst du", "so ist es"],
        "ref": ["he said that", "yes", "when do you come", "so it is"],
        "old": ["that has he said", "yes", "when come you", "the the so it is"],
        "new": ["he has said that", "yes yes", "when you come", "so"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [tmp_path / "old", tmp_path / "new", "--refs", tmp_path / "ref"]
    rows = tmp_path / "judge.tsv"
    code, _, err = cli("compare", *files, "--src", tmp_path / "src", "--reordered", rows, "--analyse")
    assert code == 0 and "2 sentences are in" in err
    head, *told = [line.split("\t") for line in rows.read_text(encoding="utf-8").splitlines()]
    assert head == ["line", "words moved", "source", "reference", "one", "two", "one is"]
    assert [row[:4] for row in told] == [
        ["1", "2", "das hat er gesagt", "he said that"],
        ["3", "1", "wann kommst du", "when do you come"],
    ]
    for row in told:
        own = {
            name: (tmp_path / name).read_text(encoding="utf-8").splitlines()[int(row[0]) - 1] for name in ("old", "new")
        }
        other = "old" if Path(row[6]).name == "new" else "new"
        assert row[4] == own[Path(row[6]).name] and row[5] == own[other]
    code, out, err = cli("compare", *files, "--reordered", tmp_path / "none" / "rows.tsv")
    assert code == 1 and not out and "cannot be written" in err
    code, out, _ = cli("compare", *files, "--analyse")
    assert "mostly the same words in another order: 2 sentences" in out and "line 1, words moved: 2" in out


def test_compare_analyse(tmp_path: Path, cli: Cli) -> None:
    for name, lines in {
        "ref": ["the cat sat on the mat", "a dog barks at the rare gnu"],
        "old": ["the cat sat on mat", "a dog barks at the"],
        "new": ["the cat sat on the mat", "a dog barks at the gnu"],
        "train": ["the cat the dog"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [tmp_path / "old", tmp_path / "new", "--refs", tmp_path / "ref", "--metric", "bleu:tokenize=none"]
    code, out, err = cli("compare", *files, "--analyse", "--tokenized", "--train-text", tmp_path / "train")
    assert code == 0, err
    for text in ("F-measure of words", "by length of the reference", "hardest", "gnu", "line 2, +", "gets right"):
        assert text in out
    code, _, err = cli("compare", *files, "--tokenized")
    assert code == 2 and "go with --analyse, --report, --reordered or a filter" in err


@pytest.fixture
def filtered(tmp_path: Path) -> dict[str, list[str]]:
    rng = np.random.default_rng(2)
    words = ["the", "cat", "sat", "on", "a", "mat", "gnu", "dog"]
    reference = [" ".join(rng.choice(words, size=rng.integers(2, 15))) for _ in range(80)]
    texts = {"ref": reference, "src": [line.upper() for line in reference]}
    texts["src"][7] = texts["src"][3]
    for name, noise in (("old", 0.4), ("new", 0.2)):
        texts[name] = [
            " ".join(w if rng.random() > noise else str(rng.choice(words)) for w in line.split()) for line in reference
        ]
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "train.src").write_text("THE CAT SAT ON A MAT\n", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("Dog\tHund\nGNU\tGnu\n", encoding="utf-8")
    return texts


@pytest.mark.parametrize(
    ("options", "test"),
    [
        (["--min-words", "5", "--max-words", "9"], lambda _i, s: 5 <= len(s) <= 9),
        (["--containing", "Gnu"], lambda _i, s: "GNU" in s),
        (["--unknown-words", "some"], lambda _i, s: {"GNU", "DOG"} & set(s)),
        (["--unknown-words", "none"], lambda _i, s: not {"GNU", "DOG"} & set(s)),
        (["--terms", "some", "--min-words", "4"], lambda _i, s: {"GNU", "DOG"} & set(s) and len(s) >= 4),
        (["--drop-duplicates"], lambda i, _s: i != 7),
    ],
)
def test_filters_leave_a_text_of_its_own(
    tmp_path: Path, cli: Cli, filtered: dict[str, list[str]], options: list[str], test: Callable[[int, list[str]], Any]
) -> None:
    """Scores and p are those of files that have only these sentences."""
    kept = [i for i, line in enumerate(filtered["src"]) if test(i, line.split())]
    assert 5 < len(kept) < 80
    for name in ("ref", "old", "new"):
        (tmp_path / f"{name}.some").write_text("".join(filtered[name][i] + "\n" for i in kept), encoding="utf-8")
    common = ["--metric", "bleu:tokenize=none", "--json", "--samples", "500"]
    more = ["--train-source", tmp_path / "train.src", "--glossary", tmp_path / "terms.tsv", "--src", tmp_path / "src"]
    code, out, err = cli(
        "compare", f"old={tmp_path / 'old'}", f"new={tmp_path / 'new'}", "--refs", tmp_path / "ref", *common, *more,
        *options, "--tokenized",
    )  # fmt: skip
    assert code == 0, err
    assert f"{len(kept)} of 80 sentences" in err
    some = [f"{name}={tmp_path / f'{name}.some'}" for name in ("old", "new")]
    assert json.loads(out) == json.loads(cli("compare", *some, "--refs", tmp_path / "ref.some", *common)[1])


def test_filters_that_cannot_be_answered(tmp_path: Path, cli: Cli, filtered: dict[str, list[str]]) -> None:
    files = [tmp_path / "old", tmp_path / "new", "--refs", tmp_path / "ref"]
    for options, told in (
        (["--unknown-words", "some"], "name both"),
        (["--terms", "none", "--src", tmp_path / "src"], "name both"),
        (["--containing", "no such text"], "no sentence is left"),
    ):
        code, _, err = cli("compare", *files, *options)
        assert code == 1 and told in err
