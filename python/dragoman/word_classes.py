"""Word classes: k groups of words such that a bigram model of groups fits the text best (mkcls's job).

The model is p(w | w') = p(c(w) | c(w')) p(w | c(w)); a sentence begins and ends with a boundary of its own class.

    classes = word_classes.train("train.en", classes=50)
    classes["house"]                    # 7, or None for a word that the text did not have
    classes.save("en.50.classes")       # `word TAB class` in byte order, as mkcls writes it

Files number classes from 2, as mkcls does: 0 is the boundary, 1 is any unknown word. Here class 2 has the most tokens.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from dragoman._core import ClassCounts, ClassTable
from dragoman.common import Seeded, Threaded
from dragoman.errors import OptionError
from dragoman.options import check, made, option
from dragoman.types import U32, Texts

__all__ = ["UNKNOWN", "Classes", "Counts", "Numbers", "Options", "train"]

UNKNOWN = 1
"""The class of words that were not in the text."""

Path = str | PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How many classes there shall be."""

    classes: tuple[int, ...] = option(
        (50,), help="Numbers of word classes; several make several files, 0 makes none.", min=0, max=1 << 15
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def wanted(self) -> list[int]:
        """Each number once, without 0."""
        return [number for number in dict.fromkeys(self.classes) if number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Seeded, Threaded):
    """How hard the search tries. The defaults are measured; see docs/classes.md."""

    starts: int | None = option(
        None,
        help="Runs over the most frequent words; the best one is the start for all words. More take longer.",
        min=0,
        max=10_000,
        usual="32 for 20 classes, and fewer for more",
    )
    core: int = option(500, help="How many words are the most frequent ones.", min=0)
    sweeps: int = option(30, help="Sweeps of each of those runs while the temperature falls.", min=0)
    cooling: int = option(20, help="Sweeps over all words while the temperature falls.", min=0)
    iterations: int = option(
        50, help="Sweeps of exchange at the end of each run, at most; it ends when no word moves.", min=0
    )
    factor: int | None = option(
        None, help="Cluster this factor of tokens a|b|c, counted from 0.", min=0, usual="whole tokens"
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def _effort(self) -> tuple[int | None, int, int, int, int]:
        return (self.starts, self.core, self.sweeps, self.cooling, self.iterations)


class Classes:
    """Words and their classes.

    >>> import numpy as np
    >>> classes = Classes.of({"the": 2, "house": 3, "garden": 3})
    >>> classes["garden"], classes["unheard of"], len(classes)
    (3, None, 3)
    >>> classes.apply(["the big house"])[0]
    '2 1 3'
    """

    def __init__(self, table: ClassTable, likelihood: float | None = None, tokens: int | None = None) -> None:
        self._table = table
        self.likelihood = likelihood
        """Log-likelihood of the text in nats, ends of sentences included; None for classes from a file."""
        self.tokens = tokens
        """Words and ends of sentences of the text; None for classes from a file."""

    @classmethod
    def of(cls, classes: dict[str, int]) -> Classes:
        """Classes that are known already, numbered as in files."""
        import numpy as np  # noqa: PLC0415  for this alone

        if any(not 0 <= number < 2**32 for number in classes.values()):
            raise OptionError("expected numbers of classes that are not negative")
        return cls(ClassTable(Texts(list(classes)), np.array(list(classes.values()), dtype=np.uint32)))

    @classmethod
    def load(cls, path: Path) -> Classes:
        """Classes from a file of `word TAB class` lines, ours or mkcls's."""
        return cls(ClassTable.read(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write `word TAB class` lines in byte order, compressed if the name says so; it appears when it is whole."""
        self._table.write(os.fspath(path))

    @property
    def words(self) -> Texts:
        """All words."""
        return self._table.words()

    @property
    def numbers(self) -> U32:
        """The class of each word."""
        return self._table.classes()

    @property
    def mean(self) -> float:
        """Log-likelihood for each token, ends of sentences included."""
        if self.likelihood is None or not self.tokens:
            raise OptionError("only classes that have just been trained know the likelihood of their text")
        return self.likelihood / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(-mean)."""
        return math.exp(-self.mean)

    def __len__(self) -> int:
        """Number of words."""
        return len(self.numbers)

    def __getitem__(self, word: str) -> int | None:
        return self._table.get(word)

    def apply(self, text: Texts | Sequence[str]) -> Texts:
        """A text with every word replaced by its class, for class-based language models; unknown words become 1."""
        return self._table.apply(text if isinstance(text, Texts) else Texts(text))


class Counts:
    """What clustering needs to know of a text; counted once, it serves any number of classes."""

    def __init__(self, text: Path | Texts | Sequence[str], factor: int | None = None) -> None:
        if factor is not None and factor < 0:
            raise OptionError(f"expected the number of a factor from 0, found {factor}")
        if isinstance(text, str | PathLike):
            self._counts = ClassCounts.of_file(os.fspath(text), factor)
        else:
            self._counts = ClassCounts.of_texts(text if isinstance(text, Texts) else Texts(text), factor)
        self.words, self.tokens, self.sentences, self.empty = self._counts.figures()

    def frequent(self, size: int = 1000) -> list[tuple[str, int]]:
        """The most frequent words with their counts; equals in byte order."""
        return self._counts.frequent(size)

    def train(
        self,
        classes: int = 50,
        options: Options | None = None,
        *,
        progress: Callable[[int], None] | None = None,
        **changes: Any,
    ) -> Classes:
        """Find classes; see `train`. The factor is that of the counts."""
        o = made(Options, changes, base=options)
        if classes < 1:
            raise OptionError(f"expected at least 1 class, found {classes}")
        table, likelihood = self._counts.cluster(classes, o._effort, o.seed, o.threads, progress)
        return Classes(table, likelihood, self.tokens + self.sentences)


def train(
    text: Path | Texts | Sequence[str],
    classes: int = 50,
    options: Options | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> Classes:
    """Find `classes` classes for the words of a text: the name of a file, or lines of tokens; `changes` are options.

    The result depends on text, options and seed, not on the number of threads. With `factor`, a token `a|b|c` stands
    for its factor of that number, from 0. `progress` is called now and then with the number of sweeps done.
    """
    o = made(Options, changes, base=options)
    return Counts(text, o.factor).train(classes, o, progress=progress)
