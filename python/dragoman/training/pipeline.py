"""From parallel text to a model: the whole path as one function. Read this first.

clean -> align -> rules (with reordering) -> lm -> classes (-> maxent) -> model.toml. Each step writes its files whole
and notes that it did, so that a run that was killed goes on with the step it was in.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from dragoman import alignment, corpus, grammars, lm, maxent, rules, tags, toml, word_classes
from dragoman._core import VERSION, get_threads
from dragoman.alignment import Links
from dragoman.bitext import Bitext, Files, Resolved, named, resolve
from dragoman.common import Seeded, Sorting
from dragoman.eflomal import align_with_eflomal
from dragoman.engine import Engine, engine_of
from dragoman.errors import InputError, OptionError
from dragoman.files import Lines, read_parallel, read_text, write_bytes, write_text
from dragoman.looks import Looks, look
from dragoman.model import MANIFEST, REPORT, WEIGHTS, Model, Part, file_hash, seal
from dragoman.options import check, flat, group, made, option, plain
from dragoman.parts import Compounds
from dragoman.prepared import LEARNT, Prepared
from dragoman.preprocess import Preparation
from dragoman.training.steps import Made, Step, Workshop

__all__ = ["STEPS", "Options", "Step", "Trained", "train"]

STEPS = ("clean", "align", "rules", "lm", "classes")
"""And `maxent`, for the reordering model of this name."""
_BLOCKS = {"hier", "maxent"}
"""Reordering models that look back to blocks, not to the last phrase."""
_COUNTS = "rules.counts"
_MAXENT_CLASSES = 50

_FIRST, _SAMPLE = 10_000, 2_000
"""Pairs at the beginning of a text, and how many of them are looked at."""
_SOURCE, _TARGET, _LINKS = "clean.source", "clean.target", "links"
_SUFFIXES = {"truecaser": "cases", "compounds": "parts", "subwords": "pieces"}
"""How the files with what was learnt from both sides end: source.cases, target.cases."""
_CHUNK = 10_000
"""Lines of other texts that are prepared at once."""
_MANY_PIECES = 4
"""Most pieces, for each of the most words of a sentence."""


_AUTO = corpus.Options(tokenizer="auto", case="auto", compounds="auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Seeded, Sorting):
    """How a model is trained: the options of all steps. `Options.of` takes them by their names in the whole."""

    corpus: corpus.Options = group(
        corpus.Options, defaults={"tokenizer": "auto", "case": "auto", "compounds": "auto"}, section="Text"
    )
    alignments: str | None = option(
        None,
        help="Word links (0-0 1-2) from elsewhere, for the lines of the bitext. Nothing is cleaned then, so that lines "
        "stay in step.",
        metavar="FILE",
        section="Word alignment",
    )
    choice: alignment.Choice = group(alignment.Choice, section="Word alignment")
    alignment: alignment.Options = group(
        alignment.Options,
        names={
            "samplers": "align_samplers", "sweeps": "align_sweeps", "collect": "align_collect",
            "lowercase": "align_lowercase", "prefix": "align_prefix", "max_words": "align_max_words",
            "shards": "align_shards",
        },
        without=["seed"],
        section="Word alignment",
    )  # fmt: skip
    reordering: tuple[Literal["wbe", "phrase", "hier", "maxent"], ...] = option(
        ("hier",),
        help="Reordering models: wbe (by word links), phrase (by neighbouring phrases), hier (by blocks of any size), "
        "maxent (trained on the counts of hier; needs 50 classes), or none.",
        metavar="MODEL",
        section="Rules",
    )
    parser: Literal["plain", "unrestricted"] = option(
        "plain",
        help="How hier and maxent see blocks while they translate: two neighbours become one (plain), or any number "
        "that are contiguous, such as 2 4 1 3 (unrestricted). Counts see blocks of any kind in any case.",
        section="Rules",
    )
    distortion: Literal["linear", "completion"] = option(
        "linear",
        help="What a jump costs: the words jumped over (linear), or also the way back to what was left out "
        "(completion: Moore & Quirk 2007).",
        section="Rules",
    )
    rule_tagger: str | None = option(
        None,
        help="Tag the target text: each rule carries the tags that its first and last target word have most often, for "
        "--features pb:tags=carried. en, de or nl (HanTa), or your own, FILE.py:NAME.",
        metavar="NAME",
        kind="tagger",
        section="Rules",
    )
    kind: grammars.System = group(grammars.System, section="Rules")
    rules: rules.Extraction = group(
        rules.Extraction,
        without=["max_words", "reordering", "orientation_counts", "lexical", "rule_tags", "memory"],
        defaults={"top": 100},
        section="Rules",
    )
    grammar: grammars.Grammar = group(
        grammars.Grammar,
        without=[name for name in flat(grammars.Grammar) if name not in grammars.OWN],
        section="Rules with gaps (--system hiero)",
    )
    lm: lm.Estimation = group(
        lm.Estimation,
        names={"prune": "lm_prune"},
        without=["form", "bits", "discount_fallback", "skip_symbols", "folder", "memory"],
        section="Language model",
    )
    lm_text: tuple[str, ...] = option(
        (),
        help="More target text for the language model; plain text is prepared as the bitext is.",
        metavar="FILE",
        section="Language model",
    )
    lm_mix: tuple[str, ...] = option(
        (),
        help="Target text like what will be translated: each text of --lm-text and the bitext's own get a model each, "
        "and these are mixed as makes this text likely (dragoman lm tune); without it all text makes one model.",
        metavar="FILE",
        section="Language model",
    )
    classes: word_classes.Numbers = group(word_classes.Numbers, defaults={"classes": (20, 50)}, section="Word classes")
    clustering: word_classes.Options = group(
        word_classes.Options,
        names={name: f"class_{name}" for name in ("starts", "core", "sweeps", "cooling", "iterations")},
        without=["factor", "seed", "threads"],
        section="Word classes",
    )
    maxent: maxent.Training = group(
        maxent.Training,
        names={
            name: f"maxent_{name}" for name in ("c", "min_count", "singletons", "iterations", "templates", "frequent")
        },
        without=["counts_of", "name", "drop_counts", "held_out", "alpha", "seed"],
        section="Maxent reordering model",
    )

    def __post_init__(self) -> None:
        check(self)
        usual = {name: declared.default for name, declared in flat(Options).items()}
        grammars.refuse_others(self.system, (n for n, v in plain(self).items() if v != usual[n]), _phrases_own())
        if self.alignments and replace(self.corpus, tokenized=False, languages=("", "")) != _AUTO:
            raise OptionError("text with alignments from elsewhere is taken as it is: no tokeniser, case or exclusion")
        if len(set(self.reordering)) < len(self.reordering):
            raise OptionError(f"reordering has a model twice: {' '.join(self.reordering)}")
        if self.parser != "plain" and not _BLOCKS.intersection(self.reordering):
            raise OptionError("parser is of the reordering models hier and maxent: ask for one of them")
        if "maxent" in self.reordering and _MAXENT_CLASSES not in self.classes.wanted:
            raise OptionError(f"the reordering model maxent needs {_MAXENT_CLASSES} word classes; ask for them")

    @property
    def system(self) -> str:
        """Which rules the model has: `phrase` or `hiero`."""
        return self.kind.system

    @classmethod
    def of(cls, **changes: Any) -> Options:
        """Options by their names in the whole.

        >>> Options.of(order=3, max_phrase_length=5).rules.max_phrase_length
        5
        """
        return made(cls, changes)


def _phrases_own() -> list[str]:
    """Options of the phrase-based system that are not about rules alone."""
    return [
        "reordering",
        "reordering_share",
        "parser",
        "distortion",
        "rule_tagger",
        *(name for name in flat(Options) if name.startswith("maxent_")),
    ]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model and how it came about."""

    model: Model
    steps: Sequence[Step]
    warnings: Sequence[str] = ()
    """What about the text looked wrong."""


Say = Callable[[str, str], None]
"""Called with `note` or `warning`, and a sentence for people."""
Texts = str | PathLike[str] | Sequence[str | PathLike[str]]
Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much is done, and how much there is (0: not known)."""


def train(
    source: Texts | None = None,
    target: Texts | None = None,
    out: str | PathLike[str] | None = None,
    options: Options | None = None,
    *,
    bitext: Texts | Files | Bitext | Sequence[Files | Bitext] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
    **changes: Any,
) -> Trained:
    """Train a model on bitexts and write it to a folder.

        train("memory.tmx", out="model")
        train("a.de", "a.en", "model", languages=("de", "en"), max_phrase_length=5)
        train(bitext=["memory.tmx", "more.tsv.gz"], languages=("de", "en"), out="model")
        train("a.tok.de", "a.tok.en", "model", tokenized=True)

    Both sides may be several files. A file with both sides is TMX, XLIFF, JSONL or TSV. Plain text is tokenised and
    truecased, and the model does the same to what it translates; `tokenized` says that this was done before. What
    `clean` and `tokenize` noted beside their output is taken up.

    `changes` are options by the names that `dragoman train` has. A folder that holds the beginning of the same run, by
    its inputs and options, is continued; a model that the same run made is given back. Anything else is refused, unless
    `overwrite` replaces a model or the beginning of one. `say` is called before the work begins with what people should
    know of the text; without it, warnings are Python's.

    The workers of an `engine` that are other processes tokenise, sample the links of `align_shards`, find rules, and
    count n-grams; the model is that of one machine to the last byte. Only this process reads and writes files.
    """
    if "fresh" in changes:
        raise OptionError("`fresh` is called `overwrite` now")
    if out is None:
        raise OptionError("name the folder of the model: out")
    o, folder = made(Options, changes, base=options), Path(out)
    if o.lm_mix and not o.lm_text:
        raise OptionError("lm_mix mixes the model of the bitext with others: give more text with lm_text")
    grammars.refuse_others(o.system, changes, _phrases_own())
    plan = _planned(_given(source, target, bitext, o.corpus.languages), o)
    o = replace(o, corpus=plan.settled.options) if not o.alignments else o
    inputs = _hashes(plan, o)
    key = _key(inputs, o, plan.text)
    there = _made(folder)
    if there is not None and there.get("made", {}).get("run") == key and not overwrite:
        return _again(folder)
    if not overwrite or there is None:
        _refuse(folder, there is not None)
    _tell(plan, say)
    with (
        engine or engine_of(get_threads()) as workers,
        Workshop(folder, key, old=_files(there), overwrite=overwrite) as shop,
    ):
        run = _Run(plan, shop.work, o, workers, progress or (lambda _n, _d, _t: None))
        for name in (*STEPS, *(["maxent"] if "maxent" in o.reordering else [])):
            shop.step(name, lambda name=name: run.step(name))  # type: ignore[misc]
        files = [file for step in shop.steps for file in step.files if file not in {_SOURCE, _TARGET, _LINKS, _COUNTS}]
        shop.move_up(files)
        report = {"steps": [asdict(step) for step in shop.steps]}
        write_bytes(folder / REPORT, json.dumps(report, indent=1).encode())
        model = _seal(folder, o, plan.text, files, {"run": key, "inputs": inputs, "options": _settings(o)})
    return Trained(model, shop.steps, plan.warnings)


def _given(source: Any, target: Any, bitext: Any, languages: tuple[str, str]) -> list[Files | Bitext]:
    """All inputs in order; a first argument alone is a file with both sides."""
    if source is not None and target is None:
        if bitext:
            raise OptionError("expected a target file for each source file, or files with both sides")
        source, bitext = None, source
    sources, targets, both = _several(source), _several(target), _several(bitext)
    if len(sources) != len(targets):
        raise OptionError(f"expected a target file for each source file, found {len(sources)} and {len(targets)}")
    inputs: list[Files | Bitext] = [Files(s, t) for s, t in zip(sources, targets, strict=True)]
    for one in both:
        inputs += [one] if isinstance(one, (Files, Bitext)) else named([one], languages)
    return inputs


def _several(given: Any) -> list[Any]:
    return [] if given is None else [given] if isinstance(given, (str, PathLike, Files, Bitext)) else list(given)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read, what is done to it, and what the model's text is then."""

    found: Resolved
    settled: corpus.Settled
    prepared: bool
    """Whether the text had been prepared before."""
    text: dict[str, Any]
    """What `dragoman.preprocess.Preparation` reads."""
    warnings: Sequence[str]


def _planned(inputs: Sequence[Files | Bitext], o: Options) -> _Plan:
    for path in [path for each in inputs for path in each.paths]:
        if not Path(path).is_file():
            raise InputError(f"{path}: no such file", path)
    if o.alignments and (len(inputs) != 1 or not isinstance(inputs[0], Files)):
        raise OptionError("word links are for the lines of two parallel files: name these with --src and --tgt")
    found = resolve(inputs, o.corpus.languages)
    seen: list[Looks] = []

    def looks() -> tuple[Looks, Looks]:
        if not seen:
            sides = found.sample(_FIRST, skip=o.corpus.invalid == "skip")
            seen.extend(look(side.to_list()[:: max(1, len(side) // _SAMPLE)]) for side in sides)
        return seen[0], seen[1]

    before = corpus.before(found.inputs)
    tokenized = o.corpus.tokenized or bool(o.alignments)  # links are for the words that are there
    cleaning = replace(o.corpus, languages=corpus.spoken(found, before), tokenized=tokenized)
    if o.grammar.preset == "eidelman" and cleaning.case == "auto" and not tokenized and before is None:
        cleaning = replace(cleaning, case="lower")
    settled = corpus.settle(cleaning, before, looks)
    text = {} if o.alignments and before is None else {**settled.text, **_files_of_text(settled)}
    return _Plan(found, settled, before is not None, text, _doubts(settled, before is not None, looks(), found))


def _files_of_text(settled: corpus.Settled) -> dict[str, list[str]]:
    """The names of the files in the model with what was, or will be, learnt from the text."""
    o, (one, other) = settled.options, settled.sides
    there = {
        "truecaser": (one.case == "truecase", other.case == "truecase"),
        "compounds": (bool(one.compounds) or o.compounds != "none", False),
        "subwords": (bool(one.subwords or o.pieces[0]), bool(other.subwords or o.pieces[1])),
    }
    return {
        LEARNT[kind]: [_learnt(kind, side) if has else "" for side, has in enumerate(sides)]
        for kind, sides in there.items()
        if any(sides)
    }


def _learnt(kind: str, side: int) -> str:
    return f"{('source', 'target')[side]}.{_SUFFIXES[kind]}"


def _doubts(settled: corpus.Settled, prepared: bool, looks: tuple[Looks, Looks], found: Resolved) -> list[str]:
    """What about a text looks as if it were not what the options say."""
    if prepared:
        return []
    o, told = settled.options, []

    def which(true: Callable[[int], bool]) -> str:
        names = found.inputs[0].paths[0], found.inputs[0].paths[-1]
        sides = [side for side in (0, 1) if true(side)]
        if not sides:
            return ""
        if names[0] == names[1]:
            return names[0] if len(sides) == 2 else f"the {('source', 'target')[sides[0]]} side of {names[0]}"
        return " and ".join(names[side] for side in sides)

    if where := which(lambda side: o.tokenizers[side] != "none" and looks[side].tokenised is True):
        told.append(f"{where}: looks tokenised already, and would be tokenised once more; if it is, use --tokenized")
    if where := which(lambda side: o.tokenizers[side] == "none" and not o.factored and looks[side].tokenised is False):
        told.append(f"{where}: looks like plain text, and no tokeniser is on; --tokenizer unicode is one")
    if where := which(lambda side: o.case == "truecase" and looks[side].lowered):
        told.append(
            f"{where}: has no capitals, so that there is nothing to truecase; --case keep leaves letters as they are"
        )
    if where := which(lambda side: o.case == "truecase" and looks[side].truecased):
        told.append(f"{where}: looks truecased already; if it is, use --case keep")
    return told


def _tell(plan: _Plan, say: Say | None) -> None:
    for note in plan.found.notes:
        if say is not None:
            say("note", note)
    for text in plan.warnings:
        if say is None:
            warnings.warn(text, stacklevel=3)
        else:
            say("warning", text)


def _hashes(plan: _Plan, o: Options) -> dict[str, str]:
    """The hash of every file that is read."""
    learnt = [file for side in plan.settled.sides for file in side.files.values()]
    links = [o.alignments] if o.alignments else []
    more = [*o.corpus.exclude, *o.lm_text, *o.lm_mix, *o.grammar.filter, *links, *learnt]
    inputs = {}
    for path in map(Path, [*plan.found.paths, *more]):
        if not path.is_file():
            raise InputError(f"{path}: no such file", str(path))
        inputs[str(path)] = file_hash(path)
    return inputs


def _settings(o: Options) -> dict[str, Any]:
    """The options that a model depends on, by their names in the whole; without what TOML has no word for."""
    others = (*grammars.PHRASES_OWN, *_phrases_own()) if o.system == grammars.SYSTEM else ("system", *grammars.OWN)
    known = {name: value for name, value in plain(o).items() if name != "memory" and name not in others}
    values = {name: value for name, value in known.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _key(inputs: dict[str, str], o: Options, text: dict[str, Any]) -> str:
    """Equal for runs that would make the same model."""
    whole = json.dumps([VERSION, list(inputs.values()), _settings(o), text], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def _made(out: Path) -> dict[str, Any] | None:
    """What the model says of itself that is in the folder already."""
    return toml.load(out / MANIFEST, "the description of a model") if (out / MANIFEST).exists() else None


def _refuse(out: Path, model: bool) -> None:
    """Raises an error if the folder holds anything but the beginning of a run."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: expected a folder, found a file", str(out))
    if out.exists() and any(out.iterdir()) and not Workshop.begun(out):
        what = "a model of another run; use --overwrite to replace it, or" if model else "something else; use"
        raise InputError(f"{out}: there is {what} another folder", str(out))


def _files(made: dict[str, Any] | None) -> list[str]:
    """The files of a model, `model.toml` first."""
    if made is None:
        return []
    listed = [str(entry["path"]) for entry in made.get("files", [])]
    return [MANIFEST, WEIGHTS, REPORT, *(name for name in listed if Path(name).name == name)]


def _again(folder: Path) -> Trained:
    """The model of an earlier run, and what that run noted."""
    model = Model.open(folder)
    Workshop.clear(folder)
    path = folder / REPORT
    steps = json.loads(path.read_text(encoding="utf-8"))["steps"] if path.exists() else []
    return Trained(model, [Step(**{**step, "reused": True}) for step in steps])


class _Run:
    """The steps of a training run, which make their files in the folder `work`."""

    def __init__(self, plan: _Plan, work: Path, options: Options, engine: Engine, progress: Progress) -> None:
        self.plan, self.work, self.options, self.engine, self.progress = plan, work, options, engine, progress

    def step(self, name: str) -> Made:
        """Makes the files of a step."""
        self.progress(name, 0, 0)
        made: Made = getattr(self, f"_{name}")()
        return made

    @property
    def _sides(self) -> tuple[Path, Path]:
        """The text that all steps after cleaning read."""
        if self.options.alignments:
            source, target = self.plan.found.paths
            return Path(source), Path(target)
        return self.work / _SOURCE, self.work / _TARGET

    def _clean(self) -> Made:
        learnt = self._learnt_before()
        if self.options.alignments:
            return learnt, {}
        count = 0

        def tick(pairs: int) -> None:
            nonlocal count
            count += pairs
            self.progress("clean", count, 0)

        def place(kind: str, side: int) -> str:
            learnt.append(_learnt(kind, side))
            return str(self.work / _learnt(kind, side))

        report, _ = corpus.run_cleaning(
            self.plan.found, self._sides, self.plan.settled, place, progress=tick, engine=self.engine
        )
        return [_SOURCE, _TARGET, *learnt], report.to_dict()

    def _learnt_before(self) -> list[str]:
        """What was learnt when the text was prepared goes into the model."""
        names = []
        for side, prepared in enumerate(self.plan.settled.sides):
            for kind, file in prepared.files.items():
                names.append(_learnt(kind, side))
                shutil.copyfile(file, self.work / names[-1])
        return names

    def _align(self) -> Made:
        o = self.options
        source, target = read_parallel(list(self._sides))
        if o.alignments:
            Links.read(Path(o.alignments), (source, target)).write(self.work / _LINKS)
            return [_LINKS], {"from": o.alignments}
        files = [_LINKS]
        if o.choice.aligner == "eflomal":
            found = align_with_eflomal(source, target)
        else:
            chosen = replace(o.alignment, seed=o.seed)
            tick: Callable[[int, int], None] = lambda d, t: self.progress("align", d, t)  # noqa: E731
            aligner = alignment.train(source, target, chosen, tick, engine=self.engine)
            assert aligner.trained is not None  # just trained
            found = aligner.trained
            aligner.save(self.work / "aligner")
            files.append("aligner")
        found.links(o.choice.symmetrise).write(self.work / _LINKS)
        return files, asdict(found.report)

    def _rules(self) -> Made:
        o = self.options
        # The counts of maxent are hier's, whose columns the table has then, too.
        out = _COUNTS if "maxent" in o.reordering else "rules"
        models = [*dict.fromkeys(model if model != "maxent" else "hier" for model in o.reordering)]
        if o.system == grammars.SYSTEM:
            out = "rules"
            report = grammars.extract(
                *self._sides,
                self.work / _LINKS,
                self.work / out,
                o.grammar,
                filter=tuple(map(str, self._filters())),
                max_words=self._most_words,
                smoothing=o.rules.smoothing,
                top=o.rules.top,
                significance=o.rules.significance,
                memory=o.memory,
                engine=self.engine,
            )
        else:
            report = rules.extract(
                *self._sides,
                self.work / _LINKS,
                self.work / out,
                o.rules,
                max_words=self._most_words,
                reordering=models,
                orientation_counts=out == _COUNTS,
                rule_tags=self._tags(),
                memory=o.memory,
                engine=self.engine,
            )
        if not report.rules:
            first = self.plan.found.paths[0]
            raise InputError(f"{first}: no rule could be extracted from this text", first)
        return [out, *self._names_of_tags(out), *self._parts(out)], asdict(report)

    def _tags(self) -> str | None:
        """The target text, tagged."""
        if self.options.rule_tagger is None:
            return None
        tagger, lines, path = (
            tags.make(self.options.rule_tagger),
            read_text(self._sides[1]),
            self.work / "target.tagged",
        )
        with Lines(path) as out:
            for number, line in enumerate(lines, 1):
                out.write(tags.tagged(tagger, line))
                self.progress("rules", number, len(lines))
        return str(path)

    def _names_of_tags(self, table: str) -> list[str]:
        """The file with the names of tags, called as that of the table the model will have."""
        if self.options.rule_tagger is None:
            return []
        name = f"rules{rules.TAGS}"
        if table != "rules":
            (self.work / f"{table}{rules.TAGS}").replace(self.work / name)
        return [name]

    @property
    def _most_words(self) -> int:
        """Of sentences that rules are extracted from; those that are too long have been dropped before."""
        if self.options.alignments:
            return 250
        cut = any(side.files.keys() - {"truecaser"} for side in self.plan.settled.sides)
        o = self.options.corpus
        return o.max_words * (_MANY_PIECES if cut or any(o.pieces) or o.compounds == "all" else 1)

    def _parts(self, table: str) -> list[str]:
        """The words that unknown compounds are split into: those that have a rule of their own."""
        o = self.options.corpus
        if o.compounds != "unknown":
            return []
        known = rules.Table(self.work / table)
        counts = Compounds.count([self._sides[0]])
        name = _learnt("compounds", 0)
        o.splitter([(word, count) for word, count in counts if known.lookup(word)]).save(self.work / name)
        return [name]

    def _filters(self) -> list[Path]:
        """The texts of `filter`, and again with compounds split that the bitext lacks: their parts need rules, too."""
        ready = self._ready(self.options.grammar.filter, 0)
        if not ready or self.options.corpus.compounds != "unknown":
            return ready
        splitter = self.options.corpus.splitter(Compounds.count([self._sides[0]]))
        split = [self.work / f"split.{number}" for number in range(len(ready))]
        for path, out in zip(ready, split, strict=True):
            splitter.apply_file(path, out)
        return ready + split

    def _ready(self, files: Sequence[str], side: int) -> list[Path]:
        """Texts besides the bitext, prepared as that was; those that were prepared before stay as they are."""
        # How to split compounds that the rules lack is known when there are rules.
        late = "compounds" if self.options.corpus.compounds == "unknown" else None
        preparation = Preparation({k: v for k, v in self.plan.text.items() if k != late}, self.work)
        prepare = (preparation.before, preparation.reference)[side]
        ready = []
        for number, file in enumerate(files):
            noted = Prepared.of(file)
            path = Path(file)
            if self.plan.text and not (noted and noted.done):
                path = self.work / f"more.{('source', 'target')[side]}.{number}"
                lines = read_text(file)
                with Lines(path) as out:
                    for start in range(0, len(lines), _CHUNK):
                        for line in prepare([lines[i] for i in range(start, min(start + _CHUNK, len(lines)))]):
                            out.write(line)
            ready.append(path)
        return ready

    def _lm(self) -> Made:
        o, others = self.options, len(self.options.lm_text)
        ready = self._ready([*o.lm_text, *o.lm_mix], 1)
        texts = [self._sides[1], *ready[:others]]
        if o.lm_mix:
            return self._mixed(texts, ready[others:])
        report = self._estimated(texts, "lm", "hash")
        return ["lm"], {"tokens": report.tokens, "types": report.types, "counts": report.counts}

    def _estimated(self, texts: Sequence[Path], name: str, form: Literal["arpa", "hash"]) -> lm.Estimate:
        o = self.options
        return lm.estimate(
            texts,
            self.work / name,
            o.lm,
            memory=o.memory,
            folder=self.work,
            discount_fallback=(0.5, 1.0, 1.5),  # for a text so small that there is nothing to take discounts from
            skip_symbols=True,
            form=form,
            engine=self.engine,
        )

    def _mixed(self, texts: Sequence[Path], like: Sequence[Path]) -> Made:
        """A model of each text, mixed as makes `like` likely."""
        parts = [self.work / f"lm.{number}.arpa" for number in range(len(texts))]
        reports = [self._estimated([text], part.name, "arpa") for text, part in zip(texts, parts, strict=True)]
        lines = [line for text in like for line in read_text(text)]
        weights = lm.tune_weights([lm.Model(part) for part in parts], lines)
        counts = lm.merge(parts, weights, self.work / "lm", form="hash")
        return ["lm"], {"tokens": sum(r.tokens for r in reports), "counts": counts, "weights": weights}

    def _classes(self) -> Made:
        numbers, search = self.options.classes.wanted, replace(self.options.clustering, seed=self.options.seed)
        files: list[str] = []
        means: dict[str, float] = {}
        for side, text in zip(("source", "target"), self._sides, strict=True):
            if not numbers:
                break
            counts = word_classes.Counts(text)
            for number in numbers:
                found = counts.train(number, search)
                name = f"{side}.{number}.classes"
                found.save(self.work / name)
                files.append(name)
                means[name] = found.mean
                self.progress("classes", len(means), 2 * len(numbers))
            # For features that look at the most frequent words.
            write_text(self.work / f"{side}.words", [f"{word}\t{count}" for word, count in counts.frequent()])
            files.append(f"{side}.words")
        return files, {"likelihood": means}

    def _maxent(self) -> Made:
        o = self.options
        classes = [self.work / f"{side}.{_MAXENT_CLASSES}.classes" for side in ("source", "target")]
        given = (self.work / _COUNTS, (classes[0], classes[1]), self.work / "rules")
        words = self.work / "source.words", self.work / "target.words"
        report = maxent.train(*given, o.maxent, words=words, drop_counts=True, seed=o.seed)
        return ["rules"], asdict(report)


def _seal(folder: Path, o: Options, text: dict[str, Any], files: Sequence[str], made: dict[str, Any]) -> Model:
    """Describes the model: features and start weights, and how text is prepared for it."""
    if o.system == grammars.SYSTEM:
        parts, weights = _hiero_features(o.grammar)
        search = {"pop_limit": 600, "cell_limit": 200, "span_limit": o.grammar.chart_span, "table_limit": 20}
    else:
        parts, weights = _features(o)
        search = {"distortion_limit": 6}
    for left in folder.glob(".*.partial"):  # by a run that was killed right here
        left.unlink()
    return seal(
        folder,
        tables=["rules"],
        parts=parts,
        initial=weights,
        system=o.system,
        search=search,
        text=text,
        made=made,
        extra=files,
    )


def _features(o: Options) -> tuple[list[Part], dict[str, float]]:
    """The dense model and Moses' customary start weights."""
    reordering = o.reordering
    parts = [
        Part("scores", "rules", {"table": 0, "columns": [*rules.MOSES_COLUMNS, "log count", "unique"]}),
        Part("lm", "LM", {"path": "lm"}),
        Part("distortion", "Distortion", {} if o.distortion == "linear" else {"cost": o.distortion}),
        *(Part("reordering", f"Reordering.{m}", {"table": 0, "model": m, **_top(m, o.parser)}) for m in reordering),
        Part("word-penalty", "WordPenalty"),
        Part("phrase-penalty", "PhrasePenalty"),
        Part("unknown-penalty", "UnknownPenalty"),
    ]
    weights = dict.fromkeys(rules.MOSES_COLUMNS, 0.2)
    weights |= {"log-count": 0.0, "unique": 0.0, "LM": 0.5, "Distortion": 0.3}
    weights |= {f"Reordering.{m}[{i}]": 0.3 / len(reordering) for m in reordering for i in range(6)}
    weights |= {"WordPenalty": -1.0, "PhrasePenalty": 0.2, "UnknownPenalty": 1.0}
    return parts, weights


def _hiero_features(grammar: grammars.Grammar) -> tuple[list[Part], dict[str, float]]:
    """The dense hierarchical model. Moses' start weights but for glue, which is neither good nor bad at first."""
    if grammar.preset == "eidelman":
        return _eidelman_features()
    if grammar.value("scores") == "cdec":
        columns = list(grammars.CDEC_COLUMNS)
        costs = ("EgivenFCoherent", "MaxLexFgivenE", "MaxLexEgivenF")
        # As much as Moses' scores weigh, but these are costs, in decimal logarithms.
        weights = {column: -0.2 * math.log(10) if column in costs else 0.0 for column in columns}
    else:
        columns = [*rules.MOSES_COLUMNS, "log count", "unique"]
        weights = {**dict.fromkeys(rules.MOSES_COLUMNS, 0.2), "log-count": 0.0, "unique": 0.0}
    parts = [
        Part("scores", "rules", {"table": 0, "columns": columns}),
        Part("lm", "LM", {"path": "lm"}),
        Part("word-penalty", "WordPenalty"),
        Part("phrase-penalty", "RulePenalty"),
        Part("unknown-penalty", "UnknownPenalty"),
        Part("glue", "Glue"),
        Part("pass-through", "PassThrough"),
    ]
    weights |= {"LM": 0.5, "WordPenalty": -1.0, "RulePenalty": 0.2, "UnknownPenalty": 1.0}
    return parts, {**weights, "Glue": 0.0, "PassThrough": -10.0}


def _eidelman_features() -> tuple[list[Part], dict[str, float]]:
    """The dense features of Eidelman (2012, section 4), and no others."""
    parts = [
        Part("scores", "rules", {"table": 0, "columns": list(rules.MOSES_COLUMNS)}),
        Part("lm", "LM", {"path": "lm"}),
        Part("source-word-penalty", "SourceWordPenalty"),
        Part("pass-through", "PassThrough"),
        Part("word-penalty", "WordPenalty"),
    ]
    weights = dict.fromkeys(rules.MOSES_COLUMNS, 0.2) | {"LM": 0.5, "WordPenalty": -1.0}
    return parts, {**weights, "SourceWordPenalty": 0.0, "PassThrough": -10.0}


def _top(model: str, parser: str) -> dict[str, str]:
    """What a model looks back to. The description of a model says nothing of what is usual."""
    if model not in _BLOCKS:
        return {"top": "phrase"}
    return {"top": "stack", **({} if parser == "plain" else {"parser": parser})}
