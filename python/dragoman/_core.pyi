"""The native half of dragoman, typed. Internal: use the public names of the package."""

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np
import numpy.typing as npt

__all__ = [
    "VERSION",
    "Names",
    "NativeMetric",
    "NativeReferences",
    "Texts",
    "align_weights",
    "best_per_group",
    "bootstrap_sums",
    "dot_rows",
    "read_lines",
    "shuffle_sums",
    "write_lines",
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
def best_per_group(
    scores: npt.NDArray[np.float64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]: ...
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
    def ter(
        *, normalized: bool, no_punct: bool, asian_support: bool, case_sensitive: bool
    ) -> NativeMetric: ...
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

def bootstrap_sums(
    statistics: npt.NDArray[np.float64], samples: int, seed: int
) -> npt.NDArray[np.float64]: ...
def shuffle_sums(statistics: npt.NDArray[np.float64], samples: int, seed: int) -> npt.NDArray[np.float64]: ...
