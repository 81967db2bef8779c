"""`dragoman classes`: word classes, as mkcls makes them."""

from __future__ import annotations

import time
from typing import Any

import click

from dragoman import word_classes
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import out_option, text_option
from dragoman.cli.messages import messages
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.errors import OptionError
from dragoman.options import made

__all__ = ["classes"]


@click.command(cls=Command)
@text_option()
@takes(word_classes.Numbers, into="numbers")
@out_option("Where the classes go; {k} stands for their number.")
@takes(word_classes.Options, into="search", section="Search")
@as_json
def classes(text: str, out: str, numbers: dict[str, Any], search: dict[str, Any], as_json: bool) -> None:
    """Find classes of words by the likelihood of a bigram model of classes, as mkcls does.

    \b
    dragoman classes --text train.en --classes 50 --out en.50.classes
    dragoman classes --text train.de --classes 20 50 --out de.{k}.classes

    Files have a line `word TAB class` for each word; classes count from 2.
    """
    wanted, options = made(word_classes.Numbers, numbers).wanted, made(word_classes.Options, search)
    if not wanted:
        raise OptionError("expected a number of classes of at least 1, found none")
    if len(wanted) > 1 and "{k}" not in out:
        raise OptionError(f"several numbers of classes need {{k}} in --out, found {out}")
    counts = word_classes.Counts(text, options.factor)
    if counts.empty:
        messages.warning(f"{counts.empty} of {counts.sentences + counts.empty} lines are empty")
    figures = [_train(counts, k, options, out.replace("{k}", str(k))) for k in wanted]
    if as_json:
        print_json({"words": counts.words, "tokens": counts.tokens, "classes": figures})
        return
    rows = [[f["out"], str(f["k"]), f"{f['mean']:.5f}", f"{f['perplexity']:.2f}"] for f in figures]
    print_table(["file", "classes", "log-likelihood", "perplexity"], rows)


def _train(counts: word_classes.Counts, k: int, options: word_classes.Options, out: str) -> dict[str, Any]:
    start, seen = time.perf_counter(), 0
    with counter("sweeps") as advance:

        def progress(done: int) -> None:
            nonlocal seen
            advance(done - seen)
            seen = done

        found = counts.train(k, options, progress=progress)
    found.save(out)
    figures = {"likelihood": found.likelihood, "mean": found.mean, "perplexity": found.perplexity}
    return {"k": k, "out": out, **figures, "seconds": round(time.perf_counter() - start, 2)}
