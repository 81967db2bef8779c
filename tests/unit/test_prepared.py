"""Preparation belongs to the model: what `clean`, `tokenize` and `truecase` did is taken up by `train`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import corpus
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.model import Model
from dragoman.prepared import Prepared
from dragoman.training import Options, train

Cli = Callable[..., tuple[int, str, str]]
SMALL = Options.of(classes=(), order=3)


@pytest.fixture
def plain(tmp_path: Path) -> tuple[Path, Path]:
    """Plain text with capitals and full stops at their words."""
    things = {"Hund": "dog", "Mann": "man", "Vogel": "bird", "Wagen": "car"}
    verbs = {"sieht": "sees", "kennt": "knows", "sucht": "seeks"}
    pairs = [
        (f"Der {a}, der {v} den {x}.", f"The {b}, he {w} the {y}.")
        for (a, b), (v, w), (x, y) in itertools.product(things.items(), verbs.items(), things.items())
        if a != x
    ]
    for name, side in (("raw.de", 0), ("raw.en", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    return tmp_path / "raw.de", tmp_path / "raw.en"


def prepare(cli: Cli, plain: tuple[Path, Path], *options: str) -> tuple[Path, Path]:
    out = plain[0].with_name("train.de"), plain[0].with_name("train.en")
    code, _, err = cli(
        "clean",
        "--src",
        plain[0],
        "--tgt",
        plain[1],
        "--languages",
        "de",
        "en",
        "--out-src",
        out[0],
        "--out-tgt",
        out[1],
        *options,
    )
    assert code == 0, err
    return out


@pytest.mark.parametrize("tokenizer", ["moses", "unicode"])
def test_clean_then_train_translates_plain_text(
    cli: Cli, plain: tuple[Path, Path], tmp_path: Path, tokenizer: str
) -> None:
    """As its help shows it. The model is what training on the plain text with the same options makes."""
    files = prepare(cli, plain, "--tokenizer", tokenizer, "--case", "truecase")
    code, _, err = cli(
        "train", "--src", files[0], "--tgt", files[1], "--out", tmp_path / "m", "--classes", 0, "--order", 3
    )
    assert code == 0 and "warning" not in err, err
    (tmp_path / "in").write_text("Der Vogel, der kennt den Wagen.\n")
    code, out, err = cli("translate", "--model", tmp_path / "m", "--input", tmp_path / "in")
    assert out == "The bird, he knows the car.\n", err
    direct = train(*plain, tmp_path / "n", SMALL, tokenizer=tokenizer, case="truecase", languages=("de", "en"))
    made = Model.open(tmp_path / "m")
    assert made.text == direct.model.text
    assert {name: made.files[name] for name in ("rules", "lm", "source.cases", "target.cases")} == {
        name: direct.model.files[name] for name in ("rules", "lm", "source.cases", "target.cases")
    }


def test_tokenize_and_truecase_note_what_they_did(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    for path, language in zip(plain, ("de", "en"), strict=True):
        words, cased, model = (tmp_path / f"{name}.{language}" for name in ("tok", "true", "cases"))
        assert cli("tokenize", "--language", language, "--tokenizer", "unicode", "--text", path, "--out", words)[0] == 0
        assert cli("truecase", "train", "--text", words, "--model", model)[0] == 0
        assert cli("truecase", "apply", "--text", words, "--model", model, "--out", cased)[0] == 0
        noted = Prepared.of(cased)
        assert noted is not None and (noted.language, noted.tokenizer, noted.case) == (language, "unicode", "truecase")
    train(tmp_path / "true.de", tmp_path / "true.en", tmp_path / "m", SMALL)
    decoder = Decoder(tmp_path / "m")
    assert decoder.text.before(["Der Vogel, der"]) == ["der Vogel , der"]
    assert decoder.text.after(decoder.translate(["der Vogel , der kennt den Wagen ."])) == [
        "The bird, he knows the car."
    ]
    code, _, err = cli("tokenize", "--text", tmp_path / "tok.de", "--out", tmp_path / "again")
    assert code == 1 and "was tokenised with unicode" in err
    code, _, err = cli("truecase", "apply", "--text", tmp_path / "true.de", "--model", tmp_path / "cases.de")
    assert code == 1 and "has case truecase already" in err
    code, _, err = cli("tokenize", "--text", plain[0], "--out", plain[0])
    assert code == 1 and "same file" in err


def test_what_contradicts_a_note_is_refused(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    files = prepare(cli, plain, "--tokenizer", "unicode", "--case", "lower")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tokenizer": "moses"}, "was tokenised with unicode, and moses cannot come after it"),
        ({"case": "truecase"}, "has case lower already, and truecase cannot come after it"),
        ({"languages": ("fr", "en")}, "was prepared as de, and the language fr contradicts this"),
    ]
    for changes, message in cases:
        with pytest.raises(OptionError, match=message):
            train(*files, tmp_path / "m", SMALL, **changes)
    model = train(*files, tmp_path / "m", SMALL, tokenizer="unicode", case="lower", languages=("deu", "en")).model
    assert model.text["tokenizers"] == ["unicode", "unicode"] and model.text["case"] == "lower"


def test_sides_that_disagree_are_refused(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    files = prepare(cli, plain, "--tokenizer", "unicode")
    with pytest.raises(InputError, match=r"train\.de was prepared with .*raw\.en with .*: prepare them alike"):
        train(files[0], plain[1], tmp_path / "m", SMALL)
    (tmp_path / "more.tsv").write_text("Ein Haus.\tA house.\n")
    with pytest.raises(InputError, match=r"is prepared text, and .*more\.tsv is not"):
        train(files[0], files[1], tmp_path / "m", SMALL, bitext=[tmp_path / "more.tsv"])


def test_a_stale_note_is_noticed(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    files = prepare(cli, plain, "--tokenizer", "unicode")
    same_size = files[0].read_text().replace("Der Hund", "Ein Hund", 1)
    for change in (files[0].read_text() + "Neu .\n", same_size):
        kept = files[0].read_text()
        files[0].write_text(change)
        with pytest.raises(InputError, match=r"train\.de: has changed since train\.de\.prep\.toml was written"):
            train(*files, tmp_path / "m", SMALL)
        files[0].write_text(kept)
    beside = tmp_path / "train.de.prep.toml"
    beside.write_text(beside.read_text().replace("tokenizer", "tokeniser"))
    with pytest.raises(InputError, match="expected the settings language, tokenizer"):
        train(*files, tmp_path / "m", SMALL)


def test_cleaned_text_that_was_not_tokenised_is_plain_text(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    files = prepare(cli, plain)
    assert train(*files, tmp_path / "m", SMALL).model.text["tokenizers"] == ["unicode", "unicode"]


def test_a_moved_truecaser_is_named(cli: Cli, plain: tuple[Path, Path], tmp_path: Path) -> None:
    files = prepare(cli, plain, "--tokenizer", "unicode", "--case", "truecase")
    (tmp_path / "train.de.truecase").unlink()
    with pytest.raises(InputError, match=r"train\.de\.truecase: no such file"):
        train(*files, tmp_path / "m", SMALL)


WARNINGS = {
    "tokenised": "looks tokenised already, and would be tokenised once more; if it is, use --tokenized",
    "plain": "looks like plain text, and no tokeniser is on; --tokenizer unicode is one",
    "lower": "has no capitals, so that there is nothing to truecase",
    "truecased": "looks truecased already; if it is, use --case keep",
}


@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        (lambda line: line, [], []),
        (lambda line: line, ["--tokenized"], ["plain"]),
        (lambda line: line, ["--tokenizer", "none"], ["plain"]),
        (lambda line: line.replace(",", " ,").replace(".", " ."), [], ["tokenised"]),
        (lambda line: line.replace(",", " ,").replace(".", " ."), ["--tokenized"], []),
        (lambda line: line.replace(",", " ,").replace(".", " .").lower(), ["--tokenizer", "moses"], ["tokenised"]),
        (lambda line: line.lower(), [], []),
        (lambda line: line.lower(), ["--case", "truecase"], ["lower"]),
        (lambda line: line[0].lower() + line[1:].replace("b", "B"), [], ["truecased"]),
    ],
)
def test_text_that_looks_otherwise_is_said(
    cli: Cli,
    plain: tuple[Path, Path],
    tmp_path: Path,
    change: Callable[[str], str],
    options: list[str],
    expected: list[str],
) -> None:
    for path in plain:
        path.write_text("".join(f"{change(line)}\n" for line in path.read_text().splitlines()))
    code, _, err = cli(
        "train", "--src", plain[0], "--tgt", plain[1], "--out", tmp_path / "m", "--classes", 0, "--order", 2, *options
    )
    assert code == 0, err
    said = [line for line in err.splitlines() if "warning" in line]
    assert [any(WARNINGS[name] in line for line in said) for name in expected] == [True] * len(said), said
    assert len(said) == len(expected) and all(line.startswith("dragoman: warning: ") for line in said)


def test_warnings_in_python(plain: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="looks like plain text"):
        trained = train(*plain, tmp_path / "m", SMALL, tokenized=True)
    assert len(trained.warnings) == 1


def test_settling_says_what_is_left_to_do() -> None:
    before = (Prepared(tokenizer="jieba", language="zh", normalise="nfkc"), Prepared(tokenizer="moses", language="en"))
    settled = corpus.settle(corpus.Options(tokenizer="auto", case="auto"), before)
    assert settled.options.tokenizer == "none" and settled.options.case == "keep"
    assert settled.text["tokenizers"] == ["jieba", "moses"] and settled.text["normalise"] == "nfkc"
    assert settled.text["languages"] == ["zh", "en"] and settled.text["bars"] == "escape"
