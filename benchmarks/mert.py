"""MERT at full size: 1,000 sentences x 500 candidates x 20 dense features, 20 starting points. Prints JSON.

Run `python benchmarks/mert.py`; with Moses' `mert` on PATH the same lists are given to both.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dragoman.metrics import Bleu
from dragoman.tuning import Limits, Pool
from dragoman.tuning.tuners.mert import Mert
from dragoman.types import F64, Candidates, Features, Names, Texts


def bleu_rows(quality: F64, rng: np.random.Generator) -> F64:
    """Statistics as BLEU has them, for candidates of the given quality (standard normal): counts that nest.

    `quality` is (sentences, candidates). Better candidates match more words and are closer in length.
    """
    sentences, size = quality.shape
    reference = rng.integers(8, 45, (sentences, 1))
    length = np.maximum(4, reference + np.rint(rng.normal(0.0, 1.5, quality.shape) - 0.3 * quality)).astype(np.int64)
    matches = rng.binomial(length, 1.0 / (1.0 + np.exp(-0.6 - 0.35 * quality)))
    columns = [length, np.broadcast_to(reference, quality.shape)]
    orders, totals = [matches], [length]
    for order in range(1, 4):
        chance = 1.0 / (1.0 + np.exp(-0.1 - 0.25 * quality - 0.1 * order))
        totals.append(length - order)
        orders.append(rng.binomial(np.minimum(orders[-1], totals[-1]), chance))
    return np.stack([*columns, *orders, *totals], axis=-1).reshape(sentences * size, 10).astype(np.float64)


def make_pool(sentences: int, size: int, width: int, seed: int = 1) -> Pool:
    """Lists whose features each know a little about a candidate's quality."""
    rng = np.random.default_rng(seed)
    n = sentences * size
    quality = rng.standard_normal((sentences, size))
    matrix = rng.standard_normal((n, width))
    matrix += quality.reshape(n, 1) * rng.uniform(-0.4, 0.6, width)
    matrix *= rng.uniform(0.3, 8.0, width)
    matrix += rng.normal(0.0, 20.0, (sentences, 1, width)).repeat(size, axis=1).reshape(n, width)
    names = Names([f"f{i}" for i in range(width)], dense=True)
    starts = np.arange(0, n * width + 1, width, dtype=np.int64)
    columns = np.tile(np.arange(width, dtype=np.uint32), n)
    features = Features(names, starts, columns, matrix.reshape(-1))
    texts = Texts([""] * n)
    ids = Texts([str(i) for i in range(sentences)])
    candidates = Candidates(ids, np.arange(0, n + 1, size, dtype=np.int64), texts, features)
    return Pool(candidates, Bleu(tokenize="none", smooth="none"), bleu_rows(quality, rng))


def bytes_of(pool: Pool) -> int:
    """Memory of the arrays that a tuner is given."""
    rows = pool.candidates.features
    return sum(a.nbytes for a in (pool.statistics, rows.starts, rows.columns, rows.values))


def run_ours(pool: Pool, tuner: Mert, seed: int) -> dict[str, float]:
    """Our side: BLEU before and after, seconds (wall and CPU), peak memory over that of the arrays."""
    wall, cpu = time.perf_counter(), time.process_time()
    session = tuner.over(pool, Limits.none(pool.width), seed)
    state = session.begin(np.full(pool.width, 1.0 / pool.width))
    before = state.record["gain"]
    while not state.done:
        state = session.step(state)
    arrays = bytes_of(pool)
    return {
        "bleu_start": round(100 * before, 3),
        "bleu": round(100 * state.record["gain"], 3),
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "line_searches": state.record["searches"],
        "array_mb": round(arrays / 2**20, 1),
        "peak_over_arrays": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / arrays, 2),
    }


def write_moses(pool: Pool, folder: Path) -> list[str]:
    """Moses' own data files (what its extractor writes), and the options that name them."""
    rows = pool.candidates.features
    matrix = rows.values.reshape(-1, pool.width)
    interleaved = pool.statistics[:, [2, 6, 3, 7, 4, 8, 5, 9, 1]].astype(np.int64)
    names = " ".join(f"{name}_0" for name in rows.names.to_list())
    with (folder / "features.dat").open("w") as features, (folder / "scores.dat").open("w") as scores:
        for s, (start, end) in enumerate(zip(pool.candidates.starts, pool.candidates.starts[1:], strict=False)):
            size = int(end - start)
            features.write(f"FEATURES_TXT_BEGIN_0 {s} {size} {pool.width} {names}\n")
            features.writelines(" ".join(f"{x:.6g}" for x in row) + "\n" for row in matrix[start:end])
            features.write("FEATURES_TXT_END_0\n")
            scores.write(f"SCORES_TXT_BEGIN_0 {s} {size} 9 BLEU\n")
            scores.writelines(" ".join(map(str, row)) + "\n" for row in interleaved[start:end].tolist())
            scores.write("SCORES_TXT_END_0\n")
    lines = (1.0 / pool.width, -1.0, 1.0)
    (folder / "init.opt").write_text("".join(" ".join([str(x)] * pool.width) + "\n" for x in lines))
    files = ["--ffile", "features.dat", "--scfile", "scores.dat", "--ifile", "init.opt"]
    return ["-d", str(pool.width), "--sctype", "BLEU", *files]


def run_moses(pool: Pool, starts: int, seed: int) -> dict[str, float] | None:
    """Moses' side, judged by our BLEU; None if there is no Moses here."""
    binary = shutil.which("mert")
    if binary is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = write_moses(pool, folder)
        wall = time.perf_counter()
        command = [binary, *options, "-n", str(starts), "-r", str(seed), "--threads", "2"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - wall
        weights = np.array((folder / "weights.txt").read_text().split(), dtype=np.float64)
    return {"bleu": round(100 * pool.corpus_gain(weights), 3), "seconds": round(seconds, 2)}


def main(arguments: list[str] | None = None) -> None:
    """Both sides on one pool."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    for name, value in {"sentences": 1000, "size": 500, "width": 20, "starts": 20, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--together", type=int, default=4, help="starting points side by side")
    parser.add_argument("--order", default="greedy", choices=["greedy", "cyclic", "steepest"])
    parser.add_argument("--directions", default="coordinate")
    options = parser.parse_args(arguments)
    pool = make_pool(options.sentences, options.size, options.width)
    tuner = Mert(directions=options.directions, order=options.order, starts=options.starts, together=options.together)
    result = {"dragoman": run_ours(pool, tuner, options.seed), "moses": run_moses(pool, options.starts, options.seed)}
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
