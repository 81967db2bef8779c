from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import word_classes
from dragoman.errors import InputError, OptionError

Cli = Callable[..., tuple[int, str, str]]
TEXT = [f"the {noun} {verb} a {other} ." for noun in "abcdef" for verb in ("sees", "eats") for other in "fedcba"]


def likelihood(lines: Sequence[str], classes: dict[str, int]) -> float:
    """Log p(c | c') + log p(w | c), summed over words and ends, straight from the definition."""
    pairs, left, total, words = Counter[tuple[int, int]](), Counter[int](), Counter[int](), Counter[str]()
    for line in lines:
        last = 0
        for word in line.split():
            words[word] += 1
            total[classes[word]] += 1
            pairs[last, classes[word]] += 1
            last = classes[word]
        pairs[last, 0] += 1
    for (a, _), count in pairs.items():
        left[a] += count
    value = sum(count * math.log(count / left[a]) for (a, _), count in pairs.items())
    return value + sum(count * math.log(count / total[classes[word]]) for word, count in words.items())


def test_train(tmp_path: Path) -> None:
    found = word_classes.train(TEXT, classes=5)
    table = dict(zip(found.words, found.numbers.tolist(), strict=True))
    assert len({table[word] for word in "bcdef"}) == 1
    assert table["sees"] == table["eats"] != table["the"]
    assert set(table.values()) == set(range(2, 7))
    assert found.likelihood == pytest.approx(likelihood(TEXT, table))
    assert found.tokens == 7 * len(TEXT) and found.perplexity == pytest.approx(math.exp(-found.mean))
    (tmp_path / "text").write_text("\n".join(TEXT) + "\n\n")
    seen: list[int] = []
    again = word_classes.train(tmp_path / "text", classes=5, threads=1, progress=seen.append)
    assert np.array_equal(again.numbers, found.numbers) and again.likelihood == found.likelihood
    assert seen == sorted(seen)


def test_files(tmp_path: Path) -> None:
    found = word_classes.train(TEXT, classes=3)
    found.save(tmp_path / "c.xz")
    again = word_classes.Classes.load(tmp_path / "c.xz")
    assert again.words == found.words and np.array_equal(again.numbers, found.numbers)
    assert again["the"] == found["the"] and again["never"] is None and len(again) == 10
    assert again.apply(["the never", ""]).to_list() == [f"{found['the']} 1", ""]
    with pytest.raises(OptionError, match="just been trained"):
        _ = again.mean
    (tmp_path / "bad").write_text("a\t2\nb\n")
    with pytest.raises(InputError, match="bad:2: expected a word, a tab"):
        word_classes.Classes.load(tmp_path / "bad")
    with pytest.raises(OptionError, match="not negative"):
        word_classes.Classes.of({"a": -1})


def test_options() -> None:
    with pytest.raises(OptionError, match="starts must be a whole number from 0 to 10000, or null"):
        word_classes.Options(starts=-1)
    wrongs: list[dict[str, Any]] = [{"classes": 0}, {"classes": -1}, {"seed": -1}, {"factor": -1}, {"threads": -2}]
    for wrong in wrongs:
        with pytest.raises(OptionError):
            word_classes.train(TEXT, **wrong)
    with pytest.raises(OptionError, match="found none"):
        word_classes.train(["", " "])
    with pytest.raises(ZeroDivisionError):

        def stop(_done: int) -> None:
            raise ZeroDivisionError

        word_classes.Counts([" ".join(f"w{k * k % 9973}" for k in range(60_000))]).train(200, progress=stop)


def test_factors() -> None:
    found = word_classes.train(["a|X b|Y", "c|X d|Y"], classes=2, factor=1)
    assert found.words.to_list() == ["X", "Y"]
    with pytest.raises(InputError, match="text:1: expected tokens with a factor number 2"):
        word_classes.train(["a|X"], factor=2)


def test_command_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(TEXT) + "\n\n")
    out = tmp_path / "c.{k}"
    code, text, err = cli("classes", "--text", tmp_path / "text", "--classes", "2", "5", "--out", out, "--json")
    figures = json.loads(text)
    assert code == 0 and [f["k"] for f in figures["classes"]] == [2, 5] and "1 of 73 lines are empty" in err
    assert word_classes.Classes.load(tmp_path / "c.5")["the"] is not None
    lines = (tmp_path / "c.2").read_bytes().splitlines()
    assert lines == sorted(lines) and {line.split(b"\t")[1] for line in lines} == {b"2", b"3"}
    assert cli("classes", "--text", tmp_path / "text", "--classes", "2", "5", "--out", tmp_path / "x")[0] == 1
    code, text, _ = cli("classes", "--text", tmp_path / "text", "--classes", "5", "--out", tmp_path / "x")
    assert code == 0 and text.splitlines()[0].split() == ["file", "classes", "log-likelihood", "perplexity"]
