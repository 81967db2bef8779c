"""`dragoman report`."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli.arguments import Command
from dragoman.cli.file_options import glossary_option, out_option
from dragoman.cli.messages import messages
from dragoman.files import write_bytes

__all__ = ["report"]


@click.command(cls=Command)
@click.argument("folder", metavar="FOLDER")
@out_option("The page.  [default: FOLDER/report.html]", metavar="FILE.html")
@glossary_option("Terms, for a filter of sentences that have them.")
def report(folder: str, out: str | None, glossary: str | None) -> None:
    """Write a report: one HTML file that needs no network.

    \b
    dragoman report results                 of an experiment
    dragoman report tuned                   of a tuning run
    dragoman compare base.en new.en --refs ref.en --report page.html

    Findings in sentences, tables with p-values, learning curves, weights, sentences side by side with derivations, and
    where two systems differ: by rare words, length, difficulty and n-grams, on all sentences or on those you filter.
    """
    from dragoman.report import of_experiment, of_run, page  # noqa: PLC0415  loaded when the command runs

    place = Path(folder)
    content = of_experiment(place, glossary) if (place / "plan.toml").exists() else of_run(place)
    target = Path(out) if out else place / "report.html"
    write_bytes(target, page(content).encode())
    messages.note(f"the report is {target}")
