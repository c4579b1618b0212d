"""What is brought from an older server: no bytes, no pages, another user's name, a file that is lost."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from contextfind.cli.migration import HOME, Migration
from contextfind.client import AsyncClient, UnavailableError
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.wiring import House
from tests.backends import storage_in

MEMORIES = "viking://user/ann/memories"
FILES = {
    f"{MEMORIES}/preferences/tea.md": "I drink green tea in the morning.\n",
    f"{MEMORIES}/lost.md": None,
    f"{MEMORIES}/.overview.md": "What the other server made of it.\n",
    f"{MEMORIES}/a\x07b.md": "A name that cannot be stored here.\n",
}


class OldServer:
    """Answers as an older server does; it is down after so many reads.

    tags: of every file. damaged: files whose bytes the disk does not give back.
    """

    def __init__(self, reads: int = 100, tags: tuple[str, ...] = (), damaged: str = "") -> None:
        self.reads = reads
        self.tags = tags
        self.damaged = damaged
        self.asked: list[str] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        uri, path = request.url.params.get("uri", ""), request.url.path
        if path == "/api/v1/system/status":
            return _ok({"initialized": True, "user": "ann"})
        if path == "/api/v1/fs/ls":
            children = {
                "/".join(one.split("/")[: uri.count("/") + 2])
                for one in FILES
                if one.startswith(f"{uri}/")
            }
            entries = [
                {"uri": one, "isDir": one not in FILES, "size": 5, "tags": self.tags}
                for one in sorted(children)
            ]
            return _ok(entries) if children else _missing()
        if uri == self.damaged:
            return _failed(503, "UNAVAILABLE", "its bytes are damaged", {"retryable": False})
        if path == "/api/v1/content/read" and FILES.get(uri):
            self.reads -= 1
            self.asked.append(uri)
            return _ok(FILES[uri]) if self.reads >= 0 else httpx.Response(503)
        return _missing()


def _ok(result: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "ok", "result": result})


def _missing() -> httpx.Response:
    return _failed(404, "NOT_FOUND", "nothing there", {})


def _failed(status: int, code: str, message: str, details: dict[str, Any]) -> httpx.Response:
    error = {"code": code, "message": message, "details": details}
    return httpx.Response(status, json={"status": "error", "result": None, "error": error})


def source_of(server: OldServer) -> AsyncClient:
    transport = httpx.MockTransport(server.answer)
    return AsyncClient("http://old.example", transport=transport, retries=0)


@pytest.fixture
async def target(tmp_path) -> AsyncIterator[AsyncClient]:
    settings = Settings(
        storage=storage_in(tmp_path / "data"),
        embedding=EmbeddingSettings(provider="hash"),
    )
    app = create_app(lambda: House.open(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(app)) as client,
    ):
        yield client


async def test_what_can_be_brought_is_and_the_rest_is_named(target: AsyncClient) -> None:
    told: list[tuple[int, int]] = []
    server = OldServer()
    async with source_of(server) as source:
        brought = await Migration(source, target).bring(
            [f"{HOME}/memories", "viking://resources"], lambda *counts: told.append(counts)
        )
    assert brought.written == 1
    assert set(brought.failed) == {f"{MEMORIES}/lost.md", f"{MEMORIES}/a\x07b.md"}
    assert told == [(0, 3), (3, 3)]
    text = await target.read("viking://user/default/memories/preferences/tea.md")
    assert text == FILES[f"{MEMORIES}/preferences/tea.md"]
    assert len(server.asked) == len(set(server.asked))  # once, though the batch was refused
    assert not brought.whole


async def test_a_damaged_file_is_named_and_the_others_are_brought(target: AsyncClient) -> None:
    damaged = f"{MEMORIES}/a\x07b.md"
    async with source_of(OldServer(damaged=damaged)) as source:
        brought = await Migration(source, target).bring([f"{HOME}/memories"], lambda *_: None)
    assert brought.written == 1
    assert brought.failed[damaged] == "its bytes are damaged"


async def test_files_whose_tags_are_refused_are_brought_and_named(target: AsyncClient) -> None:
    told: list[tuple[int, int]] = []
    tea = f"{MEMORIES}/preferences/tea.md"
    async with source_of(OldServer(tags=("no pair",))) as source:
        brought = await Migration(source, target).bring(
            [f"{HOME}/memories/preferences"], lambda *counts: told.append(counts)
        )
    assert (brought.written, brought.failed, brought.whole) == (1, {}, False)
    assert "no pair" in brought.untagged[tea]
    assert told == [(0, 1), (1, 1)]
    assert await target.read("viking://user/default/memories/preferences/tea.md") == FILES[tea]


async def test_a_server_that_goes_away_ends_it(target: AsyncClient) -> None:
    async with source_of(OldServer(reads=0)) as source:
        with pytest.raises(UnavailableError):
            await Migration(source, target).bring([f"{HOME}/memories"], lambda *_: None)
