"""`dragoman.rules` and `dragoman rules`: bad input, figures, tables that are damaged."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny

from dragoman import rules
from dragoman.errors import InputError, OptionError

Cli = Callable[..., tuple[int, str, str]]
Files = Callable[..., tuple[Path, Path, Path, Path]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Writes source, target and links; gives these and a fourth name for the table."""

    def write(source: str, target: str, links: str) -> tuple[Path, Path, Path, Path]:
        for name, text in (("f", source), ("e", target), ("a", links)):
            (tmp_path / name).write_text(text)
        return tmp_path / "f", tmp_path / "e", tmp_path / "a", tmp_path / "out"

    return write


HOUSE = ("das Haus\ndas Buch\n", "the house\nthe book\n", "0-0 1-1\n1-1 0-0\n")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("a\n", "x\ny\n", "0-0\n"), "f:2: expected as many lines as in .*e, found the end of the file"),
        (("a\na\n", "x\n", "0-0\n0-0\n"), "e:2: expected as many lines as in .*f, found the end"),
        (("a\nb\n", "x\ny\n", "0-0\n"), "a:2: expected as many lines as in .*f, found the end"),
        (("a\n", "x\n", "0-0\n0-0\n"), "f:2: expected as many lines"),
        (("a\nb\n", "x\ny\n", "0-0\n0-1\n"), "a:2: expected links between 1 source and 1 target words.*found `0-1`"),
        (("a\n", "x\n", "0:0\n"), "a:1: expected links `i-j` of whole numbers, counted from 0, found `0:0`"),
        (("a\n", "x\n", "+0-0\n"), "a:1: expected links"),
        (("a\n", "x\n", "0-99999999999\n"), "a:1: expected links"),
    ],
)
def test_bad_input_names_the_line(files: Files, texts: tuple[str, str, str], message: str) -> None:
    paths = files(*texts)
    with pytest.raises(InputError, match=message):
        rules.extract(*paths)
    assert not paths[3].exists()
    assert {path.name for path in paths[0].parent.iterdir()} == {"f", "e", "a"}, "nothing is left behind"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_phrase_length": 0}, "max_phrase_length must be a whole number from 1 to 15"),
        ({"max_phrase_length": 16}, "from 1 to 15"),
        ({"memory": "1K"}, "at least 1M"),
        ({"memory": "lots"}, "such as 512M"),
        ({"reordering": ["msd"]}, "one of wbe, phrase, hier"),
        ({"reordering": ["hier", "hier"]}, "twice"),
        ({"alpha": 0.0}, "alpha must be a number above 0"),
        ({"add": math.nan}, "add must be a number above 0, or null, found nan"),
        ({"significance": "b"}, "one of a\\+e, a-e or a number"),
        ({"significance": -1}, "at least 0"),
        ({"smoothing": "laplace"}, "kneser-ney"),
        ({"smoothing": "kneser-ney"}, "too few rules"),
        ({"top": -1}, "top must be a whole number of at least 0"),
    ],
)
def test_options_are_checked(files: Files, options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        rules.extract(*files(*HOUSE), **options)  # type: ignore[arg-type]


def test_a_table_cannot_be_packed(files: Files) -> None:
    source, target, links, _ = files(*HOUSE)
    with pytest.raises(OptionError, match=r"without \.gz"):
        rules.extract(source, target, links, "rules.gz")


def test_odd_pairs_are_skipped_and_counted(files: Files, cli: Cli) -> None:
    long = " ".join(["w"] * 10_000)
    source = f"a b\n\nc\n{long}\na ||| b\na | b\nd\n"
    target = "x y\nz\n \nx\nx\nx y z\nx\n"
    paths = files(source, target, "0-0 1-1\n\n\n9999-0\n0-0\n1-1\n\n")
    report = rules.extract(*paths)
    assert (report.pairs, report.empty, report.long, report.bars, report.unaligned) == (7, 2, 1, 1, 1)
    assert {rule.target for rule in rules.Table(paths[3]).lookup("|")} == {"y", "x y", "y z", "x y z"}
    assert rules.Table(paths[3]).lookup("d") == []
    names = ("--src", "--tgt", "--alignments", "--out")
    arguments = [word for pair in zip(names, paths, strict=True) for word in pair]
    code, out, err = cli("rules", "extract", *arguments, "--json")
    assert code == 0
    assert json.loads(out)["bars"] == 1
    assert "2 of 7 sentence pairs skipped: a side is empty" in err
    assert "1 of 7 sentence pairs skipped: more words than --max-words" in err
    assert "1 of 7 sentence pairs skipped: they have the word `|||`" in err
    assert "1 of 7 sentence pairs have no links" in err
    assert rules.extract(*paths, max_words=10_000).long == 0


def test_only_blanks_and_tabs_separate_words(files: Files) -> None:
    paths = files("10\u00a0000\tMann |\n", "10,000 men\u2003x\n", "0-0 1-1\n")
    rules.extract(*paths)
    table = rules.Table(paths[3])
    assert [rule.target for rule in table.lookup("10\u00a0000 Mann")] == ["10,000 men\u2003x"]
    assert table.lookup("10 000 Mann") == []


def test_no_rules_at_all(files: Files) -> None:
    paths = files("a\n", "x\n", "\n")
    assert rules.extract(*paths).rules == 0
    table = rules.Table(paths[3])
    assert (len(table), table.longest_source, table.lookup("a"), table.lookup("")) == (0, 0, [], [])


def test_command_line_round_trip(files: Files, cli: Cli, tmp_path: Path) -> None:
    paths = files(*HOUSE)
    names = ("--src", "--tgt", "--alignments", "--out")
    arguments = [word for pair in zip(names, paths, strict=True) for word in pair]
    assert cli("rules", "extract", *arguments, "--reordering", "wbe", "hier")[0] == 0
    code, out, _ = cli("rules", "show", paths[3], "das")
    assert code == 0
    head, first = out.splitlines()
    assert head.split()[:3] == ["target", "links", "p(f|e)"]
    assert first.split()[:8] == ["the", "0-0", "1", "1", "1", "1", "0.6931", "0"], "the log count is ln 2"
    code, out, _ = cli("rules", "show", paths[3], "das", "Haus", "--json")
    assert [rule["target"] for rule in json.loads(out)] == ["the house"]
    assert cli("rules", "show", paths[3], "die")[2] == "dragoman: warning: no rules for `die`\n"
    assert cli("rules", "show", paths[3], "das", "--sort", "x")[0] == 2
    pt, ro = tmp_path / "pt.gz", tmp_path / "reordering-table.hier-x.gz"
    assert cli("rules", "export", paths[3], "--rules", pt, "--reordering", ro)[0] == 0
    assert cli("rules", "export", paths[3])[0] == 2
    code, out, err = cli("rules", "import", pt, "--reordering", ro, "--out", tmp_path / "b")
    assert (code, err) == (0, "")
    assert "hier.next.D" in out
    code, out, _ = cli("rules", "info", tmp_path / "b", "--verify", "--json")
    assert (code, json.loads(out)["rules"]) == (0, 5)
    code, out, _ = cli("rules", "info", paths[3])
    assert "smoothing         none" in out
    assert cli("rules", "import", pt, "--reordering", f"hier={ro}", ro, "--out", tmp_path / "c")[0] == 2


def test_rules_of_a_model(cli: Cli, tmp_path: Path) -> None:
    folder = tiny.model(tmp_path / "model")
    for path in (folder, folder / "t.rules"):
        code, out, err = cli("rules", "show", path, "a", "--json")
        assert (code, err) == (0, "") and json.loads(out)
    assert cli("rules", "show", folder, "a")[1] == cli("rules", "show", folder / "t.rules", "a")[1]
    code, _, err = cli("rules", "show", tmp_path, "a")
    assert code == 1 and "without model.toml" in err


def test_a_rule_without_orientations_costs_nothing(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "pt").write_text("a ||| x ||| 0.5 1 1\nb ||| y ||| 1 1 1\n")
    (tmp_path / "ro").write_text("a ||| x ||| 0.2 0.2 0.6 0.1 0.1 0.8\nc ||| y ||| 1 1 1 1 1 1\n")
    code, _, err = cli("rules", "import", tmp_path / "pt", "--reordering", tmp_path / "ro", "--out", tmp_path / "t")
    assert code == 0
    assert "1 rules are not in the table of wbe; they cost nothing there" in err
    assert "1 entries of the table of wbe have no rule" in err
    table = rules.Table(tmp_path / "t")
    assert table.columns[:3] == ("s1", "s2", "s3")
    assert table.lookup("b")[0].scores == [0.0] * 9
    assert table.lookup("a")[0].scores[3:6] == pytest.approx([math.log(v) for v in (0.2, 0.2, 0.6)])


def test_damaged_tables(files: Files, tmp_path: Path) -> None:
    paths = files(*HOUSE)
    rules.extract(*paths)
    whole = paths[3].read_bytes()
    bad = tmp_path / "bad"
    for bytes_, message in (
        (b"", "empty file"),
        (whole[:20], "truncated in its first bytes"),
        (b"x" * 200, "not a rule table"),
        (whole[:200], "ends in its head"),
        (whole[:-64], "truncated or extended"),
        (whole[:8] + b"\x09" + whole[9:], "form 9"),
        (whole[:300] + b"\x00\xff" + whole[302:], "head of the rule table is corrupt"),
    ):
        bad.write_bytes(bytes_)
        with pytest.raises(InputError, match=message):
            rules.Table(bad)
    bad.write_bytes(whole[:-100] + bytes(b ^ 1 for b in whole[-100:]))
    with pytest.raises(InputError, match="hash of its contents"):
        rules.Table(bad).verify()
    with pytest.raises(InputError, match="hash of its contents"):
        rules.Table(bad).export(tmp_path / "pt")
    with pytest.raises(InputError, match="No such file"):
        rules.Table(tmp_path / "missing")


def test_export_wants_known_columns(files: Files, tmp_path: Path) -> None:
    paths = files(*HOUSE)
    rules.extract(*paths)
    with pytest.raises(OptionError, match="no column `x`; it has p"):
        rules.Table(paths[3]).export(tmp_path / "pt", columns=["x"])
    with pytest.raises(OptionError, match=r"no column `wbe\.previous\.M`"):
        rules.Table(paths[3]).export(None, reordering={"wbe": tmp_path / "ro"})


def test_threads_and_memory_do_not_show(data: Path, tmp_path: Path) -> None:
    golden = data / "golden-rules"
    inputs = [str(golden / name) for name in ("train.de.gz", "train.en.gz", "aligned.grow-diag-final-and.gz")]
    code = "import sys; from dragoman import rules; rules.extract(*sys.argv[1:5], memory=sys.argv[5], top=20)"
    tables = []
    for threads, memory in (("1", "1M"), ("2", "2G"), ("5", "9M")):
        out = tmp_path / threads
        environment = {**os.environ, "RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", code, *inputs, str(out), memory], check=True, env=environment)
        tables.append(out.read_bytes())
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "pt:1: expected at least one rule, found an empty file"),
        (b"a\x01b ||| c ||| 0.5 0.5 0.5 0.5 ||| 0-0\n", "pt:1: expected words without control characters"),
    ],
)
def test_tables_that_cannot_be_imported(cli: Cli, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "pt").write_bytes(content)
    code, _, err = cli("rules", "import", tmp_path / "pt", "--out", tmp_path / "rules")
    assert code == 1 and message in err and not (tmp_path / "rules").exists()
