"""The corpus of the demonstration: American text to train on, with a little British; British text to tune and test on.

The two domains differ in spelling (color, colour), in words (elevator, lift), a little in grammar (just did, have just
done), and in what they are about: Bank is mostly a bank in one and a bench in the other.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from dragoman.demo.grammar import Domain, Sentences
from dragoman.files import write_text

__all__ = ["AMERICAN", "BRITISH", "Sizes", "generate", "plain", "write"]

BRITISH = Domain(0, {"home": 4, "town": 4, "work": 2, "law": 1})
AMERICAN = Domain(1, {"home": 2, "town": 1, "work": 4, "law": 4})

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of sentence pairs."""

    train: int = 30_000
    british: float = 0.1
    """The share of the training text that is British."""
    tune: int = 800
    dev: int = 400
    test: int = 1_000

    @classmethod
    def of(cls, pairs: int) -> Sizes:
        """Sizes for so many training pairs; the other texts are smaller for a small one.

        >>> Sizes.of(2000)
        Sizes(train=2000, british=0.1, tune=100, dev=50, test=100)
        """
        most = cls()
        share = {name: max(20, min(getattr(most, name), pairs // part)) for name, part in _PARTS.items()}
        return cls(train=pairs, **share)


_PARTS = {"tune": 20, "dev": 40, "test": 20}


def generate(sizes: Sizes, seed: int = 0) -> dict[str, Pairs]:
    """The four texts by name. No sentence, German or English, is there twice."""
    seen: set[str] = set()
    british, american = (Sentences(d, random.Random(f"{seed} {d.variety}")) for d in (BRITISH, AMERICAN))
    # Those to judge by come first: else training would have taken all that is short and frequent.
    texts = {name: _distinct(british, getattr(sizes, name), seen) for name in ("test", "dev", "tune")}
    near = round(sizes.train * sizes.british)
    train = _distinct(british, near, seen) + _distinct(american, sizes.train - near, seen)
    random.Random(seed).shuffle(train)
    return {"train": train, **texts}


def _distinct(source: Sentences, count: int, seen: set[str]) -> Pairs:
    pairs: Pairs = []
    while len(pairs) < count:
        german, english = source.pair()
        if german not in seen and english not in seen:
            seen |= {german, english}
            pairs.append((german, english))
    return pairs


def write(folder: Path, sizes: Sizes, seed: int = 0) -> None:
    """Writes train.de, train.en and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in generate(sizes, seed).items():
        for language, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            write_text(folder / f"{name}.{language}", list(side))


def plain(line: str) -> str:
    """A tokenised line as people write it.

    >>> plain("is this Anna 's dog ?")
    "Is this Anna's dog?"
    """
    text = re.sub(r" (?=[.,?!]|'s)", "", line)
    return text[:1].upper() + text[1:]
