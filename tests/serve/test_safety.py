"""Who is let in, how often, and with what."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.serving import Server

from dragoman import serve
from dragoman.errors import InputError, OptionError
from dragoman.serve.application import ROUTES
from dragoman.serve.endpoint import Key
from dragoman.serve.files import read
from dragoman.serve.safety import Keys, Rates, address_of, is_loopback, read_keys

ASKED = {"text": "Der Hund lacht."}
LIBRE = {"q": "Der Hund lacht.", "source": "de", "target": "en"}


@pytest.fixture(scope="module")
def model(models: Path) -> str:
    return str(models / "phrase")


def test_keys(model: str) -> None:
    keys = Keys(frozenset({"user-key"}), frozenset({"admin-key"}))
    with TestClient(serve.app(model, keys=keys)) as client:
        for way in ROUTES:
            if way.key in {Key.HEAD, Key.ADMIN}:
                path = way.path.replace("{name}", "phrase")
                assert client.request(way.method, path).status_code == 401, path
        assert client.post("/v1/translate", json=ASKED, headers={"Authorization": "Bearer wrong"}).status_code == 403
        for head in ({"Authorization": "Bearer user-key"}, {"X-API-Key": "user-key"}, {"X-API-Key": "admin-key"}):
            assert client.post("/v1/translate", json=ASKED, headers=head).status_code == 200
        assert client.post("/v1/models/phrase/load", headers={"X-API-Key": "user-key"}).status_code == 403
        assert client.post("/v1/models/phrase/load", headers={"X-API-Key": "admin-key"}).status_code == 200
        missing = client.post("/translate", json=LIBRE)
        told = {"error": "Please contact the server operator to get an API key"}
        assert (missing.status_code, missing.json()) == (400, told)
        wrong = client.post("/translate", data={**LIBRE, "api_key": "wrong"})
        assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})
        assert client.post("/translate", data={**LIBRE, "api_key": "user-key"}).status_code == 200
        assert client.get("/health").status_code == client.get("/").status_code == 200


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("first-key  # of the press office\n\nsecond-key admin\n")
    keys = read_keys(str(path))
    assert keys.knows("first-key") and keys.knows("second-key", admin=True) and not keys.knows("first-key", admin=True)
    for wrong, what in [("short\n", "at least 8"), ("", "expected a key a line"), ("long-enough owner\n", "admin")]:
        path.write_text(wrong)
        with pytest.raises(InputError, match=what):
            read_keys(str(path))


def test_a_rate_is_kept(model: str) -> None:
    with TestClient(serve.app(model, rate=3)) as client:
        codes = [client.post("/v1/translate", json=ASKED).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        slow = client.post("/translate", json=LIBRE)
        assert slow.status_code == 429 and slow.json()["error"].startswith("Slowdown:")
        assert 1 <= int(slow.headers["retry-after"]) <= 20


def test_a_key_that_nobody_asked_for_is_no_new_caller(model: str) -> None:
    with TestClient(serve.app(model, rate=3)) as client:
        codes = [
            client.post("/v1/translate", json=ASKED, headers={"X-API-Key": f"key-{n}"}).status_code for n in "1234"
        ]
        assert codes == [200, 200, 200, 429]
        codes = [client.post("/translate", json={**LIBRE, "api_key": f"key-{n}"}).status_code for n in "1234"]
        assert codes == [429] * 4


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_each_text_counts(model: str, path: str) -> None:
    texts = ["Der Hund lacht."] * 4
    asked: dict[str, object] = {**LIBRE, "q": texts} if path == "/translate" else {"text": texts}
    with TestClient(serve.app(model, rate=9)) as client:
        codes = [client.post(path, json=asked).status_code for _ in range(3)]
        assert codes == [200, 200, 429]
        assert client.post("/v1/translate", json=ASKED).status_code == 200, "the ninth"
        assert client.post("/v1/translate", json=ASKED).status_code == 429
    with TestClient(serve.app(model, rate=3)) as client:  # more than a minute brings: once, and then nothing for long
        assert client.post(path, json=asked).status_code == 200
        slow = client.post(path, json=asked)
        assert slow.status_code == 429 and int(slow.headers["retry-after"]) > 30


@pytest.mark.parametrize("place", ["head", "body"])
def test_keys_cannot_be_guessed_quickly(model: str, place: str) -> None:
    keys = Keys(frozenset({"user-key"}))

    def ask(key: str, client: TestClient) -> int:
        if place == "head":
            return client.post("/v1/translate", json=ASKED, headers={"X-API-Key": key}).status_code
        return client.post("/translate", json={**LIBRE, "api_key": key}).status_code

    with TestClient(serve.app(model, keys=keys)) as client:
        assert [ask("wrong-key", client) for _ in range(22)] == [403] * 20 + [429] * 2
        assert ask("user-key", client) == 429, "else a guess would be told"
    with TestClient(serve.app(model, keys=keys)) as client:
        assert [ask("user-key", client) for _ in range(30)] == [200] * 30


def test_a_wrong_key_in_the_head_is_told_before_the_body_is_read(model: str) -> None:
    with TestClient(serve.app(model, keys=Keys(frozenset({"user-key"})))) as client:
        head = {"X-API-Key": "wrong-key", "Content-Type": "application/json"}
        for path in ("/translate", "/detect", "/suggest", "/translate_file", "/v1/translate"):
            scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b"",
                     "client": ("1.2.3.4", 5), "server": ("a", 80), "scheme": "http", "state": {}}  # fmt: skip
            scope["headers"] = [(name.lower().encode(), value.encode()) for name, value in head.items()]
            assert _status(client, scope) == 403, path


def _status(client: TestClient, scope: dict[str, Any]) -> int:
    """The status of a request whose body must not be read."""
    seen: list[int] = []

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        seen.append(message.get("status", 0))

    async def run() -> None:
        await client.app(scope, receive, send)

    assert client.portal is not None
    client.portal.call(run)
    return seen[0]


def test_networks_are_callers() -> None:
    of = [address_of({"type": "http", "client": (host, 1)}) for host in ("1.2.3.4", "2001:db8::1", "2001:db8::2")]
    assert of == ["1.2.3.4", "2001:db8::/64", "2001:db8::/64"]
    assert address_of({"type": "http"}) == ""


def test_rates_fill_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dragoman.serve.safety.time.monotonic", lambda: now[0])
    rates = Rates(60.0)
    assert [rates.wait("a", 30) for _ in range(2)] == [0.0, 0.0]
    assert rates.wait("a") == pytest.approx(1.0)
    assert rates.wait("b") == 0.0
    now[0] += 1.0
    assert rates.wait("a") == 0.0
    for caller in range(20_000):
        rates.wait(str(caller))
    assert len(rates._left) <= 10_000


def test_headers_of_every_answer(server: Server) -> None:
    for path in ("/", "/page/app.js", "/health", "/nothing"):
        _, _, headers = server.raw(path)
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_pages_of_other_sites_are_refused(server: Server, model: str) -> None:
    assert server.raw("/translate", LIBRE, Origin="https://evil.example")[0] == 403
    assert server.raw("/translate", LIBRE, Origin=server.url)[0] == 200
    assert server.raw("/health", Host="evil.example")[0] == 403  # a name that leads to this machine
    with TestClient(serve.app(model, cors="https://good.example")) as client:
        good = {"Origin": "https://good.example"}
        answer = client.post("/translate", json=LIBRE, headers=good)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://good.example"
        asked = {**good, "Access-Control-Request-Method": "POST"}
        assert client.options("/translate", headers=asked).status_code == 200
        assert client.post("/translate", json=LIBRE, headers={"Origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page//etc/passwd", "/download_file/..%2fapp"]
)
def test_no_path_reaches_the_file_system(server: Server, path: str) -> None:
    assert server.raw(path)[0] == 404


def test_text_is_kept_only_if_asked(model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with TestClient(serve.app(model)) as client:
        client.post("/translate", json=LIBRE)
        client.post("/v1/translate", json={"text": "Der Hund", "nbest": 10**9})
    said = "".join(capfd.readouterr())
    assert "Hund" not in said
    with TestClient(serve.app(model, log_text=str(tmp_path / "log"))) as client:
        client.post("/translate", json=LIBRE)
    assert "Der Hund lacht." in (tmp_path / "log").read_text()


def test_other_machines_need_a_key(cli: Callable[..., tuple[int, str, str]], model: str) -> None:
    code, _, said = cli("serve", "--model", model, "--host", "0.0.0.0")
    assert code == 2 and "--keys FILE" in said and "--no-auth" in said
    assert not is_loopback("0.0.0.0") and is_loopback("127.0.0.1") and is_loopback("::1")
    code, _, said = cli("serve")
    assert code == 2 and "--model" in said
    code, _, said = cli("serve", "--model", "nowhere")
    assert code == 1 and re.search("nowhere: expected a model", said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--suggestions", "file/x"], "file/x: Not a directory; suggestions and log_text need a place"),
        (
            ["--log-text", "nowhere/log"],
            "nowhere/log: No such file or directory; suggestions and log_text need a place",
        ),
        (["--splitter", "pysbd"], "splitter"),
        (["--splitter", "nowhere.py:Mine"], "nowhere.py"),
        (["--keys", "nowhere"], "nowhere: No such file or directory; expected a file with a key a line"),
        (["--offer", "nowhere"], "nowhere: expected a folder with models in it"),
    ],
)
def test_first_errors_are_one_sentence(
    cli: Callable[..., tuple[int, str, str]], model: str, given: list[str], said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """At the start, not with the first request."""
    monkeypatch.setattr("dragoman.cli.serve._run", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    code, _, told = cli("serve", "--port", "0", "--model", model, *given)
    assert code == 1 and said in told and len(told.splitlines()) == 1


def test_a_port_in_use_is_told(cli: Callable[..., tuple[int, str, str]], model: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, told = cli("serve", "--model", model, "--port", str(taken.getsockname()[1]))
    assert code == 1 and "in use; say another --host or --port" in told and len(told.splitlines()) == 1


def test_a_part_of_the_extra_that_is_missing_is_told(
    cli: Callable[..., tuple[int, str, str]], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("uvicorn", "uvicorn.protocols", "uvicorn.protocols.http", "uvicorn.protocols.http.httptools_impl"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "dragoman.serve.protocol", raising=False)
    code, _, told = cli("serve", "--model", model)
    assert code == 1 and "the server needs uvicorn" in told and "pip install 'dragoman[serve]'" in told
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(OptionError, match=r"pip install 'dragoman\[serve\]'"):
        read(".docx", b"")
