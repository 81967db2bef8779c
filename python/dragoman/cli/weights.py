"""`dragoman weights`: show, convert, merge, average, prune and compare weights, millions of them if need be."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import click

from dragoman import weights as files
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import limit_option, out_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json, print_table
from dragoman.types import Weights

__all__ = ["weights"]

_OUT = out_option("Where they go; .toml, .json, .txt, .txt.gz or .bin.")


@click.group()
def weights() -> None:
    """Weights of features: shown, converted, merged, averaged, pruned, compared.

    \b
    dragoman weights show tuned/weights.toml --limit 20
    dragoman weights convert weights.txt.gz --out weights.bin
    dragoman weights average run1.bin run2.bin run3.bin --out mean.bin

    Files are TOML, JSON, plain text with a line `name value` each, or binary (.bin), which is mapped and made for
    millions of names. Content shows what is read, the name of a file what is written.
    """


@weights.command(cls=Command, was={"--top": "--limit"})
@click.argument("file")
@limit_option(10, "Largest weights to list.")
@click.option(
    "--match", "pattern", metavar="PATTERN", help="List those whose names fit, e.g. 'pt:*haus*'.  [default: all]"
)
@as_json
def show(file: str, limit: int, pattern: str | None, as_json: bool) -> None:
    """Show what weights there are, set by set, and the largest of them.

    \b
    dragoman weights show weights.bin
    dragoman weights show weights.bin --match 'pt:das_haus>*' --limit 5
    """
    found = files.load(file)
    made, largest = files.sets(found), files.top(found, limit, pattern)
    if as_json:
        rows = [{"name": name, "weight": value} for name, value in largest]
        facts = {"file": file, "names": len(found), "about": files.about(file)}
        print_json({**facts, "sets": [asdict(one) for one in made], "largest": rows})
        return
    click.echo(f"{file}: {len(found):,} weights")
    print_table(
        ["set", "names", "not zero", "sum of sizes", "length", "lowest", "highest"],
        [
            [s.name or "(dense)", f"{s.names:,}", f"{s.nonzero:,}", *map(_number, (s.l1, s.l2, s.lowest, s.highest))]
            for s in made
        ],
    )
    if largest:
        click.echo()
        print_table(["feature", "weight"], [[name, _number(value)] for name, value in largest])


@weights.command(cls=Command)
@click.argument("file")
@_OUT
def convert(file: str, out: str) -> None:
    """Write weights in another form.

    \b
    dragoman weights convert weights.toml --out weights.bin
    dragoman weights convert weights.bin --out - | sort -k 2,2gr | head
    """
    _write(out, files.load(file))


@weights.command(cls=Command)
@click.argument("parts", nargs=-1, required=True, metavar="FILE...")
@_OUT
@takes(files.Merging, into="options")
def merge(parts: tuple[str, ...], out: str, options: dict[str, Any]) -> None:
    """Put the weights of several files into one.

    \b
    dragoman weights merge dense.toml sparse.bin --out all.bin
    """
    _write(out, files.merge([files.load(part) for part in parts], **options))


@weights.command(cls=Command)
@click.argument("parts", nargs=-1, required=True, metavar="FILE...")
@_OUT
@takes(files.Averaging, into="options")
def average(parts: tuple[str, ...], out: str, options: dict[str, Any]) -> None:
    """Take the mean of weights: of epochs, of replications, of shards.

    \b
    dragoman weights average tuned/steps/*.toml --out mean.toml
    dragoman weights average a.bin b.bin --factors 3 1 --out mixed.bin
    """
    _write(out, files.average([files.load(part) for part in parts], **options))


@weights.command(cls=Command)
@click.argument("file")
@_OUT
@takes(files.Pruning, into="options")
def prune(file: str, out: str, options: dict[str, Any]) -> None:
    """Keep some weights. Zeros go in any case; features outside all sets (`LM`, `TM[0]`) are dense and stay.

    \b
    dragoman weights prune weights.bin --min-weight 0.001 --out small.bin
    dragoman weights prune weights.bin --max-features 100000 --without lo --out small.bin
    """
    found = files.load(file)
    kept = files.prune(found, **options)
    _write(out, kept, f"{len(kept):,} of {len(found):,} weights")


@weights.command(cls=Command, was={"--top": "--limit"})
@click.argument("first")
@click.argument("second")
@limit_option(20, "Largest differences to list.")
@as_json
def diff(first: str, second: str, limit: int, as_json: bool) -> None:
    """Compare two files: names that one lacks, how far apart they are, and where they differ most.

    \b
    dragoman weights diff tuned/steps/001.toml tuned/steps/010.toml
    """
    found = files.diff(files.load(first), files.load(second), limit)
    if as_json:
        largest = [dict(zip(("name", "first", "second"), row, strict=True)) for row in found.largest]
        print_json({**asdict(found), "largest": largest})
        return
    rows = [
        ["in both", f"{found.both:,}"],
        ["  equal", f"{found.equal:,}"],
        [f"in {first} alone", f"{found.first:,}"],
        [f"in {second} alone", f"{found.second:,}"],
        ["distance", _number(found.distance)],
        ["cosine", _number(found.cosine)],
    ]
    print_table(["names", ""], rows)
    if found.largest:
        click.echo()
        print_table(["feature", first, second], [[name, _number(a), _number(b)] for name, a, b in found.largest])


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def _write(out: str, made: Weights, what: str | None = None) -> None:
    files.save(out, made)
    if out != "-":
        messages.note(f"dragoman: {what or f'{len(made):,} weights'} in {out}")
