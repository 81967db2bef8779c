"""`dragoman translate`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
import numpy as np

from dragoman import nbest
from dragoman.cli import mcmc
from dragoman.cli.arguments import Command, as_json
from dragoman.cli.declared import takes
from dragoman.cli.file_options import (
    engine_options,
    features_option,
    glossary_option,
    glossary_weight_option,
    mbr_option,
    mbr_scale_option,
    model_option,
    moses_ini_option,
    text_feature_option,
    tokenized_option,
    trust_option,
    weights_option,
)
from dragoman.cli.messages import messages
from dragoman.cli.sentences import Tally, given_lines, lines_of, paired, requests
from dragoman.cli.shards import Setup, translate_shards
from dragoman.cli.show import print_json
from dragoman.cli.unfinished import Unfinished
from dragoman.cli.writing import Output, Writer
from dragoman.decoder import Constraints, Decoder, Forest, Search
from dragoman.decoder.sampling import Sampling
from dragoman.document import Document, spaced
from dragoman.engine import engine_of
from dragoman.errors import InputError
from dragoman.features import files_of
from dragoman.files import file_hash, read_text
from dragoman.model import weights_hash
from dragoman.options import made
from dragoman.request import Asker, Request
from dragoman.splitting import Splitting, make
from dragoman.translator import Explanation, Translator, load
from dragoman.types import Texts

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
@click.option(
    "--split",
    "split",
    is_flag=True,
    help="Find sentences in lines of running text, and translate each by itself; lines stay lines.",
)
@takes(Splitting, into="splitting")
@tokenized_option("Text is tokenised and cased, on both sides, as the model has it.")
@glossary_option("Terms and how they are translated; `none` leaves the model's own out.")
@glossary_weight_option("inf: terms are forced; for a model that was tuned with a glossary its own")
@click.option(
    "--glossary-report",
    metavar="FILE",
    help="Where a line for each term goes: at how many places it was, and was used.",
)
@engine_options
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
@text_feature_option(
    "WEIGHT",
    "With mcmc: a feature of whole texts, or module:NAME=WEIGHT; without =WEIGHT the one that the model was tuned "
    "to.  [default: none]",
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
    split: bool,
    splitting: dict[str, Any],
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
    An empty line gives an empty line. Lines of running text want --split. --json gives an object a line, with
    alignments in words and in characters.

    With --input and --output, what was interrupted goes on after its last line when the same command is given again
    (not with --nbest-out).
    """
    engine_name = threaded.pop("engine", "threads")
    modes = {"--explain": explain, "--forest-out": forest_out, "--target": target}
    _check_combination(size, nbest_out, mbr_metric, modes)
    by_sampling = mcmc.asked(search_name, plan, sampling, {**modes, "--unknown": unknown})
    lists = {"--nbest": size > 1, "--mbr": mbr_metric, "--align-out": align_out, "--unknown": unknown}
    _check_json(as_json and not explain, {**modes, **lists, "--search mcmc": by_sampling})
    others = {"--jsonl": jsonl, "--tokenized": tokenized, "--markup": search.get("markup"), "--json": as_json}
    _check_split(split, splitting, {**modes, **lists, **others, "--search mcmc": by_sampling, "--nbest-out": nbest_out})
    if (model is None) == (moses_ini is None):
        raise click.UsageError("expected either --model or --moses-ini")
    loaded = load(
        model or str(moses_ini), weights=weights, features=features, glossary=glossary,
        glossary_weight=glossary_weight, trust=trust, note=messages.note, **threaded, **search,
    )  # fmt: skip
    loaded.warn, decoder, plain = messages.warning, loaded.decoder, not (tokenized or target)
    asker = loaded.asker(not plain)
    tally = _tally(asker, glossary_report)
    others = {**modes, "--search mcmc": by_sampling, "--nbest-out": nbest_out, "--json": as_json, "--split": split}
    _check_engine(engine_name, others, _plain_files(source, output))
    if split or explain or as_json:
        if split:
            _running(loaded, lines_of(source), made(Splitting, splitting).splitter, output, tally)
        else:
            _tell(loaded, given_lines(source, jsonl), plain, output, explain, as_json, tally)
        return _close(tally, glossary_report)
    kept, done = None, 0
    if not (by_sampling or forest_out or target or nbest_out) and _plain_files(source, output):
        options = [plain, jsonl, size, all_derivations, mbr_metric, mbr_scale, bool(unknown), bool(align_out)]
        kept, done = _unfinished(loaded, source, output, [*options, *map(file_hash, files_of(features or ""))])
    if engine_name != "threads":
        assert kept is not None  # or it was refused
        setup = Setup(
            decoder, decoder.glossary, loaded.markup, plain, size, all_derivations, mbr_metric, mbr_scale,
            bool(unknown), tally is not None, source,
        )  # fmt: skip
        engine, writer = engine_of(threaded.get("threads"), engine_name), setup.writer(asker, unknown, tally)
        with kept:
            translate_shards(engine, setup, _heeded(loaded, asker, given_lines(source, jsonl)), done, kept)
            writer.finish(kept, output, align_out)
        return _close(tally, glossary_report)
    asked = requests(asker, source, islice(_heeded(loaded, asker, given_lines(source, jsonl)), done, None), done + 1)
    if forest_out is not None:
        return _forests(decoder, asked, forest_out)
    if target is not None:
        return _force(decoder, list(asked), target, output, nbest_out)
    writer = Writer.of(decoder, asker, plain, mbr_metric, mbr_scale, unknown, tally)
    listing: dict[str, Any] = {
        "features": nbest_out is not None,
        "phrases": writer.looks,
        "distinct": not all_derivations,
    }
    if by_sampling:
        found = paired(
            asked, lambda items: mcmc.stream(decoder, items, plan, sampling, size, mbr_metric is not None, **listing)
        )
    else:
        found = paired(asked, lambda items: decoder.stream(items, max(size, 2) if mbr_metric else size, **listing))
    if kept is not None:
        writer.keep(found, kept, output, align_out)
    else:
        writer.write(found, output, align_out, nbest_out)
    return _close(tally, glossary_report)


def _check_engine(name: str, others: dict[str, Any], files: bool) -> None:
    """Refuses what an engine with other processes does not do."""
    if name == "threads":
        return
    given = next((option for option, value in others.items() if value), None)
    if given is not None:
        raise click.UsageError(f"--engine {name} gives best translations: it does not go with {given}")
    if not files:
        raise click.UsageError(
            f"--engine {name} translates a file, which it can take up again: name --input and --output"
        )


def _heeded(
    loaded: Translator, asker: Asker, items: Iterable[tuple[str, Constraints | None]]
) -> Iterator[tuple[str, Constraints | None]]:
    """The lines; the first ones are looked at for signs that the model wants them prepared."""
    for line, constraints in items:
        if not (asker.tokenized or asker.markup):
            loaded.heed(line)
        yield line, constraints


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


def _check_split(split: bool, splitting: dict[str, Any], others: dict[str, Any]) -> None:
    if splitting and not split:
        raise click.UsageError("--splitter needs --split")
    given = next((name for name, value in others.items() if value), None)
    if split and given is not None:
        raise click.UsageError(f"--split is for running text, and gives text: it does not go with {given}")


def _running(loaded: Translator, lines: Iterable[str], splitter: str, output: str, tally: Tally | None) -> None:
    """Lines of running text: each sentence is translated by itself, and a line stays a line."""
    source, target = loaded.languages
    finds, apart = make(splitter, source), spaced(target)
    waiting: deque[Document] = deque()

    def sentences() -> Iterator[str]:
        for line in lines:
            waiting.append(Document.of(line, finds))
            yield from waiting[-1].sentences or [""]  # an empty line gives an empty line, in its turn

    with Output(output) as out:
        done: list[str] = []
        for translation in loaded.translate(sentences()):
            done.append(translation.text)
            if tally:
                tally.add(translation.glossary)
            document = waiting[0]
            if len(done) == max(1, len(document.spans)):
                waiting.popleft()
                out.line(document.joined(done, apart=apart)[0] if document.spans else document.text)
                done = []


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
    with Output(output) as out:
        for translation in loaded.translate(asked, tokenized=not plain):
            out.line(msgspec.json.encode(translation.to_dict()).decode())
            if tally:
                tally.add(translation.glossary)


def _plain_files(source: str, output: str) -> bool:
    """Whether text goes from a file to a file, not through a pipe or a device."""
    return Path(source).is_file() and (Path(output).is_file() or (output != "-" and not Path(output).exists()))


def _unfinished(loaded: Translator, source: str, output: str, options: Sequence[Any]) -> tuple[Unfinished, int]:
    """What is kept until the output is whole, and how many lines of it are there."""
    kept = Unfinished(Path(output), _about(loaded), [*options, file_hash(Path(source))])
    done = kept.begin()
    if done:
        messages.note(f"going on after line {done:,} of {source}")
    return kept, done


def _about(loaded: Translator) -> list[str]:
    """What translations depend on besides options of the command."""
    decoder, terms = loaded.decoder, loaded.glossary
    searched = [repr(decoder.search), str(loaded.markup)]
    return [decoder.model.state, weights_hash(decoder.weights), *searched, "" if terms is None else terms.digest]


def _check_combination(size: int, nbest_out: str | None, mbr_metric: str | None, modes: dict[str, Any]) -> None:
    """Refuses options that would have no effect."""
    given = [name for name, value in modes.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"expected one of {', '.join(given)}")
    if size > 1 and nbest_out is None and mbr_metric is None:
        raise click.UsageError("--nbest needs --nbest-out or --mbr")
    if given and (mbr_metric is not None or size > 1):
        raise click.UsageError(f"{given[0]} gives one derivation: it goes with neither --nbest nor --mbr")


def _force(decoder: Decoder, items: Sequence[Request], target: str, output: str, nbest_out: str | None) -> None:
    targets = read_text(Path(target))
    if len(targets) != len(items):
        raise InputError(f"{target}: expected {len(items)} lines, one for each sentence, found {len(targets)}", target)
    wishes = [request.constraints or Constraints() for request in items]
    found = decoder.force([request.ready for request in items], targets, constraints=wishes)
    sizes = found.starts[1:] - found.starts[:-1]
    with Output(output) as out:
        for first, size in zip(found.starts, sizes, strict=False):
            out.line(found.texts[int(first)] if size else "")
    if nbest_out:
        nbest.write(nbest_out, found.take(np.flatnonzero(sizes)))
    messages.note(f"{int((sizes > 0).sum())} of {len(items)} targets can be reached")


def _forests(decoder: Decoder, items: Iterable[Request], path: str) -> None:
    suffixes = Path(path).suffixes
    with Output(path) as out:
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
