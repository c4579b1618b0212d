"""The one error of the client, and how an answer becomes it."""

from collections.abc import Mapping
from typing import Any

import httpx

_CODES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "CONFLICT",
    412: "FAILED_PRECONDITION",
    413: "RESOURCE_EXHAUSTED",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ClientError(Exception):
    """A request that got no good answer.

    code: the server's `error.code`, else what the HTTP status stands for; UNAVAILABLE when nobody
    answers. status: of the answer, None without one. details: of the error, may be empty.
    body: the answer as text, for what is no answer of ours (a proxy's page).
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int | None = None,
        details: Mapping[str, object] | None = None,
        body: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.details: dict[str, object] = dict(details or {})
        self.body = body


def json_of(response: httpx.Response) -> Any:
    """Return the body of an answer as JSON, None when it is none."""
    try:
        return response.json()
    except ValueError:
        return None


def failure_of(response: httpx.Response) -> ClientError:
    """Return the error of an answer: its own when it is one of ours, else made from the status."""
    status, text = response.status_code, response.text
    body = json_of(response)
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and "code" in error:
        details = error.get("details")
        return ClientError(
            str(error["code"]),
            str(error.get("message", "")),
            status,
            details if isinstance(details, dict) else None,
            text,
        )
    start = " ".join(text.split())[:200] or "(empty)"
    if response.is_success:
        message = f"what answers at {response.url} is no contextfind server: {start}"
        return ClientError("UNAVAILABLE", message, status, body=text)
    code = _CODES.get(status, "INTERNAL")
    return ClientError(code, f"HTTP {status} from {response.url}: {start}", status, body=text)
