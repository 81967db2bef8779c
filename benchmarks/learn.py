"""How fast the learning tuners are, and how much memory they take: `python benchmarks/learn.py [scale]`.

Prints one JSON object. If Moses' `kbmira` is on the PATH, both sides learn from the same lists.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from dragoman.metrics import Bleu
from dragoman.tuning import BatchTuner, Limits, Pool, State
from dragoman.tuning.tuners.mira import Mira
from dragoman.tuning.tuners.online import Online
from dragoman.tuning.tuners.pro import Pro
from dragoman.tuning.tuners.risk import Risk
from dragoman.types import F64, Candidates, Features, Names, Texts

SEED = 7


def bleu_rows(rng: np.random.Generator, quality: F64, sentences: int) -> F64:
    """Statistics like real ones: lengths near the reference's, matches that fall with the order."""
    count = len(quality)
    reference = np.repeat(rng.integers(8, 45, sentences), count // sentences).astype(float)
    length = np.maximum(4, reference + rng.integers(-3, 4, count))
    totals = np.maximum(0, length[:, None] - np.arange(4))
    precision = np.clip(0.45 + 0.2 * quality, 0.05, 0.95)[:, None] ** np.array([1, 2, 2.8, 3.5])
    matches = rng.binomial(totals.astype(int), precision).astype(float)
    return np.column_stack([length, reference, np.minimum.accumulate(matches, axis=1), totals])


def candidates(starts: np.ndarray, columns: np.ndarray, values: F64, width: int, sentences: int) -> Candidates:
    """Lists of equal length without texts."""
    count = len(starts) - 1
    groups = np.arange(0, count + 1, count // sentences, dtype=np.int64)
    features = Features(Names([f"f{j}" for j in range(width)]), starts, columns.astype(np.uint32), values)
    return Candidates(Texts([str(s) for s in range(sentences)]), groups, Texts([""] * count), features)


def dense_pool(sentences: int, size: int, width: int) -> Pool:
    """Every candidate has every feature; the quality is a weighted sum of them and noise."""
    rng = np.random.default_rng(SEED)
    values = rng.normal(size=(sentences * size, width))
    quality = values @ (rng.normal(size=width) / np.sqrt(width)) + rng.normal(size=len(values))
    starts = np.arange(0, values.size + 1, width, dtype=np.int64)
    columns = np.tile(np.arange(width), len(values))
    lists = candidates(starts, columns, np.ascontiguousarray(values).reshape(-1), width, sentences)
    return Pool(lists, Bleu(), bleu_rows(rng, quality, sentences))


def sparse_pool(sentences: int, size: int, width: int, active: int) -> Pool:
    """Fourteen dense features and `active` sparse ones a candidate, from a sentence's own few hundred."""
    rng = np.random.default_rng(SEED)
    count, dense = sentences * size, 14
    own = rng.zipf(1.3, size=(sentences, 3 * active)) * 7919 % (width - dense) + dense
    picks = np.sort(rng.random((count, 3 * active)).argsort(axis=1)[:, :active].astype(np.int32), axis=1)
    sparse = np.take_along_axis(np.repeat(own, size, axis=0), picks, axis=1)
    columns = np.column_stack([np.tile(np.arange(dense), (count, 1)), sparse]).reshape(-1)
    values = np.ones((count, dense + active))
    values[:, :dense] = rng.normal(size=(count, dense))
    quality = values[:, :dense].sum(axis=1) / np.sqrt(dense) + rng.normal(size=count)
    starts = np.arange(0, columns.size + 1, dense + active, dtype=np.int64)
    lists = candidates(starts, columns, values.reshape(-1), width, sentences)
    return Pool(lists, Bleu(), bleu_rows(rng, quality, sentences))


def size_of(pool: Pool) -> int:
    """Bytes of a pool's arrays."""
    features = pool.candidates.features
    return sum(a.nbytes for a in (features.starts, features.columns, features.values, pool.statistics))


def peak() -> int:
    """The most memory this process held since `forget_peak`, in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def forget_peak() -> None:
    """Counts the peak of memory anew: making the pool took more than the tuner will."""
    Path("/proc/self/clear_refs").write_text("5")


def run(tuner: BatchTuner, pool: Pool, steps: int | None = None) -> dict[str, float]:
    """Times a run from uniform weights."""
    begun = time.perf_counter()
    session = tuner.over(pool, Limits.none(pool.width), SEED)
    state: State = session.begin(np.full(pool.width, 0.1) if pool.width < 100 else np.zeros(pool.width))
    ready, worked, start = time.perf_counter(), time.process_time(), state.record["gain"]
    while not state.done and (steps is None or state.step < steps):
        state = session.step(state)
    seconds = time.perf_counter() - ready
    busy = time.process_time() - worked
    return {
        "setup_s": round(ready - begun, 3),
        "steps": state.step,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(busy, 3),
        "gain_start": round(start, 4),
        "gain_end": round(state.record["gain"], 4),
    }


def measured(make: Callable[[], Pool], work: Callable[[Pool], dict[str, float]]) -> dict[str, float]:
    """Runs a benchmark in a process of its own, for its peak of memory."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        pool = make()
        gc.collect()
        forget_peak()
        before, arrays = peak(), size_of(pool)
        result = {**work(pool), "arrays_mb": arrays >> 20, "made_mb": before >> 20, "peak_mb": peak() >> 20}
        result["peak_over_arrays"] = round((peak() - before + arrays) / arrays, 2)
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, float] = json.loads(text)
    return found


def write_moses(pool: Pool, folder: Path) -> list[str]:
    """The lists as Moses' `kbmira` reads them, and its arguments."""
    features = pool.dense
    starts = pool.candidates.starts.tolist()
    bleu = pool.statistics[:, [2, 6, 3, 7, 4, 8, 5, 9, 1]].astype(int)
    with (folder / "scores").open("w") as scores, (folder / "features").open("w") as feats:
        for s, (start, end) in enumerate(pairwise(starts)):
            scores.write(f"SCORES_TXT_BEGIN_0 {s} {end - start} 9 BLEU\n")
            names = " ".join(f"f{j}" for j in range(pool.width))
            feats.write(f"FEATURES_TXT_BEGIN_0 {s} {end - start} {pool.width} {names}\n")
            for i in range(start, end):
                scores.write(" ".join(map(str, bleu[i])) + "\n")
                feats.write(" ".join(f"{x:.9g}" for x in features[i]) + "\n")
            scores.write("SCORES_TXT_END_0\n")
            feats.write("FEATURES_TXT_END_0\n")
    (folder / "start").write_text("".join(f"f{j}= 0.1\n" for j in range(pool.width)))
    files = ["--dense-init", "start", "--scfile", "scores", "--ffile", "features", "-o", "weights"]
    return [*files, "-J", "60", "-r", "1"]


def child_seconds() -> float:
    """Processor time of all programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def moses(pool: Pool) -> dict[str, float | str]:
    """Moses' side of k-best MIRA, if it is there: its time and the corpus gain of its weights on the pool."""
    program = shutil.which("kbmira")
    if program is None:
        return {"skipped": "kbmira is not on the PATH"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = write_moses(pool, folder)
        begun, before = time.perf_counter(), child_seconds()
        subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True)
        seconds, cpu = time.perf_counter() - begun, child_seconds() - before
        lines = (line.split() for line in (folder / "weights").read_text().splitlines())
        found = {int(parts[0].strip("fF=")): float(parts[-1]) for parts in lines}  # F0, F1, ...
    weights = np.array([found[j] for j in range(pool.width)])
    return {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3), "gain_end": round(pool.corpus_gain(weights), 4)}


def main() -> None:
    """Runs everything; the argument shrinks the number of sentences (1 is the full size)."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    sentences = max(20, int(1000 * scale))

    def dense() -> Pool:
        return dense_pool(sentences, 500, 20)

    def sparse() -> Pool:
        return sparse_pool(sentences, 200, 1_000_000, 80)

    def small() -> Pool:
        return dense_pool(max(20, int(1014 * scale)), 200, 14)

    results: dict[str, object] = {
        "kbmira_60_epochs_dense": measured(dense, lambda pool: run(Mira.kbmira(), pool)),
        "mira_corpus_20_epochs_dense": measured(dense, lambda pool: run(Mira(), pool)),
        "pro_30_dense": measured(dense, lambda pool: run(Pro(), pool)),
        "risk_sentence_dense": measured(dense, lambda pool: run(Risk(), pool)),
        "risk_corpus_dense": measured(dense, lambda pool: run(Risk(objective="corpus"), pool)),
        "adagrad_3_epochs_sparse_1m": measured(sparse, lambda pool: run(Online(), pool, 3)),
        "adagrad_expected_3_epochs_sparse_1m": measured(
            sparse, lambda pool: run(Online(objective="expected"), pool, 3)
        ),
        "pro_3_sparse_1m": measured(sparse, lambda pool: run(Pro(), pool, 3)),
        "kbmira_60_epochs_dense_moses": moses(dense()),
        "kbmira_1014x200x14": measured(small, lambda pool: run(Mira.kbmira(), pool)),
        "kbmira_1014x200x14_moses": moses(small()),
    }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
