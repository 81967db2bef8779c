"""Tokenising and joining real text on one thread: sentences a second, beside sacremoses in the same run. Prints JSON.

`unicode` and `moses` are ours, on columns of texts; `times` is how many times faster than sacremoses each is. All take
turns `--repeats` times on the same lines, and each figure is of its fastest turn, by processor time. `list` is
`unicode` with lists of str in and out. `round_trip` is the share of lines that come back from `unicode`, `marked` the
share of those that need marks for that, and `moses_round_trip` the share that Moses' rules bring back.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sacremoses

from dragoman import _core
from dragoman.files import read_text
from dragoman.tokenizers import Moses, Unicode
from dragoman.types import Texts

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data"))
CORPORA = {
    "captions en": ("multi30k/raw/train.en.gz", "en"),
    "captions de": ("multi30k/raw/train.de.gz", "de"),
    "captions fr": ("multi30k/raw/train.fr.gz", "fr"),
    "europarl en": ("europarl/de-en/train.en.gz", "en"),
    "europarl de": ("europarl/de-en/train.de.gz", "de"),
    "europarl fr": ("europarl/fr-en/train.fr.gz", "fr"),
    "verses en": ("ebible/train.en.0.gz", "en"),
    "verses swh": ("ebible/train.swh.gz", "swh"),
}


def seconds(work: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str, count: int, repeats: int) -> dict[str, Any]:
    """Speeds and round trips on one corpus."""
    path, language = CORPORA[name]
    lines = [" ".join(line.split()) for line in read_text(DATA / path).to_list()[:count]]
    texts = Texts(lines)
    unicode, moses = Unicode(language), Moses(language)
    split, join = sacremoses.MosesTokenizer(lang=language), sacremoses.MosesDetokenizer(lang=language)
    words, moses_words = unicode.tokenize_texts(texts), moses.tokenize_texts(texts)
    moses_lists = [line.split() for line in moses_words]
    work: dict[str, Callable[[], object]] = {
        "unicode": lambda: unicode.tokenize_texts(texts),
        "unicode_back": lambda: unicode.detokenize_texts(words),
        "list": lambda: unicode.tokenize(lines),
        "spans": lambda: unicode.spans(texts),
        "moses": lambda: moses.tokenize_texts(texts),
        "moses_back": lambda: moses.detokenize_texts(moses_words),
        "sacremoses": lambda: [split.tokenize(line, return_str=True, escape=False) for line in lines],
        "sacremoses_back": lambda: [join.detokenize(line, unescape=False) for line in moses_lists],
    }
    turns: dict[str, list[float]] = {kind: [] for kind in work}
    for _ in range(repeats):
        for kind, call in work.items():
            turns[kind].append(seconds(call))
    best = {kind: min(found) for kind, found in turns.items()}
    back = unicode.detokenize(words)
    moses_back = moses.detokenize(moses_words)
    marked = sum("￭" in line or "￮" in line for line in words)
    return {
        "lines": len(lines),
        **{kind: round(len(lines) / took) for kind, took in best.items()},
        "times": {
            kind: round(best["sacremoses_back" if kind.endswith("_back") else "sacremoses"] / best[kind], 1)
            for kind in ("unicode", "unicode_back", "list", "moses", "moses_back")
        },
        "round_trip": sum(a == b for a, b in zip(lines, back, strict=True)) / len(lines),
        "marked": round(marked / len(lines), 5),
        "moses_round_trip": round(sum(a == b for a, b in zip(lines, moses_back, strict=True)) / len(lines), 4),
    }


def main() -> None:
    """Print the figures as one JSON object."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--lines", type=int, default=10_000, help="of each corpus (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="(%(default)s)")
    options = parser.parse_args()
    if not DATA.is_dir():
        figures: dict[str, Any] = {"skipped": "the corpora are not here: set DRAGOMAN_DATA"}
    else:
        _core.set_threads(1)
        figures = {name: measure(name, options.lines, options.repeats) for name in CORPORA}
    json.dump(figures, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
