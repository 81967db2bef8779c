"""The API described for programs (OpenAPI 3.1). Requests come from the very types that read them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman._core import VERSION
from dragoman.serve.api_v1 import Changed, Score, Translate
from dragoman.serve.files import ENDINGS

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


def _all_of(required: dict[str, Any], **others: Any) -> dict[str, Any]:
    """An object that has nothing else: what we answer, not what we take."""
    return {**_object(required, **others), "additionalProperties": False}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _tuple(*kinds: str, about: str) -> dict[str, Any]:
    """A list of so many values."""
    items = [{"type": kind} for kind in kinds]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items), "description": about}


_COUNT = {"type": "integer", "minimum": 0}
_YES = {"type": "boolean"}
_VALUES = {"type": "object", "additionalProperties": _NUMBER}
_SPAN = _tuple("integer", "integer", about="The first, and the one after the last.")
_PAIR = _tuple("integer", "integer", about="A source word and a word of the translation that belong together.")
_PLACES = _tuple("integer", "integer", "integer", "integer", about="A span of the source and one of the translation.")
_WORDS: dict[str, Any] = {"words": _list(_TEXT), "target_spans": _list(_SPAN), "alignment": _list(_PAIR)}
_CANDIDATE = _all_of({"text": _TEXT, "score": _NUMBER}, **_WORDS, features=_VALUES, contributions=_VALUES)
_PHRASE = _all_of(
    {"source": _TEXT, "target": _TEXT, "span": _SPAN, "origin": {"enum": ["rule", "unknown", "given", "glue"]},
     "depth": {**_COUNT, "description": "Rules around it, in a hierarchical system."}, "score": _NUMBER, "features": _VALUES},
)  # fmt: skip
_TERM = _all_of(
    {"term": _TEXT, "span": _SPAN, "target": {"type": ["string", "null"], "description": "The translation that was used."}},
    why={"enum": ["overlap", "given", "wall", "zone", "score"], "description": "Why none was."},
)  # fmt: skip
_LATTICE = _object(
    {"id": _COUNT, "nodes": _COUNT, "edges": _list(_object(
        {"head": _COUNT, "target": _list({"type": ["string", "integer"]})}, tails=_list(_COUNT), span=_SPAN,
        score=_NUMBER, features=_VALUES,
    ))},
)  # fmt: skip
_SENTENCE = _all_of(
    {"text": _TEXT, "source": _TEXT, "late": _YES}, span=_SPAN, target_span=_SPAN, score=_NUMBER, **_WORDS,
    source_words=_list(_TEXT), source_spans=_list(_SPAN), spans=_list(_PLACES), candidates=_list(_CANDIDATE),
    phrases=_list(_PHRASE), weights=_VALUES, glossary=_list(_TERM), lattice=_LATTICE, number={
        **_COUNT, "description": "Of the text, in a stream."
    }, before={**_TEXT, "description": "What stands before the translation, in a stream."},
)  # fmt: skip
_MODEL = _all_of(
    {"name": _TEXT, "source": _TEXT, "target": _TEXT, "system": _TEXT, "loaded": _YES, "revision": _COUNT,
     "signature": _TEXT, "weights_hash": _TEXT, "features": _VALUES},
)  # fmt: skip
_ABOUT = {"model": _TEXT, "revision": _COUNT, "source": _TEXT, "target": _TEXT}
_LIBRE = _object(
    {"q": {"oneOf": [_TEXT, _list(_TEXT)], "description": "A text, or several."}, "source": _TEXT, "target": _TEXT},
    format={"type": "string", "enum": ["text", "html"]}, alternatives={"type": "integer"}, api_key=_TEXT,
)  # fmt: skip
_FORMS = ("application/json", "application/x-www-form-urlencoded")


def _form(schema: dict[str, Any], kinds: tuple[str, ...] = _FORMS) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}


def _way(
    about: str, good: dict[str, Any], *, body: dict[str, Any] | None = None, bad: tuple[int, ...] = (),
    key: bool = False, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """An operation: its answer, and statuses of errors; `key` says that it needs one, where keys are demanded."""
    responses: dict[str, Any] = {"200": good, **{str(status): _ERROR for status in bad}}
    asked = {"requestBody": body} if body else {}
    security: dict[str, Any] = {"security": [{}, *({name: []} for name in _KEYS)]} if key else {}
    return {"summary": about, "responses": responses, **asked, **security, **more}


_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Where the server was started with keys."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key, in another place."},
}
_BODY = (400, 403, 408, 413, 429)
"""Statuses of whatever has a body."""
_LIBRE_ASKED = (*_BODY, 500, 503)
_ASKED = (*_LIBRE_ASKED, 401)
_KEYED = (401, 403, 429)
_CHANGES = (400, 401, 403, 404, 429, 500)
_NAMED: dict[str, Any] = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": _TEXT}]}
_TOKEN: dict[str, Any] = {"parameters": [{"name": "token", "in": "path", "required": True, "schema": _TEXT}]}


def describe() -> dict[str, Any]:
    """The description."""
    _, schemas = msgspec.json.schema_components([Translate, Score, Changed], ref_template="#/components/schemas/{name}")
    known = _all_of({"confidence": _NUMBER, "language": _TEXT})
    one_or_several = {"oneOf": [_TEXT, _list(_TEXT)]}
    translated = _all_of(
        {"translatedText": one_or_several}, detectedLanguage={"oneOf": [known, _list(known)]},
        alternatives={"type": "array", "items": one_or_several},
    )  # fmt: skip
    v1 = {"application/json": {"schema": _ref("Translated")}, "application/x-ndjson": {"schema": _TEXT}}
    upload = _object({"file": {"type": "string", "format": "binary"}, "source": _TEXT, "target": _TEXT}, api_key=_TEXT)
    suggestion = _object({"q": _TEXT, "s": _TEXT, "source": _TEXT, "target": _TEXT}, api_key=_TEXT)
    file = {"description": "The file", "content": {kind: {"schema": _TEXT} for kind in sorted(set(ENDINGS.values()))}}
    ready = _all_of({"ready": _YES})
    place = _object({"code": _TEXT, "name": _TEXT})
    settings = _object(
        {"charLimit": _COUNT, "frontendTimeout": _COUNT, "apiKeys": _YES, "keyRequired": _YES, "suggestions": _YES,
         "filesTranslation": _YES, "supportedFilesFormat": _list(_TEXT),
         "language": _object({"source": place, "target": place})},
    )  # fmt: skip
    paths: dict[str, Any] = {
        "/translate": {"post": _way("Translate, as LibreTranslate does", _json(translated), body=_form(_LIBRE),
                                    bad=_LIBRE_ASKED, key=True)},
        "/detect": {"post": _way("Tell the language among those of the models", _json(_list(known)),
                                 body=_form(_object({"q": one_or_several}, api_key=_TEXT)), bad=_LIBRE_ASKED, key=True)},
        "/suggest": {"post": _way("Keep a better translation for the next training",
                                  _json(_all_of({"success": _YES})), body=_form(suggestion), bad=_LIBRE_ASKED, key=True)},
        "/translate_file": {"post": _way("Translate a file: txt, srt, docx, html",
                                         _json(_all_of({"translatedFileUrl": _TEXT})),
                                         body=_form(upload, ("multipart/form-data",)), bad=_LIBRE_ASKED, key=True)},
        "/download_file/{token}": {"get": _way("A translated file", file, bad=(404,), **_TOKEN)},
        "/languages": {"get": _way("Languages and what they can be translated to", _json(_list(_ref("Language"))))},
        "/frontend/settings": {"get": _way("Settings, with LibreTranslate's fields", _json(settings))},
        "/health": {"get": _way("Whether the server is up", _json(_all_of({"status": _TEXT})))},
        "/ready": {"get": _way("Whether requests are answered", _json(ready))},
        "/metrics": {"get": _way("Numbers for Prometheus", {"description": "Text", "content": {"text/plain": {"schema": _TEXT}}},
                                 bad=_KEYED, key=True)},
        "/spec": {"get": _way("This description", _json({"type": "object"}))},
        "/openapi.json": {"get": _way("This description", _json({"type": "object"}))},
        "/v1/translate": {"post": _way("Translate, with all that led there", {"description": "The answer", "content": v1},
                                       body=_form(_ref("Translate"), _FORMS[:1]), bad=_ASKED, key=True)},
        "/v1/score": {"post": _way("Score a given translation", _json(_ref("Scored")), body=_form(_ref("Score"), _FORMS[:1]),
                                   bad=_ASKED, key=True)},
        "/v1/models": {"get": _way("All models", _json(_all_of({"models": _list(_ref("Model"))})), bad=_KEYED, key=True)},
        "/v1/models/{name}": {"get": _way("A model", _json(_ref("Model")), bad=(*_KEYED, 404), key=True, **_NAMED)},
        "/v1/models/{name}/load": {"post": _way("Load a model", _json(_ref("Model")), bad=_CHANGES, key=True, **_NAMED)},
        "/v1/models/{name}/unload": {"post": _way("Unload a model", _json(_ref("Model")), bad=_CHANGES, key=True, **_NAMED)},
        "/v1/models/{name}/weights": {"put": _way("Change weights", _json(_ref("Model")), body=_form(_ref("Changed"), _FORMS[:1]),
                                                  bad=(*_CHANGES, 408, 413), key=True, **_NAMED)},
    }  # fmt: skip
    paths["/ready"]["get"]["responses"]["503"] = _json(ready, "Not now")
    made = {
        "Error": _all_of({"error": _TEXT}),
        "Language": _all_of({"code": _TEXT, "name": _TEXT, "targets": _list(_TEXT)}),
        "Model": _MODEL,
        "Sentence": _SENTENCE,
        "Translated": _all_of(
            {**_ABOUT, "translations": _list(_all_of({"text": _TEXT}, sentences=_list(_ref("Sentence"))))}
        ),
        "Scored": _all_of({**_ABOUT, "reachable": _YES, "score": {"type": ["number", "null"]}},
                          features=_VALUES, contributions=_VALUES),
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "dragoman", "version": VERSION, "description": "A translation server that shows why."},
        "paths": paths,
        "components": {
            "schemas": {**schemas, **made},
            "securitySchemes": _KEYS,
        },
    }
