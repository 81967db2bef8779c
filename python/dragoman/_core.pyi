"""The native half of dragoman, typed. Internal: use the public names of the package."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "VERSION",
    "AlignModel",
    "AlignTrainer",
    "Names",
    "NativeMetric",
    "NativeReferences",
    "NbestReader",
    "NbestWriter",
    "Texts",
    "align_weights",
    "best_per_group",
    "bootstrap_sums",
    "dot_rows",
    "nbest_stat",
    "read_gold",
    "read_lines",
    "read_links",
    "score_links",
    "shuffle_sums",
    "symmetrise_links",
    "write_lines",
    "write_links",
]

VERSION: str

@final
class Texts:
    """A column of strings in two flat arrays; a read-only sequence of str."""

    def __new__(cls, strings: Sequence[str]) -> Texts: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def to_list(self) -> list[str]: ...
    def take(self, indices: npt.NDArray[np.int64]) -> Texts: ...
    @property
    def bytes(self) -> npt.NDArray[np.uint8]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...

@final
class Names:
    """Interned names: the vocabulary of words, or the table of feature names. Ids count from 0."""

    def __new__(cls, names: Sequence[str] = ..., dense: bool = False) -> Names: ...
    def intern(self, name: str, dense: bool = False) -> int: ...
    def get(self, name: str) -> int | None: ...
    def is_dense(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, id: int, /) -> str: ...
    def to_list(self) -> list[str]: ...
    def copy(self) -> Names: ...

def align_weights(names: Names, values: npt.NDArray[np.float64], to: Names) -> npt.NDArray[np.float64]: ...
def dot_rows(
    starts: npt.NDArray[np.int64],
    columns: npt.NDArray[np.uint32],
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]: ...
def best_per_group(scores: npt.NDArray[np.float64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def read_lines(path: str) -> Texts: ...
def write_lines(path: str, lines: Texts) -> None: ...

@final
class NativeMetric:
    """A metric of the Rust core."""

    @staticmethod
    def bleu(
        *,
        order: int,
        tokenize: str,
        lowercase: bool,
        smooth: str,
        smooth_value: float,
        effective_order: bool,
        ref_length: str,
        length_scale: float,
        length_offset: float,
    ) -> NativeMetric: ...
    @staticmethod
    def chrf(
        *,
        char_order: int,
        word_order: int,
        beta: float,
        lowercase: bool,
        whitespace: bool,
        eps_smoothing: bool,
    ) -> NativeMetric: ...
    @staticmethod
    def ter(*, normalized: bool, no_punct: bool, asian_support: bool, case_sensitive: bool) -> NativeMetric: ...
    @staticmethod
    def wer(*, tokenize: str, lowercase: bool) -> NativeMetric: ...
    @property
    def width(self) -> int: ...
    def prepare(self, references: Sequence[Sequence[str]]) -> NativeReferences: ...
    def score(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...

@final
class NativeReferences:
    """The digested references of many sentences."""

    def __len__(self) -> int: ...
    def statistics(self, texts: Texts, sentence: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]: ...

def bootstrap_sums(statistics: npt.NDArray[np.float64], samples: int, seed: int) -> npt.NDArray[np.float64]: ...
def shuffle_sums(statistics: npt.NDArray[np.float64], samples: int, seed: int) -> npt.NDArray[np.float64]: ...

_NbestColumns: TypeAlias = tuple[
    Texts,
    npt.NDArray[np.int64],
    Texts,
    npt.NDArray[np.int64],
    npt.NDArray[np.uint32],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64] | None,
    list[tuple[str, npt.NDArray[np.float64]]],
    Texts | None,
    Texts | None,
]

@final
class NbestReader:
    """Reads an n-best list in batches of whole sentences."""

    def __new__(cls, path: str, dialect: str, names: Names) -> NbestReader: ...
    def next(self, size: int) -> _NbestColumns | None: ...

@final
class NbestWriter:
    """Writes an n-best list that appears under its name only when it is finished."""

    def __new__(cls, path: str, dialect: str) -> NbestWriter: ...
    def write(
        self,
        names: Names,
        ids: Texts,
        starts: npt.NDArray[np.int64],
        texts: Texts,
        rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float64]],
        totals: npt.NDArray[np.float64] | None,
        scores: Sequence[tuple[str, npt.NDArray[np.float64]]],
        alignments: Texts | None,
        extra: Texts | None,
    ) -> None: ...
    def finish(self) -> None: ...
    def discard(self) -> None: ...

def nbest_stat(
    path: str, dialect: str
) -> tuple[int, int, int, int, int, int, list[tuple[str, float, float, float, bool]]]: ...

_Links: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]

@final
class AlignTrainer:
    """A training run of word aligners, sweep by sweep."""

    def __new__(
        cls,
        source: Texts,
        target: Texts,
        samplers: int,
        sweeps: tuple[int, int, int] | None,
        collect: int,
        spelling: tuple[bool, int, int],
        priors: tuple[float, float, float, float, float],
        seed: int,
    ) -> AlignTrainer: ...
    def report(self) -> tuple[int, int, int, int, int]: ...
    def sweeps(self) -> int: ...
    def sweep(self) -> bool: ...
    def finish(self) -> tuple[_Links, _Links, AlignModel]: ...

@final
class AlignModel:
    """A trained word aligner."""

    @staticmethod
    def read(path: str) -> AlignModel: ...
    def write(self, path: str) -> None: ...
    def align(
        self, source: Texts, target: Texts, collect: int, seed: int
    ) -> tuple[_Links, _Links, tuple[int, int, int, int, int]]: ...

def symmetrise_links(forward: _Links, reverse: _Links, method: str) -> _Links: ...
def read_links(path: str, texts: tuple[Texts, Texts] | None) -> _Links: ...
def write_links(path: str, links: _Links) -> None: ...
def read_gold(path: str) -> tuple[_Links, _Links]: ...
def score_links(found: _Links, sure: _Links, possible: _Links) -> tuple[int, int, int, int]: ...
