"""One sentence at a time: what it waits for, alone and among many threads. Prints JSON.

`load` is the time to open the model in a fresh process whose modules are imported (`import`), `first` that of the
first sentence after it; all are medians of several processes. `single` are calls with one line, `batch` is one call
with all of them, both on one thread and on the same short lines, in turn; `ratio` is the processor time of the
former over the latter. `threads` has 16 Python threads that call with one line each, beside one call with two
threads, in turn: lines per second, the ratio of these (at least 0.95 is the aim), processor time for each line, and
memory before and after. On a busy machine compare processor times.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import _multi30k
from dragoman.decoder import Decoder

WORDS = 12
"""Longer captions are left out of `single` and `batch`."""
CALLERS = 16
_START = """
import json, sys, time
begin = time.perf_counter()
from dragoman.decoder import Decoder
imported = time.perf_counter()
decoder = Decoder(sys.argv[1])
loaded = time.perf_counter()
decoder.translate([sys.argv[2]])
first = time.perf_counter()
print(json.dumps([imported - begin, loaded - imported, first - loaded]))
"""


def milliseconds(seconds: float) -> float:
    """For people."""
    return round(seconds * 1e3, 3)


def start(model: Path, line: str, repeat: int) -> dict[str, float]:
    """Median milliseconds until the modules are there, the model is open, and the first line is translated."""
    command = [sys.executable, "-c", _START, str(model), line]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(repeat)]
    medians = [milliseconds(statistics.median(column)) for column in zip(*runs, strict=True)]
    return dict(zip(("import", "load", "first"), medians, strict=True))


def one_thread(decoder: Decoder, lines: Sequence[str], repeat: int) -> dict[str, Any]:
    """Lines one by one against all of them in one call."""
    waits: list[float] = []
    alone: list[float] = []
    shares: list[float] = []
    decoder.translate(lines)
    for _ in range(repeat):
        clock = time.thread_time()
        decoder.translate(lines)
        shares.append((time.thread_time() - clock) / len(lines))
        clock = time.thread_time()
        for line in lines:
            begin = time.perf_counter()
            decoder.translate([line])
            waits.append(time.perf_counter() - begin)
        alone.append((time.thread_time() - clock) / len(lines))
    parts = statistics.quantiles(waits, n=20)
    single, batch = statistics.median(alone), statistics.median(shares)
    return {
        "single": {"p50": milliseconds(parts[9]), "p95": milliseconds(parts[18]), "cpu": milliseconds(single)},
        "batch": {"cpu": milliseconds(batch)},
        "ratio": round(single / batch, 3),
    }


def called(decoder: Decoder, lines: Sequence[str], pool: ThreadPoolExecutor) -> None:
    """Calls with one line each on all threads of a pool, until all lines are done."""
    rest = iter(lines)  # the iterator of a list gives each line to one thread: a lock would be one more to wait for

    def work(_: int) -> None:
        for line in rest:
            decoder.translate([line])

    list(pool.map(work, range(CALLERS)))


def resident() -> float:
    """Megabytes in use; not a number where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def many_threads(model: Path, lines: Sequence[str], repeat: int) -> dict[str, Any]:
    """16 callers against the command line's stream, and against calls with all lines."""
    two, crowd = Decoder(model, threads=2), Decoder(model, threads=CALLERS)
    with ThreadPoolExecutor(CALLERS) as pool:
        ways: dict[str, Callable[[], object]] = {
            "stream": lambda: deque(two.stream(lines), maxlen=0),
            "callers": lambda: called(two, lines, pool),
            "two": lambda: two.translate(lines),
            "crowd": lambda: crowd.translate(lines),
        }
        for way in ways.values():
            way()
        before = resident()
        wall: dict[str, list[float]] = {name: [] for name in ways}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeat):
            for name, way in ways.items():
                begin, clock = time.perf_counter(), time.process_time()
                way()
                wall[name].append(time.perf_counter() - begin)
                cpu[name].append(time.process_time() - clock)
        after = resident()
    ratios = [stream / callers for stream, callers in zip(wall["stream"], wall["callers"], strict=True)]
    return {
        "lines_per_second": {name: round(len(lines) / statistics.median(wall[name]), 1) for name in ways},
        "ratio": round(statistics.median(ratios), 3),
        "cpu": {name: milliseconds(statistics.median(cpu[name]) / len(lines)) for name in ways},
        "memory_mb": {"before": round(before, 1), "after": round(after, 1)},
    }


def main() -> None:
    """Measure and print."""
    parser = _multi30k.options(__doc__, 500)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    lines = _multi30k.read("test_2016_flickr.de", arguments.sentences)
    short = [line for line in lines if len(line.split()) <= WORDS]
    with _multi30k.model_of(arguments.model) as model:
        figures = {
            "lines": len(lines),
            "short": len(short),
            "start_ms": start(model, short[0], arguments.repeat),
            "one_thread_ms": one_thread(Decoder(model, threads=1), short, arguments.repeat),
            "threads": many_threads(model, lines, arguments.repeat),
        }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
