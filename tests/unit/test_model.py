"""Model folders: info, verify, import from Moses, and everything that can be wrong with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.test_translate import build

from dragoman import moses, toml
from dragoman.decoder import Decoder
from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.model import Model

Cli = Callable[..., tuple[int, str, str]]
INI = """
[input-factors]
0
[mapping]
0 T 0
[distortion-limit]
4
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TM num-features=2 path=phrases input-factor=0 output-factor=0 table-limit=7
LexicalReordering name=RM num-features=6 type=hier-msd-bidirectional-fe path=orientations
Distortion
KENLM name=LM0 factor=0 path=lm.arpa order=3
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.5
PhrasePenalty0= 0.1
TM= 0.3 0.2
RM= 0.2 0.2 0.2 0.2 0.2 0.2
Distortion0= 0.3
LM0= 0.5
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return build(tmp_path / "model").folder


@pytest.fixture
def ini(model: Path, tmp_path: Path) -> Path:
    """A Moses system with the same tables."""
    folder = tmp_path / "moses"
    folder.mkdir()
    for name in ("phrases", "orientations", "lm.arpa"):
        shutil.copy(model / name, folder)
    (folder / "moses.ini").write_text(INI)
    return folder / "moses.ini"


def test_info_and_verify(cli: Cli, model: Path) -> None:
    code, out, _ = cli("model", "info", model)
    assert code == 0 and "reordering" in out and "lm.arpa" in out and "TM[0]" in out
    code, out, _ = cli("model", "info", model, "--json")
    content = json.loads(out)
    assert content["weights"]["LM"] == 0.5 and content["search"] == {"distortion_limit": 4}
    assert [part["name"] for part in content["features"]] == ["TM", "LM", "D", "RM", "WP", "PP", "UP"]
    code, out, _ = cli("model", "verify", model)
    assert code == 0 and content["signature"] in out
    table = (model / "rules").read_bytes()
    (model / "rules").write_bytes(table[:-1] + bytes([table[-1] ^ 1]))
    code, _, err = cli("model", "verify", model)
    assert code != 0 and "rules: the file is not the one" in err


def test_a_moses_system_translates_as_its_model_does(cli: Cli, model: Path, ini: Path, tmp_path: Path) -> None:
    code, out, _ = cli("model", "import", "--moses-ini", ini, "--out", tmp_path / "imported")
    assert code == 0 and "signature" in out
    made = Decoder(tmp_path / "imported")
    assert (made.search.distortion_limit, made.search.table_limit) == (4, 7)
    lines = ["das haus ist klein", "ist das quux klein", "klein das haus ist"]
    own = Decoder(model).nbest(lines, 20, distinct=False)
    theirs = made.nbest(lines, 20, distinct=False)
    assert own.texts.to_list() == theirs.texts.to_list()
    assert own.totals is not None and theirs.totals is not None
    assert theirs.totals.tolist() == pytest.approx(own.totals.tolist(), abs=1e-4)
    code, _, err = cli("model", "import", "--moses-ini", ini, "--out", tmp_path / "imported")
    assert code != 0 and "there is a model already" in err


def test_a_moses_ini_is_converted_once(cli: Cli, ini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "in").write_text("das haus\n")
    for _ in range(2):
        assert cli("translate", "--moses-ini", ini, "--input", tmp_path / "in")[:2] == (0, "the house\n")
    assert len(list((tmp_path / "cache" / "dragoman" / "moses").iterdir())) == 1
    ini.write_text(INI.replace("LM0= 0.5", "LM0= 0.6"))
    assert cli("translate", "--moses-ini", ini, "--input", tmp_path / "in")[0] == 0
    assert len(list((tmp_path / "cache" / "dragoman" / "moses").iterdir())) == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("WordPenalty0= -0.5", "WordPenalty0= x", 18, "expected a weight, found `x`"),
        ("WordPenalty0= -0.5", "WordPenalty0= inf", 18, "expected a weight"),
        ("TM= 0.3 0.2", "TM= 0.3", 12, "expected 2 weight"),
        ("Distortion0= 0.3\n", "", 14, "expected 1 weight"),
        ("Distortion0= 0.3", "Distortion0= 0.3\nNobody0= 1", 23, "weights of Nobody0, but no such feature"),
        ("Distortion0= 0.3", "Distortion0 0.3", 22, "expected name= weights"),
        ("Distortion\n", "Distortion\nDistortion name=Distortion0\n", 15, "two features are called Distortion0"),
        ("Distortion\n", "OpSequenceModel\n", 14, "`OpSequenceModel` cannot be read"),
        ("path=lm.arpa", "path=gone.arpa", 15, "there is no file gone.arpa"),
        ("path=lm.arpa order", "order", 15, "expected path=FILE"),
        ("path=phrases input-factor=0", "path=phrases input-factor", 12, "expected name=value"),
        ("type=hier-msd-bidirectional-fe", "type=hier-mslr-backward-fe", 13, "expected a reordering type"),
        ("table-limit=7", "table-limit=many", 12, "table-limit"),
        ("[distortion-limit]\n4", "[distortion-limit]\nsix", 7, "distortion-limit"),
        ("[mapping]", "[lattice-samples]", 4, "section [lattice-samples]"),
        ("\n[input-factors]", "stray\n[input-factors]", 1, "expected a section in brackets first"),
    ],
)
def test_bad_lines_of_a_moses_ini_are_named(
    ini: Path, tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    text = INI.replace(old, new, 1)
    assert text != INI
    ini.write_text(text)
    with pytest.raises(InputError) as error:
        moses.convert(ini, tmp_path / "out")
    assert str(error.value).startswith(f"{ini}:{line}: ") and what in str(error.value), error.value
    assert not (tmp_path / "out" / "model.toml").exists()


def test_two_phrase_tables_share_a_reordering_table(ini: Path, tmp_path: Path) -> None:
    second = "PhraseDictionaryMemory name=TM num-features=2 path=phrases"
    text = INI.replace(second, f"PhraseDictionaryMemory name=Second num-features=2 path=other\n{second}", 1)
    (ini.parent / "other").write_text(
        "haus ||| house ||| 0.5 0.5 ||| 0-0 ||| 1 1 1\nhut ||| hat ||| .5 .5 ||| 0-0 ||| 1 1 1\n"
    )
    ini.write_text(text.replace("TM= 0.3 0.2", "TM= 0.3 0.2\nSecond= 0.1 0.1"))
    decoder = Decoder(moses.convert(ini, tmp_path / "out"))
    every = decoder.nbest(["haus"], 10, distinct=False)
    assert every.texts.to_list() == ["house", "house"]
    assert all(every.features.row(i)["RM[0]"] < 0 for i in range(2)), "rules of both tables have orientations"
    assert decoder.nbest(["hut"], 10).features.row(0)["RM[0]"] == 0.0, "unless Moses' table lacks them"


def test_missing_and_foreign_files(model: Path, tmp_path: Path) -> None:
    for name in ("rules", "lm.arpa"):
        content = (model / name).read_bytes()
        (model / name).write_bytes(content[:-10])
        with pytest.raises(InputError, match=f"{name}: expected .* bytes, found .*: not the file of this model"):
            Model.open(model)
        (model / name).unlink()
        with pytest.raises(InputError, match=f"{name}: No such file"):
            Model.open(model)
        (model / name).write_bytes(content)
    (model / "rules").write_bytes(b"x" * (model / "rules").stat().st_size)
    with pytest.raises(DragomanError, match="rules"):
        Decoder(model)
    (model / "weights.toml").unlink()
    with pytest.raises(InputError, match=r"weights\.toml"):
        Model.open(model)
    with pytest.raises(InputError, match=r"expected a model, found a folder without model\.toml"):
        Model.open(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("format = 1", "format = 2", "expected format 1, found 2"),
        ("format = 1", "format = ", "expected the description of a model in TOML"),
        ('tables = ["rules"]', "tables = [1]", "names of files"),
        ('tables = ["rules"]', "", "expected a list `tables`"),
        ('tables = ["rules"]', 'tables = ["rules"]\nodd = 1', "unknown section `odd`"),
        ('kind = "lm"', 'kind = "llm"', "unknown feature kind `llm`"),
        ('kind = "lm"\n', "", "needs a kind and a name"),
        ('name = "LM"', 'name = "D"', "two features are called `D`"),
        ('columns = ["a", "b"]', 'columns = ["a", "c"]', "no column `c`; it has a, b"),
        ("table = 0\ncolumns", "table = 3\ncolumns", "no rule table 3"),
        ('model = "hier"', 'model = "wbe"', "no column `wbe.previous.M`"),
        ('top = "stack"', 'top = "heap"', "top must be phrase or stack"),
        ("distortion_limit = 4", "distorsion_limit = 4", "search settings: unknown option `distorsion_limit`"),
        ("distortion_limit = 4", 'distortion_limit = "far"', "distortion_limit must be a whole number"),
        ("bytes =", "size =", "every entry of `files` needs"),
    ],
)
def test_wrong_descriptions(model: Path, old: str, new: str, what: str) -> None:
    path = model / "model.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises((InputError, OptionError)) as error:
        Decoder(model)
    assert what in str(error.value), error.value


def test_toml_round_trips(tmp_path: Path) -> None:
    content = {
        "a": 1,
        "b c": [1.5, 2.0],
        "t": {"x": 'é"\\\x7f', "y": True},
        "l": [{"k": "v"}, {"k": "w", "n": {"m": 1}}],
    }
    path = tmp_path / "x.toml"
    path.write_text(toml.dumps(content), encoding="utf-8")
    assert toml.load(path, "a test") == content
