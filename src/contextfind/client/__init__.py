"""The Python client: one async method per route, typed answers, one kind of error.

async with Client("http://127.0.0.1:1933", key="…") as client:
    found = await client.find("how do I roll back?", limit=5)

Answers are the JSON of `result` as the server sent it (see `answers`); times are ISO 8601.
"""

from contextfind.client.calls import Client
from contextfind.client.failure import ClientError
from contextfind.client.wire import DEFAULT_URL

__all__ = ["DEFAULT_URL", "Client", "ClientError"]
