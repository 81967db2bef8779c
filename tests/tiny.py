"""A small model on disk with sparse features, for tests that need a decoder and not a good one."""

from __future__ import annotations

import random
from pathlib import Path

from dragoman import lm, rules
from dragoman.decoder import Search
from dragoman.model import Part, seal

SOURCE, TARGET = "abcdefgh", "stuvwxyz"
SEARCH = Search(stack_size=50, pop_limit=80, distortion_limit=3)
SETS = "pt,tb,wp"


def model(folder: Path, seed: int = 0) -> Path:
    """Writes it; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    table: dict[tuple[str, str], str] = {}
    for _ in range(150):
        source = " ".join(rng.choices(SOURCE, k=rng.choice([1, 1, 2, 3])))
        target = " ".join(rng.choices(TARGET, k=rng.choice([1, 2, 2, 3])))
        table[source, target] = f"{source} ||| {target} ||| {rng.uniform(0.05, 1):.3f} ||| 0-0 ||| 1 1 1\n"
    (folder / "rules.txt").write_text("".join(table[key] for key in sorted(table)))
    rules.import_moses(folder / "rules.txt", folder / "t.rules", columns=["one"])
    text = [" ".join(rng.choices(TARGET, k=rng.randint(1, 8))) for _ in range(60)]
    (folder / "text").write_text("\n".join(text) + "\n")
    lm.estimate(folder / "text", folder / "lm.arpa", order=2, discount_fallback=(0.5, 1.0, 1.5))
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["one"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm.arpa"}),
        Part("word-penalty", "Words"),
        Part("unknown-penalty", "Unknown"),
        Part("distortion", "Distortion"),
    ]
    initial = {"TM": 0.5, "LM": 0.5, "Words": -0.2, "Unknown": 1.0, "Distortion": 0.2}
    seal(folder, tables=["t.rules"], parts=parts, initial=initial)
    return folder


def lines(count: int, seed: int = 1, longest: int = 9) -> list[str]:
    """Random sentences."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(SOURCE, k=rng.randint(1, longest))) for _ in range(count)]
