"""Parts of words: pieces that are learnt from a text, and the words that compounds are made of.

Both come after words have been tokenised and cased. Pieces can be joined again; compounds are of the source side only,
and stay split.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike

import numpy as np
import numpy.typing as npt

from dragoman._core import CompoundModel, PieceModel, pieces_undo, word_counts
from dragoman.types import Texts

__all__ = ["LINKS", "MARK", "Compounds", "Owned", "Subwords", "join_pieces"]

Path = str | PathLike[str]
MARK = "@@"
"""What a piece ends with that its word goes on after."""
LINKS = ("s", "es", "n", "en", "er", "e", "ens")
"""What German has between the parts of a compound."""


class Owned:
    """Lines whose words were cut: `texts`, and for each part of a line the number of its word."""

    def __init__(self, found: tuple[Texts, npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> None:
        self.texts, self._lines, self._owners = found

    def of(self, line: int) -> list[int]:
        """For each part of a line the number of its word."""
        owners: list[int] = self._owners[self._lines[line] : self._lines[line + 1]].tolist()
        return owners


def _texts(text: Texts | Sequence[str]) -> Texts:
    return text if isinstance(text, Texts) else Texts(text)


class Subwords:
    """Pieces of words, by byte-pair encoding (Sennrich et al. 2016): a piece that its word goes on after ends with @@.

    Numbers, addresses and names that the text had not stay whole.

    >>> subwords = Subwords.learn(["low low low lower lowest"], size=12)
    >>> subwords.apply(["lowest slow 3.5"]).texts[0]
    'lowe@@ s@@ t s@@ low 3.5'
    >>> join_pieces(["lowe@@ s@@ t s@@ low 3.5"])[0]
    'lowest slow 3.5'
    """

    def __init__(self, model: PieceModel) -> None:
        self._model = model

    @classmethod
    def learn(cls, text: Texts | Sequence[str], size: int) -> Subwords:
        """Learn about `size` different pieces from tokenised lines."""
        return cls(PieceModel.of_texts(_texts(text), size))

    @classmethod
    def train(cls, paths: Sequence[Path], size: int) -> Subwords:
        """Learn from tokenised files."""
        return cls(PieceModel.of_files([os.fspath(path) for path in paths], size))

    @classmethod
    def load(cls, path: Path) -> Subwords:
        """A model from a file, ours or the codes of subword-nmt."""
        return cls(PieceModel.read(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write the joins, `te nga` a line, and the names that were cut."""
        self._model.write(os.fspath(path))

    def __len__(self) -> int:
        """Number of joins."""
        return len(self._model)

    def apply(self, text: Texts | Sequence[str]) -> Owned:
        """Lines in pieces."""
        return Owned(self._model.apply(_texts(text)))

    def apply_file(self, path: Path, out: Path) -> None:
        """A file in pieces."""
        self._model.apply_file(os.fspath(path), os.fspath(out))


def join_pieces(text: Texts | Sequence[str]) -> Texts:
    """Whole words again."""
    return pieces_undo(_texts(text))


class Compounds:
    """Words split into known ones by frequency (Koehn & Knight 2003), in the form that each part mostly has.

    With `unknown_only`, words that are in `counts` stay whole. `links` may stand between two parts.

    >>> compounds = Compounds([("Haus", 7), ("Schuh", 5), ("Meister", 2)], unknown_only=True)
    >>> compounds.split("Hausschuh"), compounds.split("Hausmeisters"), compounds.split("Haus")
    (['Haus', 'Schuh'], None, None)
    """

    def __init__(
        self,
        counts: Sequence[tuple[str, int]],
        *,
        unknown_only: bool = False,
        min_length: int = 4,
        min_count: int = 1,
        links: Sequence[str] = LINKS,
        model: CompoundModel | None = None,
    ) -> None:
        self._model = model or CompoundModel(counts, min_length, min_count, list(links), unknown_only)

    @classmethod
    def load(cls, path: Path) -> Compounds:
        """A model from a file."""
        return cls((), model=CompoundModel.read(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write how to split, and the words with their counts."""
        self._model.write(os.fspath(path))

    @staticmethod
    def count(paths: Sequence[Path]) -> list[tuple[str, int]]:
        """The words of letters in tokenised files, with their counts, the most frequent first."""
        return word_counts([os.fspath(path) for path in paths])

    def __len__(self) -> int:
        """Number of words that may be parts."""
        return len(self._model)

    def split(self, word: str) -> list[str] | None:
        """The parts of a word; None if it stays as it is."""
        return self._model.split(word)

    def apply(self, text: Texts | Sequence[str]) -> Owned:
        """Lines with compounds split."""
        return Owned(self._model.apply(_texts(text)))

    def apply_file(self, path: Path, out: Path) -> None:
        """A file with compounds split."""
        self._model.apply_file(os.fspath(path), os.fspath(out))
