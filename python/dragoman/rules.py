"""Translation rules: extract phrase pairs from an aligned bitext, score them, read and write Moses' tables.

A table is one file that is mapped and opens in milliseconds. It has a row of scores for every rule, natural
logarithms all of them: translation probabilities and lexical weights in both directions, the log count, whether the
rule was seen only once, and six columns for each reordering model. `extract` makes a table from text and word links,
`import_moses` from Moses' `phrase-table.gz` and `reordering-table.gz`; `Table.export` writes these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from dragoman._core import VERSION, RuleTable, rules_extract, rules_import, rules_score_count
from dragoman.errors import OptionError

__all__ = [
    "MODELS",
    "MOSES_COLUMNS",
    "SMOOTHING",
    "Imported",
    "Report",
    "Rule",
    "Table",
    "extract",
    "import_moses",
    "model_of",
]

Path = str | PathLike[str]

MODELS = ("wbe", "phrase", "hier")
"""Reordering models: by word links, by neighbouring phrases, by neighbouring blocks of any size."""

SMOOTHING = ("none", "kneser-ney", "good-turing")
"""Smoothing of phrase translation probabilities."""

MOSES_COLUMNS = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")
"""The scores of a Moses phrase table, in its order."""

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


def _table_path(out: Path) -> str:
    name = os.fspath(out)
    if name.endswith(_PACKED) or name == "-":
        raise OptionError(f"expected a file name without .gz, .zst or .xz for a table, which is mapped, found `{name}`")
    return name


def _lexical(prefix: Path | None) -> tuple[str, str] | None:
    """What the names of the lexical tables begin and end with."""
    if prefix is None:
        return None
    name = os.fspath(prefix)
    ending = next((ending for ending in _PACKED if name.endswith(ending)), "")
    return name.removesuffix(ending), ending


def _meta(**options: Any) -> str:
    return json.dumps({"program": f"dragoman {VERSION}", **options})


def _base(path: Path) -> str:
    return os.path.basename(os.fspath(path))  # noqa: PTH119


def extract(
    source: Path,
    target: Path,
    alignments: Path,
    out: Path,
    *,
    length: int = 7,
    longest: int = 100,
    reordering: Sequence[str] = ("hier",),
    alpha: float = 10.0,
    add: float | None = None,
    moses_next: bool = False,
    orientation_counts: bool = False,
    smoothing: str = "none",
    top: int | None = None,
    significance: str | float | None = None,
    lexical: Path | None = None,
    memory: str = "2G",
) -> Report:
    """Extract rules from text and its word links (`0-0 1-2`, a line a pair) and write them as a table.

    Phrases have up to `length` words and agree with the links; sentence pairs with more than `longest` words on a
    side are left out. Orientation probabilities of the models in `reordering` are smoothed recursively with weight
    `alpha` (Cherry 2013), or by adding the constant `add` to each count (Moses: 0.5). `moses_next` judges the block
    after a phrase as Moses does; see the documentation. `top` keeps the best rules of each source phrase by p(e|f),
    `significance` ("a+e", "a-e", or a negative log probability) those that pass Fisher's exact test. `lexical` is
    where Moses' lexical tables go: `lex` writes `lex.f2e` and `lex.e2f`, `lex.gz` writes them packed.

    Sorting takes about `memory`; more goes to temporary files beside `out`. The table is the same to the last byte
    whatever the memory and the number of threads.
    """
    for name, value in (("length", length), ("longest", longest), ("top", top)):
        if value is not None and value < 1:
            raise OptionError(f"expected a {name} of at least 1, found {value}")
    options = {
        "source": _base(source),
        "target": _base(target),
        "alignments": _base(alignments),
        "length": length,
        "longest": longest,
        "reordering": list(reordering),
        "alpha": alpha if add is None else None,
        "add": add,
        "moses_next": moses_next,
        "smoothing": smoothing,
        "top": top,
        "significance": None if significance is None else str(significance),
    }
    figures = rules_extract(
        (os.fspath(source), os.fspath(target), os.fspath(alignments)),
        _table_path(out),
        _meta(**options),
        length,
        longest,
        list(reordering),
        moses_next,
        smoothing,
        alpha if add is None else None,
        0.0 if add is None else add,
        orientation_counts,
        top,
        None if significance is None else str(significance),
        _lexical(lexical),
        memory,
    )
    return Report(*figures)


def model_of(path: Path) -> str:
    """Tell the reordering model from the name of a Moses table: `reordering-table.hier-msd-...` is hier, else wbe."""
    return next((model for model in ("hier", "phrase") if f"{model}-" in _base(path)), "wbe")


def import_moses(
    path: Path,
    out: Path,
    *,
    reordering: Mapping[str, Path] | Sequence[Path] = (),
    columns: Sequence[str] | None = None,
    memory: str = "2G",
) -> Imported:
    """Turn a Moses phrase table, and reordering tables if there are any, into one mapped table.

    `reordering` maps names of models to files; from files alone the names are told by `model_of`. `columns` names the
    scores; without it four scores have Moses' meaning (`MOSES_COLUMNS`), others are s1, s2, ...
    """
    if not isinstance(reordering, Mapping):
        models = [model_of(file) for file in reordering]
        if len(set(models)) < len(models):
            raise OptionError(f"expected different reordering models, found {', '.join(models)}; name them")
        reordering = dict(zip(models, reordering, strict=True))
    if columns is None and rules_score_count(os.fspath(path)) == len(MOSES_COLUMNS):
        columns = MOSES_COLUMNS
    tables = [(model, os.fspath(file)) for model, file in reordering.items()]
    names = None if columns is None else list(columns)
    meta = _meta(imported=_base(path), reordering={model: _base(file) for model, file in tables})
    return Imported(*rules_import(os.fspath(path), tables, names, _table_path(out), meta, memory))


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
            # Blanks and tabs only: other white space may be part of words.
            phrase = [word for word in phrase.replace("\t", " ").split(" ") if word]
        return [Rule(*found) for found in self.native.lookup(list(phrase))]

    def export(
        self,
        rules: Path | None,
        *,
        columns: Sequence[str] | None = None,
        reordering: Mapping[str, Path] | None = None,
        memory: str = "2G",
    ) -> None:
        """Write a Moses phrase table to `rules`, and a reordering table for each model in `reordering`.

        Lines are sorted by bytes. Scores are probabilities (of the log count the count, of the unique indicator e
        or 1), so that Moses' logarithms of them are ours. Without `columns`, these are `MOSES_COLUMNS` if the table
        has them, else all that belong to no reordering model.
        """
        if columns is None:
            plain = [name for name in self.columns if not name.startswith(tuple(f"{m}." for m in self.models))]
            columns = MOSES_COLUMNS if set(MOSES_COLUMNS) <= set(plain) else plain
        counts = self.meta.get("smoothing") == "none" and "log count" in self.columns
        tables = [] if reordering is None else [(model, os.fspath(file)) for model, file in reordering.items()]
        path = None if rules is None else os.fspath(rules)
        self.native.export(path, list(columns), counts, tables, memory)
