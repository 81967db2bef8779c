"""Word classes of multi30k: likelihood for each token, wall and CPU time, peak memory; growth. Prints JSON.

Each figure comes from a fresh process on `--threads` threads. `mkcls` has the figures of the data's README (those of
mkcls -n2 opt, and its CPU seconds on a machine of the same kind); with `--mkcls PROGRAM` it is run again, in the same
load. `4x` has 50 classes of four times the text, the copies with words of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragoman import word_classes
from dragoman.files import read_text

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "multi30k" / "tok"
MKCLS = {
    "en.20": {"likelihood": -4.27911, "cpu_s": 4.7},
    "en.50": {"likelihood": -4.04309, "cpu_s": 12.6},
    "de.20": {"likelihood": -4.45015, "cpu_s": 9.7},
    "de.50": {"likelihood": -4.14445, "cpu_s": 21.5},
}


def text(language: str, copies: int) -> list[str]:
    """The training text, and copies whose words carry a mark of their own."""
    lines = read_text(DATA / f"train.{language}.gz").to_list()
    marked = [[" ".join(f"{word}~{k}" for word in line.split()) for line in lines] for k in range(1, copies)]
    return lines + [line for copy in marked for line in copy]


def run(language: str, k: int, copies: int, seed: int) -> dict[str, Any]:
    """Train once in this process and measure."""
    lines = text(language, copies)
    start = time.perf_counter(), time.process_time()
    found = word_classes.train(lines, k, seed=seed)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    return {
        "words": len(found),
        "tokens": found.tokens,
        "likelihood": round(found.mean, 5),
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "peak_mb": peak,
    }


def mkcls(program: str, language: str, k: int) -> float:
    """CPU seconds of mkcls with two runs, as in the README of the data."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_text("\n".join(text(language, 1)) + "\n", encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, f"-c{k}", "-n2", f"-p{path}", f"-V{folder}/classes", "opt"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All sizes in fresh processes."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(options.threads)}
    figures: dict[str, Any] = {"threads": options.threads, "mkcls": MKCLS}
    cases = [(name, *name.split("."), "1") for name in MKCLS] + [("4x.en.50", "en", "50", "4")]
    for name, language, k, copies in cases:
        command = [sys.executable, __file__, "--one", language, k, copies, "--seed", str(options.seed)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        figures[name] = json.loads(done.stdout)
        if options.mkcls and copies == "1":
            figures[name]["mkcls_cpu_s"] = mkcls(options.mkcls, language, int(k))
    return figures


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--threads", type=int, default=2, help="threads (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--mkcls", help="a mkcls program to run beside ours")
    parser.add_argument("--one", nargs=3, metavar=("LANGUAGE", "K", "COPIES"), help="one run in this process")
    options = parser.parse_args()
    if not DATA.is_dir():
        json.dump({"skipped": "the corpus is not here: set DRAGOMAN_DATA"}, sys.stdout)
    elif options.one:
        language, k, copies = options.one
        json.dump(run(language, int(k), int(copies), options.seed), sys.stdout)
    else:
        json.dump(measure(options), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
