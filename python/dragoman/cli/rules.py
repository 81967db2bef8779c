"""`dragoman rules`: extract, import, export, describe and show translation rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from dragoman import grammars
from dragoman import maxent as models
from dragoman import rules as tables
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import limit_option, out_option, src_option, tgt_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json, print_table
from dragoman.common import Sorting
from dragoman.model import Model, is_model

__all__ = ["open_tables", "rules"]

F = TypeVar("F", bound=Callable[..., Any])

_OUT = out_option("The table to write.")
_MEMORY = takes(Sorting, into="sorting")


def _files(help: str) -> Callable[[F], F]:
    return click.option("--reordering", multiple=True, metavar="[MODEL=]FILE...", help=help)


def _columns(help: str) -> Callable[[F], F]:
    return click.option("--columns", multiple=True, metavar="NAME...", help=help)


def open_tables(path: str) -> list[tables.Table]:
    """The tables of a model folder, or the one that a file is."""
    if not is_model(path):
        return [tables.Table(path)]
    opened = Model.open(path)
    return [tables.Table(opened.file(name)) for name in opened.tables]


@click.group()
def rules() -> None:
    """Translation rules: phrase pairs with scores and reordering models, in a table that opens in milliseconds.

    \b
    dragoman rules extract --src train.de --tgt train.en --alignments train.links --out rules.bin
    dragoman rules show rules.bin "ein Haus"
    dragoman rules export rules.bin --rules phrase-table.gz --reordering reordering-table.gz
    """


@rules.command(cls=Command)
@src_option()
@tgt_option()
@click.option("--alignments", required=True, metavar="FILE", help="Word links, a line `0-0 1-2` for each pair.")
@_OUT
@takes(grammars.System, into="which")
@takes(tables.Extraction, into="options", without=["alpha", "memory"])
@takes(tables.Extraction, into="options", only=["alpha", "memory"])
@takes(grammars.Grammar, into="options", only=grammars.OWN, section="Rules with gaps (--system hiero)")
@as_json
def extract(
    src: str, tgt: str, alignments: str, out: str, which: dict[str, Any], options: dict[str, Any], as_json: bool
) -> None:
    """Extract rules from a bitext and its word links.

    \b
    dragoman rules extract --src train.de --tgt train.en --alignments train.links --out rules.bin
    dragoman rules extract --src a.de.gz --tgt a.en.gz --alignments a.links.gz --out rules.bin --reordering wbe hier \\
        --smoothing kneser-ney --significance a+e --top 30 --memory 8G
    dragoman rules extract --system hiero --src train.de --tgt train.en --alignments train.links --out rules.bin

    The table does not depend on the memory or on the number of threads.
    """
    system = which.get("system", "phrase")
    grammars.refuse_others(system, options)
    run = grammars.extract if system == grammars.SYSTEM else tables.extract
    report = run(src, tgt, alignments, out, **options)
    for count, what in (
        (report.empty, "skipped: a side is empty"),
        (report.long, "skipped: more words than --max-words"),
        (report.bars, "skipped: they have the word `|||`"),
        (report.unaligned, "have no links, and so no rules"),
    ):
        if count:
            messages.warning(f"{count} of {report.pairs} sentence pairs {what}")
    _figures(asdict(report), as_json)


def _figures(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        click.echo(f"{name.replace('_', ' '):16}  {value}")


@rules.command(cls=Command)
@click.argument("table")
@click.option("--classes", required=True, nargs=2, metavar="SRC TGT", help="Files of word classes; the paper has 50.")
@click.option(
    "--words", nargs=2, metavar="SRC TGT", default=None,
    help="Files of words, the most frequent first, for --frequent.  [default: none]",
)  # fmt: skip
@_OUT
@takes(models.Training, into="options")
@as_json
def maxent(
    table: str, classes: tuple[str, str], words: tuple[str, str] | None, out: str, options: dict[str, Any],
    as_json: bool,
) -> None:  # fmt: skip
    """Train a Maxent reordering model on a table's orientation counts, and add its six scores to the rules.

    \b
    dragoman rules extract ... --orientation-counts --out rules.counts
    dragoman rules maxent rules.counts --classes de.50.classes en.50.classes --out rules.bin

    The new columns are maxent.previous.M, .S, .D and maxent.next.M, .S, .D; see docs/maxent.md.
    """
    report = models.train(table, classes, out, words=words, **options)
    if as_json:
        print_json(asdict(report))
        return
    _figures({"rules": report.rules, "examples": report.examples, "features": report.features}, False)
    for side, one in (("previous", report.previous), ("next", report.next)):
        if not one.converged:
            messages.warning(f"{side}: stopped after {one.iterations} iterations, before convergence")
        click.echo(f"{side:16}  perplexity {one.perplexity:.4f} after {one.iterations} iterations")
    if report.heldout is not None:
        _heldout(report.heldout)


def _heldout(held: models.Heldout) -> None:
    click.echo(f"{'held out':16}  {held.tokens} phrase pairs, {held.unseen} of them new")
    rows = [
        ["all pairs", held.maxent, held.relative],
        ["known pairs", held.maxent_seen, held.relative_seen],
    ]
    sides = [
        [f"{what}, {side}", f"{maxent[i]:.4f}", f"{relative[i]:.4f}"]
        for what, maxent, relative in rows
        for i, side in enumerate(("previous", "next"))
    ]
    print_table(["perplexity", "maxent", "relative frequency"], sides)


@rules.command("import", cls=Command)
@click.argument("table")
@_OUT
@_files("Moses reordering tables; without a name, the file name tells the model.")
@_columns("Names of the scores; of cdec's scores, those to keep.  [default: Moses' four, else s1 s2 ...; cdec's all]")
@click.option(
    "--phrases", is_flag=True, help="Take brackets as words, even if the first line looks like rules with gaps."
)
@_MEMORY
@as_json
def import_(
    table: str,
    out: str,
    reordering: tuple[str, ...],
    columns: tuple[str, ...],
    phrases: bool,
    sorting: dict[str, Any],
    as_json: bool,
) -> None:
    """Turn Moses' tables, or a grammar of cdec, into a table that opens in milliseconds.

    \b
    dragoman rules import phrase-table.gz --reordering reordering-table.gz --out rules.bin
    dragoman rules import phrase-table.gz --reordering hier=r1.gz wbe=r2.gz --out rules.bin
    dragoman rules import rule-table.gz --out rules.bin
    dragoman rules import grammar.gz --out rules.bin
    """
    files = _named(reordering)
    found = tables.import_moses(table, out, reordering=files, columns=columns or None, phrases=phrases, **sorting)
    if found.repeated:
        messages.warning(f"{found.repeated} rules came twice; the first of each was kept")
    for model, missing, unused in zip(files, found.missing, found.unused, strict=True):
        if missing:
            messages.warning(f"{missing} rules are not in the table of {model}; they cost nothing there")
        if unused:
            messages.warning(f"{unused} entries of the table of {model} have no rule")
    _figures({"rules": found.rules, "phrases": found.phrases, "columns": " ".join(found.columns)}, as_json)


def _named(files: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for file in files:
        model, mark, path = file.partition("=")
        model, path = (model, path) if mark else (tables.model_of(file), file)
        if model in named:
            raise click.UsageError(f"the reordering model {model} is there twice; write MODEL=FILE")
        named[model] = path
    return named


@rules.command(cls=Command)
@click.argument("table")
@click.option("--rules", "path", metavar="FILE", help="Where the phrase table, or the grammar, goes.")
@_files("Where reordering tables go; a table with one model needs no name.")
@_columns("Scores of the phrase table.  [default: Moses' four; with --cdec all]")
@click.option("--cdec", is_flag=True, help="Write a grammar of cdec.")
@_MEMORY
def export(
    table: str,
    path: str | None,
    reordering: tuple[str, ...],
    columns: tuple[str, ...],
    cdec: bool,
    sorting: dict[str, Any],
) -> None:
    """Write Moses' tables, or a grammar of cdec, sorted, compressed if their names say so.

    \b
    dragoman rules export rules.bin --rules phrase-table.gz --reordering reordering-table.gz
    dragoman rules export rules.bin --rules grammar.gz --cdec
    """
    if path is None and not reordering:
        raise click.UsageError("expected --rules or --reordering, found neither")
    opened = tables.Table(table)
    if len(reordering) == 1 and "=" not in reordering[0] and len(opened.models) == 1:
        files = {opened.models[0]: reordering[0]}
    else:
        files = _named(reordering)
    opened.export(path, columns=columns or None, reordering=files, cdec=cdec, **sorting)


@rules.command(cls=Command)
@click.argument("table")
@click.option("--verify", is_flag=True, help="Read the whole file and compare it with its hashes.")
@as_json
def info(table: str, verify: bool, as_json: bool) -> None:
    """Describe a table: how many rules, which columns, how it was made."""
    opened = tables.Table(table)
    if verify:
        opened.verify()
    figures = {
        "rules": opened.rules,
        "source phrases": opened.phrases,
        "longest source": opened.longest_source,
        "source words": opened.source_words,
        "target words": opened.target_words,
        "bytes": opened.size,
        "signature": opened.signature,
    }
    if as_json:
        print_json({**figures, "columns": list(opened.columns), "meta": opened.meta})
        return
    _figures(figures, False)
    click.echo(f"{'columns':16}  {', '.join(opened.columns)}")
    for name, value in opened.meta.items():
        click.echo(f"{name:16}  {value}")


@rules.command(cls=Command)
@click.argument("table", metavar="TABLE|MODEL")
@click.argument("phrase", nargs=-1, required=True)
@limit_option(20, "Rules to show, of each table.")
@click.option(
    "--sort", "column", metavar="COLUMN", help="Best in this column first.  [default: p(e|f) if there is one]"
)
@as_json
def show(table: str, phrase: tuple[str, ...], limit: int, column: str | None, as_json: bool) -> None:
    """Show the rules of a source phrase, tokenised as the text of the rules was: probabilities, links, target.

    \b
    dragoman rules show rules.bin "ein Haus"
    dragoman rules show model "ein Haus" --limit 5
    dragoman rules show hiero.bin "[X,1] hat [X,2] gesehen"
    """
    found = [(opened, _best(opened, " ".join(phrase), column)[:limit]) for opened in open_tables(table)]
    if as_json:
        print_json(
            [
                {"target": r.target, "scores": dict(zip(opened.columns, r.scores, strict=True)), "links": r.links}
                for opened, chosen in found
                for r in chosen
            ]
        )
        return
    if not any(chosen for _, chosen in found):
        messages.warning(f"no rules for `{' '.join(phrase)}`")
    for opened, chosen in found:
        if chosen:
            print_table(["target", "links", *opened.columns], [_row(opened, rule) for rule in chosen])


def _best(opened: tables.Table, phrase: str, column: str | None) -> list[tables.Rule]:
    """The rules of a phrase, those first that are best in a column."""
    if column is None:
        column = "p(e|f)" if "p(e|f)" in opened.columns else opened.columns[0] if opened.columns else None
    found = opened.lookup(phrase)
    if column is not None:
        if column not in opened.columns:
            raise click.UsageError(f"no column {column}; there are {', '.join(opened.columns)}")
        at = opened.columns.index(column)
        found.sort(key=lambda rule: -rule.scores[at])
    return found


def _row(opened: tables.Table, rule: tables.Rule) -> list[str]:
    links = " ".join(f"{i}-{j}" for i, j in rule.links)
    numbers = (_number(column, score) for column, score in zip(opened.columns, rule.scores, strict=True))
    return [rule.target, links, *numbers]


def _number(column: str, score: float) -> str:
    """A probability, but for columns that are none: a count, an indicator, a logarithm by its name."""
    if column.endswith(".count") or column == "unique":
        return f"{score:.0f}"
    if column in grammars.CDEC_COLUMNS:
        return f"{score:.4g}"
    return f"{score:.4g}" if column == "log count" else f"{math.exp(score):.4g}"
