"""The tables of `nouns`, `verbs` and `words`, read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from dragoman.demo.grammar import words
from dragoman.demo.grammar.meaning import Adjective, Adverbial, EnglishNoun, EnglishVerb, Name, Noun, Slot, Verb
from dragoman.demo.grammar.nouns import NOUNS
from dragoman.demo.grammar.verbs import VERBS

__all__ = ["adjectives", "adverbials", "conjunctions", "intents", "matrix", "names", "nouns", "verbs"]


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        if line:
            yield [cell.strip() for cell in line.replace("'s", " 's").split("|")]


def _both(text: str) -> tuple[str, str]:
    """British and American; one word for both stands alone."""
    british, slash, american = (part.strip() for part in text.partition(" / "))
    return british, american if slash else british


@cache
def nouns() -> tuple[Noun, ...]:
    """All nouns, one for each sense."""
    found = []
    for german, english, kinds in _rows(NOUNS):
        article, word, plural = re.split(r",? ", german)
        weak = plural.startswith("-")
        british, american = map(_noun, _both(english))
        gender = {"der": "m", "die": "f", "das": "n"}[article]
        form = word + plural[1:] if weak else plural
        found.append(Noun(word, form, gender, weak, (british, american), frozenset(kinds.split())))
    return tuple(found)


def _noun(text: str) -> EnglishNoun:
    singular, _, plural = text.partition(":")
    if singular.endswith("+"):
        return EnglishNoun(singular[:-1], singular[:-1], pair=True)
    return EnglishNoun(singular, plural or _plural(singular))


def _plural(word: str) -> str:
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


@cache
def verbs() -> tuple[Verb, ...]:
    """All verbs, one for each use."""
    return tuple(_verb(*row) for row in _rows(VERBS))


def _verb(german: str, english: str, frame: str, places: str, topic: str) -> Verb:
    parts = german.split()
    reflexive, sein, state = parts[0] == "sich", "*" in parts, "!" in parts
    infinitive, present, past, participle = (part for part in parts if part not in {"sich", "*", "!"})
    prefix, _, stem = infinitive.rpartition("+")
    british, american = map(_english_verb, _both(english))
    subjects, _, objects = (part.strip() for part in frame.partition(">"))
    slots, direction = [], ""
    for item in filter(None, (part.strip() for part in objects.split(";"))):
        if item.startswith("direction"):
            direction = item.partition(" ")[2] or "to"
        else:
            slots.append(_slot(item))
    return Verb(
        prefix, stem, present, past, participle, sein, state, reflexive, (british, american),
        frozenset(subjects.split(",")), tuple(slots), direction, frozenset(places.split()), topic,
    )  # fmt: skip


def _slot(text: str) -> Slot:
    german, equals, english = (part.strip() for part in text.partition("="))
    *before, case, kinds = german.split() if not equals else [*german.split(), english.split()[1]]
    return Slot(" ".join(before), case, english.split()[0] if equals else "", frozenset(kinds.split(",")))


def _english_verb(text: str) -> EnglishVerb:
    first, _, particle = text.partition(" ")
    base, *others = first.split(":")
    past, participle = others or (_past(base),) * 2
    return EnglishVerb(base, past, participle, particle)


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if re.search(r"[^aeiou]y$", base) else base + "ed"


@cache
def adjectives() -> tuple[Adjective, ...]:
    """All adjectives."""
    found = []
    for german, english, kinds in _rows(words.ADJECTIVES):
        stem, _, plain = german.partition(":")
        found.append(Adjective(stem, plain or stem, _both(english), frozenset(kinds.split())))
    return tuple(found)


@cache
def adverbials(table: str) -> tuple[Adverbial, ...]:
    """TIMES, PLACES, DIRECTIONS or COMMENTS."""
    found = []
    for german, english, *tags in _rows(getattr(words, table)):
        mid = english.endswith(" mid")
        said = _both(english.removesuffix(" mid"))
        found.append(Adverbial(german, said, frozenset(" ".join(tags).split()), mid))
    return tuple(found)


@cache
def names() -> tuple[Name, ...]:
    """First names."""
    return tuple(Name(*entry.split()) for entry in words.NAMES.split(", "))


@cache
def conjunctions() -> tuple[tuple[str, tuple[str, str], str, str], ...]:
    """German, English, tense of the main clause, tense of the other."""
    return tuple((german, _both(english), *tenses.split()) for german, english, tenses in _rows(words.AFTER))  # type: ignore[misc]


@cache
def matrix() -> tuple[tuple[Verb, bool, tuple[tuple[str, str], ...]], ...]:
    """Verbs with a clause after them, whether they are negated, and the words that may introduce the clause."""
    found = []
    for german, english, openers in _rows(words.MATRIX):
        pairs = tuple((a, b) for a, _, b in (word.partition("=") for word in openers.split() if "=" in word))
        found.append((_verb(german, english, "person", "", ""), "nicht" in openers.split(), pairs))
    return tuple(found)


@cache
def intents() -> tuple[Verb, ...]:
    """Verbs with an infinitive after them."""
    return tuple(_verb(german, english, "person", "", "") for german, english in _rows(words.INTENT))
