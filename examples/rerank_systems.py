"""Combine several translation systems by reranking: their outputs are the n-best list, agreement is the features.

    python examples/rerank_systems.py --outputs hyp.*.en --source src.de --refs ref.*.en

Each sentence's candidates are the outputs of all systems. Their features need no model and no training data: which
system a candidate comes from, how long it is compared with the source and with the others, and how much the others
agree with it (chrF and shared n-grams). Weights are tuned on one half of the sentences, and the other half shows
whether the chosen candidates beat the best single system.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.files import read_parallel
from dragoman.metrics import Chrf, metric_from
from dragoman.significance import paired_permutation
from dragoman.tuning import Pool, Problem, tune, tuner_from
from dragoman.types import F64, Candidates, Features, Hypotheses, Metric, Names, Texts

N_GRAMS = (1, 2, 3, 4)


def agreement(outputs: Sequence[Sequence[str]]) -> F64:
    """Mean chrF of each output to the others', as (sentences, systems)."""
    table = np.zeros((len(outputs[0]), len(outputs)))
    for column, output in enumerate(outputs):
        others = [o for k, o in enumerate(outputs) if k != column]
        for other in others:
            rows = Chrf().prepare([[line] for line in other]).statistics(Hypotheses.one_each(output))
            table[:, column] += Chrf().score(rows) / 100 / len(others)
    return table


def shared_ngrams(candidates: Sequence[str]) -> list[list[float]]:
    """For each candidate and n: the share of its n-grams that the other candidates have, weighted by how many do."""
    grams = [[Counter(zip(*(c.split()[k:] for k in range(n)), strict=False)) for n in N_GRAMS] for c in candidates]
    rows = []
    for mine in grams:
        row = []
        for order, counts in enumerate(mine):
            votes = sum(c * (sum(g in other[order] for other in grams) - 1) for g, c in counts.items())
            row.append(votes / max(1, sum(counts.values()) * (len(candidates) - 1)))
        rows.append(row)
    return rows


def candidate_lists(outputs: Sequence[Sequence[str]], source: Sequence[str], systems: Sequence[str]) -> Candidates:
    """All outputs as one n-best list, with their features."""
    names = [*(f"system:{s}" for s in systems), "log length ratio", "length spread", "chrF to others"]
    names += [f"shared {n}-grams" for n in N_GRAMS]
    alike = agreement(outputs)
    blocks = []
    for s, line in enumerate(source):
        texts = [output[s] for output in outputs]
        lengths = np.array([len(text) for text in texts], dtype=np.float64)
        block = np.zeros((len(texts), len(names)))
        block[:, : len(systems)] = np.eye(len(systems))
        block[:, len(systems)] = np.log((lengths + 1) / (len(line) + 1))
        block[:, len(systems) + 1] = -np.abs(np.log((lengths + 1) / (np.median(lengths) + 1)))
        block[:, len(systems) + 2] = alike[s]
        block[:, len(systems) + 3 :] = shared_ngrams(texts)
        blocks.append(block)
    matrix = np.concatenate(blocks)
    count, width = matrix.shape
    features = Features(
        Names(names, dense=True),
        np.arange(0, count * width + 1, width),
        np.tile(np.arange(width, dtype=np.uint32), count),
        matrix.ravel(),
    )
    column = Texts([output[s] for s in range(len(source)) for output in outputs])
    starts = np.arange(0, count + 1, len(outputs))
    return Candidates(Texts([str(s) for s in range(len(source))]), starts, column, features)


def best_single(pool: Pool, systems: Sequence[str], metric: Metric) -> tuple[str, F64]:
    """The system with the best score on a pool, and its statistics there."""
    rows = pool.statistics.reshape(len(pool.candidates), len(systems), -1)
    scores = metric.score(rows.sum(axis=0)) * (1 if metric.higher_is_better else -1)
    best = int(np.argmax(scores))
    return systems[best], np.ascontiguousarray(rows[:, best])


def main() -> None:
    """Tunes on one half, judges on the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", nargs="+", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--refs", nargs="+", required=True)
    parser.add_argument("--metric", default="bleu")
    parser.add_argument("--tuner", default="mert")
    parser.add_argument("--limit", type=int, help="use only so many sentences")
    arguments = parser.parse_args()
    columns = read_parallel([arguments.source, *arguments.outputs, *arguments.refs])
    source, *others = (column.to_list()[: arguments.limit] for column in columns)
    outputs, refs = others[: len(arguments.outputs)], others[len(arguments.outputs) :]
    systems = [Path(path).name for path in arguments.outputs]
    metric = metric_from(arguments.metric)
    candidates = candidate_lists(outputs, source, systems)
    pool = Pool.judge(candidates, list(zip(*refs, strict=True)), metric)
    tuning, test = pool.split(0.5, seed=1)
    problem = Problem.of_pool(tuning, held_out=Problem.of_pool(test))
    tuned = tune(problem, tuner_from(arguments.tuner), seed=1)
    # The single system is chosen on the tuning half too: choosing it on the test half would be a privilege.
    chosen = best_single(tuning, systems, metric)[0]
    rows = test.statistics.reshape(len(test.candidates), len(systems), -1)[:, systems.index(chosen)]
    mine = test.statistics[test.choice(tuned.weights.align(test.candidates.features.names))]
    hindsight = float(metric.score(best_single(test, systems, metric)[1].sum(axis=0)))
    result = paired_permutation(np.ascontiguousarray(rows), mine, metric)
    report = {
        "best single system": chosen,
        "its score": round(result.baseline, 4),
        "best single system in hindsight": round(hindsight, 4),
        "reranked": round(result.system, 4),
        "p": result.p_value,
        "metric": metric.signature(),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
