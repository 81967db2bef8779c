"""Files that people have, and such as nobody should have: read in a time that goes with their length."""

from __future__ import annotations

import io
import re
import time
import zipfile
from base64 import b64decode
from collections.abc import Sequence

import pytest

pytest.importorskip("starlette")

import docx
from docx.enum.text import WD_BREAK
from docx.oxml import OxmlElement

from dragoman.document import Document
from dragoman.errors import DragomanError
from dragoman.serve.files import _Subtitles, _wrapped, read
from dragoman.serve.frames import Found
from dragoman.serve.service import Translated

PICTURE = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
TIMES = "00:00:01,000 --> 00:00:02,500"


def word(rows: str) -> bytes:
    """A Word document with such a table."""
    document, out, changed = docx.Document(), io.BytesIO(), io.BytesIO()
    document.add_paragraph("before")
    document.save(out)
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "word/document.xml":
                part = part.replace(b"<w:sectPr", f"<w:tbl>{rows}</w:tbl><w:sectPr".encode(), 1)
            new.writestr(name, part)
    return changed.getvalue()


def cell(properties: str) -> str:
    return f"<w:tr><w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>"


@pytest.mark.parametrize(
    ("rows", "count"),
    [(cell('<w:gridSpan w:val="100000000"/>'), 2), (cell('<w:vMerge/>') * 3000, 3001),
     ("<w:tr><w:tc><w:tbl>" * 30 + cell("") + "</w:tbl></w:tc></w:tr>" * 30, 2)],
)  # fmt: skip
def test_tables_of_any_form(rows: str, count: int) -> None:
    began = time.process_time()
    assert len(read(".docx", word(rows)).texts) == count
    assert time.process_time() - began < 5


def test_runs_keep_their_words() -> None:
    document = docx.Document()
    for _ in range(3000):
        document.add_paragraph("eins ") if not document.paragraphs else document.paragraphs[0].add_run("zwei ")
    out = io.BytesIO()
    document.save(out)
    opened = read(".docx", out.getvalue())
    (text,) = opened.texts
    places = [(i, i + 4) for i in range(0, len(text), 5)]
    detail = {"spans": [[*p, *p] for p in places], "target_spans": [list(p) for p in places]}
    made = Translated(Document(text, [(0, len(text))]), [Found(text, detail=detail)], text, [(0, len(text))])
    began = time.process_time()
    written = opened._written([made])  # type: ignore[attr-defined]
    assert time.process_time() - began < 5
    assert docx.Document(io.BytesIO(written)).paragraphs[0].text == text


def _same(texts: Sequence[str]) -> list[Translated]:
    """Translations that are the source in capitals, word for word."""
    made = []
    for text in texts:
        places = [match.span() for match in re.finditer(r"\w+", text)]
        detail = {"spans": [[*p, *p] for p in places], "target_spans": [list(p) for p in places]}
        found, whole = [Found(text.upper(), detail=detail)], [(0, len(text))]
        made.append(Translated(Document(text, whole), found, text.upper(), whole))
    return made


def test_words_of_links_and_of_changes_are_translated() -> None:
    document, out = docx.Document(), io.BytesIO()
    paragraph = document.add_paragraph("siehe ")
    for tag, text in (("w:hyperlink", "diese Seite"), ("w:ins", " bald"), ("w:del", "nie")):
        outer = OxmlElement(tag)
        outer.append(document.add_paragraph(text).runs[0]._r)
        paragraph._p.append(outer)
    document.save(out)
    opened = read(".docx", out.getvalue())
    assert opened.texts == ["siehe diese Seite bald"]
    written = docx.Document(io.BytesIO(opened._written(_same(opened.texts)))).paragraphs[0]  # type: ignore[attr-defined]
    assert written.text.strip() == "SIEHE DIESE SEITE" and [link.text for link in written.hyperlinks] == [
        "DIESE SEITE "
    ]


def test_what_is_no_text_of_a_document_is_kept() -> None:
    document, out = docx.Document(), io.BytesIO()
    paragraph = document.add_paragraph("vor")
    paragraph.add_run().add_picture(io.BytesIO(PICTURE))
    run = paragraph.add_run("nach\tdem\nBild")
    run.add_picture(io.BytesIO(PICTURE))
    run.add_break(WD_BREAK.PAGE)
    document.save(out)
    opened = read(".docx", out.getvalue())
    made = docx.Document(io.BytesIO(opened._written(_same(opened.texts))))  # type: ignore[attr-defined]
    assert made.paragraphs[0].text == "VORNACH\tDEM\nBILD"
    assert len(made.inline_shapes) == 2
    assert len(made.paragraphs[0]._p.xpath(".//w:br[@w:type='page']")) == 1


def test_subtitles_keep_numbers_times_and_lines() -> None:
    text = f"\n1\n{TIMES} X1:40\nder Hund\nbellt\n\n\n2\n{TIMES}\n3\n{TIMES}\r\n1984\n"
    opened = _Subtitles(text)
    assert opened.texts == ["der Hund bellt", "1984"]
    made = opened._written(_same(opened.texts))
    assert made.decode() == f"\n1\n{TIMES} X1:40\nDER HUND\nBELLT\n\n\n2\n{TIMES}\n3\n{TIMES}\n1984\n"


def test_tags_of_subtitles_stay_with_their_words() -> None:
    opened = _Subtitles(f'1\n{TIMES}\n<i>der Hund</i> & <font color="red">der Mann</font>\n5 < 6, ich <3 dich\n\n')
    assert opened.texts == ["der Hund & der Mann 5 < 6, ich <3 dich"]
    made = opened._written(_same(opened.texts)).decode()
    wanted = f'1\n{TIMES}\n<i>DER HUND</i> & <font color="red">DER MANN</font> 5\n< 6, ICH <3 DICH\n\n'
    assert made == wanted


@pytest.mark.parametrize("part", ["1", "1\n", f"{TIMES}\n", f"{TIMES}\na ", "a\n", "00:", "-->", f"1\n{TIMES}\n\n\n"])
def test_the_time_for_subtitles_goes_with_their_length(part: str) -> None:
    began = time.process_time()
    try:
        opened = _Subtitles(part * (1_000_000 // len(part)))
    except DragomanError:
        opened = _Subtitles("")
    opened._written(_same(opened.texts))
    assert time.process_time() - began < 15


def test_a_text_on_lines() -> None:
    assert _wrapped("the dog sees the stone", 2) == ["the dog sees", "the stone"]
    assert _wrapped("", 3) == []
    began = time.process_time()
    assert 1 < len(_wrapped("word " * 100_000, 50_000)) <= 50_000
    assert time.process_time() - began < 5
