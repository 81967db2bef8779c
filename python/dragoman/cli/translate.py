"""`dragoman translate` and `dragoman model`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman import nbest, weights
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json, print_table
from dragoman.config import build
from dragoman.decode import Decoder, Demands, Derivation, mbr
from dragoman.errors import InputError
from dragoman.files import read_text
from dragoman.metrics import METRICS
from dragoman.model import Model
from dragoman.moses import cached, convert
from dragoman.types import Candidates

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
        click.option("--stack", type=click.IntRange(min=1), help="Hypotheses that each stack keeps."),
        click.option(
            "--pops", type=click.IntRange(min=0), help="Hypotheses that each stack takes, best first; 0 takes all."
        ),
        click.option("--threshold", type=float, help="Drop hypotheses worse than the best by more than this."),
        click.option(
            "--distortion", type=click.IntRange(min=-1), help="Words a jump may skip; 0 monotone, -1 no limit."
        ),
        click.option(
            "--options", type=click.IntRange(min=0), help="Translations kept for a source phrase; 0 keeps all."
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
@click.option("--input", "source", default="-", metavar="FILE", help="Text, one sentence a line.  [default: stdin]")
@click.option("--output", default="-", metavar="FILE", help="Where translations go.  [default: stdout]")
@click.option(
    "--jsonl", is_flag=True, help='Input lines are {"text": ..., "given": [[0, 1, "a"]], "walls": [], "zones": []}.'
)
@click.option("--threads", type=click.IntRange(min=1), help="Default: all cores.")
@_search_options
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
    source: str,
    output: str,
    jsonl: bool,
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

    Input is tokenised as the model's training text was, words between blanks. An empty line gives an empty line.
    """
    decoder = _decoder(folder, moses_ini, (weights_file, features), threads, search)
    lines = _jsonl(source) if jsonl else _lines(source)
    if explain:
        for item in lines:
            derivation = decoder.explain(item if isinstance(item, str) else item[0])
            _show(derivation, as_json)
        return
    if lattice_out is not None:
        _lattices(decoder, lines, lattice_out)
        return
    if target is not None:
        _force(decoder, [item if isinstance(item, str) else item[0] for item in lines], target, output, nbest_out)
        return
    wanted = max(size, 2) if mbr_metric else size
    metric = build("metric", METRICS, mbr_metric) if mbr_metric else None
    listed = nbest_out is not None
    results = decoder.stream(lines, wanted, distinct=not all_derivations, features=listed)
    with ExitStack() as stack:
        out = stack.enter_context(_Output(output))
        aligned = stack.enter_context(_Output(align_out)) if align_out else None
        lists = stack.enter_context(nbest.Writer(nbest_out)) if nbest_out else None
        tick = stack.enter_context(counter("sentences"))
        for number, found in enumerate(results):
            best = 0 if metric is None or not found.size else int(mbr(found, metric, mbr_scale)[0])
            out.line(found.texts[best] if found.size else "")
            if aligned and found.alignments is not None:
                aligned.line(found.alignments[best] if found.size else "")
            if lists:
                lists.write(_renumbered(found, number))
            tick(1)


def _decoder(
    folder: str | None,
    moses_ini: str | None,
    what: tuple[str | None, str | None],
    threads: int | None,
    search: dict[str, Any],
) -> Decoder:
    if (folder is None) == (moses_ini is None):
        raise click.UsageError("expected either --model or --moses-ini")
    opened = cached(moses_ini) if moses_ini else Model.open(str(folder))
    weights_file, features = what
    loaded = weights.load(weights_file) if weights_file else None
    decoder = Decoder(opened, weights=loaded, features=features, threads=threads)
    given = {name: value for name, value in search.items() if value is not None}
    decoder.search = replace(decoder.search, **given)
    return decoder


def _renumbered(found: Candidates, number: int) -> Candidates:
    return replace(found, ids=type(found.ids)([str(number)]))


def _lines(source: str) -> Iterator[str]:
    """Lines as they arrive, so that a person at a terminal sees each translation at once."""
    if source != "-":
        yield from read_text(Path(source))
        return
    stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline="\n")
    number = 1
    try:
        for number, line in enumerate(stream, start=1):  # noqa: B007
            yield line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"-:{number + 1}: expected UTF-8 text, found {error.reason}", "-", number + 1) from None


def _jsonl(source: str) -> Iterator[str | tuple[str, Demands]]:
    decode = msgspec.json.Decoder(_Line)
    for number, line in enumerate(_lines(source), start=1):
        try:
            item = decode.decode(line)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise InputError(f"{source}:{number}: expected a sentence as JSON, but {error}", source, number) from None
        given = [(start, end, text, 0.0) for start, end, text in item.given]
        yield item.text, Demands(given, item.exclusive, item.walls, item.zones)


class _Output:
    """Lines to a file that appears when it is whole, or to standard output at once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kept: list[str] = []

    def __enter__(self) -> _Output:
        return self

    def line(self, text: str) -> None:
        """Writes a line."""
        if self.path == "-":
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        else:
            self.kept.append(text)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.path != "-":
            from dragoman.files import write_text  # noqa: PLC0415

            write_text(Path(self.path), self.kept)


def _force(decoder: Decoder, lines: Sequence[str], target: str, output: str, nbest_out: str | None) -> None:
    found = decoder.force(lines, read_text(Path(target)))
    sizes = found.starts[1:] - found.starts[:-1]
    with _Output(output) as out:
        for first, size in zip(found.starts, sizes, strict=False):
            out.line(found.texts[int(first)] if size else "")
    if nbest_out:
        nbest.write(nbest_out, found)
    click.echo(f"{int((sizes > 0).sum())} of {len(lines)} targets can be reached", err=True)


def _lattices(decoder: Decoder, lines: Iterable[str | tuple[str, Demands]], path: str) -> None:
    with _Output(path) as out:
        for number, item in enumerate(lines):
            line, demands = (item, None) if isinstance(item, str) else item
            lattice = decoder.lattice(line, features=True, demands=demands)
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
