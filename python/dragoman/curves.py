"""Learning curves: as a picture where matplotlib is installed, and as a sketch for the terminal."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["save", "sketch"]

_BARS = "▁▂▃▄▅▆▇█"
_LINES = {"score": "tuning", "held_out": "held-out", "oracle": "oracle", "prediction": "prediction"}
"""What a picture shows. Oracle and prediction are corpus scores of what MIRA held against each other (figures 1 to 6 of
Eidelman 2012)."""


def sketch(records: Sequence[Mapping[str, float]]) -> str:
    """A line for each score over the epochs, from its lowest to its highest."""
    lines = []
    for key, title in (("score", "tuning"), ("held_out", "held-out")):
        values = [record[key] for record in records if key in record]
        if len(values) > 1:
            low, high = min(values), max(values)
            span = (high - low) or 1.0
            marks = "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)
            lines.append(f"{title:9}{marks}  {low:.2f} to {high:.2f}")
    return "\n".join(lines)


def save(records: Sequence[Mapping[str, float]], path: Path, metric: str) -> Path | None:
    """Writes a picture of a run's trace; None where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for key, title in _LINES.items():
        points = [(record["step"], record[key]) for record in records if key in record]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=title)
    axes.set_xlabel("step")
    axes.set_ylabel(metric)
    figure.legend(loc="outside right upper")  # beside the lines, never on them
    figure.savefig(path, dpi=120)
    return path
