"""`dragoman clean`, `tokenize`, `detokenize` and `truecase`: text on its way to training, and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import click

from dragoman import corpus
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import Named, takes
from dragoman.cli.file_options import model_option, src_option, text_option, tgt_option
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.errors import InputError, OptionError
from dragoman.files import write_bytes
from dragoman.options import made
from dragoman.tokenizers import BAR, make

__all__ = ["clean", "detokenize", "tokenize", "truecase"]

_CHUNK = 1000


@click.command(cls=Command)
@src_option("Source text, a sentence a line.", required=False, several=True)
@tgt_option("Target text, a file for each of --src.", required=False, several=True)
@click.option("--bitext", "bitexts", multiple=True, metavar="FILE...", help="Files with both sides: TSV, JSONL, TMX.")
@click.option("--out-src", required=True, metavar="FILE", help="Where the cleaned source goes.")
@click.option("--out-tgt", required=True, metavar="FILE", help="Where the cleaned target goes.")
@click.option(
    "--fields",
    nargs=2,
    metavar="SRC TGT",
    help="JSON fields with both sides; translation.de goes inside.  [default: the languages, else source target]",
)
@click.option(
    "--columns", nargs=2, type=click.IntRange(min=1), metavar="SRC TGT", help="TSV columns, from 1.  [default: 1 2]"
)
@takes(corpus.Options, into="cleaning", section="Cleaning")
@click.option("--truecaser-src", metavar="FILE", help="Save the source truecase model.")
@click.option("--truecaser-tgt", metavar="FILE", help="Save the target truecase model.")
@click.option("--report", metavar="FILE", help="Also write the report as JSON.")
@as_json
def clean(cleaning: dict[str, Any], **options: Any) -> None:
    """Clean bitexts for training: normalise, tokenise, case, filter; report what was dropped and why.

    \b
    dragoman clean --src raw.de --tgt raw.en --out-src train.de --out-tgt train.en
    dragoman clean --bitext a.tmx.gz b.tsv --languages de en --tokenizer moses --case truecase \\
        --exclude test.de test.en --out-src train.de --out-tgt train.en --report clean.json
    """
    truecasers = options["truecaser_src"], options["truecaser_tgt"]
    if any(truecasers) and cleaning.get("case") != "truecase":
        raise OptionError("truecase models are learnt with --case truecase only")
    outputs = options["out_src"], options["out_tgt"]
    with counter("pairs") as progress:
        report = corpus.clean(_inputs(options), outputs, truecasers=truecasers, progress=progress, **cleaning)
    if options["report"]:
        write_bytes(options["report"], json.dumps(report.to_dict(), ensure_ascii=False, indent=1).encode() + b"\n")
    if options["as_json"]:
        print_json(report.to_dict())
    else:
        _show(report)


def _inputs(options: dict[str, Any]) -> list[corpus.Files | corpus.Bitext]:
    sources, targets = options["src"], options["tgt"]
    if len(sources) != len(targets):
        raise OptionError(f"expected a --tgt file for each --src file, found {len(sources)} and {len(targets)}")
    inputs: list[corpus.Files | corpus.Bitext] = [corpus.Files(s, t) for s, t in zip(sources, targets, strict=True)]
    for path in options["bitexts"]:
        sides = options["fields"] if ".json" in path else None
        if ".tsv" in path and options["columns"]:
            sides = str(options["columns"][0]), str(options["columns"][1])
        inputs.append(corpus.Bitext(path, sides))
    if not inputs:
        raise OptionError("expected --src and --tgt, or --bitext")
    return inputs


def _show(report: corpus.Report) -> None:
    def row(name: str, count: int, places: Sequence[str] = ()) -> list[str]:
        share = f"{100 * count / report.read:.2f}%" if report.read else ""
        return [name, str(count), share, " ".join(places)]

    rows = [row("read", report.read), row("kept", report.kept)]
    rows += [row(reason, count, report.places[reason]) for reason, count in report.dropped.items()]
    for name in ("invisible", "escaped"):
        if count := getattr(report, name):
            rows.append(row(f"({name})", count))
    print_table(["pairs", "number", "share", "first"], rows)


def _lines() -> Iterator[str]:
    """The lines of standard input."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield _decode(line, number).rstrip("\r\n")


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"an invalid byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise InputError(f"-:{number}: expected UTF-8 text, found {found}", "-", number) from None


def _filter(change: Callable[[list[str]], Sequence[str]]) -> None:
    """Standard input to standard output, some lines at a time."""
    lines = _lines()
    out = sys.stdout
    while chunk := list(islice(lines, _CHUNK)):
        out.write("".join(f"{line}\n" for line in change(chunk)))
    out.flush()


_language = click.option(
    "--language", default="en", show_default=True, metavar="LANGUAGE", help="For the rules of a language: de, fr."
)
_tokenizer = click.option(
    "--tokenizer",
    default="moses",
    show_default=True,
    type=Named("tokenizer"),
    metavar="NAME",
    help="Tokeniser: moses, char, jieba, fugashi or your own.",
)
_factored = takes(corpus.Options, into="about", only=["factored"])


@click.command(cls=Command)
@_language
@_tokenizer
@takes(corpus.Options, into="about", only=["normalise"])
def tokenize(language: str, tokenizer: str, about: dict[str, Any]) -> None:
    """Tokenise standard input: tokens are separated by spaces.

    \b
    dragoman tokenize --language de < raw.de > train.de
    """
    chosen, form = make(tokenizer, language), made(corpus.Options, about).normalise
    _filter(lambda lines: chosen.tokenize(corpus.normalise(lines, form).to_list()))


@click.command(cls=Command)
@_language
@_tokenizer
def detokenize(language: str, tokenizer: str) -> None:
    """Plain text from tokenised standard input.

    \b
    dragoman detokenize --language en < output.tok.en > output.en
    """
    chosen = make(tokenizer, language)
    _filter(lambda lines: [line.replace(BAR, "|") for line in chosen.detokenize(lines)])


@click.group()
def truecase() -> None:
    """Give words at the starts of sentences the case that they have elsewhere, and back.

    \b
    dragoman truecase train --text train.de --model de.truecase
    dragoman truecase apply --model de.truecase < test.de > test.tc.de
    dragoman truecase undo < output.en > output.cased.en
    """


@truecase.command(cls=Command)
@text_option(several=True)
@model_option("Where the model goes; Moses can read it, too.", required=True)
@_factored
def train(text: tuple[str, ...], model: str, about: dict[str, Any]) -> None:
    """Learn the most frequent form of every word, not counting the starts of sentences."""
    corpus.Truecaser.train(text, **about).save(model)


@truecase.command(cls=Command)
@model_option("A model of `dragoman truecase train`, or Moses'.", required=True)
@_factored
def apply(model: str, about: dict[str, Any]) -> None:
    """Truecase tokenised standard input."""
    truecaser = corpus.Truecaser.load(model)
    _filter(lambda lines: truecaser.apply(lines, **about).to_list())


@truecase.command(cls=Command)
@_factored
def undo(about: dict[str, Any]) -> None:
    """Make the first letters of sentences capitals, on tokenised standard input."""
    _filter(lambda lines: corpus.recase(lines, **about).to_list())
