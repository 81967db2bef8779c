"""Part-of-speech tags: the most frequent tag of each word, from tagged text or from a tagger.

Features on phrase boundaries (`pb:tags=FILE`) see the tags of target words. A translation option has words but no
sentence, so each word has one tag: the one it has most often in a tagged text. That text may have factors
(`the|DT house|NN`), a file of tags beside it, or be tagged here: by HanTa (English, German, Dutch; the models are in
its package, so that nothing is downloaded), or by a tagger of your own, from an entry point in the group
`dragoman.taggers` or by `register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from os import PathLike, fspath
from typing import Any

from dragoman._core import TagCounts
from dragoman.errors import InputError, OptionError
from dragoman.files import read_text
from dragoman.options import closest
from dragoman.types import Texts

__all__ = ["TAGGERS", "Learnt", "Tagger", "learn", "make", "register"]

Path = str | PathLike[str]
Tagger = Callable[[Sequence[str]], Sequence[str]]
"""The tags of a sentence: as many as it has words."""

_BATCH = 1000
"""Sentences that are tagged before they are counted."""


def _hanta(model: str) -> Callable[[], Tagger]:
    def load() -> Tagger:
        try:
            module: Any = importlib.import_module("HanTa.HanoverTagger")
        except ImportError:
            raise OptionError("this tagger needs a package: pip install HanTa") from None
        tagger = module.HanoverTagger(f"morphmodel_{model}.pgz")
        return lambda words: [tag for _, _, tag in tagger.tag_sent(list(words))]

    return load


TAGGERS: dict[str, Callable[[], Tagger]] = {"en": _hanta("en"), "de": _hanta("ger"), "nl": _hanta("dutch")}
"""Taggers by name; a call loads one."""


def register(name: str, load: Callable[[], Tagger]) -> None:
    """Add a tagger, or replace one."""
    TAGGERS[name] = load


def make(name: str) -> Tagger:
    """The tagger called `name`, loaded."""
    if name in TAGGERS:
        return TAGGERS[name]()
    found = {entry.name: entry for entry in entry_points(group="dragoman.taggers")}
    if name in found:
        tagger: Tagger = found[name].load()()
        return tagger
    raise OptionError(f"unknown tagger `{name}`; {closest(name, [*TAGGERS, *found])}")


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
    *,
    factored: Sequence[Path] = (),
    factor: int = 1,
    text: Path | None = None,
    tags: Path | None = None,
    tagger: str | None = None,
    sentences: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Learnt:
    """Writes the most frequent tag of each word, `word TAB tag` a line, as `pb:tags=` wants it.

    `factored` are texts of words with factors, of which number `factor` is the tag; `tags` is a file of tags with a
    line for each line of `text` and a tag for each of its words; `tagger` tags `text`, or its first `sentences`.
    """
    counts = TagCounts()
    if factor < 1:
        raise OptionError(f"factors count from 1, after the word; found {factor}")
    if (text is None) != (tags is None and tagger is None) or (tags is not None and tagger is not None):
        raise OptionError("expected text with either its tags or a tagger")
    for path in factored:
        counts.add_factored(fspath(path), factor)
    if text is not None and tags is not None:
        counts.add_files(fspath(text), fspath(tags))
    elif text is not None and tagger is not None:
        _tagged(counts, read_text(text), make(tagger), sentences, progress)
    if not len(counts):
        raise InputError("expected tagged text, found none")
    counts.write(fspath(out))
    return Learnt(counts.tokens, len(counts), counts.tags)


def _tagged(
    counts: TagCounts, lines: Texts, tagger: Tagger, sentences: int | None, progress: Callable[[int], None] | None
) -> None:
    end = len(lines) if sentences is None else min(sentences, len(lines))
    for start in range(0, end, _BATCH):
        some = [lines[at].split() for at in range(start, min(start + _BATCH, end))]
        # A tag with a blank in it would be two.
        tags = [" ".join("_".join(tag.split()) for tag in tagger(words)) if words else "" for words in some]
        counts.add_lines(Texts([" ".join(words) for words in some]), Texts(tags))
        if progress is not None:
            progress(len(some))
