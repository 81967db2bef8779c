"""`dragoman score` and `dragoman compare`."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from dragoman import significance
from dragoman.cli.arguments import (
    Command,
    as_json,
    metrics_option,
    refs_option,
    samples_option,
    seed_option,
)
from dragoman.cli.show import print_json, print_table
from dragoman.errors import InputError
from dragoman.files import read_numbers, read_parallel
from dragoman.metrics import metric_from, needs_references, score_columns
from dragoman.types import F64, Hypotheses, Metric, Texts

__all__ = ["compare", "score"]


@dataclass(frozen=True)
class Output:
    """A system's output, and where it came from."""

    path: str
    lines: Texts

    def hypotheses(self, metrics: Sequence[Metric]) -> Hypotheses:
        """The lines, with the numbers that external metrics find beside the file."""
        columns = [column for m in metrics for column in score_columns(m)]
        return Hypotheses.one_each(self.lines, {column: self._numbers(column) for column in columns})

    def _numbers(self, column: str) -> F64:
        path = f"{self.path}.{column}"
        numbers = read_numbers(path)
        if len(numbers) != len(self.lines):
            line = min(len(numbers), len(self.lines)) + 1
            raise InputError(
                f"{path}:{line}: expected {len(self.lines)} lines as in {self.path}, found {len(numbers)}",
                path,
                line,
            )
        return np.array(numbers)


def _read(outputs: Sequence[str], refs: Sequence[str], metrics: Sequence[Metric]) -> tuple[list[Output], list[Texts]]:
    """Outputs and references, checked against each other before any work."""
    if not refs and any(needs_references(m) for m in metrics):
        raise click.UsageError("missing --refs: at least one reference file, e.g. --refs ref.en")
    columns = read_parallel([*outputs, *refs])
    lines = dict(zip(outputs, columns, strict=False))
    return [Output(path, text) for path, text in lines.items()], columns[len(outputs) :]


def _judge(metric: Metric, outputs: Sequence[Output], refs: Sequence[Texts], metrics: Sequence[Metric]) -> list[F64]:
    sentences = [list(line) for line in zip(*refs, strict=True)]
    prepared = metric.prepare(sentences)
    return [prepared.statistics(output.hypotheses(metrics)) for output in outputs]


def _signature(metric: Metric, references: int) -> str:
    """The metric's own signature with the number of references, as sacreBLEU writes it."""
    name, _, rest = metric.signature().partition("|")
    return f"{name}|nrefs:{references}|{rest}"


@click.command(cls=Command)
@click.argument("outputs", nargs=-1, metavar="OUTPUT...")
@refs_option
@metrics_option
@click.option("--confidence", is_flag=True, help="Add the 95 % bootstrap interval of each score.")
@click.option("--sentences", is_flag=True, help="A line for each sentence of one output (sentence-level forms).")
@samples_option(1000)
@seed_option
@as_json
def score(
    outputs: tuple[str, ...],
    refs: tuple[str, ...],
    metrics: tuple[str, ...],
    confidence: bool,
    sentences: bool,
    samples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Score translations against references.

    \b
    dragoman score out.en --refs ref.A.en ref.B.en
    dragoman score a.en b.en --refs ref.en --metric bleu:tokenize=none chrf:word_order=2 ter --confidence

    Figures equal sacreBLEU's where it has the metric; each comes with a signature that says how it was made. The
    metric external:NAME reads one number a line from OUTPUT.NAME (out.en.comet, say) and averages them.
    """
    _need_outputs(outputs, 1, "dragoman score out.en --refs ref.en")
    forms = [metric_from(spec) for spec in metrics]
    systems, references = _read(outputs, refs, forms)
    if sentences:
        _score_sentences(forms, systems, references, as_json)
        return
    results = []
    for form in forms:
        for system, statistics in zip(systems, _judge(form, systems, references, forms), strict=True):
            result = {
                "system": system.path,
                "metric": form.name,
                "score": float(form.score(statistics.sum(axis=0))),
                "signature": _signature(form, len(references)),
            }
            if confidence:
                interval = significance.confidence(statistics, form, samples=samples, seed=seed)
                result |= {"low": interval.low, "high": interval.high, "samples": samples, "seed": seed}
            results.append(result)
    if as_json:
        print_json(results)
    else:
        _print_scores(forms, systems, results, len(references))


def _print_scores(
    forms: Sequence[Metric], systems: Sequence[Output], results: Sequence[dict[str, object]], references: int
) -> None:
    cells = {(r["system"], r["signature"]): r for r in results}
    signatures = [_signature(form, references) for form in forms]

    def cell(system: Output, signature: str) -> str:
        r = cells[system.path, signature]
        interval = f" [{r['low']:.2f} {r['high']:.2f}]" if "low" in r else ""
        return f"{r['score']:.2f}{interval}"

    header = ["system", *(form.name for form in forms)]
    print_table(header, [[s.path, *(cell(s, sig) for sig in signatures)] for s in systems])
    for signature in signatures:
        click.echo(f"# {signature}")


def _score_sentences(
    forms: Sequence[Metric], systems: Sequence[Output], references: Sequence[Texts], as_json: bool
) -> None:
    if len(systems) != 1:
        raise click.UsageError("--sentences takes one output")
    levels = [form.sentence_level() for form in forms]
    columns = [level.score(_judge(level, systems, references, levels)[0]) for level in levels]
    signatures = [_signature(level, len(references)) for level in levels]
    if as_json:
        print_json([{"signature": sig, "scores": col.tolist()} for sig, col in zip(signatures, columns, strict=True)])
        return
    for signature in signatures:
        click.echo(f"# {signature}")
    for row in zip(*columns, strict=True):
        click.echo("\t".join(f"{value:.4f}" for value in row))


_TESTS: dict[str, Callable[..., significance.Comparison]] = {
    "bootstrap": significance.paired_bootstrap,
    "permutation": significance.paired_permutation,
}


@click.command(cls=Command)
@click.argument("systems", nargs=-1, metavar="BASELINE SYSTEM...")
@refs_option
@metrics_option
@click.option(
    "--test",
    type=click.Choice([*_TESTS, "randomisation"]),
    help="Default: permutation; with several runs of each system, stratified approximate randomisation.",
)
@samples_option(10_000)
@seed_option
@as_json
def compare(
    systems: tuple[str, ...],
    refs: tuple[str, ...],
    metrics: tuple[str, ...],
    test: str | None,
    samples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Tell whether systems really differ from a baseline.

    \b
    dragoman compare base.en new.en --refs ref.en
    dragoman compare mert='mert.run?.en' mira=mira.run1.en,mira.run2.en,mira.run3.en --refs ref.en

    The p-value says how often chance alone would give a difference at least as large. A system that was tuned
    several times is given as name=run1,run2,... or as a quoted pattern: then all runs are tested together, and the
    table shows the mean with its standard deviation over runs (s_opt), next to the one over sentences (s_sel).
    """
    _need_outputs(systems, 2, "dragoman compare base.en new.en --refs ref.en")
    forms = [metric_from(spec) for spec in metrics]
    groups = dict(_group(spec) for spec in systems)
    if len(groups) != len(systems):
        raise click.UsageError("two systems have the same name; give them as name=file")
    test = _chosen_test(test, groups)
    paths = [path for group in groups.values() for path in group]
    outputs, references = _read(paths, refs, forms)
    by_path = {output.path: output for output in outputs}
    results = []
    for form in forms:
        statistics = dict(zip(by_path, _judge(form, outputs, references, forms), strict=True))
        runs = {name: np.stack([statistics[path] for path in group]) for name, group in groups.items()}
        results.append(_compare(form, runs, test, samples, seed) | {"signature": _signature(form, len(references))})
    if as_json:
        print_json(results)
        return
    for result in results:
        _print_comparison(result)


def _group(spec: str) -> tuple[str, list[str]]:
    """`name=file,file` or a file or a pattern: the system's name and the files of its runs."""
    name, given, files = spec.partition("=")
    if not given or Path(spec).exists():
        name, files = spec, spec
    paths: list[str] = []
    for part in files.split(",") if not Path(files).exists() else [files]:
        matches = sorted(glob.glob(part))  # noqa: PTH207  absolute patterns too, which Path.glob refuses
        if not matches:
            raise InputError(f"{part}: no such file", part)
        paths += matches
    return name, paths


def _chosen_test(test: str | None, groups: dict[str, list[str]]) -> str:
    counts = {len(group) for group in groups.values()}
    if len(counts) > 1:
        table = ", ".join(f"{name} {len(group)}" for name, group in groups.items())
        raise InputError(f"every system needs as many runs as the others: {table}")
    several = counts != {1}
    if test in _TESTS and several:
        raise click.UsageError(f"the {test} test takes one run of each system; leave --test out for several")
    return test or ("randomisation" if several else "permutation")


def _compare(form: Metric, runs: dict[str, F64], test: str, samples: int, seed: int) -> dict[str, object]:
    names = list(runs)
    spread = {name: significance.replications(runs[name], form, seed=seed) for name in names}
    rows: list[dict[str, object]] = [{"system": names[0], **asdict(spread[names[0]])}]
    for name in names[1:]:
        pair = (runs[names[0]], runs[name])
        if test in _TESTS:
            result = _TESTS[test](pair[0][0], pair[1][0], form, samples=samples, seed=seed)
        else:
            result = significance.stratified_randomisation(*pair, form, samples=samples, seed=seed)
        difference = spread[name].mean - spread[names[0]].mean
        rows.append({"system": name, **asdict(spread[name]), "difference": difference, "p_value": result.p_value})
    return {"metric": form.name, "test": test, "samples": samples, "seed": seed, "systems": rows}


def _print_comparison(result: dict[str, object]) -> None:
    rows = result["systems"]
    assert isinstance(rows, list)
    several = len(rows[0]["scores"]) > 1

    def number(row: dict[str, float], key: str, form: str) -> str:
        return format(row[key], form) if key in row else ""

    header = ["system", str(result["metric"]), *(["s_opt"] if several else []), "s_sel", "difference", "p"]
    cells = [
        [
            str(row["system"]),
            number(row, "mean", ".2f"),
            *([number(row, "s_opt", ".2f")] if several else []),
            number(row, "s_sel", ".2f"),
            number(row, "difference", "+.2f"),
            number(row, "p_value", ".4f"),
        ]
        for row in rows
    ]
    print_table(header, cells)
    click.echo(f"# {result['signature']}|test:{result['test']}|samples:{result['samples']}|seed:{result['seed']}")


def _need_outputs(outputs: Sequence[str], least: int, example: str) -> None:
    if len(outputs) < least:
        raise click.UsageError(
            f"expected at least {least} output file{'s' if least > 1 else ''} before --refs, e.g. {example}"
        )
