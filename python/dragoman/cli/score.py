"""`dragoman score` and `dragoman compare`."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import click

from dragoman.cli.arguments import Command, as_json, metrics_option, refs_option
from dragoman.cli.declared import takes
from dragoman.cli.file_options import glossary_option, src_option, tokenized_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json
from dragoman.errors import InputError
from dragoman.files import check_writable, write_bytes, write_text
from dragoman.verbs import compare as tell_apart
from dragoman.verbs import score as judge
from dragoman.verbs.judging import CompareOptions, ScoreOptions, sentence_scores
from dragoman.verbs.selecting import Selection, select

__all__ = ["compare", "score"]


@click.command(cls=Command)
@click.argument("outputs", nargs=-1, metavar="OUTPUT...")
@refs_option
@metrics_option
@click.option("--sentences", is_flag=True, help="A line for each sentence of one output (sentence-level forms).")
@takes(ScoreOptions, into="options")
@as_json
def score(
    outputs: tuple[str, ...],
    refs: tuple[str, ...],
    metrics: tuple[str, ...],
    sentences: bool,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Score translations against references.

    \b
    dragoman score out.en --refs ref.A.en ref.B.en
    dragoman score a.en b.en --refs ref.en --metric bleu:tokenize=none chrf:word_order=2 ter --confidence
    dragoman score out.en --refs ref.en --metric 0.5*bleu+0.5*chrf mine.py:Mine

    Figures equal sacreBLEU's where it has the metric; each comes with a signature that says how it was made. The
    metric external:NAME reads one number a line from OUTPUT.NAME (out.en.comet, say) and averages them.
    """
    _need_outputs(outputs, 1, "dragoman score out.en --refs ref.en")
    references = _references(refs)
    if sentences:
        if len(outputs) != 1:
            raise click.UsageError("--sentences takes one output")
        _print_sentences(sentence_scores(outputs[0], references, metrics), as_json)
        return
    found = judge({path: path for path in outputs}, references, metrics, **options)
    if as_json:
        extra = {name: options.get(name, getattr(ScoreOptions(), name)) for name in ("samples", "seed")}
        print_json([row | extra if "low" in row else row for row in found.to_list()])
    else:
        click.echo(str(found))


def _print_sentences(found: list[tuple[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json([{"signature": signature, "scores": column.tolist()} for signature, column in found])
        return
    for signature, _ in found:
        click.echo(f"# {signature}")
    for row in zip(*(column for _, column in found), strict=True):
        click.echo("\t".join(f"{value:.4f}" for value in row))


@click.command(cls=Command)
@click.argument("systems", nargs=-1, metavar="BASELINE SYSTEM...")
@refs_option
@metrics_option
@takes(CompareOptions, into="options")
@takes(Selection, into="only")
@click.option("--analyse", is_flag=True, help="Show where the last system differs from the baseline.")
@click.option("--report", metavar="FILE.html", help="Write all of it, with filters, to a page.  [default: none]")
@click.option(
    "--reordered", metavar="FILE.tsv",
    help="Write the sentences for which the last system and the baseline use mostly the same words in another order, "
    "as rows to judge: which of the two stands first is drawn, and told in the last column.  [default: none]",
)  # fmt: skip
@src_option("The source text, for filters, reports and rows to judge.", required=False)
@click.option(
    "--train-text", multiple=True, metavar="FILE...",
    help="With --analyse or --report: the training text in the language of the references, to tell rare words.",
)  # fmt: skip
@click.option(
    "--train-source", multiple=True, metavar="FILE...",
    help="The training text in the language of the source, to tell unknown words.",
)  # fmt: skip
@glossary_option("Terms, for filters.")
@tokenized_option("For words in filters, analyses and reports: texts are tokenised, words stand between spaces.")
@as_json
def compare(
    systems: tuple[str, ...],
    refs: tuple[str, ...],
    metrics: tuple[str, ...],
    options: dict[str, Any],
    only: dict[str, Any],
    analyse: bool,
    report: str | None,
    reordered: str | None,
    src: str | None,
    train_text: tuple[str, ...],
    train_source: tuple[str, ...],
    glossary: str | None,
    tokenized: bool,
    as_json: bool,
) -> None:
    """Tell whether systems really differ from a baseline.

    \b
    dragoman compare base.en new.en --refs ref.en
    dragoman compare mert='mert.run?.en' mira=mira.run1.en,mira.run2.en,mira.run3.en --refs ref.en
    dragoman compare base.en new.en --refs ref.en --train-text train.en --analyse
    dragoman compare base.en new.en --refs ref.en --min-words 20 --analyse
    dragoman compare base.en new.en --refs ref.en --src test.de --report page.html
    dragoman compare base.en new.en --refs ref.en --src test.de --reordered judge.tsv

    The p-value says how often chance alone would give a difference at least as large. A system that was tuned
    several times is given as name=run1,run2,... or as a quoted pattern: then all runs are tested together, and the
    table shows the mean with its standard deviation over runs (s_opt), next to the one over sentences (s_sel). A
    baseline with one output is held fixed beside systems with several runs.

    Filters (--min-words, --max-words, --containing, --unknown-words, --terms, --drop-duplicates) leave some of
    the sentences; scores, p and all else are of these.
    """
    _need_outputs(systems, 2, "dragoman compare base.en new.en --refs ref.en")
    groups = dict(_group(spec) for spec in systems)
    if len(groups) != len(systems):
        raise click.UsageError("two systems have the same name; give them as name=file")
    if train_text and not (analyse or report):
        raise click.UsageError("--train-text goes with --analyse or --report")
    selection, texts = Selection(**only), dict[str, Any](groups)
    lines: Any = _references(refs)
    source: Any = src
    if selection != Selection():
        left = select(
            groups, lines, selection, source=src, source_training=train_source, glossary=glossary, tokenized=tokenized
        )
        lines, texts, source = left.references, dict(left.systems), left.source
        messages.note(f"{len(lines):,} of {left.count:,} sentences")
    elif (src or train_source or glossary or tokenized) and not (analyse or report or reordered):
        what = "--src, --train-source, --glossary and --tokenized"
        raise click.UsageError(f"{what} go with --analyse, --report, --reordered or a filter")
    for place in filter(None, (reordered, report)):
        check_writable(place)
    results = tell_apart(texts, lines, metrics, **options)
    found = None
    if analyse:
        from dragoman.verbs.analysing import analyse as look  # noqa: PLC0415  seldom asked for

        found = look(texts, lines, metrics[0], training=train_text, tokenized=tokenized)
    if as_json:
        told = [result.to_dict() for result in results]
        print_json({"results": told, "analysis": found.to_dict()} if found else told)
    else:
        for result in results:
            click.echo(str(result))
        if found:
            click.echo(f"\n{found}")
    if reordered is not None:
        from dragoman.verbs.analysing import to_judge  # noqa: PLC0415

        rows = to_judge(texts, lines, source, tokenized=tokenized, seed=options.get("seed", CompareOptions().seed))
        write_text(reordered, rows)
        messages.note(f"{len(rows) - 1:,} sentences are in {reordered}")
    if report is not None:
        from dragoman.report import of_outputs, page  # noqa: PLC0415  an extra

        content = of_outputs(
            texts, lines, metrics, source=source, training=train_text, source_training=train_source,
            glossary=glossary, tokenized=tokenized, title=" and ".join(groups),
        )  # fmt: skip
        write_bytes(report, page(content).encode())
        messages.note(f"the report is {report}")


def _group(spec: str) -> tuple[str, list[Path]]:
    """`name=file,file` or a file or a pattern: the system's name and the files of its runs."""
    name, given, files = spec.partition("=")
    if not given or Path(spec).exists():
        name, files = spec, spec
    paths: list[Path] = []
    for part in files.split(",") if not Path(files).exists() else [files]:
        matches = sorted(glob.glob(part))  # noqa: PTH207  absolute patterns too, which Path.glob refuses
        if not matches:
            raise InputError(f"{part}: no such file", part)
        paths += map(Path, matches)
    return name, paths


def _references(refs: tuple[str, ...]) -> list[Path] | None:
    return [Path(path) for path in refs] or None


def _need_outputs(outputs: tuple[str, ...], least: int, example: str) -> None:
    if len(outputs) < least:
        raise click.UsageError(
            f"expected at least {least} output file{'s' if least > 1 else ''} before --refs, e.g. {example}"
        )
