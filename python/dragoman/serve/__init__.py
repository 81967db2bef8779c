"""A translation server with a web page that shows why: `dragoman serve --model tuned`, or `app(models)` for any server.

Needs the extra `serve`: pip install 'dragoman[serve]'.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dragoman.errors import OptionError

if TYPE_CHECKING:
    from dragoman.serve.application import app, build, service_of
    from dragoman.serve.protocol import bounded
    from dragoman.serve.safety import Keys, read_keys

__all__ = ["Keys", "app", "bounded", "build", "read_keys", "service_of"]

_HOMES = {
    "app": "application",
    "bounded": "protocol",
    "build": "application",
    "service_of": "application",
    "Keys": "safety",
    "read_keys": "safety",
}


def __getattr__(name: str) -> Any:
    """Decoders import this package, too, and need none of its web half."""
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("dragoman"):
            raise
        raise OptionError(f"the server needs {error.name}: pip install 'dragoman[serve]'") from None
