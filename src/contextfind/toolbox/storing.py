"""Writing a file so that it can be found at once, where that does not take long."""

from collections.abc import Awaitable

from contextfind.client import ClientError, DeadlineExceededError
from contextfind.client.answers import Batch, Written

SECONDS = 10.0  # until a file can be found; one takes milliseconds, but others may be before it
_FOUND = "It can be found now."
_LATER = "It is stored; finds know all of it in a while, when its vectors are made."


async def stored(writing: Awaitable[Written | Batch]) -> str:
    """Await a write that waits for `SECONDS`, and return whether what it wrote can be found already, in a sentence.

    Raises ClientError where nothing was written.
    """
    try:
        written = await writing
    except DeadlineExceededError as error:
        if not _is_written(error):
            raise
        return _LATER
    return _FOUND if written.vector_status == "complete" else _LATER


def _is_written(error: ClientError) -> bool:
    """Whether only the wait was given up: then the server says how many texts are left."""
    return "texts" in error.details
