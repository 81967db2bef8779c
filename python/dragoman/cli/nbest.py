"""`dragoman nbest convert` and `dragoman nbest stat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import click

from dragoman import nbest as lists
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import Named
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.types import Candidates, Names

__all__ = ["nbest"]

_FROM = click.option(
    "--from",
    "source_format",
    type=Named("dialect"),
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help="Format of the list: moses, cdec, travatar, jsonl, or FILE.py:NAME; auto tells it from the first line.",
)


@click.group()
def nbest() -> None:
    """N-best lists of any system: Moses, cdec, Travatar and JSONL."""


@nbest.command(cls=Command)
@click.argument("source")
@click.argument("target", default="-")
@_FROM
@click.option(
    "--to",
    "target_format",
    type=Named("dialect"),
    metavar="FORMAT",
    help="Format to write, as for --from.  [default: jsonl if TARGET says so, else moses]",
)
@click.option(
    "--dense",
    multiple=True,
    metavar="NAME...",
    help="Features to mark dense: `NAME= value` in Moses lists.  [default: those that the list marks]",
)
def convert(source: str, target: str, source_format: str, target_format: str | None, dense: tuple[str, ...]) -> None:
    """Rewrite a list in another format, in constant memory.

    \b
    dragoman nbest convert dev.nbest.gz dev.jsonl.zst
    dragoman nbest convert samples.jsonl - --to moses --dense logprob length

    JSONL has one candidate a line, sorted by sentence; only id and text must be there:
    {"id": 0, "text": "a house", "features": {"logprob": -3.2}, "scores": {"comet": 0.81}}
    """
    batches = lists.stream(source, source_format, Names(list(dense), dense=True))
    with lists.Writer(target, target_format) as writer:
        for batch in _counted(batches):
            writer.write(batch)


def _counted(batches: Iterable[Candidates]) -> Iterator[Candidates]:
    with counter("candidates") as advance:
        for batch in batches:
            yield batch
            advance(batch.size)


@nbest.command(cls=Command)
@click.argument("source")
@_FROM
@as_json
def stat(source: str, source_format: str, as_json: bool) -> None:
    """Show what is in a list: sizes, duplicates, the range of each dense feature.

    A feature that is the same for all candidates of every sentence cannot be tuned; it is marked as constant.
    """
    found = lists.stat(source, source_format)
    if as_json:
        print_json(asdict(found))
        return
    click.echo(f"sentences   {found.sentences}")
    click.echo(f"candidates  {found.candidates}")
    click.echo(f"list sizes  {found.smallest} to {found.largest}, mean {found.mean_size:.1f}")
    click.echo(f"duplicates  {found.duplicates} ({100 * (1 - found.distinct):.1f} %)")
    click.echo(f"features    {len(found.dense)} dense, {found.sparse} sparse")
    if found.dense:
        click.echo()
        rows = [
            [f.name, f"{f.minimum:g}", f"{f.mean:g}", f"{f.maximum:g}", "constant" if f.constant else ""]
            for f in found.dense
        ]
        print_table(["dense feature", "minimum", "mean", "maximum", ""], rows)
