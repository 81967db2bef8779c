"""Line charts as inline SVG, without a plotting library. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

__all__ = ["Series", "chart"]

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 132, 16, 44


@dataclass(frozen=True, slots=True)
class Series:
    """A line with its name; `style` is its class in the page's style sheet, `colour` what it has without one."""

    title: str
    style: str
    colour: str
    points: Sequence[tuple[float, float]]


def chart(series: Sequence[Series], x_title: str, y_title: str) -> str:
    """All lines in one chart, named at their ends."""
    points = [point for line in series for point in line.points]
    if not points:
        return ""
    low, high, step = _scale(min(y for _, y in points), max(y for _, y in points))
    last = max(1.0, *(x for x, _ in points))

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + x / last * (_WIDTH - _LEFT - _RIGHT)
        return round(across, 1), round(_TOP + (high - y) / (high - low) * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = []
    for i in range(round((high - low) / step) + 1):
        y = low + i * step
        right, height = place(last, y)
        parts.append(f'<line class="grid" stroke="#dddddd" x1="{_LEFT}" y1="{height}" x2="{right}" y2="{height}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{height + 4}" text-anchor="end">{y:g}</text>')
    for x in range(round(last) + 1):
        across, bottom = place(x, low)
        parts.append(f'<text class="tick" x="{across}" y="{bottom + 18}" text-anchor="middle">{x}</text>')
    ends = _apart([place(*line.points[-1])[1] for line in series if line.points])
    for line, end in zip((line for line in series if line.points), ends, strict=True):
        parts += _line(line, [place(x, y) for x, y in line.points], end)
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(
        f'<text class="axis" transform="translate(12 {_HEIGHT / 2 - 14}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_title)}</text>'
    )
    label = escape(", ".join(f"{line.title} ends at {line.points[-1][1]:.2f}" for line in series if line.points))
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _line(line: Series, places: Sequence[tuple[float, float]], end: float) -> list[str]:
    path = " ".join(f"{x},{y}" for x, y in places)
    parts = [
        f'<polyline class="line {line.style}" fill="none" stroke="{line.colour}" stroke-width="2" points="{path}"/>'
    ]
    for (x, y), (epoch, value) in zip(places, line.points, strict=True):
        title = f"<title>{escape(line.title)}, epoch {epoch:g}: {value:.2f}</title>"
        parts.append(f'<circle class="dot {line.style}" fill="{line.colour}" cx="{x}" cy="{y}" r="3">{title}</circle>')
    name = f'class="name {line.style}" fill="{line.colour}" x="{places[-1][0] + 8}" y="{end + 4}"'
    parts.append(f"<text {name}>{escape(line.title)}</text>")
    return parts


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Round numbers around a range, and the distance between grid lines."""
    span = max(high - low, 1.0)
    rough = span / 5
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    bottom = math.floor(low / step) * step
    return bottom, max(math.ceil(high / step) * step, bottom + step), step


def _apart(heights: Sequence[float], distance: float = 15) -> list[float]:
    """Heights of labels, moved so that none covers another."""
    moved = list(heights)
    order = sorted(range(len(moved)), key=lambda i: moved[i])
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + distance)
    return moved
