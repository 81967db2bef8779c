"""Training a hierarchical model: what its folder says, which options it has, and that phrases are as they were."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import grammars, toml, weights
from dragoman.decoder import Decoder
from dragoman.errors import InputError, OptionError
from dragoman.model import Model, derive, pack
from dragoman.rules import Table
from dragoman.training import Options, train
from dragoman.translator import load

Cli = Callable[..., tuple[int, str, str]]
SMALL: dict[str, Any] = {"classes": (4,), "order": 3, "tokenized": True}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    things = {"hund": "dog", "mann": "man", "vogel": "bird", "wagen": "car"}
    verbs = {"sieht": "sees", "kennt": "knows", "sucht": "seeks"}
    lines = [
        (f"weil der {a} den {x} {v} .", f"because the {b} {w} the {y} .")
        for (a, b), (v, w), (x, y) in itertools.product(things.items(), verbs.items(), things.items())
    ]
    for name, side in zip(("t.de", "t.en"), zip(*lines, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return tmp_path / "t.de", tmp_path / "t.en"


def write_links(pair: tuple[Path, Path], folder: Path) -> Path:
    (folder / "links").write_text("0-0 1-1 2-2 3-4 4-5 5-3 6-6\n" * len(pair[0].read_text().splitlines()))
    return folder / "links"


def test_the_model_says_what_it_is(pair: tuple[Path, Path], tmp_path: Path) -> None:
    links = write_links(pair, tmp_path)
    trained = train(*pair, tmp_path / "m", system="hiero", alignments=links, classes=(4,), order=3)
    opened = Model.open(tmp_path / "m")
    assert opened.system == trained.model.system == "hiero"
    assert toml.load(tmp_path / "m" / "model.toml", "")["system"] == "hiero"
    kinds = [part.kind for part in opened.parts]
    assert kinds == ["scores", "lm", "word-penalty", "phrase-penalty", "unknown-penalty", "glue", "pass-through"]
    assert {"Glue", "PassThrough", "RulePenalty", "p(e|f)", "log-count"} <= set(opened.weights.to_dict())
    assert dict(opened.search) == {"pop_limit": 600, "cell_limit": 200, "span_limit": 20, "table_limit": 20}
    assert not {"reordering", "max_phrase_length", "maxent_c"} & set(opened.made["options"])
    table = Table(tmp_path / "m" / "rules")
    assert table.meta["system"] == "hiero"
    assert "[X,1] sees the dog" in [rule.target for rule in table.lookup("[X,1] den hund sieht")]
    assert table.lookup("weil [X,1] .")[0].target == "because [X,1] ."


def test_the_system_of_eidelman(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for path in pair:
        path.write_text(path.read_text().replace(" .", ".").replace("weil", "Weil").replace("because", "Because"))
    options: dict[str, Any] = {"system": "hiero", "preset": "eidelman", "classes": (), "order": 3}
    model = train(*pair, tmp_path / "m", languages=("de", "en"), compounds="none", **options).model
    kinds = [part.kind for part in model.parts]
    assert kinds == ["scores", "lm", "source-word-penalty", "pass-through", "word-penalty"]
    assert model.text["case"] == "lower", "the paper's text is in lower case"
    assert model.search["span_limit"] == 15
    decoder = Decoder(model)
    found = decoder.nbest(["weil der hund den mann sieht ."], 5)
    column = found.features.names.get("SourceWordPenalty")
    rows = found.features.dense()[:, column]
    assert set(rows.tolist()) == {-7.0}


def test_plain_text_of_a_filter_is_prepared(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for path in pair:
        path.write_text(path.read_text().replace(" .", "."))
    (tmp_path / "in.de").write_text("Weil der Hund den Vogel kennt.\n")
    options: dict[str, Any] = {
        "system": "hiero",
        "classes": (),
        "order": 3,
        "compounds": "none",
        "languages": ("de", "en"),
    }
    train(*pair, tmp_path / "m", filter=(str(tmp_path / "in.de"),), case="lower", **options)
    table = Table(tmp_path / "m" / "rules")
    assert table.lookup("[X,1] vogel kennt ."), "the mark at the end is a word of its own, as in the bitext"
    assert table.lookup("hund") and not table.lookup("mann")
    assert not list((tmp_path / "m").glob("more.*")), "prepared text is not part of the model"


def test_parts_of_unknown_compounds_pass_a_filter(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "in.de").write_text("der hundvogel .\n")
    options: dict[str, Any] = {"system": "hiero", "compounds": "unknown", **SMALL}
    train(*pair, tmp_path / "whole", **options)
    train(*pair, tmp_path / "small", filter=(str(tmp_path / "in.de"),), **options)
    table = Table(tmp_path / "small" / "rules")
    assert table.lookup("hund") and table.lookup("vogel")
    assert not table.lookup("mann")
    assert not list((tmp_path / "small").glob("split.*")), "prepared text is not part of the model"
    line = "der hundvogel ."
    small, whole = (load(tmp_path / name).translate(line).text for name in ("small", "whole"))
    assert small == whole and "hundvogel" not in small


def test_what_is_made_of_it_is_hierarchical(pair: tuple[Path, Path], tmp_path: Path) -> None:
    model = train(*pair, tmp_path / "m", system="hiero", **SMALL).model
    (tmp_path / "tuned").mkdir()
    weights.save(tmp_path / "tuned" / "weights.toml", model.weights)
    assert derive(tmp_path / "tuned", model).system == "hiero"
    pack(model, tmp_path / "m.tar.zst")
    assert Model.open(tmp_path / "m.tar.zst").system == "hiero"
    text = (tmp_path / "m" / "model.toml").read_text().replace('system = "hiero"\ntables', 'system = "tree"\ntables')
    (tmp_path / "m" / "model.toml").write_text(text)
    with pytest.raises(InputError, match="expected the system phrase or hiero, found tree"):
        Model.open(tmp_path / "m")


def test_cdec_s_scores(pair: tuple[Path, Path], tmp_path: Path) -> None:
    model = train(*pair, tmp_path / "m", system="hiero", preset="cdec", **SMALL).model
    assert Table(tmp_path / "m" / "rules").columns == grammars.CDEC_COLUMNS
    assert set(grammars.CDEC_COLUMNS) <= set(model.weights.to_dict())
    assert model.search["span_limit"] == 15


def test_the_memory_does_not_show(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for memory in ("1M", "1G"):
        train(*pair, tmp_path / memory, system="hiero", memory=memory, **SMALL)
    assert (tmp_path / "1M" / "model.toml").read_bytes() == (tmp_path / "1G" / "model.toml").read_bytes()


def test_phrases_say_nothing_of_systems(pair: tuple[Path, Path], tmp_path: Path) -> None:
    train(*pair, tmp_path / "m", **SMALL)
    text = (tmp_path / "m" / "model.toml").read_text()
    assert "system" not in text and not any(f"\n{name} =" in text for name in grammars.OWN)
    assert Model.open(tmp_path / "m").system == "phrase"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": "hiero", "max_phrase_length": 5}, "max_phrase_length is an option of the phrase-based system"),
        ({"system": "hiero", "max_phrase_length": 7}, "max_phrase_length is an option of the phrase-based system"),
        ({"system": "hiero", "reordering": ("hier",)}, "reordering is an option of the phrase-based system"),
        ({"system": "hiero", "reordering": ("maxent",)}, "reordering is an option of the phrase-based system"),
        ({"system": "hiero", "maxent_c": 0.1}, "maxent_c is an option of the phrase-based system"),
        ({"max_span": 12}, "max_span is an option of rules with gaps; use it with system hiero"),
        ({"preset": "moses"}, "preset is an option of rules with gaps; use it with system hiero"),
        ({"system": "tree"}, "system must be one of phrase, hiero, found `tree`"),
    ],
    ids=str,
)
def test_options_of_the_other_system_are_refused(
    pair: tuple[Path, Path], tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        train(pair[0], pair[1], tmp_path / "m", None, **SMALL, **options)
    assert not (tmp_path / "m").exists()


def test_options_that_need_each_other(pair: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cdec's scores are made of whole counts, without smoothing"):
        train(*pair, tmp_path / "m", system="hiero", scores="cdec", **SMALL)
    with pytest.raises(OptionError, match="max_span must be a whole number from 1 to 15"):
        Options.of(system="hiero", max_span=16)


def test_the_command_line(pair: tuple[Path, Path], tmp_path: Path, cli: Cli) -> None:
    files = ["--src", str(pair[0]), "--tgt", str(pair[1]), "--alignments", str(write_links(pair, tmp_path))]
    out = str(tmp_path / "rules")
    code, said, _ = cli("rules", "extract", "--system", "hiero", *files, "--out", out, "--min-rule-count", "2")
    assert code == 0 and "rare" in said
    code, said, _ = cli("rules", "show", out, "weil [X,1] den hund sieht")
    assert code == 0 and "because [X,1] sees the dog" in said
    code, said, _ = cli("rules", "info", out)
    assert "hiero" in said
    code, _, error = cli("rules", "extract", "--system", "hiero", *files, "--out", out, "--max-phrase-length", "3")
    assert code == 1 and "max_phrase_length is an option of the phrase-based system" in error
    code, _, error = cli("rules", "extract", *files, "--out", out, "--min-gap", "1")
    assert code == 1 and "min_gap is an option of rules with gaps" in error
