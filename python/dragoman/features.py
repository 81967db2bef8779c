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
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

from dragoman import registry, weights
from dragoman.errors import OptionError
from dragoman.model import USER, Model, Option, Part, has_file
from dragoman.options import check, closest, option
from dragoman.rules import TAGS
from dragoman.types import Weights
from dragoman.user_features import RuleFeature, StateFeature

__all__ = ["ABOUT", "FeatureSet", "Parsed", "escaped", "extended", "files_of", "in_names", "lacking", "parse", "parsed"]


@runtime_checkable
class FeatureSet(Protocol):
    """A set of sparse features, as a frozen dataclass of options."""

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it; files of the model are looked for in `folder`."""
        ...


def _only() -> str:
    made: str = option("", help="A file of names, one a line: no others fire.", metavar="FILE")
    return made


def _min_count() -> float:
    made: float = option(0.0, help="Rules seen less often fire nothing.", min=0)
    return made


@dataclass(frozen=True, slots=True)
class _Set:
    """What all sets share."""

    def __post_init__(self) -> None:
        check(self, f"feature set {type(self).__name__}")


@dataclass(frozen=True, slots=True)
class Rules(_Set):
    """PT: each rule. Sets that need no more than a rule have the same options."""

    kind: ClassVar[str] = "pt"
    min_count: float = _min_count()
    only: str = _only()

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part(self.kind, self.kind, _given(min_count=self.min_count, only=_path(self.only)))


class Orientations(Rules):
    """LO."""

    __slots__ = ()
    kind = "lo"


class WordPairs(Rules):
    """Word pairs."""

    __slots__ = ()
    kind = "wp"


class Insertions(Rules):
    """Insertions."""

    __slots__ = ()
    kind = "ins"


class Shapes(Rules):
    """Rule shapes."""

    __slots__ = ()
    kind = "shape"


@dataclass(frozen=True, slots=True)
class Alignments(_Set):
    """AL."""

    inserted: bool = option(False, help="Fire on target words without a link, too.")
    min_count: float = _min_count()
    only: str = _only()

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part("al", "al", _given(inserted=self.inserted, min_count=self.min_count, only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class TargetBigrams(_Set):
    """Target bigrams."""

    only: str = _only()

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part("tb", "tb", _given(only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class SourcePaths(_Set):
    """Source paths."""

    only: str = _only()

    def part(self, _folder: Path | None) -> Part:
        """What the model's description says of it."""
        return Part("path", "path", _given(only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class PhraseBoundaries(_Set):
    """Phrase boundaries."""

    classes: int = option(
        50, help="Number of word classes of the target; the model has them as target.50.classes.", min=1
    )
    tags: str = option(
        "",
        help="Tags instead of classes: a file of words and their tags, a tab between them, or `carried`: those that "
        "each rule has from tagged text (`dragoman train --rule-tagger`).",
    )
    only: str = _only()

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        if self.tags == "carried":
            if folder is not None and not has_file(folder, f"rules{TAGS}"):
                raise OptionError(
                    f"feature set pb: the rules of {folder} carry no tags; `dragoman train --rule-tagger` adds them"
                )
            return Part("pb", "pb", _given(tags=f"rules{TAGS}", table="0", only=_path(self.only)))
        if self.tags:
            return Part("pb", "pb", _given(tags=_path(self.tags), only=_path(self.only)))
        file = _in_model(folder, "pb", f"target.{self.classes}.classes")
        return Part("pb", "pb", _given(classes=file, size=self.classes, only=_path(self.only)))


@dataclass(frozen=True, slots=True)
class Bins(_Set):
    """Count and length bins; links between frequent words."""

    words: int = option(0, help="Most frequent words of each side whose links fire; 0 is none.", min=0)
    min_count: float = _min_count()
    only: str = _only()

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        lists = {}
        if self.words:
            lists = {f"{side}_words": _in_model(folder, "bin", f"{side}.words") for side in ("source", "target")}
        options = _given(words=self.words, min_count=self.min_count, only=_path(self.only))
        return Part("bin", "bin", {**options, **lists})


@dataclass(frozen=True, slots=True)
class Boosted(_Set):
    """Boosted trees."""

    file: str = option("", help="The trees, as `dragoman features boost` writes them.", metavar="FILE")

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        if folder is not None and not self.file:
            raise OptionError(
                "feature set boosted: expected boosted:file=FILE, trees that `dragoman features boost` made"
            )
        return Part("boosted", "boosted", _given(path=_path(self.file)))


@dataclass(frozen=True, slots=True)
class SparseHrm(_Set):
    """Sparse HRM."""

    words: int = option(80, help="Most frequent words of each side that are symbols of their own; 0 is none.", min=0)
    classes: tuple[int, ...] = option((50, 20), help="Numbers of word classes, with + between them; 0 is none.", min=0)
    groups: tuple[Literal["phrase", "stack", "between"], ...] = option(
        (),
        help="Where features look, with + between them: at the phrase, at the block on top of the stack, at the words "
        "between. `groups=phrase,classes=50` is what Maxent has, too (Cherry 2013, tables 6 and 8).",
        usual="all",
    )
    only: str = _only()
    parser: Literal["plain", "unrestricted"] = option(
        "plain",
        help="Blocks become one if the two on top of the stack are neighbours (plain), or if any number on top are "
        "contiguous (unrestricted, as in Cherry 2013).",
    )

    def part(self, folder: Path | None) -> Part:
        """What the model's description says of it."""
        kinds = [(f"w{self.words}", "words")] if self.words else []
        kinds += [(f"c{size}", f"{size}.classes") for size in self.classes if size]
        names = [name for name, _ in kinds]
        if not kinds or len(set(names)) < len(names):
            raise OptionError(
                f"feature set sparse-hrm: expected words or different numbers of classes, found words={self.words},"
                f"classes={'+'.join(map(str, self.classes))}"
            )
        files = {
            f"{side}.{name}": _in_model(folder, "sparse-hrm", f"{side}.{file}")
            for name, file in kinds
            for side in ("source", "target")
        }
        more = _given(groups=list(self.groups), only=_path(self.only)) | (
            {"parser": self.parser} if self.parser != "plain" else {}
        )
        return Part("sparse-hrm", "shrm", {"representations": names, **files, **more})


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
    "shape": ("where a rule has words (`w`) and gaps", "Dyer et al. 2010", ["shape:w_^1>^1_w"]),
    "path": (
        "a source word of a rule and the word before it, which is the rule's or the last of a gap",
        "Dyer et al. 2010",
        ["path:das>haus"],
    ),
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
    "boosted": (
        "each rule, with the value of the leaf that it comes to in each of some regression trees over its attributes",
        "Toutanova & Ahn 2013",
        ["boosted:1", "boosted:230"],
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


class Parsed(NamedTuple):
    """What a text of feature sets names."""

    parts: list[Part]
    """Sets that the core has."""
    users: list[RuleFeature | StateFeature]
    """Features from files of users."""
    described: list[Part]
    """What a model's description says of these."""


def parse(spec: str, folder: Path | None = None) -> list[Part]:
    """The sets of a text such as `pt,al:inserted,sparse-hrm:words=80,classes=50+20`, in order; none from files."""
    found = parsed(spec, folder)
    if found.users:
        raise OptionError(f"expected sets of the core, found `{found.users[0].name}` from a file")
    return found.parts


def parsed(spec: str, folder: Path | None = None) -> Parsed:
    """The sets of a text such as `pt,al:inserted,mine.py:Lengths`, in order.

    What follows a comma is a further option if it has a `=` or is no set's name, and a further name of the same file
    after `FILE.py:NAME`. Files that a set takes from a model are looked for in `folder`.
    """
    found = Parsed([], [], [])
    for text in _texts(spec):
        made = registry.make("feature set", text)
        if isinstance(made, (StateFeature, RuleFeature)):
            found.users.append(made)
            if registry.is_file_spec(text):
                found.described.append(_user_part(text, made.name))
        elif isinstance(made, FeatureSet):
            found.parts.append(made.part(folder))
        else:
            raise OptionError(f"{text} is neither a rule feature nor a state feature nor a feature set, but {made!r}")
    names = [part.name for part in found.parts]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"feature set {name} is given twice")
    return found


def _user_part(text: str, name: str) -> Part:
    """A feature from a file of a user: where it is, and what it was made with."""
    path, _, rest = text.rpartition(".py:")
    wanted, _, options = rest.partition(":")
    return Part(USER, name, _given(path=_path(f"{path}.py"), object=wanted, options=options))


def lacking(name: str, used: Weights, dense: Sequence[str], sets: Sequence[str]) -> str:
    """What to say of a weight whose feature the model lacks: the sets that are to be switched on, or a close name."""
    owners = {registry.make("feature set", known).part(None).name: known for known in registry.TABLE["feature set"]}
    prefix, colon, _ = name.partition(":")
    if not colon or prefix in sets:
        return closest(name, [*dense, *(f"{known}:..." for known in sets)])
    wanted = {stat.name.rstrip(":") for stat in weights.sets(used) if stat.name} - set(sets)
    known = [owners[each] for each in owners if each in wanted]
    if prefix not in owners:
        return f"if `{prefix}` is a feature of yours, add --features FILE.py:NAME"
    return f"its set is not switched on: add --features {','.join(known)}"


def _texts(spec: str) -> list[str]:
    """The text of each set."""
    known = registry.names("feature set")
    texts: list[str] = []
    for item in filter(None, (item.strip() for item in spec.split(","))):
        name = item.partition(":")[0]
        last = texts[-1] if texts else ""
        option = ":" in last and ":" not in item.partition("=")[0] and item not in known
        if option and ("=" in item or name == "inserted"):
            texts[-1] += f",{item}" if last.count(":") > registry.is_file_spec(last) else f":{item}"
        elif option and registry.is_file_spec(last):
            texts.append(f"{last.rpartition('.py:')[0]}.py:{item}")
        elif "=" in name:
            raise OptionError(f"expected the name of a feature set before its options, found `{item}`")
        else:
            texts.append(item)
    if not texts:
        raise OptionError(f"expected names of feature sets, found `{spec}`; {closest('', known)}")
    return texts


def files_of(spec: str) -> list[Path]:
    """The files of Python that a text of feature sets names."""
    paths = [
        text.rpartition(".py:")[0] + ".py" for text in (_texts(spec) if spec else []) if registry.is_file_spec(text)
    ]
    return [Path(path) for path in dict.fromkeys(paths)]


def extended(model: Model, parts: Sequence[Part]) -> Model:
    """The model with more feature sets. Nothing is written; `dragoman.model.seal` does that."""
    have = {part.name for part in model.parts}
    for part in parts:
        if part.name in have:
            raise OptionError(f"{model.folder}: the model has the feature set {part.name} already")
    return dataclasses.replace(model, parts=(*model.parts, *parts))


def _given(**options: Option | bool) -> dict[str, Option]:
    """The options that say anything."""
    return {name: (str(value).lower() if value is True else value) for name, value in options.items() if value}


def _path(name: str) -> str:
    return os.fspath(Path(name).resolve()) if name else ""


def _in_model(folder: Path | None, kind: str, file: str) -> str:
    if folder is not None and not has_file(folder, file):
        have: Sequence[str] = sorted(path.name for path in folder.glob("*.classes")) + sorted(
            path.name for path in folder.glob("*.words")
        )
        raise OptionError(
            f"feature set {kind}: {folder} has no {file}; it has {', '.join(have) or 'neither classes nor word lists'}"
        )
    return file
