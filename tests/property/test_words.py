"""A word is the same for all parts but the metrics, and these agree on cleaned text."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import alignment, corpus, lm, rules, word_classes
from dragoman._core import words
from dragoman.decoder import Decoder
from dragoman.training import train
from dragoman.types import Texts

# Letters, spaces of all kinds, control characters, and any other characters.
line = st.text(
    st.one_of(
        st.sampled_from("ab \t\x01\x0b\x0c\x1c\x1f\x7f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\ufeffé漢"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\n\r|"),
    ),
    max_size=15,
)


def cut(text: str) -> list[str]:
    """The definition, slowly: ASCII's space and control characters separate."""
    return "".join(" " if c <= " " or c == "\x7f" else c for c in text).strip(" ").split(" ") if text else []


@given(line)
def test_one_definition(text: str) -> None:
    assert words(text) == [word for word in cut(text) if word]


@given(line, st.sampled_from(["none", "nfc", "nfkc"]))
def test_words_of_cleaned_text_are_those_of_the_metrics(text: str, form: str) -> None:
    """sacreBLEU cuts as Python's `split` does."""
    clean = corpus.normalise([text], form)[0]
    assert words(clean) == clean.split()


@settings(max_examples=30, deadline=None)
@given(st.lists(line.filter(lambda text: bool(words(text))), min_size=1, max_size=4))
def test_all_parts_cut_alike(lines: list[str]) -> None:
    counts = [len(words(text)) for text in lines]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t").write_bytes("".join(f"{text}\n" for text in lines).encode())
        links = "".join(" ".join(f"{i}-{i}" for i in range(count)) + "\n" for count in counts)
        (folder / "a").write_text(links)
        # Each word is linked to itself; a link beyond the last word of a line would be an error.
        rules.extract(folder / "t", folder / "t", folder / "a", folder / "rules")
        table = rules.Table(folder / "rules")
        report = lm.estimate(
            [folder / "t"], folder / "lm", order=2, discount_fallback=(0.5, 1.0, 1.5), skip_symbols=True
        )
        read = alignment.Links.read(folder / "a", (Texts(lines), Texts(lines)))
        seen = word_classes.Counts(folder / "t")
        special = {"<s>", "</s>", "<unk>"}
        assert report.tokens == sum(counts) - sum(word in special for text in lines for word in words(text))
        assert len(read) == len(lines)
        known = {word for text in lines for word in words(text)}
        assert {word for word, _ in seen.frequent()} == known
        for word in known - {"|||"}:
            assert [rule.target for rule in table.lookup(word)], repr(word)


@pytest.mark.parametrize("odd", ["\x01", "\x1c", "\xa0", "\u3000", "\x7f", "\u200b"])
def test_a_token_with_an_odd_character_finds_its_rule(odd: str, tmp_path: Path) -> None:
    """Rules that keep a token whole are of no use if the decoder cuts it in two."""
    source = [f"ein{odd}haus steht .", "ein baum steht .", "haus", "ein", f"x{odd}y"] * 2
    target = [f"one{odd}house stands .", "one tree stands .", "house", "one", f"v{odd}w"] * 2
    (tmp_path / "s").write_text("".join(f"{text}\n" for text in source))
    (tmp_path / "t").write_text("".join(f"{text}\n" for text in target))
    links = "".join(" ".join(f"{i}-{i}" for i in range(len(words(text)))) + "\n" for text in source)
    (tmp_path / "a").write_text(links)
    train(tmp_path / "s", tmp_path / "t", tmp_path / "m", alignments=tmp_path / "a", classes=(), order=2)
    decoder = Decoder(tmp_path / "m")
    found = decoder.translate([f"x{odd}y", f"ein{odd}haus"])
    assert [words(text) for text in found] == [words(f"v{odd}w"), words(f"one{odd}house")]
