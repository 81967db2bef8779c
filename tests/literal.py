"""The papers' equations, written down slowly and literally, without anything of dragoman: what presets are held to.

Candidates are plain tuples of words with a feature vector each. Nothing here is quick, shared or clever.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Words = tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A translation and its features."""

    words: Words
    features: Vector


@dataclass(frozen=True)
class Sentence:
    """A list of candidates and the reference."""

    candidates: tuple[Candidate, ...]
    reference: Words


@cache
def counts(words: Words, reference: Words) -> Vector:
    """c, r, the matches of orders 1 to 4, the n-grams of orders 1 to 4."""
    row = [float(len(words)), float(len(reference))]
    grams = [Counter(words[i : i + n] for i in range(len(words) - n + 1)) for n in range(1, 5)]
    known = [Counter(reference[i : i + n] for i in range(len(reference) - n + 1)) for n in range(1, 5)]
    row += [float(sum((mine & theirs).values())) for mine, theirs in zip(grams, known, strict=True)]
    row += [float(sum(mine.values())) for mine in grams]
    return np.array(row)


def log_bleu(row: Vector) -> float:
    """min(1 - r/c, 0) + 1/4 sum_n (log m_n - log c_n): BLEU's logarithm, from 0 to 1 without it."""
    if (row[2:6] <= 0).any():
        return -math.inf
    return min(1 - float(row[1] / row[0]), 0.0) + float(np.mean(np.log(row[2:6]) - np.log(row[6:10])))


def bleu(row: Vector) -> float:
    return math.exp(log_bleu(row))


def bleu_plus_one(row: Vector) -> float:
    """Lin & Och: 1 is added to matches and totals of the orders above 1, nothing to lengths."""
    more = np.array([0, 0, 0, 1, 1, 1, 0, 1, 1, 1])
    return bleu(row + more)


def bleu_of_batch(row: Vector) -> float:
    """Haddow et al.: 0.01 is added to all counts."""
    return bleu(row + np.array([0, 0] + [0.01] * 8))


def eidelman(sentences: Sequence[Sentence], start: Vector, epochs: int, shards: int = 20, c: float = 0.01) -> Vector:
    """Online MIRA with hope and fear, shard by shard; weights are mixed after each epoch. No average over time."""
    weights, corpus = start.copy(), None
    shards = min(shards, len(sentences))
    for _ in range(epochs):
        mixed, best = np.zeros_like(start), [np.zeros(10)] * len(sentences)
        for shard in range(shards):
            own = weights.copy()
            places = range(shard, len(sentences), shards)
            for place in places:
                sentence = sentences[place]
                rows = [counts(y.words, sentence.reference) for y in sentence.candidates]
                scores = [float(own @ y.features) for y in sentence.candidates]
                best[place] = rows[int(np.argmax(scores))]
                if corpus is None:  # the first pass: the sentence alone
                    gains = [bleu_plus_one(row) for row in rows]
                else:  # in the context of the 1-best translations of the pass before
                    others = sum(corpus) - corpus[place]
                    gains = [len(corpus) * bleu(others + row) for row in rows]
                hope = max(range(len(rows)), key=lambda y: scores[y] + gains[y])
                fear = max(range(len(rows)), key=lambda y: scores[y] - gains[y])
                loss = (scores[fear] - scores[hope]) + (gains[hope] - gains[fear])
                apart = sentence.candidates[hope].features - sentence.candidates[fear].features
                if loss > 0 and apart.any():
                    own = own + min(c, loss / float(apart @ apart)) * apart
            mixed += len(places) / len(sentences) * own
        weights, corpus = mixed, best
    return np.asarray(weights)


def widest_pair(sentence: Sentence, gain: Callable[[Vector], float], threshold: float) -> tuple[Vector, float] | None:
    """The pair of candidates whose gains differ most, as a difference of features; and by how much the gains differ.

    Of Gamma pairs that are drawn the Xi with the largest differences are kept: with few candidates and many draws
    each of these is this one.
    """
    gains = [gain(counts(y.words, sentence.reference)) for y in sentence.candidates]
    wide, better, worse = max((gains[i] - gains[j], i, j) for i, j in itertools.permutations(range(len(gains)), 2))
    if wide < threshold or wide == 0:
        return None
    return sentence.candidates[better].features - sentence.candidates[worse].features, wide


def hopkins_may(sentences: Sequence[Sentence], start: Vector, rounds: int, keep: int = 50) -> Vector:
    """Each round: all pairs, with both signs, to a logistic classifier with MegaM's prior; a tenth of the way to it."""
    weights = start.copy()
    pairs = [pair[0] for s in sentences if (pair := widest_pair(s, bleu_plus_one, 0.05)) is not None]
    x = np.concatenate([np.array(pairs), -np.array(pairs)])
    y = np.concatenate([np.ones(len(pairs)), -np.ones(len(pairs))])
    fitted = np.zeros_like(start)
    for _ in range(200):  # Newton: -log likelihood of the labels + |w|^2 / 2
        chance = 1 / (1 + np.exp(y * (x @ fitted)))
        slope = fitted - keep * x.T @ (y * chance)
        bend = np.eye(len(start)) + keep * (x.T * (chance * (1 - chance))) @ x
        fitted = fitted - np.linalg.solve(bend, slope)
    for _ in range(rounds):
        weights = 0.9 * weights + 0.1 * fitted
    return np.asarray(weights)


@dataclass(frozen=True)
class Adaptive:
    """The constants of algorithm 1 of Green et al., and of their program."""

    rate: float = 0.02
    l1: float = 0.1
    batch: int = 20
    pairs: int = 15
    threshold: float = 0.05
    twice: float = 1.0
    """How often a pair counts."""
    epsilon: float = 0.0
    words: bool = False
    """Whether gains are BLEU+1 times the reference length."""
    stale: int = 15
    """Threads but one: gradients arrive so many updates late."""


def green(sentences: Sequence[Sentence], start: Vector, orders: Sequence[Sequence[int]], constants: Adaptive) -> Vector:
    """Algorithms 1 and 2: logistic loss on pairs, AdaGrad, L1 by FOBOS after every update, gradients that come late."""
    weights, squares = start.copy(), np.zeros_like(start)

    def gain(row: Vector) -> float:
        return bleu_plus_one(row) * (row[1] if constants.words else 1.0)

    pairs = [widest_pair(sentence, gain, constants.threshold) for sentence in sentences]
    for order in orders:
        batches = [order[i : i + constants.batch] for i in range(0, len(order), constants.batch)]
        known = [weights.copy()]  # the weights after each update of this epoch
        for number, batch in enumerate(batches):
            late = known[max(0, number - constants.stale)]
            gradient = np.zeros_like(start)
            for place in batch:
                if pairs[place] is None:
                    continue
                x = pairs[place][0]  # type: ignore[index]
                gradient += constants.twice * constants.pairs * -x / (1 + math.exp(float(late @ x)))
            squares += gradient**2
            for j in range(len(weights)):
                if squares[j] == 0:
                    continue
                own_rate = constants.rate / (math.sqrt(squares[j]) + constants.epsilon)
                half = weights[j] - own_rate * gradient[j]
                weights[j] = math.copysign(max(abs(half) - constants.l1 * own_rate, 0.0), half)
            known.append(weights.copy())
    return np.asarray(weights)


def expected_log_bleu_slope(sentences: Sequence[Sentence], weights: Vector, mu: float) -> Vector:
    """The gradient of section 4.1, as printed: without the factor mu, which the line search absorbs."""
    mean, slope = np.zeros(10), np.zeros((10, len(weights)))
    for sentence in sentences:
        h = np.array([y.features for y in sentence.candidates])
        rows = np.array([counts(y.words, sentence.reference) for y in sentence.candidates])
        chances = np.exp(mu * (h @ weights) - (mu * (h @ weights)).max())
        chances /= chances.sum()
        mean += chances @ rows
        change = chances[:, None] * (h - chances @ h)  # dP / dw
        slope += rows.T @ change
    gradient = np.zeros_like(weights)
    for n in range(4):
        gradient += (slope[2 + n] / mean[2 + n] - slope[6 + n] / mean[6 + n]) / 4
    if mean[0] <= mean[1]:
        gradient += mean[1] / mean[0] ** 2 * slope[0]
    return gradient


def galley_line(
    sentences: Sequence[Sentence], weights: Vector, towards: Vector, strength: float, origin: Vector
) -> tuple[Vector, float]:
    """The best point of a line under BLEU - strength |w - w0|^2: every corner by crossing every two candidates."""
    lines = [
        (np.array([weights @ y.features for y in s.candidates]), np.array([towards @ y.features for y in s.candidates]))
        for s in sentences
    ]
    crossings = {
        (a[j] - a[i]) / (b[i] - b[j])
        for a, b in lines
        for i, j in itertools.combinations(range(len(a)), 2)
        if abs(b[i] - b[j]) > 1e-12
    }
    cuts = [min(crossings) - 1e3, *sorted(crossings), max(crossings) + 1e3]
    # A crossing below the best candidate is no corner: intervals with the same choices are one.
    intervals: list[tuple[float, float, tuple[int, ...]]] = []
    for low, high in itertools.pairwise(cuts):
        chosen = tuple(int(np.argmax(a + 0.5 * (low + high) * b)) for a, b in lines)
        if intervals and intervals[-1][2] == chosen:
            intervals[-1] = intervals[-1][0], high, chosen
        else:
            intervals.append((low, high, chosen))
    best = (weights, -math.inf)
    vertex = -float((weights - origin) @ towards) / float(towards @ towards)
    for low, high, chosen in intervals:
        if high - low < 1e-9:
            continue
        total = sum(counts(s.candidates[y].words, s.reference) for s, y in zip(sentences, chosen, strict=True))
        # The paper says nothing of edges that are infinite or very far away: ours lie at twice the weights' length.
        near = min(max(0.0, low), high)
        room = 2 * max(float(np.linalg.norm(weights) / np.linalg.norm(towards)), abs(near))
        inside = 0.001 * (min(high, near + room) - max(low, near - room))
        at = vertex
        if vertex < low:
            at = low + inside
        elif vertex > high:
            at = high - inside
        point = weights + at * towards
        value = bleu(np.asarray(total)) - strength * float((point - origin) @ (point - origin))
        if value > best[1]:
            best = point, value
    return best


def galley(sentences: Sequence[Sentence], start: Vector, strength: float, tolerance: float) -> Vector:
    """Section 4.2 with L2 v1 around the start: gradients, mu doubled when one brings nothing; footnote 8."""
    weights, origin = start.copy(), start.copy()

    def value(point: Vector) -> float:
        total = np.zeros(10)
        for sentence in sentences:
            total += counts(max(sentence.candidates, key=lambda y: float(point @ y.features)).words, sentence.reference)
        return bleu(total) - strength * float((point - origin) @ (point - origin))

    now = value(weights)
    while True:
        moved = True
        while moved:
            mu, moved = 0.01, False
            while mu <= 1000:
                towards = expected_log_bleu_slope(sentences, weights, mu) - 2 * strength * (weights - origin)
                towards /= np.linalg.norm(towards)
                point, reached = galley_line(sentences, weights, towards, strength, origin)
                if reached > now + tolerance:
                    weights, now, moved = point, reached, True
                else:
                    mu *= 2
        for coordinate in range(len(weights)):
            point, reached = galley_line(sentences, weights, np.eye(len(weights))[coordinate], strength, origin)
            if reached > now + tolerance:
                weights, now = point, reached
                break
        else:
            return np.asarray(weights)


Phrase = tuple[int, int, Words]
Derivation = tuple[Phrase, ...]
"""Phrases in the order of the target: source words from..to, and the target words."""


@dataclass(frozen=True)
class Sampler:
    """SampleRank on a batch of sentences (algorithm 1), as all that it may do with what probability."""

    table: dict[tuple[str, ...], list[tuple[Words, Vector]]]
    """Translations of source phrases, with logarithms of their scores."""
    sources: Sequence[Words]
    references: Sequence[Words]
    c: float = 0.01
    scale: float = 100.0
    """Of BLEU, in the authors' program."""

    def features(self, derivation: Derivation, source: Words) -> Vector:
        """Two scores, the distortion, minus the number of words."""
        total, end = np.zeros(4), 0
        for start, stop, words in derivation:
            found = next(scores for target, scores in self.table[source[start:stop]] if target == words)
            total += np.array([found[0], found[1], -abs(start - end), -len(words)])
            end = stop
        return total

    def gloss(self, sentence: int, weights: Vector) -> Derivation:
        """The best translation of each word by the weighted phrase-internal score, in the order of the source."""
        source, found = self.sources[sentence], []
        for at in range(len(source)):
            options = self.table[source[at : at + 1]]
            inside = [float(weights[:2] @ scores - weights[3] * len(words)) for words, scores in options]
            found.append((at, at + 1, options[int(np.argmax(inside))][0]))
        return tuple(found)

    def neighbourhoods(self, sentence: int, now: Derivation) -> list[tuple[float, list[Derivation]]]:
        """Those of one or two words: each with its probability. MERGE-SPLIT and REORDER are drawn alike."""
        source = self.sources[sentence]
        if len(source) == 1:
            return [(1.0, [now])]
        assert len(source) == 2
        left, right, whole = (self.table.get(source[i:j], []) for i, j in ((0, 1), (1, 2), (0, 2)))
        if len(now) == 1 or now[0][0] == 0:  # one phrase covers the position, or two meet there
            members: list[Derivation] = [((0, 2, words),) for words, _ in whole]
            members += [((0, 1, a), (1, 2, b)) for a, _ in left for b, _ in right]
            merge = [(0.5, members)]
        else:  # they stand the other way round: one of the two is translated anew
            merge = [
                (0.25, [(now[0], (0, 1, a)) for a, _ in left]),
                (0.25, [((1, 2, b), now[1]) for b, _ in right]),
            ]
        return [*merge, (0.5, [now, now[::-1]] if len(now) == 2 else [now])]

    def gain(self, state: Sequence[Derivation]) -> float:
        """BLEU of the whole batch."""
        total = np.zeros(10)
        for derivation, reference in zip(state, self.references, strict=True):
            total += counts(tuple(word for _, _, words in derivation for word in words), reference)
        return self.scale * bleu_of_batch(total)

    def update(self, state: Sequence[Derivation], at: int, members: list[Derivation], drawn: int, w: Vector) -> Vector:
        """Equations 4 to 6: the oracle has the largest sum of gain and score; weights move if the ranks differ."""
        source = self.sources[at]
        scores = [float(w @ self.features(member, source)) for member in members]
        gains = [self.gain([*state[:at], member, *state[at + 1 :]]) for member in members]
        best = max(range(len(members)), key=lambda m: (gains[m] + scores[m], m == drawn))
        if (gains[drawn] - gains[best]) * (scores[drawn] - scores[best]) >= 0:
            return w
        a = self.features(members[best], source) - self.features(members[drawn], source)
        b = gains[best] * (gains[best] - gains[drawn]) - (scores[best] - scores[drawn])
        if b <= 0:  # the constraint holds already
            return w
        return w + min(b / float(a @ a), self.c) * a

    def outcomes(self, start: Vector, burn_in: int, samples: int) -> list[tuple[float, Vector, Vector]]:
        """Everything that an epoch of one chain may end with: probability, last weights, mean of those collected."""
        state = tuple(self.gloss(sentence, start) for sentence in range(len(self.sources)))
        paths = [(1.0, state, start, np.zeros_like(start))]
        many = len(self.sources)
        for step in range((burn_in + samples) * many):
            after = []
            for chance, state, w, collected in paths:
                for at in range(many):
                    for share, members in self.neighbourhoods(at, state[at]):
                        scores = np.array([w @ self.features(member, self.sources[at]) for member in members])
                        chances = np.exp(scores - scores.max())
                        chances /= chances.sum()
                        for drawn, member in enumerate(members):
                            learning = step >= burn_in * many
                            moved = self.update(state, at, members, drawn, w) if learning else w
                            new = (*state[:at], member, *state[at + 1 :])
                            weight = chance * share / many * float(chances[drawn])
                            after.append((weight, new, moved, collected + moved if learning else collected))
            paths = after
        return [(chance, w, collected / (samples * many)) for chance, _, w, collected in paths]
