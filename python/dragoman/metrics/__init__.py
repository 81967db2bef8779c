"""Metrics as additive statistics. To add one: a file here and a line in `METRICS`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.errors import InputError
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.context import Background, corpus_context
from dragoman.metrics.external import External
from dragoman.metrics.ter import Ter
from dragoman.metrics.wer import Wer
from dragoman.options import build
from dragoman.types import F64, Hypotheses, Metric, Texts

__all__ = [
    "METRICS",
    "Background",
    "Bleu",
    "Chrf",
    "External",
    "Ter",
    "Wer",
    "corpus_context",
    "corpus_score",
    "metric_from",
    "statistics",
]

METRICS: dict[str, Metric] = {"bleu": Bleu(), "chrf": Chrf(), "ter": Ter(), "wer": Wer(), "external": External()}
"""What the command line can name."""


def metric_from(spec: str) -> Metric:
    """A metric from its text form.

    >>> metric_from("bleu:tokenize=none,smooth=add-k").signature().partition("|version")[0]
    'BLEU|case:mixed|eff:no|tok:none|smooth:add-k[1.00]|len:closest'
    """
    return build("metric", METRICS, spec)


def statistics(metric: Metric, output: Texts | Sequence[str], references: Sequence[Sequence[str]]) -> F64:
    """The statistics of a system's output, a row for each sentence."""
    if len(output) != len(references):
        raise InputError(f"the output has {len(output)} lines, the references have {len(references)}")
    return metric.prepare(references).statistics(Hypotheses.one_each(output))


def corpus_score(metric: Metric, output: Texts | Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The score of a system's output.

    >>> corpus_score(Bleu(), ["It is a nice day today ."], [["It is a nice day today ."]])
    100.0
    """
    return float(metric.score(np.sum(statistics(metric, output, references), axis=0)))
