"""Options that name files, and how much is listed: those that several commands have, each declared here alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dragoman.bitext import Bitext, Files, named
from dragoman.cli.declared import Named, takes
from dragoman.common import Engined
from dragoman.errors import OptionError

__all__ = [
    "bitext_options",
    "bitexts",
    "engine_options",
    "features_option",
    "glossary_option",
    "glossary_weight_option",
    "limit_option",
    "mbr_option",
    "mbr_scale_option",
    "metric_option",
    "model_option",
    "moses_ini_option",
    "out_option",
    "overwrite_option",
    "src_option",
    "text_option",
    "tgt_option",
    "tokenized_option",
    "trust_option",
    "weights_option",
]

F = TypeVar("F", bound=Callable[..., Any])
_SOURCE, _TARGET = "Source text, tokenised, a sentence a line.", "Target text, a line for each source line."


def _metavar(what: str, several: bool) -> str:
    return f"{what}..." if several else what


def src_option(help: str = _SOURCE, *, required: bool = True, several: bool = False) -> Callable[[F], F]:
    """The source side of a bitext, or what is to be translated."""
    return click.option("--src", required=required, multiple=several, metavar=_metavar("FILE", several), help=help)


def tgt_option(help: str = _TARGET, *, required: bool = True, several: bool = False) -> Callable[[F], F]:
    """The target side of a bitext."""
    return click.option("--tgt", required=required, multiple=several, metavar=_metavar("FILE", several), help=help)


def bitext_options(command: F) -> F:
    """Files with both sides."""
    for add in (
        click.option(
            "--columns",
            nargs=2,
            type=click.IntRange(min=1),
            metavar="SRC TGT",
            help="TSV columns, from 1.  [default: 1 2]",
        ),
        click.option(
            "--fields",
            nargs=2,
            metavar="SRC TGT",
            help="JSON fields with both sides; translation.de goes inside.  [default: the languages, else source "
            "target]",
        ),
        click.option(
            "--bitext",
            "bitext",
            multiple=True,
            metavar="FILE...",
            help="Files with both sides: TMX, XLIFF, JSONL or TSV; or how the names of two files begin: corpus, for "
            "corpus.de and corpus.en, with --languages de en.",
        ),
    ):
        command = add(command)
    return command


def bitexts(options: dict[str, Any], languages: tuple[str, str]) -> list[Files | Bitext]:
    """What --src, --tgt and --bitext name."""
    sources, targets = options["src"], options["tgt"]
    if len(sources) != len(targets):
        raise OptionError(f"expected a --tgt file for each --src file, found {len(sources)} and {len(targets)}")
    inputs: list[Files | Bitext] = [Files(s, t) for s, t in zip(sources, targets, strict=True)]
    columns, fields = options["columns"], options["fields"]
    for one in named(options["bitext"], languages):
        form = one.form if isinstance(one, Bitext) and (columns or fields) else ""
        sides = fields if form == "jsonl" else (str(columns[0]), str(columns[1])) if form == "tsv" and columns else None
        inputs.append(Bitext(one.path, sides or None) if isinstance(one, Bitext) else one)
    if not inputs:
        raise OptionError("expected --bitext, or --src and --tgt")
    return inputs


def out_option(help: str, *, default: str | None = None, metavar: str = "FILE") -> Callable[[F], F]:
    """Where the result goes; it must be said unless there is a default, or the help names one that depends."""
    shown = "standard output" if default == "-" else default is not None
    required = default is None and "[default: " not in help
    return click.option(
        "--out", "-o", required=required, default=default, show_default=shown, metavar=metavar, help=help
    )


def model_option(help: str, *, required: bool = False, metavar: str = "FILE") -> Callable[[F], F]:
    """A trained model of some kind."""
    return click.option("--model", required=required, metavar=metavar, help=help)


def text_option(
    help: str = "Text, tokenised, a sentence a line.",
    *,
    required: bool = True,
    several: bool = False,
    default: str | None = None,
) -> Callable[[F], F]:
    """Text of one language."""
    shown = "standard input" if default == "-" else False
    return click.option(
        "--text", required=required, multiple=several, default=default, show_default=shown,
        metavar=_metavar("FILE", several), help=help,
    )  # fmt: skip


def weights_option(help: str, *, several: bool = False, required: bool = False) -> Callable[[F], F]:
    """Files of weights."""
    metavar = _metavar("FILE", several)
    return click.option("--weights", "-w", required=required, multiple=several, metavar=metavar, help=help)


def glossary_option(help: str) -> Callable[[F], F]:
    """Terms and their translations."""
    return click.option(
        "--glossary", metavar="FILE.tsv", help=f"{help} A line has a term, a tab, a translation, and tabs before more."
    )


def glossary_weight_option(usual: str) -> Callable[[F], F]:
    """How much terms are preferred."""
    about = f"What a term of the glossary adds to the score where it is used.  [default: {usual}]"
    return click.option("--glossary-weight", type=click.FloatRange(min=-1000), metavar="X", help=about)


def features_option(prefix: str = "") -> Callable[[F], F]:
    """Feature sets besides those of a model."""
    about = f"{prefix}Feature sets besides the model's own: pt,al,lo, sparse-hrm:words=80,classes=50+20, or of yours "
    return click.option("--features", metavar="SETS", help=f"{about}mine.py:Lengths.  [default: none]")


def text_feature_option(value: str, help: str) -> Callable[[F], F]:
    """Features of whole texts."""
    metavar = f"FILE.py:NAME={value}"
    return click.option("--text-feature", "text_features", multiple=True, metavar=metavar, help=help)


def tokenized_option(help: str) -> Callable[[F], F]:
    """Whether text is as the model has it."""
    return click.option("--tokenized", is_flag=True, help=help)


def overwrite_option(help: str) -> Callable[[F], F]:
    """Whether what is there may be replaced."""
    return click.option("--overwrite", is_flag=True, help=help)


def moses_ini_option(help: str, *, required: bool = False) -> Callable[[F], F]:
    """A Moses system."""
    return click.option("--moses-ini", required=required, metavar="FILE", help=help)


def engine_options(command: F) -> F:
    """Who does the work, and how many at once."""
    return takes(Engined, into="threaded")(command)


def metric_option(help: str) -> Callable[[F], F]:
    """One metric."""
    return click.option("--metric", "-m", type=Named("metric"), metavar="METRIC", help=help)


trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Run what the model brings along in Python: read it first, `dragoman model info` names it.",
)


def limit_option(default: int, help: str) -> Callable[[F], F]:
    """How many rows are listed."""
    return click.option(
        "--limit", default=default, show_default=True, type=click.IntRange(min=0), metavar="N", help=help
    )


def mbr_option(command: F) -> F:
    """The metric of minimum Bayes risk."""
    about = "Choose by minimum Bayes risk over each list, by this metric: bleu.  [default: none]"
    return click.option("--mbr", "mbr_metric", type=Named("metric"), metavar="METRIC", help=about)(command)


def mbr_scale_option(usual: str) -> Callable[[F], F]:
    """How sharply model scores are believed."""
    about = f"With --mbr: sharpness of the belief in model scores.  [default: {usual}]"
    return click.option("--mbr-scale", type=click.FloatRange(min=0), metavar="X", help=about)
