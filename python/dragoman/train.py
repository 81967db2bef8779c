"""From parallel text to a model: the whole path as one function. Read this first.

clean -> align -> rules (with reordering) -> lm -> classes -> model.toml. Each step writes its files whole and notes
that it did, so that a run that was killed goes on with the step it was in.
"""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman import align, clusters, corpus, lm, rules
from dragoman._core import VERSION
from dragoman.align import Links
from dragoman.eflomal import align_with_eflomal
from dragoman.errors import InputError, OptionError
from dragoman.files import read_parallel, write_bytes, write_text
from dragoman.model import MANIFEST, Model, Part, file_hash, seal

__all__ = ["STEPS", "Options", "Step", "Trained", "train"]

STEPS = ("clean", "align", "rules", "lm", "classes")
_WORK = ".train"
_PHRASE_SCORES = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is trained."""

    corpus: corpus.Options = field(default_factory=corpus.Options)
    exclude: Sequence[str] = ()
    """Files (test sets) whose lines must not be in the training text."""
    align: align.Options = field(default_factory=align.Options)
    aligner: str = "own"
    """own, or eflomal if it is installed."""
    alignments: str | None = None
    """Word links from elsewhere, for the lines of the bitext: nothing is cleaned then, so that lines stay in step."""
    symmetrise: str = "grow-diag-final-and"
    length: int = 7
    """Most words of a phrase."""
    reordering: Sequence[str] = ("hier",)
    """Reordering models: wbe, phrase, hier."""
    alpha: float = 10.0
    """Weight of the back-off in the smoothing of orientations."""
    smoothing: str = "none"
    """Of phrase translation probabilities: none, kneser-ney, good-turing."""
    top: int | None = None
    """Rules kept for each source phrase."""
    significance: str | None = None
    """Rules kept by Fisher's exact test: a+e, a-e, or a number."""
    order: int = 5
    """Words in the longest n-grams of the language model."""
    prune: Sequence[int] = ()
    """N-grams seen at most so often are dropped, by order."""
    lm_text: Sequence[str] = ()
    """More target text for the language model, prepared as the bitext is after cleaning."""
    classes: Sequence[int] = (20, 50)
    """Numbers of word classes, for both sides; none leaves the step out."""
    memory: str = "2G"
    """What sorting may use."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was done."""

    name: str
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all cores together."""
    peak: int
    """Bytes of memory at most."""
    report: dict[str, Any]
    reused: bool = False
    """Whether an earlier run had done it."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model and how it came about."""

    model: Model
    steps: Sequence[Step]


Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much is done, and how much there is (0: not known)."""


def train(
    source: str | PathLike[str],
    target: str | PathLike[str],
    out: str | PathLike[str],
    options: Options | None = None,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Train a model on two parallel files and write it to a folder.

    A folder that holds the beginning of the same run, by its inputs and options, is continued; one that holds anything
    else is refused unless `fresh` throws it away.
    """
    run = _Run(Path(source), Path(target), Path(out), options or Options(), progress or (lambda _n, _d, _t: None))
    run.begin(fresh)
    for name in STEPS:
        run.step(name)
    model = run.finish()
    return Trained(model, run.steps)


class _Run:
    """One training run: where its files are, and which steps are done."""

    def __init__(self, source: Path, target: Path, out: Path, options: Options, progress: Progress) -> None:
        self.given = (source, target)
        self.out, self.work, self.options, self.progress = out, out / _WORK, options, progress
        self.steps: list[Step] = []
        self.done: dict[str, Any] = {}
        self.inputs: dict[str, str] = {}

    def begin(self, fresh: bool) -> None:
        """Checks inputs before any work, and what the folder holds already."""
        o = self.options
        if o.aligner not in {"own", "eflomal"}:
            raise OptionError(f"expected the aligner own or eflomal, found `{o.aligner}`")
        more = [*o.exclude, *o.lm_text, *([o.alignments] if o.alignments else [])]
        for path in (*self.given, *map(Path, more)):
            if not path.is_file():
                raise InputError(f"{path}: no such file", str(path))
            self.inputs[str(path)] = file_hash(path)
        key = hashlib.blake2b(
            json.dumps([VERSION, list(self.inputs.values()), asdict(o)], sort_keys=True, default=list).encode(),
            digest_size=16,
        ).hexdigest()
        if fresh:
            self._throw_away()
        self._continue(key)

    def _throw_away(self) -> None:
        """Removes a model or the beginning of one; anything else in the folder is not ours."""
        if (self.out / MANIFEST).exists() or self.work.exists():
            shutil.rmtree(self.out)

    def _continue(self, key: str) -> None:
        state = self.work / "state.json"
        if state.exists():
            self.done = json.loads(state.read_text(encoding="utf-8"))
            if self.done.get("key") != key:
                raise InputError(
                    f"{self.out}: holds the beginning of a run with other inputs or options; use --fresh to throw it"
                    " away, or another folder",
                    str(self.out),
                )
            return
        if self.out.exists() and any(self.out.iterdir()):
            what = "a model already" if (self.out / MANIFEST).exists() else "a folder that is not empty"
            raise InputError(f"{self.out}: there is {what}; use another folder, or --fresh for a model", str(self.out))
        self.work.mkdir(parents=True)
        self.done = {"key": key}
        self._note()

    def _note(self) -> None:
        write_bytes(self.work / "state.json", json.dumps(self.done).encode())

    def step(self, name: str) -> None:
        """Does a step, unless it is done."""
        known = self.done.get(name)
        if known is not None and all((self.out / f).is_file() for f in known["files"]):
            self.steps.append(Step(name, known["wall"], known["cpu"], known["peak"], known["report"], reused=True))
            return
        start, before = time.perf_counter(), _cpu()
        _forget_peak()
        self.progress(name, 0, 0)
        files, report = getattr(self, f"_{name}")()
        made = Step(name, time.perf_counter() - start, _cpu() - before, _peak(), report)
        self.steps.append(made)
        self.done[name] = {"files": files, **asdict(made)}
        self._note()

    @property
    def _sides(self) -> tuple[Path, Path]:
        """The text that all steps after cleaning read."""
        if self.options.alignments:
            return self.given
        return self.work / "clean.source", self.work / "clean.target"

    def _clean(self) -> tuple[list[str], dict[str, Any]]:
        if self.options.alignments:
            return [], {}
        o = self.options.corpus
        cases = [self.out / "source.cases", self.out / "target.cases"] if o.case == "truecase" else [None, None]
        count = 0

        def tick(pairs: int) -> None:
            nonlocal count
            count += pairs
            self.progress("clean", count, 0)

        report = corpus.clean(
            [corpus.Files(*self.given)],
            self._sides,
            o,
            exclude=[Path(path) for path in self.options.exclude],
            truecasers=(cases[0], cases[1]),
            progress=tick,
        )
        if not report.kept:
            raise InputError(f"{self.given[0]}: no sentence pair is left after cleaning", str(self.given[0]))
        files = [f"{_WORK}/clean.source", f"{_WORK}/clean.target", *(path.name for path in cases if path)]
        return files, report.to_dict()

    def _align(self) -> tuple[list[str], dict[str, Any]]:
        source, target = read_parallel(list(self._sides))
        if self.options.alignments:
            links = Links.read(Path(self.options.alignments), (source, target))
            links.write(self.work / "links")
            return [f"{_WORK}/links"], {"from": self.options.alignments}
        if self.options.aligner == "eflomal":
            alignment = align_with_eflomal(source, target)
            files = []
        else:
            aligner = align.train(source, target, self.options.align, lambda d, t: self.progress("align", d, t))
            assert aligner.trained is not None  # just trained
            aligner.save(self.out / "aligner")
            alignment, files = aligner.trained, ["aligner"]
        alignment.links(self.options.symmetrise).write(self.work / "links")
        return [f"{_WORK}/links", *files], asdict(alignment.report)

    def _rules(self) -> tuple[list[str], dict[str, Any]]:
        o = self.options
        report = rules.extract(
            *self._sides,
            self.work / "links",
            self.out / "rules",
            length=o.length,
            longest=max(o.corpus.longest, 1) if not o.alignments else 250,
            reordering=o.reordering,
            alpha=o.alpha,
            smoothing=o.smoothing,
            top=o.top,
            significance=o.significance,
            memory=o.memory,
        )
        return ["rules"], asdict(report)

    def _lm(self) -> tuple[list[str], dict[str, Any]]:
        o = self.options
        texts = [self._sides[1], *map(Path, o.lm_text)]
        # A text may be so small that there is nothing to take discounts from.
        report = lm.estimate(
            texts,
            self.out / "lm",
            order=o.order,
            memory=o.memory,
            folder=self.work,
            prune=o.prune,
            discount_fallback=(0.5, 1.0, 1.5),
            skip_symbols=True,
            form="hash",
        )
        return ["lm"], {"tokens": report.tokens, "types": report.types, "counts": report.counts}

    def _classes(self) -> tuple[list[str], dict[str, Any]]:
        files, report = [], {}
        for side, text in zip(("source", "target"), self._sides, strict=True):
            if not self.options.classes:
                break
            counts = clusters.Counts(text)
            for number in self.options.classes:
                found = counts.train(number, seed=self.options.seed)
                file = f"{side}.{number}.classes"
                found.save(self.out / file)
                files.append(file)
                report[file] = found.mean
                self.progress("classes", len(files), 2 * len(self.options.classes))
            # For features that look at the most frequent words.
            write_text(self.out / f"{side}.words", [f"{word}\t{count}" for word, count in counts.frequent()])
            files.append(f"{side}.words")
        return files, report

    def finish(self) -> Model:
        """Describes the model, writes its weights, and removes what only training needed."""
        o = self.options
        parts, weights = _features(o.reordering)
        made = [file for name in STEPS for file in self.done[name]["files"] if not file.startswith(_WORK)]
        cases = "source.cases" if (self.out / "source.cases").exists() else ""
        text = {
            "languages": list(o.corpus.languages),
            "tokenizers": list(o.corpus._tokenizers),
            "normalise": o.corpus.normalise,
            "case": o.corpus.case,
            **({"truecaser": cases} if cases else {}),
        }
        model = seal(
            self.out,
            tables=["rules"],
            parts=parts,
            initial=weights,
            search={"distortion": 6},
            text=text,
            made={"inputs": self.inputs, "options": _plain(asdict(o)), "reports": _plain(self._reports())},
            extra=made,
        )
        shutil.rmtree(self.work)
        return model

    def _reports(self) -> dict[str, Any]:
        return {
            step.name: {"wall": step.wall, "cpu": step.cpu, "peak": step.peak, **step.report} for step in self.steps
        }


def _plain(content: Any) -> Any:
    """Without what TOML has no word for."""
    if isinstance(content, dict):
        return {str(name): _plain(value) for name, value in content.items() if value is not None}
    return [_plain(item) for item in content] if isinstance(content, (list, tuple)) else content


def _features(reordering: Sequence[str]) -> tuple[list[Part], dict[str, float]]:
    """The dense model and Moses' customary start weights."""
    parts = [
        Part("scores", "rules", {"table": 0, "columns": [*_PHRASE_SCORES, "log count", "unique"]}),
        Part("lm", "LM", {"path": "lm"}),
        Part("distortion", "Distortion"),
        *(Part("reordering", f"Reordering.{m}", {"table": 0, "model": m, "top": _top(m)}) for m in reordering),
        Part("word-penalty", "WordPenalty"),
        Part("phrase-penalty", "PhrasePenalty"),
        Part("unknown-penalty", "UnknownPenalty"),
    ]
    weights = dict.fromkeys(_PHRASE_SCORES, 0.2)
    weights |= {"log-count": 0.0, "unique": 0.0, "LM": 0.5, "Distortion": 0.3}
    weights |= {f"Reordering.{m}[{i}]": 0.3 / len(reordering) for m in reordering for i in range(6)}
    weights |= {"WordPenalty": -1.0, "PhrasePenalty": 0.2, "UnknownPenalty": 1.0}
    return parts, weights


def _top(model: str) -> str:
    return "stack" if model == "hier" else "phrase"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _forget_peak() -> None:
    """Lets Linux count the peak of memory anew; elsewhere the peak is that of the whole run."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
