"""Sentences in running text: where each begins and ends. By rules for each language, or by a splitter of yours.

>>> [text[start:end] for text in ["Dr. Kim came at 3 p.m. on Monday. Who knew?"] for start, end in split(text, "en")]
['Dr. Kim came at 3 p.m. on Monday.', 'Who knew?']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

from dragoman import registry
from dragoman._core import language_code
from dragoman.options import check, option

__all__ = ["Blank", "Rules", "Splitter", "Splitting", "make", "split"]

Span = tuple[int, int]


@runtime_checkable
class Splitter(Protocol):
    """Finds sentences."""

    def spans(self, text: str) -> Sequence[Span]:
        """Where sentences are in a text without line breaks: the first character of each, and the one after its last.

        Between two of them is white space alone.
        """


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """How sentences are found in running text."""

    splitter: str = option(
        "rules", help="What finds sentences: rules, none, or one of yours as FILE.py:NAME.", metavar="NAME"
    )

    def __post_init__(self) -> None:
        check(self)


class Blank:
    """No splitter: a line is a sentence."""

    def __init__(self, language: str = "en") -> None:
        pass

    def spans(self, text: str) -> Sequence[Span]:
        """The line, without white space at its ends."""
        return _trimmed(text, 0, len(text))


# After these, a full stop ends no sentence: titles and the like, which need a name or a number after them.
_BEFORE_NAMES = {
    "en": "mr mrs ms dr prof rev hon st sr jr messrs mmes gen col lt sgt capt cmdr maj adm gov sen rep pres supt insp "
          "mt ft no nos vol pp fig figs sec art ch eq ref eds ed vs cf eg ie viz e.g i.e approx ca",
    "de": "hr fr dr prof dipl ing mag hrsg hl st str nr bd bde abs art kap abb tab vgl bzw z.b d.h u.a i.d.r o.ä sog ca "
          "geb gest evtl ggf inkl exkl max min zit s u.s o.g abg staatl verh jr sen frl msgr",
    "fr": "m mm mme mmes mlle mlles dr pr prof me st ste mgr no art chap fig vol cf env p.ex c.-à-d av bd boul réf",
    "es": "sr sra sres srta dr dra prof d da dª gral lic ing núm art cap fig pág vol cf p.ej av avda ud uds vd vds ee",
    "it": "sig sigg sigra dott dr prof avv ing on s st n nn art cap fig pag vol cfr p.es mons gen col",
    "pt": "sr sra srs dr dra prof d exmo eng gen art cap fig pág vol cf p.ex av n núm v.exa",
    "nl": "dhr mevr mw mr dr drs prof ing ir st nr nrs art fig blz vgl bv bijv d.w.z m.b.t o.a ca jhr",
    "sv": "hr fr dr prof st nr art kap fig s jfr t.ex d.v.s bl.a ca resp",
    "da": "hr fr dr prof skt nr art kap fig s jf f.eks dvs bl.a ca ing",
    "fi": "hra rva dr prof nr kts esim ks s n ts ns mm",
    "pl": "p dr prof inż mgr gen płk ks św nr art ust rys str np tzn tj ww m.in ul al im",
    "cs": "p dr prof ing mgr gen sv č čl obr str např tzn tj mj ul nám",
    "ru": "г гг т ул стр рис см им д р тыс млн проф акад т.е т.к т.н и.о",
    "sw": "bw bi dkt prof mh mhe uk",
    "ha": "mal dr prof",
    "tr": "dr prof doç sn av bkz örn vb s no",
}  # fmt: skip
# After these, too, unless a capital follows: they stand at ends of sentences as well.
_ANYWHERE = {
    "en": "etc al inc ltd co corp dept univ assn bros jan feb mar apr jun jul aug sept sep oct nov dec a.m p.m u.s u.k u.n",
    "de": "usw etc co jan feb mär apr jun jul aug sept okt nov dez u.s.w v.chr n.chr mio mrd tel mwst",
    "fr": "etc janv févr avr juil sept oct nov déc tél hab",
    "es": "etc ene feb mar abr jun jul ago sept oct nov dic tel ee.uu",
    "it": "ecc etc gen feb mar apr giu lug ago set ott nov dic tel",
    "pt": "etc jan fev mar abr jun jul ago set out nov dez tel",
    "nl": "enz etc jan feb mrt apr jun jul aug sept okt nov dec tel",
}
# Languages where a number with a full stop is an ordinal: "am 3. Mai".
_ORDINALS = frozenset("de da fi no nb nn cs sk pl hu et lv sl hr tr".split())
# Scripts whose full stops need no space after them.
_WIDE = "。！？｡"
_STOPS = rf".!?…{_WIDE}।॥؟۔።՝։"
_CLOSERS = "\"'”“’‘»«›‹)\\]}」』）】"
_OPENERS = "\"'“„‘‚«‹(\\[{¿¡「『（【—–-"
# Looked for where marks begin and nowhere inside them, and one character is enough of the next word: else a text of marks
# alone, or one without spaces, would cost the square of its length.
_END = re.compile(rf"(?<![{_STOPS}])[{_STOPS}]+[{_CLOSERS}]*(?=\s|$)|[{_WIDE}]+[{_CLOSERS}]*")
_WORD = re.compile(r"[^\s(\[{\"'“„«‹‘‚]*$")
_NEXT = re.compile(rf"\s*([{_OPENERS}]*)(\S?)")
_LONGEST_ABBREVIATION = 24
"""Characters before a full stop that are looked at: so a text of a million letters costs no more than others."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Full stops end sentences, but for abbreviations, initials, ordinals and numbers of the language.

    >>> text = "Am 3. Mai kam Hr. Maier. Er blieb."
    >>> [text[start:end] for start, end in Rules("de").spans(text)]
    ['Am 3. Mai kam Hr. Maier.', 'Er blieb.']
    """

    language: str = "en"

    def spans(self, text: str) -> Sequence[Span]:
        """Where sentences are."""
        found: list[Span] = []
        start = 0
        for end in _END.finditer(text):
            if self._ends(text, end):
                found += _trimmed(text, start, end.end())
                start = end.end()
        return [*found, *_trimmed(text, start, len(text))]

    def _ends(self, text: str, end: re.Match[str]) -> bool:
        marks = end.group().rstrip("\"'”“’‘»«›‹)]}」』）】")
        following = _NEXT.match(text, end.end())
        opened, word = (following[1], following[2]) if following else ("", "")
        if not word and not opened:
            return True  # the text ends here
        if marks[-1] in _WIDE:
            return True
        small = word[:1].islower()
        if marks != ".":  # of "Really?" and "Well..." a small letter goes on
            return not small
        if small:
            return False
        before = text[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()]
        return not self._abbreviated(before, word)

    def _abbreviated(self, before: str, following: str) -> bool:
        """Whether a full stop after `before` belongs to it."""
        match = _WORD.search(before)
        word = match.group() if match else ""
        names, anywhere = _lists(self.language)
        low = word.lower()
        if word.isdigit():
            # Numbers of lists, and ordinals; a year ends a sentence.
            return len(word) <= 2 and (self.language in _ORDINALS or following[:1].isdigit())
        if len(word) == 1 and word.isalpha() and word.isupper() and low not in _SINGLE.get(self.language, ""):
            return True  # an initial: J. Smith
        if low in names:
            return True
        return low in anywhere and not following[:1].isupper()


_SINGLE = {"en": "i", "pt": "aeo", "es": "aeoyu", "it": "aeio", "pl": "aiouwz"}
"""Words of one letter, which may end a sentence in capitals."""


@lru_cache
def _lists(language: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(_BEFORE_NAMES.get(language, "").split()), frozenset(_ANYWHERE.get(language, "").split())


def _trimmed(text: str, start: int, end: int) -> list[Span]:
    """A span without white space at its ends; none if nothing is left."""
    inside = text[start:end]
    stripped = inside.strip()
    if not stripped:
        return []
    first = start + len(inside) - len(inside.lstrip())
    return [(first, first + len(stripped))]


def make(name: str, language: str) -> Splitter:
    """The splitter of a name, or of `FILE.py:NAME`, for a language."""
    made: Splitter = registry.make("splitter", name, language_code(language) or "en")
    return made


def split(text: str, language: str, name: str = "rules") -> list[Span]:
    """Where the sentences of a line are."""
    return list(make(name, language).spans(text))
