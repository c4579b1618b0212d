"""GET /openapi.json: what every route takes and gives, successes and refusals alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from contextfind.domain.errors import Code
from contextfind.server.auth import GUARDED
from contextfind.server.envelope import STATUS_OF
from contextfind.server.reading import BoundedReading
from contextfind.server.rules import AuthMode
from contextfind.server.wire.answers import Failure

ANYWHERE: tuple[Code, ...] = (
    "INVALID_ARGUMENT",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
)
"""What any route below /api/v1 may refuse with."""

AT_ADDRESS: tuple[Code, ...] = ("INVALID_URI", "NOT_FOUND")
"""What a route about one address may refuse with besides."""

_REF = "#/components/schemas/{model}"
_FRAMEWORK = ("HTTPValidationError", "ValidationError")  # ours is the failure envelope
_KEYS: list[dict[str, list[str]]] = [{"key": []}, {"bearer": []}]
_SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
_IGNORED = {"X-Ignored-Fields": "Fields of the body that had no effect, comma separated."}
_HEADERS = {
    "X-Request-ID": "The id of the request: the caller's own when it sent a sane one.",
    "X-Process-Time": "Seconds until the answer began.",
}


def may_fail(
    *codes: Code, told: Mapping[str, str] | None = None
) -> dict[int | str, dict[str, Any]]:
    """Return the refusals of a route: for each status, which codes.

    told: the headers that only this route's success may have, by name.
    """
    by_status: dict[int, list[Code]] = {}
    for code in dict.fromkeys((*ANYWHERE, *codes)):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    refusals: dict[int | str, dict[str, Any]] = {
        status: _refusal(found) for status, found in sorted(by_status.items())
    }
    return refusals if told is None else {**refusals, 200: {"headers": _headers(told)}}


def binary(refusals: dict[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route that gives a file: its bytes, of whatever type it is."""
    schema = {"type": "string", "format": "binary"}
    success = {"description": "The bytes of the file.", "content": {"*/*": {"schema": schema}}}
    return {200: success, **refusals}


def examples(named: Mapping[str, object]) -> dict[str, Any]:
    """Return bodies that work, by what they show, for a route's `openapi_extra`."""
    shown = {
        f"example{at}": {"summary": name, "value": value}
        for at, (name, value) in enumerate(named.items(), 1)
    }
    return {"requestBody": {"content": {"application/json": {"examples": shown}}}}


def operation_id(route: APIRoute) -> str:
    """Return `search_find` for the route `find` below `search`."""
    return "_".join([*map(str, route.tags), route.name])


def room(name: str, route_class: type[APIRoute] = BoundedReading) -> APIRouter:
    """Return the router of all that lies below /api/v1/{name}.

    Routers stand side by side: the framework looks twice through each that lies within another one.
    """
    return APIRouter(
        prefix=f"{GUARDED}/{name}",
        tags=[name],
        route_class=route_class,
        generate_unique_id_function=operation_id,
    )


class DescribedApi(FastAPI):
    """The application, with a description that says what it really does."""

    def __init__(self, mode: AuthMode, **settings: Any) -> None:
        super().__init__(**settings, generate_unique_id_function=operation_id)
        self._mode = mode

    def openapi(self) -> dict[str, Any]:
        """Return the description, as OpenAPI 3.1; made once."""
        if self.openapi_schema is None:
            self.openapi_schema = self._corrected(super().openapi())
        return self.openapi_schema

    def _corrected(self, page: dict[str, Any]) -> dict[str, Any]:
        """Put in what the framework does not know, take out what this server never does."""
        parts = page.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for name in _FRAMEWORK:
            schemas.pop(name, None)
        failure = TypeAdapter(Failure).json_schema(ref_template=_REF)
        schemas |= failure.pop("$defs") | {"Failure": failure}
        parts["securitySchemes"] = _SCHEMES
        parts["headers"] = _headers(_HEADERS)
        for path, methods in page["paths"].items():
            for operation in methods.values():
                self._correct(path, operation)
        return page

    def _correct(self, path: str, operation: dict[str, Any]) -> None:
        answers = operation["responses"]
        answers.pop("422", None)
        if path.startswith(GUARDED):
            operation["security"] = [{}, *_KEYS] if self._mode == "dev" else _KEYS
            if self._mode == "dev":
                answers.pop("401", None)
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            own = answers.get("200", {})
            own["headers"] = own.get("headers", {}) | _headers(_IGNORED)
        for answer in answers.values():
            shown = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
            answer["headers"] = shown | answer.get("headers", {})


def _headers(told: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: {"description": line, "schema": {"type": "string"}} for name, line in told.items()
    }


def _refusal(codes: Sequence[Code]) -> dict[str, Any]:
    """Return one status of a route: the failure envelope with these codes."""
    narrowed = {"properties": {"error": {"properties": {"code": {"enum": list(codes)}}}}}
    schema = {"allOf": [{"$ref": _REF.format(model="Failure")}, narrowed]}
    return {"description": ", ".join(codes), "content": {"application/json": {"schema": schema}}}
