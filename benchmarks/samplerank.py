"""SampleRank: samples per second, the share of BLEU, and the time of the authors' small setting. Prints JSON.

`--model` is a model folder with its tuning text (`--src`, `--refs`); without one, a model is trained on multi30k de-en,
which takes some minutes. H11's small setting is one epoch over 1,024 sentences with 100 + 500 samples each on 16
shards (the tuning text is repeated up to 1,024 lines). Rates are samples per second of processor time on one thread,
net of getting ready (options and language model scores), which is measured by an epoch of one sample.

`as published` has the paper's neighbourhoods (all translations), a new sentence for every sample and its two operators;
`default` is what the tuner does unless told.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dragoman.decoder import Decoder, DecoderSource
from dragoman.files import read_parallel
from dragoman.metrics import Bleu
from dragoman.training import Options, train
from dragoman.tuning import SampleRank
from dragoman.tuning.loops.chains import Pace, batches, metric_of

SENTENCES, SHARDS, FEW = 1024, 16, 128
"""The authors' setting; and sentences, on two shards of the same size, that rates are measured on."""
SETTINGS = {
    "default": SampleRank(chains=2, samples=500),
    "default, sampling only": SampleRank(chains=2, samples=1, burn_in=599),
    "as published": SampleRank(
        chains=2,
        samples=500,
        oracle="hope",
        rate=0.0,
        temperature=1.0,
        width=0,
        visit=1,
        merge=0.5,
        reorder=0.5,
        retranslate=0.0,
        start="gloss",
    ),
}


class Bench:
    """A text ready to be sampled."""

    def __init__(self, model: Path, src: Path, refs: Sequence[Path], features: str | None, threads: int) -> None:
        columns = read_parallel([str(src), *map(str, refs)])
        lines = [columns[0][i % len(columns[0])] for i in range(SENTENCES)]
        references = [[column[i % len(column)] for column in columns[1:]] for i in range(SENTENCES)]
        self.decoder = Decoder(model, features=features, threads=threads)
        self.metric = np.zeros((0, 0))
        self.ranker = DecoderSource(self.decoder, lines).ranker(references, Bleu(tokenize="none"))

    def epoch(self, tuner: SampleRank, sentences: int = FEW) -> dict[str, float]:
        """One epoch: seconds of both clocks, and what the native side counts."""
        start = self.decoder.weights.align(self.decoder.names)
        documents = [np.array([line], dtype=np.int64) for line in range(sentences)]
        shards = batches(documents, np.arange(sentences), tuner.chains, tuner.batch)
        wall, cpu = time.perf_counter(), time.process_time()
        pace = Pace(np.zeros(len(start)), self.metric, 0.0)
        done = self.ranker.epoch(self.decoder.weights, start, pace, [], shards, tuner, 0, 0)
        self.metric = metric_of(done.information, done.figures["updates"], [])
        figures = done.figures
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, **figures}


def measure(model: Path, src: Path, refs: Sequence[Path], features: str | None) -> dict[str, Any]:
    """All figures."""
    one = Bench(model, src, refs, features, 1)
    idle = one.epoch(SampleRank(chains=2, samples=1, burn_in=0))
    figures: dict[str, Any] = {"getting ready, cpu ms/sentence": round(1e3 * idle["cpu"] / FEW, 2)}
    for name, tuner in SETTINGS.items():
        run = one.epoch(tuner)
        timed = one.epoch(replace(tuner, clock=True))
        net = run["cpu"] - idle["cpu"]
        figures[name] = {
            "samples": run["samples"],
            "samples/s": round(run["samples"] / net),
            "us/sample": round(1e6 * net / run["samples"], 2),
            "members/sample": round(run["members"] / max(run["collected"], 1), 1),
            "gains worked out": round(run["probed"] / max(run["members"], 1), 4),
            "share of BLEU": round(timed["gain_time"] / timed["time"], 4),
            "moves": round(run["moves"] / run["samples"], 4),
            "updates": run["updates"],
            "capped": round(run["capped"] / max(run["updates"], 1), 3),
            "cpu s": round(run["cpu"], 2),
        }
    both = Bench(model, src, refs, features, os.cpu_count() or 1)
    run = both.epoch(SampleRank(chains=SHARDS, samples=500), SENTENCES)
    figures["H11 small setting, all cores"] = {"wall s": round(run["wall"], 2), "cpu s": round(run["cpu"], 2)}
    return figures


def main() -> None:
    """Measure and print."""
    data = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"))
    text = data / "multi30k" / "tok"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a model folder; trained on multi30k de-en if none is given")
    parser.add_argument("--src", type=Path, default=text / "val.de.gz", help="tuning text")
    parser.add_argument("--refs", type=Path, nargs="+", default=[text / "val.en.gz"], help="its references")
    parser.add_argument("--features", help="sparse feature sets, e.g. pb")
    arguments = parser.parse_args()
    if arguments.model is None and not text.is_dir():
        print(json.dumps({"skipped": "no multi30k here: name a model with --model"}))
        return
    with TemporaryDirectory() as name:
        model = arguments.model
        if model is None:
            model = Path(name) / "model"
            train(text / "train.de.gz", text / "train.en.gz", model, Options(), tokenized=True)
        figures = measure(model, arguments.src, arguments.refs, arguments.features)
    print(json.dumps({"settings": {k: asdict(v) for k, v in SETTINGS.items()}, "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
