"""What a run of the demonstration left in its folder, as figures and derivations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman import weights
from dragoman.decoder import Decoder, Phrase, Search
from dragoman.files import read_parallel, read_text
from dragoman.metrics import Bleu, Chrf, statistics
from dragoman.model import PHRASE
from dragoman.options import made
from dragoman.significance import Comparison, Interval, confidence, paired_permutation
from dragoman.types import F64

__all__ = ["SHORT", "SYSTEMS", "Example", "Results", "System", "read"]

SYSTEMS = {
    "start": "start weights",
    "mert": "dense, tuned with MERT",
    "hiero": "hierarchical, tuned with MIRA",
    "adagrad": "feature-rich, tuned with AdaGrad",
}
"""The systems, each better than the one before it, we hope."""
SHORT = {"start": "start", "mert": "MERT", "hiero": "hierarchical", "adagrad": "AdaGrad"}
"""The same for a narrow column."""
_AGAINST = {"mert": "start", "hiero": "mert", "adagrad": "mert"}
"""What each is compared with: both others begin with the dense model that MERT has tuned."""
_BLEU = Bleu(tokenize="none")
_EXAMPLES = 8
_FEATURES = 12


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
    phrases: Sequence[Phrase] = ()
    """The derivation of the phrase-based system that MERT tuned, in the order of the translation,"""
    tree: Sequence[Phrase] = ()
    """and that of the hierarchical one, each rule before those in its gaps; both only where the two differ."""


@dataclass(frozen=True, slots=True)
class Results:
    """All that the report shows."""

    systems: Sequence[System]
    examples: Sequence[Example]
    liked: Sequence[tuple[str, float]]
    """Sparse features with the largest weights,"""
    disliked: Sequence[tuple[str, float]]
    """and with the smallest."""
    texts: Mapping[str, tuple[int, int, int]]
    """Sentences, German words and English words of each text."""
    samples: Sequence[tuple[str, str]]
    """The first sentence pairs of the training text."""
    seconds: Mapping[str, float]


def read(folder: Path, seconds: Mapping[str, float]) -> Results:
    """The results in a folder."""
    source, reference = read_parallel([folder / "test.de", folder / "test.en"])
    outputs = {name: read_text(folder / f"test.{name}.en") for name in SYSTEMS}
    references = [[line] for line in reference]
    judged = {name: statistics(_BLEU, output, references) for name, output in outputs.items()}
    systems: list[System] = []
    for name, title in SYSTEMS.items():
        before = judged.get(_AGAINST.get(name, ""))
        chrf = statistics(Chrf(), outputs[name], references)
        systems.append(_system(folder, name, title, judged[name], before, float(Chrf().score(chrf.sum(axis=0)))))
    # The first ones that differ, whichever is better: a fair sample.
    differ = [i for i in range(len(source)) if len({outputs[name][i] for name in ("mert", "hiero", "adagrad")}) > 1]
    both = _decoder(folder / "mert"), _decoder(folder / "hiero")
    examples = []
    for i in differ[:_EXAMPLES]:
        derived = [d.explain(source[i]).phrases for d in both] if outputs["mert"][i] != outputs["hiero"][i] else []
        examples.append(Example(source[i], reference[i], [outputs[name][i] for name in SYSTEMS], *derived))
    found = weights.load(folder / "adagrad" / "weights.toml").to_dict()
    sparse = sorted(((name, value) for name, value in found.items() if name.startswith("al:")), key=lambda f: f[1])
    train = read_parallel([folder / "train.de", folder / "train.en"])
    samples = [(train[0][i], train[1][i]) for i in range(min(6, len(train[0])))]
    return Results(
        systems, examples, sparse[: -_FEATURES - 1 : -1], sparse[:_FEATURES], _texts(folder), samples, dict(seconds)
    )


def _system(folder: Path, name: str, title: str, rows: F64, before: F64 | None, chrf: float) -> System:
    change = paired_permutation(before, rows, _BLEU) if before is not None else None
    trace = folder / name / "trace.jsonl"
    records = [json.loads(line) for line in read_text(trace)] if trace.exists() else []
    path = folder / ("model" if name == "start" else name) / "weights.toml"
    count = sum(value != 0 for value in weights.load(path).to_dict().values())
    against = SHORT[_AGAINST[name]] if name in _AGAINST else ""
    return System(name, title, confidence(rows, _BLEU), chrf, change, against, records, count)


def _decoder(folder: Path) -> Decoder:
    """A tuned model with the search that translated the test set."""
    usual = Decoder(folder)
    changes = {"stack_size": 100} if usual.model.system == PHRASE else {}
    return Decoder(folder, search=made(Search, {"pop_limit": 100, **changes}, base=usual.search))


def _texts(folder: Path) -> dict[str, tuple[int, int, int]]:
    sizes = {}
    for name in ("train", "tune", "dev", "test"):
        german, english = read_parallel([folder / f"{name}.de", folder / f"{name}.en"])
        sizes[name] = len(german), *(sum(line.count(" ") + 1 for line in side) for side in (german, english))
    return sizes  # type: ignore[return-value]
