"""What is asked for when weights are tuned, and who is shown how far a run is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dragoman._core import parse_size
from dragoman.common import Engined, Seeded
from dragoman.decoder import Decoder, Search
from dragoman.errors import OptionError
from dragoman.options import check, option, options_of
from dragoman.tuning import NamedLimits
from dragoman.types import Metric


def _size(text: str) -> None:
    parse_size(text)


@dataclass(frozen=True)
class TuneOptions(Engined, Seeded):
    """How weights are tuned, besides the tuner's own options."""

    fix: tuple[str, ...] = option((), help="Features whose weights stay as they start.", metavar="NAME")
    bound: tuple[str, ...] = option(
        (), help="Bounds of weights: LM=0:1, or LM=0: for no upper one.", metavar="NAME=LOW:HIGH"
    )
    sweep: tuple[str, ...] = option(
        (),
        help="Try each value of the tuner's options (each combination) and keep the best on the held-out text.",
        metavar="OPTION=A,B",
    )
    select: Literal["best", "last"] | None = option(
        None,
        help="Which step's weights to take: the best on the held-out (else the tuning) text, or the last.",
        usual="last; with a model best",
    )
    keep_worse: bool = option(
        False, help="With lists: keep weights that end below the start on the tuning lists, instead of the start."
    )
    replications: int = option(1, help="Runs with different seeds: mean and spread.", min=1)
    epochs: int | None = option(
        None, help="With a model: passes, or rounds of batch tuners, at most.", min=1, usual="10"
    )
    nbest_size: int | None = option(
        None, help="With a model: candidates of each sentence.", min=2, usual="100", was=["size"]
    )
    memory: str | None = option(
        None,
        help="With a model, batch tuners: what the pool of all rounds may take before it goes to disk.",
        usual="4G",
        metavar="SIZE",
        valid=_size,
    )
    copy: bool = option(
        False, help="With a model: copy its tables to the tuned one, instead of sharing them where they are."
    )
    nbest_format: str = option(
        "auto", help="With lists: their format, moses, cdec, travatar, jsonl, or FILE.py:NAME.", metavar="FORMAT"
    )
    allow_missing: bool = option(False, help="With lists: tune on, though some sentences have no candidate at all.")

    def __post_init__(self) -> None:
        check(self)
        if self.sweep and self.replications > 1:
            raise OptionError("a sweep and replications do not go together: sweep first, then repeat the best")


SEARCH_OPTIONS = tuple(name for name in options_of(Search) if name not in {"memory", "markup"})
"""Options of the search that tuning with a model takes, too."""


class Watcher(Protocol):
    """Somebody who is shown how far a run is."""

    def watching(
        self, decoder: Decoder | None, metric: Metric, epochs: int, texts: tuple[int, int]
    ) -> AbstractContextManager[Any]:
        """A context that gives a function for the record of each step; `texts`: sentences to tune on, and held out."""
        ...

    def note(self, text: str) -> None:
        """Something that happened."""
        ...

    def warning(self, text: str) -> None:
        """Something that the user should know."""
        ...


class Silent:
    """Nobody looks."""

    def watching(
        self,
        decoder: Decoder | None,  # noqa: ARG002
        metric: Metric,  # noqa: ARG002
        epochs: int,  # noqa: ARG002
        texts: tuple[int, int],  # noqa: ARG002
    ) -> AbstractContextManager[Any]:
        """Shows nothing."""
        return nullcontext(lambda _record: None)

    def note(self, text: str) -> None:
        """Is not heard."""

    warning = note


@dataclass(frozen=True)
class Asked:
    """What is asked for."""

    what: Any
    source: Any
    references: Any
    metric: Metric
    held_out: Any
    held_out_references: Any
    start: Any
    features: str | None
    glossary: Any
    glossary_weight: float | None
    tokenized: bool
    trust: bool
    limits: NamedLimits
    options: TuneOptions
    search: Mapping[str, Any]
    """Options of the search that were given."""
    lists: int = 0
    """How long the tuner wants its lists; 0: it does not mind."""

    @property
    def share(self) -> float | None:
        """The share of the text that is held out, if it is one."""
        if isinstance(self.held_out, (int, float)) and not isinstance(self.held_out, bool):
            if not 0 < self.held_out < 1:
                raise OptionError(f"a held-out share lies between 0 and 1, found {self.held_out}")
            return float(self.held_out)
        return None


SAME_TEXT = (
    "the held-out text is the tuning text: what chooses the step must be text that the tuner did not see; "
    "--held-out 0.2 sets some apart"
)
