"""What is said to people on standard error: warnings, notes, details, progress; and to a log file.

`--quiet` leaves warnings and errors, `--verbose` adds details, `--log FILE` keeps all of it with the time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TextIO

import click

from dragoman.errors import InputError

__all__ = ["Messages", "messages"]


class Messages:
    """Where messages go. One for the process; a command sets it up from its options."""

    def __init__(self) -> None:
        self.quiet, self.verbose = False, False
        self.resuming = ""
        """How the command goes on if it is interrupted now."""
        self._log: TextIO | None = None

    def setup(self, *, quiet: bool = False, verbose: bool = False, log: str | None = None) -> None:
        """Takes the options of a command."""
        self.close()
        self.quiet, self.verbose, self.resuming = quiet, verbose, ""
        if log is not None:
            try:
                self._log = Path(log).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115  open as long as the command
            except OSError as error:
                raise InputError(f"{log}: {error.strerror}", log) from None

    def close(self) -> None:
        """Closes the log file."""
        if self._log is not None:
            self._log.close()
            self._log = None

    @property
    def watched(self) -> bool:
        """Whether a person looks at a terminal and wants to see progress."""
        return sys.stderr.isatty() and not self.quiet

    def error(self, text: str) -> None:
        """Why the command failed."""
        self._say(f"dragoman: {text}", "error", shown=True)

    def warning(self, text: str) -> None:
        """What the user should know though the command goes on."""
        self._say(f"dragoman: warning: {text}", "warning", shown=True)

    def note(self, text: str) -> None:
        """What was done."""
        self._say(text, "note", shown=not self.quiet)

    def detail(self, text: str) -> None:
        """What only a curious reader wants."""
        self._say(text, "detail", shown=self.verbose)

    def log(self, text: str) -> None:
        """A line for the log file alone."""
        self._say(text, "detail", shown=False)

    def _say(self, text: str, level: str, *, shown: bool) -> None:
        if shown:
            click.echo(text, err=True)
        if self._log is not None:
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            self._log.write("".join(f"{now} {level}: {line}\n" for line in text.splitlines() or [""]))


messages = Messages()
