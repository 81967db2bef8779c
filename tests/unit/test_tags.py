"""Tags of words: from factored text, from tag files, from taggers; and phrase boundaries on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman import lm, model, registry, rules, tags, training
from dragoman.cli.app import dragoman
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.types import Weights


def test_factored_text(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("the|DT run|NN\nruns|run|VBZ\n")
    with pytest.raises(InputError, match=r"t:1: expected `word\|factor\|tag`, found `the\|DT`") as error:
        tags.learn(tmp_path / "out", factored=[tmp_path / "t"], factor=2)
    assert (error.value.path, error.value.line) == (str(tmp_path / "t"), 1)
    assert not (tmp_path / "out").exists()
    (tmp_path / "t").write_text("the|DT run|NN run|VB\nrun|VB runs|VBZ\n")
    found = tags.learn(tmp_path / "out", factored=[tmp_path / "t"])
    assert (found.tokens, found.words, found.tags) == (5, 3, ["DT", "NN", "VB", "VBZ"])
    assert (tmp_path / "out").read_text() == "the\tDT\nrun\tVB\nruns\tVBZ\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("DT NN\n", r"g:2: expected a line of tags for .*t:2, found `the end of the file`"),
        ("DT NN\nVB\nVB\n", r"g:3: expected no more lines than .*t has \(2\), found `VB`"),
        ("DT NN NN\nVB\n", r"g:1: expected 2 tags, one for each word of .*t:1, found `3`"),
        ("DT NN\n\n", r"g:2: expected 1 tags, one for each word of .*t:2, found `0`"),
    ],
)
def test_a_tag_file_of_the_wrong_length(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("the house\nruns\n")
    (tmp_path / "g").write_text(content)
    with pytest.raises(InputError, match=message):
        tags.learn(tmp_path / "out", text=tmp_path / "t", tags=tmp_path / "g")
    assert not (tmp_path / "out").exists()


def test_a_tagger_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        registry.TABLE["tagger"], "long", lambda: lambda words: ["LONG one" if len(w) > 3 else "short" for w in words]
    )
    (tmp_path / "t").write_text("a house\n\nthe tree\nnever seen\n")
    found = tags.learn(tmp_path / "out", text=tmp_path / "t", tagger="long", sentences=3)
    assert found.words == 4
    assert (tmp_path / "out").read_text() == "a\tshort\nhouse\tLONG_one\nthe\tshort\ntree\tLONG_one\n"

    def lazy(words: Sequence[str]) -> list[str]:
        return ["X"]

    monkeypatch.setitem(registry.TABLE["tagger"], "lazy", lambda: lazy)
    with pytest.raises(OptionError, match="line 1: expected 2 tags, one for each word, found 1"):
        tags.learn(tmp_path / "out2", text=tmp_path / "t", tagger="lazy")


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(OptionError, match="unknown tagger `eng`; did you mean en"):
        tags.learn(tmp_path / "out", text=tmp_path / "t", tagger="eng")
    for bad in ({"text": "t"}, {"tagger": "en"}, {"text": "t", "tags": "g", "tagger": "en"}):
        with pytest.raises(OptionError, match="either its tags or a tagger"):
            tags.learn(tmp_path / "out", **bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected tagged text"):
        tags.learn(tmp_path / "out")


@pytest.mark.parametrize(
    ("language", "sentence", "want"),
    [
        ("en", "a man is running", {"a": "AT0", "man": "NN1", "is": "VBZ", "running": "VVG"}),
        ("de", "der Mann läuft", {"der": "ART", "Mann": "NN", "läuft": "VV(FIN)"}),
    ],
)
def test_the_taggers_that_come_with_a_package(
    language: str, sentence: str, want: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("HanTa")
    (tmp_path / "t").write_text(sentence + "\n")
    out = str(tmp_path / "out")
    arguments = ["features", "tags", "--text", str(tmp_path / "t"), "--tagger", language, "--out", out, "--json"]
    done = CliRunner().invoke(dragoman, arguments, catch_exceptions=False)
    assert json.loads(done.stdout)["words"] == len(want)
    assert dict(line.split("\t") for line in Path(out).read_text().splitlines()) == want


def test_tags_that_rules_carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same word has other tags in other rules, which one tag for each word cannot have."""
    text = [("das rennen", "the run"), ("sie rennen", "they run"), ("das", "the"), ("sie", "they")] * 3
    for side, name in enumerate(("de", "en")):
        (tmp_path / f"train.{name}").write_text("".join(pair[side] + "\n" for pair in text))
    (tmp_path / "links").write_text(
        "".join(" ".join(f"{i}-{i}" for i in range(len(p[0].split()))) + "\n" for p in text)
    )
    after = {"the": "NN", "they": "VBP"}

    def by_neighbour(words: Sequence[str]) -> list[str]:
        known = {"the": "DT", "they": "PRP"}
        return [known.get(word) or after[words[at - 1]] for at, word in enumerate(words)]

    monkeypatch.setitem(registry.TABLE["tagger"], "mine", lambda: by_neighbour)
    options: dict[str, Any] = {"alignments": str(tmp_path / "links"), "classes": (), "order": 2}
    sides = str(tmp_path / "train.de"), str(tmp_path / "train.en")
    training.train(*sides, tmp_path / "model", rule_tagger="mine", **options)
    assert (tmp_path / "model" / "rules.tags").read_text().split() == ["DT", "NN", "PRP", "VBP"]
    assert not (tmp_path / "model" / "target.tagged").exists()
    decoder = Decoder(tmp_path / "model", features="pb:tags=carried")
    weights = decoder.weights.to_dict() | {"PhrasePenalty": -9.0}  # long phrases
    fired = {}
    for line in ("das rennen", "sie rennen", "sie neues"):
        row = decoder.nbest([line], 1, weights=Weights.of(weights)).features.row(0)
        fired[line] = {name for name in row if name.startswith("pb:")}
    assert fired["das rennen"] == {"pb:^>DT", "pb:NN>$"}
    assert fired["sie rennen"] == {"pb:^>PRP", "pb:VBP>$"}
    assert fired["sie neues"] == {"pb:^>PRP", "pb:PRP>^other", "pb:^other>$"}  # no rule, no tags
    training.train(*sides, tmp_path / "plain", **options)
    with pytest.raises(OptionError, match="carry no tags; `dragoman train --rule-tagger` adds them"):
        Decoder(tmp_path / "plain", features="pb:tags=carried")
    with pytest.raises(OptionError, match="rule_tagger"):
        training.Options.of(system="hiero", rule_tagger="mine")


def test_figure_4_of_the_paper(tmp_path: Path) -> None:
    """[europe 's] [after] [racial] [house divided against itself]: the features of Haddow et al. (2011), figure 4."""
    rows = ["a ||| europe 's", "b ||| after", "c ||| racial", "d ||| house divided against itself"]
    (tmp_path / "table").write_text("".join(f"{row} ||| 1 ||| 0-0 ||| 1 1 1\n" for row in rows))
    rules.import_moses(tmp_path / "table", tmp_path / "rules", columns=["log count"])
    (tmp_path / "text").write_text("europe 's after racial house\n")
    lm.estimate([tmp_path / "text"], tmp_path / "lm", order=2, discount_fallback=(0.5, 1.0, 1.5), form="hash")
    parts = [model.Part("lm", "LM", {"path": "lm"}), model.Part("distortion", "Distortion")]
    model.seal(tmp_path, tables=["rules"], parts=parts, initial={"LM": 1.0})
    (tmp_path / "tagged").write_text(
        "europe|NNP 's|POS after|IN racial|JJ house|NN divided|VBN against|IN itself|PRP\n"
    )
    tags.learn(tmp_path / "tags", factored=[tmp_path / "tagged"])
    decoder = Decoder(tmp_path, features=f"pb:tags={tmp_path / 'tags'}")
    found = decoder.nbest(["a b c d"], 1, weights=Weights.of({"Distortion": 5.0}))
    fired = {name: value for name, value in found.features.row(0).items() if name.startswith("pb:")}
    assert fired == dict.fromkeys(["pb:^>NNP", "pb:POS>IN", "pb:IN>JJ", "pb:JJ>NN", "pb:PRP>$"], 1.0)
