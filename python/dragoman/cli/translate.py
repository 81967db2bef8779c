"""`dragoman translate`."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import click
import msgspec
import numpy as np

from dragoman import nbest
from dragoman.cli import mcmc
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import (
    features_option,
    mbr_option,
    mbr_scale_option,
    model_option,
    moses_ini_option,
    threads_option,
    tokenized_option,
    trust_option,
    weights_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.progress import counter
from dragoman.cli.show import print_json
from dragoman.cli.unfinished import Kept, Unfinished
from dragoman.decoder import Constraints, Decoder, Forest, Search
from dragoman.decoder.sampling import Sampling
from dragoman.errors import InputError
from dragoman.features import files_of
from dragoman.files import Lines, file_hash, read_text, write_text
from dragoman.metrics import metric_from
from dragoman.model import weights_hash
from dragoman.preprocess import Preparation
from dragoman.reranking import mbr
from dragoman.translator import Explanation, load
from dragoman.types import Candidates, Metric, Texts

__all__ = ["translate"]

T = TypeVar("T")


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of JSONL input."""

    text: str
    given: list[tuple[int, int, str]] = []
    exclusive: bool = True
    walls: list[int] = []
    zones: list[tuple[int, int]] = []


@click.command(cls=Command, was={"--own": "--features FILE.py:NAME", "--size": "--nbest"})
@model_option("A model that `dragoman train`, `dragoman tune` or `dragoman model pack` made.", metavar="FOLDER|FILE")
@trust_option
@moses_ini_option("A Moses system instead; it is converted once and kept in a cache.")
@weights_option("Other weights than the model's own.")
@features_option()
@click.option("--input", "source", default="-", metavar="FILE", help="Text, one sentence a line.  [default: stdin]")
@click.option("--output", default="-", metavar="FILE", help="Where translations go.  [default: stdout]")
@click.option(
    "--jsonl", is_flag=True, help='Input lines are {"text": ..., "given": [[0, 1, "a"]], "walls": [], "zones": []}.'
)
@tokenized_option("Text is tokenised and cased, on both sides, as the model has it.")
@threads_option
@click.option(
    "--nbest",
    "size",
    type=click.IntRange(1, 100_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Translations of each sentence.",
)
@click.option("--nbest-out", metavar="FILE", help="Where the n-best list goes (Moses' form, or .jsonl).")
@click.option("--all-derivations", is_flag=True, help="List texts as often as they have derivations.")
@click.option("--align-out", metavar="FILE", help="Where word alignments go, as 0-0 1-2.")
@click.option(
    "--forest-out",
    metavar="FILE",
    help="Where forests go: JSON lines (.jsonl), cdec's form (.cdec), or lattices as OpenFST text.",
)
@click.option("--unknown", metavar="FILE", help="Where words go that no table knows, with their counts.")
@click.option(
    "--target", metavar="FILE", help="Find the best derivation of these targets; an empty line where there is none."
)
@mbr_option
@mbr_scale_option(usual="1")
@click.option("--explain", is_flag=True, help="Show the derivation of each sentence, what features add, alternatives.")
@takes(Search, into="search", section="Search", without=["memory"])
@click.option(
    "--search",
    "search_name",
    type=click.Choice(["beam", "mcmc"]),
    default="beam",
    show_default=True,
    help="How to search: beam, or sampling, annealed to the best derivation, or with --mbr at one temperature.",
)
@takes(Sampling, into="plan", section="Sampling, with --search mcmc", only=mcmc.PLAN)
@click.option("--documents", metavar="FILE", help="With mcmc: the name of each line's document, for --text-feature.")
@click.option(
    "--text-feature",
    "text_features",
    multiple=True,
    metavar="FILE.py:NAME=WEIGHT",
    help="With mcmc: a feature of whole texts, or module:NAME=WEIGHT.  [default: none]",
)
@as_json
def translate(
    model: str | None,
    trust: bool,
    moses_ini: str | None,
    weights: str | None,
    features: str | None,
    source: str,
    output: str,
    jsonl: bool,
    tokenized: bool,
    threaded: dict[str, Any],
    size: int,
    nbest_out: str | None,
    all_derivations: bool,
    align_out: str | None,
    forest_out: str | None,
    unknown: str | None,
    target: str | None,
    mbr_metric: str | None,
    mbr_scale: float | None,
    explain: bool,
    search: dict[str, Any],
    search_name: str,
    plan: dict[str, Any],
    as_json: bool,
    **sampling: Any,
) -> None:
    """Translate text.

    \b
    dragoman translate --model model < in.de > out.en
    dragoman translate --model model --input in.de --nbest 100 --nbest-out out.nbest.gz
    dragoman translate --moses-ini moses.ini --input in.de --explain
    dragoman translate --model model --input in.de --search mcmc --mbr bleu

    Plain text is tokenised and cased as the model's training text was, and its translation comes back as plain text.
    N-best lists, alignments and forests have the words of the model; so have --jsonl, --markup and --target, which
    count words, and both sides with --tokenized. An empty line gives an empty line.

    With --input and --output, what was interrupted goes on after its last line when the same command is given again
    (not with --nbest-out).
    """
    modes = {"--explain": explain, "--forest-out": forest_out, "--target": target}
    _check_combination(size, nbest_out, mbr_metric, modes)
    if as_json and not explain:
        raise click.UsageError("--json shows explanations: it goes with --explain")
    by_sampling = mcmc.asked(search_name, plan, sampling, {**modes, "--jsonl": jsonl, "--unknown": unknown})
    if (model is None) == (moses_ini is None):
        raise click.UsageError("expected either --model or --moses-ini")
    loaded = load(
        model or str(moses_ini), weights=weights, features=features, trust=trust, note=messages.note, **threaded,
        **search,
    )  # fmt: skip
    decoder = loaded.decoder
    plain = not (tokenized or jsonl or target or decoder.search.markup)
    if explain:
        for line, constraints in _jsonl(source) if jsonl else ((line, None) for line in _lines(source)):
            _show(loaded.explain(line, tokenized=not plain, constraints=constraints), as_json)
        return
    metric = metric_from(mbr_metric) if mbr_metric else None
    kept, done = None, 0
    if not (by_sampling or forest_out or target or nbest_out) and _plain_files(source, output):
        options = [plain, jsonl, size, all_derivations, mbr_metric, mbr_scale, bool(unknown), bool(align_out)]
        code = [file_hash(path) for path in files_of(features or "")]
        kept = Unfinished(Path(output), _about(decoder), [*options, *code, file_hash(source)])
        done = kept.begin()
    if done:
        messages.note(f"going on after line {done:,} of {source}")
    strange = _Unknown(unknown, decoder.text if plain else None) if unknown else None
    given = islice(_lines(source), done, None)
    lines = _prepared(decoder, strange.seen(given) if strange else given) if plain else given
    items = islice(_jsonl(source), done, None) if jsonl else ((line, None) for line in lines)
    if forest_out is not None:
        _forests(decoder, items, forest_out)
    elif target is not None:
        _force(decoder, list(items), target, output, nbest_out)
    else:
        risky = bool(metric)
        wanted = (
            mcmc.stream(decoder, lines, plan, sampling, size, risky, nbest_out is not None, not all_derivations)
            if by_sampling
            else decoder.stream(
                (line if constraints is None else (line, constraints) for line, constraints in items),
                max(size, 2) if metric else size,
                distinct=not all_derivations,
                features=nbest_out is not None,
                phrases=unknown is not None,
            )
        )
        choose = None if metric is None else partial(_least_risk, metric, 1.0 if mbr_scale is None else mbr_scale)
        finish = (lambda text: decoder.text.after([text])[0]) if plain else None
        if kept is not None:
            with kept:
                _keep(wanted, kept, choose, finish, strange)
                words = kept.finish(output, align_out)
            if strange:
                strange.counts.update(words)
                strange.write()
        else:
            _write(wanted, output, align_out, nbest_out, choose, finish, strange)


def _plain_files(source: str, output: str) -> bool:
    """Whether text goes from a file to a file, not through a pipe or a device."""
    return Path(source).is_file() and (Path(output).is_file() or (output != "-" and not Path(output).exists()))


def _about(decoder: Decoder) -> list[str]:
    """What translations depend on besides options of the command."""
    return [decoder.model.state, weights_hash(decoder.weights), repr(decoder.search)]


def _between(items: Sequence[T], span: str) -> Sequence[T]:
    """Those of a span such as 0-2."""
    first, _, last = span.partition("-")
    return items[int(first) : int(last)]


class _Unknown:
    """Counts words that no table knows, as they are written in the text."""

    def __init__(self, path: str, text: Preparation | None) -> None:
        self.path, self._text = path, text
        self.counts: Counter[str] = Counter()
        self._lines: deque[str] = deque()

    def seen(self, lines: Iterable[str]) -> Iterator[str]:
        """Plain lines on their way to the decoder."""
        for line in lines:
            self._lines.append(line)
            yield line

    def add(self, found: Candidates) -> None:
        """The unknown words of a sentence's best derivation."""
        self.counts.update(self.words(found))

    def words(self, found: Candidates) -> list[str]:
        """The words of the next sentence that no table knows; of plain text, those that people wrote."""
        line = self._lines.popleft() if self._lines else None
        if found.extra is None or not found.size:
            return []
        spans = [span.rstrip("!").split(":") for span in found.extra[0].split() if span.endswith("!")]
        if line is None or self._text is None:
            return [word for _, span in spans for word in _between(found.texts[0].split(), span)]
        written, owners = self._text.origins(line)
        # A word that was cut counts once.
        strange = {owner for span, _ in spans for owner in _between(owners, span)}
        return [written[owner] for owner in sorted(strange)]

    def write(self) -> None:
        """The list, the most frequent first."""
        write_text(self.path, [f"{word}\t{count}" for word, count in self.counts.most_common()])
        messages.note(f"{len(self.counts)} unknown words in {self.path}")


def _keep(
    results: Iterable[Candidates],
    kept: Unfinished,
    choose: Callable[[Candidates], int] | None,
    finish: Callable[[str], str] | None,
    strange: _Unknown | None,
) -> None:
    """Keeps each result as it comes, so that a command that is interrupted can go on."""
    messages.resuming = "the same command goes on after the last line that was translated"
    with counter("sentences") as tick:
        for found in results:
            best = choose(found) if choose else 0
            text = finish(found.texts[best]) if finish else found.texts[best]
            links = found.alignments[best] if found.alignments is not None else ""
            kept.add(Kept(text, links, strange.words(found) if strange else []))
            tick(1)


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
    strange: _Unknown | None,
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
                lists.write(replace(found, extra=None) if strange else found)
            if strange:
                strange.add(found)
            tick(1)
    if strange:
        strange.write()


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
    messages.note(f"{int((sizes > 0).sum())} of {len(items)} targets can be reached")


def _forests(decoder: Decoder, items: Iterable[tuple[str, Constraints | None]], path: str) -> None:
    suffixes = Path(path).suffixes
    with _Output(path) as out:
        for number, (line, constraints) in enumerate(items):
            found = decoder.forest(line, features=True, constraints=constraints).columns
            forest = Forest(replace(found, ids=Texts([str(number)])))
            if ".jsonl" in suffixes:
                out.line(forest.to_json())
            else:
                out.line(forest.to_cdec(line) if ".cdec" in suffixes else forest.to_openfst())


def _show(explanation: Explanation, as_json: bool) -> None:
    if as_json:
        print_json(explanation.to_dict())
    else:
        click.echo(f"{explanation}\n")
