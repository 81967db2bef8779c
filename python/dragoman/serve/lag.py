"""How far the event loop is behind: what happens while it is busy waits that long before anything here knows of it."""

from __future__ import annotations

import asyncio
import time

__all__ = ["Lag"]

_EVERY = 0.05
"""Seconds between two looks at the clock."""
_KEPT = 0.5
"""Part of a lag that still counts at the next look: a busy loop is busy in bursts."""


class Lag:
    """A timer that sees how late it is."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """That an event waits for its turn, at most, lately."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begins to look, on the loop that runs."""
        self._timer = asyncio.get_running_loop().call_later(_EVERY, self._look, time.monotonic() + _EVERY)

    def stop(self) -> None:
        """Ends it."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, due: float) -> None:
        self.seconds = max(time.monotonic() - due, _KEPT * self.seconds)
        self.start()
