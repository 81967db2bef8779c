"""Writes a report: a template of Jinja's, a style sheet, a script, the data, and Plotly, all in one file."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from typing import Any

from dragoman._core import VERSION
from dragoman.errors import OptionError
from dragoman.experiment.tables import SURE, Compared, Tables
from dragoman.report.content import Content, best_of, findings
from dragoman.report.payload import compressed, data_of, details_of, dumped, weights_of
from dragoman.verbs.inputs import metric_of

__all__ = ["check_ready", "page", "ready"]

_SHOWN = 10
"""Findings that are seen at once; the others unfold."""


def ready() -> bool:
    """Whether the libraries that a report needs are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("jinja2", "plotly"))


def check_ready() -> None:
    """Refuses to begin what ends with a report that cannot be written."""
    if not ready():
        raise OptionError("a report needs jinja2 and plotly: pip install 'dragoman[report]'")


def page(content: Content) -> str:
    """The whole page."""
    check_ready()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  an extra

    folder = files("dragoman.report").joinpath("page")
    loader = FileSystemLoader(str(folder))
    engine = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return engine.get_template("page.html").render(
        content=content,
        version=VERSION,
        findings=[*content.sentences, *findings(content.tables)],
        shown=_SHOWN,
        groups=_groups(content.tables),
        bests=best_of(content.curves, metric_of(content.metric).higher_is_better),
        sure=SURE,
        corrected=sum(c.corrected < SURE for c in content.tables.comparisons),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script=folder.joinpath("page.js").read_text(encoding="utf-8"),
        data=compressed(dumped(data_of(content))),
        details=compressed(dumped(details_of(content))),
        weights=compressed(dumped(weights_of(content))),
        plotly=compressed(_plotly()),
        total=sum(step.seconds or 0.0 for step in content.steps if not step.part),
    )


def _plotly() -> bytes:
    """The library's own JavaScript."""
    return files("plotly").joinpath("package_data").joinpath("plotly.min.js").read_bytes()


def _groups(tables: Tables) -> list[dict[str, Any]]:
    """A table of scores for each test and metric; a difference is bold where p says that there is one."""
    made = []
    for test, metric in dict.fromkeys((row.test, row.metric) for row in tables.rows):
        rows = [row for row in tables.rows if (row.test, row.metric) == (test, metric)]
        first: dict[str, Compared] = {}
        for one in tables.comparisons:
            if (one.test, one.metric) == (test, metric):
                first.setdefault(one.system, one)
        cells = [{"row": row, "compared": first.get(row.system)} for row in rows]
        made.append({"test": test, "metric": metric, "rows": cells, "signature": rows[0].signature})
    return made
