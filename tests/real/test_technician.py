"""The path of somebody with a translation memory and no computer science: from a TMX to readable translations."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import dragoman
from dragoman.files import read_text
from dragoman.model import Model
from dragoman.preprocess import Preparation

Cli = Callable[..., tuple[int, str, str]]
FAULTS = {
    "a sign apart": re.compile(r"\s[.,;:!?](\s|$)"),
    "an opening quotation mark apart": re.compile(r"[“‘]\s+\w"),
    "a closing quotation mark apart": re.compile(r"\w[.,!?]?\s+[”’](\s|$)"),
    "marks of the tokeniser": re.compile("[\uffed\uffee]|&#124;"),
    "two spaces": re.compile(r"\s\s"),
}


def verses(data: Path, name: str, part: slice) -> list[str]:
    return read_text(data / "ebible" / f"{name}.gz").to_list()[part]


def memory(path: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """A TMX as other programs write it: regions in its languages, formatting codes in some units."""
    units = "".join(
        f'<tu><tuv xml:lang="ha-NG"><seg>{escape(hausa)}</seg></tuv>\n'
        f'<tuv xml:lang="en-US"><seg>{"<ph>{b}</ph>" if at % 7 == 0 else ""}{escape(english)}</seg></tuv></tu>\n'
        for at, (hausa, english) in enumerate(pairs)
    )
    head = '<header srclang="ha-NG" datatype="plaintext" segtype="sentence" creationtool="t" o-tmf="t" adminlang="en"/>'
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">{head}<body>\n{units}</body></tmx>\n')


def lines(path: Path, text: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return path


def tune_and_kill(folder: Path, arguments: Sequence[str]) -> None:
    """Kills the run when its first step is on the disk."""
    command = [sys.executable, "-c", "from dragoman.cli import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        end = time.monotonic() + 300
        while time.monotonic() < end and run.poll() is None and not list(folder.glob("steps/*")):
            time.sleep(0.01)
        assert run.poll() is None, "it has ended before it could be killed"
        run.send_signal(signal.SIGKILL)
    assert list(folder.glob("steps/*")) and not (folder / "weights.toml").exists()


def readable(found: Sequence[str]) -> None:
    """Text as people write it; a sentence may lack a quotation mark, but none is at the wrong side of a space."""
    wrong = {name: [line for line in found if fault.search(line)] for name, fault in FAULTS.items()}
    assert not any(wrong.values()), {name: lines[:3] for name, lines in wrong.items() if lines}
    starts = [line.lstrip("“‘'\"(")[:1] for line in found if line]
    assert sum(start.isupper() for start in starts) >= 0.95 * len(starts)


def bleu(found: Sequence[str], references: Sequence[str], metric: str = "bleu:tokenize=none") -> float:
    return dragoman.score(list(found), list(references), metric).score


def test_from_a_memory_to_readable_text(data: Path, tmp_path: Path, cli: Cli) -> None:
    part = slice(23_000, 26_000)  # the gospels, where people speak
    memory(
        tmp_path / "memory.tmx",
        list(zip(verses(data, "train.hau", part), verses(data, "train.en.0", part), strict=True)),
    )
    code, _, err = cli("train", "--bitext", tmp_path / "memory.tmx", "--out", tmp_path / "model")
    assert code == 0 and "from ha to en" in err and "warning" not in err, err
    about = Model.open(tmp_path / "model").text
    assert about["tokenizers"] == ["unicode", "unicode"] and about["case"] == "truecase"

    dev = [verses(data, name, slice(200)) for name in ("dev.hau", "dev.en.0")]
    tune = [
        "tune", "--model", str(tmp_path / "model"), "--src", str(lines(tmp_path / "dev.ha", dev[0])),
        "--refs", str(lines(tmp_path / "dev.en", dev[1])), "--tuner", "kbmira", "--epochs", "2", "--nbest-size", "30",
        "--stack-size", "50", "--pop-limit", "50", "--out", str(tmp_path / "tuned"),
    ]  # fmt: skip
    tune_and_kill(tmp_path / "tuned", tune)
    code, _, err = cli(*tune)
    assert code == 0, err

    source, plain = (verses(data, name, slice(400)) for name in ("test.hau", "test.en.0"))

    def translated(text: Sequence[str], *more: str) -> list[str]:
        options = ["--weights", tmp_path / "tuned" / "weights.toml", "--stack-size", "50", "--pop-limit", "50", *more]
        code, out, err = cli(
            "translate", "--model", tmp_path / "model", "--input", lines(tmp_path / "in", text), *options
        )
        assert code == 0, err
        return out.splitlines()

    found = translated(source)
    assert len(found) == len(source)
    readable(found)
    text = Preparation(about, tmp_path / "model")
    words, references = translated(text.before(source), "--tokenized"), text.reference(plain)
    prepared = bleu(words, references)
    # Both in the model's words: sacreBLEU cuts other units (13a no curly quotation marks), so that its figures are on
    # another scale for the same text.
    again = bleu(text.reference(found), references)
    others = ", ".join(f"{name} {bleu(found, plain, f'bleu:tokenize={name}'):.2f}" for name in ("13a", "intl"))
    print(f"BLEU of words {prepared:.2f}, plain text in words {again:.2f}, as sacreBLEU cuts it {others}")
    assert prepared > 5 and abs(again - prepared) <= 0.3
