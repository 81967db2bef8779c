"""German: inflection and word order. Words come as lists, punctuation apart, in their own case (truecased)."""

from __future__ import annotations

import re

from dragoman.demo.grammar.meaning import Clause, Name, Noun, Participant, Phrase, Pronoun, Verb, is_indefinite

__all__ = ["final", "imperative", "infinitive", "inverted", "main", "participant", "predicate"]

_GENDERS = ("m", "f", "n", "plural")


def _table(text: str) -> dict[tuple[str, str], str]:
    """A line for each case, a column for masculine, feminine, neuter, plural; `-` is no ending."""
    rows = (line.split() for line in text.strip().splitlines())
    return {(case, gender): end.strip("-") for case, *ends in rows for gender, end in zip(_GENDERS, ends, strict=True)}


_THE = _table("nom der die das die\nacc den die das die\ndat dem der dem den\ngen des der des der")
_EIN = _table("nom - e - e\nacc en e - e\ndat em er em en\ngen es er es er")
_DIESER = _table("nom er e es e\nacc en e es e\ndat em er em en\ngen es er es er")
# Endings of adjectives after der, dieser, jeder; after ein, kein, mein; and without any of these.
_WEAK = _table("nom e e e en\nacc en e e en\ndat en en en en\ngen en en en en")
_MIXED = _table("nom er e es en\nacc en e es en\ndat en en en en\ngen en en en en")
_STRONG = _table("nom er e es e\nacc en e es e\ndat em er em en\ngen en er en er")
_RELATIVE = _table("nom der die das die\nacc den die das die\ndat dem der dem denen\ngen dessen deren dessen deren")

_POSSESSIVE = {
    "ich": "mein", "du": "dein", "er": "sein", "sie": "ihr", "es": "sein", "wir": "unser", "they": "ihr", "Sie": "Ihr",
}  # fmt: skip
_PRONOUNS = {
    "ich": "ich mich mir", "du": "du dich dir", "er": "er ihn ihm", "sie": "sie sie ihr", "es": "es es ihm",
    "wir": "wir uns uns", "they": "sie sie ihnen", "Sie": "Sie Sie Ihnen",
}  # fmt: skip
_REFLEXIVE = {"ich": "mich", "du": "dich", "wir": "uns"}
NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "ten": "zehn"}
_JOINED = {
    ("in", "dem"): "im", ("in", "das"): "ins", ("an", "dem"): "am", ("an", "das"): "ans", ("auf", "das"): "aufs",
    ("bei", "dem"): "beim", ("von", "dem"): "vom", ("zu", "dem"): "zum", ("zu", "der"): "zur",
}  # fmt: skip
# First, second and third person singular, and the plural; present and past.
_IRREGULAR = {
    "sein": ("bin bist ist sind", "war"),
    "haben": ("habe hast hat haben", "hatte"),
    "werden": ("werde wirst wird werden", "wurde"),
    "wissen": ("weiß weißt weiß wissen", "wusste"),
    "können": ("kann kannst kann können", "konnte"),
    "müssen": ("muss musst muss müssen", "musste"),
    "wollen": ("will willst will wollen", "wollte"),
    "sollen": ("soll sollst soll sollen", "sollte"),
    "dürfen": ("darf darfst darf dürfen", "durfte"),
    "möchten": ("möchte möchtest möchte möchten", "wollte"),
}


def participant(who: Participant, case: str, negated: bool = False) -> list[str]:
    """A phrase, a name or a pronoun in a case."""
    if isinstance(who, Name):
        return [who.word]
    if isinstance(who, Pronoun):
        return [_PRONOUNS[who.key].split()[("nom", "acc", "dat").index(case)]]
    gender = "plural" if who.plural else who.noun.gender
    determiner, endings = _determiner(who, (case, gender), negated)
    words = [*determiner]
    if who.adjective is not None:
        words.append(who.adjective.stem + endings[case, gender])
    words.append(_inflected(who.noun, case, who.plural))
    if isinstance(who.owner, Phrase):
        words += participant(who.owner, "gen")
    if who.relative is not None:
        words += [",", *_relative(who.relative, gender), ","]
    return words


def _determiner(who: Phrase, place: tuple[str, str], negated: bool) -> tuple[list[str], dict[tuple[str, str], str]]:
    """The words before the adjective, and the endings that the adjective has after them."""
    kind = who.determiner
    if isinstance(who.owner, Name):
        return [who.owner.word + "s"], _STRONG
    if kind in {"the", "this", "every"}:
        return [_THE[place] if kind == "the" else {"this": "dies", "every": "jed"}[kind] + _DIESER[place]], _WEAK
    if kind == "no" or (kind == "a" and negated):
        return ["kein" + _EIN[place]], _MIXED
    if kind == "a":
        return ([], _STRONG) if who.plural or who.mass else (["ein" + _EIN[place]], _MIXED)
    if kind in NUMBERS:
        return [NUMBERS[kind]], _STRONG
    return [_POSSESSIVE[kind] + _EIN[place]], _MIXED


def _inflected(noun: Noun, case: str, plural: bool) -> str:
    if plural:
        return noun.plural + "n" * (case == "dat" and not noun.plural.endswith(("n", "s")))
    if noun.weak:
        return noun.german if case == "nom" else noun.plural
    if case == "gen" and noun.gender != "f":
        return noun.german + ("es" if noun.german in {"Mann", "Kind", "Freund", "Gast", "Arzt", "Koch"} else "s")
    return noun.german


def _relative(clause: Clause, gender: str) -> list[str]:
    return [_RELATIVE["nom" if clause.gap == "subject" else "acc", gender], *final(clause)]


def _finite(verb: Verb | str, key: str, past: bool) -> str:
    """A form of the present or the past; a word stands for an auxiliary."""
    place = {"ich": 0, "du": 1, "er": 2, "sie": 2, "es": 2}.get(key, 3)
    name = verb if isinstance(verb, str) else verb.infinitive
    if name in _IRREGULAR:
        present, form = _IRREGULAR[name]
        return present.split()[place] if not past else _past(form, place)
    assert not isinstance(verb, str)
    if past:
        return _past(verb.past, place)
    return (_first(name), _second(verb), verb.present, name)[place]


def _first(infinitive: str) -> str:
    """sammle, but erinnere."""
    return infinitive[:-3] + "le" if infinitive.endswith("eln") else re.sub("e?n$", "e", infinitive)


def _second(verb: Verb) -> str:
    form = verb.present
    if re.search("(s|ß|z|x)t$", form):
        return form
    stem = verb.infinitive.removesuffix("en")
    if stem.endswith(("t", "d")) and not form.endswith("et"):  # hältst, lädst
        return re.sub("dt$", "d", form) + "st"
    return form[:-1] + "st"


def _past(form: str, place: int) -> str:
    if form.endswith("e"):
        return form + ("", "st", "", "n")[place]
    second = form + ("est" if form.endswith(("t", "d", "s", "ß")) else "st")
    return (form, second, form, form + "en")[place]


def _cluster(c: Clause) -> tuple[str, list[str]]:
    """The finite verb, and what stands at the end of the clause, a prefix first."""
    verb, key = c.verb, c.subject.key
    participle, whole = verb.prefix + verb.participle, verb.prefix + verb.infinitive
    had = "sein" if verb.sein or c.passive else "haben"
    bare = [participle, "werden"] if c.passive else [whole]
    done = [participle, "worden"] if c.passive else [participle]
    if c.tense in {"modal", "pastmodal"}:
        return _finite(c.modal, key, c.tense == "pastmodal"), bare
    if c.tense == "future" and c.formal:
        return _finite("werden", key, False), bare
    if c.tense == "perfect" or (c.tense == "past" and not c.formal):
        return _finite(had, key, False), done
    if c.tense == "pluperfect":
        return _finite(had, key, True), done
    past = c.tense in {"past", "pastold"}
    if c.passive:
        return _finite("werden", key, past), [participle]
    return _finite(verb, key, past), [verb.prefix] if verb.prefix else []


def _middle(c: Clause, front: str = "", subject: bool = True) -> list[str]:
    """Everything between the verb's two places, but for what stands in front."""
    words: list[str] = []
    reflexive = [_REFLEXIVE.get(c.subject.key, "sich")] if c.verb.reflexive else []
    if front == "subject" or c.gap == "subject" or not subject:
        words += reflexive
    elif isinstance(c.subject, Pronoun):
        words += [*participant(c.subject, "nom"), *reflexive]
    else:
        words += [*reflexive, *participant(c.subject, "nom")]
    plain = [(s, who) for s, who in c.objects if not s.preposition and not (c.gap == "acc" and s.case == "acc")]
    kein = c.negated and c.indefinite and c.gap != "acc"
    words += [w for s, who in plain if isinstance(who, Pronoun) for w in participant(who, s.case)]
    for part in ("comment", "time"):
        adverbial = getattr(c, part)
        words += adverbial.german.split() if adverbial is not None and front != part else []
    for s, who in plain:
        if not isinstance(who, Pronoun):
            words += participant(who, s.case, kein and s.case == "acc" and is_indefinite(who))
    words += ["nicht"] if c.negated and not kein else []
    words += c.place.german.split() if c.place is not None and front != "place" else []
    for s, who in c.objects:
        words += _joined(s.preposition, participant(who, s.case)) if s.preposition else []
    return words + (c.direction.german.split() if c.direction is not None else [])


def _joined(preposition: str, words: list[str]) -> list[str]:
    """The two as one word where that is usual: `im` for `in dem`."""
    joined = _JOINED.get((preposition, words[0]))
    return [joined, *words[1:]] if joined and preposition != "auf" else [preposition, *words]


def main(c: Clause) -> list[str]:
    """A main clause: one part in front, the finite verb second."""
    first = {
        "subject": participant(c.subject, "nom"),
        "time": c.time.german.split() if c.time else [],
        "place": c.place.german.split() if c.place else [],
        "comment": c.comment.german.split() if c.comment else [],
    }[c.front]
    finite, end = _cluster(c)
    return _commas([*first, finite, *_middle(c, c.front), *end])


def inverted(c: Clause) -> list[str]:
    """A clause that begins with its verb: a question, or what follows a subordinate clause."""
    finite, end = _cluster(c)
    return _commas([finite, *_middle(c), *end])


def final(c: Clause) -> list[str]:
    """A subordinate clause: the finite verb last."""
    finite, end = _cluster(c)
    if end == [c.verb.prefix]:
        return _commas([*_middle(c), c.verb.prefix + finite])
    return _commas([*_middle(c), *end, finite])


def infinitive(c: Clause) -> list[str]:
    """A clause without subject: ... zu lesen, ... aufzustehen."""
    verb = c.verb
    end = [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
    return _commas([*_middle(c, subject=False), *end])


def imperative(c: Clause) -> list[str]:
    """What one asks of people whom one calls Sie: bitte machen Sie das Fenster zu."""
    return ["bitte", *inverted(c)]


def predicate(subject: Participant, adjective: str, past: bool, order: str = "main") -> list[str]:
    """Somebody is something."""
    who, verb = participant(subject, "nom"), _finite("sein", subject.key, past)
    words = {"main": [*who, verb, adjective], "final": [*who, adjective, verb], "inverted": [verb, *who, adjective]}
    return _commas(words[order])


def _commas(words: list[str]) -> list[str]:
    """Two commas in a row are one."""
    return [word for i, word in enumerate(words) if word != "," or i + 1 == len(words) or words[i + 1] != ","]
