"""Columns of one's own in JSON lines, records and data frames: kept, typed, and the same when they come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import nbest
from dragoman.errors import DragomanError, InputError
from dragoman.metrics import External
from dragoman.types import Candidates, Names, Texts

LINES = [
    {"id": 0, "text": "a b", "features": {"LM": -1.5, "TM": [1, 2]}, "sparse": {"s": 1}, "comet": 0.8, "origin": "x"},
    {"id": 0, "text": "a c", "features": {"LM": -2}, "scores": {"human": 3}, "comet": 0.25, "tags": ["n", 1], "e": ""},
    {"id": 2, "text": "ä", "total": -4.5, "alignment": "0-0", "origin": "y\n\"z\"", "tags": None, "big": 2**53 + 1},
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "list.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    return path


def test_other_keys_are_columns(file: Path) -> None:
    found = nbest.read(file)
    assert set(found.columns) == {"comet", "origin"}
    comet, origin = found.columns["comet"], found.columns["origin"]
    assert isinstance(comet, np.ndarray)
    assert isinstance(origin, Texts)
    assert comet[:2].tolist() == [0.8, 0.25]
    assert np.isnan(comet[2])
    assert origin.to_list() == ["x", "", 'y\n"z"']
    # A list, an empty text and a number that is no double are kept as they are.
    assert {name: column.to_list() for name, column in found.json.items()} == {
        "tags": ["", '["n", 1]', "null"],
        "e": ["", '""', ""],
        "big": ["", "", str(2**53 + 1)],
    }


def test_they_are_written_as_they_were(file: Path, tmp_path: Path) -> None:
    nbest.write(tmp_path / "again.jsonl", nbest.read(file))
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    for before, after in zip(LINES, again, strict=True):
        own = {key: value for key, value in before.items() if key not in {"features", "sparse", "scores"}}
        # Alignments are a column of all candidates.
        assert {key: after[key] for key in own} == own
        assert set(after) - {"alignment"} == set(before) - {"alignment"}


def test_streams_keep_them(file: Path) -> None:
    batches = list(nbest.stream(file, batch=1))
    assert batches[0].columns["comet"].tolist() == [0.8, 0.25]  # type: ignore[union-attr]
    assert batches[1].columns["origin"].to_list() == ['y\n"z"']  # type: ignore[union-attr]
    assert batches[1].json["tags"].to_list() == ["null"]


def test_metrics_read_them(file: Path) -> None:
    found = nbest.read(file).take(np.array([0]))
    rows = External("comet").prepare([()]).statistics(found.hypotheses)
    assert rows[:, 0].tolist() == [0.8, 0.25]
    with pytest.raises(InputError, match="no hypothesis has a score called `origin`"):
        External("origin").prepare([()]).statistics(found.hypotheses)


def test_take_and_join_keep_them(file: Path) -> None:
    names = Names()
    found = nbest.read(file, names=names)
    last = found.take(np.array([1]))
    assert last.columns["origin"].to_list() == ['y\n"z"']  # type: ignore[union-attr]
    assert last.json["big"].to_list() == [str(2**53 + 1)]
    joined = nbest.join([found, nbest.read(file, names=names)])
    assert joined.size == 3
    assert joined.columns["comet"].tolist()[:2] == [0.8, 0.25]  # type: ignore[union-attr]
    assert joined.json["tags"].to_list() == ["", '["n", 1]', "null"]
    other = Candidates.from_records([{"id": 5, "text": "z", "comet": "high", "origin": "w", "new": 1}], names)
    mixed = nbest.join([found, other])
    assert mixed.json["comet"].to_list() == ["0.8", "0.25", "", '"high"']
    assert mixed.columns["origin"].to_list() == ["x", "", 'y\n"z"', "w"]  # type: ignore[union-attr]
    assert mixed.columns["new"].tolist()[3] == 1.0  # type: ignore[union-attr]


def test_other_formats_refuse_them(file: Path, tmp_path: Path) -> None:
    columns = Candidates.from_records([{"id": 0, "text": "a", "comet": 1.0}])
    with pytest.raises(DragomanError, match="moses cannot hold the column `comet`: write jsonl"):
        nbest.write(tmp_path / "list.moses", columns)
    strange = Candidates(columns.ids, columns.starts, columns.texts, columns.features, columns={"total": np.zeros(1)})
    with pytest.raises(DragomanError, match="a column cannot be called `total`"):
        nbest.write(tmp_path / "list.jsonl", strange)
    broken = Candidates(columns.ids, columns.starts, columns.texts, columns.features, json={"x": Texts(["{"])})
    with pytest.raises(DragomanError, match="the value of `x` is not finite, or no JSON"):
        nbest.write(tmp_path / "list.jsonl", broken)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id":0,"text":"a","feature":{"LM":1}}', "did you mean `features`"),
        ('{"id":0,"text":"a","x":1,"x":2}', "each key once"),
        ('{"id":0,"text":"a","x":tru}', "a JSON value"),
        ('{"id":0,"text":"a","x":[1}', "`,` or `]`"),
        ('{"id":0,"txt":"a"}', "the key `text`"),
        ("{" + '"id":0,"text":"a"' + "".join(f',"k{n}":1' for n in range(300)) + "}", "at most 256 keys"),
    ],
)
def test_slips_in_a_line(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=said) as caught:
        nbest.read(tmp_path / "bad.jsonl")
    assert caught.value.line == 1


def same(a: Candidates, b: Candidates) -> None:
    for name in ("ids", "texts", "alignments", "extra"):
        assert getattr(a, name) == getattr(b, name), name
    assert a.starts.tolist() == b.starts.tolist()
    assert [a.features.row(r) for r in range(a.size)] == [b.features.row(r) for r in range(b.size)]
    np.testing.assert_array_equal(a.totals, b.totals)
    assert a.scores.keys() == b.scores.keys()
    assert a.columns.keys() == b.columns.keys()
    others = {**b.scores, **b.columns}
    for name, column in {**a.scores, **a.columns}.items():
        other = others[name]
        if isinstance(column, Texts):
            assert column == other
        else:
            np.testing.assert_array_equal(column, other)
    assert {n: [json.loads(v) if v else "-" for v in c] for n, c in a.json.items()} == {
        n: [json.loads(v) if v else "-" for v in c] for n, c in b.json.items()
    }


def test_records_are_what_lines_are(file: Path) -> None:
    lists = nbest.read(file)
    same(lists, Candidates.from_records(LINES))
    same(lists, Candidates.from_records(lists.to_records()))


VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.text(st.characters(exclude_categories=["Cs"])),
    st.booleans(), st.none(), st.lists(st.integers(-5, 5), max_size=2),
)  # fmt: skip


@given(
    st.lists(st.dictionaries(st.sampled_from(["p", "q", "r"]), VALUES, max_size=3), min_size=1, max_size=5),
)
def test_any_columns_come_back(tmp_path_factory: pytest.TempPathFactory, own: list[dict[str, Any]]) -> None:
    records = [{"id": number // 2, "text": "t", **more} for number, more in enumerate(own)]
    lists = Candidates.from_records(records)
    assert lists.to_records() == records
    path = tmp_path_factory.mktemp("own") / "list.jsonl"
    nbest.write(path, lists)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] == records
    same(lists, nbest.read(path))


def test_sentences_come_together() -> None:
    rows = [{"id": i, "text": str(n)} for n, i in enumerate([3, 1, 3, 0])]
    found = Candidates.from_records(rows)
    assert found.ids.to_list() == ["0", "1", "3"]
    assert found.texts.to_list() == ["3", "1", "0", "2"]
    words = Candidates.from_records([{"id": i, "text": i} for i in "bab"])
    assert words.ids.to_list() == ["b", "a"]


def test_numpy_values_are_taken() -> None:
    found = Candidates.from_records(
        [
            {
                "id": np.int64(1),
                "text": "a",
                "features": {"v": np.array([1.0, 2.0])},
                "n": np.float32(0.5),
                "b": np.bool_(True),
            }
        ]
    )
    assert found.features.row(0) == {"v[0]": 1.0, "v[1]": 2.0}
    assert found.columns["n"].tolist() == [0.5]  # type: ignore[union-attr]
    assert found.json["b"].to_list() == ["true"]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ("text", r"expected a list of dictionaries with the keys id and text, found 'text' \(str\)"),
        (7, r"expected a list of dictionaries .* found 7 \(int\)"),
        ([], "at least one candidate, found no record"),
        ([["a"]], r"record 0: expected a dictionary .* found \['a'\] \(list\)"),
        ([{"text": "a"}], "record 0: expected a non-negative integer or a text as id, found nothing"),
        ([{"id": -1, "text": "a"}], "non-negative integer"),
        ([{"id": True, "text": "a"}], "non-negative integer"),
        ([{"id": 0, "text": "a"}, {"id": 0, "text": 5}], r"record 1: expected a text as text, found 5 \(int\)"),
        ([{"id": 0, "text": "a", "features": [1]}], "a dictionary of names and numbers as features"),
        ([{"id": 0, "text": "a", "features": {"LM": "x"}}], r"a finite number as value of the feature `LM`, found 'x'"),
        ([{"id": 0, "text": "a", "features": {"LM": float("nan")}}], "a finite number as value of the feature `LM`"),
        ([{"id": 0, "text": "a", "features": {"LM": []}}], "at least one number as value of the feature `LM`"),
        ([{"id": 0, "text": "a", "features": {"f": 1}, "sparse": {"f": 1}}], "the feature `f` is there twice"),
        ([{"id": 0, "text": "a", "scores": {"c": None}}], "a finite number as score `c`, found nothing"),
        ([{"id": 0, "text": "a", "total": "x"}], "a finite number as total"),
        ([{"id": 0, "text": "a", "own": object()}], "a number, a text or other JSON as `own`"),
        ([{"id": 0, "text": "a", "own": float("inf")}], "the column `own` has a number that is not finite"),
        ([{"id": 0, "text": "a", 5: 1}], r"texts as keys of a record, found 5 \(int\)"),
    ],
)
def test_wrong_records(records: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Candidates.from_records(records)


def test_data_frames(file: Path) -> None:
    pandas = pytest.importorskip("pandas")
    lists = Candidates.from_records([{k: v for k, v in line.items() if k not in {"tags", "big"}} for line in LINES])
    frame = lists.to_pandas()
    assert frame["feature:LM"].tolist()[:2] == [-1.5, -2.0]
    assert frame["score:human"].tolist()[1] == 3.0
    assert frame["comet"].tolist()[:2] == [0.8, 0.25]
    same(lists, Candidates.from_pandas(frame))
    with pytest.raises(InputError, match=r"expected a pandas data frame, found \[\] \(list\)"):
        Candidates.from_pandas([])
    with pytest.raises(InputError, match="no column `text`; there are: id"):
        Candidates.from_pandas(pandas.DataFrame({"id": [0]}))
    with pytest.raises(InputError, match="record 1: expected a finite number as value of the feature `LM`"):
        Candidates.from_pandas(pandas.DataFrame({"id": [0, 0], "text": ["a", "b"], "feature:LM": [1.0, "x"]}))
