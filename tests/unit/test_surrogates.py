"""Half of a character (a lone surrogate) is an input error in one sentence, wherever text enters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny

from dragoman import lm, rules
from dragoman.corpus import Truecaser, normalise
from dragoman.decoder import Constraints, Decoder, DecoderSource
from dragoman.decoder.sampling import Sampling, sampled
from dragoman.errors import InputError, OptionError
from dragoman.files import Lines, write_text
from dragoman.metrics import Bleu, Chrf, Ter, Wer
from dragoman.types import Hypotheses, Names, Texts, Weights
from dragoman.user_features import Options, Sparse

BAD = "a \ud800 b"
WANT = r"^expected text, found half of a character \(the lone surrogate U\+D800\) after `.*`: leave it out, or read"


class Broken:
    """A feature whose names are no text."""

    name = "Broken"
    names = ("Zero",)

    def score(self, options: Options) -> Any:
        return np.zeros((len(options), 1)), Sparse(np.array([0]), ["Broken:\ud800"], np.ones(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def decoder(folder: Path) -> Decoder:
    return Decoder(folder, features=tiny.SETS, search=tiny.SEARCH)


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=WANT):
        call()


CALLS: dict[str, Callable[[Decoder], object]] = {
    "translate": lambda decoder: decoder.translate(["a", BAD]),
    "nbest": lambda decoder: decoder.nbest([BAD], 5),
    "force, line": lambda decoder: decoder.force([BAD], ["s"]),
    "force, target": lambda decoder: decoder.force(["a"], [BAD]),
    "explain": lambda decoder: decoder.explain(BAD),
    "forest": lambda decoder: decoder.forest(BAD),
    "stream": lambda decoder: list(decoder.stream(["a", BAD])),
    "stream, constraints": lambda decoder: list(decoder.stream([("a", Constraints(given=[(0, 1, BAD, 0.0)]))])),
    "constraints": lambda decoder: decoder.translate(["a"], constraints=[Constraints(given=[(0, 1, BAD, 0.0)])]),
    "explain, constraints": lambda decoder: decoder.explain("a", constraints=Constraints(given=[(0, 1, BAD, 0.0)])),
    "forest, constraints": lambda decoder: decoder.forest("a", constraints=Constraints(given=[(0, 1, BAD, 0.0)])),
    "sampled": lambda decoder: sampled(decoder, [BAD], Sampling(samples=2, burn_in=2)),
    "source": lambda decoder: DecoderSource(decoder, [BAD]),
    "ranker": lambda decoder: DecoderSource(decoder, ["a"]).ranker([[BAD]], Bleu(tokenize="none")),
    "weights": lambda _: Weights.of({BAD: 1.0}),
    "weights, look-up": lambda decoder: decoder.weights[BAD],
}


@pytest.mark.parametrize("name", CALLS)
def test_the_decoder(decoder: Decoder, name: str) -> None:
    refused(lambda: CALLS[name](decoder))


def test_a_feature_of_your_own(folder: Path) -> None:
    decoder = Decoder(folder, extra=[Broken()])
    with pytest.raises(OptionError, match=r"line 1: .*lone surrogate U\+D800"):
        decoder.translate(["a"])


@pytest.mark.parametrize("metric", [Bleu(), Chrf(), Ter(), Wer()], ids=lambda metric: type(metric).__name__)
def test_metrics(metric: Bleu | Chrf | Ter | Wer) -> None:
    refused(lambda: metric.prepare([["a"], ["b", BAD]]))
    refused(lambda: metric.prepare([["a"]]).statistics(Hypotheses.one_each([BAD])))


def test_names_and_texts() -> None:
    names = Names(["a"])
    refused(lambda: Names([BAD]))
    refused(lambda: names.intern(BAD))
    refused(lambda: names.get(BAD))
    refused(lambda: names.is_dense(BAD))
    refused(lambda: BAD in names)
    refused(lambda: Texts(["a", BAD]))
    refused(lambda: normalise([BAD], "nfc"))


def test_tables(folder: Path, tmp_path: Path) -> None:
    refused(lambda: rules.Table(folder / "t.rules").lookup(BAD))
    model = lm.Model(folder / "lm.arpa")
    refused(lambda: BAD in model)
    refused(lambda: model.estimate(BAD))
    refused(lambda: model.score([BAD]))
    refused(lambda: Truecaser.learn([BAD]))
    refused(lambda: Truecaser.learn(["A b"]).apply([BAD]))
    refused(lambda: write_text(tmp_path / "out", [BAD]))
    with Lines(tmp_path / "out") as out:
        refused(lambda: out.write(BAD))


def test_the_message_shows_where() -> None:
    with pytest.raises(InputError) as caught:
        Texts(["ein langer satz, in dem alles steht, was da stehen soll, 𝄞 und dann\udfff", "x"])
    assert str(caught.value) == (
        "expected text, found half of a character (the lone surrogate U+DFFF) after "
        '`was da stehen soll, 𝄞 und dann`: leave it out, or read the text with errors="replace"'
    )
    assert (caught.value.path, caught.value.line) == (None, None)
    with pytest.raises(TypeError):
        Texts(["a", 1])  # type: ignore[list-item]
