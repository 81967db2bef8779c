"""N-best reading: ours against a plain Python parser on the same list, in the same run. Prints JSON.

The list is made, deterministic, and has 14 dense and about 10 sparse features a line. Rates are lines and
megabytes (of the plain list) per second of wall time and of CPU time, both of the best of `--repeat` runs;
on a busy machine, compare the CPU's. Memory is the growth of the peak resident set (Linux's VmHWM) in a
fresh process that streams the list.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman import nbest

PER_SENTENCE = 100
_CHILD = """
import sys
from pathlib import Path
from dragoman import nbest

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
count = sum(c.size for c in nbest.stream(sys.argv[1]))
print(count, peak() - before)
"""


def make(path: Path, lines: int) -> None:
    """Write a list: 25 words, groups of 6, 1, 1, 1, 1, 4 dense values, 5 to 15 of 20,000 sparse names."""
    rng = random.Random(1)
    words = [f"word{i}" for i in range(5000)]
    sparse = [f"wt_{rng.choice(words)}~{rng.choice(words)}" for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as out:
        for line in range(lines):
            text = " ".join(rng.choices(words, k=25))
            value = [f"{rng.gauss(-5, 4):.6g}" for _ in range(14)]
            dense = (
                f"LexicalReordering0= {' '.join(value[:6])} Distortion0= {value[6]} LM0= {value[7]} "
                f"WordPenalty0= {value[8]} PhrasePenalty0= {value[9]} "
                f"TranslationModel0= {' '.join(value[10:])}"
            )
            names = dict.fromkeys(rng.choices(sparse, k=rng.randint(5, 15)))
            pairs = " ".join(f"{name}={rng.randint(1, 3)}" for name in names)
            total = f"{rng.gauss(-50, 9):.6g}"
            print(line // PER_SENTENCE, text, f"{dense} {pairs}", total, sep=" ||| ", file=out)


def plain(path: Path) -> int:
    """Parse idiomatically: split, float, one dict a candidate, one list a sentence."""
    opener = gzip.open if path.suffix == ".gz" else open
    lists: dict[int, list[tuple[str, dict[str, float], float]]] = {}
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            ident, text, column, total = line.split(" ||| ")
            row: dict[str, float] = {}
            group, position = "", 0
            for word in column.split():
                name, found, value = word.rpartition("=")
                if not found:
                    row[f"{group}[{position}]"] = float(word)
                    position += 1
                elif value:
                    row[name] = float(value)
                else:
                    group, position = name, 0
            lists.setdefault(int(ident), []).append((text.strip(), row, float(total)))
    return sum(map(len, lists.values()))


def streamed(path: Path) -> int:
    """Count with our reader, in batches."""
    return sum(c.size for c in nbest.stream(path))


def whole(path: Path) -> int:
    """Count with our reader, all at once."""
    return nbest.read(path).size


def best(work: Callable[[Path], int], path: Path, repeat: int) -> tuple[float, float]:
    """Time some runs: wall and CPU seconds of the fastest."""
    wall, cpu = [], []
    for _ in range(repeat):
        start = time.perf_counter(), time.process_time()
        work(path)
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.process_time() - start[1])
    return min(wall), min(cpu)


def growth(path: Path) -> int:
    """Measure how many kilobytes streaming a list adds to the peak resident set."""
    command = [sys.executable, "-c", _CHILD, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[1])


def rewrite(path: Path) -> int:
    """Convert a list to itself: reading and writing."""
    nbest.convert(path, path.with_name("copy"), to_format="moses")
    return 0


def rates(seconds: float, lines: int, megabytes: float) -> dict[str, float]:
    """Describe one time."""
    return {"s": round(seconds, 3), "lines": round(lines / seconds), "mb": round(megabytes / seconds, 1)}


def measure(folder: Path, lines: int, repeat: int) -> dict[str, object]:
    """Make the lists and time everything."""
    path = folder / "list"
    make(path, lines)
    megabytes = path.stat().st_size / 1e6
    nbest.convert(path, folder / "list.gz", to_format="moses")
    nbest.convert(path, folder / "list.jsonl")
    runs: dict[str, tuple[Callable[[Path], int], str]] = {
        "python": (plain, "list"),
        "python_gz": (plain, "list.gz"),
        "stream": (streamed, "list"),
        "stream_gz": (streamed, "list.gz"),
        "stream_jsonl": (streamed, "list.jsonl"),
        "read": (whole, "list"),
        "convert": (rewrite, "list"),
    }
    times = {name: best(work, folder / file, repeat) for name, (work, file) in runs.items()}
    make(folder / "large", 4 * lines)
    return {
        "lines": lines,
        "megabytes": round(megabytes, 1),
        "wall": {name: rates(wall, lines, megabytes) for name, (wall, _) in times.items()},
        "cpu": {name: rates(cpu, lines, megabytes) for name, (_, cpu) in times.items()},
        "python_over_ours": {
            clock: {
                "plain": round(times["python"][k] / times["stream"][k], 1),
                "gz": round(times["python_gz"][k] / times["stream_gz"][k], 1),
            }
            for k, clock in enumerate(("wall", "cpu"))
        },
        "stream_peak_growth_kb": {"1x": growth(path), "4x": growth(folder / "large")},
    }


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--lines", type=int, default=200_000, help="candidates in the list (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, the best counts (%(default)s)")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        json.dump(measure(Path(folder), options.lines, options.repeat), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
