"""Every error a caller may see.

* ContextFindError              INTERNAL
  - InvalidArgumentError        INVALID_ARGUMENT     a field of the request is wrong
    - InvalidUriError           INVALID_URI          an address is no viking:// address
  - UnauthenticatedError        UNAUTHENTICATED      no key, or a key nobody knows
  - PermissionDeniedError       PERMISSION_DENIED    a good key, for something else
  - NotFoundError               NOT_FOUND
  - AlreadyExistsError          ALREADY_EXISTS
  - ConflictError               CONFLICT             `details["retryable"]` when trying again helps
  - FailedPreconditionError     FAILED_PRECONDITION  the data or the set-up must change first
  - ResourceExhaustedError      RESOURCE_EXHAUSTED   a limit was met
  - UnimplementedError          UNIMPLEMENTED        known to the API, not built here
  - UnavailableError            UNAVAILABLE          an engine or a model does not answer
    - DamagedError              UNAVAILABLE          the disk does not give back what was stored
    - DiskRefusesError          UNAVAILABLE          the disk is full or read-only
    - DeadlineExceededError     DEADLINE_EXCEEDED
  - ConfigError                 FAILED_PRECONDITION  ov.conf or the environment; only at start
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

Code = Literal[
    "INVALID_ARGUMENT",
    "INVALID_URI",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "CONFLICT",
    "FAILED_PRECONDITION",
    "RESOURCE_EXHAUSTED",
    "UNIMPLEMENTED",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
]


class ContextFindError(Exception):
    """Root of the tree: `code` is the wire code, `str(error)` the wire message.

    details: JSON values for `error.details`; never a key, a stack or an internal path.
    Lone surrogates of the message, which no stream can be given, are shown by number.
    """

    code: ClassVar[Code] = "INTERNAL"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message.encode("utf-8", "backslashreplace").decode())
        self.details: dict[str, object] = dict(details or {})


class InvalidArgumentError(ContextFindError):
    """A field of the request is wrong; the message names field, value and what was expected."""

    code: ClassVar[Code] = "INVALID_ARGUMENT"


class InvalidUriError(InvalidArgumentError):
    """The text is no address of the tree."""

    code = "INVALID_URI"


class UnauthenticatedError(ContextFindError):
    """No key was sent, or one that nobody knows."""

    code = "UNAUTHENTICATED"


class PermissionDeniedError(ContextFindError):
    """The key is good, but not for this."""

    code = "PERMISSION_DENIED"


class NotFoundError(ContextFindError):
    """Nothing is stored at the address."""

    code = "NOT_FOUND"


class AlreadyExistsError(ContextFindError):
    """What was to be created is there already."""

    code = "ALREADY_EXISTS"


class ConflictError(ContextFindError):
    """The tree as it is does not allow this."""

    code = "CONFLICT"


class TakenOverError(ConflictError):
    """Another process has taken the work over, because this one seemed to be gone; nothing was written."""


class FailedPreconditionError(ContextFindError):
    """Something must be changed first; the message says what."""

    code = "FAILED_PRECONDITION"


class ConfigError(FailedPreconditionError):
    """ov.conf or an environment variable is wrong; the message names path, value and choices."""


class ResourceExhaustedError(ContextFindError):
    """A limit was met; the message names it."""

    code = "RESOURCE_EXHAUSTED"


class UnimplementedError(ContextFindError):
    """The API knows this, this server does not (yet)."""

    code = "UNIMPLEMENTED"


class UnavailableError(ContextFindError):
    """An engine or a model does not answer; services may degrade on this one, and only on it."""

    code: ClassVar[Code] = "UNAVAILABLE"


class DamagedError(UnavailableError):
    """What was stored cannot be read any more; asking again does not help, the message says what does.

    `details["retryable"]` is false.
    """

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message, {**(details or {}), "retryable": False})


class DiskRefusesError(UnavailableError):
    """The disk takes nothing: what asked for it has changed nothing, and will work once it does.

    state: what it is, as in `is full`. `details["retryable"]` is true.
    """

    def __init__(self, state: str) -> None:
        super().__init__(
            f"the disk of the server {state}: this was not written, what was written before is there; "
            "when that is mended, send it again",
            {"retryable": True},
        )


class StoreDownError(UnavailableError):
    """The database cannot be reached, is too busy or stops: what asked for it may be tried again, and will work once it does."""


class StoreBusyError(StoreDownError):
    """The database lives, but lets nobody in at the moment: who opens the data waits for it, and says so."""


class DeadlineExceededError(UnavailableError):
    """No answer within the time allowed."""

    code = "DEADLINE_EXCEEDED"
