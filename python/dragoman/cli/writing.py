"""What becomes of the translations of each sentence: lines, alignments, lists, unknown words, terms of a glossary."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TypeVar

from dragoman import nbest
from dragoman.cli.messages import messages
from dragoman.cli.progress import counter
from dragoman.cli.sentences import Tally
from dragoman.cli.unfinished import Kept, Unfinished
from dragoman.decoder import Decoder
from dragoman.files import Lines, write_text
from dragoman.metrics import metric_from
from dragoman.preprocess import Preparation
from dragoman.request import Asker, Request
from dragoman.reranking import mbr
from dragoman.types import Candidates, Metric

__all__ = ["Output", "Unknown", "Writer"]

T = TypeVar("T")


def _between(items: Sequence[T], span: str) -> Sequence[T]:
    """Those of a span such as 0-2."""
    first, _, last = span.partition("-")
    return items[int(first) : int(last)]


class Unknown:
    """Counts words that no table knows, as they are written in the text."""

    def __init__(self, path: str, text: Preparation | None) -> None:
        self.path, self._text = path, text
        self.counts: Counter[str] = Counter()

    def add(self, request: Request, found: Candidates) -> None:
        """The unknown words of a sentence's best derivation."""
        self.counts.update(self.words(request, found))

    def words(self, request: Request, found: Candidates) -> list[str]:
        """The words of a sentence that no table knows; of plain text, those that people wrote."""
        if found.extra is None or not found.size:
            return []
        spans = [span.rstrip("!").split(":") for span in found.extra[0].split() if span.endswith("!")]
        if self._text is None:
            return [word for _, span in spans for word in _between(found.texts[0].split(), span)]
        written, owners = self._text.origins(request.text)
        # A word that was cut counts once.
        strange = {owner for span, _ in spans for owner in _between(owners, span)}
        return [written[owner] for owner in sorted(strange)]

    def write(self) -> None:
        """The list, the most frequent first."""
        write_text(self.path, [f"{word}\t{count}" for word, count in self.counts.most_common()])
        messages.note(f"{len(self.counts)} unknown words in {self.path}")


def _least_risk(metric: Metric, scale: float, found: Candidates) -> int:
    return int(mbr(found, metric, scale=scale)[0])


@dataclass(frozen=True)
class Writer:
    """What becomes of the translations of each sentence."""

    choose: Callable[[Candidates], int] | None
    """Which one to take, if it is not the first."""
    text: Preparation | None
    """What makes plain text of words, if that is wanted."""
    strange: Unknown | None
    asker: Asker
    tally: Tally | None

    @classmethod
    def of(
        cls,
        decoder: Decoder,
        asker: Asker,
        plain: bool,
        mbr_metric: str | None,
        mbr_scale: float | None,
        unknown: str | None,
        tally: Tally | None,
    ) -> Writer:
        """From the options of `translate`; `unknown` is where unknown words go."""
        metric, text = metric_from(mbr_metric) if mbr_metric else None, decoder.text if plain else None
        return cls(
            None if metric is None else partial(_least_risk, metric, 1.0 if mbr_scale is None else mbr_scale),
            text, None if unknown is None else Unknown(unknown, text), asker, tally,
        )  # fmt: skip

    @property
    def looks(self) -> bool:
        """Whether phrases are looked at."""
        return self.strange is not None or self.tally is not None

    def _best(self, found: Candidates) -> tuple[int, str]:
        best = self.choose(found) if self.choose else 0
        return best, found.texts[best] if self.text is None else self.text.after([found.texts[best]])[0]

    def _terms(self, request: Request, found: Candidates, row: int) -> list[tuple[int, str]]:
        """The terms of the glossary in a sentence, by number, and why they were not used."""
        if self.tally is None or found.extra is None:
            return []
        return self.tally.numbered(self.asker.uses(request, found.texts[row].split(), found.extra[row]))

    def keep(
        self, results: Iterable[tuple[Request, Candidates]], kept: Unfinished, output: str, align_out: str | None
    ) -> None:
        """Keeps each result as it comes, so that a command that is interrupted can go on."""
        messages.resuming = "the same command goes on after the last line that was translated"
        with kept:
            with counter("sentences") as tick:
                for request, found in results:
                    kept.add(self.kept(request, found))
                    tick(1)
            self.finish(kept, output, align_out)

    def kept(self, request: Request, found: Candidates) -> Kept:
        """What is kept of a sentence."""
        best, text = self._best(found)
        links = found.alignments[best] if found.alignments is not None else ""
        strange = self.strange.words(request, found) if self.strange else []
        return Kept(text, links, strange, self._terms(request, found, best))

    def finish(self, kept: Unfinished, output: str, align_out: str | None) -> None:
        """Writes all that was kept under its own names."""
        words, terms = kept.finish(output, align_out)
        if self.strange:
            self.strange.counts.update(words)
            self.strange.write()
        if self.tally:
            self.tally.count(terms)

    def write(
        self,
        results: Iterable[tuple[Request, Candidates]],
        output: str,
        align_out: str | None,
        nbest_out: str | None,
    ) -> None:
        """Writes each result as it comes."""
        with ExitStack() as stack:
            out = stack.enter_context(Output(output))
            aligned = stack.enter_context(Output(align_out)) if align_out else None
            lists = stack.enter_context(nbest.Writer(nbest_out)) if nbest_out else None
            tick = stack.enter_context(counter("sentences"))
            for request, found in results:
                best, text = self._best(found)
                out.line(text)
                if aligned and found.alignments is not None:
                    aligned.line(found.alignments[best])
                if lists:
                    lists.write(replace(found, extra=None) if self.looks else found)
                if self.strange:
                    self.strange.add(request, found)
                if self.tally:
                    self.tally.count(self._terms(request, found, best))
                tick(1)
        if self.strange:
            self.strange.write()


class Output:
    """Lines to a file that appears when it is whole, or to standard output at once."""

    def __init__(self, path: str) -> None:
        self._file = None if path == "-" else Lines(path)

    def __enter__(self) -> Output:
        return self

    def line(self, text: str) -> None:
        """Writes a line."""
        if self._file is not None:
            self._file.write(text)
        else:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.__exit__(kind, error, trace)
