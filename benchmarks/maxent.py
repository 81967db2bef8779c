"""The Maxent reordering model on multi30k or other texts: held-out perplexity beside relative frequencies; speed. JSON.

`sizes` has, for 1,500 and 15,000 training pairs, the perplexity of the orientations of the phrase pairs in 1,000 other
sentence pairs, towards the previous phrase and the next, for all pairs and for those that training has seen (the rest
of the pairs no rule table of this text can have). All pairs were aligned together by our aligner. `speed` is training
on all rules of the whole text, singletons included, in a fresh process: wall and CPU seconds, examples, peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragoman import alignment, maxent, rules, word_classes
from dragoman.files import read_text

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "multi30k" / "tok"
HELD_OUT = 1000
PARTS = ("de", "en", "links")


def write(folder: Path, name: str, columns: Sequence[Sequence[str]], chosen: slice) -> list[Path]:
    """Some lines of the bitext and its links."""
    paths = [folder / f"{name}.{part}" for part in PARTS]
    for path, lines in zip(paths, columns, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines[chosen]), encoding="utf-8")
    return paths


def compare(folder: Path, columns: Sequence[Sequence[str]], size: int) -> dict[str, Any]:
    """Train on the first lines, measure on the last."""
    train = write(folder, "train", columns, slice(size))
    held = write(folder, "held", columns, slice(len(columns[0]) - HELD_OUT, None))
    for paths, out in ((train, "counts"), (held, "heldout")):
        rules.extract(paths[0], paths[1], paths[2], folder / out, orientation_counts=True)
    classes = [folder / f"{language}.classes" for language in PARTS[:2]]
    for text, path in zip(train, classes, strict=False):
        word_classes.train(text, classes=50).save(path)
    report = maxent.train(folder / "counts", (classes[0], classes[1]), folder / "rules", held_out=folder / "heldout")
    return asdict(report)


def speed(folder: Path) -> dict[str, Any]:
    """Train on every rule, in a process of its own."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    files = ["--classes", folder / "de.classes", folder / "en.classes", "--out", folder / "rules"]
    command = [sys.executable, "-c", "from dragoman.cli import main; main()", "rules", "maxent", folder / "counts"]
    options = [*files, "--singletons", "1", "--json"]
    found = subprocess.run([str(c) for c in [*command, *options]], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(found.stdout)
    return {
        "wall_s": round(time.perf_counter() - start, 1),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "peak_mb": after.ru_maxrss // 1024,
        "examples": report["examples"],
        "features": report["features"],
        "iterations": [report[side]["iterations"] for side in ("previous", "next")],
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1500, 15000])
    parser.add_argument("--texts", nargs=2, type=Path, metavar=("SRC", "TGT"), help="a bitext, tokenised")
    parser.add_argument("--speed", type=int, default=28000, help="training pairs of the measurement of speed; 0: none")
    arguments = parser.parse_args()
    files = arguments.texts or [DATA / f"train.{language}.gz" for language in PARTS[:2]]
    texts = [read_text(file).to_list() for file in files]
    used = max([*arguments.sizes, arguments.speed])
    texts = [[*lines[:used], *lines[-HELD_OUT:]] for lines in texts]
    with TemporaryDirectory() as name:
        folder = Path(name)
        trained = alignment.train(texts[0], texts[1]).trained
        assert trained is not None
        trained.links("grow-diag-final-and").write(folder / "links")
        columns = [*texts, (folder / "links").read_text(encoding="utf-8").splitlines()]
        found: dict[str, Any] = {"sizes": {size: compare(folder, columns, size) for size in arguments.sizes}}
        if arguments.speed:
            every = write(folder, "all", columns, slice(arguments.speed))
            rules.extract(every[0], every[1], every[2], folder / "counts", orientation_counts=True)
            found["speed"] = speed(folder)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
