"""What to tune and where it goes: one run, several, or all variants of a sweep."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman import curves, registry
from dragoman.errors import InputError
from dragoman.files import write_bytes, write_text
from dragoman.model import MANIFEST, TOOK, USER, derive
from dragoman.training.steps import peak
from dragoman.tuning import Problem, RunDir, Tuned, Tuner, replicate, sweep
from dragoman.verbs.tuning.asked import TuneOptions, Watcher
from dragoman.verbs.tuning.modelled import Modelled, kept, search_settings


@dataclass
class Job:
    """What to tune and where it goes: lists or a model, one run or several."""

    problem: Problem
    start: Any
    out: Path | None
    """A file for weights, or with a model a folder."""
    watch: Watcher
    about: dict[str, Any] | None = None
    rounds: int | None = None
    modelled: Modelled | None = None
    trace: Path | None = None
    curve: Path | None = None

    def place(self, mark: str = "", keep: bool = False) -> RunDir:
        """Where a run is kept; `mark` tells several apart."""
        trace = None if self.trace is None else _marked(self.trace, mark)
        if self.out is None:
            return RunDir(trace=trace)
        if self.modelled is not None:
            return RunDir(self.out / mark if mark else self.out, trace=trace, untrue=[self.out / MANIFEST])
        return RunDir.beside(_marked(self.out, mark), trace, keep=keep)

    def begin(self, tuner: Tuner, o: TuneOptions, overwrite: bool) -> None:
        """Several runs of a model have a folder each, and one around them, which must not hold another result."""
        if self.out is None:
            return
        several: dict[str, Any] = {"tuner": registry.name_of("tuner", tuner), "metric": self.problem.metric.signature()}
        if o.sweep:
            several["sweep"] = list(o.sweep)
        elif o.replications > 1:
            several |= {"replications": o.replications, "seed": o.seed}
        else:
            several = {}
        RunDir(self.out, untrue=[self.out / MANIFEST]).begin_several(several, not overwrite)

    def seal(self, found: Tuned, o: TuneOptions) -> Path | None:
        """Makes a model of the folder with the result; one with features from memory cannot be a model."""
        if self.out is None or self.modelled is None:
            return None
        if self.modelled.apart is not None:
            self.modelled.apart.save(self.out)
        decoder = self.modelled.decoder
        described = [part.name for part in decoder.model.parts if part.kind == USER]
        lost = [feature.name for feature in decoder.extra if feature.name not in described]
        if lost:
            self.watch.warning(
                f"{self.out}: has weights, but is no model: the feature `{lost[0]}` was made in memory and cannot go "
                "with it; load it from a file, FILE.py:NAME"
            )
            return None
        if decoder.glossary is not None and not decoder.counts_terms:
            self.watch.warning(
                "terms of the glossary were forced: they have no weight, and the tuned model does not keep them; give "
                "the glossary again when it translates, or tune with a glossary_weight"
            )
        with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
            model = kept(decoder, Path(folder))
            derive(self.out, model, search=search_settings(decoder), tuned=self._about(found, o), copy=o.copy)
        return self.out

    def _about(self, found: Tuned, o: TuneOptions) -> dict[str, Any]:
        """How a model was tuned, for those who look at it."""
        assert self.modelled is not None
        about: dict[str, Any] = {
            "tuner": found.tuner, "metric": found.metric, "seed": found.seed, "epochs": found.steps,
            "epoch": found.best, "sentences": self.modelled.sentences, "start": found.start.score,
            "end": found.end.score,
        }  # fmt: skip
        if found.held_out is not None and found.held_out_start is not None:
            about |= {"held_out_sentences": self.modelled.held_out, "held_out_start": found.held_out_start.score}
            about |= {"held_out": found.held_out.score}
        if o.replications > 1:
            about["replications"] = o.replications
        if o.sweep:
            about["sweep"] = list(o.sweep)
        return about

    def run(self, tuner: Tuner, count: int, settings: dict[str, Any]) -> tuple[list[Tuned], int]:
        """One run, or several with other seeds, and the number of the one that is the result: the median."""
        marks = [""] if count == 1 else [f"run{number + 1}" for number in range(count)]
        places = [self.place(mark, keep=count > 1) for mark in marks]

        def began(number: int) -> None:
            self._ready(places[number])
            if count > 1:
                self.watch.note(f"run {number + 1} of {count}")

        done: list[Tuned] = []

        def ended(found: Tuned) -> None:
            done.append(found)
            self._tell(found, places[len(done) - 1], marks[len(done) - 1])

        with self._watching() as progress:
            results = replicate(
                self.problem, tuner, count, places.__getitem__, began=began, ended=ended, start=self.start,
                rounds=self.rounds, about=self.about, progress=progress, **settings,
            )  # fmt: skip
        if count == 1:
            return results, 0
        order = sorted(range(count), key=lambda number: self._key(results[number]))
        median = order[(count - 1) // 2]
        self._adopt(places, median)
        return results, median

    def sweep(self, variants: Sequence[sweep.Variant], settings: dict[str, Any]) -> list[tuple[str, Tuned]]:
        """A run for each variant; the best of these gives the result."""
        places = [self.place(f"sweep{number + 1}", keep=True) for number in range(len(variants))]
        for place in places:
            self._ready(place)
        with self._watching() as progress:
            tried = sweep.run(
                self.problem, variants, places.__getitem__, start=self.start, rounds=self.rounds, about=self.about,
                progress=progress, **settings,
            )  # fmt: skip
        chosen = sweep.best(tried, self.problem.metric)
        for warning in chosen.warnings:
            self.watch.warning(warning)
        self._adopt(places, next(number for number, (_, found) in enumerate(tried) if found is chosen))
        return tried

    def _key(self, found: Tuned) -> float:
        return self.problem.sign * (found.held_out or found.end).score

    def _ready(self, place: RunDir) -> None:
        if place.folder is not None:
            writable_folder(place.folder)

    def _watching(self) -> AbstractContextManager[Any]:
        decoder = None if self.modelled is None else self.modelled.decoder
        texts = (0, 0) if self.modelled is None else (self.modelled.sentences, self.modelled.held_out)
        return self.watch.watching(decoder, self.problem.metric, self.rounds or 0, texts)

    def _tell(self, found: Tuned, place: RunDir, mark: str) -> None:
        """What a run leaves besides its weights."""
        if self.curve is not None:
            curves.save(found.trace, _marked(self.curve, mark), self.problem.metric.name)
        for warning in found.warnings:
            self.watch.warning(warning)
        if place.folder is not None and self.modelled is not None:
            curves.save(found.trace, place.folder / "curve.png", self.problem.metric.name)
            seconds = sum(float(record.get("seconds", 0.0)) for record in found.trace)
            took = {"seconds": round(seconds, 3), "peak": peak()}
            write_bytes(place.folder / TOOK, (json.dumps(took) + "\n").encode())
            if found.held_out_texts is not None:
                write_text(place.folder / "held-out.txt", self.modelled.readable(found.held_out_texts))

    def _adopt(self, places: Sequence[RunDir], chosen: int) -> None:
        """The weights of one run are the result; only then may checkpoints of lists go."""
        source = places[chosen].out
        if source is None or self.out is None:
            return
        target = self.out / "weights.toml" if self.modelled else self.out
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        shutil.copyfile(source, partial)
        partial.replace(target)
        if self.modelled is None:
            for place in places:
                place.remove()


def _marked(path: Path, mark: str) -> Path:
    """A file name with a mark before its ending, to tell several runs apart."""
    return path.with_name(f"{path.stem}.{mark}{path.suffix}") if mark else path


def writable_folder(folder: Path) -> None:
    """Says now, not after the work, that a result could not be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}", str(folder)) from None
