"""Results for people and for programs, on standard output."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import click

from dragoman.tables import table

__all__ = ["print_json", "print_table"]


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Aligned columns: the first ones (`left` of them) to the left, numbers to the right."""
    click.echo(table(header, rows, left=left))


def print_json(value: Any) -> None:
    """One JSON document; NaN, which JSON does not have, becomes null."""
    click.echo(json.dumps(_finite(value), ensure_ascii=False, indent=1))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
