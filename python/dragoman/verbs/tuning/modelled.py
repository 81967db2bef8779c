"""A model and its texts, ready to be tuned; the model that comes of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.decoder import Constraints, Decoder, DecoderSource, Search
from dragoman.errors import InputError
from dragoman.files import write_text
from dragoman.glossary import FEATURE
from dragoman.model import Model
from dragoman.options import plain
from dragoman.request import Request, asker
from dragoman.tuning import Problem
from dragoman.tuning.pool import set_apart
from dragoman.types import Texts
from dragoman.verbs.inputs import (
    lines_of,
    paths_of,
    references_of,
    where,
)
from dragoman.verbs.tuning.asked import SEARCH_OPTIONS, Asked


@dataclass
class Modelled:
    """A model, ready to be tuned."""

    decoder: Decoder
    tokenized: bool
    sentences: int
    held_out: int
    apart: Text | None = None
    """The share of the text that is held out."""

    def readable(self, lines: Texts) -> Texts | list[str]:
        """Translations as people read them, unless the texts are tokenised."""
        return lines if self.tokenized else self.decoder.text.after(lines.to_list())


@dataclass(frozen=True)
class Text:
    """A source text with its references, as people write it, and the files that it came from."""

    source: Sequence[str]
    references: Sequence[Sequence[str]]
    files: Sequence[str] = field(default=())

    @classmethod
    def read(cls, source: Any, references: Any) -> Text:
        """Both sides, which must have a line for each other."""
        lines = lines_of(source, "source text").to_list()
        found = references_of(references)
        place, other = where(source, "source text"), where(references, "references")
        if len(found) != len(lines):
            line = min(len(found), len(lines)) + 1
            raise InputError(
                f"{other}:{line}: expected {len(lines)} lines as in {place}, found {len(found)}", other, line
            )
        empty = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
        if empty is not None:
            raise InputError(f"{place}:{empty}: an empty line has nothing to tune on", place, empty)
        return cls(lines, found, [*paths_of(source), *paths_of(references)])

    def split(self, share: float, seed: int) -> tuple[Text, Text]:
        """What is left, and the share that is held out."""
        parts = set_apart(len(self.source), share, seed)
        rest, apart = (
            Text([self.source[int(i)] for i in part], [self.references[int(i)] for i in part], self.files)
            for part in parts
        )
        return rest, apart

    def problem(self, decoder: Decoder, request: Asked, size: int, **more: Any) -> Problem:
        """The text, tokenised and cased as the model has it."""
        source, references = self.source, self.references
        constraints = None
        if decoder.glossary is not None:
            asked = _asked(decoder, source, request.tokenized)
            source, constraints = [each.ready for each in asked], [each.constraints or Constraints() for each in asked]
        elif not request.tokenized:
            source = decoder.text.before(source)
        if not request.tokenized:
            flat = decoder.text.reference([text for texts in references for text in texts])
            ends = iter(flat)
            references = [[next(ends) for _ in texts] for texts in references]
        lines = DecoderSource(decoder, source, size, constraints=constraints)
        return Problem.of_source(lines, references, request.metric, **more)

    def save(self, folder: Path) -> None:
        """Writes what was held out, so that it can be looked at."""
        write_text(folder / "held-out.src", list(self.source))
        for number in range(min(len(texts) for texts in self.references)):
            write_text(folder / f"held-out.ref.{number}", [texts[number] for texts in self.references])

    def digest(self) -> str:
        """A short hash of all lines."""
        whole = hashlib.blake2b(digest_size=12)
        for line, texts in zip(self.source, self.references, strict=True):
            whole.update("\t".join([line, *texts]).encode() + b"\n")
        return whole.hexdigest()


def _asked(decoder: Decoder, lines: Sequence[str], tokenized: bool) -> list[Request]:
    """Lines with the terms of the glossary that are in them."""
    ask = asker(decoder.text, decoder.glossary, decoder.weights, featured=decoder.counts_terms, tokenized=tokenized).ask
    return [ask(line) for line in lines]


def kept(decoder: Decoder, folder: Path) -> Model:
    """The model with a file for the terms of its glossary, where these are not its own."""
    terms, model = decoder.glossary, decoder.model
    own = next((part for part in model.parts if part.kind == FEATURE.lower()), None)
    if terms is None or own is None:
        return model
    place = terms.path
    if place is None:
        place = folder / "glossary.tsv"
        terms.save(place)
    name = own.options.get("path")
    if name is not None and model.file(str(name)).resolve() == place.resolve():
        return model
    named = replace(own, options={"path": os.fspath(place.resolve())})
    return replace(model, parts=tuple(named if part is own else part for part in model.parts))


def search_settings(decoder: Decoder) -> dict[str, Any]:
    """The search settings that a tuned model wants: those of its base and those it was tuned with."""
    usual, now = plain(Search()), plain(decoder.search)
    wanted = [
        name for name in now if name in decoder.model.search or (name in SEARCH_OPTIONS and now[name] != usual[name])
    ]
    return {name: now[name] for name in wanted}
