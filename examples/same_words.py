"""Translate documents so that a word is translated alike throughout: a feature that only the sampler can have.

    python examples/same_words.py --model model --input in.de --documents names > out.en

`names` has the name of each line's document. The feature counts, for every source word that occurs in several
sentences of a document, the share of its sentences whose translations have the most common companion word: the target
word that goes with it most often. More of these means fewer changes of terms. Without `--documents` the whole input is
one document.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from dragoman.decoder import Decoder
from dragoman.decoder.sampling import Sampling, sampled
from dragoman.files import read_text


class SameWords:
    """How consistently the rarer source words of a document are translated."""

    name = "same-words"

    def __init__(self, longest: int = 3) -> None:
        self.longest = longest
        """Words that occur in more sentences than this, times ten, are too common to tell anything."""
        self._places: dict[tuple[str, ...], dict[str, list[int]]] = {}

    def places(self, sources: Sequence[str]) -> dict[str, list[int]]:
        """The sentences of each source word that occurs in several; worked out once for a document."""
        key = tuple(sources)
        if key not in self._places:
            found: dict[str, list[int]] = defaultdict(list)
            for number, source in enumerate(sources):
                for word in sorted(set(source.split())):
                    found[word].append(number)
            most = max(2, 10 * self.longest)
            self._places[key] = {word: list(at) for word, at in found.items() if 1 < len(at) <= most}
        return self._places[key]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """Sum over such words of how many of its sentences share a rare target word."""
        words = [set(target.split()) for target in targets]
        frequency = Counter(word for own in words for word in own)
        total = 0.0
        for at in self.places(sources).values():
            together = Counter(word for number in at for word in words[number])
            # A word that stands in every sentence anyway is nobody's translation.
            shares = [count * count / frequency[word] for word, count in together.items() if count > 1]
            total += max(shares, default=0.0)
        return total


def main() -> None:
    """Translate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True, type=Path)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--weight", type=float, default=1.0)
    parser.add_argument("--samples", type=int, default=100, help="for each source word, after as many to cool")
    arguments = parser.parse_args()
    lines = list(read_text(arguments.input))
    names = list(read_text(arguments.documents)) if arguments.documents else [""] * len(lines)
    sizes = [len(list(group)) for _, group in groupby(names)]
    plan = Sampling(samples=arguments.samples, burn_in=arguments.samples, width=3)
    found = sampled(
        Decoder(arguments.model), lines, plan, documents=sizes, text_features=[(SameWords(), arguments.weight)]
    )
    print("\n".join(found.texts))


if __name__ == "__main__":
    main()
