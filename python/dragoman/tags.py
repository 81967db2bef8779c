"""Part-of-speech tags: the most frequent tag of each word, from tagged text or from a tagger.

Features on phrase boundaries (`pb:tags=FILE`) see the tags of target words. A translation option has words but no
sentence, so each word has one tag: the one it has most often in a tagged text. That text may have factors
(`the|DT house|NN`), a file of tags beside it, or be tagged here: by HanTa (English, German, Dutch; the models are in
its package, so that nothing is downloaded), or by a tagger of your own: `FILE.py:NAME`, an entry point in the group
`dragoman.taggers`, or `register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from dragoman import registry
from dragoman._core import TagCounts
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.options import check, made, option
from dragoman.types import Texts

__all__ = ["Learning", "Learnt", "Tagger", "dutch", "english", "german", "learn", "make", "register", "tagged"]

Path = str | PathLike[str]
Tagger = Callable[[Sequence[str]], Sequence[str]]
"""The tags of a sentence: as many as it has words."""

_BATCH = 1000
"""Sentences that are tagged before they are counted."""


def _hanta(model: str) -> Tagger:
    try:
        module: Any = importlib.import_module("HanTa.HanoverTagger")
    except ImportError:
        raise OptionError("this tagger needs a package: pip install HanTa") from None
    tagger = module.HanoverTagger(f"morphmodel_{model}.pgz")
    return lambda words: [tag for _, _, tag in tagger.tag_sent(list(words))]


def english() -> Tagger:
    """HanTa's tagger of English."""
    return _hanta("en")


def german() -> Tagger:
    """HanTa's tagger of German."""
    return _hanta("ger")


def dutch() -> Tagger:
    """HanTa's tagger of Dutch."""
    return _hanta("dutch")


def register(name: str, load: Callable[[], Tagger]) -> None:
    """Add a tagger, or replace one; `load` is called when it is used."""
    registry.add("tagger", name, load)


def make(name: str) -> Tagger:
    """The tagger called `name`, loaded."""
    tagger: Tagger = registry.make("tagger", name)
    return tagger


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How tags are learnt."""

    factor: int = option(1, help="Which factor of --factored is the tag; the word is 0.", min=1)
    tagger: str | None = option(
        None, help="Tag --text by en, de or nl (HanTa), or by your own, FILE.py:NAME.", metavar="NAME", kind="tagger"
    )
    sentences: int | None = option(None, help="With --tagger: tag the first N sentences only.", min=1, usual="all")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What tags were learnt from."""

    tokens: int
    words: int
    """Different words."""
    tags: list[str]
    """Different tags, in order of first appearance."""


def learn(
    out: Path,
    options: Learning | None = None,
    *,
    factored: Sequence[Path] = (),
    text: Path | None = None,
    tags: Path | None = None,
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> Learnt:
    """Writes the most frequent tag of each word, `word TAB tag` a line, as `pb:tags=` wants it.

    `factored` are texts of words with factors, of which number `factor` is the tag; `tags` is a file of tags with a
    line for each line of `text` and a tag for each of its words; `tagger` tags `text`, or its first `sentences`.
    `changes` are options by name.
    """
    o = made(Learning, changes, base=options)
    counts = TagCounts()
    if (text is None) != (tags is None and o.tagger is None) or (tags is not None and o.tagger is not None):
        raise OptionError("expected text with either its tags or a tagger")
    for path in factored:
        counts.add_factored(fspath(path), o.factor)
    if text is not None and tags is not None:
        counts.add_files(fspath(text), fspath(tags))
    elif text is not None and o.tagger is not None:
        _tagged(counts, read_text(text), make(o.tagger), o.sentences, progress)
    if not len(counts):
        raise InputError("expected tagged text, found none")
    counts.write(fspath(out))
    return Learnt(counts.tokens, len(counts), counts.tags)


def tagged(tagger: Tagger, line: str) -> str:
    """The tags of a line; a tag with a space in it would be two."""
    words = line.split()
    return " ".join("_".join(tag.split()) for tag in tagger(words)) if words else ""


def _tagged(
    counts: TagCounts, lines: Texts, tagger: Tagger, sentences: int | None, progress: Callable[[int], None] | None
) -> None:
    end = len(lines) if sentences is None else min(sentences, len(lines))
    for start in range(0, end, _BATCH):
        some = [lines[at] for at in range(start, min(start + _BATCH, end))]
        counts.add_lines(Texts([" ".join(line.split()) for line in some]), Texts([tagged(tagger, s) for s in some]))
        if progress is not None:
            progress(len(some))
