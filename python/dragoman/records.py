"""Candidates from dictionaries and data frames, and back: the keys are those of JSON lines (`dragoman.nbest`)."""

from __future__ import annotations

import importlib
import json
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dragoman._core import names_dense
from dragoman.errors import InputError
from dragoman.types import F64, Candidates, Features, Names, Texts

__all__ = ["candidates_of", "of_frame", "records_of", "to_frame"]

_KEYS = ("id", "text", "features", "sparse", "scores", "total", "alignment", "extra")
_EXACT = 2**53
"""Whole numbers from here on are not all doubles."""


class _Record:
    """One dictionary with its place, for messages."""

    def __init__(self, number: int, values: object) -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"record {number}: expected a dictionary with the keys id and text, found {_kind(values)}")
        self.number, self.values = number, values

    def wrong(self, want: str, found: object) -> InputError:
        return InputError(f"record {self.number}: expected {want}, found {_kind(found)}")

    def id(self) -> str:
        found = self.values.get("id")
        if isinstance(found, (int, np.integer)) and not isinstance(found, bool) and found >= 0:
            return str(int(found))
        if isinstance(found, str) and found:
            return found
        raise self.wrong("a non-negative integer or a text as id", found)

    def text(self, key: str, missing: str | None = None) -> str:
        found = self.values.get(key, missing)
        if not isinstance(found, str):
            raise self.wrong(f"a text as {key}", found)
        return found

    def number_of(self, found: object, what: str) -> float:
        value = _number(found)
        if value is None or not math.isfinite(value):
            raise self.wrong(f"a finite number as {what}", found)
        return value

    def pairs(self, key: str) -> Iterator[tuple[str, object]]:
        found = self.values.get(key, {})
        if not isinstance(found, Mapping) or not all(isinstance(name, str) and name for name in found):
            raise self.wrong(f"a dictionary of names and numbers as {key}", found)
        yield from found.items()

    def features(self) -> Iterator[tuple[str, bool, float]]:
        """Names, whether they are dense, and values."""
        for name, found in self.pairs("features"):
            many = list(found) if isinstance(found, (list, tuple, np.ndarray)) else [found]
            if not many:
                raise self.wrong(f"at least one number as value of the feature `{name}`", found)
            for place, value in enumerate(many):
                own = name if len(many) == 1 else f"{name}[{place}]"
                yield own, True, self.number_of(value, f"value of the feature `{own}`")
        for name, found in self.pairs("sparse"):
            yield name, False, self.number_of(found, f"value of the sparse feature `{name}`")


def _kind(found: object) -> str:
    """A value for a message: what it is, and a little of it."""
    if found is None:
        return "nothing"
    text = repr(found)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(found).__name__})"


def _number(found: object) -> float | None:
    """A number as a double, if it is one."""
    if isinstance(found, (bool, np.bool_)) or not isinstance(found, numbers.Real):
        return None
    return float(found)


def candidates_of(records: Iterable[Mapping[str, Any]], names: Names | None = None) -> Candidates:
    """Candidates from dictionaries; those of a sentence may be anywhere, and stay in their order."""
    if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
        raise InputError(f"expected a list of dictionaries with the keys id and text, found {_kind(records)}")
    found = [_Record(number, values) for number, values in enumerate(records)]
    if not found:
        raise InputError("expected at least one candidate, found no record")
    ids = [record.id() for record in found]
    unique = list(dict.fromkeys(ids))
    if all(isinstance(record.values["id"], (int, np.integer)) for record in found):
        unique.sort(key=int)
    place = {name: at for at, name in enumerate(unique)}
    sentence = np.array([place[own] for own in ids])
    order = np.argsort(sentence, kind="stable")
    found = [found[int(at)] for at in order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(sentence, minlength=len(unique)))]).astype(np.int64)
    columns, others = _own(found)
    return Candidates(
        Texts(unique), starts, Texts([record.text("text") for record in found]),
        _features(found, Names() if names is None else names), _totals(found), _scores(found),
        _texts(found, "alignment"), _texts(found, "extra"), columns, others,
    )  # fmt: skip


def _features(found: list[_Record], names: Names) -> Features:
    starts, columns, values = [0], [], []
    for record in found:
        met: set[int] = set()
        for name, dense, value in record.features():
            column = names.intern(name, dense)
            if column in met:
                raise InputError(f"record {record.number}: the feature `{name}` is there twice")
            met.add(column)
            columns.append(column)
            values.append(value)
        starts.append(len(columns))
    return Features(
        names, np.array(starts, dtype=np.int64), np.array(columns, dtype=np.uint32), np.array(values, dtype=np.float64)
    )


def _totals(found: list[_Record]) -> F64 | None:
    if not any("total" in record.values for record in found):
        return None
    return np.array(
        [record.number_of(record.values["total"], "total") if "total" in record.values else np.nan for record in found]
    )


def _scores(found: list[_Record]) -> dict[str, F64]:
    names = dict.fromkeys(name for record in found for name, _ in record.pairs("scores"))
    table = {name: np.full(len(found), np.nan) for name in names}
    for row, record in enumerate(found):
        for name, value in record.pairs("scores"):
            table[name][row] = record.number_of(value, f"score `{name}`")
    return table


def _texts(found: list[_Record], key: str) -> Texts | None:
    return Texts([r.text(key, "") for r in found]) if any(key in r.values for r in found) else None


def _own(found: list[_Record]) -> tuple[dict[str, F64 | Texts], dict[str, Texts]]:
    """Columns of the user's own, by what their values are."""
    plain: dict[str, F64 | Texts] = {}
    others: dict[str, Texts] = {}
    keys = dict.fromkeys(key for record in found for key in record.values if key not in _KEYS)
    for key in keys:
        if not isinstance(key, str) or not key:
            raise InputError(f"expected texts as keys of a record, found {_kind(key)}")
        values = [record.values[key] for record in found if key in record.values]
        rows = [row for row, record in enumerate(found) if key in record.values]
        if all(_number(v) is not None and not (isinstance(v, (int, np.integer)) and abs(v) >= _EXACT) for v in values):
            column = np.full(len(found), np.nan)
            column[rows] = [float(value) for value in values]
            if np.isinf(column).any():
                raise InputError(f"the column `{key}` has a number that is not finite")
            plain[key] = column
            continue
        texts = [""] * len(found)
        strings = all(isinstance(value, str) and value for value in values)
        for row, value in zip(rows, values, strict=True):
            texts[row] = value if strings else _json(found[row], key, value)
        (plain if strings else others)[key] = Texts(texts)
    return plain, others


def _json(record: _Record, key: str, value: object) -> str:
    try:
        return json.dumps(value.item() if isinstance(value, np.generic) else value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise record.wrong(f"a number, a text or other JSON as `{key}`", value) from None


def records_of(candidates: Candidates) -> list[dict[str, Any]]:
    """A dictionary for each candidate, without what it has not."""
    dense = names_dense(candidates.features.names)
    ids = [int(i) if i.isdecimal() and str(int(i)) == i else i for i in candidates.ids.to_list()]
    if not all(isinstance(i, int) for i in ids):
        ids = list(candidates.ids.to_list())
    return [_record(candidates, row, ids[sentence], dense) for row, sentence in enumerate(candidates.sentence.tolist())]


def _record(candidates: Candidates, row: int, own: int | str, dense: Any) -> dict[str, Any]:
    features = candidates.features
    span = slice(int(features.starts[row]), int(features.starts[row + 1]))
    entries = list(zip(features.columns[span].tolist(), features.values[span].tolist(), strict=True))
    record: dict[str, Any] = {"id": own, "text": candidates.texts[row]}
    parts = {
        "features": {features.names[c]: value for c, value in entries if dense[c]},
        "sparse": {features.names[c]: value for c, value in entries if not dense[c]},
        "scores": {name: float(c[row]) for name, c in candidates.scores.items() if not np.isnan(c[row])},
    }
    record |= {key: part for key, part in parts.items() if part}
    if candidates.totals is not None and not np.isnan(candidates.totals[row]):
        record["total"] = float(candidates.totals[row])
    if candidates.alignments is not None:
        record["alignment"] = candidates.alignments[row]
    if candidates.extra is not None and candidates.extra[row]:
        record["extra"] = candidates.extra[row]
    for name, column in candidates.columns.items():
        value = column[row]
        if isinstance(value, str) and value:
            record[name] = value
        elif not isinstance(value, str) and not np.isnan(value):
            record[name] = float(value)
    return record | {name: json.loads(column[row]) for name, column in candidates.json.items() if column[row]}


def _pandas() -> Any:
    try:  # an extra, imported on use
        return importlib.import_module("pandas")
    except ImportError:
        raise InputError("data frames need pandas: pip install pandas") from None


def to_frame(candidates: Candidates) -> Any:
    """A data frame with a row for each candidate."""
    pandas = _pandas()
    rows = []
    for record in records_of(candidates):
        flat = {f"feature:{name}": value for name, value in record.pop("features", {}).items()}
        flat |= {f"score:{name}": value for name, value in record.pop("scores", {}).items()}
        rows.append({"id": record.pop("id"), "text": record.pop("text"), **flat, **record})
    return pandas.DataFrame(rows)


def of_frame(frame: Any, names: Names | None = None) -> Candidates:
    """Candidates from a data frame; a missing value is one that a candidate has not."""
    pandas = _pandas()
    if not isinstance(frame, pandas.DataFrame):
        raise InputError(f"expected a pandas data frame, found {_kind(frame)}")
    lacking = [key for key in ("id", "text") if key not in frame.columns]
    if lacking:
        have = ", ".join(map(str, frame.columns)) or "none at all"
        raise InputError(f"the data frame has no column `{lacking[0]}`; there are: {have}")
    return candidates_of([_nested(row) for row in frame.to_dict("records")], names)


def _nested(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row as a record."""
    record: dict[str, Any] = {}
    for key, value in row.items():
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        part, colon, name = str(key).partition(":")
        if colon and part in {"feature", "score"}:
            record.setdefault(f"{part}s", {})[name] = value
        else:
            record[key] = value
    return record
