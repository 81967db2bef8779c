"""A metric, a tuner, a tokeniser, an n-best dialect and a feature set of one's own: one file each, outside the package.

Each file is that of its page in docs/, named on the command line as FILE.py:NAME and used like ours.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import dragoman
from dragoman import registry
from dragoman.errors import OptionError

Cli = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).resolve().parents[2] / "docs"


def example(page: str) -> str:
    """The first complete file of a page: the Python block that begins with a docstring."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    found: str = next(block for block in blocks if block.startswith('"""'))
    return found


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Lists in which a feature prefers what a metric likes."""
    lines, refs = [], []
    for sentence in range(30):
        good, bad = f"the cat number {sentence} sat", f"a cat no {sentence} sat sat"
        refs.append(good)
        for text, quality, noise in ((bad, 0.0, 1.0), (good, 1.0, 0.0)):
            lines.append({"id": sentence, "text": text, "features": {"Good": quality, "Noise": noise}})
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "ref").write_text("\n".join(refs) + "\n")
    (tmp_path / "out").write_text("\n".join(refs[:15] + ["x"] * 15) + "\n")
    return tmp_path


def test_a_metric(lists: Path, cli: Cli) -> None:
    file = lists / "mine.py"
    file.write_text(example("own-metric.md"))
    name = re.search(r"class (\w+)", file.read_text())
    assert name is not None
    spec = f"{file}:{name[1]}"
    code, out, err = cli("score", lists / "out", "--refs", lists / "ref", "--metric", spec)
    assert code == 0, err
    assert float(out.splitlines()[1].split()[-1]) > 0
    code, out, err = cli(
        "compare", lists / "out", lists / "ref", "--refs", lists / "ref", "--metric", spec, "--samples", "50"
    )
    assert code == 0, err
    base = (
        "tune",
        "--nbest",
        lists / "list.jsonl",
        "--refs",
        lists / "ref",
        "--metric",
        spec,
        "--out",
        lists / "w.toml",
    )
    code, out, err = cli(*base, "--tuner", "mert:starts=2")
    assert code == 0, err
    assert dragoman.weights.load(lists / "w.toml")["Good"] > 0


def test_a_tuner(lists: Path, cli: Cli) -> None:
    file = lists / "mine.py"
    file.write_text(example("own-tuner.md"))
    spec = f"{file}:Wander"
    base = (
        "tune",
        "--nbest",
        lists / "list.jsonl",
        "--refs",
        lists / "ref",
        "--start",
        "ones",
        "--out",
        lists / "w.toml",
    )
    code, out, err = cli(*base, "--tuner", f"{spec}:steps=40")
    assert code == 0, err
    assert f"tuner:{spec}:steps=40" in out, "its name in the signature"
    code, _, err = cli(*base, "--tuner", f"{spec}:step=40")
    assert code == 1 and "did you mean steps?" in err
    # It travels to other processes as ours do.
    found = [
        dragoman.tune(
            lists / "list.jsonl", lists / "ref", tuner=f"{spec}:steps=40", start="ones", engine=engine, threads=2
        ).weights
        for engine in ("threads", "processes")
    ]
    assert found[0].to_dict() == found[1].to_dict()


def test_a_tokeniser(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(example("own-tokenizer.md"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Hallo-Welt heute\n")))
    code, out, err = cli("tokenize", "--tokenizer", f"{file}:Hyphens")
    assert (code, out) == (0, "Hallo @-@ Welt heute\n"), err
    lines = [f"der-{a} {b}" for a in ("hund", "mann", "baum") for b in ("sieht", "geht", "steht")]
    (tmp_path / "s").write_text("\n".join(lines) + "\n")
    (tmp_path / "t").write_text("\n".join(line.replace("der", "the") for line in lines) + "\n")
    options = (
        "--tokenizer",
        f"{file}:Hyphens",
        "--case",
        "keep",
        "--out",
        tmp_path / "model",
        "--order",
        "2",
        "--classes",
        "none",
    )
    code, _, err = cli("train", "--src", tmp_path / "s", "--tgt", tmp_path / "t", *options)
    assert code == 0, err
    assert dragoman.load(tmp_path / "model", trust=True).translate("der-hund geht").text == "the-hund geht"


def test_a_dialect(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "mine.py"
    file.write_text(example("own-dialect.md"))
    (tmp_path / "list.tsv").write_text("0\ta house\tlm=-1.5 length=2\n0\tthe house\tlm=-1 length=2\n1\tyes\tlm=-3\n")
    spec = f"{file}:Tabs"
    code, _, err = cli("nbest", "convert", tmp_path / "list.tsv", tmp_path / "list.jsonl", "--from", spec)
    assert code == 0, err
    first = json.loads((tmp_path / "list.jsonl").read_text().splitlines()[0])
    assert first["text"] == "a house" and first["features"] == {"lm": -1.5, "length": 2}
    code, _, err = cli("nbest", "convert", tmp_path / "list.jsonl", tmp_path / "again.tsv", "--to", spec)
    assert code == 0, err
    assert (tmp_path / "again.tsv").read_text() == (tmp_path / "list.tsv").read_text()
    (tmp_path / "list.tsv").write_text("0\tonly text\n")
    code, _, err = cli("nbest", "convert", tmp_path / "list.tsv", tmp_path / "x.jsonl", "--from", spec)
    assert code == 1 and "list.tsv:1:" in err


def test_a_feature_set(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "mine.py"
    file.write_text(example("user-features.md"))
    for side in ("s", "t"):
        (tmp_path / side).write_text("\n".join(f"a{n} b{n}" for n in range(30)) + "\n")
    dragoman.train(
        tmp_path / "s", tmp_path / "t", tmp_path / "model", tokenizer="none", case="keep", order=2, classes=()
    )
    code, _, err = cli(
        "translate", "--model", tmp_path / "model", "--features", f"pt,{file}:Lengths", "--input", tmp_path / "s",
        "--nbest", "2", "--nbest-out", tmp_path / "list",
    )  # fmt: skip
    assert code == 0, err
    assert "pt:" in (tmp_path / "list").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def\n", "mine.py:1: SyntaxError"),
        ("\n\n1 / 0\n", "mine.py:3: ZeroDivisionError: division by zero"),
        ("import nowhere_to_be_found\n", "mine.py:1: ModuleNotFoundError"),
        ("class Other: pass\n", "there is no `Mine`; known: Other"),
        ("Mine = 3\n", "is no metric: it lacks"),
        ("class Mine:\n    def __init__(self, x): pass\n", "cannot be made: TypeError"),
    ],
)
def test_errors_name_the_file_and_the_line(lists: Path, cli: Cli, content: str, message: str) -> None:
    (lists / "mine.py").write_text(content)
    for command in (("score", lists / "out"), ("tune", "--nbest", lists / "list.jsonl")):
        code, out, err = cli(*command, "--refs", lists / "ref", "--metric", f"{lists}/mine.py:Mine")
        assert (code, out) == (1, "") and message in err and "Traceback" not in err, err
    code, _, err = cli("score", lists / "out", "--refs", lists / "ref", "--metric", f"{lists}/none.py:Mine")
    assert code == 1 and "none.py: there is no such file" in err


def test_a_file_that_changed_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("value = 1\n")
    assert registry.from_file(f"{file}:value")[0] == 1
    file.write_text("value = 22\n")
    assert registry.from_file(f"{file}:value")[0] == 22
    with pytest.raises(OptionError, match=r"expected FILE\.py:NAME"):
        registry.from_file(str(file))


def test_names_that_are_unknown() -> None:
    for kind in registry.KINDS:
        with pytest.raises(OptionError, match=rf"unknown {kind} `nothing`; .*FILE\.py:NAME"):
            registry.find(kind, "nothing")
    with pytest.raises(OptionError, match=r"the tuner `online` is called `adagrad` now"):
        registry.make("tuner", "online")
    with pytest.raises(OptionError, match="unknown kind `tuners`; did you mean tuner"):
        registry.add("tuners", "x", 1)


def test_every_name_of_the_table_can_be_made() -> None:
    for kind, about in registry.KINDS.items():
        for name in registry.TABLE[kind]:
            found = registry.find(kind, name) if about.factory else registry.make(kind, name)
            assert found is not None
            if kind == "tuner":
                assert registry.name_of(kind, found) == name
