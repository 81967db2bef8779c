"""`dragoman train`: from parallel text to a model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import (
    bitext_options,
    bitexts,
    engine_options,
    out_option,
    overwrite_option,
    src_option,
    tgt_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.progress import tasks
from dragoman.cli.show import print_json, print_table
from dragoman.engine import engine_of
from dragoman.training import Options, Trained
from dragoman.training import train as run

__all__ = ["train"]


@click.command(cls=Command, was={"--fresh": "--overwrite"})
@src_option("Source text, a sentence a line.", required=False, several=True)
@tgt_option("Target text, a file for each of --src.", required=False, several=True)
@bitext_options
@out_option("The model to make.", metavar="FOLDER")
@overwrite_option("Replace the model, or the beginning of one, that --out holds.")
@engine_options
@takes(Options, into="options")
@as_json
def train(
    out: str, overwrite: bool, threaded: dict[str, Any], options: dict[str, Any], as_json: bool, **given: Any
) -> None:
    """Train a model: clean, align, extract rules, estimate a language model, find word classes.

    \b
    dragoman train --bitext memory.tmx --out model
    dragoman train --src train.de.gz --tgt train.en.gz --languages de en --exclude test.de --out model
    dragoman train --src train.tok.de --tgt train.tok.en --tokenized --out model

    Plain text is tokenised and truecased, and `translate` does the same to its input and undoes it in its output.
    Text that was tokenised before, and not by `dragoman clean` or `tokenize --out`, needs --tokenized.

    A run that was interrupted goes on with the step it was in when the same command is given again. --overwrite
    starts anew; a model that is there stays until the new one is ready.

    On a cluster (--engine ray), workers cut text into words, find rules and count n-grams; the model is the same. With
    --align-shards they sample word links, too: about as many shards as there are workers. See docs/cluster.md.
    """
    engine = engine_of(threaded.get("threads"), threaded.get("engine", "threads"))
    with tasks() as progress:
        inputs = bitexts(given, tuple(options.get("languages", ("", ""))))
        trained = run(
            out=out, bitext=inputs, overwrite=overwrite, engine=engine, progress=progress, say=_say, **options
        )
    _show(trained, as_json)


def _say(level: str, text: str) -> None:
    (messages.warning if level == "warning" else messages.note)(text)


def _show(trained: Trained, as_json: bool) -> None:
    if as_json:
        steps = [asdict(step) for step in trained.steps]
        print_json({"model": str(trained.model.folder), "signature": trained.model.signature, "steps": steps})
        return
    rows = [(s.name, s.wall, s.cpu, s.peak, "earlier run" if s.reused else "") for s in trained.steps]
    total = (sum(row[1] for row in rows), sum(row[2] for row in rows), max((row[3] for row in rows), default=0))
    cells = [
        [name, f"{wall:.1f}", f"{cpu:.1f}", f"{peak / 1e6:,.0f}", note]
        for name, wall, cpu, peak, note in [*rows, ("all", *total, "")]
    ]
    print_table(["step", "seconds", "CPU seconds", "MB", ""], cells)
    report = trained.steps[0].report if trained.steps else {}
    if report.get("dropped"):
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in report["dropped"].items())
        click.echo(f"kept {report['kept']:,} of {report['read']:,} pairs; dropped: {dropped}")
    click.echo(f"{trained.model.folder}: signature {trained.model.signature}")
