"""The synchronous grammar: each rule draws a meaning and says it in German and in English."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dragoman.demo.grammar import german, lexicon
from dragoman.demo.grammar.draw import Draw
from dragoman.demo.grammar.english import English
from dragoman.demo.grammar.meaning import Clause, Pronoun

__all__ = ["Domain", "Sentences"]

Words = list[str]
_DEGREES = {"sehr": "very", "zu": "too", "wirklich": "really", "": ""}
_WHERE = {"wo": "where", "warum": "why", "wann": "when"}


@dataclass(frozen=True, slots=True)
class Domain:
    """A kind of text: whose English it has, and what it is about."""

    variety: int
    """0 is British, 1 American."""
    topics: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence pairs of a domain, one after the other."""

    domain: Domain
    chance: random.Random
    draw: Draw = field(init=False)
    english: English = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "draw", Draw(self.chance, self.domain.topics))
        object.__setattr__(self, "english", English(self.domain.variety))

    def pair(self) -> tuple[str, str]:
        """A German sentence and its translation, words between blanks."""
        rule = self.chance.choices(_RULES, _SHARES)[0]
        source, target = rule(self)
        return " ".join(source), " ".join(target)

    def statement(self) -> tuple[Words, Words]:
        """Yesterday he bought a car."""
        c = self.draw.clause()
        return [*german.main(c), "."], [*self.english.clause(c), "."]

    def relative(self) -> tuple[Words, Words]:
        """The man who sold the car lives here."""
        c = self.draw.related(self.draw.clause())
        return _ended(german.main(c), "."), [*self.english.clause(c), "."]

    def passive(self) -> tuple[Words, Words]:
        """The bridge was built last year."""
        c = self.draw.passive()
        return [*german.main(c), "."], [*self.english.clause(c), "."]

    def complex(self) -> tuple[Words, Words]:
        """Two clauses with a conjunction; German may begin with either."""
        german_word, english_words, first, second = self.chance.choice(lexicon.conjunctions())
        word = english_words[self.domain.variety]
        a = self.draw.clause(first)
        b = replace(self._lean(self.draw.clause(second, self._same(a))), formal=a.formal)
        if german_word == "denn":
            return [*german.main(a), ",", "denn", *german.main(b), "."], self._joined(a, word, b)
        if german_word in {"als", "bevor", "nachdem", "während"}:
            b = replace(b, negated=False)
        sub = [german_word, *german.final(b)]
        if self.draw.maybe(0.4):
            a = self._lean(a, keep_time=True)
            source = [*_ended(sub, ","), *german.inverted(a), "."]
            return source, [word, *self.english.clause(b), ",", *self.english.clause(a), "."]
        return [*_ended(german.main(a), ","), *sub, "."], self._joined(a, word, b)

    def _joined(self, a: Clause, word: str, b: Clause) -> Words:
        return [*self.english.clause(a), word, *self.english.clause(b), "."]

    def _same(self, c: Clause) -> Pronoun | None:
        """Often the second clause is about the same person."""
        if self.draw.maybe(0.5) or "person" not in c.verb.subjects or c.subject.key == "es":
            return None
        return Pronoun(c.subject.key)

    @staticmethod
    def _lean(c: Clause, keep_time: bool = False) -> Clause:
        """In the plainest order, without comment; a subordinate clause has no time that contradicts the main one."""
        time = c.time if keep_time or (c.time is not None and c.time.mid) else None
        return replace(c, comment=None, front="subject", time=time)

    def reported(self) -> tuple[Words, Words]:
        """I think that, I do not know whether."""
        verb, negated, openers = self.chance.choice(lexicon.matrix())
        past = self.draw.maybe(0.3)
        who = self.draw.person()
        a = Clause(who, verb, (), "pastold" if past else "habit", negated=negated)
        opener, english_opener = self.chance.choice(openers)
        b = self.draw.clause("pluperfect" if past else "")
        b = replace(b, comment=None, front="subject")
        b = self._asked(b, opener)
        source = [*german.main(a), ",", opener, *german.final(b), "."]
        return source, [*self.english.clause(a), english_opener, *self.english.clause(b), "."]

    def question(self) -> tuple[Words, Words]:
        """Questions: did you see him, and where."""
        c = replace(self.draw.clause(), comment=None, front="subject")
        if self.draw.maybe(0.5):
            return [*german.inverted(c), "?"], [*self.english.clause(c, inverted=True), "?"]
        word = self.chance.choice(list(_WHERE))
        c = replace(c, negated=c.negated and word == "warum")
        c = self._asked(c, word)
        return [word, *german.inverted(c), "?"], [_WHERE[word], *self.english.clause(c, inverted=True), "?"]

    @staticmethod
    def _asked(c: Clause, word: str) -> Clause:
        """Without what is asked for; and where or when something happened is asked in the past."""
        tense = {"perfect": "past", "now": "past" if word == "wann" else "now"}.get(c.tense, c.tense)
        if word == "wo":
            return replace(c, place=None, direction=None, tense=tense, time=c.time if tense == c.tense else None)
        if word == "wann":
            return replace(c, time=None, tense=tense, formal=c.formal or tense == "future")
        return c

    def request(self) -> tuple[Words, Words]:
        """Requests: please close the window."""
        while True:
            c = self.draw.clause("habit", Pronoun("Sie"))
            if c.verb.slots and c.verb.topic != "law" and not c.negated:
                break
        c = replace(c, time=None, comment=None)
        return [*german.imperative(c), "!"], [*self.english.imperative(c), "!"]

    def intention(self) -> tuple[Words, Words]:
        """He tried to open the door; he went to town to buy a coat."""
        who = self.draw.person()
        past = self.draw.maybe(0.6)
        aim = self.draw.clause("habit", who)
        while not aim.objects:
            aim = self.draw.clause("habit", who)
        aim = replace(aim, time=None, comment=None, negated=False)
        if self.draw.maybe(0.5):
            a = Clause(
                who, self.chance.choice(lexicon.intents()), (), "past" if past else "habit", formal=self.draw.maybe(0.5)
            )
            return [*german.main(a), ",", *german.infinitive(aim), "."], [
                *self.english.clause(a), *self.english.infinitive(aim), "."]  # fmt: skip
        going = [verb for verb in lexicon.verbs() if verb.direction in {"to", "city"}]
        a = replace(self.draw.clause("past" if past else "modal", who, self.chance.choice(going)), negated=False)
        aim = replace(aim, place=None)
        source = [*german.main(a), ",", "um", *german.infinitive(aim), "."]
        return source, [*self.english.clause(a), *self.english.infinitive(aim), "."]

    def state(self) -> tuple[Words, Words]:
        """The jacket is too expensive, or: she thinks that it is."""
        who, what = self.draw.state()
        degree = self.chance.choice(list(_DEGREES))
        past = self.draw.maybe(0.35)
        adjective = f"{_DEGREES[degree]} {what.english[self.domain.variety]}".strip()
        words = f"{degree} {what.plain}".strip()
        said = self.english.predicate(who, adjective, past)
        if self.draw.maybe(0.6):
            return _ended(german.predicate(who, words, past), "."), [*said, "."]
        c = self.draw.clause("past" if past else self.chance.choice(("habit", "modal")))
        reason = german.predicate(who, words, past, "final")
        return [*german.main(c), ",", "weil", *reason, "."], [*self.english.clause(c), "because", *said, "."]


def _ended(words: Words, mark: str) -> Words:
    """With a mark at the end, which takes the place of a comma."""
    return [*(words[:-1] if words[-1] == "," else words), mark]


Rule = Callable[[Sentences], tuple[Words, Words]]
_SHARE: dict[Rule, int] = {
    Sentences.statement: 28, Sentences.relative: 12, Sentences.passive: 8, Sentences.complex: 16,
    Sentences.reported: 12, Sentences.question: 8, Sentences.request: 3, Sentences.intention: 7, Sentences.state: 6,
}  # fmt: skip
_RULES, _SHARES = list(_SHARE), list(_SHARE.values())
