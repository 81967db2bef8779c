"""Rule extraction from 3,000 aligned sentence pairs, copied with other words: time, memory, growth. Prints JSON.

Every copy of the text has words of its own, so that the number of different rules grows with the text as it does
not in mere repetition. Each size runs in a fresh process; CPU seconds are of all threads, memory is the peak resident
set (Linux's VmHWM). `--copies 333` is a million pairs. Up to `--gaps` copies are measured with
rules with gaps, too (Moses' limits). With `--moses FOLDER` (its `bin`), Moses' extract (with all
three reordering models) reads the largest text, too; it neither sorts nor scores.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman import grammars, rules

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "golden-rules"
FILES = ("train.de.gz", "train.en.gz", "aligned.grow-diag-final-and.gz")


def write(folder: Path, copies: int) -> list[Path]:
    """Write text and links `copies` times, with the number of the copy in every word of more than two letters."""
    paths = [folder / name for name in ("f", "e", "a")]
    for name, path in zip(FILES, paths, strict=True):
        with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
            text = [line.split() for line in lines]
        with path.open("w", encoding="utf-8") as out:
            for copy in range(copies):
                mark = "" if path.name == "a" or not copy else f"_{copy}"
                for words in text:
                    out.write(" ".join(w + mark if len(w) > 2 else w for w in words) + "\n")
    return paths


def run(paths: list[Path], out: Path, memory: str, gaps: bool) -> dict[str, object]:
    """Extract once in this process, and measure."""
    start = time.perf_counter(), time.process_time()
    source, target, links = paths
    extract = grammars.extract if gaps else rules.extract
    report = extract(source, target, links, out, memory=memory)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    opening = time.perf_counter()
    rules.Table(out)
    return {
        "pairs": report.pairs,
        "phrase_pairs": report.tokens,
        "rules": report.rules,
        "memory": memory,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "cpu_us_per_phrase_pair": round(cpu / report.tokens * 1e6, 2),
        "peak_mb": int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024,
        "table_mb": out.stat().st_size >> 20,
        "open_ms": round((time.perf_counter() - opening) * 1000, 2),
    }


def moses(folder: str, paths: list[Path], out: Path) -> float:
    """CPU seconds of Moses' extract."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    models = "--model wbe-msd --model phrase-msd --model hier-msd"
    source, target, links = map(str, paths)
    command = [f"{folder}/extract", target, source, links, str(out), "7", "orientation", *models.split()]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def main() -> None:
    """Run every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 5, 10, 20])
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--gaps", type=int, default=5, help="most copies for rules with gaps")
    parser.add_argument("--moses", metavar="FOLDER")
    parser.add_argument("--hiero", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        *paths, out = map(Path, options.one)
        print(json.dumps(run(paths, out, options.memory, options.hiero)))
        return
    results: dict[str, object] = {}
    with TemporaryDirectory() as folder:
        for copies in options.copies:
            paths = write(Path(folder), copies)
            systems = [[], ["--hiero"]] if copies <= options.gaps else [[]]
            for memory, system in itertools.product((options.memory, "64M"), systems):
                arguments = [*map(str, paths), f"{folder}/out", "--memory", memory, *system]
                child = [sys.executable, __file__, "--one", *arguments]
                found = subprocess.run(child, check=True, capture_output=True, text=True).stdout
                results[f"{copies}x, {memory}{', gaps' if system else ''}"] = json.loads(found)
        if options.moses:
            results["moses_extract_cpu_s"] = moses(options.moses, paths, Path(folder) / "extract")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
