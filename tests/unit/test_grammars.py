"""Grammars in and out as text, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman import grammars, moses, rules
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError

CDEC = """\
[X] ||| [X,1] hat [X,2] gesehen ||| [X,1] saw [X,2] ||| EgivenFCoherent=0.301 CountEF=0.5 ||| 1-1 3-1
[X] ||| [X,2] und [X,1] ||| [X,2] and [X,1] ||| CountEF=1.25 ||| 1-1
[X] ||| Haus ||| house ||| EgivenFCoherent=-1e-3
"""
MOSES = """\
[X][X] hat [X][X] gesehen [X] ||| [X][X] saw [X][X] [X] ||| 0.5 0.25 ||| 0-0 1-1 2-2 3-1 ||| 2 4 1 ||| |||
[X][X] und [X][X] [X] ||| [X][X] and [X][X] [X] ||| 1 0.5 ||| 2-0 1-1 0-2
Haus [X] ||| house [X] ||| 1 1 ||| 0-0
"""


def table(folder: Path, text: str, name: str = "grammar.gz", **options: object) -> rules.Table:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    rules.import_moses(path, folder / "rules", **options)  # type: ignore[arg-type]
    return rules.Table(folder / "rules")


def test_a_grammar_of_cdec(tmp_path: Path) -> None:
    opened = table(tmp_path, CDEC)
    assert opened.columns == ("EgivenFCoherent", "CountEF")
    assert opened.meta["system"] == "hiero"
    [rule] = opened.lookup("[X,1] hat [X,2] gesehen")
    assert (rule.target, rule.links) == ("[X,1] saw [X,2]", [(1, 1), (3, 1)])
    assert rule.scores == pytest.approx([0.301, 0.5])
    [rule] = opened.lookup("[X,1] und [X,2]")
    assert rule.target == "[X,1] and [X,2]", "gaps are counted from left to right"
    assert rule.scores == pytest.approx([0.0, 1.25])
    assert opened.lookup("Haus")[0].scores == pytest.approx([-1e-3, 0.0])
    assert table(tmp_path, CDEC, columns=["CountEF"]).columns == ("CountEF",)
    with pytest.raises(OptionError, match="has no score `LM`; it has EgivenFCoherent, CountEF"):
        table(tmp_path, CDEC, columns=["LM"])


def test_a_grammar_of_cdec_again(tmp_path: Path) -> None:
    opened = table(tmp_path, CDEC)
    opened.export(tmp_path / "out", cdec=True)
    lines = (tmp_path / "out").read_text()
    assert (
        "[X] ||| [X,1] hat [X,2] gesehen ||| [X,1] saw [X,2] ||| EgivenFCoherent=0.301 CountEF=0.5 ||| 1-1 3-1\n"
        in lines
    )
    first = (tmp_path / "rules").read_bytes()
    rules.import_moses(tmp_path / "out", tmp_path / "rules")
    again = rules.Table(tmp_path / "rules")
    for source in ("[X,1] hat [X,2] gesehen", "[X,1] und [X,2]", "Haus"):
        assert again.lookup(source) == opened.lookup(source)
    assert first


INI = """\
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=2 path=grammar.gz
[weight]
UnknownWordPenalty0= 1
WordPenalty0= 0
TM= -0.5 0.25
"""


def test_a_grammar_of_cdec_decodes(tmp_path: Path) -> None:
    (tmp_path / "grammar.gz").write_bytes(gzip.compress(CDEC.encode()))
    (tmp_path / "moses.ini").write_text(INI)
    model = moses.convert(tmp_path / "moses.ini", tmp_path / "model")
    assert model.system == "hiero"
    assert dict(model.weights.to_dict()).items() >= {"EgivenFCoherent": -0.5, "CountEF": 0.25}.items()
    found = Decoder(model).nbest(["Haus hat Haus und Haus gesehen"], 1)
    assert found.texts[0] == "house saw house and house"
    assert found.totals is not None
    assert found.totals[0] == pytest.approx(-0.5 * (0.301 - 3e-3) + 0.25 * (0.5 + 1.25))


def test_weights_of_a_grammar_are_counted(tmp_path: Path) -> None:
    (tmp_path / "grammar.gz").write_bytes(gzip.compress(CDEC.encode()))
    (tmp_path / "moses.ini").write_text(INI.replace("=2", "=1").replace(" 0.25", ""))
    with pytest.raises(
        InputError, match="expected num-features=2 and weights of EgivenFCoherent CountEF, in this order"
    ):
        moses.convert(tmp_path / "moses.ini", tmp_path / "model")


def test_a_table_of_moses(tmp_path: Path) -> None:
    opened = table(tmp_path, MOSES)
    [rule] = opened.lookup("[X,1] und [X,2]")
    assert (rule.target, rule.links) == ("[X,2] and [X,1]", [(1, 1)])
    opened.export(tmp_path / "out.gz")
    text = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode()
    assert "[X][X] und [X][X] [X] ||| [X][X] and [X][X] [X] ||| 1 0.5 ||| 0-2 1-1 2-0 ||| ||| |||\n" in text
    assert table(tmp_path, text).lookup("[X,1] und [X,2]") == [rule]


def test_brackets_may_be_words(tmp_path: Path) -> None:
    text = "[Beifall] ||| [Applause] ||| 1 1 1 1 ||| 0-0\n"
    with pytest.raises(InputError, match=r"label X only .*found `\[Beifall\]`"):
        table(tmp_path, text, "pt")
    opened = table(tmp_path, text, "pt", phrases=True)
    assert opened.lookup("[Beifall]")[0].target == "[Applause]"
    assert "system" not in opened.meta


def test_a_phrase_table_as_a_grammar(tmp_path: Path) -> None:
    opened = table(tmp_path, "ein Haus ||| a house ||| 1 0.5 1 1 ||| 0-0 1-1\n", "pt")
    opened.export(tmp_path / "out", cdec=True)
    assert (tmp_path / "out").read_text().startswith("[X] ||| ein Haus ||| a house ||| p(f|e)=0 lex(f|e)=-0.69")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[X] ||| [X,1] a [X,2] b [X,3] ||| [X,1] [X,2] [X,3] c ||| F=1", "at most 2 gaps in a rule"),
        ("[X] ||| [X,1] a ||| b ||| F=1", "every gap paired with one of the other side"),
        ("[X] ||| a ||| [X,1] b ||| F=1", "every gap paired with one of the other side"),
        ("[X] ||| [X,1] a [X,2] ||| [X,1] b [X,1] ||| F=1", "every gap paired with one of the other side"),
        ("[X] ||| [X,1] a [X,1] ||| [X,1] b ||| F=1", "every gap paired with one of the other side"),
        ("[X] ||| [X,1] [X,2] ||| [X,1] [X,2] ||| F=1", "a word on both sides of a rule"),
        ("[X] ||| [X,1] a ||| [X,1] ||| F=1", "a word on both sides of a rule"),
        ("[X] ||| [X,0] a ||| [X,0] b ||| F=1", r"gaps \[X,1\] and \[X,2\]"),
        ("[X] ||| [NP,1] a ||| [NP,1] b ||| F=1", "rules of the label X only"),
        ("[S] ||| [S,1] [X,2] ||| [S,1] [X,2] ||| Glue=1", "rules of the label X only"),
        ("[X] ||| a ||| b ||| F", "scores name=number, found `F`"),
        ("[X] ||| a ||| b ||| F=nan", "scores name=number, found `F=nan`"),
        ("[X] ||| a ||| b ||| F=1 ||| 0-1", "links within 1 and 1 symbols, found `0-1`"),
        ("[X] ||| a ||| b", r"\[X\] \|\|\| source"),
        ("[X] ||| ||| b ||| F=1", "a word on both sides"),
        ("[X] ||| a\x01b ||| b ||| F=1", "symbols without control characters"),
    ],
)
def test_bad_lines_of_cdec(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        table(tmp_path, f"[X] ||| a ||| b ||| F=1\n{line}\n", "g")
    assert error.value.line == 2 and str(error.value.path).endswith("g")
    assert not (tmp_path / "rules").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[X][X] a [X][X] b [X][X] [X] ||| [X][X] [X][X] c [X][X] [X] ||| 1 ||| 0-0 2-1 4-3", "at most 2 gaps"),
        ("[X][X] a [X] ||| [X][X] b [X] ||| 1 ||| 1-1", "every gap paired"),
        ("[X][X] a [X] ||| b [X] ||| 1 ||| 1-0", "every gap paired"),
        ("[X][X] a [X] ||| [X][X] b [X] ||| 1 ||| 0-0 0-1", "every gap paired"),
        ("[X][X] a [X][X] [X] ||| [X][X] b [X][X] [X] ||| 1 ||| 0-0 0-2 1-1", "every gap paired"),
        ("[X][X] [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 ||| 0-0 1-1", "a word on both sides of a rule"),
        ("[X][NP] a [X] ||| [X][NP] b [X] ||| 1 ||| 0-0", "rules of the label X only"),
        ("<s> [X] ||| <s> [S] ||| 1 ||| 0-0", "rules of the label X only"),
        ("a [X] ||| b ||| 1", r"source \[X\] \|\|\| target \[X\]"),
        ("a [X] ||| b [X] ||| 1 2", "1 scores, as before"),
    ],
)
def test_bad_lines_of_moses(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        table(tmp_path, f"a [X] ||| b [X] ||| 1\n{line}\n", "t")
    assert error.value.line == 2


def test_gaps_and_reordering(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a ||| b ||| 1 1 1 1 1 1\n")
    with pytest.raises(OptionError, match="rules with gaps have no reordering tables"):
        table(tmp_path, MOSES, reordering={"hier": tmp_path / "r"})


def test_a_pair_that_is_wrong() -> None:
    with pytest.raises(InputError, match="links between 1 source and 1 target words"):
        grammars.of_sentence("a", "b", "0-1")
