"""What a text looks like: plain or tokenised, with capitals, in lower case or truecased. From a sample, for warnings.

Where the signs do not agree, nothing is said: a false alarm costs more trust than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Looks", "look"]

_ENOUGH = 20
"""Fewest signs from which anything is concluded."""
_WIDE, _NARROW = "\u3002\uff0c\u3001", ".,\u0964\u060c\u06d4"
"""Periods and commas of languages without and with spaces between words: Chinese; Latin, Indic, Arabic."""
_APART = re.compile(rf"(?<!\S)[{_WIDE}{_NARROW}](?!\S)")
"""A period or a comma that is a word of its own; other signs are apart in plain French, too."""
_JOINED = re.compile(rf"(?<=[^\W\d_])(?:[{_WIDE}]|[{_NARROW}](?!\S))")
"""One at the end of a word."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What was counted in a sample of lines."""

    lines: int
    apart: int
    """Periods and commas that are words of their own."""
    joined: int
    """Those at the end of a word."""
    letters: int
    """Letters that have another case."""
    capitals: int
    started: int
    """Lines whose first letter has another case."""
    small: int
    """Those that start with a small letter."""

    @property
    def tokenised(self) -> bool | None:
        """Whether it looks tokenised; None if that cannot be said."""
        signs = self.apart + self.joined
        if signs < _ENOUGH:
            return None
        return True if self.apart >= 0.8 * signs else False if self.apart <= 0.2 * signs else None

    @property
    def cased(self) -> bool:
        """Whether there are letters with case, and capitals among them."""
        return self.letters > 0 and self.capitals > 0.0005 * self.letters

    @property
    def lowered(self) -> bool:
        """Whether letters have case, and none or nearly none is a capital."""
        return self.letters >= 20 * _ENOUGH and not self.cased

    @property
    def truecased(self) -> bool:
        """Whether lines start with small letters though there are capitals elsewhere."""
        return self.cased and self.started >= _ENOUGH and self.small >= 0.6 * self.started

    @property
    def case(self) -> str:
        """`none` (a script without case), `lower`, `truecase` or `plain`."""
        if self.letters == 0:
            return "none"
        return "lower" if not self.cased else "truecase" if self.truecased else "plain"


def look(lines: Iterable[str]) -> Looks:
    """Counts the signs in some lines.

    >>> look(["Das Haus ."] * 30).tokenised, look(["Das Haus."] * 30).tokenised, look(["Das Haus"]).tokenised
    (True, False, None)
    """
    count = apart = joined = letters = capitals = started = small = 0
    for line in lines:
        count += 1
        apart += len(_APART.findall(line))
        joined += len(_JOINED.findall(line))
        with_case = [c for c in line if c.lower() != c.upper()]
        letters += len(with_case)
        capitals += sum(c != c.lower() for c in with_case)
        first = next((c for c in line if c.isalpha()), "")
        if first.lower() != first.upper():
            started += 1
            small += first == first.lower()
    return Looks(count, apart, joined, letters, capitals, started, small)
