"""The cleaner against a plain Python version, on random Unicode."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import corpus
from dragoman.errors import InputError

SPACES = set("\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200B)}
HIDDEN = set("\xad\u200b\u200e\u200f\u2060\ufeff") | {chr(c) for c in [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]}
LETTERS = "aAbBéÉ e\u0301Ａﬁİßſ|.\t\xa0\x01\x1c\u200b\u200d\u3000ΣσςΑ가漢\U0001f600\x7f"
line = st.one_of(
    st.text(st.sampled_from(LETTERS), max_size=12),
    st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\n\r"), max_size=8),
).filter(lambda text: not text.endswith("\r"))


def invisible(c: str) -> bool:
    return c in HIDDEN or (unicodedata.category(c) == "Cc" and c not in SPACES)


def normal(text: str, form: str) -> str:
    text = "".join(c for c in text if not invisible(c))
    if form != "none":
        text = unicodedata.normalize("NFC" if form == "nfc" else "NFKC", text)
    return " ".join(word for word in "".join(" " if c in SPACES else c for c in text).split(" ") if word)


def key(text: str) -> str:
    folded = unicodedata.normalize("NFKC", "".join(c for c in text if not invisible(c)))
    folded = "".join(c.lower() for c in folded)
    return "".join(c for c in unicodedata.normalize("NFKC", folded) if c not in SPACES)


def verdict(pair: tuple[str, str], o: corpus.Options, excluded: set[str]) -> tuple[tuple[str, str], str | None]:
    source, target = (normal(side, o.normalise) for side in pair)
    if not source or not target:
        return ("", ""), "empty"
    if excluded & {key(source), key(target)}:
        return ("", ""), "overlap"
    bar = "|" in source + target
    if o.case == "lower":
        source, target = (" ".join(word.lower() for word in side.split(" ")) for side in (source, target))
    if o.bars == "escape":
        source, target = source.replace("|", "&#124;"), target.replace("|", "&#124;")
    lengths = sorted([len(source.split(" ")), len(target.split(" "))])
    reasons = {
        "bars": bar and o.bars == "drop",
        "short": lengths[0] < o.min_words,
        "long": lengths[1] > o.max_words,
        "characters": o.max_characters > 0 and max(len(source), len(target)) > o.max_characters,
        "ratio": lengths[1] > o.max_ratio * lengths[0],
    }
    return (source, target), next((name for name, holds in reasons.items() if holds), None)


@given(
    st.lists(st.tuples(line, line), max_size=30),
    st.lists(line, max_size=3),
    st.builds(
        corpus.Options,
        normalise=st.sampled_from(["nfc", "nfkc", "none"]),
        case=st.sampled_from(["keep", "lower"]),
        min_words=st.integers(1, 2),
        max_words=st.integers(2, 5),
        max_characters=st.sampled_from([0, 9]),
        max_ratio=st.sampled_from([1.0, 1.5, 9.0]),
        keep_duplicates=st.booleans(),
        bars=st.sampled_from(["escape", "drop", "keep"]),
    ),
)
def test_filters_equal_plain_python(pairs: list[tuple[str, str]], tests: list[str], o: corpus.Options) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, lines in (("s", [s for s, _ in pairs]), ("t", [t for _, t in pairs]), ("x", tests)):
            (folder / file).write_bytes("".join(f"{text}\n" for text in lines).encode())
        marked = "\ufeff"  # a byte-order mark at the start of a file is dropped, and it is invisible anyway
        excluded = {key(text) for text in tests if text.strip(marked).strip()}
        outputs = (folder / "s2", folder / "t2")
        inputs = [corpus.Files(folder / "s", folder / "t")]
        if all(verdict(pair, o, excluded)[1] is not None for pair in pairs):
            with pytest.raises(InputError, match="no sentence pair is left"):
                corpus.clean(inputs, outputs, o, exclude=[folder / "x"])
            assert not (folder / "s2").exists()
            return
        report = corpus.clean(inputs, outputs, o, exclude=[folder / "x"])
        found = list(zip(*((folder / n).read_bytes().decode().split("\n")[:-1] for n in ("s2", "t2")), strict=True))
    kept: list[tuple[str, str]] = []
    dropped: dict[str, int] = {}
    for pair in pairs:
        final, reason = verdict(pair, o, excluded)
        if reason is None and not o.keep_duplicates and final in kept:
            reason = "duplicate"
        if reason is None:
            kept.append(final)
        else:
            dropped[reason] = dropped.get(reason, 0) + 1
    assert (found, report.dropped) == (kept, dropped)
    assert report.read == len(pairs) == report.kept + sum(dropped.values())


@given(st.lists(st.text(st.sampled_from("aAbBéÉ. !\"'"), max_size=12), max_size=20))
def test_truecasing_equals_plain_python(lines: list[str]) -> None:
    openers = {'"', "'"}
    counts: dict[str, dict[str, int]] = {}

    def starts(words: list[str]) -> list[bool]:
        flags, start = [], True
        for word in words:
            flags.append(start)
            if word in {".", "!"}:
                start = True
            elif word not in openers:
                start = False
        return flags

    for text in lines:
        for word, start in zip(text.split(), starts(text.split()), strict=True):
            if not start and word.lower() != word.upper():
                forms = counts.setdefault(word.lower(), {})
                forms[word] = forms.get(word, 0) + 1
    best = {word: min(forms, key=lambda f: (-forms[f], f.encode())) for word, forms in counts.items()}

    def apply(text: str) -> str:
        words = []
        for word, start in zip(text.split(), starts(text.split()), strict=True):
            known = counts.get(word.lower(), {})
            words.append(best[word.lower()] if known and (start or word not in known) else word)
        return " ".join(words)

    truecaser = corpus.Truecaser.learn(lines)
    assert len(truecaser) == len(best)
    assert truecaser.apply(lines).to_list() == [apply(text) for text in lines]
