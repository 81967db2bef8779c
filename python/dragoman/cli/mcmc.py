"""`dragoman translate --search mcmc`: translating by sampling."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from dragoman.decoder import Decoder
from dragoman.decoder.sampling import Sampling, TextFeature, sampled
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.types import Candidates

__all__ = ["NAMES", "asked", "mcmc_options", "stream", "text_feature"]

_CHUNK = 64
"""Sentences that are sampled at a time, where there are no documents."""
_MOST = 1_000_000
"""Translations of a line that minimum Bayes risk looks at, at most."""

_OPTIONS = (
    click.option(
        "--search",
        "search_name",
        type=click.Choice(["beam", "mcmc"]),
        default="beam",
        show_default=True,
        help="beam, or sampling: annealed to the best derivation, or with --mbr at one temperature.",
    ),
    click.option("--samples", type=click.IntRange(min=1), help="mcmc: samples that count, for each source word."),
    click.option("--burn-in", type=click.IntRange(min=0), help="mcmc: samples before these, while it cools."),
    click.option("--hot", type=float, help="mcmc: temperature at the start."),
    click.option("--cold", type=float, help="mcmc: temperature after the burn-in; with --mbr of all samples."),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="mcmc: of the random numbers."),
    click.option("--documents", metavar="FILE", help="mcmc: the name of each line's document, for --text-feature."),
    click.option(
        "--text-feature",
        "text_features",
        multiple=True,
        metavar="SPEC",
        help="mcmc: a feature of whole texts, as module:object=weight or file.py:object=weight.",
    ),
)

NAMES = ("search_name", "samples", "burn_in", "hot", "cold", "seed", "documents", "text_features")
"""Of these options, as the command gets them."""


def mcmc_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of sampling."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def stream(
    decoder: Decoder,
    lines: Iterable[str],
    options: Mapping[str, Any],
    size: int,
    risk: bool,
    features: bool,
    distinct: bool,
) -> Iterator[Candidates]:
    """Translations as they come, each line's as a list: the best derivation, or samples of the model.

    Samples are listed for n-best lists (`size` above 1) and for minimum Bayes risk.
    """
    plan = _plan(options, risk or size > 1)
    asked = [text_feature(spec) for spec in options["text_features"]]
    most = size if size > 1 else _MOST
    run = partial(sampled, decoder, size=most, features=features, distinct=distinct, text_features=asked)
    if options["documents"] is not None:
        read = list(lines)
        yield from _singly(run(read, plan, documents=_sizes(options["documents"], len(read))))
        return
    source = iter(lines)
    for number in count():
        chunk = list(islice(source, _CHUNK))
        if not chunk:
            return
        # Every chunk draws its own numbers.
        yield from _singly(run(chunk, replace(plan, seed=(plan.seed << 32) + number)))


def _plan(options: Mapping[str, Any], listing: bool) -> Sampling:
    usual = Sampling.of_model() if listing else Sampling()
    given = {name: options[name] for name in ("samples", "burn_in", "hot", "cold", "seed") if options[name] is not None}
    if listing:
        if given.get("hot", given.get("cold")) != given.get("cold", given.get("hot")):
            raise click.UsageError("with --mbr all samples have one temperature: give --cold alone")
        temperature = given.get("cold", given.get("hot", usual.cold))
        given |= {"hot": temperature, "cold": temperature}
    return replace(usual, **given)


def _singly(found: Candidates) -> Iterator[Candidates]:
    for line in range(len(found)):
        yield found.take(np.array([line], dtype=np.int64))


def _sizes(path: str, lines: int) -> list[int]:
    """The number of lines of each document: neighbours with the same name."""
    names = read_text(Path(path))
    if len(names) != lines:
        raise InputError(f"{path}: expected {lines} lines, one for each sentence, found {len(names)}", path)
    cuts = [0, *(i for i in range(1, lines) if names[i] != names[i - 1]), lines]
    return [b - a for a, b in pairwise(cuts) if b > a]


def text_feature(spec: str) -> tuple[TextFeature, float]:
    """A feature and its weight from `module:object=weight`; a class is called without arguments."""
    place, _, weight = spec.rpartition("=")
    source, _, name = place.rpartition(":")
    try:
        value = float(weight)
    except ValueError:
        raise OptionError(f"expected a feature as module:object=weight, found `{spec}`") from None
    if not source or not name:
        raise OptionError(f"expected a feature as module:object=weight, found `{spec}`")
    found = getattr(_module(source), name, None)
    made = found() if isinstance(found, type) else found
    if not callable(getattr(made, "score", None)):
        raise OptionError(f"{source} has no text feature `{name}`: an object with `score(sources, targets)`")
    return cast("TextFeature", made), value


def _module(source: str) -> Any:
    try:
        if not source.endswith(".py"):
            return importlib.import_module(source)
        spec = importlib.util.spec_from_file_location(Path(source).stem, source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, OSError) as error:
        raise OptionError(f"cannot load the text feature of {source}: {error}") from None
    return module


def asked(options: Mapping[str, Any], modes: Mapping[str, Any]) -> bool:
    """Whether to sample; options and modes that do not go together are refused."""
    needy = {
        "--" + name.replace("_", "-"): options[name] for name in ("samples", "burn_in", "hot", "cold", "documents")
    }
    needy["--text-feature"] = options["text_features"]
    given = [name for name, value in needy.items() if value not in (None, ())]
    if options["search_name"] == "beam":
        if given:
            raise click.UsageError(f"{given[0]} needs --search mcmc")
        return False
    for mode, wanted in modes.items():
        if wanted:
            raise click.UsageError(f"--search mcmc does not go with {mode}")
    if options["documents"] and not options["text_features"]:
        raise click.UsageError("--documents matters only with --text-feature")
    return True
