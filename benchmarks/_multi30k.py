"""What benchmarks on multi30k, German to English, share: the text and a model of it."""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman import training

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("DRAGOMAN_DATA", _SHARED)) / "multi30k" / "tok"


def options(doc: str | None, sentences: int) -> argparse.ArgumentParser:
    """The options that all have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", type=Path, help="one that `dragoman train` made of multi30k; else it is trained first"
    )
    parser.add_argument("--sentences", type=int, default=sentences)
    return parser


def read(name: str, count: int) -> list[str]:
    """The first lines of one of the texts."""
    with gzip.open(DATA / f"{name}.gz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for _, line in zip(range(count), file, strict=False)]


@contextmanager
def model_of(given: Path | None) -> Iterator[Path]:
    """The model that was given, or one that is trained now and goes afterwards."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        training.train(DATA / "train.de.gz", DATA / "train.en.gz", Path(folder) / "model", tokenized=True)
        yield Path(folder) / "model"
