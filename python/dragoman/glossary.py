"""Glossaries: what terms are called in the other language, in plain text.

>>> terms = Glossary({"Haus": "house", "kleines Haus": ["cottage", "hut"]})
>>> [term.targets for term in terms]
[('house',), ('cottage', 'hut')]

A term is prepared as the model's own text is, and matches whole words. Of terms that overlap, the longest is taken,
then the one that comes first in the sentence.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.errors import InputError, OptionError
from dragoman.files import write_text
from dragoman.model import Model, Part
from dragoman.preprocess import Preparation

__all__ = ["FEATURE", "Glossary", "Match", "Matcher", "Term", "TermUse", "glossary_of"]

FEATURE = "Glossary"
"""The dense feature that counts the terms of a translation; also the kind of its part, in small letters."""
NONE = "none"
"""What is said for no glossary, where a model has one."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term and its translations, as people write them."""

    source: str
    targets: tuple[str, ...]
    line: int = 0
    """Of its file, from 1; 0 for terms from elsewhere."""


class Glossary:
    """Terms with their translations. Equal terms with different translations are one term with several.

    `terms` are a mapping (to one translation, or several) or pairs; `Glossary.read` takes a file. `weight` is what a
    term adds to the score of a translation that uses it; with `inf`, nothing else is allowed for its words. None leaves
    it to the model: the weight that it was tuned with, else `inf`.
    """

    def __init__(
        self,
        terms: Mapping[str, str | Sequence[str]] | Iterable[tuple[str, str]],
        *,
        weight: float | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        pairs = _pairs(terms) if isinstance(terms, Mapping) else [(source, target, 0) for source, target in terms]
        self._begin(_terms(pairs, "glossary"), weight, path)

    def _begin(self, terms: Sequence[Term], weight: float | None, path: str | PathLike[str] | None) -> None:
        if weight is not None and math.isnan(weight):
            raise OptionError("the weight of a glossary must be a number, or inf, found nan")
        self.terms, self.weight = tuple(terms), weight
        self.path = None if path is None else Path(path)

    @classmethod
    def read(cls, path: str | PathLike[str], *, weight: float | None = None) -> Glossary:
        """A TSV file: on each line a term, a tab, its translation, and further ones after further tabs."""
        glossary = cls.__new__(cls)
        glossary._begin(_terms(_rows(Path(path)), str(path)), weight, path)
        if not glossary.terms:
            raise InputError(f"{path}: expected lines with a term, a tab and its translation, found none", str(path))
        return glossary

    @classmethod
    def of(cls, given: Any, weight: float | None = None) -> Glossary:
        """What people give for one: a file, a mapping, pairs, or a glossary; `none` is one without terms."""
        if isinstance(given, Glossary):
            return given if weight is None else given.weighted(weight)
        if isinstance(given, (str, PathLike)):
            return cls({}, weight=weight) if given == NONE else cls.read(given, weight=weight)
        return cls(given, weight=weight)

    def weighted(self, weight: float | None) -> Glossary:
        """The same terms with another weight."""
        made = Glossary.__new__(Glossary)
        made._begin(self.terms, weight, self.path)
        return made

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"<glossary of {len(self)} terms, weight {self.weight}>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file that `read` reads."""
        write_text(path, ["\t".join([term.source, *term.targets]) for term in self])

    @property
    def digest(self) -> str:
        """A short hash of all terms, and of the weight."""
        rows = [(term.source, term.targets) for term in self]
        return hashlib.blake2b(repr((rows, self.weight)).encode(), digest_size=8).hexdigest()

    def part(self) -> Part:
        """What the description of a model says of it, where it has a feature."""
        return Part(FEATURE.lower(), FEATURE, {"path": str(self.path.resolve())} if self.path is not None else {})


def glossary_of(model: Model, given: Any, weight: float | None = None) -> Glossary | None:
    """The glossary that was given, or the one that the model has."""
    if given is not None:
        return Glossary.of(given, weight)
    own = next((part for part in model.parts if part.kind == FEATURE.lower()), None)
    path = None if own is None else own.options.get("path")
    if path is None:
        if weight is not None:
            raise OptionError("the weight of a glossary needs a glossary: this model has none")
        return None
    return Glossary.read(model.file(str(path)), weight=weight)


def _pairs(terms: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str, int]]:
    several = {source: [t] if isinstance(t, str) else list(t) for source, t in terms.items()}
    empty = next((source for source, targets in several.items() if not targets), None)
    if empty is not None:
        raise OptionError(f"glossary: the term `{empty}` has no translation")
    return [(source, target, 0) for source, targets in several.items() for target in targets]


def _rows(path: Path) -> Iterator[tuple[str, str, int]]:
    """The pairs of a file, and their lines."""
    name = str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", name) from None
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}:{number}: expected UTF-8 text, found {error.reason}", name, number) from None
        if not text.strip():
            continue
        source, *targets = text.split("\t")
        if not targets:
            raise InputError(
                f"{name}:{number}: expected a term, a tab and its translation, found one column: `{_short(text)}`",
                name,
                number,
            )
        yield from ((source, target, number) for target in targets)


def _terms(pairs: Iterable[tuple[str, str, int]], name: str) -> list[Term]:
    """Terms in the order of their first lines."""
    found: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for given, translation, line in pairs:
        if not isinstance(given, str) or not isinstance(translation, str):
            raise OptionError(f"{name}: a term and its translation are texts, found {given!r} and {translation!r}")
        source, target = given.strip(), translation.strip()
        for text, what in ((source, "term"), (target, "translation")):
            if not text:
                _fail(name, line, f"the {what} is empty in `{_short(source)}` -> `{_short(target)}`")
        if target in found.get(source, []):
            _fail(name, line, f"`{_short(source)}` -> `{_short(target)}` is there twice; leave one out")
        lines.setdefault(source, line)
        found.setdefault(source, []).append(target)
    return [Term(source, tuple(targets), lines[source]) for source, targets in found.items()]


def _fail(name: str, line: int, what: str) -> None:
    if line:
        raise InputError(f"{name}:{line}: {what}", name, line)
    raise OptionError(f"{name}: {what}")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass(frozen=True, slots=True)
class TermUse:
    """A place of a sentence where a term of the glossary is, and what became of it."""

    term: Term
    span: tuple[int, int]
    """The first source word, and the one after the last."""
    target: str | None
    """The translation of the term that was used, if one was."""
    why: str = ""
    """Why none was: `overlap` (with another term), `given` (with a given translation), `wall`, `zone`, or `score` (the
    model liked another translation better)."""


@dataclass(frozen=True, slots=True)
class Match:
    """A place of a sentence where a term is."""

    number: int
    """Of the term."""
    start: int
    end: int
    why: str = ""
    """Why it cannot be used there."""


class Matcher:
    """A glossary as a model sees it: its terms in words."""

    def __init__(self, glossary: Glossary, text: Preparation) -> None:
        self.glossary = glossary
        self._text = text
        self._firsts: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        terms = [text.term(term.source) for term in glossary]
        targets = text.target([target for term in glossary for target in term.targets])
        flat = iter(targets)
        self.targets: list[list[str]] = [[next(flat) for _ in term.targets] for term in glossary]
        for number, (term, keys) in enumerate(zip(glossary, terms, strict=True)):
            if not keys or not all(self.targets[number]):
                name = "glossary" if glossary.path is None else str(glossary.path)
                _fail(name, term.line, f"nothing is left of `{_short(term.source)}` or of its translation in words")
            self._firsts.setdefault(keys[0], []).append((keys, number))

    def find(
        self,
        words: Sequence[str],
        firsts: Sequence[int],
        closed: Sequence[tuple[int, int]],
        walls: Sequence[int],
        zones: Sequence[tuple[int, int]],
    ) -> list[Match]:
        """The places of terms, in order; `closed` are spans that have given translations.

        The model has words in parts: those of a word begin at its number of `firsts`, which has the end, too. Spans,
        walls and zones count parts.
        """
        found = sorted(self._all(words), key=lambda m: (m[0].start - m[0].end, m[0].start, -m[1], m[0].number))
        taken: list[tuple[int, int]] = []
        matches = []
        for whole, _ in found:
            match = Match(whole.number, firsts[whole.start], firsts[whole.end])
            why = _barred(match, closed, walls, zones)
            if not why and any(match.start < end and start < match.end for start, end in taken):
                why = "overlap"
            if not why:
                taken.append((match.start, match.end))
            matches.append(Match(match.number, match.start, match.end, why))
        return sorted(matches, key=lambda match: (match.start, match.end, match.number))

    def _all(self, words: Sequence[str]) -> Iterator[tuple[Match, int]]:
        """All places of all terms, and how many words have the very case of the term."""
        forms = [(place, form) for place, form in enumerate(self._text.forms(words)) if form[0]]
        for at, (place, first) in enumerate(forms):
            for key in dict.fromkeys(first):
                for keys, number in self._firsts.get(key, ()):
                    those = forms[at : at + len(keys)]
                    if len(those) == len(keys) and all(k in form for k, (_, form) in zip(keys, those, strict=True)):
                        exact = self._exact(number, [form[0] for _, form in those])
                        yield Match(number, place, those[-1][0] + 1), exact

    def _exact(self, number: int, words: Sequence[str]) -> int:
        written = self.glossary.terms[number].source.split()
        return sum(word in written for word in words)


def _barred(
    match: Match, closed: Sequence[tuple[int, int]], walls: Sequence[int], zones: Sequence[tuple[int, int]]
) -> str:
    """What of the writer's wishes forbids a term at its place."""
    start, end = match.start, match.end
    if any(start < last and first < end for first, last in closed):
        return "given"
    if any(start < wall < end for wall in walls):
        return "wall"
    crossed = (
        start < last and first < end and not (first <= start and end <= last) and not (start <= first and last <= end)
        for first, last in zones
    )
    return "zone" if any(crossed) else ""
