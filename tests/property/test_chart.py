"""The chart decoder against one that tries all derivations: texts, scores, features, spans and alignments."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests import slow_chart
from tests.slow_chart import Made, Rule, System, Wishes

from dragoman import lm, model, rules
from dragoman.decoder import Constraints, Decoder, Search
from dragoman.errors import OptionError
from dragoman.model import Part
from dragoman.types import Candidates, Texts, Weights

SOURCE, TARGET = ("a", "b", "c"), ("A", "B", "C")
WEIGHTS = {
    "TM[0]": 0.4, "TM[1]": 0.3, "LM": 0.6, "Words": -0.3, "Rules": 0.1, "Unknown": 0.02, "PassThrough": -0.4,
    "Glue": -0.3, "Gaps": 0.25, "tb:A>B": 0.7, "tb:^>C": -0.5, "tb:B>$": 0.4, "tb:a>A": 0.9,
    "shape:w_^1>^1_w": 0.3, "shape:w>w": -0.2, "path:a>b": 0.8, "path:b>c": -0.6, "path:d>a": 0.5,
}  # fmt: skip
EVERYTHING = Search(pop_limit=0, cell_limit=0, table_limit=0)


def random_rule(draw: random.Random) -> Rule:
    """At least one word, and no two gaps side by side, on the source side."""
    source: list[str | int] = [draw.choice(SOURCE) for _ in range(draw.randint(1, 2))]
    gaps = 0
    for place in sorted(draw.sample(range(len(source) + 1), draw.randint(0, min(2, len(source) + 1))), reverse=True):
        source.insert(place, -1)
        gaps += 1
    number = iter(range(gaps))
    source = [next(number) if symbol == -1 else symbol for symbol in source]
    target: list[str | int] = [draw.choice(TARGET) for _ in range(draw.randint(1, 2))]
    for gap in range(gaps):
        target.insert(draw.randint(0, len(target)), gap)
    links = {
        (s, t)
        for s, f in enumerate(source)
        for t, e in enumerate(target)
        if isinstance(f, str) and isinstance(e, str) and draw.random() < 0.5
    }
    scores = (math.log(draw.choice([0.1, 0.25, 0.5])), math.log(draw.choice([0.2, 0.6])))
    return Rule(tuple(source), tuple(target), scores, tuple(sorted(links)))


def written(path: Path, grammar: Sequence[Rule]) -> None:
    """The rules as Moses writes them."""
    lines = []
    for rule in grammar:
        sides = [" ".join("[X][X]" if isinstance(x, int) else x for x in side) for side in (rule.source, rule.target)]
        scores = " ".join(f"{math.exp(score):.6g}" for score in rule.scores)
        pairs = [(s, rule.target.index(x)) for s, x in enumerate(rule.source) if isinstance(x, int)]
        links = " ".join(f"{s}-{t}" for s, t in sorted([*rule.links, *pairs]))
        lines.append(f"{sides[0]} [X] ||| {sides[1]} [X] ||| {scores} ||| {links} ||| 1 1 1 ||| |||")
    path.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def build(folder: Path, grammar: Sequence[Rule], order: int) -> model.Model:
    folder.mkdir(parents=True)
    written(folder / "table", grammar)
    rules.import_moses(folder / "table", folder / "rules", columns=["TM[0]", "TM[1]"])
    text = ["A B C A", "B A", "C C B A B", "A a B", "b C A B", "A B B"]
    lm.estimate(Texts(text), folder / "lm", order=order, discount_fallback=(0.5, 1.0, 1.5))
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["TM[0]", "TM[1]"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm"}),
        Part("word-penalty", "Words"),
        Part("phrase-penalty", "Rules"),
        Part("unknown-penalty", "Unknown"),
        Part("pass-through", "PassThrough"),
        Part("glue", "Glue"),
        Part("arity", "Gaps"),
        Part("tb", "tb"),
        Part("shape", "shape"),
        Part("path", "path"),
    ]
    return model.seal(
        folder,
        tables=["rules"],
        parts=parts,
        initial={n: w for n, w in WEIGHTS.items() if ":" not in n},
        system="hiero",
    )


def grammar(draw: random.Random) -> list[Rule]:
    found = {(rule.source, rule.target): rule for rule in (random_rule(draw) for _ in range(draw.randint(4, 9)))}
    # A table of a hierarchical system has a gap.
    found[("c", 0), (0, "C")] = Rule(("c", 0), (0, "C"), (-1.0, -0.5), ((0, 1),))
    return list(found.values())


def entries(found: Candidates, sentence: int) -> list[tuple[float, Made]]:
    """A list as the slow decoder gives it."""
    made = []
    assert found.totals is not None
    assert found.alignments is not None
    assert found.extra is not None
    for row in range(int(found.starts[sentence]), int(found.starts[sentence + 1])):
        spans = []
        for item in found.extra[row].split():
            source, _, target = item.rstrip("!").partition(":")
            (a, b), (c, d) = (map(int, side.split("-")) for side in (source, target))
            spans.append((a, b, c, d, "!" if item.endswith("!") else ""))
        ends = [link.partition("-") for link in found.alignments[row].split()]
        links = [(int(s), int(t)) for s, _, t in ends]
        features = {name: value for name, value in found.features.row(row).items() if value}
        text = tuple(found.texts[row].split())
        made.append((float(found.totals[row]), Made(text, features, 0.0, tuple(sorted(spans)), tuple(sorted(links)))))
    return made


def key(made: Made) -> tuple[object, ...]:
    features = sorted((name, round(value, 3)) for name, value in made.features.items() if abs(value) > 1e-9)
    return made.words, tuple(features), made.spans, made.links


def wishes_for(draw: random.Random, length: int) -> Wishes:
    kind = draw.choice(["none", "none", "given", "wall", "zone"])
    start = draw.randrange(length)
    end = draw.randint(start + 1, length)
    if kind == "given":
        return Wishes([(start, end, draw.choice(["A", "C B", ""]), -0.7)], draw.random() < 0.5)
    if kind == "wall":
        return Wishes(walls=[start])
    return Wishes(zones=[(start, end)]) if kind == "zone" else Wishes()


@pytest.mark.parametrize("seed", range(25))
def test_lists_are_those_of_a_decoder_that_tries_everything(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    some, order = grammar(draw), draw.randint(2, 5)
    opened = build(tmp_path / "m", some, order)
    scorer = lm.Model(tmp_path / "m" / "lm")
    span, passed = draw.randint(2, 5), draw.random() < 0.3
    search = replace(EVERYTHING, span_limit=span, pass_through=passed)
    decoder = Decoder(opened, search=search, weights=Weights.of(WEIGHTS))
    system = System(some, lambda text: float(scorer.score([text]).logs.sum()), WEIGHTS, span, passed)
    for _ in range(4):
        words = [draw.choice([*SOURCE, "d"]) for _ in range(draw.randint(1, 4))]
        wanted = wishes_for(draw, len(words))
        constraints = Constraints(wanted.given, wanted.exclusive, wanted.walls, wanted.zones)
        slow = slow_chart.decode(system, words, wanted)
        line = " ".join(words)
        if not slow:
            with pytest.raises(OptionError, match="no translation meets the constraints"):
                decoder.translate([line], constraints=[constraints])
            continue
        found = decoder.nbest([line], 100_000, distinct=False, phrases=True, constraints=[constraints])
        ours = entries(found, 0)
        assert [score for score, _ in ours] == pytest.approx([score for score, _ in slow], abs=1e-3)
        assert sorted(map(repr, (key(made) for _, made in ours))) == sorted(map(repr, (key(made) for _, made in slow)))
        assert decoder.translate([line], constraints=[constraints])[0] == " ".join(ours[0][1].words)
        explained = decoder.explain(line, constraints=constraints)
        assert explained.score == pytest.approx(slow[0][0], abs=1e-3)
        if not wanted.given:
            summed = sum(explained.weights[n] * v for p in explained.phrases for n, v in p.features.items())
            assert summed == pytest.approx(explained.score, abs=1e-3)
        assert explained.text == " ".join(ours[0][1].words)
