"""From Python alone: train, tune, translate, explain, rerank, compare; the command line gives the same bytes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.errors import DragomanError, OptionError

Cli = Callable[..., tuple[int, str, str]]

NOUNS = {"hund": "dog", "mann": "man", "vogel": "bird", "baum": "tree", "ball": "ball", "fisch": "fish"}
VERBS = {"sieht": "sees", "sucht": "seeks", "kennt": "knows", "malt": "paints"}


def pairs() -> list[tuple[str, str]]:
    """Sentences of a small language; German puts the adverb before the object."""
    found = []
    for (a, b), (v, w), (c, d) in product(NOUNS.items(), VERBS.items(), NOUNS.items()):
        if a != c:
            found.append((f"der {a} {v} den {c}", f"the {b} {w} the {d}"))
            if a < c:
                found.append((f"der {a} {v} oft den {c}", f"the {b} often {w} the {d}"))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verbs")
    text = pairs()
    parts = {"train": text[::2], "dev": text[1::6], "test": text[3::6]}
    for name, part in parts.items():
        for side, language in enumerate(("de", "en")):
            (path / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in part))
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    dragoman.train(
        folder / "train.de", folder / "train.en", folder / "model", tokenizer="none", case="keep", order=3, classes=()
    )
    return folder / "model"


TRAIN = ("--tokenizer", "none", "--case", "keep", "--order", "3", "--classes", "none")


def same_files(one: Path, two: Path) -> None:
    names = sorted(path.name for path in one.iterdir() if path.name not in {"report.json"})
    assert names == sorted(path.name for path in two.iterdir() if path.name not in {"report.json"})
    for name in names:
        if (one / name).is_file() and name not in {"trace.jsonl", "curve.png", "took.json"}:
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_the_whole_path(folder: Path, model: Path, cli: Cli, tmp_path: Path) -> None:
    # Train.
    code, _, err = cli(
        "train", "--src", folder / "train.de", "--tgt", folder / "train.en", "--out", tmp_path / "model", *TRAIN
    )
    assert code == 0, err
    same_files(model, tmp_path / "model")
    # Tune.
    start = dragoman.Weights.of({**dragoman.load(model).weights.to_dict(), "LM": 0.01})
    dragoman.weights.save(tmp_path / "start.toml", start)
    tuned = dragoman.tune(
        model, folder / "dev.en", source=folder / "dev.de", tuner="kbmira", start=tmp_path / "start.toml",
        out=tmp_path / "py", epochs=2, nbest_size=20,
    )  # fmt: skip
    command = ["tune", "--model", model, "--src", folder / "dev.de", "--refs", folder / "dev.en", "--tuner", "kbmira"]
    command += ["--start", tmp_path / "start.toml", "--out", tmp_path / "cli", "--epochs", 2, "--nbest-size", 20]
    code, out, err = cli(*map(str, command))
    assert code == 0, err
    assert str(tuned) in out
    for name in ("weights.toml", "steps/001.toml"):
        assert (tmp_path / "py" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    assert tuned.end.score >= tuned.start.score
    # Translate.
    loaded = dragoman.load(model, weights=tmp_path / "py" / "weights.toml")
    lines = (folder / "test.de").read_text().splitlines()
    texts = [found.text for found in loaded.translate(lines)]
    code, out, err = cli(
        "translate", "--model", model, "--weights", tmp_path / "cli" / "weights.toml", "--input", folder / "test.de"
    )
    assert code == 0, err
    assert out.splitlines() == texts
    # Explain.
    (tmp_path / "one").write_text(lines[0] + "\n")
    code, out, err = cli(
        "translate",
        "--model",
        model,
        "--weights",
        tmp_path / "cli" / "weights.toml",
        "--input",
        tmp_path / "one",
        "--explain",
    )
    assert (code, out) == (0, f"{loaded.explain(lines[0])}\n\n"), err
    # N-best lists, reranked.
    options = ["--nbest", "20", "--nbest-out", str(tmp_path / "list.jsonl"), "--output", str(tmp_path / "best")]
    code, _, err = cli("translate", "--model", model, "--input", folder / "dev.de", *options)
    assert code == 0, err
    weights = dragoman.tune(
        tmp_path / "list.jsonl", folder / "dev.en", "bleu:tokenize=none", "mert:starts=2", out=tmp_path / "w.toml"
    )
    chosen = dragoman.rerank(tmp_path / "list.jsonl", weights.weights)
    code, out, err = cli("rerank", "--nbest", tmp_path / "list.jsonl", "--weights", tmp_path / "w.toml")
    assert (code, out.splitlines()) == (0, list(chosen.texts)), err
    # Compare.
    (tmp_path / "new").write_text("\n".join(texts) + "\n")
    (tmp_path / "old").write_text("\n".join(lines) + "\n")
    systems = {str(tmp_path / name): tmp_path / name for name in ("old", "new")}
    results = dragoman.compare(systems, folder / "test.en", "bleu:tokenize=none", samples=100)
    code, out, err = cli(
        "compare", *systems, "--refs", folder / "test.en", "-m", "bleu:tokenize=none", "--samples", 100
    )
    assert (code, out) == (0, f"{results[0]}\n"), err
    assert results[0].difference > 20
    found = dragoman.score(tmp_path / "new", folder / "test.en", "bleu:tokenize=none")
    code, out, err = cli("score", tmp_path / "new", "--refs", folder / "test.en", "-m", "bleu:tokenize=none")
    assert (code, out) == (0, f"{found}\n"), err


def test_a_translation(model: Path) -> None:
    with dragoman.load(model) as loaded:
        assert "model" in repr(loaded)
        found = loaded.translate("der hund sieht den baum")
        assert str(found) == found.text == "the dog sees the tree"
        assert found.words == ("the", "dog", "sees", "the", "tree")
        assert [(found.source_words[s], found.words[t]) for s, t in found.alignment][1] == ("hund", "dog")
        features, weights = found.features, loaded.weights
        assert sum(weights[name] * value for name, value in features.items()) == pytest.approx(found.score, abs=1e-3)
        assert found.derivation.text == found.text
        assert "dog" in found._repr_html_() and found.to_dict()["text"] == found.text
        # Many lines: one by one, from any iterable, however long.
        stream = loaded.translate(line for line in ["der mann", "", "der ball"])
        assert [item.text for item in stream] == ["the man", "", "the ball"]
        listed = loaded.nbest("der hund sieht den baum", 5)
        assert listed[0].text == found.text and len(listed) > 1
        for other in listed[1:]:
            assert other.score <= found.score
            assert sum(weights[n] * v for n, v in other.features.items()) == pytest.approx(other.score, abs=1e-3)
            assert other.derivation.text == other.text
        assert loaded.score("der hund sieht den baum", "the dog sees the tree") == pytest.approx(found.score, abs=1e-3)
        assert loaded.score("der hund", "nothing like it") == -float("inf")
        assert loaded.align("der hund", "the dog") == [(0, 0), (1, 1)]
        assert [len(item) for item in loaded.nbest(["der mann", "der ball"], 2)] == [2, 2]


def test_references_as_people_have_them() -> None:
    output = ["the dog sees the tree", "a bird"]
    single = dragoman.score(output, output, "bleu:tokenize=none,smooth=exp").score
    assert single == dragoman.score(output, [[line] for line in output], dragoman.Bleu(tokenize="none")).score
    two = dragoman.score(output, [["x", output[0]], [output[1], "y"]], ["bleu:tokenize=none", "chrf"])
    assert two["BLEU"].score == single and "nrefs:2" in two["BLEU"].signature


def _wrong(value: Any) -> Any:
    """A value of a type that is not expected."""
    return value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dragoman.score(["a"], None), "expected references"),
        (lambda: dragoman.score(["a"], 3), "expected references, found int"),
        (lambda: dragoman.score(["a"], [3]), "sentence 0, found int"),
        (lambda: dragoman.score(_wrong([1]), ["a"]), "expected output as a file or as lines of text, found int"),
        (lambda: dragoman.score(["a"], ["a", "b"]), "expected 1 lines as in output, found 2"),
        (lambda: dragoman.score(["a"], ["a"], _wrong(5)), "expected a metric, such as `bleu` or Bleu"),
        (lambda: dragoman.score(["a"], ["a"], "blue"), "did you mean bleu?"),
        (lambda: dragoman.score(["a"], ["a"], sample=5), "unknown option `sample`; did you mean samples?"),
        (lambda: dragoman.compare({"a": ["x"]}, ["x"]), "at least two systems"),
        (lambda: dragoman.tune(None, ["a"]), "expected n-best lists as a file, records or Candidates, found None"),
        (lambda: dragoman.tune([{"id": 0, "text": "a"}], None), "expected references of the lists"),
        (lambda: dragoman.tune([{"id": 0, "text": "a"}], ["a"], tuner=_wrong(7)), "expected a tuner, such as `kbmira`"),
        (lambda: dragoman.tune([{"id": 0, "text": "a"}], ["a"], epochs=3), "epochs is for tuning with a model"),
        (lambda: dragoman.load("nowhere"), "nowhere: expected a model, found no such folder"),
    ],
)
def test_wrong_calls_get_one_sentence(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(DragomanError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_calls_of_a_model(model: Path) -> None:
    loaded = dragoman.load(model)
    for call in (lambda: loaded.score(1, "a"), lambda: list(loaded.translate([1]))):  # type: ignore[arg-type, list-item]
        with pytest.raises(OptionError, match="expected a line of text, found int"):
            call()
    with pytest.raises(OptionError, match="expected a line of text, or lines, found NoneType"):
        loaded.translate(_wrong(None))
    with pytest.raises(OptionError, match="expected a line of text, or lines, found bytes"):
        loaded.nbest(_wrong(b"der hund"))
    with pytest.raises(OptionError, match="did you mean pop_limit"):
        dragoman.load(model, pop_limt=3)


def test_text_that_the_model_was_not_made_for_is_noticed(model: Path, cli: Cli, tmp_path: Path) -> None:
    expected = "3 words are unknown as they are written, 0 if the text is lower-cased: .* prepare it"
    loaded = dragoman.load(model)
    loaded.translate("der hund sieht den mann")
    with pytest.warns(UserWarning, match=expected):
        loaded.translate("Der Hund sieht den Mann")
    loaded.translate("Der Hund sieht den Mann")  # once is enough
    with pytest.warns(UserWarning, match=expected):
        list(dragoman.load(model).translate(["der hund", "Der Hund sieht den Mann"]))
    dragoman.load(model).translate("Der Hund sieht den Mann", tokenized=True)
    text = tmp_path / "in.de"
    text.write_text("Der Hund sieht den Mann\n")
    assert "warning: " + str(model) in cli("translate", "--model", model, "--input", text)[2]
    assert cli("translate", "--model", model, "--input", text, "--tokenized")[2] == ""


def test_python_m(model: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "dragoman", "-V"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"dragoman, version {dragoman.__version__}"


def test_signals_have_their_exit_codes(model: Path) -> None:
    """130 after Ctrl-C, 143 after SIGTERM, and the way to go on is named."""
    for number, code in ((2, 130), (15, 143)):
        command = [sys.executable, "-m", "dragoman", "translate", "--model", str(model)]
        # Programs that a shell starts in the background have Ctrl-C ignored, and so have those that they start.
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        run = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=heard,  # noqa: PLW1509  it needs no lock
        )  # fmt: skip
        assert run.stdin is not None and run.stdout is not None
        run.stdin.write("der hund\n")
        run.stdin.flush()
        assert run.stdout.readline() == "the dog\n"
        run.send_signal(number)
        assert run.wait(timeout=20) == code
        assert "the same command goes on" in run.communicate()[1]
