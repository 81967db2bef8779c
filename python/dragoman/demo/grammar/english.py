"""English, British or American: inflection and word order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.demo.grammar.meaning import (
    Adverbial,
    Clause,
    EnglishVerb,
    Name,
    Participant,
    Phrase,
    Pronoun,
    is_indefinite,
)

__all__ = ["English"]

_PRONOUNS = {
    "ich": "I me my", "du": "you you your", "er": "he him his", "sie": "she her her", "es": "it it its",
    "wir": "we us our", "they": "they them their", "Sie": "you you your",
}  # fmt: skip
_BE = {"ich": ("am", "was"), "er": ("is", "was"), "sie": ("is", "was"), "es": ("is", "was")}
_MODALS = {
    "können": ("can", "could"),
    "müssen": ("must / have to", "had to"),
    "wollen": ("want to", "wanted to"),
    "sollen": ("should / be supposed to", "was supposed to"),
    "dürfen": ("be allowed to", "was allowed to"),
    "möchten": ("would like to", "wanted to"),
}
_DOUBLING = {"run", "get", "put", "sit", "win", "forget"}
_COUNTS = frozenset({"two", "three", "four", "five", "ten"})


@dataclass(frozen=True, slots=True)
class English:
    """A speaker of English: 0 is British, 1 American."""

    variety: int

    def participant(self, who: Participant, role: str = "object", negated: bool = False) -> list[str]:
        """A phrase, a name or a pronoun as subject or object."""
        if isinstance(who, Name):
            return [who.word]
        if isinstance(who, Pronoun):
            return [_PRONOUNS[who.key].split()[role == "object"]]
        noun = who.noun.english[self.variety]
        plural = who.plural or noun.pair
        head = [who.adjective.english[self.variety]] if who.adjective else []
        head += (noun.plural if plural else noun.singular).split()
        if noun.pair and self._counted(who):
            head, plural = ["pairs" if who.plural else "pair", "of", *head], who.plural
        words = [*self._determiner(who, head, plural, negated), *head]
        return words + (self._relative(who, who.relative) if who.relative else [])

    def _counted(self, who: Phrase) -> bool:
        """Whether trousers come in pairs here."""
        return who.determiner in _COUNTS or (not who.plural and who.determiner in {"a", "this", "every", "no"})

    def _determiner(self, who: Phrase, head: list[str], plural: bool, negated: bool) -> list[str]:
        if who.owner is not None:
            return [*self.participant(who.owner), "'s"]
        kind = who.determiner
        if kind == "a":
            if plural or who.mass:
                return ["any"] if negated else []
            return ["an" if re.match("[aeiou]", head[0]) else "a"]
        if kind == "this":
            return ["these" if plural else "this"]
        if kind in {"the", "every", "no", *_COUNTS}:
            return [kind]
        return [_PRONOUNS[kind].split()[2]]

    def _relative(self, head: Phrase, c: Clause) -> list[str]:
        person = "person" in head.noun.kinds
        if c.gap == "subject":
            return ["who" if person else ("which", "that")[self.variety], *self.clause(c)]
        return ["that" if person else ("which", "that")[self.variety], *self.clause(c)]

    def third(self, who: Participant) -> bool:
        """Whether a verb gets an s."""
        if isinstance(who, Phrase) and who.noun.english[self.variety].pair:
            return self._counted(who) and not who.plural
        return who.key in {"er", "sie", "es"}

    def be(self, who: Participant, past: bool) -> str:
        """A form of to be."""
        if isinstance(who, Phrase):
            return ("was" if past else "is") if self.third(who) else ("were" if past else "are")
        return _BE.get(who.key, ("are", "were"))[past]

    def _group(self, c: Clause) -> tuple[list[str], list[str]]:
        """Auxiliaries, and the main verb with its particle."""
        verb, who = c.verb.english[self.variety], c.subject
        tense = c.tense
        if tense == "perfect" and self.variety == 1:  # Americans just did it, or already did
            tense = "past"
        if tense == "now" and c.verb.state and not c.passive:
            tense = "habit"
        if tense in {"modal", "pastmodal"}:
            return self._modal(c, verb)
        has = "has" if self.third(who) else "have"
        if c.passive:
            be = {"now": [self.be(who, False), "being"], "future": ["will", "be"], "pluperfect": ["had", "been"],
                  "perfect": [has, "been"]}  # fmt: skip
            return be.get(tense, [self.be(who, tense in {"past", "pastold"})]), [verb.participle]
        if tense in {"past", "pastold"}:
            return [], [verb.past]
        groups = {
            "now": ([self.be(who, False)], [_ing(verb)]), "future": (["will"], [verb.base]),
            "perfect": ([has], [verb.participle]), "pluperfect": (["had"], [verb.participle]),
        }  # fmt: skip
        return groups.get(tense, ([], [_third(verb.base) if self.third(who) else verb.base]))

    def _modal(self, c: Clause, verb: EnglishVerb) -> tuple[list[str], list[str]]:
        past = c.tense == "pastmodal"
        british, slash, american = _MODALS[c.modal][past].partition(" / ")
        if c.negated and c.modal == "müssen" and not past:  # not what `must not` says
            british = american
        words = (american if slash and self.variety else british).split()
        tail = [*words[1:], *(["be", verb.participle] if c.passive else [verb.base])]
        if words[0] in {"be", "was"}:
            return [self.be(c.subject, past)], tail
        if words[0] in {"want", "have"} and self.third(c.subject):
            return [], [_third(words[0]), *tail]
        return ([words[0]], tail) if words[0] in {"can", "could", "must", "should", "would"} else ([], words[:1] + tail)

    def _supported(self, c: Clause) -> tuple[list[str], list[str]]:
        """The same with do, does or did where there is no auxiliary."""
        aux, main = self._group(c)
        if aux:
            return aux, main
        past = c.tense in {"past", "pastold", "pastmodal", "perfect"}
        base = c.verb.english[self.variety].base
        if c.tense in {"modal", "pastmodal"}:
            base = {"wants": "want", "wanted": "want", "has": "have", "had": "have"}.get(main[0], main[0])
        return ["did" if past else "does" if self.third(c.subject) else "do"], [base, *main[1:]]

    def clause(self, c: Clause, inverted: bool = False) -> list[str]:
        """A clause in English order; `inverted` for questions."""
        aux, main = self._supported(c) if inverted or c.negated else self._group(c)
        subject = [] if c.gap == "subject" else self.participant(c.subject, "subject")
        mid = self._said(c.time) if c.time is not None and c.time.mid else []
        if inverted:
            return [aux[0], *subject, *(["not"] if c.negated else []), *mid, *aux[1:], *main, *self._rest(c)]
        verb = [*_negated(aux[:1], c.negated), *mid, *aux[1:], *main]
        first = self._said(c.comment) if c.comment else []
        if c.front == "time" and c.time is not None and not c.time.mid:
            return [*first, *self._said(c.time), *subject, *verb, *self._rest(c, time=False)]
        return [*first, *subject, *verb, *self._rest(c)]

    def _rest(self, c: Clause, time: bool = True) -> list[str]:
        """Objects, places and times, in that order, after the verb."""
        particle = c.verb.english[self.variety].particle.split()
        plain = [(s, who) for s, who in c.objects if not (c.gap == "acc" and s.case == "acc" and not s.preposition)]
        direct = [self._object(c, who) for s, who in plain if not s.english]
        pronoun = len(plain) > 0 and not plain[0][0].english and isinstance(plain[0][1], Pronoun)
        words = [w for part in direct for w in part]
        words = [*words, *particle] if pronoun and particle != ["for"] else [*particle, *words]
        for s, who in plain:
            words += [s.english, *self._object(c, who)] if s.english else []
        words += self._said(c.direction) + self._said(c.place)
        return words + (self._said(c.time) if time and c.time is not None and not c.time.mid else [])

    def _object(self, c: Clause, who: Participant) -> list[str]:
        return self.participant(who, negated=c.negated and is_indefinite(who))

    def _said(self, adverbial: Adverbial | None) -> list[str]:
        return adverbial.english[self.variety].split() if adverbial is not None else []

    def infinitive(self, c: Clause) -> list[str]:
        """To do something."""
        mid = self._said(c.time) if c.time is not None and c.time.mid else []
        return [*mid, "to", c.verb.english[self.variety].base, *self._rest(c)]

    def imperative(self, c: Clause) -> list[str]:
        """Please do something."""
        return ["please", c.verb.english[self.variety].base, *self._rest(c)]

    def predicate(self, subject: Participant, adjective: str, past: bool, inverted: bool = False) -> list[str]:
        """Somebody is something."""
        who, verb = self.participant(subject, "subject"), self.be(subject, past)
        return [verb, *who, *adjective.split()] if inverted else [*who, verb, *adjective.split()]


def _negated(aux: list[str], negated: bool) -> list[str]:
    if not negated:
        return aux
    return ["cannot"] if aux == ["can"] else [*aux, "not"]


def _third(base: str) -> str:
    if base in {"have", "go"}:
        return {"have": "has", "go": "goes"}[base]
    if re.search(r"(s|x|z|ch|sh)$", base):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


def _ing(verb: EnglishVerb) -> str:
    base = verb.base
    if base in _DOUBLING or verb.past == base + base[-1] + "ed":
        return base + base[-1] + "ing"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    return (base[:-1] if re.search("[^eoy]e$", base) else base) + "ing"
