"""More derivations worked out by hand: swaps and classes of Sparse HRM, rules of several words that fire twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.property.test_features import WIDE, Table, write_model

from dragoman.decoder import Decoder

ONE = ((0, 0),)
SWAPS: Table = {
    ("a",): [(("u",), ONE, 1.0)],
    ("b",): [(("v",), ONE, 2.0)],
    ("c=d",): [(("w_x", "z>"), ONE, 3.0)],
}

# `a b c=d` from its end to its start. Classes of the source: c3 a 2, b 3; c2 a 2, b 2, c=d 3. Of the target: c3 u 2,
# v 3, w_x 4, z> 2; c2 u 3, v 2. First c=d, a jump over `a b`; then b, a swap; c=d and b are a block now, and a swaps
# with it.
BACKWARDS = {
    "sparse-hrm:words=0,classes=3+2": {
        "between.right:c3:2": 1, "between.right:c3:3": 1, "between.right:c2:2": 2,
        "source.first.D:c3:^other": 1, "source.last.D:c3:^other": 1,
        "source.first.D:c2:3": 1, "source.last.D:c2:3": 1,
        "target.first.D:c3:4": 1, "target.last.D:c3:2": 1,
        "target.first.D:c2:^other": 1, "target.last.D:c2:^other": 1,
        "top.source.first.D:c3:^": 1, "top.source.last.D:c3:^": 1, "top.target.last.D:c3:^": 1,
        "top.source.first.D:c2:^": 1, "top.source.last.D:c2:^": 1, "top.target.last.D:c2:^": 1,
        "source.first.S:c3:3": 1, "source.first.S:c3:2": 1, "source.last.S:c3:3": 1, "source.last.S:c3:2": 1,
        "source.first.S:c2:2": 2, "source.last.S:c2:2": 2,
        "target.first.S:c3:3": 1, "target.first.S:c3:2": 1, "target.last.S:c3:3": 1, "target.last.S:c3:2": 1,
        "target.first.S:c2:2": 1, "target.first.S:c2:3": 1, "target.last.S:c2:2": 1, "target.last.S:c2:3": 1,
        "top.source.first.S:c3:^other": 1, "top.source.first.S:c3:3": 1, "top.source.last.S:c3:^other": 2,
        "top.source.first.S:c2:3": 1, "top.source.first.S:c2:2": 1, "top.source.last.S:c2:3": 2,
        "top.target.last.S:c3:2": 1, "top.target.last.S:c3:3": 1,
        "top.target.last.S:c2:^other": 1, "top.target.last.S:c2:2": 1,
    },
    "lo": {
        "D.next:^": 1, "N.next:^": 1, "D.previous:c%3Dd>w%5Fx_z%3E": 1, "N.previous:c%3Dd>w%5Fx_z%3E": 1,
        "S.next:c%3Dd>w%5Fx_z%3E": 1, "N.next:c%3Dd>w%5Fx_z%3E": 1, "S.previous:b>v": 1, "N.previous:b>v": 1,
        "S.next:b>v": 1, "N.next:b>v": 1, "S.previous:a>u": 1, "N.previous:a>u": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("features", BACKWARDS)
def test_swaps_with_blocks(tmp_path: Path, features: str) -> None:
    decoder = Decoder(write_model(tmp_path, SWAPS), features=features, search=WIDE)
    found = decoder.nbest(["a b c=d"], 6, distinct=False, phrases=True)
    assert found.extra is not None
    row = found.extra.to_list().index("2-3:0-2 1-2:2-3 0-1:3-4")
    prefix = "lo" if features == "lo" else "shrm"
    fired = {n: v for n, v in found.features.row(row).items() if n not in decoder.dense}
    assert fired == {f"{prefix}:{name}": value for name, value in BACKWARDS[features].items()}


# `a b` seen 8 times with `u v w_x u`, links 0-0 0-1 0-3 1-0 1-1: w_x has none. The most frequent word of each side is b
# and v. Everything fires for each of two phrases.
TWICE = {
    "pt": {"a_b>u_v_w%5Fx_u": 2},
    "wp": {"a>u": 4, "a>v": 2, "b>u": 2, "b>v": 2},
    "ins": {"a>w%5Fx": 2, "b>w%5Fx": 2},
    "bin:words=1": {"count:5-8": 2, "source:2": 2, "target:4": 2, "length:2>4": 2, "pair:b>v": 2},
}


@pytest.mark.parametrize("features", TWICE)
def test_rules_of_several_words(tmp_path: Path, features: str) -> None:
    table: Table = {("a", "b"): [(("u", "v", "w_x", "u"), ((0, 0), (0, 1), (0, 3), (1, 0), (1, 1)), 8.0)]}
    decoder = Decoder(write_model(tmp_path, table), features=features, search=WIDE)
    found = decoder.nbest(["a b a b"], 20, distinct=False, phrases=True)
    assert found.extra is not None
    row = found.extra.to_list().index("0-2:0-4 2-4:4-8")
    prefix = features.partition(":")[0]
    fired = {n: v for n, v in found.features.row(row).items() if n not in decoder.dense}
    assert fired == {f"{prefix}:{name}": value for name, value in TWICE[features].items()}
