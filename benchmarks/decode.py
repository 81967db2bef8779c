"""The decoder: words per second and memory on a Moses system, with Moses' own programs beside it. Prints JSON.

`--system` is a folder with `moses.tuned.ini`, its tables and `in.de` (the golden-moses data). Every figure is of a
fresh process that loads the model and translates the sentences `--repeat` times over; rates are net of a run on one
sentence. `rate_wall` and `rate_cpu` are source words per second of wall clock and of processor time; on a busy machine
compare the latter. `score` is the mean model score of the first translations: a faster search must not be a worse one.
`moses` and `moses2` run on the same input if they are on the PATH or named.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_COMMAND = [sys.executable, "-c", "from dragoman.cli import main; main()"]
SEARCHES = {
    "cube 300": ["--pop-limit", "300", "--stack-size", "300"],
    "cube 400": ["--pop-limit", "400", "--stack-size", "400"],
    "default": [],
    "stack 100": ["--pop-limit", "0", "--stack-size", "100"],
}
MOSES_SEARCHES = {
    "cube 400": ["-search-algorithm", "1", "-cube-pruning-pop-limit", "400", "-s", "400"],
    "cube 1000": ["-search-algorithm", "1", "-cube-pruning-pop-limit", "1000", "-s", "1000"],
    "stack 100": ["-search-algorithm", "0", "-s", "100"],
}


def run(command: Sequence[str | Path], text: Path) -> dict[str, float]:
    """Run a program with `text` as its standard input: seconds and megabytes."""
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = 0
    with text.open("rb") as source:
        quiet = subprocess.DEVNULL
        with subprocess.Popen([str(c) for c in command], stdin=source, stdout=quiet, stderr=quiet) as child:
            while child.poll() is None:
                try:
                    status = Path(f"/proc/{child.pid}/status").read_text(encoding="ascii")
                    peak = max(peak, int(status.split("VmHWM:")[1].split()[0]))
                except (OSError, IndexError):
                    pass  # it has just ended
                time.sleep(0.005)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode != 0:
        raise SystemExit(f"{command} failed")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": time.perf_counter() - start, "cpu": cpu, "peak_mb": round(peak / 1024, 1)}


def rated(command: Sequence[str | Path], text: Path, one: Path, words: int) -> dict[str, float]:
    """Rates of a run, net of what loading and one sentence take."""
    idle, full = run(command, one), run(command, text)
    rates = {f"rate_{clock}": round(words / max(full[clock] - idle[clock], 1e-3)) for clock in ("wall", "cpu")}
    return {**rates, "seconds": round(full["wall"], 2), "peak_mb": full["peak_mb"]}


def mean_score(path: Path) -> float:
    """The mean of the first totals of a Moses n-best list."""
    firsts: dict[str, float] = {}
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(" ||| ")
            firsts.setdefault(fields[0], float(fields[3]))
    return round(sum(firsts.values()) / len(firsts), 4)


def ours(model: Path, files: dict[str, Path], words: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Our searches on one and two threads, with and without n-best lists."""
    scored = files["folder"] / "scored.nbest"
    for search, options in SEARCHES.items():
        command = [*_COMMAND, "translate", "--model", str(model), *options]
        run([*command, "--nbest", "2", "--nbest-out", str(scored)], files["once"])
        for lists in ([], ["--nbest", "100", "--nbest-out", os.devnull]):
            for threads in ("1", "2"):
                figures = rated([*command, *lists, "--threads", threads], files["text"], files["one"], words)
                name = f"dragoman, {search}{', 100-best' if lists else ''}, {threads} thread(s)"
                yield name, {**figures, "score": mean_score(scored)}


def theirs(program: str, ini: Path, files: dict[str, Path], words: int) -> Iterator[tuple[str, dict[str, float]]]:
    """The same with Moses or moses2."""
    scored = files["folder"] / "moses.nbest"
    for search, options in MOSES_SEARCHES.items():
        command = [program, "-f", str(ini), *options]
        run([*command, "-n-best-list", str(scored), "2"], files["once"])
        for lists in ([], ["-n-best-list", os.devnull, "100", "distinct"]):
            for threads in ("1", "2"):
                figures = rated([*command, *lists, "-threads", threads], files["text"], files["one"], words)
                name = f"{Path(program).name}, {search}{', 100-best' if lists else ''}, {threads} thread(s)"
                yield name, {**figures, "score": mean_score(scored)}


def absolute(ini: Path, out: Path) -> Path:
    """A copy of a moses.ini whose files are named from the root, as Moses needs them elsewhere."""
    text = ini.read_text(encoding="utf-8")
    out.write_text(re.sub(r"path=(?!/)", f"path={ini.parent.resolve()}/", text), encoding="utf-8")
    return out


def measure(system: Path, repeat: int, peers: Sequence[str]) -> dict[str, Any]:
    """All figures."""
    lines = (system / "in.de").read_text(encoding="utf-8").splitlines()
    words = repeat * sum(len(line.split()) for line in lines)
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = {"folder": folder, "text": folder / "text", "once": folder / "once", "one": folder / "one"}
        for file, content in (("text", lines * repeat), ("once", lines), ("one", lines[:1])):
            files[file].write_text("\n".join(content) + "\n", encoding="utf-8")
        ini = system / "moses.tuned.ini"
        run([*_COMMAND, "model", "import", "--moses-ini", ini, "--out", folder / "model"], files["one"])
        figures = dict(ours(folder / "model", files, words))
        for program in peers:
            figures |= dict(theirs(program, absolute(ini, folder / "moses.ini"), files, words))
    return {"words": words, "figures": figures}


def main() -> None:
    """Measure and print."""
    data = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", type=Path, default=data / "golden-moses", help="folder with a Moses system")
    parser.add_argument("--repeat", type=int, default=4, help="how often the sentences are translated")
    parser.add_argument("--moses", default=shutil.which("moses"), help="Moses' program")
    parser.add_argument("--moses2", default=shutil.which("moses2"), help="that of moses2")
    arguments = parser.parse_args()
    if not arguments.system.is_dir():
        print(json.dumps({"skipped": "no Moses system here: name one with --system"}))
        return
    peers = [program for program in (arguments.moses, arguments.moses2) if program]
    print(json.dumps(measure(arguments.system, arguments.repeat, peers), indent=1))


if __name__ == "__main__":
    main()
