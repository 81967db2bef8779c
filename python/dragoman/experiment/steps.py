"""From a plan to steps: each is a plain command, with a key of all that its result depends on.

The folder of a step has the key in its name. So what is done is found again, a changed line of the plan gives new keys
to what depends on it and to nothing else, and a line that is changed back costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman._core import VERSION
from dragoman.experiment.plan import Choose, Data, Free, Plan, Tune, folders_in
from dragoman.files import file_hash, write_bytes
from dragoman.verbs.tuning import SEARCH_OPTIONS

__all__ = [
    "File",
    "Hashes",
    "Made",
    "Output",
    "Own",
    "Step",
    "command_of",
    "outputs_of",
    "runnable",
    "steps_of",
    "weights_in",
]


@dataclass(frozen=True)
class File:
    """A file of the user's."""

    path: str


@dataclass(frozen=True)
class Own:
    """A file in the step's own folder."""

    name: str = ""


@dataclass(frozen=True)
class Made:
    """A file that another step made."""

    step: str
    name: str = ""


@dataclass(frozen=True)
class Within:
    """A text with folders of other steps in it, `{NAME}`."""

    text: str
    steps: tuple[str, ...]


Argument = str | File | Own | Made | Within
TARGET_TEXTS = ("lm_text", "lm_mix")
"""Options of training that name target text: files, or data sets, whose references it is."""
OF_DATA = "data."
"""How `needs` names a data set."""
_THREADED = {"tune", "translate", "lists", "details"}


@dataclass(frozen=True)
class Step:
    """A command, and what it needs."""

    id: str
    kind: str
    """cut, train, lists, tune, translate, rerank, choose or free."""
    family: str
    """Steps of one family take about as long."""
    arguments: Sequence[Argument]
    key: str = ""
    folder: Path = field(default_factory=Path)
    system: str = ""
    """The system that a tuning run or a translation belongs to, with"""
    run: int = 0
    test: str = ""
    free: bool = False
    """Whether the arguments are a command of the user's, and not one of ours."""
    extra: Sequence[File | Made] = ()
    """What it depends on besides its arguments."""
    texts: Mapping[str, Sequence[File | Made]] = field(default_factory=dict)
    """How a command of the user's names files: data.NAME.src, data.NAME.refs."""

    @property
    def needs(self) -> list[str]:
        """The steps that come before."""
        found: list[str] = []
        for one in (*self.arguments, *self.extra):
            found += [one.step] if isinstance(one, Made) else one.steps if isinstance(one, Within) else []
        return list(dict.fromkeys(found))

    @property
    def resumable(self) -> bool:
        """Whether the command goes on with what a killed one left."""
        return self.kind in {"train", "tune"}


class Hashes:
    """Hashes of the user's files, kept with their size and time so that large ones are read once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.known: dict[str, list[Any]] = {}
        if path is not None and path.exists():
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def of(self, file: str) -> str:
        """The hash of a file's content."""
        now = Path(file).stat()
        found = self.known.get(file)
        if found is None or found[:2] != [now.st_size, now.st_mtime_ns]:
            found = [now.st_size, now.st_mtime_ns, file_hash(file)]
            self.known[file] = found
        return str(found[2])

    def save(self) -> None:
        """Keeps what is known."""
        if self.path is not None:
            write_bytes(self.path, json.dumps(self.known, indent=0).encode())


def steps_of(plan: Plan, out: Path, hashes: Hashes | None = None) -> dict[str, Step]:
    """All steps of a plan in an order in which they can run, with keys and folders below `out`."""
    waiting = {step.id: step for step in _Builder(plan).all()}
    hashed = hashes or Hashes()
    ready: dict[str, Step] = {}

    def settle(name: str) -> None:
        if name in ready:
            return
        step = waiting[name]
        for other in step.needs:
            settle(other)
        key = _key(step, {other: ready[other].key for other in step.needs}, hashed)
        folder = out / "steps" / f"{_plain(step.id)}-{key[:8]}"
        ready[name] = Step(**{**vars(step), "key": key, "folder": folder})

    for name in waiting:
        settle(name)
    return ready


def _key(step: Step, keys: Mapping[str, str], hashes: Hashes) -> str:
    def told(argument: Argument) -> str:
        match argument:
            case File(path):
                return f"file {hashes.of(path)}"
            case Made(name, inner):
                return f"made {keys[name]} {inner}"
            case Own(name):
                return f"own {name}"
            case Within(text, steps):
                return " ".join([f"text {text}", *(keys[name] for name in steps)])
        return f"text {argument}"

    parts = [VERSION, step.kind, *map(told, step.arguments), *map(told, step.extra)]
    if not step.free:
        texts = [one.text if isinstance(one, Within) else one for one in step.arguments]
        parts += [f"inside {hashes.of(path)}" for one in texts if isinstance(one, str) for path in _inside(one)]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _inside(text: str) -> list[str]:
    """The files that a value of an option names: `pb:tags=FILE`, `FILE.py:NAME`, or the value itself."""
    pieces = dict.fromkeys([text, *re.split("[:=,+*]", text)])
    return [piece for piece in pieces if ("/" in piece or "." in piece) and Path(piece).is_file()]


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.=+,-]", "_", name)[:80]


def command_of(step: Step, steps: Mapping[str, Step], threads: int | None = None) -> list[str]:
    """The command of a step as words."""

    def word(argument: Argument) -> str:
        match argument:
            case File(path):
                return path
            case Made(name, inner):
                return str(steps[name].folder / inner)
            case Own(name):
                return str(step.folder / name)
            case Within(text, names):
                return "".join(_filled(text, {_short(steps[name]): [str(steps[name].folder)] for name in names}))
        return str(argument)

    words = [word(argument) for argument in step.arguments]
    if step.free:
        fill = {"out": [str(step.folder)]}
        fill |= {_short(steps[name]): [str(steps[name].folder)] for name in step.needs}
        fill |= {name: [word(one) for one in several] for name, several in step.texts.items()}
        return [filled for one in shlex.split(str(step.arguments[0])) for filled in _filled(one, fill)]
    if threads is not None and step.kind in _THREADED:
        words += ["--threads", str(threads)]
    return ["dragoman", *words]


def runnable(words: Sequence[str]) -> list[str]:
    """A command that runs with this Python, whatever else is called dragoman here."""
    if words[0] == "dragoman":
        return [sys.executable, "-m", "dragoman", *words[1:]]
    return [sys.executable if words[0] == "python" else words[0], *words[1:]]


def _short(step: Step) -> str:
    """How a command of the user's names the folder of a step: {dense.run0}, {dense.run0.test}."""
    return step.id.partition(" ")[2].replace(" ", ".")


def _filled(word: str, fill: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """A word with names replaced; one that is a name becomes as many words as that stands for."""
    if word[:1] + word[-1:] == "{}" and word[1:-1] in fill:
        return fill[word[1:-1]]
    for name, values in fill.items():
        word = word.replace("{" + name + "}", ",".join(values))
    return [word]


@dataclass(frozen=True)
class Output:
    """Where the translation of a test set by one run of a system is."""

    system: str
    run: int
    test: str
    step: str


def outputs_of(steps: Mapping[str, Step]) -> list[Output]:
    """All translations of test sets."""
    kinds = {"translate", "rerank"}
    return [Output(s.system, s.run, s.test, s.id) for s in steps.values() if s.kind in kinds and s.test]


class _Builder:
    """Makes the steps of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.found: dict[str, Step] = {}
        self.tokenized = ["--tokenized"] if plan.tokenized else []

    def all(self) -> Iterator[Step]:
        plan = self.plan
        for train in plan.train.values():
            self._train(train.name)
        for tune in plan.tune.values():
            for run in range(tune.replications):
                self._tune(tune, run)
        for choice in plan.choices.values():
            self._choose(choice)
        for name in plan.tested:
            for test in plan.tests:
                self._tested(name, test)
        for free in plan.free.values():
            self._free(free)
        yield from self.found.values()

    def _options(self, options: Mapping[str, Any]) -> list[Argument]:
        """Options as a command line has them, with the folders that they name."""
        return [self._within(word) if isinstance(word, str) else word for word in _options(options)]

    def _within(self, text: str) -> Argument:
        names = folders_in(text)
        return Within(text, tuple(f"step {name}" for name in names)) if names else text

    def _add(self, step: Step) -> str:
        self.found.setdefault(step.id, step)
        return step.id

    def texts(self, data: Data) -> list[File | Made]:
        """The source and the references of a data set; a part of one is cut out first."""
        if data.part.whole and not data.without:
            return [File(data.src), *map(File, data.refs)]
        part = data.part
        options: list[Argument] = ["experiment", "cut", "--text", File(data.src), *map(File, data.refs)]
        for name, value in (("lines", part.lines), ("every", part.every), ("leave", part.leave)):
            options += [f"--{name}", value] if value else []
        options += ["--distinct"] if part.distinct else []
        if data.without:
            options += ["--not-in", *(self.texts(self.plan.data[other])[0] for other in data.without)]
        step = self._add(Step(f"cut {data.name}", "cut", "cut", [*options, "--out", Own()]))
        return [Made(step, str(number)) for number in range(1 + len(data.refs))]

    def _joined(self, names: Sequence[str]) -> list[File | Made]:
        """The source and the references of data sets, one after the other."""
        found = [self.texts(self.plan.data[name]) for name in names]
        if len(found) == 1:
            return found[0]
        words: list[Argument] = ["experiment", "join", "--texts", *(text for texts in found for text in texts)]
        words += ["--sets", str(len(found)), "--out", Own()]
        step = self._add(Step(f"join {'+'.join(names)}", "cut", "cut", words))
        return [Made(step, str(number)) for number in range(len(found[0]))]

    def _train(self, name: str) -> str:
        train = self.plan.train[name]
        sides: tuple[list[Argument], list[Argument]] = ([], [])
        for text in train.data:
            source, *targets = self.texts(self.plan.data[text])
            for target in targets:
                sides[0].append(source)
                sides[1].append(target)
        words: list[Argument] = ["train", "--src", *sides[0], "--tgt", *sides[1]]
        words += self.tokenized if "tokenized" not in train.options else []
        words += _options(train.options, self._texts_in(train.options))
        return self._add(Step(f"train {name}", "train", f"train {name}", [*words, "--out", Own("model")]))

    def _texts_in(self, options: Mapping[str, Any]) -> dict[str, list[File | Made]]:
        """The references of data sets that options of training name, for the language model."""
        named = [name for key in TARGET_TEXTS for name in options.get(key, ()) if name in self.plan.data]
        return {name: self.texts(self.plan.data[name])[1:] for name in named}

    def _model(self, name: str) -> Made:
        """A trained model, or that of the first run of a tuning."""
        if name in self.plan.train:
            return Made(self._train(name), "model")
        return Made(self._tune(self.plan.tune[name], 0), "model")

    def _lists(self, name: str, *data: str) -> Made:
        lists = self.plan.lists[name]
        source = self._joined(data)[0]
        words: list[Argument] = ["translate", "--model", self._model(lists.model), "--input", source, *self.tokenized]
        words += [*self._options(lists.options), "--nbest", str(lists.nbest_size), "--nbest-out", Own("lists.gz")]
        words += ["--output", Own("text")]
        return Made(self._add(Step(f"lists {name} {'+'.join(data)}", "lists", f"lists {name}", words)), "lists.gz")

    def _tune(self, tune: Tune, run: int) -> str:
        source, *refs = self._joined(tune.data)
        words: list[Argument] = ["tune"]
        if tune.lists:
            words += ["--nbest", self._lists(tune.lists, *tune.data), "--refs", *refs]
        else:
            words += ["--model", self._model(tune.model), "--src", source, "--refs", *refs, *self.tokenized]
        if isinstance(tune.held_out, str):
            held, *held_refs = self.texts(self.plan.data[tune.held_out])
            shown: Argument = self._lists(tune.lists, tune.held_out) if tune.lists else held
            words += ["--held-out", shown, "--held-out-refs", *held_refs]
        elif tune.held_out is not None:
            words += ["--held-out", str(tune.held_out)]
        words += ["--tuner", tune.tuner]
        words += ["--features", self._within(tune.features)] if tune.features != "none" else []
        if tune.start in self.plan.tune:
            other = self.plan.tune[tune.start]
            words += ["--start", Made(self._tune(other, min(run, other.replications - 1)), weights_in(other.lists))]
        elif tune.start != "auto":
            words += ["--start", tune.start]
        if "metric" not in tune.options and (tune.lists or self.plan.metrics):
            words += ["--metric", self.plan.metrics[0]]
        words += self._options(tune.options)
        words += ["--seed", str(self.plan.seed + run)]
        if tune.lists:
            words += ["--out", Own(weights_in(tune.lists)), "--trace", Own("trace.jsonl")]
        else:
            words += ["--out", Own("model")]
        name = f"tune {tune.name} run{run}" if tune.replications > 1 else f"tune {tune.name}"
        return self._add(Step(name, "tune", f"tune {tune.name}", words, system=tune.name, run=run))

    def _choose(self, choice: Choose) -> str:
        """The step that finds the best of some tuning runs; its folder leads to theirs."""
        tunes = [self.plan.tune[name] for name in choice.among]
        runs = [(tune, run) for tune in tunes for run in range(tune.replications)]
        texts = [Made(self._run_on(tune, run, choice.on, Made(self._tune(tune, run))), "text") for tune, run in runs]
        words: list[Argument] = ["experiment", "choose", "--names", *choice.among, "--texts", *texts]
        words += ["--runs", *(Made(self._tune(tune, run)) for tune, run in runs)]
        words += ["--refs", *self.texts(self.plan.data[choice.on])[1:], "--metric", choice.metric, "--out", Own()]
        return self._add(Step(f"choose {choice.name}", "choose", "choose", words, system=choice.name))

    def _tested(self, name: str, test: str) -> None:
        plan = self.plan
        if name in plan.systems:
            system = plan.systems[name]
            source = self.texts(plan.data[test])[0]
            self._translate(name, 0, test, source, self._model(system.model), system.options, test)
            return
        choice = plan.choices.get(name)
        tune = plan.tune[choice.among[0] if choice else name]
        for run in range(tune.replications):
            made = Made(self._choose(choice), f"run{run}/") if choice else Made(self._tune(tune, run))
            self._run_on(tune, run, test, made, name, test)

    def _run_on(self, tune: Tune, run: int, data: str, made: Made, name: str = "", test: str = "") -> str:
        """What a tuning run makes of a data set; `made` is its folder."""
        name = name or tune.name
        if not tune.lists:
            source = self.texts(self.plan.data[data])[0]
            search = {key: value for key, value in tune.options.items() if key in SEARCH_OPTIONS}
            return self._translate(name, run, data, source, Made(made.step, f"{made.name}model"), search, test)
        weights = Made(made.step, made.name + weights_in(tune.lists))
        words: list[Argument] = ["rerank", "--weights", weights, "--nbest", self._lists(tune.lists, data)]
        words += ["--out", Own("text")]
        label = f"rerank {name} run{run} {data}"
        return self._add(Step(label, "rerank", "rerank", words, system=name, run=run, test=test))

    def _translate(
        self, name: str, run: int, data: str, source: Argument, model: Made, options: Mapping[str, Any], test: str
    ) -> str:
        words: list[Argument] = ["translate", "--model", model, "--input", source, *self.tokenized]
        words += [*self._options(options), "--output", Own("text")]
        label = f"translate {name} run{run} {data}"
        return self._add(Step(label, "translate", f"translate {data}", words, system=name, run=run, test=test))

    def _free(self, free: Free) -> str:
        made: list[File | Made] = []
        texts: dict[str, list[File | Made]] = {}
        for name in free.needs:
            if name.startswith(OF_DATA):
                source, *refs = self.texts(self.plan.data[name.removeprefix(OF_DATA)])
                texts |= {f"{name}.src": [source], f"{name}.refs": refs}
            else:
                made += self._of_name(name)
        # Translations of tests are steps of their own: the command waits for those that it names.
        tested = [step for step in self.found.values() if step.test and step.system in free.needs]
        made += [Made(step.id) for step in tested if "{" + _short(step) + "}" in free.run]
        made += [one for several in texts.values() for one in several]
        step = Step(
            f"step {free.name}", "free", f"step {free.name}", [free.run], free=True,
            extra=[*map(File, free.inputs), *made], texts=texts,
        )  # fmt: skip
        return self._add(step)

    def _of_name(self, name: str) -> list[Made]:
        plan = self.plan
        if name in plan.train:
            return [Made(self._train(name))]
        if name in plan.tune:
            tune = plan.tune[name]
            return [Made(self._tune(tune, run)) for run in range(tune.replications)]
        if name in plan.free:
            return [Made(self._free(plan.free[name]))]
        if name in plan.choices:
            return [Made(self._choose(plan.choices[name]))]
        if name in plan.lists:
            return [self._lists(name, test) for test in plan.tests]
        return [Made(f"translate {name} run0 {test}") for test in plan.tests]


def weights_in(lists: str) -> str:
    """Where the weights of a tuning run are: over lists they are a file, with a decoder part of a model."""
    return "weights.toml" if lists else "model/weights.toml"


def _options(options: Mapping[str, Any], texts: Mapping[str, Sequence[File | Made]] | None = None) -> list[Argument]:
    """Options as a command line has them; `texts` are what names of data sets stand for."""
    words: list[Argument] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if texts and name in TARGET_TEXTS:
            words += [flag, *(one for text in value for one in texts.get(text, [text]))]
        elif isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif isinstance(value, (list, tuple)):
            words += [flag, *map(str, value)] if value else [flag, "none"]
        else:
            words += [flag, str(value)]
    return words
