"""`dragoman translate`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
    glossary_option,
    glossary_weight_option,
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
from dragoman.cli.sentences import Tally, given_lines, paired, requests
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
from dragoman.request import Asker, Request
from dragoman.reranking import mbr
from dragoman.translator import Explanation, Translator, load
from dragoman.types import Candidates, Metric, Texts

__all__ = ["translate"]

T = TypeVar("T")


@click.command(cls=Command, was={"--own": "--features FILE.py:NAME", "--size": "--nbest"})
@model_option("A model that `dragoman train`, `dragoman tune` or `dragoman model pack` made.", metavar="FOLDER|FILE")
@trust_option
@moses_ini_option("A Moses system instead; it is converted once and kept in a cache.")
@weights_option("Other weights than the model's own.")
@features_option()
@click.option("--input", "source", default="-", metavar="FILE", help="Text, one sentence a line.  [default: stdin]")
@click.option("--output", default="-", metavar="FILE", help="Where translations go.  [default: stdout]")
@click.option(
    "--jsonl",
    is_flag=True,
    help='Input lines are {"text": ..., "given": [[0, 4, "a"]], "walls": [], "zones": []}; places count characters, '
    "with --tokenized words.",
)
@tokenized_option("Text is tokenised and cased, on both sides, as the model has it.")
@glossary_option("Terms and how they are translated; `none` leaves the model's own out.")
@glossary_weight_option("inf: terms are forced; for a model that was tuned with a glossary its own")
@click.option(
    "--glossary-report",
    metavar="FILE",
    help="Where a line for each term goes: at how many places it was, and was used.",
)
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
    glossary: str | None,
    glossary_weight: float | None,
    glossary_report: str | None,
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
    dragoman translate --model model --glossary terms.tsv < in.de > out.en

    Plain text is tokenised and cased as the model's training text was, and its translation comes back as plain text.
    N-best lists, alignments and forests have the words of the model; so has --target, and both sides with --tokenized.
    An empty line gives an empty line. --json gives an object a line, with alignments in words and in characters.

    With --input and --output, what was interrupted goes on after its last line when the same command is given again
    (not with --nbest-out).
    """
    modes = {"--explain": explain, "--forest-out": forest_out, "--target": target}
    _check_combination(size, nbest_out, mbr_metric, modes)
    by_sampling = mcmc.asked(search_name, plan, sampling, {**modes, "--unknown": unknown})
    lists = {"--nbest": size > 1, "--mbr": mbr_metric, "--align-out": align_out, "--unknown": unknown}
    _check_json(as_json and not explain, {**modes, **lists, "--search mcmc": by_sampling})
    if (model is None) == (moses_ini is None):
        raise click.UsageError("expected either --model or --moses-ini")
    loaded = load(
        model or str(moses_ini), weights=weights, features=features, glossary=glossary,
        glossary_weight=glossary_weight, trust=trust, note=messages.note, **threaded, **search,
    )  # fmt: skip
    decoder, plain = loaded.decoder, not (tokenized or target)
    asker = loaded.asker(not plain)
    tally = _tally(asker, glossary_report)
    if explain or as_json:
        _tell(loaded, given_lines(source, jsonl), plain, output, explain, as_json, tally)
        _close(tally, glossary_report)
        return
    kept, done = None, 0
    if not (by_sampling or forest_out or target or nbest_out) and _plain_files(source, output):
        options = [plain, jsonl, size, all_derivations, mbr_metric, mbr_scale, bool(unknown), bool(align_out)]
        code = [file_hash(path) for path in files_of(features or "")]
        kept = Unfinished(Path(output), _about(loaded), [*options, *code, file_hash(source)])
        done = kept.begin()
        if done:
            messages.note(f"going on after line {done:,} of {source}")
    asked = requests(asker, source, islice(given_lines(source, jsonl), done, None), done + 1)
    if forest_out is not None:
        _forests(decoder, asked, forest_out)
        return
    if target is not None:
        _force(decoder, list(asked), target, output, nbest_out)
        return
    metric = metric_from(mbr_metric) if mbr_metric else None
    writer = _Writer(
        None if metric is None else partial(_least_risk, metric, 1.0 if mbr_scale is None else mbr_scale),
        decoder.text if plain else None, _Unknown(unknown, decoder.text if plain else None) if unknown else None, asker,
        tally,
    )  # fmt: skip
    listing: dict[str, Any] = {
        "features": nbest_out is not None,
        "phrases": writer.looks,
        "distinct": not all_derivations,
    }
    if by_sampling:
        found = paired(
            asked, lambda items: mcmc.stream(decoder, items, plan, sampling, size, metric is not None, **listing)
        )
    else:
        found = paired(asked, lambda items: decoder.stream(items, max(size, 2) if metric else size, **listing))
    if kept is not None:
        writer.keep(found, kept, output, align_out)
    else:
        writer.write(found, output, align_out, nbest_out)
    _close(tally, glossary_report)


def _close(tally: Tally | None, report: str | None) -> None:
    if tally is not None:
        tally.close(report)


def _tally(asker: Asker, report: str | None) -> Tally | None:
    if asker.matcher is None:
        if report is not None:
            raise click.UsageError("--glossary-report needs a --glossary")
        return None
    return Tally(asker.matcher.glossary)


def _check_json(wanted: bool, others: dict[str, Any]) -> None:
    given = next((name for name, value in others.items() if value), None)
    if wanted and given is not None:
        raise click.UsageError(f"--json gives an object for each best translation: it does not go with {given}")


def _tell(
    loaded: Translator,
    items: Iterable[tuple[str, Constraints | None]],
    plain: bool,
    output: str,
    explain: bool,
    as_json: bool,
    tally: Tally | None,
) -> None:
    """Explanations, or an object for each line."""
    if explain:
        for line, constraints in items:
            explanation = loaded.explain(line, tokenized=not plain, constraints=constraints)
            _show(explanation, as_json)
            if tally:
                tally.add(explanation.translation.glossary)
        return
    asked = (line if constraints is None else (line, constraints) for line, constraints in items)
    with _Output(output) as out:
        for translation in loaded.translate(asked, tokenized=not plain):
            out.line(msgspec.json.encode(translation.to_dict()).decode())
            if tally:
                tally.add(translation.glossary)


def _plain_files(source: str, output: str) -> bool:
    """Whether text goes from a file to a file, not through a pipe or a device."""
    return Path(source).is_file() and (Path(output).is_file() or (output != "-" and not Path(output).exists()))


def _about(loaded: Translator) -> list[str]:
    """What translations depend on besides options of the command."""
    decoder, terms = loaded.decoder, loaded.glossary
    searched = [repr(decoder.search), str(loaded.markup)]
    return [decoder.model.state, weights_hash(decoder.weights), *searched, "" if terms is None else terms.digest]


def _between(items: Sequence[T], span: str) -> Sequence[T]:
    """Those of a span such as 0-2."""
    first, _, last = span.partition("-")
    return items[int(first) : int(last)]


class _Unknown:
    """Counts words that no table knows, as they are written in the text."""

    def __init__(self, path: str, text: Preparation | None) -> None:
        self.path, self._text = path, text
        self.counts: Counter[str] = Counter()

    def add(self, request: Request, found: Candidates) -> None:
        """The unknown words of a sentence's best derivation."""
        self.counts.update(self.words(request, found))

    def words(self, request: Request, found: Candidates) -> list[str]:
        """The words of a sentence that no table knows; of plain text, those that people wrote."""
        if found.extra is None or not found.size:
            return []
        spans = [span.rstrip("!").split(":") for span in found.extra[0].split() if span.endswith("!")]
        if self._text is None:
            return [word for _, span in spans for word in _between(found.texts[0].split(), span)]
        written, owners = self._text.origins(request.text)
        # A word that was cut counts once.
        strange = {owner for span, _ in spans for owner in _between(owners, span)}
        return [written[owner] for owner in sorted(strange)]

    def write(self) -> None:
        """The list, the most frequent first."""
        write_text(self.path, [f"{word}\t{count}" for word, count in self.counts.most_common()])
        messages.note(f"{len(self.counts)} unknown words in {self.path}")


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


@dataclass(frozen=True)
class _Writer:
    """What becomes of the translations of each sentence."""

    choose: Callable[[Candidates], int] | None
    """Which one to take, if it is not the first."""
    text: Preparation | None
    """What makes plain text of words, if that is wanted."""
    strange: _Unknown | None
    asker: Asker
    tally: Tally | None

    @property
    def looks(self) -> bool:
        """Whether phrases are looked at."""
        return self.strange is not None or self.tally is not None

    def _best(self, found: Candidates) -> tuple[int, str]:
        best = self.choose(found) if self.choose else 0
        return best, found.texts[best] if self.text is None else self.text.after([found.texts[best]])[0]

    def _terms(self, request: Request, found: Candidates, row: int) -> list[tuple[int, str]]:
        """The terms of the glossary in a sentence, by number, and why they were not used."""
        if self.tally is None or found.extra is None:
            return []
        return self.tally.numbered(self.asker.uses(request, found.texts[row].split(), found.extra[row]))

    def keep(
        self, results: Iterable[tuple[Request, Candidates]], kept: Unfinished, output: str, align_out: str | None
    ) -> None:
        """Keeps each result as it comes, so that a command that is interrupted can go on."""
        messages.resuming = "the same command goes on after the last line that was translated"
        with kept:
            with counter("sentences") as tick:
                for request, found in results:
                    best, text = self._best(found)
                    links = found.alignments[best] if found.alignments is not None else ""
                    strange = self.strange.words(request, found) if self.strange else []
                    kept.add(Kept(text, links, strange, self._terms(request, found, best)))
                    tick(1)
            words, terms = kept.finish(output, align_out)
        if self.strange:
            self.strange.counts.update(words)
            self.strange.write()
        if self.tally:
            self.tally.count(terms)

    def write(
        self,
        results: Iterable[tuple[Request, Candidates]],
        output: str,
        align_out: str | None,
        nbest_out: str | None,
    ) -> None:
        """Writes each result as it comes."""
        with ExitStack() as stack:
            out = stack.enter_context(_Output(output))
            aligned = stack.enter_context(_Output(align_out)) if align_out else None
            lists = stack.enter_context(nbest.Writer(nbest_out)) if nbest_out else None
            tick = stack.enter_context(counter("sentences"))
            for request, found in results:
                best, text = self._best(found)
                out.line(text)
                if aligned and found.alignments is not None:
                    aligned.line(found.alignments[best])
                if lists:
                    lists.write(replace(found, extra=None) if self.looks else found)
                if self.strange:
                    self.strange.add(request, found)
                if self.tally:
                    self.tally.count(self._terms(request, found, best))
                tick(1)
        if self.strange:
            self.strange.write()


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


def _force(decoder: Decoder, items: Sequence[Request], target: str, output: str, nbest_out: str | None) -> None:
    targets = read_text(Path(target))
    if len(targets) != len(items):
        raise InputError(f"{target}: expected {len(items)} lines, one for each sentence, found {len(targets)}", target)
    wishes = [request.constraints or Constraints() for request in items]
    found = decoder.force([request.ready for request in items], targets, constraints=wishes)
    sizes = found.starts[1:] - found.starts[:-1]
    with _Output(output) as out:
        for first, size in zip(found.starts, sizes, strict=False):
            out.line(found.texts[int(first)] if size else "")
    if nbest_out:
        nbest.write(nbest_out, found.take(np.flatnonzero(sizes)))
    messages.note(f"{int((sizes > 0).sum())} of {len(items)} targets can be reached")


def _forests(decoder: Decoder, items: Iterable[Request], path: str) -> None:
    suffixes = Path(path).suffixes
    with _Output(path) as out:
        for number, request in enumerate(items):
            found = decoder.forest(request.ready, features=True, constraints=request.constraints).columns
            forest = Forest(replace(found, ids=Texts([str(number)])))
            if ".jsonl" in suffixes:
                out.line(forest.to_json())
            else:
                out.line(forest.to_cdec(request.ready) if ".cdec" in suffixes else forest.to_openfst())


def _show(explanation: Explanation, as_json: bool) -> None:
    if as_json:
        print_json(explanation.to_dict())
    else:
        click.echo(f"{explanation}\n")
