"""The demonstration behind `make demo`: small outputs and a list, written to a folder, scored, compared, reranked."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click

from dragoman.files import write_text

__all__ = ["run"]

# Reference, output of a word-by-word system, output of a phrase-based system.
_SENTENCES = (
    (
        "The weather will be fine tomorrow.",
        "The weather becomes tomorrow fine.",
        "The weather will be fine tomorrow.",
    ),
    ("I have read the book.", "I have the book read.", "I have read the book."),
    (
        "She opens the door for her brother.",
        "She makes the door for your brother on.",
        "She opens the door for her brother.",
    ),
    (
        "We have known each other for ten years.",
        "We know us since ten years.",
        "We have known each other for ten years.",
    ),
    (
        "He said that he was coming later.",
        "He has said, that he later comes.",
        "He said that he comes later.",
    ),
    (
        "The children are playing in the garden.",
        "The children play in the garden.",
        "The children are playing in the garden.",
    ),
    ("What time does the train leave?", "When drives the train off?", "What time does the train leave?"),
    (
        "The village lies between two high mountains.",
        "The village lies between two high mountains.",
        "The village lies between two high mountains.",
    ),
    (
        "They did not want to wait any longer.",
        "They wanted not longer wait.",
        "They did not want to wait longer.",
    ),
    (
        "Could you please close the window?",
        "Could you please the window close?",
        "Could you please close the window?",
    ),
    (
        "The letter was written by my grandmother.",
        "The letter became from my grandmother written.",
        "The letter was written by my grandmother.",
    ),
    ("If it rains, we stay at home.", "If it rains, stay we at home.", "If it rains, we will stay at home."),
    ("He is afraid of the dark.", "He has fear before the darkness.", "He is afraid of the dark."),
    (
        "The price has risen by three percent.",
        "The price is around three percent risen.",
        "The price has risen by three per cent.",
    ),
    (
        "My sister works in a small bank.",
        "My sister works in a small bench.",
        "My sister works in a small bank.",
    ),
    ("The old man was sitting on a bench.", "The old man sat on a bank.", "The old man sat on a bench."),
    ("I am looking forward to the holidays.", "I joy me on the holidays.", "I look forward to the holidays."),
    (
        "Nobody knew why the lights went out.",
        "Nobody knew, why the light out went.",
        "Nobody knew why the light went out.",
    ),
    (
        "They moved to the coast last summer.",
        "They are last summer at the coast moved.",
        "They moved to the coast last summer.",
    ),
    (
        "The doctor advised him to sleep more.",
        "The doctor has him advised, more to sleep.",
        "The doctor advised him to sleep more.",
    ),
    (
        "This question is not easy to answer.",
        "This question is not easy to answer.",
        "This question is not easy to answer.",
    ),
    (
        "We will meet in front of the station.",
        "We meet us before the train station.",
        "We meet in front of the station.",
    ),
    (
        "The cat is sleeping under the table.",
        "The cat sleeps under the table.",
        "The cat is sleeping under the table.",
    ),
    (
        "He has been learning the language for a year.",
        "He learns the language since a year.",
        "He has been learning the language for a year.",
    ),
)


def candidate_list() -> list[str]:
    """An n-best list in Moses' form: both outputs of each sentence, and variants of them with two words swapped.

    The features are what a reranker might have: the number of words, how many word pairs the other candidates
    have too, and a number that means nothing.
    """
    lines = []
    for number, (_, *outputs) in enumerate(_SENTENCES):
        variants = [v for text in outputs for v in (text, *_swapped(text))]
        pairs = [set(pairwise(["<s>", *text.split(), "</s>"])) for text in variants]
        for k, text in enumerate(variants):
            shared = sum(len(pairs[k] & other) for other in pairs) / len(pairs)
            noise = (7 * number + 3 * k) % 11 / 10
            lines.append(f"{number} ||| {text} ||| words= {len(text.split())} pairs= {shared:.3f} noise= {noise}")
    return lines


def _swapped(text: str) -> list[str]:
    words = text.split()
    return [" ".join([*words[:i], words[i + 1], words[i], *words[i + 2 :]]) for i in range(0, len(words) - 1, 2)]


def run(folder: Path, command: Callable[[list[str]], int]) -> int:
    """Writes outputs and a list to `folder`, then scores, compares and reranks with the commands that it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, column in zip(("ref.en", "words.en", "phrases.en"), zip(*_SENTENCES, strict=True), strict=True):
        write_text(folder / name, list(column))
    write_text(folder / "list.nbest", candidate_list())
    outputs = [str(folder / "words.en"), str(folder / "phrases.en")]
    refs = ["--refs", str(folder / "ref.en")]
    nbest, weights = ["--nbest", str(folder / "list.nbest")], str(folder / "weights.toml")
    for title, arguments in (
        ("How good are they?", ["score", *outputs, *refs, "--metric", "bleu", "chrf", "ter", "--confidence"]),
        ("Is the difference more than luck?", ["compare", *outputs, *refs]),
        ("Can the features of an n-best list find better ones?", ["tune", *nbest, *refs, "--out", weights]),
        ("Which are they?", ["rerank", *nbest, "--weights", weights, "--out", str(folder / "reranked.en")]),
        ("And how good?", ["score", str(folder / "reranked.en"), *refs]),
    ):
        click.echo(f"\n{title}\n$ dragoman {shlex.join(arguments)}")
        code = command(arguments)
        if code != 0:
            return code
    return 0
