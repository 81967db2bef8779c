"""Language models: estimation and queries, ours and (if `KENLM` names the folder of its programs) KenLM's. Prints JSON.

The text is made, deterministic, with Zipf's word frequencies and repeated phrases, or `--text` names one. Every
figure is of a fresh process from start to end: wall and CPU seconds of the best of `--repeat` runs, and peak resident
memory; on a busy machine, compare the CPU's. Query rates are tokens (sentence ends included) per second, net of the
time that a run on an empty line takes: `rate_wall` and `rate_cpu`. `4x` is four times as much text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ORDER = 5
MEMORY = "1G"
QUERIED = 4_000_000
_COMMAND = [sys.executable, "-c", "from dragoman.cli import main; main()"]


def make(path: Path, lines: int) -> None:
    """Write sentences of common phrases and rarer words."""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(50_000)]
    weights = [1 / (i + 10) for i in range(len(words))]
    phrases = [" ".join(rng.choices(words, weights, k=rng.randint(2, 5))) for _ in range(20_000)]
    frequent = [1 / (i + 5) for i in range(len(phrases))]
    with path.open("w", encoding="utf-8") as out:
        for _ in range(lines):
            parts = rng.choices(phrases, frequent, k=rng.randint(1, 4)) + rng.choices(words, weights, k=3)
            rng.shuffle(parts)
            print(*parts, file=out)


def run(command: Sequence[str | Path], text: Path | None = None) -> dict[str, float]:
    """Run a program with `text` as its standard input: seconds and megabytes."""
    source = subprocess.DEVNULL if text is None else text.open("rb")
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    with subprocess.Popen([str(c) for c in command], stdin=source, stdout=quiet, stderr=quiet) as child:
        peak = 0
        while child.poll() is None:
            try:
                status = Path(f"/proc/{child.pid}/status").read_text(encoding="ascii")
                peak = max(peak, int(status.split("VmHWM:")[1].split()[0]))
            except (OSError, IndexError):
                pass  # it has just ended
            time.sleep(0.002)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode != 0:
        raise SystemExit(f"{command} failed")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(wall, 3), "cpu": round(cpu, 3), "peak_mb": round(peak / 1024, 1)}


def best(repeat: int, command: Sequence[str | Path], text: Path | None = None) -> dict[str, float]:
    """The least of each figure over some runs."""
    runs = [run(command, text) for _ in range(repeat)]
    return {key: min(r[key] for r in runs) for key in runs[0]}


def rated(figures: dict[str, float], idle: dict[str, float], tokens: int) -> dict[str, float]:
    """Adds tokens per second, net of an empty run."""
    for clock in ("wall", "cpu"):
        figures[f"rate_{clock}"] = round(tokens / max(figures[clock] - idle[clock], 1e-3))
    return figures


def measure(text: Path, folder: Path, repeat: int, kenlm: Path | None) -> dict[str, Any]:
    """All figures for one text."""
    words = text.read_text(encoding="utf-8")
    tokens = len(words.split()) + words.count("\n")
    empty = folder / "empty"
    empty.write_text("\n", encoding="utf-8")
    # Enough to be timed beside the start of a process.
    times = -(-QUERIED // tokens)
    queried = folder / "queried"
    queried.write_text(words * times, encoding="utf-8")
    arpa = folder / "lm.arpa"
    estimate: list[str | Path] = [
        *_COMMAND,
        "lm",
        "estimate",
        "--text",
        text,
        "--order",
        str(ORDER),
        "--memory",
        MEMORY,
    ]
    found: dict[str, Any] = {"tokens": tokens, "estimate_arpa": best(repeat, [*estimate, "--out", arpa])}
    found["estimate_little_memory"] = best(1, [*estimate, "--out", folder / "again.arpa", "--memory", "8M"])
    found["same_bytes"] = (folder / "again.arpa").read_bytes() == arpa.read_bytes()
    sizes = {"arpa": arpa.stat().st_size}
    for form in ("hash", "compact"):
        model = folder / f"lm.{form}"
        found[f"convert_{form}"] = best(1, [*_COMMAND, "lm", "convert", arpa, "--out", model, "--form", form])
        sizes[form] = model.stat().st_size
        query: list[str | Path] = [*_COMMAND, "lm", "query", model]
        idle = best(repeat, query, empty)
        found[f"query_{form}"] = rated(best(repeat, query, queried), idle, tokens * times)
    if kenlm:
        lmplz: list[str | Path] = [
            kenlm / "lmplz",
            "-o",
            str(ORDER),
            "-S",
            MEMORY,
            "--text",
            text,
            "--arpa",
            folder / "kenlm.arpa",
        ]
        found["kenlm_estimate"] = best(repeat, lmplz)
        run([kenlm / "build_binary", "probing", folder / "kenlm.arpa", folder / "kenlm.bin"])
        sizes["kenlm_probing"] = (folder / "kenlm.bin").stat().st_size
        query = [kenlm / "query", "-v", "summary", folder / "kenlm.bin"]
        found["kenlm_query"] = rated(best(repeat, query, queried), best(repeat, query, empty), tokens * times)
    return {**found, "bytes": sizes}


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--text", type=Path, help="plain text instead of a made one; 1x is its first quarter")
    parser.add_argument("--lines", type=int, default=50_000, help="lines of the made text (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, the best counts (%(default)s)")
    options = parser.parse_args()
    kenlm = Path(os.environ["KENLM"]) if "KENLM" in os.environ else None
    with TemporaryDirectory() as name:
        folder = Path(name)
        found = {}
        for times in (1, 4):
            text = folder / f"text{times}"
            if options.text:
                whole = options.text.read_bytes().splitlines(keepends=True)
                text.write_bytes(b"".join(whole[: len(whole) * times // 4]))
            else:
                make(text, options.lines * times)
            found[f"{times}x"] = measure(text, folder, options.repeat, kenlm)
        json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
