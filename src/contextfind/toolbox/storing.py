"""Writing a file so that it can be found at once, where that does not take long."""

from collections.abc import Mapping

from contextfind.client import ClientError, DeadlineExceededError
from contextfind.client.answers import JsonObject
from contextfind.client.envelope import API, result
from contextfind.client.exchange import Request
from contextfind.client.flow import ask
from contextfind.toolbox.tool import Desk

_SECONDS = 10.0  # until a file can be found; one takes milliseconds, but others may be before it
_FOUND = "It can be found now."
_LATER = "It is stored; finds know all of it in a while, when its vectors are made."


async def stored(desk: Desk, route: str, body: Mapping[str, object]) -> str:
    """Send a write and return whether what was written can be found already, in a sentence.

    route: below content. Raises ClientError where nothing was written.
    """
    sent = {**body, "wait": True, "timeout": _SECONDS}
    request = Request("POST", f"{API}/content/{route}", result(dict), body=sent)
    try:
        answer: JsonObject = await desk.client.perform(ask(request))
    except DeadlineExceededError as error:
        if not _is_written(error):
            raise
        return _LATER
    return _FOUND if answer.get("vector_status") == "complete" else _LATER


def _is_written(error: ClientError) -> bool:
    """Whether only the wait was given up: then the server says how many texts are left."""
    return "texts" in error.details
