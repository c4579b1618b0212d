import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.endpoint import EndpointSettings, Patience
from contextfind.adapters.remote.rerank import HttpReranker, RerankSettings
from contextfind.adapters.remote.rerank_dialects import (
    Cohere,
    DashScope,
    Tei,
    Volcengine,
    dialect,
)
from contextfind.adapters.remote.volcengine import VolcengineSigner
from contextfind.domain.errors import ConfigError, UnavailableError
from tests.stubs.embedder import Data, Fault
from tests.stubs.reranker import StubReranker, stub_reranker

KEY = "sk-secret-1234"
SETTINGS = RerankSettings("judge", Cohere(), batch_size=32, max_characters=100)
FRUIT = {"apple": 0.9, "pear": 0.5, "plum": 0.1}


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0 * seconds)


@pytest.fixture
def stub() -> Iterator[StubReranker]:
    with stub_reranker() as stub:
        stub.scores.update(FRUIT)
        yield stub


Open = Callable[..., HttpReranker]


@pytest.fixture
async def opened(stub: StubReranker) -> AsyncIterator[Open]:
    made: list[HttpReranker] = []

    def make(
        settings: RerankSettings = SETTINGS,
        base_url: str = stub.base_url,
        timeout: float = 5,
        **more: int,
    ) -> HttpReranker:
        endpoint = EndpointSettings(base_url, timeout, concurrency=2, api_key=KEY)
        made.append(
            HttpReranker(
                replace(settings, **more), endpoint, Breaker(), Patience(no_wait, lambda: 1.0)
            )
        )
        return made[-1]

    yield make
    for reranker in made:
        await reranker.aclose()


def spoiled(spoil: Callable[[Data], Data]) -> Fault:
    return Fault(spoil=spoil)


def scoring(*scores: object) -> Fault:
    """Return a fault that says exactly these, by position."""
    return spoiled(lambda _: [{"index": at, "relevance_score": s} for at, s in enumerate(scores)])


async def test_cohere_is_asked_for_all_the_scores(stub: StubReranker, opened: Open) -> None:
    assert await opened().rerank("fruit?", ["plum", "apple"]) == [0.1, 0.9]
    (asked,) = stub.requests
    assert asked.path == "/v1/rerank"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "judge",
        "query": "fruit?",
        "documents": ["plum", "apple"],
        "top_n": 2,
    }


async def test_tei_is_asked_for_probabilities_and_to_cut(stub: StubReranker, opened: Open) -> None:
    asking = opened(replace(SETTINGS, dialect=Tei()), stub.root_url)
    assert await asking.rerank("fruit?", ["plum", "apple"]) == [0.1, 0.9]
    assert stub.requests[0].path == "/rerank"
    assert stub.requests[0].body == {
        "query": "fruit?",
        "texts": ["plum", "apple"],
        "raw_scores": False,
        "truncate": True,
    }


async def test_dashscope_is_asked_in_its_own_form(stub: StubReranker, opened: Open) -> None:
    asking = opened(replace(SETTINGS, dialect=DashScope()))
    assert await asking.rerank("fruit?", ["plum", "apple"]) == [0.1, 0.9]
    assert stub.requests[0].path == "/v1/services/rerank/text-rerank/text-rerank"
    assert stub.requests[0].body == {
        "model": "judge",
        "input": {"query": "fruit?", "documents": ["plum", "apple"]},
        "parameters": {"top_n": 2, "return_documents": False},
    }


async def test_volcengine_is_asked_in_signed_pairs(stub: StubReranker, opened: Open) -> None:
    signer = VolcengineSigner("AK", "SK")
    asking = opened(replace(SETTINGS, dialect=Volcengine(), signer=signer), stub.root_url)
    assert await asking.rerank("fruit?", ["plum", "apple"]) == [0.1, 0.9]
    (asked,) = stub.requests
    assert asked.path == "/api/knowledge/service/rerank"
    assert asked.body == {
        "rerank_model": "judge",
        "datas": [
            {"query": "fruit?", "content": "plum"},
            {"query": "fruit?", "content": "apple"},
        ],
    }
    said = {name.lower(): value for name, value in asked.headers.items()}
    moment = said["x-date"]
    at = f"AK/{moment[:8]}/cn-north-1/air/request"
    assert said["authorization"].startswith(f"HMAC-SHA256 Credential={at}, SignedHeaders=")
    again = VolcengineSigner("AK", "SK", clock=lambda: _parsed(moment))
    right = again.headers(said["host"], asked.path, asked.content)
    assert {name.lower(): value for name, value in right.items()}.items() <= said.items()


def _parsed(moment: str) -> datetime:
    return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("provider", "model", "address", "expected"),
    [
        ("cohere", "m", "", Cohere("https://api.cohere.com/v2")),
        ("jina", "m", "", Cohere("https://api.jina.ai/v1")),
        ("openai", "m", "http://h/v1", Cohere()),
        ("tei", "", "http://h", Tei()),
        ("volcengine", "m", "", Volcengine()),
        ("dashscope", "gte-rerank-v2", "", DashScope()),
        (
            "dashscope",
            "qwen3-rerank",
            "",
            Cohere("https://dashscope.aliyuncs.com/compatible-api/v1", "reranks"),
        ),
        (
            "dashscope",
            "any",
            "https://dashscope-intl.aliyuncs.com/compatible-api/v1",
            Cohere("https://dashscope.aliyuncs.com/compatible-api/v1", "reranks"),
        ),
    ],
)
def test_every_provider_has_its_dialect(
    provider: str, model: str, address: str, expected: object
) -> None:
    assert dialect(provider, model, address) == expected


@pytest.mark.parametrize("tail", ["", "/", "/rerank", "/rerank/"])
async def test_the_route_may_be_part_of_the_address(
    stub: StubReranker, opened: Open, tail: str
) -> None:
    await opened(base_url=stub.base_url + tail).rerank("fruit?", ["plum"])
    assert stub.requests[0].path == "/v1/rerank"


async def test_without_an_address_the_providers_own_is_asked(opened: Open) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        opened(base_url="")
    own = replace(SETTINGS, dialect=Cohere("http://127.0.0.1:1/v2"))
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1"):
        await opened(own, base_url="").rerank("fruit?", ["plum"])


async def test_R006_scores_are_put_back_by_index_and_a_missing_one_is_none(  # noqa: N802 - a case
    stub: StubReranker, opened: Open
) -> None:
    stub.shuffled = True
    stub.scores["fig"] = None
    said = await opened().rerank("fruit?", ["plum", "fig", "apple", "pear"])
    assert said == [0.1, None, 0.9, 0.5]


async def test_equal_texts_are_sent_once_and_all_get_the_score(
    stub: StubReranker, opened: Open
) -> None:
    assert await opened().rerank("fruit?", ["plum", "apple", "plum"]) == [0.1, 0.9, 0.1]
    assert stub.requests[0].texts == ["plum", "apple"]


async def test_blank_texts_are_not_sent_and_get_nothing(stub: StubReranker, opened: Open) -> None:
    asking = opened()
    assert await asking.rerank("fruit?", ["", "apple", " \n\x00"]) == [0.0, 0.9, 0.0]
    assert stub.requests[0].texts == ["apple"]
    assert await asking.rerank("fruit?", ["", " "]) == [0.0, 0.0]
    assert await asking.rerank("fruit?", []) == []
    assert len(stub.requests) == 1


async def test_a_blank_question_is_not_sent(stub: StubReranker, opened: Open) -> None:
    with pytest.raises(UnavailableError, match="blank question") as caught:
        await opened().rerank(" \t", ["apple"])
    assert caught.value.details["retryable"] is False
    assert stub.requests == []


async def test_R003_long_texts_and_questions_are_cut_and_judged(  # noqa: N802 - a case
    stub: StubReranker, opened: Open
) -> None:
    stub.longest = 100
    said = await opened().rerank("q" * 500, ["apple" + "x" * 60_000, "pear"])
    assert said == [0.9, 0.5]
    assert len(stub.requests[0].query) == 100


async def test_batches_are_bounded_in_size_and_at_once(stub: StubReranker, opened: Open) -> None:
    stub.judge = lambda _, text: int(text) / 100
    stub.always = Fault(delay=0.05)
    said = await opened(batch_size=7).rerank("fruit?", [str(n) for n in range(50)])
    assert said == [n / 100 for n in range(50)]
    assert sorted(len(asked.texts) for asked in stub.requests) == [1, 7, 7, 7, 7, 7, 7, 7]
    assert all(asked.top_n == len(asked.texts) for asked in stub.requests)
    assert stub.busiest == 2


async def test_a_batch_that_fails_for_good_costs_its_own_texts_only(
    stub: StubReranker, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    stub.faults.append(Fault(404, "no such shard"))
    with caplog.at_level(logging.WARNING):
        said = await opened(batch_size=2).rerank("fruit?", ["apple", "pear", "plum", "lime"])
    assert said in ([None, None, 0.1, 0.0], [0.9, 0.5, None, None])
    assert "2 of 4 texts were not judged" in caplog.text
    assert "no such shard" in caplog.text


async def test_when_all_batches_fail_the_first_reason_is_told(
    stub: StubReranker, opened: Open
) -> None:
    stub.always = Fault(500, "boom")
    with pytest.raises(UnavailableError, match="answered 500: boom") as caught:
        await opened(batch_size=1).rerank("fruit?", ["apple", "pear"])
    assert caught.value.details["retryable"] is True
    assert len(stub.requests) == 4  # each batch twice


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_not_tried_again_and_never_shown(
    stub: StubReranker, opened: Open, status: int
) -> None:
    stub.always = Fault(status, f"key {KEY} is not known")
    with pytest.raises(UnavailableError, match=f"answered {status}") as caught:
        await opened().rerank("fruit?", ["apple", "pear"])
    assert len(stub.requests) == 1
    assert KEY not in str(caught.value) + repr(caught.value.details)
    assert caught.value.details["retryable"] is False


async def test_access_and_secret_key_are_never_shown(stub: StubReranker, opened: Open) -> None:
    stub.always = Fault(401, "AKLT77 with SECRET88 is not known")
    signer = VolcengineSigner("AKLT77", "SECRET88")
    asking = opened(replace(SETTINGS, dialect=Volcengine(), signer=signer), stub.root_url)
    with pytest.raises(UnavailableError, match="is not known") as caught:
        await asking.rerank("fruit?", ["apple"])
    told = str(caught.value) + repr(caught.value.details) + repr(signer)
    assert "SECRET88" not in told
    assert "AKLT77" not in str(caught.value)


async def test_one_text_that_is_refused_costs_no_other_its_score(
    stub: StubReranker, opened: Open
) -> None:
    stub.longest = 20
    texts = [f"apple {n}" for n in range(31)] + ["poison" * 10]
    said = await opened().rerank("fruit?", texts)
    assert said == [0.9] * 31 + [None]
    assert len(stub.requests) == 11  # 1 + 2 log2(32)


async def test_a_batch_that_is_refused_whatever_is_in_it_is_given_up_soon(
    stub: StubReranker, opened: Open
) -> None:
    stub.always = Fault(400, "no such model")
    with pytest.raises(UnavailableError, match="no such model"):
        await opened().rerank("fruit?", [f"apple {n}" for n in range(32)])
    assert len(stub.requests) == 3


async def test_R009_logits_of_all_batches_are_mapped_on_one_scale(  # noqa: N802 - a case
    stub: StubReranker, opened: Open
) -> None:
    raw = {"a": 0.2, "b": -0.4, "c": 0.9, "d": -9.0}
    stub.judge = lambda _, text: raw[text]
    said = await opened(batch_size=1).rerank("fruit?", list(raw))
    assert said == pytest.approx([0.549834, 0.401312, 0.710950, 0.000123], abs=1e-6)


async def test_once_raw_scores_were_seen_later_calls_are_on_the_same_scale(
    stub: StubReranker, opened: Open
) -> None:
    asking = opened()
    stub.judge = lambda _, text: float(text)
    assert await asking.rerank("fruit?", ["0.5"]) == [0.5]
    await asking.rerank("fruit?", ["-3"])
    assert await asking.rerank("fruit?", ["0"]) == [0.5]


async def test_logits_keep_the_order_of_a_perfect_judge(stub: StubReranker, opened: Open) -> None:
    stub.logits = True
    said = await opened().rerank("fruit?", ["plum", "apple", "pear"])
    assert said == pytest.approx([0.1, 0.9, 0.5])


async def test_scores_may_come_as_text_and_rounded_past_one(
    stub: StubReranker, opened: Open
) -> None:
    stub.always = scoring("0.25", 1.0000001, -1e-9)
    assert await opened().rerank("fruit?", ["a", "b", "c"]) == [0.25, 1.0, 0.0]


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", '"nan"', "1e999"])
async def test_R036_a_score_that_is_no_finite_number_is_last(  # noqa: N802 - a case
    stub: StubReranker, opened: Open, number: str
) -> None:
    body = (
        '{"results": [{"index": 0, "relevance_score": %s}, {"index": 1, "relevance_score": 0.2}]}'
    )
    stub.always = Fault(raw=(body % number).encode())
    assert await opened().rerank("fruit?", ["a", "b"]) == [0.0, 0.2]


@pytest.mark.parametrize("said", [None, "high", True, [], {}, 10**400])
async def test_what_is_no_number_is_no_judgement(
    stub: StubReranker, opened: Open, said: object
) -> None:
    stub.always = scoring(said, 0.2)
    assert await opened().rerank("fruit?", ["a", "b"]) == [None, 0.2]


async def test_when_no_score_is_usable_nothing_was_judged(stub: StubReranker, opened: Open) -> None:
    asking = opened()
    for fault in (scoring(float("nan"), float("inf")), scoring(None, None), scoring()):
        stub.always = fault
        with pytest.raises(UnavailableError, match="no score"):
            await asking.rerank("fruit?", ["a", "b"])


async def test_wrong_and_repeated_indexes_disturb_nobody(stub: StubReranker, opened: Open) -> None:
    items: list[dict[str, object]] = [
        {"index": "1", "relevance_score": 0.4},
        {"index": 1, "relevance_score": 0.6},
        {"index": -1, "relevance_score": 0.7},
        {"index": 2, "relevance_score": 0.8},
        {"index": 0.5, "relevance_score": 0.8},
        {"index": None, "relevance_score": 0.8},
        {"index": True, "relevance_score": 0.8},
        {"relevance_score": 0.8},
    ]
    stub.always = spoiled(lambda _: items)
    assert await opened().rerank("fruit?", ["a", "b"]) == [None, 0.4]


@pytest.mark.parametrize("body", ["[]", "{}", "null", '"x"', '{"results": {}}', "<html>", "\xff"])
@pytest.mark.parametrize("spoken", [Cohere(), Tei(), DashScope(), Volcengine()])
async def test_a_nonsensical_answer_is_no_judgement(
    stub: StubReranker, opened: Open, body: str, spoken: Cohere
) -> None:
    stub.always = Fault(raw=body.encode("latin-1"))
    with pytest.raises(UnavailableError):
        await opened(replace(SETTINGS, dialect=spoken)).rerank("fruit?", ["a"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"code": 1000030, "message": "model is busy"}, "code 1000030: model is busy"),
        ({"code": 0, "data": {"scores": [0.1]}}, "1 scores for 2 texts"),
        ({"data": {}}, "without scores"),
    ],
)
async def test_volcengine_says_in_the_body_what_went_wrong(
    stub: StubReranker, opened: Open, answer: object, reason: str
) -> None:
    stub.always = Fault(raw=json.dumps(answer).encode())
    with pytest.raises(UnavailableError, match=reason):
        await opened(replace(SETTINGS, dialect=Volcengine())).rerank("fruit?", ["a", "b"])


async def test_a_key_that_the_body_of_an_answer_repeats_is_shown_to_nobody(
    stub: StubReranker, opened: Open
) -> None:
    signer = VolcengineSigner("AKLTkey1", "sksecret2")
    said = {"code": 1000001, "message": "AK AKLTkey1\nor SK sksecret2 is unknown"}
    stub.always = Fault(raw=json.dumps(said).encode())
    signed = replace(SETTINGS, dialect=Volcengine(), signer=signer)
    with pytest.raises(UnavailableError) as caught:
        await opened(signed).rerank("fruit?", ["a"])
    assert "code 1000001: AK *** or SK *** is unknown" in str(caught.value)
    assert "key1" not in repr(caught.value.details)


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_nested_without_end_is_no_json(
    stub: StubReranker, opened: Open, status: int
) -> None:
    stub.always = Fault(status=status, raw=b"[" * 200_000)
    with pytest.raises(UnavailableError):
        await opened().rerank("fruit?", ["apple"])


async def test_a_provider_that_hangs_is_given_up(stub: StubReranker, opened: Open) -> None:
    stub.always = Fault(delay=30)
    with pytest.raises(UnavailableError, match=r"no answer within 0\.2 s"):
        await opened(timeout=0.2).rerank("fruit?", ["apple"])


async def test_a_busy_provider_is_asked_again(stub: StubReranker, opened: Open) -> None:
    stub.faults.append(Fault(429, "slow down", {"Retry-After": "1"}))
    assert await opened().rerank("fruit?", ["apple"]) == [0.9]


async def test_cancelling_ends_the_batches(stub: StubReranker, opened: Open) -> None:
    stub.always = Fault(delay=30)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await opened(batch_size=1).rerank("fruit?", ["apple", "pear"])
