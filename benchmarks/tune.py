"""Tuning with the decoder in the loop: seconds an epoch, the share of decoding, the second thread's worth. Prints JSON.

    python benchmarks/tune.py [--model MODEL] [--sentences 1014] [--repeats 2] [--only adagrad]

multi30k, German to English; the model is one that `dragoman train` made of it, and is trained first if none is given.
For each tuner: wall and CPU seconds of an epoch on one thread and on two, without the scoring that follows it, and the
share of decoding in what its threads did. `lists` is pure decoding with n-best lists of the same size: what the epochs
of AdaGrad are compared with. One thread and two are measured in turn, and the best of each counts. On a busy machine
compare CPU seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _multi30k import model_of, options, read
from dragoman.decode import Decoder, DecoderSource
from dragoman.engine import engine_of
from dragoman.metrics import Bleu
from dragoman.tune import Judged, Plan, Tuner, tuner_from
from dragoman.tune.folder import Epochs, Folder
from dragoman.tune.source import loop_of

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
}


@dataclass(frozen=True)
class Setting:
    """What is tuned on."""

    model: Path
    source: list[str]
    references: Sequence[Sequence[str]]
    size: int

    def judged(self, features: str, threads: int) -> Judged:
        """The text with a decoder of its own."""
        decoder = Decoder(self.model, features=features or None, threads=threads)
        return Judged(DecoderSource(decoder, self.source, self.size), self.references)


def timed(setting: Setting, tuner: Tuner, features: str, threads: int) -> dict[str, float]:
    """The second epoch: the first one meets all rules and names for the first time."""
    judged = setting.judged(features, threads)
    plan = Plan(engine=engine_of(threads), shards=threads)
    loop = loop_of(judged, Bleu(tokenize="none"), tuner, plan, Folder(None, {}))
    names = judged.source.names
    now = Epochs(names, judged.source.decoder.weights.align(names))  # type: ignore[attr-defined]
    loop.begin(now)
    loop.epoch(now)
    now.epoch += 1
    wall, cpu = time.perf_counter(), time.process_time()
    record = loop.epoch(now)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    share = record["decoding"] / (record["decoding"] + record.get("updating", 0.0))
    return {"wall": round(wall, 2), "cpu": round(cpu, 2), "decoding": round(share, 3)}


def lists(setting: Setting, features: str) -> float:
    """CPU seconds of pure decoding with n-best lists, on one thread."""
    judged = setting.judged(features, 1)
    weights = judged.source.decoder.weights  # type: ignore[attr-defined]
    judged.source.candidates(range(len(setting.source)), weights, 1)
    start = time.process_time()
    judged.source.candidates(range(len(setting.source)), weights, 1)
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
        figures = {"one_wall": one["wall"], "one_cpu": one["cpu"], "two_wall": two["wall"], "decoding": one["decoding"]}
        figures["second_thread"] = round(one["wall"] / two["wall"], 2)
        if name.startswith("adagrad"):
            figures["over_lists"] = round(one["cpu"] / min(lists(setting, features) for _ in range(repeats)), 3)
        report[name] = figures
        print(name, json.dumps(figures), flush=True)
    return report


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, sentences=1014)
    parser.add_argument("--size", type=int, default=100, help="candidates of each sentence")
    parser.add_argument("--repeats", type=int, default=2, help="how often each is measured")
    parser.add_argument("--only", default="", help="only tuners whose names start so")
    wanted = parser.parse_args()
    source = read("val.de", wanted.sentences)
    references = [(line,) for line in read("val.en", wanted.sentences)]
    with model_of(wanted.model) as model:
        print(json.dumps(measure(Setting(model, source, references, wanted.size), wanted.repeats, wanted.only)))


if __name__ == "__main__":
    main()
