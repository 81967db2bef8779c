"""Models that do batches of lines: in a process of their own, or on threads of the server."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dragoman import weights as weights_files
from dragoman._core import Stop
from dragoman.decoder import Constraints, Forest, Patience
from dragoman.errors import DragomanError, OptionError
from dragoman.glossary import Glossary
from dragoman.model import WEIGHTS, weights_hash
from dragoman.request import Asker, Request
from dragoman.serve.frames import Applied, Apply, Batch, Constraint, Done, Found, Recipe
from dragoman.translator import Translation, Translator, load
from dragoman.types import Weights

__all__ = ["Runner"]

_MOST_GLOSSARIES = 32
"""Glossaries of requests that are kept ready: a page sends its own with every key stroke."""
_SHARE = 100.0
"""Confidence is a percentage."""


class _Loaded(NamedTuple):
    """A revision of a model: tables, which several may share, and weights."""

    translator: Translator
    weights: Weights


class Runner:
    """Has models open and does what batches say. Any number of threads may call it."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, int], _Loaded] = {}
        self._stops: dict[int, Stop] = {}
        self._glossaries: OrderedDict[Any, Glossary] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, translator: Translator) -> None:
        """Takes a model that is open already, as its first revision."""
        self._models[name, 1] = _Loaded(translator, translator.weights)

    def revisions(self) -> list[tuple[str, int]]:
        """What it has open."""
        return sorted(self._models)

    def cancel(self, number: int) -> None:
        """Nobody wants a batch any more: its search ends soon."""
        stop = self._stops.get(number)
        if stop is not None:
            stop.stop()

    def expect(self, number: int) -> None:
        """A batch will be run: from now on it can be cancelled."""
        self._stops[number] = Stop()

    def run(self, batch: Batch) -> Done:
        """Does a batch; the answer says what went wrong with it."""
        began = time.perf_counter()
        stop = self._stops.setdefault(batch.number, Stop())
        try:
            found = self._found(batch, stop)
            refused, fault = "stopped" if stop.stopped else None, None
        except DragomanError as error:
            found, refused, fault = [], str(error), None
        except Exception as error:  # the server goes on
            found, refused, fault = [], None, f"{type(error).__name__}: {error}"
        finally:
            self._stops.pop(batch.number, None)
        return Done(batch.number, found, time.perf_counter() - began, refused, fault)

    def _found(self, batch: Batch, stop: Stop) -> list[Found]:
        loaded = self._loaded(batch.recipe.model, batch.recipe.revision)
        patience = Patience(batch.seconds, stop)
        if stop.stopped:
            raise OptionError("stopped")
        work = _Work(loaded.translator, loaded.weights, batch.recipe, patience, self._glossary(batch.recipe))
        return work.done(batch)

    def _loaded(self, name: str, revision: int) -> _Loaded:
        loaded = self._models.get((name, revision))
        if loaded is None:
            raise OptionError(f"the model {name} is not loaded")
        return loaded

    def _glossary(self, recipe: Recipe) -> Glossary | None:
        """The glossary of a request, made once: what is kept ready for it in the model hangs on the object."""
        if recipe.glossary is None:
            return None
        with self._lock:
            known = self._glossaries.get(recipe.glossary)
            if known is None:
                known = self._glossaries[recipe.glossary] = Glossary.of({s: list(t) for s, t in recipe.glossary})
            self._glossaries.move_to_end(recipe.glossary)
            while len(self._glossaries) > _MOST_GLOSSARIES:
                self._glossaries.popitem(last=False)
            return known

    def apply(self, change: Apply) -> Applied:
        """Changes the models; requests under way end with what they began with."""
        try:
            return Applied(change.number, None, getattr(self, f"_{change.what}")(change))
        except DragomanError as error:
            return Applied(change.number, str(error))

    def _load(self, change: Apply) -> dict[str, Any]:
        chosen = None if change.weights is None else Weights.of(change.weights)
        opened = load(change.folder, trust=change.trust, threads=1, weights=chosen)
        self._models[change.model, change.revision] = _Loaded(opened, opened.weights)
        return self._info(change)

    def _weights(self, change: Apply) -> dict[str, Any]:
        base = self._loaded(change.model, change.base)
        if change.weights is None:
            new = weights_files.load(base.translator.model.folder / WEIGHTS)
        else:
            new = Weights.of({**base.weights.to_dict(), **change.weights})
        base.translator.decoder.check_weights(new)
        self._models[change.model, change.revision] = _Loaded(base.translator, new)
        return {**self._info(change), "all_weights": new.to_dict()}

    def _drop(self, change: Apply) -> dict[str, Any]:
        """Tables go with the last revision that has them, when no search uses them."""
        self._models.pop((change.model, change.revision), None)
        return {}

    def _info(self, change: Apply) -> dict[str, Any]:
        """What the server tells of a model."""
        loaded = self._loaded(change.model, change.revision)
        decoder, used = loaded.translator.decoder, loaded.weights
        return {
            "weights_hash": weights_hash(used), "system": decoder.model.system,
            "features": {feature: float(used[feature]) for feature in decoder.dense},
        }  # fmt: skip


@dataclass
class _Work:
    """One batch and all it needs."""

    model: Translator
    weights: Weights
    recipe: Recipe
    patience: Patience
    glossary: Glossary | None

    def done(self, batch: Batch) -> list[Found]:
        if self.recipe.kind == "score":
            return [self._score(line, target) for line, target in zip(batch.lines, batch.targets or [], strict=True)]
        if self.recipe.kind == "detect":
            return [self._known(line) for line in batch.lines]
        asker = self.model.asker(self.recipe.tokenized, self.glossary, self.weights)
        plain = batch.constraints is None and asker.matcher is None and not self.recipe.tokenized
        if plain and not (self.recipe.detail or self.recipe.nbest > 1):
            return self._texts(batch.lines)
        return self._details(batch, asker)

    def _texts(self, lines: Sequence[str]) -> list[Found]:
        """Translations and no more: all lines at once."""
        text = self.model.decoder.text
        best, narrow = self.model.decoder.listed(
            text.before(lines), 1, features=False, weights=self.weights, patience=self.patience
        )
        return [Found(found, None, late) for found, late in zip(text.after(best.texts.to_list()), narrow, strict=True)]

    def _details(self, batch: Batch, asker: Asker) -> list[Found]:
        asked: list[Request | Found] = []
        for number, line in enumerate(batch.lines):
            try:
                asked.append(asker.ask(line, _constraints(batch.constraints[number] if batch.constraints else None)))
            except OptionError as error:  # noqa: PERF203  of this line alone
                asked.append(Found(error=str(error)))
        good = [request for request in asked if isinstance(request, Request)]
        lists: list[list[Translation] | Found] = []
        try:
            lists += self._searched(good, asker) if good else []
        except OptionError as error:
            if len(good) == 1 or (self.patience.stop is not None and self.patience.stop.stopped):
                lists = [Found(error=str(error))] * len(good)
            else:  # of one of them: which one, and what about the others?
                lists = [self._alone(request, asker) for request in good]
        left = iter(lists)
        return [one if isinstance(one, Found) else self._shown(one, next(left)) for one in asked]

    def _alone(self, request: Request, asker: Asker) -> list[Translation] | Found:
        try:
            return self._searched([request], asker)[0]
        except OptionError as error:
            return Found(error=str(error))

    def _searched(self, requests: Sequence[Request], asker: Asker) -> list[list[Translation]]:
        size, features = self.recipe.nbest, self.recipe.explain
        return self.model.found(requests, asker, size, features=features, weights=self.weights, patience=self.patience)

    def _shown(self, request: Request, listed: list[Translation] | Found) -> Found:
        if isinstance(listed, Found):
            return listed
        best = listed[0]
        detail: dict[str, Any] = {}
        if self.recipe.detail:
            detail = best.to_dict()
            detail["source_spans"] = [list(span) for span in best.source_spans]
            detail["target_spans"] = [list(span) for span in best.target_spans]
        if self.recipe.nbest > 1 or self.recipe.explain:
            detail["candidates"] = [self._candidate(one) for one in listed]
        if self.recipe.explain:
            detail |= self._explained(request)
        if self.recipe.lattice:
            forest: Forest = self.model.decoder.forest(
                request.ready, features=True, weights=self.weights, constraints=request.constraints,
                patience=self.patience,
            )  # fmt: skip
            detail["lattice"] = forest.to_json()
        return Found(best.text, None, best.late, detail or None)

    def _candidate(self, one: Translation) -> dict[str, Any]:
        shown: dict[str, Any] = {"text": one.text, "score": one.score}
        if self.recipe.detail:
            shown["alignment"] = [list(pair) for pair in one.alignment]
            shown["words"] = list(one.words)
            shown["target_spans"] = [list(span) for span in one.target_spans]
        if self.recipe.explain:
            features = one.features
            adds = {name: one._weights[name] * value for name, value in features.items()}
            shown["features"] = features
            shown["contributions"] = dict(sorted(adds.items(), key=lambda item: -abs(item[1])))
        return shown

    def _explained(self, request: Request) -> dict[str, Any]:
        """The phrases of the best derivation, each with what features say about it."""
        derivation = self.model.decoder.explain(
            request.ready, weights=self.weights, constraints=request.constraints, patience=self.patience
        )
        phrases = [
            {"source": p.source, "target": p.target, "span": [p.start, p.end], "origin": p.origin, "depth": p.depth,
             "score": sum(derivation.weights.get(n, 0.0) * v for n, v in p.features.items()),
             "features": dict(p.features)}
            for p in derivation.phrases
        ]  # fmt: skip
        return {"phrases": phrases, "weights": dict(derivation.weights)}

    def _score(self, line: str, target: str) -> Found:
        text = self.model.decoder.text
        left, right = ([line], [target]) if self.recipe.tokenized else (text.before([line]), text.reference([target]))
        found = self.model.decoder.force(left, right, weights=self.weights, patience=self.patience)
        if not found.size or found.totals is None:
            return Found(detail={"reachable": False, "score": None})
        detail: dict[str, Any] = {"reachable": True, "score": float(found.totals[0])}
        if self.recipe.explain:
            features = found.features.row(0)
            detail["features"] = dict(features)
            detail["contributions"] = {name: self.weights[name] * value for name, value in features.items()}
        return Found(target, detail=detail)

    def _known(self, line: str) -> Found:
        """Which part of the words the model knows, as a percentage."""
        request = self.model.asker(self.recipe.tokenized, {}, self.weights).ask(line)
        words = len(request.ready.split())
        if not words:
            return Found(detail={"known": 0.0})
        found = self.model.decoder.nbest(
            [request.ready], 1, features=False, phrases=True, weights=self.weights, patience=self.patience
        )
        unknown = sum(span.endswith("!") for span in (found.extra[0] if found.extra is not None else "").split())
        return Found(detail={"known": _SHARE * (words - unknown) / words})


def _constraints(given: Constraint | None) -> Constraints | None:
    if given is None:
        return None
    translations, exclusive, walls, zones = given
    return Constraints([(start, end, text, 0.0) for start, end, text in translations], exclusive, walls, zones)
