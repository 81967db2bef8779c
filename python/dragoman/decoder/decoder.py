"""The decoder: translates with a model, and gives n-best lists, lattices, alignments and explanations.

>>> decoder = Decoder("model")                                                # doctest: +SKIP
>>> decoder.translate(["ein haus"])                                           # doctest: +SKIP
['a house']
>>> candidates = decoder.nbest(["ein haus"], size=100)                        # doctest: +SKIP
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dragoman._core import NativeSystem, NativeWeights, TranslationColumns, TranslationStream, get_threads
from dragoman.decoder.constraints import Constraints
from dragoman.decoder.derivation import Derivation, Phrase
from dragoman.decoder.forest import Arc, Lattice
from dragoman.decoder.opened import Sent, brought, open_system, received, sent
from dragoman.decoder.search import Search, Settings
from dragoman.errors import OptionError
from dragoman.features import Parsed, extended, lacking, parsed
from dragoman.model import Model
from dragoman.options import made
from dragoman.preprocess import Preparation
from dragoman.types import F64, Candidates, Features, Names, Texts, Weights
from dragoman.user_features import RuleFeature, StateFeature

__all__ = ["Decoder", "as_texts"]

_FORCED_STACK = 10_000
"""Hypotheses that a stack keeps when the target is given: few fit, and none should be lost."""


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
    `pt,al,lo,sparse-hrm:words=80,classes=50+20` (see `dragoman.features`). Features in Python that a model brings along
    run only with `trust`. All methods take and give words between spaces as the model has them; `text` leads from plain
    text to these and back:

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
        trust: bool = False,
    ) -> None:
        opened = model if isinstance(model, Model) else Model.open(model)
        more = parsed(features, opened.folder) if features else Parsed([], [], [])
        users = [*brought(opened, trust), *more.users, *extra]
        self.model = extended(opened, [*more.parts, *more.described])
        self._begin(open_system(self.model, users), users, search, weights, threads)
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
        weights = None if self.weights is self.model.weights else self.weights
        return _received, (sent(self.model, self._extra), self.search, weights, self.threads)

    @cached_property
    def text(self) -> Preparation:
        """What is done to plain text before and after translation: tokenised and cased as the training text was."""
        return Preparation(self.model.preparation, self.model.folder)

    @property
    def extra(self) -> Sequence[RuleFeature | StateFeature]:
        """The features in Python, those of the model and those that were given."""
        return self._extra

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
        constraints: Sequence[Constraints] | None = None,
    ) -> list[str]:
        """The best translation of each line; an empty line's is empty. Words stand between blanks on both sides."""
        return self._run(lines, weights, self._settings(), constraints).texts.to_list()

    def nbest(
        self,
        lines: Sequence[str] | Texts,
        size: int = 100,
        *,
        distinct: bool = True,
        features: bool = True,
        phrases: bool = False,
        weights: Weights | None = None,
        constraints: Sequence[Constraints] | None = None,
    ) -> Candidates:
        """The best translations of each line with features, scores and alignments, sorted by score.

        `distinct` lists every text once, by its best derivation. `phrases` writes the phrases of each derivation to
        `extra`, as `0-2:0-1`: the source words from 0 up to 2 became the target words from 0 up to 1; `!` marks those
        that no table has.
        """
        if size < 1:
            raise OptionError(f"expected a list of at least 1 translation, found {size}")
        settings = replace(self._settings(), size=size, distinct=distinct, features=features)
        return self._run(lines, weights, settings, constraints, phrases=phrases)

    def force(
        self,
        lines: Sequence[str] | Texts,
        targets: Sequence[str] | Texts,
        *,
        weights: Weights | None = None,
        constraints: Sequence[Constraints] | None = None,
    ) -> Candidates:
        """The best derivation of each given target (constrained decoding); an empty list where there is none.

        Only options that fit the target take part, all of them, and the distortion limit holds. Stacks keep at least
        10,000 hypotheses, so that only very long or very repetitive targets can be missed.
        """
        if len(lines) != len(targets):
            raise OptionError(f"expected a target for each of {len(lines)} lines, found {len(targets)}")
        wide = max(self.search.stack_size, _FORCED_STACK)
        settings = replace(
            self._settings(), features=True, table_limit=0, pop_limit=0, stack_size=wide, threshold=float("inf")
        )
        return self._run(lines, weights, settings, constraints, as_texts(targets))

    def explain(
        self, line: str, *, weights: Weights | None = None, constraints: Constraints | None = None
    ) -> Derivation:
        """The best derivation of a line with every feature's value."""
        used = weights if weights is not None else self.weights
        wanted = None if constraints is None else constraints.native()
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
        constraints: Constraints | None = None,
    ) -> Lattice:
        """The recombined search graph of a line."""
        settings = replace(self._settings(), features=features)
        wanted = None if constraints is None else constraints.native()
        nodes, finals, arcs = self._system.lattice(line, self._native_weights(weights), settings, wanted)
        made = [Arc(a.start, a.end, a.text, a.span, a.score, _named(self.names, a.features)) for a in arcs]
        return Lattice(nodes, finals, made)

    def stream(
        self,
        lines: Iterable[str | tuple[str, Constraints]],
        size: int = 1,
        *,
        distinct: bool = True,
        features: bool = False,
        phrases: bool = False,
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
                    line, constraints = (item, None) if isinstance(item, str) else (item[0], item[1].native())
                    if not pool.push(line, constraints):
                        return
            except BaseException as error:  # told to the taker, below
                failed.append(error)
            finally:
                pool.close()

        threading.Thread(target=feed, daemon=True).start()
        try:
            number = 0
            while (columns := pool.take()) is not None:
                yield self._candidates(columns, Texts([str(number)]), phrases)
                number += 1
        finally:
            pool.stop()
        if failed:
            raise failed[0]

    def _settings(self) -> Settings:
        return Settings(**{f.name: getattr(self.search, f.name) for f in fields(Search)})

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
            raise OptionError(
                f"the model has no feature `{name}`; {lacking(name, used, self.dense, self._system.sets)}"
            )
        ready = self._system.weights(used.names, used.values)
        return _Native(ready, None if used.steps else used.values.copy())

    def _run(
        self,
        lines: Sequence[str] | Texts,
        weights: Weights | None,
        settings: Settings,
        constraints: Sequence[Constraints] | None,
        targets: Texts | None = None,
        threads: int | None = None,
        phrases: bool = False,
    ) -> Candidates:
        ready = self._native_weights(weights)
        texts = as_texts(lines)
        if constraints is not None and len(constraints) != len(texts):
            raise OptionError(f"expected constraints for each of {len(texts)} lines, found {len(constraints)}")
        wanted = None if constraints is None else [d.native() for d in constraints]
        columns = self._system.translate(texts, ready, settings, wanted, targets, threads or self.threads)
        return self._candidates(columns, Texts([str(i) for i in range(len(texts))]), phrases)

    def _candidates(self, found: TranslationColumns, ids: Texts, phrases: bool = False) -> Candidates:
        listed = Features(self.names, found.rows, found.features, found.values)
        extra = found.phrases if phrases else None
        return Candidates(
            ids, found.starts, found.texts, listed, totals=found.scores, alignments=found.links, extra=extra
        )


def _received(what: Sent, search: Search, weights: Weights | None, threads: int | None) -> Decoder:
    """The decoder that another process sent."""
    model, system, extra = received(what)
    decoder = Decoder.__new__(Decoder)
    decoder.model = model
    decoder._begin(system, extra, search, weights, threads)
    return decoder


def as_texts(lines: Sequence[str] | Texts) -> Texts:
    """Lines in columns."""
    return lines if isinstance(lines, Texts) else Texts(list(lines))


def _wanted(model: Model) -> Search:
    return made(Search, model.search, what=f"{model.folder}: search settings")


def _named(names: Names, rows: Sequence[tuple[int, float]]) -> dict[str, float]:
    summed: dict[str, float] = {}
    for feature, value in rows:
        name = names[feature]
        summed[name] = summed.get(name, 0.0) + value
    return summed
