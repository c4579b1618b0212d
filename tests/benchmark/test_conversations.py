"""The session-aware search finds what the query by itself misses, with a language model and without."""

from collections.abc import AsyncIterator

import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.nano import NanoEmbedder
from contextfind.adapters.remote.chat import ChatSettings, OpenAIChat
from contextfind.adapters.remote.endpoint import EndpointSettings
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.retrieval.intent import IntentAnalyzer, IntentRules
from tests.benchmark.conversations import Case, ask, cases, example, fill, measure, rank
from tests.households import Household, household
from tests.stubs.chat import Asked, Turn, say, stub_chat


@pytest.fixture
async def house() -> AsyncIterator[Household]:
    """The tree of the demo, found by words."""
    async with household(HashEmbedder("t")) as house:
        await fill(house)
        yield house


async def check_example(house: Household) -> None:
    for case in example():
        assert rank(await ask(house, case, alone=True), case) != 1
        assert rank(await ask(house, case, alone=False), case) == 1


def those(*, leans: bool) -> list[Case]:
    return [case for case in cases() if case.leans is leans]


async def test_the_runbook_is_missed_by_the_query_and_found_in_the_conversation(
    house: Household,
) -> None:
    await check_example(house)


async def test_questions_that_point_back_are_answered_far_better_in_their_session(
    house: Household,
) -> None:
    asked = those(leans=True)
    alone, told = [await measure(house, asked, alone=alone) for alone in (True, False)]
    assert (alone.questions, alone.mrr < 0.5) == (55, True)
    assert told.mrr > alone.mrr + 0.35


async def test_questions_that_stand_by_themselves_lose_nothing(house: Household) -> None:
    asked = those(leans=False)
    alone, told = [await measure(house, asked, alone=alone) for alone in (True, False)]
    assert told.questions == 25
    assert told.mrr >= alone.mrr - 0.02


@pytest.mark.slow
async def test_so_it_is_with_the_built_in_model() -> None:
    embedder = NanoEmbedder(TEXT_RECIPE)
    async with household(embedder) as house:
        await fill(house)
        await check_example(house)
        for leans, gain in ((True, 0.4), (False, -0.02)):
            asked = those(leans=leans)
            alone, told = [await measure(house, asked, alone=alone) for alone in (True, False)]
            assert told.mrr > alone.mrr + gain
    await embedder.aclose()


async def test_a_language_model_that_says_what_is_meant_finds_it_too(house: Household) -> None:
    said = {
        "how do we undo it?": "going back to the former map tiles of a depot",
        "那怎么回滚？": "换回上一版地图瓦片的步骤",
    }

    def plan(asked: Asked) -> Turn:
        query = next(text for text in said if asked.messages[1][1].endswith(text))
        typed = {"query": said[query], "context_type": "resource", "intent": "", "priority": 1}
        return say({"reasoning": "The tiles shall be taken back.", "queries": [typed]})

    with stub_chat(plan) as stub:
        endpoint = EndpointSettings(stub.base_url, timeout=5, concurrency=2, api_key="")
        model = OpenAIChat(ChatSettings("m"), endpoint)
        analyzer = IntentAnalyzer(model, house.store, IntentRules())
        for case in example():
            assert rank(await ask(house, case, alone=False, analyzer=analyzer), case) == 1
        await model.aclose()
        last = stub.requests[-1].messages[1][1]
    told = [message.text for message in example()[0].conversation.messages]
    assert [text in last for text in told] == [False] * 7 + [True] * 5
