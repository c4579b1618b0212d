"""What retrievers of all frameworks ask a server, and what they tell of a hit."""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from contextfind.client import AsyncClient, Client
from contextfind.client.findings import Found, Hit
from contextfind.client.searching import FindOptions
from contextfind.client.wire import DEFAULT_URL, TIMEOUT

HITS = 10  # as the server's own default
FILES = 2  # the level of whole files; abstracts and overviews of directories are no passages
Content = Literal["full", "abstract"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A server, and how it is asked; asks nothing before it is told to.

    session_id: the conversation that questions belong to, None for `find` (no plan, no reranker).
    client, awaiting: connections of the caller's own; it closes them, and `awaiting` belongs to one
    event loop. Without them each question opens a connection and closes it.
    """

    url: str = DEFAULT_URL
    api_key: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    session_id: str | None = None
    client: Client | None = None
    awaiting: AsyncClient | None = None

    def found(self, query: str, options: FindOptions) -> Found:
        """Return what fits. Raises ClientError."""
        if self.client is not None:
            return self._asked(self.client, query, options)
        with Client(self.url, self.api_key, self.timeout) as client:
            return self._asked(client, query, options)

    async def awaited(self, query: str, options: FindOptions) -> Found:
        """Return what fits. Raises ClientError."""
        if self.awaiting is not None:
            return await self._awaited(self.awaiting, query, options)
        async with AsyncClient(self.url, self.api_key, self.timeout) as client:
            return await self._awaited(client, query, options)

    def _asked(self, client: Client, query: str, options: FindOptions) -> Found:
        if self.session_id is None:
            return client.find(query, **options)
        return client.search(query, self.session_id, **options)

    async def _awaited(self, client: AsyncClient, query: str, options: FindOptions) -> Found:
        if self.session_id is None:
            return await client.find(query, **options)
        return await client.search(query, self.session_id, **options)


def options_of(content: Content, **said: Any) -> FindOptions:
    """Return what a find is told; what is None is not said. An empty list of tags or types is."""
    options = {name: value for name, value in said.items() if value is not None}
    return cast("FindOptions", {**options, "read_content": content == "full"})


def text_of(hit: Hit) -> str:
    """Return the body of a hit where it was read, else its abstract."""
    return hit.abstract if hit.content is None else hit.content


def facts_of(hit: Hit) -> dict[str, Any]:
    """Return what is known of a hit besides its text, in values that JSON has.

    `source` is its address, under the name that chains look for; `score` lies in 0..1.
    """
    return {
        "source": hit.uri,
        "uri": hit.uri,
        "score": hit.score,
        "context_type": hit.context_type,
        "level": hit.level,
        "abstract": hit.abstract,
        "tags": list(hit.tags),
        "match_reason": hit.match_reason,
    }
