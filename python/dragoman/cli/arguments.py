"""What all commands have in common: options that take several values, configuration files, messages, old names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from dragoman import toml
from dragoman.cli.declared import DeclaredOption, Named, collect
from dragoman.cli.messages import messages
from dragoman.errors import InputError
from dragoman.options import closest

__all__ = ["COMMON", "Command", "Commands", "as_json", "metrics_option", "refs_option", "seed_option"]

F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose repeatable options take several values at once, and that can be configured by a TOML file.

    `--refs dev.ref*` reaches us as `--refs dev.ref0 dev.ref1`: every word up to the next option belongs to `--refs`.
    `was` names options of before and what to use now.
    """

    def __init__(self, *args: Any, was: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.was = dict(was or {})
        self.params.extend(_everywhere())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrites `--refs a b` to `--refs a --refs b`, then parses as usual; an old name is answered with the new."""
        repeatable = {
            name
            for param in self.params
            if isinstance(param, click.Option) and param.multiple and not param.is_flag
            for name in param.opts
        }
        try:
            rest = super().parse_args(ctx, _spread(args, repeatable))
        except click.NoSuchOption as error:
            now = self._now(str(error.option_name))
            if now is None:
                raise
            what = f"{error.option_name} is called {now} now" if now.startswith("--") else f"{error.option_name}: {now}"
            raise click.UsageError(what, ctx) from None
        return rest

    def _now(self, option: str) -> str | None:
        """What an option of before is called now."""
        for param in self.params:
            if isinstance(param, DeclaredOption) and option[2:].replace("-", "_") in param.declared.was:
                return param.opts[0]
        return self.was.get(option)

    def invoke(self, ctx: click.Context) -> Any:
        """Sets up messages, then calls the command with the values that were given."""
        quiet, verbose, log = (ctx.params.pop(name) for name in ("quiet", "verbose", "log"))
        ctx.params.pop("config", None)
        printing = ctx.params.pop("print_config", False)
        if quiet and verbose:
            raise click.UsageError("--quiet and --verbose contradict each other", ctx)
        if printing:
            click.echo(configuration(self, ctx), nl=False)
            return None
        messages.setup(quiet=quiet, verbose=verbose, log=log)
        messages.log("command: " + " ".join(sys.argv))
        ctx.params = collect(ctx.params, self.params)
        try:
            return super().invoke(ctx)
        finally:
            messages.close()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by section; those of every command come last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                section = getattr(param, "section", "") or "Options"
                sections.setdefault(section, []).append(record)
        last = sections.pop(COMMON, [])
        for title, rows in [*sections.items(), (COMMON, last)]:
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Commands(click.Group):
    """A group that answers a mistyped command with the one that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            raise click.UsageError(f"no such command `{name}`; {closest(name, known)}", ctx)
        return super().resolve_command(ctx, args)


COMMON = "Every command"


class _Common(click.Option):
    """An option that every command has."""

    section = COMMON


def _everywhere() -> list[click.Parameter]:
    return [
        _Common(
            ["--config"], metavar="FILE.toml", is_eager=True, expose_value=True, callback=_configure,
            help="Take options from a file, by the names they have here; the command line comes first.",
        ),
        _Common(["--print-config"], is_flag=True, help="Print the options as such a file, and do nothing else."),
        _Common(["--quiet", "-q"], is_flag=True, help="Say nothing but warnings and errors."),
        _Common(["--verbose", "-v"], is_flag=True, help="Say more."),
        _Common(["--log"], metavar="FILE", help="Append all messages to a file, with the time."),
        ]  # fmt: skip


def _configure(ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    """Reads a configuration: its values are defaults for what the command line does not say."""
    if path is None:
        return None
    content = toml.load(Path(path), "a configuration")
    options = {
        name[2:]: param
        for param in ctx.command.params
        if isinstance(param, click.Option) and not isinstance(param, _Common)
        for name in param.opts
        if name.startswith("--")
    }
    arguments = {str(param.name): param for param in ctx.command.params if isinstance(param, click.Argument)}
    defaults: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("_", "-")
        found: click.Parameter | None = options.get(name) or arguments.get(key)
        if found is None:
            line = _line_of(Path(path), key)
            now = ctx.command._now(f"--{name}") if isinstance(ctx.command, Command) else None
            hint = f"it is called {now[2:]} now" if now else closest(name, [*options, *arguments])
            raise InputError(f"{path}:{line}: unknown option `{key}`; {hint}", path, line)
        plain = _spec(value) if isinstance(value, dict) else value
        several = isinstance(found, click.Option) and found.multiple and isinstance(plain, str)
        defaults[str(found.name)] = [plain] if several else plain
    ctx.default_map = {**defaults, **(ctx.default_map or {})}
    return path


def _spec(table: Mapping[str, Any]) -> str:
    """`{name = "mert", starts = 5}` as `mert:starts=5`."""
    options = {key: str(value).lower() if isinstance(value, bool) else value for key, value in table.items()}
    name = options.pop("name", "")
    rest = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}:{rest}" if rest else str(name)


def _line_of(path: Path, key: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.lstrip(' ["').startswith(key)), 1)


def configuration(command: click.Command, ctx: click.Context) -> str:
    """The options of a call as TOML: those that were given, and the others as comments with their defaults."""
    lines = [f"# dragoman {ctx.info_name}: options that begin with # have their defaults", ""]
    for param in command.params:
        if isinstance(param, _Common) or param.name == "help":
            continue
        name = param.opts[0][2:] if isinstance(param, click.Option) else str(param.name)
        value = ctx.params.get(str(param.name))
        given = ctx.get_parameter_source(str(param.name)) in {
            click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP
        }  # fmt: skip
        usual = param.declared.default if isinstance(param, DeclaredOption) else param.get_default(ctx)
        shown = value if given else usual
        if given and shown not in (None, ()):
            lines.append(toml.dumps({name: _plain(shown)}).strip())
        elif shown in (None, ()) or not _writable(shown):
            lines.append(f"# {name} =")
        else:
            lines.append("# " + toml.dumps({name: _plain(shown)}).strip())
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _writable(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_writable(item) for item in value)
    return isinstance(value, (bool, int, float, str))


def _spread(args: list[str], repeatable: set[str]) -> list[str]:
    spread: list[str] = []
    option, fresh = "", False
    for position, arg in enumerate(args):
        if arg == "--":
            return spread + args[position:]
        if arg.startswith("-") and arg != "-" and not _number(arg):
            option, fresh = (arg if arg in repeatable else ""), True
        elif option:
            if not fresh:
                spread.append(option)
            fresh = False
        spread.append(arg)
    return spread


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


refs_option = click.option(
    "--refs",
    "refs",
    multiple=True,
    metavar="FILE...",
    help="Reference files, a line for each line of the output; several mean several references.",
)
metrics_option = click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    type=Named("metric"),
    metavar="METRIC...",
    default=("bleu", "chrf"),
    show_default="bleu chrf",
    help="Metrics: bleu, chrf, ter, wer, external:COLUMN, a sum such as 0.5*bleu+0.5*chrf, or FILE.py:NAME; options "
    "after a colon: bleu:tokenize=none,lowercase. `dragoman options metric` lists them.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")
seed_option = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), metavar="N", help="Seed of everything random."
)
