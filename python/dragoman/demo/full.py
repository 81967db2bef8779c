"""The demonstration behind `make demo`: from a corpus that it writes itself to a report, by commands that it shows."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import click

from dragoman._core import VERSION
from dragoman.demo import corpus
from dragoman.demo.corpus import Sizes, plain
from dragoman.demo.report import written
from dragoman.demo.results import SHORT, Results, read
from dragoman.errors import InputError
from dragoman.files import write_bytes
from dragoman.report.page import check_ready

__all__ = ["Request", "Step", "run", "steps", "write_text"]

_SETTINGS = "demo.json"
_SECONDS = "seconds.json"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for."""

    folder: Path
    sizes: Sizes = field(default_factory=Sizes)
    seed: int = 0
    rounds: int = 6
    """Of MERT, and of MIRA for the hierarchical system, at most."""
    epochs: int = 6
    """Of AdaGrad."""


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the demonstration: what it is for, and the arguments of its commands."""

    name: str
    title: str
    commands: Sequence[Sequence[str]]


_TEXT = "train --src {folder}/train.de --tgt {folder}/train.en --tokenized --order 4 --classes none "
_TRAIN = _TEXT + "--out {folder}/model"
_GAPS = _TEXT + "--system hiero --out {folder}/gaps"
_TUNING = (
    "--src {folder}/tune.de --refs {folder}/tune.en --held-out {folder}/dev.de "
    "--held-out-refs {folder}/dev.en --pop-limit 100 "
)
_TUNE = "tune --model {folder}/model " + _TUNING + "--stack-size 100 "
_MERT = _TUNE + "--tuner mert:order=cyclic,starts=10 --nbest-size 100 --epochs {rounds} --out {folder}/mert"
_HIERO = (
    "tune --model {folder}/gaps " + _TUNING + "--tuner kbmira --nbest-size 100 --epochs {rounds} --out {folder}/hiero"
)
_ADAGRAD = (
    _TUNE + "--tuner adagrad:rate=0.1 --features pt,al,lo --nbest-size 50 --epochs {epochs} --out {folder}/adagrad"
)
_TRANSLATE = "translate --model {folder}/model --input {folder}/test.de --stack-size 100 --pop-limit 100 "
_TRANSLATIONS = (
    _TRANSLATE + "--output {folder}/test.start.en",
    _TRANSLATE + "--weights {folder}/mert/weights.toml --output {folder}/test.mert.en",
    "translate --model {folder}/hiero --input {folder}/test.de --pop-limit 100 --output {folder}/test.hiero.en",
    _TRANSLATE + "--weights {folder}/adagrad/weights.toml --features pt,al,lo --output {folder}/test.adagrad.en",
)
_COMPARISONS = (
    "compare {folder}/test.start.en {folder}/test.mert.en --refs {folder}/test.en --metric bleu:tokenize=none chrf",
    "compare {folder}/test.mert.en {folder}/test.hiero.en --refs {folder}/test.en --metric bleu:tokenize=none chrf",
    "compare {folder}/test.mert.en {folder}/test.adagrad.en --refs {folder}/test.en --metric bleu:tokenize=none chrf",
)


def steps(request: Request) -> list[Step]:
    """All that is done after the corpus was written."""

    def arguments(*commands: str) -> list[list[str]]:
        fields = {"folder": request.folder, "rounds": request.rounds, "epochs": request.epochs}
        return [[word.format(**fields) for word in command.split()] for command in commands]

    return [
        Step("train", f"Train a phrase-based model on {request.sizes.train:,} sentence pairs", arguments(_TRAIN)),
        Step("mert", "Tune the dense weights with MERT", arguments(_MERT)),
        Step("gaps", "Train a hierarchical model on the same text: rules with gaps", arguments(_GAPS)),
        Step("hiero", "Tune its dense weights with MIRA", arguments(_HIERO)),
        Step("adagrad", "Tune thousands of sparse features with AdaGrad", arguments(_ADAGRAD)),
        Step("translate", "Translate the test set four times", arguments(*_TRANSLATIONS)),
        Step("compare", "More than luck? MERT against the start, the other two against MERT", arguments(*_COMPARISONS)),
    ]


def write_text(request: Request) -> None:
    """Writes the corpus, unless it is there. A folder that holds another one is refused."""
    folder, wanted = request.folder, json.dumps({"version": VERSION, **_settings(request)}).encode()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / _SETTINGS
    if settings.exists() and settings.read_bytes() != wanted:
        raise InputError(
            f"{folder}: there is a demonstration with other sizes, seed or version; remove it or use another --out",
            str(settings),
        )
    write_bytes(settings, wanted)
    files = [folder / f"{name}.{language}" for name in ("train", "tune", "dev", "test") for language in ("de", "en")]
    if not all(file.exists() for file in files):
        corpus.write(folder, request.sizes, request.seed)


def _settings(request: Request) -> dict[str, object]:
    """All that the results depend on."""
    commands = [step.commands for step in steps(replace(request, folder=Path()))]
    return {**asdict(request.sizes), "seed": request.seed, "commands": commands}


def run(request: Request, command: Callable[[list[str]], int]) -> int:
    """Runs all steps, or those that are left of a run that was killed, and writes `report.html`."""
    check_ready()
    began, todo = time.monotonic(), steps(request)
    seconds = _Seconds(request.folder)
    total = len(todo) + 2
    _announce(began, 1, total, "Write a German-English corpus from a grammar")
    click.echo(f"$ dragoman {shlex.join(text_command(request))}")
    with seconds.of("text"):
        write_text(request)
    for number, step in enumerate(todo, start=2):
        _announce(began, number, total, step.title)
        with seconds.of(step.name):
            for arguments in step.commands:
                click.echo(f"$ dragoman {shlex.join(arguments)}")
                code = command(list(arguments))
                if code != 0:
                    return code
    _announce(began, total, total, "Write the report")
    results = read(request.folder, seconds.noted)
    commands = [Step("text", "Write the corpus", [text_command(request)]), *todo]
    report = request.folder / "report.html"
    write_bytes(report, written(request.folder, results, [(s.name, s.title, s.commands) for s in commands]).encode())
    _tell(results)
    click.echo(f"\nThe report: {report} ({time.monotonic() - began:.0f} s in all)")
    return 0


def text_command(request: Request) -> list[str]:
    """Arguments that write the corpus alone."""
    options = ["--pairs", str(request.sizes.train), "--seed", str(request.seed), "--out", str(request.folder)]
    return ["demo", "--text", *options]


def _announce(began: float, number: int, total: int, title: str) -> None:
    click.echo(f"\n[{time.monotonic() - began:4.0f} s] {number}/{total} {title}")


def _tell(results: Results) -> None:
    """The comparison and a few translations, for the terminal."""
    click.echo()
    for system in results.systems:
        change = system.change
        more = f"  {change.difference:+.2f} over {system.against}, p = {change.p_value:.4f}" if change else ""
        click.echo(f"{system.title:34} BLEU {system.bleu.score:.2f}{more}")
    for example in results.examples[:3]:
        click.echo()
        for title, text in (("German", example.source), *zip(SHORT.values(), example.outputs, strict=True)):
            click.echo(f"{title:12} {plain(text)}")
        click.echo(f"{'reference':12} {plain(example.reference)}")


class _Seconds:
    """How long each step took, kept beside the results: a step that is only looked at again keeps its time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / _SECONDS
        self.noted: dict[str, float] = json.loads(self.path.read_bytes()) if self.path.exists() else {}
        self.name, self.began = "", 0.0

    def of(self, name: str) -> _Seconds:
        """Measures the block that follows."""
        self.name, self.began = name, time.monotonic()
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is None and self.name not in self.noted:
            self.noted[self.name] = round(time.monotonic() - self.began, 1)
            write_bytes(self.path, json.dumps(self.noted).encode())
