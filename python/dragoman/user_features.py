"""Your own features: rule features in plain Python, state features compiled by numba.

A rule feature is an object with a `name`, the `names` of its values, and `score`, which is called once a sentence with
all options in arrays. A state feature is a function under `@state_feature`; it runs in the beam at native speed.

    decoder = Decoder("model", extra=[Lengths(), repetition], weights=...)

`docs/user-features.md` teaches both, and `dragoman.testing.check_feature` checks yours.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dragoman.errors import DragomanError, OptionError
from dragoman.types import F64, I64, U32, Names

__all__ = ["GAP", "GIVEN", "STEP", "UNKNOWN", "Options", "RuleFeature", "Sparse", "StateFeature", "state_feature"]

UNKNOWN = -1
"""Origin of a word that no table knows."""
GIVEN = -2
"""Origin of a translation that the writer of the sentence gave."""
GAP = 2**32 - 16
"""Target words from here on are gaps: `GAP + k` is the k-th gap of the source side, counted from 0."""

STEP = np.dtype([(name, np.int64) for name in ("start", "end", "last", "covered", "length", "complete")])
"""What a state feature knows of a step: the option's source span (first word, word after the last), the position after
the previous phrase (0 at the start), the number of source words covered before, the number of source words, and whether
(1) the sentence is complete now."""


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """All translation options of a sentence, an entry each, before any is cut."""

    words: list[str]
    """The source words."""
    spans: I64
    """Source span of each option: first word, word after the last; two columns."""
    origins: I64
    """The number of its rule table, or `UNKNOWN`, or `GIVEN`."""
    rules: I64
    """The number of its rule in the table; -1 where there is none."""
    target_starts: I64
    """The target words of option i are `target_words[target_starts[i]:target_starts[i + 1]]`."""
    target_words: U32
    """Ids: see `word`, and `Decoder.vocabulary`; from `GAP` on, gaps."""
    columns: list[str]
    """Names of the tables' scores."""
    table_scores: npt.NDArray[np.float32]
    """A row an option, a column for each of `columns`; 0 where its table has none."""
    vocabulary: Names
    """The target words of the tables."""
    own_words: list[str]
    """Words of this sentence alone; their ids follow those of the vocabulary."""
    gap_starts: I64
    """The gaps of option i are `gaps[gap_starts[i]:gap_starts[i + 1]]`; phrases have none."""
    gaps: I64
    """Source span of each gap, in order of the source: first word, word after the last; two columns."""

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def lengths(self) -> I64:
        """Number of target words of each option, gaps left out."""
        counts: I64 = np.diff(self.target_starts) - np.diff(self.gap_starts)
        return counts

    def scores(self, column: str) -> npt.NDArray[np.float32]:
        """One score of each option."""
        if column not in self.columns:
            raise OptionError(f"the rule tables have no column `{column}`; they have {', '.join(self.columns)}")
        found: npt.NDArray[np.float32] = self.table_scores[:, self.columns.index(column)]
        return found

    def word(self, number: int) -> str:
        """The text of a target word; gaps are `^1` and `^2`."""
        if number >= GAP:
            return f"^{int(number) - GAP + 1}"
        known = len(self.vocabulary)
        return self.vocabulary[int(number)] if number < known else self.own_words[int(number) - known]

    def source(self, option: int) -> str:
        """The source phrase of an option, with gaps as `^1` and `^2`."""
        return " ".join(f"^{-at}" if at < 0 else self.words[at] for at in self.source_symbols(option))

    def source_symbols(self, option: int) -> list[int]:
        """The source side of an option: positions of words, -1 for the first gap and -2 for the second."""
        at, end = (int(bound) for bound in self.spans[option])
        symbols: list[int] = []
        for number, (start, after) in enumerate(self.gaps[self.gap_starts[option] : self.gap_starts[option + 1]], 1):
            symbols += [*range(at, int(start)), -number]
            at = int(after)
        return symbols + list(range(at, end))

    def target(self, option: int) -> str:
        """The target phrase of an option."""
        words = self.target_words[self.target_starts[option] : self.target_starts[option + 1]]
        return " ".join(self.word(number) for number in words)


@dataclass(frozen=True, slots=True)
class Sparse:
    """Values of features that have a name each: `names[k]` fires with `values[k]` on option `options[k]`."""

    options: Sequence[int] | I64
    names: Sequence[str]
    values: Sequence[float] | F64


@runtime_checkable
class RuleFeature(Protocol):
    """A feature of single rules. If it has sparse values, `name` and a colon begin their names."""

    @property
    def name(self) -> str:
        """What it is called in errors, and the prefix of its sparse features."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Names of its dense features."""
        ...

    def score(self, options: Options) -> npt.ArrayLike | tuple[npt.ArrayLike, Sparse]:
        """A row an option, a column for each of `names` (one column may be flat); sparse values with it."""
        ...


def _finite(values: F64, who: str, names: Sequence[str]) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(values.astype(np.float32)))
    if len(bad):
        name = names[int(bad[0]) % len(names)]
        raise OptionError(f"{who} gave {values.reshape(-1)[bad[0]]} for `{name}`")


def _dense(feature: RuleFeature, said: npt.ArrayLike, count: int) -> F64:
    who, names = f"the feature `{feature.name}`", list(feature.names)
    try:
        values = np.asarray(said, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{who} gave something that is no array of numbers: {error}") from None
    wanted = (count, len(names))
    if values.shape != wanted and not (len(names) == 1 and values.shape == (count,)):
        raise OptionError(f"{who}: expected values of shape {wanted}, found {values.shape}")
    flat = np.ascontiguousarray(values.reshape(-1))
    _finite(flat, who, names)
    return flat


def _sparse(feature: RuleFeature, said: Sparse, count: int) -> tuple[I64, list[str], F64]:
    who, prefix = f"the feature `{feature.name}`", f"{feature.name}:"
    options = np.ascontiguousarray(said.options, dtype=np.int64).reshape(-1)
    values = np.ascontiguousarray(said.values, dtype=np.float64).reshape(-1)
    names = list(said.names)
    if not len(options) == len(names) == len(values):
        found = f"{len(options)} options, {len(names)} names and {len(values)} values"
        raise OptionError(f"{who}: expected an option, a name and a value for each sparse feature, found {found}")
    if len(options) and (options.min() < 0 or options.max() >= count):
        raise OptionError(f"{who}: expected numbers of options from 0 to {count - 1}, found {options.max()}")
    for name in names:
        if not isinstance(name, str) or not name.startswith(prefix) or any(c.isspace() for c in name):
            raise OptionError(f"{who}: expected sparse names `{prefix}...` without blanks, found {name!r}")
    _finite(values, who, names)
    return options, names, values


class _Asked:
    """What the native side calls for a rule feature."""

    def __init__(self, feature: RuleFeature) -> None:
        self.feature = feature
        self.vocabulary = Names([])
        """Set when the decoder knows its own."""

    def __call__(self, words: list[str], own: list[str], *arrays: Any) -> tuple[F64, Any]:
        spans, origins, rules, starts, targets, columns, scores, gap_starts, gaps = arrays
        count = len(rules)
        options = Options(
            words,
            spans.reshape(count, 2),
            origins,
            rules,
            starts,
            targets,
            columns,
            scores.reshape(count, len(columns)),
            self.vocabulary,
            own,
            gap_starts,
            gaps.reshape(-1, 2),
        )
        try:
            said = self.feature.score(options)
        except DragomanError:
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise OptionError(
                f"the feature `{self.feature.name}` failed at {place.filename}:{place.lineno}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if isinstance(said, tuple) and len(said) == 2 and isinstance(said[1], Sparse):
            return _dense(self.feature, said[0], count), _sparse(self.feature, said[1], count)
        return _dense(self.feature, said, count), None


@dataclass(frozen=True)
class StateFeature:
    """A compiled feature of derivations; made by `@state_feature`."""

    function: Callable[..., Any]
    bytes: int
    names: tuple[str, ...]
    name: str
    boundscheck: bool = True
    """Whether indices beyond an array raise an error; else such a write is found by guards, mostly."""
    check: bool = False
    """Whether the decoder asks everything twice; see `dragoman.testing.check_feature`."""

    def __call__(self, *arguments: Any) -> Any:
        """The function itself, in Python."""
        return self.function(*arguments)

    def __reduce__(self) -> Any:
        """An address means nothing in another process: what travels is the name of the function."""
        found = _find(self.function.__module__, self.function.__qualname__)
        if isinstance(found, StateFeature):
            return _found, (self.function.__module__, self.function.__qualname__, self.check)
        return object.__reduce__(self)

    def compiled(self) -> tuple[int, Any]:
        """The address of the machine code, and what keeps it there. Compiles at the first call."""
        kept = _compile(self.function, self.name, self.bytes, len(self.names), self.boundscheck)
        address: int = kept.address
        return address, kept


def _find(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _found(module: str, name: str, check: bool) -> StateFeature:
    feature: StateFeature = _find(module, name)
    return replace(feature, check=check) if check else feature


@lru_cache(maxsize=64)
def _compile(function: Callable[..., Any], name: str, size: int, count: int, boundscheck: bool) -> Any:
    try:
        numba: Any = importlib.import_module("numba")  # an extra, and slow to import
    except ImportError:
        raise OptionError(
            f"the state feature `{name}` needs numba to be compiled: pip install 'dragoman[native]'"
        ) from None
    types, carray = numba.types, numba.carray
    inner = numba.njit(boundscheck=boundscheck, nogil=True)(function)
    pointer = types.CPointer
    signature = types.int32(
        pointer(types.uint8),
        pointer(types.uint8),
        pointer(types.uint32),
        types.int64,
        pointer(numba.from_dtype(STEP)),
        pointer(types.float64),
    )

    def entry(previous, state, target, length, step, values):  # type: ignore[no-untyped-def]  # numba's types
        inner(
            carray(previous, (size,)),
            carray(state, (size,)),
            carray(target, (length,)),
            carray(step, (1,))[0],
            carray(values, (count,)),
        )
        return 1

    try:
        return numba.cfunc(signature)(entry)
    except Exception as error:  # numba raises its own and others
        what = f"{type(error).__name__}: {error}".strip()
        raise OptionError(f"the state feature `{name}` does not compile:\n{what}") from None


def state_feature(
    *, bytes: int, names: Sequence[str], boundscheck: bool = True
) -> Callable[[Callable[..., Any]], StateFeature]:
    """Makes a state feature of a function `f(previous, state, target, step, values)`, compiled by numba.

    `previous` and `state` are arrays of `bytes` bytes: what the function left behind at the step before (zeros at the
    start), and what it leaves for the next (zeros when it arrives). Hypotheses with equal bytes are joined, so these
    must hold all that future values depend on, and nothing else. `target` has the ids of the option's target words,
    `step` the fields of `STEP`, and `values` takes a value for each of `names`. An exception stops the translation
    with an error.
    """
    if bytes < 0 or bytes > 4096:
        raise OptionError(f"expected a state of 0 to 4096 bytes, found {bytes}")
    if not names or isinstance(names, str):
        raise OptionError("expected a list with at least one name")

    def made(function: Callable[..., Any]) -> StateFeature:
        return StateFeature(function, bytes, tuple(names), function.__name__, boundscheck)

    return made


def sent(features: Sequence[RuleFeature | StateFeature]) -> tuple[bytes, ...]:
    """What stands for features in another process; those of files are found there by the file's path."""

    def one(feature: RuleFeature | StateFeature) -> bytes:
        try:
            return pickle.dumps(feature)
        except Exception as error:  # pickle raises its own and others
            raise OptionError(
                f"the feature `{feature.name}` was made in memory and cannot be sent to another process: "
                f"load it from a file, FILE.py:NAME ({error})"
            ) from None

    return tuple(one(feature) for feature in features)


def received(features: Sequence[bytes]) -> list[RuleFeature | StateFeature]:
    """The features again; files are run."""
    return [pickle.loads(what) for what in features]


def split(extra: Sequence[RuleFeature | StateFeature]) -> tuple[list[Any], list[Any]]:
    """Both kinds as the native side wants them."""
    rules: list[Any] = []
    states: list[Any] = []
    for feature in extra:
        if isinstance(feature, StateFeature):
            address, keep = feature.compiled()
            states.append((feature.name, list(feature.names), address, feature.bytes, feature.check, keep))
        elif isinstance(feature, RuleFeature):
            rules.append((feature.name, list(feature.names), _Asked(feature)))
        else:
            raise OptionError(
                f"expected a rule feature (with name, names and score) or a state feature (@state_feature), "
                f"found {feature!r}"
            )
    return rules, states
