"""The law book: what every metric, tuner, feature and engine, ours or yours, must satisfy before others can rely on it.

    from dragoman.testing import check_engine, check_feature, check_metric, check_tuner
    check_metric(MyMetric())
    check_tuner(MyTuner())
    check_feature("model", MyFeature(), lines)
    check_engine(MyEngine())

A broken law raises `LawBroken`, which says which law and shows what was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from dragoman.decoder import Decoder
from dragoman.engine import Engine, Serial
from dragoman.errors import OptionError, TuningError
from dragoman.metrics import External, score_columns
from dragoman.model import Model
from dragoman.tuning.driver import tune
from dragoman.tuning.limits import NamedLimits
from dragoman.tuning.pool import Pool
from dragoman.tuning.problem import Problem, Session, Tuner
from dragoman.tuning.state import State, decode_state, encode_state
from dragoman.types import F64, Candidates, Features, Hypotheses, Metric, Names, Texts, Weights
from dragoman.user_features import RuleFeature, StateFeature

__all__ = ["LawBroken", "check_engine", "check_feature", "check_metric", "check_tuner", "planted_pool"]


class LawBroken(AssertionError):
    """A part breaks a law that other parts rely on."""


def _law(holds: bool | np.bool_, law: str, found: object = None) -> None:
    if not holds:
        raise LawBroken(law if found is None else f"{law}; found: {found}")


_REFERENCES = (
    ("the cat sat on the mat .", "a cat was sitting on the mat ."),
    ("it is raining again , so we stay at home .", "it rains again and so we stay in ."),
    ("where did you put the keys ?", "where have you put the keys ?"),
    ("she reads a book about the history of the city .", "she is reading a book on the city 's history ."),
)
_WORSE = (
    ("a cat sat on mat .", "mat the on sat cat the .", ""),
    ("it is raining , we stay .", "it is is is raining again , so we stay at home . yes", "what"),
    ("where you put the key ?", "did you put the keys where ?", "keys"),
    ("she reads a book about the town .", "a book .", "she reads a book about the history of the city . . ."),
)


def check_metric(
    metric: Metric,
    *,
    references: Sequence[Sequence[str]] = _REFERENCES,
    hypotheses: Sequence[Sequence[str]] = _WORSE,
    reads_text: bool = True,
) -> None:
    """Raises `LawBroken` unless the metric keeps its contract.

    `hypotheses[s]` are some translations of sentence s, none of them perfect. `reads_text=False` is for metrics that
    look at precomputed scores only: the law that a perfect output is best does not apply to them.
    """
    _check_properties(metric)
    pool = _pool(metric, hypotheses, reads_text)
    statistics = metric.prepare(references).statistics(pool)
    _check_statistics(metric, references, pool, statistics)
    _check_score(metric, statistics)
    if reads_text:
        _check_perfection(metric, references, hypotheses)


def _pool(metric: Metric, hypotheses: Sequence[Sequence[str]], reads_text: bool) -> Hypotheses:
    texts = [text for some in hypotheses for text in some]
    sentence = np.repeat(np.arange(len(hypotheses), dtype=np.int64), [len(some) for some in hypotheses])
    columns = () if reads_text else score_columns(metric) or (metric.name,)
    scores = {column: np.linspace(0.1, 0.9, len(texts)) for column in columns}
    return Hypotheses(Texts(texts), sentence, scores)


def _check_properties(metric: Metric) -> None:
    _law(isinstance(metric.name, str) and metric.name != "", "a metric has a name", repr(metric.name))
    _law(isinstance(metric.width, int) and metric.width > 0, "width is a positive int", repr(metric.width))
    _law(isinstance(metric.higher_is_better, bool), "higher_is_better is a bool", repr(metric.higher_is_better))
    _law(metric.scale > 0, "scale is positive", metric.scale)
    _law(metric.signature() == metric.signature() != "", "the signature is stable", repr(metric.signature()))
    form = metric.sentence_level()
    _law(form.width == metric.width, "the sentence-level form reads the same statistics", form.width)
    _law(
        form.sentence_level().signature() == form.signature(),
        "the sentence-level form is its own",
        form.signature(),
    )


def _check_statistics(metric: Metric, references: Sequence[Sequence[str]], pool: Hypotheses, statistics: F64) -> None:
    shape = (len(pool), metric.width)
    _law(statistics.shape == shape, f"statistics have the shape {shape}", statistics.shape)
    _law(statistics.dtype == np.float64, "statistics are float64", statistics.dtype)
    _law(np.isfinite(statistics).all(), "statistics are finite", statistics)
    prepared = metric.prepare(references)
    _law(np.array_equal(prepared.statistics(pool), statistics), "statistics repeat")
    order = np.random.default_rng(0).permutation(len(pool)).astype(np.int64)
    mixed = prepared.statistics(_take(pool, order))
    _law(np.array_equal(mixed, statistics[order]), "a hypothesis's row does not depend on its neighbours")
    none = prepared.statistics(_take(pool, order[:0]))
    _law(none.shape == (0, metric.width), "no hypotheses give no rows, of the right width", none.shape)


def _take(pool: Hypotheses, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Hypotheses:
    scores = {name: column[rows] for name, column in pool.scores.items()}
    return Hypotheses(pool.texts.take(rows), pool.sentence[rows], scores)


def _check_score(metric: Metric, statistics: F64) -> None:
    before = statistics.copy()
    scores = metric.score(statistics)
    _law(np.array_equal(before, statistics), "scoring leaves the statistics alone")
    _law(scores.shape == (len(statistics),), "a row gives one score", scores.shape)
    _law(np.isfinite(scores).all(), "scores of hypotheses are finite", scores)
    one_by_one = np.array([float(metric.score(row)) for row in statistics])
    _law(
        np.allclose(scores, one_by_one, rtol=0, atol=1e-9),
        "rows are scored independently",
        scores - one_by_one,
    )
    block = metric.score(np.stack([statistics, statistics[::-1]]))
    _law(block.shape == (2, len(statistics)), "score works on any number of dimensions", block.shape)
    _law(
        np.allclose(block[1], scores[::-1], rtol=0, atol=1e-9),
        "rows are scored independently in blocks",
        block,
    )
    total = float(metric.score(statistics.sum(axis=0)))
    backwards = float(metric.score(statistics[::-1].sum(axis=0)))
    _law(np.isfinite(total), "the score of a corpus is finite", total)
    _law(
        abs(total - backwards) < 1e-9 * metric.scale,
        "the order of sentences changes nothing",
        (total, backwards),
    )
    empty = float(metric.score(np.zeros(metric.width)))
    _law(np.isfinite(empty), "an empty corpus has a finite score", empty)


def _check_perfection(metric: Metric, references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> None:
    sign = 1.0 if metric.higher_is_better else -1.0
    prepared = metric.prepare(references)

    def corpus(texts: Sequence[str]) -> float:
        return sign * float(metric.score(prepared.statistics(Hypotheses.one_each(texts)).sum(axis=0)))

    perfect = corpus([refs[0] for refs in references])
    for rank in range(min(len(some) for some in hypotheses)):
        worse = corpus([some[rank] for some in hypotheses])
        _law(perfect > worse, "a perfect output is better than a worse one", (sign * perfect, sign * worse))


def planted_pool(
    sentences: int = 40, size: int = 12, noise: float = 0.05, seed: int = 0, flat: bool = False
) -> tuple[Pool, F64]:
    """A pool whose candidates are as good as hidden weights say, give or take some noise, and those weights.

    Five features are dense and six sparse. Some sentences have one candidate only, and one has none. With `flat`, all
    candidates are equally good.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=11)
    sizes = np.where(np.arange(sentences) % 10 == 3, 1, size)
    sizes[-1] = 0
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    matrix = rng.normal(size=(starts[-1], 11)) * (rng.random((starts[-1], 11)) < ([1.0] * 5 + [0.3] * 6))
    quality = 1 / (1 + np.exp(-(matrix @ hidden) - noise * rng.normal(size=len(matrix))))
    present = (matrix != 0) | (np.arange(11) < 5)
    names = Names([f"dense{i}" for i in range(5)], dense=True)
    for i in range(6):
        names.intern(f"sparse{i}")
    features = Features(
        names,
        np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        np.nonzero(present)[1].astype(np.uint32),
        matrix[present],
    )
    texts = Texts([f"candidate {i}" for i in range(len(matrix))])
    scores = {"quality": np.full(len(matrix), 0.5) if flat else quality}
    candidates = Candidates(Texts([str(i) for i in range(sentences)]), starts, texts, features, scores=scores)
    return Pool.judge(candidates, [()] * sentences, External("quality")), hidden


def check_tuner(tuner: Tuner, *, order_invariant: bool = False, scale_invariant: bool = False) -> None:
    """Raises `LawBroken` unless the tuner keeps its contract.

    `order_invariant`: the order of sentences changes nothing. `scale_invariant`: if all features are doubled, the same
    candidates are chosen. Not every tuner promises these; the other laws hold for all.
    """
    pool, _ = planted_pool()
    start = np.full(pool.width, 0.1)
    given = start.copy()
    end = _finish(tuner, pool, given, seed=1)
    _law(np.array_equal(given, start), "the start weights are left alone", given)
    _law(np.isfinite(end.weights).all(), "weights are finite", end.weights)
    again = _finish(tuner, pool, start, seed=1)
    _law(np.array_equal(end.weights, again.weights), "one seed gives one result", end.weights - again.weights)
    before, after = pool.corpus_gain(start), pool.corpus_gain(end.weights)
    _law(not tuner.never_worse or after >= before, "the pool's gain never ends below the start's", (before, after))
    _law(after > before, "an easy pool is learnt from", (before, after))
    _check_resume(tuner, pool, start, end)
    _check_limits(tuner, pool, start)
    _check_refusal(tuner)
    if order_invariant:
        turned = pool.take(np.arange(len(pool.candidates), dtype=np.int64)[::-1].copy())
        other = turned.corpus_gain(_finish(tuner, turned, start, seed=1).weights)
        _law(abs(other - after) < 1e-6, "the order of sentences changes nothing", (after, other))
    if scale_invariant:
        other = pool.corpus_gain(_finish(tuner, _doubled(pool), start, seed=1).weights)
        _law(abs(other - after) < 1e-6, "the scale of features changes nothing", (after, other))


def _finish(tuner: Tuner, pool: Pool, start: F64, seed: int, limits: NamedLimits | None = None) -> State:
    session = _session(tuner, pool, seed, limits)
    state = session.begin(start)
    while not state.done:
        state = session.step(state)
    return state


def _session(tuner: Tuner, pool: Pool, seed: int, limits: NamedLimits | None = None) -> Session:
    return tuner.session(Problem.of_pool(pool, limits=limits), Serial(), seed)


def _check_resume(tuner: Tuner, pool: Pool, start: F64, end: State) -> None:
    """After every step the run is killed, and goes on in a new session from what was saved."""
    names = pool.candidates.features.names
    state = _session(tuner, pool, 1).begin(start.copy())
    for _ in range(1000):
        if state.done:
            break
        state = _session(tuner, pool, 1).step(decode_state(encode_state(state, names), names))
    _law(np.array_equal(state.weights, end.weights), "a run resumes bit for bit", state.weights - end.weights)


def _check_limits(tuner: Tuner, pool: Pool, start: F64) -> None:
    names = pool.candidates.features.names
    limits = NamedLimits(bounds={names[0]: (start[0], start[0]), names[1]: (0.05, 0.2)})
    found = _finish(tuner, pool, start, 1, limits).weights
    _law(found[0] == start[0], "a fixed weight stays", found[0])
    _law(0.05 <= found[1] <= 0.2, "a bounded weight stays inside its bounds", found[1])


def _check_refusal(tuner: Tuner) -> None:
    pool, _ = planted_pool(flat=True)
    try:
        start = Weights(pool.candidates.features.names, np.full(pool.width, 0.1))
        found = tune(Problem.of_pool(pool), tuner, start=start)
    except TuningError:
        return
    _law(False, "a pool with nothing to learn from is no success", found.weights.values)


def _doubled(pool: Pool) -> Pool:
    rows, old = pool.candidates.features, pool.candidates
    features = Features(rows.names, rows.starts, rows.columns, 2 * rows.values)
    return Pool(Candidates(old.ids, old.starts, old.texts, features), pool.metric, pool.statistics)


def check_feature(
    model: str | PathLike[str] | Model | Decoder, feature: RuleFeature | StateFeature, lines: Sequence[str]
) -> None:
    """Raises `LawBroken` unless a feature of yours keeps its contract while a model translates `lines`.

    Laws: it neither fails nor gives anything but finite numbers, as many as it has names; it stays within its state and
    its values; it depends on its arguments alone, so that equal bytes have equal futures; threads change nothing; and
    the values of an n-best list, times the weights, are the scores that the search saw.
    """
    if isinstance(model, Decoder):
        model = model.model
    _law(len(lines) > 0, "there are lines to translate")
    if isinstance(feature, StateFeature):
        feature = replace(feature, check=True)
    try:
        decoder = Decoder(model, extra=[feature])
        given = {name: 0.3 - 0.2 * place for place, name in enumerate(feature.names)}
        weights = Weights.of({**decoder.model.weights.to_dict(), **given})
        lists = [Decoder(decoder.model, extra=[feature], weights=weights, threads=n).nbest(lines, 20) for n in (1, 2)]
    except OptionError as error:
        raise LawBroken(str(error)) from error
    one, two = lists
    _law(one.texts == two.texts, "threads change no translation")
    values = [[found.features.row(i) for i in range(len(found.texts))] for found in lists]
    _law(values[0] == values[1], "threads change no value, and the same question has the same answer")
    assert one.totals is not None  # the decoder gives scores
    scores = one.features.dot(weights)
    _law(np.allclose(scores, one.totals, rtol=1e-4, atol=1e-3), "weights times values are the score of the search")
    _check_search(decoder, lines, weights)


def _check_search(decoder: Decoder, lines: Sequence[str], weights: Weights) -> None:
    """The score of the best path in the search is that of its values: no state was joined with an unequal one."""
    for line in lines[:20]:
        forest = decoder.forest(line, features=True, weights=weights)
        for edge in forest.edges:
            found = sum(weights[name] * value for name, value in edge.features.items())
            _law(abs(found - edge.score) < 1e-3 + 1e-4 * abs(found), "edges of the forest score what they say", edge)


def check_engine(engine: Engine) -> None:
    """Holds an engine to its laws; the tasks are short, and finish in another order than they begin."""
    _law(engine.workers >= 1, "an engine has a worker")
    count = 4 * engine.workers + 3
    _law(engine.map(_slow_first, []) == [], "map of nothing is nothing")
    want = [_slow_first(task) for task in range(count)]
    found = engine.map(_slow_first, range(count))
    _law(found == want, "map gives the results in the order of the tasks", found)
    _law(list(engine.stream(_slow_first, [], 2)) == [], "a stream of nothing is nothing")
    for ahead in (0, 1, 3, count + 1):
        _check_stream(engine, count, ahead)
    _check_errors(lambda tasks: engine.map(_fails, tasks))
    _check_errors(lambda tasks: list(engine.stream(_fails, tasks, 3)))


def _check_errors(run: Callable[[Sequence[int]], object]) -> None:
    try:
        run(range(9))
    except ArithmeticError as error:
        _law(str(error) == "2", "of several errors that of the first task is raised", error)
    else:
        _law(False, "an error in a task is raised")


def _check_stream(engine: Engine, count: int, ahead: int) -> None:
    used, taken = 0, []

    def tasks() -> Iterator[int]:
        for task in range(count):
            taken.append(used)
            yield task

    for number, result in enumerate(engine.stream(_slow_first, tasks(), ahead)):
        _law(result == _slow_first(number), "a stream gives the results in the order of the tasks", result)
        used += 1
    _law(used == count, "a stream ends with the last task", used)
    want = [max(0, task - ahead) for task in range(count)]
    _law(taken == want, f"task n is taken when all but the last {ahead} results before it have been used", taken)


def _slow_first(task: int) -> int:
    """Later tasks are quicker, so that an engine that hands out what is ready hands it out in the wrong order."""
    time.sleep(0.002 / (1 + task))
    return task**2


def _fails(task: int) -> int:
    if task >= 2:
        time.sleep(0.002 / task)
        raise ArithmeticError(task)
    return task
