"""`dragoman translate` and `dragoman model`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import click
import msgspec
import numpy as np

from dragoman import nbest, weights
from dragoman.cli import mcmc
from dragoman.cli.arguments import Command, as_json, own_option
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.decoder import Constraints, Decoder, Derivation
from dragoman.errors import InputError
from dragoman.files import Lines, read_text
from dragoman.metrics import METRICS
from dragoman.model import Model
from dragoman.moses import cached, convert
from dragoman.options import build
from dragoman.reranking import mbr
from dragoman.types import Candidates, Metric
from dragoman.user_features import load

__all__ = ["model", "translate"]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of JSONL input."""

    text: str
    given: list[tuple[int, int, str]] = []
    exclusive: bool = True
    walls: list[int] = []
    zones: list[tuple[int, int]] = []


def _search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The fields of `Search` as options; what is not given stays as the model wants it."""
    options = [
        click.option("--stack-size", type=click.IntRange(min=1), help="Hypotheses that each stack keeps."),
        click.option(
            "--pop-limit", type=click.IntRange(min=0), help="Hypotheses that each stack takes, best first; 0 takes all."
        ),
        click.option("--threshold", type=float, help="Drop hypotheses worse than the best by more than this."),
        click.option(
            "--distortion-limit", type=click.IntRange(min=-1), help="Words a jump may skip; 0 monotone, -1 no limit."
        ),
        click.option(
            "--table-limit", type=click.IntRange(min=0), help="Translations kept for a source phrase; 0 keeps all."
        ),
        click.option("--drop-unknown", is_flag=True, default=None, help="Leave unknown words out instead of copying."),
        click.option("--deadline", type=float, help="Seconds for a sentence; then the search goes on greedily."),
        click.option(
            "--markup", is_flag=True, default=None, help="Read <n translation=...>, <wall/>, <zone> in the input."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(cls=Command)
@click.option("--model", "folder", metavar="FOLDER", help="A model that `dragoman train` made.")
@click.option("--moses-ini", metavar="FILE", help="A Moses system instead; it is converted once and kept in a cache.")
@click.option("--weights", "weights_file", metavar="FILE", help="Other weights than the model's own.")
@click.option(
    "--features",
    metavar="SETS",
    help="Sparse feature sets besides the model's own, e.g. pt,al,lo or sparse-hrm:words=80,classes=50+20.",
)
@own_option
@click.option("--input", "source", default="-", metavar="FILE", help="Text, one sentence a line.  [default: stdin]")
@click.option("--output", default="-", metavar="FILE", help="Where translations go.  [default: stdout]")
@click.option(
    "--jsonl", is_flag=True, help='Input lines are {"text": ..., "given": [[0, 1, "a"]], "walls": [], "zones": []}.'
)
@click.option("--tokenized", is_flag=True, help="Take and give words between blanks, as the model has them.")
@click.option("--threads", type=click.IntRange(min=1), help="Default: all cores.")
@_search_options
@mcmc.mcmc_options
@click.option("--nbest", "size", type=click.IntRange(1, 100_000), default=1, help="Translations of each sentence.")
@click.option("--nbest-out", metavar="FILE", help="Where the n-best list goes (Moses' form, or .jsonl).")
@click.option("--all-derivations", is_flag=True, help="List texts as often as they have derivations.")
@click.option("--align-out", metavar="FILE", help="Where word alignments go, as 0-0 1-2.")
@click.option(
    "--lattice-out", metavar="FILE", help="Where lattices go, a JSON object a line (.jsonl), or OpenFST text."
)
@click.option(
    "--target", metavar="FILE", help="Find the best derivation of these targets; an empty line where there is none."
)
@click.option("--mbr", "mbr_metric", metavar="METRIC", help="Minimum Bayes risk over the n-best list, e.g. bleu.")
@click.option("--mbr-scale", default=1.0, show_default=True, help="Sharpness of the belief in model scores.")
@click.option("--explain", is_flag=True, help="Show the derivation of each sentence, feature by feature.")
@as_json
def translate(
    folder: str | None,
    moses_ini: str | None,
    weights_file: str | None,
    features: str | None,
    own: tuple[str, ...],
    source: str,
    output: str,
    jsonl: bool,
    tokenized: bool,
    threads: int | None,
    size: int,
    nbest_out: str | None,
    all_derivations: bool,
    align_out: str | None,
    lattice_out: str | None,
    target: str | None,
    mbr_metric: str | None,
    mbr_scale: float,
    explain: bool,
    as_json: bool,
    **search: Any,
) -> None:
    """Translate text.

    \b
    dragoman translate --model model < in.de > out.en
    dragoman translate --model model --input in.de --nbest 100 --nbest-out out.nbest.gz
    dragoman translate --moses-ini moses.ini --input in.de --explain
    dragoman translate --model model --input in.de --search mcmc --mbr bleu

    Plain text is tokenised and cased as the model's training text was, and its translation comes back as plain text.
    With --tokenized, words stand between blanks on both sides, as they always do in n-best lists, alignments and
    lattices, and with --jsonl, --markup and --target, which count words. An empty line gives an empty line.
    """
    _check_combination(
        size, nbest_out, mbr_metric, {"--explain": explain, "--lattice-out": lattice_out, "--target": target}
    )
    sampling = {name: search.pop(name) for name in mcmc.NAMES}
    by_sampling = mcmc.asked(
        sampling, {"--explain": explain, "--lattice-out": lattice_out, "--target": target, "--jsonl": jsonl}
    )
    decoder = _decoder(folder, moses_ini, (weights_file, features, own), threads, search)
    plain = not (tokenized or jsonl or target or decoder.search.markup)
    lines = _prepared(decoder, _lines(source)) if plain else _lines(source)
    items = _jsonl(source) if jsonl else ((line, None) for line in lines)
    if explain:
        for line, constraints in items:
            _show(decoder.explain(line, constraints=constraints), as_json)
    elif lattice_out is not None:
        _lattices(decoder, items, lattice_out)
    elif target is not None:
        _force(decoder, list(items), target, output, nbest_out)
    else:
        metric = build("metric", METRICS, mbr_metric) if mbr_metric else None
        wanted = (
            mcmc.stream(decoder, lines, sampling, size, bool(metric), nbest_out is not None, not all_derivations)
            if by_sampling
            else decoder.stream(
                (line if constraints is None else (line, constraints) for line, constraints in items),
                max(size, 2) if metric else size,
                distinct=not all_derivations,
                features=nbest_out is not None,
            )
        )
        choose = None if metric is None else partial(_least_risk, metric, mbr_scale)
        finish = (lambda text: decoder.text.after([text])[0]) if plain else None
        _write(wanted, output, align_out, nbest_out, choose, finish)


def _least_risk(metric: Metric, scale: float, found: Candidates) -> int:
    return int(mbr(found, metric, scale=scale)[0])


def _check_combination(size: int, nbest_out: str | None, mbr_metric: str | None, modes: dict[str, Any]) -> None:
    """Refuses options that would have no effect."""
    given = [name for name, value in modes.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"expected one of {', '.join(given)}")
    if size > 1 and nbest_out is None and mbr_metric is None:
        raise click.UsageError("--nbest needs --nbest-out or --mbr")
    if given and (mbr_metric is not None or size > 1):
        raise click.UsageError(f"{given[0]} gives one derivation: it goes with neither --nbest nor --mbr")


def _write(
    results: Iterable[Candidates],
    output: str,
    align_out: str | None,
    nbest_out: str | None,
    choose: Callable[[Candidates], int] | None,
    finish: Callable[[str], str] | None,
) -> None:
    """Writes each result as it comes: its first translation, or the one that `choose` names, after `finish`."""
    with ExitStack() as stack:
        out = stack.enter_context(_Output(output))
        aligned = stack.enter_context(_Output(align_out)) if align_out else None
        lists = stack.enter_context(nbest.Writer(nbest_out)) if nbest_out else None
        tick = stack.enter_context(counter("sentences"))
        for found in results:
            best = choose(found) if choose else 0
            out.line(finish(found.texts[best]) if finish else found.texts[best])
            if aligned and found.alignments is not None:
                aligned.line(found.alignments[best])
            if lists:
                lists.write(found)
            tick(1)


def _decoder(
    folder: str | None,
    moses_ini: str | None,
    what: tuple[str | None, str | None, Sequence[str]],
    threads: int | None,
    search: dict[str, Any],
) -> Decoder:
    if (folder is None) == (moses_ini is None):
        raise click.UsageError("expected either --model or --moses-ini")
    opened = cached(moses_ini) if moses_ini else Model.open(str(folder))
    weights_file, features, own = what
    extra = [feature for spec in own for feature in load(spec)]
    loaded = weights.load(weights_file) if weights_file else None
    decoder = Decoder(opened, weights=loaded, features=features, threads=threads, extra=extra)
    given = {name: value for name, value in search.items() if value is not None}
    decoder.search = replace(decoder.search, **given)
    return decoder


def _prepared(decoder: Decoder, lines: Iterable[str]) -> Iterator[str]:
    """Plain lines as the model knows them."""
    before = decoder.text.before
    return (before([line])[0] for line in lines)


def _lines(source: str) -> Iterator[str]:
    """Lines as they arrive, so that a person at a terminal sees each translation at once."""
    if source != "-":
        yield from read_text(Path(source))
        return
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"-:{number}: expected UTF-8 text, found {error.reason}", "-", number) from None
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield line.removesuffix("\n").removesuffix("\r")


def _jsonl(source: str) -> Iterator[tuple[str, Constraints | None]]:
    decode = msgspec.json.Decoder(_Line)
    for number, line in enumerate(_lines(source), start=1):
        try:
            item = decode.decode(line)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise InputError(f"{source}:{number}: expected a sentence as JSON, but {error}", source, number) from None
        given = [(start, end, text, 0.0) for start, end, text in item.given]
        yield item.text, Constraints(given, item.exclusive, item.walls, item.zones)


class _Output:
    """Lines to a file that appears when it is whole, or to standard output at once."""

    def __init__(self, path: str) -> None:
        self._file = None if path == "-" else Lines(path)

    def __enter__(self) -> _Output:
        return self

    def line(self, text: str) -> None:
        """Writes a line."""
        if self._file is not None:
            self._file.write(text)
        else:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.__exit__(kind, error, trace)


def _force(
    decoder: Decoder, items: Sequence[tuple[str, Constraints | None]], target: str, output: str, nbest_out: str | None
) -> None:
    targets = read_text(Path(target))
    if len(targets) != len(items):
        raise InputError(f"{target}: expected {len(items)} lines, one for each sentence, found {len(targets)}", target)
    found = decoder.force(
        [line for line, _ in items], targets, constraints=[wish or Constraints() for _, wish in items]
    )
    sizes = found.starts[1:] - found.starts[:-1]
    with _Output(output) as out:
        for first, size in zip(found.starts, sizes, strict=False):
            out.line(found.texts[int(first)] if size else "")
    if nbest_out:
        nbest.write(nbest_out, found.take(np.flatnonzero(sizes)))
    click.echo(f"{int((sizes > 0).sum())} of {len(items)} targets can be reached", err=True)


def _lattices(decoder: Decoder, items: Iterable[tuple[str, Constraints | None]], path: str) -> None:
    with _Output(path) as out:
        for number, (line, constraints) in enumerate(items):
            lattice = decoder.lattice(line, features=True, constraints=constraints)
            if ".jsonl" in Path(path).suffixes:
                out.line(msgspec.json.encode({"id": number, **lattice.to_dict()}).decode())
            else:
                out.line(lattice.to_openfst())


def _show(derivation: Derivation, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "text": derivation.text,
                "score": derivation.score,
                "phrases": [
                    {
                        "source": p.source,
                        "target": p.target,
                        "span": [p.start, p.end],
                        "origin": p.origin,
                        "features": dict(p.features),
                    }
                    for p in derivation.phrases
                ],
            }
        )
        return
    click.echo(f"{derivation.text}   (score {derivation.score:.4f})")
    names = list(dict.fromkeys(name for phrase in derivation.phrases for name in phrase.features))
    rows = []
    for name in names:
        values = [phrase.features.get(name, 0.0) for phrase in derivation.phrases]
        weight = derivation.weights.get(name, 0.0)
        rows.append([name, f"{weight:.4g}", *(f"{weight * v:.3f}" for v in values), f"{weight * sum(values):.3f}"])
    heads = [f"{p.source} = {p.target or '(nothing)'}" for p in derivation.phrases]
    print_table(["feature", "weight", *heads, "sum"], rows)


@click.group()
def model() -> None:
    """Model folders: what is in them, whether they are whole, and Moses' models as such."""


@model.command(cls=Command)
@click.argument("folder")
@as_json
def info(folder: str, as_json: bool) -> None:
    """Show what a model has: features, weights, files, and how it was made."""
    opened = Model.open(folder)
    if as_json:
        print_json(
            {
                "signature": opened.signature,
                "features": [{"kind": p.kind, "name": p.name, **p.options} for p in opened.parts],
                "weights": opened.weights.to_dict(),
                "files": {name: size for name, (size, _) in opened.files.items()},
                "search": dict(opened.search),
                "text": dict(opened.text),
                "made": dict(opened.made),
            }
        )
        return
    click.echo(f"{folder}: signature {opened.signature}")
    print_table(["kind", "name"], [[part.kind, part.name] for part in opened.parts])
    print_table(["file", "bytes"], [[name, f"{size:,}"] for name, (size, _) in opened.files.items()])
    print_table(["feature", "weight"], [[name, f"{value:.4g}"] for name, value in opened.weights.to_dict().items()])


@model.command(cls=Command)
@click.argument("folder")
def verify(folder: str) -> None:
    """Check every file of a model against the hash that it was made with."""
    opened = Model.open(folder)
    opened.verify()
    click.echo(f"{folder}: {len(opened.files)} files are as they were made, signature {opened.signature}")


@model.command("import", cls=Command)
@click.option("--moses-ini", required=True, metavar="FILE", help="The Moses system.")
@click.option("--out", required=True, metavar="FOLDER", help="The model to write.")
def import_moses(moses_ini: str, out: str) -> None:
    """Turn a Moses system into a model folder: tables, language models, weights and settings."""
    made = convert(moses_ini, out)
    click.echo(f"{out}: {len(made.parts)} features, signature {made.signature}")
