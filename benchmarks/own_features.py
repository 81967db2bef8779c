"""Features of your own: decoding time with them, relative to the model without. Prints JSON; fails above 1.5.

    python benchmarks/own_features.py [--model MODEL] [--sentences 150]

Multi30k, German to English, with a model that `dragoman train` made of it; without one it is trained first. One
process, one thread, the same sentences and the same search; the runs take turns, and `ratio` is the quotient of the
least CPU times. The features weigh nothing, so that every run finds the same translations, which is checked. `trivial`
is a compiled state feature without state, `repetition` one that remembers the last word (four bytes, so that fewer
hypotheses recombine), `rule` a rule feature in plain Python.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from _multi30k import model_of, options, read
from dragoman.decoder import Decoder
from dragoman.user_features import Options, state_feature

BOUND = 1.5
"""What a trivial state feature may cost, relative to the model without."""


@state_feature(bytes=0, names=["Trivial"])
def trivial(_previous, _state, _target, _step, values):  # type: ignore[no-untyped-def]
    """Counts phrases."""
    values[0] = 1


@state_feature(bytes=4, names=["Repeat"])
def repetition(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    """Counts words that follow themselves."""
    last = previous.view(np.uint32)[0]
    for word in target:
        if word + 1 == last:
            values[0] += 1
        last = word + 1
    if step.complete == 0:
        state.view(np.uint32)[0] = last


class Longer:
    """How many words the target has more than the source."""

    name = "Longer"
    names = ("Longer",)

    def score(self, options: Options) -> Any:
        """One subtraction."""
        return options.lengths - (options.spans[:, 1] - options.spans[:, 0])


def measure(decoders: dict[str, Decoder], lines: Sequence[str], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each."""
    best = dict.fromkeys(decoders, float("inf"))
    wanted = None
    for _ in range(rounds):
        for name, decoder in decoders.items():
            start = time.process_time()
            found = decoder.translate(lines)
            best[name] = min(best[name], time.process_time() - start)
            wanted = wanted or found
            if name != "repetition" and found != wanted:
                raise SystemExit(f"{name}: other translations")
    return best


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, sentences=150)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    lines = read("val.de", wanted.sentences)
    with model_of(wanted.model) as model:
        sets: dict[str, list[Any]] = {"dense": [], "trivial": [trivial], "repetition": [repetition], "rule": [Longer()]}
        decoders = {name: Decoder(model, extra=extra, threads=1) for name, extra in sets.items()}
        seconds = measure(decoders, lines, wanted.rounds)
    ratios = {name: round(cpu / seconds["dense"], 3) for name, cpu in seconds.items()}
    print(json.dumps({"lines": len(lines), "cpu_s": {n: round(s, 2) for n, s in seconds.items()}, "ratio": ratios}))
    assert ratios["trivial"] <= BOUND, f"trivial: {ratios['trivial']} > {BOUND}"


if __name__ == "__main__":
    main()
