from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dragoman import nbest

LISTS = [
    "moses-nbest/nbest.out.gz",
    *(f"golden-moses/{w}.{s}.nbest20.gz" for w in ("default", "tuned") for s in ("cube1000", "stack200")),
]


def slow(path: Path) -> Iterator[tuple[str, str, dict[str, float], float, str]]:
    """The obvious parser, word by word."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            ident, text, features, total, *rest = (column.strip() for column in line.split("|||"))
            groups: dict[str, list[float]] = {}
            for word in features.split():
                if word[-1] in "=:":
                    groups[word[:-1]] = current = []
                else:
                    current.append(float(word))
            row = {
                name if len(values) == 1 else f"{name}[{k}]": value
                for name, values in groups.items()
                for k, value in enumerate(values)
            }
            yield ident, text, row, float(total), rest[0] if rest else ""


@pytest.mark.parametrize("name", LISTS)
def test_reads_what_a_slow_parser_reads(data: Path, name: str) -> None:
    c = nbest.read(data / name)
    sentence = c.sentence.tolist()
    ids = c.ids.to_list()
    assert c.totals is not None
    count = 0
    for count, (ident, text, row, total, alignment) in enumerate(slow(data / name), 1):
        i = count - 1
        assert (ids[sentence[i]], c.texts[i], c.totals[i]) == (ident, text, total)
        assert c.features.row(i) == row
        assert alignment == ("" if c.alignments is None else c.alignments[i])
    assert count == c.size
    names = c.features.names
    assert all(names.is_dense(n) for n in names.to_list())


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("middle", ["m.jsonl", "m.jsonl.zst"])
def test_moses_to_jsonl_to_moses(data: Path, tmp_path: Path, name: str, middle: str) -> None:
    nbest.convert(data / name, tmp_path / "canonical")
    nbest.convert(tmp_path / "canonical", tmp_path / middle)
    nbest.convert(tmp_path / middle, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "canonical").read_bytes()


@pytest.mark.parametrize("name", LISTS[1:])
def test_canonical_form_changes_blanks_only(data: Path, tmp_path: Path, name: str) -> None:
    nbest.convert(data / name, tmp_path / "canonical")
    with gzip.open(data / name, "rt", encoding="utf-8") as lines:
        original = [line.split() for line in lines]
    assert [line.split() for line in (tmp_path / "canonical").read_text().splitlines()] == original


def test_streaming_is_reading(data: Path) -> None:
    whole = nbest.read(data / LISTS[0])
    parts = list(nbest.stream(data / LISTS[0], batch=700))
    assert len(parts) > 10
    assert [i for p in parts for i in p.ids] == whole.ids.to_list()
    assert [t for p in parts for t in p.texts] == whole.texts.to_list()
    assert whole.totals is not None
    np.testing.assert_array_equal(np.concatenate([p.features.values for p in parts]), whole.features.values)
    np.testing.assert_array_equal(np.concatenate([p.features.columns for p in parts]), whole.features.columns)


def test_figures(data: Path) -> None:
    s = nbest.stat(data / LISTS[0])
    assert (s.sentences, s.candidates, s.sparse, len(s.dense)) == (100, 10_000, 0, 15)
    c = nbest.read(data / LISTS[0])
    matrix = c.features.dense()
    for j, feature in enumerate(s.dense):
        lists = [matrix[c.starts[k] : c.starts[k + 1], j] for k in range(len(c))]
        assert feature.constant == all(np.ptp(v) == 0 for v in lists)
        assert (feature.minimum, feature.maximum) == (matrix[:, j].min(), matrix[:, j].max())
        assert feature.mean == pytest.approx(matrix[:, j].mean())
    texts = c.texts.to_list()
    distinct = sum(len(set(texts[c.starts[k] : c.starts[k + 1]])) for k in range(len(c)))
    assert s.duplicates == c.size - distinct
