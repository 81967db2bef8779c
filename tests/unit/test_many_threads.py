"""One decoder in the hands of many threads, and what is left of one that was closed."""

from __future__ import annotations

import gc
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny

from dragoman import moses
from dragoman.decoder import Decoder, DecoderSource
from dragoman.errors import OptionError
from dragoman.types import Names, Weights
from dragoman.user_features import Options

MANY = 16
STATM = Path("/proc/self/statm")
linux = pytest.mark.skipif(not STATM.is_file(), reason="asks Linux what the process holds")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


def some_weights(first: Weights, count: int) -> list[Weights]:
    """More than a decoder keeps ready: made of their own names, and changed from one another."""
    rng, made = np.random.default_rng(0), [first]
    pairs = [f"pt:{source}>{target}" for source in tiny.SOURCE for target in tiny.TARGET]
    for number in range(count - 1):
        if number % 3 == 2:
            made.append(made[-1].changed(np.arange(3, dtype=np.uint32), rng.normal(size=3)))
            continue
        names = Names([*first.names.to_list(), *rng.permutation(pairs)[:20].tolist()])
        values = np.concatenate([first.values * rng.uniform(0.5, 2), rng.normal(size=20)])
        made.append(Weights(names, values))
    return made


def one_by_one(decoder: Decoder, line: str, weights: Weights) -> tuple[Any, ...]:
    """All that a decoder says of a line, by name: numbers of names depend on which was met first."""
    found = decoder.nbest([line], 5, weights=weights)
    assert found.totals is not None
    rows = [sorted(found.features.row(row).items()) for row in range(found.size)]
    return decoder.translate([line], weights=weights), found.texts.to_list(), found.totals.tolist(), rows


def test_many_threads_find_what_one_finds(folder: Path) -> None:
    """With weights that change between calls."""
    lines = tiny.lines(60)
    jobs = list(zip(lines, cycle(some_weights(Decoder(folder).weights, 21)), strict=False))
    alone = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH, threads=1)
    want = [one_by_one(alone, *job) for job in jobs]
    assert len({str(result) for result in want}) > len(jobs) / 2
    shared = Decoder(folder, features=tiny.SETS, search=tiny.SEARCH)
    with ThreadPoolExecutor(MANY) as pool:
        for _ in range(3):
            assert list(pool.map(lambda job: one_by_one(shared, *job), jobs)) == want
    assert len(shared._ready) <= MANY


class Meeting:
    """A feature that waits, within the search, for as many other searches; it notes the threads that it is asked on."""

    name = "Meeting"
    names = ("Nothing",)

    def __init__(self, wait: Callable[[], object]) -> None:
        self.wait = wait
        self.seen: set[int] = set()

    def score(self, options: Options) -> Any:
        self.seen.add(threading.get_ident())
        self.wait()
        return np.zeros((len(options), 1))


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_calls_with_one_line_do_not_wait_for_each_other(folder: Path, threads: int | None) -> None:
    """All searches are under way at once, on the threads that asked for them, however many cores there are."""
    feature = Meeting(threading.Barrier(MANY, timeout=20).wait)
    decoder = Decoder(folder, extra=[feature], threads=threads)
    want = Decoder(folder).translate(["a b c"])
    weights = some_weights(decoder.weights, 1) * MANY
    callers: set[int] = set()

    def call(number: int) -> list[str]:
        callers.add(threading.get_ident())
        return decoder.translate(["a b c"], weights=weights[number])

    with ThreadPoolExecutor(MANY) as pool:
        assert list(pool.map(call, range(MANY))) == [want] * MANY
    assert feature.seen == callers and len(callers) == MANY


def test_a_closed_decoder_says_so(folder: Path) -> None:
    with Decoder(folder) as decoder:
        source = DecoderSource(decoder, ["a b"])
        weights = decoder.weights
        assert decoder.translate(["a b"])
    decoder.close()
    calls: list[Callable[[], object]] = [
        lambda: decoder.translate(["a b"]),
        lambda: decoder.translate([]),
        lambda: decoder.nbest(["a b"], 3),
        lambda: decoder.force(["a b"], ["s"]),
        lambda: decoder.explain("a b"),
        lambda: decoder.forest("a b"),
        lambda: list(decoder.stream(["a b"])),
        lambda: decoder.dense,
        lambda: decoder.vocabulary,
        lambda: pickle.dumps(decoder),
        lambda: source.candidates([0], weights),
        lambda: source.forests([0], weights),
        lambda: source.best(weights),
        decoder.__enter__,
    ]
    for call in calls:
        with pytest.raises(OptionError, match=r"the decoder of .* is closed: open it anew"):
            call()


@linux
def test_a_closed_decoder_holds_no_table(folder: Path) -> None:
    def mapped() -> bool:
        gc.collect()
        return str(folder / "t.rules") in Path("/proc/self/maps").read_text()

    decoder = Decoder(folder)
    decoder.translate(["a b"])
    assert mapped()
    decoder.close()
    assert not mapped()


def test_calls_under_way_end_well(folder: Path) -> None:
    """Another thread closes the decoder in the middle of a search."""
    begun, closed = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert closed.wait(20)

    decoder = Decoder(folder, extra=[Meeting(wait)])
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(decoder.translate, ["a b c"])
        assert begun.wait(20)
        decoder.close()
        closed.set()
        assert call.result() == Decoder(folder).translate(["a b c"])


@pytest.mark.long
@linux
def test_a_minute_of_many_threads(data: Path, tmp_path: Path) -> None:
    """The same output as one thread, again and again, in memory that does not grow."""
    golden = data / "golden-moses"
    model = moses.convert(golden / "moses.tuned.ini", tmp_path / "model")
    decoder, alone = Decoder(model), Decoder(model, threads=1)
    lines = (golden / "in.de").read_text(encoding="utf-8").splitlines()
    weights = [decoder.weights, Weights(decoder.weights.names, decoder.weights.values * [*[1.0] * 14, 3.0])]
    want = [alone.translate(lines, weights=one) for one in weights]
    assert want[0] != want[1]
    until = time.monotonic() + 60
    wrong: list[int] = []
    done = [0] * MANY

    def work(number: int) -> None:
        for place in islice(cycle(range(len(lines))), number * 19, None):
            if time.monotonic() > until:
                return
            which = (place + number) % 2
            if decoder.translate([lines[place]], weights=weights[which]) != [want[which][place]]:
                wrong.append(place)
            done[number] += 1

    def resident(seconds: float) -> int:
        """The most pages that were seen in use in that time."""
        end, most = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            most = max(most, int(STATM.read_text().split()[1]))
            time.sleep(0.1)
        return most

    workers = [threading.Thread(target=work, args=(number,)) for number in range(MANY)]
    for worker in workers:
        worker.start()
    early = resident(25)  # all threads have met the longest sentences
    late = resident(until - time.monotonic())
    for worker in workers:
        worker.join()
    assert not wrong
    assert min(done) > 0
    assert late <= early * 1.05, "memory grows"
