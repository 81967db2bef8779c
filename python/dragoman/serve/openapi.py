"""The API described for programs (OpenAPI 3.1). Requests come from the very types that read them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman._core import VERSION
from dragoman.serve.api_v1 import Changed, Score, Translate

__all__ = ["describe"]

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_ERROR = {
    "description": "What is wrong",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


def _json(schema: dict[str, Any], about: str = "The answer") -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _object(required: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **others}, "required": list(required)}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_SENTENCE = _object(
    {"text": _TEXT, "source": _TEXT, "late": {"type": "boolean"}},
    span=_list({"type": "integer"}), target_span=_list({"type": "integer"}), score=_NUMBER, words=_list(_TEXT),
    source_words=_list(_TEXT), alignment=_list(_list({"type": "integer"})), spans=_list(_list({"type": "integer"})),
    candidates=_list({"type": "object"}), phrases=_list({"type": "object"}), weights={"type": "object"},
    glossary=_list({"type": "object"}), lattice={"type": "object"},
)  # fmt: skip
_MODEL = _object(
    {"name": _TEXT, "source": _TEXT, "target": _TEXT, "system": _TEXT, "loaded": {"type": "boolean"},
     "revision": {"type": "integer"}},
    signature=_TEXT, weights_hash=_TEXT, features={"type": "object", "additionalProperties": _NUMBER},
)  # fmt: skip
_ABOUT = {"model": _TEXT, "revision": {"type": "integer"}, "source": _TEXT, "target": _TEXT}
_LIBRE = _object(
    {"q": {"oneOf": [_TEXT, _list(_TEXT)], "description": "A text, or several."}, "source": _TEXT, "target": _TEXT},
    format={"type": "string", "enum": ["text", "html"]}, alternatives={"type": "integer"}, api_key=_TEXT,
)  # fmt: skip
_FORMS = ("application/json", "application/x-www-form-urlencoded")


def _form(schema: dict[str, Any], kinds: tuple[str, ...] = _FORMS) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}


def _way(
    about: str, good: dict[str, Any], *, body: dict[str, Any] | None = None, bad: tuple[int, ...] = (), **more: Any
) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": good, **{str(status): _ERROR for status in bad}}
    return {"summary": about, "responses": responses, **({"requestBody": body} if body else {}), **more}


_ASKED = (400, 401, 403, 413, 429, 503)
_NAMED: dict[str, Any] = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": _TEXT}]}
_TOKEN: dict[str, Any] = {"parameters": [{"name": "token", "in": "path", "required": True, "schema": _TEXT}]}


def describe() -> dict[str, Any]:
    """The description."""
    _, schemas = msgspec.json.schema_components([Translate, Score, Changed], ref_template="#/components/schemas/{name}")
    known = {"type": "object", "properties": {"confidence": _NUMBER, "language": _TEXT}}
    translated = _object(
        {"translatedText": {"oneOf": [_TEXT, _list(_TEXT)]}}, detectedLanguage={}, alternatives={"type": "array"}
    )
    v1 = {"application/json": {"schema": _ref("Translated")}, "application/x-ndjson": {"schema": _TEXT}}
    upload = _object({"file": {"type": "string", "format": "binary"}, "source": _TEXT, "target": _TEXT}, api_key=_TEXT)
    suggestion = _object({"q": _TEXT, "s": _TEXT, "source": _TEXT, "target": _TEXT}, api_key=_TEXT)
    paths: dict[str, Any] = {
        "/translate": {"post": _way("Translate, as LibreTranslate does", _json(translated), body=_form(_LIBRE), bad=_ASKED)},
        "/detect": {"post": _way("Tell the language among those of the models", _json(_list(known)),
                                 body=_form(_object({"q": _TEXT}, api_key=_TEXT)), bad=_ASKED)},
        "/suggest": {"post": _way("Keep a better translation for the next training",
                                  _json(_object({"success": {"type": "boolean"}})), body=_form(suggestion), bad=_ASKED)},
        "/translate_file": {"post": _way("Translate a file: txt, srt, docx, html",
                                         _json(_object({"translatedFileUrl": _TEXT})),
                                         body=_form(upload, ("multipart/form-data",)), bad=_ASKED)},
        "/download_file/{token}": {"get": _way("A translated file", {"description": "The file"}, bad=(404,), **_TOKEN)},
        "/languages": {"get": _way("Languages and what they can be translated to", _json(_list(_ref("Language"))))},
        "/frontend/settings": {"get": _way("Settings, with LibreTranslate's fields", _json({"type": "object"}))},
        "/health": {"get": _way("Whether the server is up", _json(_object({"status": _TEXT})))},
        "/ready": {"get": _way("Whether requests are answered", _json(_object({"ready": {"type": "boolean"}})), bad=(503,))},
        "/metrics": {"get": _way("Numbers for Prometheus", {"description": "Text", "content": {"text/plain": {"schema": _TEXT}}},
                                 bad=(401, 403, 429))},
        "/spec": {"get": _way("This description", _json({"type": "object"}))},
        "/openapi.json": {"get": _way("This description", _json({"type": "object"}))},
        "/v1/translate": {"post": _way("Translate, with all that led there", {"description": "The answer", "content": v1},
                                       body=_form(_ref("Translate"), _FORMS[:1]), bad=_ASKED)},
        "/v1/score": {"post": _way("Score a given translation", _json(_ref("Scored")), body=_form(_ref("Score"), _FORMS[:1]),
                                   bad=_ASKED)},
        "/v1/models": {"get": _way("All models", _json(_object({"models": _list(_ref("Model"))})), bad=(401, 403, 429))},
        "/v1/models/{name}": {"get": _way("A model", _json(_ref("Model")), bad=(401, 403, 404, 429), **_NAMED)},
        "/v1/models/{name}/load": {"post": _way("Load a model", _json(_ref("Model")), bad=(400, 401, 403, 404, 429), **_NAMED)},
        "/v1/models/{name}/unload": {"post": _way("Unload a model", _json(_ref("Model")), bad=(400, 401, 403, 404, 429), **_NAMED)},
        "/v1/models/{name}/weights": {"put": _way("Change weights", _json(_ref("Model")), body=_form(_ref("Changed"), _FORMS[:1]),
                                                  bad=(400, 401, 403, 404, 413, 429), **_NAMED)},
    }  # fmt: skip
    made = {
        "Error": _object({"error": _TEXT}),
        "Language": _object({"code": _TEXT, "name": _TEXT, "targets": _list(_TEXT)}),
        "Model": _MODEL,
        "Sentence": _SENTENCE,
        "Translated": _object(
            {**_ABOUT, "translations": _list(_object({"text": _TEXT}, sentences=_list(_ref("Sentence"))))}
        ),
        "Scored": _object({**_ABOUT, "reachable": {"type": "boolean"}, "score": {"type": ["number", "null"]}},
                          features={"type": "object"}, contributions={"type": "object"}),
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "dragoman", "version": VERSION, "description": "A translation server that shows why."},
        "paths": paths,
        "components": {
            "schemas": {**schemas, **made},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }
