"""What `dragoman translate` reads: lines, or objects with what their writers want; made requests for the search."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from dragoman.cli.messages import messages
from dragoman.decoder import Constraints
from dragoman.errors import InputError, OptionError
from dragoman.files import decoded, stream_text, write_text
from dragoman.glossary import Glossary, TermUse
from dragoman.request import Asker, Request
from dragoman.types import Candidates

__all__ = ["Tally", "given_lines", "lines_of", "paired", "requests"]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of JSONL input."""

    text: str
    given: list[tuple[int, int, str]] = []
    exclusive: bool = True
    walls: list[int] = []
    zones: list[tuple[int, int]] = []


def lines_of(source: str) -> Iterator[str]:
    """Lines as they arrive, so that a person at a terminal sees each translation at once."""
    yield from stream_text(Path(source)) if source != "-" else decoded(sys.stdin.buffer, "-")


def given_lines(source: str, jsonl: bool) -> Iterator[tuple[str, Constraints | None]]:
    """Lines, and what their writers want, where these are objects."""
    if not jsonl:
        yield from ((line, None) for line in lines_of(source))
        return
    decode = msgspec.json.Decoder(_Line)
    for number, line in enumerate(lines_of(source), start=1):
        try:
            item = decode.decode(line)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise InputError(f"{source}:{number}: expected a sentence as JSON, but {error}", source, number) from None
        given = [(start, end, text, 0.0) for start, end, text in item.given]
        yield item.text, Constraints(given, item.exclusive, item.walls, item.zones)


def requests(
    asker: Asker, source: str, items: Iterable[tuple[str, Constraints | None]], first: int = 1
) -> Iterator[Request]:
    """Requests of lines; what is wrong with one is said with its file and line."""
    for number, (line, constraints) in enumerate(items, start=first):
        try:
            request = asker.ask(line, constraints)
        except OptionError as error:
            raise InputError(f"{source}:{number}: {error}", source, number) from None
        yield request


def paired(
    asked: Iterable[Request], search: Callable[[Iterator[str | tuple[str, Constraints]]], Iterable[Candidates]]
) -> Iterator[tuple[Request, Candidates]]:
    """Each request with what a search found, which may read ahead."""
    under_way: deque[Request] = deque()

    def fed() -> Iterator[str | tuple[str, Constraints]]:
        for request in asked:
            under_way.append(request)
            yield request.item

    for found in search(fed()):
        yield under_way.popleft(), found


class Tally:
    """Counts where terms of a glossary were, and what became of them."""

    def __init__(self, glossary: Glossary) -> None:
        self.glossary = glossary
        self._numbers = {term.source: number for number, term in enumerate(glossary)}
        self._used: Counter[int] = Counter()
        self._not: Counter[tuple[int, str]] = Counter()

    def add(self, uses: Sequence[TermUse]) -> None:
        """The terms of a sentence."""
        self.count(self.numbered(uses))

    def count(self, uses: Sequence[tuple[int, str]]) -> None:
        """The same, by the numbers of terms, with reasons why they were not used."""
        for number, why in uses:
            if why:
                self._not[number, why] += 1
            else:
                self._used[number] += 1

    def numbered(self, uses: Sequence[TermUse]) -> list[tuple[int, str]]:
        """The terms of a sentence by number, with reasons: what can be kept and counted later."""
        return [(self._numbers[use.term.source], use.why) for use in uses]

    def close(self, path: str | None) -> None:
        """Says how it went, and writes a line for each term to a file: source, translations, places, used, why not."""
        missed: dict[int, dict[str, int]] = {}
        for (number, why), count in sorted(self._not.items()):
            missed.setdefault(number, {})[why] = count
        never = [t.source for n, t in enumerate(self.glossary) if n not in self._used and n not in missed]
        rows = []
        for number, term in enumerate(self.glossary):
            reasons = missed.get(number, {})
            places = self._used[number] + sum(reasons.values())
            why = " ".join(f"{name}={count}" for name, count in reasons.items()) or "-"
            rows.append("\t".join([term.source, " | ".join(term.targets), str(places), str(self._used[number]), why]))
            if reasons:
                messages.detail(f"glossary: `{term.source}` was not used at {sum(reasons.values())} places: {why}")
        for source in never:
            messages.detail(f"glossary: `{source}` is nowhere in the text")
        if path is not None:
            write_text(path, ["term\ttranslations\tplaces\tused\twhy not", *rows])
        used, missing = sum(self._used.values()), sum(self._not.values())
        named = path is not None or messages.verbose or not (never or missing)
        where = (
            f"used at {used:,} of {used + missing:,} places; {len(never):,} of {len(self.glossary):,} terms are nowhere"
        )
        messages.note(f"glossary: {where} in the text{'' if named else '; --glossary-report or --verbose names them'}")
