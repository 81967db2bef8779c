"""TOML, both ways: files that people read and edit."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["dumps", "key", "load", "loads", "value"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def load(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Reads a file; `what` is what it should hold, for the message if it does not."""
    name = os.fspath(path)
    try:
        content: dict[str, Any] = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", name) from None
    except ValueError as error:  # of the decoder or of TOML
        raise InputError(f"{name}: expected {what} in TOML, but {error}", name) from None
    return content


def loads(text: str) -> dict[str, Any]:
    """A table from text that `dumps` made."""
    content: dict[str, Any] = tomllib.loads(text)
    return content


def dumps(table: Mapping[str, Any]) -> str:
    """A table as text: plain values first, then tables, then lists of tables."""
    return "\n".join(_lines(table, "")) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, content in table.items():
        if not isinstance(content, Mapping) and not _tables(content):
            yield f"{key(name)} = {value(content)}"
    for name, content in table.items():
        full = f"{path}.{key(name)}" if path else key(name)
        if isinstance(content, Mapping):
            yield from ("", f"[{full}]", *_lines(content, full))
        elif _tables(content):
            for item in content:
                yield from ("", f"[[{full}]]", *_lines(item, full))


def _tables(content: Any) -> bool:
    return isinstance(content, Sequence) and bool(content) and isinstance(content[0], Mapping)


def key(name: str) -> str:
    """A key, quoted if it must be."""
    return name if _BARE.fullmatch(name) else _string(name)


def value(content: Any) -> str:
    """A plain value or a list of them."""
    if isinstance(content, str):
        return _string(content)
    if isinstance(content, bool):
        return str(content).lower()
    if isinstance(content, (list, tuple)):
        return "[" + ", ".join(map(value, content)) + "]"
    if isinstance(content, (int, float)):  # NumPy's floats, too, which print themselves otherwise
        return (int if isinstance(content, int) else float).__repr__(content)
    raise TypeError(f"TOML has no word for {content!r}")


def _string(text: str) -> str:
    # A JSON string is a TOML basic string as well, but for the delete character, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
