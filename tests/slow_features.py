"""Sparse features worked out slowly and plainly, phrase by phrase, from the definitions in docs/features.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SPECIAL = set("%=_>|[]:;^$")


def escape(word: str) -> str:
    """A word as names have it."""
    return "".join("".join(f"%{b:02X}" for b in c.encode()) if c in SPECIAL or c.isspace() else c for c in word)


def joined(words: Sequence[str]) -> str:
    """Words as names have them."""
    return "_".join(map(escape, words))


@dataclass(frozen=True)
class Step:
    """A phrase: source span, target words, links inside it, how often its rule was seen (None: no table has it)."""

    start: int
    end: int
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    count: float | None


@dataclass(frozen=True)
class Lists:
    """Word lists and classes of both sides, source first."""

    words: tuple[Sequence[str], Sequence[str]]
    classes: Mapping[int, tuple[Mapping[str, int], Mapping[str, int]]]


def rule(source: Sequence[str], step: Step) -> str:
    """A rule as names have it."""
    return f"{joined(source[step.start : step.end])}>{joined(step.target)}"


def pt(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    return Counter(f"pt:{rule(source, s)}" for s in steps if s.count is not None)


def al(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    found: Counter[str] = Counter()
    for s in steps:
        if s.count is None:
            continue
        words = source[s.start : s.end]
        for i, word in enumerate(words):
            mine = {t for f, t in s.links if f == i}
            if mine:
                friends = {words[f] for f, t in s.links if t in mine}
                found[
                    f"al:{joined(sorted(friends, key=str.encode))}>{joined(sorted({s.target[t] for t in mine}))}"
                ] += 1
            else:
                found[f"al:{escape(word)}>"] += 1
        linked = {t for _, t in s.links}
        found.update(f"al:>{escape(word)}" for t, word in enumerate(s.target) if t not in linked)
    return found


def wp(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    return Counter(
        f"wp:{escape(source[s.start + f])}>{escape(s.target[t])}"
        for s in steps
        if s.count is not None
        for f, t in s.links
    )


def ins(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    return Counter(
        f"ins:{escape(f)}>{escape(word)}"
        for s in steps
        if s.count is not None
        for t, word in enumerate(s.target)
        if t not in {t for _, t in s.links}
        for f in source[s.start : s.end]
    )


def bins(source: Sequence[str], steps: Sequence[Step], lists: Lists) -> Counter[str]:
    found: Counter[str] = Counter()
    for s in steps:
        if s.count is None:
            continue
        upper = 1
        while upper < s.count:
            upper *= 2
        found[f"bin:count:{upper if upper <= 2 else f'{upper // 2 + 1}-{upper}'}"] += 1
        n, m = s.end - s.start, len(s.target)
        found.update([f"bin:source:{n}", f"bin:target:{m}", f"bin:length:{n}>{m}"])
        for f, t in s.links:
            a, b = source[s.start + f], s.target[t]
            if a in lists.words[0][:2] and b in lists.words[1][:2]:
                found[f"bin:pair:{escape(a)}>{escape(b)}"] += 1
    return found


def tb(_source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    words = ["^", *(escape(word) for s in steps for word in s.target), "$"]
    return Counter(f"tb:{a}>{b}" for a, b in pairwise(words))


def shape(_source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    """A phrase is words on both sides."""
    return Counter("shape:w>w" for s in steps if s.count is not None)


def path(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    inside = [pairwise(source[s.start : s.end]) for s in steps if s.count is not None]
    return Counter(f"path:{escape(a)}>{escape(b)}" for pairs in inside for a, b in pairs)


def pb(_source: Sequence[str], steps: Sequence[Step], lists: Lists) -> Counter[str]:
    tags = lists.classes[3][1]
    seen = [[str(tags.get(word, "^other")) for word in s.target] for s in steps if s.target]
    ends = ["^", *(phrase[-1] for phrase in seen)]
    firsts = [*(phrase[0] for phrase in seen), "$"]
    return Counter(f"pb:{a}>{b}" for a, b in zip(ends, firsts, strict=True))


def lo(source: Sequence[str], steps: Sequence[Step], _: Lists) -> Counter[str]:
    found: Counter[str] = Counter()
    for i, s in enumerate(steps):
        before = steps[i - 1] if i else None
        if s.start == (before.end if before else 0):
            classes = ["M"]
        elif before and s.end == before.start:
            classes = ["S", "N"]
        else:
            classes = ["D", "N"]
        for c in classes:
            if s.count is not None:
                found[f"lo:{c}.previous:{rule(source, s)}"] += 1
            if before is None:
                found[f"lo:{c}.next:^"] += 1
            elif before.count is not None:
                found[f"lo:{c}.next:{rule(source, before)}"] += 1
    return found


def shrm(source: Sequence[str], steps: Sequence[Step], lists: Lists) -> Counter[str]:
    def symbol(name: str, side: int, word: str | None) -> str:
        if word is None:
            return "^"
        if name[0] == "w":
            return escape(word) if word in lists.words[side][: int(name[1:])] else "^other"
        return str(lists.classes[int(name[1:])][side].get(word, "^other"))

    found: Counter[str] = Counter()
    stack: list[tuple[int, int]] = []
    said: list[str] = []

    def fire(title: str, side: int, word: str | None) -> None:
        found.update(f"shrm:{title}:{name}:{symbol(name, side, word)}" for name in ("w2", "c3", "c2"))

    for s in steps:
        top = stack[-1] if stack else None
        if s.start == (top[1] if top else 0):
            o = "M"
        elif top and s.end == top[0]:
            o = "S"
        else:
            o = "D"
        fire(f"source.first.{o}", 0, source[s.start])
        fire(f"source.last.{o}", 0, source[s.end - 1])
        if s.target:
            fire(f"target.first.{o}", 1, s.target[0])
            fire(f"target.last.{o}", 1, s.target[-1])
        fire(f"top.source.first.{o}", 0, source[top[0]] if top else None)
        fire(f"top.source.last.{o}", 0, source[top[1] - 1] if top else None)
        fire(f"top.target.last.{o}", 1, said[-1] if said else None)
        if o == "D":
            end = top[1] if top else 0
            side, gap = (
                ("right", range(end, s.start)) if s.start >= end else ("left", range(s.end, top[0] if top else 0))
            )
            for at in gap:
                fire(f"between.{side}", 0, source[at])
        said += s.target
        block = (s.start, s.end)
        while stack and (stack[-1][1] == block[0] or stack[-1][0] == block[1]):
            other = stack.pop()
            block = (min(block[0], other[0]), max(block[1], other[1]))
        stack.append(block)
    return found


SLOW: dict[str, Callable[[Sequence[str], Sequence[Step], Lists], Counter[str]]] = {
    "pt": pt,
    "al:inserted": al,
    "lo": lo,
    "wp": wp,
    "ins": ins,
    "tb": tb,
    "shape": shape,
    "path": path,
    "pb:classes=3": pb,
    "bin:words=2": bins,
    "sparse-hrm:words=2,classes=3+2": shrm,
}
