"""LibreTranslate's clients work unchanged: the real client, and requests as in its own tests."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from libretranslatepy import LibreTranslateAPI
from starlette.testclient import TestClient
from tests.serving import Server, start

import dragoman
from dragoman import serve
from dragoman.bitext import Bitext, Files
from dragoman.serve.frames import Found
from dragoman.serve.safety import Guard, Room
from dragoman.training import train

GERMAN = "Der Hund sieht den Stein."
ENGLISH = "The dog sees the stone."


def form(server: Server, path: str, **fields: Any) -> tuple[int, Any]:
    return server.call(path, urllib.parse.urlencode(fields).encode())


def test_the_real_client(server: Server) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate(GERMAN, "de", "en") == ENGLISH
    assert client.detect(GERMAN)[0]["language"] == "de"
    assert client.languages()[0] == {"code": "de", "name": "German", "targets": ["en"]}
    with pytest.raises(urllib.error.HTTPError) as failed:
        client.translate("hello", "en", "zz")
    assert failed.value.code == 400
    failed.value.close()


def test_forms_and_json(server: Server) -> None:
    asked = {"q": GERMAN, "source": "de", "target": "en", "format": "text"}
    assert form(server, "/translate", **asked) == (200, {"translatedText": ENGLISH})
    assert server.call("/translate", asked) == (200, {"translatedText": ENGLISH})
    status, several = server.call("/translate", {**asked, "q": [GERMAN, "Heute lacht die Frau."]})
    assert (status, several) == (200, {"translatedText": [ENGLISH, "Today the woman laughs."]})
    status, query = server.call(f"/translate?{urllib.parse.urlencode(asked)}", b"")
    assert (status, query["translatedText"]) == (200, ENGLISH)


def test_codes_of_languages_have_many_forms(server: Server) -> None:
    for source, target in (("DE", "EN"), ("deu", "en-GB"), ("de_AT", "eng"), ("auto", "en-US")):
        status, found = form(server, "/translate", q=GERMAN, source=source, target=target)
        assert (status, found["translatedText"]) == (200, ENGLISH), (source, target)


def test_json_is_known_by_its_kind(server: Server) -> None:
    """Lines of a form end as its sender's system has it; those of JSON are kept as they are."""
    asked = json.dumps({"q": f"{GERMAN}\r\n{GERMAN}", "source": "de", "target": "en"}).encode()
    for kind in ("application/json", "Application/JSON; charset=UTF-8"):
        _, found = server.call("/translate", asked, **{"Content-Type": kind})
        assert found["translatedText"] == f"{ENGLISH}\r\n{ENGLISH}"
    _, found = form(server, "/translate", q=f"{GERMAN}\r\n{GERMAN}", source="de", target="en")
    assert found["translatedText"] == f"{ENGLISH}\n{ENGLISH}"


def test_auto_tells_the_language(server: Server) -> None:
    asked = {"q": GERMAN, "source": "auto", "target": "en"}
    status, found = server.call("/translate", asked)
    assert status == 200 and found["translatedText"] == ENGLISH
    assert found["detectedLanguage"] == {"confidence": 100.0, "language": "de"}
    _, several = server.call("/translate", {**asked, "q": [GERMAN, GERMAN]})
    assert [one["language"] for one in several["detectedLanguage"]] == ["de", "de"]


def test_alternatives(server: Server) -> None:
    status, found = form(server, "/translate", q=GERMAN, source="de", target="en", alternatives=3)
    assert status == 200 and found["translatedText"] == ENGLISH
    assert 1 <= len(found["alternatives"]) <= 3 and ENGLISH not in found["alternatives"]
    status, found = form(server, "/translate", q=GERMAN, source="de", target="en", alternatives=1000)
    assert (status, found["error"]) == (400, "Invalid request: alternatives parameter must be <= 99")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"target": "zz"}, "zz is not supported"),
        ({"source": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"target": "de"}, "German (de) is not available as a target language from German (de)"),
    ],
)
def test_errors_are_libretranslates(server: Server, changed: dict[str, Any], error: str) -> None:
    asked = {"q": GERMAN, "source": "de", "target": "en", **changed}
    fields = {name: value for name, value in asked.items() if value is not None}
    assert form(server, "/translate", **fields) == (400, {"error": error})


def test_bodies_that_are_no_requests(server: Server) -> None:
    for body in (["not", "a", "dict"], "text", 1, None):
        content = json.dumps(body).encode()
        found = server.call("/translate", content, **{"Content-Type": "application/json"})
        assert found == (400, {"error": "Invalid JSON format"})
    asked = {"q": [], "source": "de", "target": "en"}
    assert server.call("/translate", asked) == (400, {"error": "Invalid request: missing q parameter"})


def test_what_has_no_words_comes_back(server: Server) -> None:
    asked: dict[str, Any] = {"source": "de", "target": "en"}
    assert server.call("/translate", {**asked, "q": "😀"})[1]["translatedText"] == "😀"
    assert server.call("/translate", {**asked, "q": ["😀", "😁"]})[1]["translatedText"] == ["😀", "😁"]


def test_files(server: Server) -> None:
    for source in ("de", "auto"):
        status, found = server.upload("text.txt", f"{GERMAN}\n".encode(), source=source, target="en")
        path = found["translatedFileUrl"].removeprefix(server.url)
        assert status == 200 and path.startswith("/download_file/") and path.endswith(".txt")
        assert server.raw(path)[:2] == (200, f"{ENGLISH}\n".encode())
    assert server.raw("/download_file/nothing.txt")[0] == 404


@pytest.mark.parametrize(
    ("name", "changed", "error"),
    [
        ("", {}, "Invalid request: missing file parameter"),
        ("a.txt", {"source": ""}, "Invalid request: missing source parameter"),
        ("a.txt", {"target": ""}, "Invalid request: missing target parameter"),
        ("a.exe", {}, "Invalid request: file format not supported"),
        ("a.txt", {"target": "zz"}, "zz is not supported"),
        ("a.txt", {"source": "zz"}, "zz is not supported"),
    ],
)
def test_errors_of_files_are_libretranslates(server: Server, name: str, changed: dict[str, str], error: str) -> None:
    found = server.upload(name, GERMAN.encode(), **{"source": "de", "target": "en", **changed})
    assert found == (400, {"error": error})


def test_a_fault_is_told_in_json(
    models: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"a fault in {GERMAN}")

    monkeypatch.setattr("dragoman.serve.service.Service.translate", broken)
    with TestClient(serve.app(models / "phrase")) as client:
        answer = client.post("/translate", data={"q": GERMAN, "source": "de", "target": "en"})
        assert answer.status_code == 500 and set(answer.json()) == {"error"}
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "RuntimeError" in caplog.text and "libretranslate.py" in caplog.text and "Hund" not in caplog.text


def test_a_fault_in_the_middle_of_a_stream_is_told(
    models: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> AsyncIterator[Found]:
        yield Found("one")
        raise RuntimeError(f"a fault in {GERMAN}")

    monkeypatch.setattr("dragoman.serve.service.Service.stream", broken)
    with TestClient(serve.app(models / "phrase")) as client:
        answer = client.post("/v1/translate", json={"text": f"{GERMAN} {GERMAN}", "stream": True})
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert answer.status_code == 200 and len(lines) == 2 and set(lines[1]) == {"error"}
    assert "RuntimeError" in caplog.text and "api_v1.py" in caplog.text and "Hund" not in caplog.text


@pytest.mark.parametrize("after", [0, 1])
def test_a_fault_outside_all_paths_is_told_without_text(after: int, caplog: pytest.LogCaptureFixture) -> None:
    """What comes out of the application the web server would log, with all that the error says."""

    async def broken(_: Any, __: Any, send: Any) -> None:
        for _ in range(after):
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(f"a fault in {GERMAN}")

    client = TestClient(Guard(broken, most=1000, room=Room(), hosts=()))
    if not after:
        answer = client.get("/")
        assert answer.status_code == 500 and set(answer.json()) == {"error"}
        assert answer.headers["x-content-type-options"] == "nosniff"
    else:
        client.get("/")  # its answer has no end, which the web server tells the caller by a cut
    assert "RuntimeError" in caplog.text and "Hund" not in caplog.text


def test_paragraphs_and_blank_lines_are_kept(server: Server) -> None:
    text = f"  {GERMAN} {GERMAN}\n\n\n\t{GERMAN}\n"
    _, found = server.call("/translate", {"q": text, "source": "de", "target": "en"})
    assert found["translatedText"] == f"  {ENGLISH} {ENGLISH}\n\n\n\t{ENGLISH}\n"


def test_tags_stay_with_their_words(server: Server) -> None:
    page = '<p class="x">Heute <b>lacht</b> die <a href="/?a=1&amp;b">Frau</a>.</p><script>a < b</script>'
    _, found = server.call("/translate", {"q": page, "source": "de", "target": "en", "format": "html"})
    wanted = '<p class="x">Today the <a href="/?a=1&amp;b">woman</a> <b>laughs</b>.</p><script>a < b</script>'
    assert found["translatedText"] == wanted


def test_alternatives_of_pages(server: Server) -> None:
    page = f"<p>{GERMAN[:-1].replace('Hund', '<b>Hund</b>')}</p><p>Heute lacht die Frau.</p>"
    asked = {"q": page, "source": "de", "target": "en", "format": "html", "alternatives": 2}
    status, found = server.call("/translate", asked)
    best, others = found["translatedText"], found["alternatives"]
    assert status == 200 and "<b>dog</b>" in best and 1 <= len(others) <= 2 and best not in others
    assert all(text.count("<p>") == 2 and "<b>" in text and "</b>" in text for text in others)
    _, plain = server.call("/translate", {**asked, "q": [page, "<i>der Hund</i>"]})
    assert plain["translatedText"][0] == best and plain["alternatives"][0] == others
    assert len(plain["alternatives"]) == 2


def test_other_paths(server: Server) -> None:
    assert server.call("/health") == (200, {"status": "ok"})
    status, settings = server.call("/frontend/settings")
    assert status == 200 and settings["suggestions"] and not settings["apiKeys"]
    assert settings["language"]["source"] == {"code": "de", "name": "German"}
    assert set(settings) >= {"charLimit", "frontendTimeout", "keyRequired", "filesTranslation", "supportedFilesFormat"}
    assert server.call("/spec")[0] == 200
    for path in ("/health", "/languages", "/spec"):
        assert server.raw(path, b"")[0] == 405
    for path in ("/translate", "/detect"):
        assert server.raw(path)[0] == 405
    assert server.call("/detect", b"")[0] == 400


def test_suggestions_go_into_the_next_training(models: Path, tmp_path: Path) -> None:
    own = start("--model", models / "phrase", "--workers", "0", "--suggestions", tmp_path / "kept")
    try:
        good = {"q": "Der Drache\nlacht.", "s": "The dragon laughs.", "source": "de", "target": "en"}
        assert own.call("/suggest", good) == (200, {"success": True})
        assert form(own, "/suggest", q="der Drache.", s="the dragon.", source="auto", target="EN")[0] == 200
        for field in good:
            wanted = {"error": f"Invalid request: missing {field} parameter"}
            assert own.call("/suggest", {**good, field: ""}) == (400, wanted)
        assert own.call("/suggest", {**good, "target": "../../etc"}) == (400, {"error": "../../etc is not supported"})
    finally:
        assert own.stop() == 0
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.name == "de-en.jsonl"
    assert json.loads(kept.read_text().splitlines()[0]) == {"de": "Der Drache lacht.", "en": "The dragon laughs."}
    both: list[Files | Bitext] = [Files(models / "phrase.de", models / "phrase.en"), Bitext(kept)]
    train(bitext=both, languages=("de", "en"), out=tmp_path / "new", order=2, say=lambda *_: None)
    with dragoman.load(tmp_path / "new") as model:
        assert model.translate("der Drache sieht den Stein.").text == "The dragon sees the stone."


def test_without_a_folder_there_are_no_suggestions(models: Path) -> None:
    own = start("--model", models / "phrase", "--workers", "0")
    try:
        asked = {"q": "a", "s": "b", "source": "de", "target": "en"}
        assert own.call("/suggest", asked) == (403, {"error": "Suggestions are disabled on this server."})
    finally:
        assert own.stop() == 0
