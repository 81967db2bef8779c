"""Bitext on its way to training: cleaned, tokenised, cased, filtered, with a report of what was dropped and why.

    report = corpus.clean(
        [corpus.Files("raw.de", "raw.en"), corpus.Bitext("more.tmx.gz", ("de", "en"))],
        ("train.de", "train.en"),
        tokenizer="moses", languages=("de", "en"), case="lower", exclude=["test.de", "test.en"],
    )
    print(report.read, report.kept, report.dropped)

Everything streams: memory is a batch of pairs, and 16 bytes and a little for each pair kept. Outputs appear when they
are whole.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from os import PathLike
from threading import get_ident
from typing import Any, Literal, Protocol

from dragoman._core import CorpusCleaner, TruecaseModel, language_code, normalise_lines, truecase_undo
from dragoman.bitext import Bitext, Files, Resolved, named, resolve
from dragoman.engine import Engine, Serial
from dragoman.errors import InputError, OptionError
from dragoman.looks import Looks
from dragoman.options import check, made, option
from dragoman.parts import LINKS, Compounds, Subwords
from dragoman.prepared import Prepared, of_files
from dragoman.tokenizers import Native, Tokenizer, detokenize, make, tokenize
from dragoman.types import Texts

__all__ = [
    "Bitext",
    "Files",
    "Options",
    "Report",
    "Settled",
    "Truecaser",
    "clean",
    "detokenize",
    "named",
    "normalise",
    "recase",
    "resolve",
    "settle",
    "tokenize",
]

Path = str | PathLike[str]
_BATCH = 20_000
_SUFFIXES = {"truecaser": "truecase", "compounds": "compounds", "subwords": "subwords"}
"""Of files beside outputs, with what was learnt."""
_OFF = ("none", "auto")
_COMPOUNDING = frozenset({"af", "da", "de", "et", "fi", "fo", "fy", "hu", "is", "lb", "nl", "nn", "no", "sv"})
"""Languages that write compounds as one word."""
_FORMS = ("none", "nfc", "nfkc")
"""Normal forms; each undoes nothing of those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a bitext is cleaned."""

    languages: tuple[str, str] = option(
        ("", ""),
        help="Languages of both sides, de en: for tokenisers, and to find the sides of a bitext; sn, sna and sn-ZW are "
        "one.",
        usual="those of a TMX or XLIFF file that has two",
        metavar="SRC TGT",
    )
    tokenizer: str | tuple[str, str] = option(
        "none",
        help="Tokeniser: unicode, moses, char, jieba, fugashi or your own; two mean one for each side. none: words "
        "stay as they are; auto: unicode, and none with --tokenized or for text that `clean` or `tokenize` made.",
        metavar="NAME",
        kind="tokenizer",
    )
    tokenized: bool = option(
        False, help="The text is tokenised and cased already, and auto leaves words and case as they are."
    )
    normalise: Literal["nfc", "nfkc", "none"] = option("nfc", help="Unicode normal form.")
    case: Literal["auto", "keep", "lower", "truecase"] = option(
        "keep",
        help="Case of words; truecase is learnt from the text: words have the case they have inside sentences. auto: "
        "truecase for plain text that has capitals, else keep.",
    )
    subwords: int | tuple[int, int] = option(
        0,
        help="Cut words into so many different pieces, learnt from the text, for languages with many forms of words; "
        "8000 suits small texts. Two are for source and target: 8000 0; 0 leaves words whole.",
        metavar="N",
        min=0,
    )
    compounds: Literal["auto", "none", "unknown", "all"] = option(
        "none",
        help="Split compounds of the source side into words that the text has, by frequency: unknown (words that the "
        "rules lack, when text is translated), all (also in training). auto: unknown for plain text in a language that "
        "writes compounds as one word, such as German.",
    )
    compound_links: tuple[str, ...] = option(
        LINKS, help="What may stand between the parts of a compound.", metavar="TEXT"
    )
    compound_length: int = option(4, help="Fewest characters of a part of a compound.", min=1)
    compound_count: int = option(1, help="Fewest occurrences of a part of a compound.", min=1)
    min_words: int = option(1, help="Fewest words of a side.", min=0, was=["shortest"])
    max_words: int = option(80, help="Most words of a side; longer pairs are dropped.", min=1, was=["longest"])
    max_characters: int = option(0, help="Most characters of a side; 0 is any number.", min=0, was=["characters"])
    max_ratio: float = option(9.0, help="Most words of one side for each word of the other.", min=1, was=["ratio"])
    keep_duplicates: bool = option(False, help="Keep pairs that were there before.")
    exclude: tuple[str, ...] = option(
        (), help="Test sets: pairs with a line of these files are dropped.", metavar="FILE"
    )
    factored: bool = option(False, help="Tokens are word|factor; only words are cased.")
    bars: Literal["escape", "drop", "keep"] = option(
        "escape", help="Text with | and no factors: escape it as &#124;, drop the pair, or keep it."
    )
    invalid: Literal["error", "skip"] = option("error", help="Lines that are not UTF-8: end with an error, or skip.")

    def __post_init__(self) -> None:
        check(self)
        if self.factored and not set(self.tokenizers) <= {"none", "auto"}:
            raise OptionError("factored text is tokenised already; leave the tokeniser out")
        if self.tokenized and not set(self.tokenizers) <= {"none", "auto"}:
            raise OptionError(
                f"text that is tokenised already needs no tokeniser: leave out {self.tokenizers[0]}, or --tokenized"
            )
        if self.factored and (any(self.pieces) or self.compounds not in _OFF):
            raise OptionError("words with factors stay whole: leave out subwords and compounds")
        if self.pieces[0] and self.compounds not in _OFF:
            raise OptionError("subwords leave no compound whole: leave out compounds, or subwords of the source side")
        if self.max_words < self.min_words:
            raise OptionError(f"max_words must be at least min_words, {self.min_words}, found {self.max_words}")

    @property
    def tokenizers(self) -> tuple[str, str]:
        """Those of both sides."""
        return (self.tokenizer, self.tokenizer) if isinstance(self.tokenizer, str) else self.tokenizer

    @property
    def pieces(self) -> tuple[int, int]:
        """The number of different pieces of both sides."""
        return (self.subwords, self.subwords) if isinstance(self.subwords, int) else self.subwords

    def splitter(self, counts: Sequence[tuple[str, int]]) -> Compounds:
        """What splits compounds into words with their counts."""
        return Compounds(
            counts,
            unknown_only=self.compounds == "unknown",
            min_length=self.compound_length,
            min_count=self.compound_count,
            links=self.compound_links,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the pairs."""

    read: int
    kept: int
    dropped: dict[str, int] = field(default_factory=dict)
    """Number of pairs by reason; a pair counts for the first reason that holds."""
    places: dict[str, list[str]] = field(default_factory=dict)
    """The first places of each reason, `file:line`; in TMX and XLIFF files, units are counted."""
    invisible: int = 0
    """Pairs from which control and other invisible characters were removed."""
    escaped: int = 0
    """Pairs that were kept with `|` escaped."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Settled:
    """What cleaning does to a text, and what the text is then."""

    options: Options
    """Without `auto`."""
    sides: tuple[Prepared, Prepared]
    """What was done to both sides, now or before."""

    @property
    def text(self) -> dict[str, Any]:
        """What `dragoman.preprocess.Preparation` reads; names of files aside."""
        one, other = self.sides
        about = {"languages": [one.language, other.language], "tokenizers": [one.tokenizer, other.tokenizer]}
        return {**about, "normalise": one.normalise, "case": one.case, "bars": one.bars, "factored": one.factored}


def settle(
    o: Options, before: tuple[Prepared, Prepared] | None, looks: Callable[[], tuple[Looks, Looks]] | None = None
) -> Settled:
    """Decides what `auto` leaves open, from what was done to the text `before` and from what it looks like.

    What was done is not done again; options that contradict it are errors.
    """
    sides = before or (Prepared(), Prepared())
    whole = o.tokenized or o.factored or sides[0].factored
    tokenizers = [_tokenizer(name, side, whole) for name, side in zip(o.tokenizers, sides, strict=True)]
    languages = [_language(code, side) for code, side in zip(o.languages, sides, strict=True)]
    on = any(name != "none" for name in [*tokenizers, *(side.tokenizer for side in sides)])
    cut = any(side.subwords or side.compounds for side in sides)
    if cut:
        _check_cut(o, sides)
    case = _case(o.case, sides[0].case, on and not whole and not cut, looks)
    compounds = o.compounds
    if compounds == "auto":
        plain = on and not whole and not cut and not o.pieces[0]
        compounds = "unknown" if plain and language_code(languages[0]) in _COMPOUNDING else "none"
    form: Any = max(o.normalise, sides[0].normalise, key=_FORMS.index)
    factored = o.factored or sides[0].factored
    escaped = not factored and "escape" in {o.bars, sides[0].bars}
    options = replace(
        o,
        languages=(languages[0], languages[1]),
        tokenizer=(tokenizers[0], tokenizers[1]) if tokenizers[0] != tokenizers[1] else tokenizers[0],
        case=case,
        compounds=compounds,
        normalise=form,
        factored=factored,
    )
    then = [
        replace(
            side,
            language=language,
            tokenizer=name if name != "none" else side.tokenizer,
            normalise=form,
            case=case if case != "keep" else side.case,
            bars="escape" if escaped else "keep",
            factored=factored,
        )
        for side, language, name in zip(sides, languages, tokenizers, strict=True)
    ]
    return Settled(options, (then[0], then[1]))


def _tokenizer(asked: str, side: Prepared, whole: bool) -> str:
    """What is still to be done of what was asked for."""
    if asked == "auto":
        return "none" if whole or side.tokenizer != "none" else "unicode"
    if asked in {"none", side.tokenizer}:
        return "none"
    if side.tokenizer != "none":
        raise OptionError(_twice(f"was tokenised with {side.tokenizer}", asked))
    return asked


def _twice(done: str, asked: str) -> str:
    return f"the text {done}, and {asked} cannot come after it: leave it out, or start from the text as it was before"


def _check_cut(o: Options, sides: tuple[Prepared, Prepared]) -> None:
    """Refuses what cannot be done to a text in which words were cut."""
    for asked, side in zip(o.pieces, sides, strict=True):
        if asked and (side.subwords or side.compounds):
            raise OptionError(_twice("has words that were cut", "subwords"))
    if o.compounds not in _OFF and (sides[0].subwords or sides[0].compounds):
        raise OptionError(_twice("has words that were cut", "splitting compounds"))
    if o.case not in {"auto", "keep", sides[0].case}:
        raise OptionError(_twice("has words that were cut", f"case {o.case}"))


def _language(asked: str, side: Prepared) -> str:
    if asked and side.language and language_code(asked) != language_code(side.language):
        raise OptionError(f"the text was prepared as {side.language}, and the language {asked} contradicts this")
    return asked or side.language


def _case(asked: str, done: str, plain: bool, looks: Callable[[], tuple[Looks, Looks]] | None) -> Any:
    if asked == "auto":
        found = plain and done == "keep" and looks is not None and any(side.cased for side in looks())
        return "truecase" if found else "keep"
    if asked in {"keep", done}:
        return "keep"
    if done != "keep":
        raise OptionError(_twice(f"has case {done} already", asked))
    return asked


def before(inputs: Sequence[Files | Bitext]) -> tuple[Prepared, Prepared] | None:
    """What was done to the text of inputs before, by the notes beside their files; None for plain text."""
    files = [given for given in inputs if isinstance(given, Files)]
    found = of_files([given.source for given in files], [given.target for given in files]) if files else None
    if found is not None and len(files) < len(inputs):
        other = next(given.paths[0] for given in inputs if isinstance(given, Bitext))
        raise InputError(
            f"{files[0].paths[0]} is prepared text, and {other} is not: prepare all of it with `clean`", other
        )
    return found


def spoken(found: Resolved, before: tuple[Prepared, Prepared] | None) -> tuple[str, str]:
    """The languages of both sides; what was noted of a text is better known than what its file is called."""
    if before is None or not found.by_name:
        return found.languages
    one, other = (side.language or code for side, code in zip(before, found.languages, strict=True))
    return one, other


def clean(
    inputs: Sequence[Files | Bitext],
    outputs: tuple[Path, Path],
    options: Options | None = None,
    *,
    truecasers: tuple[Path | None, Path | None] = (None, None),
    notes: bool = True,
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> Report:
    """Clean bitexts into two parallel files, and say what was dropped; that nothing is left is an error.

    `changes` are options by name. A pair whose source or target is a line of an `exclude` file, whatever its case and
    tokenisation, is dropped. With `case="truecase"` the forms of words are learnt from the cleaned text, and saved to
    the files in `truecasers`, else beside the outputs; so are pieces of words and parts of compounds. What was done is
    noted beside the outputs, too, for `train`, unless `notes` is false. `progress` is called with the number of pairs
    of each batch.
    """
    o = made(Options, changes, base=options)
    found = resolve(inputs, o.languages)
    if "auto" in {o.case, o.compounds, *o.tokenizers}:
        raise OptionError("auto is for training: name a tokeniser, a case and compounds, or leave them out")
    if o.compounds == "unknown":
        raise OptionError("unknown compounds are split when text is translated: --compounds unknown is for `train`")
    done = before(found.inputs)
    settled = settle(replace(o, languages=spoken(found, done)), done)

    def place(kind: str, side: int) -> str | None:
        given, out = truecasers[side] if kind == "truecaser" else None, os.fspath(outputs[side])
        beside = f"{out}.{_SUFFIXES[kind]}" if notes and out != "-" else None
        return os.fspath(given) if given is not None else beside

    report, sides = run_cleaning(found, outputs, settled, place, progress=progress)
    if notes:
        for path, side in zip(outputs, sides, strict=True):
            side.note(path)
    return report


class Learnt(Protocol):
    """What is learnt from a text, and then changes its words."""

    def save(self, path: Path) -> None:
        """Writes it to a file."""
        ...

    def apply_file(self, path: Path, out: Path) -> None:
        """Changes a text."""
        ...


def _layers(o: Options, side: int) -> list[tuple[str, Callable[[str], Learnt]]]:
    """What is learnt from the text of a side after it has been cleaned, by its name in `Prepared`, in order."""
    layers: list[tuple[str, Callable[[str], Learnt]]] = []
    if o.case == "truecase":
        layers.append(("truecaser", lambda path: Truecaser.train([path], factored=o.factored)))
    if o.compounds == "all" and side == 0:
        layers.append(("compounds", lambda path: o.splitter(Compounds.count([path]))))
    if size := o.pieces[side]:
        layers.append(("subwords", lambda path: Subwords.train([path], size)))
    return layers


def run_cleaning(
    found: Resolved,
    outputs: tuple[Path, Path],
    settled: Settled,
    place: Callable[[str, int], str | None],
    *,
    progress: Callable[[int], None] | None = None,
    engine: Engine | None = None,
) -> tuple[Report, tuple[Prepared, Prepared]]:
    """`clean` for what is settled: a report, and what was done to both sides, with the files of what was learnt.

    `place` says where what is learnt goes, by its name in `Prepared` and the side; None is nowhere. An `engine` whose
    workers are other processes tokenises there; what is kept is decided here, in order.
    """
    o, (source, target) = settled.options, (os.fspath(outputs[0]), os.fspath(outputs[1]))
    layers = [_layers(o, side) for side in (0, 1)]
    if not any(layers):
        return _cleaned(found, (source, target), o, progress, engine), settled.sides
    folder_of = pathlib.Path(source).parent if source != "-" else None
    sides = list(settled.sides)
    with tempfile.TemporaryDirectory(prefix=".clean-", dir=folder_of) as folder:
        work = pathlib.Path(folder)
        steps = [[str(work / f"{side}.{step}.zst") for step in range(len(layers[side]))] for side in (0, 1)]
        steps[0].append(source)
        steps[1].append(target)
        report = _cleaned(found, (steps[0][0], steps[1][0]), o, progress, engine)
        for side in (0, 1):
            for (kind, learn), path, out in zip(layers[side], steps[side], steps[side][1:], strict=False):
                learnt, file = learn(path), place(kind, side)
                if file is not None:
                    learnt.save(file)
                learnt.apply_file(path, out)
                sides[side] = replace(sides[side], **{kind: file or ""})  # type: ignore[arg-type]
    return report, (sides[0], sides[1])


def _cleaned(
    found: Resolved,
    outputs: tuple[str, str],
    o: Options,
    progress: Callable[[int], None] | None,
    engine: Engine | None,
) -> Report:
    report = _clean(found, outputs, o, progress, engine or Serial())
    if report.kept:
        return report
    why = ", ".join(f"{count:,} {reason}" for reason, count in report.dropped.items())
    languages = found.found() if "missing" in report.dropped else ""
    wanted = f"; languages asked for: {' '.join(o.languages)}; found: {languages}" if languages else ""
    dropped = f"dropped: {why}" if why else "there was none"
    raise InputError(f"{found.paths[0]}: no sentence pair is left after cleaning; {dropped}{wanted}", found.paths[0])


def _clean(
    found: Resolved, outputs: tuple[str, str], o: Options, progress: Callable[[int], None] | None, engine: Engine
) -> Report:
    words = _Words(o.tokenizers, o.languages)
    words.check()
    cleaner = CorpusCleaner(
        list(found.given),
        list(o.exclude),
        outputs,
        o.normalise,
        o.bars,
        (o.min_words, o.max_words, o.max_characters, float(o.max_ratio)),
        (o.case == "lower", o.factored, not o.keep_duplicates, o.invalid == "skip"),
    )
    if engine.local or set(o.tokenizers) == {"none"}:
        engine = Serial()  # the core uses all cores by itself
    try:
        with engine:
            batches = iter(lambda: cleaner.read(_BATCH), None)
            for source, target in engine.stream(words, batches, 2 * (engine.workers - 1)):
                cleaner.write(source, target)
                if progress is not None:
                    progress(len(source))
        return _report(cleaner, found.inputs)
    finally:
        cleaner.abandon()


@dataclass(frozen=True, slots=True)
class _Words:
    """Cuts batches of both sides into words."""

    tokenizers: tuple[str, str]
    languages: tuple[str, str]

    def check(self) -> None:
        """Makes the tokenisers, to see whether they are there."""
        for name, code in zip(self.tokenizers, self.languages, strict=True):
            _made(name, language_code(code) or "en", get_ident())

    def __call__(self, batch: tuple[Texts, Texts]) -> tuple[Texts, Texts]:
        pairs = zip(batch, self.tokenizers, self.languages, strict=True)
        source, target = (
            _tokenized(_made(name, language_code(code) or "en", get_ident()), texts) for texts, name, code in pairs
        )
        return source, target


@cache
def _made(name: str, language: str, thread: int) -> Tokenizer | None:  # noqa: ARG001
    """One for each thread: those of others may not be used by several at once."""
    return make(name, language) if name != "none" else None


def _tokenized(tokenizer: Tokenizer | None, texts: Texts) -> Texts:
    """A batch in words; a tokeniser of the core takes the column as it is."""
    if tokenizer is None:
        return texts
    if isinstance(tokenizer, Native):
        return tokenizer.tokenize_texts(texts)
    return Texts(tokenizer.tokenize(texts.to_list()))


def _report(cleaner: CorpusCleaner, inputs: Sequence[Files | Bitext]) -> Report:
    read, kept, rows, invisible, escaped = cleaner.finish()
    names = [given.paths[0] for given in inputs]
    dropped = {reason: count for reason, count, _ in rows if count}
    places = {reason: [f"{names[at]}:{line}" for at, line in found] for reason, count, found in rows if count}
    return Report(read, kept, dropped, places, invisible, escaped)


def _texts(text: Texts | Sequence[str]) -> Texts:
    return text if isinstance(text, Texts) else Texts(text)


def normalise(text: Texts | Sequence[str], form: str = "nfc") -> Texts:
    r"""Lines in a Unicode normal form, without invisible characters, with one space where there was white space.

    >>> normalise(["  e\u0301\u200b te\u0301  "])[0]
    'é té'
    """
    return normalise_lines(_texts(text), form)


class Truecaser:
    """The forms that words have inside sentences, and how often; sentences start with the form that is most frequent.

    >>> truecaser = Truecaser.learn(["Das ist das Haus .", "Wo ist das Haus ?"])
    >>> truecaser.apply(["Das Haus ."])[0]
    'das Haus .'
    """

    def __init__(self, model: TruecaseModel, *, factored: bool = False) -> None:
        self._model, self._factored = model, factored

    @classmethod
    def learn(cls, text: Texts | Sequence[str], *, factored: bool = False) -> Truecaser:
        """Learn from tokenised lines."""
        return cls(TruecaseModel.of_texts(_texts(text), factored), factored=factored)

    @classmethod
    def train(cls, paths: Sequence[Path], *, factored: bool = False) -> Truecaser:
        """Learn from tokenised files."""
        return cls(TruecaseModel.of_files([os.fspath(path) for path in paths], factored), factored=factored)

    @classmethod
    def load(cls, path: Path) -> Truecaser:
        """A model from a file, ours or Moses'."""
        return cls(TruecaseModel.read(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write the model as Moses does: `Haus (12/13) HAUS (1)`."""
        self._model.write(os.fspath(path))

    def __len__(self) -> int:
        """Number of words."""
        return len(self._model)

    def __getitem__(self, word: str) -> str | None:
        """The most frequent form of a word, or None."""
        return self._model.best(word)

    def apply(self, text: Texts | Sequence[str], *, factored: bool = False) -> Texts:
        """Truecased lines."""
        return self._model.apply(_texts(text), factored)

    def apply_file(self, path: Path, out: Path) -> None:
        """A truecased file, with factors if there were any in training."""
        self._model.apply_file(os.fspath(path), os.fspath(out), self._factored)


def recase(text: Texts | Sequence[str], *, factored: bool = False) -> Texts:
    """Capital letters back at the starts of sentences.

    >>> recase(["das Haus . es ist"])[0]
    'Das Haus . Es ist'
    """
    return truecase_undo(_texts(text), factored)
