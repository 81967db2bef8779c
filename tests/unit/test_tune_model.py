"""`dragoman tune --model`: the decoder in the loop, from the command line."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import cast

import pytest

from dragoman import Bleu, toml, weights
from dragoman.cli.course import _Course
from dragoman.decoder import Decoder, DecoderSource
from dragoman.training import Options, train
from dragoman.types import Weights

Cli = Callable[..., tuple[int, str, str]]
DRAGOMAN = [sys.executable, "-c", "from dragoman.cli import main; main()"]


def sentences() -> list[tuple[str, str]]:
    nouns = [("hund", "dog"), ("mann", "man"), ("vogel", "bird"), ("baum", "tree"), ("ball", "ball")]
    verbs = [("sieht", "sees"), ("sucht", "seeks"), ("hat", "has")]
    return [
        (f"der {a} {v} den {b}", f"the {x} {w} the {y}")
        for (a, x), (v, w), (b, y) in product(nouns, verbs, nouns)
        if a != b
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a text to tune on, another to judge on, and weights that are no good."""
    root = tmp_path_factory.mktemp("tune")
    pairs = sentences()
    for name, part in (("train", pairs[::2]), ("dev", pairs[1::4]), ("test", pairs[3::4])):
        for side, lines in zip(("de", "en"), zip(*part, strict=True), strict=True):
            (root / f"{name}.{side}").write_text("\n".join(lines) + "\n")
    trained = train(root / "train.de", root / "train.en", root / "model", classes=(3,), order=3, tokenized=True)
    start = dict.fromkeys(trained.model.weights.to_dict(), 0.0)
    start |= {"p(f|e)": 0.1, "p(e|f)": 0.1, "LM": 0.05, "Distortion": -0.2, "WordPenalty": -0.1, "UnknownPenalty": 1.0}
    weights.save(root / "bad.toml", Weights.of(start))
    return root


def tune(folder: Path, out: Path, *more: str) -> list[str]:
    files = {"--model": "model", "--src": "dev.de", "--refs": "dev.en", "--start": "bad.toml"}
    given = [part for option, name in files.items() for part in (option, str(folder / name))]
    return ["tune", *given, "--out", str(out), "--nbest-size", "100", "--epochs", "3", *more]


@pytest.mark.parametrize(
    "tuner",
    ["kbmira", "pro", "mert:starts=2", "smooth-mert", "adagrad:rate=0.2", "mira", "lattice-mira", "forest-mert"],
)
def test_bad_weights_become_good_ones(cli: Cli, folder: Path, tmp_path: Path, tuner: str) -> None:
    held_out = ["--held-out", str(folder / "test.de"), "--held-out-refs", str(folder / "test.en")]
    code, out, err = cli(*tune(folder, tmp_path / "t", "--tuner", tuner, "--json", *held_out))
    assert code == 0, err
    run = json.loads(out)["runs"][0]
    assert run["held_out"]["score"] > run["held_out_start"]["score"] + 3
    found = weights.load(tmp_path / "t" / "weights.toml")
    assert found["UnknownPenalty"] == 1.0, "what no weight can change stays"
    trace = [json.loads(line) for line in (tmp_path / "t" / "trace.jsonl").read_text().splitlines()]
    assert run["best"] == max(trace, key=lambda record: record["held_out"])["step"]
    code, out, _ = cli(
        "translate", "--model", folder / "model", "--weights", tmp_path / "t" / "weights.toml",
        "--input", folder / "test.de",
    )  # fmt: skip
    assert out == (tmp_path / "t" / "held-out.txt").read_text()


@pytest.mark.parametrize(("options", "tuner"), [([], "smooth-mert"), (["--features", "pt"], "adagrad")])
def test_the_tuner_that_runs_if_none_is_named(
    cli: Cli, folder: Path, tmp_path: Path, options: list[str], tuner: str
) -> None:
    code, _, err = cli(*tune(folder, tmp_path / "t", "--epochs", "1", *options))
    assert code == 0, err
    assert toml.load(tmp_path / "t" / "config.toml", "a run")["tuner"] == tuner


class Searching:
    """Stands for a decoder: only its count of sentences is looked at."""

    searched = 0


def test_how_far_an_epoch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, decoder = [0.0], Searching()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    course = _Course(cast(Decoder, decoder), Bleu(), 3, (30, 10))

    def pass_by(seconds: float, sentences: int) -> None:
        clock[0] += seconds
        decoder.searched += sentences

    pass_by(2.0, 10)
    assert course.now() == "epoch 0/3  10 of 40 sentences translated  0:02"
    assert course.ended({"step": 0, "score": 30.0}) == "epoch 0/3  BLEU 30.00"
    pass_by(20.0, 30)
    assert course.now() == "epoch 1/3  30 of 30 sentences translated  0:20"
    pass_by(30.0, 10)
    assert course.now() == "epoch 1/3  scoring  0:50", "a text that is translated again has no more sentences"
    record = {"step": 1, "score": 31.0, "held_out": 29.5, "nonzero": 1200, "seconds": 50.0}
    assert course.ended(record) == "epoch 1/3  BLEU 31.00  held-out 29.50  1,200 weights  50.0 s  at most 1:40 left"
    pass_by(20.0, 16)
    assert course.now() == "epoch 2/3  16 of 30 sentences translated  0:20  at most 1:20 left"
    pass_by(5.0, 18)
    assert course.now() == "epoch 2/3  scoring, 4 of 10 sentences translated  0:25  at most 1:15 left"
    pass_by(95.0, 12)  # longer than the one before
    assert course.now() == "epoch 2/3  scoring, 10 of 10 sentences translated  2:00"
    course.ended(record | {"step": 3})
    assert course.now() == "scoring the result"


def test_the_decoder_counts_what_it_has_searched(folder: Path) -> None:
    decoder, lines = Decoder(folder / "model"), (folder / "dev.de").read_text().splitlines()[:5]
    source = DecoderSource(decoder, lines, 3)
    decoder.translate(lines)
    assert decoder.searched == 5
    source.candidates([0, 2], decoder.weights)
    source.forests([1], decoder.weights)
    source.best(decoder.weights)
    assert decoder.searched == 5 + 2 + 1 + 5


def test_sparse_features_get_weights(cli: Cli, folder: Path, tmp_path: Path) -> None:
    options = ["--tuner", "adagrad:rate=0.2,l1=0.001", "--features", "pt,wp"]
    code, _, err = cli(*tune(folder, tmp_path / "t", *options))
    assert code == 0, err
    names = weights.load(tmp_path / "t" / "weights.toml").to_dict()
    assert any(name.startswith("pt:") and value for name, value in names.items())
    again = ["--features", "pt,wp", "--weights", str(tmp_path / "t" / "weights.toml")]
    code, _, err = cli("translate", "--model", folder / "model", "--input", folder / "test.de", *again)
    assert code == 0, err


def test_threads_change_nothing(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Which batch meets a name first is chance, and no sum may depend on it."""
    found = []
    for run, threads in enumerate(("1", "2", "4", "4")):
        options = ["--tuner", "adagrad:rate=0.2,batch=2", "--features", "pt,al,lo", "--threads", threads]
        code, _, err = cli(*tune(folder, tmp_path / str(run), *options))
        assert code == 0, err
        found.append(weights.load(tmp_path / str(run) / "weights.toml").to_dict())
    assert found[0] == found[1] == found[2] == found[3]


def test_text_is_prepared_as_the_model_has_it(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Plain text gives what its words give with --tokenized."""
    truecased = Options.of(classes=(3,), order=3, case="truecase", tokenizer="none")
    for side in ("de", "en"):
        for part in ("train", "dev", "test"):
            lines = (folder / f"{part}.{side}").read_text().splitlines()
            (tmp_path / f"{part}.{side}").write_text("".join(line.capitalize() + "\n" for line in lines))
    train(tmp_path / "train.de", tmp_path / "train.en", tmp_path / "model", truecased)
    weights.save(tmp_path / "bad.toml", weights.load(folder / "bad.toml"))
    text = Decoder(tmp_path / "model").text
    for side, prepare in (("de", text.before), ("en", text.reference)):
        for part in ("dev", "test"):
            lines = prepare((tmp_path / f"{part}.{side}").read_text().splitlines())
            (tmp_path / f"words.{part}.{side}").write_text("".join(f"{line}\n" for line in lines))
    found = []
    for part, more in (("", []), ("words.", ["--tokenized"])):
        test = [str(tmp_path / f"{part}test.{side}") for side in ("de", "en")]
        files = {"--model": "model", "--src": f"{part}dev.de", "--refs": f"{part}dev.en", "--start": "bad.toml"}
        given = [word for option, name in files.items() for word in (option, str(tmp_path / name))]
        code, _, err = cli(
            "tune", *given, "--tuner", "kbmira", "--epochs", "2", "--out", str(tmp_path / f"t{part}"),
            "--held-out", test[0], "--held-out-refs", test[1], *more,
        )  # fmt: skip
        assert code == 0, err
        found.append(weights.load(tmp_path / f"t{part}" / "weights.toml").to_dict())
    assert found[0] == found[1]
    plain, words = ((tmp_path / f"t{part}" / "held-out.txt").read_text() for part in ("", "words."))
    assert plain.startswith("The ") and words.startswith("the ")


def test_replications_and_resuming(cli: Cli, folder: Path, tmp_path: Path) -> None:
    held_out = ["--held-out", str(folder / "test.de"), "--held-out-refs", str(folder / "test.en")]
    options = ["--tuner", "adagrad", "--replications", "2", *held_out]
    code, out, err = cli(*tune(folder, tmp_path / "t", *options))
    assert code == 0, err
    assert "over 2 runs" in out
    first = (tmp_path / "t" / "run2" / "weights.toml").read_bytes()
    code, _, err = cli(*tune(folder, tmp_path / "t", *options))
    assert code == 0, err
    assert (tmp_path / "t" / "run2" / "weights.toml").read_bytes() == first
    code, _, err = cli(*tune(folder, tmp_path / "t", "--tuner", "adagrad:stale=0", *options[2:]))
    assert code == 1 and "other inputs or options" in err


def test_a_share_of_the_text_is_held_out(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "t"
    options = ["--tuner", "adagrad", "--held-out", "0.25", "--replications", "2"]
    code, shown, err = cli(*tune(folder, out, *options, "--json"))
    assert code == 0, err
    lines, apart = (name.read_text().splitlines() for name in (folder / "dev.de", out / "held-out.src"))
    assert len(apart) == round(len(lines) / 4)
    assert [line for line in lines if line in apart] == apart, "in order"
    pairs = dict(zip(lines, (folder / "dev.en").read_text().splitlines(), strict=True))
    assert (out / "held-out.ref.0").read_text().splitlines() == [pairs[line] for line in apart]
    # The runs have the same split: their scores are those of `dragoman score` on what they left.
    for number, run in enumerate(json.loads(shown)["runs"], 1):
        output = str(out / f"run{number}" / "held-out.txt")
        code, score, err = cli("score", output, "--refs", str(out / "held-out.ref.0"), "-m", "bleu:tokenize=none")
        assert code == 0, err
        assert f"{run['held_out']['score']:.2f}" in score
    rest = {"dev.de": [line for line in lines if line not in apart]}
    rest["dev.en"] = [pairs[line] for line in rest["dev.de"]]
    given = ["--held-out", str(out / "held-out.src"), "--held-out-refs", str(out / "held-out.ref.0")]
    command = tune(folder, tmp_path / "apart", "--tuner", "adagrad", *given)
    for name, column in rest.items():
        (tmp_path / name).write_text("\n".join(column) + "\n")
        command[command.index(str(folder / name))] = str(tmp_path / name)
    code, _, err = cli(*command)
    assert code == 0, err
    one, two = (weights.load(path / "weights.toml").to_dict() for path in (out / "run1", tmp_path / "apart"))
    assert one == two


def test_replications_without_held_out_text(cli: Cli, folder: Path, tmp_path: Path) -> None:
    code, out, err = cli(*tune(folder, tmp_path / "t", "--tuner", "adagrad", "--replications", "2", "--json"))
    assert code == 0, err
    told = json.loads(out)
    scores = [run["end"]["score"] for run in told["runs"]]
    assert told["spread"]["scores"] == pytest.approx(scores)
    assert told["spread"]["mean"] == pytest.approx(sum(scores) / 2)
    code, out, err = cli(*tune(folder, tmp_path / "t", "--tuner", "adagrad", "--replications", "2"))
    assert code == 0, err
    assert f"tuning BLEU: mean {sum(scores) / 2:.2f}" in out


def test_errors_come_before_the_work(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "hole.de").write_text("der hund\n\n")
    (tmp_path / "two.en").write_text("the dog\nthe dog\n")
    (tmp_path / "file").write_text("")
    model = ["--model", str(folder / "model")]
    dev = ["--src", str(folder / "dev.de"), "--refs", str(folder / "dev.en")]
    cases: list[tuple[list[str], int, str]] = [
        ([*model, "--refs", "x"], 1, "--src dev.de"),
        ([*model, "--src", str(folder / "dev.de")], 1, "--refs dev.en"),
        ([*model, *dev, "--nbest", "x"], 2, "either --nbest"),
        ([*model, *dev, "--held-out", "x"], 1, "with their references"),
        ([*model, *dev, "--held-out", "0.2", "--held-out-refs", "x"], 1, "leave the held-out references out"),
        ([*model, *dev, "--held-out", "0.001"], 1, "too few"),
        (
            [*model, "--src", str(tmp_path / "hole.de"), "--refs", str(tmp_path / "two.en")],
            1,
            "de:2: an empty line",
        ),
        ([*model, "--src", str(folder / "dev.de"), "--refs", str(tmp_path / "two.en")], 1, "two.en"),
        ([*model, *dev, "--features", "ptt"], 1, "did you mean pt?"),
        ([*model, *dev, "--fix", "LMM"], 1, "LMM"),
        ([*model, *dev, "--out", str(tmp_path / "file" / "t")], 1, "cannot be written"),
        (["--model", str(tmp_path), *dev], 1, "expected a model"),
    ]
    for arguments, want, message in cases:
        out = [] if "--out" in arguments else ["--out", str(tmp_path / "t")]
        code, _, err = cli("tune", *arguments, *out)
        assert (code, message in err) == (want, True), (arguments, err)


def _no_large_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))


def test_a_full_disk_is_told_and_nothing_is_lost(folder: Path, tmp_path: Path) -> None:
    """Files may not grow, as on a full disk: the error names one, and the run goes on when there is room again."""

    def command(name: str) -> list[str]:
        return [*DRAGOMAN, *tune(folder, tmp_path / name, "--tuner", "kbmira", "--features", "pt")]

    full = subprocess.run(command("full"), check=False, preexec_fn=_no_large_files, capture_output=True, text=True)
    assert full.returncode == 1
    assert f"dragoman: {tmp_path / 'full'}" in full.stderr
    assert (tmp_path / "full" / "config.toml").exists(), "what was written stays"
    for name in ("full", "whole"):
        subprocess.run(command(name), check=True, capture_output=True)
    whole, again = (weights.load(tmp_path / name / "weights.toml") for name in ("whole", "full"))
    assert again.to_dict() == whole.to_dict()


KILLED = [
    "smooth-mert",
    "kbmira",
    "mert:starts=2",
    "adagrad:rate=0.2",
    "mira",
    "lattice-mira",
    "forest-mert:directions=coordinate",
    "pro:iterations=3",
    "risk",
    "samplerank:chains=2",
]


@pytest.mark.parametrize("tuner", KILLED)
def test_kill_and_resume(folder: Path, tmp_path: Path, tuner: str) -> None:
    """Killed at moments that are spread over the run, it ends with the weights of a run that was not."""

    def command(name: str) -> list[str]:
        return [*DRAGOMAN, *tune(folder, tmp_path / name, "--tuner", tuner, "--features", "pt")]

    began = time.monotonic()
    subprocess.run(command("whole"), check=True, capture_output=True)
    seconds = time.monotonic() - began
    rng = random.Random(tuner)
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / ".checkpoint.1.partial").touch()
    for _ in range(2):
        with subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(rng.uniform(0.3, 1.0) * seconds)
            run.send_signal(signal.SIGKILL)
    subprocess.run(command("killed"), check=True, capture_output=True)
    whole, killed = (weights.load(tmp_path / name / "weights.toml") for name in ("whole", "killed"))
    assert killed.to_dict() == whole.to_dict()
    one, other = ((tmp_path / name / "weights.toml").read_bytes() for name in ("whole", "killed"))
    assert one == other, "names in the same order, too"
    assert not list((tmp_path / "killed").rglob(".*.partial")), "nothing half-written stays"
