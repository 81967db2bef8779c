"""`dragoman.score` and `dragoman.compare`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, Literal

import numpy as np

from dragoman import significance
from dragoman.common import Seeded
from dragoman.errors import InputError, OptionError
from dragoman.files import read_numbers
from dragoman.metrics import needs_references, score_columns
from dragoman.metrics.format import digits
from dragoman.options import made, option
from dragoman.tables import table
from dragoman.types import F64, Hypotheses, Metric, Texts
from dragoman.verbs.inputs import is_path, lines_of, metric_of, references_of, where

__all__ = ["CompareOptions", "Comparison", "Score", "ScoreOptions", "Scores", "compare", "score"]

Output = str | PathLike[str] | Sequence[str] | Texts


@dataclass(frozen=True)
class ScoreOptions(Seeded):
    """How translations are scored."""

    confidence: bool = option(False, help="Add the 95 % bootstrap interval of each score.")
    samples: int = option(1000, help="Resamples of the bootstrap.", min=1)


@dataclass(frozen=True)
class CompareOptions(Seeded):
    """How systems are compared."""

    test: Literal["permutation", "bootstrap", "randomisation"] | None = option(
        None,
        help="Which test: paired permutation, paired bootstrap, or stratified approximate randomisation over runs.",
        usual="permutation; with several runs of a system, randomisation",
    )
    samples: int = option(10_000, help="Resamples of the test.", min=1)


@dataclass(frozen=True, slots=True)
class Score:
    """A score with its signature; with an interval if one was asked for."""

    system: str
    metric: str
    score: float
    signature: str
    low: float | None = None
    high: float | None = None
    statistics: F64 = field(default_factory=lambda: np.zeros((0, 0)), repr=False, compare=False)
    """A row for each sentence."""
    digits: int = 2

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        interval = "" if self.low is None else f" [{self.low:.{self.digits}f} {self.high:.{self.digits}f}]"
        return f"{self.score:.{self.digits}f}{interval}"


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one or more systems under one or more metrics; prints as a table."""

    rows: Sequence[Score]

    def __iter__(self) -> Iterator[Score]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: int | str) -> Score:
        """By number, or by the name of a metric."""
        if isinstance(key, int):
            return self.rows[key]
        found = [row for row in self.rows if key.lower() in {row.metric.lower(), row.system.lower()}]
        if len(found) != 1:
            known = ", ".join(dict.fromkeys(row.metric for row in self.rows))
            raise OptionError(f"expected one score called `{key}`, found {len(found)}; there are {known}")
        return found[0]

    @property
    def score(self) -> float:
        """The figure, where there is one."""
        if len(self.rows) != 1:
            raise OptionError(f"there are {len(self.rows)} scores: choose one by the metric's name")
        return self.rows[0].score

    def __str__(self) -> str:
        systems = list(dict.fromkeys(row.system for row in self.rows))
        signatures = list(dict.fromkeys(row.signature for row in self.rows))
        cells = {(row.system, row.signature): row for row in self.rows}
        header = ["system", *(cells[systems[0], signature].metric for signature in signatures)]
        lines = [[system, *(str(cells[system, signature]) for signature in signatures)] for system in systems]
        return "\n".join([table(header, lines), *(f"# {signature}" for signature in signatures)])

    def to_list(self) -> list[dict[str, Any]]:
        """What JSON shows."""
        keys = ("system", "metric", "score", "signature")
        return [
            {
                **{key: getattr(row, key) for key in keys},
                **({} if row.low is None else {"low": row.low, "high": row.high}),
            }
            for row in self.rows
        ]


def score(
    output: Output | Mapping[str, Output],
    references: Any = None,
    metric: Metric | str | Sequence[Metric | str] = ("bleu", "chrf"),
    **options: Any,
) -> Scores:
    """Scores translations: one output, or several by name.

    >>> score(["It is a nice day today ."], ["It is a nice day today ."], "bleu").score
    100.0

    Outputs and references are files or lines; several references of a sentence are a list. Options: `confidence`,
    `samples`, `seed`.
    """
    o = made(ScoreOptions, options, what="score")
    systems = _outputs(output)
    metrics = _metrics(metric)
    every, references_ = _checked(systems, references, metrics)
    rows = []
    for form in metrics:
        for name, statistics in _judged(form, every, references_, metrics):
            total = float(form.score(statistics.sum(axis=0)))
            interval = (
                significance.confidence(statistics, form, samples=o.samples, seed=o.seed) if o.confidence else None
            )
            rows.append(
                Score(
                    name, form.name, total, signature(form, references_), None if interval is None else interval.low,
                    None if interval is None else interval.high, statistics, digits(form),
                )
            )  # fmt: skip
    return Scores(rows)


def sentence_scores(output: Output, references: Any, metric: Sequence[Metric | str]) -> list[tuple[str, F64]]:
    """The signature of each metric's sentence-level form, and a score for each sentence."""
    levels = [form.sentence_level() for form in _metrics(metric)]
    every, references_ = _checked(_outputs(output), references, levels)
    return [
        (signature(level, references_), level.score(_judged(level, every, references_, levels)[0][1]))
        for level in levels
    ]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems against a baseline under one metric; prints as a table."""

    metric: str
    test: str
    samples: int
    seed: int
    systems: Sequence[Mapping[str, Any]]
    """For each system: scores of its runs, mean, s_opt, s_sel; from the second on difference and p_value."""
    signature: str
    digits: int = 2

    def __str__(self) -> str:
        several = max(len(row["scores"]) for row in self.systems) > 1
        d = self.digits

        def number(row: Mapping[str, Any], key: str, form: str) -> str:
            return format(row[key], form) if key in row else ""

        header = ["system", self.metric, *(["s_opt"] if several else []), "s_sel", "difference", "p"]
        rows = [
            [
                str(row["system"]),
                number(row, "mean", f".{d}f"),
                *([number(row, "s_opt", f".{d}f") if len(row["scores"]) > 1 else "fixed"] if several else []),
                number(row, "s_sel", f".{d}f"),
                number(row, "difference", f"+.{d}f"),
                number(row, "p_value", ".4f"),
            ]
            for row in self.systems
        ]
        tail = f"# {self.signature}|test:{self.test}|samples:{self.samples}|seed:{self.seed}"
        return f"{table(header, rows)}\n{tail}"

    @property
    def p_value(self) -> float:
        """Of the one system that was compared."""
        if len(self.systems) != 2:
            raise OptionError(f"{len(self.systems) - 1} systems were compared: look at `systems`")
        return float(self.systems[1]["p_value"])

    @property
    def difference(self) -> float:
        """Of the one system that was compared to the baseline."""
        if len(self.systems) != 2:
            raise OptionError(f"{len(self.systems) - 1} systems were compared: look at `systems`")
        return float(self.systems[1]["difference"])

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        return {
            "metric": self.metric, "test": self.test, "samples": self.samples, "seed": self.seed,
            "systems": [dict(row) for row in self.systems], "signature": self.signature,
        }  # fmt: skip


_TESTS: dict[str, Callable[..., significance.Comparison]] = {
    "bootstrap": significance.paired_bootstrap,
    "permutation": significance.paired_permutation,
}


def compare(
    systems: Mapping[str, Output | Sequence[Output]],
    references: Any = None,
    metric: Metric | str | Sequence[Metric | str] = ("bleu", "chrf"),
    **options: Any,
) -> list[Comparison]:
    """Tells whether systems really differ from the first one; a comparison for each metric.

    Each system is an output (a file, or lines), or a list of outputs of several tuning runs, as Path objects or lists
    of lines. A baseline with one output is held fixed beside systems with several runs. Options: `test`, `samples`,
    `seed`.
    """
    o = made(CompareOptions, options, what="compare")
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise OptionError("expected at least two systems by name: {'base': ..., 'new': ...}")
    groups = {name: _runs(given) for name, given in systems.items()}
    test = _chosen_test(o.test, {name: len(runs) for name, runs in groups.items()})
    metrics = _metrics(metric)
    every_run = {f"{name}\0{number}": run for name, runs in groups.items() for number, run in enumerate(runs)}
    every, references_ = _checked(every_run, references, metrics)
    found = []
    first, *_, last = groups
    for form in metrics:
        statistics = dict(_judged(form, every, references_, metrics))
        runs = {
            name: np.stack([statistics[f"{name}\0{number}"] for number in range(len(group))])
            for name, group in groups.items()
        }
        rows = _compared(form, runs, test, o)
        named = signature(form, references_) + ("|baseline:fixed" if len(runs[first]) < len(runs[last]) else "")
        found.append(Comparison(form.name, test, o.samples, o.seed, rows, named, digits(form)))
    return found


def _runs(given: Any) -> list[Output]:
    """The outputs of a system's runs."""
    if is_path(given) or isinstance(given, Texts):
        return [given]
    items = list(given)
    return [items] if items and all(isinstance(item, str) for item in items) else items


def _chosen_test(test: str | None, counts: Mapping[str, int]) -> str:
    several = {count for count in counts.values() if count > 1}
    baseline, *others = counts.values()
    if len({*others, *([baseline] if baseline > 1 else [])}) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise InputError(f"every system needs as many runs as the others; only the baseline may have one: {listed}")
    if test in _TESTS and several:
        raise OptionError(f"the {test} test takes one run of each system; leave the test out for several")
    return test or ("randomisation" if several else "permutation")


def _compared(form: Metric, runs: Mapping[str, F64], test: str, o: CompareOptions) -> list[dict[str, Any]]:
    names = list(runs)
    spread = {name: significance.replications(runs[name], form, seed=o.seed) for name in names}
    rows: list[dict[str, Any]] = [{"system": names[0], **asdict(spread[names[0]])}]
    for name in names[1:]:
        base, other = runs[names[0]], runs[name]
        if test in _TESTS:
            result = _TESTS[test](base[0], other[0], form, samples=o.samples, seed=o.seed)
        else:
            # A fixed baseline is the same in all runs.
            base = np.repeat(base, len(other), axis=0) if len(base) == 1 else base
            result = significance.stratified_randomisation(base, other, form, samples=o.samples, seed=o.seed)
        difference = spread[name].mean - spread[names[0]].mean
        rows.append({"system": name, **asdict(spread[name]), "difference": difference, "p_value": result.p_value})
    return rows


@dataclass(frozen=True, slots=True)
class _System:
    name: str
    lines: Texts
    path: str | None


def _outputs(output: Any) -> dict[str, Any]:
    if isinstance(output, Mapping):
        return dict(output)
    return {str(output) if is_path(output) else "output": output}


def _metrics(metric: Any) -> list[Metric]:
    several = metric if isinstance(metric, (list, tuple)) else [metric]
    if not several:
        raise OptionError("expected at least one metric")
    return [metric_of(one) for one in several]


def _checked(
    outputs: Mapping[str, Any], references: Any, metrics: Sequence[Metric]
) -> tuple[list[_System], list[list[str]]]:
    """Outputs and references, checked against each other before any work."""
    systems = [
        _System(name, lines_of(given, "output"), str(given) if is_path(given) else None)
        for name, given in outputs.items()
    ]
    count = len(systems[0].lines)
    for system in systems:
        if len(system.lines) != count:
            raise _other_length(system.path or system.name, len(system.lines), systems[0].name, count)
    if references is None:
        if any(needs_references(form) for form in metrics):
            raise OptionError("expected references: a file or a list with a line for each line of the output")
        return systems, [[] for _ in range(count)]
    found = references_of(references)
    if len(found) != count:
        raise _other_length(where(references, "references"), len(found), systems[0].name, count)
    return systems, found


def _other_length(name: str, found: int, other: str, expected: int) -> InputError:
    line = min(found, expected) + 1
    return InputError(f"{name}:{line}: expected {expected} lines as in {other}, found {found}", name, line)


def _judged(
    form: Metric, systems: Sequence[_System], references: Sequence[Sequence[str]], metrics: Sequence[Metric]
) -> list[tuple[str, F64]]:
    prepared = form.prepare([list(line) for line in references])
    return [(system.name, prepared.statistics(_hypotheses(system, metrics))) for system in systems]


def _hypotheses(system: _System, metrics: Sequence[Metric]) -> Hypotheses:
    """The lines, with the numbers that external metrics find beside the file."""
    columns = [column for form in metrics for column in score_columns(form)]
    return Hypotheses.one_each(system.lines, {column: _numbers(system, column) for column in dict.fromkeys(columns)})


def _numbers(system: _System, column: str) -> F64:
    if system.path is None:
        raise OptionError(f"the metric external:{column} reads numbers from a file beside the output: give a file")
    path = f"{system.path}.{column}"
    numbers = read_numbers(path)
    if len(numbers) != len(system.lines):
        line = min(len(numbers), len(system.lines)) + 1
        raise InputError(
            f"{path}:{line}: expected {len(system.lines)} lines as in {system.path}, found {len(numbers)}", path, line
        )
    return np.array(numbers)


def signature(metric: Metric, references: Sequence[Sequence[str]]) -> str:
    """The metric's own signature with the number of references, as sacreBLEU writes it."""
    name, _, rest = metric.signature().partition("|")
    counts = sorted({len(line) for line in references}) or [0]
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
    return f"{name}|nrefs:{number}|{rest}"
