"""Training as a whole: models that work, runs that are killed at any moment, folders that are not ours, bad input."""

from __future__ import annotations

import itertools
import json
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman import alignment, corpus, grammars, lm
from dragoman.decoder import Decoder
from dragoman.demo.corpus import Sizes, generate
from dragoman.errors import InputError, OptionError
from dragoman.model import Model
from dragoman.options import flat, made, plain
from dragoman.rules import Table
from dragoman.training import STEPS, Options, pipeline, steps, train

QUICK = alignment.Options(samplers=1, sweeps=(2, 2, 2))
SMALL = Options.of(classes=(4,), order=3, tokenized=True)
Cli = Callable[..., tuple[int, str, str]]
Pair = tuple[Path, Path]


def sentences() -> Iterator[tuple[str, str]]:
    """A small language, whose verbs go to the end after `weil`."""
    things = {"hund": "dog", "mann": "man", "vogel": "bird", "wagen": "car", "baum": "tree"}
    verbs = {"sieht": "sees", "kennt": "knows", "sucht": "seeks"}
    colours = {"": "", "alte ": "old ", "kleine ": "small "}
    for (a, b), (v, w), (x, y), (c, d) in itertools.product(
        things.items(), verbs.items(), things.items(), colours.items()
    ):
        if a != x:
            yield f"der {c}{a} {v} den {x} .", f"the {d}{b} {w} the {y} ."
            yield f"weil der {c}{a} den {x} {v} .", f"because the {d}{b} {w} the {y} ."


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return write(tmp_path, sentences())


def write(folder: Path, pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> Pair:
    source, target = zip(*pairs, strict=True)
    (folder / "t.de").write_text("\n".join(source) + "\n", encoding="utf-8")
    (folder / "t.en").write_text("\n".join(target) + "\n", encoding="utf-8")
    return folder / "t.de", folder / "t.en"


def content(folder: Path) -> dict[str, bytes]:
    """Everything but the times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.json"}


def test_what_reordering_looks_back_to(pair: Pair, tmp_path: Path) -> None:
    """Options of the search go into the model's description, and the decoder reads them."""
    asked = Options.of(classes=(), order=2, tokenized=True, parser="unrestricted", distortion="completion")
    train(*pair, tmp_path / "m", asked)
    parts = {part.kind: dict(part.options) for part in Model.open(tmp_path / "m").parts}
    assert parts["distortion"] == {"cost": "completion"}
    assert (parts["reordering"]["top"], parts["reordering"]["parser"]) == ("stack", "unrestricted")
    assert Decoder(tmp_path / "m").translate(["der baum ."]) == ["the tree ."]
    for wrong, said in (
        ({"parser": "unrestricted", "reordering": ("phrase",)}, "parser is of the reordering models hier and maxent"),
        ({"system": "hiero", "distortion": "completion"}, "distortion is an option of the phrase-based system"),
    ):
        with pytest.raises(OptionError, match=said):
            Options.of(**wrong)


def test_a_model_translates(pair: Pair, tmp_path: Path) -> None:
    seen: list[str] = []
    trained = train(*pair, tmp_path / "m", SMALL, progress=lambda name, _d, _t: seen.append(name))
    assert tuple(step.name for step in trained.steps) == STEPS
    assert list(dict.fromkeys(seen)) == list(STEPS)
    decoder = Decoder(tmp_path / "m")
    assert decoder.translate(["weil der alte baum den wagen sieht ."]) == ["because the old tree sees the car ."]
    names = {path.name for path in (tmp_path / "m").iterdir()}
    model = Model.open(tmp_path / "m")
    assert names == {*model.files, "model.toml", "weights.toml", "report.json"}
    made = {f"{side}.{file}" for side in ("source", "target") for file in ("4.classes", "words")}
    assert {"rules", "lm", "aligner", *made} == set(model.files)
    model.verify()
    assert {*(tmp_path.iterdir())} == {tmp_path / "m", *pair}


def test_the_same_run_again_gives_the_model_back(pair: Pair, tmp_path: Path) -> None:
    first = train(*pair, tmp_path / "m", SMALL)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "m").iterdir()}
    again = train(*pair, tmp_path / "m", SMALL)
    assert again.model.signature == first.model.signature and all(step.reused for step in again.steps)
    assert [step.wall for step in again.steps] == [step.wall for step in first.steps]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "m").iterdir()}
    (tmp_path / "m" / "report.json").unlink()
    assert train(*pair, tmp_path / "m", SMALL).steps == []


def test_memory_is_no_part_of_a_model(pair: Pair, tmp_path: Path) -> None:
    train(*pair, tmp_path / "a", SMALL)
    train(*pair, tmp_path / "b", Options.of(classes=(4,), order=3, memory="16M", tokenized=True))
    assert content(tmp_path / "a") == content(tmp_path / "b")


class _Dead(BaseException):
    """The process is gone: from here on nothing changes on the disk."""


class _Death:
    """From its `moment`-th change of a file on, Python cannot change any: to the disk, that is a killed process."""

    watched = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir"})

    def __init__(self) -> None:
        self.root, self.moment, self.count = "", 0, 0
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.moment or not (event in self.watched or (event == "open" and isinstance(args[1], str))):
            return
        changes = event != "open" or set(args[1]) & set("wax+")
        removed = event in {"os.remove", "os.rmdir"} and args[1] != -1  # by rmtree, inside a folder that it has open
        if removed or (changes and str(args[0]).startswith(self.root)):
            self.count += 1
            if self.count >= self.moment:
                raise _Dead


DEATH = _Death()


@pytest.mark.parametrize("again", [False, True], ids=["new", "overwrite"])
def test_death_at_every_change_of_the_folder(pair: Pair, tmp_path: Path, again: bool) -> None:
    """Whatever the moment, a run leaves no half model, and the same run again ends as if nothing had been."""
    small = write(tmp_path, list(itertools.islice(sentences(), 30)))
    wanted = replace(Options.of(classes=(2,), order=2, tokenized=True), alignment=QUICK)
    train(*small, tmp_path / "wanted", wanted)
    other = replace(Options.of(classes=(3,), order=2, tokenized=True), alignment=QUICK)
    moments = 0
    for moment in itertools.count(1):
        out = tmp_path / f"m{moment}"
        if again:
            train(*small, out, other)
        DEATH.root, DEATH.count, DEATH.moment = str(out), 0, moment
        try:
            train(*small, out, wanted, overwrite=again)
        except _Dead:
            moments += 1
        else:
            break
        finally:
            DEATH.moment = 0
        if (out / "model.toml").exists():
            Model.open(out).verify()
        state = out / ".train" / "state.json"
        noted = json.loads(state.read_text()) if state.exists() else {"steps": []}
        resumed = train(*small, out, wanted, overwrite=again and not state.exists() and old(out))
        assert all(step.reused for step in resumed.steps if step.name in noted["steps"]), "what is done is done"
        assert content(out) == content(tmp_path / "wanted"), moment
    assert moments > 20


def old(out: Path) -> bool:
    return bool(Model.open(out).made["options"]["classes"] == [3])


MAIN = "from dragoman.cli import main; main()"
KILLED = """
import os, signal, sys, threading
from pathlib import Path
from dragoman.training import train
source, target, out, step, delay, system = sys.argv[1:]
def progress(name, done, total):
    if name == step and done == 0:
        threading.Timer(float(delay), lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
train(source, target, out, classes=(4, 9), order=3, tokenized=True, progress=progress, system=system)
"""


@pytest.mark.parametrize(("seed", "system"), [(1, "phrase"), (2, "phrase"), (3, "hiero")])
def test_kill_in_each_step(pair: Pair, tmp_path: Path, seed: int, system: str) -> None:
    """A run that is killed again and again, at a random moment of each step, makes the files of one that is not."""
    options = Options.of(classes=(4, 9), order=3, tokenized=True, system=system)
    whole = train(*pair, tmp_path / "whole", options)
    rng = random.Random(seed)
    killed = 0
    for step in whole.steps:
        arguments = [*map(str, pair), str(tmp_path / "m"), step.name, str(rng.random() * step.wall), system]
        code = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode
        assert code in {0, -signal.SIGKILL}
        killed += code != 0
        if not (tmp_path / "m" / "model.toml").exists():
            with pytest.raises(InputError, match="without model"):
                Model.open(tmp_path / "m")
    assert killed >= 2
    train(*pair, tmp_path / "m", options)
    assert content(tmp_path / "m") == content(tmp_path / "whole")


def test_kill_in_the_extraction_of_rules_with_gaps(tmp_path: Path) -> None:
    """Killed in the middle of it: what was done before is kept, and the model is that of a run that was not killed."""
    sides = zip(*generate(Sizes(train=3000, tune=20, dev=20, test=20))["train"], strict=True)
    for name, side in zip(("de", "en"), sides, strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    pair = tmp_path / "de", tmp_path / "en"
    options = Options.of(classes=(4, 9), order=3, tokenized=True, system="hiero")
    whole = train(*pair, tmp_path / "whole", options)
    [taken] = [step.wall for step in whole.steps if step.name == "rules"]
    arguments = [*map(str, pair), str(tmp_path / "m"), "rules", str(taken / 3), "hiero"]
    code = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode
    assert code == -signal.SIGKILL
    again = train(*pair, tmp_path / "m", options)
    assert {step.name: step.reused for step in again.steps} == {
        "clean": True, "align": True, "rules": False, "lm": False, "classes": False,
    }  # fmt: skip
    assert content(tmp_path / "m") == content(tmp_path / "whole")


def test_steps_that_are_done_are_not_done_again(pair: Pair, tmp_path: Path) -> None:
    work = tmp_path / "m" / ".train"

    def stop(name: str, done: int, _total: int) -> None:
        if name == "classes" and done == 1:
            assert (work / "source.4.classes").exists()
            raise KeyboardInterrupt

    def look(_name: str, done: int, _total: int) -> None:
        assert done or names() == kept

    def names() -> set[str]:
        return {path.name for path in work.iterdir()}

    kept = {"state.json", "lock", "clean.source", "clean.target", "links", "aligner", "rules", "lm"}
    with pytest.raises(KeyboardInterrupt):
        train(*pair, tmp_path / "m", SMALL, progress=stop)
    assert names() == kept
    (work / ".target.4.classes.1.partial").write_bytes(b"left by a killed run")
    (tmp_path / "m" / ".model.toml.1.partial").write_bytes(b"left by a killed run")
    trained = train(*pair, tmp_path / "m", SMALL, progress=look)
    assert [step.reused for step in trained.steps] == [True, True, True, True, False]
    assert not work.exists()
    assert not [path.name for path in (tmp_path / "m").iterdir() if path.name.startswith(".")]


def test_two_runs_at_once(pair: Pair, tmp_path: Path) -> None:
    def second(name: str, _done: int, _total: int) -> None:
        if name == "rules":
            with pytest.raises(InputError, match="another run is filling this folder"):
                train(*pair, tmp_path / "m", SMALL)

    train(*pair, tmp_path / "m", SMALL, progress=second).model.verify()


@pytest.mark.parametrize("change", ["options", "source", "seed"])
def test_changed_runs_are_refused(pair: Pair, tmp_path: Path, change: str) -> None:
    def stop(name: str, _done: int, _total: int) -> None:
        if name == "rules":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(*pair, tmp_path / "m", SMALL, progress=stop)
    options = SMALL
    if change == "source":
        pair[0].write_text(pair[0].read_text().replace("hund", "wolf"))
    else:
        changed = {"order": 4} if change == "options" else {"seed": 7}
        options = Options.of(**{"classes": (4,), "order": 3, "tokenized": True, **changed})
    with pytest.raises(InputError, match="other inputs or options; use --overwrite"):
        train(*pair, tmp_path / "m", options)
    trained = train(*pair, tmp_path / "m", options, overwrite=True)
    assert not any(step.reused for step in trained.steps)


def test_a_model_of_another_run_stays_until_the_new_one_is_ready(pair: Pair, tmp_path: Path) -> None:
    out = tmp_path / "m"
    train(*pair, out, SMALL)
    (out / "mine.toml").write_text("tuned by hand")
    other = Options.of(classes=(), order=2, tokenized=True)
    with pytest.raises(InputError, match="a model of another run; use --overwrite"):
        train(*pair, out, other)

    def look(_name: str, _done: int, _total: int) -> None:
        Model.open(out).verify()
        assert "target.4.classes" in Model.open(out).files

    train(*pair, out, other, overwrite=True, progress=look)
    assert Model.open(out).files.keys() == {"rules", "lm", "aligner"}
    assert not (out / "target.4.classes").exists() and (out / "mine.toml").read_text() == "tuned by hand"


@pytest.mark.parametrize("overwrite", [False, True])
def test_foreign_folders_are_refused(pair: Pair, tmp_path: Path, overwrite: bool) -> None:
    out = tmp_path / "home"
    out.mkdir()
    (out / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="something else"):
        train(*pair, out, SMALL, overwrite=overwrite)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
    with pytest.raises(InputError, match="expected a folder, found a file"):
        train(*pair, out / "thesis.txt", SMALL, overwrite=overwrite)
    with pytest.raises(InputError, match="Not a directory"):
        train(*pair, out / "thesis.txt" / "m", SMALL, overwrite=overwrite)


def test_a_disk_that_is_full(pair: Pair, tmp_path: Path) -> None:
    """Files may have 20 kB at most: a step fails, says so, and leaves nothing half-written."""
    command = [sys.executable, "-c", MAIN, "train", "--src", pair[0], "--tgt", pair[1], "--out", tmp_path / "m"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    run = subprocess.run([*map(str, command)], preexec_fn=limit, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "File too large" in run.stderr and str(tmp_path / "m") in run.stderr
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]
    assert not (tmp_path / "m" / "model.toml").exists()
    assert subprocess.run([*map(str, command)], capture_output=True, check=False).returncode == 0


def test_errors_leave_no_folder(pair: Pair, tmp_path: Path) -> None:
    pair[1].write_text(pair[1].read_text() + "one more\n")
    with pytest.raises(InputError, match=r"t\.(de|en):\d+"):
        train(*pair, tmp_path / "m", SMALL)
    assert {*(tmp_path.iterdir())} == {*pair}


def test_a_run_that_was_killed_in_its_first_step_is_no_hindrance(pair: Pair, tmp_path: Path) -> None:
    """There is nothing in the folder that would be lost."""
    script = f"""
import os, sys
from dragoman.training import train
kill = lambda *_: os.kill(os.getpid(), 9)
train({str(pair[0])!r}, {str(pair[1])!r}, {str(tmp_path / "m")!r}, tokenized=True, progress=kill)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "m" / ".train" / "state.json").exists()
    train(*pair, tmp_path / "m", SMALL).model.verify()


def test_a_failed_first_step_leaves_room_for_other_inputs(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    with pytest.raises(InputError, match="no sentence pair is left after cleaning; dropped: 360 short"):
        train(*pair, tmp_path / "m", SMALL, max_words=100, min_words=90)
    train(*pair, tmp_path / "m", SMALL).model.verify()


def test_memory_is_counted_in_bytes_where_the_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    monkeypatch.setattr(resource, "getrusage", lambda _who: used)
    monkeypatch.setattr(Path, "read_text", lambda *_a, **_k: "no such line")
    for platform, unit in (("linux", 1024), ("darwin", 1)):
        monkeypatch.setattr(sys, "platform", platform)
        assert steps.peak() == unit * used.ru_maxrss


def odd() -> list[tuple[str, str]]:
    """Sentences among which some are not as they should be."""
    return [
        ("", "nothing on the left"),
        ("nichts rechts", " "),
        ("wort " * 10_000, "word " * 10_000),
        ("ein\x07 ho\u00adher \x1bberg", "a\x00 high hill"),
        ("a ||| b | c", "a ||| b | c"),
        ("<s> satz </s>", "<s> sentence </s>"),
        *sentences(),
    ]


def test_bad_lines_are_counted(tmp_path: Path, cli: Cli) -> None:
    source, target = write(tmp_path, odd())
    code, out, _ = cli(
        "train", "--src", source, "--tgt", target, "--tokenized", "--out", tmp_path / "m", "--classes", 2, "--order", 3
    )
    assert code == 0
    assert "dropped: 2 empty, 1 long" in out
    report = json.loads((tmp_path / "m" / "report.json").read_text())["steps"][0]["report"]
    assert report["places"]["empty"] == [f"{source}:1", f"{source}:2"] and report["places"]["long"] == [f"{source}:3"]
    assert report["invisible"] == 1 and report["escaped"] == 1
    code, found, _ = translate(cli, tmp_path, "a ||| b | c\nein hoher berg\n")
    assert found == "a ||| b | c\na high hill\n"
    assert Decoder(tmp_path / "m").text.before(["a | \x07b"]) == ["a &#124; b"]


def translate(cli: Cli, folder: Path, text: str, *arguments: str) -> tuple[int, str, str]:
    (folder / "in").write_text(text, encoding="utf-8")
    return cli("translate", "--model", folder / "m", "--input", folder / "in", *arguments)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"ein haus\nzwei\n", b"a house\n", r"t\.(de|en):2"),
        (b"ein haus\n\xff\xfe\n", b"a house\ntwo\n", r"t\.de:2: .*UTF-8"),
        (b"", b"", r"no sentence pair is left|empty"),
        (b"\n\n", b"a\nb\n", r"no sentence pair is left after cleaning; dropped: 2 empty"),
    ],
    ids=["unequal", "not UTF-8", "no line", "no pair left"],
)
def test_bad_files_are_refused(tmp_path: Path, source: bytes, target: bytes, message: str) -> None:
    (tmp_path / "t.de").write_bytes(source)
    (tmp_path / "t.en").write_bytes(target)
    with pytest.raises(InputError, match=message):
        train(tmp_path / "t.de", tmp_path / "t.en", tmp_path / "m", SMALL)
    assert not (tmp_path / "m").exists()


def test_a_text_of_one_pair(tmp_path: Path) -> None:
    train(*write(tmp_path, [("haus", "house")]), tmp_path / "m", SMALL)
    assert Decoder(tmp_path / "m").translate(["haus", "baum"]) == ["house", "baum"]


@pytest.mark.parametrize("missing", ["src", "lm", "exclude", "alignments"])
def test_missing_files(pair: Pair, tmp_path: Path, missing: str) -> None:
    nowhere = str(tmp_path / "nowhere")
    options = {
        "lm": Options.of(lm_text=[nowhere]),
        "exclude": Options.of(exclude=[nowhere]),
        "alignments": Options(alignments=nowhere),
    }.get(missing, SMALL)
    with pytest.raises(InputError, match="nowhere: no such file"):
        train(nowhere if missing == "src" else pair[0], pair[1], tmp_path / "m", options)


def test_language_models_of_several_texts_are_mixed_as_a_text_likes_best(pair: Pair, tmp_path: Path) -> None:
    other, like = tmp_path / "other.en", tmp_path / "like.en"
    other.write_text("a bird is no tree .\nno tree is a bird .\n" * 20, encoding="utf-8")
    like.write_text("no dog is a bird .\nthe dog sees a bird .\n", encoding="utf-8")
    trained = train(*pair, tmp_path / "m", SMALL, lm_text=(other,), lm_mix=(like,))
    told = next(step.report for step in trained.steps if step.name == "lm")
    alone = [tmp_path / "one.arpa", tmp_path / "two.arpa"]
    for text, out in zip((pair[1], other), alone, strict=True):
        lm.estimate(text, out, order=3, discount_fallback=(0.5, 1.0, 1.5))
    lines = like.read_text(encoding="utf-8").splitlines()
    models = [lm.Model(path) for path in alone]
    weights = lm.tune_weights(models, lines)
    assert told["weights"] == pytest.approx(weights) and min(weights) > 0.1
    mixed = lm.Model(tmp_path / "m" / "lm").score(lines)
    assert mixed.logs.sum() == pytest.approx(lm.Mixture(models, weights).score(lines).logs.sum(), rel=0.02)
    assert mixed.logs.sum() > max(model.score(lines).logs.sum() for model in models)
    with pytest.raises(OptionError, match="give more text with lm_text"):
        train(*pair, tmp_path / "n", SMALL, lm_mix=(like,))


def test_alignments_from_elsewhere(pair: Pair, tmp_path: Path) -> None:
    """The text is taken as it is, odd lines and all, so that lines stay in step with the links."""
    source, target = write(tmp_path, [("", "x"), ("ein | ||| haus", "a | ||| house"), *sentences()])
    links = []
    for a, b in zip(source.read_text().splitlines(), target.read_text().splitlines(), strict=True):
        words = len(a.split()) if a and len(a.split()) == len(b.split()) else 0
        links.append(" ".join(f"{i}-{i}" for i in range(words)))
    (tmp_path / "links").write_text("\n".join(links) + "\n")
    trained = train(source, target, tmp_path / "m", alignments=tmp_path / "links", classes=(2,), order=3)
    report = {step.name: step.report for step in trained.steps}
    assert report["clean"] == {} and report["rules"]["empty"] == 1 and report["rules"]["bars"] == 1
    assert "aligner" not in trained.model.files and trained.model.text == {}
    decoder = Decoder(trained.model)
    assert decoder.text.before(["Ein  Haus |"]) == ["Ein  Haus |"]
    assert decoder.translate(["der hund sieht den baum ."]) == ["the dog sees the tree ."]


@pytest.mark.parametrize(
    ("line", "message"),
    [("0-0 9-1", r"links:3: .*9"), ("0-0 1", r"links:3"), (None, r"links:3")],
    ids=["out of range", "not a link", "too few lines"],
)
def test_bad_alignments(tmp_path: Path, line: str | None, message: str) -> None:
    pair = write(tmp_path, list(itertools.islice(sentences(), 3)))
    (tmp_path / "links").write_text("0-0\n0-0\n" + (f"{line}\n" if line else ""))
    with pytest.raises(InputError, match=message):
        train(*pair, tmp_path / "m", alignments=tmp_path / "links")
    assert not (tmp_path / "m").exists(), "nothing was made that would be worth keeping"


def test_options_that_make_no_sense(pair: Pair) -> None:
    with pytest.raises(OptionError, match="aligner must be one of dragoman, eflomal, found `giza`"):
        Options.of(aligner="giza")
    with pytest.raises(OptionError, match="taken as it is"):
        Options(alignments="links", corpus=corpus.Options(case="lower"))
    with pytest.raises(OptionError, match="classes must be a list, each a whole number from 0 to 32768"):
        Options.of(classes=(-2,))
    with pytest.raises(OptionError, match="`length` is called `max_phrase_length` now"):
        Options.of(length=3)
    with pytest.raises(OptionError, match=r"unknown option `max_phrase_lenth`; did you mean max_phrase_length?"):
        train(*pair, "m", max_phrase_lenth=3)
    with pytest.raises(OptionError, match="alignment: `seed` is set by the program here"):
        Options(alignment=alignment.Options(seed=3))
    with pytest.raises(OptionError, match=r"rules must be a dragoman\.rules.Extraction"):
        Options(rules={"top": 3})  # type: ignore[arg-type]


OTHER: dict[str, Any] = {
    "memory": "64M", "languages": ("de", "en"), "tokenizer": "char", "normalise": "nfkc", "case": "lower",
    "exclude": ("x",), "bars": "drop", "invalid": "skip", "alignments": "x", "symmetrise": "union",
    "aligner": "eflomal", "align_sweeps": (1, 2, 3), "reordering": ("wbe",), "smoothing": "good-turing",
    "significance": "a-e", "add": 0.5, "lm_prune": (0, 1), "lm_text": ("x",), "classes": (20,), "class_starts": 3,
    "lm_mix": ("x",), "null_probability": 0.3, "maxent_singletons": 0.2, "system": "hiero", "preset": "cdec",
    "max_span": 7, "max_symbols": 4, "max_gaps": 1, "min_gap": 3, "min_target_gap": 2, "edges": "tight",
    "counts": "whole", "scores": "cdec", "filter": ("x",), "compounds": "all", "compound_links": ("s",),
    "parser": "unrestricted", "distortion": "completion", "maxent_templates": ("words",), "reordering_share": 0.5,
    "rule_tagger": "en",
}  # fmt: skip
"""Values that are not the defaults, of options that are not plain numbers or switches."""


@pytest.mark.parametrize("name", flat(Options))
def test_a_run_is_known_by_all_its_options(name: str) -> None:
    """But for the memory, which no model depends on."""
    usual = flat(Options)[name].default
    other = OTHER[name] if name in OTHER else (not usual if isinstance(usual, bool) else usual + 1)
    base = Options.of(system="hiero") if name in grammars.OWN else Options()
    changed = made(Options, {name: other}, base=base)
    assert plain(changed)[name] == other != usual
    assert (pipeline._key({}, changed, {}) == pipeline._key({}, base, {})) == (name == "memory")
    assert made(Options, pipeline._settings(changed)) == (Options() if name == "memory" else changed)


def test_options_by_name_are_those_of_the_dataclass(pair: Pair, tmp_path: Path) -> None:
    first = train(*pair, tmp_path / "m", Options.of(classes=(4,), order=3), max_phrase_length=3, tokenized=True)
    again = train(*pair, tmp_path / "m", classes=[4], order=3, max_phrase_length=3, tokenized=True)
    assert first.model.signature == again.model.signature and all(step.reused for step in again.steps)
    assert first.model.made["options"]["max_phrase_length"] == 3
    assert max(len(r.target.split()) for r in Table(tmp_path / "m" / "rules").lookup("der hund sieht")) <= 3
    assert not Table(tmp_path / "m" / "rules").lookup("der hund sieht den")


def test_test_sets_are_left_out(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "test").write_text("Der Hund sieht den Baum .\n")
    trained = train(*pair, tmp_path / "m", classes=(), order=2, exclude=[tmp_path / "test"], tokenized=True)
    assert trained.steps[0].report["dropped"] == {"overlap": 1}


def test_plain_text_through_a_tokenised_truecased_model(tmp_path: Path, cli: Cli) -> None:
    """Sentences with capitals and full stops at their words go in, and come out so."""
    pytest.importorskip("sacremoses")
    pairs = [(s[0].upper() + s[1:].replace(" .", "."), t[0].upper() + t[1:].replace(" .", ".")) for s, t in sentences()]
    source, target = write(tmp_path, pairs)
    code, _, err = cli(
        "train", "--src", source, "--tgt", target, "--out", tmp_path / "m", "--tokenizer", "moses", "--languages",
        "de", "en", "--case", "truecase", "--classes", 0, "--order", 3,
    )  # fmt: skip
    assert code == 0, err
    assert {"source.cases", "target.cases"} <= Model.open(tmp_path / "m").files.keys()
    text = "Weil der alte Baum den Hund sucht.\n\nDer Mann kennt den Vogel.\n".replace("Baum", "baum").replace("H", "h")
    text = text.replace("Mann", "mann").replace("Vogel", "vogel")
    code, out, err = translate(cli, tmp_path, text, "--nbest", "2", "--nbest-out", str(tmp_path / "list"))
    assert out == "Because the old tree seeks the dog.\n\nThe man knows the bird.\n", err
    assert "the man knows the bird . |||" in (tmp_path / "list").read_text()
    decoder = Decoder(tmp_path / "m")
    tokens = decoder.text.before(["Der mann kennt den vogel."])
    assert tokens == ["der mann kennt den vogel ."]
    assert decoder.text.after(decoder.translate(tokens)) == ["The man knows the bird."]
    code, out, err = translate(cli, tmp_path, tokens[0] + "\n", "--tokenized")
    assert out == "the man knows the bird .\n", err


def test_factors_pass_through(tmp_path: Path, cli: Cli) -> None:
    tagged = [tuple(" ".join(f"{w.upper()}|T{len(w)}" for w in side.split()) for side in pair) for pair in sentences()]
    source, target = write(tmp_path, tagged)  # type: ignore[arg-type]
    arguments = ("--factored", "--case", "lower", "--classes", 0, "--order", 3)
    assert cli("train", "--src", source, "--tgt", target, "--out", tmp_path / "m", *arguments)[0] == 0
    code, out, _ = translate(cli, tmp_path, "DER|T3 Hund|T4 Kennt|T5\n")
    assert (code, out) == (0, "the|T3 dog|T3 knows|T5\n")


def test_damage_is_found(pair: Pair, tmp_path: Path, cli: Cli) -> None:
    train(*pair, tmp_path / "m", SMALL)
    assert cli("model", "verify", tmp_path / "m")[0] == 0
    for name in Model.open(tmp_path / "m").files:
        path = tmp_path / "m" / name
        whole = path.read_bytes()
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        code, _, err = cli("model", "verify", tmp_path / "m")
        assert code == 1 and f"m/{name}: the file is not the one" in err
        path.write_bytes(whole[:-1])
        for command in ("info", "verify"):
            code, _, err = cli("model", command, tmp_path / "m")
            assert code == 1 and f"m/{name}: expected {len(whole):,} bytes" in err
        path.unlink()
        code, _, err = cli("model", "info", tmp_path / "m")
        assert code == 1 and f"m/{name}: No such file" in err
        path.write_bytes(whole)
    assert cli("model", "verify", tmp_path / "m")[0] == 0


def test_the_command_prints_what_it_did(pair: Pair, tmp_path: Path, cli: Cli) -> None:
    arguments = ("train", "--src", pair[0], "--tgt", pair[1], "--out", tmp_path / "m", "--classes", 2, "--order", 2)
    code, out, _ = cli(*arguments)
    assert code == 0 and [line.split()[0] for line in out.splitlines()[1:7]] == [*STEPS, "all"]
    code, out, _ = cli(*arguments, "--json")
    found = json.loads(out)
    assert found["signature"] == Model.open(tmp_path / "m").signature
    assert all(step["reused"] and step["peak"] > 1_000_000 for step in found["steps"])
    code, _, err = cli(*arguments, "--max-phrase-length", 3)
    assert code == 1 and "a model of another run" in err
    for old, new in (("--length", "--max-phrase-length"), ("--fresh", "--overwrite"), ("--longest", "--max-words")):
        code, _, err = cli(*arguments, old, 3)
        assert code == 2 and f"{old} is called {new} now" in err
        (tmp_path / "old.toml").write_text(f"seed = 1\n{old[2:]} = 3\n")
        code, _, err = cli("train", "--config", tmp_path / "old.toml")
        assert code == 1 and f"old.toml:2: unknown option `{old[2:]}`; it is called {new[2:]} now" in err
    with pytest.raises(OptionError, match="`fresh` is called `overwrite` now"):
        train(*pair, tmp_path / "m", fresh=True)
