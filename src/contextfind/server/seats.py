"""How many requests are in the house at once, and who comes next: the accounts take turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import DeadlineExceededError, UnavailableError
from contextfind.ingestion.gate import Gate
from contextfind.server.context import header_of
from contextfind.server.presence import while_awaited, while_present
from contextfind.server.rules import ServerRules
from contextfind.server.throttle import too_often

_SOON = 1  # seconds after which a refused caller may come again; most requests take milliseconds
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")


class Seats:
    """Seats in the house: one for each request that is being answered.

    An account holds at most three quarters of them (at least one), so that slow requests of one leave
    room for the others; see `Gate` for whose turn it is.
    """

    def __init__(self, rules: ServerRules) -> None:
        self._gate = Gate(rules.max_requests, max(rules.max_requests * 3 // 4, 1))
        self._most_waiting = rules.max_waiting
        self._seconds = rules.queue_seconds

    @property
    def waiting(self) -> int:
        """How many requests wait for a seat."""
        return self._gate.waiting

    async def take(self, account: str, receive: Receive) -> None:
        """Return when the account has one seat more.

        receive: tells when the caller hangs up; its body must have been read.

        Raises:
            ResourceExhaustedError: as many requests of the account wait as may.
            UnavailableError: no seat got free in time, or the caller has hung up.

        """
        if self._gate.enter(account):
            return
        waiting = self._gate.queue(account)
        if waiting >= self._most_waiting:
            raise too_often(f"{waiting} requests of your account wait already", _SOON)
        due = asyncio.get_running_loop().time() + self._seconds
        came = seated = False
        try:
            async with while_present(receive, due):
                await self._gate.come(account)
                came = True
            seated = True
        except DeadlineExceededError:
            raise UnavailableError(
                f"the server is busy: your request waited {self._seconds:g} s for its turn",
                {"retryable": True, "retry_after_seconds": _SOON},
            ) from None
        finally:
            if came and not seated:  # it hung up in the same moment
                self._gate.leave(account)

    def leave(self, account: str) -> None:
        """Give a seat back; whoever is next has it at once."""
        self._gate.leave(account)


class Seat:
    """The seat of one request: taken once, left once."""

    def __init__(self, seats: Seats, account: str) -> None:
        self._seats = seats
        self._account = account
        self._held: bool | None = None  # None: not yet

    async def take(self, receive: Receive) -> None:
        """Wait for a seat, unless there was one; see `Seats.take`."""
        if self._held is None:
            await self._seats.take(self._account, receive)
            self._held = True

    def leave(self) -> None:
        """Give it back, if it is held; no other is taken."""
        if self._held:
            self._seats.leave(self._account)
        self._held = False


class Seating:
    """ASGI layer: a request has a seat from the end of its body until its answer begins.

    So neither a caller that sends slowly nor one that reads slowly keeps anybody from a seat. What
    needs no key (health, readiness, the page) has none, and never waits.
    """

    def __init__(self, app: ASGIApp, seats: Seats) -> None:
        self.app = app
        self.seats = seats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request when it has a seat.

        Raises:
            ResourceExhaustedError, UnavailableError: see `Seats.take`.

        """
        identity = scope["state"].get("identity") if scope["type"] == "http" else None
        if identity is None:
            await self.app(scope, receive, send)
            return
        seat = scope["state"]["seat"] = Seat(self.seats, identity.account)

        async def listened() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await seat.take(receive)
            return message

        async def told(message: Message) -> None:
            seat.leave()
            await send(message)

        try:
            if not _has_body(scope):
                await seat.take(receive)
            await self.app(scope, listened, told)
        finally:
            seat.leave()


@asynccontextmanager
async def aside(request: Request) -> AsyncIterator[None]:
    """Wait inside for what others do: without a seat, and as long as the caller is there.

    Raises:
        DeadlineExceededError: the caller has hung up.

    """
    seat: Seat = request.state.seat
    seat.leave()
    async with while_awaited(request, None):
        yield


def _has_body(scope: Scope) -> bool:
    return scope["method"] not in _WITHOUT_BODY and (
        header_of(scope, b"content-length") not in ("", "0")
        or header_of(scope, b"transfer-encoding") != ""
    )
