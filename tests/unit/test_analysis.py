"""What sparse features do: counted by hand, and against plain dictionaries."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests import serving

from dragoman import lm, model, nbest, registry, rules, weights
from dragoman.analysis import Usage, contrast, occurrences, overlap, rivals, rules_with
from dragoman.cli.app import dragoman
from dragoman.decoder import Decoder
from dragoman.errors import OptionError
from dragoman.features import ABOUT, escaped
from dragoman.types import Names, Weights

LIST = """0 ||| a ||| LM= -1 pt:x>a=1 tb:^>a=2 ||| 0
0 ||| b ||| LM= -2 pt:x>b=1 pt:y>b=0 ||| 0
1 ||| c ||| LM= 0 pt:x>a=1 ||| 0
"""


def usage(path: Path) -> Usage:
    made = Usage()
    names = Names()
    for batch in nbest.stream(path, names=names, batch=1):
        made.add(batch)
    return made


def test_what_fires_is_counted(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(LIST)
    made = usage(tmp_path / "list")
    assert (made.sentences, made.candidates) == (2, 3)
    found = {s.name: (s.names, s.fired, s.candidates, s.sentences, s.once) for s in made.sets()}
    assert found == {"": (1, 2, 2, 1, 1), "pt": (2, 3, 3, 2, 1), "tb": (1, 1, 1, 1, 1)}
    assert made.weights()["pt:x>a"] == 2
    assert made.weights()["pt:y>b"] == 0


NAMES = st.sampled_from(["LM", "WP", "pt:a>b", "pt:c>d", "pt:e>f", "lo:x", "tb:y", "tb:z"])
TABLES = st.dictionaries(NAMES, st.sampled_from([0.0, 1.0, -2.0]))


@given(first=TABLES, second=TABLES)
def test_overlap_is_that_of_sets_of_names(first: dict[str, float], second: dict[str, float]) -> None:
    one, two = Weights.of(first), Weights.of(second)
    two.names.intern("pt:a>b")  # perhaps a name without a value
    a, b = ({name for name, value in table.items() if value} for table in (first, second))
    want = {}
    for name in a | b:
        kind = name.partition(":")[0] if ":" in name else ""
        want[kind] = tuple(sum(n.startswith(f"{kind}:") if kind else ":" not in n for n in s) for s in (a, b, a & b))
    found = overlap(one, two)
    assert {row.name: (row.first, row.second, row.both) for row in found} == want
    assert [row.name for row in found] == sorted(want)
    for row in found:
        assert row.share == row.both / row.first if row.first else math.isnan(row.share)


def test_phrases_are_counted_where_they_are_whole_words() -> None:
    lines = ["a a a", "programme of a", "programmes a b a b", "", "of a"]
    assert occurrences(lines, ["a", "programme", "a b", "of a", "program"]) == [7, 1, 2, 2, 0]


def test_rules_with_a_phrase() -> None:
    values = {
        "pt:x>program": 1.0,
        "pt:x>program_of": 2.0,
        "pt:x>the_program": 3.0,
        "pt:x_y>the_program_of": 4.0,
        "pt:x>programs": 5.0,
        "pt:program>x": 6.0,
        "pt:z>program": 0.0,
        "wp:x>program": 7.0,
        "pt:x>a%5Fb": 8.0,
    }
    made = Weights.of(values)
    assert list(rules_with(made, "program").to_dict().values()) == [1.0, 2.0, 3.0, 4.0]
    assert list(rules_with(made, "the program").to_dict().values()) == [3.0, 4.0]
    assert list(rules_with(made, "program", "wp").to_dict().values()) == [7.0]
    assert list(rules_with(made, "a_b").to_dict().values()) == [8.0]
    with pytest.raises(OptionError, match="expected a word"):
        rules_with(made, " ")
    assert contrast(["program", "programs"], [["a program", "program"]], [made]) == [([2], [4]), ([0], [1])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    rows = ["p ||| program ||| 7 0.7", "p ||| programme ||| 2 0.2", "p ||| the_plan ||| 1 0.1", "q ||| of ||| 1 1"]
    (path / "table").write_text("".join(f"{row} ||| 0-0 ||| 1 1 1\n" for row in rows))
    rules.import_moses(path / "table", path / "rules", columns=["log count", "p(e|f)"])
    (path / "text").write_text("program of\nthe_plan of program\n")
    lm.estimate([path / "text"], path / "lm", order=2, discount_fallback=(0.5, 1.0, 1.5), form="hash")
    parts = [
        model.Part("lm", "LM", {"path": "lm"}),
        model.Part("scores", "rules", {"table": 0, "columns": ["log count", "p(e|f)"]}),
    ]
    model.seal(path, tables=["rules"], parts=parts, initial={"LM": 1.0, "log-count": 0.5})
    weights.save(path / "a.txt", Weights.of({"LM": 1.0, "pt:p>program": -0.5, "pt:p>the%5Fplan": 0.25, "tb:^>x": 0.0}))
    weights.save(path / "b.bin", Weights.of({"LM": 1.0, "pt:p>programme": 1.5, "pt:p>program": 2.0}))
    return path


def test_translations_that_compete(folder: Path) -> None:
    files = [weights.load(folder / "a.txt"), weights.load(folder / "b.bin")]
    found = rivals(rules.Table(folder / "rules"), "p", files)
    assert [(r.target, r.count, round(r.probability, 4), r.weights) for r in found] == [
        ("program", 7, 0.7, (-0.5, 2.0)),
        ("programme", 2, 0.2, (0.0, 1.5)),
        ("the_plan", 1, 0.1, (0.25, 0.0)),
    ]


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(dragoman, ["features", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_plain_text_is_prepared_as_the_model_wants_it(tmp_path: Path) -> None:
    made = serving.model(tmp_path)
    german = "Der Hund sieht den Stein."
    (tmp_path / "plain").write_text(f"{german}\n")
    (tmp_path / "words").write_text(f"{Decoder(made).text.before([german])[0]}\n")
    sets = ["--model", str(made), "--features", "pt", "--json"]
    plain = run("stat", *sets, "--src", tmp_path / "plain")
    assert plain == run("stat", *sets, "--src", tmp_path / "words", "--tokenized")
    assert plain != run("stat", *sets, "--src", tmp_path / "plain", "--tokenized")
    rows = json.loads(run("overlap", *sets, tmp_path / "plain", tmp_path / "plain"))
    assert {row["name"]: row["first"] for row in rows}["pt"] > 1


@pytest.mark.parametrize("options", [["--tokenized"], ["--features", "pt"], ["--weights", "w"], ["--nbest-size", "2"]])
@pytest.mark.parametrize("command", [["stat", "--nbest", "a"], ["overlap", "a", "b"], ["overlap", "--nbest", "a", "b"]])
def test_options_that_need_a_model(command: list[str], options: list[str]) -> None:
    done = CliRunner().invoke(dragoman, ["features", *command, *options])
    assert done.exit_code == 2 and "go with --model" in done.output


def test_commands(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "src").write_text("p q\np\n")
    (tmp_path / "other").write_text("q q\n")
    sets = ["--model", str(folder), "--features", "pt,tb"]
    stat = json.loads(run("stat", *sets, "--src", tmp_path / "src", "--limit", "1", "--json"))
    assert (stat["sentences"], stat["candidates"]) == (2, 2)
    assert {s["name"]: (s["names"], s["fired"]) for s in stat["sets"]}["pt"] == (2, 3)
    assert stat["top"][0] == {"name": "pt:p>program", "fired": 2}
    assert "(dense)" in run("stat", *sets, "--src", tmp_path / "src")
    both = json.loads(run("overlap", tmp_path / "src", tmp_path / "other", *sets, "--json"))
    assert {r["name"]: (r["first"], r["second"], r["both"]) for r in both}["pt"] == (2, 1, 1)
    a, b = folder / "a.txt", folder / "b.bin"
    assert run("overlap", a, b).splitlines()[-1].split() == ["all", "3", "3", "2", "66.7%"]
    (tmp_path / "list").write_text(LIST)
    assert "pt" in run("stat", "--nbest", tmp_path / "list")
    assert "100.0%" in run("overlap", tmp_path / "list", tmp_path / "list", "--nbest")
    shown = json.loads(run("contrast", "--source", "p", "--model", folder, "--weights", a, b, "--json"))
    assert (shown["translations"], shown["rules"][1]["weights"][str(b)]) == (3, 1.5)
    table = run("contrast", "--source", "p", "--model", folder / "rules", "--weights", a, b).splitlines()
    assert table[2].split() == ["program", "7", "0.7", "-0.5", "2"]
    rows = run("contrast", "program", "programme", "--text", folder / "text", "--weights", a, b).splitlines()
    assert [row.split() for row in rows[1:3]] == [["program", "2"], ["programme", "0"]]
    assert [row.split()[-2:] for row in rows[5:7]] == [["1", "1"], ["0", "1"]]
    found = json.loads(run("contrast", "program", "--weights", b, "--json"))
    assert found[0]["largest"][str(b)] == [{"name": "pt:p>program", "weight": 2.0}]


@pytest.mark.parametrize("form", ["txt.gz", "bin", "toml", "json"])
def test_the_decoder_takes_weights_of_any_form(folder: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"w.{form}"
    weights.save(file, Weights.of({"LM": 1.0, "log-count": 0.5, "pt:p>the%5Fplan": 50.0, "pt:never>seen": 1.0}))
    decoder, loaded = Decoder(folder, features="pt"), weights.load(file)
    assert decoder.translate(["p q"]) == ["program of"]
    assert decoder.translate(["p q"], weights=loaded) == ["the_plan of"]
    loaded.values[2] = -50.0
    assert decoder.translate(["p q"], weights=loaded) == ["program of"], "weights that were changed in place"
    (tmp_path / "src").write_text("p q\n")
    arguments = ["translate", "--model", folder, "--features", "pt", "--weights", file, "--input", tmp_path / "src"]
    out = str(tmp_path / "out")
    done = CliRunner().invoke(dragoman, [*map(str, arguments), "--tokenized", "--output", out], catch_exceptions=False)
    assert (done.exit_code, Path(out).read_text()) == (0, "the_plan of\n")


def test_weights_of_features_that_the_model_cannot_have(folder: Path, tmp_path: Path) -> None:
    weights.save(tmp_path / "w.bin", Weights.of({"LM": 1.0, "lo:M.next:a>b": 1.0}))
    with pytest.raises(OptionError, match=r"the model has no feature `lo:M\.next:a>b`"):
        Decoder(folder, features="pt", weights=weights.load(tmp_path / "w.bin"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["stat"],
        ["stat", "--src", "x"],
        ["stat", "--nbest", "x", "--src", "y", "--model", "z"],
        ["contrast"],
        ["contrast", "a", "--source", "b"],
        ["contrast", "--source", "b"],
        ["contrast", "a"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert CliRunner().invoke(dragoman, ["features", *arguments]).exit_code == 2


def test_every_set_is_documented() -> None:
    assert list(ABOUT) == registry.names("feature set")
    page = (Path(__file__).parents[2] / "docs" / "features.md").read_text()
    for _, _, examples in ABOUT.values():
        for name in examples:
            assert name in page
    assert [row["set"] for row in json.loads(run("list", "--json"))] == list(ABOUT)
    assert "bin:count:3-4" in run("list")


def test_words_in_names() -> None:
    assert escaped("a_b>c=%") == "a%5Fb%3Ec%3D%25"
    assert escaped("é\u00a0x\x85") == "é%C2%A0x%C2%85"
