"""Decoding time with sparse feature sets, relative to the dense model: multi30k, German to English.

    python benchmarks/features.py --model MODEL [--sentences 200]

The model is one that `dragoman train` made of multi30k; without one it is trained first. Every set gets random weights
of realistic size for all names that n-best lists of the same text show. Search settings are the same throughout. Times
are CPU seconds of one thread, the least of several runs, dense and sparse by turns.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from _multi30k import model_of, options, read
from dragoman.decoder import Decoder
from dragoman.types import Weights

SETS = ["pt", "al", "lo", "wp", "ins", "tb", "pb", "bin:words=80", "sparse-hrm"]
GROUPS = {"pt,al,lo": 1.3, "sparse-hrm": 1.3, ",".join(SETS): 1.6}
"""What a set or several may cost, relative to the dense model."""
FIRST = {"pt,al,lo": 2.0, "sparse-hrm": 1.5, ",".join(SETS): 3.0}
"""The same for the first time that a text is met, when sums for its rules are worked out."""


def prepared(model: Path, features: str, lines: list[str]) -> Decoder:
    """A decoder with the dense weights of the model, and random ones for what its lists show."""
    decoder = Decoder(model, features=features, threads=1)
    names = decoder.nbest(lines, 20).features.names.to_list()[len(decoder.dense) :]
    rng = random.Random(1)
    sparse = {name: rng.gauss(0, 0.03) for name in names}
    return Decoder(model, features=features, threads=1, weights=Weights.of({**decoder.weights.to_dict(), **sparse}))


def seconds(decoder: Decoder, lines: list[str]) -> float:
    """CPU time of translating."""
    start = time.process_time()
    decoder.translate(lines)
    return time.process_time() - start


def measure(model: Path, lines: list[str], runs: int) -> dict[str, dict[str, float]]:
    """For each set: the time of its first run, with nothing known yet, and the least of the others, over dense."""
    dense = Decoder(model, threads=1)
    seconds(dense, lines)
    report = {}
    for features in dict.fromkeys([*SETS, *GROUPS]):
        decoder = prepared(model, features, lines)
        names = len(decoder.names) - len(decoder.dense)
        cold = seconds(decoder, lines)
        pairs = [(seconds(dense, lines), seconds(decoder, lines)) for _ in range(runs)]
        plain, sparse = min(p for p, _ in pairs), min(s for _, s in pairs)
        report[features] = {
            "names": names,
            "dense": round(plain, 3),
            "sparse": round(sparse, 3),
            "ratio": round(sparse / plain, 3),
            "first": round(cold / plain, 3),
        }
        print(features, json.dumps(report[features]), flush=True)
    return report


def main() -> None:
    """Measures, prints JSON, fails if a bound is not kept."""
    parser = options(__doc__, sentences=200)
    parser.add_argument("--runs", type=int, default=3)
    wanted = parser.parse_args()
    with model_of(wanted.model) as model:
        report = measure(model, read("val.de", wanted.sentences), wanted.runs)
    print(json.dumps(report))
    for features, bound in GROUPS.items():
        assert report[features]["ratio"] <= bound, f"{features}: {report[features]['ratio']} > {bound}"
        first = report[features]["first"]
        assert first <= FIRST[features], f"{features}, the first time: {first} > {FIRST[features]}"


if __name__ == "__main__":
    main()
