"""The native half of dragoman, typed. Internal: use the public names of the package."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "VERSION",
    "AlignModel",
    "AlignShard",
    "AlignShards",
    "AlignTrainer",
    "CandidateLists",
    "ClassCounts",
    "ClassTable",
    "CompoundModel",
    "CorpusCleaner",
    "ExplainedStep",
    "ForestLine",
    "ForestLines",
    "ForestPool",
    "JudgedLists",
    "Learner",
    "LinePool",
    "LineWriter",
    "LmEstimation",
    "LmMixture",
    "LmModel",
    "MiraContext",
    "MiraRun",
    "MiraWalk",
    "MosesTokenizer",
    "Names",
    "NativeForests",
    "NativeMetric",
    "NativeReferences",
    "NativeSystem",
    "NativeWeights",
    "NbestReader",
    "NbestWriter",
    "PieceModel",
    "RuleExtraction",
    "RuleScoring",
    "RuleTable",
    "SampleRanker",
    "SharedValues",
    "Stop",
    "TagCounts",
    "Texts",
    "TranslationColumns",
    "TranslationStream",
    "TruecaseModel",
    "UnicodeTokenizer",
    "align_weights",
    "best_per_group",
    "bitext_languages",
    "bitext_sample",
    "bootstrap_sums",
    "dot_rows",
    "follow_spans",
    "get_threads",
    "language_code",
    "language_fits",
    "language_known",
    "lm_convert",
    "lm_copies",
    "lm_estimate",
    "lm_merge",
    "lm_run",
    "maxent_train",
    "mbr_choices",
    "names_dense",
    "names_extend",
    "names_find",
    "names_match",
    "names_pack",
    "names_sets",
    "names_take",
    "names_unpack",
    "nbest_stat",
    "noisy_copies",
    "normalise_lines",
    "normalise_spans",
    "parse_size",
    "pieces_undo",
    "read_gold",
    "read_lines",
    "read_links",
    "read_markup",
    "refusal",
    "rule_attributes",
    "rules_form",
    "rules_import",
    "rules_of_sentence",
    "rules_score_count",
    "sample_translations",
    "score_links",
    "set_threads",
    "shuffle_sums",
    "sniff_file",
    "symmetrise_links",
    "texts_unpack",
    "truecase_undo",
    "weights_load",
    "weights_save",
    "word_counts",
    "words",
    "write_lines",
    "write_links",
]

VERSION: str

def set_threads(count: int | None) -> None:
    """Sets the number of threads of all native kernels; None is one for each core. Results do not depend on it."""

def get_threads() -> int | None:
    """The number that `set_threads` set."""

@final
class Texts:
    """A column of strings in two flat arrays; a read-only sequence of str."""

    def __new__(cls, strings: Sequence[str]) -> Texts: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def to_list(self) -> list[str]: ...
    def take(self, indices: npt.NDArray[np.int64]) -> Texts: ...
    @property
    def bytes(self) -> npt.NDArray[np.uint8]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...

def texts_unpack(bytes: bytes, offsets: npt.NDArray[np.int64]) -> Texts: ...

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
    def __reduce__(self) -> tuple[Any, ...]: ...
    def to_list(self) -> list[str]: ...
    def copy(self) -> Names: ...

def align_weights(names: Names, values: npt.NDArray[np.float64], to: Names) -> npt.NDArray[np.float64]: ...
def dot_rows(
    starts: npt.NDArray[np.int64],
    columns: npt.NDArray[np.uint32],
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]: ...
def noisy_copies(
    lists: npt.NDArray[np.int64],
    row_starts: npt.NDArray[np.int64],
    columns: npt.NDArray[np.uint32],
    values: npt.NDArray[np.float64],
    noise: float,
    copies: int,
    seed: int,
) -> npt.NDArray[np.float64]: ...
def best_per_group(scores: npt.NDArray[np.float64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def read_lines(path: str) -> Texts: ...

@final
class LineWriter:
    """Writes lines one by one to a file that appears under its name only when it is finished."""

    def __new__(cls, path: str) -> LineWriter: ...
    def write(self, line: str) -> None: ...
    def finish(self) -> None: ...
    def discard(self) -> None: ...

def parse_size(text: str) -> int: ...
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
    @staticmethod
    def mean() -> NativeMetric: ...
    @staticmethod
    def combined(*, parts: Sequence[NativeMetric], factors: Sequence[float]) -> NativeMetric: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def width(self) -> int: ...
    @property
    def capabilities(self) -> list[str]: ...
    def prepare(self, references: Sequence[Sequence[str]]) -> NativeReferences: ...
    def score(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...

@final
class NativeReferences:
    """The digested references of many sentences."""

    def __len__(self) -> int: ...
    def statistics(self, texts: Texts, sentence: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]: ...

def mbr_choices(
    metric: NativeMetric,
    texts: Texts,
    starts: npt.NDArray[np.int64],
    totals: npt.NDArray[np.float64],
    scales: npt.NDArray[np.float64],
    higher_is_better: bool,
) -> npt.NDArray[np.int64]: ...
def refusal(what: str, capability: str) -> str: ...
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
    tuple[list[tuple[str, npt.NDArray[np.float64]]], list[tuple[str, Texts]], list[tuple[str, Texts]]],
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
        own: tuple[
            Sequence[tuple[str, npt.NDArray[np.float64]]],
            Sequence[tuple[str, Texts]],
            Sequence[tuple[str, Texts]],
        ],
    ) -> None: ...
    def finish(self) -> None: ...
    def discard(self) -> None: ...

def nbest_stat(
    path: str, dialect: str
) -> tuple[int, int, int, int, int, int, list[tuple[str, float, float, float, bool]]]: ...

_F64: TypeAlias = npt.NDArray[np.float64]
_I64: TypeAlias = npt.NDArray[np.int64]
_U32: TypeAlias = npt.NDArray[np.uint32]

@final
class CandidateLists:
    """Candidate lists packed for learning; made once, read by every step."""

    def __new__(
        cls, groups: _I64, starts: _I64, columns: npt.NDArray[np.uint32], values: _F64, width: int
    ) -> CandidateLists: ...
    @staticmethod
    def renumbered(groups: _I64, starts: _I64, columns: _U32, values: _F64) -> tuple[CandidateLists, _U32]: ...
    def __len__(self) -> int: ...
    def best(self, weights: _F64) -> _I64: ...
    def sentence_counts(self) -> _I64: ...
    def sample_pairs(
        self, gains: _F64, *, draws: int, keep: int, threshold: float, seed: int, step: int
    ) -> tuple[_I64, _I64, _I64]: ...
    def fit_pairs(
        self,
        starts: _I64,
        better: _I64,
        worse: _I64,
        start: _F64,
        lower: _F64,
        upper: _F64,
        *,
        l2: float,
        pull: float,
        iterations: int,
        memory: int,
        tolerance: float,
    ) -> tuple[_F64, dict[str, float]]: ...
    def pair_loss(
        self, starts: _I64, better: _I64, worse: _I64, weights: _F64, start: _F64, *, l2: float, pull: float
    ) -> tuple[float, _F64]: ...
    # `options`: the fields objective, gamma, sharpness, factor, reduce, batch and lazy of `tune.online.Online`.
    def online_epoch(
        self, learner: Learner, gains: _F64, pairs: tuple[_I64, _I64, _I64], order: _I64, options: object
    ) -> float: ...
    def gradient(
        self, gains: _F64, pairs: tuple[_I64, _I64, _I64], weights: _F64, options: object
    ) -> tuple[_F64, float]: ...
    def fit_risk(
        self,
        weights: _F64,
        anchor: _F64,
        lower: _F64,
        upper: _F64,
        *,
        gains: _F64 | None = None,
        statistics: _F64 | None = None,
        score: Callable[[_F64], tuple[float, list[float]]] | None = None,
        gamma: float,
        l2: float,
        iterations: int,
        memory: int,
        tolerance: float,
    ) -> tuple[_F64, dict[str, float]]: ...
    def risk(
        self,
        weights: _F64,
        anchor: _F64,
        *,
        gains: _F64 | None = None,
        statistics: _F64 | None = None,
        score: Callable[[_F64], tuple[float, list[float]]] | None = None,
        gamma: float,
        l2: float,
    ) -> tuple[float, _F64]: ...

@final
class Learner:
    """Weights that learn from gradients; a step costs what its gradient touches."""

    # `options`: the fields updater, rate, epsilon, l1, prior, c, min_count and average of `tune.online.Online`.
    def __new__(
        cls,
        options: object,
        weights: _F64,
        *,
        squares: _F64 | None = None,
        sums: _F64 | None = None,
        counts: _I64 | None = None,
        time: int = 0,
        watch: bool = False,
    ) -> Learner: ...
    def bound(self, columns: _U32, lower: _F64, upper: _F64) -> None: ...
    def step(self, columns: _U32, gradient: _F64, loss: float, seen: _I64 | None = None) -> None: ...
    def values(self, columns: _U32) -> _F64: ...
    def changes(self) -> tuple[_U32, _F64]: ...
    def weights(self) -> _F64: ...
    def squares(self) -> _F64: ...
    def sums(self) -> _F64: ...
    def counts(self) -> _I64: ...
    @property
    def time(self) -> int: ...
    def mean(self) -> _F64: ...
    def restart(self) -> None: ...

@final
class JudgedLists:
    """The statistics of all candidates, packed for MIRA."""

    def __new__(cls, lists: CandidateLists, statistics: _F64) -> JudgedLists: ...

@final
class MiraRun:
    """A pass of MIRA over sentences. It lives for one step of a tuner."""

    def __new__(
        cls,
        judged: JudgedLists,
        options: object,
        weights: _F64,
        drift: _F64,
        updates: int,
        lower: _F64,
        upper: _F64,
        *,
        background: _F64 | None = None,
        count: float = 0.0,
        choice: _I64 | None = None,
    ) -> MiraRun: ...
    def others(self, sentence: int) -> _F64: ...
    def visit(self, sentence: int, gains: _F64) -> None: ...
    def visit_all(self, order: _I64, gains: _F64) -> None: ...
    def visit_native(self, order: _I64, metric: NativeMetric, sign: float, scale: float) -> None: ...
    def state(self) -> tuple[_F64, _F64, int, _I64]: ...
    def background(self) -> tuple[_F64, float]: ...
    def met(self) -> tuple[_F64, _F64]: ...

@final
class MiraContext:
    """What sentences are judged together with."""

    def __new__(
        cls,
        options: object,
        width: int,
        *,
        background: _F64 | None = None,
        count: float = 0.0,
        corpus: _F64 | None = None,
    ) -> MiraContext: ...
    def others(self, sentence: int) -> _F64 | None: ...
    def unit(self, total: _F64) -> float: ...
    def saw(self, sentence: int, model: _F64, oracle: _F64 | None = None) -> None: ...
    @property
    def sum(self) -> _F64: ...
    @property
    def count(self) -> float: ...

@final
class MiraWalk:
    """A walk of MIRA over some sentences, each with a list of its own."""

    def __new__(
        cls,
        context: MiraContext,
        weights: _F64,
        fixed: Sequence[int],
        metric: tuple[NativeMetric, NativeMetric] | None = None,
        *,
        sign: float = 1.0,
        scale: float = 1.0,
    ) -> MiraWalk: ...
    def bound(self, feature: int, lower: float, upper: float) -> None: ...
    def visit(
        self,
        sentence: int,
        starts: _I64,
        columns: _U32,
        values: _F64,
        statistics: _F64,
        scores: _F64 | None = None,
    ) -> None: ...
    def others(self, sentence: int) -> _F64 | None: ...
    def unit(self, sentence: int, best: _F64) -> float: ...
    def weights(self, width: int) -> _F64: ...
    def mean(self, width: int) -> _F64: ...
    def changes(self) -> tuple[_U32, _F64]: ...
    def seen(self) -> tuple[_I64, _F64]: ...
    def met(self) -> tuple[_F64, _F64]: ...
    def context(self) -> tuple[_F64, float]: ...
    @property
    def updates(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def differing(self) -> int: ...
    @property
    def empty(self) -> int: ...

_Listed: TypeAlias = tuple[Texts, _F64, _I64, _U32, _F64, Texts, list[list[int]]]

@final
class NativeForests:
    """Forests of some sentences."""

    @staticmethod
    def from_columns(
        *,
        nodes: _I64,
        starts: _I64,
        heads: _U32,
        tail_starts: _I64,
        tails: _U32,
        symbol_starts: _I64,
        symbols: _U32,
        words: Texts,
        row_starts: _I64,
        columns: _U32,
        values: _F64,
        scores: _F64 | None = None,
        spans: _U32 | None = None,
        link_starts: _I64 | None = None,
        links: _U32 | None = None,
        tags: _U32 | None = None,
        labels: _U32 | None = None,
    ) -> NativeForests: ...
    def columns(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    @property
    def nodes(self) -> _I64: ...
    @property
    def edges(self) -> _I64: ...
    @property
    def lattices(self) -> bool: ...
    def take(self, numbers: _I64) -> NativeForests: ...
    def renamed(self, numbers: _U32) -> NativeForests: ...
    def rescored(self, weights: _F64) -> NativeForests: ...
    def densest(self, most: _I64) -> NativeForests: ...
    def within(self, beam: float) -> NativeForests: ...
    def best(self, weights: _F64) -> list[str | None]: ...
    def kbest(self, forest: int, size: int, distinct: bool) -> _Listed: ...
    def reach(self, forest: int, words: Sequence[str]) -> _Listed: ...
    def outline(self, forest: int, edges: Sequence[int]) -> str: ...
    def jsonl(self, forest: int, id: str, names: Names) -> str: ...
    def cdec(self, forest: int, names: Names, source: Sequence[str]) -> str: ...
    @staticmethod
    def read_jsonl(line: str, names: Names, path: str, number: int) -> tuple[str, NativeForests]: ...
    @staticmethod
    def read_cdec(line: str, names: Names, path: str, number: int) -> NativeForests: ...

@final
class ForestLine:
    """A line whose winners are known, but not all of their statistics."""

    @property
    def texts(self) -> Texts: ...
    @property
    def sentences(self) -> _I64: ...

@final
class ForestLines:
    """The forests of a tuning text, of one or more rounds, laid out for line searches."""

    def __new__(cls, sentences: int, width: int) -> ForestLines: ...
    def add(self, round: int, sentences: _I64, forests: NativeForests) -> None: ...
    def forget(self, round: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def features(self) -> int: ...
    def save(self, path: str, round: int, names: Names) -> None: ...
    def load(self, path: str, round: int, names: Names) -> None: ...
    def product(self, vector: _F64) -> _F64: ...
    def spreads(self, scores: _F64, width: int) -> _F64: ...
    def advance(self, feature: int, scores: _F64, gamma: float) -> None: ...
    def search(self, scores: _F64, slopes: _F64) -> ForestLine: ...
    def finish(self, line: ForestLine, rows: _F64) -> tuple[_F64, _F64]: ...
    def best(self, scores: _F64) -> list[str | None]: ...

@final
class ForestPool:
    """The forests of the sentences of a tuning text, of one or more rounds, with their references."""

    def __new__(cls, metric: NativeMetric, references: Sequence[Sequence[str]]) -> ForestPool: ...
    def add(self, round: int, sentences: _I64, forests: NativeForests) -> None: ...
    def forget(self, round: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def size(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    @property
    def order(self) -> int: ...
    def save(self, path: str, round: int, names: Names) -> None: ...
    def load(self, path: str, round: int, names: Names) -> None: ...
    def total(self, weights: _F64) -> _F64: ...
    def slopes(self, row: _F64) -> _F64: ...
    def paths(
        self, sentence: int, weights: _F64, wishes: Sequence[tuple[float, float]], slopes: _F64
    ) -> tuple[Texts, _I64, _U32, _F64]: ...
    def seek(
        self, sentence: int, weights: _F64, wishes: Sequence[tuple[float, float]], base: _F64, unit: float
    ) -> tuple[Texts, _I64, _U32, _F64]: ...
    def visit(
        self,
        order: _I64,
        weights: _F64,
        drift: _F64,
        updates: int,
        lower: _F64,
        upper: _F64,
        background: _F64,
        count: float,
        *,
        oracle: str,
        prediction: str,
        c: float,
        decay: float,
        feed: str,
        unit: str,
    ) -> tuple[_F64, _F64, int, _F64, float, _F64, _F64, int]: ...

@final
class LinePool:
    """Candidates laid out for line searches: features by feature, statistics by candidate."""

    @staticmethod
    def from_rows(
        starts: npt.NDArray[np.int64],
        row_starts: npt.NDArray[np.int64],
        columns: npt.NDArray[np.uint32],
        values: npt.NDArray[np.float64],
        width: int,
        statistics: npt.NDArray[np.float64],
    ) -> LinePool: ...
    @staticmethod
    def from_matrix(
        starts: npt.NDArray[np.int64],
        matrix: npt.NDArray[np.float64] | npt.NDArray[np.float32],
        statistics: npt.NDArray[np.float64],
    ) -> LinePool: ...
    @property
    def width(self) -> int: ...
    @property
    def dense(self) -> bool: ...
    def __len__(self) -> int: ...
    def spreads(self) -> npt.NDArray[np.float64]: ...
    def combine(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def dots(self, factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def advance(self, feature: int, scores: npt.NDArray[np.float64], step: float) -> None: ...
    def total(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def search(
        self, scores: npt.NDArray[np.float64], slopes: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def search_feature(
        self, scores: npt.NDArray[np.float64], feature: int, total: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def search_best(
        self,
        scores: npt.NDArray[np.float64],
        total: npt.NDArray[np.float64],
        features: Sequence[int],
        low: Sequence[float],
        high: Sequence[float],
        reach: float,
        metric: NativeMetric,
        unit: float,
    ) -> list[tuple[float, float, npt.NDArray[np.float64] | None] | None]: ...
    def expect(
        self, scores: npt.NDArray[np.float64], mu: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def gradient(self, chances: npt.NDArray[np.float64], slope: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def covary(self, chances: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...

_LmColumns: TypeAlias = tuple[
    npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.uint8], npt.NDArray[np.bool_]
]

_LmFigures: TypeAlias = tuple[int, int, int, int, int, list[int], list[int], list[list[float]], list[bool]]

def lm_estimate(
    paths: Sequence[str],
    lines: Texts | None,
    out: str,
    order: int,
    memory: str,
    scratch: str | None,
    prune: Sequence[int],
    fallback: Sequence[float] | None,
    skip_symbols: bool,
    form: str,
    bits: int,
    options: str,
) -> _LmFigures: ...

@final
class LmEstimation:
    """An estimation whose n-grams are counted by other processes."""

    def __new__(
        cls,
        paths: Sequence[str],
        order: int,
        memory: str,
        scratch: str | None,
        prune: Sequence[int],
        fallback: Sequence[float] | None,
        skip_symbols: bool,
    ) -> LmEstimation: ...
    def chunk(self) -> bytes | None: ...
    def add(self, run: bytes) -> None: ...
    def finish(self, out: str, form: str, bits: int, options: str) -> _LmFigures: ...

def lm_run(order: int, chunk: bytes) -> bytes:
    """The n-grams of a part of the text and their counts as a sorted run."""

def lm_convert(path: str, out: str, form: str, bits: int, options: str) -> tuple[list[int], int]: ...
def lm_merge(
    paths: Sequence[str], weights: Sequence[float], out: str, form: str, bits: int, options: str
) -> list[int]: ...

@final
class LmModel:
    """A language model, mapped from its file."""

    def __new__(cls, path: str) -> LmModel: ...
    @property
    def order(self) -> int: ...
    @property
    def counts(self) -> list[int]: ...
    @property
    def form(self) -> tuple[str, int]: ...
    @property
    def options(self) -> str: ...
    @property
    def hash(self) -> int: ...
    @property
    def size(self) -> int: ...
    def words(self) -> list[str]: ...
    def knows(self, word: str) -> bool: ...
    def verify(self) -> None: ...
    def save(self, path: str) -> None: ...
    def score(self, texts: Texts) -> _LmColumns: ...
    def score_file(self, path: str, tokens: bool) -> tuple[int, int, int, int, float, float]: ...
    def estimate(self, phrase: str) -> float: ...

@final
class LmMixture:
    """A linear mixture of models."""

    def __new__(cls, models: Sequence[LmModel], weights: Sequence[float]) -> LmMixture: ...
    def score(self, texts: Texts) -> _LmColumns: ...
    def score_file(self, path: str, tokens: bool) -> tuple[int, int, int, int, float, float]: ...

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
class AlignShard:
    """A part of a text whose links are sampled wherever it is."""

    def __new__(cls, bytes: bytes) -> AlignShard: ...
    def scatter(self, sampler: int) -> bytes: ...
    def sweep(self, sampler: int, sweep: int, links: bytes, counts: bytes) -> bytes: ...
    def decide(self, given: int, states: Sequence[tuple[bytes, bytes]]) -> bytes: ...

@final
class AlignShards:
    """A training run of word aligners in shards: who merges the counts."""

    def __new__(
        cls,
        source: Texts,
        target: Texts,
        shards: int,
        samplers: int,
        sweeps: tuple[int, int, int] | None,
        collect: int,
        spelling: tuple[bool, int, int],
        priors: tuple[float, float, float, float, float],
        seed: int,
    ) -> AlignShards: ...
    def report(self) -> tuple[int, int, int, int, int]: ...
    def sweeps(self) -> int: ...
    def shards(self) -> list[AlignShard]: ...
    def counts(self, sampler: int, sweep: int) -> bytes: ...
    def state(self, sampler: int, shard: int) -> bytes: ...
    def take(self, sampler: int, shard: int, links: bytes) -> None: ...
    def decided(self, given: int, shard: int, found: bytes) -> None: ...
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

_RuleFigures: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int]

@final
class RuleExtraction:
    """An extraction of rules from three files, here or with the help of other processes.

    `gaps` are limits of rules with gaps: span, symbols, least words of a gap in source and target, gaps, tight edges,
    fractional counts. Gives pairs, empty, long, bars, unaligned, tokens, extracted, rules, phrases, insignificant,
    below the top, rare.
    """

    def __new__(
        cls,
        files: tuple[str, str, str],
        out: str,
        meta: str,
        length: int,
        gaps: tuple[int, int, tuple[int, int], int, bool, bool] | None,
        least: int,
        scores: str,
        filter: list[str],
        longest: int,
        tags: tuple[str, str] | None,
        models: list[str],
        share: float,
        moses_next: bool,
        smoothing: str,
        alpha: float | None,
        constant: float,
        orientation_counts: bool,
        top: int | None,
        significance: str | None,
        lexical: tuple[str, str] | None,
        memory: str,
    ) -> RuleExtraction: ...
    def extract(self) -> _RuleFigures: ...
    def chunk(self) -> bytes | None: ...
    def add(self, result: bytes) -> None: ...
    def advance(self, workers: int) -> None: ...
    def knowledge(self) -> bytes: ...
    def find(self, part: bytes) -> bytes: ...
    def gather(self, part: bytes) -> bytes: ...
    def finish(self) -> _RuleFigures: ...

@final
class RuleScoring:
    """A worker of an extraction that knows what it takes to score rules."""

    def __new__(cls, extraction: RuleExtraction, knowledge: bytes) -> RuleScoring: ...
    def join(self, part: bytes) -> bytes: ...
    def score(self, part: bytes) -> bytes: ...

def rules_of_sentence(
    source: str, target: str, links: str, gaps: tuple[int, int, tuple[int, int], int, bool, bool]
) -> list[tuple[str, str, list[tuple[int, int]], float]]:
    """The rules with gaps of one sentence pair: source, target, links, count of each occurrence."""

def rules_form(path: str) -> str:
    """What the first line of a text table looks like: `phrases`, `moses` or `cdec`."""

def rules_import(
    rules: str,
    form: str,
    reordering: list[tuple[str, str]],
    columns: list[str] | None,
    out: str,
    meta: str,
    memory: str,
) -> tuple[int, int, int, list[int], list[int], list[str]]:
    """Turns Moses' tables into a mapped one.

    Rules, phrases, repeated rules, missing and unused entries of each reordering table, columns.
    """

def rules_score_count(path: str) -> int:
    """How many scores the first line of a Moses phrase table has."""

def maxent_train(
    rules: str | PathLike[str],
    classes: tuple[str, str],
    out: str | PathLike[str],
    meta: str,
    model: str,
    name: str,
    emphasis: float,
    least: float,
    singletons: float,
    iterations: int,
    drop_counts: bool,
    heldout: str | PathLike[str] | None,
    alpha: float,
    seed: int,
    templates: Sequence[str],
    words: tuple[Sequence[str], Sequence[str]] | None,
) -> tuple[
    int,
    int,
    int,
    list[tuple[int, bool, float, float]],
    tuple[float, float, list[float], list[float], list[float], list[float]] | None,
]:
    """Trains the Maxent reordering model on a table with counts and writes a table with six columns more."""

@final
class RuleTable:
    """An open rule table."""

    def __new__(cls, path: str) -> RuleTable:
        """Maps a table."""

    def columns(self) -> list[str]:
        """Names of the score columns."""

    def meta(self) -> str:
        """Meta-data as JSON."""

    def figures(self) -> tuple[int, int, int, int, int]:
        """Rules, source words, target words, words of the longest source phrase, bytes of the file."""

    def phrases(self) -> int:
        """Number of source phrases that have rules; reads all nodes."""

    def signature(self) -> int:
        """A hash of the contents."""

    def verify(self) -> None:
        """Reads all of the file and checks it against its hashes."""

    def lookup(self, words: list[str]) -> list[tuple[str, list[float], list[tuple[int, int]]]]:
        """The rules of a source phrase: target phrase, scores, links."""

    def export(
        self,
        rules: str | None,
        form: str,
        columns: list[str],
        counts: bool,
        reordering: list[tuple[str, str]],
        memory: str,
    ) -> None:
        """Writes Moses' tables."""

_Demands: TypeAlias = tuple[list[tuple[int, int, str, float, bool, bool]], list[int], list[tuple[int, int]]]

@final
class TranslationColumns:
    """Candidate translations of some sentences, in columns."""

    @property
    def starts(self) -> _I64: ...
    @property
    def texts(self) -> Texts: ...
    @property
    def scores(self) -> _F64: ...
    @property
    def rows(self) -> _I64: ...
    @property
    def features(self) -> _U32: ...
    @property
    def values(self) -> _F64: ...
    @property
    def links(self) -> Texts: ...
    @property
    def phrases(self) -> Texts: ...
    @property
    def narrow(self) -> list[bool]: ...

@final
class ExplainedStep:
    """A phrase of an explained derivation."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def features(self) -> list[tuple[int, float]]: ...
    @property
    def depth(self) -> int: ...

@final
class NativeWeights:
    """Weights that are ready for a system."""

    def changed(self, columns: _U32, values: _F64) -> NativeWeights: ...
    def __len__(self) -> int: ...

@final
class NativeSystem:
    def __new__(
        cls,
        tables: list[str],
        parts: list[tuple[str, str, list[tuple[str, str]]]],
        rules: list[tuple[str, list[str], object]] = ...,
        states: list[tuple[str, list[str], int, int, bool, object]] = ...,
        system: str | None = None,
    ) -> NativeSystem: ...
    @property
    def vocabulary(self) -> Names: ...
    @property
    def names(self) -> Names: ...
    @property
    def dense(self) -> int: ...
    @property
    def searched(self) -> int: ...
    @property
    def sets(self) -> list[str]: ...
    def unknown(self, names: Names) -> str | None: ...
    def weights(self, names: Names, values: _F64) -> NativeWeights: ...
    def numbers(self, names: Names, columns: _U32) -> _U32: ...
    def translate(
        self,
        lines: Texts,
        weights: NativeWeights,
        settings: object,
        demands: list[_Demands] | None = None,
        targets: Texts | None = None,
        threads: int | None = None,
    ) -> TranslationColumns: ...
    def explain(
        self, line: str, weights: NativeWeights, settings: object, demands: _Demands | None = None
    ) -> tuple[float, str, list[ExplainedStep]]: ...
    def forests(
        self,
        lines: Texts,
        weights: NativeWeights,
        settings: object,
        density: float,
        demands: list[_Demands] | None = None,
        threads: int | None = None,
    ) -> NativeForests: ...

@final
class Stop:
    def __new__(cls) -> Stop: ...
    def stop(self) -> None: ...
    @property
    def stopped(self) -> bool: ...

def lm_copies(wanted: bool) -> None: ...
def rule_attributes() -> list[tuple[str, str]]: ...
def read_markup(
    line: str, plain: bool
) -> tuple[str, list[tuple[int, int, str, float]], list[int], list[tuple[int, int]]]: ...

@final
class TranslationStream:
    def __new__(
        cls, system: NativeSystem, weights: NativeWeights, settings: object, threads: int, window: int
    ) -> TranslationStream: ...
    def push(self, line: str, demands: _Demands | None = None) -> bool: ...
    def close(self) -> None: ...
    def stop(self) -> None: ...
    def take(self) -> TranslationColumns | None: ...

def sample_translations(
    system: NativeSystem,
    lines: Texts,
    weights: NativeWeights,
    settings: object,
    sampling: object,
    documents: object,
    demands: list[_Demands] | None = None,
    threads: int | None = None,
) -> TranslationColumns: ...

@final
class SampleRanker:
    """A text and its references, ready for SampleRank."""

    def __new__(
        cls,
        system: NativeSystem,
        lines: Texts,
        references: list[list[str]],
        metric: NativeMetric,
        demands: list[_Demands] | None = None,
    ) -> SampleRanker: ...
    def epoch(
        self,
        weights: NativeWeights,
        start: _F64,
        pace: object,
        fixed: list[int],
        shards: list[list[list[int]]],
        ranking: object,
        texts: tuple[list[int], object] | None = None,
    ) -> tuple[list[_F64], dict[str, float]]: ...

@final
class ClassCounts:
    """Unigrams and bigrams of a text."""

    @staticmethod
    def of_file(path: str, factor: int | None) -> ClassCounts: ...
    @staticmethod
    def of_texts(texts: Texts, factor: int | None) -> ClassCounts: ...
    def figures(self) -> tuple[int, int, int, int]: ...
    def frequent(self, size: int) -> list[tuple[str, int]]: ...
    def cluster(
        self,
        classes: int,
        effort: tuple[int | None, int, int, int, int],
        seed: int,
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[ClassTable, float]: ...

@final
class ClassTable:
    """Words and their classes."""

    def __new__(cls, words: Texts, classes: npt.NDArray[np.uint32]) -> ClassTable: ...
    @staticmethod
    def read(path: str) -> ClassTable: ...
    def write(self, path: str) -> None: ...
    def words(self) -> Texts: ...
    def classes(self) -> npt.NDArray[np.uint32]: ...
    def get(self, word: str) -> int | None: ...
    def apply(self, texts: Texts) -> Texts: ...

@final
class CorpusCleaner:
    """A cleaning run, batch by batch."""

    def __new__(
        cls,
        inputs: Sequence[tuple[str, str, str, str]],
        exclude: Sequence[str],
        outputs: tuple[str, str],
        form: str,
        bars: str,
        limits: tuple[int, int, int, float],
        switches: tuple[bool, bool, bool, bool],
    ) -> CorpusCleaner: ...
    def read(self, count: int) -> tuple[Texts, Texts] | None: ...
    def write(self, source: Texts, target: Texts) -> None: ...
    def finish(self) -> tuple[int, int, list[tuple[str, int, list[tuple[int, int]]]], int, int]: ...
    def abandon(self) -> None: ...

@final
class TruecaseModel:
    """The forms of words inside sentences."""

    @staticmethod
    def of_files(paths: Sequence[str], factored: bool) -> TruecaseModel: ...
    @staticmethod
    def of_texts(texts: Texts, factored: bool) -> TruecaseModel: ...
    @staticmethod
    def read(path: str) -> TruecaseModel: ...
    def write(self, path: str) -> None: ...
    def __len__(self) -> int: ...
    def best(self, word: str) -> str | None: ...
    def apply(self, texts: Texts, factored: bool) -> Texts: ...
    def apply_file(self, path: str, out: str, factored: bool) -> None: ...

def truecase_undo(texts: Texts, factored: bool) -> Texts: ...

_Owned: TypeAlias = tuple[Texts, npt.NDArray[np.int64], npt.NDArray[np.int64]]

@final
class PieceModel:
    """Which pieces words are cut into."""

    @staticmethod
    def of_files(paths: Sequence[str], size: int) -> PieceModel: ...
    @staticmethod
    def of_texts(texts: Texts, size: int) -> PieceModel: ...
    @staticmethod
    def read(path: str) -> PieceModel: ...
    def write(self, path: str) -> None: ...
    def __len__(self) -> int: ...
    def apply(self, texts: Texts) -> _Owned:
        """Lines; the first piece of each and the number of all; for each piece the number of its word."""

    def apply_file(self, path: str, out: str) -> None: ...

def pieces_undo(texts: Texts) -> Texts: ...

@final
class CompoundModel:
    """The words of a text, for splitting others."""

    def __new__(
        cls,
        counts: Sequence[tuple[str, int]],
        min_length: int,
        min_count: int,
        links: Sequence[str],
        unknown_only: bool,
    ) -> CompoundModel: ...
    @staticmethod
    def read(path: str) -> CompoundModel: ...
    def write(self, path: str) -> None: ...
    def __len__(self) -> int: ...
    def split(self, word: str) -> list[str] | None: ...
    def apply(self, texts: Texts) -> _Owned:
        """Lines; the first word of each and the number of all; for each word the number of the one it is a part of."""

    def apply_file(self, path: str, out: str) -> None: ...

def word_counts(paths: Sequence[str]) -> list[tuple[str, int]]: ...
def normalise_lines(texts: Texts, form: str) -> Texts: ...
def normalise_spans(line: str, form: str) -> tuple[str, list[tuple[int, int]]]: ...
def sniff_file(path: str) -> str: ...
def bitext_languages(path: str, xliff: bool) -> tuple[str, list[tuple[str, int]]]: ...
def bitext_sample(inputs: Sequence[tuple[str, str, str, str]], count: int, skip: bool) -> tuple[Texts, Texts]: ...
def language_code(code: str) -> str: ...
def language_known(code: str) -> bool: ...
def language_fits(asked: str, found: str) -> bool: ...
def words(line: str) -> list[str]: ...

_Spanned: TypeAlias = tuple[Texts, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

@final
class UnicodeTokenizer:
    """The tokeniser by Unicode's classes, for a language."""

    def __new__(cls, language: str) -> UnicodeTokenizer: ...
    def tokenize(self, texts: Texts) -> Texts: ...
    def detokenize(self, texts: Texts) -> Texts: ...
    def tokenize_spans(self, texts: Texts) -> _Spanned: ...
    def detokenize_spans(self, texts: Texts) -> _Spanned: ...

def follow_spans(plain: Texts, tokenized: Texts) -> _Spanned: ...

@final
class MosesTokenizer:
    """Moses' rules for a language, with lists that the caller brings."""

    def __new__(
        cls,
        language: str,
        classes: tuple[str, str, str, str],
        prefixes: tuple[Sequence[str], Sequence[str]],
        joining: tuple[str, str, Sequence[tuple[int, int]]],
    ) -> MosesTokenizer: ...
    def tokenize(self, texts: Texts) -> Texts: ...
    def detokenize(self, texts: Texts) -> Texts: ...

@final
class TagCounts:
    """How often each word has each tag."""

    def __new__(cls) -> TagCounts: ...
    def add_factored(self, path: str, factor: int) -> None: ...
    def add_files(self, text: str, tags: str) -> None: ...
    def add_lines(self, lines: Texts, tags: Texts) -> None: ...
    def __len__(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def tags(self) -> list[str]: ...
    def write(self, path: str) -> None: ...

def weights_load(path: str, toml: bool) -> tuple[Names, npt.NDArray[np.float64], str | None] | None: ...
def weights_save(
    path: str, form: str, names: Names, values: npt.NDArray[np.float64], about: Sequence[tuple[str, str]]
) -> None: ...
def names_extend(names: Names, more: Names) -> npt.NDArray[np.uint32]: ...
def names_find(names: Names, of: Names) -> npt.NDArray[np.int64]: ...

@final
class SharedValues:
    """Numbers by feature that never change: changed ones share what they do not touch."""

    def __new__(cls, values: _F64) -> SharedValues: ...
    def __len__(self) -> int: ...
    def changed(self, columns: _U32, values: _F64, size: int) -> SharedValues: ...
    def take(self, columns: _U32) -> _F64: ...
    def all(self) -> _F64: ...

def names_take(names: Names, ids: npt.NDArray[np.int64]) -> Names: ...
def names_sets(names: Names) -> tuple[list[str], npt.NDArray[np.uint32]]: ...
def names_dense(names: Names) -> npt.NDArray[np.bool_]: ...
def names_match(names: Names, pattern: str) -> npt.NDArray[np.bool_]: ...
def names_pack(names: Names, count: int) -> bytes: ...
def names_unpack(bytes: bytes) -> Names: ...
