"""N-best reading: ours against a plain Python parser on the same list, in the same run. Prints JSON.

The list is made, deterministic, and has 14 dense and about 10 sparse features a line. Rates are of the best of
`--repeat` runs; memory is the growth of the peak resident set in a fresh process that streams the list.
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
import resource, sys
from dragoman import nbest
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(sum(c.size for c in nbest.stream(sys.argv[1])), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def make(path: Path, lines: int) -> None:
    """Writes a list: 25 words, groups of 6 + 1 + 1 + 1 + 1 + 4 dense values, 5 to 15 of 20,000 sparse names."""
    rng = random.Random(1)
    words = [f"word{i}" for i in range(5000)]
    sparse = [f"wt_{rng.choice(words)}~{rng.choice(words)}" for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as out:
        for line in range(lines):
            text = " ".join(rng.choices(words, k=25))
            value = [f"{rng.gauss(-5, 4):.6g}" for _ in range(14)]
            dense = (
                f"LexicalReordering0= {' '.join(value[:6])} Distortion0= {value[6]} LM0= {value[7]} "
                f"WordPenalty0= {value[8]} PhrasePenalty0= {value[9]} TranslationModel0= {' '.join(value[10:])}"
            )
            names = dict.fromkeys(rng.choices(sparse, k=rng.randint(5, 15)))
            pairs = " ".join(f"{name}={rng.randint(1, 3)}" for name in names)
            print(
                line // PER_SENTENCE,
                text,
                f"{dense} {pairs}",
                f"{rng.gauss(-50, 9):.6g}",
                sep=" ||| ",
                file=out,
            )


def plain(path: Path) -> int:
    """The idiomatic parser: split, float, one dict a candidate, one list a sentence."""
    lists: dict[int, list[tuple[str, dict[str, float], float]]] = {}
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(path, "rt", encoding="utf-8") as lines:
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
    """Our reader in batches."""
    return sum(c.size for c in nbest.stream(path))


def whole(path: Path) -> int:
    """Our reader, all at once."""
    return nbest.read(path).size


def best(work: Callable[[Path], int], path: Path, lines: int, repeat: int) -> float:
    """Seconds of the fastest of some runs."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        assert work(path) == lines
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def growth(path: Path) -> int:
    """Kilobytes that streaming a list adds to the peak resident set."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[1])


def copy(source: Path, target: Path, format: str) -> None:
    """A list in another format or packing."""
    nbest.convert(source, target, to_format=format)


def main() -> None:
    """Makes the list, times everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200_000, help="candidates in the list (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the best counts (default: %(default)s)")
    options = parser.parse_args()
    lines: int = options.lines
    with TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        make(path, lines)
        megabytes = path.stat().st_size / 1e6
        copy(path, Path(folder) / "list.gz", "moses")
        copy(path, Path(folder) / "list.jsonl", "jsonl")
        runs: dict[str, tuple[Callable[[Path], int], str]] = {
            "python": (plain, "list"),
            "python_gz": (plain, "list.gz"),
            "stream": (streamed, "list"),
            "stream_gz": (streamed, "list.gz"),
            "stream_jsonl": (streamed, "list.jsonl"),
            "read": (whole, "list"),
        }
        seconds = {
            name: best(work, Path(folder) / file, lines, 1 if work is plain else options.repeat)
            for name, (work, file) in runs.items()
        }
        rates = {
            name: {"s": round(s, 3), "lines_per_s": round(lines / s), "mb_per_s": round(megabytes / s, 1)}
            for name, s in seconds.items()
        }
        target = Path(folder) / "copy"
        start = time.perf_counter()
        copy(path, target, "moses")
        convert = time.perf_counter() - start
        target.unlink()
        make(Path(folder) / "large", 4 * lines)
        report = {
            "lines": lines,
            "megabytes": round(megabytes, 1),
            "rates": rates,
            "convert_lines_per_s": round(lines / convert),
            "ratio_plain": round(seconds["python"] / seconds["stream"], 1),
            "ratio_gz": round(seconds["python_gz"] / seconds["stream_gz"], 1),
            "stream_rss_growth_kb": {"1x": growth(path), "4x": growth(Path(folder) / "large")},
        }
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
