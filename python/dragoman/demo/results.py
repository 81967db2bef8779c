"""What a run of the demonstration left in its folder, as figures and derivations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman import weights
from dragoman.decoder import Decoder, Derivation, Search
from dragoman.files import read_parallel, read_text
from dragoman.metrics import Bleu, Chrf, statistics
from dragoman.model import PHRASE
from dragoman.options import made
from dragoman.significance import Comparison, Interval, confidence, paired_permutation
from dragoman.types import F64

__all__ = ["AGAINST", "SHORT", "SYSTEMS", "Example", "Results", "System", "read"]

SYSTEMS = {
    "start": "start weights",
    "mert": "dense, tuned with MERT",
    "hiero": "hierarchical, tuned with MIRA",
    "adagrad": "feature-rich, tuned with AdaGrad",
}
"""The systems, each better than the one before it, we hope."""
SHORT = {"start": "start", "mert": "MERT", "hiero": "hierarchical", "adagrad": "AdaGrad"}
"""The same for a narrow column."""
AGAINST = {"mert": "start", "hiero": "mert", "adagrad": "mert"}
"""What each is compared with: both others begin with the dense model that MERT has tuned."""
_BLEU = Bleu(tokenize="none")
_EXAMPLES = 8
_DERIVED = 60
"""Sentences with derivations."""


@dataclass(frozen=True, slots=True)
class System:
    """A way to translate the test set, and how good it is."""

    name: str
    title: str
    bleu: Interval
    chrf: float
    change: Comparison | None
    """In BLEU."""
    against: str
    """The system that it is compared with, in a word; empty for the first."""
    records: Sequence[Mapping[str, float]]
    """The epochs of its tuning."""
    weights: int
    """How many are not zero."""


@dataclass(frozen=True, slots=True)
class Example:
    """A test sentence and its translations."""

    source: str
    reference: str
    outputs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Results:
    """All that the report shows."""

    systems: Sequence[System]
    examples: Sequence[Example]
    derived: Mapping[str, Mapping[int, Derivation]]
    """Derivations of the phrase-based and the hierarchical system, by name and sentence, where the two differ."""
    seconds: Mapping[str, float]


def read(folder: Path, seconds: Mapping[str, float]) -> Results:
    """The results in a folder."""
    source, reference = read_parallel([folder / "test.de", folder / "test.en"])
    outputs = {name: read_text(folder / f"test.{name}.en") for name in SYSTEMS}
    references = [[line] for line in reference]
    judged = {name: statistics(_BLEU, output, references) for name, output in outputs.items()}
    systems: list[System] = []
    for name, title in SYSTEMS.items():
        before = judged.get(AGAINST.get(name, ""))
        chrf = statistics(Chrf(), outputs[name], references)
        systems.append(_system(folder, name, title, judged[name], before, float(Chrf().score(chrf.sum(axis=0)))))
    # The first ones that differ, whichever is better: a fair sample.
    differ = [i for i in range(len(source)) if len({outputs[name][i] for name in ("mert", "hiero", "adagrad")}) > 1]
    examples = [Example(source[i], reference[i], [outputs[name][i] for name in SYSTEMS]) for i in differ[:_EXAMPLES]]
    apart = [i for i in range(len(source)) if outputs["mert"][i] != outputs["hiero"][i]][:_DERIVED]
    derived = {}
    for name in ("mert", "hiero"):
        decoder = _decoder(folder / name)
        derived[name] = {i: decoder.explain(source[i]) for i in apart}
    return Results(systems, examples, derived, dict(seconds))


def _system(folder: Path, name: str, title: str, rows: F64, before: F64 | None, chrf: float) -> System:
    change = paired_permutation(before, rows, _BLEU) if before is not None else None
    trace = folder / name / "trace.jsonl"
    records = [json.loads(line) for line in read_text(trace)] if trace.exists() else []
    path = folder / ("model" if name == "start" else name) / "weights.toml"
    count = sum(value != 0 for value in weights.load(path).to_dict().values())
    against = SHORT[AGAINST[name]] if name in AGAINST else ""
    return System(name, title, confidence(rows, _BLEU), chrf, change, against, records, count)


def _decoder(folder: Path) -> Decoder:
    """A tuned model with the search that translated the test set."""
    usual = Decoder(folder)
    changes = {"stack_size": 100} if usual.model.system == PHRASE else {}
    return Decoder(folder, search=made(Search, {"pop_limit": 100, **changes}, base=usual.search))
