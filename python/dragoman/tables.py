"""Results as aligned text, for people."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Aligned columns: the first ones (`left` of them) to the left, numbers to the right.

    >>> print(table(["system", "BLEU"], [["a", "9.50"], ["bc", "10.25"]]))
    system   BLEU
    a        9.50
    bc      10.25
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
