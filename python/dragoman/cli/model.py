"""`dragoman model`: what is in models, whether they are whole, models as one file, and Moses' models as ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dragoman import model as models
from dragoman.cli.arguments import Command, Commands, as_json
from dragoman.cli.file_options import moses_ini_option, out_option
from dragoman.cli.messages import messages
from dragoman.cli.show import print_json, print_table
from dragoman.model import USER, Model, weights_hash
from dragoman.moses import convert
from dragoman.weights import sets

__all__ = ["model"]


@click.group(cls=Commands)
def model() -> None:
    """Models: what is in them, whether they are whole, one file that travels, and Moses' models as such."""


@model.command(cls=Command)
@click.argument("folder", metavar="MODEL")
@as_json
def info(folder: str, as_json: bool) -> None:
    """Show what a model has: languages, how it was trained and tuned, features, weights, files.

    \b
    dragoman model info tuned
    dragoman model info tuned.dragoman --json
    """
    opened = Model.open(folder, note=messages.note)
    about = _about(opened)
    if as_json:
        print_json(about)
        return
    click.echo(f"{folder}: signature {opened.signature}")
    print_table(["", ""], _summary(opened, about), left=2)
    for title, rows in (
        (["kind", "name"], [[part.kind, part.name] for part in opened.parts]),
        (["file", "bytes", "hash", "where"], [
            [name, f"{size:,}", known[:12], "base" if name in opened.shared else ""]
            for name, (size, known) in opened.files.items()
        ]),
        (["feature", "weight"], [[name, f"{value:.4g}"] for name, value in _dense(opened).items()]),
        (["feature set", "weights", "not zero"], [
            [found.name, f"{found.names:,}", f"{found.nonzero:,}"] for found in sets(opened.weights) if found.name
        ]),
    ):  # fmt: skip
        if rows:
            click.echo()
            print_table(title, rows, left=2 if title[0] == "kind" else 1)


def _dense(opened: Model) -> dict[str, float]:
    """The weights of features that belong to no sparse set."""
    return {name: value for name, value in opened.weights.to_dict().items() if ":" not in name}


def _about(opened: Model) -> dict[str, Any]:
    """All that is known of a model."""
    base = opened.base
    return {
        "signature": opened.signature,
        "languages": list(opened.text.get("languages", [])),
        "bytes": sum(size for size, _ in opened.files.values()),
        "features": [{"kind": p.kind, "name": p.name, **p.options} for p in opened.parts],
        "weights": opened.weights.to_dict(),
        "weights_hash": weights_hash(opened.weights),
        "files": {name: size for name, (size, _) in opened.files.items()},
        "hashes": {name: known for name, (_, known) in opened.files.items()},
        "python": {name: opened.files[name][1] for name in _python(opened)},
        "search": dict(opened.search),
        "text": dict(opened.text),
        "made": dict(opened.made),
        "corpus": dict(opened.corpus),
        "tuned": [dict(entry) for entry in opened.tuned],
        "base": None if base is None else {"folder": str(base.folder), "signature": base.signature},
    }


def _python(opened: Model) -> list[str]:
    """The files of Python that a model brings along."""
    paths = (str(part.options.get("path")) for part in opened.parts if part.kind == USER)
    return [path for path in dict.fromkeys(paths) if path in opened.files]


def _summary(opened: Model, about: dict[str, Any]) -> list[list[str]]:
    """The main facts, a row each."""
    rows = [["languages", "-".join(filter(None, about["languages"])) or "not known"]]
    rows.append(["size", f"{about['bytes']:,} bytes in {len(opened.files)} files"])
    if pairs := about["corpus"].get("kept"):
        rows.append(["trained on", f"{pairs:,} pairs of sentences"])
    if made := opened.made.get("options"):
        rows.append(["trained with", " ".join(f"{k}={_short(v)}" for k, v in made.items() if k in _SHOWN)])
    for entry in opened.tuned:
        rows.append(["tuned with", f"{entry.get('tuner')}, seed {entry.get('seed')}, {_epochs(entry)}"])
        rows.append(["tuned on", _scores(entry)])
    if opened.base is not None:
        rows.append(["base", f"{opened.base.folder} (signature {opened.base.signature})"])
    rows += [
        ["brings Python", f"{name} (hash {known}): runs with --trust only"] for name, known in about["python"].items()
    ]
    if opened.search:
        rows.append(["search", " ".join(f"{name}={value}" for name, value in opened.search.items())])
    return rows


_SHOWN = ("tokenizer", "case", "max_phrase_length", "reordering", "lm_order", "order", "aligner")
"""Options of training that a summary shows; JSON has all."""


def _short(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _epochs(entry: Mapping[str, Any]) -> str:
    more = f", {entry['replications']} replications" if "replications" in entry else ""
    more += f", sweep {' '.join(entry['sweep'])}" if "sweep" in entry else ""
    return f"epoch {entry.get('epoch')} of {entry.get('epochs')}{more}"


def _scores(entry: Mapping[str, Any]) -> str:
    """From what to what, on which text."""
    metric = str(entry.get("metric", "")).partition("|")[0]
    text = f"{entry.get('sentences', 0):,} sentences: {metric} {entry.get('start', 0):.2f} to {entry.get('end', 0):.2f}"
    if "held_out" in entry:
        held_out = f"{entry.get('held_out_start', 0):.2f} to {entry['held_out']:.2f}"
        text += f"; held-out {entry.get('held_out_sentences', 0):,}: {held_out}"
    return text


@model.command(cls=Command)
@click.argument("folder", metavar="MODEL")
def verify(folder: str) -> None:
    """Check every file of a model against the hash that it was made with."""
    opened = Model.open(folder, note=messages.note)
    opened.verify()
    click.echo(f"{folder}: {len(opened.files)} files are as they were made, signature {opened.signature}")


@model.command(cls=Command)
@click.argument("folder", metavar="MODEL")
@click.argument("file", metavar="FILE.dragoman")
def pack(folder: str, file: str) -> None:
    """Make one file of a model, with all that it shares with others, to hand on.

    \b
    dragoman model pack tuned tuned.dragoman
    dragoman translate --model tuned.dragoman < test.de
    """
    opened = Model.open(folder, note=messages.note)
    models.pack(opened, file)
    click.echo(f"{file}: {len(opened.files)} files, {Path(file).stat().st_size:,} bytes, signature {opened.signature}")


@model.command(cls=Command)
@click.argument("file", metavar="FILE.dragoman")
@click.argument("folder")
def unpack(file: str, folder: str) -> None:
    """Make a folder of a model that is one file. Every file is checked against its hash."""
    made = models.unpack(file, folder)
    click.echo(f"{folder}: {len(made.files)} files are as they were made, signature {made.signature}")


@model.command("import", cls=Command)
@moses_ini_option("The Moses system.", required=True)
@out_option("The model to write.", metavar="FOLDER")
def import_moses(moses_ini: str, out: str) -> None:
    """Turn a Moses system into a model folder: tables, language models, weights and settings."""
    made = convert(moses_ini, out)
    click.echo(f"{out}: {len(made.parts)} features, signature {made.signature}")
