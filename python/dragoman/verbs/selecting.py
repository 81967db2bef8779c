"""Some of the sentences of several systems: by length, words, terms, duplicates. What is left is scored as a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dragoman import breakdown
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.glossary import Glossary
from dragoman.options import check, option
from dragoman.verbs.inputs import lines_of, references_of

__all__ = ["Selected", "Selection", "select"]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which sentences are looked at."""

    min_words: int = option(0, help="Only sentences whose reference has so many words.", min=0)
    max_words: int = option(0, help="Only sentences whose reference has no more words than that; 0: any.", min=0)
    containing: str = option(
        "", help="Only sentences whose source or reference has this text, in capitals or not.", metavar="TEXT"
    )
    unknown_words: Literal["any", "some", "none"] = option(
        "any", help="Only sentences with some source words that --train-source lacks, or with none."
    )
    terms: Literal["any", "some", "none"] = option(
        "any", help="Only sentences with some, or none, of the terms of --glossary."
    )
    drop_duplicates: bool = option(False, help="Of sentences with the same source (or reference) only the first.")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Selected:
    """What is left of the texts."""

    systems: Mapping[str, Sequence[Sequence[str]]]
    references: Sequence[Sequence[str]]
    source: Sequence[str] | None
    count: int
    """How many sentences there were."""


def select(
    systems: Mapping[str, Sequence[Any]],
    references: Any,
    selection: Selection,
    *,
    source: Any = None,
    source_training: Sequence[Any] = (),
    glossary: str | None = None,
    tokenized: bool = False,
) -> Selected:
    """The sentences that a selection leaves, in all outputs of all systems, the references and the source."""
    lines = references_of(references)
    told = None if source is None else list(lines_of(source, "source"))
    if told is not None and len(told) != len(lines):
        raise InputError(f"expected {len(lines)} lines of source, as many as of references, found {len(told)}")
    rows = _rows(lines, told, selection, source_training, glossary, tokenized)
    if not rows:
        raise InputError("no sentence is left by these filters")
    kept: dict[str, list[list[str]]] = {}
    for name, runs in systems.items():
        outputs = [list(lines_of(run, "output")) for run in runs]
        for output in outputs:
            if len(output) != len(lines):
                raise InputError(f"{name}: expected {len(lines)} lines, as many as of references, found {len(output)}")
        kept[name] = [[output[i] for i in rows] for output in outputs]
    return Selected(kept, [lines[i] for i in rows], told and [told[i] for i in rows], len(lines))


def _rows(
    lines: Sequence[Sequence[str]],
    source: Sequence[str] | None,
    selection: Selection,
    training: Sequence[Any],
    glossary: str | None,
    tokenized: bool,
) -> list[int]:
    if selection.unknown_words != "any" and (source is None or not training):
        raise OptionError("unknown words need the source and the training text in its language: name both")
    if selection.terms != "any" and (source is None or glossary is None):
        raise OptionError("terms need the source and a glossary: name both")
    first = [line[0] for line in lines]
    lengths = breakdown.Words(tokenized).lengths(first)
    taken = (lengths >= selection.min_words) & (lengths <= (selection.max_words or np.inf))
    keys = source or first
    if selection.containing:
        text = selection.containing.lower()
        both = zip(keys, first, strict=True)
        taken &= [text in key.lower() or text in line.lower() for key, line in both]
    if selection.unknown_words != "any":
        lines_read: Iterable[str] = (line for path in training for line in read_text(path))
        taken &= (np.array(breakdown.unknown_in(source or (), lines_read, tokenized)) > 0) == (
            selection.unknown_words == "some"
        )
    if selection.terms != "any":
        found = breakdown.terms_in(source or (), [term.source for term in Glossary.read(str(glossary))])
        taken &= (np.array(found) > 0) == (selection.terms == "some")
    rows = np.flatnonzero(taken).tolist()
    if selection.drop_duplicates:
        seen: set[str] = set()
        rows = [i for i in rows if not (keys[i] in seen or seen.add(keys[i]))]  # type: ignore[func-returns-value]
    return [int(i) for i in rows]
