"""All raw corpora there and back: every line must come back, and few lines may need marks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.files import read_text
from dragoman.tokenizers import Unicode

MARKS = re.compile("[￭￮]")

CORPORA = {
    # corpus and language: the files, and the share of lines in percent that may have marks
    "captions de": ("multi30k/raw/*.de.gz", "de", 0.2),
    "captions en": ("multi30k/raw/*.en.gz", "en", 0.1),
    "captions fr": ("multi30k/raw/*.fr.gz", "fr", 0.1),
    "europarl de": ("europarl/*/*.de.gz", "de", 1.3),
    "europarl en": ("europarl/*/*.en.gz", "en", 0.7),
    "europarl fr": ("europarl/*/*.fr.gz", "fr", 2.8),
    "news de": ("newstest/*/*.de.gz", "de", 3.1),
    "news en": ("newstest/*/*.en.gz", "en", 3.2),
    "news fr": ("newstest/*/*.fr.gz", "fr", 11.5),
    "verses en.0": ("ebible/*.en.0.gz", "en", 1.0),
    "verses en.1": ("ebible/*.en.1.gz", "en", 4.5),
    "verses en.2": ("ebible/*.en.2.gz", "en", 0.3),
    "verses en.3": ("ebible/*.en.3.gz", "en", 0.3),
    "verses en.4": ("ebible/*.en.4.gz", "en", 0.6),
    "verses hau": ("ebible/*.hau.gz", "hau", 3.0),
    "verses swh": ("ebible/*.swh.gz", "swh", 3.0),
    "wmt22 de": ("wmt22-systems/*/*.de.gz", "de", 4.6),
    "wmt22 en": ("wmt22-systems/*/*.en.gz", "en", 2.8),
}


def there_and_back(name: str, lines: list[str], language: str, marked: float) -> None:
    """Print and assert the rates of a corpus."""
    unicode = Unicode(language)
    words = unicode.tokenize(lines)
    back = unicode.detokenize(words)
    wrong = [(line, found) for line, found in zip(lines, back, strict=True) if " ".join(line.split()) != found]
    share = 100 * sum(MARKS.search(line) is not None for line in words) / len(lines)
    print(f"{name}: {len(lines)} lines, round trip {100 - 100 * len(wrong) / len(lines):.3f} %, marks {share:.3f} %")
    assert not wrong, wrong[:3]
    assert share <= marked, f"{share:.3f} %"


@pytest.mark.parametrize("name", CORPORA)
def test_every_line_comes_back(data: Path, name: str) -> None:
    pattern, language, marked = CORPORA[name]
    lines = [line for path in sorted(data.glob(pattern)) for line in read_text(path)]
    there_and_back(name, lines, language, marked)


def curled(line: str) -> str:
    """Straight quotation marks and apostrophes as typographers set them."""
    line = re.sub(r"(^|[\s(\[—])'", r"\1‘", line).replace("'", "’")
    return re.sub(r'(^|[\s(\[—])"', r"\1“", line).replace('"', "”")


def test_verses_with_curly_quotes_and_capitals(data: Path) -> None:
    lines = [curled(line) for line in read_text(data / "ebible" / "train.en.4.gz")]
    assert sum("’" in line for line in lines) > 3000
    there_and_back("verses, curly", lines, "en", 0.6)
    there_and_back("verses, curly, in capitals", [line.upper() for line in lines], "en", 0.6)


def test_closing_quotes_need_no_marks(data: Path) -> None:
    """A translation has no marks: still, no closing quotation mark is apart from its word."""
    unicode = Unicode("en")
    lines = [line for line in read_text(data / "ebible" / "test.en.0.gz") if "”" in line or "’" in line]
    back = unicode.detokenize([MARKS.sub("", line) for line in unicode.tokenize(lines)])
    same = sum(" ".join(line.split()) == found for line, found in zip(lines, back, strict=True))
    print(f"without marks: {same} of {len(lines)} lines with curly quotes as they were")
    assert len(lines) > 250 and same >= 0.98 * len(lines)
    assert not any(" ”" in found or " ’" in found for found in back)
