"""Glossaries: files, matching, forcing, weights, what is reported; constraints and alignments in characters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dragoman
from dragoman import Constraints, lm, rules
from dragoman.corpus import Truecaser
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.glossary import Glossary, Matcher
from dragoman.model import Model, Part, seal
from dragoman.preprocess import Preparation
from dragoman.translator import Translator

Cli = Callable[..., tuple[int, str, str]]
TABLE = [
    ("das", "the", 0.9), ("das Haus", "the house", 0.8), ("Haus", "house", 0.9), ("Haus", "building", 0.1),
    ("ist", "is", 0.9), ("klein", "small", 0.8), ("klein", "little", 0.2), (".", ".", 0.9), ("neue", "new", 0.9),
    ("in", "in", 0.9), ("den", "the", 0.5), ("US", "US", 0.9), ("uns", "us", 0.9), ("’s", "’s", 0.5),
]  # fmt: skip
GERMAN = [
    "wo ist das Haus ?",
    "und das neue Haus ist klein .",
    "es ist klein in den US",
    "gib uns das .",
    "es us klein",
]
ENGLISH = [
    "where is the house ?",
    "and the new house is small .",
    "it is small in the US",
    "give us the .",
    "it us small",
]


def build(folder: Path, tokenizer: str = "unicode", case: str = "truecase") -> Path:
    """A model of a few words, of plain text."""
    folder.mkdir(parents=True)
    lower = str.lower if case == "lower" else str
    rows = sorted(
        {
            f"{lower(s)} ||| {t.lower() if case == 'lower' else t} ||| {p} ||| {links(s, t)} ||| 1 1 1"
            for s, t, p in TABLE
        }
    )
    (folder / "phrases").write_text("\n".join(rows) + "\n")
    rules.import_moses(folder / "phrases", folder / "rules", columns=["p"])
    (folder / "text").write_text("".join(f"{lower(line)}\n" for line in ENGLISH))
    lm.estimate(folder / "text", folder / "lm.bin", order=2, discount_fallback=(0.5, 1, 1.5))
    text: dict[str, Any] = {
        "languages": ["de", "en"], "tokenizers": [tokenizer, tokenizer], "normalise": "nfc", "case": case,
        "bars": "escape",
    }  # fmt: skip
    extra = []
    if case == "truecase":
        for side, lines in (("source", GERMAN), ("target", ENGLISH)):
            Truecaser.learn([f"x {line}" for line in lines]).save(folder / f"{side}.truecase")
        text["truecasers"] = extra = ["source.truecase", "target.truecase"]
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["p"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm.bin"}),
        Part("word-penalty", "WP"),
        Part("distortion", "D"),
        Part("unknown-penalty", "UP"),
    ]
    initial = {"TM": 0.5, "LM": 0.5, "WP": -0.3, "D": 0.3, "UP": 1.0}
    seal(folder, tables=["rules"], parts=parts, initial=initial, text=text, extra=extra)
    return folder


def links(source: str, target: str) -> str:
    return " ".join(f"{at}-{at}" for at in range(min(len(source.split()), len(target.split()))))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("glossary") / "model")


@pytest.fixture(scope="module")
def loaded(model: Path) -> Translator:
    return dragoman.load(model)


def tsv(path: Path, *rows: str) -> Path:
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_terms_are_forced(loaded: Translator) -> None:
    assert loaded.translate("Das Haus ist klein.").text == "The house is small."
    found = loaded.translate("Das Haus ist klein.", glossary={"haus": "cottage"})
    assert found.text == "The cottage is small."
    (use,) = found.glossary
    assert (use.term.source, use.span, use.target, use.why) == ("haus", (1, 2), "cottage", "")
    assert loaded.translate("Das Haus ist klein.").text == "The house is small.", "for one call"
    many = loaded.translate(["Das Haus.", "HAUS ist klein."], glossary=[("Haus", "cottage")])
    assert [t.text for t in many] == ["The cottage.", "Cottage is small."]
    assert "given" in {p.origin for p in found.derivation.phrases}
    lists = loaded.nbest("Das Haus.", 5, glossary={"Haus": "cottage"})
    assert all("cottage" in t.text.lower() for t in lists)


def test_case_is_as_written_and_sentences_start_with_capitals(loaded: Translator) -> None:
    terms = {"Haus": "iPhone", "klein": "NATO", "neue": "Big", "den": "mRNA"}
    assert loaded.translate("Haus ist klein in den Haus.", glossary=terms).text == "iPhone is NATO in mRNA iPhone."
    assert loaded.translate("den Haus.", glossary=terms).text == "mRNA iPhone."
    assert loaded.translate("das neue Haus", glossary=terms).text == "The Big iPhone"
    assert loaded.translate("Neue.", glossary={"neue": "fresh"}).text == "Fresh."


def test_capitals_are_another_word(loaded: Translator) -> None:
    terms = {"US": "USA", "uns": "all of us"}
    assert "USA" in loaded.translate("Das ist in den US.", glossary=terms).text
    assert loaded.translate("Das ist in den us.", glossary=terms).glossary == ()
    assert "all of us" in loaded.translate("Das ist UNS.", glossary=terms).text


def test_models_of_other_cases(tmp_path: Path) -> None:
    lower = dragoman.load(build(tmp_path / "lower", case="lower"))
    assert lower.translate("Das HAUS ist klein.", glossary={"Haus": "iPhone"}).text == "the iphone is small."
    keep = dragoman.load(build(tmp_path / "keep", case="keep"))
    assert keep.translate("das Haus", glossary={"Haus": "iPhone"}).text == "the iPhone"
    assert keep.translate("das HAUS", glossary={"Haus": "iPhone"}).glossary == (), "the case of such text is its own"


def test_several_translations_and_long_and_unknown_terms(loaded: Translator) -> None:
    found = loaded.translate("Das ist klein.", glossary={"klein": ["quite tiny", "small"]})
    assert found.text == "The is small." and found.glossary[0].target == "small", "the one that the model likes best"
    found = loaded.translate(
        "das Fachwerkhaus zu Ulm ist klein", glossary={"Fachwerkhaus zu Ulm": "half-timbered Zlumf"}
    )
    assert found.text == "The half-timbered Zlumf is small"
    assert found.glossary[0].span == (1, 4)


def test_the_longest_match_wins_then_the_first(loaded: Translator) -> None:
    terms = {"Haus": "shed", "neue Haus": "tower", "das neue": "a fresh", "Haus ist": "place was"}
    found = loaded.translate("das neue Haus ist klein", glossary=terms)
    assert [(u.term.source, u.target, u.why) for u in found.glossary] == [
        ("das neue", "a fresh", ""), ("neue Haus", None, "overlap"), ("Haus", None, "overlap"),
        ("Haus ist", "place was", ""),
    ]  # fmt: skip
    assert found.text == "A fresh place was small"
    terms = {"Haus": "shed", "neue Haus ist": "tower was", "das neue": "a fresh"}
    assert loaded.translate("das neue Haus ist klein", glossary=terms).text == "The tower was small"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), max_size=9),
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=1, max_size=6, unique_by=tuple),
)
def test_matches_are_those_of_a_plain_search(words: list[str], terms: list[list[str]]) -> None:
    matcher = Matcher(Glossary([(" ".join(term), "x") for term in terms]), Preparation({}))
    everywhere = [
        (at, at + len(term), number)
        for number, term in enumerate(terms)
        for at in range(len(words))
        if words[at : at + len(term)] == term
    ]
    chosen: list[tuple[int, int, int]] = []
    for start, end, number in sorted(everywhere, key=lambda m: (m[0] - m[1], m[0], m[2])):
        if all(end <= s or e <= start for s, e, _ in chosen):
            chosen.append((start, end, number))
    found = matcher.find(words, range(len(words) + 1), [], [], [])
    assert sorted((m.start, m.end, m.number) for m in found) == sorted(everywhere)
    assert sorted((m.start, m.end, m.number) for m in found if not m.why) == sorted(chosen)


def test_what_the_writer_wants_comes_first(loaded: Translator) -> None:
    text, terms = "das neue Haus ist klein", {"neue Haus": "tower", "klein": "tiny"}

    def why(**wanted: Any) -> list[str]:
        return [u.why for u in loaded.translate(text, constraints=Constraints(**wanted), glossary=terms).glossary]

    assert why() == ["", ""]
    assert why(given=[(9, 13, "cabin", 0.0)]) == ["given", ""]
    assert why(walls=[8]) == ["wall", ""]
    assert why(walls=[3, 13]) == ["", ""]
    assert why(zones=[(0, 8)]) == ["zone", ""]
    assert why(zones=[(0, 13)]) == ["", ""]


def test_a_weight_makes_terms_compete(model: Path, tmp_path: Path, cli: Cli) -> None:
    terms = {"Haus": "cottage"}
    for weight, text in ((50.0, "The cottage is small."), (-50.0, "The house is small.")):
        preferred = dragoman.load(model, glossary=terms, glossary_weight=weight)
        found = preferred.translate("Das Haus ist klein.")
        assert found.text == text and preferred.decoder.counts_terms
        assert found.features.get("Glossary", 0.0) == float(weight > 0)
        assert found.score == pytest.approx(sum(preferred.weights[n] * v for n, v in found.features.items()), abs=1e-3)
        assert found.glossary[0].why == ("" if weight > 0 else "score")
        # A call may bring its own weight, whether the model has the feature or not.
        for asked in (preferred, dragoman.load(model)):
            for other in (50.0, -50.0):
                one = asked.translate("Das Haus ist klein.", glossary=Glossary(terms, weight=other))
                assert ("cottage" in one.text) == (other > 0)
    path = tsv(tmp_path / "terms.tsv", "Haus\tcottage")
    source = tsv(tmp_path / "in", "Das Haus ist klein.")
    options = ["translate", "--model", model, "--input", source, "--glossary", path]
    assert cli(*options)[1] == cli(*options, "--glossary-weight", "50")[1] == "The cottage is small.\n"
    assert cli(*options, "--glossary-weight", "-50")[1] == "The house is small.\n"
    listed = tmp_path / "list"
    assert cli(*options, "--glossary-weight", "50", "--nbest", 5, "--nbest-out", listed)[0] == 0
    assert "Glossary= 1" in listed.read_text().splitlines()[0]
    code, _, err = cli("translate", "--model", model, "--input", source, "--glossary-weight", "2")
    assert code != 0 and "needs a glossary" in err


def test_the_best_translation_is_the_best_of_all_choices_of_terms(model: Path) -> None:
    """Each subset of the terms is forced in turn, under the same weights."""
    terms = [("Haus", "shed"), ("klein", "tiny"), ("das", "that")]
    chosen = set()
    for weight in (-2.0, -0.5, 0.0, 0.3, 0.6, 1.0, 1.5, 3.0):
        preferred = dragoman.load(model, glossary=terms, glossary_weight=weight)
        best = preferred.translate("das Haus ist klein.")
        subsets = [[term for at, term in enumerate(terms) if number >> at & 1] for number in range(8)]
        forced = [
            preferred.translate("das Haus ist klein.", glossary=Glossary(some, weight=float("inf"))) for some in subsets
        ]
        assert best.score == pytest.approx(max(t.score for t in forced), abs=1e-4)
        chosen.add(sum(use.target is not None for use in best.glossary))
        assert best.features.get("Glossary", 0.0) == sum(use.target is not None for use in best.glossary)
    assert {0, 3} < chosen, "some weights take a part of the terms"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"Haus\thouse\nklein\n", "2: expected a term, a tab and its translation, found one column: `klein`"),
        (b"Haus\thouse\nklein\t\n", "2: the translation is empty"),
        (b"Haus\thouse\n\tsmall\n", "2: the term is empty"),
        (b"Haus\thouse\n\nHaus\thouse\n", "3: `Haus` -> `house` is there twice"),
        (b"Haus\thouse\nH\xff\thouse\n", "2: expected UTF-8"),
        (b"Haus\thouse\n\xe2\x80\x8b\thouse\n", "2: nothing is left of"),
        (b"", " expected lines with a term"),
    ],
)
def test_bad_files_are_named(cli: Cli, model: Path, tmp_path: Path, content: bytes, said: str) -> None:
    path, source = tmp_path / "terms.tsv", tsv(tmp_path / "in", "das")
    path.write_bytes(content)
    code, _, err = cli("translate", "--model", model, "--input", source, "--glossary", path)
    assert code != 0 and f"{path}:{said}" in err and len(err.strip().splitlines()) == 1


def test_good_files(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffHaus\thouse\thome\r\n\r\nHaus\tbuilding\r\nb\tc\r\n".encode())
    terms = Glossary.read(path)
    assert [(t.source, t.targets, t.line) for t in terms] == [
        ("Haus", ("house", "home", "building"), 1),
        ("b", ("c",), 4),
    ]
    terms.save(tmp_path / "again.tsv")
    assert [t.targets for t in Glossary.read(tmp_path / "again.tsv")] == [t.targets for t in terms]
    with pytest.raises(OptionError, match="no translation"):
        Glossary({"a": []})
    with pytest.raises(OptionError, match="twice"):
        Glossary([("a", "b"), ("a", "b")])
    with pytest.raises(InputError, match="No such file"):
        Glossary.read(tmp_path / "none.tsv")


def test_what_became_of_terms_is_reported(cli: Cli, model: Path, tmp_path: Path) -> None:
    path = tsv(tmp_path / "terms.tsv", "Haus\tcottage", "neue Haus\ttower", "Katze\tcat")
    source = tsv(tmp_path / "in", "das neue Haus", "das Haus", "")
    report, out = tmp_path / "report.tsv", tmp_path / "out"
    options = ["translate", "--model", model, "--input", source, "--glossary", path]
    code, text, err = cli(*options, "--glossary-report", report)
    assert (code, text) == (0, "The tower\nThe cottage\n\n")
    assert "glossary: used at 2 of 3 places; 1 of 3 terms are nowhere in the text" in err
    rows = ["term\ttranslations\tplaces\tused\twhy not", "Haus\tcottage\t2\t1\toverlap=1", "neue Haus\ttower\t1\t1\t-"]
    assert report.read_text().splitlines() == [*rows, "Katze\tcat\t0\t0\t-"]
    assert cli(*options, "--output", out, "--glossary-report", tmp_path / "2")[0] == 0
    assert (tmp_path / "2").read_text() == report.read_text() and out.read_text() == text, "also to a file"
    err = cli(*options, "--verbose")[2]
    assert "`Katze` is nowhere in the text" in err and "`Haus` was not used at 1 places: overlap=1" in err
    err = cli("translate", "--model", model, "--input", source, "--glossary-report", report)[2]
    assert "--glossary-report needs a --glossary" in err
    code, text, _ = cli(*options, "--json")
    assert code == 0 and json.loads(text.splitlines()[0])["glossary"] == [
        {"term": "neue Haus", "span": [1, 3], "target": "tower"},
        {"term": "Haus", "span": [2, 3], "target": None, "why": "overlap"},
    ]


def test_sampling_uses_terms_too(cli: Cli, model: Path, tmp_path: Path) -> None:
    path, source = tsv(tmp_path / "terms.tsv", "Haus\tcottage"), tsv(tmp_path / "in", "das Haus", "das <b>")
    options = ["--model", model, "--input", source, "--glossary", path, "--search", "mcmc"]
    code, out, err = cli("translate", *options)
    assert code == 0 and out.splitlines()[0] == "The cottage" and "used at 1 of 1 places" in err


LINES = ["Das Haus ist klein in den US.", "das neue Haus ist in den US.", "in den US ist das Haus klein."]
ANSWERS = ["The cottage is small in the US.", "The new cottage is in the US.", "In the US is the cottage small."]


@pytest.mark.parametrize("tuner", ["kbmira", "mert", "lattice-mira", "samplerank", "adagrad:rate=0.5"])
def test_the_weight_of_a_glossary_is_tuned(model: Path, tmp_path: Path, cli: Cli, tuner: str) -> None:
    """References that use the terms give them a weight; the tuned model has terms and weight, wherever it goes."""
    source, refs = tsv(tmp_path / "dev.de", *LINES * 4), tsv(tmp_path / "dev.en", *ANSWERS * 4)
    path, tuned = tsv(tmp_path / "terms.tsv", "Haus\tcottage"), tmp_path / "tuned"
    options = ["--src", source, "--refs", refs, "--glossary", path, "--tuner", tuner, "--epochs", "4", "--out", tuned]
    code, _, err = cli("tune", "--model", model, *options, "--glossary-weight", "-1", "--nbest-size", "50")
    assert code == 0, err
    opened = Model.open(tuned)
    assert opened.weights["Glossary"] != -1 and (tuned / "features" / "terms.tsv").read_text() == path.read_text()
    path.unlink()
    told = dragoman.load(tuned)
    assert told.translate(LINES[0]).text == ANSWERS[0]
    dragoman.model.pack(opened, tmp_path / "tuned.dragoman")
    elsewhere = dragoman.model.unpack(tmp_path / "tuned.dragoman", tmp_path / "elsewhere")
    assert dragoman.load(elsewhere.folder).translate(LINES[0]).text == ANSWERS[0]
    assert "cottage" not in told.translate(LINES[0], glossary={}).text
    code, out, _ = cli("translate", "--model", tuned, "--input", source, "--glossary", "none")
    assert code == 0 and "cottage" not in out
    assert cli("translate", "--model", tuned, "--input", source)[1].splitlines()[0] == ANSWERS[0]


def test_tuning_keeps_terms_from_memory(model: Path, tmp_path: Path) -> None:
    lines, refs = LINES * 4, [line.replace("cottage", "shed") for line in ANSWERS] * 4
    with dragoman.load(model, glossary={"Haus": "shed"}, glossary_weight=1.0) as loaded:
        loaded.tune(lines, refs, tuner="kbmira", epochs=2, nbest_size=10, out=tmp_path / "tuned")
    again = dragoman.load(tmp_path / "tuned")
    assert again.glossary is not None and [t.targets for t in again.glossary] == [("shed",)]
    # Tuned again, with other terms.
    dragoman.tune(
        tmp_path / "tuned", refs, source=lines, glossary={"Haus": "hall"}, tuner="kbmira", epochs=1, nbest_size=10,
        out=tmp_path / "again",
    )  # fmt: skip
    last = dragoman.load(tmp_path / "again")
    assert last.glossary is not None and [t.targets for t in last.glossary] == [("hall",)]
    with pytest.raises(OptionError, match="starts from a number"):
        dragoman.tune(model, refs, source=lines, glossary={"a": "b"}, glossary_weight=float("inf"))


def test_constraints_count_characters_of_plain_text(loaded: Translator) -> None:
    text = "Das ‚Haus‘ ist klein."
    start = text.index("Haus")
    found = loaded.translate(text, constraints=Constraints(given=[(start, start + 4, "Old Barn", 0.0)]))
    assert "Old Barn" in found.text and found.source == text
    for span, said in (
        ((start, start + 3), "span 5-8 cuts the word `Haus`, 5-9: 5-9 has all of it"),
        ((0, 99), "does not lie in a text of 21 characters"),
        ((3, 4), "has no words"),
    ):
        with pytest.raises(OptionError, match=said):
            loaded.translate(text, constraints=Constraints(given=[(*span, "x", 0.0)]))
    with pytest.raises(OptionError, match="a wall at 7 cuts the word `Haus`"):
        loaded.translate(text, constraints=Constraints(walls=[7]))
    assert loaded.translate(text, constraints=Constraints(walls=[start - 1, 10]))
    tokenized = loaded.translate("das Haus ist", tokenized=True, constraints=Constraints(given=[(1, 2, "barn", 0.0)]))
    assert tokenized.text == "the barn is"


def test_markup_and_jsonl_are_plain_text(cli: Cli, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text('Das <n translation="&quot;Barn&quot;">Haus</n> ist klein.\n“Das<wall/> Haus”\n')
    code, out, _ = cli("translate", "--model", model, "--input", path, "--markup")
    assert code == 0 and out.splitlines()[0] == 'The "Barn" is small.'
    path.write_text('Das <n translation="x">Hau</n>s ist klein.\n')
    code, _, err = cli("translate", "--model", model, "--input", path, "--markup")
    assert code != 0 and f"{path}:1: span 4-7 cuts the word `Haus`" in err
    path.write_text(json.dumps({"text": "Das Haus ist klein.", "given": [[4, 8, "Old  Barn"]]}) + "\n")
    assert cli("translate", "--model", model, "--input", path, "--jsonl")[1] == "The Old Barn is small.\n"


def test_alignments_in_characters(cli: Cli, model: Path, loaded: Translator, tmp_path: Path) -> None:
    found = loaded.translate("Das Haus ist klein.")
    assert found.spans == [((0, 3), (0, 3)), ((4, 8), (4, 9)), ((9, 12), (10, 12)), ((13, 18), (13, 18)),
                           ((18, 19), (18, 19))]  # fmt: skip
    source = tsv(tmp_path / "in", "Das Haus ist klein.")
    shown = json.loads(cli("translate", "--model", model, "--input", source, "--json")[1])
    assert shown["spans"][1] == [4, 8, 4, 9] and shown["text"] == "The house is small."
    explained = json.loads(cli("translate", "--model", model, "--input", source, "--explain", "--json")[1])
    assert explained["spans"] == shown["spans"]
    tokenized = loaded.translate("das  Haus", tokenized=True)
    assert tokenized.spans == [((0, 3), (0, 3)), ((5, 9), (4, 9))]
    err = cli("translate", "--model", model, "--input", source, "--json", "--align-out", tmp_path / "links")[2]
    assert "does not go with --align-out" in err


TEXTS = st.text(st.sampled_from("aéÉßbc .,’'“”-|&#124;\u0301\u200b1/日本語\uffed"), max_size=25)


@pytest.mark.parametrize("tokenizer", ["unicode", "moses", "char", "none"])
def test_words_are_where_they_are_said_to_be(tokenizer: str) -> None:
    """On both sides: a word's characters, prepared again, are the word, for text of all kinds."""
    text = Preparation({"tokenizers": [tokenizer, tokenizer], "languages": ["de", "en"], "normalise": "nfc",
                        "bars": "escape"})  # fmt: skip

    @settings(max_examples=150, deadline=None)
    @given(TEXTS)
    def both(line: str) -> None:
        cut = text.cut(line)
        assert cut.text == text.before([line])[0]
        words = cut.text.split(" ") if cut.text else []
        assert len(cut.spans) == len(words)
        ends = [0, *(end for _, end in cut.spans)]
        assert all(0 <= start <= end <= len(line) for start, end in cut.spans) and ends == sorted(ends)
        joined = text.joined(cut.text)
        assert joined.text == text.after([cut.text])[0] and len(joined.spans) == len(words)
        plain = "\uffed" not in line and "&" not in line and "#" not in line
        for word, (start, end), (first, last) in zip(words, cut.spans, joined.spans, strict=True):
            bare = word.strip("\uffed\uffee").replace("&#124;", "|")
            if plain and tokenizer in {"unicode", "none"}:
                assert (
                    text.cut(line[start:end]).text.replace("&#124;", "|").replace(" ", "").strip("\uffed\uffee") == bare
                )
                assert joined.text[first:last] == bare

    both()


@pytest.fixture(scope="module")
def in_pieces(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model of pieces of words on both sides, that also splits compounds."""
    folder = tmp_path_factory.mktemp("pieces")
    pairs = [
        ("Das Haus ist klein.", "The house is small."), ("Das neue Haus ist klein.", "The new house is small."),
        ("Wo ist das Haus?", "Where is the house?"), ("Das Auto ist neu.", "The car is new."),
        ("Hier ist das kleine Haus.", "Here is the small house."), ("Hier ist das neue Auto.", "Here is the new car."),
        ("Die Tür ist neu.", "The door is new."), ("Wo ist die Tür?", "Where is the door?"),
    ]  # fmt: skip
    for side, name in enumerate(("de", "en")):
        tsv(folder / f"train.{name}", *[pair[side] for pair in pairs] * 2)
    dragoman.train(
        folder / "train.de", folder / "train.en", folder / "model", subwords=(20, 20), order=2, keep_duplicates=True
    )
    return dragoman.load(folder / "model")


def test_terms_are_whole_words_of_a_model_in_pieces(in_pieces: Translator) -> None:
    plain = in_pieces.translate("Das Haus ist klein.", glossary={})
    assert any("@@" in word for word in plain.source_words), "words are in pieces"
    found = in_pieces.translate("Das Haus ist klein.", glossary={"HAUS": "pied-à-terre"})
    assert found.glossary == (), "capitals are meant"
    for text in ("das Haus ist klein.", "HAUS ist klein."):
        found = in_pieces.translate(text, glossary={"haus": "pied-à-terre", "us": "no", "a": "no"})
        assert "pied-à-terre" in found.text.lower() and "no" not in found.text.split()
        (use,) = found.glossary
        start, end = use.span
        assert "".join(found.source_words[start:end]).replace("@@", "").lower() == "haus" and use.target
        first, last = found.source_spans[start][0], found.source_spans[end - 1][1]
        assert text[first:last].lower() == "haus"
    given = in_pieces.translate("Das Haus ist klein.", constraints=Constraints(given=[(4, 8, "Old Barn", 0.0)]))
    assert "Old Barn" in given.text
    pieces = in_pieces.translate(" ".join(plain.source_words), tokenized=True, glossary={"Haus": "pied-à-terre"})
    assert in_pieces.decoder.text.after([pieces.text]) == ["The pied-à-terre is small."]


def test_hierarchical_models_use_terms_too(tmp_path: Path) -> None:
    source, target = tsv(tmp_path / "a.de", *LINES * 4), tsv(tmp_path / "a.en", *ANSWERS * 4)
    dragoman.train(source, target, tmp_path / "model", system="hiero", order=2, keep_duplicates=True)
    forced = dragoman.load(tmp_path / "model").translate(LINES[0], glossary={"haus": "shed", "neue Haus": "x"})
    assert "shed" in forced.text and [u.target for u in forced.glossary] == ["shed"]
    for weight, used in ((20.0, True), (-20.0, False)):
        found = dragoman.load(tmp_path / "model", glossary={"Haus": "shed"}, glossary_weight=weight).translate(LINES[0])
        assert ("shed" in found.text) == used and found.features.get("Glossary", 0.0) == float(used)
        assert found.glossary[0].why == ("" if used else "score")


def test_a_glossary_travels_with_a_decoder(model: Path) -> None:
    decoder = Decoder(model, glossary=Glossary({"Haus": "shed"}, weight=2.0))
    assert decoder.dense[-1] == "Glossary" and decoder.weights["Glossary"] == 2.0
    lines = [("das Haus", Constraints(terms=[(1, 2, "shed", 0.0, True)]))]
    assert [c.texts[0] for c in decoder.stream(lines)] == ["the shed"]
