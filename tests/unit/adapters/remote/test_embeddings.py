import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.embeddings import EmbeddingSettings, OpenAIEmbedder
from contextfind.adapters.remote.endpoint import LONGEST_RETRY_AFTER, EndpointSettings, Patience
from contextfind.adapters.remote.failures import ProviderError
from contextfind.domain.errors import ConfigError, FailedPreconditionError
from contextfind.domain.images import Image
from tests.stubs.embedder import Data, Fault, StubEmbedder, stub_embedder

KEY = "sk-secret-1234"
SETTINGS = EmbeddingSettings(
    model="m", recipe="recipe1", batch_size=32, max_characters=8_000, dimension=8
)
PLACES = 4


class Sleeper:
    """Waits no time and remembers how long it was to wait."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def stub() -> Iterator[StubEmbedder]:
    with stub_embedder() as stub:
        yield stub


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


class Opener:
    """Makes embedders for one stub and closes them all."""

    def __init__(self, stub: StubEmbedder, sleeper: Sleeper) -> None:
        self._endpoint = EndpointSettings(stub.base_url, 5, PLACES, KEY)
        self._patience = Patience(sleeper, lambda: 1.0)
        self._made: list[OpenAIEmbedder] = []

    def __call__(
        self,
        settings: EmbeddingSettings = SETTINGS,
        breaker: Breaker | None = None,
        timeout: float = 5,
    ) -> OpenAIEmbedder:
        endpoint = replace(self._endpoint, timeout=timeout)
        self._made.append(OpenAIEmbedder(settings, endpoint, breaker, self._patience))
        return self._made[-1]

    async def close(self) -> None:
        for embedder in self._made:
            await embedder.aclose()


@pytest.fixture
async def embedder_of(stub: StubEmbedder, sleeper: Sleeper) -> AsyncIterator[Opener]:
    opener = Opener(stub, sleeper)
    yield opener
    await opener.close()


def unit(numbers: Sequence[float]) -> np.ndarray:
    row = np.array(numbers)
    return row / np.linalg.norm(row)


async def test_rows_come_in_the_order_of_the_texts_over_all_batches(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    texts = [f"text {at}" for at in range(10)]
    stub.always = Fault(spoil=lambda data: data[::-1])
    rows = await embedder_of(replace(SETTINGS, batch_size=4)).embed(texts, "document")
    assert np.allclose(rows, [unit(stub.vector(text)) for text in texts], atol=1e-6)
    assert sorted(len(request.texts) for request in stub.requests) == [2, 4, 4]


async def test_a_request_says_model_dimensions_and_key(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    await embedder_of().embed(["x"], "document")
    (request,) = stub.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "m", "input": ["x"], "dimensions": 8}


async def test_queries_and_documents_are_told_apart(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    settings = replace(
        SETTINGS,
        query_prefix="query: ",
        document_prefix="passage: ",
        query_fields={"input_type": "query"},
        document_fields={"input_type": "document"},
    )
    embedder = embedder_of(settings)
    await embedder.embed(["x"], "query")
    await embedder.embed(["x"], "document")
    seen = [(request.texts, request.body["input_type"]) for request in stub.requests]
    assert seen == [(["query: x"], "query"), (["passage: x"], "document")]
    assert embedder.fingerprint.startswith("openai:m:8:recipe1:")
    assert embedder.fingerprint != embedder_of().fingerprint == "openai:m:8:recipe1"


async def test_longer_vectors_are_cut_and_scaled_anew(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.dimensions = None
    (row,) = await embedder_of(replace(SETTINGS, dimension=3)).embed(["x"], "document")
    assert np.allclose(row, unit(stub.vector("x")[:3]), atol=1e-6)


async def test_a_model_that_refuses_dimensions_is_asked_without(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.dimensions = False
    embedder = embedder_of(replace(SETTINGS, dimension=3))
    assert (await embedder.embed(["x"], "document")).shape == (1, 3)
    await embedder.embed(["y"], "document")
    assert ["dimensions" in request.body for request in stub.requests] == [True, False, False]


async def test_the_dimension_is_learnt_when_not_configured(embedder_of: Opener) -> None:
    embedder = embedder_of(replace(SETTINGS, dimension=None))
    with pytest.raises(FailedPreconditionError):
        _ = embedder.dimension
    await embedder.open()
    assert embedder.dimension == 8
    assert embedder.fingerprint == "openai:m:8:recipe1"


def spoilt(numbers: object) -> Fault:
    def spoil(data: Data) -> Data:
        data[0]["embedding"] = numbers
        return data

    return Fault(spoil=spoil)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (spoilt([0.0] * 8), "zeros"),
        (spoilt([float("nan")] * 8), "not finite"),
        (spoilt([float("inf")] + [0.0] * 7), "not finite"),
        (spoilt([1.0] * 5), "equally long"),
        (spoilt("AAAA"), "numbers"),
        (spoilt(None), "numbers"),
        (Fault(spoil=lambda data: data[:1]), "1 vectors for 2 texts"),
        (Fault(spoil=lambda data: [data[0], data[0]]), "index"),
        (Fault(raw=b'{"object": "list"}'), "data"),
        (Fault(raw=b"[]"), "data"),
        (Fault(raw=b'{"data": [{"embedding": [1' + b"0" * 400 + b"]}]}"), "1 vectors"),
        (spoilt([10**400] * 8), "no equally long lists of numbers"),
        (spoilt([True, None] * 4), "not finite"),
    ],
)
async def test_a_vector_that_cannot_be_used_is_refused(
    fault: Fault, reason: str, stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = fault
    with pytest.raises(ProviderError, match=reason) as caught:
        await embedder_of().embed(["x", "y"], "document")
    assert caught.value.details["retryable"] is False
    assert len(stub.requests) == 1


async def test_vectors_shorter_than_configured_are_refused(embedder_of: Opener) -> None:
    with pytest.raises(ProviderError, match="8 numbers instead of 16"):
        await embedder_of(replace(SETTINGS, dimension=16)).embed(["x"], "document")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_what_may_pass_is_tried_again(
    status: int, stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.faults += [Fault(status), Fault(status)]
    assert (await embedder_of().embed(["x"], "document")).shape == (1, 8)
    assert sleeper.waits == [0.5, 1.0]


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
async def test_what_cannot_pass_is_not(
    status: int, stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.always = Fault(status, f"bad key {KEY} for\nyou")
    with pytest.raises(ProviderError) as caught:
        await embedder_of().embed(["x"], "document")
    error = caught.value
    assert sleeper.waits == []
    assert error.details["retryable"] is False
    assert error.details["status"] == status
    assert str(error) == f"{error.details['provider']} answered {status}: bad key *** for you"
    assert KEY not in repr(error.details)


async def test_a_provider_that_stays_down_is_given_up(
    stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.always = Fault(500, "out of memory")
    with pytest.raises(ProviderError, match="500: out of memory") as caught:
        await embedder_of(breaker=Breaker(failures=100)).embed(["x"], "document")
    assert caught.value.details["retryable"] is True
    assert sleeper.waits == [0.5, 1.0, 2.0, 4.0]


async def test_a_query_is_given_up_sooner(
    stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.always = Fault(503)
    with pytest.raises(ProviderError):
        await embedder_of().embed(["x"], "query")
    assert sleeper.waits == [0.5]


@pytest.mark.parametrize(
    ("asked", "waited"), [("7", 7.0), ("99999", LONGEST_RETRY_AFTER), ("nan", 0.5), ("-1", 0.5)]
)
async def test_retry_after_is_honoured_within_bounds(
    asked: str, waited: float, stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.faults.append(Fault(429, headers={"Retry-After": asked}))
    await embedder_of().embed(["x"], "document")
    assert sleeper.waits == [waited]


async def test_html_instead_of_json_is_a_passing_fault(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.faults.append(Fault(raw=b"<html>"))
    assert (await embedder_of().embed(["x"], "document")).shape == (1, 8)


async def test_a_hanging_provider_costs_the_timeout(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(delay=30)
    with pytest.raises(ProviderError, match=r"no answer within 0\.1 s"):
        await embedder_of(timeout=0.1).embed(["x"], "query")


async def test_a_server_that_is_not_there_is_unavailable(sleeper: Sleeper) -> None:
    with stub_embedder() as gone:
        address = gone.base_url
    embedder = OpenAIEmbedder(
        SETTINGS, EndpointSettings(address, 5, PLACES), None, Patience(sleeper)
    )
    with pytest.raises(ProviderError) as caught:
        await embedder.embed(["x"], "document")
    assert caught.value.details["retryable"] is True
    await embedder.aclose()


async def test_the_breaker_opens_and_closes_again(stub: StubEmbedder, embedder_of: Opener) -> None:
    clock = [0.0]
    embedder = embedder_of(breaker=Breaker(failures=3, rest_seconds=5, now=lambda: clock[0]))
    stub.always = Fault(500)
    for _ in range(4):
        with pytest.raises(ProviderError):
            await embedder.embed(["x"], "query")
    assert len(stub.requests) == 3
    assert embedder.standings[0].state == "open"
    stub.always = None
    with pytest.raises(ProviderError, match="asked again") as caught:
        await embedder.embed(["x"], "query")
    assert caught.value.details["retryable"] is True
    clock[0] += 5
    await embedder.embed(["x"], "query")
    assert embedder.standings[0].state == "closed"


async def test_refusals_do_not_open_the_breaker(stub: StubEmbedder, embedder_of: Opener) -> None:
    embedder = embedder_of(breaker=Breaker(failures=2))
    for status in (400, 401, 429, 404):
        stub.always = Fault(status)
        with pytest.raises(ProviderError):
            await embedder.embed(["x"], "query")
    assert embedder.standings[0].state == "closed"


async def test_only_the_text_that_is_too_long_is_cut() -> None:
    with stub_embedder(longest=100) as short:
        opener = Opener(short, Sleeper())
        texts = ["a" * 50, "b" * 350, "c" * 99]
        rows = await opener().embed(texts, "document")
        expected = ["a" * 50, "b" * 87, "c" * 99]
        assert np.allclose(rows, [unit(short.vector(text)) for text in expected], atol=1e-6)
        await opener.close()


async def test_a_text_that_is_always_too_long_ends_in_an_error(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(400, "input is too long")
    with pytest.raises(ProviderError, match="too long"):
        await embedder_of().embed(["x" * 1_000], "document")
    assert len(stub.requests) < 10


async def test_texts_are_cut_at_max_characters(stub: StubEmbedder, embedder_of: Opener) -> None:
    await embedder_of(replace(SETTINGS, max_characters=10)).embed(["x" * 50], "document")
    assert stub.requests[0].texts == ["x" * 10]


async def test_a_query_asked_again_is_remembered(stub: StubEmbedder, embedder_of: Opener) -> None:
    embedder = embedder_of()
    first = await embedder.embed(["a", "b", "a"], "query")
    assert stub.requests[0].texts == ["a", "b"]
    assert np.array_equal(await embedder.embed(["b"], "query"), first[1:2])
    assert len(stub.requests) == 1


async def test_concurrency_is_bounded(stub: StubEmbedder, embedder_of: Opener) -> None:
    stub.always = Fault(delay=0.02)
    await embedder_of(replace(SETTINGS, batch_size=1)).embed(
        [str(at) for at in range(20)], "document"
    )
    assert 2 <= stub.busiest <= PLACES


async def test_cancelling_leaves_nothing_behind(stub: StubEmbedder, embedder_of: Opener) -> None:
    stub.faults.append(Fault(delay=30))
    embedder = embedder_of(timeout=60)
    call = asyncio.create_task(embedder.embed(["x"], "document"))
    while not stub.requests:  # noqa: ASYNC110 - the stub has no bell
        await asyncio.sleep(0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await embedder.embed(["x"], "document")).shape == (1, 8)
    assert embedder.standings[0].state == "closed"


async def test_a_closed_embedder_is_unavailable(embedder_of: Opener) -> None:
    embedder = embedder_of()
    await embedder.aclose()
    with pytest.raises(ProviderError, match="closed"):
        await embedder.embed(["x"], "document")


@pytest.mark.parametrize("base_url", ["localhost:11434/v1", "", "ftp://x/v1", "http://"])
def test_an_address_that_is_none_is_refused_at_start(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        OpenAIEmbedder(SETTINGS, EndpointSettings(base_url, 5, PLACES))


def test_a_key_with_a_line_break_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="API key") as caught:
        OpenAIEmbedder(SETTINGS, EndpointSettings("http://x/v1", 5, PLACES, "sk-secret\n"))
    assert "secret" not in str(caught.value)


def test_the_key_is_not_shown_with_the_settings() -> None:
    assert KEY not in repr(EndpointSettings("http://x", 5, PLACES, KEY))


async def test_pictures_are_sent_as_data_among_the_inputs_and_come_back_in_order(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    embedder = embedder_of(
        replace(SETTINGS, accepts_images=True, query_fields={"task": "retrieval.query"})
    )
    assert embedder.accepts_images
    images = [Image("image/png", b"\x89PNG"), Image("image/gif", b"GIF89a")]
    rows = await embedder.embed_images(images)
    sent = ["data:image/png;base64,iVBORw==", "data:image/gif;base64,R0lGODlh"]
    bodies = [{"image": one} for one in sent]
    assert [request.body for request in stub.requests] == [
        {"model": "m", "input": [body], "dimensions": 8, "task": "retrieval.query"}
        for body in bodies
    ]
    assert np.allclose(rows, [unit(stub.vector(json.dumps(body))) for body in bodies], atol=1e-6)
    assert (await embedder.embed_images([])).shape == (0, 8)


async def test_a_refused_picture_is_an_error_and_never_a_vector(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(status=400, reason="this model takes text only")
    with pytest.raises(ProviderError, match="text only"):
        await embedder_of(replace(SETTINGS, accepts_images=True)).embed_images(
            [Image("image/png", b"x")]
        )


async def test_a_query_is_given_up_within_its_own_time_and_so_are_those_that_wait_for_a_place(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(delay=60)
    embedder = embedder_of(replace(SETTINGS, query_seconds=0.3), timeout=60)
    clock = asyncio.get_running_loop().time
    began = clock()
    calls = [embedder.embed([str(at)], "query") for at in range(32)]
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(end, ProviderError) for end in ends)
    assert len(stub.requests) == PLACES
    assert clock() - began < 10  # 16 places of .3 s one after the other, were each waited for
    with pytest.raises(ProviderError, match=r"is down \(no answer within 0\.3 s\)"):
        await embedder.embed(["at once"], "query")
    assert len(stub.requests) == PLACES
    documents = embedder.standings[1]
    assert (documents.name, documents.state, documents.calls) == ("model_documents", "closed", 0)


async def test_a_query_that_finds_out_whether_a_model_is_back_waits_half_a_second_at_most(
    stub: StubEmbedder, sleeper: Sleeper
) -> None:
    settings = EndpointSettings(stub.base_url, 60, concurrency=1)
    hasty = Breaker(failures=1, rest_seconds=0.05)
    embedder = OpenAIEmbedder(SETTINGS, settings, hasty, Patience(sleeper))
    clock = asyncio.get_running_loop().time
    stub.faults += [Fault(500), Fault(delay=2)]
    with pytest.raises(ProviderError):
        await embedder.embed(["opens it"], "query")
    await asyncio.sleep(0.06)
    began = clock()
    with pytest.raises(ProviderError, match="is down"):
        await embedder.embed(["probe"], "query")
    assert 0.4 < clock() - began < 2.9
    await asyncio.sleep(0.06)
    with pytest.raises(ProviderError, match="is down"):  # at once: the only place is taken
        await embedder.embed(["other"], "query")
    assert len(stub.requests) == 2
    async with asyncio.timeout(30):
        while embedder.standings[0].state != "closed":  # noqa: ASYNC110 - the probe goes on
            await asyncio.sleep(0.01)
    assert (await embedder.embed(["again"], "query")).shape == (1, 8)
    stub.faults += [Fault(500), Fault(delay=60)]
    with pytest.raises(ProviderError):
        await embedder.embed(["opens it again"], "query")
    await asyncio.sleep(0.06)
    with pytest.raises(ProviderError, match="is down"):
        await embedder.embed(["probe again"], "query")
    await embedder.aclose()  # and waits for no probe


UNLEARNT = replace(SETTINGS, dimension=None)


@pytest.mark.parametrize("fault", [Fault(503), Fault(401, f"bad key {KEY}")])
async def test_with_vectors_that_it_made_a_model_that_fails_is_opened(
    fault: Fault, stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = fault
    embedder = embedder_of(replace(UNLEARNT, model="nomic:v1.5"))
    assert f"answered {fault.status}" in await embedder.open("openai:nomic:v1.5:8:recipe1")
    assert embedder.dimension == 8
    assert embedder.fingerprint == "openai:nomic:v1.5:8:recipe1"
    stub.always = None
    assert (await embedder.embed(["x"], "query")).shape == (1, 8)


@pytest.mark.parametrize(
    "known", [None, "openai:other:8:recipe1", "openai:m:8:recipe2", "openai:m::recipe1", ""]
)
async def test_without_them_its_dimension_has_to_be_learnt(
    known: str | None, stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(503)
    with pytest.raises(ProviderError, match="503"):
        await embedder_of(UNLEARNT).open(known)


async def test_with_a_configured_dimension_nothing_is_asked_at_the_start(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    stub.always = Fault(404, "the model 'm' does not exist")
    assert await embedder_of().open() == ""
    assert stub.requests == []


async def test_another_model_behind_the_same_name_is_noticed(
    stub: StubEmbedder, embedder_of: Opener
) -> None:
    embedder = embedder_of(UNLEARNT)
    await embedder.open()
    stub.dimension = 12
    with pytest.raises(ProviderError, match="12 numbers instead of 8"):
        await embedder.embed(["x"], "document")


@pytest.mark.parametrize("size", [1e300, 1e-300])
async def test_the_size_of_numbers_does_not_matter(
    size: float, stub: StubEmbedder, embedder_of: Opener
) -> None:
    def resized(data: Data) -> Data:
        return [{**one, "embedding": [size * value for value in vector_of(one)]} for one in data]

    stub.faults.append(Fault(spoil=resized))
    (row,) = await embedder_of().embed(["x"], "document")
    assert np.allclose(row, unit(stub.vector("x")), atol=1e-6)


def vector_of(item: dict[str, object]) -> list[float]:
    vector = item["embedding"]
    assert isinstance(vector, list)
    return vector


async def test_a_query_does_not_wait_for_a_provider_that_asks_for_more_time_than_there_is(
    stub: StubEmbedder, embedder_of: Opener, sleeper: Sleeper
) -> None:
    stub.always = Fault(429, "slow down", {"Retry-After": "20"})
    embedder = embedder_of(replace(SETTINGS, query_seconds=4))
    with pytest.raises(ProviderError, match="429: slow down"):
        await embedder.embed(["x"], "query")
    assert sleeper.waits == []
    assert embedder.standings[0].state == "closed"  # it is busy, not down
