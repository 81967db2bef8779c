"""Feature-rich statistical machine translation: score, compare, tune, train and decode on plain CPUs."""

from dragoman import metrics, nbest, significance, weights
from dragoman._core import VERSION
from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.metrics import Bleu, Chrf, External, Ter, Wer
from dragoman.types import Candidates, Features, Hypotheses, Metric, Names, References, Texts, Weights

__version__ = VERSION

__all__ = [
    "Bleu",
    "Candidates",
    "Chrf",
    "DragomanError",
    "External",
    "Features",
    "Hypotheses",
    "InputError",
    "Metric",
    "Names",
    "OptionError",
    "References",
    "Ter",
    "Texts",
    "Weights",
    "Wer",
    "__version__",
    "metrics",
    "nbest",
    "significance",
    "weights",
]
