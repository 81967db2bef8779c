"""Symmetrisation against a slow version written straight from the definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.alignment import METHODS, Gold, Links, score, symmetrise

Link = tuple[int, int]
NEXT = [(0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)]


def covered(links: list[Link], side: int) -> set[int]:
    return {link[side] for link in links}


def grow(links: list[Link], union: set[Link]) -> None:
    """Passes in order of target, then source; what a pass adds after its place is seen in the same pass."""
    size = -1
    while len(links) != size:
        size = len(links)
        seen: set[Link] = set()
        while todo := sorted((link for link in links if link not in seen), key=lambda link: (link[1], link[0])):
            later = [link for link in todo if not seen or (link[1], link[0]) > max((t, s) for s, t in seen)]
            if not later:
                break
            source, target = later[0]
            seen.add(later[0])
            for ds, dt in NEXT:
                near = (source + ds, target + dt)
                free = near[0] not in covered(links, 0) or near[1] not in covered(links, 1)
                if near in union and near not in links and free:
                    links.append(near)


def slow(forward: set[Link], reverse: set[Link], method: str) -> list[Link]:
    union = forward | reverse
    if method == "union":
        return sorted(union)
    links = sorted(forward & reverse)
    if "grow" in method:
        grow(links, union)
    for direction in (forward, reverse) if "final" in method else ():
        for source, target in sorted(direction, key=lambda link: (link[1], link[0])):
            free = source not in covered(links, 0), target not in covered(links, 1)
            if all(free) if method.endswith("and") else any(free):
                links.append((source, target))
    return sorted(set(links))


@st.composite
def directed(draw: st.DrawFn) -> tuple[set[Link], set[Link]]:
    """What aligners give: at most one link for each target word, and for each source word."""
    width, height = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    forward = draw(st.lists(st.integers(-1, width - 1), min_size=height, max_size=height))
    reverse = draw(st.lists(st.integers(-1, height - 1), min_size=width, max_size=width))
    return (
        {(s, t) for t, s in enumerate(forward) if s >= 0},
        {(s, t) for s, t in enumerate(reverse) if t >= 0},
    )


anything = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8)


@pytest.mark.parametrize("method", METHODS)
@given(pairs=st.lists(st.one_of(directed(), st.tuples(anything, anything)), max_size=3))
def test_symmetrise(method: str, pairs: list[tuple[set[Link], set[Link]]]) -> None:
    forward, reverse = Links.of(f for f, _ in pairs), Links.of(r for _, r in pairs)
    found = symmetrise(forward, reverse, method)
    assert len(found) == len(pairs)
    for index, (f, r) in enumerate(pairs):
        assert found[index] == slow(f, r, method)


@given(found=st.lists(anything, min_size=1, max_size=3), data=st.data())
def test_score(found: list[set[Link]], data: st.DataObject) -> None:
    sure = [data.draw(anything) for _ in found]
    possible = [data.draw(anything) | links for links in sure]
    counts = score(Links.of(found), Gold(Links.of(sure), Links.of(possible)))
    a, s = sum(map(len, found)), sum(map(len, sure))
    both = sum(len(x & y) for x, y in zip(found, sure, strict=True))
    maybe = sum(len(x & y) for x, y in zip(found, possible, strict=True))
    assert (counts.found, counts.sure, counts.found_sure, counts.found_possible) == (a, s, both, maybe)
    assert counts.error_rate == pytest.approx(1 - (both + maybe) / (a + s) if a + s else 0.0)
