"""Experiments: a plan in TOML, steps with hashed inputs, tables that say what differs."""

from dragoman.experiment.plan import Plan
from dragoman.experiment.reading import read_plan
from dragoman.experiment.runner import Experiment, Outcome
from dragoman.experiment.steps import Step, steps_of
from dragoman.experiment.tables import Tables

__all__ = ["Experiment", "Outcome", "Plan", "Step", "Tables", "read_plan", "steps_of"]
