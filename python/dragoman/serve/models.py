"""Which models a server has: by name, loaded or not; changed while requests go on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from operator import eq
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary, finalize

from dragoman._core import language_fits
from dragoman.errors import InputError, OptionError
from dragoman.model import MANIFEST, Model
from dragoman.options import closest
from dragoman.serve.decoders import Decoder
from dragoman.serve.frames import Applied, Apply

__all__ = ["Entry", "Models", "NoModel", "Version", "named"]


class NoModel(Exception):
    """No model fits what was asked."""


@dataclass(eq=False)
class Version:
    """A model with its weights. Requests hold the one that they began with, and decoders keep it until none does."""

    name: str
    revision: int
    source: str
    target: str
    folder: str
    weights: dict[str, float] | None = None
    """Those that are not the folder's."""


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
    version: Version | None = None
    """The one for requests that come now; none if the model is not loaded."""
    revision: int = 0
    """It grows with each change."""
    about: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """What users see; never where it is."""
        return {
            "name": self.name, "source": self.source, "target": self.target, "system": self.system,
            "signature": self.signature, "loaded": self.version is not None, "revision": self.revision,
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
        self._live: WeakValueDictionary[tuple[str, int], Version] = WeakValueDictionary()
        """All versions that somebody holds."""
        self._trust = trust
        self._lock: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._drops: set[asyncio.Task[None]] = set()

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
        entry = Entry(name, folder, source or "src", target or "tgt", model.system, model.signature)
        if loaded:
            self._becomes(entry, 1)
        self._entries[name] = entry
        return entry

    def _becomes(self, entry: Entry, revision: int, weights: dict[str, float] | None = None) -> None:
        """Requests from now on have a new version; decoders let go of the old one when no request has it."""
        made = Version(entry.name, revision, entry.source, entry.target, entry.folder, weights)
        self._live[entry.name, revision] = made
        finalize(made, self._unused, entry.name, revision).atexit = False
        entry.version, entry.revision = made, revision

    def _unused(self, name: str, revision: int) -> None:
        """Nobody holds a version any more; any thread may find that out."""
        with suppress(RuntimeError):  # the server has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._drop, name, revision)

    def _drop(self, name: str, revision: int) -> None:
        async def drop() -> None:
            for decoder in self._decoders:
                await decoder.apply(Apply(0, "drop", name, revision))

        task = asyncio.get_running_loop().create_task(drop())
        self._drops.add(task)
        task.add_done_callback(self._drops.discard)

    def offer_all(self, folder: str) -> None:
        """The models in a folder, which may be loaded later."""
        place = Path(folder)
        if not place.is_dir():
            raise InputError(f"{folder}: expected a folder with models in it", folder)
        for inside in sorted(place.iterdir()):
            if (inside / MANIFEST).is_file() and inside.name not in self._entries:
                self.offer(inside.name, str(inside), loaded=False)

    def state(self) -> list[Apply]:
        """What a new decoder must open: what is loaded, and what requests under way began with."""
        return [
            Apply(0, "load", live.name, live.revision, live.folder, live.weights, self._trust)
            for live in self._live.values()
            if live.folder
        ]

    def get(self, name: str) -> Entry:
        """The model of a name."""
        entry = self._entries.get(name)
        if entry is None:
            raise NoModel(f"there is no model `{name[:100]}`; {closest(name[:100], self._entries)}")
        return entry

    def meant(self, source: str, target: str) -> Version | None:
        """The loaded model that somebody means by two languages, the first that was named.

        `DE` and `deu` are `de`, if nothing else is; without a language any will do.
        """
        pairs = self.loaded()
        for same in (eq, language_fits):
            for version in pairs:
                asked = ((source, version.source), (target, version.target))
                if all(not code or same(code, found) for code, found in asked):
                    return version
        return None

    def find(self, source: str, target: str) -> Version:
        """The same; that there is none is an error."""
        version, pairs = self.meant(source, target), self.loaded()
        if version is not None:
            return version
        known = ", ".join(dict.fromkeys(f"{v.source}-{v.target}" for v in pairs)) or "none"
        wanted = f"{source[:40]} to {target[:40]}" if target else f"from {source[:40]}" if source else "anything"
        raise NoModel(f"no model translates {wanted}; loaded: {known}")

    def now(self, name: str) -> Version:
        """The version of a model that requests have which come now."""
        version = self.get(name).version
        if version is None:
            raise NoModel(f"the model {name} is not loaded")
        return version

    def loaded(self) -> list[Version]:
        """Those that translate now."""
        return [entry.version for entry in self._entries.values() if entry.version is not None]

    async def begin(self) -> None:
        """Asks what is loaded for its features and weights, once decoders work."""
        self._loop = asyncio.get_running_loop()
        for version in self.loaded():
            entry = self._entries[version.name]
            if entry.folder and not entry.about:
                entry.about = await self._apply(Apply(0, "info", version.name, version.revision))

    async def load(self, name: str) -> Entry:
        """Opens a model in all decoders, or opens it again; its weights are those of its folder."""
        entry = self._changeable(name)
        async with self._alone():
            fresh, revision = Model.open(entry.folder), entry.revision + 1
            about = await self._apply(Apply(0, "load", name, revision, entry.folder, None, self._trust))
            entry.signature, entry.system, entry.about = fresh.signature, fresh.system, about
            self._becomes(entry, revision)
        return entry

    async def unload(self, name: str) -> Entry:
        """Lets go of a model when requests under way are done; new ones are refused."""
        entry = self._changeable(name)
        async with self._alone():
            entry.version, entry.about = None, {}
        return entry

    async def weights(self, name: str, changes: dict[str, float] | None) -> Entry:
        """Changes weights, or takes those of the folder again; requests under way end with the old ones."""
        entry = self.get(name)
        async with self._alone():
            base, revision = self.now(name).revision, entry.revision + 1
            about = await self._apply(Apply(0, "weights", name, revision, weights=changes, base=base))
            entry.about = about
            # A decoder that takes the place of another needs all of them.
            self._becomes(entry, revision, None if changes is None else about["all_weights"])
        return entry

    def _changeable(self, name: str) -> Entry:
        entry = self.get(name)
        if not entry.folder:
            raise OptionError(f"the model {name} was given open: it can be neither loaded nor unloaded")
        return entry

    def _alone(self) -> asyncio.Lock:
        """One change at a time."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock

    async def _apply(self, change: Apply) -> dict[str, Any]:
        """Changes all decoders; what the model is then. The first one to refuse stops it, and nothing has changed."""
        about: dict[str, Any] = {}
        while True:
            starts = [decoder.starts for decoder in self._decoders]
            for decoder in self._decoders:
                done: Applied = await decoder.apply(copy(change))
                if done.error is not None:
                    self._drop(change.model, change.revision)
                    raise OptionError(done.error)
                about = done.about or about
            if starts == [decoder.starts for decoder in self._decoders]:  # else who began anew knows nothing of it
                return about
