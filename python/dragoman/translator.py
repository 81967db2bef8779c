"""A model that translates: plain text in, plain text out, with all that led there.

>>> model = Translator(Decoder("model"))                                      # doctest: +SKIP
>>> model.translate("Das ist ein Test.").text                                 # doctest: +SKIP
'This is a test.'
"""

from __future__ import annotations

import html
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, overload
from weakref import WeakKeyDictionary

from dragoman import moses, weights
from dragoman.alignment import Aligner
from dragoman.decoder import Constraints, Decoder, Derivation, Forest, Patience, Phrase, Search
from dragoman.errors import InputError, OptionError
from dragoman.glossary import Glossary, Matcher, TermUse, glossary_of
from dragoman.model import Model, is_model
from dragoman.options import made
from dragoman.preprocess import bare_words, word_spans
from dragoman.request import Asker, Request, asker
from dragoman.tables import table
from dragoman.types import Candidates, Weights

__all__ = ["Explanation", "Translation", "Translator", "load"]

_ALIGNER = "aligner"
_ALTERNATIVES = 5


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation and how it came about. `print` shows its text; Jupyter shows words and their alignment."""

    text: str
    """As people read it."""
    source: str
    """What was translated."""
    score: float
    """Weights times features."""
    words: tuple[str, ...]
    """The words of the translation, as the model has them."""
    source_words: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    """Pairs of a source word and a target word that belong together, by their numbers from 0."""
    glossary: tuple[TermUse, ...] = ()
    """Where terms of the glossary are in the source, and what became of them."""
    late: bool = False
    """Whether time or memory ran out, so that the search went on greedily."""
    _model: Translator = field(kw_only=True, repr=False, compare=False)
    _weights: Weights = field(kw_only=True, repr=False, compare=False)
    _constraints: Constraints | None = field(default=None, repr=False, compare=False)
    _tokenized: bool = field(default=False, repr=False, compare=False)
    _listed: tuple[Mapping[str, float], str] | None = field(default=None, repr=False, compare=False)
    """Of one that is not the best: its features, and the spans of its phrases."""

    def __str__(self) -> str:
        return self.text

    @property
    def features(self) -> dict[str, float]:
        """The value of every feature that is not zero."""
        if self._listed is not None:
            return dict(self._listed[0])
        summed: dict[str, float] = {}
        for phrase in self.derivation.phrases:
            for name, value in phrase.features.items():
                summed[name] = summed.get(name, 0.0) + value
        return summed

    @property
    def derivation(self) -> Derivation:
        """Its phrases. Those of the best translation come with their features, made when they are asked for."""
        if self._listed is None:
            line = " ".join(self.source_words)
            return self._model.decoder.explain(line, weights=self._weights, constraints=self._constraints)
        phrases = [_phrase(span, self.source_words, self.words) for span in self._listed[1].split()]
        used = {name: self._weights[name] for name in self._listed[0]}
        return Derivation(self.score, phrases, used, " ".join(self.words))

    @property
    def source_spans(self) -> list[tuple[int, int]]:
        """Where each of `source_words` is in `source`: its first character, and the one after its last."""
        return word_spans(self.source) if self._tokenized else self._model.decoder.text.cut(self.source).spans

    @property
    def target_spans(self) -> list[tuple[int, int]]:
        """Where each of `words` is in `text`."""
        return word_spans(self.text) if self._tokenized else self._model.decoder.text.joined(" ".join(self.words)).spans

    @property
    def spans(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """`alignment` in characters: which span of `source` and which span of `text` belong together."""
        left, right = self.source_spans, self.target_spans
        return [(left[s], right[t]) for s, t in self.alignment]

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        shown = {
            "text": self.text, "source": self.source, "score": self.score, "words": list(self.words),
            "source_words": list(self.source_words), "alignment": [list(pair) for pair in self.alignment],
            "spans": [[*s, *t] for s, t in self.spans],
        }  # fmt: skip
        return {**shown, "glossary": [_shown(use) for use in self.glossary]} if self.glossary else shown

    def _repr_html_(self) -> str:
        """For Jupyter: both sides, with colours for words that belong together."""
        partners: dict[int, list[str]] = {}
        for s, t in self.alignment:
            partners.setdefault(t, []).append(self.source_words[s])

        def word(number: int, text: str) -> str:
            hint = html.escape(" ".join(partners.get(number, ["no source word"])), quote=True)
            return f'<span title="{hint}" style="border-bottom:1px dotted">{html.escape(text)}</span>'

        target = " ".join(word(number, text) for number, text in enumerate(self.words))
        return (
            f'<div dir="auto"><p>{html.escape(self.source)}</p><p><b>{html.escape(self.text)}</b></p>'
            f"<p><small>{target} &nbsp; (score {self.score:.3f})</small></p></div>"
        )


def _shown(use: TermUse) -> dict[str, Any]:
    shown: dict[str, Any] = {"term": use.term.source, "span": list(use.span), "target": use.target}
    return {**shown, "why": use.why} if use.why else shown


def _phrase(span: str, source: Sequence[str], target: Sequence[str]) -> Phrase:
    """A phrase from `0-2:0-1`, with `!` where no table has it."""
    unknown = span.endswith("!")
    left, _, right = span.rstrip("!").partition(":")
    (start, end), (first, last) = (tuple(map(int, part.split("-"))) for part in (left, right))
    origin = "unknown" if unknown else "rule"
    return Phrase(start, end, " ".join(source[start:end]), " ".join(target[first:last]), origin, {})


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a translation is as it is: its phrases, what each feature adds, and what else was in the list."""

    translation: Translation
    derivation: Derivation
    alternatives: Sequence[Translation]
    """The next best translations."""

    def contributions(self) -> dict[str, float]:
        """What each feature adds to the score, the largest effects first."""
        weights = self.derivation.weights
        summed: dict[str, float] = {}
        for phrase in self.derivation.phrases:
            for name, value in phrase.features.items():
                summed[name] = summed.get(name, 0.0) + weights.get(name, 0.0) * value
        return dict(sorted(summed.items(), key=lambda item: -abs(item[1])))

    def __str__(self) -> str:
        lines = [f"{self.translation.text}   (score {self.derivation.score:.4f})", ""]
        phrases = [
            [f"{p.start}-{p.end - 1}", "  " * p.depth + p.source, p.target or "(nothing)",
             "" if p.origin == "rule" else p.origin,
             f"{sum(self.derivation.weights.get(n, 0.0) * v for n, v in p.features.items()):.3f}"]
            for p in self.derivation.phrases
        ]  # fmt: skip
        lines.append(table(["words", "source", "translation", "", "score"], phrases, left=4))
        parts = self.contributions()
        shown = dict(list(parts.items())[:_MOST_FEATURES])
        rows = [
            [name, f"{self.derivation.weights.get(name, 0.0):.4g}", f"{value:+.3f}"] for name, value in shown.items()
        ]
        if len(parts) > len(shown):
            rest = sum(parts.values()) - sum(shown.values())
            rows.append([f"{len(parts) - len(shown)} more features", "", f"{rest:+.3f}"])
        lines += ["", table(["feature", "weight", "adds"], rows)]
        if self.alternatives:
            others = [[f"{t.score:.4f}", t.text] for t in self.alternatives]
            lines += ["", table(["score", "instead"], others, left=2)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """What JSON shows."""
        phrases = [
            {"source": p.source, "target": p.target, "span": [p.start, p.end], "origin": p.origin,
             "features": dict(p.features), **({"depth": p.depth} if p.depth else {})}
            for p in self.derivation.phrases
        ]  # fmt: skip
        known = self.translation.to_dict()
        extra: dict[str, Any] = {n: known[n] for n in ("alignment", "spans", "glossary") if n in known}
        return {
            "text": self.translation.text, "score": self.derivation.score, "phrases": phrases, **extra,
            "weights": dict(self.derivation.weights), "contributions": self.contributions(),
            "alternatives": [{"text": t.text, "score": t.score} for t in self.alternatives],
        }  # fmt: skip


_SAMPLE = 20
"""Lines that are looked at for signs that the text is not prepared as the model wants it."""
_MOST_FEATURES = 12
"""Features that an explanation shows one by one: so it fits a screen."""


class Translator:
    """A loaded model. One serves many threads at once; `close` or `with` lets go of its tables.

    `translate`, `nbest`, `explain`, `align` and `score` take plain text, prepared and finished as the model's training
    text was; `tokenized=True` says that words stand between spaces on both sides, as the model has them. The first
    three use the glossary that the model was loaded with, or another one: a file, a mapping, pairs, a `Glossary`; `{}`
    is none.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.warn: Callable[[str], None] = _warn
        """What hears of text that the model was not made for."""
        self._unseen = _SAMPLE if decoder.text.idle else 0
        self._matchers: WeakKeyDictionary[Glossary, Matcher] = WeakKeyDictionary()
        self.markup = decoder.search.markup
        if self.markup:  # it is read here, where text is plain, and nowhere else
            decoder.search = replace(decoder.search, markup=False)

    def __repr__(self) -> str:
        languages = "-".join(filter(None, self.languages)) or "?"
        return f"<dragoman model {str(self.model.folder)!r}, {languages}, {len(self.decoder.dense)} dense features>"

    def __enter__(self) -> Translator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the tables; the model cannot be used afterwards."""
        close = getattr(self.decoder, "close", None)
        if close is not None:
            close()

    @property
    def model(self) -> Model:
        """The folder, opened."""
        return self.decoder.model

    @property
    def glossary(self) -> Glossary | None:
        """The glossary of all calls that name no other."""
        return self.decoder.glossary

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language, if the model knows them."""
        source, target = self.model.text.get("languages", ["", ""])
        return str(source), str(target)

    @property
    def weights(self) -> Weights:
        """The weights of all calls that name no others."""
        return self.decoder.weights

    @weights.setter
    def weights(self, new: Weights | Mapping[str, float] | str | PathLike[str]) -> None:
        self.decoder.weights = _weights(new)

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is lines, too, but not here
        self, text: str, *, tokenized: bool = False, constraints: Constraints | None = None, glossary: Any = None
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: Iterable[str | tuple[str, Constraints]],
        *,
        tokenized: bool = False,
        constraints: None = None,
        glossary: Any = None,
    ) -> Iterator[Translation]: ...

    def translate(
        self,
        text: str | Iterable[str | tuple[str, Constraints]],
        *,
        tokenized: bool = False,
        constraints: Constraints | None = None,
        glossary: Any = None,
    ) -> Translation | Iterator[Translation]:
        """The best translation of a line; of many lines one by one, as they come, on all threads.

        `constraints` (given translations, walls, zones) count characters of plain text, words of tokenised text.
        """
        asker = self.asker(tokenized, glossary)
        _check_text(text)
        if isinstance(text, str):
            line = asker.ask(self._heeded(text, asker), constraints)
            return self._translation(self._listed(line, 1, features=False), 0, line, asker)
        if constraints is not None:
            raise OptionError("many lines have their constraints beside them: (line, constraints)")
        return (found[0] for found in self._stream(text, 1, asker))

    @overload
    def nbest(  # type: ignore[overload-overlap]
        self, text: str, size: int = 10, *, tokenized: bool = False, glossary: Any = None
    ) -> list[Translation]: ...
    @overload
    def nbest(
        self, text: Iterable[str], size: int = 10, *, tokenized: bool = False, glossary: Any = None
    ) -> Iterator[list[Translation]]: ...

    def nbest(
        self, text: str | Iterable[str], size: int = 10, *, tokenized: bool = False, glossary: Any = None
    ) -> list[Translation] | Iterator[list[Translation]]:
        """The best translations of a line, the best first; of many lines a list each, as they come."""
        if size < 1:
            raise OptionError(f"expected a list of at least 1 translation, found {size}")
        asker = self.asker(tokenized, glossary)
        _check_text(text)
        if isinstance(text, str):
            line = asker.ask(self._heeded(text, asker))
            found = self._listed(line, size, features=True)
            return [self._translation(found, row, line, asker, listed=row > 0) for row in range(found.size)]
        return self._stream(text, size, asker)

    def explain(
        self,
        text: str,
        *,
        tokenized: bool = False,
        constraints: Constraints | None = None,
        glossary: Any = None,
        alternatives: int = _ALTERNATIVES,
    ) -> Explanation:
        """Why a line is translated as it is: phrases, features, alternatives."""
        asker = self.asker(tokenized, glossary)
        line = asker.ask(self._heeded(_one(text), asker), constraints)
        best = self._translation(self._listed(line, 1, features=False), 0, line, asker)
        found = self._listed(line, alternatives + 1, features=True)
        others = [self._translation(found, row, line, asker, listed=True) for row in range(1, found.size)]
        return Explanation(best, best.derivation, others)

    def found(
        self, lines: Sequence[Request], asker: Asker, size: int = 1, *, features: bool = True,
        patience: Patience | None = None,
    ) -> list[list[Translation]]:  # fmt: skip
        """The best translations of each request that the asker made, by one search each, with `patience`."""
        wanted, used = [line.constraints or Constraints() for line in lines], self.decoder.weights
        listed, narrow = self.decoder.listed(
            [line.ready for line in lines], size, features=features, phrases=True, weights=used,
            patience=patience, constraints=wanted if any(line.constraints for line in lines) else None,
        )  # fmt: skip
        starts = listed.starts.tolist()
        return [
            [
                self._translation(listed, row, line, asker, listed=features, late=narrow[number], used=used)
                for row in range(starts[number], starts[number + 1])
            ]
            for number, line in enumerate(lines)
        ]

    def forest(self, text: str, *, tokenized: bool = False) -> Forest:
        """All derivations of a line that the search kept."""
        _one(text)
        return self.decoder.forest(self._before([text], tokenized)[0], features=True)

    def align(self, source: str, target: str, *, tokenized: bool = False) -> list[tuple[int, int]]:
        """Which words of a line and of its translation belong together, by the model's own aligner."""
        _one(source)
        _one(target)
        left = self._before([source], tokenized)
        right = [target] if tokenized else self.decoder.text.reference([target])
        links = self._aligner.align(left, right).links()
        return [(int(s), int(t)) for s, t in zip(links.source, links.target, strict=True)]

    @cached_property
    def _aligner(self) -> Aligner:
        path = self.model.file(_ALIGNER)
        if not path.exists():
            raise InputError(f"{self.model.folder}: this model has no aligner: it was made elsewhere", str(path))
        return Aligner.load(path)

    def score(self, source: str, target: str, *, tokenized: bool = False) -> float:
        """The model score of a given translation; minus infinity where the model cannot produce it."""
        _one(source)
        _one(target)
        left = self._before([source], tokenized)
        right = [target] if tokenized else self.decoder.text.reference([target])
        found = self.decoder.force(left, right)
        assert found.totals is not None
        return float(found.totals[0]) if found.size else -float("inf")

    def tune(self, source: Any, references: Any, **options: Any) -> Any:
        """Finds weights for a metric with this model's decoder in the loop: see `dragoman.tune`."""
        from dragoman.verbs.tuning import tune  # noqa: PLC0415  the verb knows models, too

        return tune(self, references, source=source, **options)

    def _before(self, lines: Sequence[str], tokenized: bool) -> list[str]:
        """Lines as the model has them."""
        return list(lines) if tokenized else self.decoder.text.before(lines)

    def asker(self, tokenized: bool = False, glossary: Any = None) -> Asker:
        """What makes requests of lines, with the glossary of this model or another one."""
        decoder = self.decoder
        terms = decoder.glossary if glossary is None else Glossary.of(glossary)
        matcher = self._matcher(terms) if terms is not None and len(terms) else None
        featured = decoder.counts_terms
        return asker(decoder.text, matcher, decoder.weights, featured=featured, markup=self.markup, tokenized=tokenized)

    def _heeded(self, line: str, asker: Asker) -> str:
        """The line; if it is plain text, `heed` sees it first."""
        if not (asker.tokenized or asker.markup):
            self.heed(line)
        return line

    def heed(self, line: str) -> None:
        """Warns once if a plain line has words that only another preparation makes known.

        A model of text that was tokenised or lower-cased elsewhere takes plain text as it is, and leaves `Hund.`
        untranslated though it knows `hund`. The first lines are searched as they are, tokenised, and in lower case.
        """
        if self._unseen <= 0 or not line.strip():
            return
        self._unseen -= 1
        tokenised = bare_words(line)
        forms = {
            "": line,
            "tokenised": tokenised,
            "lower-cased": line.lower(),
            "tokenised and lower-cased": tokenised.lower(),
        }
        unknown = dict(zip(forms, map(self._unknown, forms.values()), strict=True))
        best = min(unknown, key=lambda form: unknown[form])
        if unknown[best] < unknown[""]:
            self._unseen = 0
            self.warn(
                f"{self.model.folder}: {unknown['']} words are unknown as they are written, {unknown[best]} if the "
                f"text is {best}: this model takes text as it is; prepare it as its training text was"
            )

    def _unknown(self, line: str) -> int:
        """How many words of a line no rule knows."""
        found = self.decoder.nbest([line], 1, features=False, phrases=True)
        return sum(span.endswith("!") for row in found.extra or [] for span in row.split())

    def _matcher(self, terms: Glossary) -> Matcher:
        """A glossary in words, made once."""
        found = self._matchers.get(terms)
        if found is None:
            found = self._matchers[terms] = Matcher(terms, self.decoder.text)
        return found

    def _listed(self, line: Request, size: int, *, features: bool) -> Candidates:
        wanted = None if line.constraints is None else [line.constraints]
        return self.decoder.nbest([line.ready], size, features=features, phrases=True, constraints=wanted)

    def _stream(
        self, text: Iterable[str | tuple[str, Constraints]], size: int, asker: Asker
    ) -> Iterator[list[Translation]]:
        """Lists of many lines, in order."""
        under_way: deque[Request] = deque()

        def prepared() -> Iterator[str | tuple[str, Constraints]]:
            for item in text:
                line, wanted = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
                request = asker.ask(self._heeded(_one(line), asker), wanted)
                under_way.append(request)
                yield request.item

        for found in self.decoder.stream(prepared(), size, features=size > 1, phrases=True):
            line = under_way.popleft()
            yield [self._translation(found, row, line, asker, listed=size > 1 and row > 0) for row in range(found.size)]

    def _translation(
        self,
        found: Candidates,
        row: int,
        line: Request,
        asker: Asker,
        *,
        listed: bool = False,
        late: bool = False,
        used: Weights | None = None,
    ) -> Translation:
        assert found.totals is not None
        assert found.alignments is not None
        assert found.extra is not None
        text, words = found.texts[row], found.texts[row].split()
        links = (link.partition("-") for link in found.alignments[row].split())
        extra = None
        if listed:
            extra = (found.features.row(row), found.extra[row])
        return Translation(
            text if asker.tokenized else self.decoder.text.after([text])[0], line.text, float(found.totals[row]),
            tuple(words), tuple(line.ready.split()), tuple((int(s), int(t)) for s, _, t in links),
            tuple(asker.uses(line, words, found.extra[row])), late, _model=self,
            _weights=self.decoder.weights if used is None else used,
            _constraints=line.constraints, _tokenized=asker.tokenized, _listed=extra,
        )  # fmt: skip


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=5)


def _check_text(text: object) -> None:
    """Refuses what is neither a line nor lines at once: a generator would tell only when it is read."""
    if isinstance(text, (bytes, bytearray)) or not isinstance(text, Iterable):
        raise OptionError(f"expected a line of text, or lines, found {type(text).__name__}")


def _one(text: str) -> str:
    if not isinstance(text, str):
        raise OptionError(f"expected a line of text, found {type(text).__name__}")
    return text


def _weights(given: Weights | Mapping[str, float] | str | PathLike[str]) -> Weights:
    if isinstance(given, Weights):
        return given
    return Weights.of(given) if isinstance(given, Mapping) else weights.load(given)


def load(
    model: str | PathLike[str],
    *,
    weights: Weights | Mapping[str, float] | str | PathLike[str] | None = None,
    features: str | None = None,
    glossary: Any = None,
    glossary_weight: float | None = None,
    threads: int | None = None,
    trust: bool = False,
    note: Callable[[str], None] | None = None,
    **search: Any,
) -> Translator:
    """Opens a model that `train`, `tune` or `dragoman model pack` made, or a Moses system by its `moses.ini`.

    `weights` other than the model's own: a file, a mapping or `Weights`. `features` adds sparse feature sets and
    features from files of yours (`pt,al,mine.py:Lengths`). Terms of a `glossary` (a file, a mapping, pairs) are
    translated as it says; with a `glossary_weight` they are preferred as much as this says. Features in Python that the
    model brings along run only with `trust`: read them first. `note` hears where an archive was unpacked. Further
    options are those of the search: `pop_limit=300`.
    """
    path = Path(model)
    opened = Model.open(path, note=note) if is_model(path) or not path.is_file() else moses.cached(path)
    chosen = None if weights is None else _weights(weights)
    terms = glossary_of(opened, glossary, glossary_weight)
    decoder = Decoder(opened, weights=chosen, features=features, threads=threads, trust=trust, glossary=terms)
    decoder.search = made(Search, search, base=decoder.search, what="load")
    return Translator(decoder)
