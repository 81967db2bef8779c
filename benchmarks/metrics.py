"""Statistics of an n-best pool: ours against sacreBLEU's, the same work in one run. Prints JSON.

Both sides get the same tokenised hypotheses and references that are digested beforehand; what is timed is turning
hypotheses into rows of statistics. Ours uses all cores, sacreBLEU one; `ours_cpu_seconds` is for comparing per core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER

from dragoman.metrics import Bleu, Chrf, Ter
from dragoman.types import F64, Hypotheses, Metric, Texts


def pool(sentences: int, size: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """References, and for each of them `size` hypotheses that differ from it in some places."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{rank}" if rank % 7 else f"w{rank}," for rank in range(20_000)])
    chances = 1 / np.arange(1, len(words) + 1)
    chances /= chances.sum()
    references, hypotheses = [], []
    for _ in range(sentences):
        reference = rng.choice(words, size=rng.integers(8, 40), p=chances)
        references.append(" ".join(reference) + ".")
        for _ in range(size):
            hypothesis = reference.copy()
            places = rng.integers(0, len(reference), size=rng.integers(1, 6))
            hypothesis[places] = rng.choice(words, size=len(places), p=chances)
            hypotheses.append(" ".join(np.roll(hypothesis, rng.integers(0, 2))) + ".")
    return references, hypotheses


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor time of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def theirs_rows(metric: Any, references: list[str], hypotheses: list[str]) -> tuple[F64, tuple[float, float]]:
    """SacreBLEU's statistics by the same division of labour: references cached, then a row for each hypothesis."""
    size = len(hypotheses) // len(references)
    cached = [metric._cache_references([[reference]])[0] for reference in references]
    rows: list[list[float]] = []

    def work() -> None:
        for number, hypothesis in enumerate(hypotheses):
            segment = metric._preprocess_segment(hypothesis)
            rows.append(metric._compute_segment_statistics(segment, cached[number // size]))

    spent = seconds(work)
    return np.array(rows, dtype=np.float64), spent


def ours_rows(metric: Metric, references: list[str], hypotheses: list[str]) -> tuple[F64, tuple[float, float]]:
    """Our statistics."""
    prepared = metric.prepare([[reference] for reference in references])
    sentence = np.repeat(np.arange(len(references), dtype=np.int64), len(hypotheses) // len(references))
    batch = Hypotheses(Texts(hypotheses), sentence)
    rows: list[F64] = []
    spent = seconds(lambda: rows.append(prepared.statistics(batch)))
    return rows[0], spent


def main() -> None:
    """Runs each metric on both sides and checks that the rows agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--size", type=int, default=200, help="hypotheses a sentence (BLEU; chrF and TER: a fiftieth)")
    arguments = parser.parse_args()
    results = []
    for ours, theirs, share in (
        (Bleu(), BLEU(), 1),
        (Bleu(tokenize="none"), BLEU(tokenize="none"), 1),
        (Chrf(), CHRF(), 50),
        (Ter(), TER(), 50),
    ):
        references, hypotheses = pool(arguments.sentences, max(1, arguments.size // share))
        rows, (wall, cpu) = ours_rows(ours, references, hypotheses)
        want, (their_wall, _) = theirs_rows(theirs, references, hypotheses)
        results.append(
            {
                "metric": ours.signature(),
                "hypotheses": len(hypotheses),
                "ours_seconds": round(wall, 4),
                "ours_cpu_seconds": round(cpu, 4),
                "sacrebleu_seconds": round(their_wall, 4),
                "times_faster": round(their_wall / wall, 1),
                "times_faster_per_core": round(their_wall / cpu, 1),
                "rows_agree": bool(np.allclose(rows, want, rtol=0, atol=1e-9)),
            }
        )
    print(json.dumps({"benchmark": "metrics", "results": results}, indent=1))


if __name__ == "__main__":
    main()
