"""`dragoman.rerank` and `dragoman.mbr`: the best candidate of each sentence, from n-best lists of any system."""

from __future__ import annotations

from typing import Any

from dragoman import reranking
from dragoman.errors import OptionError
from dragoman.reranking import Reranked
from dragoman.types import Metric, Weights
from dragoman.verbs.inputs import candidates_of, metric_of, references_of, weights_of

__all__ = ["mbr", "rerank"]


def rerank(lists: Any, weights: Any, *, nbest_format: str = "auto") -> Reranked:
    """Chooses the candidate of each sentence with the best score under `weights`.

    Lists are a file or several, records, or `Candidates`; weights a file, a mapping, or what `tune` found.
    """
    return reranking.rerank(candidates_of(lists, nbest_format), _weights(weights))


def mbr(
    lists: Any,
    metric: Metric | str = "bleu",
    *,
    weights: Any = None,
    scale: float | None = None,
    dev: Any = None,
    dev_references: Any = None,
    nbest_format: str = "auto",
) -> Reranked:
    """Chooses the candidate of each sentence with the least expected loss (minimum Bayes risk).

    Candidates are believed by exp(scale x model score), under `weights` if given. Without a `scale` it is 1, or the one
    that does best on the development lists `dev` with `dev_references`.
    """
    form = metric_of(metric)
    found = None if weights is None else _weights(weights)
    if dev is not None:
        if scale is not None:
            raise OptionError("development lists find the scale: leave it out, or them")
        if dev_references is None:
            raise OptionError("development lists need their references")
        best = reranking.tune_mbr_scale(
            candidates_of(dev, nbest_format), references_of(dev_references), form, weights=found
        )
        scale = best.scale
    elif dev_references is not None:
        raise OptionError("references of development lists need the lists, too")
    return reranking.rerank(
        candidates_of(lists, nbest_format), found, form, mbr=True, scale=1.0 if scale is None else scale
    )


def _weights(given: Any) -> Weights:
    tuned = getattr(given, "weights", None)
    return tuned if isinstance(tuned, Weights) else weights_of(given)
