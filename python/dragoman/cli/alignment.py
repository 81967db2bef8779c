"""`dragoman align`: train and align, apply a trained aligner, join two directions, score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from dragoman import alignment as words
from dragoman.cli.arguments import Command, as_json, seed_option
from dragoman.cli.progress import bar
from dragoman.cli.show import print_json, print_table
from dragoman.errors import OptionError
from dragoman.files import read_parallel
from dragoman.types import Texts

__all__ = ["align"]

F = TypeVar("F", bound=Callable[..., Any])

_TEXT = [
    click.option("--src", required=True, metavar="FILE", help="Source text, tokenised, a sentence a line."),
    click.option("--tgt", required=True, metavar="FILE", help="Target text, a line for each source line."),
]
_RESULT = [
    click.option(
        "--symmetrise",
        "method",
        type=click.Choice(words.METHODS),
        default="grow-diag-final-and",
        show_default=True,
        help="How both directions are joined.",
    ),
    click.option("--out", default="-", show_default=True, metavar="FILE", help="Where the joined links go."),
    click.option("--forward", metavar="FILE", help="Also write the links in which each target word has at most one."),
    click.option("--reverse", metavar="FILE", help="Also write the links in which each source word has at most one."),
]


class _Group(click.Group):
    """A group that trains when no subcommand is named: `dragoman align --src a.fr --tgt a.en`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if known or not args else ["train", *args])


def _with(options: list[Callable[[F], F]]) -> Callable[[F], F]:
    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.group(cls=_Group)
def align() -> None:
    """Align words: train on a bitext, align new text, join two directions, score against gold links.

    \b
    dragoman align --src train.fr --tgt train.en --out train.links --model fr-en.aligner
    dragoman align apply --model fr-en.aligner --src new.fr --tgt new.en --out new.links
    dragoman align score --gold gold.fr-en train.links

    Without the name of a subcommand, `train` is meant.
    """


@align.command(cls=Command)
@_with(_TEXT)
@_with(_RESULT)
@click.option("--model", metavar="FILE", help="Also save the aligner, for `dragoman align apply`.")
@click.option(
    "--aligner",
    type=click.Choice(["dragoman", "eflomal"]),
    default="dragoman",
    show_default=True,
    help="eflomal, if you have installed it, instead of ours.",
)
@click.option("--alignments", metavar="FILE", help="Check and copy the links of this file instead of training.")
@click.option("--samplers", default=words.Options().samplers, show_default=True, type=click.IntRange(1, 64))
@click.option(
    "--sweeps",
    nargs=3,
    type=click.IntRange(min=0),
    default=None,
    help="Sweeps with IBM 1, HMM, and HMM with fertilities; by default 7 14 28, and fewer for a large text.",
)
@click.option("--prefix", default=0, show_default=True, help="Cut words to so many characters; 0 keeps them whole.")
@click.option("--longest", default=500, show_default=True, help="Leave out pairs with more words on a side.")
@seed_option
def train(**options: Any) -> None:
    """Train an aligner on a bitext and write the bitext's links, a line `0-0 1-2` for each pair.

    \b
    dragoman align --src train.fr --tgt train.en --out train.links
    dragoman align --src train.fr --tgt train.en --symmetrise intersection --model fr-en.aligner > train.links
    """
    source, target = read_parallel([options["src"], options["tgt"]])
    if options["alignments"]:
        words.Links.read(options["alignments"], (source, target)).write(options["out"])
        return
    if options["aligner"] == "eflomal":
        if options["model"]:
            raise OptionError("eflomal has no aligner that can be saved; leave --model out, or use ours")
        from dragoman.eflomal import align_with_eflomal  # noqa: PLC0415  a plug-in

        _write(align_with_eflomal(source, target), options)
        return
    aligner = _train(source, target, options)
    assert aligner.trained is not None
    if options["model"]:
        aligner.save(options["model"])
    _write(aligner.trained, options)


def _train(source: Texts, target: Texts, options: dict[str, Any]) -> words.Aligner:
    names = ("samplers", "sweeps", "prefix", "longest", "seed")
    chosen = words.Options(**{name: options[name] for name in names})
    with bar("sweeps") as show:
        return words.train(source, target, chosen, show)


def _write(alignment: words.Alignment, options: dict[str, Any]) -> None:
    alignment.links(options["method"]).write(options["out"])
    for name, links in (("forward", alignment.forward), ("reverse", alignment.reverse)):
        if options[name]:
            links.write(options[name])
    _tell(alignment.report)


def _tell(report: words.Report) -> None:
    for count, what in (
        (report.empty, "have an empty side: no links"),
        (report.long, "are too long (--longest): no links"),
        (report.control, "have control characters, taken as parts of words"),
        (report.bar, "have `|` in a word, which phrase tables reserve"),
    ):
        if count:
            click.echo(f"dragoman: {count} of {report.pairs} sentence pairs {what}", err=True)


@align.command(cls=Command)
@click.option("--model", required=True, metavar="FILE", help="An aligner that `dragoman align --model` saved.")
@_with(_TEXT)
@_with(_RESULT)
@seed_option
def apply(**options: Any) -> None:
    """Align new text with a trained aligner.

    The links of a sentence pair do not depend on the rest of the text.
    """
    aligner = words.Aligner.load(options["model"])
    source, target = read_parallel([options["src"], options["tgt"]])
    _write(aligner.align(source, target, seed=options["seed"]), options)


@align.command(cls=Command)
@click.argument("forward")
@click.argument("reverse")
@click.argument("out", default="-")
@click.option("--method", type=click.Choice(words.METHODS), default="grow-diag-final-and", show_default=True)
def symmetrise(forward: str, reverse: str, out: str, method: str) -> None:
    """Join the links of two directions, from any tool; both files name source positions first."""
    both = words.Links.read(forward), words.Links.read(reverse)
    words.symmetrise(*both, method).write(out)


@align.command(cls=Command)
@click.argument("links", nargs=-1, required=True)
@click.option("--gold", required=True, metavar="FILE", help="Gold links: `i-j` sure, `i?j` possible.")
@as_json
def score(links: tuple[str, ...], gold: str, as_json: bool) -> None:
    """Alignment error rate, precision and recall of links against gold links.

    The lines of the gold file are the first lines of the links.
    """
    truth = words.Gold.read(gold)
    scores = {path: words.score(words.Links.read(path), truth) for path in links}
    if as_json:
        figures = {
            path: {**asdict(s), "aer": s.error_rate, "precision": s.precision, "recall": s.recall}
            for path, s in scores.items()
        }
        print_json(figures)
        return
    rows = [[path, f"{s.error_rate:.4f}", f"{s.precision:.4f}", f"{s.recall:.4f}"] for path, s in scores.items()]
    print_table(["links", "AER", "precision", "recall"], rows)
