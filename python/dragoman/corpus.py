"""Bitext on its way to training: cleaned, tokenised, cased, filtered, with a report of what was dropped and why.

    report = corpus.clean(
        [corpus.Files("raw.de", "raw.en"), corpus.Bitext("more.tmx.gz", ("de", "en"))],
        ("train.de", "train.en"),
        corpus.Options(tokenizer="moses", languages=("de", "en"), case="lower"),
        exclude=["test.de", "test.en"],
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
from typing import Any

from dragoman._core import CorpusCleaner, TruecaseModel, normalise_lines, truecase_undo
from dragoman.errors import OptionError
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
_CASES = ("keep", "lower", "truecase")
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


@dataclass(frozen=True, slots=True)
class Options:
    """How a bitext is cleaned."""

    languages: tuple[str, str] = ("", "")
    """Source and target, for tokenisers (English rules if not given) and files with several languages."""
    tokenizer: str | tuple[str, str] = "none"
    """moses, none, char, jieba, fugashi, or your own; one for each side if two."""
    normalise: str = "nfc"
    """Unicode normal form: nfc, nfkc, none."""
    case: str = "keep"
    """keep, lower, or truecase (by what is learnt from the text)."""
    shortest: int = 1
    """Fewest words of a side."""
    longest: int = 80
    """Most words of a side."""
    characters: int = 0
    """Most characters of a side; 0 for any number."""
    ratio: float = 9.0
    """Most words of one side for each word of the other."""
    distinct: bool = True
    """Drop pairs that were there before."""
    factored: bool = False
    """Tokens are `word|factor|...`; only words are cased."""
    bars: str = "escape"
    """`|` in text without factors: escape (to &#124;), drop the pair, or keep."""
    skip_invalid: bool = False
    """Count lines that are not UTF-8 instead of ending with an error."""

    def __post_init__(self) -> None:
        if self.case not in _CASES:
            raise OptionError(f"expected {', '.join(_CASES)} for case, found {self.case}")
        if min(self.shortest, self.longest, self.characters) < 0:
            raise OptionError(f"expected no negative lengths, found {self}")
        if self.factored and set(self._tokenizers) != {"none"}:
            raise OptionError("factored text is tokenised already; leave the tokeniser out")

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
    exclude: Sequence[Path] = (),
    truecasers: tuple[Path | None, Path | None] = (None, None),
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Clean bitexts into two parallel files, and say what was dropped.

    A pair whose source or target is a line of an `exclude` file, whatever its case and tokenisation, is dropped. With
    `case="truecase"` the forms of words are learnt from the cleaned text, and saved to the files in `truecasers`.
    `progress` is called with the number of pairs of each batch.
    """
    o = options or Options()
    if not inputs:
        raise OptionError("expected at least one bitext")
    if o.case != "truecase":
        return _clean(inputs, (os.fspath(outputs[0]), os.fspath(outputs[1])), o, exclude, progress)
    first = os.fspath(outputs[0])
    beside = pathlib.Path(first).parent if first != "-" else None
    with tempfile.TemporaryDirectory(prefix=".clean-", dir=beside) as folder:
        plain = (os.path.join(folder, "source.zst"), os.path.join(folder, "target.zst"))  # noqa: PTH118  strings
        report = _clean(inputs, plain, o, exclude, progress)
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
    exclude: Sequence[Path],
    progress: Callable[[int], None] | None,
) -> Report:
    pairs = zip(o._tokenizers, o.languages, strict=True)
    tokenizers = [make(name, language or "en") if name != "none" else None for name, language in pairs]
    cleaner = CorpusCleaner(
        [given._given(o.languages) for given in inputs],
        [os.fspath(path) for path in exclude],
        outputs,
        o.normalise,
        o.bars,
        (o.shortest, o.longest, o.characters, o.ratio),
        (o.case == "lower", o.factored, o.distinct, o.skip_invalid),
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
    r"""Lines in a Unicode normal form, without invisible characters, with one blank where there was white space.

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
