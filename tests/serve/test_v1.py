"""Our own API: what led to a translation, constraints, scores, models that change while requests go on."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient
from tests.serving import Server, start

import dragoman
from dragoman import serve
from dragoman.decoder import Constraints

GERMAN = "Der Hund sieht den Stein."


def one(server: Server, **asked: Any) -> dict[str, Any]:
    """The only sentence of an answer."""
    status, found = server.call("/v1/translate", asked)
    assert status == 200, found
    (translation,) = found["translations"]
    (sentence,) = translation["sentences"]
    assert isinstance(sentence, dict)
    return sentence


@pytest.mark.parametrize("name", ["phrase", "hiero"])
def test_the_server_says_what_the_library_says(server: Server, models: Path, name: str) -> None:
    with dragoman.load(models / name) as model:
        for line in (GERMAN, "Heute schläft die Katze.", "Der Junge kennt die Lehrerin."):
            found = one(server, text=line, model=name, nbest=5, explain=True)
            best, listed = model.explain(line, alternatives=4), model.nbest(line, 5)
            assert found["text"] == best.translation.text
            assert found["score"] == pytest.approx(best.derivation.score, abs=1e-4)
            assert [tuple(pair) for pair in found["alignment"]] == list(best.translation.alignment)
            assert [c["text"] for c in found["candidates"]] == [t.text for t in listed]
            assert [p["source"] for p in found["phrases"]] == [p.source for p in best.derivation.phrases]
            for candidate, translation in zip(found["candidates"], listed, strict=True):
                fired, wanted = (
                    {n: v for n, v in some.items() if v} for some in (candidate["features"], translation.features)
                )
                assert fired == pytest.approx(wanted, abs=1e-3)
                assert sum(candidate["contributions"].values()) == pytest.approx(translation.score, abs=1e-3)


def test_constraints_and_glossary(server: Server, models: Path) -> None:
    found = one(server, text=GERMAN, model="phrase", constraints={"given": [[4, 8, "cat"]]})
    with dragoman.load(models / "phrase") as model:
        wanted = model.translate(GERMAN, constraints=Constraints([(4, 8, "cat", 0.0)]))
    assert found["text"] == wanted.text == "The cat sees the stone."
    found = one(server, text=GERMAN, model="phrase", glossary={"Hund": ["hound", "cur"]})
    assert found["glossary"][0]["target"] in {"hound", "cur"}
    status, told = server.call("/v1/translate", {"text": GERMAN, "constraints": {"given": [[5, 8, "cat"]]}})
    assert status == 400 and "cuts the word `Hund`" in told["error"]
    status, told = server.call("/v1/translate", {"text": f"{GERMAN} {GERMAN}", "constraints": {"zones": [[20, 35]]}})
    assert status == 400 and "one sentence" in told["error"]
    status, told = server.call("/v1/translate", {"text": GERMAN, "glossary": {"": "x"}})
    assert status == 400 and "empty" in told["error"]


def test_constraints_count_characters_of_the_whole_text(server: Server) -> None:
    text = f"{GERMAN} {GERMAN}"
    at = text.rindex("Hund")
    asked = {"text": text, "model": "phrase", "constraints": {"given": [[at, at + 4, "cat"]]}}
    _, found = server.call("/v1/translate", asked)
    assert found["translations"][0]["text"] == "The dog sees the stone. The cat sees the stone."
    sentences = found["translations"][0]["sentences"]
    assert [text[a:b] for a, b in (one["span"] for one in sentences)] == [GERMAN, GERMAN]


def test_lattices_scores_and_words(server: Server, models: Path) -> None:
    found = one(server, text=GERMAN, model="phrase", lattice=True)
    assert found["lattice"]["edges"]
    found = one(server, text="der Hund", model="phrase", tokenized=True)
    assert found["source_words"] == ["der", "Hund"]
    for name in ("phrase", "hiero"):
        _, scored = server.call("/v1/score", {"text": GERMAN, "translation": "The dog sees the stone.", "model": name})
        with dragoman.load(models / name) as model:
            assert scored["score"] == pytest.approx(model.score(GERMAN, "The dog sees the stone."))
    _, scored = server.call("/v1/score", {"text": GERMAN, "translation": "Nonsense!"})
    assert scored["reachable"] is False and scored["score"] is None


def test_long_texts_come_line_by_line(server: Server) -> None:
    text = "\n\n".join([GERMAN] * 300)
    status, body, headers = server.raw("/v1/translate", {"text": text, "stream": True, "alignment": False})
    assert status == 200 and headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in body.splitlines()]
    assert lines[-1].items() >= {"done": True, "sentences": 300, "revision": 1}.items()
    assert [line["text"] for line in lines[:-1]] == ["The dog sees the stone."] * 300
    assert [text[a:b] for a, b in (line["span"] for line in lines[:-1])] == [GERMAN] * 300
    whole = server.call("/v1/translate", {"text": text})[1]["translations"][0]["text"]
    assert "".join(line["before"] + line["text"] for line in lines[:-1]) == whole


def test_the_first_model_that_fits(server: Server) -> None:
    for asked in ({}, {"source": "de"}, {"target": "en"}, {"source": "deu", "target": "EN"}, {"source": "auto"}):
        status, found = server.call("/v1/translate", {"text": GERMAN, **asked})
        assert (status, found["model"]) == (200, "phrase"), asked
    for asked, wanted in (({"source": "fr"}, "from fr"), ({"source": "de", "target": "fr"}, "de to fr")):
        status, found = server.call("/v1/translate", {"text": GERMAN, **asked})
        assert (status, found["error"]) == (400, f"no model translates {wanted}; loaded: de-en")


def test_batches(server: Server) -> None:
    _, found = server.call("/v1/translate", {"text": [GERMAN, "", " \n "], "model": "hiero"})
    assert [one["text"] for one in found["translations"]] == ["The dog sees the stone.", "", " \n "]


def test_models_come_and_go(models: Path) -> None:
    own = start("--model", models / "phrase", "--offer", models, "--workers", "2")
    try:
        _, listed = own.call("/v1/models")
        assert [(m["name"], m["loaded"]) for m in listed["models"]] == [("phrase", True), ("hiero", False)]
        assert own.call("/v1/translate", {"text": GERMAN, "model": "hiero"})[0] == 400
        assert own.raw("/v1/models/hiero/load", b"")[0] == 200
        assert one(own, text=GERMAN, model="hiero")["text"] == "The dog sees the stone."
        assert own.raw("/v1/models/phrase/unload", b"")[0] == 200
        assert own.call("/v1/translate", {"text": GERMAN, "model": "phrase"})[0] == 400
        assert one(own, text=GERMAN)["text"] == "The dog sees the stone."
        for name in ("nothing", "..%2f..%2fetc", "%2e%2e"):
            assert own.raw(f"/v1/models/{name}/load", b"")[0] == 404
    finally:
        assert own.stop() == 0


def test_weights_are_swapped_under_load(models: Path) -> None:
    """No request is dropped, and each answer is that of the old or of the new weights."""
    own = start("--model", models / "phrase", "--workers", "2")
    try:
        texts = {one(own, text="der Hund lacht", nbest=2)["text"]}
        stop, seen, failed = threading.Event(), set(), []

        def ask() -> None:
            while not stop.is_set():
                status, found = own.call("/v1/translate", {"text": "der Hund lacht"})
                if status != 200:
                    failed.append(found)
                else:
                    seen.add(found["translations"][0]["sentences"][0]["score"])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        put = {"method": "PUT"}
        for value in (0.1, 0.9, 0.4):
            status, body, _ = own.raw("/v1/models/phrase/weights", {"weights": {"LM": value}}, **put)
            assert status == 200 and json.loads(body)["features"]["LM"] == pytest.approx(value)
        assert one(own, text="der Hund lacht", explain=True)["weights"]["LM"] == pytest.approx(0.4)
        status, body, _ = own.raw("/v1/models/phrase/weights", {"weights": {"Nix": 1.0}}, **put)
        assert status == 400 and b"Nix" in body
        status, body, _ = own.raw("/v1/models/phrase/weights", {"reload": True}, **put)
        assert status == 200 and json.loads(body)["revision"] == 5
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed and len(seen) >= 2 and texts
    finally:
        assert own.stop() == 0


def _scores(found: Any) -> set[float]:
    return {sentence["score"] for one in found["translations"] for sentence in one["sentences"]}


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_request_ends_with_the_weights_that_it_began_with(models: Path, workers: str) -> None:
    """However many pieces it has, and whether the model changes or goes meanwhile."""
    own = start("--model", models / "phrase", "--workers", workers, "--threads", "1", "--deadline", "60")
    try:
        (old,) = _scores(own.call("/v1/translate", {"text": GERMAN})[1])
        for path, method, change in [
            ("weights", "PUT", {"weights": {"LM": 0.9}}), ("load", "POST", {}), ("unload", "POST", {})
        ]:  # fmt: skip
            answers: list[tuple[int, Any]] = []
            text, before = "\n".join([GERMAN] * 600), own.metric("dragoman_sentences_total")
            thread = threading.Thread(target=lambda: answers.append(own.call("/v1/translate", {"text": text})))  # noqa: B023
            thread.start()
            until = time.monotonic() + 10
            while own.metric("dragoman_sentences_total") < before + 32 and time.monotonic() < until:
                time.sleep(0.002)
            assert own.raw(f"/v1/models/phrase/{path}", change, method=method)[0] == 200
            assert own.metric("dragoman_requests_waiting") == 1, "the change came while the request was under way"
            thread.join()
            ((status, found),) = answers
            assert status == 200 and found["revision"] == {"weights": 1, "load": 2, "unload": 3}[path]
            (score,) = _scores(found)
            assert (score == pytest.approx(old)) == (path != "load"), "all lines have the weights of its revision"
            if path == "unload":
                assert own.call("/v1/translate", {"text": GERMAN})[0] == 400
            own.calm()
    finally:
        assert own.stop() == 0


def test_old_weights_go_with_the_last_request_that_has_them(models: Path) -> None:
    with TestClient(serve.app({"phrase": models / "phrase"})) as client:
        for value in (0.1, 0.9, 0.4):
            assert client.put("/v1/models/phrase/weights", json={"weights": {"LM": value}}).status_code == 200
            assert client.post("/v1/translate", json={"text": GERMAN}).status_code == 200
        service: Any = client.app.state.service
        kept = service.queue.decoders[0].runner.revisions
        until = time.monotonic() + 10
        while kept() != [("phrase", 4)] and time.monotonic() < until:
            client.get("/ready")
        assert kept() == [("phrase", 4)]


def test_ready_says_whether_requests_are_answered(models: Path) -> None:
    with TestClient(serve.app({"phrase": models / "phrase"})) as client:
        service: Any = client.app.state.service
        assert (client.get("/ready").status_code, client.get("/ready").json()) == (200, {"ready": True})
        service.queue.decoders[0].ready = False
        assert (client.get("/ready").status_code, client.get("/ready").json()) == (503, {"ready": False})
        service.queue.decoders[0].ready = service.closing = True
        assert client.get("/ready").status_code == 503


def test_weights_reach_a_decoder_that_is_being_replaced(models: Path) -> None:
    own = start("--model", models / "phrase", "--deadline", "60")
    try:
        os.kill(own.workers()[0], signal.SIGKILL)
        status, body, _ = own.raw("/v1/models/phrase/weights", {"weights": {"LM": 0.9}}, method="PUT")
        assert status == 200 and json.loads(body)["features"]["LM"] == pytest.approx(0.9)
        assert one(own, text="der Hund lacht", explain=True)["weights"]["LM"] == pytest.approx(0.9)
        os.kill(own.workers()[0], signal.SIGKILL)  # its successor knows, too
        assert one(own, text="der Hund lacht", explain=True)["weights"]["LM"] == pytest.approx(0.9)
    finally:
        assert own.stop() == 0


def test_the_app_for_people_who_have_a_server(models: Path) -> None:
    with (
        dragoman.load(models / "phrase") as model,
        TestClient(serve.app({"mine": model, "other": models / "hiero"})) as client,
    ):
        for name in ("mine", "other"):
            found = client.post("/v1/translate", json={"text": GERMAN, "model": name}).json()
            assert found["translations"][0]["text"] == "The dog sees the stone."
        assert "dragoman_sentences_total 2" in client.get("/metrics").text
        assert client.get("/ready").json() == {"ready": True}
        assert client.post("/v1/models/mine/unload").status_code == 400


def test_the_app_inside_another(models: Path) -> None:
    """Which has paths before ours, and does not tell us when it starts."""
    inside = serve.app({"mine": models / "phrase"})
    client = TestClient(Starlette(routes=[Mount("/mt", inside)]))
    with client:
        assert client.get("/mt/").status_code == client.get("/mt/page/app.js").status_code == 200
        assert client.get("/mt/ready").json() == {"ready": True}
        found = client.post("/mt/v1/translate", json={"text": GERMAN}).json()
        assert found["translations"][0]["text"] == "The dog sees the stone."
        assert client.get("/mt/v1/models").json()["models"][0]["features"]
        file = {"file": ("a.txt", GERMAN.encode())}
        made = client.post("/mt/translate_file", data={"source": "de", "target": "en"}, files=file).json()
        assert client.get(made["translatedFileUrl"]).text == "The dog sees the stone."
