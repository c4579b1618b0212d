"""A LlamaIndex retriever over a server; needs `contextfind[llamaindex]`."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from contextfind.client import AsyncClient, Client
from contextfind.client.findings import Found
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

NOT_TOLD = [
    "score",
    "level",
    "match_reason",
    "abstract",
    "uri",
]  # a model has the text and its source


class ContextfindRetriever(BaseRetriever):
    """Nodes from a server, best first.

    Each is a file, with its address as `node_id` and `metadata["source"]`, its score in 0..1, and
    its text (`content="abstract"`: its abstract only). Raises ClientError.

    similarity_top_k: how many at most, 1 to 100. level: 2 files, 1 overviews, 0 abstracts of
    directories, None all. filter: in the language of filters. tags: of which a file must have all.
    session_id: the conversation that questions belong to. client, async_client: connections of
    the caller's own, kept open between questions.
    """

    def __init__(  # noqa: PLR0913 - what may be said in a find
        self,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        *,
        similarity_top_k: int = HITS,
        target_uri: str | Sequence[str] | None = None,
        context_type: str | Sequence[str] | None = None,
        level: int | Sequence[int] | None = FILES,
        filter: Mapping[str, object] | None = None,  # noqa: A002 - the API's own name
        tags: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        time_field: str | None = None,
        score_threshold: float | None = None,
        content: Content = "full",
        session_id: str | None = None,
        timeout: float = TIMEOUT,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        callback_manager: CallbackManager | None = None,
        **others: Any,
    ) -> None:
        self._asking = Asking(
            url=url,
            api_key=api_key,
            timeout=timeout,
            session_id=session_id,
            client=client,
            awaiting=async_client,
        )
        self._options = options_of(
            content,
            limit=similarity_top_k,
            target_uri=target_uri,
            context_type=context_type,
            level=level,
            filter=filter,
            tags=tags,
            since=since,
            until=until,
            time_field=time_field,
            score_threshold=score_threshold,
        )
        super().__init__(callback_manager=callback_manager, **others)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._asking.found(query_bundle.query_str, self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._asking.awaited(query_bundle.query_str, self._options))


def _nodes(found: Found) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=hit.uri,
                text=text_of(hit),
                metadata=facts_of(hit),
                excluded_llm_metadata_keys=NOT_TOLD,
            ),
            score=hit.score,
        )
        for hit in found.hits
    ]
