"""From raw captions to readable text: all defaults beside settings that an expert makes by hand. Prints JSON.

    python benchmarks/plain_text.py WORK [--only by-hand] [--program PYTHON] [--seeds 0 1 2] [--test val]

multi30k, German to English, raw text. For each way and seed: train on the training text, tune on val, translate the
test set, and score what comes out, plain text with capitals, as sacreBLEU does by default (13a). All ways are commands
as people type them; the way `defaults` names files and nothing else (but for the seed). What WORK holds already is not
made again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("DRAGOMAN_DATA", _SHARED)) / "multi30k" / "raw"

WAYS: dict[str, tuple[list[str], list[str]]] = {
    "by-hand": (
        ["--languages", "de", "en", "--tokenizer", "moses", "--case", "truecase"],
        ["--tuner", "smooth-mert"],
    ),
    "defaults": ([], []),
    "whole-compounds": (["--compounds", "none"], []),
}
"""Options of `train` and of `tune`."""


def text(name: str, language: str) -> str:
    """The path of a text."""
    return str(DATA / f"{name}.{language}.gz")


def run(work: Path, program: list[str], way: str, seed: int, test: str) -> dict[str, object]:
    """One model from training to its scores."""
    base, tuned, out = (work / f"{way}.{seed}{suffix}" for suffix in ("", ".tuned", f".{test}.en"))
    training, tuning = WAYS[way]
    ours = ["--seed", str(seed)]
    commands = [
        ["train", "--src", text("train", "de"), "--tgt", text("train", "en"), *training, *ours, "--out", str(base)],
        ["tune", "--model", str(base), "--src", text("val", "de"), "--refs", text("val", "en"), *tuning, *ours,
         "--threads", "1", "--out", str(tuned)],
        ["translate", "--model", str(tuned), "--input", text(test, "de"), "--output", str(out), "--threads", "1"],
    ]  # fmt: skip
    made = [base / "model.toml", tuned / "model.toml", out]
    for command, there in zip(commands, made, strict=True):
        if not there.exists():
            subprocess.run([*program, *command], check=True, stdout=subprocess.DEVNULL)
    scores = {metric: score(program, out, test, metric) for metric in ("bleu", "chrf")}
    return {"way": way, "seed": seed, "test": test, **scores}


def score(program: list[str], out: Path, test: str, metric: str) -> float:
    """The score of a translation."""
    command = [*program, "score", str(out), "--refs", text(test, "en"), "--metric", metric, "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(found["score"] if isinstance(found, dict) else found[0]["score"])


def main() -> None:
    """Parses, runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "work", type=Path, nargs="?", help="folder for models and translations, kept; else a temporary one"
    )
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--program", default=sys.executable, help="the Python of another version")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--test", default="test_2016_flickr")
    given = parser.parse_args()
    program = [given.program, "-m", "dragoman"]
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for way in given.only:
            for seed in given.seeds:
                print(json.dumps(run(work, program, way, seed, given.test)), flush=True)


if __name__ == "__main__":
    main()
