"""Where a run starts: given weights, the ones that made the list, or a plain guess."""

from __future__ import annotations

import numpy as np

from dragoman._core import names_dense, names_extend, names_find
from dragoman.errors import InputError, OptionError
from dragoman.options import closest
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import Problem, unknown_of
from dragoman.types import F64, Weights

__all__ = ["fitted", "starting_weights"]

_MOST_FEATURES = 500
_MOST_ROWS = 50_000


def starting_weights(problem: Problem, start: Weights | str) -> tuple[F64, list[str]]:
    """The start weights in the order of the problem's names, and warnings.

    "ones" is 1 for dense features and 0 for sparse ones. "fit" finds the weights that reproduce the model scores
    that the list itself states. "auto" is fit if that succeeds, else ones. A system that makes its own candidates
    starts with its own weights ("auto"), or with given ones.
    """
    if not problem.fixed:
        return _of_system(problem, start)
    pool = problem.pool
    if isinstance(start, Weights):
        return _given(pool, start)
    if start not in {"auto", "fit", "ones"}:
        raise OptionError(f"start must be weights, auto, fit or ones, found `{start}`")
    found = fitted(pool) if start in {"auto", "fit"} else None
    if found is None and start == "fit":
        raise InputError("the model scores of the list are not a weighted sum of its dense features; use another start")
    return (found if found is not None else _ones(pool)), []


def _of_system(problem: Problem, start: Weights | str) -> tuple[F64, list[str]]:
    """The start of a system that makes its own candidates. Features that it has not met yet become known to it."""
    own = getattr(problem.source, "weights", None)
    given = own if start == "auto" else start
    if not isinstance(given, Weights):
        raise OptionError(f"start must be weights for a system that makes its own candidates, found `{start}`")
    strange = unknown_of(problem.source, given.names)
    if strange is not None:
        hint = closest(strange, problem.names.to_list())
        raise OptionError(
            f"the start weights have a feature `{strange}` that the system cannot have: name its set with --features, "
            f"or take it out; {hint}"
        )
    names_extend(problem.names, given.names)
    return given.align(problem.names), []


def _given(pool: Pool, start: Weights) -> tuple[F64, list[str]]:
    names = pool.candidates.features.names
    unknown = np.flatnonzero(names_find(names, start.names) < 0)
    if len(unknown) == len(start.names) and len(unknown):
        raise InputError(f"no feature of the start weights is in the list: `{start.names[int(unknown[0])]}`, ...")
    shown = ", ".join(start.names[int(name)] for name in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return start.align(names), [f"weights of features that no candidate has: {shown}{more}"] if len(unknown) else []


def _ones(pool: Pool) -> F64:
    names = pool.candidates.features.names
    dense = names_dense(names)
    return np.where(dense, 1.0, 0.0) if dense.any() else np.ones(len(names))


def fitted(pool: Pool) -> F64 | None:
    """Weights whose products with the features give the list's own totals, or None if there are no such weights.

    Only differences within a sentence count, so a part that is the same for all its candidates (the price of an
    unknown word, say) does not disturb.
    """
    totals = pool.candidates.totals
    if totals is None or not np.isfinite(totals).all() or pool.width > _MOST_FEATURES:
        return None
    starts = pool.candidates.starts
    sentences = int(np.searchsorted(starts, _MOST_ROWS, side="right")) - 1 or 1
    end = int(starts[min(sentences, len(starts) - 1)])
    first = np.repeat(starts[:-1], np.diff(starts))[:end]
    rows, target = pool.dense[:end] - pool.dense[first], totals[:end] - totals[first]
    weights = np.linalg.lstsq(rows, target, rcond=None)[0]
    error = target - rows @ weights
    if not (error**2).sum() < 1e-3 * (target**2).sum():
        return None
    return np.ascontiguousarray(weights)
