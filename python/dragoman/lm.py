"""N-gram language models: estimate them from text, query them, mix several.

Estimation is modified Kneser-Ney with interpolation, as KenLM's lmplz computes it, in bounded memory. Models are
kept as ARPA text (any tool reads it; compressed or not) or as tables that are mapped and open in milliseconds: `hash`
for speed, `compact` for space. Log probabilities are natural here; ARPA files have base 10.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dragoman._core import (
    VERSION,
    LmEstimation,
    LmMixture,
    LmModel,
    Texts,
    lm_convert,
    lm_estimate,
    lm_merge,
    lm_run,
)
from dragoman.common import Sorting
from dragoman.engine import Engine, work_off
from dragoman.errors import InputError, OptionError
from dragoman.options import check, made, option

__all__ = [
    "FORMS",
    "Estimate",
    "Estimation",
    "Format",
    "Mixture",
    "Model",
    "Scores",
    "Totals",
    "convert",
    "estimate",
    "form_of",
    "merge",
    "tune_weights",
]

Path = str | PathLike[str]

Form = Literal["arpa", "hash", "compact"]
FORMS: tuple[str, ...] = get_args(Form)
"""ARPA text; tables for speed; tables for space, with quantised probabilities."""

_PACKED = (".gz", ".zst", ".xz")


def form_of(path: Path) -> str:
    """Tell the form to write from a file's name: arpa for `.arpa` (compressed or not), else hash."""
    name = os.fspath(path)
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return "arpa" if name.endswith(".arpa") else "hash"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What estimation saw and did."""

    sentences: int
    tokens: int
    types: int
    controls: int
    """Control characters, which were taken for spaces."""
    symbols: int
    """`<s>`, `</s>` and `<unk>` that were skipped."""
    counts: list[int]
    """N-grams of each order."""
    counts_before: list[int]
    """The same before pruning."""
    discounts: list[list[float]]
    """For each order what is taken from adjusted counts of 1, 2, and 3 or more."""
    fallback: list[bool]
    """For each order, whether these are the fallback."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a model is written."""

    form: Form | None = option(
        None,
        help="The form to write: arpa is text, hash is fast, compact is small.",
        usual="arpa if the name says so (.arpa, .arpa.gz), else hash",
    )
    bits: int = option(8, help="Bits of each code in the compact form.", min=4, max=16)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimation(Sorting, Format):
    """How a model is estimated."""

    order: int = option(5, help="Words in the longest n-grams of the language model.", min=1, max=18)
    prune: tuple[int, ...] = option(
        (),
        help="Drop n-grams seen at most so often, a number for each order; the last holds for higher ones.",
        min=0,
        metavar="COUNT",
    )
    discount_fallback: tuple[float, float, float] | None = option(
        None,
        help="Discounts where the text gives none, for word classes and small texts: 0.5 1 1.5.",
        min=0,
        max=3,
        metavar="D1 D2 D3",
    )
    skip_symbols: bool = option(False, help="Skip <s>, </s> and <unk> in the text; else they are an error.")
    folder: str | None = option(None, help="Where temporary files go.", metavar="FOLDER", usual="the system's place")

    def __post_init__(self) -> None:
        check(self)


def _form(path: Path, form: str | None) -> str:
    chosen = form_of(path) if form is None else form
    if chosen != "arpa" and os.fspath(path).endswith(_PACKED):
        raise OptionError(f"expected a name without .gz, .zst or .xz for tables, which are mapped, found `{path}`")
    return chosen


def estimate(
    text: Path | Sequence[Path] | Texts,
    out: Path,
    options: Estimation | None = None,
    *,
    engine: Engine | None = None,
    **changes: Any,
) -> Estimate:
    """Estimate a model from text, one sentence a line, and write it to `out`; `changes` are options by name.

    `text` is a file, several files, or lines in memory. The result is the same to the last byte whatever the memory,
    the number of threads, and the `engine`, whose workers count the n-grams of parts of the files if they are other
    processes. `prune=(0, 0, 1)` drops trigrams (and longer ones) seen once. `discount_fallback`, three
    numbers such as `(0.5, 1, 1.5)`, is for text so small or artificial that discounts cannot be computed.
    """
    o = made(Estimation, changes, base=options)
    chosen = _form(out, o.form)
    lines = text if isinstance(text, Texts) else None
    if isinstance(text, str | PathLike):
        paths = [os.fspath(text)]
    else:
        paths = [] if isinstance(text, Texts) else [os.fspath(path) for path in text]
    if lines is None and not paths:
        raise OptionError("expected at least one text file, found none")
    fallback = None if o.discount_fallback is None else [float(value) for value in o.discount_fallback]
    about = {"program": f"dragoman {VERSION}", "order": o.order, "prune": list(o.prune), "discount_fallback": fallback}
    how = (o.order, o.memory, o.folder, list(o.prune), fallback, o.skip_symbols)
    form = (chosen, o.bits, json.dumps(about))
    if lines is not None or engine is None or engine.local:
        return Estimate(*lm_estimate(paths, lines, os.fspath(out), *how, *form))
    estimation = LmEstimation(paths, *how)
    work_off(engine, estimation, partial(lm_run, o.order))
    return Estimate(*estimation.finish(os.fspath(out), *form))


def convert(source: Path, out: Path, options: Format | None = None, **changes: Any) -> tuple[list[int], int]:
    """Rewrite an ARPA file as tables (or ARPA); n-grams of each order, and how many had no back-off weight."""
    o = made(Format, changes, base=options)
    about = json.dumps({"program": f"dragoman {VERSION}", "source": os.path.basename(os.fspath(source))})  # noqa: PTH119
    return lm_convert(os.fspath(source), os.fspath(out), _form(out, o.form), o.bits, about)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the tokens of some sentences; the last token of each is its end, `</s>`."""

    starts: npt.NDArray[np.int64]
    """Where each sentence begins, and the end of the last."""
    logs: npt.NDArray[np.float32]
    """Natural log probability of each token."""
    lengths: npt.NDArray[np.uint8]
    """Number of words of the n-gram that each probability comes from."""
    unknown: npt.NDArray[np.bool_]
    """Whether the model does not know the word."""

    def sentences(self) -> npt.NDArray[np.float64]:
        """Natural log probability of each sentence."""
        return np.add.reduceat(self.logs.astype(np.float64), self.starts[:-1])

    @property
    def perplexity(self) -> float:
        """Inverse of the geometric mean probability of a token, sentence ends and unknown words included."""
        return math.exp(-float(self.logs.astype(np.float64).mean()))


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a text; logarithms are natural."""

    sentences: int
    tokens: int
    """Words and sentence ends."""
    unknown: int
    controls: int
    """Control characters, which were taken for spaces."""
    log: float
    log_unknown: float

    @property
    def perplexity(self) -> float:
        """Inverse of the geometric mean probability of a token."""
        return math.exp(-self.log / self.tokens)

    @property
    def perplexity_known(self) -> float:
        """The same without unknown words."""
        return math.exp(-(self.log - self.log_unknown) / (self.tokens - self.unknown))


class _Scorer:
    """What models and mixtures have in common."""

    _native: LmModel | LmMixture

    def score(self, sentences: Sequence[str] | Texts) -> Scores:
        """Score sentences, token by token, on all cores."""
        lines = sentences if isinstance(sentences, Texts) else Texts(sentences)
        return Scores(*self._native.score(lines))

    def score_file(self, path: Path, *, tokens: bool = False) -> Totals:
        """Sum over a text file in constant memory; `tokens` writes each token's score to standard output."""
        return Totals(*self._native.score_file(os.fspath(path), tokens))


class Model(_Scorer):
    """A language model: tables that are mapped, or an ARPA file, which is turned to tables in memory."""

    def __init__(self, path: Path) -> None:
        self._native: LmModel = LmModel(os.fspath(path))
        self.path = os.fspath(path)

    @property
    def order(self) -> int:
        """Number of words in the longest n-grams."""
        return self._native.order

    @property
    def counts(self) -> list[int]:
        """N-grams of each order."""
        return self._native.counts

    @property
    def form(self) -> str:
        """`hash` or `compact`."""
        return self._native.form[0]

    @property
    def options(self) -> str:
        """The options it was made with, as JSON text."""
        return self._native.options

    @property
    def signature(self) -> str:
        """Form, order and hash of the contents."""
        return f"lm|form:{self.form}|order:{self.order}|hash:{self._native.hash:016x}|version:dragoman-{VERSION}"

    @property
    def size(self) -> int:
        """Size of the tables in bytes."""
        return self._native.size

    def words(self) -> list[str]:
        """All words, the special ones first."""
        return self._native.words()

    def __contains__(self, word: str) -> bool:
        return self._native.knows(word)

    def estimate(self, phrase: str) -> float:
        """Natural log probability of a phrase when nothing is known of what stands before it: for future cost."""
        return self._native.estimate(phrase)

    def verify(self) -> None:
        """Read all of the file and check its hash, which opening does not."""
        self._native.verify()

    def __reduce__(self) -> tuple[type[Model], tuple[str]]:
        return Model, (self.path,)


class Mixture(_Scorer):
    """Several models as one: p(w | h) is the weighted sum of theirs, computed word by word.

    The vocabulary is the union of theirs; a model that does not know a word contributes its probability of `<unk>`.
    """

    def __init__(self, models: Sequence[Model], weights: Sequence[float]) -> None:
        self._native: LmMixture = LmMixture([model._native for model in models], [float(w) for w in weights])
        self.models = list(models)
        self.weights = [float(w) for w in weights]


def tune_weights(
    models: Sequence[Model],
    sentences: Sequence[str] | Texts,
    *,
    tolerance: float = 1e-6,
    iterations: int = 1000,
) -> list[float]:
    """Mixture weights that minimise the perplexity of `sentences`, by EM from equal weights.

    Words that no model knows say nothing about the weights and are left out. The likelihood is concave in the weights,
    so that what EM finds is the best; it stops when no weight moves by more than `tolerance`.
    """
    if not models:
        raise OptionError("expected at least one model, found none")
    scores = [model.score(sentences) for model in models]
    known = ~np.logical_and.reduce([s.unknown for s in scores])
    logs = np.stack([s.logs[known].astype(np.float64) for s in scores])
    if logs.size == 0:
        raise InputError("expected text with at least one known word to tune on, found none")
    probabilities = np.exp(logs - logs.max(axis=0))
    weights = np.full(len(models), 1 / len(models))
    for _ in range(iterations):
        parts = weights[:, None] * probabilities
        updated = (parts / parts.sum(axis=0)).mean(axis=1)
        moved = float(np.abs(updated - weights).max())
        weights = updated
        if moved <= tolerance:
            break
    return [float(w) for w in weights / weights.sum()]


def merge(
    sources: Sequence[Path], weights: Sequence[float], out: Path, options: Format | None = None, **changes: Any
) -> list[int]:
    """Mix ARPA files into one model over the union of their n-grams; the n-grams of each order.

    Every n-gram of the union gets its probability under `Mixture`, and back-off weights are set so that
    probabilities sum to 1. Other n-grams back off within the union, so they may differ from the mixture's.
    """
    o = made(Format, changes, base=options)
    about = {
        "program": f"dragoman {VERSION}",
        "sources": [os.path.basename(os.fspath(s)) for s in sources],  # noqa: PTH119
        "weights": [float(w) for w in weights],
    }
    paths = [os.fspath(source) for source in sources]
    return lm_merge(paths, [float(w) for w in weights], os.fspath(out), _form(out, o.form), o.bits, json.dumps(about))
