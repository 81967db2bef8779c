"""Rules with gaps, for the hierarchical system (Chiang 2007): `[X,1] hat [X,2] gesehen`, `[X,1] has seen [X,2]`.

A grammar is a rule table as `dragoman.rules` has it, whose symbols are words and gaps. `extract` makes one from text
and word links, within limits that presets name: those of Moses' and of cdec's extraction.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from dragoman._core import rules_of_sentence
from dragoman.common import Sorting
from dragoman.engine import Engine
from dragoman.errors import OptionError
from dragoman.options import check, flat, made, option
from dragoman.rules import (
    Extraction,
    Path,
    Report,
    Significance,
    Smoothing,
    base_name,
    extracted,
    lexical_names,
    meta_of,
    table_path,
)

__all__ = [
    "CDEC_COLUMNS",
    "OWN",
    "PHRASES_OWN",
    "PRESETS",
    "SYSTEM",
    "Grammar",
    "System",
    "extract",
    "of_sentence",
    "refuse_others",
]

SYSTEM = "hiero"
"""What a table with gaps says of itself, and a model that has one."""

CDEC_COLUMNS = (
    "EgivenFCoherent", "SampleCountF", "CountEF", "MaxLexFgivenE", "MaxLexEgivenF", "IsSingletonF", "IsSingletonFE",
)  # fmt: skip
"""cdec's scores: decimal logarithms, costs where they are of probabilities."""

PRESETS: dict[str, dict[str, Any]] = {
    "moses": {
        "max_span": 10, "max_symbols": 5, "max_gaps": 2, "min_gap": 2, "min_target_gap": 1, "edges": "loose",
        "counts": "fractional", "scores": "moses",
    },
    "cdec": {
        "max_span": 15, "max_symbols": 5, "max_gaps": 2, "min_gap": 1, "min_target_gap": 1, "edges": "tight",
        "counts": "whole", "scores": "cdec",
    },
    "eidelman": {
        "max_span": 15, "max_symbols": 5, "max_gaps": 2, "min_gap": 1, "min_target_gap": 1, "edges": "tight",
        "counts": "whole", "scores": "moses",
    },
}  # fmt: skip
"""Limits of rules, as the extraction of Moses and of cdec has them; cdec's with the scores that Eidelman (2012) names,
phrase translation probabilities and lexical weights."""


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rules there are."""

    system: Literal["phrase", "hiero"] = option(
        "phrase", help="Which rules: phrases that are put in order (phrase), or rules with gaps (hiero)."
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar(Significance, Sorting):
    """How rules with gaps are extracted, scored and pruned. What is not given is as in the preset."""

    preset: Literal["moses", "cdec", "eidelman"] = option(
        "moses",
        help="Limits, counts and scores of rules with gaps: as Moses has them, or cdec. eidelman is the system of "
        "Eidelman (2012): cdec's limits, Moses' scores, the features of that paper alone, text in lower case.",
    )
    max_span: int | None = option(
        None, help="Words that a rule covers at most, on either side.", min=1, max=15, usual="10, else 15"
    )
    max_symbols: int | None = option(
        None, help="Words and gaps of a rule's source side at most.", min=1, max=15, usual="5"
    )
    max_gaps: int | None = option(None, help="Gaps of a rule at most.", min=0, max=2, usual="2")
    min_gap: int | None = option(None, help="Source words that a gap covers at least.", min=1, usual="2, else 1")
    min_target_gap: int | None = option(None, help="Target words that a gap covers at least.", min=1, usual="1")
    edges: Literal["tight", "loose"] | None = option(
        None,
        help="Whether rules and gaps begin and end with aligned words (tight), or grow over unaligned ones (loose).",
        usual="loose, else tight",
    )
    counts: Literal["fractional", "whole"] | None = option(
        None,
        help="Whether the rules of one phrase pair share a count of 1 (fractional), or each counts 1 (whole).",
        usual="fractional, else whole",
    )
    scores: Literal["moses", "cdec"] | None = option(
        None,
        help="Scores: those of phrases (moses), or cdec's seven, which need whole counts.",
        usual="as the preset",
    )
    min_rule_count: int = option(
        1, help="Keep rules with gaps that were seen so many times; rules without gaps are all kept.", min=1
    )
    filter: tuple[str, ...] = option(
        (),
        help="Keep only rules that some line of these texts can match. Scores are those of all rules. `train` prepares "
        "plain text as it does the bitext; `rules extract` takes prepared text.",
        metavar="FILE",
    )
    max_words: int = option(100, help="Leave out sentence pairs with more words on a side.", min=1)
    smoothing: Smoothing = option("none", help="Smoothing of rule translation probabilities.")
    top: int = option(0, help="Keep the N best rules of each source side, by p(e|f); 0 keeps all.", min=0)
    lexical: str | None = option(
        None, help="Also write Moses' lexical tables, PREFIX.f2e and PREFIX.e2f.", metavar="PREFIX"
    )

    def __post_init__(self) -> None:
        check(self)

    def value(self, name: str) -> Any:
        """An option: what was given, else what the preset has."""
        given = getattr(self, name)
        return PRESETS[self.preset][name] if given is None else given

    @property
    def chart_span(self) -> int:
        """Words that a rule may span in decoding, usual for a preset: gaps may be longer than those that were seen."""
        return 20 if self.preset == "moses" else 15

    @property
    def limits(self) -> tuple[int, int, tuple[int, int], int, bool, bool]:
        """What the native side knows: span, symbols, least words of a gap, gaps, tight edges, fractional counts."""
        value = self.value
        gap = value("min_gap"), value("min_target_gap")
        tight, fractional = value("edges") == "tight", value("counts") == "fractional"
        return value("max_span"), value("max_symbols"), gap, value("max_gaps"), tight, fractional


OWN = tuple(name for name in flat(Grammar) if name not in flat(Extraction))
"""Options that only rules with gaps have."""
PHRASES_OWN = tuple(name for name in flat(Extraction) if name not in flat(Grammar))
"""Options that only phrases have."""


def refuse_others(system: str, given: Iterable[str], more: Iterable[str] = ()) -> None:
    """Refuses options by name that belong to the other system; `more` are others of the phrase-based one."""
    hiero = system == SYSTEM
    wrong = [name for name in given if name in ((*PHRASES_OWN, *more) if hiero else OWN)]
    if wrong:
        what = "the phrase-based system; leave it out" if hiero else "rules with gaps; use it"
        raise OptionError(f"{wrong[0]} is an option of {what} with system hiero")


def extract(
    source: Path,
    target: Path,
    alignments: Path,
    out: Path,
    options: Grammar | None = None,
    *,
    engine: Engine | None = None,
    **changes: Any,
) -> Report:
    """Extract rules with gaps from text and its word links (`0-0 1-2`, a line a pair) and write them as a table.

    `changes` are options by name. The table is the same to the last byte whatever the memory, the number of threads,
    and the `engine`, whose workers find, count and score the rules if they are other processes; rules for a given input
    (`filter`), which are few, are found in this process. Glue rules, and those that pass unknown words
    through, are the decoder's and not in the table.
    """
    o = made(Grammar, changes, base=options)
    resolved = {name: o.value(name) for name in PRESETS[o.preset]}
    about = {
        "system": SYSTEM,
        "source": base_name(source),
        "target": base_name(target),
        "alignments": base_name(alignments),
        "preset": o.preset,
        **resolved,
        "min_rule_count": o.min_rule_count,
        "filter": [base_name(path) for path in o.filter],
        "max_words": o.max_words,
        "smoothing": o.smoothing,
        "top": o.top or None,
        **({} if o.level is None else {"significance": o.level}),
    }
    arguments: tuple[Any, ...] = (
        (os.fspath(source), os.fspath(target), os.fspath(alignments)),
        table_path(out),
        meta_of(**about),
        resolved["max_span"],
        o.limits,
        o.min_rule_count,
        resolved["scores"],
        list(o.filter),
        o.max_words,
        None,
        [],
        1.0,
        False,
        o.smoothing,
        1.0,
        0.0,
        False,
        o.top or None,
        o.level,
        lexical_names(o.lexical),
        o.memory,
    )
    return extracted(arguments, None if o.filter else engine)


def of_sentence(
    source: str, target: str, links: str, options: Grammar | None = None, **changes: Any
) -> list[tuple[str, str, list[tuple[int, int]], float]]:
    """The rules of one sentence pair, every occurrence: source, target, links of words by symbols, and count.

    >>> for rule in of_sentence("das Haus", "the house", "0-0 1-1", min_gap=1)[1:4]:
    ...     print(*rule)
    das Haus the house [(0, 0), (1, 1)] 0.3333333333333333
    [X,1] Haus [X,1] house [(1, 1)] 0.3333333333333333
    das [X,1] the [X,1] [(0, 0)] 0.3333333333333333
    """
    return rules_of_sentence(source, target, links, made(Grammar, changes, base=options).limits)
