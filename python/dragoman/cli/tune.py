"""`dragoman tune` and `dragoman rerank`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dragoman import curves
from dragoman.cli.arguments import Command, as_json, refs_option
from dragoman.cli.course import watching
from dragoman.cli.declared import Named, takes
from dragoman.cli.file_options import (
    features_option,
    glossary_option,
    glossary_weight_option,
    mbr_option,
    mbr_scale_option,
    metric_option,
    model_option,
    out_option,
    overwrite_option,
    src_option,
    text_feature_option,
    tokenized_option,
    trust_option,
    weights_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.progress import steps
from dragoman.cli.show import print_json
from dragoman.decoder import Decoder, Search
from dragoman.files import write_text
from dragoman.tuning import Tuner, tuner_from
from dragoman.types import Metric
from dragoman.verbs import TuneOptions
from dragoman.verbs import mbr as least_risk
from dragoman.verbs import rerank as choose
from dragoman.verbs import tune as find_weights
from dragoman.verbs.tuning import SEARCH_OPTIONS

__all__ = ["rerank", "tune"]

_WAS = {
    "--own": "--features FILE.py:NAME",
    "--mode": "--tuner NAME:mode=...",
    "--stale": "--tuner NAME:stale=N",
    "--shards": "--tuner mira:shards=N",
    "--resume": "not needed any more: the same command goes on with a run that was interrupted",
}


def _nbest_option(required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about = "N-best lists of any system; several make one pool."
    return click.option("--nbest", "lists", multiple=True, required=required, metavar="FILE...", help=about)


class _Watcher:
    """Shows progress, where somebody looks."""

    def watching(
        self, decoder: Decoder | None, metric: Metric, epochs: int, texts: tuple[int, int]
    ) -> AbstractContextManager[Any]:
        """A context that gives a function for the record of each step; `texts`: sentences to tune on, and held out."""
        return steps(metric.name) if decoder is None else watching(decoder, metric, epochs, texts)

    def note(self, text: str) -> None:
        """Something that happened."""
        messages.note(text)

    def warning(self, text: str) -> None:
        """Something that the user should know."""
        messages.warning(text)


@click.command(cls=Command, was=_WAS)
@_nbest_option(required=False)
@model_option("Tune this model's own decoder instead of fixed lists.", metavar="FOLDER|FILE")
@trust_option
@src_option("With --model: the source text of --refs.", required=False)
@refs_option
@metric_option("What to maximise, as for `dragoman score`.  [default: bleu; with --model bleu:tokenize=none]")
@click.option(
    "--tuner",
    "-t",
    type=Named("tuner"),
    metavar="TUNER",
    help="The tuner: mert, smooth-mert, pro, mira, kbmira, adagrad, phrasal, risk, with --model lattice-mira or "
    "samplerank, or FILE.py:NAME; options after a colon: mert:starts=5,l2=0.1. `dragoman options tuner` lists them.  "
    "[default: mert; with --model smooth-mert, or adagrad if there are --features]",
)
@out_option(
    "Where the weights go; with --model a folder for the run, which is a model in the end.  [default: weights.toml; "
    "with --model tuned]"
)
@overwrite_option("Replace another run that --out holds, or start this one anew.")
@click.option(
    "--held-out",
    multiple=True,
    metavar="SHARE|FILE...",
    help="Text to choose the step (and the variant of --sweep) by: a share of the list or text (0.2), or another one "
    "with --held-out-refs. It is neither the tuning text, which the tuner sees, nor the test text, which judges.",
)
@click.option("--held-out-refs", multiple=True, metavar="FILE...", help="References of the held-out lists or text.")
@click.option(
    "--start",
    default="auto",
    show_default=True,
    help="Start weights: a file, `ones`, `fit` (those that made the list), or `auto` (fit if it can, else ones); with "
    "--model a file, or `auto`, the model's own.",
)
@features_option("With --model. ")
@text_feature_option(
    "START",
    "With --tuner samplerank: a feature of whole sentences or documents whose weight is learned, from START on "
    "(0 if it is left out), or module:NAME.  [default: none]",
)
@glossary_option("With --model: terms and how they are translated; the weight of using them is tuned, too.")
@glossary_weight_option("1, where tuning starts; for a model that was tuned with a glossary its own")
@tokenized_option("With --model: all texts are tokenised and cased, as the model has them.")
@takes(TuneOptions, into="options")
@click.option("--trace", metavar="FILE", help="Write a JSON line for each step.")
@click.option(
    "--curve", metavar="FILE.png", help="Draw the learning curve (with --model it is in the run's folder, too)."
)
@takes(Search, into="search", section="Search, with --model", only=SEARCH_OPTIONS)
@as_json
def tune(
    lists: tuple[str, ...],
    model: str | None,
    trust: bool,
    src: str | None,
    refs: tuple[str, ...],
    metric: str | None,
    tuner: str | None,
    out: str | None,
    overwrite: bool,
    held_out: tuple[str, ...],
    held_out_refs: tuple[str, ...],
    start: str,
    features: str | None,
    text_features: tuple[str, ...],
    glossary: str | None,
    glossary_weight: float | None,
    tokenized: bool,
    options: dict[str, Any],
    trace: str | None,
    curve: str | None,
    search: dict[str, Any],
    as_json: bool,
) -> None:
    """Find the weights that maximise a metric, on n-best lists of any system or with the decoder in the loop.

    \b
    dragoman tune --nbest dev.nbest.gz --refs dev.ref* --metric bleu --tuner mert --held-out 0.2
    dragoman tune --nbest dev.jsonl --refs dev.en --metric chrf --tuner kbmira --out w.toml
    dragoman tune --nbest dev.nbest --refs dev.en --tuner mert --sweep l2=0.01,0.1,1 --held-out 0.3

    Then choose with them: dragoman rerank --weights w.toml --nbest test.nbest.gz > test.out

    \b
    dragoman tune --model model --src dev.de --refs dev.en --tuner kbmira --held-out 0.2 --out tuned
    dragoman translate --model tuned < test.de > test.out

    The tuned folder is a model: weights, feature sets, search settings, and where its tables are. A run that was
    interrupted goes on when the same command is given again, also with more --epochs.
    """
    if (model is None) == (not lists):
        raise click.UsageError("expected either --nbest, lists that are there, or --model, which makes its own")
    place = out or ("tuned" if model else "weights.toml")
    messages.resuming = f"the same command goes on after the last {'epoch' if model else 'step'} that ended"
    found = find_weights(
        model if model is not None else list(lists), _files(refs), metric, _with_texts(tuner, text_features),
        source=src,
        held_out=_held_out(held_out, bool(model)), held_out_references=_files(held_out_refs), start=start,
        features=features, glossary=glossary, glossary_weight=glossary_weight, tokenized=tokenized, trust=trust,
        out=place, overwrite=overwrite, trace=trace, curve=curve, watcher=_Watcher(), **options, **search,
    )  # fmt: skip
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
        if len(found.runs) == 1 and found.modelled:
            click.echo(curves.sketch(found.best.trace))
    seconds = sum(run.seconds for run in found.runs)
    count = f"{found.best.steps} steps in " if len(found.runs) == 1 and not found.modelled else ""
    what = "weights" if found.model is None else "the tuned model is"
    messages.note(f"dragoman: {count}{seconds:.1f} s, {what} in {place}")


def _files(paths: tuple[str, ...]) -> list[Path] | None:
    return [Path(path) for path in paths] or None


def _held_out(given: tuple[str, ...], modelled: bool) -> Any:
    """A share, a source text, or lists."""
    if not given:
        return None
    if len(given) == 1:
        try:
            return float(given[0])
        except ValueError:
            return given[0] if modelled else list(given)
    if modelled:
        raise click.UsageError("a held-out text is one source file with its --held-out-refs, or a share: 0.2")
    return list(given)


@click.command(cls=Command)
@_nbest_option(required=True)
@weights_option("Weights, as `dragoman tune` writes them; with --mbr they may be left out.")
@mbr_option
@mbr_scale_option(usual="1, or the best one on --dev-nbest")
@click.option(
    "--dev-nbest", multiple=True, metavar="FILE...", help="With --mbr: development lists, to find its scale with."
)
@click.option("--dev-refs", multiple=True, metavar="FILE...", help="With --mbr: references of the development lists.")
@takes(TuneOptions, into="reading", only=["nbest_format"])
@out_option("Where the chosen candidates go.", default="-")
@as_json
def rerank(
    lists: tuple[str, ...],
    weights: str | None,
    mbr_metric: str | None,
    mbr_scale: float | None,
    dev_nbest: tuple[str, ...],
    dev_refs: tuple[str, ...],
    reading: dict[str, Any],
    out: str,
    as_json: bool,
) -> None:
    """Choose the best candidate of each sentence: under given weights, or with the least expected loss.

    \b
    dragoman rerank --weights weights.toml --nbest test.nbest.gz > test.out
    dragoman rerank --weights w.toml --nbest test.jsonl --mbr chrf --dev-nbest dev.jsonl --dev-refs dev.en > test.out

    Line i of the output is the chosen candidate of the sentence with id i (of the i-th sentence, where ids are words);
    a sentence without candidates gets an empty line.
    """
    if mbr_metric is None:
        if mbr_scale is not None or dev_nbest or dev_refs:
            raise click.UsageError("--mbr-scale, --dev-nbest and --dev-refs go with --mbr")
        if weights is None:
            raise click.UsageError("expected --weights, or --mbr with the scores that the lists have")
        found = choose(list(lists), weights, **reading)
    else:
        found = least_risk(
            list(lists), mbr_metric, weights=weights, scale=mbr_scale, dev=list(dev_nbest) or None,
            dev_references=_files(dev_refs), **reading,
        )  # fmt: skip
    for warning in found.warnings:
        messages.warning(warning)
    if as_json:
        told = {"texts": found.texts, "rows": found.rows.tolist(), "scores": found.scores.tolist()}
        print_json(told if found.scale is None else {**told, "scale": found.scale})
    else:
        write_text(out, list(found.texts))


def _with_texts(tuner: str | None, texts: tuple[str, ...]) -> Tuner | str | None:
    """The tuner with features of whole texts, which only one that samples can learn."""
    if not texts:
        return tuner
    if tuner is None:
        raise click.UsageError("--text-feature needs --tuner samplerank: no other tuner has whole texts")
    chosen = tuner_from(tuner)
    if not hasattr(chosen, "text_features"):
        raise click.UsageError(f"--text-feature needs --tuner samplerank: {chosen.name} does not see whole texts")
    return replace(chosen, text_features=texts)  # type: ignore[type-var]
