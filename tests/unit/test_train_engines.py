"""Training with workers in other processes: the same bytes as in one."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_train import content, sentences, write

from dragoman import alignment, grammars, lm, rules
from dragoman.alignment import Links
from dragoman.engine import Engine, EngineBase, Processes, Serial, Threads, work_off
from dragoman.engine.processes import _File
from dragoman.errors import OptionError
from dragoman.training import train

QUICK: dict[str, Any] = {"samplers": 2, "sweeps": (2, 3, 3), "collect": 2}


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Text that is cut into several parts, and links that make sense half of the time."""
    rng, folder = random.Random(1), tmp_path_factory.mktemp("text")
    vocabulary = [f"w{number}" for number in range(3_000)]
    files = [(folder / name).open("w") for name in ("s", "t", "a")]
    for _ in range(14_000):
        words = rng.choices(vocabulary, k=rng.randint(0, 12), weights=[1 / (n + 1) for n in range(3_000)])
        links = [(i, i if rng.random() < 0.5 else rng.randrange(len(words))) for i in range(len(words))]
        for file, line in zip(
            files, (words, [word[::-1] for word in words], [f"{i}-{j}" for i, j in links]), strict=True
        ):
            file.write(" ".join(line) + "\n")
    for file in files:
        file.close()
    return folder / "s", folder / "t", folder / "a"


class Counted:
    """How many parts a job has."""

    def __init__(self, job: Any) -> None:
        self.job, self.parts = job, 0

    def chunk(self) -> bytes | None:
        self.parts += 1
        return self.job.chunk()  # type: ignore[no-any-return]

    def add(self, run: bytes) -> None:
        self.job.add(run)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    """The jobs that go through `work_off`."""
    jobs: list[Counted] = []

    def counting(engine: Engine, job: Any, work: Any) -> None:
        jobs.append(Counted(job))
        work_off(engine, jobs[-1], work)

    for module in (rules, lm):
        monkeypatch.setattr(module, "work_off", counting)
    return jobs


@pytest.mark.parametrize(
    "changes", [{}, {"reordering": ("wbe", "phrase", "hier"), "significance": "a+e", "moses_next": True, "top": 5}]
)
def test_rules(
    two: Engine, text: tuple[Path, Path, Path], tmp_path: Path, parts: list[Counted], changes: dict[str, Any]
) -> None:
    found = [
        rules.extract(*text, tmp_path / f"rules{number}", engine=engine, memory="4M", **changes)
        for number, engine in enumerate((None, two))
    ]
    assert parts[0].parts > 2, "several parts and the end"
    assert found[0] == found[1] and found[0].rules > 1000
    assert (tmp_path / "rules0").read_bytes() == (tmp_path / "rules1").read_bytes()


@dataclass(frozen=True)
class Elsewhere(EngineBase):
    """Tasks cross as between processes, and come back in the worst order: the last one that is under way first."""

    workers: int
    change: Callable[[bytes], bytes] = bytes
    """What happens to results on their way."""
    stages: list[list[int]] = field(default_factory=list)
    """Bytes of the tasks of each call."""

    def map(self, work: Any, tasks: Iterable[Any]) -> list[Any]:
        return [result for _, result in sorted(self.arriving(work, tasks, 0))]

    def arriving(self, work: Any, tasks: Iterable[Any], ahead: int) -> Iterator[tuple[int, Any]]:
        left, waiting = enumerate(tasks), list[tuple[int, Any]]()
        work = pickle.loads(pickle.dumps(work))
        self.stages.append([])
        while True:
            waiting += islice(left, ahead + 1 - len(waiting))
            if not waiting:
                return
            number, task = waiting.pop()
            self.stages[-1].append(len(task))
            result = work(task)
            assert number % 7 or result == work(task), "a task may be done again by another worker"
            yield number, self.change(result)


@pytest.mark.parametrize(("workers", "memory"), [(1, 16 << 20), (2, 1 << 20), (3, 1 << 30), (4, 4 << 20)])
def test_rules_in_ranges(text: tuple[Path, Path, Path], tmp_path: Path, workers: int, memory: int) -> None:
    """From four ranges for each worker to many, which a frequent word outgrows; the memory bounds the largest task."""
    engine = Elsewhere(workers)
    found = [
        rules.extract(*text, tmp_path / f"rules{number}", engine=engine, memory=str(memory), top=20)
        for number, engine in enumerate((None, engine))
    ]
    assert found[0] == found[1]
    assert (tmp_path / "rules0").read_bytes() == (tmp_path / "rules1").read_bytes()
    parts, sources, targets, scores = engine.stages
    assert len(parts) > 1 and len(sources) == len(scores) > 3 * workers and len(targets) > 3 * workers
    assert memory > 1 << 20 or len(sources) >= 40, "a range for each 64 kB, but for the frequent words"
    room = memory // 2 // (4 * workers)
    assert max(sources + targets) < 1.5 * room + MOST_OF_A_WORD
    assert max(scores) < 3 * room + 2 * MOST_OF_A_WORD


MOST_OF_A_WORD = 400_000
"""Bytes of the occurrences of the most frequent word, which are never divided."""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda result: result[:-1], "damaged on its way"),
        (lambda result: bytes([*result[:50], result[50] ^ 1, *result[51:]]), "damaged on its way"),
    ],
)
@pytest.mark.parametrize("stage", [1, 2, 3, 4])
def test_damage_on_the_way(
    text: tuple[Path, Path, Path], tmp_path: Path, change: Callable[[bytes], bytes], told: str, stage: int
) -> None:
    engine = Elsewhere(2, lambda result: change(result) if len(engine.stages) == stage else result)
    with pytest.raises(ValueError, match=told):
        rules.extract(*text, tmp_path / "rules", engine=engine)
    assert not (tmp_path / "rules").exists()


def test_parts_that_are_lost(text: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(engine: Engine, job: Any, work: Any) -> None:
        work_off(engine, Counted(job), work)
        job.chunk()

    monkeypatch.setattr(rules, "work_off", forgetful)
    rules.extract(*text, tmp_path / "rules", engine=Elsewhere(1))  # nothing is left to forget
    monkeypatch.setattr(rules, "work_off", lambda _engine, job, _work: job.chunk())
    with pytest.raises(ValueError, match="1 parts of the work did not come back"):
        rules.extract(*text, tmp_path / "rules", engine=Elsewhere(1))


def test_rules_with_tags_and_a_share_of_orientations(
    two: Engine, text: tuple[Path, Path, Path], tmp_path: Path, parts: list[Counted]
) -> None:
    tags = tmp_path / "tags"
    tags.write_text("".join(" ".join(w[:2] for w in line.split()) + "\n" for line in text[1].read_text().splitlines()))
    for name, engine in (("here", None), ("there", two)):
        rules.extract(
            *text, tmp_path / name, engine=engine, reordering=("hier",), reordering_share=0.3, rule_tags=str(tags)
        )
    assert parts[0].parts > 2
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    whole = rules.extract(*text, tmp_path / "whole", reordering=("hier",), rule_tags=str(tags))
    assert whole.rules and (tmp_path / "here").read_bytes() != (tmp_path / "whole").read_bytes()


def test_rules_with_gaps(two: Engine, text: tuple[Path, Path, Path], tmp_path: Path, parts: list[Counted]) -> None:
    (tmp_path / "input").write_text("w1 w2 w3\nw4\n")
    for number, filters in enumerate(((), (str(tmp_path / "input"),))):
        for name, engine in (("here", None), ("there", two)):
            grammars.extract(*text, tmp_path / f"{name}{number}", engine=engine, max_span=4, filter=filters)
        assert (tmp_path / f"here{number}").read_bytes() == (tmp_path / f"there{number}").read_bytes()
    assert [job.parts > 2 for job in parts] == [True] * 4, "rules for a given input are found here"


@pytest.mark.parametrize(
    "changes", [{}, {"order": 1}, {"order": 2, "prune": (0, 1), "form": "arpa"}, {"order": 4, "memory": "1M"}]
)
def test_language_models(
    two: Engine, text: tuple[Path, Path, Path], tmp_path: Path, parts: list[Counted], changes: dict[str, Any]
) -> None:
    files = [text[0], text[1], text[0], text[1]]
    found = [
        lm.estimate(files, tmp_path / f"lm{number}", engine=engine, discount_fallback=(0.5, 1.0, 1.5), **changes)
        for number, engine in enumerate((None, two))
    ]
    assert parts[0].parts > 2
    assert found[0] == found[1]
    assert (tmp_path / "lm0").read_bytes() == (tmp_path / "lm1").read_bytes()


def test_special_words_are_found_before_they_travel(two: Engine, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\nc <s> d\n")
    for engine in (None, two):
        with pytest.raises(Exception, match="text:2: expected words other than <s>"):
            lm.estimate(tmp_path / "text", tmp_path / "lm", engine=engine)


def test_links_of_shards(two: Engine, tmp_path: Path) -> None:
    source, target = zip(*sentences(), strict=True)
    found = {
        (shards, str(engine)): alignment.train(source, target, engine=engine, shards=shards, seed=3, **QUICK)
        for shards in (2, 5)
        for engine in (None, Serial(), Threads(2), two)
    }
    for number, (shards, aligner) in enumerate((shards, each) for (shards, _), each in found.items()):
        aligner.save(tmp_path / f"{number}")
        first = 0 if shards == 2 else 4
        assert (tmp_path / f"{number}").read_bytes() == (tmp_path / f"{first}").read_bytes()
        assert aligner.trained is not None
    whole = alignment.train(source, target, seed=3, **QUICK).trained
    assert whole is not None
    for aligner in found.values():
        assert aligner.trained is not None and aligner.trained.report == whole.report
        assert agreement(aligner.trained.links(), whole.links()) > 0.8
        again = aligner.align(source[:50], target[:50]).links()
        assert agreement(again, whole.links()) > 0.7


def agreement(one: Links, other: Links) -> float:
    """F1 of the links of the first pairs."""
    count = min(len(one), len(other))
    a, b = ({(s, link) for s in range(count) for link in links[s]} for links in (one, other))
    return 2 * len(a & b) / (len(a) + len(b))


def test_shards_that_cannot_be(two: Engine) -> None:
    with pytest.raises(ValueError, match="expected 1 to 2 shards of 2 pairs, found 3"):
        alignment.train(["a", "b"], ["c", "d"], shards=3, engine=two)
    with pytest.raises(OptionError, match="shards must be"):
        alignment.Options(shards=0)


def test_counts_that_nobody_needs_go(two: Engine) -> None:
    shared = two.share([1])
    assert isinstance(shared, _File) and Path(shared.path).exists()
    path = Path(shared.path)
    del shared
    assert not path.exists()


def read_through(outer: Any) -> int:
    inner: Any = outer.value[0]
    return int(inner.value)


def test_what_is_shared_inside_stays_as_long(two: Engine) -> None:
    """A worker may come late and follow a chain of updates back, as online tuning has them."""
    outer = two.share([two.share(7)])
    assert two.map(read_through, [outer] * 4) == [7] * 4


def plain() -> Iterator[tuple[str, str]]:
    """Plain text, with pairs that come again and pairs that are dropped."""
    for number, (source, target) in enumerate(sentences()):
        yield source.replace(" .", ".").capitalize(), target.replace(" .", ".").capitalize()
        if number % 50 == 0:
            yield "Der Hund sieht den Mann.", "The dog sees the man."
            yield "Der Hund.", " "


@pytest.mark.parametrize(
    "changes",
    [
        {"languages": ("de", "en"), "reordering": ("hier", "maxent"), "classes": (4, 50)},
        {"languages": ("de", "en"), "tokenizer": "moses", "case": "lower", "align_shards": 3, "classes": ()},
        {"tokenized": True, "system": "hiero", "classes": ()},
    ],
)
def test_models(two: Engine, tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.corpus._BATCH", 100)
    pair = write(tmp_path, plain() if "languages" in changes else sentences())
    quick: dict[str, Any] = {"align_samplers": 1, "align_sweeps": (2, 2, 2), "order": 3, **changes}
    made = [
        train(*pair, tmp_path / name, engine=engine, **quick)
        for name, engine in (("here", None), ("there", two), ("threads", Threads(2)))
    ]
    assert content(tmp_path / "here") == content(tmp_path / "there") == content(tmp_path / "threads")
    assert [step.report for step in made[0].steps] == [step.report for step in made[1].steps]
