"""The pool of a batch run: the judged candidates of all rounds, without repetitions; on disk when it gets large."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import PreparedReferences
from dragoman.types import F64, I64, U32, Candidates, Features, Names, Texts

__all__ = ["GrowingPool"]

_BLOCK = 256
"""Sentences that are put in order at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Judged candidates in order of their sentences."""

    sentence: I64
    starts: I64
    columns: U32
    values: F64
    statistics: F64

    @property
    def bytes(self) -> int:
        return sum(a.nbytes for a in (self.sentence, self.starts, self.columns, self.values, self.statistics))

    def block(self, first: int, last: int) -> _Part:
        """The candidates of sentences `first` to `last`."""
        low, high = np.searchsorted(self.sentence, [first, last])
        cuts = self.starts[low : high + 1]
        span = slice(int(cuts[0]), int(cuts[-1]))
        return _Part(
            self.sentence[low:high], cuts - cuts[0], self.columns[span], self.values[span], self.statistics[low:high]
        )

    def ordered(self) -> _Part:
        """By sentence; those of a sentence stay in their order."""
        rows = np.argsort(self.sentence, kind="stable")
        sizes = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        return _Part(self.sentence[rows], starts, self.columns[entries], self.values[entries], self.statistics[rows])


class GrowingPool:
    """Candidates of round after round. Texts come judged and are not kept.

    Once the arrays take more than `memory` bytes they live in mapped files, and only a block of sentences is in memory
    while a round is added.
    """

    def __init__(self, names: Names, references: PreparedReferences, memory: int, folder: Path | None) -> None:
        self.names, self.references, self.metric, self.memory = names, references, references.metric, memory
        self._folder = folder
        self._known: set[bytes] = set()
        self._part: _Part | None = None
        self._files: Path | None = None

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self._known)

    @property
    def on_disk(self) -> bool:
        """Whether its arrays are in files."""
        return self._files is not None

    def add(self, judged: Pool) -> int:
        """Adds what is new in judged lists, whose ids are numbers of references; says how much that is."""
        lists = judged.candidates
        numbers = np.array([int(i) for i in lists.ids], dtype=np.int64)
        sentence = numbers[lists.sentence]
        rows = self._new(lists, sentence)
        if len(rows):
            features, statistics = lists.features.take(rows), judged.statistics[rows]
            made = _Part(sentence[rows], features.starts, features.columns, features.values, statistics).ordered()
            self._part = made if self._part is None else self._joined(self._part, made)
        return len(rows)

    def pool(self) -> Pool:
        """All candidates so far."""
        part = self._part
        assert part is not None
        ids, sizes = np.unique(part.sentence, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        features = Features(self.names, part.starts, part.columns, part.values)
        texts = Texts([""] * len(part.sentence))
        return Pool(Candidates(Texts([str(i) for i in ids]), starts, texts, features), self.metric, part.statistics)

    def close(self) -> None:
        """Removes its files."""
        self._part = None
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)
            self._files = None

    def _new(self, lists: Candidates, sentence: I64) -> I64:
        """Rows with a sentence, text and features that were not there before."""
        features, rows = lists.features, []
        cuts = features.starts.tolist()
        for row, (number, text) in enumerate(zip(sentence.tolist(), lists.texts, strict=True)):
            span = slice(cuts[row], cuts[row + 1])
            key = hashlib.blake2b(f"{number} {text}\n".encode(), digest_size=16)
            key.update(features.columns[span].tobytes())
            key.update(features.values[span].tobytes())
            digest = key.digest()
            if digest not in self._known:
                self._known.add(digest)
                rows.append(row)
        return np.array(rows, dtype=np.int64)

    def _joined(self, old: _Part, new: _Part) -> _Part:
        """Both, block by block of sentences."""
        before = self._files
        if old.bytes + new.bytes > self.memory:
            self._files = Path(tempfile.mkdtemp(prefix="pool-", dir=self._folder))
        rows, entries = len(old.sentence) + len(new.sentence), len(old.columns) + len(new.columns)
        made = _Part(
            self._array("sentence", (rows,), np.int64),
            self._array("starts", (rows + 1,), np.int64),
            self._array("columns", (entries,), np.uint32),
            self._array("values", (entries,), np.float64),
            self._array("statistics", (rows, old.statistics.shape[1]), np.float64),
        )
        made.starts[0] = 0
        row = entry = 0
        for first in range(0, len(self.references), _BLOCK):
            parts = [part.block(first, first + _BLOCK) for part in (old, new)]
            block = _stacked(parts).ordered()
            after, end = row + len(block.sentence), entry + len(block.columns)
            made.sentence[row:after] = block.sentence
            made.starts[row + 1 : after + 1] = block.starts[1:] + entry
            made.columns[entry:end], made.values[entry:end] = block.columns, block.values
            made.statistics[row:after] = block.statistics
            row, entry = after, end
        if before is not None:
            shutil.rmtree(before, ignore_errors=True)
        return made

    def _array(self, name: str, shape: tuple[int, ...], kind: Any) -> Any:
        if self._files is None:
            return np.empty(shape, kind)
        return np.lib.format.open_memmap(self._files / f"{name}.npy", "w+", kind, shape)


def _stacked(parts: Sequence[_Part]) -> _Part:
    ends = np.cumsum([0, *(len(part.columns) for part in parts)])
    return _Part(
        np.concatenate([part.sentence for part in parts]),
        np.concatenate([[0], *(part.starts[1:] + end for part, end in zip(parts, ends, strict=False))]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.statistics for part in parts]),
    )
