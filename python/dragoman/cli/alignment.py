"""`dragoman align`: train and align, apply a trained aligner, join two directions, score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from dragoman import alignment as words
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import model_option, out_option, src_option, tgt_option
from dragoman.cli.messages import messages
from dragoman.cli.progress import bar
from dragoman.cli.show import print_json, print_table
from dragoman.common import Seeded
from dragoman.errors import OptionError
from dragoman.files import read_parallel
from dragoman.options import made

__all__ = ["align"]

F = TypeVar("F", bound=Callable[..., Any])

_RESULT = [
    takes(words.Symmetrisation, into="joining"),
    out_option("Where the joined links go.", default="-"),
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
@src_option()
@tgt_option()
@_with(_RESULT)
@model_option("Also save the aligner, for `dragoman align apply`.")
@takes(words.Choice, into="choice", only=["aligner"])
@click.option("--alignments", metavar="FILE", help="Check and copy the links of this file instead of training.")
@takes(words.Options, into="training", section="Training")
def train(training: dict[str, Any], choice: dict[str, Any], **options: Any) -> None:
    """Train an aligner on a bitext and write the bitext's links, a line `0-0 1-2` for each pair.

    \b
    dragoman align --src train.fr --tgt train.en --out train.links
    dragoman align --src train.fr --tgt train.en --symmetrise intersection --model fr-en.aligner > train.links
    """
    source, target = read_parallel([options["src"], options["tgt"]])
    if options["alignments"]:
        words.Links.read(options["alignments"], (source, target)).write(options["out"])
        return
    if made(words.Choice, choice).aligner == "eflomal":
        if options["model"]:
            raise OptionError("eflomal has no aligner that can be saved; leave --model out, or use ours")
        from dragoman.eflomal import align_with_eflomal  # noqa: PLC0415  a plug-in

        _write(align_with_eflomal(source, target), options)
        return
    with bar("sweeps") as show:
        aligner = words.train(source, target, progress=show, **training)
    assert aligner.trained is not None
    if options["model"]:
        aligner.save(options["model"])
    _write(aligner.trained, options)


def _write(alignment: words.Alignment, options: dict[str, Any]) -> None:
    alignment.links(made(words.Symmetrisation, options["joining"]).symmetrise).write(options["out"])
    for name, links in (("forward", alignment.forward), ("reverse", alignment.reverse)):
        if options[name]:
            links.write(options[name])
    _tell(alignment.report)


def _tell(report: words.Report) -> None:
    for count, what in (
        (report.empty, "have an empty side: no links"),
        (report.long, "have more words than --max-words: no links"),
        (report.control, "have control characters, taken as parts of words"),
        (report.bar, "have `|` in a word, which phrase tables reserve"),
    ):
        if count:
            messages.warning(f"{count} of {report.pairs} sentence pairs {what}")


@align.command(cls=Command)
@model_option("An aligner that `dragoman align --model` saved.", required=True)
@src_option()
@tgt_option()
@_with(_RESULT)
@takes(Seeded, into="seeding")
def apply(seeding: dict[str, Any], **options: Any) -> None:
    """Align new text with a trained aligner.

    The links of a sentence pair do not depend on the rest of the text.
    """
    aligner = words.Aligner.load(options["model"])
    source, target = read_parallel([options["src"], options["tgt"]])
    _write(aligner.align(source, target, **seeding), options)


@align.command(cls=Command, was={"--method": "--symmetrise"})
@click.argument("forward")
@click.argument("reverse")
@click.argument("out", default="-")
@takes(words.Symmetrisation, into="joining")
def symmetrise(forward: str, reverse: str, out: str, joining: dict[str, Any]) -> None:
    """Join the links of two directions, from any tool; both files name source positions first."""
    both = words.Links.read(forward), words.Links.read(reverse)
    words.symmetrise(*both, made(words.Symmetrisation, joining).symmetrise).write(out)


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
