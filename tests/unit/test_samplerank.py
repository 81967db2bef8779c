"""SampleRank as a tuner, and sampling on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.runs import Judged, Plan, tune_source
from tests.unit.test_translate import build

from dragoman.decoder import Decoder, DecoderSource
from dragoman.decoder.sampling import Sampling, sampled
from dragoman.errors import InputError, OptionError
from dragoman.metrics import Bleu, Chrf
from dragoman.reranking import mbr
from dragoman.tuning import SampleRank, Tuned
from dragoman.tuning.loops.chains import RIDGE, batches, metric_of
from dragoman.types import Weights

Cli = Callable[..., tuple[int, str, str]]
SOURCES = [
    "das haus ist klein",
    "ist das haus klein",
    "das ist das haus",
    "klein ist das quux",
    "das haus",
    "ist klein",
]
REFERENCES = [
    "the house is small",
    "is the house small",
    "that is the house",
    "small is the quux",
    "the house",
    "is small",
]
METRIC = Bleu(tokenize="none", smooth="add-all")
SMALL = SampleRank(chains=2, samples=60, burn_in=10, temperature=1.0, rate=0.3)
PAPER = replace(SMALL, oracle="hope", rate=0.0, c=0.1, always=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model")).folder


def judged(model: Path, features: str | None = None, threads: int = 1) -> Judged:
    decoder = Decoder(model, features=features, threads=threads)
    return Judged(DecoderSource(decoder, SOURCES), [[line] for line in REFERENCES])


def wrong(setting: Judged) -> Weights:
    """Weights that prefer rare translations and long jumps."""
    names = setting.source.names
    values = {"TM[0]": -0.5, "TM[1]": -0.5, "LM": 0.01, "D": -0.2, "UP": 1.0}
    return Weights(names, np.array([values.get(name, 0.0) for name in names.to_list()]))


def run(setting: Judged, tuner: SampleRank = SMALL, **options: object) -> Tuned:
    return tune_source(setting, METRIC, tuner, wrong(setting), Plan(epochs=3, select="last", fixed=["UP"], **options))  # type: ignore[arg-type]


def values(found: Tuned) -> dict[str, float]:
    return found.weights.to_dict()


@pytest.mark.parametrize("tuner", [SMALL, PAPER], ids=["expected gain", "as in the paper"])
def test_it_learns(model: Path, tuner: SampleRank) -> None:
    found = run(judged(model), tuner)
    assert found.start.score < 40 and found.end.score > found.start.score + 20
    assert values(found)["UP"] == 1.0, "a fixed weight"
    last = found.trace[-1]
    assert last["samples"] == 6 * 70 and 0 < last["updates"] <= 6 * 60
    assert (last["capped"] > 0) == (tuner is PAPER) and last["capped"] <= last["updates"]
    assert 0 < last["moves"] < last["samples"] and 0 < last["probed"] <= 1


def test_weights_keep_their_length(model: Path) -> None:
    setting = judged(model)

    def length(weights: dict[str, float]) -> float:
        return float(np.linalg.norm([value for name, value in weights.items() if name != "UP"]))

    begun = length(wrong(setting).to_dict())
    assert length(values(run(setting, replace(SMALL, average="epoch")))) == pytest.approx(begun)
    assert length(values(run(setting, PAPER))) != pytest.approx(begun, rel=0.01)


def test_natural_steps_start_with_the_second_epoch() -> None:
    """Before that nothing is known of how features go together."""
    together = np.array([[2.0, 1.9], [1.9, 2.0]])
    metric = metric_of(4.0 * together.ravel(), 4.0, [])
    assert metric == pytest.approx(np.linalg.inv(together + RIDGE * np.diag([2.0, 2.0])))
    assert metric_of(np.zeros(0), 0.0, []).shape == metric_of(np.zeros(4), 5.0, []).shape == (0, 0)
    assert metric_of(np.array([1.0, 0.0, 0.0, 0.0]), 1.0, []).tolist() == [[pytest.approx(1 / (1 + RIDGE)), 0], [0, 0]]


@pytest.mark.parametrize(
    "options",
    [{"scale": 1.0}, {"oracle": "gain"}, {"margin": False, "scale": 1.0}, {"average": "none"}, {"average": "epoch"},
     {"average": "all"}, {"batch": 1}, {"width": 1, "visit": 5}, {"rate": 0.1}, {"oracle": "mean"}],
)  # fmt: skip
def test_every_option_matters(model: Path, options: dict[str, object]) -> None:
    tuner = replace(PAPER, **options)  # type: ignore[arg-type]
    assert values(run(judged(model), tuner)) != values(run(judged(model), PAPER))


def test_the_seed_decides_and_not_the_threads(model: Path) -> None:
    one = run(judged(model, "tb,lo,pt"))
    assert values(run(judged(model, "tb,lo,pt", threads=2))) == values(one)
    assert values(run(judged(model, "tb,lo,pt"), seed=1)) != values(one)
    assert any(name.startswith("tb:") and value for name, value in values(one).items()), "sparse features are learned"


def test_averages(model: Path) -> None:
    """The answer is the mean over all samples: with one batch and chain, between the smallest and largest weights."""
    tuner = replace(SMALL, chains=1, average="epoch")
    plan = Plan(epochs=1, select="last", fixed=["UP"])
    setting = judged(model)
    mean = tune_source(setting, METRIC, tuner, wrong(setting), plan).weights.to_dict()
    last = tune_source(setting, METRIC, replace(tuner, average="none"), wrong(setting), plan).weights.to_dict()
    begun = wrong(setting).to_dict()
    assert mean != last
    moved = [name for name in mean if mean[name] != begun.get(name, 0.0)]
    assert moved and any(abs(mean[n] - begun.get(n, 0.0)) < abs(last[n] - begun.get(n, 0.0)) for n in moved)


def test_a_run_goes_on_after_a_kill(model: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(record: dict[str, float]) -> None:
        if record["step"] == 2:
            raise Killed

    def start(folder: Path, resume: bool, progress: Callable[[dict[str, float]], None] | None) -> Tuned:
        setting = judged(model, "tb")
        plan = Plan(epochs=4, select="last")
        return tune_source(
            setting, METRIC, SMALL, wrong(setting), plan, folder=folder, resume=resume, progress=progress
        )

    whole = start(tmp_path / "whole", False, None)
    with pytest.raises(Killed):
        start(tmp_path / "cut", False, kill)
    resumed = start(tmp_path / "cut", True, None)
    assert values(resumed) == values(whole)
    assert len((tmp_path / "cut" / "trace.jsonl").read_text().splitlines()) == 5


def test_documents_stay_together(model: Path, tmp_path: Path) -> None:
    names = tmp_path / "documents"
    names.write_text("a\na\nb\nb\nb\nc\n")
    setting = judged(model)
    apart = tune_source(setting, METRIC, SMALL, wrong(setting), Plan(epochs=1, select="last"))
    together = tune_source(
        setting, METRIC, replace(SMALL, documents=str(names)), wrong(setting), Plan(epochs=1, select="last")
    )
    assert values(apart) != values(together)
    documents = [np.array([0, 1]), np.array([2, 3, 4]), np.array([5])]
    dealt = batches(documents, np.array([1, 0, 2]), 2, 2)
    assert dealt == [[[2, 3, 4], [5]], [[0, 1]]]
    assert batches(documents, np.array([1, 0, 2]), 1, 0) == [[[2, 3, 4, 0, 1, 5]]]
    names.write_text("a\n")
    with pytest.raises(InputError, match="expected 6 lines"):
        run(setting, replace(SMALL, documents=str(names)))


def test_what_it_cannot_do(model: Path, tmp_path: Path, cli: Cli) -> None:
    setting = judged(model)
    for metric, message in (
        (Chrf(), "`incremental`"),
        (Bleu(), "tokenize=none"),
        (Bleu(tokenize="none", order=3), "4-grams"),
        (Bleu(tokenize="none", smooth="floor"), "floor"),
        (Bleu(tokenize="none", effective_order=True), "effective_order"),
    ):
        with pytest.raises(OptionError, match=message):
            tune_source(setting, metric, SMALL, wrong(setting), Plan(epochs=1))
    for options in ({"chains": 0}, {"c": 0.0}, {"oracle": "x"}, {"merge": -1.0}, {"temperature": 0.0}):
        with pytest.raises(OptionError, match=r"must be|must not"):
            SampleRank(**options)
    lists = tmp_path / "x.nbest"
    lists.write_text("0 ||| a ||| LM= -1 ||| -1\n0 ||| b ||| LM= -2 ||| -2\n")
    (tmp_path / "ref").write_text("a\n")
    code, _, err = cli(
        "tune", "--nbest", lists, "--refs", tmp_path / "ref", "-t", "samplerank", "--out", tmp_path / "w"
    )
    assert code != 0 and "--model" in err


def test_tuning_on_the_command_line(model: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "src").write_text("\n".join(SOURCES) + "\n")
    (tmp_path / "ref").write_text("\n".join(REFERENCES) + "\n")
    arguments = ["tune", "--model", model, "--src", tmp_path / "src", "--refs", tmp_path / "ref", "--epochs", "2"]
    tuner = "samplerank:chains=2,samples=30,burn_in=5"
    code, out, err = cli(*arguments, "--tuner", tuner, "--out", tmp_path / "run", "--replications", "2", "--json")
    assert code == 0, err
    assert len(json.loads(out)["runs"]) == 2
    trace = [json.loads(line) for line in (tmp_path / "run" / "run2" / "trace.jsonl").read_text().splitlines()]
    assert [record["step"] for record in trace] == [0, 1, 2] and trace[1]["samples"] == 6 * 35


REPEAT = """
class Repeat:
    name = "repeat"

    def score(self, sources, targets):
        words = [word for text in targets for word in text.split()]
        return -len(set(words))


broken = Repeat()
broken.score = lambda sources, targets: 1 / 0
"""


def test_sampling_on_the_command_line(model: Path, tmp_path: Path, cli: Cli) -> None:
    source = tmp_path / "in.de"
    source.write_text("das haus ist klein\n\nist das quux klein\nklein\n")
    arguments = ["translate", "--model", model, "--input", source]
    beam = cli(*arguments)[1]
    code, out, err = cli(*arguments, "--search", "mcmc")
    assert (code, out) == (0, beam), err
    code, out, _ = cli(*arguments, "--search", "mcmc", "--mbr", "bleu", "--samples", "20", "--cold", "0.3")
    assert code == 0 and out.count("\n") == 4 and "quux" in out
    lists = tmp_path / "out.jsonl"
    code, _, _ = cli(*arguments, "--search", "mcmc", "--nbest", "5", "--nbest-out", lists, "--seed", "3")
    assert code == 0 and 4 < len(lists.read_text().splitlines()) <= 16
    (tmp_path / "repeat.py").write_text(REPEAT)
    (tmp_path / "documents").write_text("a\na\na\nb\n")
    feature = f"{tmp_path / 'repeat.py'}:Repeat=3"
    few = ["--samples", "50", "--burn-in", "50"]
    code, together, err = cli(
        *arguments, "--search", "mcmc", "--text-feature", feature, "--documents", tmp_path / "documents", *few
    )
    assert code == 0, err
    assert len(set(together.split())) <= len(set(beam.split()))


def test_sampling_options_are_checked(model: Path, tmp_path: Path, cli: Cli) -> None:
    source = tmp_path / "in.de"
    source.write_text("das haus\n")
    (tmp_path / "repeat.py").write_text(REPEAT)
    file = tmp_path / "repeat.py"
    for options, message in (
        (["--samples", "5"], "--samples needs --search mcmc"),
        (["--search", "mcmc", "--explain"], "does not go with --explain"),
        (["--search", "mcmc", "--documents", source], "only with --text-feature"),
        (["--search", "mcmc", "--cold", "2"], "temperature"),
        (["--search", "mcmc", "--mbr", "bleu", "--cold", "1", "--hot", "2"], "one temperature"),
        (["--search", "mcmc", "--text-feature", "x"], "module:object=weight"),
        (["--search", "mcmc", "--text-feature", "no.such:thing=1"], "cannot load"),
        (["--search", "mcmc", "--text-feature", f"{file}:Nothing=1"], "has no text feature"),
        (["--search", "mcmc", "--text-feature", f"{file}:Repeat=1", "--documents", file], "expected 1 lines"),
    ):
        code, _, err = cli("translate", "--model", model, "--input", source, *options)
        assert code != 0 and message in err, (options, err)
    with pytest.raises(OptionError, match=r"must not all be 0|must be"):
        Sampling(merge=0, reorder=0, retranslate=0)


def test_a_text_feature_that_fails_is_told(model: Path) -> None:
    class Broken:
        name = "broken"

        def score(self, sources: object, targets: object) -> float:
            raise ZeroDivisionError("here")

    class Nothing(Broken):
        def score(self, sources: object, targets: object) -> float:
            return float("nan")

    decoder = Decoder(model)
    with pytest.raises(ZeroDivisionError, match="here"):
        sampled(decoder, ["das haus"], text_features=[(Broken(), 1.0)])
    with pytest.raises(OptionError, match="must give a number"):
        sampled(decoder, ["das haus"], text_features=[(Nothing(), 1.0)])
    with pytest.raises(OptionError, match="2 lines"):
        sampled(decoder, ["das haus", "ist"], documents=[1])


def test_shares_are_what_risk_is_computed_with(model: Path) -> None:
    decoder = Decoder(model)
    found = sampled(decoder, ["das haus ist klein"], Sampling.of_model(samples=2_000))
    assert found.totals is not None and np.isclose(np.exp(found.totals).sum(), 1.0)
    assert found.texts[int(mbr(found, METRIC)[0])] in found.texts.to_list()


TEXT_FEATURE = """
class The:
    name = "the"
    def score(self, sources, targets):
        return float(sum(text.split().count("the") for text in targets))
class Broken:
    name = "broken"
    def score(self, sources, targets):
        raise ValueError("no value today")
"""


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "texts.py").write_text(TEXT_FEATURE)
    return str(tmp_path / "texts.py")


@pytest.mark.parametrize("tuner", [SMALL, PAPER], ids=["expected gain", "as in the paper"])
def test_weights_of_text_features_are_learned(model: Path, texts: str, tuner: SampleRank) -> None:
    """References have `the` where the wrong start weights prefer `that`: so the feature gets a positive weight."""
    asked = replace(tuner, text_features=(f"{texts}:The",))
    found = run(judged(model), asked)
    assert values(found)["text:the"] > 0.01
    assert values(run(judged(model, threads=2), asked)) == values(found)
    begun = run(judged(model), replace(asked, text_features=(f"{texts}:The=-5",)))
    assert values(begun)["text:the"] != values(found)["text:the"]
    with pytest.raises(ValueError, match="no value today"):
        run(judged(model), replace(asked, text_features=(f"{texts}:Broken",)))


def test_text_features_on_the_command_line(cli: Cli, model: Path, texts: str, tmp_path: Path) -> None:
    (tmp_path / "src").write_text("\n".join(SOURCES) + "\n")
    (tmp_path / "ref").write_text("\n".join(REFERENCES) + "\n")
    names = tmp_path / "documents"
    names.write_text("a\na\na\nb\nb\nb\n")
    files = ["--model", model, "--src", tmp_path / "src", "--refs", tmp_path / "ref", "--epochs", "2"]
    spec = f"samplerank:chains=2,samples=40,burn_in=5,documents={names}"
    out = tmp_path / "tuned"
    code, _, err = cli("tune", *files, "--tuner", spec, "--text-feature", f"{texts}:The=0.1", "--out", out)
    assert code == 0, err
    assert "text:the" in (out / "weights.toml").read_text()
    mcmc = ["translate", "--model", out, "--input", tmp_path / "src", "--search", "mcmc", "--seed", "1"]
    code, learned, err = cli(*mcmc, "--text-feature", f"{texts}:The")
    assert code == 0, err
    assert len(learned.splitlines()) == len(SOURCES)
    code, _, err = cli("translate", "--model", model, "--input", tmp_path / "src", "--search", "mcmc", "--text-feature",
                       f"{texts}:The")  # fmt: skip
    assert code == 1 and "the model has no weight for `the`" in err
    code, _, err = cli("tune", *files, "--tuner", "kbmira", "--text-feature", f"{texts}:The", "--out", out)
    assert code == 2 and "--text-feature needs --tuner samplerank" in err
