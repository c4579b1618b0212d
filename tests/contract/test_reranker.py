"""One suite for every `Reranker`."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from contextfind.adapters.remote.endpoint import EndpointSettings
from contextfind.adapters.remote.rerank import HttpReranker, RerankSettings
from contextfind.adapters.remote.rerank_dialects import (
    Cohere,
    DashScope,
    Dialect,
    Tei,
    Volcengine,
)
from contextfind.ports import Reranker
from tests.fakes import FakeReranker
from tests.stubs.reranker import StubReranker, stub_reranker

SCORES = {"best": 0.9, "good": 0.6, "poor": 0.2}
ODD = ["a\x00b", "lone \ud800 surrogate", "", " \n", "x" * 20_000, "字" * 5_000, "😀"]
DIALECTS: dict[str, Dialect] = {
    "cohere": Cohere(),
    "compatible": Cohere(path="reranks"),
    "tei": Tei(),
    "dashscope": DashScope(),
    "volcengine": Volcengine(),
}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubReranker]:
    with stub_reranker() as stub:
        stub.scores.update(SCORES)
        yield stub


@pytest.fixture(params=["fake", *DIALECTS])
async def reranker(request: pytest.FixtureRequest, stub: StubReranker) -> AsyncIterator[Reranker]:
    if request.param == "fake":
        yield FakeReranker(SCORES | dict.fromkeys(ODD, 0.0))
        return
    settings = RerankSettings("m", DIALECTS[request.param], batch_size=2, max_characters=1_000)
    reranker = HttpReranker(settings, EndpointSettings(stub.base_url, timeout=5, concurrency=4))
    yield reranker
    await reranker.aclose()


async def test_scores_come_in_the_order_of_the_documents(reranker: Reranker) -> None:
    assert await reranker.rerank("q", ["poor", "best", "good"]) == [0.2, 0.9, 0.6]


async def test_equal_texts_get_equal_scores(reranker: Reranker) -> None:
    assert await reranker.rerank("q", ["poor", "best", "poor"]) == [0.2, 0.9, 0.2]


async def test_no_documents_no_scores(reranker: Reranker) -> None:
    assert list(await reranker.rerank("q", [])) == []


async def test_any_text_is_accepted(reranker: Reranker) -> None:
    said = await reranker.rerank("q\x00\ud800", [*ODD, "best"])
    assert len(said) == len(ODD) + 1
    assert all(score is None or 0 <= score <= 1 for score in said)
    assert said[-1] == 0.9


async def test_calls_at_once_do_not_mix(reranker: Reranker) -> None:
    asked = [reranker.rerank("q", [name]) for name in SCORES for _ in range(5)]
    answers = await asyncio.gather(*asked)
    assert [list(one) for one in answers] == [
        [score] for score in SCORES.values() for _ in range(5)
    ]
