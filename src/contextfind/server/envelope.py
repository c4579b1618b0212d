"""The two shapes of every answer, as strict JSON."""

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from pydantic_core import to_json
from starlette.responses import Response

from contextfind.domain.errors import Code, ContextFindError
from contextfind.server.rules import KEY_START

STATUS_OF: Mapping[Code, int] = {
    "INVALID_ARGUMENT": 400,
    "INVALID_URI": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "CONFLICT": 409,
    "FAILED_PRECONDITION": 412,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}

_STEP = re.compile(r"[^.\[\]]+")
_A_KEY = re.compile(
    KEY_START.encode() + rb"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"
)  # 32 bytes in base64
HEADER_LENGTH = 4_000  # characters; common clients refuse header lines above 8 kB


class StrictJson(Response):
    """A JSON body without NaN or Infinity; UTF-8, lone surrogates escaped."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Return the bytes.

        Raises:
            ValueError: a number that JSON does not have.

        """
        text = json.dumps(
            content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str
        )
        return text.encode("utf-8", "backslashreplace")  # \ud800 is how JSON spells it, too


class PlainJson(StrictJson):
    """The same for text, numbers, lists and dicts alone, in a quarter of the time."""

    def render(self, content: object) -> bytes:
        """Return the bytes; what is not quite plain is left to `StrictJson`."""
        try:
            body = to_json(content, inf_nan_mode="constants")
        except ValueError:  # a lone surrogate, or nothing that JSON has a form for
            return super().render(content)
        # In a text, or as a number that must be refused.
        odd = b"NaN" in body or b"Infinity" in body
        return super().render(content) if odd else body


class _Refusal(StrictJson):
    """The same for a failure, whose message may repeat what was sent: a key in the wrong place, too."""

    def render(self, content: object) -> bytes:
        """Return the bytes, without any key."""
        return _A_KEY.sub(f"{KEY_START}…".encode(), super().render(content))


def ok(
    result: object,
    telemetry: Mapping[str, object] | None = None,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    form: type[StrictJson] = StrictJson,
) -> StrictJson:
    """Return the success envelope; `extra` stands beside `result`, `telemetry` only when given."""
    body: dict[str, object] = {"status": "ok", "result": result, **(extra or {})}
    if telemetry is not None:
        body["telemetry"] = telemetry
    return form(body, headers=dict(headers or {}))


def failed(
    error: ContextFindError,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    place: str = "body",
) -> StrictJson:
    """Return the failure envelope; `status` only where HTTP has a nearer one (405).

    place: where the field of a wrong value was sent, `body` or `query`.
    `details["retry_after_seconds"]` becomes the header Retry-After.
    """
    details = dict(error.details)
    wait = details.get("retry_after_seconds")
    later = {} if wait is None else {"Retry-After": str(wait)}
    field = details.get("field")
    if isinstance(field, str) and "validation_errors" not in details:
        details["validation_errors"] = [
            {"loc": [place, *_steps(field)], "message": str(error), "type": "value_error"}
        ]
    body = {
        "status": "error",
        "result": None,
        "error": {"code": error.code, "message": str(error), "details": details},
    }
    return _Refusal(body, status or STATUS_OF[error.code], headers={**later, **(headers or {})})


def _steps(field: str) -> list[str | int]:
    """Return a path as pydantic lists it: `filter.conds[1].op` is filter, conds, 1, op."""
    return [
        int(step) if step.isascii() and step.isdigit() else step for step in _STEP.findall(field)
    ]


def header_list(names: Iterable[str]) -> str:
    """Return names for a header: comma separated, percent-encoded where a header needs it.

    A list that would be too long ends early: whoever needs all of it asks for telemetry.
    """
    line = ""
    for name in names:
        longer = f"{line},{quote(name, safe=':/~()=;')}" if line else quote(name, safe=":/~()=;")
        if len(longer) > HEADER_LENGTH:
            break
        line = longer
    return line
