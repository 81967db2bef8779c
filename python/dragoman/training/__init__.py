"""From parallel text to a model: `pipeline` is the whole path; `steps` makes it resumable."""

from dragoman.training.pipeline import STEPS, Options, Step, Trained, train

__all__ = ["STEPS", "Options", "Step", "Trained", "train"]
