"""Your own features: what they see, where they work, and every way in which they may fail."""

from __future__ import annotations

import math
import pickle
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs import Judged, Plan, tune_source

from dragoman import lm, rules, user_features, weights
from dragoman.decoder import Constraints, Decoder, DecoderSource, Search
from dragoman.errors import OptionError
from dragoman.metrics import Bleu
from dragoman.model import Model, Part, seal
from dragoman.testing import LawBroken, check_feature
from dragoman.tuning import Mert, Mira, Online, Pro, Tuner
from dragoman.types import Names, Weights
from dragoman.user_features import Options, Sparse, StateFeature, state_feature

Cli = Callable[..., tuple[int, str, str]]
TABLE = [
    ("das", "the", "0.6", "0-0"),
    ("das", "that", "0.3", "0-0"),
    ("das", "the the", "0.1", "0-0 0-1"),
    ("haus", "house", "0.9", "0-0"),
    ("haus", "home home", "0.2", "0-0 0-1"),
    ("das haus", "the house", "0.8", "0-0 1-1"),
    ("ist", "is", "0.9", "0-0"),
    ("klein", "small", "0.7", "0-0"),
    ("klein", "little", "0.3", "0-0"),
]
LINES = ["das haus ist klein", "ist das quux klein", "", "klein klein ist das haus das haus"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    (folder / "phrases").write_text(
        "".join(f"{s} ||| {t} ||| {scores} ||| {links} ||| 1 1 1\n" for s, t, scores, links in sorted(TABLE))
    )
    rules.import_moses(folder / "phrases", folder / "rules", columns=["p"])
    (folder / "text").write_text("the house is small\nthat house is little\nthe small house\n")
    lm.estimate(folder / "text", folder / "lm.arpa", order=2, discount_fallback=(0.5, 1, 1.5))
    parts = [
        Part("scores", "TM", {"table": 0, "columns": ["p"], "group": "TM"}),
        Part("lm", "LM", {"path": "lm.arpa"}),
        Part("distortion", "D"),
        Part("word-penalty", "WP"),
    ]
    return seal(folder, tables=["rules"], parts=parts, initial={"TM": 0.3, "LM": 0.5, "D": 0.3, "WP": -0.5})


def weighted(model: Model, **more: float) -> Weights:
    return Weights.of({**model.weights.to_dict(), **more})


class Lengths:
    """Target words, and how many more than source words; sparse: the first target word."""

    name = "Lengths"
    names = ("Words", "Longer")

    def __init__(self) -> None:
        self.seen: list[Options] = []

    def score(self, options: Options) -> Any:
        self.seen.append(options)
        lengths = options.lengths
        longer = lengths - (options.spans[:, 1] - options.spans[:, 0])
        firsts = [f"Lengths:{options.target(i).split(' ')[0]}" for i in range(len(options))]
        return np.stack([lengths, longer], axis=1), Sparse(np.arange(len(options)), firsts, np.full(len(options), 2.0))


def test_rule_feature_sees_all_options(model: Model) -> None:
    feature = Lengths()
    decoder = Decoder(model, extra=[feature], search=Search(table_limit=1))
    constraints = [Constraints(given=[(2, 3, "stands there", -0.5)], exclusive=False)]
    decoder.nbest(["das quux klein"], 5, constraints=constraints)
    (seen,) = feature.seen
    pairs = {(seen.source(i), seen.target(i), int(seen.origins[i])) for i in range(len(seen))}
    assert pairs == {
        *((s, t, 0) for s, t, _, _ in TABLE if s in {"das", "klein"}),
        ("quux", "quux", user_features.UNKNOWN),
        ("klein", "stands there", user_features.GIVEN),
    }
    for i in range(len(seen)):
        if seen.origins[i] == 0:
            table = {(s, t): float(p) for s, t, p, _ in TABLE}
            assert math.exp(seen.scores("p")[i]) == pytest.approx(table[seen.source(i), seen.target(i)], rel=1e-5)
            found = rules.Table(model.folder / "rules").lookup(seen.source(i))
            assert seen.target(i) in [rule.target for rule in found]
        else:
            assert seen.rules[i] == -1 and seen.scores("p")[i] == 0
    with pytest.raises(OptionError, match="no column `q`"):
        seen.scores("q")


def test_options_tell_gaps_from_words() -> None:
    """Option 0 is `a ^1 b ^2` to `^2 u ^1`, option 1 a phrase."""
    gap = user_features.GAP
    options = Options(
        words=["x", "a", "y", "z", "b", "q"],
        spans=np.array([[1, 6], [0, 2]]),
        origins=np.array([0, 0]),
        rules=np.array([7, 8]),
        target_starts=np.array([0, 3, 4]),
        target_words=np.array([gap + 1, 0, gap, 1], np.uint32),
        columns=[],
        table_scores=np.zeros((2, 0), np.float32),
        vocabulary=Names(["u"]),
        own_words=["v"],
        gap_starts=np.array([0, 2, 2]),
        gaps=np.array([[2, 4], [5, 6]]),
    )
    assert [options.source(i) for i in (0, 1)] == ["a ^1 b ^2", "x a"]
    assert [options.target(i) for i in (0, 1)] == ["^2 u ^1", "v"]
    assert options.source_symbols(0) == [1, -1, 4, -2]
    assert options.lengths.tolist() == [1, 1]


def test_rule_feature_counts_everywhere(model: Model) -> None:
    weights = weighted(model, Words=0.7, Longer=-0.2)
    weights = Weights.of({**weights.to_dict(), "Lengths:that": 0.9})
    decoder = Decoder(model, extra=[Lengths()], weights=weights)
    lists = decoder.nbest(LINES, 30, distinct=False)
    assert lists.totals is not None
    assert lists.features.dot(weights) == pytest.approx(lists.totals, abs=1e-4)
    for i, text in enumerate(lists.texts):
        row = lists.features.row(i)
        assert row["Words"] == len(text.split())
        sparse = {name: value for name, value in row.items() if name.startswith("Lengths:")}
        assert all(value % 2 == 0 and value > 0 for value in sparse.values()) and (sparse or not text)
    explained = decoder.explain(LINES[0])
    assert all(phrase.features["Words"] == len(phrase.target.split()) for phrase in explained.phrases)
    lattice = decoder.forest(LINES[0], features=True)
    for arc in lattice.edges:
        assert sum(weights[n] * v for n, v in arc.features.items()) == pytest.approx(arc.score, abs=1e-4)
    streamed = [found.texts[0] for found in decoder.stream(LINES)]
    assert streamed == decoder.translate(LINES)


def test_rule_feature_takes_part_in_the_choice_of_options(model: Model) -> None:
    # One option a span: without its weight `the` is best; with it, the longest.
    plain = Decoder(model, extra=[Lengths()], search=Search(table_limit=1))
    assert plain.translate(["das"]) == ["the"]
    eager = Decoder(model, extra=[Lengths()], search=Search(table_limit=1), weights=weighted(model, Words=9.0))
    assert eager.translate(["das"]) == ["the the"]


def test_a_feature_without_weight_changes_nothing(model: Model) -> None:
    for search in (Search(), Search(table_limit=2), Search(table_limit=1, pop_limit=0)):
        plain = Decoder(model, search=search).nbest(LINES, 20, distinct=False)
        extra = Decoder(model, search=search, extra=[Lengths()]).nbest(LINES, 20, distinct=False)
        assert plain.texts == extra.texts and plain.totals is not None
        assert plain.totals == pytest.approx(extra.totals, abs=1e-5)


class Broken:
    name = "Broken"
    names = ("B",)

    def __init__(self, said: Any) -> None:
        self.said = said

    def score(self, options: Options) -> Any:
        return self.said(options) if callable(self.said) else self.said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda o: 1 / 0, r"`Broken` failed at .*test_user_features.py:\d+: ZeroDivisionError"),
        (lambda o: np.zeros(len(o) + 1), r"expected values of shape \(\d+, 1\), found"),
        (lambda o: np.zeros((len(o), 2)), r"expected values of shape"),
        (lambda o: np.full(len(o), math.nan), "gave nan for `B`"),
        (lambda o: np.full(len(o), 1e300), "gave 1e.300 for `B`"),
        ("words", "no array of numbers"),
        (None, "shape|no array"),
        (lambda o: (np.zeros(len(o)), Sparse([0], ["Broken:a", "Broken:b"], [1.0])), "found 1 options, 2 names"),
        (lambda o: (np.zeros(len(o)), Sparse([len(o)], ["Broken:a"], [1.0])), "numbers of options from 0 to"),
        (lambda o: (np.zeros(len(o)), Sparse([-1], ["Broken:a"], [1.0])), "numbers of options from 0 to"),
        (lambda o: (np.zeros(len(o)), Sparse([0], ["other"], [1.0])), "expected sparse names `Broken:...`"),
        (lambda o: (np.zeros(len(o)), Sparse([0], ["Broken:a"], [math.inf])), "gave inf for `Broken:a`"),
    ],
)
def test_rule_features_that_fail(model: Model, said: Any, message: str) -> None:
    decoder = Decoder(model, extra=[Broken(said)])
    with pytest.raises(OptionError, match=rf"line \d: .*{message}"):
        decoder.translate(LINES)
    with pytest.raises(OptionError, match=message):
        decoder.explain(LINES[0])
    with pytest.raises(OptionError, match=message):
        list(decoder.stream(LINES))
    with pytest.raises(LawBroken, match=message):
        check_feature(model, Broken(said), LINES)


def test_the_first_line_that_fails_is_told(model: Model) -> None:
    """Whichever thread is faster: the lines after it are shorter and fail sooner."""

    def said(options: Options) -> Any:
        time.sleep(0.05 * len(options.words) if len(options) else 0.0)
        return np.zeros(len(options) + 1)

    lines = ["das haus ist klein " * 3, "", "klein", "", "das"]
    for _ in range(3):
        with pytest.raises(OptionError, match="line 1: "):
            Decoder(model, extra=[Broken(said)], threads=2).translate(lines)


def test_names_must_be_free_and_features_must_be_features(model: Model) -> None:
    feature = Broken(0)
    feature.names = ("LM",)
    with pytest.raises(OptionError, match="two features are called `LM`"):
        Decoder(model, extra=[feature])
    for name, message in (("pt", "two feature sets are called `pt`"), ("a:b", "letters, digits"), ("", "letters")):
        feature = Broken(0)
        feature.name = name
        with pytest.raises(OptionError, match=message):
            Decoder(model, extra=[feature], features="pt")
    with pytest.raises(OptionError, match="two features are called `Words`"):
        Decoder(model, extra=[Lengths(), Lengths()])
    with pytest.raises(OptionError, match="expected a rule feature"):
        Decoder(model, extra=[object()])  # type: ignore[list-item]
    with pytest.raises(OptionError, match="no feature `Other:a`"):
        Decoder(model, extra=[Lengths()], weights=weighted(model, **{"Other:a": 1.0}))


@state_feature(bytes=4, names=["Repeat", "Jumps"])
def repetition(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    last = previous.view(np.uint32)[0]
    for word in target:
        if word + 1 == last:
            values[0] += 1
        last = word + 1
    if step.start != step.last:
        values[1] = 1
    if step.complete == 0:
        state.view(np.uint32)[0] = last


def repeats(text: str) -> int:
    words = text.split()
    return sum(a == b for a, b in pairwise(words))


def test_state_feature_counts_everywhere(model: Model) -> None:
    weights = weighted(model, Repeat=1.5, Jumps=-0.3)
    decoder = Decoder(model, extra=[repetition, Lengths()], weights=weights)
    lists = decoder.nbest(LINES, 200, distinct=False)
    assert lists.totals is not None
    assert lists.features.dot(weights) == pytest.approx(lists.totals, abs=1e-4)
    found = [lists.features.row(i).get("Repeat", 0) for i in range(len(lists.texts))]
    assert found == [repeats(text) for text in lists.texts]
    assert max(found) >= 3
    # The best of the search is the best of a list under these weights, and threads change nothing.
    for threads in (1, 2):
        again = Decoder(model, extra=[repetition, Lengths()], weights=weights, threads=threads)
        assert again.nbest(LINES, 200, distinct=False).texts == lists.texts
    explained = decoder.explain(LINES[3])
    assert sum(phrase.features.get("Repeat", 0) for phrase in explained.phrases) == repeats(explained.text)
    lattice = decoder.forest(LINES[3], features=True)
    for arc in lattice.edges:
        assert sum(weights[n] * v for n, v in arc.features.items()) == pytest.approx(arc.score, abs=1e-4)
    assert decoder.force(["das haus"], ["the the home home"]).features.row(0)["Repeat"] == 2


def test_state_feature_keeps_hypotheses_apart(model: Model) -> None:
    """With all of its state, the search finds the best of all derivations, listed one by one."""
    weights = weighted(model, Repeat=4.0)
    decoder = Decoder(
        model, extra=[repetition], weights=weights, search=Search(pop_limit=0, distortion_limit=0, table_limit=0)
    )
    lists = decoder.nbest([LINES[3]], 1_000_000, distinct=False)
    assert lists.totals is not None
    scores = lists.features.dot(weights)
    assert scores.max() == pytest.approx(scores[0], abs=1e-4)
    assert decoder.translate([LINES[3]]) == [lists.texts[int(scores.argmax())]]


REFERENCES = [["the the home home is small"], ["is that quux little"]]
TUNERS: list[tuple[Tuner, Plan]] = [
    (Mira.kbmira(), Plan(epochs=3)),
    (Pro(), Plan(epochs=2)),
    (Mert(starts=2), Plan(epochs=2)),
    (Online(batch=1, rate=0.2), Plan(epochs=3, stale=2)),
    (Mira(c=0.1), Plan(epochs=6, shards=2, select="last")),
]


@pytest.mark.parametrize(("tuner", "plan"), TUNERS, ids=lambda x: getattr(x, "name", ""))
def test_tuning_with_the_decoder_in_the_loop(model: Model, tuner: Tuner, plan: Plan) -> None:
    """Every way of tuning moves the weights of own features, dense and sparse, whatever the number of threads."""
    found = []
    for threads in (1, 2):
        decoder = Decoder(model, extra=[repetition, Lengths()], features="pt", threads=threads)
        source = DecoderSource(decoder, LINES[:2], 20)
        tuned = tune_source(Judged(source, REFERENCES), Bleu(), tuner, weighted(model, Repeat=0.0), plan)
        found.append(tuned.weights.to_dict())
        assert tuned.end.score > tuned.start.score + 1
        again = Decoder(model, extra=[repetition, Lengths()], features="pt", weights=tuned.weights)
        assert again.translate(LINES[:2]) == source.best(tuned.weights).texts.to_list()
    assert found[0] == found[1]
    moved = {name.split(":")[0] for name, value in found[0].items() if value and name not in model.weights.to_dict()}
    # MERT moves few weights at a time.
    everywhere = moved >= {"Lengths", "pt"} and moved & {"Words", "Longer"} | moved & {"Repeat", "Jumps"}
    assert moved if isinstance(tuner, Mert) else everywhere


def test_names_are_filed_in_the_order_of_the_text(model: Model) -> None:
    """The search looks names up and adds none; lists bring theirs, in the order of the lines."""
    lines = LINES * 6
    named = []
    for threads in (1, 2):
        decoder = Decoder(model, extra=[Lengths()], features="pt,wp", threads=threads)
        decoder.translate(lines)
        assert len(decoder.names) == len(decoder.dense)
        assert decoder.dense[-2:] == ["Words", "Longer"]
        decoder.nbest(lines, 30)
        named.append(decoder.names.to_list())
    assert named[0] == named[1] and "Lengths:the" in named[0] and "pt:das>the" in named[0]
    before = Decoder(model, extra=[Lengths()], weights=weighted(model, **{"Lengths:never": 1.0, "Lengths:that": 0.9}))
    row = before.force(["das haus"], ["that house"]).features.row(0)
    assert row["Lengths:that"] == 2 and row["Lengths:house"] == 2 and "Lengths:never" not in row


def test_a_sparse_weight_decides(model: Model) -> None:
    weights = weighted(model, **{"Lengths:that": 5.0})
    assert Decoder(model, extra=[Lengths()]).translate(["das"]) == ["the"]
    assert Decoder(model, extra=[Lengths()], weights=weights).translate(["das"]) == ["that"]


def test_from_the_command_line(model: Model, cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import numpy as np\nfrom dragoman.user_features import state_feature\n"
        "class Longer:\n    name, names = 'Longer', ('Longer',)\n    def score(self, options):\n"
        "        return options.lengths - (options.spans[:, 1] - options.spans[:, 0])\n"
        "@state_feature(bytes=0, names=['Phrases'])\ndef phrases(previous, state, target, step, values):\n"
        "    values[0] = 1\n"
        "class Needy(Longer):\n    def __init__(self, what): pass\n"
    )
    (tmp_path / "in").write_text("das haus\ndas\ndas haus\n")
    (tmp_path / "ref").write_text("the the home home\nthe\nthe the home home\n")
    shared = ["--model", model.folder, "--features", f"{mine}:Longer,phrases"]
    weights.save(tmp_path / "w.toml", weighted(model, Longer=9.0, Phrases=2.0))
    options = ["--weights", tmp_path / "w.toml", "--input", tmp_path / "in", "--nbest", "2", "--nbest-out"]
    code, out, err = cli("translate", *shared, *options, tmp_path / "list")
    assert (code, out) == (0, "the the home home\nthe the\nthe the home home\n"), err
    assert "Longer= 2 Phrases= 2" in (tmp_path / "list").read_text().splitlines()[0]
    tune = ["tune", *shared, "--src", tmp_path / "in", "--refs", tmp_path / "ref", "--metric", "chrf"]
    tune += ["--tuner", "kbmira:c=0.1", "--epochs", "3"]
    code, _, err = cli(*tune, "--out", tmp_path / "tuned")
    assert code == 0, err
    assert weights.load(tmp_path / "tuned" / "weights.toml")["Longer"] > 0
    mine.write_text(mine.read_text() + "# other\n")
    code, _, err = cli(*tune, "--out", tmp_path / "tuned")
    assert code == 1 and "other inputs or options" in err
    (tmp_path / "bad.py").write_text("\n1 / 0\n")
    (tmp_path / "typo.py").write_text("def\n")
    for spec, message in (
        (mine, "expected FILE.py:NAME"),
        (f"{mine}:", "expected FILE.py:NAME"),
        (f"{tmp_path}/none.py:a", "none.py: there is no such file"),
        (f"{tmp_path}/in:a", "or one of yours as FILE.py:NAME"),
        (f"{tmp_path}/bad.py:a", "bad.py:2: ZeroDivisionError"),
        (f"{tmp_path}/typo.py:a", "typo.py:1: SyntaxError"),
        (f"{mine}:Langer", "there is no `Langer`; did you mean Longer?"),
        (f"{mine}:np", "neither a rule feature nor a state feature"),
        (f"{mine}:Needy", ":Needy cannot be made: TypeError"),
    ):
        code, _, err = cli("translate", "--model", model.folder, "--features", spec, "--input", tmp_path / "in")
        assert code == 1 and message in err and "Traceback" not in err, (spec, err)


def fails(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    if target.size > 1:
        raise ValueError("no")


def past_state(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    state[4] = 1


def past_values(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    values[1] = 1


def not_its_own(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    previous[0] = 77


def not_a_number(previous, state, target, step, values):  # type: ignore[no-untyped-def]
    values[0] = np.nan


BAD = [
    (fails, True, "`fails` failed: it raised"),
    (past_state, True, "`past_state` failed: it raised"),
    (past_state, False, "`past_state` wrote past the end of its state"),
    (past_values, True, "`past_values` failed: it raised"),
    (past_values, False, "`past_values` wrote past the end of its values"),
    (not_its_own, True, "`not_its_own` wrote to the previous state"),
    (not_a_number, True, "`not_a_number` gave NaN for `Bad`"),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("function", "checked", "message"), BAD, ids=lambda v: getattr(v, "__name__", str(v))[:12])
def test_state_features_that_fail(model: Model, function: Any, checked: bool, message: str) -> None:
    feature = state_feature(bytes=4, names=["Bad"], boundscheck=checked)(function)
    decoder = Decoder(model, extra=[feature])
    with pytest.raises(OptionError, match=f"line [14]: the feature {message}.*source words"):
        decoder.translate([LINES[0], "", "", LINES[3]])
    with pytest.raises(OptionError, match=message):
        decoder.forest(LINES[0])
    with pytest.raises(OptionError, match=message):
        decoder.explain(LINES[0])
    with pytest.raises(LawBroken, match=message):
        check_feature(model, feature, LINES)


def test_check_feature_finds_hidden_memory(model: Model) -> None:
    import numba as compiler

    numba: Any = compiler
    memory = np.zeros(1)
    address = memory.ctypes.data

    @numba.extending.intrinsic  # type: ignore[untyped-decorator]
    def at(context: Any, number: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return numba.types.CPointer(numba.types.float64)(numba.types.intp), build

    def remembers(previous, state, target, step, values):  # type: ignore[no-untyped-def]
        count = numba.carray(at(address), (1,))
        count[0] += 1
        values[0] = count[0]

    feature = state_feature(bytes=0, names=["Bad"])(remembers)
    Decoder(model, extra=[feature]).translate(LINES)
    with pytest.raises(LawBroken, match="two answers to one question"):
        check_feature(model, feature, LINES)


def test_check_feature_accepts_good_ones(model: Model) -> None:
    check_feature(model, Lengths(), LINES)
    check_feature(Decoder(model), repetition, LINES)
    with pytest.raises(LawBroken, match="lines"):
        check_feature(model, repetition, [])


def test_check_feature_finds_answers_that_change(model: Model) -> None:
    calls: list[int] = []

    def moody(options: Options) -> Any:
        calls.append(1)
        return np.full(len(options), len(calls))

    with pytest.raises(LawBroken, match="threads change"):
        check_feature(model, Broken(moody), LINES[:1])


def test_options_of_state_features(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="0 to 4096 bytes"):
        state_feature(bytes=-1, names=["a"])
    with pytest.raises(OptionError, match="at least one name"):
        state_feature(bytes=1, names=[])

    def untyped(previous, state, target, step, values):  # type: ignore[no-untyped-def]
        values[0] = step.nowhere

    with pytest.raises(OptionError, match="`untyped` does not compile"):
        Decoder(model, extra=[state_feature(bytes=0, names=["a"])(untyped)])
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(OptionError, match=r"needs numba.*dragoman\[native\]"):
        Decoder(model, extra=[state_feature(bytes=0, names=["a"])(fails)])


def test_a_feature_travels_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, repetition.function.__module__, sys.modules[__name__])
    again = pickle.loads(pickle.dumps(repetition))
    assert isinstance(again, StateFeature) and again.names == ("Repeat", "Jumps")


def test_the_vocabulary_of_the_decoder_is_that_of_the_features(model: Model) -> None:
    feature = Lengths()
    decoder = Decoder(model, extra=[feature])
    decoder.translate(["das quux"])
    (seen,) = feature.seen
    word = decoder.vocabulary.get("the")
    assert word is not None and seen.word(word) == "the"
    own_word = seen.target_words[seen.target_starts[:-1][seen.origins == user_features.UNKNOWN]]
    assert own_word >= len(decoder.vocabulary) and seen.word(int(own_word[0])) == "quux"
