"""The report of the demonstration: one HTML page with everything in it, so that it can be sent by mail."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import unquote

from dragoman._core import VERSION
from dragoman.decoder import Phrase
from dragoman.demo.corpus import plain
from dragoman.demo.results import SHORT, Example, Results, System
from dragoman.demo.svg import Series, chart
from dragoman.significance import Comparison

__all__ = ["page"]

_GAP = re.compile(r"\[X,([12])\]")
Commands = Sequence[tuple[str, str, Sequence[Sequence[str]]]]
"""Name, title and arguments of each step."""


def page(results: Results, commands: Commands) -> str:
    """The whole page."""
    template = Template(files("dragoman.demo").joinpath("page.html").read_text(encoding="utf-8"))
    start, dense, gaps, sparse = results.systems
    held_out = [_series(system, "held_out", "") for system in (dense, gaps, sparse)]
    tuning = [_series(system, "score", " faint") for system in (dense, gaps, sparse)]
    return template.substitute(
        version=VERSION,
        cards="".join(map(_card, results.systems)),
        verdict=_verdict(dense, sparse),
        gaps=_gaps(gaps),
        scores=_scores(results.systems),
        held_out=chart(held_out, "epoch", "BLEU on the development set"),
        tuning=chart(tuning, "epoch", "BLEU on the tuning set"),
        examples="".join(map(_example, results.examples)),
        liked=_features(results.liked),
        disliked=_features(results.disliked),
        texts=_texts(results),
        samples="".join(
            f"<tr><td lang=de>{_plain(a)}</td><td lang=en>{_plain(b)}</td></tr>" for a, b in results.samples
        ),
        commands="".join(_commands(commands, results)),
        total=f"{sum(results.seconds.values()):.0f}",
        gain=f"{sparse.bleu.score - start.bleu.score:.1f}",
    )


def _plain(line: str) -> str:
    return escape(plain(line))


def _card(system: System) -> str:
    moved = system.change
    change = f"<span class=gain>{moved.difference:+.2f}</span> over {system.against}" if moved else "&nbsp;"
    return (
        f'<div class="card {system.name}"><div class=label>{escape(system.title)}</div>'
        f"<div class=number>{system.bleu.score:.1f}</div><div class=label>{change}</div></div>"
    )


def _verdict(dense: System, sparse: System) -> str:
    change = sparse.change
    assert change is not None
    return (
        f"With sparse features the test set is translated <strong>{_word(change)}</strong>: "
        f"{change.difference:+.2f} BLEU over MERT, p = {change.p_value:.4f} ({change.test}, "
        f"{change.samples:,} samples). {sparse.weights:,} weights are not zero; MERT has found {dense.weights}."
    )


def _gaps(system: System) -> str:
    change = system.change
    assert change is not None
    return (
        f"With rules that have gaps it is translated <strong>{_word(change)}</strong> than with phrases: "
        f"{change.difference:+.2f} BLEU over MERT, p = {change.p_value:.4f}, with {system.weights} weights."
        if _sure(change)
        else f"With rules that have gaps it is <strong>{_word(change)}</strong> from what phrases give: "
        f"{change.difference:+.2f} BLEU over MERT, p = {change.p_value:.4f}."
    )


def _sure(change: Comparison) -> bool:
    return change.p_value < 0.05


def _word(change: Comparison) -> str:
    return ("better" if change.difference > 0 else "worse") if _sure(change) else "not measurably different"


def _scores(systems: Sequence[System]) -> str:
    rows = []
    for system in systems:
        change = system.change
        moved = (
            f"<td>{change.difference:+.2f} <small>over {system.against}</small></td><td>{change.p_value:.4f}</td>"
            if change
            else "<td></td><td></td>"
        )
        bleu = f"{system.bleu.score:.2f} <small>[{system.bleu.low:.2f}, {system.bleu.high:.2f}]</small>"
        rows.append(
            f"<tr><th scope=row>{escape(system.title)}</th><td>{bleu}</td>{moved}<td>{system.chrf:.2f}</td>"
            f"<td>{system.weights:,}</td></tr>"
        )
    return "".join(rows)


def _series(system: System, key: str, faint: str) -> Series:
    points = [(record["step"], record[key]) for record in system.records if key in record]
    colour = {"mert": "#b7791f", "hiero": "#7a4fa3", "adagrad": "#1f6f8b"}[system.name]
    return Series(SHORT[system.name], system.name + faint, colour, points)


def _example(example: Example) -> str:
    rows = [f"<tr><th>German</th><td lang=de>{_plain(example.source)}</td></tr>"]
    for (name, title), output in zip(SHORT.items(), example.outputs, strict=True):
        marked = _marked(output.split(), example.reference.split())
        rows.append(f'<tr class="{name}"><th>{title}</th><td lang=en>{marked}</td></tr>')
    rows.append(f"<tr class=reference><th>reference</th><td lang=en>{_plain(example.reference)}</td></tr>")
    return f"<table class=example>{''.join(rows)}</table>{_derivations(example)}"


def _derivations(example: Example) -> str:
    """Phrases and tree side by side; a click closes them."""
    if not example.tree:
        return ""
    sides = (("phrases (MERT)", "mert", example.phrases), ("tree (hierarchical)", "hiero", example.tree))
    shown = "".join(
        f'<div class="scroll {name}"><h3>{title}</h3><ul class=steps>{"".join(map(_step, steps))}</ul></div>'
        for title, name, steps in sides
    )
    return f"<details open><summary>phrases and tree</summary><div class=two>{shown}</div></details>"


def _step(phrase: Phrase) -> str:
    """A phrase or a rule; rules in its gaps stand deeper, and a gap is a number."""
    german, english = (_GAP.sub(r"<b class=gap>\1</b>", escape(side)) for side in (phrase.source, phrase.target))
    if phrase.origin == "glue":  # it has no words of its own
        return f'<li style="--depth:{phrase.depth}"><small>glue</small></li>'
    target = f"<span class=arrow>&rarr;</span> <span lang=en>{english or '&empty;'}</span>"
    return f'<li style="--depth:{phrase.depth}"><span lang=de>{german}</span> {target}</li>'


def _marked(words: Sequence[str], wanted: Sequence[str]) -> str:
    """Plain text, with those words marked that the reference does not have at that place."""
    parts = []
    shown = [escape(word[:1].upper() + word[1:] if i == 0 else word) for i, word in enumerate(words)]
    for kind, first, last, _, _ in difflib.SequenceMatcher(None, words, wanted, autojunk=False).get_opcodes():
        text = " ".join(shown[first:last])
        if text:
            parts.append(text if kind == "equal" else f"<mark>{text}</mark>")
    return re.sub(r" (?=(<mark>)?([.,?!]|&#x27;s))", "", " ".join(parts))


def _features(found: Sequence[tuple[str, float]]) -> str:
    """Weights of word pairs: `al:Herbst>autumn` is shown as two words."""
    rows = []
    top = max((abs(value) for _, value in found), default=1.0) or 1.0
    for name, value in found:
        source, _, target = name.partition(":")[2].partition(">")
        shown = [escape(unquote(word.replace("_", " "))) or "&empty;" for word in (source, target)]
        bar = (
            f'<span class="bar {"plus" if value > 0 else "minus"}" style="width:{abs(value) / top * 100:.0f}%"></span>'
        )
        rows.append(
            f"<tr><td lang=de>{shown[0]}</td><td lang=en>{shown[1]}</td><td>{value:+.2f}</td><td>{bar}</td></tr>"
        )
    return "".join(rows)


def _texts(results: Results) -> str:
    about = {
        "train": "mostly American; the model",
        "tune": "British; the weights",
        "dev": "British; which epoch is best",
        "test": "British; the figures above",
    }
    return "".join(
        f"<tr><th scope=row>{name}</th><td>{lines:,}</td><td>{german:,}</td><td>{english:,}</td>"
        f"<td>{about[name]}</td></tr>"
        for name, (lines, german, english) in results.texts.items()
    )


def _commands(commands: Commands, results: Results) -> Iterator[str]:
    for name, title, all_arguments in commands:
        lines = "\n".join(_wrapped(arguments) for arguments in all_arguments)
        taken = f"{results.seconds[name]:.1f} s" if name in results.seconds else ""
        yield f"<h3>{escape(title)} <small>{taken}</small></h3><pre>{escape(lines)}</pre>"


def _wrapped(arguments: Sequence[str], width: int = 90) -> str:
    """A command over several lines, as a shell takes it; an option stays with its values."""
    lines = ["dragoman"]
    for chunk in re.split(r" (?=--)", shlex.join(arguments)):
        if len(lines[-1]) + len(chunk) > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {chunk}"
    return "\n".join(lines)
