"""Tags in HTML: each comes out once, in a nesting that fits, at the words that it stood at."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress

import pytest

pytest.importorskip("starlette")

from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import OptionError
from dragoman.serve.markup import Aligned, Page, read_pages
from dragoman.serve.scanner import scan

TAG = re.compile(r"<[^>]*>")
WORDS = ["eins", "zwei", "drei", "vier"]


def spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def moved(text: str, order: list[int], drop: int = -1) -> Aligned:
    """A translation that puts words in another order; one has no links."""
    source = spans(text)
    order = [i for i in order if i < len(source)]
    order += [i for i in range(len(source)) if i not in order]
    made = " ".join(text[slice(*source[i])].upper() for i in order)
    places = spans(made)
    links = [(*source[i], *places[at]) for at, i in enumerate(order) if at != drop]
    return Aligned(made, links, places)


@st.composite
def pages(draw: st.DrawFn, depth: int = 0) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["word", "word", "inline", "void", "block"] if depth < 3 else ["word"]))
        if kind == "word":
            parts.append(draw(st.sampled_from(WORDS)) + " ")
        elif kind == "void":
            parts.append(draw(st.sampled_from(["<img src=x>", "<br>", "<!-- a -->"])))
        else:
            name = draw(st.sampled_from(["b", "i", "span"] if kind == "inline" else ["p", "div"]))
            parts.append(f"<{name}>{draw(pages(depth + 1))}</{name}>")
    return "".join(parts)


@given(pages(), st.permutations(list(range(8))), st.integers(-1, 4))
def test_every_tag_comes_out_once_and_nests(page: str, order: list[int], drop: int) -> None:
    read = Page(page)
    made = read.filled([moved(segment.text, order, drop) for segment in read.segments])
    assert Counter(TAG.findall(made)) == Counter(TAG.findall(page))
    assert Counter(TAG.sub(" ", made).lower().split()) == Counter(TAG.sub(" ", page).lower().split())
    if "<p>" not in page and "<div>" not in page and "<br>" not in page:  # blocks inside inline tags are no HTML
        stack: list[str] = []
        for tag in TAG.findall(made):
            if tag.startswith("</"):
                assert stack.pop() == tag[2:-1]
            elif tag[1:-1] in {"b", "i", "span"}:
                stack.append(tag[1:-1])
        assert not stack


@given(pages())
def test_a_page_that_is_not_changed_is_the_same(page: str) -> None:
    read = Page(page)
    made = read.filled(
        [Aligned(s.text, [(i, i + 1, i, i + 1) for i in range(len(s.text))], [(i, i + 1) for i in range(len(s.text))])
         for s in read.segments]
    )  # fmt: skip
    assert TAG.sub("", made) == TAG.sub("", page)
    assert Counter(TAG.findall(made)) == Counter(TAG.findall(page))


def test_tags_follow_their_words() -> None:
    page = Page("<p>eins <b>zwei drei</b> vier</p>")
    (segment,) = page.segments
    assert page.filled([moved(segment.text, [1, 2, 3, 0])]) == "<p><b>ZWEI DREI</b> VIER EINS</p>"
    assert page.filled([moved(segment.text, [3, 2, 1, 0])]) == "<p>VIER <b>DREI ZWEI</b> EINS</p>"


@pytest.mark.parametrize(
    "page",
    ["<script>a < b && c</script>", '<pre>eins  zwei</pre>', '<p translate="no">eins</p>', "<!DOCTYPE html><!-- x -->",
     "<code>a &lt; b</code>", "<p>&nbsp;</p>"],
)  # fmt: skip
def test_what_is_not_translated_stays(page: str) -> None:
    read = Page(page)
    assert not read.segments
    assert read.filled([]) == page


@given(st.text(st.sampled_from("<>/abp&;!-\"'= \n"), max_size=60))
def test_no_text_is_too_strange(text: str) -> None:
    read = Page(text)
    read.filled([moved(segment.text, [1, 0]) for segment in read.segments])


@given(st.text(st.sampled_from("<>/abp&;!-\"'= \nscript"), max_size=80))
def test_all_parts_together_are_the_page(text: str) -> None:
    parts = list(scan(text))
    assert "".join(text[part.start : part.end] for part in parts) == text
    assert all(part.start < part.end for part in parts)


@pytest.mark.parametrize(
    ("page", "texts"),
    [("a < b", ["a < b"]), ('<a title="x > y">a</a>', ["a"]), ("<a title='>'>a</a>", ["a"]), ("<a b=c>d", ["d"]),
     ("a<!-- <b> -->b", ["ab"]), ("<!-->a", ["a"]), ("a <b never ends", ["a "]), ('<a x="never ends>a</a>', []),
     ("<SCRIPT>a</b></Script >b", ["b"]), ("<style/>a", ["a"]), ("<pre>a<pre>b</pre>c</pre>d", ["d"]),
     ("&lt;b&gt; &amp;amp; &#228; &auml", ["<b> &amp; ä ä"]), ("&#" + "1" * 5000 + ";", ["\ufffd" + "1" * 4968 + ";"]),
     ("<p translate=no>a</p>b", ["b"]), ("a<p>b<br>c", ["a", "b", "c"])],
)  # fmt: skip
def test_what_is_text(page: str, texts: list[str]) -> None:
    assert [segment.text for segment in Page(page).segments] == texts


def _filled(text: str) -> None:
    (page,) = read_pages([text])
    made = []
    for segment in page.segments:
        places = spans(segment.text)
        links = [(*source, *target) for source, target in zip(places, places[::-1], strict=True)]
        made.append(Aligned(segment.text, links, places))
    page.filled(made)


@pytest.mark.parametrize(
    "part",
    ["<a ", "<b>", "<b>x ", "<b>" * 99 + "x" + "</b>" * 99, "<b>x " * 99 + "</b>" * 99, "<", "<!--", '<a x="', "<a ==",
     "<?", "</b>", "</", "<script>", "<script></script", "&", "&#1", "&#x", "&ampx", "<pre>", "<img>x ", "<b>x</b> ",
     " ", "<p>x", "x ", "<i translate=", "<b><i>x</b></i> ", "<![CDATA["],
)  # fmt: skip
def test_the_time_for_a_page_is_in_proportion_to_its_length(part: str) -> None:
    """Two million characters of anything: seconds, or a refusal, where a square would be hours."""
    began = time.process_time()
    with suppress(OptionError):  # too many tags, or too deep
        _filled(part * (2_000_000 // len(part)))
    assert time.process_time() - began < 30


@pytest.mark.parametrize("part", ["<b>x " * 90 + "</b>" * 90, "<img>x ", "<b>x</b> ", "<i>" * 90 + "x" + "</i>" * 90])
def test_as_many_tags_as_there_may_be(part: str) -> None:
    began = time.process_time()
    _filled((part + " ") * (99_000 // part.count("<")))
    assert time.process_time() - began < 30


def test_tags_are_counted_and_measured() -> None:
    Page("<b>" * 50 + "x" + "</b>" * 50)
    for page in ("<b>" * 1000 + "x", "x</b>" * 1000):
        with pytest.raises(OptionError, match="more than 100 deep"):
            Page(page)
    with pytest.raises(OptionError, match="100,000 tags at most"):
        read_pages(["<br>" * 60_000] * 2)
