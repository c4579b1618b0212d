"""Many queries at once: how many walks are under way, and what they do not wait for."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion, RetrieverMode, TypedQuery
from contextfind.domain.results import FindResult
from contextfind.ports import Hit, Probe
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.inquiry import _WALKS_AT_ONCE
from contextfind.retrieval.reranking import Panel
from tests.households import ANN, household

ME = RequestContext(ANN, "r")
FILES = {"kettle.md": "the kettle", "teapot.md": "the teapot"}
BOTH = (TypedQuery("kettle"), TypedQuery("teapot"))


class Silent:
    """A reranker that never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        assert query
        assert documents
        self.asked.release()
        await asyncio.Event().wait()
        raise AssertionError


async def test_no_more_than_some_walks_of_all_requests_are_under_way():
    async with household() as house:
        await house.add(FILES)
        search, busy, busiest = house.index.search, 0, 0

        async def counted(probes: Sequence[Probe]) -> Sequence[Sequence[Hit]]:
            nonlocal busy, busiest
            busy += 1
            busiest = max(busiest, busy)
            for _ in range(5):
                await asyncio.sleep(0)
            busy -= 1
            return await search(probes)

        house.index.search = counted  # type: ignore[method-assign]
        question = FindQuestion("kettle")
        found: list[FindResult] = await asyncio.gather(
            *(house.finder.find(ME, question, BOTH) for _ in range(20)),
            *(house.finder.find(ME, question) for _ in range(20)),
        )
    assert busiest == _WALKS_AT_ONCE
    assert {one.total for one in found[:20]} == {found[0].total}


async def test_nobody_waits_for_the_reranker_of_others():
    silent = Silent()
    async with household() as house:
        await house.add(FILES)
        panel = Panel(silent, house.store)
        finder = Finder(replace(house.reading, panel=panel), house.finder._retriever)
        thinking = FindQuestion("kettle", mode=RetrieverMode.THINKING)
        waiting = [
            asyncio.create_task(finder.find(ME, thinking, BOTH)) for _ in range(_WALKS_AT_ONCE)
        ]
        for _ in range(2 * _WALKS_AT_ONCE):
            await silent.asked.acquire()
        assert (await finder.find(ME, FindQuestion("kettle"), BOTH)).total > 0
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
