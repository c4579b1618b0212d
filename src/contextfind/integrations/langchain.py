"""A LangChain retriever over a server; needs `contextfind[langchain]`."""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, SecretStr

from contextfind.client import AsyncClient, Client
from contextfind.client.findings import Found
from contextfind.client.searching import FindOptions
from contextfind.client.wire import DEFAULT_URL, TIMEOUT
from contextfind.integrations.asking import (
    FILES,
    HITS,
    Asking,
    Content,
    facts_of,
    options_of,
    text_of,
)


class ContextfindRetriever(BaseRetriever):
    """Documents from a server, best first.

    Each has the address of its file as `id` and `metadata["source"]`, its score (0..1) as
    `metadata["score"]`, and the file as text (`content="abstract"`: its abstract only). `invoke`
    and `ainvoke` take the fields below once more for one question: `invoke("…", k=3)`. Raises
    ClientError.

    k: how many at most, 1 to 100. level: 2 files, 1 overviews, 0 abstracts of directories, None all.
    filter: in the language of filters. search_tags: tags of which a file must have all (`tags` are
    LangChain's own, for tracing). session_id: the conversation that a question belongs to.
    client, async_client: connections of the caller's own, kept open between questions.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    url: str = DEFAULT_URL
    api_key: SecretStr | None = None
    timeout: float = TIMEOUT
    client: Client | None = None
    async_client: AsyncClient | None = None

    k: int = HITS
    target_uri: str | list[str] | None = None
    context_type: str | list[str] | None = None
    level: int | list[int] | None = FILES
    filter: dict[str, Any] | None = None
    search_tags: list[str] | None = None
    since: str | None = None
    until: str | None = None
    time_field: str | None = None
    score_threshold: float | None = None
    content: Content = "full"
    session_id: str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's
        **said: Any,
    ) -> list[Document]:
        return _documents(self._asking(said).found(query, self._options(said)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's
        **said: Any,
    ) -> list[Document]:
        return _documents(await self._asking(said).awaited(query, self._options(said)))

    def _asking(self, said: Mapping[str, Any]) -> Asking:
        return Asking(
            url=self.url,
            api_key=None if self.api_key is None else self.api_key.get_secret_value(),
            timeout=self.timeout,
            session_id=said.get("session_id", self.session_id),
            client=self.client,
            awaiting=self.async_client,
        )

    def _options(self, said: Mapping[str, Any]) -> FindOptions:
        unknown = sorted(said.keys() - _PER_QUESTION)
        if unknown:
            known = ", ".join(sorted(_PER_QUESTION))
            raise TypeError(f"{unknown[0]!r} cannot be said per question; what can: {known}")
        chosen = {name: said.get(name, getattr(self, name)) for name in _PER_QUESTION}
        renamed = {_SENT_AS.get(name, name): value for name, value in chosen.items()}
        del renamed["session_id"]
        return options_of(**renamed)


_SENT_AS = {"k": "limit", "search_tags": "tags"}
_PER_QUESTION = ContextfindRetriever.__annotations__.keys() - {
    "url",
    "api_key",
    "timeout",
    "client",
    "async_client",
}


def _documents(found: Found) -> list[Document]:
    return [
        Document(id=hit.uri, page_content=text_of(hit), metadata=facts_of(hit))
        for hit in found.hits
    ]
