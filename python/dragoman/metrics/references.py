"""References as people have them: one text for each sentence, or several, or none where a metric needs none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.errors import InputError
from dragoman.metrics.capability import needs_references
from dragoman.types import Candidates, Metric, Texts

__all__ = ["AnyReferences", "as_references", "references_of"]

AnyReferences = Sequence[Sequence[str]] | Sequence[str] | Texts | None
"""For each sentence its reference or a list of them; None for a metric that needs none."""

_WANT = "expected a list with one text or a list of texts for each sentence"


def as_references(references: AnyReferences, metric: Metric, sentences: int) -> list[Sequence[str]]:
    """The references of each sentence as a list. Without references there are `sentences` empty ones.

    >>> from dragoman.metrics import Bleu
    >>> as_references(["a house", ["a dog", "one dog"]], Bleu(), 2)
    [['a house'], ['a dog', 'one dog']]
    """
    if references is None:
        if needs_references(metric):
            raise InputError(f"{metric.name} needs references: {_WANT}")
        return [()] * sentences
    if isinstance(references, (str, bytes)) or not isinstance(references, Iterable):
        raise InputError(f"references: {_WANT}, found {_kind(references)}")
    return [_of_one(number, found) for number, found in enumerate(references)]


def _of_one(number: int, found: object) -> Sequence[str]:
    if isinstance(found, str):
        return [found]
    if isinstance(found, bytes) or not isinstance(found, Iterable):
        raise InputError(f"references: {_WANT}, found {_kind(found)} for sentence {number}")
    texts = list(found)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"references: {_WANT}, found a list with {_kind(text)} for sentence {number}")
    return texts


def _kind(found: object) -> str:
    return "nothing" if found is None else f"a {type(found).__name__}"


def references_of(candidates: Candidates, references: AnyReferences, metric: Metric) -> list[Sequence[str]]:
    """The references of each sentence of a list: by its id if ids are numbers (line numbers from 0), else in order."""
    ids = candidates.ids.to_list()
    if references is None:
        return as_references(None, metric, len(ids))
    given = as_references(references, metric, len(ids))
    if all(i.isdecimal() for i in ids):
        outside = [i for i in ids if int(i) >= len(given)]
        if outside:
            raise InputError(f"sentence {outside[0]} has no reference: the files end after {len(given)} lines")
        return [given[int(i)] for i in ids]
    if len(ids) != len(given):
        raise InputError(f"the list has {len(ids)} sentences, the references have {len(given)} lines")
    return given
