"""Which models a server has: by name, loaded or not; changed while requests go on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.errors import InputError, OptionError
from dragoman.model import MANIFEST, Model
from dragoman.options import closest
from dragoman.serve.decoders import Decoder
from dragoman.serve.frames import Applied, Apply

__all__ = ["Entry", "Models", "NoModel", "named"]


class NoModel(Exception):
    """No model fits what was asked."""


@dataclass
class Entry:
    """A model that may be served."""

    name: str
    folder: str
    """Where it is; empty for one that was given open."""
    source: str
    target: str
    system: str
    signature: str
    loaded: bool = False
    revision: int = 0
    weights: dict[str, float] | None = None
    """Those that were changed since it was loaded."""
    about: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """What users are told; never where it is."""
        return {
            "name": self.name, "source": self.source, "target": self.target, "system": self.system,
            "signature": self.signature, "loaded": self.loaded, "revision": self.revision,
            "weights_hash": self.about.get("weights_hash", ""), "features": self.about.get("features", {}),
        }  # fmt: skip


def named(given: str) -> tuple[str, str]:
    """The name and the place of `NAME=FOLDER`, or of a folder, whose name is taken."""
    name, equals, folder = given.partition("=")
    if equals and "/" not in name:
        return name, folder
    return Path(given).resolve().name or "model", given


class Models:
    """The models of a server."""

    def __init__(self, decoders: list[Decoder], *, trust: bool = False) -> None:
        self._decoders = decoders
        self._entries: dict[str, Entry] = {}
        self._trust = trust
        self._lock: asyncio.Lock | None = None

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All of them, by name."""
        return self._entries

    def offer(self, name: str, folder: str, *, loaded: bool) -> None:
        """A model that may be served, from now on or when somebody asks for it."""
        opened = Model.open(folder)
        if not name or len(name) > 100 or not all(c.isalnum() or c in "._-" for c in name):
            raise OptionError(f"expected a name of letters, digits, `.`, `_` and `-` for a model, found `{name}`")
        if name in self._entries:
            raise OptionError(f"two models have the name {name}: say NAME=FOLDER")
        self.add(name, opened, str(opened.folder.resolve()), loaded=loaded)

    def add(self, name: str, model: Model, folder: str, *, loaded: bool) -> Entry:
        """Takes a model."""
        source, target = (str(code) for code in model.text.get("languages", ["", ""]))
        entry = Entry(name, folder, source or "src", target or "tgt", model.system, model.signature, loaded)
        entry.revision = int(loaded)
        self._entries[name] = entry
        return entry

    def offer_all(self, folder: str) -> None:
        """The models in a folder, which may be loaded later."""
        place = Path(folder)
        if not place.is_dir():
            raise InputError(f"{folder}: expected a folder with models in it", folder)
        for inside in sorted(place.iterdir()):
            if (inside / MANIFEST).is_file() and inside.name not in self._entries:
                self.offer(inside.name, str(inside), loaded=False)

    def state(self) -> list[Apply]:
        """What a new decoder must open."""
        return [
            Apply(0, "load", entry.name, entry.folder, entry.weights, self._trust)
            for entry in self._entries.values()
            if entry.loaded and entry.folder
        ]

    def get(self, name: str) -> Entry:
        """The model of a name."""
        entry = self._entries.get(name)
        if entry is None:
            raise NoModel(f"there is no model `{name[:100]}`; {closest(name[:100], self._entries)}")
        return entry

    def find(self, source: str, target: str) -> Entry:
        """The loaded model of a pair of languages, the first that was named."""
        pairs = [e for e in self._entries.values() if e.loaded]
        for entry in pairs:
            if (entry.source, entry.target) == (source, target):
                return entry
        known = ", ".join(dict.fromkeys(f"{e.source}-{e.target}" for e in pairs)) or "none"
        raise NoModel(f"no model translates {source[:40]} to {target[:40]}; loaded: {known}")

    def loaded(self) -> list[Entry]:
        """Those that translate now."""
        return [entry for entry in self._entries.values() if entry.loaded]

    async def refresh(self) -> None:
        """Asks what is loaded for its features and weights."""
        for entry in self.loaded():
            if entry.folder and not entry.about:
                await self._apply(Apply(0, "info", entry.name), entry)

    async def load(self, name: str) -> Entry:
        """Opens a model in all decoders; its weights are those of its folder."""
        entry = self.get(name)
        if not entry.folder:
            raise OptionError(f"the model {name} was given open: it can be neither loaded nor unloaded")
        async with self._alone():
            fresh = Model.open(entry.folder)
            entry.signature, entry.system = fresh.signature, fresh.system
            await self._apply(Apply(0, "load", name, entry.folder, None, self._trust), entry)
            entry.loaded, entry.weights, entry.revision = True, None, entry.revision + 1
        return entry

    async def unload(self, name: str) -> Entry:
        """Lets go of a model; requests under way end well."""
        entry = self.get(name)
        if not entry.folder:
            raise OptionError(f"the model {name} was given open: it can be neither loaded nor unloaded")
        async with self._alone():
            entry.loaded, entry.about = False, {}
            await self._apply(Apply(0, "unload", name), entry)
        return entry

    async def weights(self, name: str, changes: dict[str, float] | None) -> Entry:
        """Changes weights, or takes those of the folder again; requests under way end with the old ones."""
        entry = self.get(name)
        if not entry.loaded:
            raise NoModel(f"the model {name} is not loaded")
        async with self._alone():
            await self._apply(Apply(0, "weights", name, weights=changes), entry)
            if entry.folder:
                entry.weights = None if changes is None else entry.about.get("all_weights")
            entry.revision += 1
        return entry

    def _alone(self) -> asyncio.Lock:
        """One change at a time."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock

    async def _apply(self, change: Apply, entry: Entry) -> None:
        """Changes all decoders; the first one to refuse stops it."""
        for decoder in self._decoders:
            done: Applied = await decoder.apply(
                Apply(0, change.what, change.model, change.folder, change.weights, change.trust)
            )
            if done.error is not None:
                raise OptionError(done.error)
            if done.about:
                entry.about = done.about
