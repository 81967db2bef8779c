"""Choosing from n-best lists: the best under given weights, or the least expected loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman._core import NativeMetric, best_per_group, mbr_choices, names_find
from dragoman.errors import InputError, OptionError
from dragoman.metrics import metric_from, needs_references, score_columns
from dragoman.metrics.native import NATIVE_TOKENIZERS
from dragoman.metrics.references import AnyReferences, references_of
from dragoman.types import F64, I64, Candidates, Hypotheses, Metric, Texts, Weights

__all__ = ["Reranked", "ScaleFound", "mbr", "rerank", "tune_mbr_scale"]


@dataclass(frozen=True, slots=True)
class Reranked:
    """What was chosen."""

    texts: tuple[str, ...]
    """Line i is the chosen candidate of the sentence with id i (of the i-th sentence, where ids are words); a sentence
    without candidates has an empty line."""
    rows: I64 = field(repr=False)
    """For each sentence of the lists, in their order, the row of the chosen candidate; -1 where there is none."""
    scores: F64 = field(repr=False)
    """The model scores of the chosen candidates, in the same order; NaN where there is none."""
    warnings: tuple[str, ...] = ()
    """What may not be as it should, a sentence each."""
    scale: float | None = None
    """Of the model scores, where the choice was by minimum Bayes risk."""


def rerank(
    candidates: Candidates,
    weights: Weights | None = None,
    metric: Metric | str | None = None,
    *,
    mbr: bool = False,
    scale: float = 1.0,
) -> Reranked:
    """Chooses a candidate of each sentence: the one with the best model score, or with `mbr` the least expected loss.

    Model scores are those of `weights`; without weights, those that the lists state. `metric` (BLEU, if none is given)
    and `scale` are what `mbr` wants; without it they are refused.

    >>> records = [{"id": 1, "text": text, "features": {"LM": lm}} for text, lm in (("a", -2), ("b", -1))]
    >>> lists = Candidates.from_records(records)
    >>> rerank(lists, Weights.of({"LM": 1.0})).texts
    ('', 'b')
    """
    if not mbr and (metric is not None or scale != 1.0):
        raise OptionError("a metric and a scale are for minimum Bayes risk: ask for it with mbr, or leave them out")
    warnings = [] if weights is None else _unknown(candidates, weights)
    totals = _totals(candidates, weights)
    if mbr:
        form = metric_from(metric) if isinstance(metric, str) else metric or metric_from("bleu")
        rows = _choices(candidates, form, totals, np.array([scale]))[0]
    else:
        rows = best_per_group(totals, candidates.starts)
    texts, empty = _lines(candidates, rows)
    if empty:
        warnings.append(f"{empty} sentences have no candidate: their lines are empty")
    scores = np.where(rows >= 0, totals[rows] if len(totals) else np.nan, np.nan)
    return Reranked(tuple(texts), rows, scores, tuple(warnings), scale if mbr else None)


def mbr(candidates: Candidates, metric: Metric, *, weights: Weights | None = None, scale: float = 1.0) -> I64:
    """For each sentence the candidate with the least expected loss (the row; -1 where there is none).

    Candidates are believed with probability proportional to exp(scale x model score); the loss is the metric's, for a
    candidate against each other one as the reference. Model scores are those of `weights`; without weights, those that
    the lists state. Metrics of the core work on all cores, and need a table of a sentence's candidates by candidates.
    """
    chosen: I64 = _choices(candidates, metric, _totals(candidates, weights), np.array([scale]))[0]
    return chosen


@dataclass(frozen=True, slots=True)
class ScaleFound:
    """The best scale of the model scores for minimum Bayes risk, and how others do."""

    scale: float
    score: float
    """Of the choices with that scale."""
    one_best: float
    """Of the candidates with the best model scores."""
    tried: tuple[tuple[float, float], ...] = field(repr=False)
    """All scales that were tried, with their scores, in order."""


def tune_mbr_scale(
    candidates: Candidates,
    references: AnyReferences,
    metric: Metric,
    *,
    weights: Weights | None = None,
    loss: Metric | None = None,
    scales: Sequence[float] | None = None,
    refinements: int = 2,
) -> ScaleFound:
    """Finds the scale with which minimum Bayes risk has the best corpus score on development lists.

    First on a grid (twelve scales by powers of 2 around 1 over the typical spread of model scores in a sentence, unless
    `scales` are given), then `refinements` times between the neighbours of the best. Of equal scores the first wins.
    `metric` judges the choices, and is the loss as well unless `loss` names another.
    """
    if scales is not None and not (len(scales) and all(np.isfinite(s) and s >= 0 for s in scales)):
        raise OptionError(f"expected scales of 0 or more to try, found {list(scales)}")
    totals = _totals(candidates, weights)
    rows = metric.prepare(references_of(candidates, references, metric)).statistics(candidates.hypotheses)
    sign = 1.0 if metric.higher_is_better else -1.0

    def corpus(chosen: I64) -> float:
        return float(metric.score(rows[chosen[chosen >= 0]].sum(axis=0)))

    tried: dict[float, float] = {}
    grid = _grid(candidates, totals) if scales is None else sorted(map(float, scales))
    for _ in range(1 + refinements):
        new = [scale for scale in grid if scale not in tried]
        for scale, chosen in zip(new, _choices(candidates, loss or metric, totals, np.array(new)), strict=True):
            tried[scale] = corpus(chosen)
        best = max(sorted(tried), key=lambda scale: sign * tried[scale])
        grid = _between(sorted(tried), best)
    one_best = corpus(best_per_group(totals, candidates.starts))
    return ScaleFound(best, tried[best], one_best, tuple(sorted(tried.items())))


def _grid(candidates: Candidates, totals: F64) -> list[float]:
    """0, which believes in all candidates alike, and powers of 2 around 1 over the typical spread of totals."""
    spans = zip(candidates.starts[:-1].tolist(), candidates.starts[1:].tolist(), strict=True)
    spreads = [float(totals[first:last].std()) for first, last in spans if last - first > 1]
    typical = float(np.median(spreads)) if spreads else 0.0
    return [0.0, *(2.0**power / (typical or 1.0) for power in range(-6, 6))]


def _between(tried: Sequence[float], best: float) -> list[float]:
    """Scales half-way to the neighbours of the best, by their ratio."""
    at = tried.index(best)
    near = [scale for scale in (*tried[at - 1 : at], *tried[at + 1 : at + 2]) if scale != best]
    return sorted((best * scale) ** 0.5 if best * scale > 0 else max(best, scale) / 2 for scale in near)


def _totals(candidates: Candidates, weights: Weights | None) -> F64:
    """The model scores of all candidates."""
    if weights is not None:
        return candidates.features.dot(weights)
    if candidates.totals is None:
        raise OptionError("the lists state no model scores: give the weights of their features")
    lacking = np.flatnonzero(~np.isfinite(candidates.totals))
    if len(lacking):
        raise InputError(f"candidate {int(lacking[0]) + 1} of the lists states no model score: give weights")
    return candidates.totals


def _choices(candidates: Candidates, metric: Metric, totals: F64, scales: F64) -> I64:
    """For each scale and sentence the candidate with the least expected loss."""
    if not np.isfinite(scales).all():
        raise OptionError(f"the scale of model scores must be a finite number, found {scales[~np.isfinite(scales)][0]}")
    if not needs_references(metric) or score_columns(metric):
        raise OptionError(
            f"minimum Bayes risk compares candidates with each other, and {metric.name} reads a column of scores: "
            "use a metric of texts, such as bleu or chrf"
        )
    level = metric.sentence_level()
    handle = _core_form(level)
    starts, totals = np.ascontiguousarray(candidates.starts), np.ascontiguousarray(totals)
    if handle is not None:
        return mbr_choices(handle, candidates.texts, starts, totals, scales, metric.higher_is_better)
    return _slow_choices(candidates, level, totals, scales)


def _core_form(level: Metric) -> NativeMetric | None:
    """The handle of a metric that the core can compute from texts as they are."""
    parts = [part for _, part in getattr(level, "parts", ())] or [level]
    in_core = all(getattr(part, "tokenize", "none") in NATIVE_TOKENIZERS for part in parts)
    handle = getattr(level, "_native", None)
    return handle if in_core and isinstance(handle, NativeMetric) else None


def _slow_choices(candidates: Candidates, level: Metric, totals: F64, scales: F64) -> I64:
    """The same with a metric in plain Python."""
    chosen = np.full((len(scales), len(candidates)), -1, dtype=np.int64)
    sign = 1.0 if level.higher_is_better else -1.0
    for sentence, (first, last) in enumerate(zip(candidates.starts[:-1], candidates.starts[1:], strict=True)):
        if last > first:
            rows = np.arange(first, last, dtype=np.int64)
            gains = sign * _pairwise(candidates.texts.take(rows), level)
            for at, scale in enumerate(scales):
                logits = scale * totals[rows]
                belief = np.exp(logits - logits.max())
                chosen[at, sentence] = first + int(np.argmax(gains @ (belief / belief.sum())))
    return chosen


def _pairwise(texts: Texts, metric: Metric) -> F64:
    """The score of each text (row) against each (column) as its reference."""
    count = len(texts)
    references = metric.prepare([[text] for text in texts.to_list()])
    every = np.arange(count, dtype=np.int64)
    pairs = Hypotheses(texts.take(np.tile(every, count)), np.repeat(every, count))
    scores: F64 = metric.score(references.statistics(pairs)).reshape(count, count).T
    return scores


def _unknown(candidates: Candidates, weights: Weights) -> list[str]:
    """A warning for weights of features that no candidate has; if that is all of them, an error."""
    missing = np.flatnonzero(names_find(candidates.features.names, weights.names) < 0)
    if not len(missing):
        return []
    shown = [weights.names[int(name)] for name in missing[:5]]
    if len(missing) == len(weights.names):
        raise InputError(f"no feature of these weights is in the lists: `{', '.join(shown[:3])}`, ...")
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return [f"weights of features that no candidate has: {', '.join(shown)}{more}"]


def _lines(candidates: Candidates, rows: I64) -> tuple[list[str], int]:
    """The chosen texts by the numbers of their sentences, and how many of these have none."""
    texts = [candidates.texts[int(row)] if row >= 0 else "" for row in rows]
    ids = candidates.ids.to_list()
    if not all(i.isdecimal() for i in ids):
        return texts, int((rows < 0).sum())
    lines = [""] * (max((int(i) for i in ids), default=-1) + 1)
    for i, text in zip(ids, texts, strict=True):
        lines[int(i)] = text
    return lines, len(lines) - int((rows >= 0).sum())
