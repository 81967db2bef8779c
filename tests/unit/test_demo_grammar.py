"""The grammar of the demonstration: golden sentences by hand, agreement, distinct and disjoint texts."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest

from dragoman.demo.corpus import AMERICAN, BRITISH, Sizes, generate
from dragoman.demo.grammar import Sentences, german, lexicon
from dragoman.demo.grammar.english import English
from dragoman.demo.grammar.meaning import Adjective, Adverbial, Clause, Name, Noun, Participant, Phrase, Pronoun, Verb

BRITON, YANKEE = English(0), English(1)
ANNA = Name("Anna", "sie")


def noun(word: str, kind: str = "") -> Noun:
    return next(n for n in lexicon.nouns() if n.german == word and (not kind or kind in n.kinds))


def adjective(stem: str) -> Adjective:
    return next(a for a in lexicon.adjectives() if a.stem == stem)


def adverbial(table: str, word: str, tag: str = "") -> Adverbial:
    return next(a for a in lexicon.adverbials(table) if a.german == word and (not tag or tag in a.tags))


def verb(infinitive: str, slots: int | None = None) -> Verb:
    return next(v for v in lexicon.verbs() if v.prefix + v.infinitive == infinitive and slots in {None, len(v.slots)})


def clause(subject: Participant, name: str, *objects: Participant, tense: str = "habit", **more: object) -> Clause:
    found = verb(name, len(objects))
    made = Clause(subject, found, tuple(zip(found.slots, objects, strict=True)), tense)
    return replace(made, **more)  # type: ignore[arg-type]


def said(words: list[str]) -> str:
    return " ".join(words)


OLD_DOG = Phrase(noun("Hund"), "the", adjective=adjective("alt"))
YESTERDAY = adverbial("TIMES", "gestern")


def test_cases_genders_and_numbers() -> None:
    wanted = {
        ("Hund", "the", False): "der alte Hund,den alten Hund,dem alten Hund,des alten Hunds",
        ("Katze", "a", False): "eine alte Katze,eine alte Katze,einer alten Katze,einer alten Katze",
        ("Pferd", "a", False): "ein altes Pferd,ein altes Pferd,einem alten Pferd,eines alten Pferds",
        ("Vogel", "a", True): "alte Vögel,alte Vögel,alten Vögeln,alter Vögel",
        ("Kind", "ich", True): "meine alten Kinder,meine alten Kinder,meinen alten Kindern,meiner alten Kinder",
        ("Auto", "this", False): "dieses alte Auto,dieses alte Auto,diesem alten Auto,dieses alten Autos",
        ("Student", "the", False): "der alte Student,den alten Studenten,dem alten Studenten,des alten Studenten",
        ("Mann", "wir", False): "unser alter Mann,unseren alten Mann,unserem alten Mann,unseres alten Mannes",
        ("Frau", "three", True): "drei alte Frauen,drei alte Frauen,drei alten Frauen,drei alter Frauen",
        ("Käse", "a", False): "alter Käse,alten Käse,altem Käse,alten Käses",
    }
    for (word, determiner, plural), forms in wanted.items():
        phrase = Phrase(noun(word), determiner, plural, adjective("alt"))
        found = [said(german.participant(phrase, case)) for case in ("nom", "acc", "dat", "gen")]
        assert found == forms.split(","), word


def test_owners() -> None:
    assert (
        said(german.participant(Phrase(noun("Auto"), owner=Phrase(noun("Nachbar"))), "acc")) == "das Auto des Nachbarn"
    )
    hers = Phrase(noun("Mantel"), "the", adjective=adjective("neu"), owner=ANNA)
    assert said(german.participant(hers, "acc")) == "Annas neuen Mantel"
    assert said(BRITON.participant(hers)) == "Anna 's new coat"


GOLDEN: list[tuple[Clause, str, str, str, str]] = [
    # clause, main clause, subordinate clause, British, American
    (
        clause(ANNA, "anrufen", OLD_DOG),
        "Anna ruft den alten Hund an",
        "Anna den alten Hund anruft",
        "Anna rings the old dog",
        "Anna calls the old dog",
    ),
    (
        clause(Pronoun("ich"), "einladen", ANNA, tense="past", time=YESTERDAY, front="time"),
        "gestern habe ich Anna eingeladen",
        "ich gestern Anna eingeladen habe",
        "yesterday I invited Anna",
        "yesterday I invited Anna",
    ),
    (
        clause(Pronoun("du"), "aussteigen", tense="perfect", time=adverbial("TIMES", "gerade", "perfect")),
        "du bist gerade ausgestiegen",
        "du gerade ausgestiegen bist",
        "you have just got off",
        "you just got off",
    ),
    (
        clause(ANNA, "schicken", Pronoun("er"), Phrase(noun("Katalog"), "a"), tense="modal", modal="müssen"),
        "Anna muss ihm einen Katalog schicken",
        "Anna ihm einen Katalog schicken muss",
        "Anna must send him a catalogue",
        "Anna has to send him a catalog",
    ),
    (
        clause(Pronoun("sie"), "kaufen", Phrase(noun("Hose"), "a"), tense="past", negated=True),
        "sie hat keine Hose gekauft",
        "sie keine Hose gekauft hat",
        "she did not buy a pair of trousers",
        "she did not buy a pair of pants",
    ),
    (
        clause(OLD_DOG, "folgen", Phrase(noun("Lastwagen"), "the", True), tense="pastold"),
        "der alte Hund folgte den Lastwagen",
        "der alte Hund den Lastwagen folgte",
        "the old dog followed the lorries",
        "the old dog followed the trucks",
    ),
    (
        clause(Pronoun("wir"), "freuen", Phrase(noun("Urlaub"), "wir"), tense="now"),
        "wir freuen uns auf unseren Urlaub",
        "wir uns auf unseren Urlaub freuen",
        "we are looking forward to our holiday",
        "we are looking forward to our vacation",
    ),
    (
        Clause(Phrase(noun("Aufzug")), verb("reparieren"), tense="future", formal=True, passive=True),
        "der Aufzug wird repariert werden",
        "der Aufzug repariert werden wird",
        "the lift will be repaired",
        "the elevator will be fixed",
    ),
    (
        clause(ANNA, "sitzen", Phrase(noun("Bank", "seat")), tense="pluperfect", place=adverbial("PLACES", "im Park")),
        "Anna hatte im Park auf der Bank gesessen",
        "Anna im Park auf der Bank gesessen hatte",
        "Anna had sat on the bench in the park",
        "Anna had sat on the bench in the park",
    ),
    (
        clause(Pronoun("Sie"), "arbeiten", Phrase(noun("Bank", "firm")), tense="modal", modal="müssen", negated=True),
        "Sie müssen nicht bei der Bank arbeiten",
        "Sie nicht bei der Bank arbeiten müssen",
        "you do not have to work for the bank",
        "you do not have to work for the bank",
    ),
]


@pytest.mark.parametrize(("meaning", "main", "final", "british", "american"), GOLDEN, ids=lambda x: str(x)[:40])
def test_golden_clauses(meaning: Clause, main: str, final: str, british: str, american: str) -> None:
    assert said(german.main(meaning)) == main
    assert said(german.final(replace(meaning, front="subject"))) == final
    assert said(BRITON.clause(meaning)) == british
    assert said(YANKEE.clause(meaning)) == american


def test_relative_clauses_questions_infinitives_requests() -> None:
    bought = clause(Pronoun("er"), "kaufen", Phrase(noun("Mantel")), tense="past", gap="acc")
    seen = clause(ANNA, "suchen", Phrase(noun("Handtasche")), tense="past", gap="subject")
    coat = Phrase(noun("Mantel"), relative=bought)
    woman = Phrase(noun("Frau"), relative=replace(seen, subject=Phrase(noun("Frau"))))
    assert said(german.participant(coat, "dat")) == "dem Mantel , den er gekauft hat ,"
    assert said(BRITON.participant(coat)) == "the coat which he bought"
    assert said(YANKEE.participant(coat)) == "the coat that he bought"
    assert said(german.participant(woman, "nom")) == "die Frau , die die Handtasche gesucht hat ,"
    assert said(YANKEE.participant(woman)) == "the woman who looked for the purse"
    asked = clause(Pronoun("du"), "aufräumen", Phrase(noun("Wohnung"), "du"), tense="past")
    assert said(german.inverted(asked)) == "hast du deine Wohnung aufgeräumt"
    assert said(BRITON.clause(asked, inverted=True)) == "did you tidy up your flat"
    assert said(german.infinitive(asked)) == "deine Wohnung aufzuräumen"
    assert said(YANKEE.infinitive(asked)) == "to clean up your apartment"
    please = clause(Pronoun("Sie"), "zumachen", Phrase(noun("Fenster")))
    assert said(german.imperative(please)) == "bitte machen Sie das Fenster zu"
    assert said(BRITON.imperative(please)) == "please close the window"


def test_second_person_and_spelling() -> None:
    for name, form in (("lesen", "liest"), ("einladen", "lädst ein"), ("anhalten", "hältst an"), ("öffnen", "öffnest")):
        found = verb(name)
        made = Clause(Pronoun("du"), found)
        assert said(german.main(made)) == f"du {form}"
    assert said(BRITON.clause(Clause(ANNA, verb("reisen"), tense="now"))) == "Anna is travelling"
    assert said(YANKEE.clause(Clause(ANNA, verb("reisen"), tense="now"))) == "Anna is traveling"
    assert said(YANKEE.clause(Clause(ANNA, verb("weglaufen"), tense="now"))) == "Anna is running away"


def test_every_kind_that_is_asked_for_exists() -> None:
    known = {kind for n in lexicon.nouns() for kind in n.kinds}
    asked = {kind for v in lexicon.verbs() for kind in v.subjects} | {
        kind for v in lexicon.verbs() for slot in v.slots for kind in slot.kinds
    }
    assert asked <= known
    assert {kind for a in lexicon.adjectives() for kind in a.kinds} <= known
    places = {tag for place in lexicon.adverbials("PLACES") for tag in place.tags}
    assert {tag for v in lexicon.verbs() for tag in v.places} <= places


def test_german_articles_agree_in_drawn_sentences() -> None:
    """No article ever stands before a noun of another gender, whatever the case."""
    masculine = {n.german for n in lexicon.nouns() if n.gender == "m"}
    neuter = {n.german for n in lexicon.nouns() if n.gender == "n"}
    feminine = {n.german for n in lexicon.nouns() if n.gender == "f"}
    plurals = {n.plural for n in lexicon.nouns()}
    wrong = {
        "den": (feminine | neuter) - masculine - plurals - {p.removesuffix("n") for p in plurals},
        "das": (masculine | feminine) - neuter,
        "einen": (feminine | neuter) - masculine,
        "einer": (masculine | neuter) - feminine,
        "die": (masculine | neuter) - feminine - plurals,
    }
    source = Sentences(BRITISH, random.Random(4))
    for _ in range(3000):
        words = source.pair()[0].split()
        for before, first, second in zip(["", *words], words, words[1:], strict=False):
            assert before == "," or second not in wrong.get(first, ()), words  # after a comma it is a relative pronoun


def test_texts_are_distinct_disjoint_and_repeatable() -> None:
    sizes = Sizes(train=20_000, tune=300, dev=200, test=300)
    texts = generate(sizes, seed=3)
    assert {name: len(pairs) for name, pairs in texts.items()} == {
        "train": 20_000,
        "tune": 300,
        "dev": 200,
        "test": 300,
    }
    for side in (0, 1):
        every = [pair[side] for pairs in texts.values() for pair in pairs]
        assert len(set(every)) == len(every) == 20_800
    small = Sizes(train=300, tune=20, dev=20, test=20)
    first, again, other = (generate(small, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    # The same on every machine and every version of Python.
    assert hashlib.sha256(repr(first).encode()).hexdigest()[:12] == "8bc3bd4eb15a"


def test_one_meaning_in_two_varieties() -> None:
    """The German side does not know who will say it in English; most meanings are said differently."""
    briton, yankee = (Sentences(replace(BRITISH, variety=v), random.Random(2)) for v in (0, 1))
    pairs = [(briton.pair(), yankee.pair()) for _ in range(500)]
    assert all(a[0] == b[0] for a, b in pairs)
    assert 0.7 < sum(a[1] != b[1] for a, b in pairs) / len(pairs) < 0.95


def test_the_domains_differ_as_they_should() -> None:
    british, american = (Sentences(d, random.Random(1)) for d in (BRITISH, AMERICAN))
    words = [{w for _ in range(4000) for w in source.pair()[1].split()} for source in (british, american)]
    assert {"lift", "colour", "programme", "autumn", "lorry", "flat"} <= words[0] - words[1]
    assert {"elevator", "color", "program", "vacation", "truck", "apartment"} <= words[1] - words[0]
    assert {"bench", "bank", "castle", "lock", "queue"} <= words[0]
