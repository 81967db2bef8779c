"""Language models: what the options do, and what is said about bad input."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman import lm
from dragoman.errors import DragomanError, InputError, OptionError
from dragoman.types import Texts

Cli = Callable[..., tuple[int, str, str]]

TINY = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.5
-0.7\t</s>
-0.4\ta\t-0.25
-0.9\tb

\\2-grams:
-0.1\t<s> a
-0.2\ta b
-0.3\tb </s>

\\end\\
"""


def make_text(lines: int) -> Texts:
    """Words with a long tail, so that discounts can be computed."""
    state, text = 12345, []
    for _ in range(lines):
        words = []
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(f"w{int((state / 2**31) ** 4 * 300)}")
        text.append(" ".join(words))
    return Texts(text)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny.arpa").write_text(TINY, encoding="utf-8")
    return tmp_path / "tiny.arpa"


def test_memory_and_threads_do_not_change_a_byte(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(make_text(4000)), encoding="utf-8")
    program = (
        "import sys; from dragoman import lm; "
        "lm.estimate(sys.argv[1], sys.argv[2], order=4, memory=sys.argv[3], discount_fallback=(0.5, 1, 1.5))"
    )
    for memory, threads in (("1G", "2"), ("1M", "1")):
        for end in ("arpa", "bin"):
            command = [sys.executable, "-c", program, str(text), str(tmp_path / f"{memory}.{end}"), memory]
            subprocess.run(command, check=True, env={**os.environ, "RAYON_NUM_THREADS": threads})
    for end in ("arpa", "bin"):
        assert (tmp_path / f"1G.{end}").read_bytes() == (tmp_path / f"1M.{end}").read_bytes()


def test_forms_agree_and_arpa_comes_back(tmp_path: Path) -> None:
    text = make_text(500)
    lm.estimate(text, tmp_path / "lm.arpa.gz", order=3)
    lm.estimate(text, tmp_path / "lm.bin", order=3)
    lm.convert(tmp_path / "lm.arpa.gz", tmp_path / "again.arpa")
    assert (tmp_path / "again.arpa").read_text() == gzip.decompress((tmp_path / "lm.arpa.gz").read_bytes()).decode()
    a, b = lm.Model(tmp_path / "lm.arpa.gz"), lm.Model(tmp_path / "lm.bin")
    assert a.score(text).logs.tolist() == b.score(text).logs.tolist()
    assert (a.counts, a.words(), a.order) == (b.counts, b.words(), 3)
    assert json.loads(b.options)["order"] == 3 and "form:hash|order:3" in b.signature
    assert "w0" in b and "nobody" not in b
    assert pickle.loads(pickle.dumps(b)).score(["w0"]).logs.tolist() == b.score(["w0"]).logs.tolist()


def test_scores_by_hand(tiny: Path) -> None:
    model = lm.Model(tiny)
    found = model.score(["a b", "b x"])
    want = [-0.1, -0.2, -0.3, -0.5 - 0.9, -1, -0.7]
    assert (found.logs / 2.302585092994046).tolist() == pytest.approx(want, abs=1e-6)
    assert found.lengths.tolist() == [2, 2, 2, 1, 1, 1]
    assert found.unknown.tolist() == [False, False, False, False, True, False]
    assert found.starts.tolist() == [0, 3, 6]
    assert found.sentences().tolist() == pytest.approx([sum(want[:3]) * 2.302585, sum(want[3:]) * 2.302585], abs=1e-5)
    assert model.estimate("a b") / 2.302585092994046 == pytest.approx(-0.6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ngram 2=3", "ngram 2=4"), "expected 4 2-grams, as the head of the file says, found `3`"),
        (("-0.2\ta b", "nan\ta b"), "tiny.arpa:14: expected a log10 probability, a number of at most 0, found `nan`"),
        (("-0.2\ta b", "0.2\ta b"), "at most 0, found `0.2`"),
        (("-0.2\ta b", "-0.2\ta"), "expected 2 words after the probability"),
        (("-0.2\ta b", "-0.2\ta c"), "expected a word that is among the 1-grams, found `c`"),
        (("-0.2\ta b", "-0.2\ta b\t-0.5"), "expected no back-off weight in the highest order"),
        (("-0.2\ta b", "-0.2\t<s> a"), "tiny.arpa:14: expected each n-gram once, found `<s> a`"),
        (("\ta\t-0.25", "\ta\t-inf"), "expected a finite log10 back-off weight, found `-inf`"),
        (("-1\t<unk>", "-1\tb"), "expected each word once, found `b`"),
        (("\\2-grams:", "\\3-grams:"), "expected \\2-grams:, found"),
        (("\n\\end\\\n", ""), "truncated"),
        (("\\data\\", "data"), "begins with \\data\\"),
        (("ngram 2=3", "ngram 3=3"), "expected `ngram 2=` and a number"),
        ((TINY, ""), "begins with \\data\\"),
    ],
)
def test_bad_arpa_files(tiny: Path, change: tuple[str, str], message: str) -> None:
    tiny.write_text(TINY.replace(*change, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        lm.Model(tiny)
    assert message in str(error.value)


def test_a_context_must_be_there(tiny: Path) -> None:
    text = TINY.replace("ngram 2=3", "ngram 2=3\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.1\tb a b\n\n\\end\\")
    tiny.write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"tiny.arpa:19: expected an n-gram whose first 2 words are an n-gram, too, found `b a b`"
    ):
        lm.Model(tiny)


def test_missing_back_off_weights_are_counted(tiny: Path, tmp_path: Path, cli: Cli) -> None:
    assert lm.convert(tiny, tmp_path / "lm.bin") == ([5, 3], 3)
    code, _, err = cli("lm", "convert", tiny, "--out", tmp_path / "lm.bin")
    assert (code, err) == (0, "dragoman: warning: 3 n-grams have no back-off weight, which means 1\n")


def test_a_model_without_unk_still_scores(tiny: Path) -> None:
    tiny.write_text(TINY.replace("-1\t<unk>\n", "").replace("ngram 1=5", "ngram 1=4"), encoding="utf-8")
    assert lm.Model(tiny).score(["x"]).logs[0] / 2.302585 == pytest.approx(-100.5, abs=1e-3)


@pytest.mark.parametrize("form", ["hash", "compact"])
def test_damaged_tables(tiny: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / "lm.bin"
    lm.convert(tiny, path, form=form)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 37):
        path.write_bytes(whole[:cut])
        with pytest.raises(DragomanError):
            lm.Model(path)
    for at in range(0, len(whole), 11):
        path.unlink()  # the last one may still be mapped
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(DragomanError):  # opening looks at the head alone; what it does not see makes no crash
            opened = lm.Model(path)
            opened.score(["a b c", "x"])
            opened.verify()
    path.write_bytes(whole + b"\0")
    with pytest.raises(InputError, match="truncated or extended"):
        lm.Model(path)
    path.write_bytes(whole[:8] + b"\x09" + whole[9:])
    with pytest.raises(InputError, match="form 9"):
        lm.Model(path)
    path.write_bytes(b"\x7fELF\0\0\0\0 something else" * 10)
    with pytest.raises(InputError, match="not a language model of dragoman"):
        lm.Model(path)
    path.write_bytes(whole)
    lm.Model(path).verify()


@pytest.mark.parametrize("word", ["<s>", "</s>", "<unk>"])
def test_special_words_in_the_text(tmp_path: Path, word: str) -> None:
    (tmp_path / "text").write_text(f"a b\nb {word} a\n", encoding="utf-8")
    fallback = (0.5, 1, 1.5)
    with pytest.raises(InputError, match=f"text:2: expected words other than .*, found `{word}`"):
        lm.estimate(tmp_path / "text", tmp_path / "lm.arpa", order=2, discount_fallback=fallback)
    assert not (tmp_path / "lm.arpa").exists()
    found = lm.estimate(tmp_path / "text", tmp_path / "lm.arpa", order=2, discount_fallback=fallback, skip_symbols=True)
    assert (found.symbols, found.tokens, found.sentences) == (1, 4, 2)


def test_odd_text(tmp_path: Path) -> None:
    long = " ".join(f"w{i % 777}" for i in range(10_000))
    found = lm.estimate(
        Texts([long, "a\x01b\x7fc", "", "é"]), tmp_path / "lm.bin", order=3, discount_fallback=(0, 0, 0)
    )
    assert (found.sentences, found.tokens, found.controls) == (4, 10_004, 2)
    assert len(lm.Model(tmp_path / "lm.bin").score([long]).logs) == 10_001


@pytest.mark.parametrize("text", ["", "\n\n", " \t\n"])
def test_empty_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="expected text with at least one word"):
        lm.estimate(tmp_path / "text", tmp_path / "lm.arpa")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order must be a whole number from 1 to 18"),
        ({"order": 99}, "order must be a whole number from 1 to 18"),
        ({"memory": "10"}, "memory must be at least 1M"),
        ({"memory": "lots"}, "such as 512M or 1G, found `lots`"),
        ({"prune": [1, 0]}, "thresholds that never fall, found 0 after 1"),
        ({"prune": [-1]}, "prune must be a list, each a whole number of at least 0"),
        ({"prune": [0] * 9}, "at most 5 pruning thresholds, found 9"),
        ({"discount_fallback": [0.5, 1, 4]}, "discount_fallback must be 3 values"),
        ({"discount_fallback": [0.5]}, "discount_fallback must be 3 values"),
        ({"form": "trie"}, "form must be one of arpa, hash, compact or null, found `trie`"),
        ({"form": "compact", "bits": 2}, "bits must be a whole number from 4 to 16"),
        ({}, "cannot discount: no 1-gram has adjusted count 2, .* A discount fallback"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        lm.estimate(Texts(["a b c"]), tmp_path / "lm.bin", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_for_temporary_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere \(temporary files\)"):
        lm.estimate(make_text(9000), tmp_path / "lm.arpa", memory="1M", folder=tmp_path / "nowhere")


def test_mixture_weights_must_make_sense(tiny: Path) -> None:
    model = lm.Model(tiny)
    for weights in ([0.5, 0.6], [1.5, -0.5], [1.0], [float("nan"), 1.0]):
        with pytest.raises(OptionError, match="expected"):
            lm.Mixture([model, model], weights)
    with pytest.raises(InputError, match="at least one known word"):
        lm.tune_weights([model], [])


def test_command_line(tiny: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "text").write_text("a b\nb x\n", encoding="utf-8")
    code, out, err = cli("lm", "query", tiny, "--tokens", "--text", tmp_path / "text", "--json")
    assert (code, err) == (0, "")
    first, second, rest = out.split("\n", 2)
    assert [t.split(" ")[:2] for t in first.split("\t")[:-1]] == [["a=3", "2"], ["b=4", "2"], ["</s>=2", "2"]]
    assert second.endswith("OOV: 1")
    figures = json.loads(rest)
    assert (figures["tokens"], figures["unknown"]) == (6, 1)
    assert figures["perplexity"] == pytest.approx(10 ** (3.7 / 6), rel=1e-5)
    assert figures["perplexity_known"] == pytest.approx(10 ** (2.7 / 5), rel=1e-5)
    code, out, _ = cli("lm", "tune", tiny, tiny, "--text", tmp_path / "text", "--json")
    assert code == 0 and [m["weight"] for m in json.loads(out)["models"]] == [0.5, 0.5]
    code, _, err = cli("lm", "query", tiny, "--text", os.devnull)
    assert (code, err) == (1, f"dragoman: {os.devnull}:1: expected at least one line, found an empty file\n")
    (tmp_path / "bad").write_bytes(b"a\nb\xff\n")
    code, _, err = cli("lm", "query", tiny, "--text", tmp_path / "bad")
    assert code == 1 and "bad:2: expected UTF-8 text, found an invalid byte 0xff at column 2" in err
    code, _, err = cli("lm", "estimate", "--text", tmp_path / "text", "--out", tmp_path / "lm.bin.gz")
    assert code == 1 and "without .gz" in err
