"""Tags in HTML: each comes out once, in a nesting that fits, at the words that it stood at."""

from __future__ import annotations

import re
from collections import Counter

import pytest

pytest.importorskip("starlette")

from hypothesis import given
from hypothesis import strategies as st

from dragoman.serve.markup import Aligned, Page

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
    assert read.filled([]) == page.replace("&nbsp;", "\xa0")


@given(st.text(st.sampled_from("<>/abp&;!-\"'= \n"), max_size=60))
def test_no_text_is_too_strange(text: str) -> None:
    read = Page(text)
    read.filled([moved(segment.text, [1, 0]) for segment in read.segments])
