"""`dragoman clean`, `tokenize`, `detokenize`, `truecase` and `subwords`: text on its way to training, and back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

import click

from dragoman import corpus
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import Named, takes
from dragoman.cli.file_options import (
    bitext_options,
    bitexts,
    model_option,
    out_option,
    src_option,
    text_option,
    tgt_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.errors import InputError, OptionError
from dragoman.files import Lines, read_text, write_bytes
from dragoman.options import made
from dragoman.parts import Subwords, join_pieces
from dragoman.prepared import Prepared
from dragoman.tokenizers import BAR, make

__all__ = ["clean", "detokenize", "subwords", "tokenize", "truecase"]

_CHUNK = 1000


@click.command(cls=Command)
@src_option("Source text, a sentence a line.", required=False, several=True)
@tgt_option("Target text, a file for each of --src.", required=False, several=True)
@bitext_options
@click.option("--out-src", required=True, metavar="FILE", help="Where the cleaned source goes.")
@click.option("--out-tgt", required=True, metavar="FILE", help="Where the cleaned target goes.")
@takes(corpus.Options, into="cleaning", section="Cleaning", without=["tokenized"])
@click.option("--truecaser-src", metavar="FILE", help="Save the source truecase model.")
@click.option("--truecaser-tgt", metavar="FILE", help="Save the target truecase model.")
@click.option("--report", metavar="FILE", help="Also write the report as JSON.")
@as_json
def clean(cleaning: dict[str, Any], **options: Any) -> None:
    """Clean bitexts for training: normalise, tokenise, case, filter; report what was dropped and why.

    \b
    dragoman clean --src raw.de --tgt raw.en --out-src train.de --out-tgt train.en
    dragoman clean --bitext a.tmx.gz b.tsv --languages de en --tokenizer unicode --case truecase \\
        --exclude test.de test.en --out-src train.de --out-tgt train.en --report clean.json

    What was done is noted beside the outputs (train.de.prep.toml), and `dragoman train` takes it up.
    """
    truecasers = options["truecaser_src"], options["truecaser_tgt"]
    if any(truecasers) and cleaning.get("case") != "truecase":
        raise OptionError("truecase models are learnt with --case truecase only")
    outputs = options["out_src"], options["out_tgt"]
    inputs = bitexts(options, tuple(cleaning.get("languages", ("", ""))))
    if not cleaning.get("languages"):
        for note in corpus.resolve(inputs).notes:
            messages.note(note)
    with counter("pairs") as progress:
        report = corpus.clean(inputs, outputs, truecasers=truecasers, progress=progress, **cleaning)
    if options["report"]:
        write_bytes(options["report"], json.dumps(report.to_dict(), ensure_ascii=False, indent=1).encode() + b"\n")
    if options["as_json"]:
        print_json(report.to_dict())
    else:
        _show(report)


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


def _lines(path: str) -> Iterator[str]:
    """The lines of a file, or of standard input."""
    if path != "-":
        yield from read_text(path)
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield _decode(line, number).rstrip("\r\n")


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"an invalid byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise InputError(f"-:{number}: expected UTF-8 text, found {found}", "-", number) from None


def _filter(change: Callable[[list[str]], Sequence[str]], text: str = "-", out: str = "-") -> None:
    """Lines in, lines out, some at a time."""
    lines = _lines(text)
    with nullcontext() if out == "-" else Lines(out) as writer:
        while chunk := list(islice(lines, _CHUNK)):
            if writer is None:
                sys.stdout.write("".join(f"{line}\n" for line in change(chunk)))
            else:
                for line in change(chunk):
                    writer.write(line)
    sys.stdout.flush()


def _before(text: str, out: str) -> Prepared:
    """What was done to the text of a file before; it cannot be its own output."""
    if out != "-" and text != "-" and os.path.realpath(text) == os.path.realpath(out):
        raise OptionError("--text and --out are the same file: name another")
    return (Prepared.of(text) if text != "-" else None) or Prepared()


_text = text_option("Plain text, a sentence a line.", required=False, default="-")
_words = text_option("Tokenised text, a sentence a line.", required=False, default="-")
_out = out_option("Where the result goes; what was done is noted beside the file, for `train`.", default="-")


_language = click.option(
    "--language", default="en", show_default=True, metavar="LANGUAGE", help="For the rules of a language: de, fr."
)
_tokenizer = click.option(
    "--tokenizer",
    default="moses",
    show_default=True,
    type=Named("tokenizer"),
    metavar="NAME",
    help="Tokeniser: unicode, moses, char, jieba, fugashi or your own.",
)
_factored = takes(corpus.Options, into="about", only=["factored"])


@click.command(cls=Command)
@_text
@_out
@_language
@_tokenizer
@takes(corpus.Options, into="about", only=["normalise"])
def tokenize(text: str, out: str, language: str, tokenizer: str, about: dict[str, Any]) -> None:
    """Tokenise text: tokens are separated by spaces.

    \b
    dragoman tokenize --language de < raw.de > train.de
    dragoman tokenize --language de --text raw.de --out train.de

    With --out, what was done is noted beside the output (train.de.prep.toml), and `dragoman train` takes it up.
    """
    before, form = _before(text, out), made(corpus.Options, about).normalise
    if before.tokenizer != "none":
        raise OptionError(f"{text}: was tokenised with {before.tokenizer}")
    chosen = make(tokenizer, language)
    _filter(lambda lines: chosen.tokenize(corpus.normalise(lines, form).to_list()), text, out)
    replace(before, language=language, tokenizer=tokenizer, normalise=form).note(out)


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
@_words
@_out
@model_option("A model of `dragoman truecase train`, or Moses'.", required=True)
@_factored
def apply(text: str, out: str, model: str, about: dict[str, Any]) -> None:
    """Truecase tokenised text. With --out, this is noted beside the output, as `dragoman tokenize` does."""
    before, truecaser = _before(text, out), corpus.Truecaser.load(model)
    if before.case != "keep":
        raise OptionError(f"{text}: has case {before.case} already")
    _filter(lambda lines: truecaser.apply(lines, **about).to_list(), text, out)
    replace(before, case="truecase", truecaser=model, factored=about.get("factored", before.factored)).note(out)


@truecase.command(cls=Command)
@_factored
def undo(about: dict[str, Any]) -> None:
    """Make the first letters of sentences capitals, on tokenised standard input."""
    _filter(lambda lines: corpus.recase(lines, **about).to_list())


@click.group()
def subwords() -> None:
    """Cut words into pieces that were learnt from a text, and join them again.

    \b
    dragoman subwords train --text train.sw --size 8000 --model sw.subwords
    dragoman subwords apply --model sw.subwords < more.sw > more.pieces.sw
    dragoman subwords undo < more.pieces.sw > more.sw
    """


@subwords.command("train", cls=Command)
@text_option(several=True)
@model_option("Where the pieces go.", required=True)
@click.option(
    "--size", type=click.IntRange(min=1), default=8000, show_default=True, metavar="N", help="Different pieces."
)
def subwords_train(text: tuple[str, ...], model: str, size: int) -> None:
    """Learn pieces from tokenised, cased text by byte-pair encoding."""
    Subwords.train(text, size).save(model)


@subwords.command("apply", cls=Command)
@_words
@_out
@model_option("Pieces of `dragoman subwords train`, or codes of subword-nmt.", required=True)
def subwords_apply(text: str, out: str, model: str) -> None:
    """Cut the words of tokenised text. With --out, this is noted beside the output, as `dragoman tokenize` does."""
    before, pieces = _before(text, out), Subwords.load(model)
    if before.subwords or before.compounds:
        raise OptionError(f"{text}: has words that were cut already")
    _filter(lambda lines: pieces.apply(lines).texts.to_list(), text, out)
    replace(before, subwords=model).note(out)


@subwords.command("undo", cls=Command)
def subwords_undo() -> None:
    """Join the pieces of words, on standard input."""
    _filter(lambda lines: join_pieces(lines).to_list())
