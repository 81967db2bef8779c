"""Anything reasonable, as the library wants it: lines, references, metrics, tuners, candidates, weights."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard

from dragoman import nbest, registry, weights
from dragoman.errors import InputError, OptionError
from dragoman.files import read_parallel, read_text
from dragoman.metrics import metric_from
from dragoman.tuning import Tuner
from dragoman.types import Candidates, Metric, Names, Texts, Weights

__all__ = [
    "candidates_of",
    "is_path",
    "lines_of",
    "metric_of",
    "paths_of",
    "references_of",
    "tuner_of",
    "weights_of",
    "where",
]


def is_path(given: Any) -> TypeGuard[str | PathLike[str]]:
    """Whether something names a file."""
    return isinstance(given, (str, os.PathLike))


def metric_of(given: Metric | str) -> Metric:
    """A metric by name or as an object."""
    if isinstance(given, str):
        return metric_from(given)
    if not hasattr(given, "prepare"):
        raise OptionError(f"expected a metric, such as `bleu` or Bleu(), found {_what(given)}")
    return given


def tuner_of(given: Tuner | str) -> Tuner:
    """A tuner by name or as an object."""
    if isinstance(given, str):
        made: Tuner = registry.make("tuner", given)
        return made
    if not hasattr(given, "session"):
        raise OptionError(f"expected a tuner, such as `kbmira` or Mira(), found {_what(given)}")
    return given


def weights_of(given: Weights | Mapping[str, float] | str | PathLike[str]) -> Weights:
    """Weights from a file, a mapping, or as they are."""
    if isinstance(given, Weights):
        return given
    if isinstance(given, Mapping):
        return Weights.of(given)
    if is_path(given):
        return weights.load(given)
    raise OptionError(f"expected weights, a mapping of names to numbers or a file, found {_what(given)}")


def lines_of(given: str | PathLike[str] | Iterable[str] | Texts, what: str) -> Texts:
    """Lines from a file, or as they are; a plain string names a file."""
    if isinstance(given, Texts):
        return given
    if is_path(given):
        return read_text(Path(given))
    lines = list(given) if isinstance(given, Iterable) else None
    if lines is None or not all(isinstance(line, str) for line in lines):
        bad = next((line for line in lines or [] if not isinstance(line, str)), given)
        raise OptionError(f"expected {what} as a file or as lines of text, found {_what(bad)}")
    return Texts(lines)


def references_of(given: Any, count: int | None = None) -> list[list[str]]:
    """The references of each sentence.

    A file (or several, as Path objects) with a line for each sentence; a string for each sentence; or a list of
    strings for each.
    """
    if is_path(given):
        columns = [read_text(Path(given)).to_list()]
        lines = [list(row) for row in zip(*columns, strict=True)]
    elif isinstance(given, Texts):
        lines = [[line] for line in given.to_list()]
    else:
        items = list(given) if isinstance(given, Iterable) else None
        if items is None:
            raise OptionError(f"expected references, found {_what(given)}")
        if items and all(isinstance(item, Path) for item in items):
            lines = [list(row) for row in zip(*(column.to_list() for column in read_parallel(items)), strict=True)]
        else:
            lines = [_one_sentence(item, number) for number, item in enumerate(items)]
    if count is not None and len(lines) != count:
        raise InputError(f"expected references of {count} sentences, found {len(lines)}")
    return lines


def _one_sentence(item: Any, number: int) -> list[str]:
    if isinstance(item, str):
        return [item]
    if isinstance(item, Sequence) and all(isinstance(text, str) for text in item):
        return list(item)
    raise OptionError(f"expected a reference or a list of references for sentence {number}, found {_what(item)}")


def where(given: Any, otherwise: str) -> str:
    """What an argument is called in a message: its file, if it has one."""
    paths = paths_of(given)
    return paths[0] if paths else otherwise


def paths_of(given: Any) -> list[str]:
    """The files of an argument, for those who note what a result depends on; none where it is no file."""
    if is_path(given):
        return [os.fspath(given)]
    if isinstance(given, (list, tuple)) and given and all(isinstance(item, Path) for item in given):
        return [os.fspath(item) for item in given]
    return []


def candidates_of(given: Any, format: str = "auto") -> Candidates:
    """N-best lists: a file or several (in a dialect, `nbest.FORMATS` or FILE.py:NAME), records, or as they are."""
    if isinstance(given, Candidates):
        return given
    if is_path(given):
        return nbest.read(given, format)
    items = list(given) if isinstance(given, Iterable) else None
    if items and all(is_path(item) for item in items):
        names = Names()
        return nbest.join([nbest.read(path, format, names) for path in items])
    if items and all(isinstance(item, Mapping) for item in items):
        return Candidates.from_records(items)
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        return Candidates.from_pandas(given)
    raise OptionError(f"expected n-best lists as a file, records or Candidates, found {_what(given)}")


def _what(thing: Any) -> str:
    return "None" if thing is None else type(thing).__name__
