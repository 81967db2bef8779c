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
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.errors import InputError, OptionError
from dragoman.files import write_bytes
from dragoman.tokenizers import BAR, make

__all__ = ["clean", "detokenize", "tokenize", "truecase"]

_DEFAULT = corpus.Options()
_CHUNK = 1000


@click.command(cls=Command)
@click.option("--src", "sources", multiple=True, metavar="FILE...", help="Source text, a sentence a line.")
@click.option("--tgt", "targets", multiple=True, metavar="FILE...", help="Target text, a file for each of --src.")
@click.option("--bitext", "bitexts", multiple=True, metavar="FILE...", help="Files with both sides: TSV, JSONL, TMX.")
@click.option("--out-src", required=True, metavar="FILE", help="Where the cleaned source goes.")
@click.option("--out-tgt", required=True, metavar="FILE", help="Where the cleaned target goes.")
@click.option("--languages", nargs=2, default=("", ""), metavar="SRC TGT", help="For tokenisers, JSONL and TMX: de en.")
@click.option("--fields", nargs=2, metavar="SRC TGT", help="JSON fields with both sides; translation.de goes inside.")
@click.option("--columns", nargs=2, type=click.IntRange(min=1), metavar="SRC TGT", help="TSV columns, from 1.")
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    default=("none",),
    show_default="none",
    metavar="NAME [NAME]",
    help="moses, none, char, jieba, fugashi or your own; two mean one for each side.",
)
@click.option("--normalise", type=click.Choice(["nfc", "nfkc", "none"]), default="nfc", show_default=True)
@click.option("--case", type=click.Choice(["keep", "lower", "truecase"]), default="keep", show_default=True)
@click.option("--truecaser-src", metavar="FILE", help="Save the source truecase model.")
@click.option("--truecaser-tgt", metavar="FILE", help="Save the target truecase model.")
@click.option("--shortest", default=_DEFAULT.shortest, show_default=True, help="Fewest words of a side.")
@click.option("--longest", default=_DEFAULT.longest, show_default=True, help="Most words of a side.")
@click.option("--characters", default=0, help="Most characters of a side; 0, the default, for any number.")
@click.option("--ratio", default=_DEFAULT.ratio, show_default=True, help="Most words for each word of the other side.")
@click.option("--keep-duplicates", is_flag=True, help="Keep pairs that were there before.")
@click.option("--exclude", multiple=True, metavar="FILE...", help="Test sets: pairs with a line of these are dropped.")
@click.option("--factored", is_flag=True, help="Tokens are word|factor; only words are cased.")
@click.option("--bars", type=click.Choice(["escape", "drop", "keep"]), default="escape", show_default=True)
@click.option("--invalid", type=click.Choice(["error", "skip"]), default="error", show_default=True, help="Not UTF-8.")
@click.option("--report", metavar="FILE", help="Also write the report as JSON.")
@as_json
def clean(**options: Any) -> None:
    """Clean bitexts for training: normalise, tokenise, case, filter; report what was dropped and why.

    \b
    dragoman clean --src raw.de --tgt raw.en --out-src train.de --out-tgt train.en
    dragoman clean --bitext a.tmx.gz b.tsv --languages de en --tokenizer moses --case truecase \\
        --exclude test.de test.en --out-src train.de --out-tgt train.en --report clean.json
    """
    cleaning = corpus.Options(
        languages=options["languages"],
        tokenizer=_tokenizers(options["tokenizers"]),
        normalise=options["normalise"],
        case=options["case"],
        shortest=options["shortest"],
        longest=options["longest"],
        characters=options["characters"],
        ratio=options["ratio"],
        distinct=not options["keep_duplicates"],
        factored=options["factored"],
        bars=options["bars"],
        skip_invalid=options["invalid"] == "skip",
    )
    truecasers = options["truecaser_src"], options["truecaser_tgt"]
    if any(truecasers) and options["case"] != "truecase":
        raise OptionError("truecase models are learnt with --case truecase only")
    outputs = options["out_src"], options["out_tgt"]
    with counter("pairs") as progress:
        report = corpus.clean(
            _inputs(options), outputs, cleaning, exclude=options["exclude"], truecasers=truecasers, progress=progress
        )
    if options["report"]:
        write_bytes(options["report"], json.dumps(report.to_dict(), ensure_ascii=False, indent=1).encode() + b"\n")
    if options["as_json"]:
        print_json(report.to_dict())
    else:
        _show(report)


def _tokenizers(names: tuple[str, ...]) -> str | tuple[str, str]:
    if len(names) > 2:
        raise OptionError(f"expected one tokeniser or one for each side, found {len(names)}")
    return names[0] if len(names) == 1 else (names[0], names[1])


def _inputs(options: dict[str, Any]) -> list[corpus.Files | corpus.Bitext]:
    sources, targets = options["sources"], options["targets"]
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


_language = click.option("--language", default="en", show_default=True, help="For the rules of a language: de, fr.")
_tokenizer = click.option(
    "--tokenizer", default="moses", show_default=True, help="moses, char, jieba, fugashi or your own."
)
_factored = click.option("--factored", is_flag=True, help="Tokens are word|factor; only words are cased.")


@click.command(cls=Command)
@_language
@_tokenizer
@click.option("--normalise", type=click.Choice(["nfc", "nfkc", "none"]), default="nfc", show_default=True)
def tokenize(language: str, tokenizer: str, normalise: str) -> None:
    """Tokenise standard input: words apart by blanks.

    \b
    dragoman tokenize --language de < raw.de > train.de
    """
    made = make(tokenizer, language)
    _filter(lambda lines: made.tokenize(corpus.normalise(lines, normalise).to_list()))


@click.command(cls=Command)
@_language
@_tokenizer
def detokenize(language: str, tokenizer: str) -> None:
    """Plain text from tokenised standard input.

    \b
    dragoman detokenize --language en < output.tok.en > output.en
    """
    made = make(tokenizer, language)
    _filter(lambda lines: [line.replace(BAR, "|") for line in made.detokenize(lines)])


@click.group()
def truecase() -> None:
    """Give words at the starts of sentences the case that they have elsewhere, and back.

    \b
    dragoman truecase train --text train.de --model de.truecase
    dragoman truecase apply --model de.truecase < test.de > test.tc.de
    dragoman truecase undo < output.en > output.cased.en
    """


@truecase.command(cls=Command)
@click.option("--text", "texts", multiple=True, required=True, metavar="FILE...", help="Tokenised text.")
@click.option("--model", required=True, metavar="FILE", help="Where the model goes; Moses can read it, too.")
@_factored
def train(texts: tuple[str, ...], model: str, factored: bool) -> None:
    """Learn the most frequent form of every word, not counting the starts of sentences."""
    corpus.Truecaser.train(texts, factored=factored).save(model)


@truecase.command(cls=Command)
@click.option("--model", required=True, metavar="FILE", help="A model of `dragoman truecase train`, or Moses'.")
@_factored
def apply(model: str, factored: bool) -> None:
    """Truecase tokenised standard input."""
    truecaser = corpus.Truecaser.load(model)
    _filter(lambda lines: truecaser.apply(lines, factored=factored).to_list())


@truecase.command(cls=Command)
@_factored
def undo(factored: bool) -> None:
    """Make the first letters of sentences capitals, on tokenised standard input."""
    _filter(lambda lines: corpus.recase(lines, factored=factored).to_list())
