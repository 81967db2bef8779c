"""Parts of words: pieces and compounds, from training to plain text again; and what stays unknown."""

from __future__ import annotations

import io
import itertools
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import corpus, training
from dragoman.errors import InputError, OptionError
from dragoman.model import Model, pack, unpack
from dragoman.parts import Compounds, Subwords, join_pieces
from dragoman.prepared import Prepared
from dragoman.preprocess import Preparation
from dragoman.rules import Table
from dragoman.translator import load

Cli = Callable[..., tuple[int, str, str]]

PERSONS = {"ni": "I", "u": "you", "wa": "they", "tu": "we"}
TIMES = {"na": "now", "li": "once", "ta": "soon", "ka": "then"}
VERBS = {"soma": "read", "penda": "love", "pika": "cook", "imba": "sing", "lima": "farm", "cheza": "play"}


def swahili(leave_out: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Verbs that are whole sentences, as in Swahili: 96 forms."""
    forms = itertools.product(PERSONS, TIMES, VERBS)
    pairs = [(p + t + v, f"{PERSONS[p]} {TIMES[t]} {VERBS[v]}") for p, t, v in forms]
    return [
        (f"Leo {form}, {form}.", f"Today {english}, {english}.") for form, english in pairs if form not in leave_out
    ]


def german() -> list[tuple[str, str]]:
    things = {"Hund": "dog", "Mann": "man", "Vogel": "bird", "Wagen": "car", "Baum": "tree"}
    verbs = {"sieht": "sees", "kennt": "knows", "sucht": "seeks"}
    pairs = [
        (f"der {a} {v} den {x}.", f"the {b} {w} the {y}.")
        for (a, b), (v, w), (x, y) in itertools.product(things.items(), verbs.items(), things.items())
        if a != x
    ]
    return [(f"D{s[1:]}", f"T{t[1:]}") for s, t in pairs] + [(f"Ja, {s}", f"Yes, {t}") for s, t in pairs]


@pytest.fixture
def piped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line with a text on standard input."""

    def run(text: str, *arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        return cli(*arguments)

    return run


def write(folder: Path, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    paths = folder / "t.src", folder / "t.tgt"
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("\n".join(side) + "\n", encoding="utf-8")
    return paths


UNSEEN = frozenset({"niliimba", "wakapenda", "tutacheza", "unasoma"})


@pytest.fixture(scope="module")
def in_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose source words are cut."""
    folder = tmp_path_factory.mktemp("pieces")
    source, target = write(folder, swahili(UNSEEN) * 2)
    options = training.Options.of(subwords=(45, 0), classes=(), order=3, keep_duplicates=True)
    training.train(source, target, folder / "m", options, languages=("sw", "en"))
    return folder / "m"


@pytest.fixture(scope="module")
def splitting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that splits compounds which it does not know."""
    folder = tmp_path_factory.mktemp("compounds")
    source, target = write(folder, german())
    training.train(source, target, folder / "m", compounds="unknown", classes=(), order=3, languages=("de", "en"))
    return folder / "m"


def test_words_that_were_never_seen_are_translated_by_their_pieces(in_pieces: Path, tmp_path: Path) -> None:
    model = Model.open(in_pieces)
    assert model.text["subwords"] == ["source.pieces", ""] and "source.pieces" in model.files
    with load(in_pieces) as loaded:
        right = {f"{loaded.translate(f'Leo {form}.').text}" for form in UNSEEN}
        cut = loaded.decoder.text.before(["Leo niliimba."])[0]
        assert "@@ " in cut and join_pieces([cut])[0] == "Leo niliimba ."
    english = {"I once sing", "they then love", "we soon play", "you now read"}
    assert len(right & {f"Today {text}." for text in english}) >= 3, right
    # It travels.
    pack(model, tmp_path / "m.dragoman")
    with load(tmp_path / "m.dragoman") as loaded:
        assert {loaded.translate(f"Leo {form}.").text for form in UNSEEN} == right


def test_both_sides_in_pieces(tmp_path: Path, cli: Cli) -> None:
    """The target's pieces are joined before anything else is undone."""
    source, target = write(tmp_path, [(t, s) for s, t in swahili(UNSEEN)])
    code, _, err = cli(
        "train", "--src", source, "--tgt", target, "--out", tmp_path / "m", "--languages", "en", "sw", "--subwords", 40,
        45, "--classes", 0, "--order", 5,
    )  # fmt: skip
    assert code == 0, err
    assert Model.open(tmp_path / "m").text["subwords"] == ["source.pieces", "target.pieces"]
    with load(tmp_path / "m") as loaded:
        found = loaded.translate("Today I once love, I once love.")
        assert found.text == "Leo nilipenda, nilipenda." and any(word.endswith("@@") for word in found.words)
        text = loaded.decoder.text
        lines = [line for _, line in german()] + [line for line, _ in swahili()] + ["Xaver hat 3.5 @@ a@@ | b."]
        assert text.after(text.reference(lines)) == lines


@given(st.lists(st.text("abcAB@'.-é １|", max_size=20), max_size=5), st.integers(1, 60), st.randoms())
@settings(max_examples=100, deadline=None)
def test_pieces_come_back(lines: list[str], size: int, chance: random.Random) -> None:
    subwords = Subwords.learn(["".join(chance.choice("abc ") for _ in range(60))], size)
    apart = [" ".join(line.split(" ")).strip(" ") for line in lines]
    apart = [" ".join(filter(None, line.split(" "))) for line in apart]
    owned = subwords.apply(apart)
    assert join_pieces(owned.texts).to_list() == apart
    for number, line in enumerate(apart):
        owners = owned.of(number)
        assert len(owners) == len(owned.texts[number].split()) and sorted(set(owners)) == list(range(len(line.split())))


def test_pieces_are_noted_and_taken_up(tmp_path: Path, cli: Cli) -> None:
    source, target = write(tmp_path, swahili())
    out = tmp_path / "c.src", tmp_path / "c.tgt"
    clean = ("clean", "--src", source, "--tgt", target, "--languages", "sw", "en", "--tokenizer", "unicode", "--case",
             "truecase", "--subwords", 40, 0, "--out-src", out[0], "--out-tgt", out[1])  # fmt: skip
    assert cli(*clean)[0] == 0
    noted = Prepared.of(out[0])
    assert noted is not None and noted.subwords == str(tmp_path / "c.src.subwords")
    assert (Prepared.of(out[1]) or Prepared()).subwords == ""
    assert "@@" in out[0].read_text() and "@@" not in out[1].read_text()
    options = ("--classes", "0", "--order", "3")
    assert cli("train", "--src", *out[:1], "--tgt", out[1], *options, "--out", tmp_path / "a")[0] == 0
    whole = (*options, "--subwords", "40", "0", "--languages", "sw", "en", "--out", tmp_path / "b")
    assert cli("train", "--src", source, "--tgt", target, *whole)[0] == 0
    with load(tmp_path / "a") as one, load(tmp_path / "b") as other:
        assert one.translate("Leo nilipenda.").text == other.translate("Leo nilipenda.").text == "Today I once love."
    for wrong, said in (
        (("--subwords", "50", "0"), "words that were cut"),
        (("--compounds", "unknown"), "words that were cut"),
        (("--case", "lower"), "words that were cut"),
    ):
        code, _, err = cli("train", "--src", out[0], "--tgt", out[1], *wrong, "--out", tmp_path / "c")
        assert code and said in err, (wrong, err)
    # Files that were cut by different models do not go together.
    Subwords.learn(["x y"], 3).save(tmp_path / "other")
    other_side = out[0].with_name("d.src")
    other_side.write_bytes(out[0].read_bytes())
    (Prepared.of(out[0]) or Prepared()).note(other_side)
    corpus.before([corpus.Files(out[0], out[1]), corpus.Files(other_side, out[1])])
    Prepared(language="sw", tokenizer="unicode", normalise="nfc", case="truecase", bars="escape",
             truecaser=f"{out[0]}.truecase", subwords=str(tmp_path / "other")).note(other_side)  # fmt: skip
    with pytest.raises(InputError, match=r"different models \(subwords\)"):
        corpus.before([corpus.Files(out[0], out[1]), corpus.Files(other_side, out[1])])


def test_pieces_of_a_long_sentence_give_rules(tmp_path: Path) -> None:
    """A sentence may have more pieces than it may have words."""
    words = [f"{a}{b}{c}" for a, b, c in itertools.product("abcd", "efgh", "klmn")]
    source, target = write(tmp_path, [(" ".join(words), " ".join(words)), ("x", "y")])
    options = training.Options.of(subwords=(1, 0), classes=(), order=2, languages=("sw", "en"), max_words=70)
    training.train(source, target, tmp_path / "m", options, say=lambda _level, _text: None)
    assert len(Table(tmp_path / "m" / "rules")) > 1  # x y


def test_other_pieces_are_another_run(tmp_path: Path) -> None:
    source, target = write(tmp_path, swahili())
    out = tmp_path / "c.src", tmp_path / "c.tgt"
    corpus.clean([corpus.Files(source, target)], out, tokenizer="unicode", subwords=(40, 0), languages=("sw", "en"))
    training.train(*out, tmp_path / "m", classes=(), order=2)
    assert all(step.reused for step in training.train(*out, tmp_path / "m", classes=(), order=2).steps)
    with (tmp_path / "c.src.subwords").open("a") as file:
        file.write("Name\n")
    with pytest.raises(InputError, match="another run"):
        training.train(*out, tmp_path / "m", classes=(), order=2)


def test_a_model_that_lacks_its_pieces(in_pieces: Path, tmp_path: Path) -> None:
    whole = (in_pieces / "model.toml").read_text()
    for number, wrong in enumerate(('["source.pieces"]', '["source.pieces", 3]', '"source.pieces"')):
        folder = tmp_path / str(number)
        shutil.copytree(in_pieces, folder)
        (folder / "model.toml").write_text(whole.replace('["source.pieces", ""]', wrong))
        with pytest.raises(InputError, match="two names, one for each side"):
            Model.open(folder)
    # One that travels must have them among its files.
    folder = tmp_path / "elsewhere"
    shutil.copytree(in_pieces, folder)
    (folder / "model.toml").write_text(whole.replace('["source.pieces", ""]', '["/etc/pieces", ""]'))
    pack(Model.open(folder), tmp_path / "m.dragoman")
    with pytest.raises(InputError, match="must be whole, and this one needs /etc/pieces"):
        unpack(tmp_path / "m.dragoman", tmp_path / "unpacked")


def test_options_that_do_not_go_together() -> None:
    together: list[dict[str, Any]] = [
        {"subwords": (9, 0), "compounds": "all"},
        {"subwords": 9, "factored": True},
        {"compounds": "all", "factored": True},
    ]
    for wrong in together:
        with pytest.raises(OptionError):
            corpus.Options(**wrong)
    assert corpus.Options(subwords=(0, 9), compounds="all").pieces == (0, 9)
    with pytest.raises(OptionError, match="for `train`"):
        corpus.clean([corpus.Files("a", "b")], ("c", "d"), compounds="unknown")


def test_subwords_command(tmp_path: Path, cli: Cli, piped: Cli) -> None:
    text, model, out = tmp_path / "text", tmp_path / "model", tmp_path / "out"
    text.write_text("low low lower lowest 3.5\n")
    Prepared(language="en", tokenizer="unicode").note(text)
    assert cli("subwords", "train", "--text", text, "--size", 12, "--model", model)[0] == 0
    assert cli("subwords", "apply", "--text", text, "--model", model, "--out", out)[0] == 0
    assert out.read_text() == "low low lowe@@ r lowe@@ s@@ t 3.5\n"
    noted = Prepared.of(out)
    assert noted is not None and (noted.tokenizer, noted.subwords) == ("unicode", str(model))
    code, _, err = cli("subwords", "apply", "--text", out, "--model", model, "--out", tmp_path / "again")
    assert code and "were cut already" in err
    assert piped(out.read_text(), "subwords", "undo")[1] == text.read_text()


def test_unknown_compounds_are_split(splitting: Path) -> None:
    with load(splitting) as loaded:
        assert loaded.model.text["compounds"] == ["source.parts", ""]
        assert loaded.decoder.text.before(["Der Hundebaum, der Baumhund und HUND kennt Vögel."]) == [
            "der Hund Baum , der Baum Hund und Hund kennt Vögel ."
        ]
        assert loaded.translate("Der Hundebaum kennt den Vogelmann.").text == "The dog tree knows the bird man."
        words, owners = loaded.decoder.text.origins("DER Hundebaum kennt Xaver.")
        assert words == ["DER", "Hundebaum", "kennt", "Xaver", "."] and owners == [0, 1, 1, 2, 3, 4]


def test_words_without_a_rule_of_their_own_are_unknown(tmp_path: Path) -> None:
    """Parts are words that the table can translate alone."""
    pairs = [("ein alter Hut", "x"), ("ein alter Hut", "x y"), ("ein Hund", "a dog"), ("ein Baum", "a tree")]
    source, target = write(tmp_path, [*pairs, ("Hund", "dog"), ("Baum", "tree")] * 3)
    training.train(source, target, tmp_path / "m", compounds="unknown", classes=(), order=2, keep_duplicates=True,
                   languages=("de", "en"))  # fmt: skip
    table = Table(tmp_path / "m" / "rules")
    listed = {line.split("\t")[0] for line in (tmp_path / "m" / "source.parts").read_text().splitlines()[1:]}
    assert {"Hund", "Baum"} <= listed and all(table.lookup(word) for word in listed)


def test_compounds_of_the_training_text(tmp_path: Path) -> None:
    """With `all`, the model has never seen a compound whose parts are more frequent."""
    pairs = [*german(), ("Der Hundebaum sieht den Mann.", "The dog tree sees the man.")]
    source, target = write(tmp_path, pairs)
    training.train(source, target, tmp_path / "m", compounds="all", classes=(), order=3, languages=("de", "en"))
    with load(tmp_path / "m") as loaded:
        assert not Table(tmp_path / "m" / "rules").lookup("Hundebaum")
        assert loaded.decoder.text.before(["Der Hundebaum"]) == ["der Hund Baum"]
        assert loaded.translate("Der Hundebaum kennt den Mann.").text == "The dog tree knows the man."
    out = tmp_path / "c.src", tmp_path / "c.tgt"
    corpus.clean([corpus.Files(source, target)], out, compounds="all", tokenizer="unicode", languages=("de", "en"))
    noted = Prepared.of(out[0])
    assert (
        noted is not None and len(Compounds.load(noted.compounds)) > 5 and "Der Hund Baum sieht" in out[0].read_text()
    )


def test_what_stays_unknown_is_reported_as_it_was_written(
    splitting: Path, in_pieces: Path, tmp_path: Path, cli: Cli, piped: Cli
) -> None:
    """Not as truecasing, splitting or cutting changed it."""
    strange = tmp_path / "strange"
    text = "XAVER kennt den Hundebaum.\nQuux sieht Der-Qux, 3.14 am 12.05.2010 und e\u0301te\u0301.\n"
    (tmp_path / "in").write_text(text, encoding="utf-8")
    for output in ("-", tmp_path / "out"):
        code, _, err = cli("translate", "--model", splitting, "--input", tmp_path / "in", "--unknown", strange,
                           "--output", output)  # fmt: skip
        assert code == 0, err
        found = dict(line.split("\t") for line in strange.read_text(encoding="utf-8").splitlines())
        assert found == dict.fromkeys(["XAVER", "Quux", "Der-Qux", "3.14", "am", "12.05.2010", "und", "été"], "1")
    # A word of which several pieces are unknown is one word.
    code, _, err = piped("Leo ЖЖЖ, жжж.\n", "translate", "--model", in_pieces, "--unknown", strange)
    assert code == 0, err
    assert strange.read_text(encoding="utf-8") == "ЖЖЖ\t1\nжжж\t1\n"
    # Dropped words are reported, too.
    piped("Der Xaver sieht den Mann.\n", "translate", "--model", splitting, "--drop-unknown", "--unknown", strange)
    assert strange.read_text() == "Xaver\t1\n"


@pytest.mark.parametrize("name", ["splitting", "in_pieces"])
def test_numbers_dates_and_names_pass_through(name: str, request: pytest.FixtureRequest) -> None:
    with load(request.getfixturevalue(name)) as loaded:
        for word in ("3,14", "1.000.000", "12.05.2010", "2010-05-12", "12:30", "Schmidt", "McDonald", "O'Brien", "USA",
                     "a@b.de", "http://x.org/a?b=1", "B2B", "Müller-Lüdenscheidt", "50%", "§5"):  # fmt: skip
            line = f"Leo {word}." if name == "in_pieces" else f"Der Mann kennt {word}."
            assert f" {word}" in loaded.translate(line).text, word
        # At the start of a sentence, too.
        assert loaded.translate("Schmidt." if name == "splitting" else "3.14.").text[:4] in {"Schm", "3.14"}


def test_preparation_without_files_is_as_before() -> None:
    plain = Preparation({"tokenizers": ["unicode", "unicode"], "languages": ["de", "en"]})
    assert plain.origins("Das Haus, ja.") == (["Das", "Haus", ",", "ja", "."], [0, 1, 2, 3, 4])
    assert plain.after(["x@@ y"]) == ["x@@ y"]
    moses = Preparation({"tokenizers": ["char", "none"]})
    assert moses.origins("a b") == (["a", "▁", "b"], [0, 1, 2])


def test_languages_by_names_of_files(tmp_path: Path) -> None:
    """They choose the rules of the tokeniser, and that compounds are split."""
    source, target = write(tmp_path, german())
    named = source.rename(tmp_path / "t.de"), target.rename(tmp_path / "t.en")
    assert corpus.resolve([corpus.Files(*named)]).languages == ("de", "en")
    assert corpus.resolve([corpus.Files(*named)], ("nl", "en")).languages == ("nl", "en")
    trained = training.train(*named, tmp_path / "m", classes=(), order=2)
    assert trained.model.text["languages"] == ["de", "en"]
    assert trained.model.text["compounds"] == ["source.parts", ""]
    options: list[dict[str, Any]] = [{"compounds": "none"}, {"languages": ("fr", "en")}, {"subwords": (30, 0)}]
    for option in options:
        other = training.train(*named, tmp_path / "-".join(option), classes=(), order=2, **option)
        assert "compounds" not in other.model.text, option
    # A note knows better.
    out = tmp_path / "c.de", tmp_path / "c.en"
    corpus.clean([corpus.Files(*named)], out, tokenizer="unicode", languages=("nl", "en"))
    assert training.train(*out, tmp_path / "n", classes=(), order=2).model.text["languages"] == ["nl", "en"]
    for names in (("a.src", "a.tgt"), ("a.txt", "a.en"), ("a", "b"), ("a.de", "b.deu")):
        paths = [tmp_path / name for name in names]
        for path in paths:
            path.write_text("x\n")
        assert corpus.resolve([corpus.Files(*paths)]).languages == ("", ""), names
    mixed = [corpus.Files(*named), corpus.Files(tmp_path / "a.txt", tmp_path / "a.en")]
    assert corpus.resolve(mixed).languages == ("", "")
