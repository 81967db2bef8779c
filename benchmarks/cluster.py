"""Ray against threads on this machine, bytes per update, how asynchronous AdaGrad would scale, what training shares.

    python benchmarks/cluster.py --model model

Overheads are ratios of wall time with two workers each, runs in turn, the start of Ray and the opening of the model
apart. Scaling is simulated: workers sleep for the times that batches took here, and send back a gradient of this size,
so that the driver, the messages and the updates are real. Of training, rules and the language model of parliament
speeches are made with tasks that run here, one at a time on one thread, so that CPU seconds of tasks and of what the
machine of the command does can be told apart.
"""

from __future__ import annotations

import gzip
import json
import pickle
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from _multi30k import DATA, model_of, options, read
from dragoman import alignment, lm, rules
from dragoman._core import set_threads
from dragoman.cli.sentences import paired, requests
from dragoman.cli.shards import Setup, _Translate, lines_of_a_shard, shards
from dragoman.decoder import Decoder, DecoderSource
from dragoman.engine import Engine, EngineBase, Ray, Serial, Shared, Threads
from dragoman.metrics import Bleu
from dragoman.tuning import Online, Problem
from dragoman.tuning.learning import learner_of
from dragoman.tuning.loops.feed import Feed, Version
from dragoman.tuning.loops.stale_gradient import BatchGradient, StaleGradient, _Batch
from dragoman.types import Names, Weights

SETS = "pt,al,lo"
TUNER = Online(rate=0.1)


def alternating(count: int, runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median seconds of each, runs in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(count):
        for name, run in runs.items():
            began = time.monotonic()
            run()
            times[name].append(time.monotonic() - began)
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def problem(model: Path, sentences: int, features: str | None) -> Problem:
    """AdaGrad's task."""
    source = DecoderSource(Decoder(model, features=features), read("train.de", sentences), 100)
    return Problem.of_source(source, [[line] for line in read("train.en", sentences)], Bleu(tokenize="none"))


def epochs(
    model: Path, sentences: int, engines: dict[str, Engine], repeats: int, tuner: Online = TUNER
) -> dict[str, Any]:
    """Seconds of an epoch of AdaGrad."""
    runs: dict[str, Callable[[], None]] = {}
    for name, engine in engines.items():
        text = problem(model, sentences, None)
        session = StaleGradient(text, tuner, engine, 1)
        first = session.begin(text.source.weights.align(text.names))  # type: ignore[attr-defined]
        session.step(first)  # the model is opened
        runs[name] = lambda session=session, first=first: session.step(first)  # type: ignore[misc]
    return alternating(repeats, runs)


def translation(model: Path, lines: Sequence[str], engines: dict[str, Engine], repeats: int) -> dict[str, Any]:
    """Seconds of a translation, as `dragoman translate` does it."""
    decoder = Decoder(model, threads=2)
    setup = Setup(decoder, None, False, False, 1, False, None, None, False, False, "text")
    runs: dict[str, Callable[[], None]] = {}

    def by_threads() -> None:
        asker, writer = setup.asker, setup.own_writer
        asked = requests(asker, setup.source, ((line, None) for line in lines))
        for request, found in paired(asked, lambda items: decoder.stream(items, 1, features=False)):
            writer.kept(request, found)

    def by_ray(engine: Engine, work: _Translate, part: Sequence[str]) -> None:
        asked = [(line, None) for line in part]
        size = lines_of_a_shard(len(asked), engine.workers)
        for _ in engine.stream(work, shards(asked, 0, size), 3 * engine.workers):
            pass

    for name, engine in engines.items():
        if engine.local:
            runs[name] = by_threads
            continue
        work = _Translate(engine.share(setup))
        by_ray(engine, work, lines[:200])
        runs[name] = lambda engine=engine, work=work: by_ray(engine, work, lines)  # type: ignore[misc]
    return alternating(repeats, runs)


def update_sizes(model: Path, sentences: int) -> tuple[dict[str, Any], list[float], int, int]:
    """Bytes of what goes to a worker and comes back for each update, PT+AL+LO; and what batches took."""
    text = problem(model, sentences, SETS)
    engine = _Recording()
    session = StaleGradient(text, TUNER, engine, 1)
    state = session.begin(text.source.weights.align(text.names))  # type: ignore[attr-defined]
    for _ in range(2):
        engine.down.clear()
        engine.up.clear()
        engine.seconds.clear()
        state = session.step(state)
    width = len(text.names)
    told = {
        "features known": width,
        "down, bytes per update": round(statistics.mean(engine.down)),
        "up, bytes per update": round(statistics.mean(engine.up)),
        "features per gradient": round(statistics.mean(engine.sizes)),
        "all weights with their names, bytes": len(pickle.dumps(Weights(text.names, state.weights))),
    }
    return told, engine.seconds, round(statistics.mean(engine.sizes)), width


class _Recording(EngineBase):
    """One task after the other, with everything pickled as a cluster would have it, and measured."""

    workers = 1

    def __init__(self) -> None:
        self.down: list[int] = []
        self.up: list[int] = []
        self.seconds: list[float] = []
        self.sizes: list[int] = []

    def map(self, work: Any, tasks: Any) -> Any:
        """As it is."""
        return [work(task) for task in tasks]

    def share(self, value: Any) -> Shared[Any]:
        """Here, and measured if it is an update."""
        if hasattr(value, "columns"):
            self.down.append(len(pickle.dumps(replace(value, before=None))))
        return _Once(value)

    def stream(self, work: Any, tasks: Any, ahead: int) -> Any:
        """As it is, and measured."""

        def measured(task: _Batch) -> BatchGradient:
            began = time.monotonic()
            found = work(task)
            self.seconds.append(time.monotonic() - began)
            content = pickle.dumps(found)
            self.up.append(len(content))
            self.sizes.append(len(found.gradient))
            back: BatchGradient = pickle.loads(content)
            return back

        return Serial().stream(measured, tasks, ahead)


@dataclass(frozen=True)
class _Once:
    """In this process, under a type that is not `Here`."""

    value: Any


@dataclass(frozen=True)
class _Wait:
    """A worker that sleeps for as long as a batch took, and sends a gradient."""

    seconds: Sequence[float]
    features: int
    width: int
    seed: int

    def __call__(self, task: tuple[int, int, Version]) -> tuple[int, Any, Any]:
        number, made, version = task
        rng = random.Random(number)
        version.weights()
        time.sleep(rng.choice(self.seconds))
        places = np.sort(np.random.default_rng(number).choice(self.width, self.features, replace=False))
        return made, places.astype(np.uint32), np.full(self.features, 1e-3)


def scaling(workers: int, wait: _Wait, updates: int) -> dict[str, float]:
    """Updates a second and staleness with so many workers."""
    names = Names([f"pt:some source word>some target {i}" for i in range(wait.width)])
    with Ray(workers=workers, store="200M") as engine:
        learner = learner_of(TUNER, np.zeros(wait.width), squares=np.zeros(wait.width),
                             counts=np.zeros(wait.width, dtype=np.int64))  # fmt: skip
        feed, stale = Feed(engine, Weights(names, np.zeros(wait.width))), []

        def tasks() -> Any:
            for number in range(updates):
                yield number, feed.updates, feed.now

        began = 0.0
        for number, (_, (made, places, gradient)) in enumerate(engine.arriving(wait, tasks(), engine.workers - 1)):
            if number == workers:  # all have begun
                began, counted = time.monotonic(), number
            learner.step(places, gradient, 1.0, np.ones(len(places), dtype=np.int64))
            stale.append(feed.updates - made)
            feed.change(*learner.changes())
        rate = (updates - counted) / (time.monotonic() - began)
    ideal = workers / statistics.mean(wait.seconds)
    return {
        "workers": workers, "updates/s": round(rate, 1), "ideal": round(ideal, 1), "efficiency": round(rate / ideal, 3),
        "staleness": round(statistics.mean(stale[workers:]), 1),
    }  # fmt: skip


class _Apart(EngineBase):
    """One task after the other, here, as processes elsewhere would have them; what tasks take is measured apart."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.seconds: list[float] = []
        """CPU seconds of the tasks of each stage."""
        self.sent, self.most = 0, 0
        """Bytes of tasks and results, and of the largest task."""

    def map(self, work: Any, tasks: Any) -> Any:
        """The results in the order of the tasks."""
        return list(self.stream(work, tasks))

    def stream(self, work: Any, tasks: Any, _ahead: int = 0) -> Any:
        """As it is, and measured."""
        self.seconds.append(0.0)
        for task in tasks:
            began = time.process_time()
            result = work(task)
            self.seconds[-1] += time.process_time() - began
            self.sent += len(task) + len(result)
            self.most = max(self.most, len(task))
            yield result


def apart(workers: int, run: Callable[[Engine], Any]) -> dict[str, Any]:
    """CPU seconds that workers would spend, by stage, and this machine; bytes that travel."""
    engine, began = _Apart(workers), time.process_time()
    run(engine)
    here = time.process_time() - began - sum(engine.seconds)
    return {
        "workers, s": round(sum(engine.seconds), 3), "by stage": [round(each, 3) for each in engine.seconds],
        "this machine, s": round(here, 3), "bytes both ways": engine.sent, "largest task": engine.most,
    }  # fmt: skip


def shares(pairs: int, workers: int, repeats: int) -> dict[str, Any]:
    """What workers and this machine do of the rules and the language model of speeches, French to English."""
    set_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = []
        for side in ("fr", "en"):
            with gzip.open(DATA.parents[1] / "europarl" / "fr-en" / f"train.{side}.gz", "rt") as lines:
                text.append([line.rstrip("\n") for _, line in zip(range(pairs), lines, strict=False)])
            (folder / side).write_text("".join(f"{line}\n" for line in text[-1]))
        trained = alignment.train(text[0], text[1], samplers=1, sweeps=(2, 2, 2)).trained
        assert trained is not None
        trained.links().write(folder / "links")
        files = (folder / "fr", folder / "en", folder / "links")
        found: dict[str, Any] = {"words": sum(len(line.split()) for side in text for line in side)}
        runs: dict[str, Callable[[Engine | None], Any]] = {
            "rules": lambda engine: rules.extract(*files, folder / "rules", top=100, engine=engine),
            "lm": lambda engine: lm.estimate(files[1], folder / "lm", engine=engine),
        }
        for step, run in runs.items():
            measured = [apart(workers, run) for _ in range(repeats)]
            found[step] = sorted(measured, key=lambda each: each["this machine, s"])[repeats // 2]
            began = time.process_time()
            run(None)
            found[step]["one process, s"] = round(time.process_time() - began, 3)
    return found


def main() -> None:
    """Prints the figures as JSON."""
    parser = options(__doc__, 500)
    parser.add_argument("--lines", type=int, default=20_000, help="lines to translate")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 8, 25, 50, 100, 200])
    parser.add_argument("--pairs", type=int, default=10_000, help="sentence pairs of speeches to train on")
    parts = ["epoch", "arrival", "translation", "bytes", "scaling", "training"]
    parser.add_argument("--only", choices=parts, nargs="*")
    given = parser.parse_args()
    only = given.only or parts
    found: dict[str, Any] = {}
    if "training" in only:
        found["training"] = shares(given.pairs, 4, given.repeats)
        note(found)
    if only == ["training"]:
        print(json.dumps(found, indent=1))
        return
    with model_of(given.model) as model:
        if {"epoch", "translation"} & set(only):
            began = time.monotonic()
            with Ray(workers=2) as ray, Threads(2) as threads:
                found["start of Ray, s"] = round(time.monotonic() - began, 2)
                engines: dict[str, Engine] = {"threads": threads, "ray": ray}
                measures: dict[str, Callable[[], dict[str, Any]]] = {
                    "epoch": lambda: epochs(model, given.sentences, engines, given.repeats),
                    "translation": lambda: translation(model, read("train.de", given.lines), engines, given.repeats),
                }
                for name in [name for name in measures if name in only]:
                    times = measures[name]()
                    found[name] = {**times, "overhead": round(times["ray"] / times["threads"] - 1, 3)}
                    note(found)
        if "arrival" in only:
            arrival = replace(TUNER, arrival=True)
            seconds_of: dict[str, Any] = {
                f"{count} threads": epochs(model, given.sentences, {"": engine}, given.repeats, arrival)[""]
                for count in (1, 2)
                for engine in [Threads(count)]
            }
            speed_up = round(seconds_of["1 threads"] / seconds_of["2 threads"], 2)
            found["arrival, epoch"] = {**seconds_of, "speed-up": speed_up}
            note(found)
        if {"bytes", "scaling"} & set(only):
            found["bytes"], seconds, features, width = update_sizes(model, min(given.sentences, 200))
            found["batch, s"] = {"mean": round(statistics.mean(seconds), 3), "max": round(max(seconds), 3)}
        if "scaling" in only:
            rows = found["scaling"] = list[dict[str, float]]()
            for count in given.workers:
                rows.append(scaling(count, _Wait(seconds, features, width, 1), max(4 * count, 60)))
                note(found)
            good = [row["workers"] for row in rows if row["efficiency"] >= 0.8]
            found["knee"] = f"efficiency of 80 % up to {max(good, default=0):.0f} workers"
    print(json.dumps(found, indent=1))


def note(found: dict[str, Any]) -> None:
    """What has been found so far, on standard error: later parts take minutes."""
    print(json.dumps(found), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
