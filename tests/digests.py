"""Digests of every tuner's weights, on lists and on a small model, through the command line alone.

    python tests/digests.py WORK --program .venv/bin/dragoman > after.json
    python tests/digests.py WORK --program other/.venv/bin/dragoman > before.json

A change of structure keeps the bits: run it with the program before and after, on one machine and with the same WORK
folder (its model and lists are made once, by the first run), and compare. Needs multi30k (`DRAGOMAN_DATA`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

from dragoman import toml

HERE = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent / "shared" / "data")) / "multi30k" / "tok"

LISTS = [
    "mert:starts=4", "mert:starts=3,directions=gradient,l2=0.01", "smooth-mert", "mert:starts=2,l0=0.001", "pro",
    "pro:select=best", "mira", "mira:oracle=lu,prediction=mc,epochs=4", "mira:gain=sentence,epochs=4,unit=score",
    "kbmira", "adagrad", "adagrad:l1=0.01,average=true,min_count=3", "adagrad:updater=arow,objective=hope-fear",
    "adagrad:updater=passive-aggressive,objective=hope-fear", "adagrad:updater=sgd,objective=expected", "phrasal",
    "risk", "risk:objective=corpus",
]  # fmt: skip

MODEL = [
    ("mert:starts=2", []),
    ("mert:starts=1,l2=0.01", []),
    ("smooth-mert", ["--features", "pt"]),
    ("pro:iterations=10", []),
    ("kbmira", []),
    ("kbmira", ["--held-out", "0.25"]),
    ("risk", []),
    ("lattice-mira", []),
    ("forest-mert", []),
    ("lattice-mira:keep=1", ["--features", "pt,al"]),
    ("mira", []),
    ("mira:shards=3", ["--features", "pt"]),
    ("mira:gain=background,mode=online", []),
    ("mira:space=lattice,oracle=mb", []),
    ("mira:gain=sentence,mode=batch", []),
    ("adagrad", []),
    ("adagrad:rate=0.1,l1=0.001,batch=7", ["--features", "pt,al,lo", "--held-out", "0.25"]),
    ("adagrad:average=true,min_count=2,stale=0", ["--features", "pt", "--fix", "LM"]),
    ("adagrad:updater=arow,stale=1", []),
    ("adagrad:updater=passive-aggressive,objective=hope-fear", ["--features", "pt"]),
    ("adagrad:epochs=4,mode=batch", []),
    ("samplerank:chains=3,samples=40,burn_in=20", []),
    ("samplerank:chains=2,samples=40,burn_in=20,oracle=hope,rate=0", ["--features", "pt"]),
]
"""Tuners with the decoder in the loop, and further options."""


def run(program: str, *arguments: str) -> None:
    """Runs a command, and shows what it says if it fails."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")


def prepare(program: str, work: Path) -> None:
    """A model of 2,000 captions, 60 lines to tune on, and their lists."""
    if (work / "list.nbest").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    for name, part, count in (("train", "train", 2000), ("dev", "val", 60)):
        for side in ("de", "en"):
            text = gzip.decompress((DATA / f"{part}.{side}.gz").read_bytes()).decode()
            lines = text.splitlines()[:count]
            (work / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    files = ["--src", str(work / "train.de"), "--tgt", str(work / "train.en")]
    run(program, "train", *files, "--tokenized", "--out", str(work / "model"))
    given = ["--model", str(work / "model"), "--features", "pt,al", "--input", str(work / "dev.de")]
    run(program, "translate", *given, "--tokenized", "--nbest", "100", "--nbest-out", str(work / "list.nbest"),
        "--output", str(work / "best.en"))  # fmt: skip


def digest(path: Path) -> str:
    """Of (name, value) sorted by name, with every bit. Weights of zero are left out: which features a run has met, and
    given no weight, depends on how often it decodes."""

    hashed = hashlib.blake2b(digest_size=8)
    for name, value in sorted(toml.load(path, "weights")["weights"].items()):
        numbers = value if isinstance(value, list) else [value]
        if any(numbers):
            hashed.update(name.encode() + b"\0" + struct.pack(f"<{len(numbers)}d", *numbers))
    return hashed.hexdigest()


def main() -> None:
    """Runs all and prints a digest for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--program", default="dragoman")
    parser.add_argument("--only", default="", help="only runs whose name has this in it")
    wanted = parser.parse_args()
    prepare(wanted.program, wanted.work)
    found: dict[str, str] = {}
    work, out = wanted.work, wanted.work / f"out-{os.getpid()}"
    out.mkdir()
    lists = ["tune", "--nbest", str(work / "list.nbest"), "--refs", str(work / "dev.en"), "-m", "bleu:tokenize=none"]
    text = ["--src", str(work / "dev.de"), "--refs", str(work / "dev.en"), "--tokenized"]
    model = ["tune", "--model", str(work / "model"), *text, "--epochs", "3", "--nbest-size", "50", "--seed", "3"]
    jobs = [(f"lists {t}", [*lists, "--tuner", t, "--held-out", "0.2"], "w.toml", "w.toml") for t in LISTS]
    jobs += [(f"model {t} {' '.join(more)}".strip(), [*model, "--tuner", t, *more], "t", "t/weights.toml")
             for t, more in MODEL]  # fmt: skip
    for number, (name, command, target, result) in enumerate(jobs):
        if wanted.only in name:
            place = out / str(number)
            place.mkdir()
            run(wanted.program, *command, "--out", str(place / target))
            found[name] = digest(place / result)
            print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
