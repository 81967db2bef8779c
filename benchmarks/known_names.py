"""A step of online tuning where millions of sparse features are known: does it cost what it touches? Prints JSON.

A step changes the weights of 1,000 features and decodes 20 short sentences of multi30k to 50-best lists, on one thread.
All sparse features that are known have a weight. `touched` are features that fire in these sentences, the same ones
whatever else is known; `spread` are drawn from all that are known, so that a change meets a block of its own nearly
every time. `change` and `step` are the median CPU milliseconds of a change and of a whole step; `step_ratio` is that of
the most names to that of the fewest. `learned` is a whole step of AdaGrad: weights to the decoder, lists, gradient,
update. `anew` is a step that hands all weights to the decoder, for comparison.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import _multi30k
from dragoman._core import names_extend
from dragoman.decoder import Decoder, DecoderSource
from dragoman.metrics import Bleu
from dragoman.tuning import Online
from dragoman.tuning.learning import batch_gradient, learner_of
from dragoman.tuning.problem import PreparedReferences
from dragoman.types import F64, U32, Names, Weights

SETS = "pt,tb,wp"
CHUNK = 1 << 17


def known(decoder: Decoder, count: int) -> None:
    """Fills the decoder's table of names up to so many."""
    while (have := len(decoder.names)) < count:
        more = range(have, min(have + CHUNK, count))
        names_extend(decoder.names, Names([f"{('pt', 'tb', 'wp')[i % 3]}:known{i}>not%25met" for i in more]))


def timed(work: Callable[[], Weights]) -> tuple[float, Weights]:
    """CPU milliseconds and what was made."""
    begin = time.process_time()
    made = work()
    return 1000 * (time.process_time() - begin), made


def steps(source: DecoderSource, weights: Weights, columns: Callable[[], U32], count: int) -> dict[str, float]:
    """The medians of some steps."""
    rng = np.random.default_rng(0)
    every = list(range(len(source)))
    changes, wholes = [], []
    for _ in range(count):
        chosen = columns()
        values: F64 = rng.normal(size=len(chosen)) * 0.01

        def step(now: Weights = weights, chosen: U32 = chosen, values: F64 = values) -> Weights:
            made = now.changed(chosen, values)
            source.decoder._native_weights(made)
            return made

        change, weights = timed(step)
        decode, weights = timed(lambda now=weights: (source.candidates(every, now, 1), now)[1])  # type: ignore[misc]
        changes.append(change)
        wholes.append(change + decode)
    return {"change": round(median(changes), 3), "step": round(median(wholes), 3)}


def anew(source: DecoderSource, weights: Weights, count: int) -> float:
    """The median step that makes all weights anew."""
    every, spent = list(range(len(source))), []
    for _ in range(count):
        values = weights.values.copy()
        begin = time.process_time()
        source.candidates(every, Weights(weights.names, values), 1)
        spent.append(1000 * (time.process_time() - begin))
    return round(median(spent), 3)


def learned(source: DecoderSource, weights: Weights, references: list[list[str]], count: int) -> dict[str, float]:
    """The medians of whole steps of AdaGrad on these sentences."""
    tuner, prepared = Online(rate=0.01), PreparedReferences(references, Bleu(tokenize="none"))
    learner = learner_of(tuner, weights.values, squares=np.zeros(0))
    spent = []
    for number in range(count):
        begin = time.process_time()
        found = source.candidates(range(len(source)), weights, 1)
        gains = prepared.judge(found).sentence_gains()
        met, gradient, loss, seen = batch_gradient(found, gains, tuner, weights.take, 0, number)
        learner.step(met, gradient, loss, seen)
        weights = weights.changed(*learner.changes())
        spent.append(1000 * (time.process_time() - begin))
    return {"step": round(median(spent), 3)}


def measure(model: Path, lines: list[str], references: list[list[str]], count: int) -> dict[str, object]:
    """All figures for a number of names."""
    decoder = Decoder(model, features=SETS)
    source = DecoderSource(decoder, lines, 50)
    first = len(decoder.names)
    source.candidates(range(len(lines)), decoder.weights, 1)
    met = np.arange(first, len(decoder.names), dtype=np.uint32)
    known(decoder, count)
    rng = np.random.default_rng(1)
    values = decoder.weights.align(decoder.names)
    values[first:] = rng.normal(size=len(values) - first) * 0.001
    weights = Weights(decoder.names, values)
    source.candidates(range(len(lines)), weights, 1)
    every = len(decoder.names)
    return {
        "names": every,
        "met": len(met),
        "touched": steps(source, weights, lambda: rng.choice(met, min(1000, len(met)), replace=False), 30),
        "spread": steps(source, weights, lambda: rng.integers(first, every, 1000).astype(np.uint32), 30),
        "learned": learned(source, weights, references, 30),
        "anew": anew(source, weights, 3),
    }


def main() -> None:
    """Measure and print."""
    parser = _multi30k.options(__doc__, 20)
    parser.add_argument("--names", type=int, nargs="+", default=[1_000_000, 10_000_000])
    arguments = parser.parse_args()
    if not _multi30k.DATA.is_dir():
        print(json.dumps({"skipped": "multi30k is not here: set DRAGOMAN_DATA"}))
        return
    pairs = zip(_multi30k.read("val.de", 1000), _multi30k.read("val.en", 1000), strict=True)
    short = [pair for pair in pairs if 4 <= len(pair[0].split()) <= 9][: arguments.sentences]
    lines, references = [source for source, _ in short], [[target] for _, target in short]
    with _multi30k.model_of(arguments.model) as model:
        found = []
        for count in sorted(arguments.names):
            found.append(measure(model, lines, references, count))
            print(f"{count:,} names done", file=sys.stderr)
    figures = {"sentences": len(short), "runs": found}
    for kind in ("touched", "spread", "learned"):
        first, last = (run[kind] for run in (found[0], found[-1]))
        figures[f"{kind}_step_ratio"] = round(last["step"] / first["step"], 3)  # type: ignore[index]
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
