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
from typing import Any, Literal

from dragoman._core import maxent_train
from dragoman.common import Seeded
from dragoman.errors import OptionError
from dragoman.files import read_text
from dragoman.options import check, made, option
from dragoman.rules import OrientationPrior, Path, Table, base_name, meta_of, table_path

__all__ = ["Heldout", "Report", "Side", "Training", "train"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(OrientationPrior, Seeded):
    """How the model is trained."""

    counts_of: str = option(
        "hier", help="The reordering model whose orientation counts to train on.", metavar="MODEL", was=["model"]
    )
    name: str = option("maxent", help="What the new columns are called.", metavar="NAME")
    c: float = option(0.1, help="Trust in the counts: the variance of the weights' Gaussian prior.", above=0)
    min_count: int = option(5, help="Leave out features of fewer phrase-pair tokens.", min=0, was=["least"])
    singletons: float = option(0.1, help="Share of the rules seen once to train on.", min=0, max=1)
    iterations: int = option(300, help="Most iterations for each direction.", min=1)
    templates: tuple[Literal["pair", "source", "target", "words", "classes"], ...] = option(
        ("pair", "source", "target", "words", "classes"),
        help="What features are of, besides the bias: the phrase pair, its source, its target, words and classes of "
        "words at its corners. `words classes` are those that sparse-hrm has of a phrase, too.",
        metavar="TEMPLATE",
    )
    frequent: int = option(
        0,
        help="Of words at corners only the N most frequent of each side have features, as in sparse-hrm; 0: all.",
        min=0,
    )
    drop_counts: bool = option(False, help="Leave the columns of counts out of the new table.")
    held_out: str | None = option(
        None,
        help="A table with counts from other text: its perplexity is printed, beside that of relative frequencies "
        "smoothed with --alpha.",
        metavar="FILE",
        was=["heldout"],
    )

    def __post_init__(self) -> None:
        check(self)
        if len(set(self.templates)) < len(self.templates):
            raise OptionError(f"maxent has a template twice: {' '.join(self.templates)}")


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
    options: Training | None = None,
    *,
    words: tuple[Path, Path] | None = None,
    **changes: Any,
) -> Report:
    """Train on the orientation counts of `counts_of` in `table`, and write the table with columns of `name` to `out`.

    `changes` are options by name. Both directions are trained apart. An example is a rule, weighted by its count, its
    target the unsmoothed distribution of its orientations; the objective is |w|^2 / 2 + c x (sum of the examples'
    weighted cross entropies), so that a greater `c` trusts the counts more: as a Gaussian prior, `c` is the variance.
    Of the rules seen once a share of `singletons` is kept, chosen by the `seed`. `classes` are the class files of both
    sides, `words` lists of their words, the most frequent first, for the option `frequent`. `held_out` is another table
    with counts, whose perplexities the report has beside those of relative frequencies smoothed with `alpha`.
    """
    o = made(Training, changes, base=options)
    # What tables say of themselves; the names are those of the first version of the format.
    about: dict[str, Any] = {
        "model": o.counts_of, "c": o.c, "least": o.min_count, "singletons": o.singletons, "seed": o.seed,
    }  # fmt: skip
    if o.templates != Training().templates:  # tables say nothing of what is usual
        about["templates"] = list(o.templates)
    if o.frequent:
        about["frequent"] = o.frequent
    meta = {**Table(table).meta, o.name: {**about, "classes": [base_name(file) for file in classes]}}
    meta.pop("program", None)
    rules, examples, features, sides, held = maxent_train(
        os.fspath(table),
        (os.fspath(classes[0]), os.fspath(classes[1])),
        table_path(out),
        meta_of(**meta),
        o.counts_of,
        o.name,
        float(o.c),
        float(o.min_count),
        float(o.singletons),
        o.iterations,
        o.drop_counts,
        o.held_out,
        float(o.alpha),
        o.seed,
        list(o.templates),
        _frequent(words, o.frequent),
    )
    previous, following = (Side(*side) for side in sides)
    return Report(rules, examples, features, previous, following, None if held is None else _heldout(held))


def _frequent(files: tuple[Path, Path] | None, count: int) -> tuple[list[str], list[str]] | None:
    """The most frequent words of both sides, a line each, perhaps with a tab and a count behind them."""
    if not count:
        return None
    if files is None:
        raise OptionError("`frequent` chooses among the words of two lists, the most frequent first: name them (words)")
    source, target = ([line.split("\t")[0] for line in read_text(path)][:count] for path in files)
    return source, target


def _heldout(held: tuple[float, float, list[float], list[float], list[float], list[float]]) -> Heldout:
    tokens, unseen, *perplexities = held
    pairs = [(side[0], side[1]) for side in perplexities]
    return Heldout(int(tokens), int(unseen), *pairs)
