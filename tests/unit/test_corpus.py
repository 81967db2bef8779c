from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman import corpus, registry
from dragoman.errors import InputError, OptionError

Cli = Callable[..., tuple[int, str, str]]


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def text(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_a_little_of_everything(cli: Cli, tmp_path: Path) -> None:
    source = ["Das  Haus", "", "wort " * 10_000, "a|b ||| c", "Das Haus", "x\x01y", "nein", "Prüf ung .", "gut"]
    target = ["the house", "x", "word", "d", "the house", "z", "no " * 10, "trial", "A Test!"]
    s, t = write(tmp_path / "s", source), write(tmp_path / "t", target)
    x, y = write(tmp_path / "x", ["prüfung."]), write(tmp_path / "y", ["a test !", ""])
    out = ["--out-src", tmp_path / "os.gz", "--out-tgt", tmp_path / "ot", "--report", tmp_path / "r.json"]
    code, shown, _ = cli("clean", "--src", s, "--tgt", t, *out, "--exclude", x, y)
    assert code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    dropped = {"empty": 1, "overlap": 2, "long": 1, "ratio": 1, "duplicate": 1}
    assert (report["read"], report["kept"], report["dropped"]) == (9, 3, dropped)
    assert (report["invisible"], report["escaped"]) == (1, 1)
    assert report["places"]["overlap"] == [f"{s}:8", f"{s}:9"] and report["places"]["duplicate"] == [f"{s}:5"]
    with gzip.open(tmp_path / "os.gz", "rt", encoding="utf-8") as lines:
        assert lines.read() == "Das Haus\na&#124;b &#124;&#124;&#124; c\nxy\n"
    assert text(tmp_path / "ot") == ["the house", "d", "z"]
    rows = [line.split() for line in shown.splitlines()]
    assert rows[1][:2] == ["read", "9"] and ["duplicate", "1", "11.11%", f"{s}:5"] in rows
    code, shown, _ = cli("clean", "--src", s, "--tgt", t, *out, "--exclude", x, y, "--json")
    assert json.loads(shown) == report


def test_several_inputs_of_all_forms(tmp_path: Path) -> None:
    write(tmp_path / "a.de", ["eins"])
    write(tmp_path / "a.en", ["one"])
    with gzip.open(tmp_path / "b.tsv.gz", "wt", encoding="utf-8") as out:
        out.write("0.5\tzwei\ttwo\n")
    write(tmp_path / "c.jsonl", ['{"de": "drei", "en": "three"}'])
    tmx = "<tmx><body><tu><tuv xml:lang='EN'><seg>f&lt;our</seg></tuv><tuv xml:lang='de-AT'><seg>vier</seg></tuv></tu>"
    tmx += "<tu><tuv xml:lang='de'><seg>fehlt</seg></tuv></tu></body></tmx>"
    write(tmp_path / "d.tmx", [tmx])
    inputs: list[corpus.Files | corpus.Bitext] = [
        corpus.Files(tmp_path / "a.de", tmp_path / "a.en"),
        corpus.Bitext(tmp_path / "b.tsv.gz", ("2", "3")),
        corpus.Bitext(tmp_path / "c.jsonl"),
        corpus.Bitext(tmp_path / "d.tmx"),
    ]
    options = corpus.Options(languages=("de", "en"))
    seen: list[int] = []
    report = corpus.clean(inputs, (tmp_path / "s", tmp_path / "t"), options, progress=seen.append)
    assert text(tmp_path / "s") == ["eins", "zwei", "drei", "vier"]
    assert text(tmp_path / "t") == ["one", "two", "three", "f<our"]
    assert report.dropped == {"missing": 1} and report.places == {"missing": [f"{tmp_path / 'd.tmx'}:2"]}
    assert sum(seen) == 4


def test_bad_input(cli: Cli, tmp_path: Path) -> None:
    two, three = write(tmp_path / "two", ["a"] * 2), write(tmp_path / "three", ["b"] * 3)
    out = ["--out-src", tmp_path / "os", "--out-tgt", tmp_path / "ot"]
    code, _, err = cli("clean", "--src", two, "--tgt", three, *out)
    assert code == 1 and f"three:3: expected 2 lines as in {two}, found 3" in err
    (tmp_path / "bad").write_bytes(b"ok\n\xff\n")
    code, _, err = cli("clean", "--src", two, "--tgt", tmp_path / "bad", *out)
    assert code == 1 and "bad:2: expected UTF-8 text, found an invalid byte 0xff at column 1" in err
    code, shown, _ = cli("clean", "--src", two, "--tgt", tmp_path / "bad", *out, "--invalid", "skip", "--json")
    assert json.loads(shown)["dropped"] == {"invalid": 1}
    lol = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><l>&b;</l>'
    for name, content, message in [
        ("e.tmx", lol, "e.tmx:1: expected a document without definitions of its own"),
        ("f.jsonl", '{"de": "x", "en": 3}', "f.jsonl:1: expected a string in the field en"),
        ("g.tsv", "only", "g.tsv:1: expected at least 2 columns"),
    ]:
        path = write(tmp_path / name, [content])
        (tmp_path / "os").unlink(missing_ok=True)
        code, _, err = cli("clean", "--bitext", path, "--languages", "de", "en", *out)
        assert code == 1 and message in err
        assert not (tmp_path / "os").exists() and not list(tmp_path.glob(".*partial")), "nothing is left behind"


def test_wrong_options(cli: Cli, tmp_path: Path) -> None:
    a = write(tmp_path / "a", ["x"])
    out = ["--out-src", tmp_path / "os", "--out-tgt", tmp_path / "ot"]
    for arguments, message in [
        (["--src", a], "a --tgt file for each --src file"),
        ([], "expected --bitext, or --src and --tgt"),
        (["--bitext", a], "a: expected TMX, XLIFF, JSONL or TSV, found plain text; name two files"),
        (["--bitext", tmp_path / "x.tmx"], "x.tmx: no such file"),
        (["--src", a, "--tgt", a, "--tokenizer", "moses", "moses", "none"], "tokenizer must be "),
        (["--src", a, "--tgt", a, "--tokenizer", "spacy"], "unknown tokenizer `spacy`; known: char, fugashi, "),
        (["--src", a, "--tgt", a, "--factored", "--tokenizer", "moses"], "factored text is tokenised already"),
        (["--src", a, "--tgt", a, "--truecaser-src", a], "with --case truecase only"),
        (["--src", a, "--tgt", a, "--max-words", "1", "--min-words", "2"], "max_words must be at least min_words, 2"),
    ]:
        code, _, err = cli("clean", *arguments, *out)
        assert code == 1 and message in err, arguments
    for more, message in [
        (["--max-words", "0"], "expected a whole number of at least 1, found 0"),
        (["--max-ratio", "0.5"], "expected a number of at least 1, found 0.5"),
        (["--ratio", "3"], "--ratio is called --max-ratio now"),
    ]:
        code, _, err = cli("clean", *more, *out)
        assert code == 2 and message in err, more
    with pytest.raises(OptionError, match="case must be one of auto, keep, lower, truecase"):
        corpus.Options(case="upper")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="at least one bitext"):
        corpus.clean([], (tmp_path / "a", tmp_path / "b"))


def test_factors_pass_through(tmp_path: Path) -> None:
    s = write(tmp_path / "s", ["Das|DET Haus|NN", "ein|DET Haus", "A|B"])
    t = write(tmp_path / "t", ["The|DT HOUSE|NN", "a|b c|d", "||| |||"])
    report = corpus.clean(
        [corpus.Files(s, t)], (tmp_path / "s2", tmp_path / "t2"), corpus.Options(factored=True, case="lower")
    )
    assert text(tmp_path / "s2") == ["das|DET haus|NN"] and text(tmp_path / "t2") == ["the|DT house|NN"]
    assert report.dropped == {"factors": 2}


def test_truecase_while_cleaning(cli: Cli, tmp_path: Path) -> None:
    s = write(tmp_path / "s", ["Das ist das Haus .", "Haus und das Boot", "Zug"])
    models = ["--truecaser-src", tmp_path / "ms", "--truecaser-tgt", tmp_path / "mt"]
    out = ["--out-src", tmp_path / "s2", "--out-tgt", tmp_path / "t2.gz"]
    code, _, _ = cli("clean", "--src", s, "--tgt", s, *out, *models, "--case", "truecase")
    assert code == 0 and text(tmp_path / "s2") == ["das ist das Haus .", "Haus und das Boot", "Zug"]
    assert corpus.Truecaser.load(tmp_path / "ms")["HAUS"] == "Haus"
    made = ["ms", "mt", "s", "s2", "s2.prep.toml", "t2.gz", "t2.gz.prep.toml"]
    assert sorted(p.name for p in tmp_path.iterdir()) == made


def test_truecase_commands(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = write(tmp_path / "s", ["Das ist das Haus .", "Wo ist das Haus ?"])
    assert cli("truecase", "train", "--text", s, "--model", tmp_path / "m")[0] == 0
    assert text(tmp_path / "m") == ["das (2/2)", "Haus (2/2)", "ist (2/2)"]

    def run(stdin: str, *arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode("utf-8", "surrogateescape"))))
        return cli(*arguments)

    assert run("Das haus ist Neu\n", "truecase", "apply", "--model", tmp_path / "m")[1] == "das Haus ist Neu\n"
    assert run("das ist . es\n\n", "truecase", "undo")[1] == "Das ist . Es\n\n"
    code, _, err = run("a\n\udcff\n", "truecase", "undo")
    assert code == 1 and "-:2: expected UTF-8 text, found an invalid byte 0xff at column 1" in err
    assert run("a  b|\n", "tokenize", "--tokenizer", "char")[1] == "a ▁ b |\n"
    assert run("a ▁ b &#124;\n", "detokenize", "--tokenizer", "char")[1] == "a b|\n"
    (tmp_path / "m").write_text("das\n")
    with pytest.raises(InputError, match="m:1: expected forms and their counts"):
        corpus.Truecaser.load(tmp_path / "m")


def test_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sacremoses")
    line = "Dr. Smith said: \"It's 5 o'clock & <ok>.\""
    split = corpus.tokenize([line, ""], "en")
    assert split == ["Dr. Smith said : \" It 's 5 o 'clock & < ok > . \"", ""]
    assert corpus.detokenize(["It 's ( really ) 5 , ok ?", "", "a &#124; b"], "en") == [
        "It's (really) 5, ok?",
        "",
        "a | b",
    ]
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(OptionError, match="the tokeniser moses needs a package: pip install sacremoses"):
        corpus.tokenize(["a"], "en")
    for name, package in (("jieba", "rjieba"), ("fugashi", "fugashi")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(OptionError, match=f"the tokeniser {name} needs a package: pip install '?{package}"):
            corpus.tokenize(["a"], tokenizer=name)


def test_plug_in_tokenizers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", SimpleNamespace(cut=lambda line: [line[:2], " ", line[2:]]))
    assert corpus.tokenize(["我们学习"], "zh", "jieba") == ["我们 学习"]
    assert corpus.detokenize(["我们 学习 deep learning 。"], "zh", "jieba") == ["我们学习deep learning。"]

    class Tagger:
        def __init__(self, options: str) -> None:
            assert options == "-Owakati"

        def parse(self, line: str) -> str:
            return " ".join(line)

    monkeypatch.setitem(sys.modules, "fugashi", SimpleNamespace(Tagger=Tagger))
    assert corpus.tokenize(["日本"], "ja", "fugashi") == ["日 本"]

    class Shout:
        def __init__(self, language: str) -> None:
            self.language = language

        def tokenize(self, lines: Sequence[str]) -> list[str]:
            return [f"{line} {self.language}!" for line in lines]

        def detokenize(self, lines: Sequence[str]) -> list[str]:
            return list(lines)

    monkeypatch.setitem(registry.TABLE["tokenizer"], "shout", Shout)
    s = write(tmp_path / "s", ["a", "b"])
    options = corpus.Options(tokenizer=("shout", "none"), languages=("de", "en"))
    corpus.clean([corpus.Files(s, s)], (tmp_path / "o", tmp_path / "p"), options)
    assert text(tmp_path / "o") == ["a de!", "b de!"] and text(tmp_path / "p") == ["a", "b"]

    class Lost(Shout):
        def tokenize(self, lines: Sequence[str]) -> list[str]:
            return list(lines)[1:]

    entry: Any = SimpleNamespace(name="lost", load=lambda: Lost)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "dragoman.tokenizers" else [])
    with pytest.raises(OptionError, match="expected 2 lines from the tokeniser as were given to it, found 1"):
        corpus.clean([corpus.Files(s, s)], (tmp_path / "q", tmp_path / "r"), corpus.Options(tokenizer=("lost", "none")))
    assert not (tmp_path / "q").exists()
