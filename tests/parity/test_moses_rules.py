"""The same phrase pairs, scores, links and orientations as Moses' own tools, on 3,000 real sentence pairs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dragoman import rules

MODELS = ("wbe", "phrase", "hier")


def entries(path: Path) -> dict[tuple[str, str], list[str]]:
    with gzip.open(path, "rt") as lines:
        parts = [line.rstrip("\n").split(" |||") for line in lines]
    return {(fields[0], fields[1].removeprefix(" ")): fields[2:] for fields in parts}


def numbers(table: dict[tuple[str, str], list[str]], field: int = 0) -> npt.NDArray[np.float64]:
    """One field of all entries, in their order."""
    words = " ".join(fields[field] for fields in table.values()).split()
    return np.array(list(map(float, words))).reshape(len(table), -1)


def close(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> bool:
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-5)


@pytest.fixture(scope="module")
def exported(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    golden = data / "golden-rules"
    report = rules.extract(
        golden / "train.de.gz",
        golden / "train.en.gz",
        golden / "aligned.grow-diag-final-and.gz",
        folder / "rules",
        reordering=MODELS,
        add=0.5,
        moses_next=True,
        lexical=folder / "lex.gz",
    )
    assert (report.pairs, report.rules) == (3000, 88395)
    files = {model: folder / f"{model}.gz" for model in MODELS}
    rules.Table(folder / "rules").export(folder / "phrase-table.gz", reordering=files)
    return folder


def test_phrase_table(data: Path, exported: Path) -> None:
    want, got = entries(data / "golden-rules/phrase-table.gz"), entries(exported / "phrase-table.gz")
    assert list(got) == list(want)
    assert close(numbers(got), numbers(want))
    assert np.array_equal(numbers(got, 2), numbers(want, 2)), "counts"
    assert all(sorted(got[key][1].split()) == sorted(want[key][1].split()) for key in want), "links"


@pytest.mark.parametrize("model", MODELS)
def test_reordering_tables(data: Path, exported: Path, model: str) -> None:
    want = entries(data / f"golden-rules/reordering-table.{model}-msd-bidirectional-fe.gz")
    got = entries(exported / f"{model}.gz")
    assert list(got) == list(want)
    assert close(numbers(got), numbers(want))


@pytest.mark.parametrize("side", ["f2e", "e2f"])
def test_lexical_tables(data: Path, exported: Path, side: str) -> None:
    def read(path: Path) -> dict[tuple[str, str], float]:
        with gzip.open(path, "rt") as lines:
            return {(a, b): float(p) for a, b, p in map(str.split, lines)}

    want, got = read(data / f"golden-rules/lex.{side}.gz"), read(exported / f"lex.{side}.gz")
    assert got.keys() == want.keys()
    assert max(abs(got[key] - want[key]) for key in want) < 1e-5


def test_import_of_a_moses_system(data: Path, tmp_path: Path) -> None:
    golden = data / "golden-moses"
    out = tmp_path / "rules"
    found = rules.import_moses(
        golden / "phrase-table.gz", out, reordering=[golden / "reordering-table.gz"], memory="1M"
    )
    assert (found.rules, found.repeated, found.missing, found.unused) == (43870, 0, [0], [0])
    table = rules.Table(out)
    table.verify()
    assert table.columns[:5] == (*rules.MOSES_COLUMNS, "wbe.previous.M")
    want, orders = entries(golden / "phrase-table.gz"), entries(golden / "reordering-table.gz")
    found_scores, wanted_scores = [], []
    for phrase in {source for source, _ in want}:
        for rule in table.lookup(phrase):
            scores, links = want[phrase, rule.target][:2]
            assert [f"{i}-{j}" for i, j in rule.links] == links.split()
            found_scores.append(rule.scores)
            wanted_scores.append([float(v) for v in scores.split() + orders[phrase, rule.target][0].split()])
    assert len(found_scores) == len(want)
    assert close(np.array(found_scores), np.log(np.array(wanted_scores)))


def test_export_and_import_are_inverse(exported: Path, tmp_path: Path) -> None:
    files = {"hier": exported / "hier.gz"}
    rules.import_moses(exported / "phrase-table.gz", tmp_path / "again", reordering=files)
    again = rules.Table(tmp_path / "again")
    again.export(tmp_path / "phrase-table.gz", reordering={"hier": tmp_path / "hier.gz"})
    for name in ("phrase-table.gz", "hier.gz"):
        want, got = entries(exported / name), entries(tmp_path / name)
        assert list(want) == list(got)
        assert close(numbers(got), numbers(want))
