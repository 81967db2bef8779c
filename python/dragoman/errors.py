"""What can go wrong, by kind. Every error of dragoman is a `DragomanError`."""

from __future__ import annotations

__all__ = ["DragomanError", "EngineError", "InputError", "OptionError", "TuningError"]


class DragomanError(Exception):
    """Any error that dragoman raises on purpose."""


class InputError(DragomanError, ValueError):
    """A file or a line that is not what it should be; `path` and `line` (from 1) say where, if known."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class OptionError(DragomanError, ValueError):
    """An option or argument that makes no sense, whatever the data."""


class TuningError(DragomanError):
    """A run that cannot end well: nothing to learn, a metric of zero, weights that collapsed."""


class EngineError(DragomanError):
    """Workers that cannot be reached, do not fit together, or were lost more often than a run can bear."""
