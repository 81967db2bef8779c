"""How far a run of tuning with a decoder is, for those who watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dragoman.cli.progress import watch
from dragoman.decoder import Decoder
from dragoman.types import Metric

__all__ = ["watching"]


@contextmanager
def watching(
    decoder: Decoder, metric: Metric, epochs: int, texts: tuple[int, int]
) -> Iterator[Callable[[dict[str, float]], None]]:
    """Says what came of each epoch, and to those who watch how far the one under way is."""
    course = _Course(decoder, metric, epochs, texts)
    with watch(course.now) as say:
        yield lambda record: say(course.ended(record))


class _Course:
    """How far a run has come: a line for each epoch, and for those who watch one about the epoch under way."""

    def __init__(self, decoder: Decoder, metric: Metric, epochs: int, texts: tuple[int, int]) -> None:
        self.decoder, self.metric, self.epochs = decoder, metric, epochs
        self.sentences, self.held_out = texts
        self.epoch = -1
        """The last one that ended; 0 is the scoring of the start weights."""
        self.usual: tuple[int, float] | None = None
        """Sentences and seconds of the last epoch."""
        self._mark()

    def _mark(self) -> None:
        self.began, self.searched = time.monotonic(), self.decoder.searched

    def ended(self, record: dict[str, float]) -> str:
        """What came of an epoch, with the time that is left if the others take as long."""
        self.epoch = int(record["step"])
        parts = [f"epoch {self.epoch}/{self.epochs}", f"{self.metric.name} {record['score']:.2f}"]
        parts += [f"held-out {record['held_out']:.2f}"] if "held_out" in record else []
        if "nonzero" in record:
            left = record["seconds"] * (self.epochs - self.epoch)
            parts += [f"{int(record['nonzero']):,} weights", f"{record['seconds']:.1f} s"]
            parts += [f"at most {_clock(left)} left"] if left >= 1 else []
            self.usual = self.decoder.searched - self.searched, record["seconds"]
        self._mark()
        return "  ".join(parts)

    def now(self) -> str:
        """The epoch under way: sentences that were translated, and the time that is left for all epochs."""
        if self.epoch == self.epochs:
            return "scoring the result"
        done, seconds = self.decoder.searched - self.searched, time.monotonic() - self.began
        parts = [f"epoch {self.epoch + 1}/{self.epochs}", self._translated(done), _clock(seconds)]
        if self.usual is not None:
            duration = self.usual[1]
            left = duration * (self.epochs - self.epoch) - seconds
            parts += [f"at most {_clock(left)} left"] if left >= 1 else []
        return "  ".join(parts)

    def _translated(self, done: int) -> str:
        """How far the text is. A sentence that is translated again, to score new weights, is no further one."""
        first = self.sentences + self.held_out if self.epoch < 0 else self.sentences
        if done <= first:
            return f"{done:,} of {first:,} sentences translated"
        if self.usual is None or self.usual[0] <= first:
            return "scoring"
        rest = self.usual[0] - first
        return f"scoring, {min(done - first, rest):,} of {rest:,} sentences translated"


def _clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"
