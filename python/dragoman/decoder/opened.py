"""Models opened for the search, once for each process that a decoder travels to."""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from dragoman import user_features
from dragoman._core import NativeSystem
from dragoman.errors import InputError
from dragoman.model import Model, Option, Part, is_file
from dragoman.user_features import RuleFeature, StateFeature

__all__ = ["Opened", "Sent", "open_system", "received", "sent"]

Opened = tuple[Model, NativeSystem, Sequence[RuleFeature | StateFeature]]
Sent = tuple[str, str, bytes, tuple[bytes, ...]]
"""A model as it travels: folder, signature, tables and parts, features of users."""
_OPENED: OrderedDict[Sent, Opened] = OrderedDict()
"""What came from other processes, the last used last: tasks come again and again with the same model."""
_MOST_OPENED = 4
_opening = threading.Lock()


def sent(model: Model, extra: Sequence[RuleFeature | StateFeature]) -> Sent:
    """What another process needs to open the same model with the same features."""
    described = pickle.dumps((model.tables, model.parts))
    return str(model.folder.resolve()), model.signature, described, user_features.sent(extra)


def received(what: Sent) -> Opened:
    """The model that another process sent, opened at most once."""
    with _opening:
        if what not in _OPENED:
            folder, signature, described, features = what
            model = Model.open(folder)
            if model.signature != signature:
                raise InputError(f"{folder}: expected the model {signature}, found {model.signature}", folder)
            tables, parts = pickle.loads(described)
            whole, loaded = replace(model, tables=tables, parts=parts), user_features.received(features)
            _OPENED[what] = whole, open_system(whole, loaded), loaded
        _OPENED.move_to_end(what)
        while len(_OPENED) > _MOST_OPENED:
            _OPENED.popitem(last=False)
        return _OPENED[what]


def open_system(model: Model, extra: Sequence[RuleFeature | StateFeature]) -> NativeSystem:
    """Maps the tables of a model and joins them with its features."""
    tables = [os.fspath(model.folder / name) for name in model.tables]
    rules, states = user_features.split(extra)
    system = NativeSystem(tables, [_native(model, part) for part in model.parts], rules, states)
    for _, _, asked in rules:
        asked.vocabulary = system.vocabulary
    return system


def _native(model: Model, part: Part) -> tuple[str, str, list[tuple[str, str]]]:
    options = {
        name: os.fspath(model.folder / str(value)) if is_file(name) else value for name, value in part.options.items()
    }
    return part.kind, part.name, [(name, _plain(value)) for name, value in options.items()]


def _plain(value: Option) -> str:
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)
