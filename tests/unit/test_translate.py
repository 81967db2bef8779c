"""`dragoman translate`: every option, every kind of bad input, streams."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import lm, nbest, rules
from dragoman.decoder import Constraints, Decoder, Search, read_forests
from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.model import Model, Part, seal
from dragoman.reranking import mbr
from dragoman.types import Weights

Cli = Callable[..., tuple[int, str, str]]
TABLE = [
    ("das", "the", "0.6 0.5", "0-0"),
    ("das", "that", "0.3 0.3", "0-0"),
    ("haus", "house", "0.9 0.8", "0-0"),
    ("das haus", "the house", "0.8 0.7", "0-0 1-1"),
    ("ist", "is", "0.9 0.9", "0-0"),
    ("klein", "small", "0.7 0.7", "0-0"),
    ("klein", "little", "0.3 0.3", "0-0"),
]
TRANSLATE = [sys.executable, "-c", "from dragoman.cli import main; main()", "translate", "--model"]
TEXT = ["the house is small", "that house is little", "the small house", "is the house small"]


def build(folder: Path) -> Model:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{s} ||| {t} ||| {scores} ||| {links} ||| 1 1 1\n" for s, t, scores, links in sorted(TABLE)]
    (folder / "phrases").write_text("".join(rows))
    (folder / "orientations").write_text(
        "".join(f"{s} ||| {t} ||| .6 .2 .2 .5 .2 .3\n" for s, t, _, _ in sorted(TABLE))
    )
    reordering = {"hier": folder / "orientations"}
    rules.import_moses(folder / "phrases", folder / "rules", reordering=reordering, columns=["a", "b"])
    (folder / "text").write_text("\n".join(TEXT) + "\n")
    lm.estimate(folder / "text", folder / "lm.arpa", order=3, discount_fallback=(0.5, 1, 1.5))
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["a", "b"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm.arpa"}),
        Part("distortion", "D"),
        Part("reordering", "RM", {"table": 0, "model": "hier", "top": "stack"}),
        Part("word-penalty", "WP"),
        Part("phrase-penalty", "PP"),
        Part("unknown-penalty", "UP"),
    ]
    weights = {"TM[0]": 0.3, "TM[1]": 0.2, "LM": 0.5, "D": 0.3, "WP": -0.5, "PP": 0.1, "UP": 1.0}
    weights |= {f"RM[{i}]": 0.2 for i in range(6)}
    return seal(folder, tables=["rules"], parts=parts, initial=weights, search={"distortion_limit": 4})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model")).folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.de"
    path.write_text("das haus ist klein\n\nist das quux klein\n")
    return path


def pipe(model: Path, text: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [
        sys.executable,
        "-c",
        "from dragoman.cli import main; main()",
        "translate",
        "--model",
        str(model),
        *options,
    ]
    return subprocess.run(command, input=text, capture_output=True, check=False)


def test_text_in_text_out(cli: Cli, model: Path, source: Path, tmp_path: Path) -> None:
    code, out, _ = cli("translate", "--model", model, "--input", source)
    assert code == 0
    lines = out.split("\n")
    assert lines[0] == "the house is small" and lines[1] == "" and "quux" in lines[2].split()
    target, links = tmp_path / "out.en.gz", tmp_path / "links"
    code, _, _ = cli("translate", "--model", model, "--input", source, "--output", target, "--align-out", links)
    assert code == 0
    assert gzip.decompress(target.read_bytes()).decode() == out
    assert links.read_text().split("\n")[:2] == ["0-0 1-1 2-2 3-3", ""]
    assert not list(tmp_path.glob(".*")), "no temporary file stays"


def test_search_options(cli: Cli, model: Path, source: Path) -> None:
    usual = cli("translate", "--model", model, "--input", source)[1]
    wide = [
        "--stack-size",
        "9",
        "--pop-limit",
        "0",
        "--threshold",
        "50",
        "--distortion-limit",
        "-1",
        "--table-limit",
        "0",
        "--threads",
        "1",
    ]
    assert cli("translate", "--model", model, "--input", source, *wide)[:2] == (0, usual)
    dropped = cli("translate", "--model", model, "--input", source, "--drop-unknown")[1]
    assert "quux" not in dropped and dropped.count("\n") == 3
    assert cli("translate", "--model", model, "--input", source, "--deadline", "1e-9")[0] == 0
    monotone = cli("translate", "--model", model, "--input", source, "--distortion-limit", "0")[1]
    assert monotone.split("\n")[2].split()[2] == "quux"


@pytest.mark.parametrize(
    "options", [{"stack_size": 0}, {"pop_limit": -1}, {"distortion_limit": -2}, {"threshold": float("nan")}]
)
def test_search_settings_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="must be a"):
        Search(**options)


def test_other_weights(cli: Cli, model: Path, source: Path, tmp_path: Path) -> None:
    weights = tmp_path / "w.toml"
    weights.write_text('[weights]\n"TM" = [-3.0, -3.0]\n')
    code, out, _ = cli("translate", "--model", model, "--input", source, "--weights", weights)
    assert code == 0 and out.split("\n")[0] != "the house is small"
    weights.write_text("[weights]\nLMM = 1.0\n")
    code, _, err = cli("translate", "--model", model, "--input", source, "--weights", weights)
    assert code != 0 and "no feature `LMM`" in err and "LM" in err


def test_nbest_lists(cli: Cli, model: Path, source: Path, tmp_path: Path) -> None:
    for name in ("list.gz", "list.jsonl"):
        path = tmp_path / name
        code, out, _ = cli("translate", "--model", model, "--input", source, "--nbest", 5, "--nbest-out", path)
        assert code == 0
        read = nbest.read(path)
        assert read.ids.to_list() == ["0", "1", "2"]
        assert read.totals is not None and read.texts[0] == out.split("\n")[0]
        assert len(set(read.texts.to_list()[: int(read.starts[1])])) == int(read.starts[1]) == 5
        scores = read.features.dot(Model.open(model).weights)
        np.testing.assert_allclose(scores, read.totals, atol=1e-3)
    options = ["--nbest", 500, "--nbest-out", tmp_path / "all", "--all-derivations"]
    assert cli("translate", "--model", model, "--input", source, *options)[0] == 0
    texts = nbest.read(tmp_path / "all")
    first = texts.texts.to_list()[: int(texts.starts[1])]
    assert len(set(first)) < len(first)
    code, _, err = cli("translate", "--model", model, "--input", source, "--nbest", 5)
    assert code != 0 and "--nbest-out" in err


def test_forests(cli: Cli, model: Path, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    assert cli("translate", "--model", model, "--input", source, "--forest-out", path)[0] == 0
    objects = [json.loads(line) for line in path.read_text().splitlines()]
    assert [o["id"] for o in objects] == [0, 1, 2]
    empty = {"head": 0, "tails": [], "target": [], "span": [0, 0], "score": 0, "features": {}}
    assert objects[1] == {"id": 1, "nodes": 1, "edges": [empty]}
    assert set(objects[0]["edges"][0]["features"]) <= set(Decoder(model).dense)
    forests = list(read_forests(path))
    assert [forest.id for forest in forests] == ["0", "1", "2"]
    assert forests[0].k_best(1)[0].text == Decoder(model).translate([source.read_text().splitlines()[0]])[0]
    path = tmp_path / "l.cdec.gz"
    assert cli("translate", "--model", model, "--input", source, "--forest-out", path)[0] == 0
    weights = Decoder(model).weights
    assert next(read_forests(path)).rescored(weights).k_best(1)[0].text == forests[0].k_best(1)[0].text
    path = tmp_path / "l.fst"
    assert cli("translate", "--model", model, "--input", source, "--forest-out", path)[0] == 0
    blocks = path.read_text().split("\n\n")
    first = [line.split("\t") for line in blocks[0].split("\n")]
    assert first[0][0] == "0" and {len(line) for line in first} == {1, 5}
    # The path with the least weight is the translation.
    arcs = [(int(a), int(b), w, float(c)) for a, b, w, _, c in (line for line in first if len(line) == 5)]
    finals = {int(line[0]) for line in first if len(line) == 1}
    best: dict[int, tuple[float, list[str]]] = {0: (0.0, [])}
    for _ in range(len(arcs)):
        for a, b, word, weight in arcs:
            if a in best and (b not in best or best[a][0] + weight < best[b][0] - 1e-9):
                best[b] = (best[a][0] + weight, [*best[a][1], word])
    score, words = min(best[node] for node in finals)
    decoder = Decoder(model)
    top = decoder.nbest(["das haus ist klein"], 1)
    assert " ".join(words) == top.texts[0] and top.totals is not None
    assert score == pytest.approx(-float(top.totals[0]), abs=1e-4)


def test_targets(cli: Cli, model: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.en"
    target.write_text("that house is little\n\nnever this\n")
    options = ["--input", source, "--target", target, "--nbest-out", tmp_path / "forced"]
    code, out, err = cli("translate", "--model", model, *options)
    assert (code, out) == (0, "that house is little\n\n\n")
    assert "2 of 3 targets can be reached" in err
    assert nbest.read(tmp_path / "forced").texts[0] == "that house is little"
    target.write_text("one\n")
    code, _, err = cli("translate", "--model", model, *options)
    assert code != 0 and "expected 3 lines" in err


def test_minimum_bayes_risk(cli: Cli, model: Path, source: Path) -> None:
    code, out, _ = cli("translate", "--model", model, "--input", source, "--nbest", 20, "--mbr", "bleu")
    assert code == 0
    candidates = Decoder(model).nbest(source.read_text().splitlines(), 20)
    chosen = mbr(candidates, Bleu())
    assert out.splitlines() == [candidates.texts[int(row)] for row in chosen]
    # Expected gain from its definition, for the first sentence.
    assert candidates.totals is not None
    size = int(candidates.starts[1])
    belief = np.exp(candidates.totals[:size] - candidates.totals[:size].max())
    level = Bleu().sentence_level()
    gains = np.zeros(size)
    from dragoman.types import Hypotheses

    for reference in range(size):
        prepared = level.prepare([[candidates.texts[reference]]] * size)
        scores = level.score(prepared.statistics(Hypotheses.one_each(candidates.texts.to_list()[:size])))
        gains += belief[reference] / belief.sum() * scores
    assert gains[int(chosen[0])] == pytest.approx(gains.max())
    sharp = mbr(candidates, Bleu(), scale=1000.0)
    assert sharp.tolist() == candidates.starts[:-1].tolist()


def test_explanations(cli: Cli, model: Path, source: Path) -> None:
    code, out, _ = cli("translate", "--model", model, "--input", source, "--explain")
    assert code == 0
    assert out.startswith("the house is small") and "das haus  the house" in out and "LM" in out
    assert "instead" in out, "the alternatives"
    assert max(map(len, out.splitlines())) < 100
    code, out, _ = cli("translate", "--model", model, "--input", source, "--explain", "--json")
    assert code == 0
    decoder = json.JSONDecoder()
    first, _ = decoder.raw_decode(out)
    weights = Model.open(model).weights
    total = sum(weights[name] * value for phrase in first["phrases"] for name, value in phrase["features"].items())
    assert first["score"] == pytest.approx(total, abs=1e-4)
    assert [phrase["source"] for phrase in first["phrases"]] == ["das haus", "ist", "klein"]
    assert '"unknown"' in out
    code, _, err = cli("translate", "--model", model, "--input", source, "--explain", "--nbest", 3, "--nbest-out", "x")
    assert code != 0 and "--explain" in err


def test_jsonl_input(cli: Cli, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [
        {"text": "das haus ist klein", "given": [[0, 2, "a hut"]]},
        {"text": "das haus ist klein", "given": [[0, 2, "a hut"]], "exclusive": False},
        {"text": "ist das klein", "walls": [1, 2]},
        {"text": "ist das klein", "zones": [[0, 2]]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, words, _ = cli("translate", "--model", model, "--input", path, "--jsonl", "--tokenized")
    assert code == 0
    assert words.split("\n")[0].startswith("a hut") and "is" in words.split("\n")[2]
    code, out, _ = cli("translate", "--model", model, "--input", path, "--jsonl", "--tokenized", "--explain")
    assert code == 0 and "das haus  a hut" in out
    lines = [
        {"text": "das haus ist klein", "given": [[0, 8, "a hut"]]},
        {"text": "das haus ist klein", "given": [[0, 9, "a hut"]], "exclusive": False},
        {"text": "ist das klein", "walls": [3, 8]},
        {"text": "ist das klein", "zones": [[0, 7]]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli("translate", "--model", model, "--input", path, "--jsonl")[:2] == (0, words), "the same, in characters"
    path.write_text('{"text": "a"}\n{"txt": "b"}\n')
    code, _, err = cli("translate", "--model", model, "--input", path, "--jsonl")
    assert code != 0 and f"{path}:2: expected a sentence as JSON" in err


def test_markup(cli: Cli, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text('das <n translation="hut">haus</n> ist klein\n<zone>das haus</zone> <wall/> ist < b\n')
    code, out, _ = cli("translate", "--model", model, "--input", path)
    assert code == 0 and "<wall/>" in out.split() and "<" in out.split()
    code, _, err = cli("translate", "--model", model, "--input", path, "--markup")
    assert code != 0 and f"{path}:2: markup" in err and "`>`" in err
    path.write_text('das <n translation="hut">haus</n> ist klein\n')
    code, out, _ = cli("translate", "--model", model, "--input", path, "--markup")
    assert (code, "hut" in out.split()) == (0, True)
    code, out, _ = cli("translate", "--model", model, "--input", path, "--markup", "--explain")
    assert code == 0 and re.search("haus +hut +given", out) and "translation=" not in out
    decoder = Decoder(model, search=Search(markup=True))
    with pytest.raises(OptionError, match="line 2: markup"):
        decoder.translate(["das", "<zone>das"])


def test_invalid_text_is_named(cli: Cli, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"das\nha\xffus\n")
    code, _, err = cli("translate", "--model", model, "--input", path)
    assert code != 0 and f"{path}:2:" in err and "UTF-8" in err
    run = pipe(model, b"das\nist\nha\xffus\nist\n")
    assert run.returncode != 0
    assert run.stdout == b"the\nis\n", "what came before the error is translated"
    assert b"-:3: expected UTF-8" in run.stderr
    output = tmp_path / "out"
    assert pipe(model, b"das\n\xff\n", "--output", str(output)).returncode != 0
    assert list(tmp_path.iterdir()) == [path], "no half of a file"


def test_broken_input_in_a_stream_comes_after_the_good_lines(model: Path) -> None:
    run = pipe(model, b"das\nist\n<zone>das\nist\n", "--markup")
    assert run.returncode != 0 and run.stdout == b"the\nis\n"
    assert b"-:3: markup" in run.stderr and b"</zone>" in run.stderr
    run = pipe(model, b'{"text": "das"}\nnope\n', "--jsonl")
    assert run.stdout == b"the\n" and b"-:2:" in run.stderr


def test_a_pipe_answers_before_the_input_ends(model: Path) -> None:
    with subprocess.Popen([*TRANSLATE, str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for line, want in ((b"das haus\r\n", b"the house\n"), (b"\n", b"\n"), (b"ist\n", b"is\n")):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == want
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_a_stream_that_nobody_reads_ends(model: Path) -> None:
    """The feeding thread is let go, however much is left to read."""
    decoder = Decoder(model, threads=2)
    asked = []

    def endless() -> object:
        while True:
            asked.append(1)
            yield "das haus"

    results = decoder.stream(endless())  # type: ignore[arg-type]
    assert next(results).texts[0] == "the house"
    results.close()  # type: ignore[attr-defined]
    import time

    for _ in range(200):
        before = len(asked)
        time.sleep(0.01)
        if len(asked) == before:
            break
    assert len(asked) == before < 1000


def test_odd_lines(model: Path) -> None:
    decoder = Decoder(model)
    long = " ".join(["das", "haus", "ist", "quux"] * 1250)
    lines = [long, "a\tb\x00c\x0bd\x7f", "||| das |||", "<s> </s> <unk>", "\u2028 \u00a0 \ufeff", " \t "]
    found = decoder.translate(lines)
    assert len(found) == len(lines)
    assert sorted(found[0].split()) == sorted(["the", "house", "is", "quux"] * 1250)
    assert set(found[2].split()) >= {"|||"} and found[5] == ""
    assert decoder.explain("\u00a0 das").phrases[0].source in {"\u00a0", "das"}


@settings(max_examples=100)
@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_text_is_translated(model: Path, lines: list[str]) -> None:
    clean = [line.encode("utf-8", "replace").decode().replace("\n", " ") for line in lines]
    decoder = _decoder(model)
    found = decoder.translate(clean)
    assert len(found) == len(clean)
    for line, text in zip(clean, found, strict=True):
        blank = not any(ord(c) > 32 and ord(c) != 127 for c in line)
        assert blank or text, "only blank lines give nothing"
    marked = _decoder(model, markup=True)
    for line in clean:
        with suppress(OptionError):  # broken markup; anything else is not suppressed
            marked.translate([line])


_DECODERS: dict[tuple[Path, bool], Decoder] = {}


def _decoder(model: Path, markup: bool = False) -> Decoder:
    if (model, markup) not in _DECODERS:
        _DECODERS[model, markup] = Decoder(model, search=Search(markup=markup))
    return _DECODERS[model, markup]


def test_calls_that_cannot_be_answered(model: Path) -> None:
    decoder = Decoder(model)
    with pytest.raises(OptionError, match="at least 1"):
        decoder.nbest(["das"], 0)
    with pytest.raises(OptionError, match="a target for each of 2 lines, found 1"):
        decoder.force(["das", "ist"], ["the"])
    with pytest.raises(OptionError, match="constraints for each"):
        decoder.translate(["das"], constraints=[Constraints(), Constraints()])
    with pytest.raises(OptionError, match="no feature"):
        decoder.translate(["das"], weights=Weights.of({"nope": 1.0}))


def test_a_model_or_a_moses_ini(cli: Cli, model: Path) -> None:
    assert "either --model or --moses-ini" in cli("translate")[2]
    assert "either --model or --moses-ini" in cli("translate", "--model", model, "--moses-ini", "x")[2]
    code, _, err = cli("translate", "--model", model / "nowhere", "--input", os.devnull)
    assert code != 0 and "no such folder" in err
