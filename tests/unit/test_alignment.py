from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dragoman import alignment
from dragoman.errors import InputError, OptionError
from dragoman.types import Texts

Cli = Callable[..., tuple[int, str, str]]
QUICK = alignment.Options(samplers=2, sweeps=(2, 3, 4))


def made(pairs: int, seed: int = 1) -> tuple[list[str], list[str], list[set[tuple[int, int]]]]:
    """A made language: word k is w<k> here and v<k> there, some neighbours swap, and fillers mean nothing."""
    rng = random.Random(seed)
    source, target, gold = [], [], []
    for _ in range(pairs):
        words = [min(int(rng.expovariate(0.05)), 199) for _ in range(rng.randint(3, 12))]
        order = list(range(len(words)))
        for k in range(len(order) - 1):
            if rng.random() < 0.15:
                order[k], order[k + 1] = order[k + 1], order[k]
        line: list[str] = []
        links = set()
        for k in order:
            if rng.random() < 0.1:
                line.append("filler")
            links.add((k, len(line)))
            line.append(f"v{words[k]}")
        source.append(" ".join(f"W{w}" for w in words))
        target.append(" ".join(line))
        gold.append(links)
    return source, target, gold


def test_learns_a_made_language() -> None:
    source, target, gold = made(1500)
    seen: list[tuple[int, int]] = []
    aligner = alignment.train(source, target, QUICK, lambda done, total: seen.append((done, total)))
    assert seen == [(k, 9) for k in range(1, 10)]
    truth = alignment.Gold(alignment.Links.of(gold), alignment.Links.of(gold))
    assert aligner.trained is not None
    assert alignment.error_rate(aligner.trained.links("intersection"), truth) < 0.04
    assert alignment.error_rate(aligner.trained.links(), truth) < 0.06

    source, target, gold = made(200, seed=2)
    truth = alignment.Gold(alignment.Links.of(gold), alignment.Links.of(gold))
    assert alignment.error_rate(aligner.align(source, target).links(), truth) < 0.06


def test_save_and_load(tmp_path: Path) -> None:
    source, target, _ = made(300)
    aligner = alignment.train(source, target, QUICK)
    aligner.save(tmp_path / "a.zst")
    again = alignment.Aligner.load(tmp_path / "a.zst")
    assert again.trained is None
    first, second = (a.align(source, target).links() for a in (aligner, again))
    assert np.array_equal(first.source, second.source) and np.array_equal(first.starts, second.starts)
    # A pair's links do not depend on its neighbours.
    alone = again.align(source[7:8], target[7:8]).links()
    assert alone[0] == second[7]
    (tmp_path / "bad").write_bytes(b"DRGALIGN\x09\x00\x00\x00")
    with pytest.raises(InputError, match="version 1, found 9"):
        alignment.Aligner.load(tmp_path / "bad")


def test_links(tmp_path: Path) -> None:
    links = alignment.Links.of([[(1, 0), (0, 0), (1, 0)], [], [(3, 4)]])
    assert (len(links), links[0], links[-1]) == (3, [(0, 0), (1, 0)], [(3, 4)])
    with pytest.raises(IndexError):
        links[3]
    links.write(tmp_path / "l.gz")
    again = alignment.Links.read(tmp_path / "l.gz")
    assert [again[k] for k in range(3)] == [links[k] for k in range(3)]
    with pytest.raises(InputError, match=r"l\.gz:3: expected links between 2 source and 5 target words"):
        alignment.Links.read(tmp_path / "l.gz", (Texts(["a b", "", "a b"]), Texts(["x", "", "a b c d e"])))
    with pytest.raises(OptionError):
        alignment.Links.of([[(-1, 0)]])
    wrong = alignment.Links(np.array([0, 5]), links.source, links.target)
    with pytest.raises(OptionError, match="starts that rise"):
        alignment.symmetrise(wrong, links)
    with pytest.raises(OptionError, match="as many pairs"):
        alignment.symmetrise(alignment.Links.of([[]]), links)
    with pytest.raises(OptionError, match="expected a method"):
        alignment.symmetrise(links, links, "grow")


@pytest.mark.parametrize(
    "options",
    [
        {"samplers": 0},
        {"sweeps": (1, 1, 0)},
        {"null_probability": 1.0},
        {"lexical_prior": 0.0},
        {"max_words": 0},
        {"seed": -1},
    ],
)
def test_options(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        alignment.train(["a"], ["b"], alignment.Options(**options))


def test_text_that_cannot_be_trained_on() -> None:
    with pytest.raises(OptionError, match="as many target lines"):
        alignment.train(["a", "b"], ["c"])
    with pytest.raises(OptionError, match="words on both sides"):
        alignment.train(["a", ""], ["", "b"])


def test_command_line(cli: Cli, tmp_path: Path) -> None:
    source, target, gold = made(400)
    source[3], target[4], target[5] = "", "word " * 10_000, target[5] + " a|b \x01"
    files = {n: tmp_path / n for n in ("s", "t", "links", "f", "r", "model", "gold", "new", "joined", "copy")}
    files["s"].write_text("\n".join(source) + "\n")
    files["t"].write_text("\n".join(target) + "\n")
    gold[3] = gold[4] = set()
    files["gold"].write_text("".join(" ".join(f"{s}-{t}" for s, t in pair) + "\n" for pair in gold))
    text = ["--src", files["s"], "--tgt", files["t"]]
    extra = ["--forward", files["f"], "--reverse", files["r"], "--model", files["model"]]
    code, out, err = cli("align", *text, "--out", files["links"], *extra, "--sweeps", "2", "3", "4")
    assert (code, out) == (0, "")
    assert (
        "1 of 400 sentence pairs have an empty side" in err
        and "1 of 400 sentence pairs have more words than --max-words" in err
    )
    assert "1 of 400 sentence pairs have control" in err and "1 of 400 sentence pairs have `|`" in err
    code, out, _ = cli("align", "score", "--gold", files["gold"], files["links"], "--json")
    assert code == 0 and json.loads(out)[str(files["links"])]["aer"] < 0.12
    code, out, _ = cli("align", "score", "--gold", files["gold"], files["links"])
    assert out.splitlines()[0].split() == ["links", "AER", "precision", "recall"]
    assert cli("align", "symmetrise", files["f"], files["r"], files["joined"])[0] == 0
    assert files["joined"].read_text() == files["links"].read_text()
    assert cli("align", "apply", "--model", files["model"], *text, "--out", files["new"])[0] == 0
    assert len(files["new"].read_text().splitlines()) == 400
    assert cli("align", *text, "--alignments", files["links"], "--out", files["copy"])[0] == 0
    assert files["copy"].read_text() == files["links"].read_text()
    files["links"].write_text("0-0\n" * 3 + "0-0\n" * 397)
    code, _, err = cli("align", *text, "--alignments", files["links"], "--out", files["copy"])
    assert code == 1 and "links:4: expected links between 0 source and" in err


def test_unequal_files(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\nb\n")
    (tmp_path / "b").write_text("a\n")
    code, _, err = cli("align", "--src", tmp_path / "a", "--tgt", tmp_path / "b")
    assert code == 1 and "b:2: expected 2 lines as in" in err


def test_eflomal_plug_in(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("a b\n")
    text = ["--src", tmp_path / "a", "--tgt", tmp_path / "a", "--aligner", "eflomal"]
    monkeypatch.setitem(sys.modules, "eflomal", None)
    code, _, err = cli("align", *text)
    assert code == 1 and "eflomal is not installed" in err
    assert cli("align", *text, "--model", tmp_path / "m")[0] == 1

    class Fake:
        def align(self, source: Any, target: Any, links_filename_fwd: str, links_filename_rev: str) -> None:
            assert source.read() == target.read() == "a b\n"
            Path(links_filename_fwd).write_text("0-0 1-1\n")
            Path(links_filename_rev).write_text("0-0\n")

    module = ModuleType("eflomal")
    module.Aligner = Fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "eflomal", module)
    assert cli("align", *text, "--symmetrise", "intersection")[1] == "0-0\n"
