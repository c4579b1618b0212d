"""Everything that a provider may do wrong, at every door: one clear error within the time, and no key in it."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.chat import ChatSettings, OpenAIChat
from contextfind.adapters.remote.embeddings import EmbeddingSettings, OpenAIEmbedder
from contextfind.adapters.remote.endpoint import EndpointSettings, Patience
from contextfind.adapters.remote.failures import ProviderError
from contextfind.adapters.remote.rerank import HttpReranker, RerankSettings
from contextfind.adapters.remote.rerank_dialects import Cohere
from contextfind.ports import Message, ModelStanding
from tests.stubs.chat import StubChat, Turn, stub_chat
from tests.stubs.embedder import Fault, StubEmbedder, stub_embedder
from tests.stubs.reranker import StubReranker, stub_reranker

KEY = "sk-secret-1234"
SECONDS = 10.0  # of a request
SHORT = 0.2  # of one to a provider that hangs
Stub = StubChat | StubEmbedder | StubReranker
Model = OpenAIChat | OpenAIEmbedder | HttpReranker


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0 * seconds)


def never_open() -> Breaker:
    return Breaker(failures=100, hangs=100)


PATIENCE = Patience(no_wait, lambda: 1.0)


@dataclass
class Door:
    """A model, the stub behind it, and a call of it."""

    stub: Stub
    model: Model
    call: Callable[[], Awaitable[object]]

    def go_wrong(self, fault: Fault | None) -> None:
        if not isinstance(self.stub, StubChat):
            self.stub.always = fault
        elif fault is None:
            self.stub.always = Turn()
        else:
            self.stub.always = Turn(
                status=fault.status,
                reason=fault.reason,
                headers=fault.headers,
                raw=fault.raw,
                delay=fault.delay,
                cut=fault.cut,
            )

    @property
    def standing(self) -> ModelStanding:
        return max(self.model.standings, key=lambda one: one.calls)


def embedder_door(stack: ExitStack, endpoint: EndpointSettings, purpose: str) -> Door:
    stub = stack.enter_context(stub_embedder())
    settings = EmbeddingSettings("m", "r", batch_size=32, max_characters=99, dimension=8)
    model = OpenAIEmbedder(
        settings, replace(endpoint, base_url=stub.base_url), never_open(), PATIENCE
    )
    if purpose == "query":
        return Door(stub, model, lambda: model.embed([f"q{len(stub.requests)}"], "query"))
    return Door(stub, model, lambda: model.embed(["a", "b"], "document"))


def chat_door(stack: ExitStack, endpoint: EndpointSettings) -> Door:
    stub = stack.enter_context(stub_chat())
    model = OpenAIChat(
        ChatSettings("m"),
        replace(endpoint, base_url=stub.base_url),
        never_open(),
        PATIENCE,
    )
    return Door(stub, model, lambda: model.complete([Message("user", "hello")], 9))


def reranker_door(stack: ExitStack, endpoint: EndpointSettings) -> Door:
    stub = stack.enter_context(stub_reranker())
    settings = RerankSettings("m", Cohere(), batch_size=32, max_characters=99)
    model = HttpReranker(
        settings, replace(endpoint, base_url=stub.base_url), never_open(), PATIENCE
    )
    return Door(stub, model, lambda: model.rerank("apple", ["apple", "pear"]))


@asynccontextmanager
async def opened(kind: str, seconds: float) -> AsyncIterator[Door]:
    endpoint = EndpointSettings("", seconds, concurrency=2, api_key=KEY, name="model")
    with ExitStack() as stack:
        if kind == "chat":
            door = chat_door(stack, endpoint)
        elif kind == "reranker":
            door = reranker_door(stack, endpoint)
        else:
            door = embedder_door(stack, endpoint, kind)
        yield door
        await door.model.aclose()


PAGE = b"<!DOCTYPE html><title>502 Bad Gateway</title>" + b"x" * 9_000
HUGE = b'{"data": "' + b"x" * (32 * 256 * 1024) + b'"}'
ZIPPED = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize("kind", ["query", "document", "chat", "reranker"])
@pytest.mark.parametrize(
    ("fault", "told", "lasting"),
    [
        pytest.param(Fault(400, f"no {KEY} here"), "answered 400: no *** here", True, id="400"),
        pytest.param(Fault(401, f"bad {KEY}"), "answered 401: bad ***", True, id="401"),
        pytest.param(Fault(403, "not yours"), "answered 403: not yours", True, id="403"),
        pytest.param(Fault(404, "no such model"), "answered 404: no such model", True, id="404"),
        pytest.param(Fault(408), "answered 408", False, id="408"),
        pytest.param(
            Fault(429, headers={"Retry-After": "3600"}), "answered 429", False, id="429-for-long"
        ),
        pytest.param(Fault(500, "out of memory"), "500: out of memory", False, id="500"),
        pytest.param(Fault(502, raw=PAGE), "502: <!DOCTYPE html>", False, id="502-page"),
        pytest.param(Fault(raw=PAGE), "is no JSON", False, id="page-instead-of-json"),
        pytest.param(Fault(raw=b""), "the answer is empty", False, id="nothing"),
        pytest.param(Fault(raw=b'{"data": [{"embed'), "is no JSON", False, id="half-a-json"),
        pytest.param(Fault(raw=b"[" * 100_000), "is no JSON", False, id="nested-without-end"),
        pytest.param(Fault(raw=b"[1, 2]"), "gave an answer without", True, id="other-json"),
        pytest.param(Fault(cut=0), "", False, id="reset"),
        pytest.param(Fault(cut=10), "", False, id="reset-midway"),
        pytest.param(Fault(raw=HUGE), "the answer is longer than", True, id="huge"),
        pytest.param(
            Fault(raw=gzip.compress(HUGE), headers=ZIPPED), "is longer than", True, id="huge-zipped"
        ),
        pytest.param(Fault(raw=b"no gzip", headers=ZIPPED), "", False, id="gzip-that-is-none"),
        pytest.param(Fault(delay=600), "no answer within 0.2 s", False, id="hang"),
    ],
)
async def test_a_fault_is_one_clear_error_and_is_over_with_it(
    kind: str, fault: Fault, told: str, *, lasting: bool
) -> None:
    async with opened(kind, SHORT if fault.delay else SECONDS) as door:
        door.go_wrong(fault)
        with pytest.raises(ProviderError) as caught:
            await door.call()
        error = caught.value
        assert told in str(error)
        assert "\n" not in str(error)
        assert len(str(error)) < 400
        assert KEY not in f"{error} {error.details} {door.standing}"
        assert error.details["retryable"] is not lasting
        if lasting:  # and not asked again, but a reranker, once for either half of its texts
            asked = 3 if fault.status == 400 and kind == "reranker" else 1
            assert len(door.stub.requests) == asked
        assert door.standing.failures > 0
        assert door.standing.fault
        door.go_wrong(None)
        await door.call()
        assert (door.standing.fault, door.standing.line) == ("", "ok")
