"""Forests in Python: what a user sees of them, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests import tiny

from dragoman.decoder import Decoder, Forest, read_forests, write_forests
from dragoman.errors import InputError, OptionError
from dragoman.types import ForestColumns, Names, Texts, Weights

TAIL = 1 << 31
LINES = tiny.lines(6, longest=6)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return Decoder(tiny.model(tmp_path_factory.mktemp("tiny")), features=tiny.SETS, search=tiny.SEARCH)


def by_hand() -> Forest:
    """S -> X1 X2 | X2 `and` X1, X -> a | b c."""
    columns = {
        "nodes": np.array([2]), "starts": np.array([0, 4]), "heads": np.array([0, 0, 1, 1], dtype=np.uint32),
        "tail_starts": np.array([0, 0, 0, 2, 4]), "tails": np.array([0, 0, 0, 0], dtype=np.uint32),
        "symbol_starts": np.array([0, 1, 3, 5, 8]),
        "symbols": np.array([0, 1, 2, TAIL, TAIL + 1, TAIL + 1, 3, TAIL], dtype=np.uint32),
        "words": Texts(["a", "b", "c", "and"]),
        "row_starts": np.array([0, 1, 2, 3, 4]), "columns": np.array([0, 0, 1, 1], dtype=np.uint32),
        "values": np.array([-1.0, -3.0, 0.5, 1.0]), "scores": np.array([-1.0, -3.0, 0.5, 1.0]),
        "spans": np.array([0, 1, 0, 1, 0, 2, 0, 2], dtype=np.uint32),
        "link_starts": np.array([0, 1, 1, 1, 2]), "links": np.array([0, 0, 1, 1], dtype=np.uint32),
    }  # fmt: skip
    return Forest(ForestColumns.of(["s"], Names(["inner", "top"]), **columns))


def test_derivations_by_hand() -> None:
    forest = by_hand()
    assert not forest.is_lattice and forest.nodes == 2
    assert [edge.target for edge in forest.edges] == [["a"], ["b", "c"], [0, 1], [1, "and", 0]]
    best = forest.k_best(3)
    assert [(d.text, d.score) for d in best[:2]] == [("a and a", -1.0), ("a a", -1.5)]
    assert best[2].text in {"b c and a", "a and b c"} and best[2].score == -3.0
    assert best[0].features == {"inner": -2.0, "top": 1.0} and best[0].alignment == "0-0 0-2 1-1"
    assert list(best[0].edges) == [0, 0, 3]
    assert len(forest.k_best(100)) == len({d.text for d in forest.k_best(100)}) == 8
    assert [d.text for d in forest.k_best(5, distinct=False)].count("a and b c") <= 1
    reached = forest.reach("b c a")
    assert reached is not None and reached.score == -3.5 and forest.reach("c b") is None
    assert forest.outline(best[0].edges).splitlines()[0].startswith("X 0-2 1.0000 [2] and [1]")
    assert [line.count("  ") for line in forest.outline(best[0].edges).splitlines()] == [0, 1, 1]
    with pytest.raises(OptionError, match="no derivation"):
        forest.outline([3])


def test_pruning_and_other_weights() -> None:
    forest = by_hand()
    assert {d.text for d in forest.pruned(beam=0.0).k_best(9)} == {"a and a"}
    assert len(forest.pruned(beam=0.5).edges) == 3
    assert len(forest.pruned(edges=2).edges) == 2
    for wrong in ({}, {"edges": 1, "beam": 1.0}):
        with pytest.raises(OptionError, match="either"):
            forest.pruned(**wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="0 or more"):
        forest.pruned(beam=-1.0)
    other = forest.rescored(Weights.of({"inner": -1.0, "top": -1.0}))
    assert other.k_best(1)[0].text == "b c b c" and other.k_best(1)[0].score == 5.5


def test_files(tmp_path: Path) -> None:
    forest, names = by_hand(), Names([])
    write_forests(tmp_path / "f.jsonl.gz", [forest, forest])
    again = list(read_forests(tmp_path / "f.jsonl.gz", names))
    assert [f.to_dict() for f in again] == [forest.to_dict()] * 2
    assert again[0].id == "s" and names.to_list() == ["inner", "top"]
    write_forests(tmp_path / "f.cdec", [forest])
    weights = Weights.of({"inner": 1.0, "top": 1.0})
    (cdec,) = read_forests(tmp_path / "f.cdec")
    assert [d.text for d in cdec.rescored(weights).k_best(9)] == [d.text for d in forest.k_best(9)]
    assert '"[X] ||| [X] u ||| [2] and [1]"' in forest.to_cdec("t u")
    with pytest.raises(OptionError, match="several tails"):
        forest.to_openfst()
    for text, told in (("{}", "number of `nodes`"), ('{"nodes": 1, "edges": [{"head": 0, "target": [3]}]}', "tail")):
        (tmp_path / "bad.jsonl").write_text(f"{forest.to_json()}\n{text}\n")
        with pytest.raises(InputError, match=rf"bad\.jsonl:2.*{told}"):
            list(read_forests(tmp_path / "bad.jsonl"))


def test_forests_of_the_decoder(decoder: Decoder, tmp_path: Path) -> None:
    for line in LINES:
        forest = decoder.forest(line, features=True)
        assert forest.is_lattice
        best, listed = forest.k_best(20), decoder.nbest([line], 20, features=True)
        assert listed.totals is not None
        assert [d.score for d in best] == pytest.approx(listed.totals.tolist(), abs=1e-3)
        few = decoder.forest(line, features=True, density=2)
        assert len(few.edges) <= len(forest.edges)
        assert few.k_best(1)[0].text == best[0].text
        same = forest.rescored(decoder.weights)
        assert [edge.score for edge in same.edges] == pytest.approx([e.score for e in forest.edges], abs=1e-3)
        found = json.loads(forest.to_json())
        assert found["nodes"] == forest.nodes and len(found["edges"]) == len(forest.edges)
        fst = [arc.split("\t") for arc in forest.to_openfst().split("\n")]
        assert fst[-2:] == [[str(forest.nodes)], [""]] and all(int(arc[0]) < int(fst[-2][0]) for arc in fst[:1])
    assert decoder.forest(LINES[0]).edges[0].features == {}
    write_forests(tmp_path / "all.jsonl", (decoder.forest(line, features=True) for line in LINES))
    assert [f.nodes for f in read_forests(tmp_path / "all.jsonl")] == [decoder.forest(line).nodes for line in LINES]


def test_columns_are_checked() -> None:
    made = by_hand().columns.columns()
    assert len(ForestColumns.of(["s"], Names(["a", "b"]), **made)) == 1
    for name, value, told in (
        ("heads", np.array([0, 0, 1, 2], dtype=np.uint32), "node 2"),
        ("tails", np.array([0, 0, 1, 0], dtype=np.uint32), "below"),
        ("symbols", np.array([0, 1, 9, TAIL, TAIL + 1, TAIL + 1, 3, TAIL], dtype=np.uint32), "word 9"),
        ("starts", np.array([0, 3]), "starts of edges"),
        ("scores", np.array([0.0, 0.0, np.inf, 0.0]), "finite"),
    ):
        with pytest.raises(OptionError, match=told):
            ForestColumns.of(["s"], Names(["a", "b"]), **{**made, name: value})
    with pytest.raises(OptionError, match="one sentence"):
        Forest(by_hand().columns.take(np.array([0, 0])))
