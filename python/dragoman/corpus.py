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
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, Literal

from dragoman._core import CorpusCleaner, TruecaseModel, normalise_lines, truecase_undo
from dragoman.errors import OptionError
from dragoman.options import check, made, option
from dragoman.tokenizers import detokenize, make, tokenize
from dragoman.types import Texts

__all__ = [
    "Bitext",
    "Files",
    "Options",
    "Report",
    "Truecaser",
    "clean",
    "detokenize",
    "normalise",
    "recase",
    "tokenize",
]

Path = str | PathLike[str]
_BATCH = 20_000
_FORMS = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tmx": "tmx"}


@dataclass(frozen=True, slots=True)
class Files:
    """Two parallel files, a sentence a line."""

    source: Path
    target: Path

    def _given(self, _languages: tuple[str, str]) -> tuple[str, str, str, str]:
        return ("files", os.fspath(self.source), os.fspath(self.target), "")


@dataclass(frozen=True, slots=True)
class Bitext:
    """One file with both sides: TSV, JSONL or TMX, told from its name (which may go on with .gz, .zst or .xz)."""

    path: Path
    sides: tuple[str, str] | None = None
    """Which side is which: numbers of TSV columns from 1 (by default 1 and 2), names of JSON fields (by default the
    languages, else `source` and `target`; `translation.de` leads into an object), languages of a TMX file."""

    def _given(self, languages: tuple[str, str]) -> tuple[str, str, str, str]:
        path = os.fspath(self.path)
        name = pathlib.Path(path)
        suffix = name.with_suffix("").suffix if name.suffix in {".gz", ".zst", ".xz"} else name.suffix
        form = _FORMS.get(suffix.lower())
        if form is None:
            raise OptionError(f"expected a name that ends in .tsv, .jsonl or .tmx (and .gz, .zst, .xz), found {path}")
        known = languages if all(languages) else None
        sides = self.sides or {"tsv": ("1", "2"), "jsonl": known or ("source", "target"), "tmx": known}[form]
        if sides is None:
            raise OptionError(f"{path}: the languages of a TMX file must be named")
        return (form, path, *sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a bitext is cleaned."""

    languages: tuple[str, str] = option(
        ("", ""),
        help="Languages of both sides, de en: for tokenisers (English rules without it), JSONL and TMX.",
        usual="none",
        metavar="SRC TGT",
    )
    tokenizer: str | tuple[str, str] = option(
        "none",
        help="Tokeniser: moses, char, jieba, fugashi or your own; two mean one for each side. none: the text is "
        "tokenised already.",
        metavar="NAME",
        kind="tokenizer",
    )
    normalise: Literal["nfc", "nfkc", "none"] = option("nfc", help="Unicode normal form.")
    case: Literal["keep", "lower", "truecase"] = option(
        "keep", help="Case of words; truecase is learnt from the text: words have the case they have inside sentences."
    )
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
        if self.factored and set(self._tokenizers) != {"none"}:
            raise OptionError("factored text is tokenised already; leave the tokeniser out")
        if self.max_words < self.min_words:
            raise OptionError(f"max_words must be at least min_words, {self.min_words}, found {self.max_words}")

    @property
    def _tokenizers(self) -> tuple[str, str]:
        return (self.tokenizer, self.tokenizer) if isinstance(self.tokenizer, str) else self.tokenizer


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the pairs."""

    read: int
    kept: int
    dropped: dict[str, int] = field(default_factory=dict)
    """Number of pairs by reason; a pair counts for the first reason that holds."""
    places: dict[str, list[str]] = field(default_factory=dict)
    """The first places of each reason, `file:line`; in TMX files, units are counted."""
    invisible: int = 0
    """Pairs from which control and other invisible characters were removed."""
    escaped: int = 0
    """Pairs that were kept with `|` escaped."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return asdict(self)


def clean(
    inputs: Sequence[Files | Bitext],
    outputs: tuple[Path, Path],
    options: Options | None = None,
    *,
    truecasers: tuple[Path | None, Path | None] = (None, None),
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> Report:
    """Clean bitexts into two parallel files, and say what was dropped.

    `changes` are options by name. A pair whose source or target is a line of an `exclude` file, whatever its case and
    tokenisation, is dropped. With `case="truecase"` the forms of words are learnt from the cleaned text, and saved to
    the files in `truecasers`. `progress` is called with the number of pairs of each batch.
    """
    o = made(Options, changes, base=options)
    if not inputs:
        raise OptionError("expected at least one bitext")
    if o.case != "truecase":
        return _clean(inputs, (os.fspath(outputs[0]), os.fspath(outputs[1])), o, progress)
    first = os.fspath(outputs[0])
    beside = pathlib.Path(first).parent if first != "-" else None
    with tempfile.TemporaryDirectory(prefix=".clean-", dir=beside) as folder:
        plain = (os.path.join(folder, "source.zst"), os.path.join(folder, "target.zst"))  # noqa: PTH118  strings
        report = _clean(inputs, plain, o, progress)
        for path, out, model in zip(plain, outputs, truecasers, strict=True):
            truecaser = Truecaser.train([path], factored=o.factored)
            if model is not None:
                truecaser.save(model)
            truecaser._model.apply_file(path, os.fspath(out), o.factored)
    return report


def _clean(
    inputs: Sequence[Files | Bitext],
    outputs: tuple[str, str],
    o: Options,
    progress: Callable[[int], None] | None,
) -> Report:
    pairs = zip(o._tokenizers, o.languages, strict=True)
    tokenizers = [make(name, language or "en") if name != "none" else None for name, language in pairs]
    cleaner = CorpusCleaner(
        [given._given(o.languages) for given in inputs],
        list(o.exclude),
        outputs,
        o.normalise,
        o.bars,
        (o.min_words, o.max_words, o.max_characters, float(o.max_ratio)),
        (o.case == "lower", o.factored, not o.keep_duplicates, o.invalid == "skip"),
    )
    try:
        while (batch := cleaner.read(_BATCH)) is not None:
            source, target = (
                texts if tokenizer is None else Texts(tokenizer.tokenize(texts.to_list()))
                for texts, tokenizer in zip(batch, tokenizers, strict=True)
            )
            cleaner.write(source, target)
            if progress is not None:
                progress(len(source))
        return _report(cleaner, inputs)
    finally:
        cleaner.abandon()


def _report(cleaner: CorpusCleaner, inputs: Sequence[Files | Bitext]) -> Report:
    read, kept, rows, invisible, escaped = cleaner.finish()
    names = [os.fspath(given.source if isinstance(given, Files) else given.path) for given in inputs]
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

    def __init__(self, model: TruecaseModel) -> None:
        self._model = model

    @classmethod
    def learn(cls, text: Texts | Sequence[str], *, factored: bool = False) -> Truecaser:
        """Learn from tokenised lines."""
        return cls(TruecaseModel.of_texts(_texts(text), factored))

    @classmethod
    def train(cls, paths: Sequence[Path], *, factored: bool = False) -> Truecaser:
        """Learn from tokenised files."""
        return cls(TruecaseModel.of_files([os.fspath(path) for path in paths], factored))

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


def recase(text: Texts | Sequence[str], *, factored: bool = False) -> Texts:
    """Capital letters back at the starts of sentences.

    >>> recase(["das Haus . es ist"])[0]
    'Das Haus . Es ist'
    """
    return truecase_undo(_texts(text), factored)
