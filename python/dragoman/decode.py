"""The decoder: translates with a model, and gives n-best lists, lattices, alignments and explanations.

>>> decoder = Decoder("model")                                                # doctest: +SKIP
>>> decoder.translate(["ein haus"])                                           # doctest: +SKIP
['a house']
>>> candidates = decoder.nbest(["ein haus"], size=100)                        # doctest: +SKIP
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dragoman import own
from dragoman._core import (
    NativeMetric,
    NativeSystem,
    NativeWeights,
    SampleRanker,
    TranslationColumns,
    TranslationStream,
    get_threads,
)
from dragoman.config import closest
from dragoman.errors import InputError, OptionError
from dragoman.features import extended
from dragoman.metrics.capability import require
from dragoman.model import Model, Option, Part, is_file
from dragoman.own import RuleFeature, StateFeature
from dragoman.text import Preparation
from dragoman.tuning.loops.chains import Pace, Ranked
from dragoman.tuning.tuners.samplerank import SampleRank
from dragoman.types import F64, I64, Candidates, Features, Hypotheses, Lattices, Metric, Names, Texts, Weights

__all__ = ["Arc", "Decoder", "DecoderSource", "Demands", "Derivation", "Lattice", "Phrase", "Search", "mbr"]

_FORCED_STACK = 10_000
"""Hypotheses that a stack keeps when the target is given: few fit, and none should be lost."""


@dataclass(frozen=True, slots=True)
class Search:
    """How widely to search, and among what."""

    stack: int = 400
    """Hypotheses that each stack keeps."""
    pops: int = 600
    """Hypotheses that each stack takes from the cube, best first; 0 makes them all (stack search)."""
    threshold: float = float("inf")
    """Hypotheses worse than the stack's best by more than this are dropped."""
    distortion: int = 6
    """Source words that a jump may skip: 0 is monotone, -1 is no limit."""
    options: int = 20
    """Translations of a source phrase that are kept, from each table; 0 keeps all."""
    drop_unknown: bool = False
    """Leaves out words that no table knows; else they are copied."""
    deadline: float = 0.0
    """Seconds for a sentence, after which the search goes on greedily; 0 is no limit. Such results depend on the
    machine."""
    memory: int = 1 << 30
    """Bytes for a sentence, after which the search goes on greedily."""
    markup: bool = False
    """Reads `<n translation="...">`, `<wall/>` and `<zone>` in the input; else `<` is just text."""

    def __post_init__(self) -> None:
        for name, least in (("stack", 1), ("pops", 0), ("distortion", -1), ("options", 0), ("memory", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
                raise OptionError(f"{name} must be a whole number of at least {least}, found {value}")
        for name in ("threshold", "deadline"):
            if not getattr(self, name) >= 0:  # nor NaN
                raise OptionError(f"{name} must be a number of at least 0, found {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Demands:
    """What the writer of a sentence asks of its translation. Spans are (first word, word after the last)."""

    given: Sequence[tuple[int, int, str, float]] = ()
    """Translations of spans with their log probabilities."""
    exclusive: bool = True
    """Whether given translations rule out others for their words."""
    walls: Sequence[int] = ()
    """All before such a position is translated before anything after it."""
    zones: Sequence[tuple[int, int]] = ()
    """Spans that are translated in one go."""

    def _native(self) -> tuple[list[tuple[int, int, str, float]], bool, list[int], list[tuple[int, int]]]:
        return list(self.given), self.exclusive, list(self.walls), list(self.zones)


@dataclass(frozen=True, slots=True)
class _Settings(Search):
    """All that one call wants, as the native side reads it."""

    size: int = 1
    distinct: bool = True
    features: bool = False
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """A step of a derivation: a source span, what it became, and what each feature says about it."""

    start: int
    end: int
    source: str
    target: str
    origin: str
    """`rule`, `unknown` or `given`."""
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Derivation:
    """The best derivation of a sentence, explained."""

    score: float
    """Weights times features, and the log probabilities of given translations, which no feature has."""
    phrases: Sequence[Phrase]
    weights: Mapping[str, float] = field(repr=False)
    """Of the features that fire in it."""

    @property
    def text(self) -> str:
        """The translation."""
        return " ".join(phrase.target for phrase in self.phrases if phrase.target)


@dataclass(frozen=True, slots=True)
class Arc:
    """A phrase of a lattice, from a node to a later one."""

    start: int
    end: int
    text: str
    span: tuple[int, int]
    """Source words: first, one after the last."""
    score: float
    """What it adds to the model score."""
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Lattice:
    """The recombined search graph: every path from node 0 to a final node is a derivation."""

    nodes: int
    finals: Sequence[int]
    arcs: Sequence[Arc]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `{"nodes": 3, "finals": [2], "arcs": [[0, 1, "a", [0, 1], -1.5, {"LM": -2}], ...]}`."""
        arcs = [[a.start, a.end, a.text, list(a.span), a.score, dict(a.features)] for a in self.arcs]
        return {"nodes": self.nodes, "finals": list(self.finals), "arcs": arcs}

    def to_openfst(self) -> str:
        """OpenFST's text form, a word an arc, with minus the score as the weight of a phrase's first word."""
        lines = []
        extra = self.nodes
        for arc in self.arcs:
            words = arc.text.split() or ["<eps>"]
            state, weight = arc.start, -arc.score
            for place, word in enumerate(words):
                last = place + 1 == len(words)
                target = arc.end if last else extra
                extra += not last
                lines.append(f"{state}\t{target}\t{word}\t{word}\t{weight:.6f}")
                state, weight = target, 0.0
        return "\n".join([*lines, *map(str, self.finals), ""])


class _Native(NamedTuple):
    """Weights as the search wants them."""

    weights: NativeWeights
    values: F64 | None
    """What they were made from, where somebody else may have changed that since."""

    def holds(self, weights: Weights) -> bool:
        return self.values is None or np.array_equal(self.values, weights.values)


_MOST_READY = 4
"""Weights that a decoder keeps ready: online tuning has several under way at once."""


class Decoder:
    """Translates with a model. The tables are mapped and shared; weights may change with every call.

    `model` is a folder that `dragoman train` made, or an opened `Model`. `features` adds sparse feature sets, such as
    `pt,al,lo,sparse-hrm:words=80,classes=50+20` (see `dragoman.features`). All methods take and give words between
    blanks as the model has them; `text` leads from plain text to these and back:

        decoder.text.after(decoder.translate(decoder.text.before(["Ein Haus."])))
    """

    def __init__(
        self,
        model: str | PathLike[str] | Model,
        *,
        weights: Weights | None = None,
        features: str | None = None,
        search: Search | None = None,
        threads: int | None = None,
        extra: Sequence[RuleFeature | StateFeature] = (),
    ) -> None:
        opened = model if isinstance(model, Model) else Model.open(model)
        self.model = extended(opened, features) if features else opened
        self._begin(_open(self.model, extra), extra, search, weights, threads)
        self._native_weights(None)

    def _begin(
        self,
        system: NativeSystem,
        extra: Sequence[RuleFeature | StateFeature],
        search: Search | None,
        weights: Weights | None,
        threads: int | None,
    ) -> None:
        self._system, self._extra = system, extra
        self._vocabulary: Names | None = None
        self._names = system.names
        self.search = search if search is not None else _wanted(self.model)
        self.threads = threads
        self._ready: OrderedDict[object, _Native] = OrderedDict()
        self._lock = threading.Lock()
        self.weights = self.model.weights if weights is None else weights

    def __reduce__(self) -> tuple[Any, ...]:
        """As the model's folder, options, and weights by name: the other process opens the model itself, once."""
        model, same = self.model, self.weights is self.model.weights
        what = str(model.folder.resolve()), model.signature, pickle.dumps((model.tables, model.parts))
        weights = None if same else self.weights
        return _received, ((*what, own.sent(self._extra)), self.search, weights, self.threads)

    @cached_property
    def text(self) -> Preparation:
        """What is done to plain text before and after translation: tokenised and cased as the training text was."""
        return Preparation(self.model.text, self.model.folder)

    @property
    def names(self) -> Names:
        """The names of all features; it grows as sparse ones are met."""
        return self._names

    @property
    def vocabulary(self) -> Names:
        """The target words of the model, by the ids that your own features see."""
        if self._vocabulary is None:
            self._vocabulary = self._system.vocabulary
        return self._vocabulary

    @property
    def dense(self) -> list[str]:
        """The features that every derivation has."""
        return [self.names[number] for number in range(self._system.dense)]

    @property
    def searched(self) -> int:
        """How many sentences were searched so far; it grows while a call is under way, for other threads to see."""
        return self._system.searched

    def translate(
        self,
        lines: Sequence[str] | Texts,
        *,
        weights: Weights | None = None,
        demands: Sequence[Demands] | None = None,
    ) -> list[str]:
        """The best translation of each line; an empty line's is empty. Words stand between blanks on both sides."""
        return self._run(lines, weights, self._settings(), demands).texts.to_list()

    def nbest(
        self,
        lines: Sequence[str] | Texts,
        size: int = 100,
        *,
        distinct: bool = True,
        features: bool = True,
        phrases: bool = False,
        weights: Weights | None = None,
        demands: Sequence[Demands] | None = None,
    ) -> Candidates:
        """The best translations of each line with features, scores and alignments, sorted by score.

        `distinct` lists every text once, by its best derivation. `phrases` writes the phrases of each derivation to
        `extra`, as `0-2:0-1`: the source words from 0 up to 2 became the target words from 0 up to 1; `!` marks those
        that no table has.
        """
        if size < 1:
            raise OptionError(f"expected a list of at least 1 translation, found {size}")
        settings = replace(self._settings(), size=size, distinct=distinct, features=features)
        return self._run(lines, weights, settings, demands, phrases=phrases)

    def force(
        self,
        lines: Sequence[str] | Texts,
        targets: Sequence[str] | Texts,
        *,
        weights: Weights | None = None,
        demands: Sequence[Demands] | None = None,
    ) -> Candidates:
        """The best derivation of each given target (constrained decoding); an empty list where there is none.

        Only options that fit the target take part, all of them, and the distortion limit holds. Stacks keep at least
        10,000 hypotheses, so that only very long or very repetitive targets can be missed.
        """
        if len(lines) != len(targets):
            raise OptionError(f"expected a target for each of {len(lines)} lines, found {len(targets)}")
        wide = max(self.search.stack, _FORCED_STACK)
        settings = replace(self._settings(), features=True, options=0, pops=0, stack=wide, threshold=float("inf"))
        return self._run(lines, weights, settings, demands, _texts(targets))

    def explain(self, line: str, *, weights: Weights | None = None, demands: Demands | None = None) -> Derivation:
        """The best derivation of a line with every feature's value."""
        used = weights if weights is not None else self.weights
        wanted = None if demands is None else demands._native()
        score, steps = self._system.explain(line, self._native_weights(weights), self._settings(), wanted)
        phrases = [
            Phrase(step.start, step.end, step.source, step.target, step.origin, _named(self.names, step.features))
            for step in steps
        ]
        fired = dict.fromkeys(name for phrase in phrases for name in phrase.features)
        return Derivation(score, phrases, {name: used[name] for name in fired})

    def lattice(
        self,
        line: str,
        *,
        features: bool = False,
        weights: Weights | None = None,
        demands: Demands | None = None,
    ) -> Lattice:
        """The recombined search graph of a line."""
        settings = replace(self._settings(), features=features)
        wanted = None if demands is None else demands._native()
        nodes, finals, arcs = self._system.lattice(line, self._native_weights(weights), settings, wanted)
        made = [Arc(a.start, a.end, a.text, a.span, a.score, _named(self.names, a.features)) for a in arcs]
        return Lattice(nodes, finals, made)

    def stream(
        self,
        lines: Iterable[str | tuple[str, Demands]],
        size: int = 1,
        *,
        distinct: bool = True,
        features: bool = False,
        weights: Weights | None = None,
    ) -> Iterator[Candidates]:
        """Translates lines as they come, in their order, on all threads, with few of them in memory.

        Each item is the list of one line, as `nbest` gives it.
        """
        ready = self._native_weights(weights)
        settings = replace(self._settings(), size=size, distinct=distinct, features=features)
        threads = self.threads or get_threads() or os.cpu_count() or 1
        pool = TranslationStream(self._system, ready, settings, threads, 64 * threads)
        failed: list[BaseException] = []

        def feed() -> None:
            try:
                for item in lines:
                    line, demands = (item, None) if isinstance(item, str) else (item[0], item[1]._native())
                    if not pool.push(line, demands):
                        return
            except BaseException as error:  # told to the taker, below
                failed.append(error)
            finally:
                pool.close()

        threading.Thread(target=feed, daemon=True).start()
        try:
            number = 0
            while (columns := pool.take()) is not None:
                yield self._candidates(columns, Texts([str(number)]))
                number += 1
        finally:
            pool.stop()
        if failed:
            raise failed[0]

    def _settings(self) -> _Settings:
        return _Settings(**{f.name: getattr(self.search, f.name) for f in fields(Search)})

    def _native_weights(self, weights: Weights | None) -> NativeWeights:
        """Weights as the search wants them; those of features that the model cannot have are an error."""
        used = self.weights if weights is None else weights
        with self._lock:
            native = self._ready.get(used.mark)
            if native is None or not native.holds(used):
                native = self._changed(used) or self._prepared(used)
            self._ready[used.mark] = native
            self._ready.move_to_end(used.mark)
            while len(self._ready) > _MOST_READY:
                self._ready.popitem(last=False)
            return native.weights

    def _changed(self, used: Weights) -> _Native | None:
        """From weights that are ready and that these came from, if there are any."""
        for last in range(len(used.steps) - 1, -1, -1):
            native = self._ready.get(used.steps[last].before)
            if native is not None:
                ready = native.weights
                for change in used.steps[last:]:
                    ready = ready.changed(self._system.numbers(used.names, change.columns), change.values)
                return _Native(ready, None)
        return None

    def _prepared(self, used: Weights) -> _Native:
        name = self._system.unknown(used.names)
        if name is not None:
            known = [*self.dense, *(f"{prefix}:..." for prefix in self._system.sets)]
            raise OptionError(f"the model has no feature `{name}`; {closest(name, known)}")
        ready = self._system.weights(used.names, used.values)
        return _Native(ready, None if used.steps else used.values.copy())

    def _run(
        self,
        lines: Sequence[str] | Texts,
        weights: Weights | None,
        settings: _Settings,
        demands: Sequence[Demands] | None,
        targets: Texts | None = None,
        threads: int | None = None,
        phrases: bool = False,
    ) -> Candidates:
        ready = self._native_weights(weights)
        texts = _texts(lines)
        if demands is not None and len(demands) != len(texts):
            raise OptionError(f"expected demands for each of {len(texts)} lines, found {len(demands)}")
        wanted = None if demands is None else [d._native() for d in demands]
        columns = self._system.translate(texts, ready, settings, wanted, targets, threads or self.threads)
        return self._candidates(columns, Texts([str(i) for i in range(len(texts))]), phrases)

    def _candidates(self, found: TranslationColumns, ids: Texts, phrases: bool = False) -> Candidates:
        listed = Features(self.names, found.rows, found.features, found.values)
        extra = found.phrases if phrases else None
        return Candidates(
            ids, found.starts, found.texts, listed, totals=found.scores, alignments=found.links, extra=extra
        )


_Sent = tuple[str, str, bytes, tuple[tuple[str, str] | bytes, ...]]
"""A model as it travels: folder, signature, tables and parts, features of your own."""
_OPENED: OrderedDict[_Sent, tuple[Model, NativeSystem, Sequence[RuleFeature | StateFeature]]] = OrderedDict()
"""What came from other processes, the last used last: tasks come again and again with the same model."""
_MOST_OPENED = 4
_opening = threading.Lock()


def _received(sent: _Sent, search: Search, weights: Weights | None, threads: int | None) -> Decoder:
    """The decoder that another process sent."""
    with _opening:
        if sent not in _OPENED:
            folder, signature, described, features = sent
            model = Model.open(folder)
            if model.signature != signature:
                raise InputError(f"{folder}: expected the model {signature}, found {model.signature}", folder)
            tables, parts = pickle.loads(described)
            whole, loaded = replace(model, tables=tables, parts=parts), own.received(features)
            _OPENED[sent] = whole, _open(whole, loaded), loaded
        _OPENED.move_to_end(sent)
        while len(_OPENED) > _MOST_OPENED:
            _OPENED.popitem(last=False)
        model, system, extra = _OPENED[sent]
    decoder = Decoder.__new__(Decoder)
    decoder.model = model
    decoder._begin(system, extra, search, weights, threads)
    return decoder


def _open(model: Model, extra: Sequence[RuleFeature | StateFeature]) -> NativeSystem:
    tables = [os.fspath(model.folder / name) for name in model.tables]
    rules, states = own.split(extra)
    system = NativeSystem(tables, [_native(model, part) for part in model.parts], rules, states)
    for _, _, asked in rules:
        asked.vocabulary = system.vocabulary
    return system


class DecoderSource:
    """A text and a decoder as a source of candidates for tuning: lists are made anew under the weights of each call."""

    def __init__(
        self, decoder: Decoder, lines: Sequence[str] | Texts, size: int = 200, *, distinct: bool = True
    ) -> None:
        self.decoder, self.lines, self.size, self.distinct = decoder, _texts(lines), size, distinct

    @property
    def names(self) -> Names:
        """The decoder's."""
        return self.decoder.names

    def __len__(self) -> int:
        return len(self.lines)

    def candidates(self, sentences: Sequence[int], weights: Weights, threads: int | None = None) -> Candidates:
        """The n-best lists of some lines."""
        numbers = np.asarray(sentences, dtype=np.int64)
        settings = replace(self.decoder._settings(), size=self.size, distinct=self.distinct, features=True)
        found = self.decoder._run(self.lines.take(numbers), weights, settings, None, threads=threads)
        return replace(found, ids=Texts([str(number) for number in numbers]))

    def lattices(
        self, sentences: Sequence[int], weights: Weights, density: float = 0.0, threads: int | None = None
    ) -> Lattices:
        """The recombined search graphs of some lines with all features, in columns.

        `density` keeps that many arcs for each source word, those on the best paths (Sixtus & Ortmanns 1999).
        """
        decoder, numbers = self.decoder, np.asarray(sentences, dtype=np.int64)
        found = decoder._system.lattices(
            self.lines.take(numbers), decoder._native_weights(weights), decoder._settings(), density,
            threads or decoder.threads,
        )  # fmt: skip
        ids = Texts([str(number) for number in numbers])
        features = Features(self.names, found.rows, found.features, found.values)
        return Lattices(ids, found.nodes, found.starts, found.tails, found.heads, found.texts, features)

    @property
    def weights(self) -> Weights:
        """The decoder's own: where tuning starts, unless told otherwise."""
        return self.decoder.weights

    def unknown(self, names: Names) -> str | None:
        """The first of some names that no feature of this system can have."""
        return self.decoder._system.unknown(names)

    def best(self, weights: Weights, threads: int | None = None) -> Hypotheses:
        """The best translation of every line."""
        settings = self.decoder._settings()
        return Hypotheses.one_each(self.decoder._run(self.lines, weights, settings, None, threads=threads).texts)

    def ranker(self, references: Sequence[Sequence[str]], metric: Metric) -> DecoderRanker:
        """The text with its references, ready for SampleRank."""
        return DecoderRanker(self.decoder, self.lines, references, require(metric, "incremental", "SampleRank"))


@dataclass(frozen=True)
class _Ranking(SampleRank):
    """All that an epoch of SampleRank wants, as the native side reads it."""

    distortion: int = 6
    options: int = 20
    drop_unknown: bool = False
    seed: int = 0
    first: int = 0
    """The number of the first chain's random stream."""
    threads: int | None = None


class DecoderRanker:
    """A text whose derivations can be sampled, with its references."""

    def __init__(
        self, decoder: Decoder, lines: Texts, references: Sequence[Sequence[str]], metric: NativeMetric
    ) -> None:
        self.decoder = decoder
        self._made = decoder, lines, references, metric
        self._native = SampleRanker(decoder._system, lines, [list(texts) for texts in references], metric)

    def __reduce__(self) -> tuple[Any, ...]:
        return DecoderRanker, self._made

    def epoch(
        self,
        weights: Weights,
        start: F64,
        pace: Pace,
        fixed: Sequence[int],
        shards: Sequence[Sequence[Sequence[int]]],
        tuner: SampleRank,
        seed: int,
        first: int,
        threads: int | None = None,
    ) -> Ranked:
        """One epoch of all chains; options are chosen under `weights`, and `start` is where chains begin."""
        search = self.decoder.search
        ranking = _Ranking(
            **{f.name: getattr(tuner, f.name) for f in fields(SampleRank)},
            distortion=search.distortion, options=search.options, drop_unknown=search.drop_unknown,
            seed=seed, first=first, threads=threads or self.decoder.threads,
        )  # fmt: skip
        dealt = [[list(batch) for batch in shard] for shard in shards]
        ready = self.decoder._native_weights(weights)
        (mixed, collected, squares, information), figures = self._native.epoch(
            ready, start, pace, list(fixed), dealt, ranking
        )
        return Ranked(mixed, collected, squares, information, figures)


def _texts(lines: Sequence[str] | Texts) -> Texts:
    return lines if isinstance(lines, Texts) else Texts(list(lines))


def _native(model: Model, part: Part) -> tuple[str, str, list[tuple[str, str]]]:
    options = {
        name: os.fspath(model.folder / str(value)) if is_file(name) else value for name, value in part.options.items()
    }
    return part.kind, part.name, [(name, _plain(value)) for name, value in options.items()]


def _plain(value: Option) -> str:
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)


def _wanted(model: Model) -> Search:
    known = {f.name for f in fields(Search)}
    for name in model.search:
        if name not in known:
            raise OptionError(f"{model.folder}: unknown search setting `{name}`; {closest(name, known)}")
    return Search(**model.search)


def _named(names: Names, rows: Sequence[tuple[int, float]]) -> dict[str, float]:
    summed: dict[str, float] = {}
    for feature, value in rows:
        name = names[feature]
        summed[name] = summed.get(name, 0.0) + value
    return summed


def mbr(candidates: Candidates, metric: Metric, scale: float = 1.0) -> I64:
    """For each sentence the candidate with the least expected loss (the row; -1 where there is none).

    Candidates are believed with probability proportional to exp(scale x model score); the loss is the metric's, for a
    candidate against each other one as the reference.
    """
    if candidates.totals is None:
        raise OptionError("minimum Bayes risk needs the model scores of the candidates")
    chosen = np.full(len(candidates), -1, dtype=np.int64)
    level = metric.sentence_level()
    sign = 1.0 if metric.higher_is_better else -1.0
    for sentence, (first, last) in enumerate(zip(candidates.starts[:-1], candidates.starts[1:], strict=True)):
        if last > first:
            rows = np.arange(first, last, dtype=np.int64)
            gains = sign * _pairwise(candidates.texts.take(rows), level)
            logits = scale * candidates.totals[rows]
            belief = np.exp(logits - logits.max())
            chosen[sentence] = first + int(np.argmax(gains @ (belief / belief.sum())))
    return chosen


def _pairwise(texts: Texts, metric: Metric) -> F64:
    """The score of each text (row) against each (column) as its reference."""
    count = len(texts)
    references = metric.prepare([[text] for text in texts.to_list()])
    every = np.arange(count, dtype=np.int64)
    pairs = Hypotheses(texts.take(np.tile(every, count)), np.repeat(every, count))
    scores: F64 = metric.score(references.statistics(pairs)).reshape(count, count).T
    return scores
