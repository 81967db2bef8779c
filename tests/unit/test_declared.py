"""All options of all commands: help, default, range; declared in one place; configurations that can be fed back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.declared import every_command, long_name, options, places

from dragoman.cli.app import dragoman
from dragoman.cli.declared import DeclaredOption
from dragoman.options import Option

Cli = Callable[..., tuple[int, str, str]]

EXCEPTIONS = {
    "--report": "figures of cleaning; a page about a comparison",
    "--reordering": "models to extract; with maxent in training; Moses' files to import and export",
    "--classes": "numbers of classes; files of classes",
    "--text": "a file; the corpus of the demonstration",
    "--texts": "of data sets to join; what runs made of a development set",
    "--nbest": "files; whether files are n-best lists",
    "--dense": "names to mark; whether dense features go, too",
    "--weights": "files; numbers for language models",
    "--columns": "of a TSV file; of a rule table",
    "--tokenizer": "of both sides of a bitext, none by default; of standard input",
    "--factored": "whether text is; files that are",
    "--alignments": "links in place of training; links to extract from; links to copy",
    "--max-words": "of cleaning, of alignment, of extraction, of a filter: other defaults, other consequences",
    "--min-words": "of cleaning; of a filter",
    "--sweeps": "of the aligner, three numbers; of clustering",
    "--iterations": "of L-BFGS; of exchange",
    "--factor": "to cluster, from 0; that is a tag, from 1",
    "--samples": "of derivations; of a bootstrap; of a test, more of them",
    "--sentences": "how many to tag; whether each is scored",
    "--deadline": "for a sentence; for a request",
    "--model": "one; several, with names",
    "--memory": "of sorting; of the pool of all rounds",
    "--held-out": "counts from other text; text that chooses the step",
    "--nbest-size": "candidates to tune on, 100; to look at, 1",
    "--metric": "several; one",
    "--tokenized": "of the text to train on; of what is translated",
}
"""Options of one name that mean different things, or have different defaults for a reason."""

COMMANDS = [(path, command) for path, command in every_command(dragoman)]
OPTIONS = [(path, option) for path, command in COMMANDS for option in options(command)]


def called(value: Any) -> str:
    path, option = value
    return f"{' '.join(path)} {long_name(option)}"


@pytest.fixture(params=OPTIONS, ids=called)
def option(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], click.Option]:
    found: tuple[tuple[str, ...], click.Option] = request.param
    return found


def test_each_is_explained(option: tuple[tuple[str, ...], click.Option]) -> None:
    """A sentence of help, and what happens without the option: its default, nothing (a file, a switch), or an error."""
    path, found = option
    context = click.Context(dict(COMMANDS)[path])
    record = found.get_help_record(context)
    assert record is not None and found.help and found.help[0].isupper()
    assert found.help.split("  [")[0].endswith("."), "a sentence"
    about = " ".join(record[1].split())
    file = "FILE" in str(found.metavar) or "FOLDER" in str(found.metavar)
    assert found.is_flag or file or "[default: " in about or "required]" in about


def outside(declared: Option) -> Iterator[float]:
    """Numbers that are just outside of the range."""
    step = 1 if int in (declared.hint, *getattr(declared.hint, "__args__", ())) else 0.01
    for limit, change in ((declared.min, -step), (declared.above, 0), (declared.max, step), (declared.below, 0)):
        if limit is not None:
            yield limit + change


def test_ranges_are_enforced(option: tuple[tuple[str, ...], click.Option], cli: Cli) -> None:
    path, found = option
    if isinstance(found, DeclaredOption):
        numbers = {float, int} & set(_plain(found.declared.hint))
        values = [f"{value:g}" for value in outside(found.declared)]
        assert not numbers or values, "a number without a range"
    else:
        assert found.type not in {click.INT, click.FLOAT}, "a number without a range"
        ranged = isinstance(found.type, (click.IntRange, click.FloatRange))
        values = [str(found.type.min - 1)] if ranged and found.type.min is not None else []  # type: ignore[attr-defined]
        values += [str(found.type.max + 1)] if ranged and found.type.max is not None else []  # type: ignore[attr-defined]
        assert not ranged or values
    for value in values:
        code, out, err = cli(*path, long_name(found), *([value] * found.nargs))
        assert (code, out) == (2, "")
        assert f"Invalid value for '{'/'.join(_names(found))}'" in err.replace("' / '", "/"), err
        assert value in err.splitlines()[-1]


def _plain(hint: Any) -> Iterator[Any]:
    """All types in a type."""
    yield hint
    for part in getattr(hint, "__args__", ()):
        yield from _plain(part)


def _names(found: click.Option) -> list[str]:
    return list(found.opts)


def test_each_is_declared_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = places()
    by_name: dict[str, set[str]] = {}
    for row in found:
        by_name.setdefault(row.name, set()).add(row.place)
    several = {name: sorted(where) for name, where in by_name.items() if len(where) > 1}
    assert {name: where for name, where in several.items() if name not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) == set(several), "exceptions that are none"
    declared = {row.place for row in found}
    with capsys.disabled():
        commands = len({row.command for row in found})
        fields = sum(not place.startswith("dragoman/") for place in declared)
        print(
            f"\n{len(found)} options of {commands} commands: {len(by_name)} names, {len(declared)} declarations "
            f"({fields} in dataclasses), {len(several)} names with several meanings"
        )


def test_names_are_completed() -> None:
    found = {called(value): value for value in OPTIONS}
    for name, start, names in (
        ("clean --tokenizer", "m", {"moses"}),
        ("train --tokenizer", "c", {"char"}),
        ("tokenize --tokenizer", "m", {"moses"}),
        ("features tags --tagger", "", {"de", "en", "nl"}),
        ("train --smoothing", "g", {"good-turing"}),
        ("rules extract --reordering", "", {"wbe", "phrase", "hier"}),
    ):
        path, wanted = found[name]
        context = click.Context(dict(COMMANDS)[path])
        assert {item.value for item in wanted.type.shell_complete(context, wanted, start)} == names


VALUES = {"memory": "16M", "languages": "de", "columns": "2"}
"""Values of options that are more than their types."""


def given(found: click.Option) -> list[str]:
    """An option with a value that is not its default."""
    name = long_name(found)
    if isinstance(found, DeclaredOption) and found.declared.flag:
        return [found.secondary_opts[0] if found.declared.default else name]
    if found.is_flag:
        return [name]
    if isinstance(found, DeclaredOption):
        return [name, *[_value(found.declared)] * found.nargs]
    if isinstance(found.type, click.Choice):
        return [name, str(found.type.choices[-1])]
    if isinstance(found.type, (click.IntRange, click.FloatRange)):
        return [name, *[str(int(found.type.min or 0) + 1)] * found.nargs]
    return [name, *["text"] * found.nargs]


def _value(declared: Option) -> str:
    if declared.name in VALUES:
        return VALUES[declared.name]
    if declared.choices:
        return next(str(choice) for choice in declared.choices if choice != declared.default)
    kinds = set(_plain(declared.hint))
    if not kinds & {int, float}:
        return "text"
    low = next(limit for limit in (declared.min, declared.above) if limit is not None)
    high = declared.max or declared.below or low + 4
    return str(int(low) + 1) if int in kinds else str((low + high) / 4)


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_configurations_can_be_fed_back(
    path: tuple[str, ...], command: click.Command, cli: Cli, tmp_path: Path
) -> None:
    own = [found for found in options(command) if getattr(found, "section", "") != "Every command"]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    words = [f"{_argument(param)}" for param in arguments]
    code, shown, err = cli(*path, *words, *(word for found in own for word in given(found)), "--print-config")
    assert (code, err) == (0, "")
    lines = [line for line in shown.splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(own) + len(arguments), "each value is printed"
    (tmp_path / "config.toml").write_text(shown)
    code, again, err = cli(*path, "--config", tmp_path / "config.toml", "--print-config")
    assert (code, err, again) == (0, "", shown)
    (tmp_path / "wrong.toml").write_text(
        shown.replace(f"\n{lines[0]}", f"\n{lines[0]}\nunheard-of = 1") if lines else "x=1"
    )
    code, _, err = cli(*path, "--config", tmp_path / "wrong.toml", "--print-config")
    assert code == 1 and "wrong.toml:" in err and "unknown option" in err


def _argument(param: click.Argument) -> str:
    return str(param.type.choices[0]) if isinstance(param.type, click.Choice) else "word"
