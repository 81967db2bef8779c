"""`dragoman rules`: extract, import, export, describe and show translation rules."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import click

from dragoman import maxent as models
from dragoman import rules as tables
from dragoman.cli.arguments import Command, as_json, seed_option
from dragoman.cli.show import print_json, print_table

__all__ = ["rules"]

_MEMORY = click.option(
    "--memory", default="2G", show_default=True, metavar="SIZE", help="For sorting; what does not fit goes to disk."
)


@click.group()
def rules() -> None:
    """Translation rules: phrase pairs with scores and reordering models, in a table that opens in milliseconds.

    \b
    dragoman rules extract --src train.de --tgt train.en --alignments train.links --out rules.bin
    dragoman rules show rules.bin "ein Haus"
    dragoman rules export rules.bin --rules phrase-table.gz --reordering reordering-table.gz
    """


@rules.command(cls=Command)
@click.option("--src", required=True, metavar="FILE", help="Source text, tokenised, a sentence a line.")
@click.option("--tgt", required=True, metavar="FILE", help="Target text, a line for each source line.")
@click.option("--alignments", required=True, metavar="FILE", help="Word links, a line `0-0 1-2` for each pair.")
@click.option("--out", required=True, metavar="FILE", help="The table to write.")
@click.option("--length", default=7, show_default=True, help="Words of the longest phrase on either side.")
@click.option("--longest", default=100, show_default=True, help="Leave out pairs with more words on a side.")
@click.option(
    "--reordering",
    multiple=True,
    type=click.Choice([*tables.MODELS, "none"]),
    default=("hier",),
    show_default="hier",
    metavar="MODEL...",
    help="wbe (by word links), phrase (by neighbouring phrases), hier (by blocks of any size), or none.",
)
@click.option("--alpha", default=10.0, show_default=True, help="Weight of each prior of the orientations.")
@click.option("--add", type=float, metavar="N", help="Add N to each orientation count instead; Moses: 0.5.")
@click.option("--moses-next", is_flag=True, help="Judge the block after a phrase as Moses does.")
@click.option("--orientation-counts", is_flag=True, help="Keep the unsmoothed counts as columns, too.")
@click.option(
    "--smoothing",
    type=click.Choice(tables.SMOOTHING),
    default="none",
    show_default=True,
    help="Of phrase translation probabilities.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Keep the N best rules of each source phrase.")
@click.option(
    "--significance",
    metavar="T",
    help="Keep rules that pass Fisher's exact test: a+e drops those seen once whose phrases were seen once, a-e keeps "
    "them, a number is a negative log probability.",
)
@click.option("--lexical", metavar="PREFIX", help="Also write Moses' lexical tables PREFIX.f2e and PREFIX.e2f.")
@_MEMORY
@as_json
def extract(src: str, tgt: str, as_json: bool, **options: Any) -> None:
    """Extract rules from a bitext and its word links.

    \b
    dragoman rules extract --src train.de --tgt train.en --alignments train.links --out rules.bin
    dragoman rules extract --src a.de.gz --tgt a.en.gz --alignments a.links.gz --out rules.bin --reordering wbe hier \\
        --smoothing kneser-ney --significance a+e --top 30 --memory 8G

    The table does not depend on the memory or on the number of threads.
    """
    chosen = [model for model in options.pop("reordering") if model != "none"]
    report = tables.extract(src, tgt, options.pop("alignments"), options.pop("out"), reordering=chosen, **options)
    for count, what in (
        (report.empty, "skipped: a side is empty"),
        (report.long, "skipped: more words than --longest"),
        (report.bars, "skipped: they have the word `|||`"),
        (report.unaligned, "have no links, and so no rules"),
    ):
        if count:
            click.echo(f"dragoman: {count} of {report.pairs} sentence pairs {what}", err=True)
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
@click.option("--out", required=True, metavar="FILE", help="The table to write.")
@click.option("--model", default="hier", show_default=True, help="Whose orientation counts to train on.")
@click.option("--name", default="maxent", show_default=True, help="What the new columns are called.")
@click.option("--c", default=0.1, show_default=True, help="Trust in the counts: the variance of the weights' prior.")
@click.option("--least", default=5, show_default=True, help="Leave out features of fewer phrase-pair tokens.")
@click.option("--singletons", default=0.1, show_default=True, help="Share of the rules seen once to train on.")
@click.option("--iterations", default=300, show_default=True, help="Most iterations for each direction.")
@click.option("--drop-counts", is_flag=True, help="Leave the columns of counts out of the new table.")
@click.option("--heldout", metavar="FILE", help="A table with counts from other text, to measure perplexity on.")
@click.option("--alpha", default=10.0, show_default=True, help="Smoothing of the relative frequencies beside it.")
@seed_option
@as_json
def maxent(table: str, classes: tuple[str, str], out: str, as_json: bool, **options: Any) -> None:
    """Train a Maxent reordering model on a table's orientation counts, and add its six scores to the rules.

    \b
    dragoman rules extract ... --orientation-counts --out rules.counts
    dragoman rules maxent rules.counts --classes de.50.classes en.50.classes --out rules.bin

    The new columns are maxent.previous.M, .S, .D and maxent.next.M, .S, .D; see docs/maxent.md.
    """
    report = models.train(table, classes, out, **options)
    if as_json:
        print_json(asdict(report))
        return
    _figures({"rules": report.rules, "examples": report.examples, "features": report.features}, False)
    for side, one in (("previous", report.previous), ("next", report.next)):
        if not one.converged:
            click.echo(f"dragoman: {side}: stopped after {one.iterations} iterations, before convergence", err=True)
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
@click.option("--out", required=True, metavar="FILE", help="The table to write.")
@click.option(
    "--reordering",
    multiple=True,
    metavar="[MODEL=]FILE...",
    help="Moses reordering tables; without a name, the file name tells the model.",
)
@click.option("--columns", multiple=True, metavar="NAME...", help="Names of the scores.")
@_MEMORY
@as_json
def import_(
    table: str, out: str, reordering: tuple[str, ...], columns: tuple[str, ...], memory: str, as_json: bool
) -> None:
    """Turn Moses' tables into one that opens in milliseconds.

    \b
    dragoman rules import phrase-table.gz --reordering reordering-table.gz --out rules.bin
    dragoman rules import phrase-table.gz --reordering hier=r1.gz wbe=r2.gz --out rules.bin
    """
    files = _named(reordering)
    found = tables.import_moses(table, out, reordering=files, columns=columns or None, memory=memory)
    if found.repeated:
        click.echo(f"dragoman: {found.repeated} rules came twice; the first of each was kept", err=True)
    for model, missing, unused in zip(files, found.missing, found.unused, strict=True):
        if missing:
            click.echo(f"dragoman: {missing} rules are not in the table of {model}; they cost nothing there", err=True)
        if unused:
            click.echo(f"dragoman: {unused} entries of the table of {model} have no rule", err=True)
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
@click.option("--rules", "path", metavar="FILE", help="Where the phrase table goes.")
@click.option(
    "--reordering",
    multiple=True,
    metavar="[MODEL=]FILE...",
    help="Where reordering tables go; a table with one model needs no name.",
)
@click.option("--columns", multiple=True, metavar="NAME...", help="Scores of the phrase table; Moses' four by default.")
@_MEMORY
def export(table: str, path: str | None, reordering: tuple[str, ...], columns: tuple[str, ...], memory: str) -> None:
    """Write Moses' tables, sorted, packed if their names say so.

    \b
    dragoman rules export rules.bin --rules phrase-table.gz --reordering reordering-table.gz
    """
    if path is None and not reordering:
        raise click.UsageError("expected --rules or --reordering, found neither")
    opened = tables.Table(table)
    if len(reordering) == 1 and "=" not in reordering[0] and len(opened.models) == 1:
        files = {opened.models[0]: reordering[0]}
    else:
        files = _named(reordering)
    opened.export(path, columns=columns or None, reordering=files, memory=memory)


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
@click.argument("table")
@click.argument("phrase", nargs=-1, required=True)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1), help="Show at most so many.")
@click.option("--sort", "column", metavar="COLUMN", help="Best in this column first; p(e|f) if there is one.")
@as_json
def show(table: str, phrase: tuple[str, ...], limit: int, column: str | None, as_json: bool) -> None:
    """Show the rules of a source phrase: probabilities, links, target.

    \b
    dragoman rules show rules.bin "ein Haus"
    """
    opened = tables.Table(table)
    found = opened.lookup(" ".join(phrase))
    if column is None:
        column = "p(e|f)" if "p(e|f)" in opened.columns else opened.columns[0] if opened.columns else None
    if column is not None:
        if column not in opened.columns:
            raise click.UsageError(f"no column {column}; there are {', '.join(opened.columns)}")
        at = opened.columns.index(column)
        found.sort(key=lambda rule: -rule.scores[at])
    chosen = found[:limit]
    if as_json:
        print_json(
            [
                {"target": r.target, "scores": dict(zip(opened.columns, r.scores, strict=True)), "links": r.links}
                for r in chosen
            ]
        )
        return
    if not found:
        click.echo(f"dragoman: no rules for `{' '.join(phrase)}`", err=True)
        return
    rows = [
        [r.target, " ".join(f"{i}-{j}" for i, j in r.links), *(_number(n, s) for n, s in zip(opened.columns, r.scores))]  # noqa: B905
        for r in chosen
    ]
    print_table(["target", "links", *opened.columns], rows)


def _number(column: str, score: float) -> str:
    """A probability, but for columns that are none: a count, or an indicator."""
    if column.endswith(".count") or column == "unique":
        return f"{score:.0f}"
    return f"{math.exp(score):.0f}" if column == "log count" else f"{math.exp(score):.4g}"
