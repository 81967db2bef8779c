"""What the metrics of the Rust core have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dragoman._core import VERSION, NativeMetric, NativeReferences, Texts
from dragoman.errors import OptionError
from dragoman.types import F64, Hypotheses, References

__all__ = ["NATIVE_TOKENIZERS", "Judge", "NativeForm", "TokenizedForm", "python_tokenizer", "sign"]

if TYPE_CHECKING:
    from typing_extensions import Self

NATIVE_TOKENIZERS = ("13a", "none", "intl", "zh", "char")
"""Tokenisers of the Rust core; any other is looked up in sacreBLEU, if that is installed."""

Tokenizer = Callable[[str], str]


def python_tokenizer(name: str) -> Tokenizer | None:
    """A tokeniser that runs in Python (ja-mecab, flores200, ...), or None if the core has it."""
    if name in NATIVE_TOKENIZERS:
        return None
    try:
        from sacrebleu.metrics import BLEU  # noqa: PLC0415  an extra, imported on use
    except ImportError:
        raise OptionError(
            f"tokenizer `{name}` needs sacreBLEU: pip install 'dragoman[tokenizers]'; "
            f"without it: {', '.join(NATIVE_TOKENIZERS)}"
        ) from None
    if name not in BLEU.TOKENIZERS:
        raise OptionError(f"unknown tokenizer `{name}`; known: {', '.join(sorted(BLEU.TOKENIZERS))}")
    try:
        apply: Tokenizer = BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError) as error:
        raise OptionError(f"tokenizer `{name}`: {error}") from None
    return apply


class Judge:
    """Digested references of the core; satisfies `References`."""

    def __init__(self, native: NativeReferences, tokenize: Tokenizer | None = None) -> None:
        self._native = native
        self._tokenize = tokenize

    def statistics(self, hypotheses: Hypotheses) -> F64:
        """The row of additive statistics of each hypothesis."""
        texts = hypotheses.texts
        if self._tokenize is not None:
            texts = Texts([self._tokenize(text) for text in texts])
        return self._native.statistics(texts, hypotheses.sentence)


class NativeForm:
    """What every metric of the core has; a subclass is a frozen dataclass of options that builds `_native`."""

    __slots__ = ()
    _native: NativeMetric
    higher_is_better: ClassVar[bool] = True
    scale: ClassVar[float] = 100.0

    @property
    def width(self) -> int:
        """Number of statistics in a row."""
        return self._native.width

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do inside a kernel (`dragoman.metrics.capability`)."""
        return frozenset(self._native.capabilities)

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        """Digests the references of each sentence."""
        return Judge(self._native.prepare(references))

    def score(self, statistics: F64) -> F64:
        """The score of each row of (..., width), as (...)."""
        rows = np.ascontiguousarray(statistics, dtype=np.float64)
        if rows.ndim == 0 or rows.shape[-1] != self.width:
            raise OptionError(f"expected rows of {self.width} statistics, found an array of shape {rows.shape}")
        return self._native.score(rows.reshape(-1, self.width)).reshape(rows.shape[:-1])

    def sentence_level(self) -> Self:
        """Itself: this metric can score single sentences as it is."""
        return self


class TokenizedForm(NativeForm):
    """A metric over tokens, whose tokeniser may live in Python: then both sides pass through it first."""

    __slots__ = ()
    tokenize: str
    lowercase: bool

    @property
    def _core_options(self) -> dict[str, Any]:
        """What the core does to tokens: with a Python tokeniser, lines arrive ready to be split."""
        in_core = python_tokenizer(self.tokenize) is None  # and an unknown name is an error now, not later
        return {"tokenize": self.tokenize if in_core else "none", "lowercase": self.lowercase and in_core}

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do inside a kernel: with a Python tokeniser, nothing that reads words there."""
        found = frozenset(self._native.capabilities)
        return found if self.tokenize in NATIVE_TOKENIZERS else found - {"linear", "incremental"}

    def prepare(self, references: Sequence[Sequence[str]]) -> References:
        """Digests the references of each sentence."""
        apply = python_tokenizer(self.tokenize)
        if apply is None:
            return Judge(self._native.prepare(references))

        def ready(line: str) -> str:
            # The order of sacreBLEU: lower-case, drop spaces at the end, then tokenise.
            return apply((line.lower() if self.lowercase else line).rstrip())

        digested = self._native.prepare([[ready(ref) for ref in refs] for refs in references])
        return Judge(digested, ready)


def sign(name: str, **options: str | float) -> str:
    """The signature of a metric: its name, each option that changes the figure, and our version."""
    parts = [f"{key}:{value:g}" if isinstance(value, float) else f"{key}:{value}" for key, value in options.items()]
    return "|".join([name, *parts, f"version:dragoman-{VERSION}"])
