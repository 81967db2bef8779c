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

import pytest

import dragoman
from dragoman.files import read_text
from dragoman.model import Model
from dragoman.preprocess import Preparation

Cli = Callable[..., tuple[int, str, str]]
Translate = Callable[..., list[str]]
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


TERMS = [
    "Allah\tthe Almighty",
    "Ubangiji Allah\tYHWH God",
    "Isra’ila\tYisra’el",
    "lambun\tthe orchard\tgardens",
    "Fir’auna\tx",
]


def test_from_a_memory_to_readable_text(
    data: Path, tmp_path: Path, cli: Cli, capfd: pytest.CaptureFixture[str]
) -> None:
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

    def translated(text: Sequence[str], *more: object, model: Path = tmp_path / "tuned") -> list[str]:
        code, out, err = cli("translate", "--model", model, "--input", lines(tmp_path / "in", text), *more)
        assert code == 0, err
        return out.splitlines()

    found = translated(source)
    assert len(found) == len(source)
    readable(found)
    same_on_prepared_text(Preparation(about, tmp_path / "model"), source, plain, found, translated, capfd)

    terms = lines(tmp_path / "terms.tsv", TERMS)
    told = translated(source, "--glossary", terms, "--glossary-report", tmp_path / "report.tsv")
    readable(told)
    assert len(told) == len(source)
    asked = [at for at, line in enumerate(source) if re.search(r"\bUbangiji Allah\b", line)]
    assert asked and [told[at] for at in asked if "YHWH God" not in told[at]] == []
    single = [at for at, line in enumerate(source) if re.search(r"(?<!Ubangiji )\bAllah\b", line)]
    assert single and all(re.search("[Tt]he Almighty", told[at]) for at in single)
    changed = {at for at, (one, other) in enumerate(zip(found, told, strict=True)) if one != other}
    matching = {
        at for at, line in enumerate(source) if any(row.split("\t")[0].lower() in line.lower() for row in TERMS)
    }
    assert changed <= matching, "only where a term is"
    report = [row.split("\t") for row in read_text(tmp_path / "report.tsv").to_list()[1:]]
    assert [row[0] for row in report] == [row.split("\t")[0] for row in TERMS]
    assert int(report[0][2]) - int(report[0][3]) == int(report[1][3]), "the shorter term gave way"

    # One file, unpacked in another place, without what it was made from.
    assert cli("model", "pack", tmp_path / "tuned", tmp_path / "tuned.dragoman")[0] == 0
    (tmp_path / "model").rename(tmp_path / "gone")
    (tmp_path / "tuned").rename(tmp_path / "gone-too")
    elsewhere = tmp_path / "elsewhere" / "model"
    elsewhere.parent.mkdir()
    assert cli("model", "unpack", tmp_path / "tuned.dragoman", elsewhere)[0] == 0
    assert translated(source, model=elsewhere) == found
    assert translated(source, "--glossary", terms, model=tmp_path / "tuned.dragoman") == told


def same_on_prepared_text(
    text: Preparation,
    source: Sequence[str],
    plain: Sequence[str],
    found: Sequence[str],
    translated: Translate,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Plain text in and out scores as prepared text does, both judged in the same form: as plain text, and in words."""
    words, references = translated(text.before(source), "--tokenized"), text.reference(plain)
    finished, again = text.after(words), text.reference(found)
    forms = {
        "words": (bleu(again, references), bleu(words, references)),
        **{
            name: tuple(bleu(side, plain, f"bleu:tokenize={name}") for side in (found, finished))
            for name in ("13a", "intl")
        },
    }
    with capfd.disabled():
        for name, (one, other) in forms.items():
            print(f"\nBLEU ({name}): plain text {one:.2f}, prepared text {other:.2f}", end="")
    assert forms["words"][1] > 5
    assert all(abs(one - other) <= 0.3 for one, other in forms.values()), forms
