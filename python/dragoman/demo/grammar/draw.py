"""What people might say: meanings drawn at random, in keeping with the kinds that verbs and adjectives ask for."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from dragoman.demo.grammar import lexicon
from dragoman.demo.grammar.meaning import (
    Adjective,
    Adverbial,
    Clause,
    Name,
    Noun,
    Participant,
    Phrase,
    Pronoun,
    Slot,
    Verb,
)

__all__ = ["Draw"]

_PRONOUNS = ("ich", "du", "er", "sie", "wir", "they", "Sie")
_MODALS = {
    "modal": ("können", "müssen", "wollen", "sollen", "dürfen", "möchten"),
    "pastmodal": ("können", "müssen", "wollen"),
}
_STATED = (
    "person", "vehicle", "clothes", "device", "fitting", "food", "show", "home", "taste", "talk", "part", "queue",
    "sight", "seat",
)  # fmt: skip
_TENSES = {"habit": 4, "now": 3, "future": 4, "past": 8, "perfect": 3, "modal": 5, "pastmodal": 2}
_TIMES = {"habit": "habit", "now": "now", "future": "future", "past": "past", "pastold": "past", "perfect": "perfect",
          "pastmodal": "past"}  # fmt: skip


@cache
def _nouns(kinds: frozenset[str]) -> tuple[Noun, ...]:
    return tuple(noun for noun in lexicon.nouns() if noun.kinds & kinds)


@cache
def _adjectives(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in lexicon.adjectives() if adjective.kinds & noun.kinds)


@cache
def _adverbials(table: str, tags: frozenset[str]) -> tuple[Adverbial, ...]:
    return tuple(entry for entry in lexicon.adverbials(table) if entry.tags & tags)


@cache
def _done_to(kinds: frozenset[str]) -> tuple[Verb, ...]:
    """Verbs with such an object."""
    return tuple(
        v for v in lexicon.verbs() if any(s.case == "acc" and not s.preposition and s.kinds & kinds for s in v.slots)
    )


@cache
def _done_by(kinds: frozenset[str]) -> tuple[Verb, ...]:
    """Verbs with such a subject."""
    return tuple(verb for verb in lexicon.verbs() if verb.subjects & kinds)


@cache
def _by_topic() -> Mapping[str, Sequence[Verb]]:
    groups = defaultdict(list)
    for verb in lexicon.verbs():
        groups[verb.topic].append(verb)
    return dict(groups)


def _universal(c: Clause) -> bool:
    """Whether it speaks of every one of some things, which nobody negates like that."""
    return any(isinstance(who, Phrase) and who.determiner == "every" for who in (c.subject, *(w for _, w in c.objects)))


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws meanings with a source of chance; `topics` says how often a domain speaks of what."""

    chance: random.Random
    topics: Mapping[str, int]

    def maybe(self, probability: float) -> bool:
        """Yes with this probability."""
        return self.chance.random() < probability

    def one_of(self, weights: Mapping[str, int]) -> str:
        """A key, as often as its weight says."""
        return self.chance.choices(list(weights), list(weights.values()))[0]

    def verb(self) -> Verb:
        """A verb of the domain."""
        return self.chance.choice(_by_topic()[self.one_of(self.topics)])

    def person(self) -> Participant:
        """Somebody as a subject."""
        draw = self.chance.random()
        if draw < 0.36:
            return Pronoun(self.chance.choice(_PRONOUNS))
        return self.chance.choice(lexicon.names()) if draw < 0.58 else self.phrase(frozenset({"person"}), None)

    def subject(self, kinds: frozenset[str]) -> Participant:
        """A subject for a verb that wants one of these kinds."""
        if "person" in kinds and (len(kinds) == 1 or self.maybe(0.5)):
            return self.person()
        return self.phrase(kinds, None)

    def phrase(self, kinds: frozenset[str], owner: Participant | None) -> Phrase:
        """A noun with determiner, adjective and the like; `owner` is whose it may well be."""
        noun = self.chance.choice(_nouns(kinds))
        fitting = _adjectives(noun)
        adjective = self.chance.choice(fitting) if fitting and self.maybe(0.35) else None
        plural = not noun.kinds & {"mass", "one"} and self.maybe(0.2)
        phrase = Phrase(noun, self._determiner(noun, plural, owner), plural, adjective)
        if phrase.determiner == "the" and not noun.kinds & {"kin", "firm", "event"} and self.maybe(0.1):
            return replace(phrase, owner=self._owner())
        return phrase

    def _owner(self) -> Phrase | Name:
        if self.maybe(0.4):
            return self.chance.choice([name for name in lexicon.names() if name.word[-1] not in "sx"])
        noun = self.chance.choice(_nouns(frozenset({"person"})))
        return Phrase(noun, self.chance.choice(("ich", "wir")) if "kin" in noun.kinds else "the")

    def _determiner(self, noun: Noun, plural: bool, owner: Participant | None) -> str:
        mine = owner.key if owner is not None and owner.key != "es" else self.chance.choice(("ich", "wir", "er", "sie"))
        if "kin" in noun.kinds:
            return mine
        weights = {"the": 50, "a": 24, "this": 6} | ({mine: 16} if owner is not None else {})
        if plural:
            weights |= {self.chance.choice(("two", "three", "four", "five", "ten")): 12}
        elif "mass" not in noun.kinds:
            weights |= {"every": 2}
        return self.one_of(weights)

    def objects(self, verb: Verb, subject: Participant) -> tuple[tuple[Slot, Participant], ...]:
        """Something for each slot of the verb."""
        return tuple((slot, self._object(slot, subject)) for slot in verb.slots)

    def _object(self, slot: Slot, subject: Participant) -> Participant:
        if "person" in slot.kinds and self.maybe(0.3):
            others = [key for key in ("ich", "er", "sie", "wir", "they") if key != subject.key]
            people = [name for name in lexicon.names() if name != subject]
            return Pronoun(self.chance.choice(others)) if self.maybe(0.6) else self.chance.choice(people)
        found = self.phrase(slot.kinds, subject)
        return replace(found, determiner="the") if found == subject else found

    def clause(self, tense: str = "", subject: Participant | None = None, verb: Verb | None = None) -> Clause:
        """A whole clause."""
        verb = verb or self._suited(subject)
        who = subject if subject is not None else self.subject(verb.subjects)
        given, tense = tense, tense or self.one_of(_TENSES)
        formal = self.maybe(0.3) and who.key != "du"  # nobody says beobachtetest
        modal = self._modal(tense, who)
        found = Clause(
            who, verb, self.objects(verb, who), tense, modal, formal, self._time(tense), self._place(verb),
            self._direction(verb), negated=self.maybe(0.12),
        )  # fmt: skip
        if (found.time is not None and (found.time.negative or found.time.mid)) or _universal(found):
            found = replace(found, negated=False)
        if not given and tense == "past" and found.time is None and not formal:
            found = replace(found, tense="perfect")  # what has no time, the British tell in the perfect
        return self._fronted(found)

    def _modal(self, tense: str, who: Participant) -> str:
        able = _MODALS.get(tense, ())
        if isinstance(who, Phrase) and not who.noun.kinds & {"person", "animal", "firm"}:  # which have no will
            able = tuple(modal for modal in able if modal in {"können", "müssen", "sollen"})
        return self.chance.choice(able) if able else ""

    def _suited(self, subject: Participant | None) -> Verb:
        """A verb that the subject can do."""
        kinds = subject.noun.kinds if isinstance(subject, Phrase) else frozenset({"person"})
        while True:
            verb = self.verb()
            if subject is None or verb.subjects & kinds:
                return verb

    def _time(self, tense: str) -> Adverbial | None:
        sure = tense in {"now", "future"}  # else nobody could tell what German means
        if tense not in _TIMES or not (sure or self.maybe(0.6)):
            return None
        return self.chance.choice(_adverbials("TIMES", frozenset({_TIMES[tense]})))

    def _place(self, verb: Verb) -> Adverbial | None:
        known = _adverbials("PLACES", verb.places)
        return self.chance.choice(known) if known and self.maybe(0.4) else None

    def _direction(self, verb: Verb) -> Adverbial | None:
        tags = frozenset({verb.direction, "city"} if verb.direction == "to" else {verb.direction})
        return self.chance.choice(_adverbials("DIRECTIONS", tags)) if verb.direction else None

    def _fronted(self, c: Clause) -> Clause:
        """What the German clause begins with."""
        if self.maybe(0.05):
            return replace(c, comment=self.chance.choice(lexicon.adverbials("COMMENTS")), front="comment")
        if c.time is not None and not (c.time.mid and c.tense in {"habit", "perfect"}) and self.maybe(0.4):
            return replace(c, front="time")
        return replace(c, front="place") if c.place is not None and self.maybe(0.25) else c

    def passive(self) -> Clause:
        """A clause that does not say who does it."""
        while True:
            verb = self.verb()
            direct = len(verb.slots) == 1 and verb.slots[0].case == "acc" and not verb.slots[0].preposition
            if direct and verb.english[0].particle != "round":
                break
        tense = self.one_of({"now": 3, "past": 5, "future": 3, "perfect": 2, "modal": 3})
        modal = self.chance.choice(("müssen", "können")) if tense == "modal" else ""
        who = self.phrase(verb.slots[0].kinds, None)
        time = self._time(tense) if tense != "modal" else None
        formal = tense == "future" or self.maybe(0.5)
        tense = "perfect" if tense == "past" and time is None and not formal else tense
        return self._fronted(Clause(who, verb, (), tense, modal, formal, time, self._place(verb), passive=True))

    def related(self, c: Clause) -> Clause:
        """The clause with a relative clause at its subject or its object."""
        spots = [i for i, (slot, who) in enumerate(c.objects) if isinstance(who, Phrase) and who.owner is None]
        if spots and (not isinstance(c.subject, Phrase) or self.maybe(0.5)):
            i = self.chance.choice(spots)
            slot, who = c.objects[i]
            assert isinstance(who, Phrase)
            changed = (*c.objects[:i], (slot, self._with_relative(who)), *c.objects[i + 1 :])
            return replace(c, objects=changed)
        return replace(c, subject=self._with_relative(c.subject)) if isinstance(c.subject, Phrase) else c

    def _with_relative(self, head: Phrase) -> Phrase:
        bare = replace(head, adjective=None, owner=None, relative=None, determiner="the")
        able = _done_to(head.noun.kinds)
        tense = self.one_of({"past": 4, "habit": 2, "modal": 1})
        if able and ("person" not in head.noun.kinds or self.maybe(0.3)):
            made = self.clause(tense, self.person(), self.chance.choice(able))
            slots = tuple(
                (slot, bare if slot.case == "acc" and not slot.preposition else who) for slot, who in made.objects
            )
            made = replace(made, objects=slots, gap="acc")
        elif _done_by(head.noun.kinds):
            made = replace(self.clause(tense, bare), gap="subject")
        else:
            return head
        made = replace(made, front="subject", comment=None, negated=False, place=None)
        return replace(head, relative=made, determiner=head.determiner if head.determiner != "every" else "the")

    def state(self) -> tuple[Phrase, Adjective]:
        """Something, and what it is like."""
        while True:
            kinds = frozenset({self.chance.choice(_STATED)})
            who = self.phrase(kinds, None)
            fitting = _adjectives(who.noun)
            if fitting:
                return replace(who, adjective=None), self.chance.choice(fitting)
