"""Feature-rich statistical machine translation: score, compare, tune, train and translate on plain CPUs.

    import dragoman

    dragoman.train("train.de", "train.en", "model")
    model = dragoman.load("model")
    print(model.translate("Das ist ein Test."))

Verbs: `train`, `tune`, `load`, `score`, `compare`, `rerank`, `mbr`. What they are made of is in the modules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dragoman._core import VERSION

if TYPE_CHECKING:
    from dragoman import (
        alignment,
        corpus,
        decoder,
        lm,
        metrics,
        model,
        nbest,
        rules,
        serve,
        significance,
        training,
        tuning,
        weights,
        word_classes,
    )
    from dragoman.decoder import Constraints, Decoder
    from dragoman.errors import DragomanError, InputError, OptionError, TuningError
    from dragoman.glossary import Glossary
    from dragoman.metrics import Bleu, Chrf, External, Ter, Wer
    from dragoman.training import train
    from dragoman.translator import Translation, Translator, load
    from dragoman.types import Candidates, Features, Hypotheses, Metric, Names, References, Texts, Weights
    from dragoman.verbs import compare, mbr, rerank, score, tune

__version__ = VERSION

# Where the names come from. They are imported when they are first used: a command that needs a few starts at once.
_PLACES = {
    "dragoman.verbs": ("compare", "mbr", "rerank", "score", "tune"),
    "dragoman.training": ("train",),
    "dragoman.translator": ("Translation", "Translator", "load"),
    "dragoman.decoder": ("Constraints", "Decoder"),
    "dragoman.errors": ("DragomanError", "InputError", "OptionError", "TuningError"),
    "dragoman.glossary": ("Glossary",),
    "dragoman.metrics": ("Bleu", "Chrf", "External", "Ter", "Wer"),
    "dragoman.types": ("Candidates", "Features", "Hypotheses", "Metric", "Names", "References", "Texts", "Weights"),
}
_HOMES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Bleu",
    "Candidates",
    "Chrf",
    "Constraints",
    "Decoder",
    "DragomanError",
    "External",
    "Features",
    "Glossary",
    "Hypotheses",
    "InputError",
    "Metric",
    "Names",
    "OptionError",
    "References",
    "Ter",
    "Texts",
    "Translation",
    "Translator",
    "TuningError",
    "Weights",
    "Wer",
    "__version__",
    "alignment",
    "compare",
    "corpus",
    "decoder",
    "lm",
    "load",
    "mbr",
    "metrics",
    "model",
    "nbest",
    "rerank",
    "rules",
    "score",
    "serve",
    "significance",
    "train",
    "training",
    "tune",
    "tuning",
    "weights",
    "word_classes",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"dragoman.{name}")
    raise AttributeError(f"module `dragoman` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(__all__)
