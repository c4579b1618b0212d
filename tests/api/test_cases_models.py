"""Models that are slow, silent or narrow: what a caller of the API notices of it.

The number in a name is that of the case in docs/compatibility.md. Nothing here is timed: a model that hangs
does so until it is told otherwise, and whoever waited for it would run into the limit of the test.
"""
# ruff: noqa: N802 - the numbers are written as there

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.rerank import RerankSettings
from contextfind.config.retrieval import RetrievalSettings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.wiring import House
from tests.api.caller import FIND, calling, result_of
from tests.api.living import HASH, Tenant
from tests.backends import storage_in
from tests.stubs.embedder import Fault, StubEmbedder, stub_embedder
from tests.stubs.loopback import Reply
from tests.stubs.reranker import stub_reranker

SEARCH = "/api/v1/search/search"
NEVER = Fault(delay=3_600.0)  # a stub that is closed stops waiting
PATIENT = 1_800.0  # seconds: whatever has so long to wait is not what ends a wait here
LIMIT = 60.0  # seconds for what takes one or two
BOOK = "viking://resources/book.md"


class Vault(StubEmbedder):
    """Texts about the vault lie close to each other, and far from all others."""

    def vector(self, text: str, dimension: int | None = None) -> list[float]:
        assert dimension is None
        near = "88-kilo" in text or "combination" in text
        return [1.0, 0.0] if near else [0.1, -0.995]


class Busy(StubEmbedder):
    """Refuses every third request: come again in a second."""

    refusals = 0

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        if len(self.requests) % 3 == 2:
            self.refusals += 1
            self.faults.append(Fault(429, "slow down", {"Retry-After": "1"}))
        return super().take(path, headers, content)


def asked(stub: StubEmbedder, timeout: float) -> EmbeddingSettings:
    """Return settings of an embedder behind HTTP that has so many seconds for an answer."""
    return EmbeddingSettings(
        provider="openai",
        model="m",
        api_base=stub.base_url,
        timeout=timeout,
        query_timeout=timeout,
        calibration_floor=0,
        calibration_span=1,
    )


def app_of(data: Path, **sections: Any) -> FastAPI:
    """Return an app with a real house that gives up no request by itself."""
    settings = Settings(storage=storage_in(data), **{"embedding": HASH, **sections})
    return create_app(lambda: House.open(settings), ServerRules(answer_seconds=PATIENT))


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[Tenant]:
    async with calling(app) as http:
        yield Tenant(http)


async def many(requests: list[Any], least: int) -> None:
    """Wait until a stub was asked so often."""
    async with asyncio.timeout(LIMIT):
        while len(requests) < least:  # noqa: ASYNC110 - the stub lives in threads of its own
            await asyncio.sleep(0.005)


async def back(ann: Tenant) -> float:
    """Find until the embedder takes part again; return after how many seconds it did."""
    clock = asyncio.get_running_loop().time
    began = clock()
    async with asyncio.timeout(LIMIT):
        for number in count():
            if notes(await ann.find(query=f"back again {number}", level=2)) == "":
                break
            await asyncio.sleep(0.05)
    return clock() - began


def notes(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.headers.get("x-notes", ""))


async def test_R003_a_reranker_gets_texts_of_bounded_length_and_judges_them_all(
    tmp_path: Path,
) -> None:
    with stub_reranker() as stub:
        stub.longest = 2_000  # characters; longer ones are refused with 400
        stub.judge = lambda _, text: 0.9 if "roll back" in text else None
        rerank = RerankSettings(provider="cohere", model="m", api_base=stub.base_url)
        async with served(app_of(tmp_path, rerank=rerank)) as ann:
            files = {f"viking://resources/{n}.md": f"roll back {n}" for n in range(5)}
            await ann.fill({**files, BOOK: "roll back the release, and so on; " * 1_800})
            answer = await ann.post(SEARCH, {"query": "roll back", "limit": 6, "level": 2})
            assert notes(answer) == ""  # else it would name how many got no score
            hits = result_of(answer)["resources"]
            assert {hit["uri"] for hit in hits} == {*files, BOOK}
            assert len({hit["score"] for hit in hits}) == 1


async def test_R067_the_last_line_of_a_long_file_is_found_by_its_meaning(tmp_path: Path) -> None:
    paragraph = "This paragraph speaks of something else entirely, at some length. " * 12
    chapters = [f"## Chapter {n}\n\n{paragraph}\n" for n in range(250)]
    text = "# Book\n\n" + "\n".join(chapters) + "\nThe vault code is 88-kilo.\n"
    assert len(text) > 200_000
    with closing(Vault(2, longest=8_192)) as stub:
        async with served(app_of(tmp_path, embedding=asked(stub, LIMIT))) as ann:
            await ann.write("viking://resources/other/a.md", paragraph)
            await ann.write(BOOK, text)
            await ann.settled()
            status = result_of(await ann.get("system/status"))
            assert status["backlog"] == {"texts": 0, "directories": 0}
            assert (await ann.uris(query="vault code 88-kilo", level=2))[0] == BOOK
            by_meaning = await ann.hits(query="combination", level=2)  # no word of it is there
            assert by_meaning[0]["uri"] == BOOK
            assert by_meaning[0]["score"] > by_meaning[1]["score"]
            assert max(len(one) for sent in stub.requests for one in sent.texts) <= 8_192


async def test_R083_a_search_whose_reranker_hangs_holds_up_no_health_check(tmp_path: Path) -> None:
    with stub_reranker() as stub:
        rerank = RerankSettings(
            provider="cohere", model="m", api_base=stub.base_url, timeout=PATIENT
        )
        patient = RetrievalSettings(rerank_seconds=PATIENT)
        async with served(app_of(tmp_path, rerank=rerank, retrieval=patient)) as ann:
            await ann.fill({f"viking://resources/{n}.md": f"roll back {n}" for n in range(3)})
            stub.always = NEVER
            searching = asyncio.create_task(ann.post(SEARCH, {"query": "roll back"}))
            await many(stub.requests, 1)
            async with asyncio.timeout(LIMIT):
                for _ in range(20):
                    assert (await ann.http.get("/health")).json()["healthy"] is True
                assert len(await ann.hits(query="roll back", level=2)) == 3
            assert not searching.done()
            stub.always = None
            stub.closing.set()  # what hangs is answered
            async with asyncio.timeout(LIMIT):
                assert notes(await searching) == ""


async def test_R086_an_embedder_that_never_answers_costs_a_find_its_time_and_no_later_one(
    tmp_path: Path,
) -> None:
    with stub_embedder() as stub:
        async with served(app_of(tmp_path, embedding=asked(stub, 0.2))) as ann:
            await ann.write("viking://resources/a.md", "roll back the release")
            await ann.settled()
            stub.always = NEVER
            async with asyncio.timeout(LIMIT):
                answer = await ann.find(query="roll back", level=2)
            assert "searched%20by%20words%20only" in notes(answer)
            assert "no%20answer%20within%200.2%20s" in notes(answer)
            assert result_of(answer)["total"] == 1
            stub.always = None
            await back(ann)


async def test_a_restart_without_the_embedder_answers_by_words_and_owes_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with stub_embedder() as stub:
        embedding = asked(stub, LIMIT).model_copy(update={"api_key": "sk-secret"})
        async with served(app_of(tmp_path, embedding=embedding)) as ann:
            await ann.write("viking://resources/a.md", "roll back the release")
            await ann.settled()
        stub.always = Fault(401, "incorrect key sk-secret")
        async with served(app_of(tmp_path, embedding=embedding)) as ann:
            assert "words alone are searched" in caplog.text
            told = unquote(notes(await ann.find(query="roll back")))
            assert told.startswith("searched by words only: ")
            written = await ann.write("viking://resources/b.md", "another release")
            queue = written["queue_status"]["Embedding"]
            assert queue["pending"] > 0
            assert "answered 401: incorrect key ***" in queue["errors"][0]
            assert (await ann.uris(query="another", level=2))[0] == "viking://resources/b.md"
            ready = await ann.http.get("/ready")
            assert (ready.status_code, ready.json()["status"]) == (200, "ready")
            assert "answered 401" in ready.json()["checks"]["embedder"]
            assert "sk-secret" not in caplog.text + ready.text + told + str(written)


async def test_R078_a_provider_that_is_busy_every_third_time_gets_every_file_in_the_end(
    tmp_path: Path,
) -> None:
    with closing(Busy(8)) as stub:
        async with served(app_of(tmp_path, embedding=asked(stub, LIMIT))) as ann:
            files = {f"viking://resources/{n}.md": f"number {n} of thirty" for n in range(30)}
            await ann.fill(files)
            status = result_of(await ann.get("system/status"))
            assert status["backlog"] == {"texts": 0, "directories": 0}
            found = set(await ann.uris(query="thirty", level=2, limit=100))
            assert found == set(files)
            assert stub.refusals > 0


async def test_R089_finds_that_nobody_waits_for_any_more_keep_no_connection_of_the_embedder(
    tmp_path: Path,
) -> None:
    with stub_embedder() as stub:
        embedding = asked(stub, PATIENT)
        app = app_of(tmp_path, embedding=embedding)
        async with served(app) as ann:
            await ann.write("viking://resources/a.md", "roll back the release")
            await ann.settled()
            stub.always = NEVER
            before, gone = len(stub.requests), asyncio.Event()
            finds = [asyncio.create_task(hung_up(app, f"release {n}", gone)) for n in range(30)]
            await many(stub.requests, before + embedding.concurrency)  # all its connections hang
            assert not any(one.done() for one in finds)
            gone.set()
            stub.always = None
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*finds)
            assert notes(await ann.find(query="roll it back", level=2)) == ""


async def hung_up(app: FastAPI, query: str, gone: asyncio.Event) -> None:
    """Send a find; the connection is dropped when `gone` is set."""
    body = json.dumps({"query": query}).encode()
    sent: list[Message] = [{"type": "http.request", "body": body}]

    async def receive() -> Message:
        if sent:
            return sent.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        assert message.get("status") != 200

    scope = {
        "type": "http",
        "method": "POST",
        "path": FIND,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
