"""Translation on an engine with other processes: shards of lines go out, what is kept of each sentence comes back.

Lines are prepared where they are translated, so that the process that reads and writes them does nothing else. Shards
are taken a fixed number ahead of those that are written: memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path

import numpy as np

from dragoman.cli.messages import messages
from dragoman.cli.progress import bar
from dragoman.cli.sentences import Tally, requests
from dragoman.cli.unfinished import Kept, Unfinished
from dragoman.cli.writing import Writer
from dragoman.decoder import Constraints, Decoder
from dragoman.engine import Engine, Shared
from dragoman.files import count_lines
from dragoman.glossary import Glossary
from dragoman.request import Asker, asker

__all__ = ["Setup", "lines_of_a_shard", "shards", "translate_shards"]

_MOST_LINES = 128
"""Of a shard: the way there and back costs some milliseconds of a core, and the search of a line about as much."""
_AHEAD = 3
"""Shards for each worker that wait, or wait to be written: a slow one keeps nobody idle."""
_LEAST_SHARDS = 8
"""For each worker, where the text is short: the last ones end at nearly the same time."""

Line = tuple[str, Constraints | None]
Shard = tuple[int, list[Line]]
"""The number of its first line, from 1, and the lines."""


@dataclass(frozen=True)
class Setup:
    """What a worker must know."""

    decoder: Decoder
    glossary: Glossary | None
    markup: bool
    plain: bool
    size: int
    all_derivations: bool
    mbr_metric: str | None
    mbr_scale: float | None
    unknown: bool
    tally: bool
    source: str
    """The file, for errors."""

    @cached_property
    def asker(self) -> Asker:
        """What makes requests of lines, in the process that asks."""
        terms, decoder = self.glossary if self.glossary else None, self.decoder
        return asker(
            decoder.text, terms, decoder.weights, featured=decoder.counts_terms, markup=self.markup,
            tokenized=not self.plain,
        )  # fmt: skip

    def writer(self, ask: Asker, unknown: str | None, tally: Tally | None) -> Writer:
        """What makes of candidates what is kept."""
        return Writer.of(self.decoder, ask, self.plain, self.mbr_metric, self.mbr_scale, unknown, tally)

    @cached_property
    def own_writer(self) -> Writer:
        """The same in a worker, whose files and counts nobody looks at."""
        matcher = self.asker.matcher
        tally = Tally(matcher.glossary) if self.tally and matcher is not None else None
        return self.writer(self.asker, "unknown" if self.unknown else None, tally)

    def translate(self, first: int, lines: list[Line]) -> list[Kept]:
        """What is kept of some lines."""
        asked = list(requests(self.asker, self.source, lines, first))
        size = max(self.size, 2) if self.mbr_metric else self.size
        found = self.decoder.nbest(
            [request.ready for request in asked], size, distinct=not self.all_derivations, features=False,
            phrases=self.own_writer.looks, constraints=[request.constraints or Constraints() for request in asked],
        )  # fmt: skip
        return [self.own_writer.kept(request, found.take(np.array([at]))) for at, request in enumerate(asked)]


@dataclass(frozen=True)
class _Translate:
    setup: Shared[Setup]

    def __call__(self, shard: Shard) -> list[Kept]:
        return self.setup.value.translate(*shard)


def translate_shards(engine: Engine, setup: Setup, lines: Iterable[Line], done: int, kept: Unfinished) -> None:
    """Translates what is left of a text and keeps it, in order."""
    messages.resuming = "the same command goes on after the last line that was translated"
    total = count_lines(Path(setup.source))
    with engine, bar("sentences") as move:
        work, size = _Translate(engine.share(setup)), lines_of_a_shard(total - done, engine.workers)
        for number, shard in enumerate(engine.stream(work, shards(lines, done, size), _AHEAD * engine.workers)):
            for each in shard:
                kept.add(each)
            move(min(done + (number + 1) * size, total), total)


def lines_of_a_shard(left: int, workers: int) -> int:
    """How many lines go out together. The translations do not depend on it."""
    return max(1, min(_MOST_LINES, left // (_LEAST_SHARDS * workers)))


def shards(lines: Iterable[Line], done: int, size: int) -> Iterator[Shard]:
    """The lines that are not done, so many at a time."""
    left = islice(lines, done, None)
    for first in count(done + 1, size):
        shard = list(islice(left, size))
        if not shard:
            return
        yield first, shard
