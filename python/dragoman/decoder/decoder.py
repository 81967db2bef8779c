"""The decoder: translates with a model, and gives n-best lists, forests, alignments and explanations.

>>> decoder = Decoder("model")                                                # doctest: +SKIP
>>> decoder.translate(["ein haus"])                                           # doctest: +SKIP
['a house']
>>> candidates = decoder.nbest(["ein haus"], size=100)                        # doctest: +SKIP
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dragoman._core import NativeSystem, NativeWeights, TranslationColumns, TranslationStream, get_threads
from dragoman.decoder.constraints import Constraints
from dragoman.decoder.derivation import Derivation, Phrase
from dragoman.decoder.forest import Forest
from dragoman.decoder.opened import Sent, brought, open_system, received, sent
from dragoman.decoder.search import Patience, Search, Settings, check_system
from dragoman.errors import OptionError
from dragoman.features import Parsed, extended, lacking, parsed
from dragoman.glossary import FEATURE, Glossary, glossary_of
from dragoman.model import PHRASE, Model, Part
from dragoman.options import made
from dragoman.preprocess import Preparation
from dragoman.types import F64, Candidates, Features, ForestColumns, Names, Texts, Weights
from dragoman.user_features import RuleFeature, StateFeature

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Decoder", "as_texts"]

_FORCED_STACK = 10_000
"""Hypotheses that a stack keeps when the target is given: few fit, and none should be lost."""
_FORCED_POPS = 100_000
"""Combinations that a cell takes then."""


class _Native(NamedTuple):
    """Weights as the search wants them."""

    weights: NativeWeights
    values: F64 | None
    """What they were made from, where somebody else may have changed that since."""

    def holds(self, weights: Weights) -> bool:
        return self.values is None or np.array_equal(self.values, weights.values)


_LEAST_READY = 4
"""Weights that a decoder keeps ready, however many features they have: online tuning has several under way at once."""
_MOST_READY = 16
"""The same for weights of few features: threads may each come with their own."""
_MOST_VALUES = 1 << 22
"""Values of all weights together from which on they are many: 16 MB."""


class Decoder:
    """Translates with a model. The tables are mapped and shared; weights may change with every call.

    `model` is a folder that `dragoman train` made, or an opened `Model`. `features` adds sparse feature sets, such as
    `pt,al,lo,sparse-hrm:words=80,classes=50+20` (see `dragoman.features`). Features in Python that a model brings along
    run only with `trust`. A `glossary` with a finite weight adds the feature `Glossary`; its terms are looked for by
    `Translator` and in tuning, for the methods here they are constraints as others. All methods take and give words
    between spaces as the model has them; `text` leads from plain text to these and back:

        decoder.text.after(decoder.translate(decoder.text.before(["Ein Haus."])))

    Any number of threads may call it at once: a call with one line is done by the thread that calls, while the others
    go on. `close()`, or the end of a `with` block, lets go of the tables.
    """

    weights: Weights
    glossary: Glossary | None

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
        glossary: Glossary | None = None,
    ) -> None:
        opened = model if isinstance(model, Model) else Model.open(model)
        more = parsed(features, opened.folder) if features else Parsed([], [], [])
        users = [*brought(opened, trust), *more.users, *extra]
        self.glossary = glossary_of(opened, glossary)
        terms = _counted(opened, glossary, opened.weights if weights is None else weights)
        self.model = extended(opened, [*more.parts, *more.described, *terms])
        self._begin(open_system(self.model, users), users, search, weights, threads)
        weight = None if glossary is None else glossary.weight
        if weight is not None and math.isfinite(weight):
            self.weights = Weights.of({**self.weights.to_dict(), FEATURE: weight})
        self._settings()
        self._native_weights(None)

    def _begin(
        self,
        system: NativeSystem,
        extra: Sequence[RuleFeature | StateFeature],
        search: Search | None,
        weights: Weights | None,
        threads: int | None,
    ) -> None:
        self._opened: NativeSystem | None = system
        self._extra = extra
        self._vocabulary: Names | None = None
        self._names = system.names
        self.search = search if search is not None else _wanted(self.model)
        self.threads = threads
        self._chosen: tuple[Search, Settings] | None = None
        self._ready: OrderedDict[object, _Native] = OrderedDict()
        self._newest: tuple[object, _Native] | None = None
        self._lock = threading.Lock()
        self.weights = self.model.weights if weights is None else weights

    def __reduce__(self) -> tuple[Any, ...]:
        """As the model's folder, options, and weights by name: the other process opens the model itself, once."""
        if self._opened is None:
            raise self._closed()
        weights = None if self.weights is self.model.weights else self.weights
        return _received, (sent(self.model, self._extra), self.search, weights, self.threads)

    def __enter__(self) -> Self:
        if self._opened is None:
            raise self._closed()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the model's tables and of prepared weights. Calls that are under way on other threads end well."""
        with self._lock:
            self._opened = None
            self._newest = None
            self._ready.clear()

    @property
    def _system(self) -> NativeSystem:
        """The opened tables. A call asks once, so that one under way ends well when another thread closes."""
        system = self._opened
        if system is None:
            raise self._closed()
        return system

    def _closed(self) -> OptionError:
        return OptionError(f"the decoder of {self.model.folder} is closed: open it anew with Decoder(...)")

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
    def counts_terms(self) -> bool:
        """Whether a feature counts terms of a glossary."""
        return any(part.name == FEATURE for part in self.model.parts)

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
        return self._found(as_texts(lines), weights, self._settings(), constraints).texts.to_list()

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
        patience: Patience | None = None,
    ) -> Candidates:
        """The best translations of each line with features, scores and alignments, sorted by score.

        `distinct` lists every text once, by its best derivation. `phrases` writes the phrases of each derivation to
        `extra`, as `0-2:0-1`: the source words from 0 up to 2 became the target words from 0 up to 1; `!` marks those
        that no table has. `patience` ends the search early; lists of many lines are made by the thread that calls then.
        """
        return self.listed(
            lines, size, distinct=distinct, features=features, phrases=phrases, weights=weights,
            constraints=constraints, patience=patience,
        )[0]  # fmt: skip

    def listed(
        self,
        lines: Sequence[str] | Texts,
        size: int = 100,
        *,
        distinct: bool = True,
        features: bool = True,
        phrases: bool = False,
        weights: Weights | None = None,
        constraints: Sequence[Constraints] | None = None,
        patience: Patience | None = None,
    ) -> tuple[Candidates, Sequence[bool]]:
        """The lists of `nbest`, and for each line whether its search ran out of time or memory."""
        if size < 1:
            raise OptionError(f"expected a list of at least 1 translation, found {size}")
        settings = replace(self._settings(patience), size=size, distinct=distinct, features=features)
        texts, threads = as_texts(lines), None if patience is None else 1
        columns = self._found(texts, weights, settings, constraints, threads=threads)
        return self._candidates(columns, Texts([str(i) for i in range(len(texts))]), phrases), columns.narrow

    def force(
        self,
        lines: Sequence[str] | Texts,
        targets: Sequence[str] | Texts,
        *,
        weights: Weights | None = None,
        constraints: Sequence[Constraints] | None = None,
        patience: Patience | None = None,
    ) -> Candidates:
        """The best derivation of each given target (constrained decoding); an empty list where there is none.

        Only rules that fit the target take part, all of them, and distortion and span limits hold. Stacks keep at least
        10,000 hypotheses, and cells take 100,000, so that only very long or very repetitive targets can be missed.
        """
        if len(lines) != len(targets):
            raise OptionError(f"expected a target for each of {len(lines)} lines, found {len(targets)}")
        wide = max(self.search.stack_size, _FORCED_STACK)
        pops = 0 if self.model.system == PHRASE else _FORCED_POPS
        settings = replace(
            self._settings(patience), features=True, table_limit=0, pop_limit=pops, stack_size=wide, cell_limit=0,
            threshold=float("inf"),
        )  # fmt: skip
        return self._run(lines, weights, settings, constraints, as_texts(targets))

    def explain(
        self,
        line: str,
        *,
        weights: Weights | None = None,
        constraints: Constraints | None = None,
        patience: Patience | None = None,
    ) -> Derivation:
        """The best derivation of a line with every feature's value."""
        system, used = self._system, self.weights if weights is None else weights
        wanted = None if constraints is None else constraints.native()
        score, text, steps = system.explain(line, self._ready_for(system, used), self._settings(patience), wanted)
        phrases = [
            Phrase(s.start, s.end, s.source, s.target, s.origin, _named(self.names, s.features), s.depth) for s in steps
        ]
        fired = dict.fromkeys(name for phrase in phrases for name in phrase.features)
        return Derivation(score, phrases, {name: used[name] for name in fired}, text)

    def forest(
        self,
        line: str,
        *,
        features: bool = False,
        density: float = 0.0,
        weights: Weights | None = None,
        constraints: Constraints | None = None,
        patience: Patience | None = None,
    ) -> Forest:
        """All derivations of a line that the search kept; `density` edges for each source word, or all (0)."""
        wanted = None if constraints is None else [constraints]
        found = self._forests(as_texts([line]), weights, wanted, features=features, density=density, patience=patience)
        return Forest(found)

    def _forests(
        self,
        lines: Texts,
        weights: Weights | None,
        constraints: Sequence[Constraints] | None = None,
        *,
        features: bool = True,
        density: float = 0.0,
        threads: int | None = None,
        patience: Patience | None = None,
    ) -> ForestColumns:
        """The forests of some lines."""
        system, settings = self._system, replace(self._settings(patience), features=features)
        wanted = None if constraints is None else [wish.native() for wish in constraints]
        ready = self._ready_for(system, weights)
        found = system.forests(lines, ready, settings, density, wanted, threads or self.threads)
        return ForestColumns(Texts([str(number) for number in range(len(lines))]), self.names, found)

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
        system, settings = self._system, replace(self._settings(), size=size, distinct=distinct, features=features)
        ready = self._ready_for(system, weights)
        threads = self.threads or get_threads() or os.cpu_count() or 1
        pool = TranslationStream(system, ready, settings, threads, 64 * threads)
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

    def _settings(self, patience: Patience | None = None) -> Settings:
        """What `search` says, made once, as neither of them can change; for a caller who waits so long."""
        settings = self._searched()
        if patience is None:
            return settings
        limits = [seconds for seconds in (settings.deadline, patience.seconds) if seconds > 0]
        return replace(settings, deadline=min(limits, default=0.0), stop=patience.stop)

    def _searched(self) -> Settings:
        search, chosen = self.search, self._chosen
        if chosen is None or chosen[0] is not search:
            check_system(search, self.model.system)
            chosen = search, Settings(**{f.name: getattr(search, f.name) for f in fields(Search)})
            self._chosen = chosen
        return chosen[1]

    def check_weights(self, weights: Weights) -> None:
        """Refuses weights with a name that no feature of this model can have; those that pass are ready for use."""
        self._native_weights(weights)

    def _native_weights(self, weights: Weights | None) -> NativeWeights:
        return self._ready_for(self._system, weights)

    def _ready_for(self, system: NativeSystem, weights: Weights | None) -> NativeWeights:
        """Weights as the search wants them; those of features that the model cannot have are an error."""
        used = self.weights if weights is None else weights
        native = self._known(used.mark)
        if native is None or not native.holds(used):
            # Not under the lock: threads that come with other weights need not wait.
            native = self._changed(system, used) or self._prepared(system, used)
            self._keep(used.mark, native)
        return native.weights

    def _known(self, mark: object) -> _Native | None:
        """Weights that are ready, by their mark; those that are asked for stay longest."""
        # Mostly all callers use the same weights. These are read in one step, without the lock: a thread that loses its
        # processor while it holds the lock would keep all others waiting.
        newest = self._newest
        if newest is not None and newest[0] is mark:
            return newest[1]
        with self._lock:
            native = self._ready.get(mark)
            if native is not None:
                self._ready.move_to_end(mark)
                self._newest = mark, native
            return native

    def _keep(self, mark: object, native: _Native) -> None:
        with self._lock:
            if self._opened is None:
                return  # closed meanwhile
            self._ready[mark] = native
            self._ready.move_to_end(mark)
            self._newest = mark, native
            values = sum(len(ready.weights) for ready in self._ready.values())
            while len(self._ready) > (_LEAST_READY if values > _MOST_VALUES else _MOST_READY):
                _, old = self._ready.popitem(last=False)
                values -= len(old.weights)

    def _changed(self, system: NativeSystem, used: Weights) -> _Native | None:
        """From weights that are ready and that these came from, if there are any."""
        for last in range(len(used.steps) - 1, -1, -1):
            native = self._known(used.steps[last].before)
            if native is not None:
                ready = native.weights
                for change in used.steps[last:]:
                    ready = ready.changed(system.numbers(used.names, change.columns), change.values)
                return _Native(ready, None)
        return None

    def _prepared(self, system: NativeSystem, used: Weights) -> _Native:
        name = system.unknown(used.names)
        if name is not None:
            raise OptionError(f"the model has no feature `{name}`; {lacking(name, used, self.dense, system.sets)}")
        ready = system.weights(used.names, used.values)
        return _Native(ready, None if used.steps else used.values.copy())

    def _run(
        self,
        lines: Sequence[str] | Texts,
        weights: Weights | None,
        settings: Settings,
        constraints: Sequence[Constraints] | None,
        targets: Texts | None = None,
        threads: int | None = None,
    ) -> Candidates:
        texts = as_texts(lines)
        columns = self._found(texts, weights, settings, constraints, targets, threads)
        return self._candidates(columns, Texts([str(i) for i in range(len(texts))]))

    def _found(
        self,
        texts: Texts,
        weights: Weights | None,
        settings: Settings,
        constraints: Sequence[Constraints] | None,
        targets: Texts | None = None,
        threads: int | None = None,
    ) -> TranslationColumns:
        system = self._system
        ready = self._ready_for(system, weights)
        if constraints is not None and len(constraints) != len(texts):
            raise OptionError(f"expected constraints for each of {len(texts)} lines, found {len(constraints)}")
        wanted = None if constraints is None else [d.native() for d in constraints]
        return system.translate(texts, ready, settings, wanted, targets, threads or self.threads)

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
    decoder.model, decoder.glossary = model, None
    decoder._begin(system, extra, search, weights, threads)
    return decoder


def as_texts(lines: Sequence[str] | Texts) -> Texts:
    """Lines in columns."""
    return lines if isinstance(lines, Texts) else Texts(list(lines))


def _counted(model: Model, glossary: Glossary | None, weights: Weights) -> list[Part]:
    """The part that counts terms, where they have a weight and the model has no such part."""
    if glossary is None or any(part.name == FEATURE for part in model.parts):
        return []
    finite = glossary.weight is not None and math.isfinite(glossary.weight)
    return [glossary.part()] if finite or (glossary.weight is None and FEATURE in weights.names) else []


def _wanted(model: Model) -> Search:
    return made(Search, model.search, what=f"{model.folder}: search settings")


def _named(names: Names, rows: Sequence[tuple[int, float]]) -> dict[str, float]:
    summed: dict[str, float] = {}
    for feature, value in rows:
        name = names[feature]
        summed[name] = summed.get(name, 0.0) + value
    return summed
