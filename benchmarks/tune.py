"""Tuning with the decoder in the loop: whole runs, from start to verdict. Prints JSON.

    python benchmarks/tune.py [--model MODEL] [--sentences 1014] [--rounds 3] [--repeats 2] [--only adagrad]

multi30k, German to English; the model is one that `dragoman train` made of it, and is trained first if none is given.
For each tuner: wall and CPU seconds of a run on one thread and on two (the model is open already), passes over the
tuning text, the score at its end, and the share of decoding in what its threads did. `lists` is pure decoding with
n-best lists of the same size, once for each pass: what the runs of AdaGrad are compared with. One thread and two are
measured in turn, and the best of each counts. On a busy machine compare CPU seconds.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _multi30k import model_of, options, read
from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import engine_of
from dragoman.metrics import Bleu
from dragoman.tuning import Problem, Tuner, adjusted, tune, tuner_from

TUNERS = {
    "mert": ("mert:starts=5", ""),
    "smooth-mert": ("smooth-mert", ""),
    "pro": ("pro", ""),
    "kbmira": ("kbmira", ""),
    "lattice-mira": ("lattice-mira", ""),
    "mira": ("mira", ""),
    "adagrad": ("adagrad", ""),
    "adagrad pt,al,lo": ("adagrad", "pt,al,lo"),
    "adagrad sparse-hrm": ("adagrad", "sparse-hrm"),
    "samplerank": ("samplerank:samples=50,burn_in=20", ""),
}


@dataclass(frozen=True)
class Setting:
    """What is tuned on."""

    model: Path
    source: list[str]
    references: Sequence[Sequence[str]]
    size: int
    rounds: int

    def open(self, features: str, threads: int) -> DecoderSource:
        """The text with a decoder of its own."""
        decoder = Decoder(self.model, features=features or None, threads=threads)
        return DecoderSource(decoder, self.source, self.size)


def timed(setting: Setting, tuner: Tuner, features: str, threads: int) -> dict[str, float]:
    """One run on so many threads."""
    source = setting.open(features, threads)
    if hasattr(tuner, "shards"):
        tuner = adjusted(tuner, {"shards": threads}) if getattr(tuner, "online", False) else tuner
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        problem = Problem.of_source(source, setting.references, Bleu(tokenize="none"))
        found = tune(problem, tuner, rounds=setting.rounds, engine=engine_of(threads), run=Path(folder))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sums = {key: sum(record.get(key, 0.0) for record in found.trace) for key in ("decoding", "updating")}
    share = sums["decoding"] / max(sum(sums.values()), 1e-9)
    return {
        "wall": round(wall, 2), "cpu": round(cpu, 2), "passes": found.passes, "decoding": round(share, 3),
        "score": round(found.end.score, 2), "steps": found.steps,
    }  # fmt: skip


def lists(setting: Setting, features: str) -> float:
    """CPU seconds of pure decoding with n-best lists, on one thread."""
    source = setting.open(features, 1)
    source.candidates(range(len(setting.source)), source.weights, 1)
    start = time.process_time()
    source.candidates(range(len(setting.source)), source.weights, 1)
    return time.process_time() - start


def measure(setting: Setting, repeats: int, only: str) -> dict[str, dict[str, float]]:
    """All figures."""
    report = {}
    for name, (spec, features) in TUNERS.items():
        if not name.startswith(only):
            continue
        tuner = tuner_from(spec)
        runs = [[timed(setting, tuner, features, threads) for threads in (1, 2)] for _ in range(repeats)]
        one, two = (min(tries, key=lambda run: run["wall"]) for tries in zip(*runs, strict=True))
        figures = {**one, "one_wall": one["wall"], "one_cpu": one["cpu"], "two_wall": two["wall"]}
        figures["second_thread"] = round(one["wall"] / two["wall"], 2)
        if name.startswith("adagrad"):
            pure = min(lists(setting, features) for _ in range(repeats))
            figures["over_lists"] = round(one["cpu"] / (pure * one["passes"]), 3)
        report[name] = {key: value for key, value in figures.items() if key not in {"wall", "cpu"}}
        print(name, json.dumps(report[name]), flush=True)
    return report


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, sentences=1014)
    parser.add_argument("--size", type=int, default=100, help="candidates of each sentence")
    parser.add_argument("--rounds", type=int, default=3, help="rounds or epochs of each run")
    parser.add_argument("--repeats", type=int, default=2, help="how often each is measured")
    parser.add_argument("--only", default="", help="only tuners whose names start so")
    wanted = parser.parse_args()
    source = read("val.de", wanted.sentences)
    references = [(line,) for line in read("val.en", wanted.sentences)]
    with model_of(wanted.model) as model:
        setting = Setting(model, source, references, wanted.size, wanted.rounds)
        print(json.dumps(measure(setting, wanted.repeats, wanted.only)))


if __name__ == "__main__":
    main()
