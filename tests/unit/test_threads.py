"""The number of threads: obeyed by all kernels, without influence on results, and pools live on from call to call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny

from dragoman._core import LinePool, bootstrap_sums, dot_rows, get_threads, set_threads
from dragoman.decoder import Decoder
from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.types import Hypotheses, Names, Weights

ROOT = Path(__file__).resolve().parents[2]
linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads as Linux shows them")


@pytest.fixture
def threads() -> Iterator[None]:
    yield
    set_threads(None)


def kernels(decoder: Decoder) -> list[Any]:
    """The results of a kernel of each kind."""
    rng = np.random.default_rng(0)
    rows, width = 5000, 7
    statistics = rng.integers(0, 9, (rows, 10)).astype(np.float64)
    starts = np.arange(0, rows + 1, 50, dtype=np.int64)
    row_starts = np.arange(0, rows * width + 1, width, dtype=np.int64)
    columns = np.tile(np.arange(width, dtype=np.uint32), rows)
    values = rng.normal(size=rows * width)
    pool = LinePool.from_rows(starts, row_starts, columns, values, width, statistics)
    scores = pool.combine(rng.normal(size=width))
    metric = Bleu(tokenize="none")
    bounds = [-1e9] * width, [1e9] * width
    best = pool.search_best(scores, pool.total(scores), list(range(width)), *bounds, 1.0, metric._native, 1.0)
    names = Names([f"n{i}" for i in range(20_000)])
    aligned = Weights(names, rng.normal(size=20_000)).align(Names([f"n{i}" for i in range(0, 30_000, 2)]))
    lists = decoder.nbest(tiny.lines(40), 20)
    references = metric.prepare([[text] for text in tiny.lines(40, 3)])
    return [
        [*pool.search(scores, pool.combine(np.ones(width)))],
        [(point[0], point[1]) for point in best if point],
        bootstrap_sums(statistics, 50, 1),
        dot_rows(row_starts, columns, values, np.ones(width)),
        aligned,
        lists.texts.to_list(),
        lists.totals,
        references.statistics(Hypotheses(lists.texts, lists.sentence)),
    ]


def equal(one: list[Any], other: list[Any]) -> bool:
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else all(map(np.array_equal, a, b))
        for a, b in zip(one, other, strict=True)
    )


def test_results_do_not_depend_on_it(tmp_path: Path, threads: None) -> None:
    decoder = Decoder(tiny.model(tmp_path), features=tiny.SETS, search=tiny.SEARCH)
    free = kernels(decoder)
    for count in (1, 2, 3):
        set_threads(count)
        assert get_threads() == count
        assert equal(kernels(decoder), free)
        other = Decoder(tmp_path, features=tiny.SETS, search=tiny.SEARCH, threads=4 - count)
        assert equal(kernels(other), free)
    set_threads(None)
    assert get_threads() is None


def test_it_must_be_a_number_of_threads(threads: None) -> None:
    with pytest.raises(OptionError, match="at least one thread"):
        set_threads(0)


def test_many_callers_at_once(tmp_path: Path, threads: None) -> None:
    """Kernels that hold locks and kernels that want them, on one pool: none waits for ever."""
    decoder = Decoder(tiny.model(tmp_path), features=tiny.SETS, search=tiny.SEARCH)
    want = kernels(decoder)
    set_threads(2)

    def work(number: int) -> bool:
        weights = Weights(Names([f"pt:x{number}>y{i}" for i in range(300)]), np.ones(300))
        decoder.translate(tiny.lines(3, number), weights=weights)
        decoder.model.weights.align(decoder.names)
        own = Decoder(tmp_path, features=tiny.SETS, search=replace(tiny.SEARCH), threads=1 + number % 2)
        return equal(kernels(own), want)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(24)))


_COUNT = """
import sys
from pathlib import Path
from tests import tiny
from tests.unit import test_threads
from dragoman._core import set_threads
from dragoman.decoder import Decoder

def ours():
    names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return len([name for name in names if name.startswith("dragoman-")]), len(names)

decoder = Decoder(sys.argv[1], features=tiny.SETS, search=tiny.SEARCH, threads=THREADS)
before = ours()
set_threads(COUNT)
seen = []
for _ in range(3):
    test_threads.kernels(decoder)
    for line in tiny.lines(30):
        decoder.nbest([line], 5)
    seen.append((ours()[0], ours()[1] - before[1]))
print(before[0], *seen, sep="\\n")
"""


@linux
@pytest.mark.parametrize(
    ("count", "threads", "want"),
    # The pool of all kernels; another for those that hold a lock; that of the decoder, unless it needs none.
    [(3, None, 6), (1, None, 2), (2, 1, 4), (2, 3, 7)],
)
def test_the_process_has_as_many_threads_and_keeps_them(
    count: int, threads: int | None, want: int, tmp_path: Path
) -> None:
    tiny.model(tmp_path)
    script = _COUNT.replace("COUNT", str(count)).replace("THREADS", str(threads))
    # Not one of rayon's own threads may start, one for each core: there would be more than are counted here.
    environment = os.environ | {"RAYON_NUM_THREADS": "5", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    # The model is opened before the number is set, and hashes of files are computed in parallel.
    environment["OPENBLAS_NUM_THREADS"] = "1"
    run = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True, env=environment
    )
    before, *seen = run.stdout.split("\n")[:-1]
    assert before == "0"
    assert seen == [f"({want}, {want})"] * 3
