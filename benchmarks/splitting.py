"""Sentence splitting: lines of raw text joined by tens, and how well their ends are found again. Prints JSON.

For each text and splitter: precision and recall of the ends of lines, in percent, and characters a second. Ours is
`rules`; `pysbd`, `sentence_splitter` and `blingfire` take part if they are installed. A line may hold several
sentences, so that no splitter reaches a precision of 100.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dragoman.splitting import Rules

DATA = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"))
TEXTS = {
    "news de": ("newstest/de-en/newstest2009.de.gz", "de"),
    "news en": ("newstest/de-en/newstest2009.en.gz", "en"),
    "news fr": ("newstest/fr-en/newstest2009.fr.gz", "fr"),
    "parliament de": ("europarl/de-en/dev.de.gz", "de"),
    "parliament fr": ("europarl/fr-en/dev.fr.gz", "fr"),
    "captions en": ("multi30k/raw/val.en.gz", "en"),
}
TOGETHER = 10


def splitters(language: str) -> dict[str, Callable[[str], Sequence[str]]]:
    """Those that are here."""
    rules = Rules(language)
    found: dict[str, Callable[[str], Sequence[str]]] = {"rules": lambda text: [text[s:e] for s, e in rules.spans(text)]}
    makers: dict[str, Callable[[Any], Callable[[str], Sequence[str]]]] = {
        "pysbd": lambda m: m.Segmenter(language=language, clean=False).segment,
        "sentence_splitter": lambda m: m.SentenceSplitter(language=language).split,
        "blingfire": lambda m: lambda text: m.text_to_sentences(text).split("\n"),
    }
    for name, make in makers.items():
        try:
            found[name] = make(importlib.import_module(name))
        except ImportError:  # noqa: PERF203
            continue
    return found


def ends(parts: Sequence[str]) -> set[int]:
    """Where parts end, counted without white space: some splitters change it."""
    places, at = set(), 0
    for part in parts:
        at += len("".join(part.split()))
        places.add(at)
    return places


def measured(lines: Sequence[str], split: Callable[[str], Sequence[str]]) -> dict[str, float]:
    """Precision, recall, speed."""
    right = found = wanted = characters = 0
    seconds = 0.0
    for first in range(0, len(lines), TOGETHER):
        some = lines[first : first + TOGETHER]
        text = " ".join(some)
        began = time.process_time()
        made = split(text)
        seconds += time.process_time() - began
        characters += len(text)
        truth, guess = ends(some), ends(made)
        last = max(truth)  # the end of the text is no merit
        truth.discard(last)
        guess.discard(last)
        right, found, wanted = right + len(truth & guess), found + len(guess), wanted + len(truth)
    precision, recall = right / max(1, found), right / max(1, wanted)
    return {
        "precision": round(100 * precision, 1), "recall": round(100 * recall, 1),
        "f1": round(200 * precision * recall / max(1e-9, precision + recall), 1),
        "characters_a_second": round(characters / max(1e-9, seconds)),
    }  # fmt: skip


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    options = parser.parse_args()
    report = {}
    for name, (path, language) in TEXTS.items():
        with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
            lines = [" ".join(line.split()) for _, line in zip(range(options.lines), file, strict=False)]
        whole = [line for line in lines if line and line[-1] in '.!?"”“']
        report[name] = {splitter: measured(whole, split) for splitter, split in splitters(language).items()}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
