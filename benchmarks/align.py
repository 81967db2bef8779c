"""Word alignment of the gold-alignment corpus: time, memory, error rates, growth. Prints JSON.

Each size runs in a fresh process on `--threads` threads: `1x` is a quarter of the corpus (the gold sentences come
first), `4x` all of it. CPU seconds are of all threads; memory is the peak resident set (Linux's VmHWM). With
`--fast-align PROGRAM` the same text goes through fast_align, both directions, in the same load.
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
from tempfile import NamedTemporaryFile

from dragoman import alignment
from dragoman.files import read_parallel
from dragoman.types import Texts

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data")) / "gold-alignments" / "fr-en"


def bitext(share: int) -> tuple[Texts, Texts]:
    """Read the first part of the corpus: one line of `share`."""
    columns = read_parallel([DATA / "bitext.fr.gz", DATA / "bitext.en.gz"])
    source, target = (Texts(column.to_list()[: len(column) // share]) for column in columns)
    return source, target


def run(share: int, options: alignment.Options) -> dict[str, object]:
    """Train once in this process and measure."""
    source, target = bitext(share)
    start = time.perf_counter(), time.process_time()
    trained = alignment.train(source, target, options).trained
    assert trained is not None
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    gold = alignment.Gold.read(DATA / "gold.fr-en")
    links = {"forward": trained.forward, "reverse": trained.reverse}
    links |= {method: trained.links(method) for method in alignment.METHODS}
    return {
        "pairs": len(source),
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "peak_mb": int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024,
        "aer": {name: round(alignment.error_rate(found, gold), 4) for name, found in links.items()},
    }


def fast_align(program: str, share: int) -> float:
    """CPU seconds of fast_align, forward and reverse."""
    source, target = bitext(share)
    with NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.writelines(f"{s} ||| {t}\n" for s, t in zip(source, target, strict=True))
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for extra in ([], ["-r"]):
            command = [program, "-i", file.name, "-d", "-o", "-v", *extra]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--threads", type=int, default=2, help="threads (%(default)s)")
    parser.add_argument("--samplers", type=int, default=alignment.Options().samplers, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--fast-align", help="a fast_align program to run beside ours")
    parser.add_argument("--share", type=int, help="run one size in this process: one line of so many")
    options = parser.parse_args()
    if not DATA.is_dir():
        json.dump({"skipped": "the corpus is not here: set DRAGOMAN_DATA"}, sys.stdout)
    elif options.share:
        chosen = alignment.Options(samplers=options.samplers, seed=options.seed)
        json.dump(run(options.share, chosen), sys.stdout)
    else:
        json.dump(measure(options), sys.stdout, indent=1)
    print()


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Run both sizes in fresh processes, and fast_align if there is one."""
    figures: dict[str, object] = {"threads": options.threads, "samplers": options.samplers}
    for name, share in (("1x", 4), ("4x", 1)):
        given = {"--share": share, "--samplers": options.samplers, "--seed": options.seed}
        command = [sys.executable, __file__, *(str(word) for pair in given.items() for word in pair)]
        environment = {**os.environ, "RAYON_NUM_THREADS": str(options.threads)}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        figures[name] = json.loads(done.stdout)
    if options.fast_align:
        figures["fast_align_cpu_s"] = fast_align(options.fast_align, 1)
    return figures


if __name__ == "__main__":
    main()
