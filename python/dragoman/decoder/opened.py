"""Models opened for the search, once for each process that a decoder travels to."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dragoman import registry, user_features
from dragoman._core import NativeSystem
from dragoman.engine import travel
from dragoman.errors import InputError
from dragoman.model import USER, Model, Option, Part, file_hash, is_file, pack
from dragoman.user_features import RuleFeature, StateFeature

__all__ = ["Opened", "Sent", "brought", "open_system", "received", "sent"]

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
    what = str(model.folder.resolve()), model.signature, described, user_features.sent(extra)
    key = _key(what)
    travel.need(
        key, lambda: travel.Folder(key, what[0], partial(_same, model.signature), partial(pack, model), _arrived)
    )
    return what


def _key(what: Sent) -> str:
    return hashlib.blake2b(pickle.dumps(what[:3]), digest_size=16).hexdigest()


def _arrived(archive: Path) -> Path:
    """The folder of a model that came as one file: in the cache of the machine, verified."""
    model = Model.open(archive)
    model.verify()
    return model.folder


def _same(signature: str, folder: str) -> Model:
    """The model in a folder, if it is the one that is wanted."""
    model = Model.open(folder)
    if model.signature != signature:
        raise InputError(f"{folder}: expected the model {signature}, found {model.signature}", folder)
    return model


def received(what: Sent) -> Opened:
    """The model that another process sent, opened at most once."""
    with _opening:
        if what not in _OPENED:
            folder, signature, described, features = what
            sent_to = travel.place(_key(what))
            if sent_to is not None:
                whole = Model.open(sent_to)  # with all that its parts need
            else:
                tables, parts = pickle.loads(described)
                whole = replace(_same(signature, folder), tables=tables, parts=parts)
            loaded = user_features.received(features)
            _OPENED[what] = whole, open_system(whole, loaded), loaded
        _OPENED.move_to_end(what)
        while len(_OPENED) > _MOST_OPENED:
            _OPENED.popitem(last=False)
        return _OPENED[what]


def brought(model: Model, trust: bool) -> list[RuleFeature | StateFeature]:
    """The features in Python that a model brings along, which run only if it is trusted."""
    parts = [part for part in model.parts if part.kind == USER]
    code = [str(name) for name in model.text.get("tokenizers", []) if registry.is_file_spec(str(name))]
    if (parts or code) and not trust:
        files = dict.fromkeys(str(part.options.get("path")) for part in parts)
        told = [f"{model.file(name)} (hash {model.files.get(name, (0, 'unknown'))[1]})" for name in files]
        raise InputError(
            f"{model.folder}: this model brings Python along, which runs only if you trust it: "
            f"{', '.join([*told, *code])}; read it, then say --trust (in Python trust=True)",
            str(model.folder),
        )
    return [_user(model, part) for part in parts]


def _user(model: Model, part: Part) -> RuleFeature | StateFeature:
    name, wanted, options = (str(part.options.get(key, "")) for key in ("path", "object", "options"))
    path = model.file(name)
    if not name.endswith(".py") or name not in model.files:
        raise InputError(f"{model.folder}: the feature {part.name} needs a file of Python, found `{name}`", str(path))
    if file_hash(path) != model.files[name][1]:
        raise InputError(f"{path}: the file is not the one that this model was made with", str(path))
    spec = f"{path}:{wanted}" + (f":{options}" if options else "")
    made = registry.make("feature set", spec)
    if not isinstance(made, (RuleFeature, StateFeature)):
        raise InputError(f"{path}: {wanted} is neither a rule feature nor a state feature", str(path))
    return made


def open_system(model: Model, extra: Sequence[RuleFeature | StateFeature]) -> NativeSystem:
    """Maps the tables of a model and joins them with its features."""
    tables = [os.fspath(model.file(name)) for name in model.tables]
    rules, states = user_features.split(extra)
    parts = [_native(model, part) for part in model.parts if part.kind != USER]
    system = NativeSystem(tables, parts, rules, states, model.system)
    for _, _, asked in rules:
        asked.vocabulary = system.vocabulary
    return system


def _native(model: Model, part: Part) -> tuple[str, str, list[tuple[str, str]]]:
    options = {
        name: os.fspath(model.file(str(value))) if is_file(name) else value for name, value in part.options.items()
    }
    return part.kind, part.name, [(name, _plain(value)) for name, value in options.items()]


def _plain(value: Option) -> str:
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)
