"""Reports: one HTML file that needs no network. `content` is what is shown, `gather` finds it, `page` writes it."""

from dragoman.report.content import Content, Curve, Timed, Translated
from dragoman.report.gather import of_experiment, of_outputs, of_run
from dragoman.report.page import page, ready

__all__ = ["Content", "Curve", "Timed", "Translated", "of_experiment", "of_outputs", "of_run", "page", "ready"]
