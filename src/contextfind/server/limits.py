"""How large a request may be, and how long its body may take."""

import asyncio
from collections import Counter
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import (
    DeadlineExceededError,
    ResourceExhaustedError,
    UnavailableError,
)
from contextfind.server.context import header_of
from contextfind.server.rules import ServerRules
from contextfind.server.throttle import too_often

UPLOAD_PATH = "/api/v1/resources/temp_upload"
_FORM_BYTES = 64 * 1024  # boundaries, part headers and small form fields around an upload
_BODIES = 8  # of the largest size that may be in memory at once; most are a thousand times smaller
_SOON = 1  # seconds after which a caller whose body found no room may come again
_COUNTED = "body_counted"  # in the state of a request: what it brings came with another one


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a body may take: `seconds` in any case, and one more for every `slowest` bytes."""

    seconds: float = 30.0
    slowest: int = 10_000  # bytes a second; a bad mobile connection does five times as much


_PACE = Pace()


class BodyLimit:
    """ASGI layer that stops reading where a body becomes too large, whatever its header claimed.

    And where it comes too slowly, or all bodies in memory together are too much. An account fills at
    most three quarters of that room, so that it leaves some for the others. Uploads lie on the disk
    while they come, and count for themselves only.
    """

    def __init__(self, app: ASGIApp, rules: ServerRules, pace: Pace = _PACE) -> None:
        self.app = app
        self.rules = rules
        self.pace = pace
        self._room = _Room(_BODIES * rules.max_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of allowed size.

        Raises:
            ResourceExhaustedError: the body is, or says it will be, larger; or those of its account
                fill their share of the room.
            DeadlineExceededError: it comes too slowly.
            UnavailableError: others' bodies have filled the room there is.

        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        upload = scope["path"] == UPLOAD_PATH
        limit = self.rules.max_upload_bytes + _FORM_BYTES if upload else self.rules.max_body_bytes
        announced = header_of(scope, b"content-length")
        if announced.isdecimal() and int(announced) > limit:
            raise _too_large(limit)
        body = _Body(receive, limit, self.pace)
        state = scope["state"]
        room = None if upload or state.get(_COUNTED) else self._room
        identity = state.get("identity")
        account = None if identity is None else identity.account

        async def bounded() -> Message:
            message = await body.receive()
            if room is not None:
                room.take(account, len(message.get("body", b"")))
            return message

        try:
            await self.app(scope, bounded, send)
        finally:
            if room is not None:
                room.leave(account, body.seen)


def counted(app: ASGIApp) -> ASGIApp:
    """Return the application for requests whose bodies are parts of one that it holds already."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": {**scope.get("state", {}), _COUNTED: True}}, receive, send)

    return asked


class _Room:
    """Bytes of the bodies whose requests are not answered yet, by account; None is who needs no key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = most * 3 // 4
        self._held: Counter[str | None] = Counter()

    def take(self, account: str | None, size: int) -> None:
        """Count some bytes of an account, which `leave` gives back even when there was no room for them.

        Raises:
            ResourceExhaustedError: its bodies fill its share.
            UnavailableError: those of all together fill the room.

        """
        self._held[account] += size
        if size > 0 and self._held[account] > self._share:
            raise too_often("requests of your account fill the room it has for bodies", _SOON)
        if size > 0 and self._held.total() > self._most:
            raise _no_room()

    def leave(self, account: str | None, size: int) -> None:
        """Give the bytes of a whole request back."""
        self._held[account] -= size
        if not self._held[account]:
            del self._held[account]


class _Body:
    """The body of one request while it comes."""

    def __init__(self, receive: Receive, limit: int, pace: Pace) -> None:
        self.seen = 0
        self._receive = receive
        self._limit = limit
        self._pace = pace
        self._whole = False
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    async def receive(self) -> Message:
        """Return the next message, once it is known to come in time and to bring not too much."""
        if self._whole:  # what comes now is that the caller hangs up, whenever that is
            return await self._receive()
        message = await self._in_time()
        seen = self.seen + len(message.get("body", b""))
        if seen > self._limit:
            raise _too_large(self._limit)
        self.seen = seen
        self._whole = not message.get("more_body", False)
        return message

    async def _in_time(self) -> Message:
        due = self._begun + self._pace.seconds + self.seen / self._pace.slowest
        try:
            async with asyncio.timeout_at(due):
                return await self._receive()
        except TimeoutError:
            raise _too_slow(self.seen) from None


def _too_large(limit: int) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"the request body is larger than {limit} bytes", {"max_bytes": limit}
    )


def _too_slow(seen: int) -> DeadlineExceededError:
    return DeadlineExceededError(
        f"the request body comes too slowly; {seen} bytes of it came in time", {"retryable": True}
    )


def _no_room() -> UnavailableError:
    return UnavailableError(
        "the server holds as many request bodies as it has room for",
        {"retryable": True, "retry_after_seconds": _SOON},
    )
