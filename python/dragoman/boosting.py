"""Boosted features: regression trees over attributes of rules, induced by gradient boosting (Toutanova & Ahn 2013).

    induced = boost("model", lines, references, "trees.json")
    decoder = Decoder("model", features="boosted:file=trees.json")

A derivation d scores F(d) = w.f(d) + sum over its rules r of sum_k T_k(a(r)), where a(r) are attributes of a rule and
T_k are trees. Pairs of candidates of which the metric prefers one (PRO's) have the loss

    L = mean over pairs of log(1 + exp(-m)),    m = s (F(better) - F(worse)),                                  (1)

with one scale s > 0 of the model's scores, found first. What L wants of a derivation is -dL/dF(d); what it wants of a
rule is the sum of that over the derivations that have the rule, as often as they have it. A small tree is fitted to
this, a row for each rule, and gets the step along it that lowers L most, times a shrinkage. Each tree is a feature, the
sum of the leaves that a derivation's rules come to: all of them are local, and a tuner can weigh them like any others.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dragoman import nbest, weights
from dragoman._core import VERSION, CandidateLists, names_match, rule_attributes
from dragoman.common import Seeded
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.features import extended
from dragoman.files import check_writable, write_bytes
from dragoman.model import Model, Part
from dragoman.options import made, option
from dragoman.preprocess import Preparation
from dragoman.rules import Table
from dragoman.tuning.pool import Pool, set_apart
from dragoman.tuning.tuners.pro import Pro
from dragoman.types import F64, I64, Candidates, Metric, Texts, Weights

__all__ = ["ATTRIBUTES", "Boosting", "Derivations", "Induced", "Pairs", "boost"]

ATTRIBUTES: Mapping[str, str] = dict(rule_attributes())
"""What trees may ask of a rule besides its scores, which are `score:` and a column of the rule table."""

Path_: TypeAlias = str | PathLike[str]
Tree = float | dict[str, Any]
"""A leaf's value, or a question: attribute, up_to, then, else."""

_SET = "boosted"
_NAMED = "attributes"
"""The set whose names are the attributes of rules."""
_BATCH = 100
"""Lines that are translated between two reports of progress."""
_F32: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Boosting(Seeded):
    """How trees are induced."""

    trees: int = option(230, help="Trees, at most; each is a feature. Galley et al. (2013) have about 230.", min=1)
    leaves: int = option(6, help="Leaves of a tree, at most.", min=2)
    depth: int = option(4, help="Questions from the root of a tree to a leaf, at most.", min=1, max=100)
    least_rules: int = option(20, help="Rules with different attributes in each leaf, at least.", min=1)
    shrinkage: float = option(0.03, help="How much of its best step each tree gets.", above=0, max=1)
    held_out: float = option(
        0.2, help="Share of the lines that no tree is fitted to: their loss is measured. 0: none.", min=0, below=1
    )
    keep: Literal["best", "all"] = option(
        "best", help="Trees to keep: up to the one after which the held-out loss is lowest, or all of them."
    )
    nbest_size: int = option(100, help="Candidates of each line.", min=2)
    drawn_pairs: int = option(5000, help="Pairs that are drawn from each line's candidates.", min=1)
    kept_pairs: int = option(50, help="Pairs of each line that are kept: those that differ most.", min=1)
    least_difference: float = option(0.05, help="Pairs that differ less by the metric (0..1) are not drawn.", min=0)
    frequent_words: int = option(
        100, help="Most frequent words of each side of the text, which attributes tell from others.", min=0
    )


@dataclass(frozen=True, slots=True)
class Induced:
    """What came of it."""

    trees: int
    """Trees in the file."""
    loss: Sequence[float]
    """Mean loss of a pair of the lines that trees are fitted to: before the first tree, after it, and so on."""
    held_out: Sequence[float]
    """The same of the lines that were set apart; empty if there are none."""
    lines: int
    """Lines that trees are fitted to."""
    pairs: int
    """Their pairs."""
    rules: int
    """Rules with different attributes in the candidates of these pairs."""
    questions: Mapping[str, int]
    """How often the trees in the file ask about each attribute, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Derivations:
    """Candidates as trees see them: how often each has a rule of which attributes."""

    rows: I64
    """Candidate of each entry."""
    columns: I64
    """Row of the attributes."""
    counts: F64
    size: int
    """Number of candidates."""
    attributes: _F32
    """A row for each rule that differs from the others in its attributes, a column for each of them."""

    @classmethod
    def of(cls, found: Candidates, width: int) -> Derivations:
        """From the lists of a decoder that names the attributes of rules."""
        features, prefix = found.features, f"{_NAMED}:"
        own = np.flatnonzero(names_match(features.names, f"{prefix}*"))
        known = sorted((features.names[int(number)].removeprefix(prefix), int(number)) for number in own)
        row = np.full(len(features.names), -1, dtype=np.int64)
        row[[number for _, number in known]] = np.arange(len(known))
        bits = bytes.fromhex("".join(name for name, _ in known))
        attributes = np.frombuffer(bits, dtype=">f4").astype(np.float32).reshape(len(known), width)
        rows = np.repeat(np.arange(found.size), np.diff(features.starts))
        columns = row[features.columns]
        rules = columns >= 0
        return cls(rows[rules], columns[rules], features.values[rules], found.size, attributes)

    def sums(self, values: F64) -> F64:
        """For each candidate the sum over its rules of a value of their attributes."""
        return _counted(self.rows, self.counts * values[self.columns], self.size)

    def shares(self, values: F64) -> F64:
        """For each row of attributes the sum over candidates of their value, as often as they have the rule.

        It is the transpose of `sums`, and so turns derivatives by scores of candidates into those by values of rules.
        """
        return _counted(self.columns, self.counts * values[self.rows], len(self.attributes))


def _counted(places: I64, values: F64, size: int) -> F64:
    """The sum of the values of each place."""
    sums: F64 = np.bincount(places, weights=values, minlength=size).astype(np.float64)
    return sums


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of candidates, by their numbers."""

    better: I64
    worse: I64

    def margins(self, scores: F64) -> F64:
        """By how much the better one scores more."""
        return scores[self.better] - scores[self.worse]

    def loss(self, scores: F64) -> float:
        """The mean of (1) over pairs; 0 if there are none."""
        return float(np.logaddexp(0.0, -self.margins(scores)).mean()) if len(self.better) else 0.0

    def pull(self, scores: F64) -> F64:
        """What the loss wants of each candidate: -dL/dF."""
        share = _sigmoid(-self.margins(scores)) / len(self.better)
        return _counted(self.better, share, len(scores)) - _counted(self.worse, share, len(scores))

    def best_step(self, scores: F64, change: F64, most: float = 2.0**20) -> float:
        """The step along a change of the scores that lowers the loss most; 0 if none does. The loss is convex."""
        at, by = self.margins(scores), self.margins(change)

        def falls(step: float) -> bool:
            # No product of BLAS: its threads would decide the last bits, and wait for each other.
            return float((by * _sigmoid(-(at + step * by))).sum()) > 0

        if not falls(0.0):
            return 0.0
        high = 1.0
        while high < most and falls(high):
            high *= 2
        low = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if falls(middle) else (low, middle)
        return (low + high) / 2


def _sigmoid(x: F64) -> F64:
    values: F64 = np.exp(-np.logaddexp(0.0, -x))
    return values


def boost(
    model: Path_ | Model,
    src: Sequence[str],
    refs: Sequence[Sequence[str]],
    out: Path_,
    options: Boosting | None = None,
    *,
    metric: Metric,
    weights_out: Path_ | None = None,
    tokenized: bool = False,
    trust: bool = False,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    **changes: Any,
) -> Induced:
    """Induces trees from a text, `refs[s]` the references of `src[s]`, and writes them to `out`, one a line.

    Texts are plain, or `tokenized` and cased as the model has them. `weights_out` gets the model's weights and 1 for
    each tree: the scores that the trees were induced with. `progress` is called with what is done, how much of it, and
    of how much. `changes` are options by name.
    """
    o = made(Boosting, changes, base=options)
    _regressor(o)  # a library that is missing is an error before the text is translated
    for place in (out, *([] if weights_out is None else [weights_out])):
        check_writable(place)
    opened = model if isinstance(model, Model) else Model.open(model)
    if len(src) != len(refs):
        raise InputError(f"expected references of {len(src)} lines, found {len(refs)}")
    if not tokenized:
        text = Preparation(opened.preparation, opened.folder)
        src, refs = text.before(src), [text.reference(texts) for texts in refs]
    names = _attributes(opened)
    head = {
        "what": "boosted trees", "format": 1,
        "made": {"version": VERSION, "model": opened.signature, "metric": metric.signature(), **asdict(o)},
        "attributes": names,
        "frequent": {
            "source": _frequent(src, o.frequent_words),
            "target": _frequent((text for texts in refs for text in texts), o.frequent_words),
        },
    }  # fmt: skip
    found = _lists(opened, head, src, o.nbest_size, trust, progress)
    derivations = Derivations.of(found, len(names))
    fitted, apart = _pairs(Pool.judge(found, refs, metric), o)
    run = _Run(o, names, derivations, fitted, apart, found.features.dot(opened.weights))
    for done in range(o.trees):
        progress("trees", done, o.trees)
        if not run.grow():
            break
    progress("trees", o.trees, o.trees)
    trees = run.kept()
    write_bytes(Path(out), _text(head, trees))
    if weights_out is not None:
        more = {f"{_SET}:{number}": 1.0 for number in range(1, len(trees) + 1)}
        weights.save(weights_out, Weights.of({**opened.weights.to_dict(), **more}))
    lines = len(src) - round(o.held_out * len(src))
    asked = Counter(name for tree in trees for name in _asked(tree))
    return Induced(
        len(trees), run.losses, run.held_out, lines, len(fitted.better), int((run.counts > 0).sum()),
        dict(sorted(asked.items(), key=lambda item: (-item[1], item[0]))),
    )  # fmt: skip


class _Run:
    """Boosting under way."""

    def __init__(
        self, o: Boosting, names: Sequence[str], derivations: Derivations, fitted: Pairs, apart: Pairs, scores: F64
    ) -> None:
        self.o, self.names, self.derivations, self.fitted, self.apart = o, names, derivations, fitted, apart
        self.scale = fitted.best_step(np.zeros_like(scores), scores) or 1.0
        self.scores = self.scale * scores
        in_pairs = np.zeros(derivations.size)
        in_pairs[np.concatenate([fitted.better, fitted.worse])] = 1.0
        self.counts = derivations.shares(in_pairs)
        """Occurrences of each row of attributes in candidates of pairs: what the row weighs."""
        self.trees: list[Tree] = []
        self.losses: list[float] = []
        self.held_out: list[float] = []
        self._note()

    def _note(self) -> None:
        self.losses.append(self.fitted.loss(self.scores))
        if len(self.apart.better):
            self.held_out.append(self.apart.loss(self.scores))

    def grow(self) -> bool:
        """Adds a tree; false if none lowers the loss."""
        seen = np.flatnonzero(self.counts > 0)
        wanted = self.derivations.shares(self.fitted.pull(self.scores))[seen] / self.counts[seen]
        # Least squares over occurrences: those of one row are one weighted row with their mean.
        regressor = _regressor(self.o, len(self.trees))
        fit = regressor.fit(
            self.derivations.attributes[seen], wanted / np.abs(wanted).max(initial=1e-300), self.counts[seen]
        )
        step = self._step(fit.predict(self.derivations.attributes))
        if step == 0.0 or fit.tree_.node_count == 1:
            return False
        values = (fit.tree_.value[:, 0, 0] * step / self.scale).astype(np.float32)
        self.trees.append(_tree(fit.tree_, self.names, values))
        leaves = values[fit.apply(self.derivations.attributes)].astype(np.float64)
        self.scores += self.scale * self.derivations.sums(leaves)
        self._note()
        return True

    def _step(self, values: F64) -> float:
        return self.o.shrinkage * self.fitted.best_step(self.scores, self.derivations.sums(values))

    def kept(self) -> list[Tree]:
        """The trees that go into the file."""
        if not self.trees:
            raise InputError("no tree lowers the loss: all pairs are ranked right already, or rules are too much alike")
        if self.o.keep == "all" or not self.held_out:
            return self.trees
        return self.trees[: max(int(np.argmin(self.held_out)), 1)]


def _regressor(o: Boosting, number: int = 0) -> Any:
    try:
        trees: Any = importlib.import_module("sklearn.tree")  # an extra, and slow to import
    except ImportError:
        raise OptionError("inducing trees needs scikit-learn: pip install 'dragoman[boost]'") from None
    return trees.DecisionTreeRegressor(
        max_leaf_nodes=o.leaves,
        max_depth=o.depth,
        min_samples_leaf=o.least_rules,
        random_state=(o.seed + number) % 2**32,
    )


def _tree(fit: Any, names: Sequence[str], values: _F32, node: int = 0) -> Tree:
    """A tree of scikit-learn as files have it."""
    left, right = int(fit.children_left[node]), int(fit.children_right[node])
    if left < 0:
        return _short(values[node])
    return {
        "attribute": names[fit.feature[node]], "up_to": _short(_below(fit.threshold[node])),
        "then": _tree(fit, names, values, left), "else": _tree(fit, names, values, right),
    }  # fmt: skip


def _below(limit: float) -> np.float32:
    """The largest number of 32 bits up to a limit: attributes have 32 bits, so that both limits part them alike."""
    near = np.float32(limit)
    below: np.float32 = np.nextafter(near, np.float32(-np.inf))
    return near if float(near) <= limit else below


def _short(value: np.float32) -> float:
    """A number whose shortest form reads as the same 32 bits."""
    return float(str(value))


def _asked(tree: Tree) -> list[str]:
    if not isinstance(tree, dict):
        return []
    return [tree["attribute"], *_asked(tree["then"]), *_asked(tree["else"])]


def _attributes(model: Model) -> list[str]:
    """The attributes that all rules of a model have: scores that each table has, and the core's own."""
    tables = [Table(model.file(name)).columns for name in model.tables]
    shared = [column for column in tables[0] if all(column in columns for columns in tables)]
    return [*(f"score:{column}" for column in shared), *ATTRIBUTES]


def _frequent(texts: Iterable[str], size: int) -> list[str]:
    counts = Counter(word for text in texts for word in text.split())
    return sorted(counts, key=lambda word: (-counts[word], word))[:size]


def _lists(
    model: Model,
    head: Mapping[str, Any],
    src: Sequence[str],
    size: int,
    trust: bool,
    progress: Callable[[str, int, int], None],
) -> Candidates:
    """N-best lists whose features tell the attributes of rules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.json"
        path.write_bytes(_text(head, []))
        decoder = Decoder(extended(model, [Part(_NAMED, _NAMED, {"path": str(path)})]), trust=trust)
    parts = []
    for start in range(0, len(src), _BATCH):
        progress("lines", start, len(src))
        some = decoder.nbest(list(src[start : start + _BATCH]), size)
        parts.append(replace(some, ids=Texts([str(start + number) for number in range(len(some))])))
    progress("lines", len(src), len(src))
    return nbest.join(parts)


def _pairs(pool: Pool, o: Boosting) -> tuple[Pairs, Pairs]:
    """Pairs of the lines that trees are fitted to, and of those that are set apart; by PRO's draws and its gain."""
    features = pool.candidates.features
    lists = CandidateLists(pool.candidates.starts, features.starts, features.columns, features.values, pool.width)
    gains = pool.sentence_gains(Pro().sentence_form(pool.metric))
    starts, better, worse = lists.sample_pairs(
        gains, draws=o.drawn_pairs, keep=o.kept_pairs, threshold=o.least_difference, seed=o.seed % 2**64, step=0
    )
    if not len(better):
        raise InputError(
            f"no two candidates of a line differ by {o.least_difference:g}: lower least_difference, or list more"
        )
    sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    held = set_apart(len(starts) - 1, o.held_out, o.seed)[1] if o.held_out else np.zeros(0, dtype=np.int64)
    apart = np.isin(sentence, held)
    if apart.all() or (o.held_out and not apart.any()):
        raise InputError("all pairs of candidates are of one side of the lines set apart: give more lines")
    return Pairs(better[~apart], worse[~apart]), Pairs(better[apart], worse[apart])


def _text(head: Mapping[str, Any], trees: Sequence[Tree]) -> bytes:
    """The file: a key a line, a tree a line."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    rows = ",\n  ".join(json.dumps(tree, ensure_ascii=False) for tree in trees)
    return "\n".join(["{", *lines, f' "trees": [\n  {rows}\n ]', "}", ""]).encode()
