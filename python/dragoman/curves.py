"""Learning curves: as a picture where matplotlib is installed, and as a sketch for the terminal."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["save", "sketch"]

_BARS = "▁▂▃▄▅▆▇█"
_LINES = {"score": "tuning", "held_out": "held-out", "oracle": "oracle"}
"""What a picture shows as lines."""


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
    barred = [record for record in records if {"oracle", "prediction", "score"} <= record.keys()]
    for key, title in _LINES.items():
        points = [(record["step"], record[key]) for record in records if key in record]
        if points and not (key == "oracle" and barred):
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=title)
    if barred:
        axes.errorbar(*_bars(barred), fmt="none", ecolor="C0", capsize=3, label="oracle,\nprediction")
    axes.set_xlabel("step")
    axes.set_ylabel(metric)
    figure.legend(loc="outside right upper")  # beside the lines, never on them
    figure.savefig(path, dpi=120)
    return path


def _bars(records: Sequence[Mapping[str, float]]) -> tuple[list[float], list[float], list[list[float]]]:
    """Steps, scores, and how far below and above them the bars go.

    They go to the corpus scores of the predictions and oracles that MIRA held against each other in an epoch, as in
    figures 1 to 6 of Eidelman (2012); a bar never goes the wrong way, where a score was made by other weights.

    >>> _bars([{"step": 1, "score": 30.0, "oracle": 32.0, "prediction": 29.5}])
    ([1], [30.0], [[0.5], [2.0]])
    """
    scores = [record["score"] for record in records]
    low = [max(score - record["prediction"], 0.0) for score, record in zip(scores, records, strict=True)]
    high = [max(record["oracle"] - score, 0.0) for score, record in zip(scores, records, strict=True)]
    return [record["step"] for record in records], scores, [low, high]
