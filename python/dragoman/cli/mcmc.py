"""`dragoman translate --search mcmc`: translating by sampling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from dragoman.decoder import Constraints, Decoder
from dragoman.decoder.sampling import Sampling, sampled, text_feature
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.options import made
from dragoman.types import Candidates

__all__ = ["PLAN", "asked", "stream"]

_CHUNK = 64
"""Sentences that are sampled at a time, where there are no documents."""
_MOST = 1_000_000
"""Translations of a line that minimum Bayes risk looks at, at most."""

PLAN = ("samples", "burn_in", "hot", "cold", "seed")
"""The options of `Sampling` that the command line takes."""


def stream(
    decoder: Decoder,
    items: Iterable[str | tuple[str, Constraints]],
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    size: int,
    risk: bool,
    features: bool,
    phrases: bool,
    distinct: bool,
) -> Iterator[Candidates]:
    """Translations as they come, each line's as a list: the best derivation, or samples of the model.

    Samples are listed for n-best lists (`size` above 1) and for minimum Bayes risk.
    """
    plan = _plan(given, risk or size > 1)
    asked = [text_feature(spec, decoder.weights) for spec in options["text_features"]]
    most = size if size > 1 else _MOST
    whole = partial(
        sampled, decoder, size=most, features=features, phrases=phrases, distinct=distinct, text_features=asked
    )

    def run(items: Sequence[str | tuple[str, Constraints]], plan: Sampling, **more: Any) -> Candidates:
        lines = [item if isinstance(item, str) else item[0] for item in items]
        wanted = [Constraints() if isinstance(item, str) else item[1] for item in items]
        return whole(lines, plan, constraints=wanted, **more)

    if options["documents"] is not None:
        read = list(items)
        yield from _singly(run(read, plan, documents=_sizes(options["documents"], len(read))))
        return
    source = iter(items)
    for number in count():
        chunk = list(islice(source, _CHUNK))
        if not chunk:
            return
        # Every chunk draws its own numbers.
        yield from _singly(run(chunk, replace(plan, seed=(plan.seed << 32) + number)))


def _plan(asked: Mapping[str, Any], listing: bool) -> Sampling:
    usual, given = Sampling.of_model() if listing else Sampling(), dict(asked)
    if given.get("seed", 0) >= 2**32:
        raise OptionError(f"expected a seed below {2**32}, found {given['seed']}")
    if listing:
        if given.get("hot", given.get("cold")) != given.get("cold", given.get("hot")):
            raise click.UsageError("with --mbr all samples have one temperature: give --cold alone")
        temperature = given.get("cold", given.get("hot", usual.cold))
        given |= {"hot": temperature, "cold": temperature}
    return made(Sampling, given, base=usual)


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


def asked(search: str, given: Mapping[str, Any], options: Mapping[str, Any], modes: Mapping[str, Any]) -> bool:
    """Whether to sample; options and modes that do not go together are refused."""
    needy = [f"--{name.replace('_', '-')}" for name in given]
    needy += ["--documents"] if options["documents"] is not None else []
    needy += ["--text-feature"] if options["text_features"] else []
    if search == "beam":
        if needy:
            raise click.UsageError(f"{needy[0]} needs --search mcmc")
        return False
    for mode, wanted in modes.items():
        if wanted:
            raise click.UsageError(f"--search mcmc does not go with {mode}")
    if options["documents"] and not options["text_features"]:
        raise click.UsageError("--documents matters only with --text-feature")
    return True
