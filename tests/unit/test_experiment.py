"""Plans, steps, runs that are killed, and tables."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dragoman.demo.corpus import Sizes, write
from dragoman.errors import InputError
from dragoman.experiment import Experiment, Plan, read_plan
from dragoman.experiment.cutting import Part, cut
from dragoman.experiment.details import tell_details
from dragoman.experiment.runner import duration
from dragoman.experiment.steps import command_of
from dragoman.experiment.tables import Compared, Judge, holm
from dragoman.files import read_text

Cli = Callable[..., tuple[int, str, str]]

PLAN = """\
title = "A small experiment"
replications = 2
tokenized = true
metrics = ["bleu:tokenize=none"]
tests = ["test"]

[data.train]
src = "train.de"
refs = "train.en"
lines = "1-800"

[data.tune]
src = "tune.de"
refs = ["tune.en"]

[data.test]
src = "test.de"
refs = ["test.en"]

[train.base]
data = "train"
order = 3
classes = "none"

[system.start]
model = "base"

[tune.dense]
model = "base"
data = "tune"
held_out = 0.2
tuner = "kbmira"
epochs = 2
nbest_size = 20
pop_limit = 30
stack_size = 20

[tune.rich]
base = "dense"
tuner = "adagrad"
features = "pt,al"

[[compare]]
baseline = "start"
systems = ["dense", "rich"]
claim = "tuning helps"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus, and the plan; commands run there."""
    write(tmp_path, Sizes(train=900, tune=40, dev=10, test=30), 0)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(folder: Path, text: str) -> str:
    (folder / "bad.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        Experiment(read_plan("bad.toml"), folder / "out").check_size(yes=False)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("order = 3", "ordre = 3", 22, "unknown key `ordre`; did you mean order?"),
        ("epochs = 2", "epoch = 2", 33, "unknown key `epoch`; did you mean epochs?"),
        ('src = "tune.de"', 'src = "tuna.de"', 13, "no such file: tuna.de"),
        ('src = "tune.de"', 'src = "$NO_SUCH_PLACE/a"', 13, "the variable NO_SUCH_PLACE is not set"),
        ("[tune.rich]", "[tune.base]", 38, "two steps are called `base`: `train.base` and `tune.base`"),
        ("[tune.rich]", "[tune.dense]", 38, "two steps are called `tune.dense`: the other is in line 28"),
        ('base = "dense"', 'base = "rich"', 39, "a cycle: rich -> rich"),
        ('tuner = "kbmira"', 'tuner = "kbmirra"', 32, "did you mean kbmira?"),
        ('tuner = "kbmira"', 'tuner = "kbmira"\nstart = "dense"', 28, "a cycle: dense -> dense"),
        ('tuner = "kbmira"', 'tuner = "lattice-mira"\nmetric = "chrf"', 32, "a metric with the capability `linear`"),
        ("epochs = 2", "epochs = 0", 33, "epochs must be"),
        ('features = "pt,al"', 'features = "pt,all"', 41, "all"),
        ('features = "pt,al"', 'features = "pb:tags=english"', 41, "no such file: "),
        ('data = "train"', 'data = "trian"', 21, "no data set `trian`; did you mean train?"),
        ('systems = ["dense", "rich"]', 'systems = ["dens"]', 45, "no system `dens`; did you mean dense?"),
        ('lines = "1-800"', 'lines = "800-1"', 10, "lines must be ranges"),
        ("replications = 2", "replications = 10000", 28, "20,000 tuning runs"),
    ],
)
def test_bad_plans_are_refused_by_line(folder: Path, old: str, new: str, line: int, told: str) -> None:
    assert old in PLAN
    message = refused(folder, PLAN.replace(old, new, 1))
    assert message.startswith(f"bad.toml:{line}: ")
    assert told in message


def test_free_steps_in_a_circle_are_refused(folder: Path) -> None:
    more = '\n[step.a]\nrun = "true"\nneeds = ["b"]\n\n[step.b]\nrun = "true"\nneeds = ["a"]\n'
    assert "a cycle: a -> b -> a" in refused(folder, PLAN + more)


def test_a_grid_is_unfolded_and_a_large_one_needs_a_word(folder: Path, cli: Cli) -> None:
    grid = PLAN.replace("[tune.rich]", '[tune.dense.grid]\n"tuner.c" = [0.01, 0.1]\nepochs = [1, 2]\n\n[tune.rich]')
    (folder / "grid.toml").write_text(grid, encoding="utf-8")
    plan = read_plan("grid.toml")
    names = [t.name for t in plan.tune.values() if t.family == "dense"]
    assert names == ["dense:c=0.01,epochs=1", "dense:c=0.01,epochs=2", "dense:c=0.1,epochs=1", "dense:c=0.1,epochs=2"]
    assert {t.tuner for t in plan.tune.values() if t.family == "dense"} == {"kbmira:c=0.01", "kbmira:c=0.1"}
    told = refused(folder, grid.replace('baseline = "start"', 'baseline = "dense"'))
    assert "`dense` is a grid: name one of its settings, such as `dense:c=0.01,epochs=1`, or [choose] one" in told
    large = grid.replace("[0.01, 0.1]", str([n / 1000 for n in range(1, 2501)])).replace("replications = 2", "")
    (folder / "large.toml").write_text(large, encoding="utf-8")
    code, _, err = cli("experiment", "run", "large.toml", "--out", "out", "--dry-run")
    assert code == 1
    assert "large.toml:28: the plan has 10,000 tuning runs" in err
    assert not (folder / "out").exists()
    code, out, _ = cli("experiment", "run", "large.toml", "--out", "out", "--dry-run", "--yes", "--json")
    assert code == 0 and len(json.loads(out)["steps"]) > 20_000


ROOT = Path(__file__).resolve().parent.parent.parent
PLANS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("experiments/*/*.toml"))


@pytest.mark.parametrize("path", PLANS)
def test_the_plans_of_the_papers_are_sound(path: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_DATA", str(data))
    monkeypatch.chdir(ROOT)
    plan = read_plan(path)
    assert plan.comparisons and plan.runs <= 500
    assert str(data) not in plan.text
    # Every comparison says what it tests.
    assert all(one.claim for one in plan.comparisons)
    steps = Experiment(plan, Path("nowhere")).steps
    assert all(name in steps for step in steps.values() for name in step.needs)
    # Every name in braces of a command stands for something.
    commands = [command_of(step, steps) for step in steps.values() if step.free]
    assert not [word for words in commands for word in words if "{" in word]


def test_each_paper_has_its_plans() -> None:
    for paper in ("cherry", "eidelman", "galley", "green", "haddow"):
        assert {f"experiments/{paper}/{size}.toml" for size in ("small", "full")} <= set(PLANS)


CHOICE = """
[tune.strength]
base = "dense"
grid."tuner.c" = [0.01, 0.1]

[choose.best]
among = ["strength"]
on = "dev"

[data.dev]
src = "dev.de"
refs = "dev.en"

[[compare]]
baseline = "start"
systems = ["best"]
claim = "the strength that the development text chose helps"
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('["strength"]', '["strenght"]', 53, "no tuning run `strenght`; did you mean strength?"),
        ('["strength"]', '["strength:c=0.1"]', 53, "choice `best` needs `among`: two tuning runs or more, or a grid"),
        ('on = "dev"', 'on = "test"', 54, "`test` is among the `tests`: what chooses is no test; take it out of them"),
        ('on = "dev"', 'on = "dave"', 54, "no data set `dave`"),
        ('on = "dev"', 'off = "dev"', 54, "unknown key `off`"),
        ('on = "dev"', 'on = "dev"\nmetric = "blue"', 55, "bleu"),
        ('among = ["strength"]', 'among = ["strength", "other"]', 53, "differ in their runs"),
        ('among = ["strength"]', 'among = ["strength", "wide"]', 53, "differ in their options of the search"),
        ('["best"]', '["strength"]', 62, "only the best of `best` is tested, not each `strength`: compare `best`, or"),
        ("[choose.best]", "[choose.base]", 52, "two steps are called `base`"),
    ],
)
def test_bad_choices_are_refused_by_line(folder: Path, old: str, new: str, line: int, told: str) -> None:
    assert old in CHOICE
    text = PLAN + CHOICE.replace(old, new, 1)
    text += '\n[tune.other]\nbase = "dense"\nreplications = 1\n[tune.wide]\nbase = "dense"\npop_limit = 31\n'
    message = refused(folder, text)
    assert message.startswith(f"bad.toml:{line}: ")
    assert told in message


def test_only_the_best_on_a_development_set_is_tested(folder: Path, cli: Cli) -> None:
    (folder / "plan.toml").write_text(PLAN + CHOICE, encoding="utf-8")
    plan = read_plan("plan.toml")
    assert set(plan.tested) == {"start", "dense", "rich", "best"} and plan.tested["best"] == 2
    steps = Experiment(plan, folder / "out").steps
    assert not any(step.test for step in steps.values() if step.system.startswith("strength"))
    code, out, err = cli("experiment", "run", "plan.toml", "--out", "out", "--no-report")
    assert code == 0, err
    found = Experiment.opened(folder / "out")
    tables = found.tables()
    (choice,) = tables.choices
    assert f"best: chosen on dev: {choice.chosen.partition(':')[2]} (" in out
    # The same by hand: BLEU of what each run made of the development set.
    judge = Judge("bleu:tokenize=none", [[line] for line in read_text("dev.en")])
    for name, mean in choice.means.items():
        texts = [list(read_text(found.steps[f"translate {name} run{r} dev"].folder / "text")) for r in range(2)]
        scores = judge.metric.score(judge.statistics(texts).sum(axis=1))
        assert mean == pytest.approx(scores.mean()) and choice.deviations[name] == pytest.approx(scores.std(ddof=1))
    assert choice.means[choice.chosen] == max(choice.means.values())
    # The test text is that of the chosen runs.
    for run in range(2):
        tuned = found.steps[f"tune {choice.chosen} run{run}"].folder / "model" / "weights.toml"
        linked = found.steps["choose best"].folder / f"run{run}" / "model" / "weights.toml"
        assert linked.samefile(tuned)
    assert {row.system for row in tables.rows} == set(plan.tested)
    assert json.loads((folder / "out" / "tables.json").read_text(encoding="utf-8"))["choices"][0]["on"] == "dev"


def test_a_choice_among_runs_on_lists(folder: Path, cli: Cli) -> None:
    lists = """
[lists.many]
model = "base"
nbest_size = 20
pop_limit = 30

[tune.rescored]
lists = "many"
data = ["tune", "dev"]
replications = 1
grid.tuner = ["kbmira", "mert"]

[choose.best]
among = ["rescored"]
on = "late"

[data.dev]
src = "dev.de"
refs = "dev.en"

[data.late]
src = "train.de"
refs = "train.en"
lines = "801-820"
"""
    text = PLAN.partition("[tune.dense]")[0] + lists
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("experiment", "run", "plan.toml", "--out", "out", "--no-report")
    assert code == 0, err
    found = Experiment.opened(folder / "out")
    assert {row.system for row in found.tables().rows} == {"start", "best"}
    # The report shows candidates with what each feature adds, as it shows derivations.
    tell_details(found, found.tables(), pytest.fail)
    (told,) = (
        json.loads(path.read_text(encoding="utf-8")) for path in (folder / "out" / "details").glob("rerank*/told.json")
    )
    lines = list(read_text(found.steps["rerank best run0 test"].folder / "text"))
    assert told["system"] == "best" and len(told["sentences"]) == len(lines)
    for number, one in told["sentences"].items():
        (phrase,) = one["phrases"]
        assert phrase["target"] == lines[int(number)] == one["alternatives"][0]["text"]
        total = sum(one["weights"][name] * value for name, value in phrase["features"].items())
        assert one["score"] == pytest.approx(total) == one["alternatives"][0]["score"]
        scores = [other["score"] for other in one["alternatives"]]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) <= len(scores) <= 5
    joined = found.steps["join tune+dev"].folder
    for side, name in enumerate(("de", "en")):
        wanted = [*read_text(f"tune.{name}"), *read_text(f"dev.{name}")]
        assert list(read_text(joined / str(side))) == wanted


def test_a_tuning_text_of_several_data_sets(folder: Path) -> None:
    both = PLAN.replace('data = "tune"', 'data = ["tune", "test"]')
    steps = Experiment(read_plan_of(folder, both), folder / "out").steps
    assert "join tune+test" in steps["tune dense run0"].needs
    grid = PLAN.replace("[tune.rich]", '[tune.dense.grid]\ndata = ["tune", ["tune", "test"]]\n\n[tune.rich]')
    names = [t.name for t in read_plan_of(folder, grid).tune.values() if t.family == "dense"]
    assert names == ["dense:data=tune", "dense:data=tune+test"]
    assert "bad.toml:30: no data set `tunes`" in refused(folder, PLAN.replace('data = "tune"', 'data = ["tunes"]'))
    twice = refused(folder, PLAN.replace('data = "tune"', 'data = ["tune", "tune"]'))
    assert "`tune.dense` has a data set twice" in twice
    uneven = PLAN.replace('data = "tune"', 'data = ["tune", "test"]').replace('["test.en"]', '["test.en", "tune.en"]')
    assert "`tune` has 1, `test` has 2" in refused(folder, uneven)


def read_plan_of(folder: Path, text: str) -> Plan:
    (folder / "several.toml").write_text(text, encoding="utf-8")
    return read_plan("several.toml")


def test_a_file_that_a_feature_set_names_is_part_of_the_key(folder: Path) -> None:
    tags = folder / "english.tags"
    tags.write_text("the\tDT\n", encoding="utf-8")
    text = PLAN.replace('features = "pt,al"', f'features = "pt,pb:tags={tags}"')
    before = keys(text, folder)
    tags.write_text("the\tNN\n", encoding="utf-8")
    after = keys(text, folder)
    assert {n for n in before if before[n] != after[n]} == {n for n in before if " rich " in n}


def test_a_claim_that_the_correction_leaves_open_did_not_come_out() -> None:
    def told(p: float, corrected: float, difference: float, expect: str) -> str:
        return Compared(
            "test", "bleu", "a", "b", 20.0, 20.0 + difference, difference, difference, p, corrected, 3, "", expect, 100
        ).outcome  # fmt: skip

    assert told(0.01, 0.04, 1.0, "above") == "came out"
    assert told(0.01, 0.06, 1.0, "above") == "open after correction: the direction is as claimed"
    assert told(0.01, 0.06, 1.0, "below") == "open after correction: the direction is the other one"
    assert told(0.2, 0.6, 1.0, "above") == "open: the direction is as claimed"
    assert told(0.01, 0.06, 1.0, "level") == "open after correction"
    assert told(0.01, 0.02, 1.0, "level") == "differs"
    assert told(0.06, 0.06, 1.0, "level") == "no difference found"


def keys(text: str, folder: Path) -> dict[str, str]:
    (folder / "other.toml").write_text(text, encoding="utf-8")
    return {name: step.key for name, step in Experiment(read_plan("other.toml"), folder / "out").steps.items()}


def test_a_changed_line_changes_only_what_depends_on_it(folder: Path) -> None:
    before = keys(PLAN, folder)
    rich = keys(PLAN.replace('features = "pt,al"', 'features = "pt"'), folder)
    changed = {name for name in before if before[name] != rich[name]}
    assert changed == {n for n in before if " rich " in n}
    corpus = keys(PLAN.replace('lines = "1-800"', 'lines = "1-700"'), folder)
    assert not {n for n in before if before[n] == corpus[n]}
    assert keys(PLAN.replace("A small", "Another"), folder) == before
    (folder / "tune.en").write_text((folder / "tune.en").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    text = keys(PLAN, folder)
    changed = {name for name in before if before[name] != text[name]}
    assert changed == {n for n in before if " rich " in n or " dense " in n}


def test_parts_of_texts(tmp_path: Path) -> None:
    lines = [f"line {n % 7}" for n in range(1, 31)]
    for name in ("a", "b"):
        (tmp_path / name).write_text("\n".join(f"{name} {line}" for line in lines) + "\n", encoding="utf-8")
    texts = [tmp_path / "a", tmp_path / "b"]
    rng = np.random.default_rng(0)
    for number in range(20):
        first, fold = int(rng.integers(1, 20)), int(rng.integers(0, 5))
        part = Part(f"{first}-25", f"{fold}/5", "1/3", distinct=bool(number % 2))
        wanted = [
            (n, line) for n, line in enumerate(lines, 1) if first <= n <= 25 and n % 5 == fold and n % 3 != 1
        ]  # fmt: skip
        if not wanted:
            continue
        texts_ = [line for _, line in wanted]
        expected = list(dict.fromkeys(texts_)) if number % 2 else texts_
        assert cut(texts, part, tmp_path / "out") == len(expected)
        assert list(read_text(tmp_path / "out" / "1")) == [f"b {line}" for line in expected]
    (tmp_path / "other").write_text("a line 3\n", encoding="utf-8")
    assert cut(texts, Part(), tmp_path / "out", [tmp_path / "other"]) == sum(line != "line 3" for line in lines)


def test_holm_is_the_step_down_method() -> None:
    # Holm (1979): the smallest of m times m, the next times m - 1, ..., never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_durations_as_people_say_them() -> None:
    assert [duration(s) for s in (3, 150, 7200)] == ["3 s", "2 min", "2.0 h"]


def start(*more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dragoman", "experiment", "run", "plan.toml", "--out", "out", "--jobs", "2", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def killed_and_finished(folder: Path, kills: int, wait: Callable[[int], float], *, group: bool) -> str:
    """The tables of a run that was killed several times; with `group` its commands are killed, too."""
    for number in range(kills):
        process = start()
        time.sleep(wait(number))
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
        process.communicate()
    last = start()
    last.communicate(timeout=600)
    assert last.returncode == 0
    return (folder / "out" / "tables.json").read_text(encoding="utf-8")


def test_a_killed_run_goes_on_and_ends_with_the_same_tables(folder: Path, cli: Cli) -> None:
    tables = killed_and_finished(folder, 1, lambda _: 4.0, group=True)
    code, out, err = cli("experiment", "status", "out")
    assert code == 0 and "11 of 11 steps are done" in out
    code, out, err = cli("experiment", "run", "plan.toml", "--out", "out", "--dry-run")
    assert code == 0 and "0 steps to run, 11 are done" in out
    # A run that nobody killed, in another place.
    code, out, err = cli("experiment", "run", "plan.toml", "--out", "whole", "--no-report")
    assert code == 0, err
    assert "left" in err and "p (Holm)" in out
    assert (folder / "whole" / "tables.json").read_text(encoding="utf-8") == tables
    # A changed line: its own steps run, and no others.
    changed = PLAN.replace('features = "pt,al"', 'features = "pt"')
    (folder / "plan.toml").write_text(changed, encoding="utf-8")
    code, out, err = cli("experiment", "run", "plan.toml", "--out", "whole", "--dry-run", "--json")
    assert code == 0
    todo = json.loads(out)
    assert {s["step"] for s in todo["steps"] if not s["done"]} == {
        "tune rich run0", "tune rich run1", "translate rich run0 test", "translate rich run1 test"
    }  # fmt: skip
    assert todo["unknown"] == 0 and todo["seconds"] > 0


@pytest.mark.long
@pytest.mark.parametrize("group", [True, False])
def test_ten_kills_at_random_moments(folder: Path, cli: Cli, group: bool) -> None:
    moments = np.random.default_rng(7)
    tables = killed_and_finished(folder, 10, lambda _: float(moments.uniform(0.5, 6)), group=group)
    code, _, err = cli("experiment", "run", "plan.toml", "--out", "whole", "--no-report")
    assert code == 0, err
    assert (folder / "whole" / "tables.json").read_text(encoding="utf-8") == tables


def test_a_step_that_fails_is_told_with_its_command(folder: Path, cli: Cli) -> None:
    text = 'tests = []\n[step.good]\nrun = "python -c pass"\n[step.bad]\nrun = "python -c \'raise SystemExit(3)\'"\n'
    (folder / "fail.toml").write_text(
        text + '[step.after]\nrun = "python -c pass"\nneeds = ["bad"]\n', encoding="utf-8"
    )
    code, _, err = cli("experiment", "run", "fail.toml", "--out", "out")
    assert code == 1
    assert "step `step bad` failed" in err and "to see it fail alone: python -c 'raise SystemExit(3)'" in err
    code, out, _ = cli("experiment", "status", "out", "--json")
    assert {row["step"]: row["state"] for row in json.loads(out)} == {
        "step good": "done", "step bad": "failed", "step after": "waits"
    }  # fmt: skip
    code, _, err = cli("experiment", "status", "nothing")
    assert code == 1 and "no experiment is here" in err


def test_free_steps_see_the_folders_of_what_they_need(folder: Path, cli: Cli) -> None:
    run = 'python -c \'import pathlib; pathlib.Path("{out}/x").write_text("ok")\''
    look = "python -c 'import pathlib; print(pathlib.Path(\"{first}/x\").read_text())'"
    steps = f'[step.first]\nrun = {json.dumps(run)}\n[step.second]\nrun = {json.dumps(look)}\nneeds = ["first"]\n'
    text = f"tests = []\n{steps}"
    (folder / "free.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("experiment", "run", "free.toml", "--out", "out", "--engine", "processes")
    assert code == 0, err
    found = Experiment.opened(folder / "out")
    assert (found.steps["step second"].folder / "stdout").read_text(encoding="utf-8") == "ok\n"


def test_free_steps_name_data_sets_and_translations(folder: Path, cli: Cli) -> None:
    more = """
[data.several]
src = "tune.de"
refs = ["tune.en", "tune.en"]
lines = "1-10"

[step.scored]
run = "dragoman score {start.run0.test}/text --refs {data.test.refs} --metric bleu:tokenize=none"
needs = ["start", "data.test"]

[step.told]
run = "python -c 'import sys; print(sys.argv[1:])' {data.several.src} {data.several.refs} x={data.several.refs}"
needs = ["data.several"]
"""
    text = PLAN.partition("[tune.dense]")[0] + more
    assert "no data set `testt`" in refused(folder, text.replace('"data.test"', '"data.testt"'))
    lacking = refused(folder, text.replace('needs = ["start", "data.test"]', 'needs = ["data.test"]'))
    assert "`{start.run0.test}` is in `run`: `needs` must have `start`" in lacking
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("experiment", "run", "plan.toml", "--out", "out", "--no-report")
    assert code == 0, err
    found = Experiment.opened(folder / "out")
    assert f"{found.tables().rows[0].mean:.2f}" in (found.steps["step scored"].folder / "stdout").read_text("utf-8")
    cut_out = found.steps["cut several"].folder
    one, two, three = (str(cut_out.relative_to(folder) / str(n)) for n in range(3))
    told = (found.steps["step told"].folder / "stdout").read_text("utf-8")
    assert told.replace(f"{folder}/", "") == f"{[one, two, three, f'x={two},{three}']}\n"


def test_target_text_of_data_sets(folder: Path) -> None:
    text = PLAN.replace("order = 3", 'order = 3\nlm_text = ["tune", "dev.en"]\nlm_mix = "test"')
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    step = Experiment(read_plan("plan.toml"), folder / "out").steps["train base"]
    words = command_of(step, Experiment(read_plan("plan.toml"), folder / "out").steps)
    assert words[words.index("--lm-text") :][:3] == ["--lm-text", "tune.en", "dev.en"]
    assert words[words.index("--lm-mix") :][:2] == ["--lm-mix", "test.en"]
    assert "bad.toml:23: no such file: tuna" in refused(folder, text.replace('["tune",', '["tuna",'))
    before = keys(text, folder)
    (folder / "dev.en").write_text("x\n", encoding="utf-8")
    assert keys(text, folder)["train base"] != before["train base"]


def test_each_command_runs_alone_as_it_is_shown(folder: Path, cli: Cli) -> None:
    text = PLAN.replace("replications = 2", "replications = 1").partition("[tune.rich]")[0]
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("experiment", "run", "plan.toml", "--out", "out", "--no-report")
    assert code == 0, err
    found = Experiment.opened(Path("out"))
    for name, step in found.steps.items():
        whole = {path: path.read_bytes() for path in step.folder.glob("text")}
        for path in whole:
            path.unlink()
        program, *words = shlex.split(found.command(name))
        code, _, err = cli(*words)
        assert (program, code) == ("dragoman", 0), err
        assert {path: path.read_bytes() for path in step.folder.glob("text")} == whole


def test_options_name_the_folders_of_steps(folder: Path, cli: Cli) -> None:
    command = (
        "dragoman features boost --model {base}/model --src {data.part.src} --refs {data.part.refs} --out {out}/t.json "
        "--trees 3 --least-rules 2 --least-difference 0 --keep all --nbest-size 20"
    )
    boosted = """
[step.boost]
run = "COMMAND"
needs = ["base", "data.part"]

[data.part]
src = "tune.de"
refs = ["tune.en", "tune.en"]
lines = "1-20"

[lists.boosted]
model = "base"
nbest_size = 20
features = "boosted:file={boost}/t.json"

[tune.lists]
lists = "boosted"
data = "tune"
tuner = "kbmira"
replications = 1

[tune.searched]
base = "dense"
features = "boosted:file={boost}/t.json"
replications = 1
"""
    text = PLAN.partition("[tune.rich]")[0] + boosted.replace("COMMAND", command)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("experiment", "run", "plan.toml", "--out", "out", "--no-report")
    assert code == 0, err
    found = Experiment.opened(folder / "out")
    trees = found.steps["step boost"].folder / "t.json"
    assert len(json.loads(trees.read_text(encoding="utf-8"))["trees"]) == 3
    tuned = found.steps["tune searched"].folder / "model" / "features" / "t.json"
    assert tuned.read_bytes() == trees.read_bytes()
    assert "boosted:3" in (found.steps["tune lists"].folder / "weights.toml").read_text(encoding="utf-8")
    # What depends on the trees has another key when they are made another way.
    before, after = keys(text, folder), keys(text.replace("--trees 3", "--trees 4"), folder)
    owners = {"boost", "lists", "boosted", "searched"}
    assert {n for n in before if before[n] != after[n]} == {n for n in before if owners & set(n.split())}
    assert keys(text.replace('lines = "1-20"', 'lines = "1-21"'), folder)["step boost"] != before["step boost"]
    for old, new, line, told in (
        ("{boost}/t.json", "{bost}/t.json", 51, "no step `bost`; did you mean boost?"),
        ('needs = ["base", ', 'needs = ["base", "boosted", ', 0, "a cycle: boost -> boosted -> boost"),
    ):
        message = refused(folder, text.replace(old, new, 1))
        assert told in message and (not line or message.startswith(f"bad.toml:{line}: ")), message
