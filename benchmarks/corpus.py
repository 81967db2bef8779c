"""Cleaning a bitext of `--pairs` pairs (multi30k repeated with marks): seconds and memory of each step. Prints JSON.

Every step runs in a fresh process. `clean` normalises, filters, removes duplicates and two test sets; `truecase` also
learns and applies the case of words; `plain_python` is a straightforward version of `clean` in Python on a tenth of the
text, times ten; `moses` are lines a second of the Moses tokeniser (sacremoses), and `round_trip` the share of raw lines
that tokenising and detokenising restores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragoman import corpus
from dragoman.files import read_text

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "multi30k"


def prepare(folder: Path, pairs: int) -> None:
    """Write a large bitext; one pair in ten is a duplicate."""
    for side in ("de", "en"):
        lines = read_text(DATA / "raw" / f"train.{side}.gz").to_list()
        with (folder / side).open("w", encoding="utf-8") as out:
            for k in range(pairs):
                mark = k - 1 if k % 10 == 9 else k
                out.write(f"{lines[mark % len(lines)]} {mark // len(lines)}\n")


def clean(folder: Path, options: corpus.Options) -> int:
    """Run the cleaner."""
    excluded = [DATA / "raw" / f"test_2016_flickr.{side}.gz" for side in ("de", "en")]
    files = corpus.Files(folder / "de", folder / "en")
    return corpus.clean([files], (folder / "o.de", folder / "o.en"), options, exclude=excluded).kept


def plain(folder: Path) -> int:
    """Do what `clean` does, without care for speed, on a tenth of the text."""

    def normal(line: str) -> str:
        return " ".join(unicodedata.normalize("NFC", line).split())

    def key(line: str) -> str:
        return "".join(unicodedata.normalize("NFKC", line).lower().split())

    excluded = {key(x) for side in ("de", "en") for x in read_text(DATA / "raw" / f"test_2016_flickr.{side}.gz")}
    seen: set[tuple[str, str]] = set()
    with (folder / "de").open(encoding="utf-8") as source, (folder / "en").open(encoding="utf-8") as target:
        for k, (a, b) in enumerate(zip(source, target, strict=True)):
            if k % 10:
                continue
            pair = normal(a), normal(b)
            lengths = sorted(len(side.split()) for side in pair)
            fits = lengths[0] >= 1 and lengths[1] <= min(80, 9 * lengths[0])
            if fits and not excluded & {key(pair[0]), key(pair[1])}:
                seen.add(pair)
    return len(seen)


def moses(language: str) -> dict[str, Any]:
    """Speed and faithfulness of the Moses tokeniser on raw text."""
    lines = corpus.normalise(read_text(DATA / "raw" / f"train.{language}.gz")).to_list()[:10_000]
    start = time.process_time()
    split = corpus.tokenize(lines, language)
    middle = time.process_time()
    back = corpus.detokenize(split, language)
    end = time.process_time()
    same = sum(a == b for a, b in zip(lines, back, strict=True))
    speeds = {"tokenize_lines_s": len(lines) / (middle - start), "detokenize_lines_s": len(lines) / (end - middle)}
    return {**{name: round(speed) for name, speed in speeds.items()}, "round_trip": round(same / len(lines), 4)}


STEPS: dict[str, Callable[[Path], int]] = {
    "clean": lambda folder: clean(folder, corpus.Options()),
    "lower": lambda folder: clean(folder, corpus.Options(case="lower", normalise="nfkc")),
    "truecase": lambda folder: clean(folder, corpus.Options(case="truecase")),
    "plain_python": plain,
}


def step(name: str, folder: Path) -> dict[str, Any]:
    """Run one step in this process and measure."""
    wall, cpu = time.perf_counter(), time.process_time()
    kept = STEPS[name](folder)
    scale = 10 if name == "plain_python" else 1
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "kept": kept,
        "wall_s": round(scale * seconds[0], 2),
        "cpu_s": round(scale * seconds[1], 2),
        "peak_mb": peak,
    }


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="(%(default)s)")
    parser.add_argument("--step", nargs=2, metavar=("NAME", "FOLDER"), help="one step in this process")
    options = parser.parse_args()
    if not DATA.is_dir():
        json.dump({"skipped": "the corpus is not here: set DRAGOMAN_DATA"}, sys.stdout)
    elif options.step:
        json.dump(step(options.step[0], Path(options.step[1])), sys.stdout)
    else:
        figures: dict[str, Any] = {"pairs": options.pairs}
        with TemporaryDirectory() as folder:
            prepare(Path(folder), options.pairs)
            for name in STEPS:
                command = [sys.executable, __file__, "--step", name, folder]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                figures[name] = json.loads(done.stdout)
        figures["moses"] = {language: moses(language) for language in ("de", "en", "fr")}
        json.dump(figures, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
