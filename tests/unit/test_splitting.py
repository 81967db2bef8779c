"""Sentences in running text: rules, documents that come back as they were, `translate --split`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.document import Document
from dragoman.errors import OptionError
from dragoman.splitting import Rules, make, split

Cli = Callable[..., tuple[int, str, str]]
TEXT = st.text(st.sampled_from("aB1 .?!,\n\t\r。\"'…(\u2028é"), max_size=60)


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            ["Dr. Kim came at 3 p.m. on Monday.", "Who knew?", "J. R. Smith did!", '"It was 3.5 miles."', "He left."],
        ),
        ("en", ["See fig. 3 and cf. Smith et al. for more.", "The U.S. economy grew...", "Then it fell."]),
        ("de", ["Am 3. Mai kam Hr. Maier, d.h. er kam z.B. mit Dr. Kuhn.", "„Gut.“", "Er ging."]),
        ("fr", ["M. Dupont est arrivé.", "Mme. Martin aussi !", "Où ?"]),
        ("sw", ["Bw. Juma alikuja.", "Alisema nini?"]),
        ("hi", ["यह घर है।", "वह गया।"]),
        ("zh", ["你好。", "世界！", "再见"]),
    ],
)
def test_rules_of_languages(language: str, sentences: list[str]) -> None:
    text = ("" if language == "zh" else " ").join(sentences)
    assert [text[start:end] for start, end in split(text, language)] == sentences


@given(TEXT, st.sampled_from(["en", "de", "zh", "xx"]))
def test_nothing_is_lost(text: str, language: str) -> None:
    spans = Rules(language).spans(text)
    at = 0
    for start, end in spans:
        assert at <= start < end and not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@given(TEXT, st.sampled_from([0, 10, 25]), st.booleans())
def test_a_document_comes_back_as_it_was(text: str, longest: int, rules: bool) -> None:
    document = Document.of(text, Rules("en") if rules or longest else None, longest)
    made, spans = document.joined(document.sentences)
    kept = made if not longest else made.replace(" ", "")
    assert kept == (text if not longest else text.replace(" ", "")) or "。" in text or longest
    assert [made[start:end] for start, end in spans] == document.sentences
    assert all(len(sentence) <= longest for sentence in document.sentences) or not longest
    assert "".join(made.split()) == "".join(text.split())


def test_long_sentences_are_cut_at_clauses() -> None:
    text = "eins zwei drei, vier fünf sechs sieben"
    assert Document.of(text, Rules("de"), 25).sentences == ["eins zwei drei,", "vier fünf sechs sieben"]
    assert max(map(len, Document.of("x" * 1000, Rules("de"), 300).sentences)) == 300
    with pytest.raises(OptionError, match="let it be split"):
        Document.of(text, None, 25)


def test_a_long_line_takes_no_longer_than_its_length() -> None:
    assert len(Rules("en").spans("a. " * 50_000)) > 0
    assert len(Rules("en").spans("." * 100_000)) == 1
    began = time.process_time()
    for part in ("...a", "。a", "。(", ".)", "?!a"):
        Rules("de").spans(part * (600_000 // len(part)))
    assert time.process_time() - began < 20


def test_a_place_is_found_among_many_sentences() -> None:
    document = Document.of("Ja. Nein.\n" * 50_000, Rules("de"))
    began = time.process_time()
    for number in range(1000):
        at = 500_000 - 10 * number - 6
        assert document.place(at, at + 4) == (99_999 - 2 * number, 0, 4)
    with pytest.raises(OptionError, match="one sentence"):
        document.place(1, 5)
    assert time.process_time() - began < 2


def test_splitters_of_users(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Halves:\n"
        "    def __init__(self, language): pass\n"
        "    def spans(self, text): return [(0, len(text) // 2), (len(text) // 2, len(text))]\n"
    )
    assert make(f"{tmp_path}/mine.py:Halves", "de").spans("abcd") == [(0, 2), (2, 4)]
    with pytest.raises(OptionError, match="unknown splitter"):
        make("rule", "de")


def test_running_text_is_translated(cli: Cli, tmp_path: Path) -> None:
    for name, line in (("s.de", "Ein Haus. \nDas Haus. \nEin Baum. \n"), ("s.en", "A house.\nThe house.\nA tree.\n")):
        (tmp_path / name).write_text(line * 4)
    model = ["--src", tmp_path / "s.de", "--tgt", tmp_path / "s.en", "--languages", "de", "en", "--order", "2"]
    assert cli("train", *model, "--keep-duplicates", "--out", tmp_path / "m")[0] == 0
    (tmp_path / "in").write_text("Das Haus. Ein Baum.  Ein Haus.\n\n   Ein Baum.\n")
    translate = ["translate", "--model", tmp_path / "m", "--input", tmp_path / "in"]
    code, out, _ = cli(*translate, "--split")
    assert (code, out) == (0, "The house. A tree.  A house.\n\n   A tree.\n")
    for more in (["--json"], ["--tokenized"], ["--explain"], ["--jsonl"]):
        assert cli(*translate, "--split", *more)[0] == 2
    assert cli(*translate, "--splitter", "none")[0] == 2
