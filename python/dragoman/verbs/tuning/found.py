"""What tuning found, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.metrics.format import digits
from dragoman.significance import Interval, Replications
from dragoman.tables import table
from dragoman.tuning import Tuned
from dragoman.types import Metric, Weights


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tuning found: one run, several, or all variants of a sweep. Prints as a table."""

    runs: Sequence[Tuned]
    tried: Sequence[tuple[str, Tuned]]
    """The variants of a sweep, by their options."""
    metric: Metric
    modelled: bool
    """Whether a decoder was in the loop."""
    out: Path | None
    """Where the weights are."""
    across: Replications | None
    """Mean and spread over runs."""
    chosen: int = 0
    """The run whose weights are the result."""
    model: Path | None = None
    """The folder, if it is a model now: `dragoman.load` opens it."""
    chooses: str = ""
    """What the held-out text chose, if anything: its score is no test then."""

    @property
    def best(self) -> Tuned:
        """The run whose weights are the result."""
        return self.runs[self.chosen]

    @property
    def weights(self) -> Weights:
        """The result."""
        return self.best.weights

    @property
    def start(self) -> Interval:
        """The score of the tuning text under the start weights."""
        return self.best.start

    @property
    def end(self) -> Interval:
        """The score of the tuning text under the result."""
        return self.best.end

    @property
    def held_out(self) -> Interval | None:
        """The score of the held-out text under the result."""
        return self.best.held_out

    @property
    def warnings(self) -> list[str]:
        """What may not be as it should."""
        return [warning for run in self.runs for warning in run.warnings]

    @property
    def _text(self) -> str:
        return "tuning" if self.modelled else "pool"

    def __str__(self) -> str:
        name, d = self.metric.name, digits(self.metric)
        parts = []
        if self.tried:
            rows = [
                [options, f"{t.end.score:.{d}f}", f"{t.held_out.score:.{d}f}" if t.held_out else ""]
                for options, t in self.tried
            ]
            parts += [table(["options", f"{name} {self._text}", f"{name} held-out"], rows), ""]
        for number, found in enumerate(self.runs):
            parts.append(self._table(found, f"{name} run {number + 1}" if len(self.runs) > 1 else name))
        if self.chooses and self.best.held_out is not None:
            parts.append(f"# the held-out text chose {self.chooses}, so its score flatters: judge on a test text")
        if self.across is not None:
            parts.append(self._spread(self.across))
        return "\n".join(parts)

    def _spread(self, across: Replications) -> str:
        d, count = digits(self.metric), len(self.runs)
        text = "held-out" if self.best.held_out else self._text
        line = f"{text} {self.metric.name}: mean {across.mean:.{d}f}, s.d. {across.s_opt:.{d}f} over {count} runs"
        if self.identical:
            line += "\nall runs ended with the same weights: this tuner, with these options, draws no random numbers "
            line += "that matter"
        if self.out is not None:
            line += f"\nthe result is run {self.chosen + 1}, the median"
        return line

    @property
    def identical(self) -> bool:
        """Whether several runs ended with the same weights."""
        first = self.runs[0].weights
        return len(self.runs) > 1 and all(
            len(run.weights) == len(first) and (run.weights.align(first.names) == first.values).all()
            for run in self.runs
        )

    def _table(self, found: Tuned, title: str) -> str:
        d = digits(self.metric)

        def interval(x: Interval) -> str:
            return f"{x.score:.{d}f} [{x.low:.{d}f} {x.high:.{d}f}]"

        oracle = [] if found.oracle is None else [f"{found.oracle:.{d}f}"]
        rows = [[self._text, interval(found.start), interval(found.end), *oracle]]
        if found.held_out and found.held_out_start:
            rows.append(
                ["held-out", interval(found.held_out_start), interval(found.held_out), *([""] if oracle else [])]
            )
        lines = [table([title, "start", "end", *(["oracle"] if oracle else [])], rows)]
        for about, names in (("zero", found.zeros), ("at a bound", found.at_bound)):
            if names and (found.oracle is not None or about == "at a bound"):
                lines.append(f"# {about}: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}")
        epoch = f"|epoch:{found.best}" if self.modelled else ""
        return "\n".join([*lines, f"# {found.metric}|seed:{found.seed}|tuner:{found.tuner}{epoch}"])

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        shown: dict[str, Any]
        if self.modelled or len(self.runs) > 1:
            shown = {"runs": [_plain(found) for found in self.runs], "out": None if self.out is None else str(self.out)}
            shown["spread"] = asdict(self.across) if self.across else None
        else:
            shown = _with_weights(self.runs[0])
        if self.model is not None:
            shown["model"] = str(self.model)
        if self.tried:
            shown["sweep"] = [{"options": name, **_with_weights(found)} for name, found in self.tried]
        return shown


_HIDDEN = {"weights", "trace", "rows", "held_out_texts"}
"""Fields of a result that JSON does not show."""


def _plain(found: Tuned) -> dict[str, Any]:
    fields = {name: getattr(found, name) for name in Tuned.__dataclass_fields__ if name not in _HIDDEN}
    return {key: asdict(value) if isinstance(value, Interval) else value for key, value in fields.items()}


def _with_weights(found: Tuned) -> dict[str, Any]:
    return {**_plain(found), "weights": found.weights.to_dict() if len(found.weights) <= 10_000 else None}
