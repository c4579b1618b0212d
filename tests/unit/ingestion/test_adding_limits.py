"""How many adds an account may have under way, and who is served first."""

import asyncio

import pytest

from contextfind.domain.errors import ResourceExhaustedError
from contextfind.domain.identity import Identity
from contextfind.ingestion import adding
from contextfind.ingestion.adding import AddRequest
from tests.fakes import FakeEmbedder
from tests.households import ANN, Household, household

ZOE = Identity("zoo", "zoe")


async def add(house: Household, who: Identity, name: str) -> str:
    upload = await house.uploads.put(who, f"{name}.md", b"A text.")
    return (await house.adding.add_resource(who, AddRequest(upload=upload))).id


async def test_an_account_with_too_many_unfinished_tasks_is_told_to_wait_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adding, "MOST_UNFINISHED", 2)
    goes_on = asyncio.Event()

    class Held(FakeEmbedder):
        async def embed(self, inputs, purpose):  # type: ignore[no-untyped-def]  # as its parent
            await goes_on.wait()
            return await super().embed(inputs, purpose)

    async with household(Held()) as house:
        jobs = [await add(house, ANN, name) for name in ("a", "b")]
        with pytest.raises(ResourceExhaustedError) as refused:
            await add(house, ANN, "c")
        assert refused.value.details == {"retryable": True, "retry_after_seconds": 5}
        await add(house, ZOE, "z")
        goes_on.set()
        for job in jobs:
            await house.jobs.finished(ANN, job, 30)
        await house.jobs.finished(ANN, await add(house, ANN, "c"), 30)
