"""`dragoman demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli import app
from dragoman.cli.arguments import Command
from dragoman.cli.declared import takes
from dragoman.cli.file_options import out_option
from dragoman.common import Seeded
from dragoman.options import made

__all__ = ["demo"]


@click.command(cls=Command)
@click.option("--full", is_flag=True, help="Corpus, training, tuning, comparison and report: about two minutes.")
@click.option("--text", is_flag=True, help="Only write the corpus of --full.")
@click.option(
    "--pairs",
    default=30_000,
    show_default=True,
    type=click.IntRange(min=1000),
    help="With --full or --text: sentence pairs to train on; 2000 take seconds.",
)
@out_option("Where the files go.", default="demo", metavar="FOLDER")
@takes(Seeded, into="seeding")
def demo(full: bool, text: bool, pairs: int, out: str, seeding: dict[str, Any]) -> int:
    """See what can be done, with files that come with the package and no network.

    \b
    dragoman demo               small outputs: scored, compared, reranked, in a second
    dragoman demo --full        a whole translation system, from a corpus to a report
    dragoman demo --text        that corpus alone, for experiments of your own

    --full writes a German-English corpus from a grammar (mostly American text to train on, British text to tune and
    test on), trains a phrase-based and a hierarchical model, tunes their weights with MERT and MIRA, and thousands of
    sparse features with AdaGrad, tests whether the differences are more than luck, and leaves report.html with learning
    curves, translations, derivations and the command of each step. A run that was killed goes on when the same command
    is given again.
    """
    from dragoman.demo import corpus, small  # noqa: PLC0415  loaded only when asked for
    from dragoman.demo import full as whole  # noqa: PLC0415

    if not (full or text):
        return small.run(Path(out), app.run)
    request = whole.Request(Path(out), corpus.Sizes.of(pairs), made(Seeded, seeding).seed)
    if full:
        return whole.run(request, app.run)
    whole.write_text(request)
    for name in ("train", "tune", "dev", "test"):
        click.echo(f"{getattr(request.sizes, name):6,} pairs in {Path(out, name)}.de and .en")
    return 0
