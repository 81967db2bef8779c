"""What a sentence says, before it is said in either language: words, phrases and clauses."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Adjective",
    "Adverbial",
    "Clause",
    "EnglishNoun",
    "EnglishVerb",
    "Name",
    "Noun",
    "Participant",
    "Phrase",
    "Pronoun",
    "Slot",
    "Verb",
]


@dataclass(frozen=True, slots=True)
class EnglishNoun:
    """The forms of an English noun; a `pair` is always plural, as trousers are."""

    singular: str
    plural: str
    pair: bool = False


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """The forms of an English verb, and what follows it: pick `up`."""

    base: str
    past: str
    participle: str
    particle: str = ""


@dataclass(frozen=True, slots=True)
class Noun:
    """A sense of a German noun, with its British and its American word."""

    german: str
    plural: str
    gender: str
    weak: bool
    english: tuple[EnglishNoun, EnglishNoun]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Adjective:
    """A German stem, its form after `ist`, and the English words."""

    stem: str
    plain: str
    english: tuple[str, str]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Adverbial:
    """When or where; `mid` stands before the main verb in English, `no` makes the clause negative."""

    german: str
    english: tuple[str, str]
    tags: frozenset[str]
    mid: bool = False

    @property
    def negative(self) -> bool:
        """As `never` is."""
        return "no" in self.tags


@dataclass(frozen=True, slots=True)
class Slot:
    """An object that a verb has: preposition and case in German, preposition in English, kinds of nouns."""

    preposition: str
    case: str
    english: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verb:
    """A sense of a German verb with all forms that no rule gives, and its two English verbs."""

    prefix: str
    infinitive: str
    present: str
    past: str
    participle: str
    sein: bool
    state: bool
    """What lasts has no progressive: I hear you."""
    reflexive: bool
    english: tuple[EnglishVerb, EnglishVerb]
    subjects: frozenset[str]
    slots: tuple[Slot, ...]
    direction: str
    """`to`, `from`, `city`, or nothing."""
    places: frozenset[str]
    topic: str


@dataclass(frozen=True, slots=True)
class Pronoun:
    """ich, du, er, sie, es, wir, they (sie), Sie."""

    key: str


@dataclass(frozen=True, slots=True)
class Name:
    """Somebody's first name; `key` is er or sie."""

    word: str
    key: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun with what belongs to it."""

    noun: Noun
    determiner: str = "the"
    """the, a, this, every, `ten` and other numbers, no, a pronoun for its possessive, or empty before an owner."""
    plural: bool = False
    adjective: Adjective | None = None
    owner: Phrase | Name | None = None
    relative: Clause | None = None

    @property
    def key(self) -> str:
        """The pronoun that stands for it."""
        return "they" if self.plural else {"m": "er", "f": "sie", "n": "es"}[self.noun.gender]

    @property
    def mass(self) -> bool:
        """Whether it cannot be counted."""
        return "mass" in self.noun.kinds


Participant = Phrase | Name | Pronoun


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what to whom, when and where."""

    subject: Participant
    verb: Verb
    objects: tuple[tuple[Slot, Participant], ...] = ()
    tense: str = "habit"
    """habit, now, future, past, pastold, perfect, pluperfect, condition, modal, pastmodal."""
    modal: str = ""
    """The infinitive of the modal verb."""
    formal: bool = False
    """Written German: the simple past instead of the perfect, the future with `werden`."""
    time: Adverbial | None = None
    place: Adverbial | None = None
    direction: Adverbial | None = None
    comment: Adverbial | None = None
    """Perhaps, unfortunately."""
    negated: bool = False
    passive: bool = False
    front: str = "subject"
    """What a German main clause begins with: subject, time, place, comment."""
    gap: str = ""
    """subject or acc: what the relative pronoun stands for."""

    @property
    def indefinite(self) -> bool:
        """Whether the object is negated by `kein`."""
        return any(s.case == "acc" and not s.preposition and is_indefinite(p) for s, p in self.objects)


def is_indefinite(phrase: Participant) -> bool:
    """Whether `kein` rather than `nicht` negates it."""
    return isinstance(phrase, Phrase) and phrase.determiner == "a" and phrase.owner is None
