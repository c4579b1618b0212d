"""The errors of the client: one tree, and how an answer becomes one of it."""

from collections.abc import Mapping

from contextfind.client.exchange import Answer

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
    """A request that got no good answer; every error of the client is one.

    code: the server's `error.code`, else what the HTTP status stands for; UNAVAILABLE when nobody
    answers. status: of the answer, None without one. details: of the error, may be empty.
    body: the answer as text, for what is no answer of ours (a proxy's page). request_id: under which
    the server's log has it, "" when it was not told. retry_after: seconds the server asks to wait.
    """

    def __init__(  # noqa: PLR0913 - an error is what is known about it
        self,
        code: str,
        message: str,
        status: int | None = None,
        details: Mapping[str, object] | None = None,
        body: str = "",
        *,
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.details: dict[str, object] = dict(details or {})
        self.body = body
        self.request_id = request_id
        self.retry_after = retry_after

    def __repr__(self) -> str:
        asked = f", request_id={self.request_id!r}" if self.request_id else ""
        return f"{type(self).__name__}({self.code!r}, {self.message!r}, {self.status}{asked})"


class InvalidArgumentError(ClientError):
    """A value that the API does not take (INVALID_ARGUMENT, INVALID_URI)."""


class UnauthenticatedError(ClientError):
    """No key, or a wrong one."""


class PermissionDeniedError(ClientError):
    """The key is good, and not for this."""


class NotFoundError(ClientError):
    """Nothing is there."""


class ConflictError(ClientError):
    """Something is in the way; `details["retryable"]` is true when trying again can help."""


class AlreadyExistsError(ConflictError):
    """What was to be made is there already."""


class FailedPreconditionError(ClientError):
    """Not possible in the state that things are in."""


class ResourceExhaustedError(ClientError):
    """Too much, or too often: see `retry_after`."""


class UnimplementedError(ClientError):
    """The server does not have this."""


class UnavailableError(ClientError):
    """Nobody answers, or what answers cannot work now."""


class DeadlineExceededError(ClientError):
    """It took too long; what was asked for may have happened all the same."""


class TaskFailedError(ClientError):
    """Background work that was waited for did not end well; `details` is the task."""


_KINDS: Mapping[str, type[ClientError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "INVALID_URI": InvalidArgumentError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "NOT_FOUND": NotFoundError,
    "CONFLICT": ConflictError,
    "ALREADY_EXISTS": AlreadyExistsError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "UNIMPLEMENTED": UnimplementedError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": DeadlineExceededError,
}


def failure_of(answer: Answer) -> ClientError:
    """Return the error of an answer: its own when it is one of ours, else made from the status."""
    body = answer.json()
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and "code" in error:
        details = error.get("details")
        kept = details if isinstance(details, dict) else None
        return _error(answer, str(error["code"]), str(error.get("message", "")), kept)
    start = " ".join(answer.text.split())[:200] or "(empty)"
    if answer.good:
        message = f"what answers at {answer.url} is no contextfind server: {start}"
        return _error(answer, "UNAVAILABLE", message)
    message = f"HTTP {answer.status} from {answer.url}: {start}"
    return _error(answer, _CODES.get(answer.status, "INTERNAL"), message)


def _error(
    answer: Answer, code: str, message: str, details: Mapping[str, object] | None = None
) -> ClientError:
    kind = _KINDS.get(code, ClientError)
    return kind(
        code,
        message,
        answer.status,
        details,
        answer.text,
        request_id=answer.headers.get("x-request-id", ""),
        retry_after=answer.retry_after,
    )
