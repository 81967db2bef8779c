"""`dragoman lm`: estimate, convert, query, tune and merge language models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from dragoman import lm as models
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import out_option, text_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json, print_table
from dragoman.files import read_text

__all__ = ["lm"]

F = TypeVar("F", bound=Callable[..., Any])

_OUT = out_option("The model to write.")
_FORMAT = takes(models.Format, into="form")


def _weights(help: str, *, required: bool = False) -> Callable[[F], F]:
    return click.option(
        "--weights", multiple=True, required=required, type=click.FloatRange(0, 1), metavar="W...", help=help
    )


@click.group()
def lm() -> None:
    """N-gram language models: estimate, convert, query, mix."""


@lm.command(cls=Command)
@text_option("Text, tokenised, one sentence a line.", several=True)
@_OUT
@takes(models.Estimation, into="options", without=["memory", "form", "bits"])
@takes(models.Estimation, into="options", only=["form", "bits", "memory"])
@as_json
def estimate(text: tuple[str, ...], out: str, options: dict[str, Any], as_json: bool) -> None:
    """Estimate a model with modified Kneser-Ney smoothing.

    \b
    dragoman lm estimate --text train.en.gz --order 5 --out lm.arpa.gz
    dragoman lm estimate --text train.en --order 4 --prune 0 0 1 --memory 4G --out lm.bin
    dragoman lm estimate --text classes.en --discount-fallback 0.5 1 1.5 --out classes.arpa

    Text that does not fit into the memory is sorted in temporary files; the model is the same to the last byte.
    """
    found = models.estimate(text, out, **options)
    for count, what in ((found.controls, "control characters, taken for spaces"), (found.symbols, "special words")):
        if count:
            messages.warning(f"skipped {count} {what}")
    if as_json:
        print_json(asdict(found))
        return
    click.echo(f"sentences {found.sentences}, tokens {found.tokens}, types {found.types}")
    rows = [
        [str(i + 1), str(kept), str(before), *(f"{d:.4f}" for d in discounts), "fallback" if fallback else ""]
        for i, (kept, before, discounts, fallback) in enumerate(
            zip(found.counts, found.counts_before, found.discounts, found.fallback, strict=True)
        )
    ]
    print_table(["order", "n-grams", "unpruned", "D1", "D2", "D3+", ""], rows)


@lm.command(cls=Command)
@click.argument("source")
@_OUT
@_FORMAT
def convert(source: str, out: str, form: dict[str, Any]) -> None:
    """Turn an ARPA file into tables that open in milliseconds.

    \b
    dragoman lm convert lm.arpa.gz --out lm.bin
    dragoman lm convert lm.arpa.gz --out lm.small --form compact --bits 8
    """
    counts, without = models.convert(source, out, **form)
    if without:
        messages.warning(f"{without} n-grams have no back-off weight, which means 1")
    print_table(["order", "n-grams"], [[str(i + 1), str(count)] for i, count in enumerate(counts)])


@lm.command(cls=Command)
@click.argument("model", nargs=-1, required=True)
@text_option("Text, tokenised, one sentence a line.", required=False, default="-")
@_weights("Of several models; they sum to 1.  [default: equal]")
@click.option("--tokens", is_flag=True, help="Print every token: word=id, length of the n-gram, log10 probability.")
@as_json
def query(model: tuple[str, ...], text: str, weights: tuple[float, ...], tokens: bool, as_json: bool) -> None:
    """Print the perplexity of a text under a model, or under a mixture of several.

    \b
    dragoman lm query lm.bin < dev.en
    dragoman lm query lm.bin --tokens --text dev.en.gz | head
    dragoman lm query news.bin talks.bin --weights 0.7 0.3 --text dev.en
    """
    opened = [models.Model(path) for path in model]
    if len(opened) > 1 or weights:
        scorer: models.Model | models.Mixture = models.Mixture(opened, weights or [1 / len(opened)] * len(opened))
    else:
        scorer = opened[0]
    found = scorer.score_file(text, tokens=tokens)
    figures = {
        "sentences": found.sentences,
        "tokens": found.tokens,
        "unknown": found.unknown,
        "log10": found.log / math.log(10),
        "perplexity": found.perplexity,
        "perplexity_known": found.perplexity_known,
    }
    if found.controls:
        messages.warning(f"skipped {found.controls} control characters, taken for spaces")
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        click.echo(f"{name:16}  {value:.4f}" if isinstance(value, float) else f"{name:16}  {value}")


@lm.command(cls=Command)
@click.argument("model", nargs=-1, required=True)
@text_option("Text to fit, tokenised, one sentence a line.")
@as_json
def tune(model: tuple[str, ...], text: str, as_json: bool) -> None:
    """Find the mixture weights that minimise the perplexity of a text, by EM.

    \b
    dragoman lm tune news.bin talks.bin --text dev.en
    """
    opened = [models.Model(path) for path in model]
    lines = read_text(text)
    weights = models.tune_weights(opened, lines)
    mixed = models.Mixture(opened, weights).score(lines).perplexity
    alone = [m.score(lines).perplexity for m in opened]
    if as_json:
        rows = [{"model": m, "weight": w, "perplexity": p} for m, w, p in zip(model, weights, alone, strict=True)]
        print_json({"models": rows, "perplexity": mixed})
        return
    table = [[m, f"{w:.6f}", f"{p:.4f}"] for m, w, p in zip(model, weights, alone, strict=True)]
    print_table(["model", "weight", "perplexity"], [*table, ["mixture", "", f"{mixed:.4f}"]])


@lm.command(cls=Command)
@click.argument("source", nargs=-1, required=True)
@_weights("A weight for each file; they sum to 1.", required=True)
@_OUT
@_FORMAT
def merge(source: tuple[str, ...], weights: tuple[float, ...], out: str, form: dict[str, Any]) -> None:
    """Mix ARPA files into one model over the union of their n-grams.

    \b
    dragoman lm merge news.arpa.gz talks.arpa.gz --weights 0.7 0.3 --out mixed.arpa.gz
    """
    counts = models.merge(source, weights, out, **form)
    print_table(["order", "n-grams"], [[str(i + 1), str(count)] for i, count in enumerate(counts)])
