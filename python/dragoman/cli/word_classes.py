"""`dragoman classes`: word classes, as mkcls makes them."""

from __future__ import annotations

import time
from typing import Any

import click

from dragoman import word_classes
from dragoman.cli.arguments import Command, as_json, seed_option
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.errors import OptionError

__all__ = ["classes"]


@click.command(cls=Command)
@click.option("--text", required=True, metavar="FILE", help="Text, tokenised, a sentence a line.")
@click.option(
    "--classes",
    "sizes",
    multiple=True,
    type=click.IntRange(1, 1 << 15),
    default=(50,),
    show_default="50",
    metavar="K...",
    help="How many classes; several numbers mean several files.",
)
@click.option("--out", required=True, metavar="FILE", help="Where the classes go; {k} stands for their number.")
@click.option("--starts", type=click.IntRange(0, 10_000), help="Runs over the frequent words; more take longer.")
@click.option(
    "--iterations",
    default=word_classes.Options().iterations,
    show_default=True,
    type=click.IntRange(min=0),
    help="Sweeps at the end, at most; it ends when no word moves.",
)
@click.option("--factor", type=click.IntRange(min=0), help="Cluster this factor of tokens a|b|c, from 0.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; all cores by default. The result is the same.")
@seed_option
@as_json
def classes(sizes: tuple[int, ...], as_json: bool, **options: Any) -> None:
    """Find classes of words by the likelihood of a bigram model of classes, as mkcls does.

    \b
    dragoman classes --text train.en --classes 50 --out en.50.classes
    dragoman classes --text train.de --classes 20 50 --out de.{k}.classes

    Files have a line `word TAB class` for each word; classes count from 2.
    """
    if len(set(sizes)) > 1 and "{k}" not in options["out"]:
        raise OptionError(f"several numbers of classes need {{k}} in --out, found {options['out']}")
    counts = word_classes.Counts(options["text"], options["factor"])
    if counts.empty:
        click.echo(f"dragoman: {counts.empty} of {counts.sentences + counts.empty} lines are empty", err=True)
    search = word_classes.Options(starts=options["starts"], iterations=options["iterations"])
    figures = [_train(counts, k, search, options) for k in dict.fromkeys(sizes)]
    if as_json:
        print_json({"words": counts.words, "tokens": counts.tokens, "classes": figures})
        return
    rows = [[f["out"], str(f["k"]), f"{f['mean']:.5f}", f"{f['perplexity']:.2f}"] for f in figures]
    print_table(["file", "classes", "log-likelihood", "perplexity"], rows)


def _train(
    counts: word_classes.Counts, k: int, search: word_classes.Options, options: dict[str, Any]
) -> dict[str, Any]:
    out = options["out"].replace("{k}", str(k))
    start, seen = time.perf_counter(), 0
    with counter("sweeps") as advance:

        def progress(done: int) -> None:
            nonlocal seen
            advance(done - seen)
            seen = done

        found = counts.train(k, seed=options["seed"], threads=options["threads"], options=search, progress=progress)
    found.save(out)
    figures = {"likelihood": found.likelihood, "mean": found.mean, "perplexity": found.perplexity}
    return {"k": k, "out": out, **figures, "seconds": round(time.perf_counter() - start, 2)}
