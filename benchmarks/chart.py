"""The chart decoder: words per second and model scores on a hierarchical Moses system, Moses beside it. Prints JSON.

`--system` is a folder with `moses.hier.ini`, its tables and `in.de` (the golden-hiero data). Every figure is of a
fresh process on one thread that loads the model and translates the sentences; `rate_cpu` and `rate_wall` are source
words a second, net of a run on one sentence. `score` is the mean model score of the first translations at that pop
limit: a faster search must not be a worse one. `growth` is CPU milliseconds for a sentence of so many words. `moses`
and `moses2` run on the same input if they are on the PATH or named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from decode import _COMMAND, absolute, mean_score, rated, run

POPS = ((100, 200), (200, 200), (600, 200), (1000, 200), (5000, 200), (16_000, 400))
"""Pop limits and cell limits."""
MOSES_POPS = (200, 1000, 5000)
LENGTHS = (10, 20, 40, 80)
COPIES = 50
"""Sentences of each length."""


def ours(model: Path, files: dict[str, Path], words: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Our search at several limits."""
    scored = files["folder"] / "scored.nbest"
    for pops, cells in POPS:
        limits = ["--pop-limit", str(pops), "--cell-limit", str(cells)]
        command = [*_COMMAND, "translate", "--model", str(model), "--tokenized", "--threads", "1", *limits]
        run([*command, "--nbest", "2", "--nbest-out", str(scored)], files["text"])
        figures = rated(command, files["text"], files["one"], words)
        yield f"dragoman, pops {pops}", {**figures, "score": mean_score(scored)}


def theirs(program: str, ini: Path, files: dict[str, Path], words: int) -> Iterator[tuple[str, dict[str, float]]]:
    """The same with Moses or moses2."""
    scored = files["folder"] / "moses.nbest"
    for pops in MOSES_POPS:
        command = [
            program,
            "-f",
            str(ini),
            "-threads",
            "1",
            "-search-algorithm",
            "3",
            "-cube-pruning-pop-limit",
            str(pops),
        ]
        run([*command, "-n-best-list", str(scored), "2"], files["text"])
        figures = rated(command, files["text"], files["one"], words)
        yield f"{Path(program).name}, pops {pops}", {**figures, "score": mean_score(scored)}


def growth(model: Path, lines: Sequence[str], folder: Path) -> dict[str, float]:
    """CPU milliseconds for a sentence, by its length: sentences put together and cut."""
    words = " ".join(line.removesuffix(" .") for line in lines).split()
    one = folder / "one"
    found = {}
    for length in LENGTHS:
        starts = [(i * 37) % (len(words) - length) for i in range(COPIES)]
        text = folder / f"length{length}"
        text.write_text("\n".join(" ".join(words[s : s + length]) for s in starts) + "\n", encoding="utf-8")
        command = [
            *_COMMAND,
            "translate",
            "--model",
            str(model),
            "--tokenized",
            "--threads",
            "1",
            "--pop-limit",
            "1000",
        ]
        idle, full = run(command, one), run(command, text)
        found[str(length)] = round(1000 * (full["cpu"] - idle["cpu"]) / COPIES, 2)
    return found


def measure(system: Path, peers: Sequence[str]) -> dict[str, Any]:
    """All figures."""
    lines = (system / "in.de").read_text(encoding="utf-8").splitlines()
    words = sum(len(line.split()) for line in lines)
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = {"folder": folder, "text": folder / "text", "one": folder / "one"}
        for file, content in (("text", lines), ("one", lines[:1])):
            files[file].write_text("\n".join(content) + "\n", encoding="utf-8")
        ini = system / "moses.hier.ini"
        run([*_COMMAND, "model", "import", "--moses-ini", ini, "--out", folder / "model"], files["one"])
        figures = dict(ours(folder / "model", files, words))
        for program in peers:
            figures |= dict(theirs(program, absolute(ini, folder / "moses.ini"), files, words))
        return {"words": words, "figures": figures, "growth": growth(folder / "model", lines, folder)}


def main() -> None:
    """Measure and print."""
    data = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", type=Path, default=data / "golden-hiero", help="folder with a Moses system")
    parser.add_argument("--moses", default=shutil.which("moses"), help="Moses' program")
    parser.add_argument("--moses2", default=shutil.which("moses2"), help="that of moses2")
    arguments = parser.parse_args()
    if not arguments.system.is_dir():
        print(json.dumps({"skipped": "no hierarchical Moses system here: name one with --system"}))
        return
    peers = [program for program in (arguments.moses, arguments.moses2) if program]
    print(json.dumps(measure(arguments.system, peers), indent=1))


if __name__ == "__main__":
    main()
