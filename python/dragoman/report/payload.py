"""The data of a page, small: every output of a sentence once, its BLEU statistics, and who said it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.metrics import Bleu
from dragoman.report.content import TOP, Content, Curve, Translated
from dragoman.types import Hypotheses, Texts
from dragoman.verbs.inputs import metric_of

__all__ = ["compressed", "data_of", "details_of", "dumped", "weights_of"]

_KEYS = ("score", "held_out", "oracle", "prediction")


def compressed(content: bytes) -> str:
    """Bytes for a page: compressed as browsers can undo it, in letters."""
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")


def data_of(content: Content) -> dict[str, Any]:
    """What the page's script works with."""
    return {
        "tokenized": content.tokenized,
        "tests": [_test(test, content.metric) for test in content.tests],
        "counts": dict(content.counts),
        "curves": [_curve(curve) for curve in content.curves],
        "weights": {},  # they come when somebody looks at them
        "metric": metric_of(content.metric).signature(),
    }


def details_of(content: Content) -> list[dict[str, Any]]:
    """Derivations of each test's systems."""
    return [{name: _details(found) for name, found in test.details.items()} for test in content.tests]


def weights_of(content: Content) -> dict[str, Any]:
    """Weights of each system: the largest of each, and those of all others by the same names."""
    live = {
        system: {name: value for name, value in found.to_dict().items() if value != 0}
        for system, found in content.weights.items()
    }
    shown = {system: sorted(own, key=lambda name: -abs(own[name]))[:TOP] for system, own in live.items()}
    names = list(dict.fromkeys(name for own in shown.values() for name in own))
    systems = {
        system: {
            "count": len(own),
            "sets": _sets(own),
            "largest": len(shown[system]),
            "values": [float(f"{own[name]:.4g}") if name in own else 0 for name in names],
        }
        for system, own in live.items()
    }
    return {"names": names, "systems": systems}


def _test(test: Translated, spec: str) -> dict[str, Any]:
    """Unique outputs of each sentence, flat; statistics of each: length, reference length, matches of orders 1 to 4."""
    names = list(test.systems)
    runs = [run for name in names for run in test.systems[name]]
    texts: list[str] = []
    starts = [0]
    told: list[list[int]] = []
    for row in zip(*runs, strict=True):
        known: dict[str, int] = {}
        told.append([known.setdefault(line, len(known)) for line in row])
        texts += known
        starts.append(len(texts))
    return {
        "name": test.name,
        "systems": [{"name": name, "runs": len(test.systems[name])} for name in names],
        "source": list(test.source),
        "references": [list(line) for line in test.references],
        "texts": texts,
        "starts": starts,
        "said": np.array(told, dtype=np.int64).T.tolist(),
        "statistics": _statistics(texts, starts, test.references, spec),
        "unknown": list(test.unknown),
        "terms": list(test.terms),
        "details": {},  # they come when somebody looks at sentences
    }


def _statistics(
    texts: Sequence[str], starts: Sequence[int], references: Sequence[Sequence[str]], spec: str
) -> list[list[int]]:
    """Columns of whole numbers."""
    metric = metric_of(spec)
    bleu = metric if isinstance(metric, Bleu) else Bleu(tokenize="13a")
    sentence = np.repeat(np.arange(len(references)), np.diff(starts))
    repeated = [list(references[i]) for i in sentence.tolist()]
    rows = bleu.prepare(repeated).statistics(Hypotheses.one_each(Texts(list(texts)), {}))
    return [rows[:, column].astype(np.int64).tolist() for column in range(6)]


def _curve(curve: Curve) -> dict[str, Any]:
    runs = [
        {key: [[r.get("step", n), r[key]] for n, r in enumerate(run) if key in r] for key in _KEYS}
        for run in curve.runs
    ]
    return {"system": curve.system, "runs": runs}


def _sets(live: Mapping[str, float]) -> dict[str, int]:
    """How many weights there are by set."""
    sets: dict[str, int] = {}
    for name in live:
        key = name.partition(":")[0] if ":" in name else "dense"
        sets[key] = sets.get(key, 0) + 1
    return sets


def _details(found: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Derivations with each feature's contribution, rounded: they are looked at, not computed with."""
    made = {}
    for number, told in found.items():
        weights = told.get("weights", {})
        phrases = [
            {
                "source": phrase["source"],
                "target": phrase["target"],
                "depth": phrase.get("depth", 0),
                "adds": {
                    name: round(value * weights.get(name, 0.0), 3)
                    for name, value in phrase["features"].items()
                    if round(value * weights.get(name, 0.0), 3)
                },
            }
            for phrase in told.get("phrases", ())
        ]
        best = [[one["text"], round(one["score"], 3)] for one in told.get("alternatives", ())]
        made[str(number)] = {"score": round(told.get("score", 0.0), 3), "phrases": phrases, "nbest": best}
        if told.get("list"):
            made[str(number)]["list"] = True  # of a whole sentence, as lists have it
    return made


def dumped(data: Any) -> bytes:
    """JSON without spaces."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
