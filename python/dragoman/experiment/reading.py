"""Reads a plan from TOML and checks it whole before anything runs: a mistake is one sentence that names the line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from dragoman import toml
from dragoman.decoder import Search
from dragoman.errors import DragomanError, InputError
from dragoman.experiment.cutting import Part
from dragoman.experiment.plan import Choose, Compare, Data, Free, Lists, Plan, System, Train, Tune, folders_in
from dragoman.experiment.steps import OF_DATA, TARGET_TEXTS
from dragoman.features import parse
from dragoman.options import closest, flat, made
from dragoman.training import Options as TrainOptions
from dragoman.tuning.problem import check_metric_fit
from dragoman.verbs.inputs import metric_of, tuner_of
from dragoman.verbs.tuning import SEARCH_OPTIONS, TuneOptions

__all__ = ["read_plan"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+.-]*")
_EXPECTED = ("above", "below", "level")
_NOT_OF_A_RUN = {"replications", "sweep", "engine", "threads", "seed", "copy"}
_TUNE = {name: o for name, o in flat(TuneOptions).items() if name not in _NOT_OF_A_RUN}
_SEARCH = {name: o for name, o in flat(Search).items() if name in SEARCH_OPTIONS}
_TRAIN = {name: o for name, o in flat(TrainOptions).items() if name != "threads"}


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan; every mistake in it is an error that names the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error.strerror}", os.fspath(path)) from None
    return _Reader(Path(path), text).plan()


class _Reader:
    """Reads one plan."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.lines = list(_places(text))
        self._check_headers()
        self.content = toml.load(path, "a plan")
        self.owners: dict[str, str] = {}

    def fail(self, where: Sequence[str], what: str) -> InputError:
        """An error with the line of a key."""
        line = self.line_of(where)
        return InputError(f"{self.path}:{line}: {what}", str(self.path), line)

    def line_of(self, where: Sequence[str]) -> int:
        """The line of a key, or of the nearest table around it."""
        for depth in range(len(where), 0, -1):
            for place, line in self.lines:
                if list(place) == list(where[:depth]):
                    return line
        return 1

    def _check_headers(self) -> None:
        seen: dict[tuple[str, ...], int] = {}
        for line, header in _headers(self.text):
            if header in seen:
                what = f"two steps are called `{'.'.join(header)}`: the other is in line {seen[header]}; rename one"
                raise InputError(f"{self.path}:{line}: {what}", str(self.path), line)
            seen[header] = line

    def plan(self) -> Plan:
        known = {
            "title", "about", "seed", "replications", "tokenized", "metrics", "tests", "details", "data", "train",
            "lists", "tune", "choose", "system", "step", "compare", "seconds",
        }  # fmt: skip
        self._only((), self.content, known)
        self.seed = self._typed(("seed",), self.content.get("seed", 0), int, "a whole number")
        usual = self._typed(("replications",), self.content.get("replications", 1), int, "a whole number")
        tests = self._names(("tests",), self.content.get("tests", ()))
        metrics = self._names(("metrics",), self.content.get("metrics", ("bleu",)))
        for metric in metrics:
            self._checked(("metrics",), lambda metric=metric: metric_of(metric))
        data = {name: self._data(name, table) for name, table in self._tables("data")}
        train = {name: self._train(name, table, data) for name, table in self._tables("train")}
        lists = {name: self._lists(name, table) for name, table in self._tables("lists")}
        tune = {t.name: t for name, table in self._tables("tune") for t in self._grid(name, table, usual)}
        choices = {
            name: self._choose(name, table, tune, [*metrics, "bleu"][0]) for name, table in self._tables("choose")
        }
        tune = {name: self._unless_chosen(one, choices) for name, one in tune.items()}
        systems = {name: self._system(name, table) for name, table in self._tables("system")}
        free = {name: self._free(name, table) for name, table in self._tables("step")}
        plan = Plan(
            self.path, self.text, str(self.content.get("title", self.path.stem)), str(self.content.get("about", "")),
            self.seed, self._flag((), self.content, "tokenized"), metrics, tests,
            self._typed(("details",), self.content.get("details", 50), int, "a whole number"), data, train, lists,
            tune, systems, free, choices, [], self._seconds(),
        )  # fmt: skip
        _Links(self, plan).check()
        comparisons = [self._compare(number, table, plan) for number, table in enumerate(self._list("compare"))]
        return Plan(**{f.name: getattr(plan, f.name) for f in fields(Plan)} | {"comparisons": comparisons})

    # -- sections

    def _data(self, name: str, table: Mapping[str, Any]) -> Data:
        where = ("data", name)
        self._only(where, table, {"src", "refs", "without", *(f.name for f in fields(Part))})
        src = self._file((*where, "src"), table.get("src"))
        given = table.get("refs", ())
        refs = tuple(self._file((*where, "refs"), one) for one in ([given] if isinstance(given, str) else given))
        if not refs:
            raise self.fail(where, f"data set `{name}` needs `refs`: translations, or references")
        without = self._names((*where, "without"), table.get("without", ()))
        values = {f.name: table[f.name] for f in fields(Part) if f.name in table}
        part = self._checked(where, lambda: Part(**values))
        return Data(name, src, refs, part, without)

    def _train(self, name: str, table: Mapping[str, Any], data: Mapping[str, Data]) -> Train:
        where = ("train", name)
        options = {key: value for key, value in table.items() if key not in {"data", "base"}}
        if "base" in table:
            base = self._base(where, name, table["base"])
            options = {k: v for k, v in base.items() if k != "data"} | options
            table = {"data": base.get("data")} | dict(table)
        self._only(where, options, _TRAIN)
        for key in TARGET_TEXTS:
            if key in options:
                texts = self._names((*where, key), options[key])
                options[key] = [one if one in data else self._file((*where, key), one) for one in texts]
        self._checked(where, lambda: made(TrainOptions, _declared(options)))
        texts = self._names((*where, "data"), table.get("data", ()))
        if not texts:
            raise self.fail(where, f"model `{name}` needs `data`, the name of a data set to train on")
        for text in texts:
            if text not in data:
                raise self.fail((*where, "data"), f"no data set `{text}`; {closest(text, data)}")
        return Train(name, texts, options)

    def _base(self, where: tuple[str, ...], name: str, base: Any, seen: tuple[str, ...] = ()) -> dict[str, Any]:
        """The options that a section takes over from another one of its kind."""
        others = self.content[where[0]]
        if base not in others:
            raise self.fail((*where, "base"), f"no `{where[0]}.{base}`; {closest(str(base), others)}")
        if base in (name, *seen):
            way = " -> ".join((name, *seen, base))
            raise self.fail((*where, "base"), f"a cycle: {way}; a section cannot be its own base")
        found = dict(others[base])
        if "base" in found:
            found = self._base((where[0], base), name, found["base"], (*seen, base)) | found
        found.pop("base", None)
        return found

    def _lists(self, name: str, table: Mapping[str, Any]) -> Lists:
        where = ("lists", name)
        self._only(where, table, {"model", "nbest_size", "features", *_SEARCH})
        size = self._typed((*where, "nbest_size"), table.get("nbest_size", 100), int, "a whole number")
        options = {key: value for key, value in table.items() if key not in {"model", "nbest_size"}}
        self._search(where, options)
        return Lists(name, self._needed(where, table, "model"), size, options)

    def _grid(self, name: str, table: Mapping[str, Any], usual: int) -> Iterator[Tune]:
        """A tuning section for each combination of a grid's values."""
        where = ("tune", name)
        if "base" in table:
            table = self._base(where, name, table["base"]) | dict(table)
            table.pop("base")
        axes = table.get("grid", {})
        for key, values in axes.items():
            if not isinstance(values, list) or not values:
                raise self.fail((*where, "grid", key), f"the grid's `{key}` must be a list of values: [0.01, 0.1]")
        plain = {key: value for key, value in table.items() if key != "grid"}
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            label = ",".join(f"{key.removeprefix('tuner.')}={_told(value)}" for key, value in chosen.items())
            yield self._tune(name, f"{name}:{label}" if label else name, _with(plain, chosen), usual)

    def _tune(self, family: str, name: str, table: Mapping[str, Any], usual: int) -> Tune:
        where = ("tune", family)
        own = {"model", "lists", "data", "held_out", "tuner", "features", "start", "replications", "metric", "test"}
        self._only(where, table, {*own, *_TUNE, *_SEARCH})
        options = {key: value for key, value in table.items() if key in _TUNE or key in _SEARCH}
        self._checked(where, lambda: made(TuneOptions, {k: v for k, v in options.items() if k in _TUNE}))
        self._search(where, {key: value for key, value in options.items() if key in _SEARCH})
        model, lists = str(table.get("model", "")), str(table.get("lists", ""))
        if bool(model) == bool(lists):
            raise self.fail(where, f"tuning `{family}` needs either `model` or `lists`")
        tuner = str(table.get("tuner", "mert" if lists else "smooth-mert"))
        self._checked((*where, "tuner"), lambda: tuner_of(tuner))
        features = str(table.get("features", "none"))
        parts = self._checked((*where, "features"), lambda: [] if features == "none" else parse(features))
        named = ("tags", "only", "path")
        for path in (str(part.options[key]) for part in parts for key in named if part.options.get(key)):
            ours = Path(path).is_absolute() and not folders_in(path)  # others are files of the model, or of a step
            if ours and not Path(path).is_file():
                raise self.fail((*where, "features"), f"no such file: {path}")
        count = self._typed((*where, "replications"), table.get("replications", usual), int, "a whole number")
        if count < 1:
            raise self.fail((*where, "replications"), "`replications` must be at least 1")
        if (metric := table.get("metric")) is not None:
            self._checked((*where, "metric"), lambda: metric_of(str(metric)))
            options["metric"] = metric
        climbed = str(metric or self._names(("metrics",), self.content.get("metrics", ("bleu",)))[0])
        self._checked((*where, "tuner"), lambda: check_metric_fit(metric_of(climbed), tuner_of(tuner)))
        return Tune(
            name, family, model, lists, self._data_of(where, table), table.get("held_out"), tuner, features,
            str(table.get("start", "auto")), count, options, self._flag(where, table, "test", usual=True),
        )  # fmt: skip

    def _data_of(self, where: tuple[str, ...], table: Mapping[str, Any]) -> tuple[str, ...]:
        """The data sets of a tuning section, one or several."""
        names = self._names((*where, "data"), table.get("data", ()))
        if not names:
            raise self.fail((*where, "data"), f"`{'.'.join(where)}` needs `data`, the name of a data set, or several")
        if len(set(names)) < len(names):
            raise self.fail((*where, "data"), f"`{'.'.join(where)}` has a data set twice: {', '.join(names)}")
        return names

    def _choose(self, name: str, table: Mapping[str, Any], tune: Mapping[str, Tune], usual: str) -> Choose:
        where = ("choose", name)
        self._only(where, table, {"among", "on", "metric"})
        among, families = list[str](), {t.family for t in tune.values()}
        for pattern in self._names((*where, "among"), table.get("among", ())):
            found = [n for n in tune if n == pattern or n.startswith(f"{pattern}:")]
            if not found:
                raise self.fail((*where, "among"), f"no tuning run `{pattern}`; {closest(pattern, families)}")
            among += [n for n in found if n not in among]
        if len(among) < 2:
            raise self.fail((*where, "among"), f"choice `{name}` needs `among`: two tuning runs or more, or a grid")
        first = tune[among[0]]
        for other in (tune[n] for n in among[1:]):
            for what, one, two in (
                ("runs", first.replications, other.replications),
                ("lists", first.lists, other.lists),
                ("options of the search", _searching(first), _searching(other)),
            ):
                if one != two:
                    told = f"`{first.name}` and `{other.name}` differ in their {what}: give both the same"
                    raise self.fail((*where, "among"), told)
        metric = str(table.get("metric", usual))
        self._checked((*where, "metric"), lambda: metric_of(metric))
        return Choose(name, tuple(among), self._needed(where, table, "on"), metric)

    def _unless_chosen(self, tune: Tune, choices: Mapping[str, Choose]) -> Tune:
        """What a choice is made among is not tested, unless its section says so."""
        if not any(tune.name in one.among for one in choices.values()):
            return tune
        family = self.content["tune"][tune.family]
        base = self._base(("tune", tune.family), tune.family, family["base"]) if "base" in family else {}
        return replace(tune, test=bool({**base, **family}.get("test", False)))

    def _system(self, name: str, table: Mapping[str, Any]) -> System:
        where = ("system", name)
        self._only(where, table, {"model", "features", *_SEARCH})
        options = {key: value for key, value in table.items() if key != "model"}
        self._search(where, options)
        return System(name, self._needed(where, table, "model"), options)

    def _free(self, name: str, table: Mapping[str, Any]) -> Free:
        where = ("step", name)
        self._only(where, table, {"run", "needs", "inputs"})
        inputs = tuple(self._file((*where, "inputs"), one) for one in table.get("inputs", ()))
        needs = self._names((*where, "needs"), table.get("needs", ()))
        return Free(name, self._needed(where, table, "run"), needs, inputs)

    def _compare(self, number: int, table: Mapping[str, Any], plan: Plan) -> Compare:
        where = ("compare", str(number))
        self._only(where, table, {"baseline", "systems", "claim", "expect", "tests"})
        tested = plan.tested
        baseline = self._needed(where, table, "baseline")
        if baseline not in tested:
            raise self._untested((*where, "baseline"), baseline, plan)
        systems: list[str] = []
        for pattern in self._names((*where, "systems"), table.get("systems", ())):
            found = [n for n in tested if n != baseline and (n == pattern or n.startswith(f"{pattern}:"))]
            found = found or ([n for n in tested if n != baseline] if pattern == "*" else [])
            if not found:
                raise self._untested((*where, "systems"), pattern, plan)
            systems += [n for n in found if n not in systems]
        for name in systems:
            counts = {tested[name], tested[baseline]} - {1}
            if len(counts) > 1:
                what = f"`{name}` has {tested[name]} runs and `{baseline}` {tested[baseline]}: give both as many"
                raise self.fail((*where, "systems"), what)
        expect = str(table.get("expect", "above"))
        if expect not in _EXPECTED:
            raise self.fail((*where, "expect"), f"`expect` must be one of {', '.join(_EXPECTED)}, found `{expect}`")
        tests = self._names((*where, "tests"), table.get("tests", plan.tests))
        for test in tests:
            if test not in plan.tests:
                raise self.fail((*where, "tests"), f"`{test}` is not among the `tests`; {closest(test, plan.tests)}")
        return Compare(baseline, tuple(systems), str(table.get("claim", "")), expect, tests)

    def _untested(self, where: tuple[str, ...], name: str, plan: Plan) -> InputError:
        for one in plan.choices.values():
            if any(n == name or n.startswith(f"{name}:") for n in one.among):
                told = f"compare `{one.name}`, or give `{name}` test = true"
                return self.fail(where, f"only the best of `{one.name}` is tested, not each `{name}`: {told}")
        first = next((n for n in plan.tested if n.startswith(f"{name}:")), None)
        if first:
            return self.fail(where, f"`{name}` is a grid: name one of its settings, such as `{first}`, or [choose] one")
        return self.fail(where, f"no system `{name}`; {closest(name, plan.tested)}")

    def _seconds(self) -> dict[str, float]:
        table = self.content.get("seconds", {})
        return {key: float(self._typed(("seconds", key), v, (int, float), "a number")) for key, v in table.items()}

    # -- small things

    def _tables(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, table in self.content.get(kind, {}).items():
            if not isinstance(table, Mapping):
                raise self.fail((kind, name), f"`{kind}.{name}` must be a table: [{kind}.{name}]")
            if not _NAME.fullmatch(name):
                raise self.fail((kind, name), f"`{name}` is no name: letters, digits and _ + - . are")
            other = self.owners.setdefault(name, kind) if kind != "data" else kind
            if other != kind:
                what = f"two steps are called `{name}`: `{other}.{name}` and `{kind}.{name}`; rename one"
                raise self.fail((kind, name), what)
            yield name, table

    def _list(self, kind: str) -> Sequence[Mapping[str, Any]]:
        found = self.content.get(kind, [])
        if not isinstance(found, list):
            raise self.fail((kind,), f"`{kind}` must be a list of tables: [[{kind}]]")
        return found

    def _only(self, where: Sequence[str], table: Mapping[str, Any], known: Any) -> None:
        for key in table:
            if key not in known:
                raise self.fail((*where, key), f"unknown key `{key}`; {closest(key, known)}")

    def _needed(self, where: tuple[str, ...], table: Mapping[str, Any], key: str) -> str:
        found = table.get(key)
        if not isinstance(found, str) or not found:
            raise self.fail((*where, key), f"`{'.'.join(where)}` needs `{key}`, a text")
        return found

    def _names(self, where: Sequence[str], found: Any) -> tuple[str, ...]:
        several = [found] if isinstance(found, str) else found
        if not isinstance(several, (list, tuple)) or not all(isinstance(one, str) for one in several):
            raise self.fail(where, f"`{where[-1]}` must be a text or a list of texts")
        return tuple(several)

    def _typed(self, where: Sequence[str], found: Any, kind: Any, what: str) -> Any:
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self.fail(where, f"`{where[-1]}` must be {what}, found {found!r}")
        return found

    def _flag(self, where: Sequence[str], table: Mapping[str, Any], key: str, *, usual: bool = False) -> bool:
        found = table.get(key, usual)
        if not isinstance(found, bool):
            raise self.fail((*where, key), f"`{key}` must be true or false, found {found!r}")
        return found

    def _search(self, where: Sequence[str], options: Mapping[str, Any]) -> None:
        self._checked(where, lambda: made(Search, {k: v for k, v in options.items() if k in _SEARCH}))

    def _checked(self, where: Sequence[str], call: Any) -> Any:
        """What a call gives; its errors name the line of the option."""
        try:
            return call()
        except (DragomanError, TypeError) as error:
            named = re.search(r"[`']?(\w+)[`']? must|unknown \w+ `(\w+)`", str(error))
            key = next((g for g in named.groups() if g), "") if named else ""
            raise self.fail((*where, key) if key else where, str(error)) from None

    def _file(self, where: Sequence[str], found: Any) -> str:
        if not isinstance(found, str) or not found:
            raise self.fail(where, f"`{where[-1]}` must be the name of a file")
        path = _expanded(found)
        if "$" in path:
            name = path.partition("$")[2].split("/")[0].strip("{}")
            raise self.fail(where, f"the variable {name} is not set: export {name}=FOLDER says where the data are")
        if not Path(path).is_file():
            raise self.fail(where, f"no such file: {path}")
        return path


@dataclass(frozen=True)
class _Links:
    """Whether names lead somewhere, and not in a circle."""

    reader: _Reader
    plan: Plan

    def check(self) -> None:
        plan = self.plan
        for test in plan.tests:
            self._data(("tests",), test)
        for data in plan.data.values():
            for other in data.without:
                self._data(("data", data.name, "without"), other)
        for lists in plan.lists.values():
            self._model(("lists", lists.name, "model"), lists.model)
            self._folders(("lists", lists.name), lists.options)
        for tune in plan.tune.values():
            self._tune(tune)
        for choice in plan.choices.values():
            where = ("choose", choice.name, "on")
            self._data(where, choice.on)
            if choice.on in plan.tests:
                what = f"`{choice.on}` is among the `tests`: what chooses is no test; take it out of them"
                raise self.reader.fail(where, what)
        for system in plan.systems.values():
            self._model(("system", system.name, "model"), system.model)
            self._folders(("system", system.name), system.options)
        for free in plan.free.values():
            self._free(free)
        self._no_cycle()

    def _free(self, free: Free) -> None:
        where = ("step", free.name, "needs")
        for name in free.needs:
            if name.startswith(OF_DATA):
                self._data(where, name.removeprefix(OF_DATA))
            elif name not in self._steps():
                raise self.reader.fail(where, f"no step `{name}`; {closest(name, self._steps())}")
        known = [*self._steps(), *(f"{OF_DATA}{name}" for name in self.plan.data)]
        for used in re.findall(r"\{([^{}]+)\}", free.run):
            owners = [name for name in known if f"{used}.".startswith(f"{name}.")]
            if owners and not set(owners) & set(free.needs):
                raise self.reader.fail(where, f"`{{{used}}}` is in `run`: `needs` must have `{max(owners, key=len)}`")

    def _steps(self) -> set[str]:
        plan = self.plan
        return {*plan.train, *plan.tune, *plan.lists, *plan.systems, *plan.free, *plan.choices}

    def _folders(self, where: tuple[str, ...], options: Mapping[str, Any]) -> None:
        """Whether the folders that options name are those of free steps."""
        for key, value in options.items():
            for name in folders_in(value):
                if name not in self.plan.free:
                    raise self.reader.fail((*where, key), f"no step `{name}`; {closest(name, self.plan.free)}")

    def _tune(self, tune: Tune) -> None:
        where = ("tune", tune.family)
        self._folders(where, {"features": tune.features, **tune.options})
        self._source(where, tune.model, tune.lists)
        for name in tune.data:
            self._data((*where, "data"), name)
        if len({len(self.plan.data[name].refs) for name in tune.data}) > 1:
            told = ", ".join(f"`{name}` has {len(self.plan.data[name].refs)}" for name in tune.data)
            raise self.reader.fail((*where, "data"), f"data sets with as many references each can be joined: {told}")
        if isinstance(tune.held_out, str):
            self._data((*where, "held_out"), tune.held_out)
        if tune.start not in {"auto", "ones", "fit"} and tune.start not in self.plan.tune:
            known = ["auto", "ones", "fit", *self.plan.tune]
            raise self.reader.fail((*where, "start"), f"no tuning run `{tune.start}`; {closest(tune.start, known)}")

    def _source(self, where: tuple[str, ...], model: str, lists: str) -> None:
        if lists and lists not in self.plan.lists:
            raise self.reader.fail((*where, "lists"), f"no lists `{lists}`; {closest(lists, self.plan.lists)}")
        if model:
            self._model((*where, "model"), model)

    def _model(self, where: tuple[str, ...], name: str) -> None:
        known = {*self.plan.train, *self.plan.tune}
        if name not in known:
            raise self.reader.fail(where, f"no model `{name}`; {closest(name, known)}")

    def _data(self, where: tuple[str, ...], name: str) -> None:
        if name not in self.plan.data:
            raise self.reader.fail(where, f"no data set `{name}`; {closest(name, self.plan.data)}")

    def _no_cycle(self) -> None:
        plan = self.plan
        needs: dict[str, set[str]] = {name: set() for name in self._steps()}
        for tune in plan.tune.values():
            steps = folders_in(tune.features, *tune.options.values())
            needs[tune.name] = {n for n in (tune.model, tune.lists, tune.start, *steps) if n in needs}
        for lists in plan.lists.values():
            needs[lists.name] = {lists.model, *folders_in(*lists.options.values())}
        for system in plan.systems.values():
            needs[system.name] = {system.model, *folders_in(*system.options.values())}
        for choice in plan.choices.values():
            needs[choice.name] = set(choice.among)
        for free in plan.free.values():
            needs[free.name] = {name for name in free.needs if name in needs}
        texts = {f"data {d.name}": {f"data {other}" for other in d.without} for d in plan.data.values()}
        for kind, graph in (("", needs), ("data", texts)):
            way = _cycle(graph)
            if way:
                name = way[0].removeprefix("data ")
                family = plan.tune[name].family if name in plan.tune else name
                owner = kind or next(
                    k for k in ("tune", "lists", "system", "step", "choose", "train") if self._has(k, family)
                )
                raise self.reader.fail((owner, family), f"a cycle: {' -> '.join(way)}; each waits for the next")

    def _has(self, kind: str, name: str) -> bool:
        return name in self.reader.content.get(kind, {})


def _cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Names that wait for each other in a circle, or none."""
    done: set[str] = set()
    for begin in sorted(graph):
        way: list[str] = []

        def visit(name: str, way: list[str] = way) -> list[str]:
            if name in way:
                return [*way[way.index(name) :], name]
            if name in done:
                return []
            way.append(name)
            for other in sorted(graph[name]):
                found = visit(other)
                if found:
                    return found
            way.pop()
            done.add(name)
            return []

        found = visit(begin)
        if found:
            return found
    return []


def _searching(tune: Tune) -> dict[str, Any]:
    return {key: value for key, value in tune.options.items() if key in _SEARCH}


def _told(value: Any) -> str:
    """A value of a grid in a name."""
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _with(table: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """A section with values of a grid: `tuner.c` is an option of the tuner."""
    found = dict(table)
    more = []
    for key, value in chosen.items():
        if key.startswith("tuner."):
            more.append(f"{key.removeprefix('tuner.')}={str(value).lower() if isinstance(value, bool) else value}")
        else:
            found[key] = value
    if more:
        tuner = str(found.get("tuner", "smooth-mert"))
        found["tuner"] = f"{tuner}{',' if ':' in tuner else ':'}{','.join(more)}"
    return found


def _declared(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of training as declared: lists as tuples, a text for a list of one, `none` for an empty one."""
    found = {}
    for name, value in options.items():
        if not _TRAIN[name].several or _TRAIN[name].alone or isinstance(value, (list, tuple)):
            found[name] = tuple(value) if isinstance(value, list) else value
        else:
            found[name] = () if value == "none" else (value,)
    return found


def _expanded(text: str) -> str:
    return os.path.expanduser(os.path.expandvars(text))  # noqa: PTH111  variables come first


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The tables of a file, [a.b] but not [[a]], with their lines."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"\s*\[([^\[\]]+)\]\s*(#.*)?", line)
        if found:
            yield number, tuple(part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|[^.]+', found[1]))


def _places(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The lines of tables and keys: enough of TOML's grammar to tell a person where to look."""
    table: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    tables = dict(_headers(text))
    for number, line in enumerate(text.splitlines(), 1):
        many = re.fullmatch(r"\s*\[\[([^\]]+)\]\]\s*(#.*)?", line)
        key = re.match(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""", line)
        if number in tables:
            table = tables[number]
            yield table, number
        elif many:
            name = many[1].strip()
            table = (name, str(counts.setdefault(name, 0)))
            counts[name] += 1
            yield table, number
        elif key:
            yield (*table, key[1].strip("\"'")), number
