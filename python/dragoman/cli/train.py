"""`dragoman train`: from parallel text to a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from dragoman import alignment as aligners
from dragoman import corpus
from dragoman.cli.arguments import Command, as_json, seed_option
from dragoman.cli.show import print_json, print_table
from dragoman.training import Options, Trained
from dragoman.training import train as run

__all__ = ["train"]


@click.command(cls=Command)
@click.option("--src", required=True, metavar="FILE", help="Source text, one sentence a line.")
@click.option("--tgt", required=True, metavar="FILE", help="Target text, line by line its translation.")
@click.option("--out", required=True, metavar="FOLDER", help="The model to make.")
@click.option("--fresh", is_flag=True, help="Replace the model, or the beginning of one, that --out holds.")
@click.option("--languages", nargs=2, default=("", ""), metavar="SRC TGT", help="For tokenisers: de en.")
@click.option(
    "--tokenizer", default="none", show_default=True, help="moses, char, jieba, fugashi; none: words stand apart."
)
@click.option("--case", type=click.Choice(["keep", "lower", "truecase"]), default="keep", show_default=True)
@click.option("--factored", is_flag=True, help="Words are word|tag, in all places alike.")
@click.option("--longest", default=80, show_default=True, help="Most words of a sentence; longer pairs are left out.")
@click.option("--exclude", multiple=True, metavar="FILE...", help="Test sets whose sentences must not be trained on.")
@click.option("--alignments", metavar="FILE", help="Word links (0-0 1-2) from elsewhere; nothing is cleaned then.")
@click.option("--aligner", type=click.Choice(["own", "eflomal"]), default="own", show_default=True)
@click.option("--symmetrise", type=click.Choice(aligners.METHODS), default="grow-diag-final-and", show_default=True)
@click.option("--length", default=7, show_default=True, type=click.IntRange(min=1), help="Most words of a phrase.")
@click.option(
    "--reordering",
    multiple=True,
    default=("hier",),
    show_default=True,
    type=click.Choice(["wbe", "phrase", "hier", "maxent"]),
    metavar="MODEL...",
    help="Reordering models: wbe, phrase, hier, maxent.",
)
@click.option(
    "--smoothing", type=click.Choice(["none", "kneser-ney", "good-turing"]), default="none", show_default=True
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Rules kept for each source phrase; 0 for all.",
)
@click.option("--significance", metavar="LEVEL", help="Drop rules by Fisher's exact test: a+e, a-e or a number.")
@click.option("--order", default=5, show_default=True, type=click.IntRange(min=1), help="Order of the language model.")
@click.option("--lm-text", multiple=True, metavar="FILE...", help="More target text for the language model.")
@click.option(
    "--classes",
    multiple=True,
    type=int,
    default=(20, 50),
    show_default=True,
    metavar="NUMBER...",
    help="Word classes; 0 for none.",
)
@click.option("--memory", default="2G", show_default=True, metavar="SIZE", help="What sorting may use.")
@seed_option
@as_json
def train(
    src: str,
    tgt: str,
    out: str,
    fresh: bool,
    languages: tuple[str, str],
    tokenizer: str,
    case: str,
    factored: bool,
    longest: int,
    exclude: tuple[str, ...],
    alignments: str | None,
    aligner: str,
    symmetrise: str,
    length: int,
    reordering: tuple[str, ...],
    smoothing: str,
    top: int,
    significance: str | None,
    order: int,
    lm_text: tuple[str, ...],
    classes: tuple[int, ...],
    memory: str,
    seed: int,
    as_json: bool,
) -> None:
    """Train a model: clean, align, extract rules, estimate a language model, find word classes.

    \b
    dragoman train --src train.de --tgt train.en --out model
    dragoman train --src train.de.gz --tgt train.en.gz --tokenizer moses --languages de en --case truecase --out model

    A run that was interrupted goes on with the step it was in when the same command is given again. --fresh starts
    anew; a model that is there stays until the new one is ready.
    """
    options = Options(
        corpus=corpus.Options(languages, tokenizer, case=case, factored=factored, longest=longest),
        exclude=exclude,
        align=aligners.Options(seed=seed),
        aligner=aligner,
        alignments=alignments,
        symmetrise=symmetrise,
        length=length,
        reordering=reordering,
        smoothing=smoothing,
        top=top or None,
        significance=significance,
        order=order,
        lm_text=lm_text,
        classes=tuple(number for number in classes if number),
        memory=memory,
        seed=seed,
    )
    with _bars() as progress:
        trained = run(src, tgt, out, options, fresh=fresh, progress=progress)
    _show(trained, as_json)


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each step, where a person is watching."""
    if not sys.stderr.isatty():
        yield lambda _name, _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415  only where it is seen
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description:8}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, object] = {}

        def show(name: str, done: int, total: int) -> None:
            for other, task in tasks.items():
                if other != name:
                    progress.update(task, total=1, completed=1)  # type: ignore[arg-type]
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=None)
            progress.update(tasks[name], completed=done, total=total or None)  # type: ignore[arg-type]

        yield show


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
