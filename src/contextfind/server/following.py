"""Answering a change when finds know of it: at its new address, with its other tags, and no more with the old ones."""

from fastapi import Request

from contextfind.domain.errors import ConflictError, DeadlineExceededError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.server.house import House
from contextfind.server.premises import Premises
from contextfind.server.seats import aside


async def undisturbed(house: House, identity: Identity, *places: Uri) -> None:
    """Refuse to change a part of the tree into which a task still writes.

    Raises:
        ConflictError: one is at work there; trying again helps when it has ended.

    """
    for place in places:
        if await house.jobs.at_work(identity.account, place):
            raise ConflictError(
                f"a task is at work on {place.text!r}; wait for it (GET /api/v1/tasks, or POST "
                "/api/v1/system/wait) and try again",
                {"resource": place.text, "retryable": True},
            )


async def until_followed(request: Request, premises: Premises, house: House, position: int) -> None:
    """Wait until finds know what was committed at a position of the log.

    Raises:
        DeadlineExceededError: not within the time the server allows; it is committed all the same.
        UnavailableError: the server is stopping; finds know of it after the restart.

    """
    seconds = premises.rules.answer_seconds
    async with aside(request), premises.closing.ends_wait("finds know of it after its restart"):
        if not await house.settling.followed(position, seconds):
            raise DeadlineExceededError(
                f"done, but finds do not know of it after {seconds:g} s; wait for it with "
                "POST /api/v1/system/wait",
                {"retryable": False},
            )
