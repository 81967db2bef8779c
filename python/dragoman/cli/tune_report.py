"""What `dragoman tune` prints: a table for people, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from dragoman import curves
from dragoman.cli.show import print_json, print_table
from dragoman.significance import Interval, Replications
from dragoman.tuning import Tuned
from dragoman.tuning.replicate import spread

if TYPE_CHECKING:
    from dragoman.cli.tune import _Job

__all__ = ["show"]

_HIDDEN = {"weights", "trace", "rows", "held_out_texts"}
"""Fields of a result that JSON does not show."""


def show(results: Sequence[Tuned], tried: Sequence[tuple[str, Tuned]] | None, job: _Job, as_json: bool) -> None:
    """Tells the results of one run or several, and of all variants of a sweep."""
    across = spread(job.problem, results)
    if as_json:
        print_json(_as_dict(results, tried, job, across))
        return
    metric = job.problem.metric
    if tried:
        rows = [[name, f"{t.end.score:.2f}", f"{t.held_out.score:.2f}" if t.held_out else ""] for name, t in tried]
        print_table(["options", f"{metric.name} {_text(job)}", f"{metric.name} held-out"], rows)
        click.echo()
    for number, found in enumerate(results):
        _table(found, f"{metric.name} run {number + 1}" if len(results) > 1 else metric.name, job)
    if across is not None:
        text = "held-out" if results[0].held_out else _text(job)
        click.echo(f"{text} {metric.name}: mean {across.mean:.2f}, s.d. {across.s_opt:.2f} over {len(results)} runs")
    if len(results) == 1 and job.modelled:
        click.echo(curves.sketch(results[0].trace))
    seconds = sum(found.seconds for found in results)
    count = f"{results[0].steps} steps in " if len(results) == 1 and not job.modelled else ""
    click.echo(f"dragoman: {count}{seconds:.1f} s, weights in {job.out}", err=True)


def _text(job: _Job) -> str:
    """What was tuned on."""
    return "tuning" if job.modelled else "pool"


def _interval(interval: Interval) -> str:
    return f"{interval.score:.2f} [{interval.low:.2f} {interval.high:.2f}]"


def _table(found: Tuned, title: str, job: _Job) -> None:
    oracle = [] if found.oracle is None else [f"{found.oracle:.2f}"]
    rows = [[_text(job), _interval(found.start), _interval(found.end), *oracle]]
    if found.held_out and found.held_out_start:
        rows.append(["held-out", _interval(found.held_out_start), _interval(found.held_out), *([""] if oracle else [])])
    print_table([title, "start", "end", *(["oracle"] if oracle else [])], rows)
    for about, names in (("zero", found.zeros), ("at a bound", found.at_bound)):
        if names and (found.oracle is not None or about == "at a bound"):
            click.echo(f"# {about}: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}")
    epoch = f"|epoch:{found.best}" if job.modelled else ""
    click.echo(f"# {found.metric}|seed:{found.seed}|tuner:{found.tuner}{epoch}")


def _plain(found: Tuned) -> dict[str, object]:
    fields = {name: getattr(found, name) for name in Tuned.__dataclass_fields__ if name not in _HIDDEN}
    return {key: asdict(value) if isinstance(value, Interval) else value for key, value in fields.items()}


def _as_dict(
    results: Sequence[Tuned], tried: Sequence[tuple[str, Tuned]] | None, job: _Job, across: Replications | None
) -> dict[str, object]:
    if job.modelled or len(results) > 1:
        told: dict[str, object] = {"runs": [_plain(found) for found in results], "out": str(job.out)}
        told["spread"] = asdict(across) if across else None
    else:
        told = _with_weights(results[0])
    if tried:
        told["sweep"] = [{"options": name, **_with_weights(found)} for name, found in tried]
    return told


def _with_weights(found: Tuned) -> dict[str, object]:
    return {**_plain(found), "weights": found.weights.to_dict() if len(found.weights) <= 10_000 else None}
