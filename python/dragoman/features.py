"""Sparse feature sets, chosen by name: `pt,al,lo,sparse-hrm:words=80,classes=50+20`.

>>> [part.name for part in parse("pt:min_count=2,wp,tb")]
['pt', 'wp', 'tb']

Each set owns a prefix: its features are called `pt:...`. In names, characters that separate words or that lists of
candidates could misread (blanks and `% = _ > | [ ] : ; ^ $`) are written as `%` and two hexadecimal digits a byte.
"""

from __future__ import annotations

import dataclasses
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dragoman.errors import OptionError
from dragoman.model import Model, Option, Part
from dragoman.options import build, closest

__all__ = ["ABOUT", "SETS", "escaped", "extended", "in_names", "parse"]


@dataclass(frozen=True, slots=True)
class _Rules:
    """Sets that need no more than a rule."""

    kind: ClassVar[str] = "pt"
    min_count: float = 0.0
    """Rules seen less often fire nothing."""
    only: str = ""
    """A file of names, one a line: no others fire."""

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part(self.kind, self.kind, _given(min_count=self.min_count, only=_path(self.only)))


class _Orientations(_Rules):
    """LO."""

    __slots__ = ()
    kind = "lo"


class _Pairs(_Rules):
    """Word pairs."""

    __slots__ = ()
    kind = "wp"


class _Insertions(_Rules):
    """Insertions."""

    __slots__ = ()
    kind = "ins"


@dataclass(frozen=True, slots=True)
class _Clusters:
    """AL."""

    inserted: bool = False
    """Fires on target words without a link, too."""
    min_count: float = 0.0
    only: str = ""

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part("al", "al", _given(inserted=self.inserted, min_count=self.min_count, only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class _Bigrams:
    """Target bigrams."""

    only: str = ""

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part("tb", "tb", _given(only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class _Boundary:
    """Phrase boundaries."""

    classes: int = 50
    """Number of word classes of the target; the model has them as target.50.classes."""
    tags: str = ""
    """A file of words and their tags, a tab between them; used instead of classes."""
    only: str = ""

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        if self.tags:
            return Part("pb", "pb", _given(tags=_path(self.tags), only=_path(self.only)))
        file = _in_model(folder, "pb", f"target.{self.classes}.classes")
        return Part("pb", "pb", _given(classes=file, size=self.classes, only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class _Bins:
    """Count and length bins; links between frequent words."""

    words: int = 0
    """Most frequent words of each side whose links fire; 0 is none."""
    min_count: float = 0.0
    only: str = ""

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        lists = {}
        if self.words:
            lists = {f"{side}_words": _in_model(folder, "bin", f"{side}.words") for side in ("source", "target")}
        options = _given(words=self.words, min_count=self.min_count, only=_path(self.only))
        return Part("bin", "bin", {**options, **lists})


@dataclass(frozen=True, slots=True)
class _SparseHrm:
    """Sparse HRM."""

    words: int = 80
    """Most frequent words of each side that are symbols of their own; 0 is none."""
    classes: str = "50+20"
    """Numbers of word classes, with `+` between them; 0 is none."""
    only: str = ""

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        kinds = [(f"w{self.words}", "words")] if self.words else []
        for size in filter(None, self.classes.split("+")):
            if not size.isdigit():
                raise OptionError(f"feature set sparse-hrm: classes must be numbers like 50+20, found `{self.classes}`")
            kinds += [(f"c{int(size)}", f"{int(size)}.classes")] if int(size) else []
        names = [name for name, _ in kinds]
        if not kinds or self.words < 0 or len(set(names)) < len(names):
            raise OptionError(
                f"feature set sparse-hrm: expected words or different numbers of classes, found words={self.words},"
                f"classes={self.classes}"
            )
        files = {
            f"{side}.{name}": _in_model(folder, "sparse-hrm", f"{side}.{file}")
            for name, file in kinds
            for side in ("source", "target")
        }
        return Part("sparse-hrm", "shrm", {"representations": names, **files, **_given(only=_path(self.only))})


Set = _Rules | _Clusters | _Bigrams | _Boundary | _Bins | _SparseHrm

SETS: dict[str, Set] = {
    "pt": _Rules(),
    "al": _Clusters(),
    "lo": _Orientations(),
    "wp": _Pairs(),
    "ins": _Insertions(),
    "tb": _Bigrams(),
    "pb": _Boundary(),
    "bin": _Bins(),
    "sparse-hrm": _SparseHrm(),
}
"""All sets by name, with the options they have unless told."""


ABOUT: dict[str, tuple[str, str, Sequence[str]]] = {
    "pt": ("each rule", "Green et al. 2013", ["pt:das_haus>the_house"]),
    "al": (
        "each linked source word with the words it is linked to, and each source word without a link",
        "Green et al. 2013",
        ["al:das>the", "al:ja>", "al:>do"],
    ),
    "lo": (
        "each rule with how it lies towards the phrase before it and the phrase after it: M, S, D, or N (not M)",
        "Green et al. 2013",
        ["lo:M.previous:haus>house", "lo:N.next:das>the"],
    ),
    "wp": ("each pair of linked words", "Eidelman 2012", ["wp:haus>house"]),
    "ins": ("each target word without a link, with every source word of its rule", "Eidelman 2012", ["ins:haus>of"]),
    "tb": ("two consecutive target words", "Eidelman 2012", ["tb:^>the", "tb:the>house", "tb:.>$"]),
    "pb": (
        "the classes or tags of the two target words where phrases meet",
        "Haddow et al. 2011",
        ["pb:3>17", "pb:^>DT", "pb:NN>$"],
    ),
    "bin": (
        "how often the rule was seen, its lengths, links between frequent words",
        "Cherry 2013",
        ["bin:count:3-4", "bin:source:2", "bin:target:3", "bin:length:2>3", "bin:pair:das>the"],
    ),
    "sparse-hrm": (
        "the orientation of a phrase towards the block on top of the stack, with words and classes of both",
        "Cherry 2013",
        ["shrm:source.first.M:w80:das", "shrm:top.target.last.D:c20:7", "shrm:between.right:c50:^other"],
    ),
}
"""What fires in each set, who thought of it, and names that it fires."""


def escaped(word: str) -> str:
    """A word as names have it.

    >>> escaped("a_b>c"), escaped("50%")
    ('a%5Fb%3Ec', '50%25')
    """
    return "".join("".join(f"%{b:02X}" for b in c.encode()) if _special(c) else c for c in word)


def _special(c: str) -> bool:
    return c in "%=_>|[]:;^$" or c.isspace() or unicodedata.category(c) == "Cc"


def in_names(words: Sequence[str]) -> str:
    """Words as names have them.

    >>> in_names(["das", "haus"])
    'das_haus'
    """
    return "_".join(map(escaped, words))


def parse(spec: str, folder: Path | None = None) -> list[Part]:
    """The sets of a text such as `pt,al:inserted,sparse-hrm:words=80,classes=50+20`, in order.

    What follows a comma is a further option if it has a `=` or is no set's name. Files that a set takes from a model
    are looked for in `folder`.
    """
    texts: list[str] = []
    for item in filter(None, (item.strip() for item in spec.split(","))):
        name = item.partition(":")[0]
        option = texts and ":" in texts[-1] and ":" not in item.partition("=")[0] and item not in SETS
        if option and ("=" in item or name == "inserted"):
            texts[-1] += f",{item}"
        elif "=" in name:
            raise OptionError(f"expected the name of a feature set before its options, found `{item}`")
        else:
            texts.append(item)
    if not texts:
        raise OptionError(f"expected names of feature sets, found `{spec}`; {closest('', SETS)}")
    made = [_checked(build("feature set", SETS, text)).part(folder) for text in texts]
    names = [part.name for part in made]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"feature set {name} is given twice")
    return made


def extended(model: Model, spec: str) -> Model:
    """The model with more feature sets. Nothing is written; `dragoman.model.seal` does that."""
    more = parse(spec, model.folder)
    have = {part.name for part in model.parts}
    for part in more:
        if part.name in have:
            raise OptionError(f"{model.folder}: the model has the feature set {part.name} already")
    return dataclasses.replace(model, parts=(*model.parts, *more))


def _checked(made: Set) -> Set:
    for name, least in (("min_count", 0.0), ("words", 0), ("classes", 1)):
        value = getattr(made, name, least)
        if not isinstance(value, str) and not value >= least:
            raise OptionError(f"feature set: {name} must be at least {least}, found {value}")
    return made


def _given(**options: Option | bool) -> dict[str, Option]:
    """The options that say anything."""
    return {name: (str(value).lower() if value is True else value) for name, value in options.items() if value}


def _path(name: str) -> str:
    return os.fspath(Path(name).resolve()) if name else ""


def _in_model(folder: Path | None, kind: str, file: str) -> str:
    if folder is not None and not (folder / file).is_file():
        have: Sequence[str] = sorted(path.name for path in folder.glob("*.classes")) + sorted(
            path.name for path in folder.glob("*.words")
        )
        raise OptionError(
            f"feature set {kind}: {folder} has no {file}; it has {', '.join(have) or 'neither classes nor word lists'}"
        )
    return file
