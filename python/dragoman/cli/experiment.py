"""`dragoman experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli.arguments import Command, Commands, as_json, refs_option
from dragoman.cli.file_options import engine_options, out_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json, print_table
from dragoman.errors import InputError
from dragoman.files import write_bytes

__all__ = ["experiment"]


@click.group(cls=Commands)
def experiment() -> None:
    """Whole experiments from a plan: train, tune, test, compare, report.

    \b
    dragoman experiment run plan.toml --out results --dry-run
    dragoman experiment run plan.toml --out results --jobs 2
    dragoman experiment status results
    dragoman report results

    Every step is a plain command. What is done is not done again, and a run that was killed goes on.
    """


@experiment.command(cls=Command)
@click.argument("plan", metavar="PLAN.toml")
@out_option("The folder for everything that is made.", metavar="FOLDER")
@click.option("--dry-run", is_flag=True, help="Show what would run, and for how long; do nothing.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Steps side by side."
)
@engine_options
@click.option("--yes", is_flag=True, help="Run a large grid, too.")
@click.option("--no-report", is_flag=True, help="Leave out the report at the end.")
@as_json
def run(
    plan: str, out: str, dry_run: bool, jobs: int, threaded: dict[str, Any], yes: bool, no_report: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Run a plan, or what is left of it, and write tables and a report.

    \b
    dragoman experiment run experiments/cherry/small.toml --out results --jobs 2

    --threads are those of each step, by default the cores shared out over --jobs. An --engine that works on other
    machines needs --out where all of them can write. The plan is checked whole before anything runs. A changed line
    makes only those steps run again that depend on it.
    """
    from dragoman.engine import engine_of  # noqa: PLC0415  loaded when the command runs
    from dragoman.experiment import Experiment, read_plan  # noqa: PLC0415

    found = Experiment(read_plan(plan), Path(out))
    if dry_run:
        _dry_run(found, jobs, yes, as_json)
        return
    messages.resuming = "the same command goes on with the steps that are left"
    with engine_of(jobs, threaded.get("engine", "threads")) as workers:
        outcome = found.run(jobs=jobs, threads=threaded.get("threads"), engine=workers, yes=yes, say=messages.note)
    if outcome.failed:
        first = outcome.failed[0]
        more = f", and {len(outcome.failed) - 1} more" if len(outcome.failed) > 1 else ""
        raise InputError(f"step `{first.id}`{more} failed: {first.told}\nto see it fail alone: {first.command}")
    assert outcome.tables is not None
    if as_json:
        print_json(outcome.tables.to_dict())
    else:
        click.echo(str(outcome.tables))
    messages.note(f"{outcome.done} steps done, {outcome.reused} were done before; figures are in {out}/tables.json")
    if not no_report:
        _report(found, outcome.tables)


def _report(found: Any, tables: Any) -> None:
    """Derivations for the report, then the report itself, where its libraries are installed."""
    from dragoman.experiment.details import tell_details  # noqa: PLC0415
    from dragoman.report import of_experiment, page, ready  # noqa: PLC0415

    if not ready():
        messages.note("no report: it needs jinja2 and plotly, pip install 'dragoman[report]'")
        return
    tell_details(found, tables, messages.warning)
    target = found.out / "report.html"
    write_bytes(target, page(of_experiment(found.out)).encode())
    messages.note(f"the report is {target}")


def _dry_run(found: Any, jobs: int, yes: bool, as_json: bool) -> None:
    from dragoman.experiment.runner import duration  # noqa: PLC0415

    found.check_size(yes)
    done, times = found.done(), found.estimates()
    todo = [name for name in found.steps if name not in done]
    seconds, unknown = found.left(todo, jobs)
    if as_json:
        rows = [
            {
                "step": name,
                "command": found.command(name),
                "done": name in done,
                "seconds": done[name].seconds if name in done else times[name],
            }
            for name in found.steps
        ]
        print_json({"steps": rows, "seconds": seconds, "unknown": unknown})
        return
    for name in todo:
        known = times[name]
        click.echo(f"{name}  [{'?' if known is None else duration(known)}]\n    {found.command(name)}")
    more = f"; {unknown} steps are of a kind that was never run here" if unknown else ""
    click.echo(
        f"{len(todo)} steps to run, {len(done)} are done; about {duration(seconds)} with {jobs} job"
        f"{'s' if jobs > 1 else ''}{more}"
    )


@experiment.command(cls=Command)
@click.argument("folder", metavar="FOLDER")
@as_json
def status(folder: str, as_json: bool) -> None:
    """Show how far an experiment is: what is done, what runs, what failed, what is left."""
    from dragoman.experiment import Experiment  # noqa: PLC0415
    from dragoman.experiment.runner import duration  # noqa: PLC0415

    found = Experiment.opened(Path(folder))
    done, failed, running, times = found.done(), found.failed(), found.running(), found.estimates()
    rows: list[dict[str, Any]] = []
    for name in found.steps:
        state = "done" if name in done else "running" if name in running else "failed" if name in failed else "waits"
        known = done[name].seconds if name in done else times[name]
        rows.append(
            {"step": name, "state": state, "seconds": known, "memory": done[name].peak if name in done else None}
        )
    if as_json:
        print_json(rows)
        return

    def time(row: dict[str, Any]) -> str:
        about = "" if row["state"] == "done" else "~"
        return "" if row["seconds"] is None else f"{about}{duration(row['seconds'])}"

    cells = [[r["step"], r["state"], time(r), f"{r['memory'] / 1e6:,.0f}" if r["memory"] else ""] for r in rows]
    print_table(["step", "", "time", "MB"], cells)
    todo = [r["step"] for r in rows if r["state"] != "done"]
    seconds, _ = found.left(todo, 1)
    click.echo(
        f"{len(done)} of {len(rows)} steps are done"
        + (f"; about {duration(seconds)} left with one job" if todo else "")
    )
    for name, one in failed.items():
        click.echo(f"failed: {name}: {one.told}\n    {one.command}")


@experiment.command(cls=Command)
@click.option("--text", "texts", multiple=True, required=True, metavar="FILE...", help="Texts that belong together.")
@click.option("--lines", default="", metavar="RANGES", help="Line numbers: 1-8000, or 1-100,201-300.  [default: all]")
@click.option("--every", default="", metavar="I/N", help="Lines whose number modulo N is I.  [default: all]")
@click.option("--leave", default="", metavar="I/N", help="Leave these out.  [default: none]")
@click.option("--distinct", is_flag=True, help="Leave out lines that are there already.")
@click.option(
    "--not-in", multiple=True, metavar="FILE...",
    help="Leave out the sentences of these, in the language of the first text.  [default: none]",
)  # fmt: skip
@out_option("Files 0, 1, ... in the order of the texts.", metavar="FOLDER")
def cut(
    texts: tuple[str, ...], lines: str, every: str, leave: str, distinct: bool, not_in: tuple[str, ...], out: str
) -> None:
    """Write a part of texts whose lines belong together: a range, a fold, without duplicates or other texts.

    \b
    dragoman experiment cut --text val.de.gz val.en.gz --leave 0/5 --out tune
    dragoman experiment cut --text val.de.gz val.en.gz --every 0/5 --out held
    """
    from dragoman.experiment import cutting  # noqa: PLC0415

    count = cutting.cut(texts, cutting.Part(lines, every, leave, distinct), Path(out), not_in)
    messages.note(f"{count:,} lines in {', '.join(str(Path(out, str(n))) for n in range(len(texts)))}")


@experiment.command(cls=Command)
@click.option(
    "--texts", multiple=True, required=True, metavar="FILE...",
    help="The source and the references of the first set, then those of the second, and so on.",
)  # fmt: skip
@click.option("--sets", type=click.IntRange(min=1), required=True, metavar="N", help="How many sets there are.")
@out_option("Files 0, 1, ... in the order of a set's texts.", metavar="FOLDER")
def join(texts: tuple[str, ...], sets: int, out: str) -> None:
    """Write data sets one after the other.

    \b
    dragoman experiment join --texts 2008.de 2008.en 2009.de 2009.en --sets 2 --out both
    """
    from dragoman.experiment import cutting  # noqa: PLC0415

    width, rest = divmod(len(texts), sets)
    if rest or not width:
        raise click.UsageError(f"{len(texts)} texts are no {sets} sets of as many texts each")
    count = cutting.join([texts[n * width : (n + 1) * width] for n in range(sets)], Path(out))
    messages.note(f"{count:,} lines in {', '.join(str(Path(out, str(n))) for n in range(width))}")


@experiment.command(cls=Command)
@click.option("--names", multiple=True, required=True, metavar="NAME...", help="The settings.")
@click.option(
    "--texts", multiple=True, required=True, metavar="FILE...",
    help="What each run made of the development set: the runs of the first setting, then those of the second.",
)  # fmt: skip
@click.option("--runs", multiple=True, required=True, metavar="FOLDER...", help="The folders of the same runs.")
@refs_option
@click.option("--metric", default="bleu", show_default=True, metavar="METRIC", help="What they are judged by.")
@out_option("Scores, and links to the runs of the best: run0, run1, ...", metavar="FOLDER")
def choose(
    names: tuple[str, ...], texts: tuple[str, ...], runs: tuple[str, ...], refs: tuple[str, ...], metric: str, out: str
) -> None:
    """Find the setting with the best mean score over its runs.

    \b
    dragoman experiment choose --names weak strong --texts w0 w1 s0 s1 --runs weak.0 weak.1 strong.0 strong.1 \\
        --refs dev.en --out best
    """
    from dragoman.experiment import choosing  # noqa: PLC0415

    if not refs:
        raise click.UsageError("expected --refs, the references of the development set")
    best = choosing.choose(choosing.parted(names, texts, runs), refs, metric, Path(out))
    messages.note(f"the best of {len(names)} is {best}")
