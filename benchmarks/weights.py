"""Millions of weights: seconds and memory of reading, writing, averaging, pruning, comparing, and decoding with them.

    python benchmarks/weights.py [--names 5000000] [--model MODEL]

Each step runs in a process of its own; times are CPU seconds of all its threads, memory is what the process has of its
own at the end (mapped files, which processes share, do not count). With a model that has a rule table, the decoder gets
the weights ready, too.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = {
    "save text": "w = weights.load('w.bin')|weights.save('x.txt', w)",
    "save toml": "w = weights.load('w.bin')|weights.save('x.toml', w)",
    "load text": "|w = weights.load('x.txt')",
    "load toml": "|w = weights.load('x.toml')",
    "save binary": "w = weights.load('x.txt')|weights.save('x.bin', w)",
    "load binary": "|w = weights.load('x.bin')",
    "average": "a, b = weights.load('w.bin'), weights.load('x.bin')|w = weights.average([a, b])",
    "merge": "a, b = weights.load('w.bin'), weights.load('x.bin')|w = weights.merge([a, b])",
    "diff": "a, b = weights.load('w.bin'), weights.load('x.bin')|w = weights.diff(a, b)",
    "prune": "w = weights.load('w.bin')|w = weights.prune(w, max_features=100_000)",
    "sets": "w = weights.load('w.bin')|s = weights.sets(w)",
}
"""What is done before the clock starts, and what it measures."""

BOUNDS = {"load binary": 1.0, "load text": 15.0, "save text": 10.0, "save binary": 15.0}
"""CPU seconds for five million names, at most, on a machine that others use, too."""

SCRIPT = """
import sys, time
from dragoman import weights
{before}
start = time.process_time()
{step}
seconds = time.process_time() - start
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(round(seconds, 2), int(status["RssAnon"].split()[0]) // 1024, int(status["VmHWM"].split()[0]) // 1024)
"""


def write(path: Path, names: int) -> None:
    """Weights as rules have them, of realistic size."""
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("LM 0.5\n")
        for i in range(names):
            file.write(f"pt:quelle{i % 70001}_wort{i // 7}>target{i}_w{i % 97} {rng.gauss(0, 0.03):.6g}\n")


def measure(folder: Path, step: str) -> dict[str, float]:
    """CPU seconds of a step, memory of its own and at most, in MB."""
    before, now = step.split("|")
    script = SCRIPT.format(before=before, step=now)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True, text=True)
    seconds, own, peak = done.stdout.split()
    return {"seconds": float(seconds), "own_mb": float(own), "peak_mb": float(peak)}


def main() -> None:
    """Measures, prints JSON, fails if a bound is not kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", type=int, default=5_000_000)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    steps = dict(STEPS)
    if options.model:
        decoder = f"d = Decoder({str(options.model.resolve())!r}, features='pt')"
        steps["decoder"] = (
            f"from dragoman.decoder import Decoder; {decoder}; w = weights.load('w.bin')"
            "|d.translate(['ein mann'], weights=w)"
        )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "w.txt", options.names)
        measure(folder, "w = weights.load('w.txt')|weights.save('w.bin', w)")
        report = {}
        for name, step in steps.items():
            report[name] = measure(folder, step)
            print(name, json.dumps(report[name]), flush=True)
    print(json.dumps(report))
    for name, bound in BOUNDS.items():
        limit = bound * options.names / 5_000_000 + 0.2
        assert report[name]["seconds"] <= limit, f"{name}: {report[name]['seconds']} s > {limit} s"


if __name__ == "__main__":
    main()
