"""Word alignment: train an aligner, align text, join both directions, score against gold links.

The aligner is a Bayesian chain of IBM 1, HMM and HMM with fertilities, sampled in both directions by several
independent samplers whose beliefs are averaged (Östling & Tiedemann 2016):

    source, target = read_parallel(["train.fr", "train.en"])
    aligner = alignment.train(source, target)
    links = aligner.trained.links("grow-diag-final-and")       # of the text it was trained on
    links = aligner.align(more_source, more_target).links()    # of any other

Links are pairs of word positions, counted from 0; words are separated by spaces or tabs. In files they are written
as `0-0 1-2`, a line for each sentence pair, as all tools do (the Pharaoh format).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from dragoman._core import (
    AlignModel,
    AlignShard,
    AlignShards,
    AlignTrainer,
    get_threads,
    read_gold,
    read_links,
    score_links,
    symmetrise_links,
    write_links,
)
from dragoman.common import Seeded
from dragoman.engine import Engine, Shared, engine_of
from dragoman.errors import OptionError
from dragoman.options import check, made, option
from dragoman.types import I64, U32, Texts

__all__ = [
    "METHODS",
    "Aligner",
    "Alignment",
    "Choice",
    "Gold",
    "Links",
    "Options",
    "Report",
    "Score",
    "Symmetrisation",
    "error_rate",
    "score",
    "symmetrise",
    "train",
]

Method = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
METHODS: tuple[str, ...] = get_args(Method)
"""The ways to join links of both directions."""

Path = str | PathLike[str]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links of many sentence pairs in flat arrays; those of a pair are sorted, none is repeated.

    >>> links = Links.of([[(0, 0), (1, 2)], []])
    >>> len(links), links[0], links[1]
    (2, [(0, 0), (1, 2)], [])
    """

    starts: I64
    """The links of pair s are those from `starts[s]` up to `starts[s + 1]`."""
    source: U32
    """Source position of each link."""
    target: U32
    """Target position of each link."""

    @classmethod
    def of(cls, pairs: Iterable[Iterable[tuple[int, int]]]) -> Links:
        """The links of each sentence pair as (source, target) positions, in any order."""
        rows = [sorted(set(pair)) for pair in pairs]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        flat = np.array([link for row in rows for link in row], dtype=np.int64).reshape(-1, 2)
        if flat.size and (flat.min() < 0 or flat.max() >= 2**32):
            raise OptionError(f"expected positions of words, counted from 0, found {flat.min()}")
        columns = flat.astype(np.uint32).T
        return cls(starts, np.ascontiguousarray(columns[0]), np.ascontiguousarray(columns[1]))

    @classmethod
    def read(cls, path: Path, text: tuple[Texts, Texts] | None = None) -> Links:
        """Links from a file, whatever tool wrote it.

        With `text`, source and target, a link to a word that is not there is an error with file and line, and so is
        a file with more or fewer lines.
        """
        return cls(*read_links(os.fspath(path), text))

    def write(self, path: Path) -> None:
        """Write a file, which appears when it is whole (compressed if its name says so; `-` is standard output)."""
        write_links(os.fspath(path), self._columns)

    @property
    def _columns(self) -> tuple[I64, U32, U32]:
        return (
            np.ascontiguousarray(self.starts),
            np.ascontiguousarray(self.source),
            np.ascontiguousarray(self.target),
        )

    def __len__(self) -> int:
        """Number of sentence pairs."""
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> list[tuple[int, int]]:
        index = range(len(self))[index]
        span = slice(int(self.starts[index]), int(self.starts[index + 1]))
        return list(zip(self.source[span].tolist(), self.target[span].tolist(), strict=True))


def symmetrise(forward: Links, reverse: Links, method: str = "grow-diag-final-and") -> Links:
    """Join the links of both directions; both name source positions first.

    `intersection` and `union` are what they say. `grow-diag` starts from the intersection and adds links of the union
    next to a link (also diagonally) that give a word its first. `grow-diag-final` then adds any link of the union that
    gives one of its words its first, forward links before reverse ones; `grow-diag-final-and`, only if both words have
    none.
    """
    return Links(*symmetrise_links(forward._columns, reverse._columns, method))


@dataclass(frozen=True, slots=True)
class Report:
    """What was odd about a text; numbers of sentence pairs."""

    pairs: int
    empty: int
    """Pairs with an empty side: they have no links."""
    long: int
    """Pairs left out because a side is too long: they have no links."""
    control: int
    """Pairs with control characters, which count as parts of words."""
    bar: int
    """Pairs with `|` in a word, which phrase tables reserve."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """A text aligned in both directions."""

    forward: Links
    """Each target word has at most one link."""
    reverse: Links
    """Each source word has at most one link."""
    report: Report

    def links(self, method: str = "grow-diag-final-and") -> Links:
        """Both directions joined."""
        return symmetrise(self.forward, self.reverse, method)


@dataclass(frozen=True, kw_only=True)
class Symmetrisation:
    """How two directions become one."""

    symmetrise: Method = option("grow-diag-final-and", help="How the links of both directions are joined.")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Symmetrisation):
    """Which aligner, and how its directions are joined."""

    aligner: Literal["dragoman", "eflomal"] = option(
        "dragoman", help="The aligner: ours, or eflomal if it is installed."
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Seeded):
    """How an aligner is trained. The defaults are measured; see docs/align.md."""

    samplers: int = option(3, help="Independent samplers in each direction.", min=1, max=64)
    sweeps: tuple[int, int, int] | None = option(
        None,
        help="Sweeps over the text with IBM 1, with the HMM, and with fertilities.",
        min=0,
        usual="7 14 28, and fewer for more than 15,000 pairs",
        metavar="N N N",
    )
    collect: int = option(4, help="Samples of each sentence in the last pass, whose distributions are averaged.", min=1)
    lowercase: bool = option(True, help="Lower-case words for the statistics.", was=["lower"])
    prefix: int = option(0, help="Cut words to so many characters for the statistics; 0 keeps them whole.", min=0)
    max_words: int = option(
        500, help="Leave out pairs with more words on a side: they have no links.", min=1, max=10_000, was=["longest"]
    )
    lexical_prior: float = option(0.001, help="Dirichlet parameter of p(f | e).", above=0, was=["lexical"])
    null_lexical_prior: float = option(
        0.001, help="Dirichlet parameter of p(f | no word).", above=0, was=["null_lexical"]
    )
    null_probability: float = option(0.2, help="Probability that a word has no link.", min=0, below=1, was=["null"])
    jump_prior: float = option(0.5, help="Dirichlet parameter of jumps.", above=0, was=["jump"])
    fertility_prior: float = option(0.5, help="Dirichlet parameter of fertilities.", above=0, was=["fertility"])
    shards: int = option(
        1,
        help="Cut the text into so many parts that workers sample at the same time, with counts merged after each "
        "sweep. Links differ a little with the number of parts, and with nothing else.",
        min=1,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.sweeps is not None and self.sweeps[2] == 0:
            raise OptionError("sweeps must have at least one sweep with fertilities, the last number; found 0")


def _texts(text: Texts | Sequence[str]) -> Texts:
    return text if isinstance(text, Texts) else Texts(text)


class Aligner:
    """A trained aligner. The links of a sentence pair depend on nothing but the pair, the aligner and the seed."""

    def __init__(self, model: AlignModel, trained: Alignment | None = None) -> None:
        self._model = model
        self.trained = trained
        """The text it was trained on, aligned; None for an aligner from a file."""

    @classmethod
    def load(cls, path: Path) -> Aligner:
        """An aligner from a file, all of which is verified."""
        return cls(AlignModel.read(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write the aligner to a file, which appears when it is whole (compressed if its name says so)."""
        self._model.write(os.fspath(path))

    def align(
        self, source: Texts | Sequence[str], target: Texts | Sequence[str], *, collect: int = 32, seed: int = 0
    ) -> Alignment:
        """Align any text; distributions are averaged over `collect` samples of each sentence pair."""
        if min(collect, seed) < 0:
            raise OptionError(f"expected no negative numbers, found collect={collect} and seed={seed}")
        forward, reverse, report = self._model.align(_texts(source), _texts(target), collect, seed)
        return Alignment(Links(*forward), Links(*reverse), Report(*report))


def train(
    source: Texts | Sequence[str],
    target: Texts | Sequence[str],
    options: Options | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    engine: Engine | None = None,
    **changes: Any,
) -> Aligner:
    """Train an aligner on sentence pairs, a line each, on all cores; `changes` are options by name.

    The result depends on text, options and seed, not on the number of cores. `progress` is called after each sweep
    with how many are done and how many there are. Several `shards` are sampled by the workers of the `engine`.
    """
    o = made(Options, changes, base=options)
    given = (
        o.samplers,
        o.sweeps,
        o.collect,
        (o.lowercase, o.prefix, o.max_words),
        (o.lexical_prior, o.null_lexical_prior, o.null_probability, o.jump_prior, o.fertility_prior),
        o.seed,
    )
    if o.shards > 1:
        shards = AlignShards(_texts(source), _texts(target), o.shards, *given)
        report = Report(*shards.report())
        with engine or engine_of(get_threads()) as workers:
            _sample(shards, workers, o.samplers, progress or (lambda _done, _all: None))
        forward, reverse, model = shards.finish()
        return Aligner(model, Alignment(Links(*forward), Links(*reverse), report))
    trainer = AlignTrainer(_texts(source), _texts(target), *given)
    report, total = Report(*trainer.report()), trainer.sweeps()
    done = 0
    while trainer.sweep():
        done += 1
        if progress is not None:
            progress(done, total)
    forward, reverse, model = trainer.finish()
    return Aligner(model, Alignment(Links(*forward), Links(*reverse), report))


def _sample(all_: AlignShards, engine: Engine, samplers: int, progress: Callable[[int, int], None]) -> None:
    """All sweeps over all shards. What comes back is links; counts follow from them and are made here."""
    parts = [engine.share(part) for part in all_.shards()]
    total, ahead = all_.sweeps(), 2 * engine.workers - 1
    for sweep in range(total + 1):
        # Sweep 0 is random links, which need no counts.
        counts = [engine.share(all_.counts(each, sweep)) if sweep else None for each in range(2 * samplers)]
        places = [(each, at) for at in range(len(parts)) for each in range(2 * samplers)]
        tasks = (_Sweep(at, parts[at], each, sweep, all_.state(each, at), counts[each]) for each, at in places)
        for number, links in engine.arriving(_swept, tasks, ahead):
            all_.take(*places[number], links)
        if sweep:
            progress(sweep, total)
    for given in (0, 1):
        own = range(given * samplers, (given + 1) * samplers)
        counts = [engine.share(all_.counts(each, total + 1)) for each in own]
        ends = (
            _Decision(at, part, given, [all_.state(each, at) for each in own], counts) for at, part in enumerate(parts)
        )
        for at, found in engine.arriving(_decided, ends, ahead):
            all_.decided(given, at, found)


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A sweep of one sampler over one shard: all that it depends on, so that it can be done anywhere, and again."""

    home: int
    """The number of the shard, whose index stays where it was made."""
    part: Shared[AlignShard]
    sampler: int
    sweep: int
    links: bytes
    counts: Shared[bytes] | None


def _swept(task: _Sweep) -> bytes:
    if task.counts is None:
        return task.part.value.scatter(task.sampler)
    return task.part.value.sweep(task.sampler, task.sweep, task.links, task.counts.value)


@dataclass(frozen=True, slots=True)
class _Decision:
    """The last pass of all samplers of a direction over one shard."""

    home: int
    part: Shared[AlignShard]
    given: int
    links: Sequence[bytes]
    counts: Sequence[Shared[bytes] | None]


def _decided(task: _Decision) -> bytes:
    counts = [each.value for each in task.counts if each is not None]
    return task.part.value.decide(task.given, list(zip(task.links, counts, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """Gold links: sure ones, and possible ones, of which the sure ones are a part."""

    sure: Links
    possible: Links

    @classmethod
    def read(cls, path: Path) -> Gold:
        """Read a file with `i-j` for a sure and `i?j` for a possible link, a line a sentence pair."""
        sure, possible = read_gold(os.fspath(path))
        return cls(Links(*sure), Links(*possible))


@dataclass(frozen=True, slots=True)
class Score:
    """Links against gold links, as counts that add up over sentence pairs."""

    found: int
    """|A|"""
    sure: int
    """|S|"""
    found_sure: int
    """|A and S|"""
    found_possible: int
    """|A and P|"""

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), from 0 to 1."""
        size = self.found + self.sure
        return 1 - (self.found_sure + self.found_possible) / size if size else 0.0

    @property
    def precision(self) -> float:
        """|A and P| / |A|."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """|A and S| / |S|."""
        return self.found_sure / self.sure if self.sure else 1.0


def score(links: Links, gold: Gold) -> Score:
    """Count through the pairs of the gold standard; `links` may have more pairs after those.

    >>> sure = Links.of([[(0, 0), (2, 2)]])
    >>> gold = Gold(sure, Links.of([[(0, 0), (1, 1), (2, 2)]]))
    >>> round(score(Links.of([[(0, 0), (1, 1), (2, 1)]]), gold).error_rate, 3)
    0.4
    """
    return Score(*score_links(links._columns, gold.sure._columns, gold.possible._columns))


def error_rate(links: Links, gold: Gold) -> float:
    """Alignment error rate, from 0 to 1."""
    return score(links, gold).error_rate
