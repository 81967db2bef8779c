"""Metrics as additive statistics. To add one: a file here and a line in `dragoman.registry`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman import registry
from dragoman.errors import InputError, OptionError
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.capability import needs_references, score_columns
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.combined import Combined, combined_from
from dragoman.metrics.context import Background, corpus_context
from dragoman.metrics.external import External
from dragoman.metrics.format import digits, format_score
from dragoman.metrics.references import AnyReferences, as_references
from dragoman.metrics.ter import Ter
from dragoman.metrics.wer import Wer
from dragoman.types import F64, Hypotheses, Metric, Texts

__all__ = [
    "Background",
    "Bleu",
    "Chrf",
    "Combined",
    "External",
    "Ter",
    "Wer",
    "corpus_context",
    "corpus_score",
    "digits",
    "format_score",
    "metric_from",
    "needs_references",
    "score_columns",
    "statistics",
]


def metric_from(spec: str) -> Metric:
    """A metric from its text form.

    >>> metric_from("bleu:tokenize=none,smooth=add-k").signature().partition("|version")[0]
    'BLEU|case:mixed|eff:no|tok:none|smooth:add-k[1.00]|len:closest'
    >>> metric_from("0.7*bleu+0.3*external:comet").name
    '0.7*BLEU+0.3*comet'
    """
    if "*" in spec and not registry.is_file_spec(spec):
        return combined_from(spec, metric_from)
    if "+" in spec.partition(":")[0]:
        raise OptionError(f"a sum of metrics needs their weights, e.g. 0.5*bleu+0.5*chrf, found `{spec}`")
    made: Metric = registry.make("metric", spec)
    return made


def statistics(metric: Metric, output: Texts | Sequence[str], references: AnyReferences) -> F64:
    """The statistics of a system's output, a row for each sentence; `references` as a text or a list for each."""
    if isinstance(output, (str, bytes)):
        raise InputError("output: expected a list with a text for each sentence, found a single text")
    given = as_references(references, metric, len(output))
    if len(output) != len(given):
        raise InputError(f"the output has {len(output)} lines, the references have {len(given)}")
    return metric.prepare(given).statistics(Hypotheses.one_each(output))


def corpus_score(metric: Metric, output: Texts | Sequence[str], references: AnyReferences) -> float:
    """The score of a system's output.

    >>> corpus_score(Bleu(), ["It is a nice day today ."], ["It is a nice day today ."])
    100.0
    """
    return float(metric.score(np.sum(statistics(metric, output, references), axis=0)))
