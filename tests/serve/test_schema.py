"""The OpenAPI file: it is what the server does, and thousands of requests made from it meet no fault."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serving import Server, start

from dragoman.serve.application import ROUTES
from dragoman.serve.openapi import describe

FILE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def test_the_file_is_what_the_server_says(request: pytest.FixtureRequest) -> None:
    shown = json.dumps(describe(), indent=1) + "\n"
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(shown)
    assert FILE.read_text() == shown, "docs/openapi.json is old: make golden"


def test_every_path_is_described() -> None:
    described = {(path, method.upper()) for path, ways in describe()["paths"].items() for method in ways}
    files = {("/translate_file", "POST"), ("/download_file/{token}", "GET")}
    assert described == {(way.path, way.method) for way in ROUTES} | files


GERMAN = "Der Hund sieht den Stein."
DEEP: dict[str, st.SearchStrategy[Any]] = {
    "format": st.sampled_from(["text", "html"]),
    "nbest": st.integers(1, 20),
    "explain": st.booleans(),
    "lattice": st.booleans(),
    "alignment": st.booleans(),
    "split": st.booleans(),
    "tokenized": st.booleans(),
    "stream": st.booleans(),
    "glossary": st.dictionaries(
        st.sampled_from(["Hund", "den Stein", "", "x y"]), st.sampled_from(["hound", ["a", "b"], []])
    ),
    "constraints": st.fixed_dictionaries(
        {},
        optional={
            "given": st.lists(
                st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from(["cat", "", "a b"])), max_size=2
            ),
            "walls": st.lists(st.sampled_from([3, 4, 8, 13, 99]), max_size=2),
            "zones": st.lists(st.sampled_from([(0, 8), (4, 13), (9, 4), (2, 5)]), max_size=2),
            "exclusive": st.booleans(),
        },
    ),
}
"""Fields that lead to the search, with values that it can do something with."""
MARKED = st.lists(
    st.sampled_from(
        ["<b>", "</b>", "<p>", "</p>", "<br/>", "<script>", "</script>", "<!--", "-->", "Hund", " ", "&amp;", GERMAN]
    ),
    max_size=12,
).map("".join)
TEXTS = st.one_of(st.just(GERMAN), MARKED, st.lists(st.sampled_from([GERMAN, "", "der Hund", "\n"]), max_size=3))


@st.composite
def _aimed(draw: st.DrawFn, cases: Any) -> Any:
    """A request with languages, a model and a text that the server can do something with: it goes further."""
    case = draw(cases)
    if isinstance(case.body, dict):
        case.body.update({name: value for name, value in (("source", "de"), ("target", "en")) if name in case.body})
        case.body.pop("model", None)
        if "q" in case.body:
            case.body["q"] = draw(TEXTS)
            case.body.update(
                draw(st.fixed_dictionaries({}, optional={"format": DEEP["format"], "alternatives": st.integers(0, 5)}))
            )
        elif "text" in case.body and "translation" not in case.body:
            case.body = {"text": draw(TEXTS), **draw(st.fixed_dictionaries({}, optional=DEEP))}
    if "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = draw(st.sampled_from(["hiero", "phrase"]))
    return case


def _throw(server: Server, examples: int, *keys: str) -> Counter[int]:
    """Requests for every operation, good and bad, with one of some keys; how many had which status.

    Each answer has a status that its operation describes, and the form described for it.
    """
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    seen: Counter[int] = Counter()
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        strategy = operation.as_strategy()
        if operation.body or operation.path_parameters:
            wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
            strategy = st.one_of(strategy, _aimed(strategy), _aimed(strategy), wrong)

        @settings(
            max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None,
            deadline=None,
        )  # fmt: skip
        @given(case=strategy, key=st.sampled_from(keys or ("",)))
        def run(case: Any, key: str) -> None:
            for name in ("Authorization", "X-API-Key"):
                case.headers.pop(name, None)
            if key:
                case.headers["X-API-Key"] = key
            response = case.call(base_url=server.url, timeout=60)
            seen[response.status_code] += 1
            assert response.status_code != 500, response.text
            case.validate_response(
                response, checks=[status_code_conformance, content_type_conformance, response_schema_conformance]
            )

        run()
    return seen


@pytest.fixture(scope="module")
def own(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = start("--model", models / "phrase", "--offer", models, "--suggestions", tmp_path_factory.mktemp("kept"))
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def keyed(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that demands keys and keeps a rate."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text("user-key-1\nowner-key-1 admin\n")
    made = start("--model", models / "phrase", "--offer", models, "--keys", keys, "--rate", "3000")
    yield made
    assert made.stop() == 0


def test_generated_requests_meet_no_fault(own: Server) -> None:
    assert _throw(own, 12).total() >= 100


def test_generated_requests_with_keys_and_without(keyed: Server) -> None:
    seen = _throw(keyed, 12, "", "user-key-1", "owner-key-1")
    assert seen[401] and seen[403] and seen[200]
    for _ in range(25):
        keyed.raw("/metrics", X_API_Key="wrong-key-1")
    assert _throw(keyed, 3, "wrong-key-1")[429]


@pytest.mark.long
def test_ten_thousand_generated_requests_meet_no_fault(own: Server, keyed: Server) -> None:
    examples = int(os.environ.get("SERVE_EXAMPLES", "1000"))
    seen = _throw(own, examples)
    print(f"{seen.total():,} requests: {dict(seen)}")
    more = _throw(keyed, examples // 4, "", "user-key-1", "owner-key-1")
    print(f"{more.total():,} requests with keys and without: {dict(more)}")
    assert seen.total() >= 10_000
