"""A tuned folder is a model: whole, shared with its base or copied, as one file, and never trusted with code."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import tiny

import dragoman
from dragoman import model, weights
from dragoman.cli.unfinished import Kept, Unfinished
from dragoman.decoder import Decoder
from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.model import Model
from dragoman.tuning import RunDir
from dragoman.types import Weights

Cli = Callable[..., tuple[int, str, str]]

LENGTHS = """
from dataclasses import dataclass
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()

@dataclass(frozen=True)
class Lengths:
    scale: float = 1.0
    name = "lengths"
    names = ("Lengths",)

    def score(self, options):
        return self.scale * options.lengths
"""
STATE = """
from dragoman.user_features import state_feature

@state_feature(bytes=8, names=["Again"])
def again(previous, state, target, step, values):
    values[0] = len(target) == 1
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for every test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny.model(tmp_path / "base")


@pytest.fixture
def texts(base: Path, tmp_path: Path) -> list[str]:
    """Files to tune on: the source, and what the model would say with other weights."""
    source = tiny.lines(30)
    wanted = Weights.of({"TM": 0.2, "LM": 1.0, "Words": 0.4, "Unknown": 1.0, "Distortion": 0.5})
    (tmp_path / "dev.src").write_text("".join(f"{line}\n" for line in source))
    (tmp_path / "dev.ref").write_text("".join(f"{line}\n" for line in Decoder(base).translate(source, weights=wanted)))
    return [str(tmp_path / "dev.src"), str(tmp_path / "dev.ref")]


def tuned(base: Path, texts: list[str], out: Path, **options: Any) -> Path:
    """A tuned model."""
    options = {"epochs": 2, "nbest_size": 20, "tuner": "kbmira", "pop_limit": 50, **options}
    found = dragoman.tune(base, texts[1], source=texts[0], out=out, **options)
    assert found.model == out
    return out


def said(opened: dragoman.Translator) -> list[str]:
    return [t.text for t in opened.translate(tiny.lines(10, seed=5))]


def test_a_tuned_folder_is_a_model(base: Path, texts: list[str], tmp_path: Path, cli: Cli) -> None:
    out = tuned(base, texts, tmp_path / "tuned", features="tb,wp", distortion_limit=2)
    opened = dragoman.load(out)
    assert {"tb", "wp"} <= {part.name for part in opened.model.parts}
    assert opened.decoder.search.distortion_limit == 2 and opened.decoder.search.pop_limit == 50
    assert opened.weights.to_dict() == weights.load(out / "weights.toml").to_dict()
    by_hand = dragoman.load(base, features="tb,wp", weights=out / "weights.toml", distortion_limit=2, pop_limit=50)
    assert said(opened) == said(by_hand) != said(dragoman.load(base))
    assert not (out / "t.rules").exists(), "tables are shared"
    code, shown, err = cli("translate", "--model", out, "--input", texts[0])
    assert code == 0 and len(shown.splitlines()) == 30, err
    code, shown, err = cli("model", "verify", out)
    assert code == 0, err


def test_the_base_may_move_with_it_but_not_alone(base: Path, texts: list[str], tmp_path: Path) -> None:
    out = tuned(base, texts, tmp_path / "tuned")
    before = said(dragoman.load(out))
    other = tmp_path / "elsewhere"
    other.mkdir()
    out, base = out.rename(other / "tuned"), base.rename(other / "base")
    assert said(dragoman.load(out)) == before, "the path is relative"
    base.rename(other / "gone")
    with pytest.raises(InputError, match=f"its base, {base}, where no model is now: put it back, or write"):
        dragoman.load(out)
    text = (out / "model.toml").read_text()
    (out / "model.toml").write_text(text.replace('path = "../base"', 'path = "../gone"'))
    assert said(dragoman.load(out)) == before, "as the message says"
    tiny.model(other / "gone", seed=3)
    with pytest.raises(InputError, match=r"its base .*gone has changed since \(signature .* was .*\): bring back"):
        dragoman.load(out)


def test_a_copy_needs_no_base(base: Path, texts: list[str], tmp_path: Path) -> None:
    out = tuned(base, texts, tmp_path / "tuned", copy=True)
    before = said(dragoman.load(out))
    shutil.rmtree(base)
    opened = dragoman.load(out)
    assert said(opened) == before and opened.model.base is None
    opened.model.verify()


def test_a_tuned_model_can_be_tuned(base: Path, texts: list[str], tmp_path: Path) -> None:
    names = tmp_path / "only.txt"
    names.write_text("".join(f"wp:{a}>{b}\n" for a in tiny.SOURCE for b in tiny.TARGET[:4]))
    first = tuned(base, texts, tmp_path / "first", features=f"wp:only={names}")
    names.unlink()
    second = tuned(first, texts, tmp_path / "deep" / "second", features="tb")
    opened = dragoman.load(second)
    assert opened.model.base is not None and opened.model.base.folder == base, "the first base, not the one between"
    shutil.rmtree(first)
    opened = dragoman.load(second)
    assert {"wp", "tb"} <= {part.name for part in opened.model.parts}
    fired = [name for t in opened.nbest("a b c d", 20) for name in t.features if name.startswith("wp:")]
    assert fired and all(name[-1] in tiny.TARGET[:4] for name in fired), "the list of names came along"
    assert [entry["tuner"] for entry in opened.model.tuned] == ["kbmira", "kbmira"]


def test_what_is_no_place_for_a_tuned_model(base: Path, texts: list[str], tmp_path: Path) -> None:
    first = tuned(base, texts, tmp_path / "first")
    for model_, out in ((base, base), (first, first), (first, base)):
        with pytest.raises(InputError, match="is the model that is tuned, or its base"):
            tuned(model_, texts, out, overwrite=True)
    other = tiny.model(tmp_path / "other")
    with pytest.raises(InputError, match="holds a model that no tuning made"):
        tuned(base, texts, other, overwrite=True)
    dragoman.load(other)


def test_a_run_under_way_is_no_model(base: Path, texts: list[str], tmp_path: Path) -> None:
    out = tuned(base, texts, tmp_path / "tuned", epochs=1)

    class Stop(Exception):
        """A kill."""

    class Watch:
        def watching(self, *_: Any) -> Any:
            def stop(record: dict[str, float]) -> None:
                assert not (out / "model.toml").exists()
                raise Stop

            return contextlib.nullcontext(stop)

        def note(self, text: str) -> None:
            """Nobody hears."""

        warning = note

    with pytest.raises(Stop):
        tuned(base, texts, out, epochs=3, watcher=Watch())
    with pytest.raises(InputError, match="expected a model, found a folder without"):
        dragoman.load(out)
    whole = tuned(base, texts, tmp_path / "whole", epochs=3)
    tuned(base, texts, out, epochs=3)
    assert (out / "model.toml").read_bytes() == (whole / "model.toml").read_bytes()
    with pytest.raises(InputError, match="other inputs or options"):
        tuned(base, texts, out, epochs=3, tuner="pro")
    dragoman.load(out)


def test_several_runs_leave_one_model(base: Path, texts: list[str], tmp_path: Path, cli: Cli) -> None:
    out = tuned(base, texts, tmp_path / "t", tuner="adagrad", replications=3)
    assert (out / "weights.toml").read_bytes() in [(out / f"run{n}" / "weights.toml").read_bytes() for n in (1, 2, 3)]
    assert dragoman.load(out).model.tuned[0]["replications"] == 3
    with pytest.raises(InputError, match="holds replications; --overwrite replaces it"):
        tuned(base, texts, out, tuner="adagrad")
    dragoman.load(out)
    tuned(base, texts, out, tuner="adagrad", replications=4)
    with pytest.raises(InputError, match="other inputs or options"):
        tuned(base, texts, out, tuner="kbmira", replications=4)
    tuned(base, texts, out, sweep=["c=0.01,0.1"], held_out=0.3, overwrite=True)
    assert not (out / "run1").exists(), "nothing is left of the run before"
    assert dragoman.load(out).model.tuned[0]["sweep"] == ["c=0.01,0.1"]


@pytest.fixture
def with_code(base: Path, texts: list[str], tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(LENGTHS)
    (tmp_path / "state.py").write_text(STATE)
    spec = f"{tmp_path / 'mine.py'}:Lengths:scale=0.5,{tmp_path / 'state.py'}:again"
    return tuned(base, texts, tmp_path / "tuned", features=spec)


def test_code_travels_but_runs_for_trust_only(with_code: Path, base: Path, tmp_path: Path, cli: Cli) -> None:
    brought = with_code / "features" / "mine.py"
    assert brought.read_text() == LENGTHS
    known = model.file_hash(brought)
    spec = f"{tmp_path / 'mine.py'}:Lengths:scale=0.5,{tmp_path / 'state.py'}:again"
    by_hand = said(dragoman.load(base, features=spec, weights=with_code / "weights.toml", pop_limit=50))
    for name in ("mine.py", "state.py"):
        (tmp_path / name).unlink()
    for ask in (dragoman.load, Decoder):
        with pytest.raises(InputError, match=f"brings Python along.*mine.py .hash {known}.*say --trust"):
            ask(with_code)
    assert not brought.with_suffix(".ran").exists()
    assert said(dragoman.load(with_code, trust=True)) == by_hand
    assert brought.with_suffix(".ran").exists()
    (tmp_path / "in").write_text("a b c\n")
    code, _, err = cli("translate", "--model", with_code, "--input", tmp_path / "in")
    assert code == 1 and known in err
    code, out, err = cli("translate", "--model", with_code, "--input", tmp_path / "in", "--trust")
    assert (code, len(out.splitlines())) == (0, 1), err
    code, out, _ = cli("model", "info", with_code)
    assert code == 0 and known in out
    brought.write_text(LENGTHS.replace("scale: float = 1.0", "scale: float = 2.0"))
    with pytest.raises(InputError, match=r"mine\.py: the file is not the one that this model was made with"):
        dragoman.load(with_code, trust=True)


def test_code_goes_with_the_archive_and_the_next_tuning(with_code: Path, texts: list[str], tmp_path: Path) -> None:
    packed = tmp_path / "tuned.dragoman"
    model.pack(Model.open(with_code), packed)
    again = tuned(with_code, texts, tmp_path / "again", trust=True)
    before = said(dragoman.load(with_code, trust=True))
    shutil.rmtree(with_code)
    with pytest.raises(InputError, match="brings Python along"):
        dragoman.load(packed)
    assert said(dragoman.load(packed, trust=True)) == before
    assert len(said(dragoman.load(again, trust=True))) == 10


def test_a_tokeniser_in_python_is_code_too(base: Path, tmp_path: Path) -> None:
    text = (base / "model.toml").read_text()
    (base / "model.toml").write_text(
        text.replace("[[features]]", '[text]\ntokenizers = ["evil.py:T", "none"]\n\n[[features]]', 1)
    )
    with pytest.raises(InputError, match=r"runs only if you trust it: evil\.py:T"):
        dragoman.load(base)


def test_features_from_memory_cannot_travel(base: Path, texts: list[str], tmp_path: Path) -> None:
    class Lengths:
        name = "lengths"
        names = ("Lengths",)

        def score(self, options: Any) -> Any:
            return options.lengths

    heard: list[str] = []

    class Watch:
        def watching(self, *_: Any) -> Any:
            return contextlib.nullcontext(lambda _record: None)

        def note(self, text: str) -> None:
            """Nobody hears."""

        def warning(self, text: str) -> None:
            heard.append(text)

    decoder = Decoder(base, extra=[Lengths()])
    found = dragoman.tune(
        decoder, texts[1], source=texts[0], out=tmp_path / "t", epochs=1, nbest_size=10, tuner="kbmira", watcher=Watch()
    )
    assert found.model is None and "`lengths` was made in memory" in heard[-1]
    assert not (tmp_path / "t" / "model.toml").exists()


# One file.


@pytest.fixture
def packed(base: Path, tmp_path: Path) -> Path:
    model.pack(Model.open(base), tmp_path / "m.dragoman")
    return tmp_path / "m.dragoman"


def test_pack_and_unpack(base: Path, texts: list[str], tmp_path: Path, cli: Cli, cache: Path) -> None:
    out = tuned(base, texts, tmp_path / "tuned", features="tb")
    before = said(dragoman.load(out))
    one, other = tmp_path / "one.dragoman", tmp_path / "other.dragoman"
    code, shown, err = cli("model", "pack", out, one)
    assert code == 0 and "signature" in shown, err
    (base / "t.rules").touch()
    assert cli("model", "pack", out, other)[0] == 0
    assert one.read_bytes() == other.read_bytes(), "the same bytes, whenever it is made"
    with zipfile.ZipFile(one) as content:
        assert content.namelist()[0] == "manifest.json" and content.namelist()[1:] == sorted(content.namelist()[1:])
    shutil.rmtree(base)
    shutil.rmtree(out)
    code, shown, err = cli("model", "unpack", one, tmp_path / "un")
    assert code == 0 and "are as they were made" in shown, err
    assert said(dragoman.load(tmp_path / "un")) == before
    code, _, err = cli("model", "unpack", one, tmp_path / "un")
    assert code == 1 and "there is something already" in err
    for expected in (1, 0):
        code, shown, err = cli("translate", "--model", one, "--input", texts[0])
        assert code == 0 and err.count("unpacked to") == expected, "once, and said"
    assert said(dragoman.load(one)) == before
    assert len(list((cache / "dragoman" / "models").iterdir())) == 1
    again = tuned(one, texts, tmp_path / "again")
    shutil.rmtree(cache / "dragoman")
    assert len(said(dragoman.load(again))) == 10, "what came from the cache was copied"


def test_the_cache_is_bounded(base: Path, tmp_path: Path, cache: Path) -> None:
    for number in range(11):
        weights.save(base / "weights.toml", Weights.of({**Model.open(base).weights.to_dict(), "LM": 0.1 + number}))
        model.pack(Model.open(base), tmp_path / "m.dragoman")
        assert Model.open(tmp_path / "m.dragoman").weights["LM"] == pytest.approx(0.1 + number)
    assert len(list((cache / "dragoman" / "models").iterdir())) == 8


def rewritten(path: Path, change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None]) -> None:
    """Makes an archive anew after a change of its entries."""
    with zipfile.ZipFile(path) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    change(entries)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        for info, content in entries:
            new.writestr(info, content)
    path.write_bytes(buffer.getvalue())


def with_list(entries: list[tuple[zipfile.ZipInfo, bytes]], change: Callable[[list[dict[str, Any]]], None]) -> None:
    content = json.loads(entries[0][1])
    change(content["files"])
    entries[0] = entries[0][0], json.dumps(content).encode()


def added(name: str, content: bytes = b"x", mode: int = 0o644, listed: bool = True) -> Callable[[Any], None]:
    def change(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        known = hashlib.blake2b(content, digest_size=16).hexdigest()
        if listed:
            with_list(entries, lambda files: files.append({"path": name, "bytes": len(content), "hash": known}))
        entries.append((info, content))

    return change


def twice(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.append(entries[1])


def lost(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.pop()


def more(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    with_list(entries, lambda files: files[0].update(bytes=files[0]["bytes"] - 1))


def other(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    info, content = entries[1]
    entries[1] = info, bytes([content[0] ^ 1]) + content[1:]


def unlisted(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.insert(0, entries.pop())


def absolute(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    at = next(n for n, (info, _) in enumerate(entries) if info.filename == "model.toml")
    content = entries[at][1].replace(b'path = "lm.arpa"', b'path = "/etc/passwd"', 1)
    known = hashlib.blake2b(content, digest_size=16).hexdigest()
    entries[at] = entries[at][0], content
    row = next(n for n, f in enumerate(json.loads(entries[0][1])["files"]) if f["path"] == "model.toml")
    with_list(entries, lambda files: files[row].update(bytes=len(content), hash=known))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (added("/tmp/evil"), "`/tmp/evil` is no path inside of a folder"),
        (added("../evil"), r"`\.\./evil` leads out of its folder"),
        (added("a/../../evil"), "leads out of its folder"),
        (added("a\\evil"), "is no path inside of a folder"),
        (added("C:evil"), "is no path inside of a folder"),
        (added("link", b"/etc/passwd", 0o120777), "`link` is a link"),
        (added("more", listed=False), r"`more` is not in its manifest\.json"),
        (twice, "is in it twice"),
        (lost, "is in its manifest.json, but not in it"),
        (more, "unpacks to more than the [0-9,]+ bytes that its manifest.json declares"),
        (other, "is not the file that was put in"),
        (unlisted, "which begins with manifest.json"),
        (absolute, "a model that travels must be whole, and this one needs /etc/passwd"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_are_refused(
    packed: Path, tmp_path: Path, cache: Path, change: Callable[[Any], None], what: str
) -> None:
    rewritten(packed, change)
    with pytest.raises(InputError, match=what):
        model.unpack(packed, tmp_path / "out" / "m")
    assert list((tmp_path / "out").glob("*") if (tmp_path / "out").exists() else []) == []
    with pytest.raises(InputError, match=what):
        dragoman.load(packed)
    assert not list((cache / "dragoman").glob("models/*")), "nothing half-written is left"


def test_a_bomb_is_stopped_while_it_is_written(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry's own header lies as well: bytes are counted as they come."""
    written = 0
    plain = zipfile.ZipExtFile.read

    def endless(self: zipfile.ZipExtFile, size: int | None = -1) -> bytes:
        nonlocal written
        if self.name == "lm.arpa":
            written += 1
            assert written < 10, "not stopped"
            return b"\0" * (size or 0)
        return plain(self, size)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", endless)
    with pytest.raises(InputError, match=r"`lm\.arpa` unpacks to more than"):
        model.unpack(packed, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "m.dragoman"]


def test_damaged_archives_are_told_in_a_sentence(packed: Path, tmp_path: Path) -> None:
    whole, rng = packed.read_bytes(), random.Random(1)
    refused = 0
    for _ in range(400):
        content = bytearray(whole[: rng.choice([len(whole), len(whole), rng.randrange(4, len(whole))])])
        for _ in range(rng.randint(0, 3)):
            content[rng.randrange(4, len(content))] = rng.randrange(256)
        packed.write_bytes(content)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        try:
            model.unpack(packed, tmp_path / "out")
        except DragomanError:
            refused += 1
    assert refused > 300


# What is told of a model.


def test_info_tells_how_a_model_came_about(base: Path, texts: list[str], tmp_path: Path, cli: Cli) -> None:
    out = tuned(base, texts, tmp_path / "tuned", features="tb", held_out=0.2, seed=7)
    code, shown, err = cli("model", "info", out)
    assert code == 0, err
    assert "kbmira, seed 7, epoch" in shown and "24 sentences: BLEU" in shown and "held-out 6:" in shown
    assert str(base) in shown and "tb" in shown
    code, shown, _ = cli("model", "info", out, "--json")
    about = json.loads(shown)
    entry = about["tuned"][0]
    assert entry["end"] >= entry["start"] and entry["held_out"] >= entry["held_out_start"] and entry["epochs"] == 2
    assert about["base"]["folder"] == str(base) and set(about["hashes"]) == {"t.rules", "lm.arpa"}
    assert about["hashes"]["t.rules"] == model.file_hash(base / "t.rules")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
def test_a_description_that_was_cut_is_no_model(base: Path, cli: Cli, share: float) -> None:
    path = base / "model.toml"
    text = path.read_bytes()
    lines = text.splitlines(keepends=True)
    for cut in (text[: int(share * len(text))], b"".join(lines[: int(share * len(lines))])):
        path.write_bytes(cut)
        code, out, err = cli("model", "verify", base)
        assert (code, out) == (1, "") and "model.toml" in err, err


def test_a_description_without_files_is_no_model(base: Path, cli: Cli) -> None:
    path = base / "model.toml"
    text = path.read_text()
    path.write_text(text[: text.index("[[files]]")])
    code, _, err = cli("model", "verify", base)
    assert code == 1 and "it lists no files: cut off" in err
    path.write_text(text[: text.rindex("[[files]]")].replace("file_count = 2\n", ""))
    code, _, err = cli("model", "verify", base)
    assert code == 1 and "`lm.arpa` is used, but not among its files" in err


def test_sparse_weights_say_what_to_switch_on(base: Path, tmp_path: Path, cli: Cli) -> None:
    given = {**Model.open(base).weights.to_dict(), "wp:a>s": 0.1, "tb:s>t": 0.2}
    weights.save(tmp_path / "w.toml", Weights.of(given))
    (tmp_path / "in").write_text("a b c\n")
    asked = ["translate", "--model", base, "--weights", tmp_path / "w.toml", "--input", tmp_path / "in"]
    code, _, err = cli(*asked)
    assert code == 1 and "its set is not switched on: add --features wp,tb" in err, err
    assert cli(*asked, "--features", "wp,tb")[0] == 0
    code, _, err = cli(*asked, "--features", "tb")
    assert code == 1 and "add --features wp" in err and "wp,tb" not in err
    weights.save(tmp_path / "w.toml", Weights.of({**Model.open(base).weights.to_dict(), "mine:a": 1.0}))
    code, _, err = cli(*asked)
    assert code == 1 and "if `mine` is a feature of yours, add --features FILE.py:NAME" in err


def test_the_name_of_the_sparse_hrm_is_told(base: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="add --features sparse-hrm"):
        Decoder(base, weights=Weights.of({"LM": 1.0, "shrm:between.right:c50:3": 1.0}))


# Translations that go on.


@pytest.fixture
def long(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text("".join(f"{line} unheard\n" for line in tiny.lines(40, seed=9)))
    return tmp_path / "in"


def stopped_after(monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    """The next command is interrupted when it has kept so many lines."""
    plain, count = Unfinished.add, 0

    def add(self: Unfinished, kept: Kept) -> None:
        nonlocal count
        if count == lines:
            monkeypatch.setattr(Unfinished, "add", plain)
            raise KeyboardInterrupt
        plain(self, kept)
        count += 1

    monkeypatch.setattr(Unfinished, "add", add)


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_an_interrupted_translation_goes_on(
    base: Path, long: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    out, links, words = tmp_path / name, tmp_path / "links", tmp_path / "words"
    more = ["--align-out", links, "--unknown", words]
    asked = ["translate", "--model", base, "--input", long, "--output", out]
    assert cli(*asked, *more)[0] == 0
    whole = [path.read_bytes() for path in (out, links, words)]
    for path in (out, links, words):
        path.unlink()
    stopped_after(monkeypatch, 13)
    code, _, err = cli(*asked, *more)
    assert code == 130 and "interrupted: the same command goes on after the last line" in err
    assert not out.exists() and not links.exists(), "outputs appear whole"
    (hidden,) = tmp_path.glob(".out*")
    kept = hidden.read_bytes()
    hidden.write_bytes(kept[:-5])  # a line that a kill cut
    searched: list[str] = []
    plain = Decoder.stream

    def counted(self: Decoder, lines: Any, *args: Any, **options: Any) -> Any:
        return plain(self, (searched.append(line) or line for line in lines), *args, **options)  # type: ignore[func-returns-value]

    monkeypatch.setattr(Decoder, "stream", counted)
    code, _, err = cli(*asked, *more)
    assert code == 0 and "going on after line 12 of" in err and len(searched) == 28
    assert [path.read_bytes() for path in (out, links, words)] == whole
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("change", ["input", "weights", "options", "damage"])
def test_another_translation_begins_anew(
    base: Path, long: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    asked = ["translate", "--model", base, "--input", long, "--output", tmp_path / "out"]
    stopped_after(monkeypatch, 13)
    assert cli(*asked)[0] == 130
    if change == "input":
        long.write_text(long.read_text().replace("unheard", "other"))
    elif change == "weights":
        weights.save(base / "weights.toml", Weights.of({**Model.open(base).weights.to_dict(), "LM": 1.5}))
    elif change == "options":
        asked += ["--distortion-limit", "0"]
    else:
        (hidden,) = tmp_path.glob(".out*")
        hidden.write_bytes(b"\xff" * 50)
    code, _, err = cli(*asked)
    assert code == 0 and "going on" not in err
    (tmp_path / "out").rename(tmp_path / "first")
    assert cli(*asked)[0] == 0
    assert (tmp_path / "first").read_bytes() == (tmp_path / "out").read_bytes()


def test_wrong_input_leaves_nothing(base: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "in").write_text('{"text": "a b"}\n{"texts": "a b"}\n')
    code, _, err = cli(
        "translate", "--model", base, "--jsonl", "--input", tmp_path / "in", "--output", tmp_path / "out"
    )
    assert code == 1 and "in:2" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "in"]


def test_two_commands_do_not_write_one_output(base: Path, long: Path, tmp_path: Path, cli: Cli) -> None:
    other = Unfinished(tmp_path / "out", [], [])
    with other:
        other.begin()
        code, _, err = cli("translate", "--model", base, "--input", long, "--output", tmp_path / "out")
    assert code == 1 and "another command is at work on this output" in err


# Choosing, and what is told of it.


def test_held_out_text_that_is_the_tuning_text(base: Path, texts: list[str], tmp_path: Path, cli: Cli) -> None:
    asked = ["tune", "--model", base, "--src", texts[0], "--refs", texts[1], "--tuner", "kbmira", "--epochs", "1"]
    code, out, err = cli(
        *asked, "--held-out", texts[0], "--held-out-refs", texts[1], "--out", tmp_path / "t", "--nbest-size", "10"
    )
    assert code == 0 and "the held-out text is the tuning text" in err
    assert "the held-out text chose the step, so its score flatters" in out
    other = [tmp_path / "o.src", tmp_path / "o.ref"]
    for path, old in zip(other, texts, strict=True):
        path.write_text("".join(Path(old).read_text().splitlines(keepends=True)[:20]) + "a b\n" * 5)
    more = ["--held-out", other[0], "--held-out-refs", other[1], "--out", tmp_path / "u", "--nbest-size", "10"]
    code, out, err = cli(*asked, *more)
    assert code == 0 and "20 of the 25 held-out sentences are in the tuning text, too" in err
    code, out, err = cli(*asked, "--held-out", "0.2", "--out", tmp_path / "v", "--nbest-size", "10")
    assert code == 0 and "tuning text" not in err
    code, out, err = cli(*asked, "--held-out", "0.2", "--out", tmp_path / "w", "--nbest-size", "10", "--select", "last")
    assert code == 0 and "chose" not in out


def test_held_out_lists_that_are_the_tuning_lists(base: Path, texts: list[str], tmp_path: Path, cli: Cli) -> None:
    lists = tmp_path / "dev.nbest"
    code, _, err = cli(
        "translate",
        "--model",
        base,
        "--input",
        texts[0],
        "--nbest",
        "20",
        "--nbest-out",
        lists,
        "--output",
        "/dev/null",
    )
    assert code == 0, err
    asked = ["tune", "--nbest", lists, "--refs", texts[1], "--out", tmp_path / "w.toml", "--tuner", "kbmira"]
    code, out, err = cli(*asked, "--held-out", lists, "--held-out-refs", texts[1])
    assert code == 0 and "the held-out text is the tuning text" in err and "chose" not in out
    code, _, err = cli(*asked[:-1], "pro")
    assert code == 1 and "weights of another run (tuner kbmira); --overwrite" in err
    code, _, err = cli(*asked[:-1], "pro", "--replications", "2")
    assert code == 1 and "weights of another run (tuner kbmira); --overwrite" in err
    code, _, err = cli(*asked[:-1], "pro", "--overwrite")
    assert code == 0, err


def test_an_interrupted_run_says_how_to_go_on(
    base: Path, texts: list[str], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunDir, "save", stop)
    code, _, err = cli("tune", "--model", base, "--src", texts[0], "--refs", texts[1], "--out", tmp_path / "t")
    assert code == 130 and "interrupted: the same command goes on after the last epoch that ended" in err
