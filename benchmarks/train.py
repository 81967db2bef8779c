"""The whole of training, step by step: wall and CPU time, peak memory, and how they grow with the text. Prints JSON.

The text is multi30k's (29,000 pairs, de-en, tokenised). A larger size repeats it, and in every repetition each side of
a pair loses one word, has one replaced by another of the text, and has two neighbours swapped, so that pairs, phrases
and n-grams are new ones; words are not. Each size runs in a fresh process. `growth` compares each size with the one
before it: the exponent b of CPU time ~ lines^b, 1 for linear growth, for steps that take a second or more.

    python benchmarks/train.py
    python benchmarks/train.py --lines 100000 300000 1000000
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragoman.training import Options, train

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "multi30k" / "tok"


def changed(words: list[str], pool: list[str], rng: random.Random) -> list[str]:
    """A line with small changes."""
    words = list(words)
    if len(words) > 2:
        del words[rng.randrange(len(words))]
        words[rng.randrange(len(words))] = rng.choice(pool)
        at = rng.randrange(len(words) - 1)
        words[at : at + 2] = words[at + 1], words[at]
    return words


def text(side: str, lines: int) -> Iterator[str]:
    """So many lines of one side."""
    with gzip.open(DATA / f"train.{side}.gz", "rt", encoding="utf-8") as file:
        corpus = [line.split() for line in file]
    pool = [word for words in corpus for word in words]
    rng = random.Random(side)
    for number in range(lines):
        words = corpus[number % len(corpus)]
        yield " ".join(words if number < len(corpus) else changed(words, pool, rng)) + "\n"


def run(folder: Path, memory: str) -> dict[str, Any]:
    """Train once in this process."""
    trained = train(folder / "text.de", folder / "text.en", folder / "model", Options(memory=memory), tokenized=True)
    steps = {
        step.name: {"wall_s": round(step.wall, 2), "cpu_s": round(step.cpu, 2), "peak_mb": step.peak >> 20}
        for step in trained.steps
    }
    files = {name: size >> 20 for name, (size, _) in trained.model.files.items() if size >> 20}
    whole = {
        "wall_s": round(sum(step.wall for step in trained.steps), 2),
        "cpu_s": round(sum(step.cpu for step in trained.steps), 2),
        "peak_mb": max(step.peak for step in trained.steps) >> 20,
    }
    rules = next(step.report["rules"] for step in trained.steps if step.name == "rules")
    return {"steps": {**steps, "all": whole}, "rules": rules, "files_mb": files}


def growth(results: dict[int, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Exponents of time, from each size to the next."""
    sizes = sorted(results)
    found: dict[str, dict[str, float]] = {}
    for small, large in itertools.pairwise(sizes):
        for name, figures in results[large]["steps"].items():
            before, after = results[small]["steps"][name]["cpu_s"], figures["cpu_s"]
            if before >= 1:
                exponent = math.log(after / before) / math.log(large / small)
                found.setdefault(name, {})[f"{small} to {large}"] = round(exponent, 2)
    return found


def main() -> None:
    """Run every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[29_000])
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--one", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(Path(options.one), options.memory)))
        return
    results = {}
    for lines in options.lines:
        with TemporaryDirectory() as folder:
            for side in ("de", "en"):
                with (Path(folder) / f"text.{side}").open("w", encoding="utf-8") as out:
                    out.writelines(text(side, lines))
            child = [sys.executable, __file__, "--one", folder, "--memory", options.memory]
            found = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout
        results[lines] = json.loads(found)
        print(f"{lines}: {json.dumps(results[lines]['steps'])}", file=sys.stderr, flush=True)
    print(json.dumps({"results": results, "growth": growth(results)}, indent=1))


if __name__ == "__main__":
    main()
