"""Damaged models: bytes of every file of a small one are changed at random, and it is asked for a translation.

The answer is an error in a sentence, or a translation; never a crash, a hang or a traceback. It is asked in a process
of its own, so that a crash is seen and told with the change that made it.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests import tiny

from dragoman import lm, toml, weights
from dragoman.decoder import Decoder
from dragoman.errors import DragomanError
from dragoman.model import MANIFEST, Part, file_hash, seal

SECONDS = 60
"""After which an answer is a hang; a machine that is busy has its time."""
CASES = 600
"""Of each file."""
LINES = ["a b c d", "h g", "x"]
Change = tuple[str, bytes, bool]
"""A file, what it holds now, and whether its size and hash in `model.toml` fit that."""


def asked(folder: Path) -> str:
    """`translated`, the kind of the error, or what else came of it."""
    try:
        decoder = Decoder(folder, threads=1)
        decoder.text.before(LINES)
        decoder.nbest(LINES, 5)
    except DragomanError as error:
        text = str(error)
        return "refused" if text and "Traceback" not in text else f"no sentence: {text!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "translated"


def work(folder: Path, pipe: Connection) -> None:
    """Applies changes as they come, one at a time, and answers."""
    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    while True:
        name, content, fitting = pipe.recv()
        (folder / name).write_bytes(content)
        if fitting:
            fit(folder, name)
        pipe.send(asked(folder))
        for changed in {name, MANIFEST}:
            (folder / changed).write_bytes(whole[changed])


def fit(folder: Path, name: str) -> None:
    """Makes `model.toml` say what the file is now."""
    content = toml.load(folder / MANIFEST, "a model")
    for entry in content["files"]:
        if entry["path"] == name:
            entry |= {"bytes": (folder / name).stat().st_size, "hash": file_hash(folder / name)}
    (folder / MANIFEST).write_text(toml.dumps(content))


class Asker:
    """Asks a process, and starts another when that one has died or hangs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: multiprocessing.process.BaseProcess | None = None

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.whole = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(self.folder, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, change: Change) -> str:
        """The answer to a change."""
        if self.process is None:
            self.start()
        assert self.process is not None
        self.pipe.send(change)
        try:
            if self.pipe.poll(SECONDS):
                return str(self.pipe.recv())
            answer = f"no answer in {SECONDS} seconds"
        except EOFError:
            self.process.join()
            answer = f"the process ended with {self.process.exitcode}"
        self.stop()
        for name, content in self.whole.items():
            (self.folder / name).write_bytes(content)
        return answer

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, most often; or cut, or with bytes put in, taken out or repeated."""
    damaged = bytearray(content)
    kind = rng.random()
    if kind < 0.7:
        for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
            at = rng.randrange(len(damaged))
            damaged[at] = rng.choice([rng.randrange(256), 0, 255, damaged[at] ^ (1 << rng.randrange(8))])
    elif kind < 0.8:
        del damaged[rng.randrange(len(damaged)) :]
    elif kind < 0.9:
        at, size = rng.randrange(len(damaged)), rng.randint(1, 64)
        del damaged[at : at + size]
    else:
        at, start = rng.randrange(len(damaged)), rng.randrange(len(damaged))
        damaged[at:at] = damaged[start : start + rng.randint(1, 64)]
    return bytes(damaged)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a table, two language models, a list of words, classes, and weights of sparse features."""
    path = tiny.model(tmp_path_factory.mktemp("damaged") / "model")
    for left in ("rules.txt", "text"):
        (path / left).unlink()
    lm.convert(path / "lm.arpa", path / "lm.bin")
    (path / "only").write_text("".join(f"wp:{a}>{b}\n" for a in tiny.SOURCE for b in tiny.TARGET))
    (path / "target.2.classes").write_text("".join(f"{word}\t{2 + n % 2}\n" for n, word in enumerate(tiny.TARGET)))
    given = weights.load(path / "weights.toml").to_dict()
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["one"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm.arpa"}),
        Part("lm", "LM2", {"path": "lm.bin"}),
        Part("word-penalty", "Words"),
        Part("unknown-penalty", "Unknown"),
        Part("distortion", "Distortion"),
        Part("wp", "wp", {"only": "only"}),
        Part("pb", "pb", {"classes": "target.2.classes", "size": 2}),
    ]
    given |= {"LM2": 0.1, "wp:a>s": 0.2, "pb:2>3": 0.1}
    text = {"languages": ["de", "en"], "tokenizers": ["none", "none"], "case": "lower", "bars": "escape"}
    seal(path, tables=["t.rules"], parts=parts, initial=given, search={"pop_limit": 50}, text=text)
    Decoder(path).nbest(LINES, 5)
    return path


FILES = [MANIFEST, "weights.toml", "t.rules", "lm.arpa", "lm.bin", "only", "target.2.classes"]


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_model_answers(folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    attack(folder, tmp_path, name, int(os.environ.get("FUZZ_MODELS", str(CASES))), capsys)


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_many_damaged_models_answer(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attack(folder, tmp_path, name, int(os.environ.get("FUZZ_MODELS", "20000")), capsys, seed=os.getpid())


def attack(
    folder: Path, tmp_path: Path, name: str, cases: int, capsys: pytest.CaptureFixture[str], seed: int = 0
) -> None:
    """Changes one file in many ways; half of the time its size and hash are made to fit, as an attacker would."""
    copy = Path(shutil.copytree(folder, tmp_path / "model"))
    content, rng, counts = (copy / name).read_bytes(), random.Random(f"{name} {seed}"), Counter[str]()
    listed = name not in {MANIFEST, "weights.toml"}
    asker = Asker(copy)
    bad = []
    try:
        for case in range(cases):
            change = (name, mutated(content, rng), listed and rng.random() < 0.5)
            answer = asker.ask(change)
            counts[answer if answer in {"translated", "refused"} else "bad"] += 1
            if answer not in {"translated", "refused"}:
                bad.append(f"case {case} of seed {seed}: {answer}")
    finally:
        asker.stop()
    with capsys.disabled():
        print(f"\n{name}: {dict(counts)}")
    assert not bad, "\n".join(bad[:20])
    assert counts["refused"], "some damage must be seen"
