"""`dragoman features`: what sparse features there are, how they fire, which of them data sets share; boosted trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import wraps
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from dragoman import boosting, nbest, registry, tags
from dragoman import weights as files
from dragoman.analysis import Overlap, Usage, contrast, overlap, rivals, rules_with
from dragoman.cli.arguments import Command, as_json, refs_option
from dragoman.cli.declared import takes
from dragoman.cli.file_options import (
    features_option,
    limit_option,
    metric_option,
    model_option,
    out_option,
    src_option,
    text_option,
    tokenized_option,
    trust_option,
    weights_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.progress import counter, tasks
from dragoman.cli.rules import open_tables
from dragoman.cli.show import print_json, print_table
from dragoman.decoder import Decoder
from dragoman.features import ABOUT
from dragoman.files import read_parallel, read_text
from dragoman.metrics import metric_from
from dragoman.rules import Table
from dragoman.types import Names, Weights

__all__ = ["features"]


@click.group()
def features() -> None:
    """Sparse features: the sets, how often they fire, which of them data sets share, what competes; boosted trees.

    \b
    dragoman features list
    dragoman features stat --model model --features pt,al,lo --src dev.de
    dragoman features overlap test.bin tuned.bin
    dragoman features contrast programme program --weights a.bin b.bin --text a.en b.en
    dragoman features boost --model model --src dev.de --refs dev.en --out trees.json
    """


@features.command("list", cls=Command)
@as_json
def list_(as_json: bool) -> None:
    """List the sets for --features, what fires in each, its options and names that it fires."""
    rows = []
    for name in ABOUT:
        made = registry.make("feature set", name)
        what, paper, examples = ABOUT[name]
        options = {field.name: getattr(made, field.name) for field in fields(made)}
        rows.append((name, what, paper, options, examples))
    if as_json:
        keys = ("set", "fires", "paper", "options", "names")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    for name, what, paper, options, examples in rows:
        click.echo(f"{name}  ({paper})")
        click.echo(f"    on {what}")
        click.echo(f"    such as {'  '.join(examples)}")
        shown = (f"{key}={value}" if value != "" else key for key, value in options.items())
        click.echo(f"    options {', '.join(shown)}")


@dataclass(frozen=True)
class _Decoding:
    """How texts are translated, to see which features fire."""

    model: str | None
    features: str | None
    weights: str | None
    size: int
    tokenized: bool

    def __post_init__(self) -> None:
        if self.model is None and (self.features or self.weights or self.size > 1 or self.tokenized):
            raise click.UsageError("--features, --weights, --nbest-size and --tokenized go with --model")

    def usage(self, src: str) -> Usage:
        """Of the translations of a text."""
        usage = Usage()
        given = files.load(self.weights) if self.weights else None
        decoder = Decoder(str(self.model), features=self.features, weights=given)
        lines = read_text(Path(src)).to_list()
        if not self.tokenized:
            lines = decoder.text.before(lines)
        with counter("sentences") as tick:
            for start in range(0, len(lines), 256):
                found = decoder.nbest(lines[start : start + 256], self.size)
                usage.add(found)
                tick(len(found))
        return usage


def _decoding(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for a command that translates texts: its `decoding`."""

    @wraps(command)
    def run(**given: Any) -> Any:
        own = {field.name: given.pop(field.name) for field in fields(_Decoding)}
        return command(decoding=_Decoding(**own), **given)

    for option in (
        click.option(
            "--nbest-size",
            "size",
            default=1,
            show_default=True,
            type=click.IntRange(min=1),
            metavar="N",
            help="Candidates of each sentence.",
        ),
        weights_option("Other weights than the model's own."),
        features_option(),
        tokenized_option("With --model: texts are tokenised and cased, as the model has them."),
        model_option("Translate text with this model.", metavar="FOLDER"),
    ):
        run = option(run)
    return run


@features.command(cls=Command, was={"--top": "--limit", "--size": "--nbest-size"})
@click.option("--nbest", "lists", multiple=True, metavar="FILE...", help="N-best lists with features.")
@src_option("With --model: text to translate.", required=False)
@_decoding
@limit_option(0, "List the sparse names that fire most often, too.")
@as_json
def stat(
    lists: tuple[str, ...],
    src: str | None,
    decoding: _Decoding,
    limit: int,
    as_json: bool,
) -> None:
    """Count how often each set fires, and how many names it has, in n-best lists or in translations of a text.

    \b
    dragoman features stat --nbest dev.nbest.gz
    dragoman features stat --model model --features pt,al,lo,tb --src dev.de --nbest-size 100
    """
    if bool(lists) == (src is not None) or (src is None) != (decoding.model is None):
        raise click.UsageError("expected either --nbest, or --model and --src")
    usage = _of_lists(lists) if lists else decoding.usage(str(src))
    made, most = usage.sets(), files.top(usage.weights(), limit, "*:*")
    if as_json:
        facts = {"sentences": usage.sentences, "candidates": usage.candidates, "sets": [asdict(one) for one in made]}
        print_json({**facts, "top": [{"name": name, "fired": int(count)} for name, count in most]})
        return
    click.echo(f"{usage.sentences:,} sentences, {usage.candidates:,} candidates")
    head = ["set", "names", "in one sentence", "fired", "a candidate", "candidates", "sentences"]
    rows = [
        [
            s.name or "(dense)",
            f"{s.names:,}",
            f"{s.once:,}",
            f"{s.fired:,}",
            f"{s.fired / max(usage.candidates, 1):.2f}",
            f"{s.candidates / max(usage.candidates, 1):.1%}",
            f"{s.sentences / max(usage.sentences, 1):.1%}",
        ]
        for s in made
    ]
    print_table(head, rows)
    if most:
        click.echo()
        print_table(["feature", "fired"], [[name, f"{count:,.0f}"] for name, count in most])


def _of_lists(lists: Sequence[str]) -> Usage:
    usage = Usage()
    names = Names()
    with counter("sentences") as tick:
        for path in lists:
            for batch in nbest.stream(path, names=names):
                usage.add(batch)
                tick(len(batch))
    return usage


@features.command("overlap", cls=Command, was={"--size": "--nbest-size"})
@click.argument("first")
@click.argument("second")
@click.option("--nbest", "lists", is_flag=True, help="The files are n-best lists, not weights.")
@_decoding
@as_json
def overlap_(
    first: str,
    second: str,
    lists: bool,
    decoding: _Decoding,
    as_json: bool,
) -> None:
    """Count the features that two weights files share, or two n-best lists, or (with --model) two texts.

    \b
    dragoman features overlap tuned-on-a.bin tuned-on-b.bin
    dragoman features overlap a.nbest.gz b.nbest.gz --nbest
    dragoman features overlap test.de dev.de --model model --features pt,al,lo

    Weights of zero do not count. The share is that of the first's features which the second has, too.
    """
    if lists and decoding.model:
        raise click.UsageError("expected --nbest or --model, not both")

    def read(path: str) -> Weights:
        if lists:
            return _of_lists([path]).weights()
        return decoding.usage(path).weights() if decoding.model else files.load(path)

    made = overlap(read(first), read(second))
    if as_json:
        print_json([{**asdict(row), "share": row.share} for row in made])
        return
    total = Overlap("all", *(sum(getattr(row, key) for row in made) for key in ("first", "second", "both")))
    rows = [
        [row.name or "(dense)", f"{row.first:,}", f"{row.second:,}", f"{row.both:,}", _share(row.share)]
        for row in [*made, total]
    ]
    print_table(["set", first, second, "both", "share"], rows)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


@features.command("contrast", cls=Command, was={"--rules": "--model", "--prefix": "--set"})
@click.argument("phrases", nargs=-1)
@click.option(
    "--source", metavar="PHRASE", help="Show all translations of this source phrase instead.  [default: none]"
)
@model_option("With --source: the model, or the rule table, whose rules are shown.")
@weights_option("Weights to compare.", several=True)
@text_option("Target texts to count the phrases in.", required=False, several=True)
@click.option("--set", "prefix", default="pt", show_default=True, metavar="SET", help="The set whose rules count.")
@limit_option(20, "Rules to show.")
@as_json
def contrast_(
    phrases: tuple[str, ...],
    source: str | None,
    model: str | None,
    weights: tuple[str, ...],
    text: tuple[str, ...],
    prefix: str,
    limit: int,
    as_json: bool,
) -> None:
    """Show what competes: spellings of a word in texts and in tuned rules, or all translations of a source phrase.

    \b
    dragoman features contrast programme program --text a.en b.en --weights tuned-on-a.bin tuned-on-b.bin
    dragoman features contrast --source programm --model model --weights a.bin b.bin

    With phrases of the target: how often each stands in each text, and how many rules with it weigh anything in each
    file. With --source: how often each rule was seen, its probability, and its weight in each file.
    """
    if (source is None) == (not phrases) or (source is not None and model is None):
        raise click.UsageError("expected target phrases, or --source with --model")
    loaded = [files.load(path) for path in weights]
    if source is None:
        if not text and not loaded:
            raise click.UsageError("expected --text, --weights or both")
        _competing(phrases, text, weights, loaded, prefix, limit, as_json)
    else:
        _translations(source, open_tables(str(model)), weights, loaded, prefix, limit, as_json)


def _competing(
    phrases: Sequence[str],
    texts: Sequence[str],
    weight_files: Sequence[str],
    loaded: Sequence[Weights],
    prefix: str,
    limit: int,
    as_json: bool,
) -> None:
    counted = contrast(phrases, [read_text(Path(path)) for path in texts], loaded, prefix)
    if as_json:
        made = [
            {
                "phrase": phrase,
                "texts": dict(zip(texts, tokens, strict=True)),
                "rules": dict(zip(weight_files, rules, strict=True)),
                "largest": {
                    path: [{"name": name, "weight": value} for name, value in _largest(weights, phrase, prefix, limit)]
                    for path, weights in zip(weight_files, loaded, strict=True)
                },
            }
            for phrase, (tokens, rules) in zip(phrases, counted, strict=True)
        ]
        print_json(made)
        return
    if texts:
        print_table(
            ["tokens", *texts], [[p, *map("{:,}".format, c)] for p, (c, _) in zip(phrases, counted, strict=True)]
        )
    if loaded:
        click.echo("\n" if texts else "", nl=False)
        rows = [[f"{prefix} with {p}", *map("{:,}".format, c)] for p, (_, c) in zip(phrases, counted, strict=True)]
        print_table(["rules", *weight_files], rows)
    for phrase in phrases:
        for path, weights in zip(weight_files, loaded, strict=True):
            rules = _largest(weights, phrase, prefix, limit)
            if rules:
                click.echo()
                print_table([f"{phrase} in {path}", "weight"], [[name, f"{value:.4g}"] for name, value in rules])


def _largest(weights: Weights, phrase: str, prefix: str, limit: int) -> list[tuple[str, float]]:
    return files.top(rules_with(weights, phrase, prefix), limit)


def _translations(
    source: str,
    tables: Sequence[Table],
    weight_files: Sequence[str],
    loaded: Sequence[Weights],
    prefix: str,
    limit: int,
    as_json: bool,
) -> None:
    found = [rival for table in tables for rival in rivals(table, source, loaded, prefix)]
    if as_json:
        rows = [{**asdict(r), "weights": dict(zip(weight_files, r.weights, strict=True))} for r in found[:limit]]
        print_json({"source": source, "translations": len(found), "rules": rows})
        return
    if not found:
        messages.warning(f"no rules for `{source}`")
        return
    click.echo(f"{source}: {len(found):,} translations")
    print_table(
        ["target", "count", "p(e|f)", *weight_files],
        [
            [r.target, _plain(r.count), _plain(r.probability), *(f"{value:.4g}" for value in r.weights)]
            for r in found[:limit]
        ],
    )


def _plain(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


@features.command("tags", cls=Command)
@click.option("--factored", multiple=True, metavar="FILE...", help="Text with factors: the|DT house|NN.")
@text_option("Text, tokenised, with --tags or --tagger.", required=False)
@click.option("--tags", "tag_file", metavar="FILE", help="The tags of --text: as many lines, and as many in each.")
@takes(tags.Learning, into="options")
@out_option("Where words and their tags go.")
@as_json
def tags_(
    factored: tuple[str, ...],
    text: str | None,
    tag_file: str | None,
    out: str,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Learn the most frequent tag of each target word, for features on phrase boundaries.

    \b
    dragoman features tags --factored train.tagged.en --out english.tags
    dragoman features tags --text train.en --tagger en --sentences 10000 --out english.tags
    dragoman translate --model model --features pb:tags=english.tags < in.de
    """
    with counter("sentences") as tick:
        made = tags.learn(out, factored=factored, text=text, tags=tag_file, progress=tick, **options)
    if as_json:
        print_json(asdict(made))
        return
    click.echo(f"{made.words:,} words, {len(made.tags)} tags, from {made.tokens:,} words of text, in {out}")


@features.command("boost", cls=Command)
@model_option("The model whose rules, lists and weights the trees are induced from.", required=True, metavar="FOLDER")
@src_option("Text to translate: the one that will be tuned on, or another.")
@refs_option
@tokenized_option("All texts are tokenised and cased, as the model has them.")
@metric_option("What orders the candidates of a pair.  [default: bleu]")
@takes(boosting.Boosting, into="options")
@trust_option
@click.option(
    "--weights-out", metavar="FILE", help="Write the model's weights and 1 for each tree, too: a start for tuning."
)
@out_option("Where the trees go, as JSON.", metavar="FILE.json")
@as_json
def boost(
    model: str,
    src: str,
    refs: tuple[str, ...],
    tokenized: bool,
    metric: str | None,
    trust: bool,
    weights_out: str | None,
    out: str,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Induce boosted features: small regression trees over attributes of rules (Toutanova & Ahn 2013).

    \b
    dragoman features boost --model model --src dev.de --refs dev.en --out trees.json --weights-out start.toml
    dragoman tune --model model --features boosted:file=trees.json --start start.toml ...
    dragoman translate --model model --features boosted:file=trees.json --weights start.toml < in.de

    The text is translated, and pairs of candidates are drawn of which the metric prefers one. Tree after tree is
    fitted to what the loss of these pairs wants of each rule. Each is one feature, boosted:1 and so on: the sum of the
    leaves that the rules of a translation come to. What trees ask about is in docs/features.md.
    """
    if not refs:
        raise click.UsageError("expected --refs: dragoman features boost --model model --src dev.de --refs dev.en ...")
    columns = [column.to_list() for column in read_parallel([Path(src), *map(Path, refs)])]
    with tasks() as progress:
        made = boosting.boost(
            model, columns[0], list(zip(*columns[1:], strict=True)), out, metric=metric_from(metric or "bleu"),
            weights_out=weights_out, tokenized=tokenized, trust=trust, progress=progress, **options,
        )  # fmt: skip
    if as_json:
        print_json(asdict(made))
        return
    told = f", {made.trees} of {len(made.loss) - 1} trees kept" if made.trees < len(made.loss) - 1 else ""
    click.echo(f"{made.pairs:,} pairs of {made.lines:,} lines, {made.rules:,} kinds of rules{told}")
    rows = [
        [str(number), f"{made.loss[number]:.4f}", *([f"{made.held_out[number]:.4f}"] if made.held_out else [])]
        for number in _shown(made.trees)
    ]
    print_table(["trees", "loss", *(["held-out loss"] if made.held_out else [])], rows, left=0)
    click.echo()
    print_table(["attribute", "questions"], [[name, f"{count:,}"] for name, count in made.questions.items()])


def _shown(trees: int) -> list[int]:
    """0, 1, 2, 5, 10, 20 and so on, and the last."""
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    return [0, *takewhile(lambda step: step < trees, steps), trees]
