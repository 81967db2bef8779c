"""Bitext as people have it: any form, any name, any code of a language; nothing else is trained on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from dragoman import bitext, corpus
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.model import Model
from dragoman.training import train

Cli = Callable[..., tuple[int, str, str]]
PAIRS = [("Imba huru.", "The house is big."), ("Imbwa huru.", "The dog is big."), ("Imba diki.", "The house is small.")]


def tmx(
    languages: tuple[str, ...] = ("sn-ZW", "en"), srclang: str = "*all*", pairs: list[tuple[str, str]] = PAIRS
) -> str:
    def variant(pair: tuple[str, str], at: int) -> str:
        return f'<tuv xml:lang="{languages[at]}"><seg>{escape(pair[at % 2])}</seg></tuv>'

    units = "".join(f"<tu>{''.join(variant(pair, at) for at in range(len(languages)))}</tu>\n" for pair in pairs)
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="{srclang}"/><body>{units}</body></tmx>\n'


def xliff(version: str) -> str:
    if version == "1.2":
        units = "".join(f"<trans-unit id='u'><source>{s}</source><target>{t}</target></trans-unit>" for s, t in PAIRS)
        head = "<file source-language='sn' target-language='en-GB'><body>"
        return f"<xliff version='1.2'>{head}{units}</body></file></xliff>"
    units = "".join(f"<segment><source>{s}</source><target>{t}</target></segment>" for s, t in PAIRS)
    return f"<xliff version='2.0' srcLang='sna' trgLang='en'><file id='f'><unit id='1'>{units}</unit></file></xliff>"


def jsonl(source: str = "sn", target: str = "en") -> str:
    return "".join(json.dumps({"id": 7, source: s, target: t}) + "\n" for s, t in PAIRS)


def cleaned(cli: Cli, folder: Path, *arguments: str | Path) -> list[tuple[str, str]]:
    code, _, err = cli("clean", *arguments, "--out-src", folder / "os", "--out-tgt", folder / "ot")
    assert code == 0, err
    sides = [(folder / name).read_text().splitlines() for name in ("os", "ot")]
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize("name", ["a", "a.txt", "a.tmx", "a.gz"])
@pytest.mark.parametrize(
    "content",
    [
        tmx(), xliff("1.2"), xliff("2.0"), jsonl(), jsonl("sna", "eng"), jsonl("source", "target"),
        "".join(json.dumps({"translation": {"sn": s, "en": t}}) + "\n" for s, t in PAIRS),
        "".join(f"{s}\t{t}\n" for s, t in PAIRS),
    ],
    ids=["tmx", "xliff1", "xliff2", "jsonl", "jsonl-long", "jsonl-sides", "jsonl-inside", "tsv"],
)  # fmt: skip
def test_forms_are_known_by_content(cli: Cli, tmp_path: Path, name: str, content: str) -> None:
    raw = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    assert cleaned(cli, tmp_path, "--bitext", tmp_path / name, "--languages", "sna", "en") == PAIRS


def test_several_at_once_and_utf_16(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(tmx(), encoding="utf-16")
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"Rega.\tLook.\n"))
    (tmp_path / "c.sn").write_text("Mvura.\n")
    (tmp_path / "c.en").write_text("Water.\n")
    files: list[str | Path] = ["--src", tmp_path / "c.sn", "--tgt", tmp_path / "c.en"]
    found = cleaned(cli, tmp_path, *files, "--bitext", tmp_path / "a.tmx", tmp_path / "b.tsv.gz")
    assert found == [("Mvura.", "Water."), *PAIRS, ("Rega.", "Look.")]


@pytest.mark.parametrize("asked", ["sn", "sna", "SN", "sn-ZW", "sn_zw", "sna-Latn"])
@pytest.mark.parametrize("there", ["sn", "sna", "sn-ZW", "SN_ZW"])
def test_languages_as_people_mean_them(asked: str, there: str, tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(tmx((there, "EN-us")))
    found = bitext.resolve([bitext.Bitext(tmp_path / "a.tmx")], (asked, "eng"))
    assert [side.to_list() for side in found.sample(9)] == [list(side) for side in zip(*PAIRS, strict=True)]


def test_nothing_that_fits_lists_what_is_there(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(tmx())
    for command in (
        ["clean", "--out-src", tmp_path / "os", "--out-tgt", tmp_path / "ot"],
        ["train", "--out", tmp_path / "m"],
    ):
        code, _, err = cli(*command, "--bitext", tmp_path / "a.tmx", "--languages", "zu", "en")
        assert code == 1 and "no sentence pair is left after cleaning; dropped: 3 missing" in err
        assert "languages asked for: zu en; found: " in err and "a.tmx has sn-ZW (3), en (3)" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tmx"]


@pytest.mark.parametrize(
    ("languages", "srclang", "want"),
    [
        (("sn-ZW", "en"), "*all*", ("sn", "en")),
        (("sn-ZW", "en"), "en", ("en", "sn")),
        (("en-US", "sna", "en-GB"), "sn", ("sn", "en")),
    ],
)
def test_two_languages_need_no_option(
    cli: Cli, tmp_path: Path, languages: tuple[str, ...], srclang: str, want: tuple[str, str]
) -> None:
    (tmp_path / "a.tmx").write_text(tmx(languages, srclang))
    assert bitext.resolve([bitext.Bitext(tmp_path / "a.tmx")]).languages == want
    code, _, err = cli(
        "clean", "--bitext", tmp_path / "a.tmx", "--out-src", tmp_path / "o", "--out-tgt", tmp_path / "p"
    )
    assert code == 0 and f"a.tmx: from {want[0]} to {want[1]}; --languages says otherwise" in err


def test_three_languages_must_be_chosen_from(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(tmx(("sn", "en", "zu")))
    with pytest.raises(OptionError, match=r"a\.tmx: name its languages.*found: sn \(3\), en \(3\), zu \(3\)"):
        bitext.resolve([bitext.Bitext(tmp_path / "a.tmx")])
    found = bitext.resolve([bitext.Bitext(tmp_path / "a.tmx")], ("zu", "en"))
    assert found.sample(1)[0].to_list() == [PAIRS[0][0]]


def test_moses_corpora_by_prefix(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "corpus.sn.gz").write_bytes(gzip.compress("".join(f"{s}\n" for s, _ in PAIRS).encode()))
    (tmp_path / "corpus.en").write_text("".join(f"{t}\n" for _, t in PAIRS))
    (tmp_path / "corpus.old.en").write_text("x\n")
    assert cleaned(cli, tmp_path, "--bitext", tmp_path / "corpus", "--languages", "sna", "en") == PAIRS
    for languages, message in [(["zu", "en"], "no file"), ([], "name their languages: --languages de en")]:
        given = ["--languages", *languages] if languages else []
        code, _, err = cli("clean", "--bitext", tmp_path / "corpus", *given, "--out-src", "-", "--out-tgt", "-")
        assert code == 1 and message in err and "corpus.en, corpus.sn.gz" in err
    code, _, err = cli("clean", "--bitext", tmp_path / "corpse", "--out-src", "-", "--out-tgt", "-")
    assert code == 1 and "corpse: no such file" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tmx().encode(), "found XML; read a file with both sides with --bitext"),
        (xliff("2.0").encode(), "found XML; read a file with both sides with --bitext"),
        (jsonl().encode(), "found JSON; read a file with both sides with --bitext"),
        (b"PK\x03\x04 a document", "expected plain text in UTF-8"),
        ("Imba huru. Imbwa".encode("utf-16-le"), "expected plain text in UTF-8"),
    ],
    ids=["tmx", "xliff", "json", "zip", "utf16"],
)
@pytest.mark.parametrize("command", ["clean", "train"])
def test_only_text_is_trained_on_as_text(cli: Cli, tmp_path: Path, content: bytes, message: str, command: str) -> None:
    (tmp_path / "x.tmx").write_bytes(content)
    out = (
        ["--out-src", tmp_path / "o", "--out-tgt", tmp_path / "p"] if command == "clean" else ["--out", tmp_path / "m"]
    )
    code, _, err = cli(command, "--src", tmp_path / "x.tmx", "--tgt", tmp_path / "x.tmx", *out)
    assert code == 1 and message in err and len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.tmx"]


@pytest.mark.parametrize("content", [b"", b"<?xml version='1.0'?><html/>", b"%PDF-1.4", b"one side\n"])
def test_files_that_are_no_bitext(cli: Cli, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    code, _, err = cli("train", "--bitext", tmp_path / "x", "--out", tmp_path / "m")
    assert code == 1 and "x:" in err and "expected" in err


def test_a_model_from_a_memory_alone(cli: Cli, tmp_path: Path) -> None:
    """Tokenised, truecased and in both languages as an expert would have it."""
    verbs = [("anoona", "sees"), ("anoziva", "knows"), ("anotsvaga", "seeks")]
    nouns = [("imbwa", "dog"), ("murume", "man"), ("shiri", "bird"), ("muti", "tree")]
    pairs = [
        (f"{a.capitalize()} {v} “{b}”.", f"The {x} {w} the “{y}”.")
        for a, x in nouns
        for v, w in verbs
        for b, y in nouns
    ]
    (tmp_path / "memory.tmx").write_text(tmx(pairs=pairs))
    code, _, err = cli(
        "train", "--bitext", tmp_path / "memory.tmx", "--out", tmp_path / "m", "--classes", 2, "--order", 3
    )
    assert code == 0 and "from sn to en" in err and "warning" not in err, err
    text = Model.open(tmp_path / "m").text
    assert text["tokenizers"] == ["unicode", "unicode"] and (text["case"], text["normalise"]) == ("truecase", "nfc")
    decoder = Decoder(tmp_path / "m")
    assert decoder.text.before(["Imbwa anoona “shiri”."]) == ["imbwa anoona “ shiri ” ."]
    plain = decoder.text.after(decoder.translate(decoder.text.before(["Shiri anoziva “muti”."])))
    assert plain == ["The bird knows the “tree”."]
    again = train(tmp_path / "memory.tmx", out=tmp_path / "m", classes=(2,), order=3)
    assert all(step.reused for step in again.steps)
    several = train(bitext=[tmp_path / "memory.tmx"], out=tmp_path / "n", languages=("sn", "en"), classes=(2,), order=3)
    assert several.model.signature == again.model.signature


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="name the folder of the model"):
        train("a.tmx")
    with pytest.raises(InputError, match=r"a\.tmx: no such file"):
        train("a.tmx", out=tmp_path / "m")
    with pytest.raises(OptionError, match="at least one bitext"):
        train(out=tmp_path / "m")
    with pytest.raises(OptionError, match="auto is for training"):
        corpus.clean([corpus.Files("a", "b")], ("c", "d"), tokenizer="auto")
