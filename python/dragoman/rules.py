"""Translation rules: extract phrase pairs from an aligned bitext, score them, read and write Moses' tables.

A table is one file that is mapped and opens in milliseconds. It has a row of scores for every rule, natural
logarithms all of them: translation probabilities and lexical weights in both directions, the log count, whether the
rule was seen only once, and six columns for each reordering model. `extract` makes a table from text and word links,
`import_moses` from Moses' `phrase-table.gz` and `reordering-table.gz`; `Table.export` writes these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal, get_args

from dragoman._core import (
    VERSION,
    RuleExtraction,
    RuleScoring,
    RuleTable,
    rules_form,
    rules_import,
    rules_score_count,
    words,
)
from dragoman.common import Sorting
from dragoman.engine import Engine, Shared, work_off
from dragoman.errors import OptionError
from dragoman.options import check, made, option

__all__ = [
    "MODELS",
    "MOSES_COLUMNS",
    "SMOOTHING",
    "Extraction",
    "Imported",
    "OrientationPrior",
    "Report",
    "Rule",
    "Table",
    "extract",
    "import_moses",
    "model_of",
]

Path = str | PathLike[str]

Reordering = Literal["wbe", "phrase", "hier"]
MODELS: tuple[str, ...] = get_args(Reordering)
"""Reordering models: by word links, by neighbouring phrases, by neighbouring blocks of any size."""

Smoothing = Literal["none", "kneser-ney", "good-turing"]
SMOOTHING: tuple[str, ...] = get_args(Smoothing)
"""Smoothing of phrase translation probabilities."""

MOSES_COLUMNS = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")
"""The scores of a Moses phrase table, in its order."""

TAGS = ".tags"
"""How the name of the file with the names of tags ends, beside a table whose rules carry tags."""

_PACKED = (".gz", ".zst", ".xz")


@dataclass(frozen=True, slots=True)
class Report:
    """What extraction saw and did."""

    pairs: int
    """Sentence pairs, skipped ones included."""
    empty: int
    """Skipped: a side without words."""
    long: int
    """Skipped: too many words."""
    bars: int
    """Skipped: `|||` is a word, which would break Moses' tables."""
    unaligned: int
    """Used, but without links, so that they have no rules."""
    tokens: int
    """Phrase pairs, each occurrence counted."""
    extracted: int
    """Different phrase pairs."""
    rules: int
    """Rules in the table."""
    phrases: int
    """Different source phrases, before pruning."""
    insignificant: int
    """Dropped by the significance test."""
    below_top: int
    """Dropped because the source phrase has enough better rules."""
    rare: int
    """Rules with gaps, dropped because they were seen too few times."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import saw."""

    rules: int
    phrases: int
    repeated: int
    """Rules that came twice; the first was kept."""
    missing: list[int]
    """For each reordering table, rules that it does not have; they cost nothing there, as in Moses."""
    unused: list[int]
    """For each reordering table, entries without a rule."""
    columns: list[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One translation of a source phrase."""

    target: str
    scores: list[float]
    """A natural logarithm for each column of the table."""
    links: list[tuple[int, int]]
    """Source and target offsets of linked words."""


def table_path(out: Path) -> str:
    name = os.fspath(out)
    if name.endswith(_PACKED) or name == "-":
        raise OptionError(f"expected a file name without .gz, .zst or .xz for a table, which is mapped, found `{name}`")
    return name


def lexical_names(prefix: Path | None) -> tuple[str, str] | None:
    """What the names of the lexical tables begin and end with."""
    if prefix is None:
        return None
    name = os.fspath(prefix)
    ending = next((ending for ending in _PACKED if name.endswith(ending)), "")
    return name.removesuffix(ending), ending


def meta_of(**options: Any) -> str:
    return json.dumps({"program": f"dragoman {VERSION}", **options})


def base_name(path: Path) -> str:
    return os.path.basename(os.fspath(path))  # noqa: PTH119


@dataclass(frozen=True, kw_only=True)
class OrientationPrior:
    """How relative frequencies of orientations are smoothed (Cherry 2013, equation 2)."""

    alpha: float = option(10.0, help="Weight of each prior in the smoothing of orientations.", above=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Significance:
    """Fisher's exact test on the sentence pairs that have the two sides of a rule (Johnson et al. 2007)."""

    significance: Literal["a+e", "a-e"] | float | None = option(
        None,
        help="Keep rules that pass Fisher's exact test: a+e drops those seen once whose phrases were seen once, a-e "
        "keeps them, a number is a negative log probability.",
        min=0,
        metavar="LEVEL",
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def level(self) -> str | None:
        """As the native side reads it."""
        return None if self.significance is None else str(self.significance)


def _check_different(models: Sequence[str]) -> None:
    if len(set(models)) < len(models):
        raise OptionError(f"reordering has a model twice: {' '.join(models)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(OrientationPrior, Significance, Sorting):
    """How rules are extracted, scored and pruned."""

    max_phrase_length: int = option(7, help="Most words of a phrase, on either side.", min=1, max=15, was=["length"])
    max_words: int = option(100, help="Leave out sentence pairs with more words on a side.", min=1, was=["longest"])
    reordering: tuple[Reordering, ...] = option(
        ("hier",),
        help="Reordering models: wbe (by word links), phrase (by neighbouring phrases), hier (by blocks of any size), "
        "or none.",
        metavar="MODEL",
        valid=_check_different,
    )
    reordering_share: float = option(
        1.0,
        help="Share of the sentence pairs that reordering models learn from, drawn by line; rules and their other "
        "scores are of all (Cherry 2013, figure 1). The pairs of a smaller share are among those of a larger one.",
        above=0,
        max=1,
    )
    rule_tags: str | None = option(
        None,
        help="Tags of the target text, as many in a line as it has words: each rule carries those that its first and "
        "last target word have most often, for pb:tags=carried. Their names go to OUT.tags.",
        metavar="FILE",
    )
    add: float | None = option(
        None, help="Add this to each count of an orientation, instead of --alpha; Moses: 0.5.", above=0
    )
    moses_next: bool = option(False, help="Judge the block after a phrase as Moses does.")
    orientation_counts: bool = option(False, help="Keep the unsmoothed counts of orientations as columns, too.")
    smoothing: Smoothing = option("none", help="Smoothing of phrase translation probabilities.")
    top: int = option(0, help="Keep the N best rules of each source phrase, by p(e|f); 0 keeps all.", min=0)
    lexical: str | None = option(
        None, help="Also write Moses' lexical tables, PREFIX.f2e and PREFIX.e2f.", metavar="PREFIX"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class _Worker:
    """What workers do without knowing more than options: find the rules of a part of the text, and gather them."""

    arguments: tuple[Any, ...]
    stage: Callable[[RuleExtraction, bytes], bytes]

    def __call__(self, part: bytes) -> bytes:
        return self.stage(RuleExtraction(*self.arguments), part)


@dataclass(frozen=True)
class _Known:
    """What workers must know to score rules, which a process reads once."""

    arguments: tuple[Any, ...]
    content: bytes

    @cached_property
    def scoring(self) -> RuleScoring:
        """As the core has it."""
        return RuleScoring(RuleExtraction(*self.arguments), self.content)

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (self.arguments, self.content)


def _read(arguments: tuple[Any, ...], content: bytes) -> _Known:
    known = _Known(arguments, content)
    _ = known.scoring  # now, while no other task of this process can ask for it
    return known


@dataclass(frozen=True)
class _Scorer:
    """What workers do with that: add up what counts for target phrases, and score."""

    known: Shared[_Known]
    stage: Callable[[RuleScoring, bytes], bytes]

    def __call__(self, part: bytes) -> bytes:
        return self.stage(self.known.value.scoring, part)


def extracted(arguments: tuple[Any, ...], engine: Engine | None) -> Report:
    """Does an extraction: here, or with the help of the workers of an engine that are elsewhere."""
    extraction = RuleExtraction(*arguments)
    if engine is None or engine.local:
        return Report(*extraction.extract())
    with engine:
        work_off(engine, extraction, _Worker(arguments, RuleExtraction.find))
        extraction.advance(engine.workers)
        work_off(engine, extraction, _Worker(arguments, RuleExtraction.gather))
        known = engine.share(_Known(arguments, extraction.knowledge()))
        for stage in (RuleScoring.join, RuleScoring.score):
            extraction.advance(engine.workers)
            work_off(engine, extraction, _Scorer(known, stage))
    return Report(*extraction.finish())


def extract(
    source: Path,
    target: Path,
    alignments: Path,
    out: Path,
    options: Extraction | None = None,
    *,
    engine: Engine | None = None,
    **changes: Any,
) -> Report:
    """Extract rules from text and its word links (`0-0 1-2`, a line a pair) and write them as a table.

    `changes` are options by name. Phrases agree with the links. Orientation probabilities are smoothed recursively with
    weight `alpha` (Cherry 2013), or by adding the constant `add` to each count. `moses_next` judges the block after a
    phrase as Moses does; see the documentation. `lexical` is where Moses' lexical tables go: `lex` writes `lex.f2e` and
    `lex.e2f`, `lex.gz` writes them compressed.

    Temporary files go beside `out`. The table is the same to the last byte whatever the memory, the number of threads,
    and the `engine`, whose workers find, count and score the rules if they are other processes.
    """
    o = made(Extraction, changes, base=options)
    top, level = o.top or None, o.level
    alpha, add = (o.alpha, 0.0) if o.add is None else (None, float(o.add))
    # What tables say of themselves; the names are those of the first version of the format.
    about = {
        "source": base_name(source),
        "target": base_name(target),
        "alignments": base_name(alignments),
        "length": o.max_phrase_length,
        "longest": o.max_words,
        "reordering": list(o.reordering),
        "alpha": alpha,
        "add": o.add,
        "moses_next": o.moses_next,
        "smoothing": o.smoothing,
        "top": top,
        "significance": level,
    }
    # Tables say nothing of what is usual.
    about |= {} if o.reordering_share == 1 else {"reordering_share": o.reordering_share}
    about |= {} if o.rule_tags is None else {"tags": base_name(o.rule_tags)}
    arguments: tuple[Any, ...] = (
        (os.fspath(source), os.fspath(target), os.fspath(alignments)),
        table_path(out),
        meta_of(**about),
        o.max_phrase_length,
        None,
        1,
        "moses",
        [],
        o.max_words,
        None if o.rule_tags is None else (o.rule_tags, f"{table_path(out)}{TAGS}"),
        list(o.reordering),
        o.reordering_share,
        o.moses_next,
        o.smoothing,
        alpha,
        add,
        o.orientation_counts,
        top,
        level,
        lexical_names(o.lexical),
        o.memory,
    )
    return extracted(arguments, engine)


def model_of(path: Path) -> str:
    """Tell the reordering model from the name of a Moses table: `reordering-table.hier-msd-...` is hier, else wbe."""
    return next((model for model in ("hier", "phrase") if f"{model}-" in base_name(path)), "wbe")


def import_moses(
    path: Path,
    out: Path,
    *,
    reordering: Mapping[str, Path] | Sequence[Path] = (),
    columns: Sequence[str] | None = None,
    phrases: bool = False,
    **changes: Any,
) -> Imported:
    """Turn a Moses phrase table, and reordering tables if there are any, into one mapped table.

    Tables with gaps of Moses (`a [X][X] [X] ||| b [X][X] [X] ||| ...`) and grammars of cdec (`[X] ||| a [X,1] ||| ...`)
    are known by their first line, unless `phrases` says that brackets are just words. cdec's scores are taken as they
    are.

    `reordering` maps names of models to files; from files alone the names are told by `model_of`. `columns` names the
    scores; without it four scores have Moses' meaning (`MOSES_COLUMNS`), others are s1, s2, ... `memory` is the
    option of `Sorting`.
    """
    memory = made(Sorting, changes).memory
    if not isinstance(reordering, Mapping):
        models = [model_of(file) for file in reordering]
        if len(set(models)) < len(models):
            raise OptionError(f"expected different reordering models, found {', '.join(models)}; name them")
        reordering = dict(zip(models, reordering, strict=True))
    form = "phrases" if phrases else rules_form(os.fspath(path))
    if columns is None and form != "cdec" and rules_score_count(os.fspath(path)) == len(MOSES_COLUMNS):
        columns = MOSES_COLUMNS
    tables = [(model, os.fspath(file)) for model, file in reordering.items()]
    names = None if columns is None else list(columns)
    system = {} if form == "phrases" else {"system": "hiero"}
    meta = meta_of(**system, imported=base_name(path), reordering={model: base_name(file) for model, file in tables})
    return Imported(*rules_import(os.fspath(path), form, tables, names, table_path(out), meta, memory))


class Table:
    r"""An open table. Its pages are mapped: opening costs nothing, and processes share them.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> f, e, a = (Path(folder.name) / name for name in "fea")
    >>> _ = f.write_text("das Haus\n"), e.write_text("the house\n"), a.write_text("0-0 1-1\n")
    >>> report = extract(f, e, a, Path(folder.name) / "rules")
    >>> table = Table(Path(folder.name) / "rules")
    >>> [rule.target for rule in table.lookup("das Haus")]
    ['the house']
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        """Open the table at `path` and check its head; `verify` checks all of it."""
        self.native = RuleTable(os.fspath(path))
        self.columns: tuple[str, ...] = tuple(self.native.columns())
        figures = self.native.figures()
        self.rules, self.source_words, self.target_words, self.longest_source, self.size = figures

    def __len__(self) -> int:
        """Count the rules."""
        return self.rules

    @property
    def phrases(self) -> int:
        """Number of source phrases that have rules, counted on each call."""
        return self.native.phrases()

    @property
    def meta(self) -> dict[str, Any]:
        """What made the table: program, options, names of the inputs."""
        loaded = json.loads(self.native.meta() or "{}")
        return loaded if isinstance(loaded, dict) else {}

    @property
    def signature(self) -> str:
        """A hash of the contents."""
        return f"{self.native.signature():016x}"

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the reordering models."""
        ending = ".previous.M"
        return tuple(name.removesuffix(ending) for name in self.columns if name.endswith(ending))

    def verify(self) -> None:
        """Read all of the file and compare it with its hashes; raises `InputError` if it is damaged."""
        self.native.verify()

    def lookup(self, phrase: str | Sequence[str]) -> list[Rule]:
        """Find the rules of a source phrase, by word ids of the target."""
        if isinstance(phrase, str):
            phrase = words(phrase)
        return [Rule(*found) for found in self.native.lookup(list(phrase))]

    def export(
        self,
        rules: Path | None,
        *,
        columns: Sequence[str] | None = None,
        reordering: Mapping[str, Path] | None = None,
        cdec: bool = False,
        **changes: Any,
    ) -> None:
        """Write a Moses table to `rules`, and a reordering table for each model in `reordering`.

        The rules of a hierarchical system have gaps there, `[X][X]`. With `cdec` a grammar of cdec is written, with
        scores as they are.

        Lines are sorted by bytes. Scores are probabilities (of the log count the count, of the unique indicator e
        or 1), so that Moses' logarithms of them are ours. Without `columns`, these are `MOSES_COLUMNS` if the table
        has them, else all that belong to no reordering model. `memory` is the option of `Sorting`.
        """
        memory = made(Sorting, changes).memory
        if columns is None:
            plain = [name for name in self.columns if not name.startswith(tuple(f"{m}." for m in self.models))]
            columns = MOSES_COLUMNS if set(MOSES_COLUMNS) <= set(plain) and not cdec else plain
        counts = self.meta.get("smoothing") == "none" and "log count" in self.columns
        tables = [] if reordering is None else [(model, os.fspath(file)) for model, file in reordering.items()]
        path = None if rules is None else os.fspath(rules)
        form = "cdec" if cdec else "moses" if self.meta.get("system") == "hiero" else "phrases"
        self.native.export(path, form, list(columns), counts, tables, memory)
