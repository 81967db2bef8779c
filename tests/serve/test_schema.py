"""The OpenAPI file: it is what the server does, and thousands of requests made from it meet no fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import response_schema_conformance
from tests.serving import Server, start

from dragoman.serve.application import ROUTES
from dragoman.serve.openapi import describe

STATUSES = {200, 400, 401, 403, 404, 405, 413, 429, 503}
"""All but a fault of the server, 500."""
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


def _aimed(case: Any) -> Any:
    """The request with languages and a model that the server has: so that it goes further than their names."""
    if isinstance(case.body, dict):
        case.body.update({name: value for name, value in (("source", "de"), ("target", "en")) if name in case.body})
        case.body.pop("model", None)
    if "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = "hiero"
    return case


def _throw(server: Server, examples: int) -> int:
    """Requests for every operation, good and bad; how many there were."""
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    count = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        strategy = operation.as_strategy()
        if operation.body or operation.path_parameters:
            wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
            strategy = st.one_of(strategy, strategy.map(_aimed), wrong)

        @settings(
            max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None
        )
        @given(case=strategy)
        def run(case: Any) -> None:
            nonlocal count
            count += 1
            response = case.call(base_url=server.url, timeout=60)
            assert response.status_code in STATUSES, (response.status_code, response.text)
            if response.status_code == 200 and "application/json" in response.headers["content-type"]:
                case.validate_response(response, checks=[response_schema_conformance])

        run()
    return count


@pytest.fixture(scope="module")
def own(models: Path, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    made = start("--model", models / "phrase", "--offer", models, "--suggestions", tmp_path_factory.mktemp("kept"))
    yield made
    assert made.stop() == 0


def test_generated_requests_meet_no_fault(own: Server) -> None:
    assert _throw(own, 12) >= 100


@pytest.mark.long
def test_ten_thousand_generated_requests_meet_no_fault(own: Server) -> None:
    count = _throw(own, int(os.environ.get("SERVE_EXAMPLES", "1000")))
    print(f"{count:,} requests")
    assert count >= 10_000
