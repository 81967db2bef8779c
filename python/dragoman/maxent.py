"""The Maxent reordering model (Cherry 2013, section 3.2): orientations of phrase pairs from features of their words.

Relative frequencies know nothing of a pair that was seen once; here it shares what its words and their classes say.
`train` reads a rule table with orientation counts and writes one that has the model's six scores as columns, which the
decoder's `reordering` features use like any other model.

    rules.extract("train.de", "train.en", "train.links", "rules.counts", orientation_counts=True)
    maxent.train("rules.counts", ("de.50.classes", "en.50.classes"), "rules")
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from dragoman._core import maxent_train
from dragoman.errors import OptionError
from dragoman.rules import Path, Table, _base, _meta, _table_path

__all__ = ["Heldout", "Report", "Side", "train"]


@dataclass(frozen=True, slots=True)
class Side:
    """How the training of one direction went."""

    iterations: int
    """Of L-BFGS."""
    converged: bool
    value: float
    """Equation 4 at the end."""
    perplexity: float
    """Of the orientations of the examples' tokens."""


@dataclass(frozen=True, slots=True)
class Heldout:
    """Perplexities of the orientations of held-out phrase-pair tokens: towards the previous phrase and the next."""

    tokens: int
    unseen: int
    """Tokens whose pair training has not seen."""
    maxent: tuple[float, float]
    relative: tuple[float, float]
    """Relative frequencies with recursive smoothing, from the same counts."""
    maxent_seen: tuple[float, float]
    """For pairs that training has seen: those that a rule table can have."""
    relative_seen: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Report:
    """What training saw and did."""

    rules: int
    examples: int
    """Rules trained on: all, but of those seen once only a share."""
    features: int
    """Each has a weight for each of three orientations."""
    previous: Side
    next: Side
    heldout: Heldout | None


def train(
    table: Path,
    classes: tuple[Path, Path],
    out: Path,
    *,
    model: str = "hier",
    name: str = "maxent",
    c: float = 0.1,
    least: int = 5,
    singletons: float = 0.1,
    iterations: int = 300,
    drop_counts: bool = False,
    heldout: Path | None = None,
    alpha: float = 10.0,
    seed: int = 0,
) -> Report:
    """Train on the orientation counts of `model` in `table`, and write the table with columns of `name` to `out`.

    Both directions are trained apart. An example is a rule, weighted by its count, its target the unsmoothed
    distribution of its orientations; the objective is |w|^2 / 2 + c x (sum of the examples' weighted cross entropies),
    so that a greater `c` trusts the counts more: as a Gaussian prior, `c` is the variance. Features seen in fewer than
    `least` phrase-pair tokens are left out, and of the rules seen once a share of `singletons` is kept, chosen by the
    `seed`. `classes` are the class files of both sides. `heldout` is another table with counts, whose perplexities the
    report has beside those of relative frequencies smoothed with `alpha`. `drop_counts` leaves the counts behind.
    """
    if iterations < 1:
        raise OptionError(f"expected at least 1 iteration, found {iterations}")
    options = {"model": model, "c": c, "least": least, "singletons": singletons, "seed": seed}
    meta = {**Table(table).meta, name: {**options, "classes": [_base(file) for file in classes]}}
    meta.pop("program", None)
    rules, examples, features, sides, held = maxent_train(
        os.fspath(table),
        (os.fspath(classes[0]), os.fspath(classes[1])),
        _table_path(out),
        _meta(**meta),
        model,
        name,
        c,
        float(least),
        singletons,
        iterations,
        drop_counts,
        None if heldout is None else os.fspath(heldout),
        alpha,
        seed,
    )
    previous, following = (Side(*side) for side in sides)
    return Report(rules, examples, features, previous, following, None if held is None else _heldout(held))


def _heldout(held: tuple[float, float, list[float], list[float], list[float], list[float]]) -> Heldout:
    tokens, unseen, *perplexities = held
    pairs = [(side[0], side[1]) for side in perplexities]
    return Heldout(int(tokens), int(unseen), *pairs)
